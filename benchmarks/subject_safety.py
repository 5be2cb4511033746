"""This package as a subject of the benchmark: its own scene under all rules, or its controller on another model."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from subject import Subject, serve

SCENE = Path(__file__).with_name("libero_spatial_0.ubddl")


def load_scene(quality: str | None, image_size: int) -> Callable[[], Subject]:
    """Return a maker of the scene; without a quality nothing is drawn."""
    from libero_safety.assets.catalog import default_catalog
    from libero_safety.safety.monitor import MonitorSet
    from libero_safety.sim.env import Env
    from libero_safety.types import Key
    from libero_safety.ubddl import parse
    from libero_safety.ubddl.sample import sample

    class Safety:
        """`Env` with a monitor for every rule of the scene; a new layout at each reset, as in LIBERO."""

        def __init__(self) -> None:
            catalog = default_catalog()
            self._scenario = parse(SCENE.read_text(encoding="utf-8"), str(SCENE)).at(0)
            self._env = Env(
                catalog, image_size=image_size, quality=quality or "fast", render=quality is not None
            )
            self._episodes = 0
            self.reset()

        def reset(self) -> None:
            key = Key("benchmark", self._scenario.name, 0, 0, self._episodes)
            self._episodes += 1
            env = self._env
            env.reset(sample(self._scenario, key, env.catalog))
            self._monitors = MonitorSet(env.scene, env.data)
            env.hooks = [self._monitors]
            env.observe()

        def step(self, action: np.ndarray) -> None:
            self._env.step(action)
            self._env.observe()
            self._env.goal_reached()

        def notes(self) -> dict[str, Any]:
            env, monitors = self._env, self._monitors
            return {
                "geoms": env.scene.model.ngeom,
                "contacts": env.data.ncon,
                "rules": len(env.scenario.constraints),
                "broken": [violation.rule for violation in monitors.violations],
            }

    return Safety


def load_model(path: Path, sleep: bool) -> Callable[[], Subject]:
    """Return a maker of LIBERO's model under this package's controller: physics and control, nothing else."""
    import mujoco

    from libero_safety.sim.control import OperationalSpaceController
    from libero_safety.sim.robot import resolve_robosuite
    from libero_safety.types import SUBSTEPS

    class SameModel:
        """What `Env` does in a control step, without rules and cameras."""

        def __init__(self) -> None:
            self._model = mujoco.MjModel.from_xml_path(str(path))
            if sleep:
                self._model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
            with np.load(path.with_suffix(".npz")) as start:
                self._model.body_pos[:], self._model.body_quat[:] = start["body_pos"], start["body_quat"]
                self._start = start["qpos"]
            self._data = mujoco.MjData(self._model)
            self._controller = OperationalSpaceController(self._model, resolve_robosuite(self._model))
            self.reset()

        def reset(self) -> None:
            mujoco.mj_resetData(self._model, self._data)
            self._data.qpos[:] = self._start
            mujoco.mj_forward(self._model, self._data)
            self._controller.reset(self._data)
            mujoco.mj_step1(self._model, self._data)

        def step(self, action: np.ndarray) -> None:
            model, data, controller = self._model, self._data, self._controller
            controller.set_goal(data, action)
            for _ in range(SUBSTEPS):
                controller.apply(data)
                mujoco.mj_step2(model, data)
                mujoco.mj_step1(model, data)

        def notes(self) -> dict[str, Any]:
            return {"geoms": self._model.ngeom, "contacts": self._data.ncon}

    return SameModel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quality", help="draw both cameras at every step with this preset")
    parser.add_argument("--image-size", type=int, default=256)
    parser.add_argument("--model", type=Path, help="MJCF that subject_libero.py exported")
    parser.add_argument("--sleep", action="store_true", help="let what rests in that model sleep, as in ours")
    options = parser.parse_args()
    if options.model is not None:
        serve(lambda: load_model(options.model, options.sleep))
    else:
        serve(lambda: load_scene(options.quality, options.image_size))


if __name__ == "__main__":
    main()
