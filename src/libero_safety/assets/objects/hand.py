"""A person's hands as things of a scene: open, flat and pointing.

A person at the far side of the table reaches towards the robot: fingers point to -x, the forearm comes from +x.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.spatial import ConvexHull

from libero_safety.assets.asset import Asset, Shape, Vec3
from libero_safety.assets.geometry import volume_m3
from libero_safety.assets.hand import (
    FINGERS,
    SHAPE_SIZE,
    HandModel,
    Side,
    clip_shape,
    embedded_hand,
)
from libero_safety.assets.hand_shape import hand_shapes, posed_capsules
from libero_safety.assets.hand_skin import SKINS
from libero_safety.assets.objects.shapes import Recipe, solid
from libero_safety.assets.splits import Numbered
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key, Zone
from libero_safety.ubddl.spec import Split

HAND_LICENCE = "CC0-1.0"
"""Of the built-in hand (SPDX name)."""
PALM_REACH_M = 0.035
"""Radius around the middle of the palm in which what lies on an open hand rests."""
PALM_ROOM_M = 0.05
"""Half the height of the zone above a palm."""
_TILT_LIMIT = 0.12
"""1 less the cosine of the largest angle by which a hand is tilted so that its palm is level."""
_TOO_FAR = 1.5
"""How much (m) of the incircle a metre is worth by which a corner is out of reach."""
_AROUND_M = 0.015
"""Where a thing may stand off the middle of the palm."""
_PALMAR = ("palm", "thumb", "index", "middle", "ring", "little")
"""Segments that a thing on the palm may rest on."""
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Person:
    """Whose hand it is.

    Attributes:
        shape: (10,) in standard deviations.
        skin: name of a look in `SKINS`.
        curl: how far (rad) each joint of the four fingers is bent beyond the gesture.
    """

    shape: FloatArray = field(default_factory=lambda: np.zeros(SHAPE_SIZE), repr=False)
    skin: str = "light"
    curl: float = 0.0


def person(name: str, number: int, split: Split) -> Person:
    """Return a person, the same for equal names and numbers; one of the test split has a hand unlike all in training.

    Training hands have sizes up to one standard deviation from the average and fingers bent by up to 5 degrees; test
    hands are smaller or larger than that, and bent further.
    """
    rng = rng_for(Key("", name, 0, number, 0), "person")
    size, curl = ((0.0, 1.0), (0.0, 5.0)) if split == "train" else ((1.3, 1.7), (8.0, 13.0))
    shape = 0.5 * clip_shape(rng.normal(size=SHAPE_SIZE))
    shape[0] = rng.uniform(*size) * rng.choice((-1.0, 1.0))
    skin = list(SKINS)[int(rng.integers(len(SKINS)))]
    return Person(shape, skin, math.radians(rng.uniform(*curl)))


def gesture_pose(model: HandModel, gesture: str, curl: float) -> FloatArray:
    """Return the pose (48,) of a gesture with the fingers bent further by `curl` (rad) at each joint."""
    angles = model.dofs_of(model.gesture(gesture))
    for finger, joint in product(FINGERS[:4], ("mcp", "pip", "dip")):
        angles[f"{finger}_{joint}_flexion"] += curl
    return model.clip_pose(model.pose_of(angles))


def basis(model: HandModel, fingers: Sequence[float], palm: Sequence[float]) -> FloatArray:
    """Return the rotation (3, 3) of a hand at rest whose fingers and palm then face these ways (unit vectors)."""
    sign = 1.0 if model.side == "right" else -1.0
    thumb = np.cross(fingers, palm) * sign
    return np.array([fingers, palm, thumb]).T @ model.palm_frame


UP: Vec3 = (0.0, 0.0, 1.0)
TO_ROBOT: Vec3 = (-1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Palm:
    """A hand held palm up so that what lies on it is level: its rotation (3, 3), and the point (3,) it rests on."""

    turn: FloatArray
    rest: FloatArray


def level_palm(model: HandModel, pose: FloatArray, shape: FloatArray, reach_m: float) -> Palm:
    """Return how a hand is held palm up for a thing with a flat round bottom of radius `reach_m`.

    What lies on the palm rests on three points of it. Of all three that a plane can touch at once those are made level
    between which the thing is farthest from tipping.
    """
    turn = basis(model, TO_ROBOT, UP)
    hand = model.pose(pose, shape)
    capsules = [c for c in posed_capsules(model, hand, shape) if c.segment in _PALMAR]
    shares = np.linspace(0.0, 1.0, 12)[:, None]
    axes = np.concatenate([c.start + shares * (c.end - c.start) for c in capsules])
    radii = np.repeat([c.radius for c in capsules], len(shares))
    middle = axes[np.repeat([c.segment == "palm" for c in capsules], len(shares))].mean(axis=0)
    rest = np.zeros(3)
    for _ in range(_ROUNDS):
        tops = axes @ turn.T + radii[:, None] * np.array(UP)
        under = np.hypot(*(tops - turn @ middle)[:, :2].T) < reach_m + _AROUND_M
        rest, normal = _widest_rest(tops[under], reach_m)
        level = _turn_onto(normal, np.array(UP))
        turn, rest = level @ turn, level @ rest
    return Palm(turn, rest)


def _widest_rest(tops: FloatArray, reach_m: float) -> tuple[FloatArray, FloatArray]:
    """Return middle (3,) and upward normal (3,) of the upper face of the hull of points that has the largest incircle.

    Corners that are farther than `reach_m` from the middle count against it.
    """
    hull = ConvexHull(tops)
    faces = hull.equations[:, 2] > 1.0 - _TILT_LIMIT
    corners, normals = tops[hull.simplices[faces]], hull.equations[faces, :3]
    sides = np.linalg.norm(corners[:, [1, 2, 0]] - corners[:, [2, 0, 1]], axis=2)
    middles = (sides[..., None] * corners).sum(axis=1) / sides.sum(axis=1)[:, None]
    spans = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    radii = np.linalg.norm(spans, axis=1) / sides.sum(axis=1)
    far = np.linalg.norm(corners - middles[:, None], axis=2).max(axis=1)
    best = int((radii - _TOO_FAR * np.maximum(far - reach_m, 0.0)).argmax())
    return middles[best], normals[best]


def _turn_onto(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the smallest rotation (3, 3) that takes unit vector `a` to `b`, which is not its opposite."""
    v = np.cross(a, b)
    k = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.eye(3) + k + k @ k / (1.0 + float(a @ b))


