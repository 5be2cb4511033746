"""Demonstrations by the thousand: every task at every level, in parallel, resumable; and what came of the draws."""

import math
import multiprocessing
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias

from libero_safety.data.demos import Demos, DemoWriter, read_demos
from libero_safety.data.machine import installed_versions
from libero_safety.data.strict_json import JsonObject, JsonValue
from libero_safety.demo.generate import TRIES, Demo, Reject, generate
from libero_safety.demo.report import Failure
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.metrics import ldlj, ldlj_savgol, min_clearance_m
from libero_safety.eval.progress import Progress, Silent, Tally
from libero_safety.eval.simulator import last_lines
from libero_safety.sim.env import Env
from libero_safety.suites import Task, load_suite
from libero_safety.types import Key

BATCH = 4
"""Draws that one process makes before it reports."""
LEAST_YIELD = 0.2
"""A task at a level whose draws give fewer demonstrations than this is given up once that is clear."""
CLEAR_AFTER = 20
"""Draws after which a yield is clear."""

Config: TypeAlias = tuple[str, str, int]
"""Suite, task and level."""


class DemosPlanError(LiberoSafetyError):
    """Demonstrations that nobody can make: no such task or level, or a count that is none."""


@dataclass(frozen=True)
class DemosPlan:
    """Which demonstrations are wanted.

    Attributes:
        suites: names of built-in suites, or paths of suite folders or scenario files.
        count: demonstrations per task and level.
        levels: those of each task's levels that are in it; all of them when empty.
        tasks: only these, by name; all when empty.
        seed: of the draws.
        tries: how often a draw is tried, each time with other variants of the keyposes.
    """

    suites: tuple[str, ...]
    count: int
    levels: tuple[int, ...] = (0, 1)
    tasks: tuple[str, ...] = ()
    seed: int = 0
    tries: int = TRIES

    def configs(self) -> dict[Config, Task]:
        """Return every task at every level that is wanted.

        Raises:
            DemosPlanError: there is none, or a task that is named is in no suite.
            SuiteError: no such suite.
        """
        if self.count < 1 or self.tries < 1:
            raise DemosPlanError(f"count is {self.count} and tries {self.tries}: both must be 1 or more")
        found = [task for suite in self.suites for task in load_suite(suite).tasks]
        unknown = sorted({*self.tasks} - {task.name for task in found})
        if unknown:
            known = ", ".join(task.name for task in found)
            raise DemosPlanError(
                f"no task {', '.join(unknown)} in {', '.join(self.suites)}. There are: {known}"
            )
        chosen = [task for task in found if not self.tasks or task.name in self.tasks]
        configs = {
            (task.suite, task.name, level): task
            for task in chosen
            for level in task.levels
            if not self.levels or level in self.levels
        }
        if not configs:
            raise DemosPlanError(
                f"no task of {', '.join(self.suites)} has any of the levels {list(self.levels)}"
            )
        return configs

    def header(self) -> JsonObject:
        """Return what a folder of these demonstrations says about itself."""
        return {
            "suites": list(self.suites),
            "levels": list(self.levels),
            "tasks": list(self.tasks),
            "seed": self.seed,
            "tries": self.tries,
            "versions": dict[str, JsonValue](installed_versions()),
        }


@dataclass
class Yield:
    """What came of the draws of one task at one level.

    Attributes:
        demos: draws that gave a demonstration.
        reasons: reject reason -> draws.
    """

    demos: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])

    @property
    def draws(self) -> int:
        """All draws."""
        return self.demos + self.reasons.total()

    @property
    def share(self) -> float:
        """Share of draws that gave a demonstration; NaN without draws."""
        return self.demos / self.draws if self.draws else math.nan

    @property
    def hopeless(self) -> bool:
        """Whether it is clear that too few draws will do."""
        return self.draws >= CLEAR_AFTER and self.share < LEAST_YIELD


def yields(demos: Demos) -> dict[Config, Yield]:
    """Return what came of the draws of each task at each level."""
    found: dict[Config, Yield] = {}
    for record in demos.demos:
        found.setdefault(_config(record.key), Yield()).demos += 1
    for record in demos.rejects:
        found.setdefault(_config(record.key), Yield()).reasons[record.reason] += 1
    return dict(sorted(found.items()))


def make_demos(out: Path, plan: DemosPlan, *, workers: int = 1, progress: Progress | None = None) -> Demos:
    """Make demonstrations until every task has as many as are wanted, or is given up; store each at once.

    A folder that holds some already is gone on with. The result does not depend on the number of processes.

    Raises:
        DemosPlanError: nothing is wanted.
        DemosError: the folder holds something else.
        RunLogError: it cannot be written.
    """
    configs = plan.configs()
    show = progress or Silent()
    with DemoWriter.open(out, plan.header()) as writer:
        state = _State(plan, configs, read_demos(out))
        try:
            show.update(state.tally())
            for made, measures in _produce(state, workers):
                if state.wanted(made):
                    writer.append(made, measures)
                    state.count(made)
                    show.update(state.tally())
        finally:
            show.close()
    return read_demos(out)


