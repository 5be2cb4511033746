"""From a path of the tip to a motion: the smoothest one in a tube around the path, as fast as its limits allow.

Each of the six axes (position, and rotation vector about the pose half-way) is the sequence at 20 Hz with the least
sum of squared jerk in a box around the path that never exceeds its speed. Where along the path each box stands is found
by turns: solve, project the solution onto the path, move the boxes there. The result slows down at corners as a hand
does (T. Flash and N. Hogan, "The coordination of arm movements", J. Neuroscience 5(7), 1985). Its duration is the
shortest for which speeds, accelerations, jerk and the controller's reach hold: a short way takes the time that least
jerk asks for, a long one cruises at full speed. Then every configuration is looked at; around those that are not free
the tube is narrowed. The last resort is to stop at every corner.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan.corridor import ROUNDS, Corridor, TipPath
from libero_safety.plan.kinematics import Arm, refine
from libero_safety.plan.limits import DT_S, TipLimits
from libero_safety.plan.smooth import PINNED
from libero_safety.types import FloatArray

CHECKS_PER_STEP = 5
"""Configurations that are looked at in each control step: 100 Hz."""

JOINT_SPEED_RAD_S = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
JOINT_ACCELERATION_RAD_S2 = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)
"""Necessary conditions of the Panda: Franka Control Interface documentation, "Robot and interface specifications".
Its jerk limits, 3750 rad/s^3 and more, cannot be passed: at 20 Hz these accelerations allow for 800 at most."""

Valid: TypeAlias = Callable[[FloatArray, float], bool]
"""Whether joints (7,) may be taken at a time (s) since the motion's start."""

_NARROWER, _ROUNDS = 0.5, 10
_AROUND_S = 0.2
_STRETCHES, _LONGER = 8, 1.2
_MANY = 10**6
_STILL_M_S, _STILL_RAD_S = 0.01, 0.05


@dataclass(frozen=True, eq=False)
class TipMotion:
    """Where the tip is at each control step.

    Attributes:
        pos: (n, 3) positions of the grip site, world; row k is before control step k, the last row after the last.
        quat: (n, 4) orientations (w, x, y, z), world.
        joints: (n, 7) the arm's joints there, the lag of the elbow included.
        arm: whose joints these are.
        velocity: (6,) linear and angular velocity at the first row.
        stops: rows in which it was made to stop at a corner; 0 when it was smoothed.
        dt_s: seconds between rows.
    """

    pos: FloatArray
    quat: FloatArray
    joints: FloatArray
    arm: Arm
    velocity: FloatArray = field(default_factory=lambda: np.zeros(6))
    stops: int = 0
    dt_s: float = DT_S

    @property
    def steps(self) -> int:
        """Control steps that it takes."""
        return len(self.pos) - 1

    @property
    def rot(self) -> FloatArray:
        """(n, 3, 3) rotations."""
        return Rotation.from_quat(self.quat, scalar_first=True).as_matrix()

    def then(self, other: "TipMotion") -> "TipMotion":
        """Return both, one after the other; the second starts where the first ends."""
        pos, quat, joints = (
            np.vstack([first, second[1:]])
            for first, second in (
                (self.pos, other.pos),
                (self.quat, other.quat),
                (self.joints, other.joints),
            )
        )
        return TipMotion(pos, quat, joints, self.arm, self.velocity, self.stops + other.stops)


@dataclass(frozen=True)
class TimingFailed:
    """Why a path cannot be followed.

    Attributes:
        reason: `reach`: the tip cannot be led along it. `joint_limits`, `joint_speed`: the joints that go with it
            leave their range, or are too fast however slow the tip. `collision`: not free even when it stops at
            every corner. `tube`: no motion of that start velocity stays in the tube within the limits.
        detail: in words.
        joints: (7,) where it fails, and `time_s` when, if that is known.
    """

    reason: str
    detail: str
    joints: tuple[float, ...] | None = None
    time_s: float | None = None


