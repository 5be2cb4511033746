"""The Panda: dynamics, names, collision shapes."""

from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np
import pytest

from libero_safety.sim.robot import (
    FINGER_OPEN_QPOS,
    HOME_QPOS,
    JOINT_LIMITS,
    LINK_NAMES,
    RobotError,
    RobotIds,
    resolve,
    resolve_robosuite,
    robot_spec,
)

GOLDEN = Path(__file__).parent / "data" / "libero_free_space.npz"

# robosuite 1.4, panda and panda_gripper: mass (kg), centre of mass (m), principal inertia (kg m^2)
ROBOSUITE: Mapping[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {
    "link0": (4.0, (0.0, 0.0, 0.05), (0.4, 0.4, 0.4)),
    "link1": (3.0, (0.0, 0.0, -0.07), (0.3, 0.3, 0.3)),
    "link2": (3.0, (0.0, -0.1, 0.0), (0.3, 0.3, 0.3)),
    "link3": (2.0, (0.04, 0.0, -0.05), (0.2, 0.2, 0.2)),
    "link4": (2.0, (-0.04, 0.05, 0.0), (0.2, 0.2, 0.2)),
    "link5": (2.0, (0.0, 0.0, -0.15), (0.2, 0.2, 0.2)),
    "link6": (1.5, (0.06, 0.0, 0.0), (0.1, 0.1, 0.1)),
    "link7": (0.5, (0.0, 0.0, 0.08), (0.05, 0.05, 0.05)),
    "flange": (0.5, (0.0, 0.0, 0.0), (0.05, 0.05, 0.05)),
    "hand": (0.3, (0.0, 0.0, 0.17), (0.09, 0.07, 0.05)),
    "left_finger": (0.1, (0.0, 0.0, 0.05), (0.01, 0.01, 0.005)),
    "right_tip": (0.01, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01)),
}


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    world = mujoco.MjSpec()
    world.attach(robot_spec(), prefix="robot/", frame=world.worldbody.add_frame(pos=(0.5, -0.2, 0.9)))
    return world.compile()


@pytest.fixture(scope="module")
def ids(model: mujoco.MjModel) -> RobotIds:
    return resolve(model)


def contacts_at(model: mujoco.MjModel, ids: RobotIds, arm: object, fingers: object) -> set[tuple[str, str]]:
    """Names of links that touch in this configuration."""
    data = mujoco.MjData(model)
    data.qpos[list(ids.arm_qpos)] = arm
    data.qpos[list(ids.finger_qpos)] = fingers
    mujoco.mj_forward(model, data)
    link = {geom: name for name, geoms in ids.link_geoms.items() for geom in geoms}
    pairs = {tuple(sorted((link[int(c.geom1)], link[int(c.geom2)]))) for c in data.contact}
    return {(first, second) for first, second in pairs}


@pytest.mark.parametrize("body", ROBOSUITE)
def test_bodies_weigh_what_liberos_weigh(model: mujoco.MjModel, body: str) -> None:
    mass, com, inertia = ROBOSUITE[body]
    index = model.body(f"robot/{body}").id
    assert model.body_mass[index] == pytest.approx(mass)
    assert model.body_ipos[index] == pytest.approx(com)
    assert model.body_inertia[index] == pytest.approx(inertia)


def test_joints_are_liberos(model: mujoco.MjModel, ids: RobotIds) -> None:
    arm, fingers = list(ids.arm_dofs), list(ids.finger_dofs)
    assert model.dof_armature[arm] == pytest.approx([5.0, 2.5, 5 / 3, 1.25, 1.0, 5 / 6, 5 / 7])
    assert model.dof_damping[arm] == pytest.approx([0.1] * 5 + [0.01] * 2)
    assert model.dof_frictionloss[arm] == pytest.approx([0.1] * 7)
    assert model.jnt_range[list(ids.arm_joints)] == pytest.approx(np.array(JOINT_LIMITS))
    assert model.dof_damping[fingers] == pytest.approx([100.0, 100.0])
    assert model.dof_armature[fingers] == pytest.approx([1.0, 1.0])
    assert model.dof_frictionloss[fingers] == pytest.approx([1.0, 1.0])


def test_home_pose_is_liberos(model: mujoco.MjModel, ids: RobotIds) -> None:
    data = mujoco.MjData(model)
    data.qpos[list(ids.arm_qpos)] = HOME_QPOS
    mujoco.mj_kinematics(model, data)
    base = data.xpos[ids.link_bodies["link0"]]
    with np.load(GOLDEN) as golden:
        assert golden["qpos0"][:7] == pytest.approx(np.array(HOME_QPOS), abs=1e-9)
        assert data.site_xpos[ids.grip_site] - base == pytest.approx(golden["eef_pos"][0], abs=1e-9)
        assert data.site_xmat[ids.grip_site] == pytest.approx(golden["eef_mat"][0], abs=1e-9)


