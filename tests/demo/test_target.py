"""Where the gripper should be: frames, held things and symmetries, against poses worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libero_safety.demo.target import (
    about_z,
    angles_of,
    grip_for,
    grip_frame,
    held_in_grip,
    nearest_turn,
    rotation_of,
    world_target,
)
from libero_safety.types import FloatArray, Keypose

ABOUT_X = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""A quarter turn about x: what pointed along y points up."""
ORIGIN = np.zeros(3)


def test_at_no_yaw_the_fingers_point_down_and_close_along_the_frames_y() -> None:
    pos, rotation = world_target(Keypose("a", "f", (0.1, 0.0, 0.2)), np.array([1.0, 2.0, 3.0]), np.eye(3))
    np.testing.assert_allclose(pos, (1.1, 2.0, 3.2))
    np.testing.assert_allclose(rotation[:, 2], (0, 0, -1), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 0], (0, 1, 0), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_the_frames_yaw_turns_place_and_gripper() -> None:
    pos, rotation = world_target(Keypose("a", "f", (0.1, 0.0, 0.2)), ORIGIN, about_z(math.pi / 2))
    np.testing.assert_allclose(pos, (0.0, 0.1, 0.2), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 0], (-1, 0, 0), atol=1e-15)


def test_yaw_turns_the_closing_axis_about_the_vertical() -> None:
    _, rotation = world_target(Keypose("a", "f", (0, 0, 0), yaw=math.pi / 2), ORIGIN, np.eye(3))
    np.testing.assert_allclose(np.abs(rotation[:, 0]), (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 2], (0, 0, -1), atol=1e-15)


@pytest.mark.parametrize("yaw", [0.0, 0.7, math.pi / 2])
def test_pitch_tilts_the_fingers_towards_the_frames_x(yaw: float) -> None:
    _, rotation = world_target(Keypose("a", "f", (0, 0, 0), yaw=yaw, pitch=math.pi / 6), ORIGIN, np.eye(3))
    np.testing.assert_allclose(rotation[:, 2], (0.5, 0, -math.sqrt(0.75)), atol=1e-12)


def test_a_frame_that_tips_takes_a_tilted_keypose_with_it() -> None:
    keypose = Keypose("a", "f", (0.0, 0.1, 0.0))
    upright, _ = world_target(keypose, ORIGIN, ABOUT_X)
    np.testing.assert_allclose(upright, (0.0, 0.1, 0.0), atol=1e-15)
    tipped, rotation = world_target(Keypose("a", "f", (0.0, 0.1, 0.0), tilted=True), ORIGIN, ABOUT_X)
    np.testing.assert_allclose(tipped, (0.0, 0.0, 0.1), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 2], (0, 1, 0), atol=1e-15)


def test_a_tool_without_rotation_stands_as_the_frame_does() -> None:
    _, rotation = world_target(Keypose("a", "f", (0, 0, 0), tool="mug_1"), ORIGIN, about_z(0.3))
    np.testing.assert_allclose(rotation, about_z(0.3))


def test_roll_turns_about_the_frames_x_after_the_rest() -> None:
    np.testing.assert_allclose(rotation_of(0.0, 0.0, math.pi / 2), ABOUT_X, atol=1e-15)
    np.testing.assert_allclose(rotation_of(0.4, 0.0, math.pi / 2), ABOUT_X @ about_z(0.4), atol=1e-15)


ANGLE = st.floats(-math.pi, math.pi)


@given(ANGLE, ANGLE, ANGLE)
def test_angles_give_back_their_rotation(yaw: float, pitch: float, roll: float) -> None:
    rotation = rotation_of(yaw, pitch, roll)
    np.testing.assert_allclose(rotation_of(*angles_of(rotation)), rotation, atol=1e-7)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_fingers_that_are_level_have_angles_too(pitch: float) -> None:
    rotation = rotation_of(0.7, pitch, 0.4)
    yaw, _, roll = angles_of(rotation)
    assert roll == 0.0
    np.testing.assert_allclose(rotation_of(yaw, pitch, roll), rotation, atol=1e-8)


def test_where_a_thing_was_held_decides_where_the_gripper_must_be() -> None:
    down = world_target(Keypose("home", "f", (0, 0, 0)), ORIGIN, np.eye(3))[1]
    # The fork was taken 2 cm behind its middle and 1 cm above it.
    held = held_in_grip((np.array([0.28, 0.0, 0.01]), down), (np.array([0.3, 0.0, 0.0]), np.eye(3)))
    # Its middle is to be at y = 0.2, turned by a right angle: behind it is then below it in y.
    pos, rotation = grip_for((np.array([0.0, 0.2, 0.0]), about_z(math.pi / 2)), held)
    np.testing.assert_allclose(pos, (0.0, 0.18, 0.01), atol=1e-15)
    np.testing.assert_allclose(rotation, about_z(math.pi / 2) @ down, atol=1e-15)


def test_a_grasp_that_is_off_by_some_shifts_the_place_by_as_much() -> None:
    down = world_target(Keypose("home", "f", (0, 0, 0)), ORIGIN, np.eye(3))[1]
    target = (np.array([0.1, 0.2, 0.05]), np.eye(3))
    offset = np.array([0.012, -0.003, 0.004])
    grips = [
        grip_for(target, held_in_grip((shift, down), (ORIGIN, np.eye(3))))[0] for shift in (ORIGIN, offset)
    ]
    np.testing.assert_allclose(grips[1] - grips[0], offset, atol=1e-15)


@given(ANGLE, ANGLE, ANGLE)
def test_the_tool_arrives_where_it_should(yaw: float, pitch: float, roll: float) -> None:
    grip = (np.array([0.3, -0.1, 0.2]), rotation_of(roll, yaw, pitch))
    tool = (np.array([0.33, -0.12, 0.1]), rotation_of(yaw, pitch, roll))
    held = held_in_grip(grip, tool)
    target = (np.array([0.0, 0.2, 0.1]), rotation_of(pitch, roll, yaw))
    pos, rotation = grip_for(target, held)
    np.testing.assert_allclose(pos + rotation @ held[0], target[0], atol=1e-12)
    np.testing.assert_allclose(rotation @ held[1], target[1], atol=1e-12)


def test_the_frame_of_the_gripper_leaves_it_as_it_is() -> None:
    grip = world_target(Keypose("a", "f", (0.1, 0.2, 0.3), yaw=0.7), ORIGIN, np.eye(3))
    pos, rotation = world_target(Keypose("up", "gripper", (0, 0, 0.1)), *grip_frame(grip))
    np.testing.assert_allclose(pos, (0.1, 0.2, 0.4), atol=1e-15)
    np.testing.assert_allclose(rotation, grip[1], atol=1e-15)


@pytest.mark.parametrize(
    ("symmetry", "now", "wanted"),
    [
        ("none", 170, 0),
        ("half-turn", 80, 0),
        ("half-turn", 100, 180),
        ("half-turn", -100, 180),
        ("full", 100, 100),
        ("full", -17, -17),
    ],
)
def test_of_equal_turns_the_nearest_is_taken(symmetry: str, now: float, wanted: float) -> None:
    def turned(degrees: float) -> FloatArray:
        return np.diag([1.0, -1.0, -1.0]) @ about_z(math.radians(degrees))

    found = nearest_turn(symmetry, turned(0), turned(now))  # type: ignore[arg-type]
    np.testing.assert_allclose(found, turned(wanted), atol=1e-12)
