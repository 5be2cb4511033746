"""Work done by several processes, handed back in order; nothing is left running, whatever the end."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import TypeVar

from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.worker import CLOSE_S, end_with_parent

T = TypeVar("T")
R = TypeVar("R")


class PoolError(LiberoSafetyError):
    """A process that ended before its work was done."""


def in_order(work: Callable[[T], R], items: Iterator[T | None], workers: int) -> Generator[R]:
    """Yield what `work` makes of each item, in the order of the items, whatever the number of processes.

    Items are taken when there is room for them: what is yielded may decide which come next, `2 * workers` later.
    When the generator is closed or raises, processes that still work are ended. With one worker everything happens
    here.

    Args:
        work: a function that new processes can import.
        items: values that can be sent to them; None when there is nothing to do until more has been yielded.
        workers: how many processes.

    Raises:
        PoolError: a process was ended from outside, or there was no memory for it.
    """
    if workers <= 1:
        yield from (work(item) for item in items if item is not None)
        return
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start)
    pending: deque[Future[R]] = deque()
    done = False
    try:
        while True:
            while len(pending) < 2 * workers and (item := next(items, None)) is not None:
                pending.append(pool.submit(work, item))
            if not pending:
                break
            yield pending.popleft().result()
        done = True
    except BrokenProcessPool as error:
        raise PoolError("a worker process was ended from outside, or found no memory") from error
    finally:
        if not done:
            pool.shutdown(wait=False, cancel_futures=True)
            _end(set(multiprocessing.active_children()) - before)
        pool.shutdown()


def _end(processes: set[BaseProcess]) -> None:
    for process in processes:
        with suppress(OSError):
            process.kill()
    for process in processes:
        process.join(CLOSE_S)


def _start() -> None:
    """Leave Ctrl-C, which the terminal sends to all, to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