def test_every_colliding_geom_belongs_to_a_link(model: mujoco.MjModel, ids: RobotIds) -> None:
    colliding = np.flatnonzero(model.geom_contype | model.geom_conaffinity)
    assert sorted(ids.all_geoms) == sorted(colliding.tolist())
    assert set(ids.link_geoms) == set(LINK_NAMES)
    assert all(ids.link_geoms[link] for link in LINK_NAMES)
    assert len(ids.left_pads) == len(ids.right_pads) == 1


def test_what_is_seen_has_no_weight_and_touches_nothing(model: mujoco.MjModel) -> None:
    seen = np.flatnonzero(model.geom_group == 1)
    assert len(seen) > 0
    assert not (model.geom_contype[seen] | model.geom_conaffinity[seen]).any()
    assert model.body_mass.sum() == pytest.approx(4 + 3 + 3 + 2 + 2 + 2 + 1.5 + 0.5 + 0.5 + 0.3 + 0.22)


def test_fingers_open_to_eighty_millimetres(model: mujoco.MjModel, ids: RobotIds) -> None:
    data = mujoco.MjData(model)
    data.qpos[list(ids.finger_qpos)] = FINGER_OPEN_QPOS
    mujoco.mj_kinematics(model, data)
    left, right = ids.left_pads[0], ids.right_pads[0]
    apart = float(np.linalg.norm(data.geom_xpos[left] - data.geom_xpos[right]))
    thickness = 2 * model.geom_size[left, 1]
    assert apart - thickness == pytest.approx(0.079, abs=1e-6)


def test_nothing_touches_at_home(model: mujoco.MjModel, ids: RobotIds) -> None:
    assert contacts_at(model, ids, HOME_QPOS, FINGER_OPEN_QPOS) == set()


def test_nothing_touches_around_home(model: mujoco.MjModel, ids: RobotIds) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        arm = np.array(HOME_QPOS) + rng.uniform(-0.4, 0.4, 7)
        assert contacts_at(model, ids, arm, FINGER_OPEN_QPOS) == set()


def test_links_beside_each_other_never_touch(model: mujoco.MjModel, ids: RobotIds) -> None:
    rng = np.random.default_rng(1)
    low, high = np.array(JOINT_LIMITS).T
    found: set[tuple[str, str]] = set()
    for _ in range(300):
        found |= contacts_at(model, ids, rng.uniform(low, high), FINGER_OPEN_QPOS)
    neighbours = {(f"link{i}", f"link{i + 1}") for i in range(7)} | {("hand", "link7"), ("hand", "link6")}
    assert not found & neighbours
    assert found, "an arm anywhere within its limits does run into itself sometimes"


@pytest.mark.parametrize(
    ("arm", "pair"),
    [
        ((0.1, 1.2, 0.6, -3.0, 0.4, 3.3, 2.0), ("hand", "link0")),
        ((-0.0, -0.3, -0.4, -2.7, -2.4, 0.2, -0.9), ("hand", "link5")),
    ],
)
def test_folding_onto_itself_is_felt(
    model: mujoco.MjModel, ids: RobotIds, arm: tuple[float, ...], pair: tuple[str, str]
) -> None:
    assert pair in contacts_at(model, ids, arm, FINGER_OPEN_QPOS)


def test_pads_meet_when_an_empty_gripper_closes(model: mujoco.MjModel, ids: RobotIds) -> None:
    assert contacts_at(model, ids, HOME_QPOS, (0.0, 0.0)) == {("left_finger", "right_finger")}


def test_robot_tree_never_sleeps(model: mujoco.MjModel, ids: RobotIds) -> None:
    tree = model.body_treeid[ids.link_bodies["link1"]]
    assert model.tree_sleep_policy[tree] == mujoco.mjtSleepPolicy.mjSLEEP_NEVER


def test_unknown_look_names_the_known_ones() -> None:
    with pytest.raises(RobotError, match="did you mean 'built-in'"):
        robot_spec("builtin")


def test_missing_robot_says_what_was_looked_for(model: mujoco.MjModel) -> None:
    with pytest.raises(RobotError, match="no joint 'arm/joint1'"):
        resolve(model, "arm/")
    with pytest.raises(RobotError, match="robot0_joint1"):
        resolve_robosuite(model)
