"""Do demonstrations hold what they promise? Open-loop replay, and a slow independent look at every contact."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from libero_safety.data.demos import DemoRecord, Demos, DemosError
from libero_safety.eval.brute_force import BruteForce, Overlap
from libero_safety.policy.baselines import ReplayPolicy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.suites import Task, load_suite
from libero_safety.types import Key, Trace
from libero_safety.ubddl.sample import Draw


@dataclass(frozen=True)
class Replayed:
    """What came of executing a demonstration's actions once more.

    Attributes:
        problem: what is wrong; empty when it ends in the same state, reaches its goal and breaks no rule.
        overlaps: what the independent look found, if it was asked for.
        nearest_m: smallest distance between two that a rule keeps apart, of those that came near; NaN if not asked for.
    """

    key: Key
    problem: str = ""
    overlaps: tuple[Overlap, ...] = ()
    nearest_m: float = float("nan")

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem and not self.overlaps


def verify(demos: Demos, env: Env, *, brute_force: bool = False) -> Iterator[Replayed]:
    """Replay each demonstration open loop in a scene rebuilt from its draw.

    Args:
        demos: a folder as read.
        env: where it happens.
        brute_force: look at every physics step for shared space, see `brute_force`; ten times as slow.

    Raises:
        DemosError: the tasks are not there any more.
        LiberoSafetyError: a file is damaged, or a scenario file has changed.
    """
    tasks = stored_tasks(demos)
    for record in demos.demos:
        yield _replay(demos, record, tasks, env, brute_force)


def stored_tasks(demos: Demos) -> dict[tuple[str, str], Task]:
    """Return the tasks of a folder of demonstrations by (suite name, task name).

    Raises:
        DemosError: the header names no suites.
        SuiteError: one of them is not there any more.
    """
    names = demos.header.get("suites")
    if not isinstance(names, list):
        raise DemosError(f"{demos.folder}: the header names no suites")
    loaded = [load_suite(str(name)) for name in names]
    return {(suite.name, task.name): task for suite in loaded for task in suite.tasks}


def stored_draw(tasks: dict[tuple[str, str], Task], key: Key, draw: dict[str, object]) -> Draw:
    """Return a stored draw.

    Raises:
        DemosError: there is no such task any more.
        LiberoSafetyError: the scenario file has changed.
    """
    task = tasks.get((key.suite, key.task))
    if task is None:
        raise DemosError(f"{key}: the suite has no task {key.task!r} any more")
    return Draw.from_dict(task.scenario(key.level), draw)


def _replay(
    demos: Demos, record: DemoRecord, tasks: dict[tuple[str, str], Task], env: Env, brute_force: bool
) -> Replayed:
    trace = demos.trace(record)
    draw = stored_draw(tasks, record.key, dict(record.draw))
    looks: list[BruteForce] = []

    def on_step(env: Env, monitors: MonitorSet) -> None:
        if brute_force and not looks:
            looks.append(BruteForce(env.scene))
            env.hooks = [*env.hooks, looks[0]]

    config = RolloutConfig(horizon=len(trace.executed))
    again = run_episode(env, ReplayPolicy(trace.executed), draw, config, on_step=on_step)
    problem = _problem(again.outcome, again.error, trace, again.trace)
    if not looks:
        return Replayed(record.key, problem)
    return Replayed(record.key, problem, tuple(looks[0].overlaps), looks[0].nearest_m)


def _problem(outcome: str, error: str | None, stored: Trace, again: Trace | None) -> str:
    if again is None or outcome == "error":
        return f"it could not be replayed: {error}"
    if outcome != "success":
        return f"it ends as {outcome}"
    if len(stored.state_hash) != len(again.state_hash) or stored.state_hash[-1] != again.state_hash[-1]:
        rows = min(len(stored.eef_pos), len(again.eef_pos))
        gap = float(np.linalg.norm(stored.eef_pos[:rows] - again.eef_pos[:rows], axis=1).max())
        return f"it ends in another state (end effector up to {gap * 1000:.3f} mm elsewhere)"
    return ""
