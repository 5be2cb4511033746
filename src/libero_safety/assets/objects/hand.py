"""A person's hands as things of a scene: open, flat, pointing, and with something on the palm.

A person at the far side of the table reaches towards the robot: fingers point to -x, the forearm comes from +x.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import linprog

from libero_safety.assets.asset import Asset, Shape
from libero_safety.assets.geometry import bounds, shifted
from libero_safety.assets.hand import (
    FINGERS,
    SHAPE_LIMIT,
    SHAPE_SIZE,
    HandModel,
    Side,
    clip_shape,
    embedded_hand,
)
from libero_safety.assets.hand_shape import Capsule, hand_shapes, posed_capsules
from libero_safety.assets.hand_skin import SKINS
from libero_safety.assets.objects.shapes import Recipe, solid
from libero_safety.assets.splits import Numbered
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key, Zone
from libero_safety.ubddl.spec import Split

PALM_REACH_M = 0.04
"""Radius around the middle of the palm in which what lies on an open hand rests."""
PALM_ROOM_M = 0.05
"""Half the height of the zone above a palm."""
_KNUCKLES = [1, 4, 7, 10]
_TILT_LIMIT = 0.35
"""Largest slope by which a hand is tilted so that its palm is level."""
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
    size, curl = ((0.0, 1.0), (0.0, 5.0)) if split == "train" else ((1.3, SHAPE_LIMIT), (8.0, 13.0))
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


UP: tuple[float, float, float] = (0.0, 0.0, 1.0)
TO_ROBOT: tuple[float, float, float] = (-1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Palm:
    """A hand held palm up so that what lies on it is level: its rotation (3, 3), and the point (3,) it rests on."""

    turn: FloatArray
    rest: FloatArray


def level_palm(model: HandModel, pose: FloatArray, shape: FloatArray, reach_m: float) -> Palm:
    """Return how a hand is held palm up for a thing with a flat round bottom of radius `reach_m`.

    Level is the plane that lies on the capsules under the thing, lowest over the middle of the palm: there it stands
    on three points around its middle.
    """
    turn = basis(model, TO_ROBOT, UP)
    hand = model.pose(pose, shape)
    middle = 0.3 * hand.joints[0] + 0.7 * hand.joints[_KNUCKLES].mean(axis=0)
    capsules = [c for c in posed_capsules(model, hand, shape) if c.segment != "forearm"]
    height = 0.0
    for _ in range(_ROUNDS):
        height, slope = _resting_plane(capsules, turn, turn @ middle, reach_m)
        normal = np.array([-slope[0], -slope[1], 1.0])
        turn = _turn_onto(normal / np.linalg.norm(normal), np.array(UP)) @ turn
    x, y, _ = turn @ middle
    return Palm(turn, np.array([x, y, height]))


def _resting_plane(
    capsules: Sequence[Capsule], turn: FloatArray, middle: FloatArray, reach_m: float
) -> tuple[float, FloatArray]:
    """Return the height over the middle, and the slope (2,), of the lowest plane above all capsules within reach."""
    spheres = [
        (*(turn @ (c.start + share * (c.end - c.start))), c.radius)
        for c in capsules
        for share in np.linspace(0.0, 1.0, 6)
    ]
    rows = np.array(spheres) - (*middle[:2], 0.0, 0.0)
    rows = rows[np.hypot(rows[:, 0], rows[:, 1]) <= reach_m]
    above = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    limits = [(None, None), (-_TILT_LIMIT, _TILT_LIMIT), (-_TILT_LIMIT, _TILT_LIMIT)]
    found = linprog([1.0, 0.0, 0.0], A_ub=-above, b_ub=-(rows[:, 2] + rows[:, 3]), bounds=limits)
    return float(found.x[0]), found.x[1:]


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
    return _hand(name, model, pose, who, palm.turn, (), (zone,))


def pointing(name: str, who: Person, *, side: Side) -> Asset:
    """Return a hand that points to -x, its palm half turned to the table."""
    model = embedded_hand(side)
    inwards = -1.0 if side == "right" else 1.0
    turn = basis(model, TO_ROBOT, (0.0, inwards * math.sqrt(0.5), -math.sqrt(0.5)))
    return _hand(name, model, gesture_pose(model, "pointing", 0.0), who, turn, (), ())


def carried(name: str, held: Asset, who: Person) -> Asset:
    """Return `held` on a flat left palm, as one rigid thing; it keeps its parts and zones."""
    model = embedded_hand("left")
    pose = gesture_pose(model, "flat", who.curl)
    low, high = bounds(held)
    palm = level_palm(model, pose, who.shape, max(high[0] - low[0], high[1] - low[1]) / 2)
    x, y, z = palm.rest.tolist()
    held = shifted(held, (x, y, z - low[2]))
    whole = _hand(name, model, pose, who, palm.turn, held.links[0].shapes, held.zones)
    return replace(whole, licence=held.licence, source=held.source)


def _hand(
    name: str,
    model: HandModel,
    pose: FloatArray,
    who: Person,
    turn: FloatArray,
    shapes: Sequence[Shape],
    zones: Sequence[Zone],
) -> Asset:
    hand = hand_shapes(model, pose, who.shape, who.skin, place=(turn, np.zeros(3)))
    return solid(name, (*shapes, *hand), None, zones)


def with_hand(name: str, held: Asset) -> Asset:
    """Return `held` and a hand as one rigid thing."""
    return carried(name, held, Person())


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
