"""What a scenario says about a motion, compiled to a law."""

import math
from itertools import pairwise

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.sim.facing import EvenTurn, Facing, corner_turn
from libero_safety.sim.law import (
    CircleLaw,
    LayeredLaw,
    LineLaw,
    MotionLaw,
    ParabolaLaw,
    StillLaw,
    WayPointsLaw,
)
from libero_safety.sim.shift import Reach, Retreat, Shift, Trembling
from libero_safety.types import PHYSICS_DT_S, FloatArray, Pose
from libero_safety.ubddl import spec

_CLOSED_M = 1e-6
"""Distance below which two positions are the same place."""


class MotionError(LiberoSafetyError):
    """A motion that cannot be carried out."""


def compile_motion(
    motion: spec.Motion,
    start: Pose,
    surface_z: float,
    bottom_m: float,
    *,
    workspace_xy: tuple[float, float] = (0.0, 0.0),
    size_m: float | None = None,
    radius_m: float = 0.0,
    rng: np.random.Generator | None = None,
    dt_s: float = PHYSICS_DT_S,
) -> MotionLaw:
    """Return the law of a motion whose numbers have all been drawn; it knows nothing of drawing back.

    Args:
        motion: what the scenario says; no number may still be a distribution.
        start: where the thing is placed (world).
        surface_z: height of the workspace surface (m, world).
        bottom_m: lowest point of the thing relative to its origin (m; negative when below it).
        workspace_xy: origin of the workspace frame in the world (m); circle centres are given in that frame.
        size_m: smallest extent of the thing. When given, a law that moves it further than this within one
            physics step is refused: it could pass through what it should hit.
        radius_m: how far the thing reaches horizontally from its origin, about which it turns.
        rng: what trembling is drawn from.
        dt_s: length of a physics step.

    Raises:
        MotionError: the motion has no direction, no duration, no radius, an undrawn number, nothing to draw from, or
            is too fast.
    """
    where = f"{motion.place}: motion of {motion.entity!r}"
    x, y, z = start.pos
    if motion.height is not None:
        z = surface_z + _number(motion.height, "height", where) - bottom_m
    pos = np.array((x, y, z), dtype=np.float64)
    path, facing = _path(motion.path, pos, workspace_xy, surface_z - bottom_m, where)
    shifts = _shifts(motion, rng, where)
    law = LayeredLaw(path, facing, shifts) if facing or shifts else path
    peak = law.peak_speed_m_s + (facing.peak_rate_rad_s * radius_m if facing else 0.0)
    if motion.withdraw is not None:
        peak += _positive(motion.withdraw.speed, "speed", "m/s", where)
    if size_m is not None and peak * dt_s > size_m:
        raise MotionError(
            f"{where} covers {peak * dt_s:.3g} m in one physics step of {dt_s:g} s but the thing is only "
            f"{size_m:.3g} m across; it would jump through obstacles. Slow it below {size_m / dt_s:.3g} m/s"
        )
    return law


def compile_retreat(motion: spec.Motion) -> Retreat | None:
    """Return how a thing draws back, if it does; no number may still be a distribution.

    Raises:
        MotionError: no direction, a negative distance, no speed, or an undrawn number.
    """
    if motion.withdraw is None:
        return None
    where, back = f"{motion.place}: withdrawal of {motion.entity!r}", motion.withdraw
    numbers = {name: _number(getattr(back, name), name, where) for name in ("closer_than", "travel")}
    for name, value in numbers.items():
        if value < 0.0:
            raise MotionError(f"{where}: {name} {value:g} m is negative")
    return Retreat(
        numbers["closer_than"],
        _unit(back.direction, where),
        numbers["travel"],
        _positive(back.speed, "speed", "m/s", where),
        back.stay,
    )


