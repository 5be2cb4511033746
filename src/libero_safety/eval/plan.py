"""Which episodes an evaluation consists of."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from libero_safety.assets.catalog import catalog_of
from libero_safety.assets.sources import BUILT_IN
from libero_safety.data.header import GoalKind
from libero_safety.data.strict_json import JsonValue
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.perturbed import stock_of
from libero_safety.registry import UnknownNameError
from libero_safety.sim.vision import QUALITIES, Quality
from libero_safety.suites import BUILTIN, Suite, Task, load_suite
from libero_safety.types import HORIZON, Key
from libero_safety.ubddl.perturb import Perturbation, perturb
from libero_safety.ubddl.spec import Scenario

MAX_IMAGE_SIZE = 4096


class EvalConfigError(LiberoSafetyError):
    """An evaluation that cannot be meant."""


@dataclass(frozen=True)
class EvalConfig:
    """What is evaluated on what.

    Attributes:
        suites: names of built-in suites, or paths of suite folders or scenario files.
        policy: registered name or `module:attr`, see `policy.make_policy`.
        policy_options: what the policy is made with; JSON values.
        levels: every task is run at those of them that it has; empty: at all that it has.
        tasks: `task` or `suite/task`; empty: all tasks of the suites.
        episodes: per task, level and seed; their indices are 0 ... episodes - 1.
        seeds: each gives other draws of the same tasks.
        horizon: control steps after which an episode is a timeout.
        on_violation: whether the first broken rule ends the episode or all are recorded.
        workers: processes; 1 runs everything in the calling process. The results do not depend on it.
        image_size: pixels of the square camera images.
        quality: rendering preset, a name in `sim.vision.QUALITIES`.
        assets: where assets come from, see `assets.catalog.catalog_of`.
        goal: what counts as done: each task's own goal, or the weaker one that its file states as the reference's.
        perturb: how every scenario is perturbed, each as `axis` or `axis=strength`, see `ubddl.perturb`.
        watchdog_s: wall-clock seconds after which an episode counts as hung.
        retries: how often an episode is run again after its connection to the policy failed.
        command: the command line, for the reader of the log.
    """

    suites: tuple[str, ...]
    policy: str
    policy_options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    levels: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()
    episodes: int = 10
    seeds: tuple[int, ...] = (0,)
    horizon: int = HORIZON
    on_violation: Literal["stop", "continue"] = "stop"
    workers: int = 1
    image_size: int = 256
    quality: Quality = "good"
    assets: tuple[str, ...] = (BUILT_IN,)
    goal: GoalKind = "own"
    perturb: tuple[str, ...] = ()
    watchdog_s: float = 1800.0
    retries: int = 2
    command: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            EvalConfigError: nothing to run, a number out of range, or something listed twice.
            UnknownNameError: no such rendering preset or perturbation.
            PerturbationError: a perturbation's strength is out of range.
        """
        at_least = {"episodes": 1, "horizon": 1, "workers": 1, "image_size": 1, "retries": 0}
        for name, least in at_least.items():
            if getattr(self, name) < least:
                raise EvalConfigError(f"{name} is {getattr(self, name)}, must be at least {least}")
        if self.image_size > MAX_IMAGE_SIZE:
            raise EvalConfigError(f"image_size is {self.image_size}, must be at most {MAX_IMAGE_SIZE}")
        if not (self.watchdog_s > 0 and math.isfinite(self.watchdog_s)):
            raise EvalConfigError(f"watchdog_s is {self.watchdog_s:g}, must be a positive number of seconds")
        for name in ("suites", "seeds"):
            if not getattr(self, name):
                raise EvalConfigError(f"{name} is empty: nothing to run")
        for name in ("suites", "seeds", "levels", "tasks"):
            values = getattr(self, name)
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise EvalConfigError(f"{name} has {twice[0]!r} twice: the same episodes would count double")
        if self.quality not in QUALITIES:
            raise UnknownNameError("render quality", self.quality, QUALITIES)
        axes = [wanted.axis for wanted in self.perturbations]
        twice = [axis for axis in axes if axes.count(axis) > 1]
        if twice:
            raise EvalConfigError(f"perturb has {twice[0]!r} twice")

    @property
    def perturbations(self) -> tuple[Perturbation, ...]:
        """What `perturb` says."""
        return tuple(map(Perturbation.parse, self.perturb))


@dataclass(frozen=True)
class Job:
    """One episode to run: its identity and the scenario, with distributions still in it."""

    key: Key
    scenario: Scenario


@dataclass(frozen=True)
class Plan:
    """The episodes of an evaluation.

    Attributes:
        suites: as `EvalConfig.suites`, paths made absolute.
        tasks: the selected tasks that have a level to run, in the order of their suites.
        jobs: in the order in which they are started.
        unperturbed: tasks that a perturbation does not change, and why, one line each.
    """

    suites: tuple[str, ...]
    tasks: tuple[Task, ...]
    jobs: tuple[Job, ...]
    unperturbed: tuple[str, ...] = ()


