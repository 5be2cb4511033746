"""Where episodes run: in this process, or in worker processes that may die without harm to the others."""

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Protocol

from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.interrupts import HungError, deadline
from libero_safety.eval.plan import EvalConfig, Job
from libero_safety.eval.simulator import Result, Runner, RunnerFactory, RunnerInfo, error_episode, last_lines

START_S = 600.0
"""How long a worker may take to get ready, unless an episode may take even longer: models load slowly."""
CLOSE_S = 5.0
"""How long a worker may take to close its policy before it is killed."""


class WorkerStartError(LiberoSafetyError):
    """A worker process that cannot run any episode."""


class Executor(Protocol):
    """A queue of jobs and whatever works it off."""

    def start(self) -> RunnerInfo:
        """Make what runs the episodes, and say what it is.

        Raises:
            LiberoSafetyError: it cannot be made.
        """
        ...

    def submit(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        ...

    def next(self) -> Result:
        """Wait for the next result, of whichever job.

        Raises:
            WorkerStartError: a worker had to be replaced and the new one does not start.
        """
        ...

    def kill(self) -> None:
        """End at once whatever is running; nothing more comes out."""
        ...

    def close(self) -> None:
        """Let whatever is idle end in order; may be called after `kill`."""
        ...


def make_executor(config: EvalConfig, make_runner: RunnerFactory, jobs: int) -> Executor:
    """Return an executor with as many workers as `config` asks for, but no more than there are jobs."""
    workers = min(config.workers, jobs)
    return InProcess(config, make_runner) if workers == 1 else Pool(config, make_runner, workers)


class InProcess:
    """Runs the jobs in the calling process, one by one, when a result is asked for."""

    def __init__(self, config: EvalConfig, make_runner: RunnerFactory) -> None:
        self._config, self._make_runner = config, make_runner
        self._jobs: deque[Job] = deque()
        self._runner: Runner | None = None

    def start(self) -> RunnerInfo:
        """Make the runner here."""
        self._runner = self._make_runner(self._config)
        return self._runner.info

    def submit(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        self._jobs.append(job)

    def next(self) -> Result:
        """Run the first job of the queue."""
        assert self._runner is not None, "start() comes first"
        job = self._jobs.popleft()
        started_s = time.monotonic()
        try:
            with deadline(self._config.watchdog_s):
                return self._runner.run(job)
        except HungError as error:
            cause = f"{hung_text(self._config.watchdog_s)}\n{last_lines(error)}"
            return _lost(job, cause, started_s)

    def kill(self) -> None:
        """Do nothing: what runs here is interrupted by the exception that leads here."""

    def close(self) -> None:
        """Release what the runner holds."""
        if self._runner is not None:
            self._runner.close()


class Pool:
    """Worker processes, each minded by a thread that starts, feeds, watches and replaces it."""

    def __init__(self, config: EvalConfig, make_runner: RunnerFactory, workers: int) -> None:
        self._config, self._make_runner = config, make_runner
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[RunnerInfo | Result | Exception] = queue.SimpleQueue()
        self._closing = False
        # One process is started at a time: multiprocessing keeps the list of its children without a lock.
        # Reentrant, because a signal may lead to `kill` while `kill` runs.
        self._starting = threading.RLock()
        self._workers: list[_Worker | None] = [None] * workers
        self._threads = [
            threading.Thread(target=self._mind, args=(seat,), name=f"worker-{seat}", daemon=True)
            for seat in range(workers)
        ]

    def start(self) -> RunnerInfo:
        """Start all workers; the first that is ready speaks for all."""
        for thread in self._threads:
            thread.start()
        first = self._results.get()
        if isinstance(first, Exception):
            raise first
        assert isinstance(first, RunnerInfo), "there is no result before the first job"
        return first

    def submit(self, job: Job) -> None:
        """Put a job at the end of the queue."""
        self._jobs.put(job)

    def next(self) -> Result:
        """Wait for the next result, of whichever worker."""
        while True:
            item = self._results.get()
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Result):
                return item

    def kill(self) -> None:
        """Kill all workers, those that are stopped or hang in native code included."""
        with self._starting:
            self._closing = True
            for worker in self._workers:
                if worker is not None:
                    worker.process.kill()

    def close(self) -> None:
        """Let idle workers close their policies and end; kill those that do not."""
        for _ in self._threads:
            self._jobs.put(None)
        until_s = time.monotonic() + 2 * CLOSE_S
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until_s - time.monotonic()))
        self.kill()

    def _mind(self, seat: int) -> None:
        """Feed the worker of one seat until there is nothing more to do."""
        try:
            self._results.put(self._start_worker(seat).info)
            while (job := self._jobs.get()) is not None and not self._closing:
                worker = self._workers[seat] or self._start_worker(seat)
                result = worker.run(job, self._config.watchdog_s)
                if worker.gone:
                    # Replaced when there is something to do for it, not after the last episode.
                    worker.end()
                    self._workers[seat] = None
                self._results.put(result)
        except Exception as error:
            self._results.put(error)
        worker = self._workers[seat]
        if worker is not None:
            worker.end()

    def _start_worker(self, seat: int) -> "_Worker":
        with self._starting:
            if self._closing:
                raise WorkerStartError("the run is ending")
            self._workers[seat] = worker = _Worker(self._config, self._make_runner)
        worker.wait_ready(max(START_S, self._config.watchdog_s))
        return worker


