"""A hand as shapes of an asset: a smooth skin to be seen, and capsules, named by segment, to be felt."""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike

from libero_safety.assets.asset import Rgba, Shape, Vec3
from libero_safety.assets.hand import HandModel, PosedHand, Side, embedded_hand
from libero_safety.assets.hand_capsules import CapsuleRig, CapsuleSet, grown_with_skin
from libero_safety.assets.hand_fit import fit, lengthened
from libero_safety.assets.hand_skin import hand_surface
from libero_safety.assets.objects.shapes import FLESH, RUBBERY, rod
from libero_safety.types import FloatArray

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
def _rig(model: HandModel) -> CapsuleRig:
    if model is embedded_hand(model.side):
        return _stored(model.side)
    return grown_with_skin(model, lengthened(model, fit(model)))


def _stored(side: Side) -> CapsuleRig:
    """Return the capsules of the built-in hand, as `scripts/build_hand.py` fitted them."""
    file = resources.files("libero_safety.assets") / "data" / "hand_capsules.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
        names = tuple(str(name) for name in data["segments"])
        joints = data["joints"].astype(np.intp)
        arrays = [data[name].astype(np.float64) for name in ("ends", "radii", "end_dirs", "radius_dirs")]
    ends, radii, end_dirs, radius_dirs = arrays
    flip = np.array((1.0 if side == "right" else -1.0, 1.0, 1.0))
    return CapsuleRig(CapsuleSet(names, joints, ends * flip, radii), end_dirs * flip[:, None], radius_dirs)
