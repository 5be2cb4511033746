"""Compiled kinematics of a seven-joint arm, as products of exponentials of its joint axes.

R. M. Murray, Z. Li, S. S. Sastry, "A Mathematical Introduction to Robotic Manipulation", CRC Press 1994,
chapter 3.
"""

from typing import NamedTuple

import numpy as np

from libero_safety.numba_cache import njit
from libero_safety.types import FloatArray

DOF = 7
_SMALL = 1e-12


class Chain(NamedTuple):
    """An arm with every joint at zero: all in world axes (m, kg, kg m^2).

    `anchor`, `axis` (7, 3): a point on and the direction of each joint axis. `tip_pos` (3,), `tip_rot` (3, 3).
    `mass` (7,), `com` (7, 3), `inertia` (7, 3, 3) about it: what moves with each joint, and not with the next.
    """

    anchor: FloatArray
    axis: FloatArray
    tip_pos: FloatArray
    tip_rot: FloatArray
    mass: FloatArray
    com: FloatArray
    inertia: FloatArray
    armature: FloatArray


@njit
def turn(axis: FloatArray, angle: float, rot: FloatArray) -> None:
    """Fill `rot` (3, 3) with the rotation about a unit axis (Rodrigues)."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    t = 1.0 - c
    rot[0, 0], rot[0, 1], rot[0, 2] = t * x * x + c, t * x * y - s * z, t * x * z + s * y
    rot[1, 0], rot[1, 1], rot[1, 2] = t * x * y + s * z, t * y * y + c, t * y * z - s * x
    rot[2, 0], rot[2, 1], rot[2, 2] = t * x * z - s * y, t * y * z + s * x, t * z * z + c


@njit
def _apply(rot: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    for i in range(3):
        out[i] = rot[i, 0] * vector[0] + rot[i, 1] * vector[1] + rot[i, 2] * vector[2]


@njit
def _multiply(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@njit
def frames(
    chain: Chain, q: FloatArray, rots: FloatArray, shifts: FloatArray, anchors: FloatArray, axes: FloatArray
) -> None:
    """Where each link has gone from its place at zero, (7, 3, 3) and (7, 3), and its joint now, (7, 3) each."""
    local, moved = np.empty((3, 3)), np.empty(3)
    rot, shift = np.eye(3), np.zeros(3)
    for i in range(DOF):
        _apply(rot, chain.axis[i], axes[i])
        _apply(rot, chain.anchor[i], anchors[i])
        for k in range(3):
            anchors[i, k] += shift[k]
        turn(chain.axis[i], q[i], local)
        _multiply(rot, local, rots[i])
        _apply(rots[i], chain.anchor[i], moved)
        for k in range(3):
            shifts[i, k] = anchors[i, k] - moved[k]
        rot, shift = rots[i], shifts[i]


@njit
def tip(chain: Chain, rots: FloatArray, shifts: FloatArray, pos: FloatArray, rot: FloatArray) -> None:
    """Pose of the tip, given what `frames` filled in."""
    _apply(rots[DOF - 1], chain.tip_pos, pos)
    for k in range(3):
        pos[k] += shifts[DOF - 1, k]
    _multiply(rots[DOF - 1], chain.tip_rot, rot)


@njit
def jacobian(anchors: FloatArray, axes: FloatArray, pos: FloatArray, out: FloatArray) -> None:
    """Fill `out` (6, 7): linear velocity of the point `pos`, then angular velocity, world axes."""
    for i in range(DOF):
        ax, ay, az = axes[i, 0], axes[i, 1], axes[i, 2]
        rx, ry, rz = pos[0] - anchors[i, 0], pos[1] - anchors[i, 1], pos[2] - anchors[i, 2]
        out[0, i], out[1, i], out[2, i] = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        out[3, i], out[4, i], out[5, i] = ax, ay, az


@njit
def inertia(
    chain: Chain, rots: FloatArray, shifts: FloatArray, anchors: FloatArray, axes: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (7, 7) with the joint-space inertia: composite bodies from the tip inwards."""
    mass, moment, tensor = 0.0, np.zeros(3), np.zeros((3, 3))
    com, half, turned = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    linear, angular = np.empty(3), np.empty(3)
    for i in range(DOF - 1, -1, -1):
        _apply(rots[i], chain.com[i], com)
        _multiply(rots[i], chain.inertia[i], half)
        _multiply(half, rots[i].T, turned)
        m = chain.mass[i]
        for k in range(3):
            com[k] += shifts[i, k]
            moment[k] += m * com[k]
        square = com[0] ** 2 + com[1] ** 2 + com[2] ** 2
        mass += m
        for r in range(3):
            for c in range(3):
                # About the world's origin, so that composites add up.
                tensor[r, c] += turned[r, c] - m * com[r] * com[c]
            tensor[r, r] += m * square
        w, o = axes[i], anchors[i]
        # Momentum of the composite when joint i turns at 1 rad/s; v is the velocity of its point at the origin.
        vx, vy, vz = w[2] * o[1] - w[1] * o[2], w[0] * o[2] - w[2] * o[0], w[1] * o[0] - w[0] * o[1]
        linear[0] = mass * vx + w[1] * moment[2] - w[2] * moment[1]
        linear[1] = mass * vy + w[2] * moment[0] - w[0] * moment[2]
        linear[2] = mass * vz + w[0] * moment[1] - w[1] * moment[0]
        _apply(tensor, w, angular)
        angular[0] += moment[1] * vz - moment[2] * vy
        angular[1] += moment[2] * vx - moment[0] * vz
        angular[2] += moment[0] * vy - moment[1] * vx
        for j in range(i + 1):
            a, b = axes[j], anchors[j]
            ux, uy, uz = a[2] * b[1] - a[1] * b[2], a[0] * b[2] - a[2] * b[0], a[1] * b[0] - a[0] * b[1]
            value = a[0] * angular[0] + a[1] * angular[1] + a[2] * angular[2]
            value += ux * linear[0] + uy * linear[1] + uz * linear[2]
            out[i, j] = out[j, i] = value
        out[i, i] += chain.armature[i]


