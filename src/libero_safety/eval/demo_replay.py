"""Demonstrations executed again: the stored actions, one by one, in a scene rebuilt from the stored draw."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from libero_safety.data.demos import DemoRecord, Demos, DemosError
from libero_safety.eval.yields import Config, config_of
from libero_safety.policy.baselines import ReplayPolicy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.suites import Task, load_suite
from libero_safety.types import Episode, Key, Trace
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.sample import Draw

OnStep = Callable[[Env, MonitorSet], None]


def reenact(
    demos: Demos, record: DemoRecord, env: Env, on_step: OnStep | None = None
) -> tuple[Episode, Trace]:
    """Execute the actions of a demonstration, one by one, in its scene; return what happens, and what was stored.

    Raises:
        LiberoSafetyError: a file is damaged, or a scenario file has changed.
    """
    trace = demos.trace(record)
    draw = stored_draw(stored_tasks(demos), record.key, dict(record.draw))
    config = RolloutConfig(horizon=len(trace.executed))
    return run_episode(env, ReplayPolicy(trace.executed), draw, config, on_step=on_step), trace


def sampled(records: Sequence[DemoRecord], count: int) -> list[DemoRecord]:
    """Return `count` of the demonstrations, from all tasks and levels alike; all of them for 0.

    Which ones follows from their keys alone.
    """
    if not count:
        return list(records)
    turns: list[tuple[int, bytes, Key]] = []
    drawn = Counter[Config]()
    for digest, key in sorted(
        (hashlib.sha256(str(record.key).encode()).digest(), record.key) for record in records
    ):
        turns.append((drawn[config_of(key)], digest, key))
        drawn[config_of(key)] += 1
    chosen = {key for _, _, key in sorted(turns)[:count]}
    return [record for record in records if record.key in chosen]


@cache
def _tasks(suites: tuple[str, ...]) -> dict[tuple[str, str], Task]:
    loaded = [load_suite(name) for name in suites]
    return {(suite.name, task.name): task for suite in loaded for task in suite.tasks}


def stored_tasks(demos: Demos) -> dict[tuple[str, str], Task]:
    """Return the tasks of a folder of demonstrations by (suite name, task name).

    Raises:
        DemosError: the header names no suites.
        SuiteError: one of them is not there any more.
    """
    names = demos.header.get("suites")
    if not isinstance(names, list):
        raise DemosError(f"{demos.folder}: the header names no suites")
    return _tasks(tuple(map(str, names)))


def stored_draw(tasks: dict[tuple[str, str], Task], key: Key, draw: dict[str, object]) -> Draw:
    """Return a stored draw.

    Raises:
        DemosError: there is no such task any more.
        LiberoSafetyError: the scenario file has changed.
    """
    task = tasks.get((key.suite, key.task))
    if task is None:
        raise DemosError(f"{key}: the suite has no task {key.task!r} any more")
    scenario = task.scenario(key.level)
    if "scenario" in draw:  # a perturbed one
        scenario = parse(str(draw["scenario"]), str(task.path)).at(key.level)
    return Draw.from_dict(scenario, draw)