def time_path(
    arm: Arm,
    path: TipPath,
    start: FloatArray,
    *,
    valid: Valid = lambda joints, time_s: True,
    limits: TipLimits | None = None,
    velocity: FloatArray | None = None,
    stops: bool = True,
) -> TipMotion | TimingFailed:
    """Return the motion of the tip along a path, ending at rest.

    Args:
        arm: the arm.
        path: poses to pass, from the present one; see `TipPath` for how closely.
        start: (7,) joints now.
        valid: what must hold of all configurations, asked 100 times per second of motion.
        limits: how fast it may be.
        velocity: (6,) linear and angular velocity of the tip now; at rest by default.
        stops: whether it may, where nothing else is free, stop at every corner.

    Raises:
        MissingExtraError: piqp is not installed.
    """
    limits = limits or TipLimits()
    speed = np.zeros(6) if velocity is None or at_rest(velocity) else velocity
    job = _Job(arm, path, np.asarray(start, np.float64), speed, limits, valid)
    moving = bool(speed.any())
    corridor = Corridor(path, limits.speed_m_s, limits.turn_rad_s)
    if corridor.still and not moving:
        return hold(arm, job.start, 1)
    found = _smooth(job, corridor)
    if isinstance(found, TipMotion) or found.reason not in {"collision", "tube"} or moving or not stops:
        return found
    stopping = _stop_and_go(job)
    return stopping if isinstance(stopping, TipMotion) else found


def at_rest(velocity: FloatArray) -> bool:
    """Whether a tip of this velocity (6,), m/s and rad/s, counts as standing still."""
    return bool(np.linalg.norm(velocity[:3]) <= _STILL_M_S and np.linalg.norm(velocity[3:]) <= _STILL_RAD_S)


def hold(arm: Arm, joints: FloatArray, steps: int) -> TipMotion:
    """Return the motion that stays where the tip is at joints (7,) for a number of control steps."""
    pos, rot = arm.fk(joints)
    quat = Rotation.from_matrix(rot).as_quat(canonical=True, scalar_first=True)
    pos, quat, joints = (np.tile(row, (steps + 1, 1)) for row in (pos, quat, joints))
    return TipMotion(pos, quat, joints, arm)


def brake(arm: Arm, joints: FloatArray, velocity: FloatArray, duration_s: float) -> TipMotion:
    """Return the motion in which a tip of a velocity (6,) comes to rest, straight on, without a jolt.

    It goes as far as half the duration at the velocity it begins with.
    """
    pos, rot = arm.fk(joints)
    time = np.linspace(0.0, 1.0, max(1, round(duration_s / DT_S)) + 1)
    gone = (time - 2.5 * time**4 + 3.0 * time**5 - time**6) * duration_s
    turned = Rotation.from_rotvec(gone[:, None] * velocity[3:]) * Rotation.from_matrix(rot)
    places = pos + gone[:, None] * velocity[:3]
    speed = np.linalg.pinv(arm.jacobian(joints)) @ velocity
    rows = arm.follow(places, turned.as_matrix(), DT_S, joints, speed)
    quat = turned.as_quat(canonical=True, scalar_first=True)
    return TipMotion(places[: len(rows)], quat[: len(rows)], rows, arm, velocity)


@dataclass(frozen=True, eq=False)
class _Job:
    arm: Arm
    path: TipPath
    start: FloatArray
    velocity: FloatArray
    limits: TipLimits
    valid: Valid


def _smooth(job: _Job, corridor: Corridor) -> TipMotion | TimingFailed:
    """The smoothest motion that is free, narrowing the tube where it is not."""
    along, slower = corridor.even(_samples(corridor.length_s * 1.875)), 1.0
    failed = TimingFailed("tube", "there is no motion within the tube and the limits")
    for _ in range(_ROUNDS):
        shaped = _fastest(job, corridor, along, slower)
        if shaped is None:
            return failed
        coords, along = shaped
        pos, rot = corridor.poses(coords)
        joints = _joints(job, pos, rot)
        if isinstance(joints, TimingFailed):
            return joints
        pace = _joint_pace(joints)
        if pace > 1.0:
            failed, slower = _too_fast(joints), slower * min(pace, 2.0) * 1.02
            continue
        hits = _hits(job, joints)
        if not hits.size:
            return _motion(job, pos, rot, joints)
        failed = _collision(joints, int(hits[0]))
        places = np.interp(hits / CHECKS_PER_STEP, np.arange(len(along)), along)
        corridor.narrow(places, _AROUND_S, _NARROWER)
    return failed


