"""Demonstrations by the thousand: every task at every level, in parallel, resumable."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from libero_safety.data.demos import Demos, DemoWriter, read_demos
from libero_safety.data.machine import git_revision, installed_versions
from libero_safety.data.strict_json import JsonObject, plain
from libero_safety.demo.generate import TRIES, Demo, Reject, generate
from libero_safety.demo.report import Failure
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.interrupts import HungError, Interrupts, deadline
from libero_safety.eval.metrics import ldlj, ldlj_savgol, min_clearance_m
from libero_safety.eval.perturbed import draws
from libero_safety.eval.pool import in_order
from libero_safety.eval.progress import Progress, Silent, Tally
from libero_safety.eval.simulator import last_lines
from libero_safety.eval.worker import hung_text
from libero_safety.eval.yields import Config, Yield, config_of, yields
from libero_safety.sim.env import Env
from libero_safety.suites import BUILTIN, Task, load_suite
from libero_safety.types import Key
from libero_safety.ubddl.perturb import Perturbation

BATCH = 4
"""Draws that one process makes before it reports."""
WATCHDOG_S = 600.0
"""A draw that takes longer hangs."""
PLANNING = ("ompl", "piqp", "ssik")
"""Packages that a plan comes from."""


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
        perturb: how the scenarios are perturbed, as `axis` or `axis=strength`.
    """

    suites: tuple[str, ...]
    count: int
    levels: tuple[int, ...] = (0, 1)
    tasks: tuple[str, ...] = ()
    seed: int = 0
    tries: int = TRIES
    perturb: tuple[str, ...] = ()

    def configs(self) -> dict[Config, Task]:
        """Return every task at every level that is wanted.

        Raises:
            DemosPlanError: there is none, or a task that is named is in no suite.
            SuiteError: no such suite.
            LiberoSafetyError: no such perturbation.
        """
        for text in self.perturb:
            Perturbation.parse(text)
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
        tasks = {f"{suite}/{name}": task for (suite, name, _), task in self.configs().items()}
        stated = {
            "suites": [name if name in BUILTIN else str(Path(name).resolve()) for name in self.suites],
            "levels": self.levels,
            "tasks": self.tasks,
            "count": self.count,
            "seed": self.seed,
            "tries": self.tries,
            "perturb": self.perturb,
            "versions": installed_versions(PLANNING),
            "git": git_revision(),
            "task_hashes": {name: _digest(task) for name, task in tasks.items()},
        }
        return {name: plain(value) for name, value in stated.items()}


def _digest(task: Task) -> str:
    """Return a hash (hexadecimal) of a task's scenario and keyposes."""
    content = task.path.read_bytes()
    keyposes = task.path.parent / "keyposes" / f"{task.path.stem}.toml"
    if keyposes.is_file():
        content += keyposes.read_bytes()
    return hashlib.sha256(content).hexdigest()


def make_demos(
    out: Path,
    plan: DemosPlan,
    *,
    workers: int = 1,
    allow_mixed: bool = False,
    progress: Progress | None = None,
) -> Demos:
    """Make demonstrations until every task has as many as are wanted, or is given up; store each at once.

    A folder that holds some already is gone on with: the result is that of one call. It does not depend on the
    number of processes. While this runs in the main thread, SIGINT and SIGTERM end it between two draws; with more
    than one worker the calling script needs `if __name__ == "__main__":`.

    Args:
        out: a new or empty folder, or one that holds demonstrations of the same plan, or of one with a lower count.
        plan: what to make.
        workers: processes.
        allow_mixed: go on although versions or files of tasks differ; what differs is noted in the header.
        progress: is told after every draw.

    Raises:
        DemosPlanError: nothing is wanted.
        DemosError: the folder holds something else.
        RunLogError: it cannot be written. What is stored is intact; the call may be repeated.
        PoolError: a process was ended from outside; likewise.
        KeyboardInterrupt: a signal; likewise.
    """
    configs = plan.configs()
    show = progress or Silent()
    with ExitStack() as stack:
        writer = stack.enter_context(DemoWriter.open(out, plan.header(), allow_mixed=allow_mixed))
        stack.callback(show.close)
        state = _State(plan, configs, read_demos(out), 1 if workers <= 1 else BATCH)
        show.update(state.tally())
        made = in_order(partial(_make_batch, plan), state.batches(), workers)
        interrupts = stack.enter_context(Interrupts())
        stack.callback(made.close)
        while True:
            with interrupts.allowed():
                batch = next(made, None)
            if batch is None:
                break
            for item in batch:
                if state.take(item.result):
                    writer.append(item.result, item.measures, item.draw)
            show.update(state.tally())
    return read_demos(out)


