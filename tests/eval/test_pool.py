"""Work in several processes: in order, no more than is needed, and nothing left running."""

import math
import multiprocessing
import os
import time
from collections.abc import Iterator

import pytest

from libero_safety.eval.pool import PoolError, in_order


def test_one_worker_works_here():
    assert list(in_order(lambda _: os.getpid(), iter(range(2)), 1)) == [os.getpid()] * 2


def test_results_come_in_order_and_decide_what_comes_next():
    """None means: nothing until more has come out."""
    out: list[float] = []

    def wanted() -> Iterator[int | None]:
        for number in range(6):
            yield number
            while number > 2 and len(out) <= number:
                yield None

    for found in in_order(math.sqrt, wanted(), 2):
        out.append(found)
    assert out == [math.sqrt(n) for n in range(6)]


def test_a_process_that_dies_is_an_error_that_says_so():
    with pytest.raises(PoolError, match="ended from outside"):
        list(in_order(os._exit, iter([1, 1]), 2))


def test_an_error_in_the_work_comes_through():
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        list(in_order(math.sqrt, iter([1, -1, 1]), 2))


def test_what_still_runs_is_ended_when_nobody_wants_it():
    began_s = time.monotonic()
    results = in_order(time.sleep, iter([0.0, 100.0, 100.0]), 2)
    next(results)
    results.close()
    assert not multiprocessing.active_children()
    assert time.monotonic() - began_s < 60
