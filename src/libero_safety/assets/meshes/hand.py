"""How a human hand looks."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from libero_safety.assets.asset import Rgba, Shape, Vec3
from libero_safety.assets.geometry import quat_to
from libero_safety.assets.meshes.kit import lathe, loft, placed, round_rect, rounded_box, tube
from libero_safety.assets.meshes.tools import bar
from libero_safety.assets.objects.shapes import SKIN, seen

SLEEVE: Rgba = (0.2, 0.3, 0.45, 1.0)
NAIL: Rgba = (0.95, 0.78, 0.72, 1.0)


def palm_surface(top_m: float) -> list[Shape]:
    """Return an open palm on z = 0, `top_m` thick, knuckles towards -x, and the forearm behind it in a sleeve.

    The wrist stays below `top_m` until 75 mm from the middle, so that a plate lies on the palm.
    """
    z = top_m / 2
    palm = bar(
        (
            (-0.053, z + 0.001, 0.034, 0.007),
            (-0.047, z, 0.0415, 0.0115),
            (-0.025, z - 0.0005, 0.0425, 0.0132),
            (0.005, z - 0.0003, 0.0415, 0.0136),
            (0.028, z, 0.037, 0.0138),
            (0.0445, z, 0.0305, 0.0135),
            (0.056, z + 0.0012, 0.024, 0.0115),
        ),
        0.95,
    )
    wrist = bar(
        (
            (0.052, z + 0.001, 0.0245, 0.0118),
            (0.074, z, 0.0262, 0.0132),
            (0.09, 0.0185, 0.0255, 0.0172),
            (0.108, 0.0245, 0.0258, 0.0225),
            (0.12, 0.026, 0.0255, 0.0235),
        ),
        0.98,
    )
    sleeve = bar(
        (
            (0.108, 0.026, 0.0262, 0.0245),
            (0.1105, 0.0262, 0.0278, 0.0262),
            (0.118, 0.0262, 0.0278, 0.0262),
            (0.1185, 0.0262, 0.0262, 0.0252),
            (0.135, 0.0262, 0.0258, 0.0255),
            (0.149, 0.0262, 0.013, 0.013),
        ),
        0.98,
    )
    pad = rounded_box((0.024, 0.0125, 0.0095), 0.008, 0.012)
    return [
        seen("palm", palm, SKIN, finish="matte"),
        seen("palm", pad, SKIN, (0.016, -0.0235, top_m - 0.0088), (0.97, 0.0, 0.0, 0.24), finish="matte"),
        seen("forearm", wrist, SKIN, finish="matte"),
        seen("forearm", sleeve, SLEEVE, finish="matte"),
    ]


def finger_surface(part: str, path: Sequence[Vec3], radius_m: float, up: Vec3, back: Vec3) -> list[Shape]:
    """Return a finger through its joints, thinner between them and at its round tip, with a nail.

    Args:
        part: its name.
        path: from inside the palm to the middle of its tip.
        radius_m: at its root.
        up: never along the finger.
        back: unit vector to the side of the nail.
    """
    points: list[Vec3] = [path[0]]
    sizes = [1.04]
    count = len(path) - 1
    for i, (a, b) in enumerate(pairwise(path)):
        slim = 1.0 - 0.16 * (i + 1) / count
        points += [_between(a, b, 0.5), b]
        sizes += [slim * 0.97, slim * 1.03 if i < count - 1 else slim * 0.98]
    flesh = tube(tuple(points), tuple(radius_m * k for k in sizes), sides=7, up=up)
    r = radius_m * 0.84
    nail = lathe(((0, -r * 0.3), (r * 0.62, -r * 0.3), (r * 0.55, r * 0.02), (0, r * 0.1)), 8)
    x, y, z = _between(path[-2], path[-1], 1.0)
    at = (x + r * 0.96 * back[0], y + r * 0.96 * back[1], z + r * 0.96 * back[2])
    return [seen(part, flesh, SKIN, finish="matte"), seen(part, nail, NAIL, at, quat_to(back))]


def grip_surface(side: float, level: float, elbow: Vec3) -> list[Shape]:
    """Return the palm and forearm of a hand closed around the z axis.

    Args:
        side: how far (m) the middle of the palm is towards -y.
        level: height (m) of its middle.
        elbow: where the forearm ends (m).
    """
    palm = placed(rounded_box((0.043, 0.0135, 0.041), 0.0115, 0.0115), (0.012, -side, level))
    heel = rounded_box((0.016, 0.012, 0.03), 0.011, 0.011)
    start = np.array((0.045, -side - 0.004, level))
    way = np.array(elbow) - start
    along = way / np.linalg.norm(way)
    across = np.cross(np.array((0.0, 0.0, 1.0)), along)
    across /= np.linalg.norm(across)
    lift = np.cross(along, across)

    def ring(share: float, wide: float, high: float) -> np.ndarray:
        outline = np.array(round_rect(wide, high, min(wide, high) * 0.98, 2))
        return start + way * share + outline[:, :1] * across + outline[:, 1:] * lift

    wrist = np.array(
        [
            ring(0.0, 0.013, 0.03),
            ring(0.22, 0.017, 0.026),
            ring(0.42, 0.0225, 0.025),
            ring(0.6, 0.0245, 0.025),
        ]
    )
    sleeve = np.array(
        [
            ring(0.5, 0.025, 0.025),
            ring(0.53, 0.027, 0.027),
            ring(0.6, 0.027, 0.027),
            ring(0.605, 0.0255, 0.0255),
            ring(1.0, 0.0258, 0.0258),
            ring(1.16, 0.02, 0.02),
        ]
    )
    return [
        seen("palm", palm, SKIN, finish="matte"),
        seen("palm", heel, SKIN, (0.05, -side - 0.001, level), finish="matte"),
        seen("forearm", loft(wrist), SKIN, finish="matte"),
        seen("forearm", loft(sleeve), SLEEVE, finish="matte"),
    ]


def _between(a: Vec3, b: Vec3, share: float) -> Vec3:
    return (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share)
