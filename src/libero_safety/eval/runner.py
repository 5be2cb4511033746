"""An evaluation: a policy, a set of episodes, a run folder."""

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from libero_safety.assets.catalog import catalog_of
from libero_safety.data.header import RunHeader, RunStatus
from libero_safety.data.runlog import HEADER, RunLogError, RunWriter, read_run
from libero_safety.data.strict_json import JsonValue
from libero_safety.eval.header import run_header
from libero_safety.eval.interrupts import EXIT_CANCELLED, Interrupts
from libero_safety.eval.plan import EvalConfig, Job, make_plan
from libero_safety.eval.progress import Progress, Silent, Tally
from libero_safety.eval.simulator import Result, RunnerFactory, Simulator
from libero_safety.eval.worker import Executor, WorkerStartError, make_executor
from libero_safety.types import Episode, Key, Outcome

EXIT_OK, EXIT_ERRORS = 0, 3
UNREACHABLE_ROUNDS = 10
"""A run stops when this many connection errors per worker come in a row: the policy is not there."""


@dataclass(frozen=True)
class EvalSummary:
    """How an evaluation ended; the numbers are in the run folder.

    Attributes:
        status: `success`: every planned episode was judged. `cancelled`: by Ctrl-C or SIGTERM. `error`: some
            episodes could not be judged or were not run.
        planned: episodes of the whole run.
        outcomes: outcome -> episodes, counting the last attempt of each, those of resumed runs included.
        errors: error class -> episodes among those that ended in `error`.
        stopped: why the run ended before its time; empty if it did not.
        steps: control steps that this call executed.
        wall_s: seconds that this call took.
    """

    folder: Path
    status: RunStatus
    planned: int
    outcomes: Mapping[str, int]
    errors: Mapping[str, int]
    stopped: str = ""
    steps: int = 0
    wall_s: float = 0.0

    @property
    def missing(self) -> int:
        """Planned episodes that were not run."""
        return self.planned - sum(self.outcomes.values())

    @property
    def exit_code(self) -> int:
        """0: all episodes were judged; 3: some were not; 130: cancelled."""
        return {"success": EXIT_OK, "cancelled": EXIT_CANCELLED}.get(self.status, EXIT_ERRORS)


def evaluate(
    config: EvalConfig,
    out: Path,
    *,
    resume: bool = False,
    allow_mixed: bool = False,
    progress: Progress | None = None,
    selftest: Mapping[str, JsonValue] | None = None,
    make_runner: RunnerFactory = Simulator,
) -> EvalSummary:
    """Run the episodes of `config` and write the run folder `out`.

    Every episode is on disk before the next result is looked at. While this runs in the main thread, SIGINT
    and SIGTERM end the run with status `cancelled`; a second one ends the process with exit code 130. With
    more than one worker the calling script needs `if __name__ == "__main__":`, as new processes import it.

    Args:
        config: what to run.
        out: a new or empty folder, or with `resume` one that holds a run.
        resume: run only what the run in `out` has not judged yet; starts a new one if there is none.
        allow_mixed: resume although configuration, versions, tasks or assets differ; marks the run as mixed.
        progress: is told after every episode.
        selftest: the stamp of the physics check on this machine, stored in the header.
        make_runner: what runs the episodes; a class or function that new processes can import.

    Raises:
        LiberoSafetyError: `config` cannot be meant, the policy cannot be made, or `out` cannot be used.
        KeyboardInterrupt: before the first episode; nothing was written.
    """
    started_s = time.monotonic()
    plan = make_plan(config)
    _refuse_taken(out, resume)
    with Interrupts() as interrupts, ExitStack() as stack:
        executor = make_executor(config, make_runner, len(plan.jobs))
        interrupts.on_second = executor.kill
        stack.callback(executor.close)
        try:
            with interrupts.allowed():
                info = executor.start()
                header = run_header(config, plan, info, catalog_of(config.assets), selftest)
            writer = stack.enter_context(_open(out, header, resume, allow_mixed))
            session = _Session(config, executor, writer, progress or Silent(), plan.jobs)
            session.run(interrupts)
            writer.finish(session.status())
        except BaseException:
            executor.kill()
            raise
        if session.left:
            executor.kill()
    return session.summary(time.monotonic() - started_s)


