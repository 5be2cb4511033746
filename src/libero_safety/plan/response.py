"""What the tip does within a control step: the controller's law, discretised.

While the goal is fixed at the pose of the step's start plus a displacement u, each of the six task axes obeys
x'' = kp (x0 + u - x) - kd x' with kd = 2 sqrt(kp) (`sim/control.py`); MuJoCo integrates that with semi-implicit
Euler steps. Displacement and velocity after the step are linear in velocity before it and in u.
"""

import numpy as np

from libero_safety.types import PHYSICS_DT_S, SUBSTEPS, FloatArray


class StepResponse:
    """The law of one control step: dx = `lag` v + `gain` u, v' = `keep` v + `kick` u."""

    def __init__(self, kp: float) -> None:
        """Derive it for a stiffness (1/s^2), critically damped."""
        h, kd = PHYSICS_DT_S, 2.0 * np.sqrt(kp)
        one = np.array([[1.0 - h * h * kp, h * (1.0 - h * kd)], [-h * kp, 1.0 - h * kd]])
        step = np.linalg.matrix_power(one, SUBSTEPS)
        self.gain, self.lag = float(1.0 - step[0, 0]), float(step[0, 1])
        self.kick, self.keep = float(-step[1, 0]), float(step[1, 1])

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
