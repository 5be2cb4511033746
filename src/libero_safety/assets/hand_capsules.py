"""Capsules of a hand: where they are in a pose, how they grow with the shape, and how well they follow the skin."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from libero_safety.assets.hand import SHAPE_SIZE, HandModel, PosedHand
from libero_safety.types import FloatArray

_ANCHORS = 40
"""Vertices whose growth moves the end of a capsule."""


@dataclass(frozen=True, eq=False)
class CapsuleSet:
    """Capsules of a hand at rest.

    Attributes:
        segments: the segment that each belongs to, of `SEGMENTS`.
        joints: (n,) joint that each is fixed to.
        ends: (n, 2, 3) ends of the axes, relative to the joint at rest (m).
        radii: (n,) metres.
    """

    segments: tuple[str, ...]
    joints: NDArray[np.intp] = field(repr=False)
    ends: FloatArray = field(repr=False)
    radii: FloatArray = field(repr=False)


def distance_to_axis(
    points: FloatArray, start: FloatArray, end: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for points (..., 3): distance to the segment, its direction away from the axis, and where (0 to 1)."""
    way = end - start
    rel = points - start
    length = np.maximum((way * way).sum(axis=-1), 1e-12)
    share = np.clip((rel * way).sum(axis=-1) / length, 0.0, 1.0)
    off = rel - share[..., None] * way
    distance = np.sqrt((off * off).sum(axis=-1))
    return distance, off / np.maximum(distance, 1e-9)[..., None], share


@dataclass(frozen=True, eq=False)
class CapsuleRig:
    """Capsules of the average hand, and how they grow.

    Attributes:
        end_dirs: (n, 2, 3, 10) metres per standard deviation.
        radius_dirs: (n, 10) metres per standard deviation.
    """

    base: CapsuleSet
    end_dirs: FloatArray = field(repr=False)
    radius_dirs: FloatArray = field(repr=False)

    def shaped(self, shape: ArrayLike | None) -> CapsuleSet:
        """Return the capsules of a hand with a shape (10,)."""
        if shape is None:
            return self.base
        beta, base = np.asarray(shape, dtype=np.float64), self.base
        ends, radii = base.ends + self.end_dirs @ beta, base.radii + self.radius_dirs @ beta
        return CapsuleSet(base.segments, base.joints, ends, radii)


def in_joint_frames(hand: PosedHand, points: FloatArray, joints: NDArray[np.intp]) -> FloatArray:
    """Return points (p, 3) as each of the joints (n,) sees them in its frame at rest, (n, p, 3)."""
    rel = points[None] - hand.joints[joints][:, None]
    return np.einsum("npa,nab->npb", rel, hand.rotations[joints])


def surface_error(
    hand: PosedHand, capsules: CapsuleSet, points: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return for points (p, 3) how far (m) each is outside the nearest capsule of a posed hand, and which that is."""
    seen = in_joint_frames(hand, points, capsules.joints)
    distance, _, _ = distance_to_axis(seen, capsules.ends[:, None, 0], capsules.ends[:, None, 1])
    outside = distance - capsules.radii[:, None]
    nearest = outside.argmin(axis=0)
    return outside.min(axis=0), nearest


def grown_with_skin(model: HandModel, base: CapsuleSet) -> CapsuleRig:
    """Return how capsules grow that follow the skin around them."""
    vertices = model.vertices
    ends = base.ends + model.joints[base.joints][:, None]
    # The end of an axis moves like an affine combination of the skin around it.
    end_dirs = np.zeros((*base.ends.shape, SHAPE_SIZE))
    for i, j in np.ndindex(ends.shape[:2]):
        near = np.argsort(np.linalg.norm(vertices - ends[i, j], axis=1))[:_ANCHORS]
        rows = np.vstack([vertices[near].T, np.ones(len(near))])
        shares = np.linalg.lstsq(rows, np.append(ends[i, j], 1.0))[0]
        moved = np.einsum("a,axk->xk", shares, model.shape_dirs[near])
        end_dirs[i, j] = moved - model.joint_dirs[base.joints[i]]
    # Its radius grows like the mean distance of the skin that it covers.
    distance, away, share = distance_to_axis(vertices[None], ends[:, None, 0], ends[:, None, 1])
    nearest = (distance - base.radii[:, None]).argmin(axis=0)
    radius_dirs = np.zeros((len(base.radii), SHAPE_SIZE))
    for i in range(len(base.radii)):
        skin = nearest == i
        if not skin.any():
            skin = distance[i] <= np.partition(distance[i], _ANCHORS)[_ANCHORS]
        t = share[i, skin][:, None, None]
        whole = end_dirs[i] + model.joint_dirs[base.joints[i]]
        growth = model.shape_dirs[skin] - (whole[0] * (1 - t) + whole[1] * t)
        radius_dirs[i] = (
            np.einsum("vx,vxk->k", away[i, skin], growth) / distance[i, skin].sum() * base.radii[i]
        )
    return CapsuleRig(base, end_dirs, radius_dirs)
