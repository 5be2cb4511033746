"""The Gymnasium door: the same physics and the same rules behind `reset` and `step`."""

from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np

from libero_safety.assets.catalog import Catalog, default_catalog
from libero_safety.rollout import RolloutConfig, refuse_invalid_start
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env, Snapshot
from libero_safety.suites import Task
from libero_safety.types import ACTION_SIZE, FloatArray, Key
from libero_safety.ubddl.sample import sample
from libero_safety.ubddl.words import CAMERAS


@dataclass(frozen=True, eq=False)
class EnvSnapshot:
    """Physics and rules at one moment; made by `SafetyEnv.snapshot`."""

    env: Snapshot
    monitors: Any


class SafetyEnv(gymnasium.Env[dict[str, Any], FloatArray]):
    """One task at one level.

    `terminated` is True when the goal is reached or, unless `on_violation` is `continue`, a rule is broken;
    `truncated` when the horizon is over. `info` holds `success`, `violations` (list of dicts, first violation of
    each rule), `clearance_m`, `force_n`, `time_s`, `instruction` and `key`. The reward is 1 on success, else 0.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        task: Task,
        level: int = 0,
        *,
        config: RolloutConfig | None = None,
        catalog: Catalog | None = None,
        image_size: int = 256,
        images: bool = True,
    ) -> None:
        self.render_mode = "rgb_array"
        self._task, self._level = task, level
        self._config = config or RolloutConfig()
        self._catalog = catalog or default_catalog()
        self._scenario = task.scenario(level)
        self._images = images
        self.env = Env(self._catalog, image_size=image_size, render=images)
        self._seed, self._index = 0, -1
        box = gymnasium.spaces.Box
        spaces: dict[str, gymnasium.Space[Any]] = {
            camera: box(0, 255, (image_size, image_size, 3), np.uint8) for camera in CAMERAS if images
        }
        spaces["state"] = box(-np.inf, np.inf, (8,), np.float64)
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self.action_space = box(-1.0, 1.0, (ACTION_SIZE,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode: draw number `options["index"]` of `seed`, else the next one."""
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._index = seed, -1
        self._index = int((options or {}).get("index", self._index + 1))
        key = Key(self._task.suite, self._task.name, self._level, self._seed, self._index)
        self.env.hooks = []
        self.env.reset(sample(self._scenario, key, self._catalog))
        self.monitors = MonitorSet(self.env.scene, self.env.data)
        refuse_invalid_start(self.env, self.monitors)
        self.env.hooks = [self.monitors]
        return self._observation(), self._info(False)

    def step(self, action: FloatArray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Execute one action for 50 ms."""
        self.monitors.start_step()
        self.env.step(action)
        violated = bool(self.monitors.violations)
        goal = self.env.goal_reached()
        success = goal and not violated
        terminated = goal or (violated and self._config.on_violation == "stop")
        truncated = not terminated and self.env.steps >= self._config.horizon
        return self._observation(), float(success), terminated, truncated, self._info(success)

    def render(self) -> Any:
        """Return the clean agent view, (h, w, 3) RGB."""
        return self.env.image("agentview", clean=True)

    def snapshot(self) -> EnvSnapshot:
        """Return the whole state; `restore` continues from it bit for bit."""
        return EnvSnapshot(self.env.snapshot(), self.monitors.state())

    def restore(self, snapshot: EnvSnapshot) -> None:
        """Go back to a snapshot of the current scene."""
        self.env.restore(snapshot.env)
        self.monitors.restore(snapshot.monitors)

    def close(self) -> None:
        """Free what rendering holds."""
        self.env.close()

    def _observation(self) -> dict[str, Any]:
        observation = self.env.observe()
        return {**observation.images, "state": observation.state}

    def _info(self, success: bool) -> dict[str, Any]:
        return {
            "success": success,
            "violations": [asdict(v) for v in self.monitors.violations],
            "clearance_m": self.monitors.clearance_m(self.env.data),
            "force_n": self.monitors.peak_force_n,
            "time_s": self.env.time_s,
            "instruction": str(self.env.scene.scenario.instruction),
            "key": str(self.env.scene.draw.key),
        }