class _State:
    """How many demonstrations there are, and which draws come next."""

    def __init__(self, plan: DemosPlan, configs: Mapping[Config, Task], stored: Demos) -> None:
        self.plan, self._configs = plan, configs
        self._yields = {config: Yield() for config in configs}
        self._yields.update({c: y for c, y in yields(stored).items() if c in configs})
        self._next = {config: found.draws for config, found in self._yields.items()}

    def batches(self) -> Iterator[list[Key]]:
        """Yield draws to make, task by task in turn, until all have enough or are given up."""
        while open_configs := [config for config in self._configs if not self._done(config)]:
            for config in open_configs:
                start = self._next[config]
                left = self.plan.count - self._yields[config].demos
                size = min(BATCH, max(left, 1))
                self._next[config] = start + size
                yield [Key(*config, self.plan.seed, index) for index in range(start, start + size)]

    def wanted(self, made: Demo | Reject) -> bool:
        """Whether a task does not have enough yet: what is made beyond that is dropped, so that runs are alike."""
        return not self._done(_config(_key(made)))

    def count(self, made: Demo | Reject) -> None:
        """Count what has been stored."""
        found = self._yields[_config(_key(made))]
        if isinstance(made, Demo):
            found.demos += 1
        else:
            found.reasons[made.failure.reason] += 1

    def tally(self) -> Tally:
        """Return how far it is."""
        demos = sum(found.demos for found in self._yields.values())
        rejects = sum(found.reasons.total() for found in self._yields.values())
        planned = self.plan.count * len(self._configs)
        return Tally(planned, {"kept": demos}, rejected=rejects, unit="demonstrations")

    def _done(self, config: Config) -> bool:
        found = self._yields[config]
        return found.demos >= self.plan.count or found.hopeless


_Made: TypeAlias = tuple[Demo | Reject, dict[str, float]]


def _produce(state: _State, workers: int) -> Iterator[_Made]:
    """Yield what comes of each draw, in the order of the draws, whatever the number of processes."""
    plan, batches = state.plan, state.batches()
    if workers == 1:
        for batch in batches:
            yield from _make_batch(plan, batch)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        pending: deque[Future[list[_Made]]] = deque()
        try:
            while True:
                while len(pending) < 2 * workers and (batch := next(batches, None)) is not None:
                    pending.append(pool.submit(_make_batch, plan, batch))
                if not pending:
                    return
                yield from pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _make_batch(plan: DemosPlan, keys: Sequence[Key]) -> list[_Made]:
    return [_make(plan, key) for key in keys]


def _make(plan: DemosPlan, key: Key) -> _Made:
    env = _env()
    try:
        scenario = _configs(plan)[_config(key)].scenario(key.level)
        made = next(generate([(scenario, key)], env, tries=plan.tries))
    except Exception as error:
        _env.cache_clear()
        return Reject(key, Failure("internal", "", last_lines(error)), 1), {}
    return made, measures(made) if isinstance(made, Demo) else {}


def measures(demo: Demo) -> dict[str, float]:
    """Return numbers of a demonstration's executed motion; NaN where there is none."""
    trace, report = demo.trace, demo.report
    return {
        "steps": float(demo.episode.steps),
        "ldlj": ldlj(trace.eef_pos, trace.dt_s).value,
        "ldlj_savgol": ldlj_savgol(trace.eef_pos, trace.dt_s).value,
        "min_clearance_m": min_clearance_m(trace).value,
        "tracking_error_m": report.tracking_error_m,
        "margin_m": report.margin_m,
        "plan_s": report.plan_s,
        "wall_s": demo.episode.wall_s,
    }


def yield_lines(demos: Demos) -> list[str]:
    """Return a table: for each task and level the draws, demonstrations, their share, and the reject reasons."""
    lines = [f"{'task':<72} level draws demos yield  rejects"]
    for (suite, task, level), found in yields(demos).items():
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.reasons.most_common())
        name = f"{suite}/{task}"
        lines.append(
            f"{name[:72]:<72} L{level:<4} {found.draws:>5} {found.demos:>5} {found.share:>5.0%}  {reasons}"
        )
    total = Counter(record.reason for record in demos.rejects)
    lines.append(f"{len(demos.demos)} demonstrations of {len(demos.done())} draws")
    lines += [f"  {count} rejected: {reason}" for reason, count in total.most_common()]
    return lines


@cache
def _env() -> Env:
    """One environment per process."""
    return Env(render=False)


@cache
def _configs(plan: DemosPlan) -> dict[Config, Task]:
    return plan.configs()


def _config(key: Key) -> Config:
    return key.suite, key.task, key.level


def _key(made: Demo | Reject) -> Key:
    return made.draw.key if isinstance(made, Demo) else made.key
