"""The arm's kinematics against MuJoCo, and its natural joints against the real controller."""

import mujoco
import numpy as np
import pytest
from arm_lab import HOME, Robot
from scipy.spatial.transform import Rotation


@pytest.fixture(scope="module")
def robot():
    return Robot()


@pytest.fixture(scope="module")
def arm(robot):
    return robot.arm


def drive(robot: Robot, poses, hold: int):
    """Send the controller after a sequence of poses and return tip poses and joints after every control step."""
    robot.start()
    rows = [(*robot.tip()[:2], robot.joints)]
    for pos, rot in [*poses, *[poses[-1]] * hold]:
        now_pos, now_rot, _ = robot.tip()
        turn = Rotation.from_matrix(rot @ now_rot.T).as_rotvec()
        robot.act(np.concatenate([(pos - now_pos) / 0.05 * 2, turn / 0.5 * 2]))
        rows.append((*robot.tip()[:2], robot.joints))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_kinematics_equals_mujoco_everywhere(robot, arm):
    model, ids = robot.model, robot.ids
    data, jac = mujoco.MjData(model), np.zeros((6, model.nv))
    rng, dofs = np.random.default_rng(0), list(ids.arm_dofs)
    for _ in range(50):
        q = rng.uniform(arm.low, arm.high)
        data.qpos[list(ids.arm_qpos)], data.qpos[list(ids.finger_qpos)] = q, (0.02, -0.02)
        mujoco.mj_forward(model, data)
        mujoco.mj_jacSite(model, data, jac[:3], jac[3:], ids.grip_site)
        full = np.zeros((model.nv, model.nv))
        mujoco.mju_sym2dense(full, data.M, model.M_rownnz, model.M_rowadr, model.M_colind)
        pos, rot = arm.fk(q)
        np.testing.assert_allclose(pos, data.site_xpos[ids.grip_site], atol=1e-12)
        np.testing.assert_allclose(rot.ravel(), data.site_xmat[ids.grip_site], atol=1e-12)
        np.testing.assert_allclose(arm.jacobian(q), jac[:, dofs], atol=1e-12)
        np.testing.assert_allclose(arm.mass_matrix(q), full[np.ix_(dofs, dofs)], atol=1e-12)


def test_the_rest_joints_are_natural(arm):
    pos, rot = arm.fk(HOME)
    near = HOME + np.array([0.3, -0.2, 0.3, -0.3, 0.3, 0.2, -0.3])
    np.testing.assert_allclose(arm.natural(pos, rot, near), HOME, atol=1e-9)


def test_natural_joints_have_the_pose_and_least_posture_energy(arm):
    pos, rot = arm.fk(HOME)
    goal = Rotation.from_rotvec([0.1, -0.2, 0.8]).as_matrix() @ rot
    q = arm.natural(pos + [0.1, 0.15, -0.1], goal, HOME)
    got_pos, got_rot = arm.fk(q)
    np.testing.assert_allclose(got_pos, pos + [0.1, 0.15, -0.1], atol=1e-10)
    np.testing.assert_allclose(got_rot, goal, atol=1e-10)
    mass = arm.mass_matrix(q)
    null = np.linalg.svd(arm.jacobian(q))[2][-1]
    assert abs(null @ mass @ (HOME - q)) < 1e-7

    def energy(p):
        return (p - HOME) @ mass @ (p - HOME)

    assert energy(q) < min(energy(q + 0.05 * null), energy(q - 0.05 * null))


@pytest.mark.parametrize(
    ("pos", "turn"), [((2.0, 0.0, 1.0), 0.0), ((-0.66, 0.1, 1.0), 0.0), ((-0.2, 0.1, 1.17), 2.9)]
)
def test_no_natural_joints_out_of_reach(arm, pos, turn):
    rot = Rotation.from_rotvec([0.0, turn, 0.0]).as_matrix() @ arm.fk(HOME)[1]
    assert arm.natural(np.array(pos), rot, HOME) is None


