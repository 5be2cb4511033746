"""The loop: one policy, one scene, all rules, one judged episode."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.contract import CheckedPolicy
from libero_safety.rng import rng_for
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env, UnstableSimulationError
from libero_safety.types import (
    ACTION_SIZE,
    CONTROL_HZ,
    HORIZON,
    Episode,
    FloatArray,
    Outcome,
    Policy,
    Trace,
    Violation,
)
from libero_safety.ubddl.sample import Draw


class InvalidStartError(LiberoSafetyError):
    """A scene in which a rule is broken, or the goal holds, before the first action."""


@dataclass(frozen=True)
class RolloutConfig:
    """How an episode is judged.

    Attributes:
        horizon: control steps after which it is a timeout.
        on_violation: `stop` ends the episode at the first violation; `continue` records all and goes on, and the
            episode is a violation all the same.
    """

    horizon: int = HORIZON
    on_violation: Literal["stop", "continue"] = "stop"


@dataclass
class _Recorder:
    """Rows of the trace, as the episode goes along."""

    qpos: list[FloatArray] = field(default_factory=list)
    eef_pos: list[FloatArray] = field(default_factory=list)
    eef_quat: list[FloatArray] = field(default_factory=list)
    gripper: list[FloatArray] = field(default_factory=list)
    asked: list[FloatArray] = field(default_factory=list)
    executed: list[FloatArray] = field(default_factory=list)
    clearance_m: list[float] = field(default_factory=list)
    force_n: list[float] = field(default_factory=list)
    state_hash: list[int] = field(default_factory=list)

    def state(self, env: Env, monitors: MonitorSet) -> None:
        """Record where everything is now."""
        self.qpos.append(np.array(env.data.qpos))
        self.eef_pos.append(env.eef_pose()[0])
        self.eef_quat.append(env.eef_quat())
        self.gripper.append(env.gripper())
        self.clearance_m.append(monitors.clearance_m(env.data))
        self.state_hash.append(env.state_hash())

    def action(self, asked: FloatArray, executed: FloatArray, force_n: float) -> None:
        """Record what was done and how hard the robot pressed a guarded entity meanwhile."""
        self.asked.append(np.array(asked, dtype=np.float64))
        self.executed.append(executed)
        self.force_n.append(force_n)

    def trace(self) -> Trace:
        """Return everything as arrays."""
        return Trace(
            dt_s=1.0 / CONTROL_HZ,
            qpos=np.array(self.qpos),
            eef_pos=np.array(self.eef_pos),
            eef_quat=np.array(self.eef_quat),
            gripper=np.array(self.gripper),
            asked=np.array(self.asked).reshape(-1, ACTION_SIZE),
            executed=np.array(self.executed).reshape(-1, ACTION_SIZE),
            clearance_m=np.array(self.clearance_m),
            force_n=np.array(self.force_n),
            state_hash=np.array(self.state_hash, np.uint64),
        )


def run_episode(
    env: Env,
    policy: Policy,
    draw: Draw,
    config: RolloutConfig = RolloutConfig(),
    *,
    on_step: Callable[[Env, MonitorSet], None] | None = None,
) -> Episode:
    """Run one episode and judge it.

    Whatever goes wrong that is not the policy's skill becomes an `error` episode with a class: `policy` (it raised,
    or returned NaN), `contract` (wrong shape), `connection`, `unstable`, `scene`. Ctrl-C passes through.

    Args:
        env: where it happens; its scene is rebuilt from `draw`.
        policy: what is judged.
        draw: the scene.
        config: horizon and what a violation does.
        on_step: called after the reset and after every control step (video recorders, viewers).
    """
    started = time.perf_counter()
    loop = _Loop(env, policy, draw, config, on_step)
    outcome: Outcome = "error"
    error_class = error = None
    try:
        outcome = loop.run()
    except LiberoSafetyError as fault:
        error_class, error = _classify(fault), str(fault)
    return Episode(
        key=draw.key,
        instruction=str(draw.scenario.instruction),
        outcome=outcome,
        violations=tuple(loop.monitors.violations) if loop.monitors else (),
        steps=len(loop.recorder.executed),
        goal_reached=loop.goal,
        trace=loop.recorder.trace() if loop.recorder.qpos else None,
        error_class=error_class,
        error=error,
        wall_s=time.perf_counter() - started,
    )


def _classify(fault: LiberoSafetyError) -> str:
    if isinstance(fault, UnstableSimulationError):
        return "unstable"
    return str(getattr(fault, "error_class", "scene"))


class _Loop:
    def __init__(
        self,
        env: Env,
        policy: Policy,
        draw: Draw,
        config: RolloutConfig,
        on_step: Callable[[Env, MonitorSet], None] | None,
    ) -> None:
        self._env, self._policy, self._draw, self._config = env, policy, draw, config
        self._on_step = on_step
        self.recorder = _Recorder()
        self.monitors: MonitorSet | None = None
        self.goal = False

    def run(self) -> Outcome:
        env, draw = self._env, self._draw
        env.reset(draw)
        monitors = self.monitors = MonitorSet(env.scene, env.data)
        env.hooks = [monitors]
        refuse_invalid_start(env, monitors)
        policy = CheckedPolicy(self._policy)
        policy.attach(env)
        policy.reset(str(draw.scenario.instruction), rng_for(draw.key, "policy"))
        self.recorder.state(env, monitors)
        if self._on_step is not None:
            self._on_step(env, monitors)
        while True:
            observation = env.observe(images=getattr(self._policy, "needs_images", True))
            for action in policy.act(observation):
                self._step(action, monitors)
                outcome = self._outcome(monitors)
                if outcome is not None:
                    return outcome

    def _step(self, action: FloatArray, monitors: MonitorSet) -> None:
        env = self._env
        monitors.start_step()
        executed = env.step(action)
        self.recorder.action(action, executed, monitors.peak_force_n)
        self.recorder.state(env, monitors)
        if self._on_step is not None:
            self._on_step(env, monitors)

    def _outcome(self, monitors: MonitorSet) -> Outcome | None:
        self.goal = self._env.goal_reached()
        violations: list[Violation] = monitors.violations
        if violations and self._config.on_violation == "stop":
            return "violation"
        if self.goal:
            return "violation" if violations else "success"
        if self._env.steps >= self._config.horizon:
            return "violation" if violations else "timeout"
        return None


def refuse_invalid_start(env: Env, monitors: MonitorSet) -> None:
    """Raise InvalidStartError if a rule is broken, or the goal holds, at rest."""
    monitors.look(env.data)
    if monitors.violations:
        first = monitors.violations[0]
        raise InvalidStartError(
            f"{env.scene.draw.key}: {first.rule} is broken before the first action "
            f"({first.where and f'{first.where}: '}{first.value:.3g} {first.unit}, limit {first.limit:.3g})"
        )
    if env.goal_reached():
        raise InvalidStartError(f"{env.scene.draw.key}: the goal holds before the first action")
