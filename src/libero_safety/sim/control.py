"""From a 7-D action to joint torques: operational-space control as LIBERO's robot is driven.

The law is that of O. Khatib, "A unified approach for motion and force control of robot manipulators: the
operational space formulation", IEEE J. Robotics and Automation 3(1), 1987, decoupled:

    tau = Jp' (Jp M^-1 Jp')^-1 (kp ep - kd vp) + Jr' (Jr M^-1 Jr')^-1 (kp er - kd vr)
          + N' M (k0 (q0 - q) - d0 qd) + bias

with Jp and Jr the position and rotation Jacobians, N the dynamically consistent null-space projector of the
6-D task, q0 the joints at reset and `bias` the gravity, centrifugal and Coriolis torques. The goal is fixed
when a control step starts; torques are computed every physics step.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from libero_safety.errors import LiberoSafetyError
from libero_safety.numba_cache import njit
from libero_safety.sim.robot import RobotIds
from libero_safety.types import ACTION_SIZE, FloatArray

_DOF = 7
# Where things lie in the state vector.
_REST, _GOAL_POS, _GOAL_MAT, _GRIP, _GRIP_STEP, _STATE_SIZE = 0, 7, 10, 19, 20, 21
# Where things lie in the parameter vector.
_KP, _KD, _NULL_KP, _NULL_KD, _LIMITS, _PARAM_SIZE = 0, 1, 2, 3, 4, 4 + 2 * (_DOF + 2)
# Where things lie in the index vector.
_QPOS, _DOFS, _JOINTS, _ACT, _SITE, _MASS, _INDEX_SIZE = 0, 7, 14, 21, 30, 31, 31 + _DOF * _DOF


class ControlError(LiberoSafetyError):
    """An action or controller state that cannot be used."""


@dataclass(frozen=True)
class ControllerPreset:
    """Gains and scales of the operational-space controller.

    Attributes:
        name: what it is called in a run header.
        kp: stiffness of all six task axes (1/s^2; the inertia is taken out); damping is critical, 2 sqrt(kp).
        position_scale_m: metres of goal displacement per unit of action.
        rotation_scale_rad: radians of goal rotation per unit of action.
        null_kp: stiffness towards the joints at reset within the null space (1/s^2), critically damped.
        gripper_step: share of half the finger range by which the gripper target moves in one physics step.
    """

    name: str
    kp: float
    position_scale_m: float
    rotation_scale_rad: float
    null_kp: float = 10.0
    gripper_step: float = 0.01


CONTROLLERS = {
    "libero": ControllerPreset("libero", kp=150.0, position_scale_m=0.05, rotation_scale_rad=0.5),
    "reference": ControllerPreset("reference", kp=750.0, position_scale_m=2.0, rotation_scale_rad=2.0),
}
"""`libero`: robosuite 1.4 `OSC_POSE` as LIBERO uses it; action scales of policies trained on LIBERO transfer.
`reference`: the changed gains and scales of the LIBERO-Safety reference repository."""


class OperationalSpaceController:
    """Drives one robot. Per control step `set_goal` once, per physics step `mj_step1`, `apply`, `mj_step2`.

    It keeps views of the arrays of the `MjData` it was last given; giving it another one costs microseconds.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        ids: RobotIds,
        preset: ControllerPreset = CONTROLLERS["libero"],
    ) -> None:
        self.preset = preset
        self._index = _index_vector(model, ids)
        self._params = _parameter_vector(model, ids, preset)
        self._state = np.zeros(_STATE_SIZE)
        self._site = ids.grip_site
        self._scale = np.repeat([preset.position_scale_m, preset.rotation_scale_rad], 3)
        self._data: mujoco.MjData | None = None
        self._views: tuple[FloatArray, ...] = ()

    def reset(self, data: mujoco.MjData) -> None:
        """Take the present joints as rest posture and the present pose as goal; gripper target half open.

        Positions must be up to date in `data` (`mj_forward` or `mj_step1`).
        """
        self._state[_REST:_GOAL_POS] = data.qpos[self._index[_QPOS:_DOFS]]
        self._state[_GOAL_POS:_GOAL_MAT] = data.site_xpos[self._site]
        self._state[_GOAL_MAT:_GRIP] = data.site_xmat[self._site]
        self._state[_GRIP:] = 0.0

    def set_goal(self, data: mujoco.MjData, action: FloatArray) -> None:
        """Fix the goal of a control step: the present pose moved by the scaled action, in world axes.

        Call it at the start of the control step, after `mj_step1`. A rotation of exactly zero keeps the goal
        orientation of before, so the hand does not turn; the position goal always starts from where it is.

        Args:
            data: positions must be up to date.
            action: (7,) translation, rotation (axis-angle), gripper (negative opens, positive closes, 0
                stays); values beyond [-1, 1] are clipped.

        Raises:
            ControlError: the action has another shape or a component is not a number.
        """
        if action.shape != (ACTION_SIZE,):
            raise ControlError(f"an action has shape ({ACTION_SIZE},), not {action.shape}")
        if np.isnan(action).any():
            raise ControlError(f"action {action.tolist()} has a component that is not a number")
        delta = np.clip(action[:6], -1.0, 1.0) * self._scale
        state = self._state
        state[_GOAL_POS:_GOAL_MAT] = data.site_xpos[self._site] + delta[:3]
        if delta[3:].any():
            current = data.site_xmat[self._site].reshape(3, 3)
            state[_GOAL_MAT:_GRIP] = (_rotation_matrix(delta[3:]) @ current).ravel()
        # Positive actions close, the target counts opening.
        state[_GRIP_STEP] = -np.sign(action[6]) * self.preset.gripper_step

    def apply(self, data: mujoco.MjData) -> None:
        """Write joint torques and finger targets for the next physics step into `data.ctrl`.

        Call it between `mj_step1` and `mj_step2`; it advances the gripper target.
        """
        if data is not self._data:
            self._attach(data)
        _torques(self._state, self._params, self._index, *self._views)

    def state(self) -> FloatArray:
        """Return a copy of all that it remembers: (21,) rest joints, goal, gripper target and direction."""
        return self._state.copy()

    def set_state(self, array: FloatArray) -> None:
        """Restore what `state` returned; the torques that follow are bit-equal.

        Raises:
            ControlError: the array has another shape.
        """
        if array.shape != (_STATE_SIZE,):
            raise ControlError(f"a controller state has shape ({_STATE_SIZE},), not {array.shape}")
        self._state[:] = array

    def _attach(self, data: mujoco.MjData) -> None:
        """Keep views: MuJoCo never moves these arrays while an `MjData` lives; fetching one takes time."""
        self._data = data
        self._views = (
            data.qpos,
            data.qvel,
            data.qfrc_bias,
            data.M,
            data.xanchor,
            data.xaxis,
            data.site_xpos,
            data.site_xmat,
            data.ctrl,
        )


