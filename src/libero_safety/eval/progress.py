"""How far an evaluation has come, for the person who waits."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichBar

PLAIN_EVERY_S = 5.0


@dataclass(frozen=True)
class Tally:
    """The state of a run.

    Attributes:
        planned: episodes of the whole run.
        outcomes: outcome -> episodes that ended so and will not be run again.
        retries: attempts that failed for reasons outside the policy and were queued again.
        rejected: attempts that came to nothing and will not be made again.
        unit: what is counted.
    """

    planned: int
    outcomes: Mapping[str, int]
    retries: int = 0
    rejected: int = 0
    unit: str = "episodes"

    @property
    def done(self) -> int:
        """Episodes that are over."""
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        counts = [f"{count} {outcome}" for outcome, count in self.outcomes.items() if count]
        counts += [f"{self.retries} retried"] if self.retries else []
        return ", ".join([*counts, f"{self.rejected} rejected"] if self.rejected else counts)


class Progress(Protocol):
    """Something that shows a `Tally`."""

    def update(self, tally: Tally) -> None:
        """Called once at the start, with what an earlier run has left, and after every episode."""
        ...

    def close(self) -> None:
        """Called once at the end, whatever the end was."""
        ...


class Silent:
    """Shows nothing."""

    def update(self, tally: Tally) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class PlainLines:
    """Writes a line every few seconds: for log files and pipes."""

    def __init__(self, stream: TextIO, every_s: float = PLAIN_EVERY_S) -> None:
        self._stream = stream
        self._every_s = every_s
        self._first: tuple[float, int] | None = None
        self._shown_s = 0.0
        self._waiting: Tally | None = None

    def update(self, tally: Tally) -> None:
        """Write a line if the last one is old enough."""
        now_s = time.monotonic()
        if self._first is None:
            self._first = (now_s, tally.done)
        elif now_s - self._shown_s < self._every_s:
            self._waiting = tally
            return
        self._write(tally, now_s)

    def close(self) -> None:
        """Write the state at the end, if it has not been written."""
        if self._waiting is not None:
            self._write(self._waiting, time.monotonic())

    def _write(self, tally: Tally, now_s: float) -> None:
        self._shown_s, self._waiting = now_s, None
        line = f"{tally.done}/{tally.planned} {tally.unit}"
        counts = str(tally)
        if counts:
            line += f": {counts}"
        started_s, before = self._first or (now_s, tally.done)
        ran, elapsed_s = tally.done - before, now_s - started_s
        if ran and elapsed_s > 0:
            line += f"; {_rate(ran, elapsed_s)}"
        if ran and tally.done < tally.planned:
            line += f", {duration((tally.planned - tally.done) * elapsed_s / ran)} left"
        self._stream.write(line + "\n")
        self._stream.flush()


class ProgressBar:
    """A live bar with counts, elapsed and remaining time."""

    def __init__(self, stream: TextIO) -> None:
        self._bar = RichBar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._task: TaskID | None = None
        self._first = (0.0, 0)

    def update(self, tally: Tally) -> None:
        """Redraw."""
        now_s = time.monotonic()
        if self._task is None:
            self._first = (now_s, tally.done)
            # Added with what is done already, so that it does not count as the speed of this run.
            self._task = self._bar.add_task(
                tally.unit, total=tally.planned, completed=tally.done, counts=str(tally), rate=""
            )
            self._bar.start()
        started_s, before = self._first
        ran = tally.done - before
        rate = _rate(ran, now_s - started_s) if ran and now_s > started_s else ""
        self._bar.update(self._task, completed=tally.done, counts=str(tally), rate=rate)

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._task is not None:
            self._bar.stop()


def console_progress(stream: TextIO | None = None) -> Progress:
    """Return a live bar if `stream` (standard error by default) is a terminal, else plain lines."""
    where = stream or sys.stderr
    return ProgressBar(where) if where.isatty() else PlainLines(where)


def _rate(episodes: int, elapsed_s: float) -> str:
    per_minute = 60 * episodes / elapsed_s
    return f"{per_minute:.0f} per minute" if per_minute >= 10 else f"{per_minute:.1f} per minute"


def duration(seconds: float) -> str:
    """Return a span of time for people: `42 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
