"""Kinematics of the arm in a compiled model, and the joints at which its controller comes to rest.

Seven joints hold a six-dimensional pose: one motion of the elbow is left. The operational-space controller
(`sim/control.py`) pulls it by N' M k0 (q0 - q), with N the dynamically consistent projector on the null space,
M the joint-space inertia and q0 the joints at reset. That torque vanishes where n' M (q0 - q) = 0 for the null
direction n of the Jacobian: where (q - q0)' M (q - q0) / 2, with M taken as constant, is smallest among the
joints with this tip pose. Those are the natural joints of the pose. While the tip moves, the elbow lags behind
them as a critically damped spring of stiffness k0 = 10 1/s^2 does; `Arm.follow` integrates that.
"""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from libero_safety.plan import arm_kernels as kernels
from libero_safety.plan.arm_kernels import DOF, Chain
from libero_safety.sim.robot import RobotIds
from libero_safety.types import FloatArray

_ROUNDS = 60
_SUBSTEP_S = 0.01


class Arm:
    """The arm of one compiled model. Poses are of the grip site, in the world.

    Attributes:
        rest: (7,) joints towards which the controller pulls.
        low: (7,) lower joint limits (rad); `high` the upper ones.
        base_pos: (3,) where the robot's first link stands; `base_rot` (3, 3) how it is turned.
    """

    def __init__(
        self, model: mujoco.MjModel, robot: RobotIds, rest: FloatArray, *, null_kp: float = 10.0
    ) -> None:
        """Read the arm from a model.

        Args:
            model: a compiled model.
            robot: where the robot is in it.
            rest: (7,) joints at reset.
            null_kp: stiffness of the posture term (1/s^2), critically damped.
        """
        self.rest = np.array(rest, dtype=np.float64)
        ranges = model.jnt_range[list(robot.arm_joints)]
        self.low: FloatArray = np.array(ranges[:, 0])
        self.high: FloatArray = np.array(ranges[:, 1])
        self._gain = null_kp
        data = _at_zero(model, robot)
        base = robot.link_bodies["link0"]
        self.base_pos: FloatArray = np.array(data.xpos[base])
        self.base_rot: FloatArray = np.array(data.xmat[base]).reshape(3, 3)
        self._chain = _chain(model, data, robot)
        self._rots, self._shifts = np.empty((DOF, 3, 3)), np.empty((DOF, 3))
        self._anchors, self._axes = np.empty((DOF, 3)), np.empty((DOF, 3))

    def fk(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) and rotation (3, 3) of the grip site at joints (7,)."""
        pos, rot = np.empty(3), np.empty((3, 3))
        kernels.frames(self._chain, q, self._rots, self._shifts, self._anchors, self._axes)
        kernels.tip(self._chain, self._rots, self._shifts, pos, rot)
        return pos, rot

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Return (6, 7): linear, then angular velocity of the grip site per joint velocity, world axes."""
        pos, _ = self.fk(q)
        out = np.empty((6, DOF))
        kernels.jacobian(self._anchors, self._axes, pos, out)
        return out

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return the inertia (7, 7) seen by the arm's joints, armature included, fingers half open (kg m^2)."""
        out = np.empty((DOF, DOF))
        kernels.frames(self._chain, q, self._rots, self._shifts, self._anchors, self._axes)
        kernels.inertia(self._chain, self._rots, self._shifts, self._anchors, self._axes, out)
        return out

    def manipulability(self, q: FloatArray) -> float:
        """Yoshikawa's measure sqrt(det(J J')): zero where a direction of motion is lost."""
        jacobian = self.jacobian(q)
        return float(np.sqrt(max(np.linalg.det(jacobian @ jacobian.T), 0.0)))

    def within_limits(self, q: FloatArray, margin_rad: float = 0.0) -> bool:
        """Whether every joint is inside its limits by at least a margin, (7,) or in each of (n, 7) rows."""
        return bool(np.all(q >= self.low + margin_rad) and np.all(q <= self.high - margin_rad))

    def natural(self, pos: FloatArray, rot: FloatArray, near: FloatArray) -> FloatArray | None:
        """Return the joints (7,) at which the controller comes to rest with the tip at a pose.

        Args:
            pos: (3,) of the grip site, world.
            rot: (3, 3).
            near: (7,) joints to start from; of several rest postures the one reached from here is returned.

        Returns:
            The joints, or None: out of reach from `near`, or outside the joint limits.
        """
        q = np.array(near, dtype=np.float64)
        if not kernels.settle(self._chain, self.rest, pos, rot, q, _ROUNDS):
            return None
        return q if self.within_limits(q) else None

    def nearest(self, pos: FloatArray, rot: FloatArray, near: FloatArray) -> FloatArray | None:
        """Return joints (7,) with the tip at a pose (1e-9) that are close to `near`; None if Newton's method fails.

        Joint limits are not looked at.
        """
        q = np.array(near, dtype=np.float64)
        return q if kernels.reach(self._chain, pos, rot, q, _ROUNDS) else None

    def follow(
        self,
        pos: FloatArray,
        rot: FloatArray,
        dt_s: float,
        q0: FloatArray,
        qd0: FloatArray | None = None,
    ) -> FloatArray:
        """Return the joints (n, 7) while the tip moves along poses, the elbow pulled by the controller.

        Args:
            pos: (n, 3) tip positions, `dt_s` apart.
            rot: (n, 3, 3) tip rotations.
            dt_s: seconds between rows; steps longer than 10 ms are divided.
            q0: (7,) joints at the first row.
            qd0: (7,) joint velocities there; at rest by default.

        Returns:
            Fewer than n rows where the tip goes out of reach. Joint limits are not looked at.
        """
        parts = max(1, int(np.ceil(dt_s / _SUBSTEP_S - 1e-9)))
        fine_pos, fine_rot = refine(pos, rot, parts)
        out = np.empty((len(fine_pos), DOF))
        q = np.array(q0, dtype=np.float64)
        qd = np.zeros(DOF) if qd0 is None else np.array(qd0, dtype=np.float64)
        filled = kernels.follow(
            self._chain, self.rest, self._gain, fine_pos, fine_rot, dt_s / parts, q, qd, out
        )
        return out[:filled:parts]