def _index_vector(model: mujoco.MjModel, ids: RobotIds) -> NDArray[np.int64]:
    """Addresses of everything the torque kernel reads and writes, `_INDEX_SIZE` integers."""
    index = np.full(_INDEX_SIZE, -1, dtype=np.int64)
    index[_QPOS:_DOFS] = ids.arm_qpos
    index[_DOFS:_JOINTS] = ids.arm_dofs
    index[_JOINTS:_ACT] = ids.arm_joints
    index[_ACT:_SITE] = (*ids.arm_actuators, *ids.finger_actuators)
    index[_SITE] = ids.grip_site
    for i, row in enumerate(ids.arm_dofs):
        start = int(model.M_rowadr[row])
        for address in range(start, start + int(model.M_rownnz[row])):
            column = int(model.M_colind[address])
            if column in ids.arm_dofs:
                j = ids.arm_dofs.index(column)
                index[_MASS + i * _DOF + j] = index[_MASS + j * _DOF + i] = address
    return index


def _parameter_vector(model: mujoco.MjModel, ids: RobotIds, preset: ControllerPreset) -> FloatArray:
    """Gains, then lower and upper control limits of nine actuators."""
    limits = model.actuator_ctrlrange[[*ids.arm_actuators, *ids.finger_actuators]]
    gains = (preset.kp, 2.0 * np.sqrt(preset.kp), preset.null_kp, 2.0 * np.sqrt(preset.null_kp))
    return np.concatenate([gains, limits[:, 0], limits[:, 1]])


def _rotation_matrix(rotation: FloatArray) -> FloatArray:
    """The rotation matrix of a non-zero rotation vector (rad)."""
    angle = float(np.linalg.norm(rotation))
    quat, mat = np.empty(4), np.empty(9)
    mujoco.mju_axisAngle2Quat(quat, rotation / angle, angle)
    mujoco.mju_quat2Mat(mat, quat)
    return mat.reshape(3, 3)


@njit
def _factor(a: FloatArray) -> None:
    """Replace the lower triangle of a symmetric positive semi-definite matrix by its Cholesky factor.

    A direction in which nothing can move (a singular arm) gets an infinite pivot: solving leaves it out.
    """
    n = a.shape[0]
    for j in range(n):
        scale = a[j, j]
        pivot = scale
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        pivot = np.sqrt(pivot) if pivot > 1e-14 * scale else np.inf
        a[j, j] = pivot
        for i in range(j + 1, n):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / pivot


@njit
def _forward(factor: FloatArray, b: FloatArray) -> None:
    """Solve L x = b in place."""
    for i in range(factor.shape[0]):
        total = b[i]
        for k in range(i):
            total -= factor[i, k] * b[k]
        b[i] = total / factor[i, i]


@njit
def _solve(factor: FloatArray, b: FloatArray) -> None:
    """Solve L L' x = b in place."""
    n = factor.shape[0]
    _forward(factor, b)
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * b[k]
        b[i] = total / factor[i, i]


