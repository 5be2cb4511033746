"""Closed-form inverse kinematics: complete, exact, within limits, and without flips along a chain."""

import numpy as np
import pytest
from arm_lab import HOME, Robot
from scipy.spatial.transform import Rotation

pytest.importorskip("ssik")

from libero_safety.plan.ik import OtherArmError, branches, chained, ranked
from libero_safety.plan.kinematics import Arm


@pytest.fixture(scope="module")
def robot():
    return Robot()


@pytest.fixture(scope="module")
def arm(robot):
    return robot.arm


def bridged(arm: Arm, first: np.ndarray, last: np.ndarray, pos, rot) -> bool:
    """Whether the elbow can be swung from one posture to the other while the tip stays."""
    q = first
    for _ in range(60):
        way = last - q
        if np.abs(way).max() < 1e-3:
            return True
        q = arm.nearest(pos, rot, q + way * min(1.0, 0.1 / np.linalg.norm(way)))
        if q is None or not arm.within_limits(q, -1e-6):
            return False
    return False


def test_every_solution_is_exact_and_no_known_one_is_missed(arm):
    rng = np.random.default_rng(0)
    for _ in range(100):
        known = rng.uniform(arm.low + 0.05, arm.high - 0.05)
        pos, rot = arm.fk(known)
        found = branches(arm, pos, rot)
        for q in found:
            got_pos, got_rot = arm.fk(q)
            assert np.abs(got_pos - pos).max() < 1e-9
            assert np.abs(got_rot - rot).max() < 1e-9
            assert arm.within_limits(q)
        near = sorted(found, key=lambda q: np.linalg.norm(q - known))[:5]
        assert any(bridged(arm, known, q, pos, rot) for q in near)


def test_ranked_starts_with_the_natural_joints_then_goes_by_distance(arm):
    pos, rot = arm.fk(HOME)
    found = ranked(arm, pos, rot, HOME)
    np.testing.assert_allclose(found[0], HOME, atol=1e-7)
    away = np.linalg.norm(found[1:] - HOME, axis=1)
    assert away[0] < 0.6
    assert away[: len(away) // 2].mean() < away[len(away) // 2 :].mean()


def test_finer_spacing_finds_more_postures_of_the_same_branches(arm):
    pos, rot = arm.fk(HOME)
    assert len(branches(arm, pos, rot, 0.05)) > 1.5 * len(branches(arm, pos, rot)) > 0


def test_out_of_reach_there_are_none(arm):
    assert branches(arm, np.array([2.0, 0.0, 1.0]), np.eye(3)).shape == (0, 7)


def test_a_chain_of_poses_stays_on_one_branch(arm):
    pos, rot = arm.fk(HOME)
    yaw = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix()
    poses = [
        (pos + [0.1, 0.2, -0.2], rot),
        (pos + [0.1, -0.2, -0.2], rot),
        (pos + [0.2, -0.2, -0.1], yaw @ rot),
    ]
    joints = chained(arm, poses, HOME)
    assert joints is not None
    for q, (goal_pos, goal_rot) in zip(joints, poses, strict=True):
        got_pos, got_rot = arm.fk(q)
        np.testing.assert_allclose(got_pos, goal_pos, atol=1e-9)
        np.testing.assert_allclose(got_rot, goal_rot, atol=1e-9)
    assert np.abs(np.diff(np.vstack([HOME, joints]), axis=0)).max() < 1.5


def test_a_chain_with_a_pose_out_of_reach_is_none(arm):
    pos, rot = arm.fk(HOME)
    assert chained(arm, [(pos, rot), (pos + [2.0, 0.0, 0.0], rot)], HOME) is None


def test_another_arm_is_refused(robot):
    model = robot.model
    before = model.body_pos[robot.ids.link_bodies["link5"]].copy()
    model.body_pos[robot.ids.link_bodies["link5"]] += [0.0, 0.05, 0.0]
    try:
        other = Arm(model, robot.ids, HOME)
    finally:
        model.body_pos[robot.ids.link_bodies["link5"]] = before
    with pytest.raises(OtherArmError, match="not a Panda"):
        branches(other, *other.fk(HOME))