def test_the_controller_comes_to_rest_at_the_natural_joints(robot, arm):
    """The rest: static friction of 0.1 Nm per joint against 10 1/s^2 times the inertia."""
    pos, rot = arm.fk(HOME)
    rng = np.random.default_rng(3)
    for _ in range(3):
        goal_pos = pos + rng.uniform([-0.1, -0.25, -0.2], [0.15, 0.25, 0.05])
        goal_rot = Rotation.from_rotvec(rng.normal(0.0, [0.15, 0.15, 0.6])).as_matrix() @ rot
        expected = arm.natural(goal_pos, goal_rot, HOME)
        _, _, joints = drive(robot, [(goal_pos, goal_rot)], hold=100)
        np.testing.assert_allclose(joints[-1], expected, atol=0.012)


def test_follow_knows_the_joints_of_a_moving_tip(robot, arm):
    pos, rot = arm.fk(HOME)
    s = 0.5 - 0.5 * np.cos(np.linspace(0.0, 3 * np.pi, 90))
    poses = [
        (
            pos + a * np.array([0.1, 0.25, -0.15]),
            Rotation.from_rotvec([0.0, 0.1 * a, 0.9 * a]).as_matrix() @ rot,
        )
        for a in s
    ]
    tip_pos, tip_rot, joints = drive(robot, poses, hold=5)
    predicted = arm.follow(tip_pos, tip_rot, 0.05, joints[0])
    natural = np.array([arm.natural(p, r, q) for p, r, q in zip(tip_pos, tip_rot, joints, strict=True)])
    lag = np.abs(natural - joints).max()
    assert np.abs(predicted - joints).max() < 0.008
    assert lag > 0.03, "the motion is fast enough for the elbow to lag"


def test_follow_comes_to_rest_at_the_natural_joints(arm):
    pos, rot = arm.fk(HOME)
    goal = pos + [0.1, 0.2, -0.1]
    still = np.repeat(goal[None], 120, axis=0)
    start = arm.natural(goal, rot, HOME)
    null = np.linalg.svd(arm.jacobian(start))[2][-1]
    joints = arm.follow(still, np.repeat(rot[None], 120, axis=0), 0.05, start + 0.2 * null)
    np.testing.assert_allclose(joints[-1], start, atol=1e-4)


def test_follow_ends_where_the_arm_cannot_go_on(arm):
    pos, rot = arm.fk(HOME)
    away = pos + np.linspace(0.0, 1.5, 100)[:, None] * [1.0, 0.0, 0.0]
    joints = arm.follow(away, np.repeat(rot[None], 100, axis=0), 0.05, HOME)
    reached = np.array([arm.fk(q)[0] for q in joints])
    np.testing.assert_allclose(reached, away[: len(joints)], atol=1e-6)
    assert 10 < len(joints) < 60


def test_a_weight_in_the_gripper_does_not_move_the_elbow():
    """A force on the hand does no work along a motion of the elbow that leaves the tip where it is."""
    pytest.importorskip("piqp")
    from libero_safety.plan.corridor import TipPath
    from libero_safety.plan.timing import TipMotion, time_path

    robot = Robot()
    ends = robot.home_pos + np.array([(0.0, 0.0, 0.0), (0.1, 0.15, -0.2)])
    motion = time_path(robot.arm, TipPath.of(ends, np.stack([robot.home_rot] * 2)), HOME)
    assert isinstance(motion, TipMotion), motion
    rows = [robot.follow(motion, hold=40, push_n=(0.0, 0.0, -weight_n))[3] for weight_n in (0.0, 10.0)]
    assert np.abs(rows[1][motion.steps :] - rows[0][motion.steps :]).max() < 1e-3
    # What is left is static friction.
    assert np.abs(rows[1][: motion.steps] - motion.joints[: motion.steps]).max() < 5e-3