@njit
def _jacobian(
    index: NDArray[np.int64], anchor: FloatArray, axis: FloatArray, point: FloatArray, jacobian: FloatArray
) -> None:
    """Rows of `jacobian`, (7, 6): what each hinge does to the point's velocity and the angular velocity."""
    for i in range(_DOF):
        joint = index[_JOINTS + i]
        ax, ay, az = axis[joint, 0], axis[joint, 1], axis[joint, 2]
        rx, ry, rz = point[0] - anchor[joint, 0], point[1] - anchor[joint, 1], point[2] - anchor[joint, 2]
        jacobian[i, 0] = ay * rz - az * ry
        jacobian[i, 1] = az * rx - ax * rz
        jacobian[i, 2] = ax * ry - ay * rx
        jacobian[i, 3], jacobian[i, 4], jacobian[i, 5] = ax, ay, az


@njit
def _pose_error(state: FloatArray, point: FloatArray, mat: FloatArray, error: FloatArray) -> None:
    """Position error (m), then half the sum of the cross products of present and goal axes."""
    for i in range(3):
        error[i] = state[_GOAL_POS + i] - point[i]
        error[3 + i] = 0.0
    for c in range(3):
        ax, ay, az = mat[c], mat[3 + c], mat[6 + c]
        bx, by, bz = state[_GOAL_MAT + c], state[_GOAL_MAT + 3 + c], state[_GOAL_MAT + 6 + c]
        error[3] += 0.5 * (ay * bz - az * by)
        error[4] += 0.5 * (az * bx - ax * bz)
        error[5] += 0.5 * (ax * by - ay * bx)


@njit
def _task_inertia(mass: FloatArray, jacobian: FloatArray, inverse: FloatArray) -> None:
    """Fill `inverse`, (6, 6), with J M^-1 J'; the lower triangle of `mass` becomes its Cholesky factor."""
    _factor(mass)
    half = np.empty((6, _DOF))
    for r in range(6):
        for i in range(_DOF):
            half[r, i] = jacobian[i, r]
        _forward(mass, half[r])
    for r in range(6):
        for c in range(r + 1):
            total = 0.0
            for i in range(_DOF):
                total += half[r, i] * half[c, i]
            inverse[r, c] = inverse[c, r] = total


@njit
def _torques(
    state: FloatArray,
    params: FloatArray,
    index: NDArray[np.int64],
    qpos: FloatArray,
    qvel: FloatArray,
    bias: FloatArray,
    packed_mass: FloatArray,
    anchor: FloatArray,
    axis: FloatArray,
    site_pos: FloatArray,
    site_mat: FloatArray,
    ctrl: FloatArray,
) -> None:
    """Write nine controls: seven torques and two finger targets."""
    jacobian, mass = np.empty((_DOF, 6)), np.empty((_DOF, _DOF))
    inverse, wrench = np.empty((6, 6)), np.empty(6)
    rest, pull = np.empty(_DOF), np.zeros(6)
    point = site_pos[index[_SITE]]
    _jacobian(index, anchor, axis, point, jacobian)
    _pose_error(state, point, site_mat[index[_SITE]], wrench)
    for r in range(6):
        wrench[r] *= params[_KP]
    for i in range(_DOF):
        velocity = qvel[index[_DOFS + i]]
        rest[i] = params[_NULL_KP] * (state[_REST + i] - qpos[index[_QPOS + i]]) - params[_NULL_KD] * velocity
        for r in range(6):
            wrench[r] -= params[_KD] * velocity * jacobian[i, r]
            pull[r] += jacobian[i, r] * rest[i]
        for j in range(_DOF):
            mass[i, j] = packed_mass[index[_MASS + i * _DOF + j]]
    torque = np.zeros(_DOF)
    for i in range(_DOF):
        for j in range(_DOF):
            torque[i] += mass[i, j] * rest[j]
    _task_inertia(mass, jacobian, inverse)
    position, rotation = inverse[:3, :3].copy(), inverse[3:, 3:].copy()
    for block, part in ((position, wrench[:3]), (rotation, wrench[3:]), (inverse, pull)):
        _factor(block)
        _solve(block, part)
    low, high = _LIMITS, _LIMITS + _DOF + 2
    for i in range(_DOF):
        total = torque[i] + bias[index[_DOFS + i]]
        for r in range(6):
            total += jacobian[i, r] * (wrench[r] - pull[r])
        ctrl[index[_ACT + i]] = min(max(total, params[low + i]), params[high + i])
    state[_GRIP] = min(max(state[_GRIP] + state[_GRIP_STEP], -1.0), 1.0)
    for k in range(2):
        lower, upper = params[low + _DOF + k], params[high + _DOF + k]
        opening = state[_GRIP] if k == 0 else -state[_GRIP]
        ctrl[index[_ACT + _DOF + k]] = 0.5 * (lower + upper) + 0.5 * (upper - lower) * opening
