"""How fast the tip of the arm may move, and by how much a motion is too fast."""

from dataclasses import dataclass, field

import numpy as np

from libero_safety.plan.response import law
from libero_safety.sim.control import CONTROLLERS, ControllerPreset
from libero_safety.types import CONTROL_HZ, FloatArray

DT_S = 1.0 / CONTROL_HZ
_HELD = 0.995
"""Share of the speed that a full action holds that is used: what comes before it leaves a ripple."""
_SLOWING, _SAME = 1.1, 1.001
"""What is faster than its limit at the start may be so by the first factor: it slows down as it can. Along one axis it
may not become faster at all; the second leaves the solver room."""
_UNDER_WAY = 0.97
"""Share of the speed for what begins at speed: it begins to turn as well, and needs the controller for that."""
_STRETCH = 1.0 / 4.0
"""Jerk falls with the third power of the duration, and faster where speed has its limit."""


@dataclass(frozen=True, eq=False)
class Haste:
    """By what factors a motion exceeds its limits.

    Attributes:
        speed: (6,) the speed of the tip, the same for all three axes of position, and of rotation.
        effort: what it asks of the controller, or the square root of its acceleration, whichever is more.
        jerk: the root mean square of the jerk.
    """

    speed: FloatArray
    effort: float
    jerk: float

    @property
    def feasible(self) -> bool:
        """Whether the arm can follow; how smooth it is left aside."""
        return self.effort <= 1.0 and float(self.speed.max()) <= 1.0

    def hurried(self, factor: float) -> "Haste":
        """Return that of the same motion in `1 / factor` of its time."""
        return Haste(factor * self.speed, factor * self.effort, factor**3 * self.jerk)

    @property
    def stretch(self) -> float:
        """By about what factor the duration should change."""
        smooth = self.jerk**_STRETCH
        return smooth if self.feasible else max(self.effort, float(self.speed.max()), smooth)


@dataclass(frozen=True)
class TipLimits:
    """How fast the tip may move.

    Attributes:
        speed_m_s: in any direction; along each axis at most 0.27, which a full action holds (`libero` controller).
        turn_rad_s: angular speed.
        acceleration_m_s2: magnitude; `turn_acceleration_rad_s2` likewise.
        jerk_m_s3: root mean square of a motion's jerk; a motion that starts at speed may need more. All motions having
            the same is the smoothest way of taking a given time for them.
        authority: share of the action range that feed-forward may use; feedback has the rest.
        controller: whose reach that is.
    """

    speed_m_s: float = 0.25
    turn_rad_s: float = 1.0
    acceleration_m_s2: float = 1.0
    turn_acceleration_rad_s2: float = 5.0
    jerk_m_s3: float = 1.4
    authority: float = 0.9
    controller: ControllerPreset = field(default=CONTROLLERS["libero"])

    def cruise(self, velocity: FloatArray) -> FloatArray:
        """Return the speed (6,) of each axis, m/s and rad/s, that the controller can hold and the limits allow.

        Args:
            velocity: (6,) of the tip at the start of the motion: what is faster then slows down as it can.
        """
        own = law(self.controller.kp)
        effort = (1.0 - own.keep) / own.kick
        held = self.authority * self._reach * (own.lag / effort + own.gain) / DT_S
        fast = np.minimum(_HELD * held, np.repeat([self.speed_m_s, self.turn_rad_s], 3))
        if not velocity.any():
            return fast
        # As fast as before is allowed, not faster: the controller could not hold it.
        return np.maximum(_UNDER_WAY * fast, _SAME * np.abs(velocity))

    def haste(self, coords: FloatArray, velocity: FloatArray) -> Haste:
        """Return by what factors samples (n, 6) at 20 Hz, in metres and radians, exceed the limits.

        Args:
            coords: the samples.
            velocity: (6,) of the tip before the first.
        """
        moves = np.diff(coords, axis=0)
        change = np.diff(moves, axis=0) / DT_S**2
        speed: list[float] = []
        hard: list[float] = []
        for part, fast, most in (
            (slice(0, 3), self.speed_m_s, self.acceleration_m_s2),
            (slice(3, 6), self.turn_rad_s, self.turn_acceleration_rad_s2),
        ):
            fast = max(fast, _SLOWING * float(np.linalg.norm(velocity[part])))
            speed.append(float(np.linalg.norm(moves[:, part], axis=1).max()) / DT_S / fast)
            hard.append(float(np.sqrt(np.linalg.norm(change[:, part], axis=1).max() / most)))
        asked, _ = law(self.controller.kp).feed_forward(moves, velocity)
        authority = 1.0 if velocity.any() else self.authority
        effort = max(*hard, float(np.abs(asked / (authority * self._reach)).max()))
        jerk = np.diff(coords[:, :3], 3, axis=0) / DT_S**3
        rough = float(np.sqrt((jerk**2).sum(axis=1).mean())) / self.jerk_m_s3
        return Haste(np.repeat(speed, 3), effort, rough)

    @property
    def _reach(self) -> FloatArray:
        preset = self.controller
        return np.repeat([preset.position_scale_m, preset.rotation_scale_rad], 3)
