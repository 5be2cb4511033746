"""From a motion of the tip to 7-D actions, by what the controller is known to do in a control step.

Feed-forward inverts the law of `StepResponse`, so that a tip that obeys it passes every sample exactly. Feedback on
position and velocity is the linear-quadratic regulator of the same law. What is left over (the weight of what is
held, friction, the pull of rotation on position) looks like a displacement added to the action; it is estimated from
how the last step differed from the law, and taken off.

A rotation of exactly zero keeps the controller's old goal orientation instead of the present one. Feedback never is
exactly zero, so that the law holds at each step; where it were, the difference is below what is measured.
"""

import mujoco
import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.spatial.transform import Rotation

from libero_safety.plan.response import StepResponse
from libero_safety.plan.timing import TipMotion
from libero_safety.sim.control import CONTROLLERS, ControllerPreset
from libero_safety.sim.robot import RobotIds
from libero_safety.types import FloatArray

_VELOCITY_WEIGHT, _EFFORT_WEIGHT = 0.002, 0.03
_LEARNING = 0.5
_MOST_OFF = np.repeat([0.01, 0.12], 3)
"""Largest disturbance that is taken off (m, rad of goal displacement): pressing on something must not wind it up."""
_LEAST_TURN = 1e-9


class Tracker:
    """Leads the tip along one motion, one control step at a time.

    Attributes:
        motion: the motion.
        disturbance: (6,) what the law leaves out, as goal displacement (m, rad).
        saturated: control steps in which an action would have had to be larger than 1.
    """

    def __init__(
        self,
        motion: TipMotion,
        preset: ControllerPreset = CONTROLLERS["libero"],
        disturbance: FloatArray | None = None,
    ) -> None:
        """Prepare for a motion; `disturbance` is what the tracker of the motion before has learnt."""
        self.motion, self.saturated = motion, 0
        self.disturbance = np.zeros(6) if disturbance is None else np.array(disturbance)
        self._response = StepResponse(preset.kp)
        self._scale = np.repeat([preset.position_scale_m, preset.rotation_scale_rad], 3)
        self._gain = _regulator(self._response)
        self._rot = motion.rot
        turns = (Rotation.from_matrix(self._rot[1:]) * Rotation.from_matrix(self._rot[:-1]).inv()).as_rotvec()
        moves = np.hstack([np.diff(motion.pos, axis=0), turns])
        self._ahead, self._velocity = self._response.feed_forward(moves, motion.velocity)
        self._last: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None = None

    def action(self, step: int, pos: FloatArray, rot: FloatArray, velocity: FloatArray) -> FloatArray:
        """Return translation and rotation (6,) of the action for a control step, each in [-1, 1].

        Args:
            step: which control step of the motion; from its end on the tip is held where it ends.
            pos: (3,) where the grip site is, world.
            rot: (3, 3) how it is turned.
            velocity: (6,) its linear and angular velocity.
        """
        self._learn(pos, rot, velocity)
        row, going = min(step, self.motion.steps), step < self.motion.steps
        turn = Rotation.from_matrix(self._rot[row] @ rot.T).as_rotvec()
        error = np.concatenate([self.motion.pos[row] - pos, turn])
        slip = (self._velocity[row] if going else np.zeros(6)) - velocity
        asked = self._gain[0] * error + self._gain[1] * slip - self.disturbance
        if going:
            asked += self._ahead[row]
        action = np.clip(asked / self._scale, -1.0, 1.0)
        self.saturated += bool(np.any(np.abs(asked) > self._scale))
        if not action[3:].any():
            action[3] = _LEAST_TURN
        self._last = (pos.copy(), rot.copy(), velocity.copy(), action * self._scale)
        return action

    def _learn(self, pos: FloatArray, rot: FloatArray, velocity: FloatArray) -> None:
        """Correct the disturbance by how the last step differed from the law with it."""
        if self._last is None:
            return
        law = self._response
        last_pos, last_rot, last_velocity, asked = self._last
        moved = np.concatenate([pos - last_pos, Rotation.from_matrix(rot @ last_rot.T).as_rotvec()])
        asked = asked + self.disturbance
        off_place = moved - law.lag * last_velocity - law.gain * asked
        off_velocity = velocity - law.keep * last_velocity - law.kick * asked
        off = (law.gain * off_place + law.kick * off_velocity) / (law.gain**2 + law.kick**2)
        self.disturbance = np.clip(self.disturbance + _LEARNING * off, -_MOST_OFF, _MOST_OFF)


def tip_state(
    model: mujoco.MjModel, data: mujoco.MjData, robot: RobotIds
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what `Tracker.action` needs: position (3,), rotation (3, 3), velocity (6,) of the grip site, world."""
    site, moving = robot.grip_site, np.empty(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, moving, 0)
    # MuJoCo puts the angular velocity first.
    velocity = np.concatenate([moving[3:], moving[:3]])
    return np.array(data.site_xpos[site]), np.array(data.site_xmat[site]).reshape(3, 3), velocity


def _regulator(law: StepResponse) -> FloatArray:
    """Gains (2,) on position and velocity error."""
    step, push = np.array([[1.0, law.lag], [0.0, law.keep]]), np.array([[law.gain], [law.kick]])
    cost = solve_discrete_are(step, push, np.diag([1.0, _VELOCITY_WEIGHT]), np.array([[_EFFORT_WEIGHT]]))
    return np.asarray((push.T @ cost @ step / (push.T @ cost @ push + _EFFORT_WEIGHT)).ravel())