def plan_episodes(config: EvalConfig) -> list[Key]:
    """Return the keys of all episodes in the order in which they are started.

    Breadth first: for every seed, for every index, all suites, their tasks, and each task's levels. So a run
    that ends early has tried every task about equally often. The order decides nothing else: what happens in
    an episode depends on its key alone.

    Raises:
        LiberoSafetyError: an unknown suite or task, a level that no task has, a task named in `config.tasks`
            that has none of the levels, an instruction that should be refused, a missing reference goal, a
            perturbation that changes none of the tasks, or a scenario file with an error in it.
    """
    return [job.key for job in make_plan(config).jobs]


def make_plan(config: EvalConfig) -> Plan:
    """Return what `config` asks for; see `plan_episodes`."""
    loaded = [load_suite(name) for name in config.suites]
    names = [suite.name for suite in loaded]
    for name in names:
        if names.count(name) > 1:
            raise EvalConfigError(f"two suites are called {name!r}: their episodes could not be told apart")
    selected = _select(loaded, config.tasks)
    _refuse_unknown_levels(selected, config)
    levels = {task_id(task): _levels(task, config.levels) for task in selected}
    tasks = [task for task in selected if levels[task_id(task)]]
    scenarios = [
        (task, level, _with_goal(task.scenario(level), config.goal))
        for task in tasks
        for level in levels[task_id(task)]
    ]
    _refuse_hazards([scenario for _, _, scenario in scenarios])
    jobs = tuple(
        Job(Key(task.suite, task.name, level, seed, index), scenario)
        for seed in config.seeds
        for index in range(config.episodes)
        for task, level, scenario in scenarios
    )
    suites = tuple(name if name in BUILTIN else str(Path(name).resolve()) for name in config.suites)
    return Plan(suites, tuple(tasks), jobs, _unperturbed(jobs[: len(scenarios)], config))


def _with_goal(scenario: Scenario, kind: GoalKind) -> Scenario:
    if kind == "own":
        return scenario
    if scenario.reference_goal is None:
        raise EvalConfigError(
            f"{scenario.suite}/{scenario.name} L{scenario.level} has no (:goal_reference ...): "
            "there is nothing to judge it by with the goal 'reference'"
        )
    return replace(scenario, goal=scenario.reference_goal)


def _unperturbed(jobs: Sequence[Job], config: EvalConfig) -> tuple[str, ...]:
    """Return what is not perturbed; raises EvalConfigError for a perturbation that changes nothing at all."""
    catalog = catalog_of(config.assets)
    lines: list[str] = []
    for wanted in config.perturbations:
        same = [
            f"{job.key.suite}/{job.key.task} L{job.key.level}: {'; '.join(after.kept)}"
            for job in jobs
            if not (after := perturb(job.scenario, wanted, job.key, stock_of(job.scenario, catalog))).changes
        ]
        if len(same) == len(jobs):
            raise EvalConfigError(f"perturbation {str(wanted)!r} changes no task: {same[0]}")
        lines += same
    return tuple(lines)


def task_id(task: Task) -> str:
    """Return `suite/task`."""
    return f"{task.suite}/{task.name}"


def _select(suites: Sequence[Suite], wanted: Sequence[str]) -> list[Task]:
    tasks = [task for suite in suites for task in suite.tasks]
    if not wanted:
        return tasks
    for name in wanted:
        if not any(name in _names(task) for task in tasks):
            known = [task.name for task in tasks] if "/" not in name else [task_id(task) for task in tasks]
            raise UnknownNameError("task", name, known)
    return [task for task in tasks if any(name in wanted for name in _names(task))]


def _names(task: Task) -> Iterator[str]:
    yield task.name
    yield task_id(task)


def _levels(task: Task, wanted: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(level for level in task.levels if level in wanted or not wanted)


def _refuse_hazards(scenarios: Sequence[Scenario]) -> None:
    for scenario in scenarios:
        if scenario.hazard:
            raise EvalConfigError(
                f"{scenario.suite}/{scenario.name} L{scenario.level} is an instruction to refuse ({scenario.hazard}): "
                "there is no right way to do it. Whether a model refuses is judged by the semantic track"
            )


def _refuse_unknown_levels(tasks: Sequence[Task], config: EvalConfig) -> None:
    known = sorted({level for task in tasks for level in task.levels})
    for level in config.levels:
        if level not in known:
            raise EvalConfigError(f"no task has level {level}. Known: {', '.join(map(str, known))}")
    for task in tasks if config.tasks else ():
        if not _levels(task, config.levels):
            asked, has = (", ".join(map(str, levels)) for levels in (config.levels, task.levels))
            raise EvalConfigError(f"task {task_id(task)} has no level {asked}. Known: {has}")
