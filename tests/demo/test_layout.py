"""Which way round the hand takes hold of something, and when it leans."""

import math

import numpy as np
import pytest

from libero_safety.demo.layout import LEANS_RAD, Layout, choose_turn
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage
from libero_safety.plan.kinematics import Arm
from libero_safety.types import Keypose

STAGE = Stage((Keypose("grasp", "soup_1.grasp", (0.0, 0.0, 0.0), gripper=1.0),), None, "soup_1", False, -1.0)
NEAR = Stage((Keypose("near", "soup_1.grasp", (-0.2, 0.2, 0.15)),), None, None, False, -1.0)
"""Within reach either way round."""


@pytest.fixture
def here(lab) -> Situation:
    found = lab("(NoContact robot soup_1)")
    arm = Arm(found.scene.model, found.scene.robot, found.scene.start[list(found.scene.robot.arm_qpos)])
    return Situation.now(found.scene, found.data, arm, 0.0, None)


def lean_rad(layout: Layout) -> float:
    """Angle between the fingers and straight down."""
    return math.acos(np.clip(-layout.poses[0][1][2, 2], -1.0, 1.0))


def test_the_hand_stays_upright_where_it_can(here):
    turn = choose_turn(here, [STAGE], lambda situation, stage: lambda layout: 0)
    assert turn[2, 2] == pytest.approx(1.0)


@pytest.mark.parametrize("least", LEANS_RAD)
def test_it_leans_as_little_as_it_must_without_moving_its_grip(here, least):
    seen = []

    def count(layout):
        seen.append(layout.poses[0][0])
        return int(lean_rad(layout) < least - 1e-6)

    turn = choose_turn(here, [STAGE], lambda situation, stage: count)
    assert math.acos(turn[2, 2]) == pytest.approx(least)
    np.testing.assert_allclose(seen, np.tile(here.frame("soup_1.grasp")[0], (len(seen), 1)), atol=1e-9)


def test_where_nothing_helps_it_stays_upright(here):
    turn = choose_turn(here, [STAGE], lambda situation, stage: lambda layout: 1)
    assert turn[2, 2] == pytest.approx(1.0)


def test_after_a_failure_another_turn_is_taken_that_will_do_as_well(here):
    def free(situation, stage):
        return lambda layout: 0

    first, second, third = (choose_turn(here, [NEAR], free, attempt) for attempt in range(3))
    np.testing.assert_allclose(first.T @ second, np.diag([-1.0, -1.0, 1.0]), atol=1e-9)
    np.testing.assert_array_equal(first, third)


def test_one_that_will_not_do_is_no_choice(here):
    """An upright hand comes before one that leans."""
    first, poses = choose_turn(here, [NEAR], lambda situation, stage: lambda layout: 0), []

    def count(layout):
        poses.append(layout.poses[0][1])
        return int(not np.allclose(poses[0], poses[-1]))

    np.testing.assert_array_equal(choose_turn(here, [NEAR], lambda situation, stage: count, attempt=1), first)
    assert len(poses) == 2
