"""All joints with which the arm reaches a pose, by the closed-form solver `ssik`.

Seven joints reach a pose in up to eight branches, each a curve of postures over the last joint, cut into pieces by
the joint limits; every piece is sampled. The solver knows the Panda up to its flange; where the base stands and where
the grip site is on the flange are read from the compiled model.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.plan.extra import need
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.lead import joints_along, line
from libero_safety.types import FloatArray

_GRID_RAD = 0.02
"""Stretches of a branch that are shorter than this, in the last joint, may be missed."""
_SAME_ARM = 2e-3
"""How far the model's Panda may be from Franka's (m, rad): LIBERO's has rounded rotations."""
_SINGULAR_WEIGHT = 0.02
_CHOICES = 8
_TRIES = 60

TipPose = tuple[FloatArray, FloatArray]
"""Position (3,) and rotation (3, 3) of the grip site, world."""


class OtherArmError(LiberoSafetyError):
    """The robot of the model is not a Panda; closed-form inverse kinematics does not know it."""


def branches(arm: Arm, pos: FloatArray, rot: FloatArray, spacing_rad: float = 0.1) -> FloatArray:
    """Return joints (n, 7) within their limits with the tip at a pose (1e-9), from every branch; n may be 0.

    Args:
        arm: the arm.
        pos: (3,) of the grip site, world.
        rot: (3, 3).
        spacing_rad: how far apart postures of one branch are, about, in the last joint.

    Raises:
        MissingExtraError: ssik is not installed.
        OtherArmError: the arm is not a Panda.
    """
    solver = _solver()
    base = _matrix(arm.base_pos, arm.base_rot)
    target = np.linalg.inv(base) @ _matrix(pos, rot) @ np.linalg.inv(_tool(arm, solver))
    last = np.arange(arm.low[6], arm.high[6], _GRID_RAD)
    stride = max(1, int(spacing_rad / _GRID_RAD))
    found: list[FloatArray] = []
    for chart in solver.self_motion(target).charts:
        for piece in _pieces(arm, chart.q(last)):
            places = np.arange((len(piece) - 1) % stride // 2, len(piece), stride)
            solved = (arm.nearest(pos, rot, piece[place]) for place in places)
            found += [joints for joints in solved if joints is not None and arm.within_limits(joints)]
    return np.array(found).reshape(-1, 7)


def _pieces(arm: Arm, curve: FloatArray) -> list[FloatArray]:
    """Cut a curve of postures (n, 7), NaN where there is none, into its stretches within the joint limits."""
    turn = 2.0 * np.pi
    curve = curve - turn * np.round((curve - 0.5 * (arm.low + arm.high)) / turn)
    inside = ((curve > arm.low) & (curve < arm.high)).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    return [curve[first:last] for first, last in edges.reshape(-1, 2)]


def ranked(arm: Arm, pos: FloatArray, rot: FloatArray, near: FloatArray) -> FloatArray:
    """Return `branches`, the natural joints added, the most wanted first.

    First the natural joints, if they are reached from `near`: those the controller settles at. Then the rest by
    distance to `near` (rad), near-singular ones later.

    Raises:
        MissingExtraError: ssik is not installed.
        OtherArmError: the arm is not a Panda.
    """
    found = branches(arm, pos, rot)
    cost = [
        float(np.linalg.norm(q - near)) + _SINGULAR_WEIGHT / max(arm.manipulability(q), 1e-3) for q in found
    ]
    found = found[np.argsort(cost)]
    natural = arm.natural(pos, rot, near)
    return found if natural is None else np.vstack([natural, found])


def chained(arm: Arm, poses: Sequence[TipPose], start: FloatArray) -> FloatArray | None:
    """Return joints (n, 7) for a chain of poses that stay on one branch, with the least joint motion in all.

    From each to the next, and from `start` to the first, the tip can be led along a straight line without a jump
    of the joints; so what was grasped is placed without letting the arm flip over.

    Raises:
        MissingExtraError: ssik is not installed.
        OtherArmError: the arm is not a Panda.
    """
    layers = [np.asarray(start)[None]]
    for pos, rot in poses:
        layers.append(ranked(arm, pos, rot, layers[-1][0])[:_CHOICES])
        if not len(layers[-1]):
            return None
    costs = [np.linalg.norm(b[None] - a[:, None], axis=2) for a, b in pairwise(layers)]
    tips = [arm.fk(np.asarray(start)), *poses]
    known: set[tuple[int, int, int]] = set()
    for _ in range(_TRIES):
        rows = _cheapest(costs)
        if rows is None:
            return None
        jumps = [
            (k, rows[k], rows[k + 1])
            for k in range(len(poses))
            if (k, rows[k], rows[k + 1]) not in known
            and joints_along(
                arm, layers[k][rows[k]], layers[k + 1][rows[k + 1]], *line(*tips[k], *tips[k + 1])
            )
            is None
        ]
        if not jumps:
            return np.array([layer[row] for layer, row in zip(layers[1:], rows[1:], strict=True)])
        for layer, first, last in jumps:
            costs[layer][first, last] = np.inf
        known |= {(k, rows[k], rows[k + 1]) for k in range(len(poses))}
    return None


def _cheapest(costs: list[FloatArray]) -> list[int] | None:
    """The row of each layer on the cheapest way through all layers; None when every way costs infinity."""
    total, back = np.zeros(len(costs[0])), list[FloatArray]()
    for cost in costs:
        through = total[:, None] + cost
        back.append(np.argmin(through, axis=0))
        total = through.min(axis=0)
    if not np.isfinite(total.min()):
        return None
    rows = [int(np.argmin(total))]
    for previous in reversed(back):
        rows.append(int(previous[rows[-1]]))
    return rows[::-1]


@cache
def _solver() -> Any:
    (ssik,) = need("ssik")
    return ssik.Manipulator.from_prebuilt("franka_panda_ik")


def _tool(arm: Arm, solver: Any) -> FloatArray:
    """The grip site (4, 4) in the flange's frame of the solver, after comparing the two arms."""
    base = np.linalg.inv(_matrix(arm.base_pos, arm.base_rot))
    tools = [
        np.linalg.inv(solver.fk(q)) @ base @ _matrix(*arm.fk(q))
        for q in (np.zeros(7), np.linspace(0.4, -0.9, 7))
    ]
    if float(np.abs(tools[0] - tools[1]).max()) > _SAME_ARM:
        raise OtherArmError("the arm of this model is not a Panda: its joints are elsewhere than Franka's")
    return tools[0]


def _matrix(pos: FloatArray, rot: FloatArray) -> FloatArray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rot, pos
    return out