def _shifts(motion: spec.Motion, rng: np.random.Generator | None, where: str) -> tuple[Shift, ...]:
    shifts: list[Shift] = []
    if motion.jitter is not None:
        if rng is None:
            raise MotionError(f"{where}: its trembling needs a random generator to be drawn from")
        amplitude = _number(motion.jitter.amplitude, "amplitude", where)
        shifts.append(
            Trembling.drawn(amplitude, _positive(motion.jitter.frequency, "frequency", "Hz", where), rng)
        )
    if (reach := motion.reach_in) is not None:
        at, hold = _number(reach.at, "at", where), _number(reach.hold, "hold", where)
        offset = _vector(reach.offset, "offset", where)
        speed = _positive(reach.speed, "speed", "m/s", where)
        if offset.any():
            shifts.append(Reach.of(at, offset, speed, hold))
    return tuple(shifts)


def _path(
    path: spec.Path, pos: FloatArray, workspace_xy: tuple[float, float], rest_z: float, where: str
) -> tuple[MotionLaw, Facing | None]:
    match path:
        case spec.Still():
            return StillLaw(pos), None
        case spec.Line():
            return _line(path, pos, where), None
        case spec.Circle():
            return _circle(path, pos, workspace_xy, where)
        case spec.WayPoints():
            return _way_points(path, pos, where)
        case spec.Parabola():
            return _parabola(path, pos, rest_z, where), None


def _line(path: spec.Line, pos: FloatArray, where: str) -> LineLaw:
    direction = _unit(path.direction, where)
    travel = _number(path.travel, "travel", where)
    if travel < 0.0:
        raise MotionError(f"{where}: travel {travel:g} m is negative; turn the direction round instead")
    period = _positive(path.period, "period", "s", where)
    phase = _number(path.phase, "phase", where) % 1.0
    return LineLaw(pos, direction * travel, period, phase, path.once)


def _circle(
    path: spec.Circle, pos: FloatArray, workspace_xy: tuple[float, float], where: str
) -> tuple[CircleLaw, Facing | None]:
    cx = workspace_xy[0] + _number(path.center[0], "center", where)
    cy = workspace_xy[1] + _number(path.center[1], "center", where)
    dx, dy = float(pos[0]) - cx, float(pos[1]) - cy
    radius = math.hypot(dx, dy)
    if radius < _CLOSED_M:
        raise MotionError(f"{where}: the circle has no radius, its centre is where the thing is placed")
    period = _positive(path.period, "period", "s", where)
    ahead, rate = math.tau * _number(path.phase, "phase", where), math.tau / period
    law = CircleLaw((cx, cy, float(pos[2])), radius, math.atan2(dy, dx) + ahead, rate)
    return law, EvenTurn(ahead, rate) if path.facing == "follow" else None


def _way_points(path: spec.WayPoints, pos: FloatArray, where: str) -> tuple[WayPointsLaw, Facing | None]:
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
    phase = _number(path.phase, "phase", where) % 1.0
    if phase and path.mode == "stop":
        raise MotionError(f"{where}: a phase needs mode loop or pingpong")
    ahead_s = phase * times[-1] * (2.0 if path.mode == "pingpong" else 1.0)
    law = WayPointsLaw(tuple(times), table, speeds, path.mode, ahead_s)
    follows = path.facing == "follow"
    return law, corner_turn(law.times_s, table, path.mode, ahead_s) if follows else None


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


def _positive(value: spec.Num, name: str, unit: str, where: str) -> float:
    number = _number(value, name, where)
    if number <= 0.0:
        raise MotionError(f"{where}: {name} must be more than 0 {unit}, got {number:g}")
    return number


def _unit(value: spec.Vec3, where: str) -> FloatArray:
    direction = _vector(value, "direction", where)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise MotionError(f"{where}: direction (0 0 0) points nowhere; use Still to keep it in place")
    return direction / length


def _vector(value: spec.Vec3, name: str, where: str) -> FloatArray:
    return np.array([_number(v, name, where) for v in value], dtype=np.float64)
