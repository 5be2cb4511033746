"""From a keypose to where the gripper should be: frames, tools and symmetries.

A pose is a position (3,) in metres and a rotation matrix (3, 3), both in the world unless said otherwise.
"""

import math
from typing import TypeAlias

import numpy as np

from libero_safety.types import FloatArray, Keypose, Symmetry

PoseArrays: TypeAlias = tuple[FloatArray, FloatArray]
"""Position (3,) in metres and rotation matrix (3, 3)."""

GRIPPER = "gripper"
"""The frame of where the grip site is when the motion to a keypose begins: at no rotation it stays as it is."""
_POINTING_DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The grip site as at the robot's home: fingers down, closing along y."""


def world_target(keypose: Keypose, frame_pos: FloatArray, frame_rotation: FloatArray) -> PoseArrays:
    """Return where the keypose's tool should be: the grip site, or the held frame that `keypose.tool` names.

    The columns of the matrix are the tool's axes in the world. Those of the grip site: z is where the fingers
    point, straight down at no pitch; x is the axis along which they close, the frame's y axis at no yaw.

    Args:
        keypose: the place, relative to its frame.
        frame_pos: (3,) origin of the keypose's frame in the world (m).
        frame_rotation: (3, 3) its orientation; only its yaw counts unless the keypose is `tilted`.
    """
    frame = frame_rotation if keypose.tilted else about_z(yaw_of(frame_rotation))
    rotation = frame @ rotation_of(keypose.yaw, keypose.pitch, keypose.roll)
    return frame_pos + frame @ np.array(keypose.pos), rotation if keypose.tool else rotation @ _POINTING_DOWN


def grip_frame(grip: PoseArrays) -> PoseArrays:
    """Return the frame `gripper` of a grip site that is at the world pose `grip`."""
    pos, rotation = grip
    return pos, rotation @ _POINTING_DOWN.T


def rotation_of(yaw: float, pitch: float, roll: float) -> FloatArray:
    """Return the rotation (3, 3) by `yaw` about z, then `pitch` of the downward axis towards x, then `roll` about x."""
    return about_x(roll) @ about_y(-pitch) @ about_z(yaw)


def angles_of(rotation: FloatArray) -> tuple[float, float, float]:
    """Return yaw, pitch and roll (rad) whose `rotation_of` is the rotation (3, 3); no roll at a pitch of 90 degrees."""
    pitch = -math.asin(float(np.clip(rotation[0, 2], -1.0, 1.0)))
    if math.cos(pitch) < 1e-9:
        return math.atan2(rotation[1, 0], rotation[1, 1]), pitch, 0.0
    yaw = math.atan2(-rotation[0, 1], rotation[0, 0])
    return yaw, pitch, math.atan2(-rotation[1, 2], rotation[2, 2])


def held_in_grip(grip: PoseArrays, tool: PoseArrays) -> PoseArrays:
    """Return the pose of the tool in the frame of the grip site, from the world poses of both.

    Measured once the fingers have closed, it holds wherever they really took hold of the thing: a variant of
    the grasp, and a thing that was pushed while they closed, are both in it.
    """
    grip_pos, grip_rotation = grip
    tool_pos, tool_rotation = tool
    return grip_rotation.T @ (tool_pos - grip_pos), grip_rotation.T @ tool_rotation


def grip_for(target: PoseArrays, held: PoseArrays) -> PoseArrays:
    """Return where the grip site must be for the tool to be at `target`.

    Args:
        target: world pose of the tool, as `world_target` gives it.
        held: pose of the tool in the grip site's frame, as `held_in_grip` gives it.
    """
    pos, rotation = target
    held_pos, held_rotation = held
    grip_rotation = rotation @ held_rotation.T
    return pos - grip_rotation @ held_pos, grip_rotation


def nearest_turn(symmetry: Symmetry, rotation: FloatArray, now: FloatArray) -> FloatArray:
    """Return the rotation (3, 3), equivalent to `rotation` under the symmetry, that is nearest to `now`.

    Args:
        symmetry: the turns about the last column (the z axis) that change nothing.
        rotation: what is asked for.
        now: what there is.
    """
    between = rotation.T @ now
    if symmetry == "full":
        return rotation @ about_z(math.atan2(between[1, 0] - between[0, 1], between[0, 0] + between[1, 1]))
    if symmetry == "half-turn" and between[0, 0] + between[1, 1] < 0:
        return rotation @ about_z(math.pi)
    return rotation


def yaw_of(rotation: FloatArray) -> float:
    """Return the angle (rad) of the x axis of a rotation (3, 3) about the vertical."""
    return math.atan2(rotation[1, 0], rotation[0, 0])


def about_z(angle: float) -> FloatArray:
    """Return the rotation (3, 3) by `angle` (rad) about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_y(angle: float) -> FloatArray:
    """Return the rotation (3, 3) by `angle` (rad) about y."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_x(angle: float) -> FloatArray:
    """Return the rotation (3, 3) by `angle` (rad) about x; of the grip site, the line on which the fingers close."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
