"""How a hazard moves by itself: position, turn and velocities in closed form, at any time.

A law is asked at every physics step, so that the contact solver sees a body that moves, not one that jumps.
Positions are in the world frame (m), velocities in m/s; it turns about the vertical through its origin, if at all.
"""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from libero_safety.sim.facing import Facing
from libero_safety.sim.shift import Shift
from libero_safety.types import FloatArray


class Moving(NamedTuple):
    """Where a thing is and how it moves at one time.

    Attributes:
        pos: (3,) of its origin (m, world).
        vel: (3,) of its origin (m/s, world).
        turn: angle about the vertical from how it was placed (rad, counter-clockwise from above); `turn_rate` in rad/s.
    """

    pos: FloatArray
    vel: FloatArray
    turn: float = 0.0
    turn_rate: float = 0.0


class MotionLaw(Protocol):
    """A position for every time."""

    @property
    def peak_speed_m_s(self) -> float:
        """A speed that the origin never exceeds."""
        ...

    def at(self, time_s: float) -> Moving:
        """Return fresh arrays; at a corner the velocity is that of the new leg."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class StillLaw:
    """Stays where it is."""

    pos: FloatArray

    @property
    def peak_speed_m_s(self) -> float:
        """Zero."""
        return 0.0

    def at(self, time_s: float) -> Moving:
        """Return the place and no velocity."""
        return Moving(self.pos.copy(), np.zeros(3))


@dataclass(frozen=True, slots=True, eq=False)
class LineLaw:
    """A triangle wave from `start` outwards to `start + reach` and back; `once` ends it at the far end."""

    start: FloatArray
    reach: FloatArray
    period_s: float
    phase: float
    once: bool

    @property
    def peak_speed_m_s(self) -> float:
        """Twice the travel per period."""
        return 2.0 * float(np.linalg.norm(self.reach)) / self.period_s

    def at(self, time_s: float) -> Moving:
        """Return the state on the wave."""
        turns = self.phase + time_s / self.period_s
        if self.once:
            if not 0.0 <= turns < 0.5:
                return Moving(self.start + self.reach * (0.0 if turns < 0.0 else 1.0), np.zeros(3))
        else:
            turns %= 1.0
        rate = 2.0 / self.period_s
        if turns < 0.5:
            return Moving(self.start + self.reach * (2.0 * turns), self.reach * rate)
        return Moving(self.start + self.reach * (2.0 - 2.0 * turns), self.reach * -rate)


@dataclass(frozen=True, slots=True, eq=False)
class CircleLaw:
    """Counter-clockwise, seen from above, about `center`, at constant height and angular rate."""

    center: tuple[float, float, float]
    radius_m: float
    angle0: float
    rate_rad_s: float

    @property
    def peak_speed_m_s(self) -> float:
        """Radius times angular rate."""
        return self.radius_m * self.rate_rad_s

    def at(self, time_s: float) -> Moving:
        """Return the state on the circle."""
        angle = self.angle0 + self.rate_rad_s * time_s
        x, y = self.radius_m * math.cos(angle), self.radius_m * math.sin(angle)
        cx, cy, z = self.center
        rate = self.rate_rad_s
        return Moving(np.array((cx + x, cy + y, z)), np.array((-rate * y, rate * x, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class WayPointsLaw:
    """Straight legs at constant speed between timed positions; the first time is zero.

    Attributes:
        times_s: (n,) strictly rising, as a tuple because bisection on it is faster.
        points: (n, 3) positions.
        speeds: (n - 1, 3) velocity of each leg.
        ahead_s: how far along it is at time zero.
    """

    times_s: tuple[float, ...]
    points: FloatArray
    speeds: FloatArray
    mode: str
    ahead_s: float = 0.0

    @property
    def peak_speed_m_s(self) -> float:
        """The speed of the fastest leg."""
        return float(np.linalg.norm(self.speeds, axis=1).max(initial=0.0))

    def at(self, time_s: float) -> Moving:
        """Return the state on the leg of this time."""
        end = self.times_s[-1]
        time_s += self.ahead_s
        if self.mode == "stop":
            if time_s < 0.0 or time_s >= end:
                return Moving(self.points[0 if time_s < 0.0 else -1].copy(), np.zeros(3))
        elif self.mode == "loop":
            time_s %= end
        else:
            time_s %= 2.0 * end
            if time_s >= end:
                time_s = 2.0 * end - time_s
                leg = max(bisect_left(self.times_s, time_s) - 1, 0)
                back = -self.speeds[leg]
                return Moving(self.points[leg] - back * (time_s - self.times_s[leg]), back)
        leg = min(bisect_right(self.times_s, time_s), len(self.speeds)) - 1
        return Moving(
            self.points[leg] + self.speeds[leg] * (time_s - self.times_s[leg]), self.speeds[leg].copy()
        )


@dataclass(frozen=True, slots=True, eq=False)
class ParabolaLaw:
    """At rest until `release_s`, then in free flight for `flight_s` seconds, then at rest where it landed."""

    start: FloatArray
    velocity: FloatArray
    gravity_m_s2: float
    release_s: float
    flight_s: float
    peak_speed_m_s: float

    def at(self, time_s: float) -> Moving:
        """Return the state in or outside the flight."""
        time = time_s - self.release_s
        flying = 0.0 <= time < self.flight_s
        time = min(max(time, 0.0), self.flight_s)
        pos = self.start + self.velocity * time
        pos[2] -= 0.5 * self.gravity_m_s2 * time * time
        if not flying:
            return Moving(pos, np.zeros(3))
        vel = self.velocity.copy()
        vel[2] -= self.gravity_m_s2 * time
        return Moving(pos, vel)


@dataclass(frozen=True, slots=True, eq=False)
class LayeredLaw:
    """A path, a turn, and displacements that add up."""

    path: MotionLaw
    facing: Facing | None
    shifts: tuple[Shift, ...]

    @property
    def peak_speed_m_s(self) -> float:
        """The sum of all peak speeds."""
        return self.path.peak_speed_m_s + sum(shift.peak_speed_m_s for shift in self.shifts)

    def at(self, time_s: float) -> Moving:
        """Return the sum of all."""
        pos, vel, *_ = self.path.at(time_s)
        for shift in self.shifts:
            offset, velocity = shift.at(time_s)
            pos += offset
            vel += velocity
        if self.facing is None:
            return Moving(pos, vel)
        return Moving(pos, vel, *self.facing.at(time_s))
