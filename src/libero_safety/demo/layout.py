"""From the keyposes of a stage to grip poses in the world, consistent from grasp to release."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage, entity_of
from libero_safety.demo.target import (
    GRIPPER,
    PoseArrays,
    about_z,
    grip_for,
    grip_frame,
    held_in_grip,
    nearest_turn,
    world_target,
)
from libero_safety.types import FloatArray, Keypose

UNREACHABLE_RAD = 100.0
"""What a pose out of reach adds to the cost of a choice: more than any way in joint space."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the grip site goes in one stage.

    Attributes:
        poses: of the grip site, one per keypose.
        joints: (7,) natural joints there; None where there are none.
    """

    poses: tuple[PoseArrays, ...]
    joints: tuple[FloatArray | None, ...]

    @property
    def unreachable(self) -> int | None:
        """The first keypose that is out of reach."""
        return next((i for i, joints in enumerate(self.joints) if joints is None), None)


def lay_out(situation: Situation, stage: Stage, turn: FloatArray, arrive_s: float) -> Layout:
    """Return the grip poses of a stage.

    Args:
        situation: how things are where the stage begins.
        stage: whose keyposes to lay out.
        turn: (3, 3) the turn of the gripper about its own z axis, of those that do as well, see `choose_turn`.
        arrive_s: when frames that move by themselves are looked at, seconds since the episode began.

    Raises:
        SceneError: a keypose names something that the scene lacks.
    """
    tip, joints = situation.tip, situation.joints
    poses: list[PoseArrays] = []
    found: list[FloatArray | None] = []
    for keypose in stage.keyposes:
        tip = _grip_pose(situation, stage, keypose, tip, turn, arrive_s)
        natural = situation.arm.natural(*tip, joints)
        poses.append(tip)
        found.append(natural)
        joints = joints if natural is None else natural
    return Layout(tuple(poses), tuple(found))


def choose_turn(situation: Situation, stages: Sequence[Stage]) -> FloatArray:
    """Return the turn (3, 3) of the gripper about its z axis for the next stages, until something is let go.

    The two fingers are interchangeable, so the gripper may be turned by half a turn wherever it takes hold of
    something. Of the two turns it is the one with which all keyposes are within reach; of two such, the one with
    the shorter way for the joints.
    """
    rotation = _first_rotation(situation, stages[0])
    near = rotation.T @ nearest_turn("half-turn", rotation, situation.tip[1])
    turns = [near, near @ about_z(math.pi)]
    costs = [_cost(situation.copy(), stages, turn) for turn in turns]
    return turns[int(np.argmin(costs))]


def settle(situation: Situation, stage: Stage, layout: Layout, time_s: float) -> None:
    """Move a situation on to where it is once a stage is over, its gripper's act included."""
    if layout.joints[-1] is not None:
        situation.go(layout.joints[-1], time_s)
    if stage.takes is not None:
        situation.take(stage.takes)
    elif stage.gives:
        situation.give()


def _cost(situation: Situation, stages: Sequence[Stage], turn: FloatArray) -> float:
    cost = 0.0
    for stage in stages:
        layout = lay_out(situation, stage, turn, situation.time_s)
        before = situation.joints
        for joints in layout.joints:
            if joints is None:
                cost += UNREACHABLE_RAD
            else:
                cost += float(np.abs(joints - before).sum())
                before = joints
        settle(situation, stage, layout, situation.time_s)
        if stage.gives:
            break
    return cost


def _first_rotation(situation: Situation, stage: Stage) -> FloatArray:
    """Return the rotation of the first grip pose that something other than the gripper itself determines."""
    for keypose in stage.keyposes:
        if keypose.frame != GRIPPER and not keypose.tool:
            return world_target(keypose, *situation.frame(keypose.frame))[1]
    return situation.tip[1]


def _grip_pose(
    situation: Situation, stage: Stage, keypose: Keypose, tip: PoseArrays, turn: FloatArray, arrive_s: float
) -> PoseArrays:
    """Return the grip pose of a keypose to which the motion comes from `tip`."""
    if keypose.frame == GRIPPER:
        return world_target(keypose, *grip_frame(tip))
    pos, rotation = world_target(keypose, *_frame(situation, stage, keypose.frame, tip, arrive_s))
    if not keypose.tool:
        return pos, rotation @ turn
    in_grip = held_in_grip(situation.tip, situation.frame(keypose.tool))
    rotation = nearest_turn(keypose.symmetry, rotation, tip[1] @ in_grip[1])
    return grip_for((pos, rotation), in_grip)


def _frame(situation: Situation, stage: Stage, name: str, tip: PoseArrays, arrive_s: float) -> PoseArrays:
    """Return a frame; of a thing that is held, where it is when the grip site is at `tip`."""
    if stage.holds is None or entity_of(name) != stage.holds:
        return situation.frame(name, arrive_s)
    pos, rotation = held_in_grip(situation.tip, situation.frame(name))
    return tip[0] + tip[1] @ pos, tip[1] @ rotation
