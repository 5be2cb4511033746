"""What the tip does within a control step: the controller's law, discretised.

While the goal is fixed at the pose of the step's start plus a displacement u, the controller (`sim/control.py`) asks
each of the six task axes for the acceleration a = kp (x0 + u - x) - kd x', kd = 2 sqrt(kp). It makes up the forces
for position and for rotation separately, so a force for one also turns, or moves, the other: x'' = T a with
T = J M^-1 J' diag((Jp M^-1 Jp')^-1, (Jr M^-1 Jr')^-1). T is the product of two positive definite matrices: it has six
independent directions, `Modes`, in each of which x'' = s a with a share s between 0 and 2. Near the end of the arm's
reach one share is nearly 0 (a push and a turn that cancel) and one nearly 2. MuJoCo integrates the law with
semi-implicit Euler steps, so displacement and velocity after a step are linear in velocity before it and in u.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are

from libero_safety.plan.kinematics import Arm
from libero_safety.types import PHYSICS_DT_S, SUBSTEPS, FloatArray

LEAST_SHARE = 0.03
_SHARES = np.linspace(LEAST_SHARE, 2.0, 100)
_VELOCITY_WEIGHT, _EFFORT_WEIGHT = 0.002, 0.03
"""What a velocity error (m/s) and a goal displacement (m) cost, squared, against a position error (m)."""


class Law(NamedTuple):
    """One control step along axes: dx = `lag` v + `gain` u, v' = `keep` v + `kick` u; arrays of one shape.

    `stiff` and `damp` are the linear-quadratic regulator of that law: u = stiff dx + damp dv for errors dx, dv.
    """

    gain: FloatArray
    lag: FloatArray
    kick: FloatArray
    keep: FloatArray
    stiff: FloatArray
    damp: FloatArray

    def feed_forward(self, moves: FloatArray, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the displacements u that make the samples exact, and the velocities that go with them.

        Args:
            moves: (n, axes) displacement of the tip in each step.
            velocity: (axes,) before the first.

        Returns:
            u (n, axes), and velocities (n + 1, axes) before each step and after the last.
        """
        u, velocities = np.empty_like(moves), np.empty((len(moves) + 1, moves.shape[1]))
        velocities[0] = velocity
        for k, move in enumerate(moves):
            u[k] = (move - self.lag * velocities[k]) / self.gain
            velocities[k + 1] = self.keep * velocities[k] + self.kick * u[k]
        return u, velocities

    def lead(self, move: FloatArray, velocity: FloatArray, after: FloatArray) -> FloatArray:
        """Return the displacement u with which a step moves by `move` and ends at velocity `after`, nearly."""
        place, speed = move - self.lag * velocity, after - self.keep * velocity
        weight = _VELOCITY_WEIGHT
        return (self.gain * place + weight * self.kick * speed) / (self.gain**2 + weight * self.kick**2)

    def excess(self, move: FloatArray, before: FloatArray, after: FloatArray, u: FloatArray) -> FloatArray:
        """Return the displacement that, added to `u`, explains best what a step did."""
        place = move - self.lag * before - self.gain * u
        speed = after - self.keep * before - self.kick * u
        return (self.gain * place + self.kick * speed) / (self.gain**2 + self.kick**2)


class Modes(NamedTuple):
    """The six directions in which position and rotation do not disturb each other.

    `share` (6,) ascending; `into` (6, 6) takes task coordinates (m, rad) to the directions', `back` returns.
    """

    share: FloatArray
    into: FloatArray
    back: FloatArray

    @classmethod
    def of(cls, arm: Arm, joints: FloatArray) -> "Modes":
        """Return those of a configuration (7,)."""
        jacobian = arm.jacobian(joints)
        yields = jacobian @ np.linalg.solve(arm.mass_matrix(joints), jacobian.T)
        inertia = np.zeros((6, 6))
        inertia[:3, :3], inertia[3:, 3:] = np.linalg.inv(yields[:3, :3]), np.linalg.inv(yields[3:, 3:])
        half = np.linalg.cholesky(inertia)
        share, turn = np.linalg.eigh(half.T @ yields @ half)
        return cls(
            np.asarray(share, np.float64),
            np.asarray(turn.T @ half.T, np.float64),
            np.asarray(np.linalg.solve(half.T, turn), np.float64),
        )


def law(kp: float, share: FloatArray | None = None) -> Law:
    """Return the law of a step for stiffness `kp` (1/s^2) along six axes with these shares, 1 each by default."""
    shares = np.ones(6) if share is None else share
    return Law(*(np.asarray(np.interp(shares, _SHARES, column), np.float64) for column in _table(kp)))


@cache
def _table(kp: float) -> Law:
    rows = [_one(kp, float(share)) for share in _SHARES]
    return Law(*(np.array(column) for column in zip(*rows, strict=True)))


def _one(kp: float, share: float) -> tuple[float, ...]:
    h, stiffness, damping = PHYSICS_DT_S, share * kp, share * 2.0 * np.sqrt(kp)
    one = np.array([[1.0 - h * h * stiffness, h * (1.0 - h * damping)], [-h * stiffness, 1.0 - h * damping]])
    step = np.linalg.matrix_power(one, SUBSTEPS)
    gain, lag, kick, keep = 1.0 - step[0, 0], step[0, 1], -step[1, 0], step[1, 1]
    free, push = np.array([[1.0, lag], [0.0, keep]]), np.array([[gain], [kick]])
    cost = solve_discrete_are(free, push, np.diag([1.0, _VELOCITY_WEIGHT]), np.array([[_EFFORT_WEIGHT]]))
    stiff, damp = (push.T @ cost @ free / (push.T @ cost @ push + _EFFORT_WEIGHT)).ravel()
    return gain, lag, kick, keep, float(stiff), float(damp)
