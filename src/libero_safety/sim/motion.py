"""How a hazard moves by itself: position and velocity in closed form, at any time.

A law is asked at every physics step, so that the contact solver sees a body that moves, not one that jumps.
Positions are in the world frame (m), velocities in m/s; the orientation never changes.
"""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.types import PHYSICS_DT_S, FloatArray, Pose
from libero_safety.ubddl import spec

_CLOSED_M = 1e-6
"""Distance below which two positions are the same place."""


class MotionError(LiberoSafetyError):
    """A motion that cannot be carried out."""


class Moving(NamedTuple):
    """Position (m, world, shape (3,)) and velocity (m/s, world, shape (3,)) at one time."""

    pos: FloatArray
    vel: FloatArray


class MotionLaw(Protocol):
    """A position for every time."""

    @property
    def peak_speed_m_s(self) -> float:
        """The highest speed that the law ever asks for."""
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
    """

    times_s: tuple[float, ...]
    points: FloatArray
    speeds: FloatArray
    mode: str

    @property
    def peak_speed_m_s(self) -> float:
        """The speed of the fastest leg."""
        return float(np.linalg.norm(self.speeds, axis=1).max(initial=0.0))

    def at(self, time_s: float) -> Moving:
        """Return the state on the leg of this time."""
        end = self.times_s[-1]
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


def compile_motion(
    motion: spec.Motion,
    start: Pose,
    surface_z: float,
    bottom_m: float,
    *,
    workspace_xy: tuple[float, float] = (0.0, 0.0),
    size_m: float | None = None,
    dt_s: float = PHYSICS_DT_S,
) -> MotionLaw:
    """Return the law of a motion whose numbers have all been drawn.

    Args:
        motion: what the scenario says; no number may still be a distribution.
        start: where the thing is placed (world).
        surface_z: height of the workspace surface (m, world).
        bottom_m: lowest point of the thing relative to its origin (m; negative when below it).
        workspace_xy: origin of the workspace frame in the world (m); circle centres are given in that frame.
        size_m: smallest extent of the thing. When given, a law that moves it further than this within one
            physics step is refused: it could pass through what it should hit.
        dt_s: length of a physics step.

    Raises:
        MotionError: the motion has no direction, no duration, no radius, an undrawn number, or is too fast.
    """
    where = f"{motion.place}: motion of {motion.entity!r}"
    x, y, z = start.pos
    if motion.height is not None:
        z = surface_z + _number(motion.height, "height", where) - bottom_m
    pos = np.array((x, y, z), dtype=np.float64)
    law: MotionLaw
    match motion.path:
        case spec.Still():
            law = StillLaw(pos)
        case spec.Line():
            law = _line(motion.path, pos, where)
        case spec.Circle():
            law = _circle(motion.path, pos, workspace_xy, where)
        case spec.WayPoints():
            law = _way_points(motion.path, pos, where)
        case spec.Parabola():
            law = _parabola(motion.path, pos, surface_z - bottom_m, where)
    step_m = law.peak_speed_m_s * dt_s
    if size_m is not None and step_m > size_m:
        raise MotionError(
            f"{where} covers {step_m:.3g} m in one physics step of {dt_s:g} s but the thing is only "
            f"{size_m:.3g} m across; it would jump through obstacles. Slow it below {size_m / dt_s:.3g} m/s"
        )
    return law


def _line(path: spec.Line, pos: FloatArray, where: str) -> LineLaw:
    direction = _vector(path.direction, "direction", where)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise MotionError(f"{where}: direction (0 0 0) points nowhere; use Still to keep it in place")
    travel = _number(path.travel, "travel", where)
    if travel < 0.0:
        raise MotionError(f"{where}: travel {travel:g} m is negative; turn the direction round instead")
    period = _positive(path.period, "period", where)
    phase = _number(path.phase, "phase", where) % 1.0
    return LineLaw(pos, direction * (travel / length), period, phase, path.once)


def _circle(path: spec.Circle, pos: FloatArray, workspace_xy: tuple[float, float], where: str) -> CircleLaw:
    cx = workspace_xy[0] + _number(path.center[0], "center", where)
    cy = workspace_xy[1] + _number(path.center[1], "center", where)
    dx, dy = float(pos[0]) - cx, float(pos[1]) - cy
    radius = math.hypot(dx, dy)
    if radius < _CLOSED_M:
        raise MotionError(f"{where}: the circle has no radius, its centre is where the thing is placed")
    period = _positive(path.period, "period", where)
    angle = math.atan2(dy, dx) + math.tau * _number(path.phase, "phase", where)
    return CircleLaw((cx, cy, float(pos[2])), radius, angle, math.tau / period)


def _way_points(path: spec.WayPoints, pos: FloatArray, where: str) -> WayPointsLaw:
    times = [_number(p.time, "time", where) for p in path.points]
    points = [pos + _vector(p.offset, "offset", where) for p in path.points]
    if not times or times[0] > 0.0:
        times.insert(0, 0.0)
        points.insert(0, pos)
    if times[0] < 0.0 or any(b <= a for a, b in pairwise(times)):
        raise MotionError(f"{where}: way-point times {times} must rise from zero on")
    if path.mode != "stop" and times[-1] == 0.0:
        raise MotionError(f"{where}: mode {path.mode} needs a second way-point")
    if path.mode == "loop" and float(np.abs(points[-1] - points[0]).max()) > _CLOSED_M:
        raise MotionError(
            f"{where}: a loop must end where it begins, or the thing would jump; "
            "repeat the first offset at the end"
        )
    table = np.array(points)
    speeds = np.diff(table, axis=0) / np.diff(times)[:, None]
    return WayPointsLaw(tuple(times), table, speeds, path.mode)


def _parabola(path: spec.Parabola, pos: FloatArray, rest_z: float, where: str) -> ParabolaLaw:
    velocity = _vector(path.velocity, "velocity", where)
    gravity = _number(path.gravity, "gravity", where)
    drop, vz = float(pos[2]) - rest_z, float(velocity[2])
    if drop < -_CLOSED_M:
        raise MotionError(f"{where}: thrown from {-drop:.3g} m below the workspace surface")
    if gravity < 0.0:
        raise MotionError(f"{where}: gravity {gravity:g} m/s^2 is negative; it is the downward acceleration")
    flight = _flight_s(max(drop, 0.0), vz, gravity)
    flat = float(velocity[0] ** 2 + velocity[1] ** 2)
    fastest_z = max(abs(vz), abs(vz - gravity * flight)) if math.isfinite(flight) else abs(vz)
    peak = math.sqrt(flat + fastest_z**2) if flight > 0.0 else 0.0
    return ParabolaLaw(pos, velocity, gravity, _number(path.start, "start", where), flight, peak)


def _flight_s(drop_m: float, vz: float, gravity: float) -> float:
    """Return the time at which drop + vz t - g t^2 / 2 comes back to zero; infinite when it never does."""
    if gravity == 0.0:
        return -drop_m / vz if vz < 0.0 else math.inf
    return (vz + math.sqrt(vz * vz + 2.0 * gravity * drop_m)) / gravity


def _number(value: spec.Num, name: str, where: str) -> float:
    if isinstance(value, spec.Uniform | spec.Choice):
        raise MotionError(f"{where}: {name} is still {value}; draw it first")
    if not math.isfinite(value):
        raise MotionError(f"{where}: {name} is {value}, which is no number")
    return float(value)


def _positive(value: spec.Num, name: str, where: str) -> float:
    number = _number(value, name, where)
    if number <= 0.0:
        raise MotionError(f"{where}: {name} must be more than 0 s, got {number:g}")
    return number


def _vector(value: spec.Vec3, name: str, where: str) -> FloatArray:
    return np.array([_number(v, name, where) for v in value], dtype=np.float64)
