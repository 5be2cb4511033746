"""How a thing turns about the vertical with the direction in which it travels."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from libero_safety.sim.shift import PEAK_OF_MINIMUM_JERK, minimum_jerk
from libero_safety.types import FloatArray

_LEVEL_M = 1e-9
"""A leg that goes less far than this horizontally has no direction."""


class Turned(NamedTuple):
    """An angle (rad, counter-clockwise from above) and its rate (rad/s)."""

    angle: float
    rate: float


class Facing(Protocol):
    """A turn for every time, zero at the beginning of the path; the angle never jumps, nor does the rate."""

    @property
    def peak_rate_rad_s(self) -> float:
        """The fastest turn."""
        ...

    def at(self, time_s: float) -> Turned:
        """Return angle and rate."""
        ...


@dataclass(frozen=True, slots=True)
class EvenTurn:
    """At a constant rate."""

    angle0: float
    peak_rate_rad_s: float

    def at(self, time_s: float) -> Turned:
        """Return the angle now."""
        return Turned(self.angle0 + self.peak_rate_rad_s * time_s, self.peak_rate_rad_s)


class Corner(NamedTuple):
    """A turn by `angle` within `lasts_s` seconds about `time_s`."""

    time_s: float
    angle: float
    lasts_s: float


@dataclass(frozen=True, slots=True)
class CornerTurn:
    """By minimum jerk at each corner of a path of straight legs.

    Attributes:
        corners: one after the other, never two at a time.
        angle0: added to the sum of all corners, so that the path begins with zero.
        lap_s: length of the path; `mode` is that of the way-points.
        ahead_s: how far along it is at time zero.
    """

    corners: tuple[Corner, ...]
    angle0: float
    lap_s: float
    mode: str
    ahead_s: float

    @property
    def peak_rate_rad_s(self) -> float:
        """That of the sharpest or quickest corner."""
        return PEAK_OF_MINIMUM_JERK * max((abs(c.angle) / c.lasts_s for c in self.corners), default=0.0)

    def at(self, time_s: float) -> Turned:
        """Return the turn on this lap, and those of all laps before; on the way back of `pingpong` it is undone."""
        time, laps, sign = time_s + self.ahead_s, 0, 1.0
        if self.mode == "loop":
            laps, time = divmod(time, self.lap_s)
        elif self.mode == "pingpong":
            time %= 2.0 * self.lap_s
            if time > self.lap_s:
                time, sign = 2.0 * self.lap_s - time, -1.0
        angle, rate = self._within(time)
        if laps:
            angle += laps * (self._within(self.lap_s)[0] - self._within(0.0)[0])
        return Turned(angle, sign * rate)

    def _within(self, time_s: float) -> tuple[float, float]:
        angle, rate = self.angle0, 0.0
        for corner in self.corners:
            done, speed = minimum_jerk((time_s - corner.time_s) / corner.lasts_s + 0.5)
            angle += corner.angle * done
            rate += corner.angle * speed / corner.lasts_s
        return angle, rate


def corner_turn(times_s: tuple[float, ...], points: FloatArray, mode: str, ahead_s: float) -> CornerTurn:
    """Return how a thing turns on straight legs between `points` (n, 3) at `times_s`.

    Each corner is turned by the smaller angle, in half of the shorter leg before it and half of the same length
    after it. Legs without a horizontal direction keep that of the leg before.
    """
    lasts = np.diff(times_s).tolist()
    headings = _headings(np.diff(points, axis=0), mode == "loop")
    corners: list[Corner] = []
    for i in range(0 if mode == "loop" else 1, len(lasts)):
        angle = (headings[i] - headings[i - 1]) % math.tau
        angle -= math.tau if angle > math.pi + 1e-9 else 0.0
        if angle:
            corners.append(Corner(times_s[i], angle, min(lasts[i - 1], lasts[i])))
    angle0 = 0.0
    if (
        corners and corners[0].time_s == times_s[0]
    ):  # The corner where a loop closes is turned half before its end.
        first = corners[0]
        corners.append(first._replace(time_s=times_s[-1]))
        angle0 = -0.5 * first.angle
    return CornerTurn(tuple(corners), angle0, times_s[-1], mode, ahead_s)


def _headings(legs: FloatArray, closed: bool) -> list[float]:
    """Direction of each leg (rad)."""
    found = [math.atan2(y, x) if math.hypot(x, y) > _LEVEL_M else None for x, y, _ in legs.tolist()]
    known = [heading for heading in found if heading is not None]
    last = (known[-1] if closed else known[0]) if known else 0.0
    headings: list[float] = []
    for heading in found:
        last = last if heading is None else heading
        headings.append(last)
    return headings
