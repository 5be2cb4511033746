"""From a motion of the tip to 7-D actions, by what the controller is known to do in a control step.

All is done along the directions in which position and rotation do not disturb each other (`response.Modes`), one
linear law each. Feed-forward is what takes the tip from one sample to the next by that law; feedback on position and
velocity is the law's linear-quadratic regulator. What is left over (the weight of what is held, air, friction) acts
like an acceleration; it is estimated from how the last step differed from the law, and taken off.

A rotation of exactly zero keeps the controller's old goal orientation instead of the present one. The tracker never
asks for exactly zero, so that the law holds at each step.
"""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan.response import LEAST_SHARE, Law, Modes, law
from libero_safety.plan.timing import TipMotion
from libero_safety.sim.control import CONTROLLERS, ControllerPreset
from libero_safety.sim.robot import RobotIds
from libero_safety.types import FloatArray

_LEARNING = 0.4
_MOST_OFF = np.repeat([1.5, 18.0], 3)
"""Largest disturbance that is taken off (m/s^2, rad/s^2): pressing on something must not wind it up. The air alone
brakes a turn of 1 rad/s by 8 rad/s^2 (see `sim.robot.set_physics`)."""
_SOFT = 0.1
"""A direction with a smaller share is hardly moved by any action, and disturbances along it are not taken off fully."""
_LEAST_TURN = 1e-9


class Tracker:
    """Leads the tip along one motion, one control step at a time.

    Attributes:
        motion: the motion.
        disturbance: (6,) acceleration that the law leaves out (m/s^2, rad/s^2), world.
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
        self._kp = preset.kp
        self._scale = np.repeat([preset.position_scale_m, preset.rotation_scale_rad], 3)
        self._rot = motion.rot
        turns = (Rotation.from_matrix(self._rot[1:]) * Rotation.from_matrix(self._rot[:-1]).inv()).as_rotvec()
        self._moves = np.vstack([np.hstack([np.diff(motion.pos, axis=0), turns]), np.zeros((1, 6))])
        between = 0.5 * (self._moves[:-2] + self._moves[1:-1]) / motion.dt_s
        self._velocity = np.vstack([motion.velocity, between, np.zeros((2, 6))])
        self._last: tuple[FloatArray, FloatArray, FloatArray, FloatArray, Modes, Law] | None = None

    def action(self, step: int, pos: FloatArray, rot: FloatArray, velocity: FloatArray) -> FloatArray:
        """Return translation and rotation (6,) of the action for a control step, each in [-1, 1].

        Args:
            step: which control step of the motion; from its end on the tip is held where it ends.
            pos: (3,) where the grip site is, world.
            rot: (3, 3) how it is turned.
            velocity: (6,) its linear and angular velocity.
        """
        self._learn(pos, rot, velocity)
        row = min(step, self.motion.steps)
        modes = Modes.of(self.motion.arm, self.motion.joints[row])
        response = law(self._kp, modes.share)
        turn = Rotation.from_matrix(self._rot[row] @ rot.T).as_rotvec()
        error = modes.into @ np.concatenate([self.motion.pos[row] - pos, turn])
        wanted = modes.into @ self._velocity[row]
        asked = response.lead(modes.into @ self._moves[row], wanted, modes.into @ self._velocity[row + 1])
        asked += response.stiff * error + response.damp * (wanted - modes.into @ velocity)
        asked -= modes.into @ self.disturbance / (self._kp * np.maximum(modes.share, _SOFT))
        displacement = modes.back @ asked
        action = np.clip(displacement / self._scale, -1.0, 1.0)
        self.saturated += bool(np.any(np.abs(displacement) > self._scale))
        if not action[3:].any():
            action[3] = _LEAST_TURN
        self._last = (pos.copy(), rot.copy(), velocity.copy(), action * self._scale, modes, response)
        return action

    def _learn(self, pos: FloatArray, rot: FloatArray, velocity: FloatArray) -> None:
        """Correct the disturbance by how the last step differed from the law with it."""
        if self._last is None:
            return
        last_pos, last_rot, before, displacement, modes, response = self._last
        moved = np.concatenate([pos - last_pos, Rotation.from_matrix(rot @ last_rot.T).as_rotvec()])
        # An acceleration acts like a goal displaced by it over the direction's stiffness.
        stiffness = self._kp * np.maximum(modes.share, LEAST_SHARE)
        acting = modes.into @ displacement + modes.into @ self.disturbance / stiffness
        off = response.excess(modes.into @ moved, modes.into @ before, modes.into @ velocity, acting)
        learnt = self.disturbance + _LEARNING * (modes.back @ (off * stiffness))
        self.disturbance = np.clip(learnt, -_MOST_OFF, _MOST_OFF)


def tip_state(
    model: mujoco.MjModel, data: mujoco.MjData, robot: RobotIds
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what `Tracker.action` needs: position (3,), rotation (3, 3), velocity (6,) of the grip site, world."""
    site, moving = robot.grip_site, np.empty(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, moving, 0)
    # MuJoCo puts the angular velocity first.
    velocity = np.concatenate([moving[3:], moving[:3]])
    return np.array(data.site_xpos[site]), np.array(data.site_xmat[site]).reshape(3, 3), velocity