@dataclass(frozen=True)
class _Made:
    """What came of a draw, with what is stored beside it."""

    result: Demo | Reject
    measures: dict[str, float] = field(default_factory=dict[str, float])
    draw: JsonObject | None = None


class _State:
    """How many demonstrations there are, and which draws come next."""

    def __init__(self, plan: DemosPlan, configs: Mapping[Config, Task], stored: Demos, batch: int) -> None:
        self._plan, self._configs, self._batch = plan, configs, batch
        self._yields = {config: Yield() for config in configs}
        self._yields.update({c: y for c, y in yields(stored).items() if c in configs})
        self._next = {config: found.draws for config, found in self._yields.items()}

    def batches(self) -> Iterator[list[Key] | None]:
        """Yield draws to make, task by task in turn, until all have enough or are given up.

        None while those that are being made may be enough.
        """
        while not all(map(self._done, self._configs)):
            waiting = True
            for config in self._configs:
                start, left = self._next[config], self._left(config)
                if left > 0:
                    waiting = False
                    self._next[config] = start + min(self._batch, left)
                    yield [Key(*config, self._plan.seed, i) for i in range(start, self._next[config])]
            if waiting:
                yield None

    def take(self, made: Demo | Reject) -> bool:
        """Count what came of a draw; False if its task is given up already, so that it must be dropped."""
        config = config_of(_key(made))
        if self._done(config):
            return False
        found = self._yields[config]
        if isinstance(made, Demo):
            found.demos += 1
        else:
            found.reasons[made.failure.reason] += 1
        return True

    def tally(self) -> Tally:
        """Return how far it is."""
        demos = sum(found.demos for found in self._yields.values())
        rejects = sum(found.reasons.total() for found in self._yields.values())
        planned = self._plan.count * len(self._configs)
        return Tally(planned, {"kept": demos}, rejected=rejects, unit="demonstrations")

    def _left(self, config: Config) -> int:
        """Return how many draws a task needs at least, beside those that are being made."""
        if self._done(config):
            return 0
        found = self._yields[config]
        return self._plan.count - found.demos - (self._next[config] - found.draws)

    def _done(self, config: Config) -> bool:
        found = self._yields[config]
        return found.demos >= self._plan.count or found.hopeless


def _make_batch(plan: DemosPlan, keys: Sequence[Key]) -> list[_Made]:
    return [_make(plan, key) for key in keys]


def _make(plan: DemosPlan, key: Key) -> _Made:
    try:
        with deadline(WATCHDOG_S):
            return _draw(plan, key, _env())
    except HungError as error:
        text = f"{hung_text(WATCHDOG_S)}\n{last_lines(error)}"
    except Exception as error:
        text = last_lines(error)
    _env.cache_clear()
    return _Made(Reject(key, Failure("internal", "", text), 1))


def _draw(plan: DemosPlan, key: Key, env: Env) -> _Made:
    scenario = _configs(plan)[config_of(key)].scenario(key.level)
    result: Demo | Reject | None = None
    log: JsonObject | None = None
    try:
        # Of a perturbed scenario there are more where the start of the first is impossible.
        for drawn in draws(scenario, key, tuple(map(Perturbation.parse, plan.perturb)), env.catalog):
            chosen = drawn.perturbed.scenario if drawn.perturbed else scenario
            log = drawn.to_dict()
            result = next(generate([(chosen, key)], env, tries=plan.tries))
            if isinstance(result, Demo) or result.failure.reason not in ("no_draw", "invalid_start"):
                break
    except LiberoSafetyError as error:
        result = Reject(key, Failure("no_draw", "", str(error)), 1)
    assert result is not None, "there is at least one draw"
    return _Made(result, measures(result) if isinstance(result, Demo) else {}, log)


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


@cache
def _env() -> Env:
    """One environment per process."""
    return Env(render=False)


@cache
def _configs(plan: DemosPlan) -> dict[Config, Task]:
    return plan.configs()


def _key(made: Demo | Reject) -> Key:
    return made.draw.key if isinstance(made, Demo) else made.key
