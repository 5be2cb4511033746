"""A human left hand, life-size, made of capsules and boxes; alone, and holding things.

A person at the far side of the table reaches towards the robot: fingers point to -x, the forearm comes from +x.
Lengths: an average adult hand (length 0.19 m, breadth 0.085 m; NASA-STD-3000, anthropometry).
"""

import math
from dataclasses import replace
from itertools import pairwise

from libero_safety.assets.asset import Asset, Shape, Vec3
from libero_safety.assets.geometry import bounds, shifted
from libero_safety.assets.meshes import hand as look
from libero_safety.assets.objects.shapes import FLESH, RUBBERY, SKIN, Recipe, box, dressed, rod, solid
from libero_safety.types import Zone

HAND_PARTS = ("palm", "thumb", "index", "middle", "ring", "little", "forearm")
_FINGERS = (
    ("index", 0.072, 0.0088),
    ("middle", 0.08, 0.009),
    ("ring", 0.074, 0.0086),
    ("little", 0.058, 0.0078),
)
"""Name, length and radius (m)."""
_PALM_TOP = 0.028
_FLAT_UP_TO = 0.075
"""Things lower than this (m) lie on the open palm."""
_WIDEST_GRIP = 0.046
"""Half width (m) of the thickest thing that the fingers close around."""


def _bone(part: str, radius: float, start: Vec3, end: Vec3) -> Shape:
    return rod(part, "capsule", radius, start, end, SKIN, FLESH, RUBBERY)


def open_hand(curl_rad: float) -> list[Shape]:
    """Return a palm-up hand on z = 0, palm centred on the origin; each finger rises by `curl_rad` at its middle."""
    shapes = [
        box("palm", (0.046, 0.042, _PALM_TOP / 2), (0, 0, _PALM_TOP / 2), SKIN, FLESH, RUBBERY),
        _bone("forearm", 0.026, (0.066, 0, 0.026), (0.12, 0, 0.026)),
    ]
    surface = look.palm_surface(_PALM_TOP)
    for i, (part, length, radius) in enumerate(_FINGERS):
        y = -0.0315 + 0.021 * i
        near, far = length * 0.5, length * 0.5 - radius
        first, second = curl_rad * 0.4, curl_rad * 1.4
        z = _PALM_TOP - radius - 0.001
        a = (-0.044, y, z)
        b = (a[0] - near * math.cos(first), y, z + near * math.sin(first))
        c = (b[0] - far * math.cos(second), y, b[2] + far * math.sin(second))
        shapes += [_bone(part, radius, a, b), _bone(part, radius * 0.92, b, c)]
        back = (-math.sin(second), 0.0, -math.cos(second))
        surface += look.finger_surface(part, ((-0.03, y, z), a, b, c), radius, (0.0, 1.0, 0.0), back)
    z = _PALM_TOP - 0.012
    rise = 0.03 * math.sin(curl_rad)
    root, joint, tip = (0.018, -0.04, z), (-0.01, -0.062, z + rise), (-0.036, -0.068, z + 1.6 * rise)
    shapes += [_bone("thumb", 0.011, root, joint), _bone("thumb", 0.01, joint, tip)]
    heel = (0.026, -0.03, z)
    surface += look.finger_surface(
        "thumb", (heel, root, joint, tip), 0.0115, (0.0, 0.0, 1.0), (-0.2, -0.98, 0.0)
    )
    return [*dressed(shapes, surface)]


def left_hand(name: str) -> Asset:
    """Return an open left hand, palm up, with zone `palm`; parts as in `HAND_PARTS`."""
    zone = Zone("palm", (-0.01, 0, _PALM_TOP + 0.05), (0.05, 0.042, 0.05), "surface")
    return solid(name, open_hand(0.35), None, [zone])


def with_hand(name: str, held: Asset) -> Asset:
    """Return `held` and a hand as one rigid thing: on the open palm if low or wide, in the closed hand if not.

    The held thing keeps its parts and zones; the whole stands by itself.
    """
    low, high = bounds(held)
    half = max(high[0] - low[0], high[1] - low[1]) / 2
    if high[2] - low[2] < _FLAT_UP_TO or half > _WIDEST_GRIP:
        held = shifted(held, (0.0, 0.0, _PALM_TOP - low[2]))
        hand = open_hand(0.0)
    else:
        held = shifted(held, (0.0, 0.0, -low[2]))
        hand = _closed_hand(half, high[2] - low[2])
    shapes = (*held.links[0].shapes, *hand)
    return replace(solid(name, shapes, None, held.zones), licence=held.licence, source=held.source)


def _closed_hand(radius_m: float, height_m: float) -> list[Shape]:
    """Return a hand closed around an upright cylinder on the origin, the elbow end of the forearm on z = 0."""
    level = max(0.046, height_m * 0.5)
    side = radius_m + 0.013

    def around(part: str, thick: float, degrees: tuple[float, ...], z: float) -> list[Shape]:
        step = math.radians(abs(degrees[1] - degrees[0]))
        reach = (radius_m + thick) / math.cos(step / 2)
        turns = [math.radians(d) for d in degrees]
        points = [(reach * math.cos(t), reach * math.sin(t), z) for t in turns]
        return [_bone(part, thick, a, b) for a, b in pairwise(points)]

    elbow = (0.17, -side - 0.03, 0.026)
    shapes = [
        box("palm", (0.043, 0.013, 0.042), (0.012, -side, level), SKIN, FLESH, RUBBERY),
        _bone("forearm", 0.026, (0.07, -side - 0.01, level), elbow),
        *around("thumb", 0.0105, (-45, 5, 55), level + 0.02),
    ]
    surface = look.grip_surface(side, level, elbow)
    surface += _wrapped("thumb", radius_m, 0.0105, (-60, -30, 5, 30, 55), level + 0.02)
    for i, (part, _, radius) in enumerate(_FINGERS):
        z = level + 0.0315 - 0.021 * i
        shapes += around(part, radius, (-125, -180, -235), z)
        surface += _wrapped(part, radius_m, radius, (-105, -130, -158, -185, -212, -235), z)
    return [*dressed(shapes, surface)]


def _wrapped(part: str, radius_m: float, thick: float, degrees: tuple[float, ...], z: float) -> list[Shape]:
    """Return how a finger looks that is bent around an upright cylinder on the origin."""
    reach = (radius_m + thick) * 1.05
    turns = [math.radians(d) for d in degrees]
    path = [(reach * math.cos(t), reach * math.sin(t), z) for t in turns]
    back = (math.cos(turns[-1]), math.sin(turns[-1]), 0.0)
    return look.finger_surface(part, path, thick, (0.0, 0.0, 1.0), back)


HANDS: dict[str, Recipe] = {"left_hand": left_hand}