@njit
def pose_error(
    pos: FloatArray, rot: FloatArray, goal_pos: FloatArray, goal_rot: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (6,) with the displacement and the rotation vector, world axes, from a pose to a goal."""
    for k in range(3):
        out[k] = goal_pos[k] - pos[k]
    between = np.empty((3, 3))
    _multiply(goal_rot, rot.T, between)
    x, y, z = between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]
    sine = 0.5 * np.sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (between[0, 0] + between[1, 1] + between[2, 2] - 1.0)
    angle = np.arctan2(sine, cosine)
    # Near half a turn the axis is not well defined by the sines; callers come no closer than a few degrees.
    scale = 0.5 if sine < _SMALL else 0.5 * angle / sine
    out[3], out[4], out[5] = scale * x, scale * y, scale * z


@njit
def _eliminate(work: FloatArray, step: FloatArray, null: FloatArray) -> bool:
    """Solve the (6, 8) system [J | e] with full pivoting: one `step` with J step = e, and a `null` with J null = 0.

    Returns False when two directions of motion are lost at once (a singular arm).
    """
    order = np.arange(DOF)
    for r in range(6):
        best, row, column = 0.0, r, r
        for i in range(r, 6):
            for j in range(r, DOF):
                if abs(work[i, j]) > best:
                    best, row, column = abs(work[i, j]), i, j
        if best < 1e-9:
            return False
        for j in range(DOF + 1):
            work[r, j], work[row, j] = work[row, j], work[r, j]
        for i in range(6):
            work[i, r], work[i, column] = work[i, column], work[i, r]
        order[r], order[column] = order[column], order[r]
        for i in range(6):
            if i != r:
                factor = work[i, r] / work[r, r]
                for j in range(r, DOF + 1):
                    work[i, j] -= factor * work[r, j]
    for r in range(6):
        step[order[r]] = work[r, DOF] / work[r, r]
        null[order[r]] = -work[r, DOF - 1] / work[r, r]
    step[order[6]], null[order[6]] = 0.0, 1.0
    return True


@njit
def _posture(
    chain: Chain,
    q: FloatArray,
    goal_pos: FloatArray,
    goal_rot: FloatArray,
    error: FloatArray,
    step: FloatArray,
    null: FloatArray,
    pull: FloatArray,
) -> bool:
    """Fill the pose error, a joint step that removes it, the null direction n with n'Mn = 1, and `pull` = M n."""
    rots, shifts = np.empty((DOF, 3, 3)), np.empty((DOF, 3))
    anchors, axes = np.empty((DOF, 3)), np.empty((DOF, 3))
    pos, rot, mass, work = np.empty(3), np.empty((3, 3)), np.empty((DOF, DOF)), np.empty((6, DOF + 1))
    frames(chain, q, rots, shifts, anchors, axes)
    tip(chain, rots, shifts, pos, rot)
    pose_error(pos, rot, goal_pos, goal_rot, error)
    jacobian(anchors, axes, pos, work[:, :DOF])
    # Far goals are approached in steps: the joint motion is not straight.
    longest = max(np.sqrt(np.sum(error[:3] ** 2)) / 0.2, np.sqrt(np.sum(error[3:] ** 2)) / 0.6)
    for r in range(6):
        work[r, DOF] = error[r] / max(1.0, longest)
    if not _eliminate(work, step, null):
        return False
    inertia(chain, rots, shifts, anchors, axes, mass)
    norm = 0.0
    for i in range(DOF):
        pull[i] = 0.0
        for j in range(DOF):
            pull[i] += mass[i, j] * null[j]
        norm += pull[i] * null[i]
    norm = np.sqrt(norm)
    for i in range(DOF):
        null[i] /= norm
        pull[i] /= norm
    return True


@njit
def settle(
    chain: Chain, rest: FloatArray, goal_pos: FloatArray, goal_rot: FloatArray, q: FloatArray, rounds: int
) -> bool:
    """Move `q` to the nearby joints at the goal pose with n'M (rest - q) = 0; False when there are none."""
    error, step, null, pull = np.empty(6), np.empty(DOF), np.empty(DOF), np.empty(DOF)
    other, error2, step2, null2, pull2 = (
        np.empty(DOF),
        np.empty(6),
        np.empty(DOF),
        np.empty(DOF),
        np.empty(DOF),
    )
    reach = 1e-5
    for _ in range(rounds):
        if not _posture(chain, q, goal_pos, goal_rot, error, step, null, pull):
            return False
        other[:] = q + reach * null
        if not _posture(chain, other, goal_pos, goal_rot, error2, step2, null2, pull2):
            return False
        sign = 1.0 if np.dot(null, pull2) > 0.0 else -1.0
        force = np.dot(pull, rest - q)
        slope = (sign * np.dot(pull2, rest - other) - force) / reach
        # Where the posture is not stable, follow the pull downhill instead of jumping to a maximum.
        slope = min(slope, -0.3)
        ahead = force - np.dot(pull, step)
        size = max(-0.5, min(0.5, -ahead / slope))
        moved = 0.0
        for i in range(DOF):
            change = step[i] + size * null[i]
            q[i] += change
            moved = max(moved, abs(change))
        if moved < 1e-8:
            return True
        if not np.all(np.isfinite(q)) or moved > 50.0:
            return False
    return False


@njit
def reach(chain: Chain, goal_pos: FloatArray, goal_rot: FloatArray, q: FloatArray, rounds: int) -> bool:
    """Move `q` to nearby joints with the tip at the goal pose; each step is the shortest in the inertia's metric."""
    error, step, null, pull = np.empty(6), np.empty(DOF), np.empty(DOF), np.empty(DOF)
    for _ in range(rounds):
        if not _posture(chain, q, goal_pos, goal_rot, error, step, null, pull):
            return False
        if np.max(np.abs(error)) < 1e-10:
            return True
        q += step - np.dot(pull, step) * null
        if not np.all(np.isfinite(q)) or np.max(np.abs(q)) > 50.0:
            return False
    return False


@njit
def follow(
    chain: Chain,
    rest: FloatArray,
    gain: float,
    pos: FloatArray,
    rot: FloatArray,
    dt: float,
    q: FloatArray,
    qd: FloatArray,
    out: FloatArray,
) -> int:
    """Integrate the joints along tip poses (n, 3), (n, 3, 3), `dt` apart; rows of `out` (n, 7).

    The tip is held on the poses; the motion left over, s n with n'Mn = 1, obeys
    s' = gain n'M (rest - q) - 2 sqrt(gain) s, as under the controller's posture term.

    Returns the number of rows filled: fewer than n where the tip cannot be held on its pose (out of reach).
    """
    error, step, null, pull = np.empty(6), np.empty(DOF), np.empty(DOF), np.empty(DOF)
    damping = 2.0 * np.sqrt(gain)
    out[0] = q
    for k in range(1, len(pos)):
        if not _posture(chain, q, pos[k], rot[k], error, step, null, pull):
            return k
        speed = np.dot(pull, qd)
        speed = (speed + dt * gain * np.dot(pull, rest - q)) / (1.0 + dt * damping)
        # The step is the one without motion along n, in the metric of the inertia.
        size = dt * speed - np.dot(pull, step)
        out[k] = q + step + size * null
        qd[:] = (out[k] - q) / dt
        q[:] = out[k]
        # The linearised step leaves a second-order error of the pose: remove it where it stands.
        for _ in range(2):
            if not _posture(chain, q, pos[k], rot[k], error, step, null, pull):
                return k
            if np.max(np.abs(error)) < 1e-7:
                break
            q += step - np.dot(pull, step) * null
        # Newton's second step starts from an error of the order of the square of the first: here, none is left.
        if np.max(np.abs(error)) > 1e-4:
            return k
        out[k] = q
    return len(pos)
