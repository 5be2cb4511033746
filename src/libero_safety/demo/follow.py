"""A motion in a frame that moves by itself: what has to be added to a motion that was planned as if it stood still."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from libero_safety.demo.stages import Stage, entity_of
from libero_safety.sim.scene import Hazard
from libero_safety.types import FloatArray


@dataclass(frozen=True, eq=False)
class Follow:
    """The motion of a moving frame.

    Attributes:
        hazard: what moves; None when nothing is followed.
        ref_s: the time at which the frame is as the motion was planned for.
        first: the first keypose that is relative to it; -1 when the motion begins riding on it.
        leaves: whether the motion ends off it.
    """

    hazard: Hazard | None = None
    ref_s: float = 0.0
    first: int = 0
    leaves: bool = False

    def carried(
        self, pos: FloatArray, rot: FloatArray, times_s: FloatArray, shares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return poses with their share of how the frame has moved and turned since the time that was planned for.

        Where the motion is on the frame it is right above or below one place of it, its end or its beginning; on its
        way there it would swing widely if it turned about the frame's origin, so all of it is shifted as that place is.

        Args:
            pos: (n, 3) of the motion, world.
            rot: (n, 3, 3).
            times_s: (n,) when they are passed.
            shares: (n,) see `shares`.
        """
        if self.hazard is None:
            return pos, rot
        law, place = self.hazard.law, pos[0 if self.first < 0 else -1]
        ref, passed = law.at(self.ref_s), [law.at(float(time_s)) for time_s in times_s]
        turns = np.array([[0.0, 0.0, at.turn - ref.turn] for at in passed])
        moved = Rotation.from_rotvec(turns).apply(place - ref.pos) + [at.pos for at in passed] - place
        turned = Rotation.from_rotvec(shares[:, None] * turns).as_matrix() @ rot
        return pos + shares[:, None] * moved, turned

    def shares(self, passes: NDArray[np.int64]) -> FloatArray:
        """Return the share (n,) of the frame's motion that each row takes: none where it is not on the frame.

        Args:
            passes: (n,) the keypose to which each row leads.
        """
        rows = len(passes)
        if self.first < 0:
            return 1.0 - _eased(np.arange(rows) / max(rows - 1, 1)) if self.leaves else np.ones(rows)
        joined = int(np.count_nonzero(passes <= self.first))
        return _eased(np.arange(rows) / max(joined - 1, 1))


def follow_of(
    hazards: Sequence[Hazard], stage: Stage, riding: str | None, now_s: float, arrive_s: float
) -> Follow:
    """Return what a stage must follow: the moving thing that its end is relative to, or that it begins on.

    Args:
        hazards: everything that moves by itself.
        stage: the motion.
        riding: the entity whose frame the last stage ended in.
        now_s: when the stage begins.
        arrive_s: when it may end.
    """
    moving = {hazard.entity: hazard for hazard in hazards if hazard.law.peak_speed_m_s > 0.0}
    owners = [entity_of(keypose.frame) for keypose in stage.keyposes]
    if riding in moving:
        return Follow(moving[riding], now_s, -1, owners[-1] != riding)
    if owners[-1] in moving:
        return Follow(moving[owners[-1]], arrive_s, owners.index(owners[-1]))
    return Follow()


def _eased(share: FloatArray) -> FloatArray:
    """Return 0 to 1, without a jerk at either end, for shares of the way."""
    x = np.clip(share, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
