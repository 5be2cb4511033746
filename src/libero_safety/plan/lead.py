"""Paths on which the tip is led: along a straight line, or about a hinge."""

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from libero_safety.plan.kinematics import Arm
from libero_safety.plan.problem import Hinge
from libero_safety.types import FloatArray

STEP_M, STEP_RAD = 0.01, 0.05
"""How far apart the poses of a led path are."""
HINGE_SLACK_M = 0.01
"""How far a goal may be from the circle on which a hinge takes the tip."""

_JUMP_RAD = 0.3


def line(
    pos: FloatArray, rot: FloatArray, goal_pos: FloatArray, goal_rot: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return poses from one to the other: positions (n, 3) on a line, rotations (n, 3, 3) about one axis."""
    turn = float(np.linalg.norm(Rotation.from_matrix(goal_rot @ rot.T).as_rotvec()))
    count = _pieces(float(np.linalg.norm(goal_pos - pos)), turn)
    share = np.linspace(0.0, 1.0, count + 1)
    return pos + share[:, None] * (goal_pos - pos), _turned(rot, goal_rot, share)


def arc(
    pos: FloatArray, rot: FloatArray, goal_pos: FloatArray, goal_rot: FloatArray, hinge: Hinge
) -> tuple[FloatArray, FloatArray] | None:
    """Return poses that turn about a hinge, or None when the goal is not where the hinge would take the tip.

    The shorter way round is taken. The tip's own rotation goes evenly from one to the other.
    """
    axis = np.asarray(hinge.axis, np.float64) / np.linalg.norm(hinge.axis)
    arms = [p - hinge.point - axis * float((p - hinge.point) @ axis) for p in (pos, goal_pos)]
    radii = [float(np.linalg.norm(arm)) for arm in arms]
    along = abs(float((goal_pos - pos) @ axis))
    if abs(radii[0] - radii[1]) > HINGE_SLACK_M or along > HINGE_SLACK_M or min(radii) < HINGE_SLACK_M:
        return None
    angle = float(np.arctan2(np.cross(arms[0], arms[1]) @ axis, arms[0] @ arms[1]))
    turn = float(np.linalg.norm(Rotation.from_matrix(goal_rot @ rot.T).as_rotvec()))
    share = np.linspace(0.0, 1.0, _pieces(radii[0] * abs(angle), max(turn, abs(angle))) + 1)
    turns = Rotation.from_rotvec(share[:, None] * angle * axis)
    around = hinge.point + turns.apply(pos - hinge.point)
    around += share[:, None] * (goal_pos - around[-1])
    return around, _turned(rot, goal_rot, share)


def joints_along(
    arm: Arm, start: FloatArray, goal: FloatArray, pos: FloatArray, rot: FloatArray
) -> FloatArray | None:
    """Return joints (n, 7) that take the tip along poses, the elbow from its place at the start to that at the goal.

    None where the tip cannot follow.
    """
    last = len(pos) - 1
    rows: list[FloatArray] = [np.array(start)]
    for i in range(1, last + 1):
        joints = _onto(arm, start + (goal - start) * (i / last), pos[i], rot[i])
        if joints is None or float(np.abs(joints - rows[-1]).max()) > _JUMP_RAD:
            return None
        rows.append(joints)
    return np.array(rows)


def _onto(
    arm: Arm, joints: FloatArray, pos: FloatArray, rot: FloatArray, rounds: int = 30
) -> FloatArray | None:
    """Return the nearest joints with that tip pose (damped least squares), or None."""
    for _ in range(rounds):
        here, turned = arm.fk(joints)
        error = np.concatenate([pos - here, Rotation.from_matrix(rot @ turned.T).as_rotvec()])
        if float(np.abs(error).max()) < 1e-5:
            return joints
        jacobian = arm.jacobian(joints)
        joints = joints + jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-5 * np.eye(6), error)
    return None


def _pieces(way_m: float, turn_rad: float) -> int:
    return max(1, int(np.ceil(max(way_m / STEP_M, turn_rad / STEP_RAD))))


def _turned(rot: FloatArray, goal_rot: FloatArray, share: FloatArray) -> FloatArray:
    return Slerp([0.0, 1.0], Rotation.from_matrix(np.stack([rot, goal_rot])))(share).as_matrix()
