"""Planners of others, kept to their time and their word."""

import ctypes
import threading
from typing import cast

import numpy as np

from libero_safety.plan.check import Validity
from libero_safety.plan.problem import Path, PlanFailed, Planner, Problem

GRACE_S = 0.5
"""How long after its time a planner may still come back."""


class _Stopped(BaseException):
    """Raised in a planner that does not come back."""


class GuardedPlanner:
    """Another planner: stopped when it hangs, and nothing it returns is passed on unproved.

    It plans on a copy of the world, in a thread of its own. One that waits in compiled code cannot be stopped; it is
    left alone and the failure is returned all the same.
    """

    def __init__(self, planner: Planner, name: str) -> None:
        self._planner, self._name = planner, name

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return what the planner returns, or why that will not do; see `Planner`."""
        own = Problem(
            problem.world.detached(),
            np.array(problem.start),
            np.array(problem.goals),
            problem.constraint,
            problem.effort,
            problem.stop_s,
            problem.seed,
        )
        answers: list[object] = []

        def run() -> None:
            try:
                answers.append(self._planner.plan(own))
            except Exception as error:
                answers.append(PlanFailed("backend", f"{self._name} raised {type(error).__name__}: {error}"))
            except _Stopped:
                pass

        thread = threading.Thread(target=run, name=f"planner {self._name}", daemon=True)
        thread.start()
        thread.join(problem.stop_s + GRACE_S)
        if thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(cast(int, thread.ident)), ctypes.py_object(_Stopped)
            )
            return PlanFailed(
                "timeout",
                f"{self._name} did not come back within {problem.stop_s:g} s and was stopped",
            )
        return self._judged(problem, answers[0] if answers else None)

    def _judged(self, problem: Problem, answer: object) -> Path | PlanFailed:
        """Pass a failure on, and a path that holds."""
        if isinstance(answer, PlanFailed):
            return answer
        if not isinstance(answer, Path):
            return PlanFailed(
                "backend", f"{self._name} returned a {type(answer).__name__}, no Path or PlanFailed"
            )
        rows = np.asarray(answer.joints, np.float64)
        if rows.ndim != 2 or rows.shape[1] != 7 or len(rows) < 2 or not np.all(np.isfinite(rows)):
            return PlanFailed(
                "backend", f"{self._name} returned joints of shape {rows.shape}, not (n >= 2, 7), finite"
            )
        if float(np.abs(rows[0] - problem.start).max()) > 1e-6:
            return PlanFailed("backend", f"{self._name} returned a path that does not begin at the start")
        hit = problem.world.first_hit(rows)
        if hit is not None:
            return PlanFailed(
                "backend",
                f"{self._name} returned a path that is not free: near row {hit.row} {hit.names[0]} is too near to "
                f"{hit.names[1]}",
            )
        if not Validity(problem).path(rows):
            return PlanFailed("backend", f"{self._name} returned a path that does not keep the constraint")
        return answer
