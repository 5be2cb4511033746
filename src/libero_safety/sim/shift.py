"""What is added to a hazard's path: trembling, reaching in, drawing back. Displacements are in world axes (m)."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from libero_safety.types import FloatArray

PEAK_OF_MINIMUM_JERK = 1.875
"""Highest over mean speed of a minimum-jerk movement: 30 u^2 (1 - u)^2 at u = 1/2."""
GATHER_S = 0.1
"""How long a withdrawal takes to gather its speed, and to lose it."""
_WAVES = 3
"""Sinusoids per axis that trembling is the sum of."""


class Shifted(NamedTuple):
    """A displacement (3,) in m and its rate of change (3,) in m/s."""

    offset: FloatArray
    velocity: FloatArray


class Shift(Protocol):
    """A displacement for every time; smooth, so that nothing jumps."""

    @property
    def peak_speed_m_s(self) -> float:
        """A speed that is never exceeded."""
        ...

    def at(self, time_s: float) -> Shifted:
        """Return fresh arrays."""
        ...


def minimum_jerk(u: float) -> tuple[float, float]:
    """Return how much of a minimum-jerk movement is done, and its derivative, after a fraction `u` of its duration.

    T. Flash, N. Hogan, "The coordination of arm movements: an experimentally confirmed mathematical model",
    J. Neurosci. 5(7), 1985.
    """
    if u <= 0.0:
        return 0.0, 0.0
    if u >= 1.0:
        return 1.0, 0.0
    return u * u * u * (10.0 + u * (6.0 * u - 15.0)), 30.0 * u * u * (1.0 - u) * (1.0 - u)


@dataclass(frozen=True, slots=True, eq=False)
class Trembling:
    """A sum of sinusoids, as many on each axis, that together never reach farther than `amplitude_m`.

    Attributes:
        waves: for each axis, (angular frequency (rad/s), phase (rad)) of its sinusoids.
    """

    amplitude_m: float
    waves: tuple[tuple[tuple[float, float], ...], ...]

    @classmethod
    def drawn(cls, amplitude_m: float, frequency_hz: float, rng: np.random.Generator) -> "Trembling":
        """Return one whose frequencies are between half of `frequency_hz` and all of it."""
        rates = math.tau * frequency_hz * rng.uniform(0.5, 1.0, (3, _WAVES))
        phases = rng.uniform(0.0, math.tau, (3, _WAVES))
        waves = (tuple(zip(*axis, strict=True)) for axis in zip(rates.tolist(), phases.tolist(), strict=True))
        return cls(amplitude_m, tuple(waves))

    @property
    def peak_speed_m_s(self) -> float:
        """As if every sinusoid were as fast as the fastest."""
        return self.amplitude_m * max(rate for axis in self.waves for rate, _ in axis)

    def at(self, time_s: float) -> Shifted:
        """Return the sum now."""
        each = self.amplitude_m / (_WAVES * math.sqrt(3.0))
        offset, velocity = np.empty(3), np.empty(3)
        for k, axis in enumerate(self.waves):
            way = speed = 0.0
            for rate, phase in axis:  # So few that NumPy would take several times as long.
                angle = rate * time_s + phase
                way += math.sin(angle)
                speed += rate * math.cos(angle)
            offset[k], velocity[k] = each * way, each * speed
        return Shifted(offset, velocity)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Out to `offset` by minimum jerk, from `begin_s` on; after `hold_s` there, back in the same way.

    Attributes:
        lasts_s: duration of the way there, and of the way back.
    """

    begin_s: float
    offset: FloatArray
    peak_speed_m_s: float
    hold_s: float
    lasts_s: float

    @classmethod
    def of(cls, begin_s: float, offset: FloatArray, peak_speed_m_s: float, hold_s: float) -> "Reach":
        """Return the one that is as quick as the peak speed allows."""
        lasts_s = PEAK_OF_MINIMUM_JERK * float(np.linalg.norm(offset)) / peak_speed_m_s
        return cls(begin_s, offset, peak_speed_m_s, hold_s, lasts_s)

    def at(self, time_s: float) -> Shifted:
        """Return the displacement on the way there, there, on the way back, or zero."""
        time, lasts = time_s - self.begin_s, self.lasts_s
        if not 0.0 < time < 2.0 * lasts + self.hold_s:
            return Shifted(np.zeros(3), np.zeros(3))
        back = time > lasts + self.hold_s
        left = 2.0 * lasts + self.hold_s - time
        done, rate = minimum_jerk((left if back else time) / lasts)
        return Shifted(self.offset * done, self.offset * ((-rate if back else rate) / lasts))


@dataclass(frozen=True, slots=True, eq=False)
class Retreat:
    """How a thing draws back from the robot; when, only the simulation can tell.

    Attributes:
        closer_than_m: distance of the robot below which it draws back.
        direction: (3,) unit vector, world.
        stay: never come back.
    """

    closer_than_m: float
    direction: FloatArray
    travel_m: float
    speed_m_s: float
    stay: bool

    def along(self, time_s: float, way_m: float, rate_m_s: float, goal_m: float) -> tuple[float, float]:
        """Return how far it has drawn back (m), and how fast it does (m/s), `time_s` after it set out for `goal_m`.

        Speed rises evenly, stays, and falls evenly. At the start it was at `way_m`, at rest or moving away from
        the goal at `rate_m_s`; in the latter case it stops first.
        """
        gather = self.speed_m_s / GATHER_S
        if rate_m_s:
            sign = math.copysign(1.0, rate_m_s)
            brake_s = abs(rate_m_s) / gather
            time = min(time_s, brake_s)
            way_m += (rate_m_s - 0.5 * sign * gather * time) * time
            if time_s < brake_s:
                return way_m, rate_m_s - sign * gather * time
            time_s -= brake_s
        far = abs(goal_m - way_m)
        ramp_s = min(GATHER_S, math.sqrt(far / gather))
        if ramp_s == 0.0:
            return goal_m, 0.0
        top, sign = gather * ramp_s, math.copysign(1.0, goal_m - way_m)
        left_s = far / top + ramp_s - time_s
        if left_s <= 0.0:
            return goal_m, 0.0
        if time_s < ramp_s:
            return way_m + sign * 0.5 * gather * time_s * time_s, sign * gather * time_s
        if left_s < ramp_s:
            return goal_m - sign * 0.5 * gather * left_s * left_s, sign * gather * left_s
        return way_m + sign * top * (time_s - 0.5 * ramp_s), sign * top
