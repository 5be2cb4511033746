"""What is measured runs in a process of its own and answers requests: one JSON object a line, in and out.

Needs NumPy only, so that it also runs where LIBERO is installed and this package is not.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Subject(Protocol):
    """An environment under test."""

    def reset(self) -> None:
        """Begin an episode."""
        ...

    def step(self, action: np.ndarray) -> None:
        """Execute one control step and make the observation that a policy gets."""
        ...

    def notes(self) -> dict[str, Any]:
        """Say what is in the scene and what happened since the reset."""
        ...


def serve(load: Callable[[], Callable[[], Subject]]) -> None:
    """Say when all is imported, then how long the subject took to make, then answer requests until the input ends.

    Args:
        load: imports everything and returns what makes the subject and resets it.
    """
    # What the libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    make = load()
    print(json.dumps({"imported": True}), file=answers)
    made: list[Subject] = []
    print(json.dumps(_timed(lambda: made.append(make()))), file=answers)
    for line in sys.stdin:
        print(json.dumps(_answer(made[0], json.loads(line))), file=answers)


def _answer(subject: Subject, request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "reset":
        return _timed(subject.reset)
    if request["do"] == "steps":
        actions = random_actions(request["count"], request["seed"])
        return {**_timed(lambda: [subject.step(action) for action in actions]), **subject.notes()}
    if request["do"] == "memory":
        return memory_mb()
    raise ValueError(f"unknown request {request}")


def _timed(work: Callable[[], object]) -> dict[str, float]:
    """Seconds on the wall, and of all processors together."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - processor}


def random_actions(count: int, seed: int) -> np.ndarray:
    """Return (count, 7) actions that keep the arm moving; the gripper holds its direction for ten steps."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1.0, 1.0, (count, 7))
    actions[:, 6] = np.repeat(rng.choice([-1.0, 1.0], count // 10 + 1), 10)[:count]
    return actions


def memory_mb() -> dict[str, float]:
    """Resident memory of this process, and its part that no other process shares with it (MB of 10^6 bytes); Linux.

    Pages of program libraries are resident in every process and in the machine's memory once.
    """
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]
    kib = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
    return {"resident_mb": kib["Rss"] * 1024 / 1e6, "own_mb": kib["Anonymous"] * 1024 / 1e6}