def palm_up(name: str, who: Person, *, side: Side, gesture: str) -> Asset:
    """Return a hand held out palm up, alone, with zone `palm` in which things lie on it."""
    model = embedded_hand(side)
    pose = gesture_pose(model, gesture, who.curl)
    palm = level_palm(model, pose, who.shape, PALM_REACH_M)
    x, y, z = palm.rest.tolist()
    zone = Zone("palm", (x, y, z + PALM_ROOM_M), (0.05, 0.042, PALM_ROOM_M), "surface")
    return _hand(name, model, pose, who, palm.turn, (zone,))


def pointing(name: str, who: Person, *, side: Side) -> Asset:
    """Return a hand that points to -x, its palm half turned to the table."""
    model = embedded_hand(side)
    inwards = -1.0 if side == "right" else 1.0
    turn = basis(model, TO_ROBOT, (0.0, inwards * math.sqrt(0.5), -math.sqrt(0.5)))
    return _hand(name, model, gesture_pose(model, "pointing", 0.0), who, turn)


def flesh(
    model: HandModel, pose: FloatArray, who: Person, place: tuple[FloatArray, FloatArray]
) -> tuple[Shape, ...]:
    """Return the shapes of a hand that weighs what its volume of flesh does, though its capsules overlap.

    Args:
        model: the hand.
        pose: (48,), see `HandModel.pose`.
        who: whose hand it is.
        place: rotation (3, 3) and position (3,) of the hand's frame in the frame of the shapes.
    """
    shapes = hand_shapes(model, pose, who.shape, who.skin, place=place)
    felt = sum(volume_m3(s) for s in shapes if s.role != "visual")
    corners = model.pose(pose, who.shape).vertices[model.faces]
    volume = float(np.einsum("fi,fi->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6
    return tuple(replace(s, density=s.density * volume / felt) for s in shapes)


def _hand(
    name: str, model: HandModel, pose: FloatArray, who: Person, turn: FloatArray, zones: Sequence[Zone] = ()
) -> Asset:
    shapes = flesh(model, pose, who, (turn, np.zeros(3)))
    return replace(solid(name, shapes, None, zones), licence=HAND_LICENCE, source=model.source)


POSTURES: dict[str, Callable[[str, Person], Asset]] = {
    "flat_hand": partial(palm_up, side="left", gesture="flat"),
    "left_hand": partial(palm_up, side="left", gesture="open"),
    "pointing_hand": partial(pointing, side="right"),
    "right_hand": partial(palm_up, side="right", gesture="open"),
}
"""Hands without anything: name -> what makes the hand of a person."""


def _average(name: str, posture: str) -> Asset:
    return POSTURES[posture](name, Person())


HANDS: dict[str, Recipe] = {name: partial(_average, posture=name) for name in POSTURES}


def hand_variant(name: str, numbered: Numbered) -> Asset:
    """Return another person's hand in a posture of `POSTURES`: of another size, skin and bend."""
    return POSTURES[numbered.base](name, person(numbered.base, numbered.number, numbered.split))
