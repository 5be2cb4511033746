"""A hand as shapes of an asset: a smooth skin to be seen, and capsules, named by segment, to be felt."""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike

from libero_safety.assets.asset import Rgba, Shape, Vec3
from libero_safety.assets.hand import SHAPE_SIZE, HandModel, PosedHand, embedded_hand
from libero_safety.assets.hand_fit import CapsuleSet, distance_to_axis, fit
from libero_safety.assets.hand_skin import hand_surface
from libero_safety.assets.objects.shapes import FLESH, RUBBERY, rod
from libero_safety.types import FloatArray

_ANCHORS = 40
"""Vertices whose growth moves the end of a capsule."""
_IDENTITY = (np.eye(3), np.zeros(3))
_CLEAR: Rgba = (0.86, 0.66, 0.54, 1.0)


@dataclass(frozen=True, eq=False)
class Capsule:
    """A piece of a hand.

    Attributes:
        segment: one of `SEGMENTS`.
        joint: number of the joint that it is fixed to.
        start: one end of its axis (m), in the frame of that joint at rest; or in the hand's frame, if posed.
        end: the other.
    """

    segment: str
    joint: int
    start: FloatArray = field(repr=False)
    end: FloatArray = field(repr=False)
    radius: float


@dataclass(frozen=True, eq=False)
class _Rig:
    """Capsules of the average hand and how they grow per standard deviation of each component."""

    base: CapsuleSet
    end_dirs: FloatArray
    radius_dirs: FloatArray

    def shaped(self, shape: ArrayLike | None) -> CapsuleSet:
        if shape is None:
            return self.base
        beta = np.asarray(shape, dtype=np.float64)
        base = self.base
        return CapsuleSet(
            base.segments, base.joints, base.ends + self.end_dirs @ beta, base.radii + self.radius_dirs @ beta
        )


def capsule_set(model: HandModel, shape: ArrayLike | None = None) -> CapsuleSet:
    """Return the capsules of a hand at rest as arrays. Of a model that is not built in they are fitted at first use."""
    return _rig(model).shaped(shape)


def hand_capsules(model: HandModel, shape: ArrayLike | None = None) -> list[Capsule]:
    """Return the capsules of a hand, each in the frame of its joint at rest."""
    found = capsule_set(model, shape)
    rows = zip(found.segments, found.joints.tolist(), found.ends, found.radii.tolist(), strict=True)
    return [Capsule(segment, joint, ends[0], ends[1], radius) for segment, joint, ends, radius in rows]


def posed_capsules(model: HandModel, hand: PosedHand, shape: ArrayLike | None = None) -> list[Capsule]:
    """Return the capsules of a hand in a pose, in the frame of the hand."""
    return [
        Capsule(
            c.segment,
            c.joint,
            hand.joints[c.joint] + hand.rotations[c.joint] @ c.start,
            hand.joints[c.joint] + hand.rotations[c.joint] @ c.end,
            c.radius,
        )
        for c in hand_capsules(model, shape)
    ]


def hand_shapes(
    model: HandModel,
    pose: ArrayLike,
    shape: ArrayLike | None = None,
    skin: str = "light",
    *,
    place: tuple[FloatArray, FloatArray] = _IDENTITY,
) -> list[Shape]:
    """Return what is felt and what is seen of a hand in a pose.

    Args:
        model: the hand.
        pose: (48,), see `HandModel.pose`.
        shape: (10,), by default the average hand.
        skin: name of a look in `SKINS`.
        place: rotation (3, 3) and position (3,) of the hand's frame in the frame of the shapes.

    Raises:
        UnknownNameError: there is no such skin.
    """
    turn, at = place
    hand = model.pose(pose, shape)
    surface = hand_surface(model, hand, skin, place)
    felt = [
        rod(
            c.segment,
            "capsule",
            c.radius,
            _vec(turn @ c.start + at),
            _vec(turn @ c.end + at),
            _CLEAR,
            FLESH,
            RUBBERY,
            "collision",
        )
        for c in posed_capsules(model, hand, shape)
    ]
    return [*felt, *surface]


def _vec(point: FloatArray) -> Vec3:
    x, y, z = point.tolist()
    return (x, y, z)


@lru_cache(maxsize=8)
def _rig(model: HandModel) -> _Rig:
    base = _stored(model.side) if model is embedded_hand(model.side) else fit(model)
    vertices = model.vertices
    ends = base.ends + model.joints[base.joints][:, None]
    # The end of an axis moves like an affine combination of the skin around it.
    end_dirs = np.zeros((*base.ends.shape, SHAPE_SIZE))
    for i, j in np.ndindex(ends.shape[:2]):
        near = np.argsort(np.linalg.norm(vertices - ends[i, j], axis=1))[:_ANCHORS]
        rows = np.vstack([vertices[near].T, np.ones(_ANCHORS)])
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
            skin = distance[i] < np.partition(distance[i], _ANCHORS)[_ANCHORS]
        t = share[i, skin][:, None, None]
        whole = end_dirs[i] + model.joint_dirs[base.joints[i]]
        axis = whole[0] * (1 - t) + whole[1] * t
        growth = np.einsum("vx,vxk->k", away[i, skin], model.shape_dirs[skin] - axis)
        radius_dirs[i] = growth / distance[i, skin].sum() * base.radii[i]
    return _Rig(base, end_dirs, radius_dirs)


def _stored(side: str) -> CapsuleSet:
    """Return the capsules of the built-in hand, as `scripts/build_hand.py` fitted them."""
    file = resources.files("libero_safety.assets") / "data" / "hand_capsules.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
        names = tuple(str(name) for name in data["segments"])
        flip = np.array((1.0 if side == "right" else -1.0, 1.0, 1.0))
        ends, radii = data["ends"].astype(np.float64), data["radii"].astype(np.float64)
        return CapsuleSet(names, data["joints"].astype(np.intp), ends * flip, radii)