def _refuse_taken(out: Path, resume: bool) -> None:
    """Find out before a policy is loaded, which may take minutes."""
    if not resume and (out / HEADER).exists():
        raise RunLogError(f"{out} holds a run already: resume it, or choose another folder")


def _open(out: Path, header: RunHeader, resume: bool, allow_mixed: bool) -> RunWriter:
    if resume and (out / HEADER).exists():
        return RunWriter.resume(out, header, allow_mixed)
    return RunWriter.create(out, header)


@dataclass
class _Session:
    """One go at the episodes of a run that are not judged yet."""

    config: EvalConfig
    executor: Executor
    writer: RunWriter
    progress: Progress
    jobs: tuple[Job, ...]
    ended: dict[Key, Episode] = field(default_factory=dict[Key, Episode])
    attempts: Counter[Key] = field(default_factory=Counter[Key])
    left: int = 0
    retries: int = 0
    unreachable: int = 0
    steps: int = 0
    stopped: str = ""
    cancelled: bool = False

    def run(self, interrupts: Interrupts) -> None:
        """Work the queue off; ends early on a signal or when going on makes no sense."""
        todo = self._todo()
        self.left = len(todo)
        for job in todo:
            self.executor.submit(job)
        self._show()
        try:
            while self.left and not self.stopped:
                with interrupts.allowed():
                    result = self.executor.next()
                self._take(result)
        except KeyboardInterrupt:
            self.cancelled = True
            self.stopped = "cancelled"
        except WorkerStartError as error:
            self.stopped = str(error)
        finally:
            self.progress.close()

    def _todo(self) -> list[Job]:
        planned = {job.key for job in self.jobs}
        records = read_run(self.writer.folder).records
        judged = [r.episode for r in records if r.key in planned and r.episode.outcome != "error"]
        self.ended = {episode.key: episode for episode in judged}
        return [job for job in self.jobs if job.key not in self.ended]

    def _take(self, result: Result) -> None:
        """Log one attempt and decide what comes after it."""
        episode, key = result.episode, result.job.key
        self.writer.append(episode, result.draw)
        self.attempts[key] += 1
        self.steps += episode.steps
        connection = episode.error_class == "connection"
        self.unreachable = self.unreachable + 1 if connection else 0
        # A process that died once may have been unlucky; one that dies again is killed by the episode.
        retries = self.config.retries if connection else int(result.lost)
        if self.attempts[key] <= retries:
            self.retries += 1
            self.executor.submit(result.job)
        else:
            self.left -= 1
            self.ended[key] = replace(episode, trace=None)  # A long run's traces would fill the memory.
        self.stopped = self._reason_to_stop(episode)
        self._show()

    def _reason_to_stop(self, episode: Episode) -> str:
        if episode.error_class == "contract":
            return f"every episode would fail: {episode.error} (in {episode.key})"
        if self.left and self.unreachable >= UNREACHABLE_ROUNDS * self.config.workers:
            return (
                f"{self.unreachable} connection errors in a row, the last in {episode.key}: {episode.error}"
            )
        return ""

    def _show(self) -> None:
        self.progress.update(Tally(len(self.jobs), self._outcomes(), self.retries))

    def _outcomes(self) -> dict[str, int]:
        counts = Counter(episode.outcome for episode in self.ended.values())
        return {outcome: counts[outcome] for outcome in get_args(Outcome) if counts[outcome]}

    def status(self) -> RunStatus:
        """Return how the run ended."""
        if self.cancelled:
            return "cancelled"
        whole = not self.left and all(episode.outcome != "error" for episode in self.ended.values())
        return "success" if whole else "error"

    def summary(self, wall_s: float) -> EvalSummary:
        """Return what the caller is told."""
        ended = self.ended.values()
        return EvalSummary(
            folder=self.writer.folder,
            status=self.status(),
            planned=len(self.jobs),
            outcomes=self._outcomes(),
            errors=Counter(str(episode.error_class) for episode in ended if episode.outcome == "error"),
            stopped=self.stopped,
            steps=self.steps,
            wall_s=wall_s,
        )
