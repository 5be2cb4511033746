"""What the Panda collides with and what it looks like: convex primitives, and shells drawn by code.

All lengths in metres, in the frame of the link's body.
"""

import math
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
class Cylinder:
    """A solid cylinder about the segment from `start` to `end`."""

    radius: float
    start: Vec
    end: Vec


@dataclass(frozen=True)
class Box:
    """A box turned by `yaw` (rad) about z."""

    half: Vec
    pos: Vec
    yaw: float = 0.0


Piece = Capsule | Cylinder | Box

# Capsules reach into the neighbour across a joint, so that no groove is left where two links meet.
COLLISION: Mapping[str, tuple[Piece, ...]] = {
    "link0": (
        Box((0.112, 0.09, 0.012), (-0.04, 0.0, 0.012)),
        Box((0.072, 0.072, 0.03), (-0.068, 0.0, 0.03)),
        Capsule(0.045, (-0.075, 0.025, 0.05), (0.0, 0.025, 0.06)),
        Capsule(0.045, (-0.075, -0.025, 0.05), (0.0, -0.025, 0.06)),
        Capsule(0.064, (-0.003, 0.0, 0.06), (0.0, 0.0, 0.085)),
    ),
    "link1": (
        Capsule(0.055, (0.0, 0.0, -0.17), (0.0, 0.0, -0.13)),
        Capsule(0.055, (0.0, 0.0, -0.13), (0.0, -0.055, -0.02)),
        Capsule(0.055, (0.0, -0.074, 0.0), (0.0, -0.015, 0.0)),
    ),
    "link2": (
        Capsule(0.055, (0.0, -0.17, 0.0), (0.0, -0.13, 0.0)),
        Capsule(0.055, (0.0, -0.13, 0.0), (0.0, -0.02, 0.055)),
        Capsule(0.055, (0.0, 0.0, 0.074), (0.0, 0.0, 0.015)),
    ),
    "link3": (
        Capsule(0.055, (0.0, 0.0, -0.1), (0.0, 0.0, -0.065)),
        Capsule(0.05, (0.015, 0.015, -0.055), (0.065, 0.035, -0.015)),
        Capsule(0.055, (0.0825, 0.056, 0.0), (0.0825, 0.02, 0.0)),
    ),
    "link4": (
        Capsule(0.055, (-0.0825, 0.1, 0.0), (-0.0825, 0.065, 0.0)),
        Capsule(0.05, (-0.0675, 0.055, 0.015), (-0.0175, 0.015, 0.035)),
        Capsule(0.055, (0.0, 0.0, 0.056), (0.0, 0.0, 0.02)),
    ),
    "link5": (
        Capsule(0.054, (0.0, 0.0, -0.235), (0.0, 0.012, -0.208)),
        Capsule(0.042, (0.0, 0.02, -0.2), (0.0, 0.068, -0.165)),
        Capsule(0.033, (0.0, 0.068, -0.165), (0.0, 0.09, -0.04)),
        Capsule(0.05, (0.0, 0.081, -0.002), (0.0, 0.03, -0.002)),
    ),
    "link6": (
        Capsule(0.046, (0.0, 0.0, -0.02), (0.0, 0.0, 0.008)),
        Capsule(0.04, (0.03, 0.0, 0.022), (0.055, 0.04, 0.01)),
        Capsule(0.046, (0.087, -0.03, 0.0), (0.087, 0.036, 0.0)),
    ),
    "link7": (
        Cylinder(0.044, (0.0, 0.0, 0.053), (0.0, 0.0, 0.107)),
        Box((0.04, 0.03, 0.02), (0.043, 0.043, 0.08), 0.7853981633974483),
    ),
    "hand": (
        Box((0.05, 0.03, 0.006), (0.0, 0.0, 0.004)),
        Box((0.095, 0.022, 0.019), (0.0, 0.0, 0.025)),
        Capsule(0.0235, (-0.08, 0.0, 0.0425), (0.08, 0.0, 0.0425)),
        Box((0.02, 0.01, 0.014), (0.082, 0.0, -0.01)),
    ),
    "left_finger": (
        Box((0.0105, 0.0085, 0.019), (0.0, 0.0175, 0.019)),
        Box((0.0095, 0.008, 0.0095), (0.0, 0.009, 0.0443)),
    ),
    "right_finger": (
        Box((0.0105, 0.0085, 0.019), (0.0, -0.0175, 0.019)),
        Box((0.0095, 0.008, 0.0095), (0.0, -0.009, 0.0443)),
    ),
}
"""Link -> the convex pieces that it collides with, fitted to the surface of the real links."""


def add_piece(body: mujoco.MjsBody, piece: Piece) -> mujoco.MjsGeom:
    """Add a geom of that shape to `body`."""
    geom = body.add_geom()
    if isinstance(piece, Box):
        geom.type = mujoco.mjtGeom.mjGEOM_BOX
        geom.size = piece.half
        geom.pos = piece.pos
        geom.quat = (math.cos(piece.yaw / 2), 0.0, 0.0, math.sin(piece.yaw / 2))
        return geom
    geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
    if isinstance(piece, Cylinder):
        geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
    geom.size = (piece.radius, 0.0, 0.0)
    geom.fromto = (*piece.start, *piece.end)
    return geom


def add_collision(spec: mujoco.MjSpec, bodies: Bodies) -> None:
    """Add the colliding geoms, `<link>_collision<i>` and `<finger>_pad`, and exclude neighbours by design."""
    for link, pieces in COLLISION.items():
        for number, piece in enumerate(pieces):
            geom = add_piece(bodies[link], piece)
            geom.name = f"{link}_collision{number}"
            geom.group = 3
            geom.rgba = (0.9, 0.4, 0.1, 0.5)
            geom.condim = 4 if link.endswith("finger") else 3
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
            geom = add_piece(bodies[link], piece)
            geom.group = 1
            geom.contype = geom.conaffinity = 0
            geom.density = 0.0
            geom.rgba = (0.3, 0.3, 0.32, 1.0) if grey else (0.93, 0.93, 0.95, 1.0)


LOOKS: Mapping[str, Callable[[mujoco.MjSpec, Bodies], None]] = {"built-in": add_shell}
"""Name of a look -> what draws it."""
