"""A tube around a path of the tip, and the smoothest sequence of samples in it.

Positions and rotations are taken together in six coordinates, both measured in seconds at full speed: position over
the speed limit, and the rotation vector about the pose half-way over the turning limit.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.numba_cache import njit
from libero_safety.plan.smooth import PINNED, Smoother
from libero_safety.types import FloatArray

_ROWS = 400
_CONE = 0.5
"""The tube narrows towards its end: its half-width is at most this share of the way that is left."""
_LEAST_M = 1e-3
_AHEAD = 0.9
"""Cosine between the path and an axis from which it counts as going along that axis."""
ROUNDS = 6
"""How often the boxes are moved along the path."""
_STILL_M = 2e-4
_REACH = 0.15
"""Share of the path by which a sample may be moved along it at once."""
_OUTSIDE = 1e6


@dataclass(frozen=True, eq=False)
class TipPath:
    """Poses of the grip site that a tip passes, straight and turning evenly in between; world.

    Attributes:
        pos: (m, 3) positions.
        rot: (m, 3, 3) rotations.
        slack_m: (m,) half-width of the tube in which the motion may leave the path; 0 passes a row exactly.
            Narrow it where the way matters, as on the last centimetres before a grasp.
        slack_rad: (m,) the same for each component of the rotation vector.
    """

    pos: FloatArray
    rot: FloatArray
    slack_m: FloatArray
    slack_rad: FloatArray

    @classmethod
    def of(
        cls,
        pos: FloatArray,
        rot: FloatArray,
        slack_m: float | FloatArray = 0.03,
        slack_rad: float | FloatArray = 0.1,
    ) -> "TipPath":
        """Return the path through poses (m, 3) and (m, 3, 3), with a tube of one width or of one per row."""
        rows = len(pos)
        widths = (np.array(np.broadcast_to(slack, rows), np.float64) for slack in (slack_m, slack_rad))
        return cls(np.asarray(pos, np.float64), np.asarray(rot, np.float64), *widths)


class Corridor:
    """The tube of a path in the six coordinates; `narrow` changes it.

    Attributes:
        length_s: seconds that the path takes at full speed.
        scale: (6,) metres and radians per unit.
    """

    def __init__(self, path: TipPath, speed_m_s: float, turn_rad_s: float) -> None:
        """Measure a path."""
        self.scale = np.repeat([speed_m_s, turn_rad_s], 3)
        middle = Rotation.from_matrix(path.rot[[0, -1]]).mean()
        self._middle = middle
        coords = (
            np.hstack([path.pos, (Rotation.from_matrix(path.rot) * middle.inv()).as_rotvec()]) / self.scale
        )
        slack = np.repeat(np.stack([path.slack_m, path.slack_rad], axis=1), 3, axis=1) / self.scale
        moves = np.diff(coords, axis=0)
        ways = np.maximum(np.linalg.norm(moves[:, :3], axis=1), np.linalg.norm(moves[:, 3:], axis=1))
        along = np.concatenate([[0.0], np.cumsum(ways)])
        self.length_s = float(along[-1])
        self._grid = np.linspace(0.0, self.length_s, _ROWS)
        self._rows = _interpolate(self._grid, along, coords)
        to_end = self.length_s - self._grid[:, None]
        self._slack = np.minimum(_interpolate(self._grid, along, slack), _CONE * to_end)
        self._slack = np.maximum(self._slack, _LEAST_M / speed_m_s)
        way = np.gradient(self._rows, axis=0)
        self._ahead = np.abs(way) > _AHEAD * np.linalg.norm(way[:, :3], axis=1, keepdims=True)
        self._ahead[:, 3:] = False

    @property
    def still(self) -> bool:
        """Whether the path leads nowhere."""
        return bool(self.length_s * self.scale[0] < _STILL_M)

    def ends(self, dt_s: float, velocity: FloatArray) -> FloatArray:
        """The given samples (6, 6): the first three move on at a velocity (6,), the last three rest at the goal."""
        start = self._rows[0] + np.arange(PINNED)[:, None] * dt_s * velocity / self.scale
        return np.vstack([start, np.repeat(self._rows[-1:], PINNED, axis=0)])

    def even(self, samples: int) -> FloatArray:
        """Where along the path samples (n,) are that start and stop with least jerk."""
        share = np.clip((np.arange(samples) - 1.0) / (samples - 3.0), 0.0, 1.0)
        return self.length_s * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)

    def smoothest(
        self, along: FloatArray, ends: FloatArray, step: FloatArray, rounds: int = ROUNDS
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return the smoothest sequence (n, 6) in the tube, and where along the path its samples are (n,).

        Args:
            along: (n,) where along the path the samples are at first.
            ends: (6, 6), see `ends`.
            step: (6,) how far apart two samples that follow each other may be.
            rounds: one leaves the samples where they are.
        """
        smoother = Smoother(len(along))
        best: tuple[FloatArray, FloatArray] | None = None
        for turn in range(rounds):
            # An axis on which nothing moves needs no programme.
            out = np.repeat(ends[:1], len(along), axis=0)
            centre = _interpolate(along, self._grid, self._rows)
            slack = _interpolate(along, self._grid, self._slack)
            low, high = centre - slack, centre + slack
            for axis in np.flatnonzero(np.ptp(centre, axis=0) + np.ptp(ends, axis=0) > 0.0):
                found = smoother.smoothest(ends[:, axis], low[:, axis], high[:, axis], step[axis])
                if found is None:
                    # Samples that cut a corner may have become too far apart for their steps.
                    return best
                out[:, axis] = found
            best = out, along
            if turn == rounds - 1:
                break
            moved = np.empty_like(along)
            _project(out, along, self._grid, self._rows, self._slack, moved)
            change, along = float(np.abs(moved - along).max()), moved
            if change < 0.01 * self.length_s:
                break
        return best

    def narrow(self, places: FloatArray, reach: float, share: float) -> None:
        """Multiply the tube's width by `share` within `reach` of places along the path.

        Along an axis in which the path goes there, it keeps its width: that would only say when to be where.
        """
        near = np.abs(self._grid[:, None] - places).min(axis=1) <= reach
        self._slack[near[:, None] & ~self._ahead] *= share

    def poses(self, coords: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions (n, 3) and rotations (n, 3, 3) of coordinates (n, 6)."""
        turned = Rotation.from_rotvec(coords[:, 3:] * self.scale[3:]) * self._middle
        return coords[:, :3] * self.scale[:3], turned.as_matrix()


@njit
def _project(
    coords: FloatArray,
    along: FloatArray,
    grid: FloatArray,
    rows: FloatArray,
    slack: FloatArray,
    out: FloatArray,
) -> None:
    """Where along the path samples are, near to where they were, never going back.

    The nearest place in whose box the sample is: so it stays allowed, and no round makes the sequence less smooth.
    """
    last = grid.shape[0] - 1
    per_s = last / grid[last]
    reach = int(_REACH * last + 0.05 * per_s)
    lowest = 0
    for k in range(coords.shape[0]):
        middle = int(along[k] * per_s)
        best, found = np.inf, lowest
        for i in range(max(lowest, middle - reach), min(last, middle + reach) + 1):
            apart = 0.0
            for axis in range(6):
                off = abs(coords[k, axis] - rows[i, axis])
                apart += off * off
                if off > slack[i, axis] + 1e-6:
                    apart += _OUTSIDE
            if apart < best:
                best, found = apart, i
        lowest = found
        out[k] = grid[found]
    out[0], out[coords.shape[0] - 1] = 0.0, grid[last]


def _interpolate(at: FloatArray, along: FloatArray, rows: FloatArray) -> FloatArray:
    return np.stack([np.interp(at, along, rows[:, k]) for k in range(rows.shape[1])], axis=1)