@dataclass(frozen=True)
class _StartFailure:
    """What a worker sends when its runner cannot be made."""

    text: str


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, config: EvalConfig, make_runner: RunnerFactory) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # No daemon: those may not have children, and a policy may want some.
        self.process: SpawnProcess = context.Process(
            target=work, args=(theirs, config, make_runner), daemon=False
        )
        self.process.start()
        theirs.close()
        self.info = RunnerInfo()
        self.gone = False

    def wait_ready(self, limit_s: float) -> None:
        """Wait until the process can take jobs.

        Raises:
            WorkerStartError: it cannot.
        """
        answer, problem = self._ask(None, limit_s, f"nothing within {limit_s:g} s")
        if isinstance(answer, RunnerInfo) and not self.gone:
            self.info = answer
            return
        self.end()
        if isinstance(answer, _StartFailure):
            raise WorkerStartError(answer.text)
        raise WorkerStartError(f"a worker process did not get ready: {problem}")

    def run(self, job: Job, limit_s: float) -> Result:
        """Run a job there; `gone` tells afterwards whether the worker has to be replaced."""
        started_s = time.monotonic()
        answer, problem = self._ask(job, limit_s, hung_text(limit_s))
        # The job is the parent's own, so that it is one object throughout.
        return replace(answer, job=job) if isinstance(answer, Result) else _lost(job, problem, started_s)

    def _ask(self, job: Job | None, limit_s: float, late: str) -> tuple[object, str]:
        """Send a job (nothing while starting) and return the answer, or None and what went wrong."""
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self.process.kill()

        # A timer, no timeout on the pipe: a process that is stopped while it writes would block the reader.
        timer = threading.Timer(limit_s, expire)
        timer.daemon = True
        timer.start()
        answer: object = None
        try:
            if job is not None:
                self._connection.send(job)
            answer = self._connection.recv()
        except (EOFError, OSError):
            self.gone = True
        finally:
            timer.cancel()
        if expired.is_set():
            self.gone = True
            return answer, late
        return answer, self._death() if self.gone else ""

    def _death(self) -> str:
        self.process.join(CLOSE_S)
        code = self.process.exitcode
        if code is None:
            return "the worker process closed its connection without an answer"
        if code < 0:
            return f"the worker process was ended by {signal.Signals(-code).name}"
        return f"the worker process ended with exit code {code}"

    def end(self) -> None:
        """Let the process end in order, or kill it."""
        with suppress(OSError):
            if not self.gone:
                self._connection.send(None)
        self.process.join(0.0 if self.gone else CLOSE_S)
        self.process.kill()
        self.process.join(CLOSE_S)
        self._connection.close()


def work(connection: Connection, config: EvalConfig, make_runner: RunnerFactory) -> None:
    """Run jobs from `connection` until None or the end of the parent: the life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The terminal sends Ctrl-C to all; the parent decides.
    end_with_parent()
    try:
        runner = make_runner(config)
    except LiberoSafetyError as error:
        connection.send(_StartFailure(str(error)))
        return
    except Exception as error:
        connection.send(_StartFailure(last_lines(error)))
        return
    try:
        connection.send(runner.info)
        while (job := connection.recv()) is not None:
            connection.send(runner.run(job))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # The parent is gone; nobody is left to be told.
    finally:
        runner.close()


def end_with_parent() -> None:
    """From now on, end this process when its parent ends, however that comes."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def hung_text(limit_s: float) -> str:
    """Return what the log says about an episode that the watchdog has ended."""
    return f"hung: no result within {limit_s:g} s (watchdog_s), ended by the watchdog"


def _lost(job: Job, cause: str, started_s: float) -> Result:
    wall_s = time.monotonic() - started_s
    return Result(job, replace(error_episode(job, "internal", cause), wall_s=wall_s), lost=True)