def _samples(duration_s: float) -> int:
    """Samples of a motion, the given ones at both ends included."""
    return max(2 * PINNED + 1, int(np.ceil(duration_s / DT_S)) + PINNED)


def _fastest(
    job: _Job, corridor: Corridor, along: FloatArray, slower: float
) -> tuple[FloatArray, FloatArray] | None:
    """The shape with the fewest samples that keeps the limits at `1 / slower` of its duration; where its samples are.

    When none is found that keeps the jerk, the smoothest that keeps the rest.
    """
    best: tuple[FloatArray, FloatArray] | None = None
    least, few, enough = (np.inf, _MANY), 2 * PINNED, _MANY
    count, rounds, cruise = len(along), ROUNDS, job.limits.cruise(job.velocity) / slower
    for _ in range(_STRETCHES):
        guess = np.interp(np.linspace(0.0, 1.0, count), np.linspace(0.0, 1.0, len(along)), along)
        ends = corridor.ends(DT_S, job.velocity)
        shaped = corridor.smoothest(guess, ends, cruise * DT_S / corridor.scale, rounds)
        stretch = _LONGER
        if shaped is None:
            if rounds == ROUNDS and few > 2 * PINNED:
                # Samples that cut a corner leap from one box to the next where the tube has become narrow.
                along = corridor.even(count)
            few = max(few, count)
        else:
            # Moving the boxes further each time would change the shape, and its haste with it.
            settled, rounds, along = rounds == 1, 1, shaped[1]
            haste = job.limits.haste(shaped[0] * corridor.scale, job.velocity).hurried(slower)
            cruise, stretch = cruise / np.maximum(haste.speed, 1.0), haste.stretch
            if haste.feasible and (max(haste.jerk, 1.0), count) < least:
                best, least = shaped, (max(haste.jerk, 1.0), count)
            if haste.feasible and haste.jerk <= 1.0:
                enough = min(enough, count)
            elif settled:
                few = max(few, count)
        if enough - few <= 1 + enough // 50:
            break
        # Only what moves can be stretched: the given samples stand.
        count = int(np.ceil((count - PINNED) * stretch - 1e-9)) + PINNED
        if not few < count < enough:
            count = few + 1 + few // 20 if enough == _MANY else (max(few, int(0.85 * enough)) + enough) // 2
    return best


def _joints(job: _Job, pos: FloatArray, rot: FloatArray) -> FloatArray | TimingFailed:
    """The joints (k, 7) at 100 Hz along tip poses, within their limits."""
    fine = refine(pos, rot, CHECKS_PER_STEP)
    start_speed = np.linalg.pinv(job.arm.jacobian(job.start)) @ job.velocity
    joints = job.arm.follow(*fine, DT_S / CHECKS_PER_STEP, job.start, start_speed)
    if len(joints) < len(fine[0]):
        at = np.round(fine[0][len(joints)], 3).tolist()
        return TimingFailed("reach", f"the tip cannot be at {at}", *_where(joints, len(joints) - 1))
    outside = np.flatnonzero(((joints < job.arm.low) | (joints > job.arm.high)).any(axis=1))
    if outside.size:
        row = int(outside[0])
        joint = int(np.argmax(np.maximum(job.arm.low - joints[row], joints[row] - job.arm.high)))
        detail = f"joint {joint + 1} would be at {joints[row, joint]:.3f} rad"
        return TimingFailed("joint_limits", detail, *_where(joints, row))
    return joints


def _joint_pace(joints: FloatArray) -> float:
    """By what factor joints at 100 Hz are too fast."""
    speed = np.diff(joints, axis=0) * CHECKS_PER_STEP / DT_S
    # Between control steps the tip goes straight; its acceleration is what happens from step to step.
    change = np.diff(joints[::CHECKS_PER_STEP], 2, axis=0) / DT_S**2
    fast = float((np.abs(speed) / JOINT_SPEED_RAD_S).max())
    hard = float((np.abs(change) / JOINT_ACCELERATION_RAD_S2).max(initial=0.0))
    return max(fast, np.sqrt(hard))


