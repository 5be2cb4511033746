"""What the Panda collides with and what it looks like: convex primitives, and shells drawn by code.

All lengths in metres, in the frame of the link's body.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mujoco

Vec = tuple[float, ...]
Bodies = Mapping[str, mujoco.MjsBody]


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of the segment from `start` to `end`."""

    radius: float
    start: Vec
    end: Vec


@dataclass(frozen=True)
class Box:
    """An upright box."""

    half: Vec
    pos: Vec


COLLISION: Mapping[str, tuple[Capsule | Box, ...]] = {
    "link0": (
        Box((0.08, 0.075, 0.03), (-0.065, 0.0, 0.03)),
        Capsule(0.06, (-0.005, 0.0, 0.06), (-0.005, 0.0, 0.08)),
    ),
    "link1": (
        Capsule(0.055, (0.0, 0.0, -0.137), (0.0, 0.0, -0.05)),
        Capsule(0.055, (0.0, 0.0, 0.0), (0.0, -0.074, 0.0)),
    ),
    "link2": (
        Capsule(0.055, (0.0, -0.139, 0.0), (0.0, -0.05, 0.0)),
        Capsule(0.055, (0.0, 0.0, 0.0), (0.0, 0.0, 0.074)),
    ),
    "link3": (
        Capsule(0.055, (0.0, 0.0, -0.066), (0.0, 0.0, -0.05)),
        Capsule(0.055, (0.0825, 0.0, 0.0), (0.0825, 0.056, 0.0)),
    ),
    "link4": (
        Capsule(0.055, (-0.0825, 0.069, 0.0), (-0.0825, 0.05, 0.0)),
        Capsule(0.055, (0.0, 0.0, 0.0), (0.0, 0.0, 0.056)),
    ),
    "link5": (
        Capsule(0.055, (0.0, 0.0, -0.205), (0.0, 0.02, -0.17)),
        Capsule(0.035, (0.0, 0.08, -0.13), (0.0, 0.085, 0.0)),
    ),
    "link6": (
        Capsule(0.048, (0.0, 0.0, 0.0), (0.0, 0.0, 0.01)),
        Capsule(0.048, (0.088, 0.0, 0.0), (0.088, 0.034, 0.0)),
    ),
    "link7": (Capsule(0.043, (0.0, 0.0, 0.08), (0.0, 0.0, 0.065)),),
    "hand": (Box((0.1, 0.03, 0.035), (0.0, 0.0, 0.03)),),
    "left_finger": (Box((0.01, 0.008, 0.022), (0.0, 0.018, 0.022)),),
    "right_finger": (Box((0.01, 0.008, 0.022), (0.0, -0.018, 0.022)),),
}


def add_collision(spec: mujoco.MjSpec, bodies: Bodies) -> None:
    """Add the colliding geoms, `<link>_collision<i>` and `<finger>_pad`, and exclude neighbours by design."""
    for link, pieces in COLLISION.items():
        for number, piece in enumerate(pieces):
            geom = bodies[link].add_geom(name=f"{link}_collision{number}", group=3, rgba=(0.9, 0.4, 0.1, 0.5))
            if isinstance(piece, Capsule):
                geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
                geom.size = (piece.radius, 0.0, 0.0)
                geom.fromto = (*piece.start, *piece.end)
            else:
                geom.type = mujoco.mjtGeom.mjGEOM_BOX
                geom.size = piece.half
                geom.pos = piece.pos
    for side, sign in (("left", 1.0), ("right", -1.0)):
        bodies[f"{side}_finger"].add_geom(
            name=f"{side}_finger_pad",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(0.008, 0.004, 0.008),
            pos=(0.0, sign * 0.0035, 0.041),
            friction=(2.0, 0.05, 0.0001),
            solref=(0.01, 0.5),
            group=3,
            rgba=(0.9, 0.4, 0.1, 0.5),
        )
    # MuJoCo skips parent and child by itself, but not where the parent stands still.
    spec.add_exclude(bodyname1="link0", bodyname2="link1")


def add_shell(spec: mujoco.MjSpec, bodies: Bodies) -> None:
    """Draw the white-and-grey shells."""
    for link, pieces in COLLISION.items():
        grey = link in ("hand", "left_finger", "right_finger")
        for piece in pieces:
            geom = bodies[link].add_geom(group=1, contype=0, conaffinity=0, density=0.0)
            geom.rgba = (0.3, 0.3, 0.32, 1.0) if grey else (0.93, 0.93, 0.95, 1.0)
            if isinstance(piece, Capsule):
                geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
                geom.size = (piece.radius, 0.0, 0.0)
                geom.fromto = (*piece.start, *piece.end)
            else:
                geom.type = mujoco.mjtGeom.mjGEOM_BOX
                geom.size = piece.half
                geom.pos = piece.pos


LOOKS: Mapping[str, Callable[[mujoco.MjSpec, Bodies], None]] = {"built-in": add_shell}
"""Name of a look -> what draws it."""
