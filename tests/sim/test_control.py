"""The operational-space controller: directions, rest, state, and parity with LIBERO's own robot."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pytest

from libero_safety.sim.control import CONTROLLERS, ControlError, OperationalSpaceController
from libero_safety.sim.robot import (
    FINGER_START_QPOS,
    HOME_QPOS,
    JOINT_LIMITS,
    RobotIds,
    resolve,
    resolve_robosuite,
    robot_spec,
    set_physics,
)
from libero_safety.types import SUBSTEPS, FloatArray

GOLDEN = Path(__file__).parent / "data" / "libero_free_space.npz"
RECORDER = Path(__file__).parents[2] / "benchmarks" / "make_golden.py"
LIBERO_PYTHON = "LIBERO_SAFETY_LIBERO_PYTHON"


@dataclass
class Arm:
    """A robot under control."""

    model: mujoco.MjModel
    data: mujoco.MjData
    ids: RobotIds
    controller: OperationalSpaceController

    def step(self, action: FloatArray) -> None:
        """One control step, as the environment runs it."""
        mujoco.mj_step1(self.model, self.data)
        self.controller.set_goal(self.data, action)
        for substep in range(SUBSTEPS):
            if substep > 0:
                mujoco.mj_step1(self.model, self.data)
            self.controller.apply(self.data)
            mujoco.mj_step2(self.model, self.data)
        mujoco.mj_kinematics(self.model, self.data)

    @property
    def pos(self) -> FloatArray:
        return self.data.site_xpos[self.ids.grip_site].copy()

    @property
    def mat(self) -> FloatArray:
        return self.data.site_xmat[self.ids.grip_site].reshape(3, 3).copy()

    @property
    def joints(self) -> FloatArray:
        return self.data.qpos[[*self.ids.arm_qpos, *self.ids.finger_qpos]]


def alone(preset: str = "libero") -> Arm:
    """The robot at home in an empty world."""
    world = mujoco.MjSpec()
    set_physics(world.option)
    world.attach(robot_spec(), prefix="robot/", frame=world.worldbody.add_frame())
    model = world.compile()
    ids, data = resolve(model), mujoco.MjData(model)
    data.qpos[list(ids.arm_qpos)] = HOME_QPOS
    data.qpos[list(ids.finger_qpos)] = FINGER_START_QPOS
    mujoco.mj_forward(model, data)
    controller = OperationalSpaceController(model, ids, CONTROLLERS[preset])
    controller.reset(data)
    return Arm(model, data, ids, controller)


def action(**components: float) -> FloatArray:
    """An action from the components that are not zero."""
    names = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
    return np.array([components.get(name, 0.0) for name in names])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_translation_moves_the_hand_along_that_world_axis(axis: int, sign: float) -> None:
    arm = alone()
    start, turn = arm.pos, arm.mat
    push = np.zeros(7)
    push[axis] = sign
    for _ in range(10):
        arm.step(push)
    moved = arm.pos - start
    assert 0.1 < moved[axis] * sign < 0.15
    assert np.abs(np.delete(moved, axis)).max() < 0.02
    assert arm.mat == pytest.approx(turn, abs=0.05)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rotation_turns_the_hand_about_that_world_axis(axis: int) -> None:
    arm = alone()
    start, pos = arm.mat, arm.pos
    turn = np.zeros(7)
    turn[3 + axis] = 0.5
    for _ in range(6):
        arm.step(turn)
    delta = arm.mat @ start.T
    vector = np.array([delta[2, 1] - delta[1, 2], delta[0, 2] - delta[2, 0], delta[1, 0] - delta[0, 1]]) / 2
    assert vector[axis] > 0.2
    assert np.abs(np.delete(vector, axis)).max() < 0.1 * vector[axis]
    assert (
        np.linalg.norm(arm.pos - pos) < 0.05
    )  # position and rotation are decoupled, so one disturbs the other


def test_minus_one_opens_and_plus_one_closes() -> None:
    arm = alone()
    for _ in range(20):
        arm.step(action(gripper=-1.0))
    # Dry friction of 1 N holds a servo of 1000 N/m anywhere within 1 mm of its target.
    assert arm.joints[7:] == pytest.approx([0.04, -0.04], abs=2e-3)
    for _ in range(20):
        arm.step(action(gripper=1.0))
    assert arm.joints[7:] == pytest.approx([0.0, 0.0], abs=2e-3)


def test_gripper_target_crosses_half_the_range_in_a_hundred_physics_steps() -> None:
    arm = alone()
    targets: list[float] = []
    for _ in range(5):
        arm.step(action(gripper=-1.0))
        targets.append(float(arm.data.ctrl[arm.ids.finger_actuators[0]]))
    assert targets == pytest.approx([0.025, 0.03, 0.035, 0.04, 0.04])


def test_arm_holds_still_against_gravity() -> None:
    arm = alone()
    start = arm.pos
    for _ in range(40):
        arm.step(action())
        assert np.linalg.norm(arm.pos - start) < 1e-3


def test_a_rotation_of_zero_keeps_the_goal_orientation() -> None:
    arm = alone()
    goal = arm.controller.state()[10:19]
    for _ in range(5):
        arm.step(action(x=1.0))
    assert (arm.controller.state()[10:19] == goal).all()
    arm.step(action(yaw=1e-3))
    assert (arm.controller.state()[10:19] != goal).any()


def test_actions_beyond_one_are_clipped() -> None:
    asked, clipped = alone(), alone()
    for _ in range(3):
        asked.step(action(x=5.0, yaw=-7.0, gripper=2.0))
        clipped.step(action(x=1.0, yaw=-1.0, gripper=1.0))
    assert (asked.data.qpos == clipped.data.qpos).all()


def test_reference_preset_asks_for_forty_times_the_distance() -> None:
    arm = alone("reference")
    arm.controller.set_goal(arm.data, action(x=0.01))
    assert arm.controller.state()[7] - arm.pos[0] == pytest.approx(0.02)
    assert CONTROLLERS["reference"].kp == 5 * CONTROLLERS["libero"].kp


@pytest.mark.parametrize("bad", [np.zeros(6), np.zeros((1, 7))])
def test_action_of_another_shape_is_refused(bad: FloatArray) -> None:
    arm = alone()
    with pytest.raises(ControlError, match=r"shape \(7,\)"):
        arm.controller.set_goal(arm.data, bad)


def test_action_that_is_not_a_number_is_refused() -> None:
    arm = alone()
    with pytest.raises(ControlError, match="not a number"):
        arm.controller.set_goal(arm.data, action(y=float("nan")))


def test_state_round_trip_is_bit_equal() -> None:
    rng = np.random.default_rng(0)
    arm = alone()
    for push in rng.uniform(-1.0, 1.0, (5, 7)):
        arm.step(push)
    saved, memory = mujoco.MjData(arm.model), arm.controller.state()
    mujoco.mj_copyData(saved, arm.model, arm.data)
    rest = rng.uniform(-1.0, 1.0, (10, 7))
    rest[:, 3:6] = 0.0  # the goal orientation is then remembered, not recomputed
    for push in rest:
        arm.step(push)
    other = Arm(arm.model, saved, arm.ids, OperationalSpaceController(arm.model, arm.ids))
    other.controller.set_state(memory)
    for push in rest:
        other.step(push)
    assert (other.data.qpos == arm.data.qpos).all()
    assert (other.data.ctrl == arm.data.ctrl).all()
    assert (other.controller.state() == arm.controller.state()).all()


def test_state_of_another_shape_is_refused() -> None:
    with pytest.raises(ControlError, match=r"shape \(21,\)"):
        alone().controller.set_state(np.zeros(20))


@pytest.mark.parametrize("push", [action(x=1.0), action(z=1.0, y=-1.0), action(x=-1.0, z=-1.0, yaw=1.0)])
def test_joint_and_torque_limits_hold_where_the_arm_cannot_follow(push: FloatArray) -> None:
    arm = alone()
    low, high = np.array(JOINT_LIMITS).T
    torque = arm.model.actuator_ctrlrange[list(arm.ids.arm_actuators), 1]
    for _ in range(80):
        arm.step(push)
        assert np.isfinite(arm.data.qpos).all()
        assert (arm.joints[:7] > low - 0.03).all()
        assert (arm.joints[:7] < high + 0.03).all()
        assert (np.abs(arm.data.ctrl[list(arm.ids.arm_actuators)]) <= torque).all()


def test_a_stretched_arm_gets_finite_torques() -> None:
    arm = alone()
    arm.data.qpos[list(arm.ids.arm_qpos)] = 0.0
    mujoco.mj_forward(arm.model, arm.data)
    arm.controller.reset(arm.data)
    arm.controller.set_goal(arm.data, action(x=1.0, yaw=1.0))
    arm.controller.apply(arm.data)
    assert np.isfinite(arm.data.ctrl).all()


def replay(arm: Arm, golden: dict[str, FloatArray]) -> FloatArray:
    """Errors against a recording, (3, steps): position (m), rotation (rad), largest joint error."""
    state = arm.controller.state()
    state[:7] = golden["rest"]
    state[19] = golden["gripper0"][0]
    arm.controller.set_state(state)
    base = arm.data.xpos[arm.ids.link_bodies["link0"]].copy()
    errors: list[tuple[float, float, float]] = []
    rows = zip(
        golden["actions"], golden["eef_pos"][1:], golden["eef_mat"][1:], golden["qpos"][1:], strict=True
    )
    for push, pos, mat, qpos in rows:
        arm.step(push)
        # The Frobenius distance of two rotations is sqrt(8) sin(angle / 2); an arc cosine loses small angles.
        chord = float(np.linalg.norm(arm.mat - mat.reshape(3, 3))) / np.sqrt(8.0)
        rotation = 2.0 * float(np.arcsin(min(chord, 1.0)))
        position = float(np.linalg.norm(arm.pos - base - pos))
        errors.append((position, rotation, float(np.abs(arm.joints - qpos).max())))
    return np.array(errors).T


def test_own_robot_follows_liberos_path_in_free_space() -> None:
    with np.load(GOLDEN) as file:
        golden = dict(file)
    arm = alone()
    arm.data.qpos[[*arm.ids.arm_qpos, *arm.ids.finger_qpos]] = golden["qpos0"]
    arm.data.qvel[[*arm.ids.arm_dofs, *arm.ids.finger_dofs]] = golden["qvel0"]
    mujoco.mj_forward(arm.model, arm.data)
    arm.controller.reset(arm.data)
    position, rotation, joints = replay(arm, golden)
    assert len(position) == 200
    assert position.max() < 1e-6
    assert rotation.max() < 1e-5
    assert joints.max() < 1e-5


def libero_python() -> str | None:
    """A Python that can import LIBERO, if one is known."""
    for candidate in (os.environ.get(LIBERO_PYTHON), sys.executable):
        if candidate:
            probe = [candidate, "-c", "import libero.libero, robosuite"]
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return candidate
    return None


@pytest.mark.slow
def test_controller_moves_liberos_own_scene_as_libero_does(tmp_path: Path) -> None:
    python = libero_python()
    if python is None:
        pytest.skip(f"no LIBERO here; {LIBERO_PYTHON} may name a Python that has it")
    recording, model_file = tmp_path / "scene.npz", tmp_path / "scene.mjb"
    command = [python, str(RECORDER), "--out", str(recording), "--model", str(model_file), "--settle", "10"]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    with np.load(recording) as file:
        golden = dict(file)
    if str(golden["mujoco_version"]) != mujoco.__version__:
        pytest.skip(f"LIBERO runs on MuJoCo {golden['mujoco_version']}, this is {mujoco.__version__}")
    model = mujoco.MjModel.from_binary_path(str(model_file))
    model_file.unlink()
    ids, data = resolve_robosuite(model), mujoco.MjData(model)
    mujoco.mj_setState(model, data, golden["state0"], mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(model, data)
    controller = OperationalSpaceController(model, ids)
    controller.reset(data)
    position, rotation, _ = replay(Arm(model, data, ids, controller), golden)
    assert position[0] < 1e-5
    assert position[:100].max() < 5e-4
    assert position.max() < 1e-3
    assert np.degrees(rotation[:100]).max() < 0.3