def refine(pos: FloatArray, rot: FloatArray, parts: int) -> tuple[FloatArray, FloatArray]:
    """Divide every step of tip poses (n, 3), (n, 3, 3) into equal parts: straight, turning evenly."""
    if parts == 1 or len(pos) < 2:
        return np.ascontiguousarray(pos, np.float64), np.ascontiguousarray(rot, np.float64)
    knots = np.arange(len(pos))
    fine = np.arange((len(pos) - 1) * parts + 1) / parts
    turned = Slerp(knots, Rotation.from_matrix(rot))(fine).as_matrix()
    moved = np.stack([np.interp(fine, knots, pos[:, k]) for k in range(3)], axis=1)
    return moved, np.ascontiguousarray(turned)


def _at_zero(model: mujoco.MjModel, robot: RobotIds) -> mujoco.MjData:
    """The robot with its arm joints at zero and its fingers half open."""
    data = mujoco.MjData(model)
    data.qpos[list(robot.arm_qpos)] = 0.0
    for address in robot.finger_qpos:
        joint = int(np.flatnonzero(model.jnt_qposadr == address)[0])
        data.qpos[address] = model.jnt_range[joint].mean()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


def _chain(model: mujoco.MjModel, data: mujoco.MjData, robot: RobotIds) -> Chain:
    joints = list(robot.arm_joints)
    owner = _owners(model, robot)
    mass, com, inertia = np.zeros(DOF), np.zeros((DOF, 3)), np.zeros((DOF, 3, 3))
    for i in range(DOF):
        bodies = np.flatnonzero(owner == i)
        mass[i] = model.body_mass[bodies].sum()
        com[i] = model.body_mass[bodies] @ data.xipos[bodies] / mass[i]
        for body in bodies:
            rot, arm = data.ximat[body].reshape(3, 3), data.xipos[body] - com[i]
            inertia[i] += rot @ np.diag(model.body_inertia[body]) @ rot.T
            inertia[i] += model.body_mass[body] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Chain(
        anchor=np.array(data.xanchor[joints]),
        axis=np.array(data.xaxis[joints]),
        tip_pos=np.array(data.site_xpos[robot.grip_site]),
        tip_rot=np.array(data.site_xmat[robot.grip_site]).reshape(3, 3),
        mass=mass,
        com=com,
        inertia=inertia,
        armature=np.array(model.dof_armature[list(robot.arm_dofs)]),
    )


def _owners(model: mujoco.MjModel, robot: RobotIds) -> FloatArray:
    """For each body the last arm joint that moves it, -1 for none."""
    joint_of = {int(model.jnt_bodyid[joint]): i for i, joint in enumerate(robot.arm_joints)}
    owner = np.full(model.nbody, -1)
    for body in range(1, model.nbody):
        owner[body] = joint_of.get(body, owner[model.body_parentid[body]])
    return owner