def _too_fast(joints: FloatArray) -> TimingFailed:
    speed = np.abs(np.diff(joints, axis=0)) / (DT_S / CHECKS_PER_STEP)
    row, joint = np.unravel_index(int(np.argmax(speed / JOINT_SPEED_RAD_S)), speed.shape)
    detail = f"joint {joint + 1} would turn at {speed[row, joint]:.2f} rad/s: the arm is nearly stretched"
    return TimingFailed("joint_speed", detail, *_where(joints, int(row)))


def _hits(job: _Job, joints: FloatArray) -> FloatArray:
    """Rows of joints at 100 Hz that are not free."""
    dt_s = DT_S / CHECKS_PER_STEP
    return np.array([row for row, q in enumerate(joints) if not job.valid(q, row * dt_s)])


def _collision(joints: FloatArray, row: int) -> TimingFailed:
    at = np.round(joints[row], 3).tolist()
    return TimingFailed("collision", f"not free at joints {at}", *_where(joints, row))


def _where(joints: FloatArray, row: int) -> tuple[tuple[float, ...], float]:
    return tuple(joints[row].tolist()), row * DT_S / CHECKS_PER_STEP


def _motion(job: _Job, pos: FloatArray, rot: FloatArray, joints: FloatArray, stops: int = 0) -> TipMotion:
    quat = Rotation.from_matrix(rot).as_quat(canonical=True, scalar_first=True)
    return TipMotion(pos, quat, joints[::CHECKS_PER_STEP], job.arm, job.velocity, stops)


def _stop_and_go(job: _Job) -> TipMotion | TimingFailed:
    """The motion on the path itself, at rest at every corner."""
    rows = _corners(job.path)
    pieces: list[tuple[FloatArray, FloatArray]] = []
    for first, last in pairwise(rows):
        piece = _straight(job, first, last)
        pieces.append(piece if not pieces else (piece[0][1:], piece[1][1:]))
    pos, rot = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    joints = _joints(job, pos, rot)
    if isinstance(joints, TimingFailed):
        return joints
    if _joint_pace(joints) > 1.0:
        return _too_fast(joints)
    hits = _hits(job, joints)
    if hits.size:
        return _collision(joints, int(hits[0]))
    return _motion(job, pos, rot, joints, len(rows) - 2)


def _straight(job: _Job, first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """From one corner to the next along a line, at rest at both, with least jerk."""
    start, end = job.path.pos[first], job.path.pos[last]
    ends = Rotation.from_matrix(job.path.rot[[first, last]])
    turn = (ends[1] * ends[0].inv()).as_rotvec()
    way = np.concatenate([end - start, turn])
    count = 2 * PINNED + 1
    while True:
        share = np.clip((np.arange(count) - 1.0) / (count - 3.0), 0.0, 1.0)
        share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        coords = share[:, None] * way
        haste = job.limits.haste(coords, job.velocity)
        if haste.feasible and haste.jerk <= 1.0:
            rot = (Rotation.from_rotvec(share[:, None] * turn) * ends[0]).as_matrix()
            return start + share[:, None] * (end - start), rot
        count = max(count + 1, int(count * min(haste.stretch, 2.0)))


def _corners(path: TipPath, off_m: float = 1e-3, off_rad: float = 5e-3) -> list[int]:
    """Rows of a path that are no nearer to the line between others than a tolerance (Douglas and Peucker 1973)."""
    middle = Rotation.from_matrix(path.rot[0])
    turned = (Rotation.from_matrix(path.rot) * middle.inv()).as_rotvec()
    points = np.hstack([path.pos / off_m, turned / off_rad])
    keep, open_parts = {0, len(points) - 1}, [(0, len(points) - 1)]
    while open_parts:
        first, last = open_parts.pop()
        if last - first < 2:
            continue
        way = points[last] - points[first]
        inner = points[first + 1 : last] - points[first]
        share = np.clip(inner @ way / max(float(way @ way), 1e-12), 0.0, 1.0)
        apart = np.linalg.norm(inner - share[:, None] * way, axis=1)
        if apart.max() > 1.0:
            middle_row = first + 1 + int(np.argmax(apart))
            keep.add(middle_row)
            open_parts += [(first, middle_row), (middle_row, last)]
    return sorted(keep)
