"""What the Panda collides with and what it looks like: convex primitives, and shells drawn by code.

All lengths in metres, in the frame of the link's body.
"""

import math
from collections.abc import Callable, Mapping

import mujoco

from libero_safety.sim.shell import Box, Capsule, Cylinder, Piece, Shell, shell_mesh

Vec = tuple[float, ...]
Bodies = Mapping[str, mujoco.MjsBody]


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


def _add_piece(body: mujoco.MjsBody, piece: Piece) -> mujoco.MjsGeom:
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
            geom = _add_piece(bodies[link], piece)
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


_WHITE, _GREY, _BLACK, _SILVER = "white", "grey", "black", "silver"
_COLOURS: Mapping[str, Vec] = {
    _WHITE: (0.93, 0.93, 0.94, 1.0),
    _GREY: (0.42, 0.43, 0.45, 1.0),
    _BLACK: (0.09, 0.09, 0.1, 1.0),
    _SILVER: (0.72, 0.73, 0.75, 1.0),
}

# Link, colour, and the shell or single primitive to draw. At a joint both shells are domes of equal radius that reach
# into each other, which leaves the fine seam of the real arm at every joint angle.
_LOOK: tuple[tuple[str, str, Shell | Piece], ...] = (
    (
        "link0",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (0.0, 0.0, 0.06), (0.0, 0.0, 0.13)),
                Cylinder(0.068, (0.0, 0.0, 0.004), (0.0, 0.0, 0.075)),
                Box((0.062, 0.058, 0.034), (-0.078, 0.0, 0.038)),
            ),
            blend_m=0.045,
            round_m=0.02,
        ),
    ),
    ("link0", _SILVER, Box((0.105, 0.08, 0.004), (-0.045, 0.0, 0.004))),
    (
        "link1",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (0.0, 0.0, -0.18), (0.0, 0.0, -0.125)),
                Capsule(0.049, (0.0, 0.0, -0.125), (0.0, -0.05, -0.03)),
                Capsule(0.054, (0.0, -0.075, 0.0), (0.0, -0.0115, 0.0)),
            ),
        ),
    ),
    (
        "link2",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (0.0, -0.1835, 0.0), (0.0, -0.125, 0.0)),
                Capsule(0.049, (0.0, -0.125, 0.0), (0.0, -0.03, 0.05)),
                Capsule(0.054, (0.0, 0.0, 0.075), (0.0, 0.0, 0.0115)),
            ),
        ),
    ),
    (
        "link3",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (0.0, 0.0, -0.1095), (0.0, 0.0, -0.065)),
                Capsule(0.046, (0.0, 0.0, -0.065), (0.07, 0.03, -0.012)),
                Capsule(0.054, (0.0825, 0.0115, 0.0), (0.0825, 0.045, 0.0)),
            ),
        ),
    ),
    ("link3", _BLACK, Capsule(0.0552, (0.0825, 0.0555, 0.0), (0.0825, 0.056, 0.0))),
    ("link3", _SILVER, Cylinder(0.034, (0.0825, 0.09, 0.0), (0.0825, 0.1115, 0.0))),
    (
        "link4",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (-0.0825, 0.113, 0.0), (-0.0825, 0.065, 0.0)),
                Capsule(0.046, (-0.0825, 0.065, 0.0), (-0.0125, 0.012, 0.03)),
                Capsule(0.054, (0.0, 0.0, 0.0115), (0.0, 0.0, 0.045)),
            ),
        ),
    ),
    ("link4", _BLACK, Capsule(0.0552, (0.0, 0.0, 0.0555), (0.0, 0.0, 0.056))),
    ("link4", _SILVER, Cylinder(0.034, (0.0, 0.0, 0.09), (0.0, 0.0, 0.1115))),
    (
        "link5",
        _WHITE,
        Shell(
            (
                Capsule(0.054, (0.0, 0.0, -0.248), (0.0, 0.004, -0.225)),
                Capsule(0.04, (0.0, 0.008, -0.21), (0.0, 0.045, -0.18)),
                Capsule(0.031, (0.0, 0.045, -0.18), (0.0, 0.072, -0.12)),
                Capsule(0.028, (0.0, 0.072, -0.12), (0.0, 0.082, -0.03)),
                Capsule(0.046, (0.0, 0.0545, 0.0), (0.0, 0.076, 0.0)),
            ),
            blend_m=0.03,
        ),
    ),
    (
        "link5",
        _BLACK,
        Shell(
            (
                Capsule(0.0465, (0.0, 0.086, 0.0), (0.0, 0.087, 0.0)),
                Capsule(0.024, (0.0, 0.085, -0.13), (0.0, 0.1, -0.03)),
            ),
            blend_m=0.03,
            cell_m=0.012,
        ),
    ),
    (
        "link6",
        _WHITE,
        Shell(
            (
                Capsule(0.045, (0.0, 0.0, -0.0315), (0.0, 0.0, -0.005)),
                Capsule(0.034, (0.02, 0.0, 0.01), (0.06, 0.025, 0.01)),
                Cylinder(0.0455, (0.087, -0.0515, 0.0), (0.087, 0.076, 0.0)),
            ),
            blend_m=0.03,
            round_m=0.014,
            cell_m=0.014,
        ),
    ),
    (
        "link6",
        _BLACK,
        Shell((Cylinder(0.047, (0.0, 0.0, 0.012), (0.0, 0.0, 0.046)),), round_m=0.01, cell_m=0.01),
    ),
    ("link6", _SILVER, Cylinder(0.033, (0.0, 0.0, 0.04), (0.0, 0.0, 0.0485))),
    ("link6", _BLACK, Cylinder(0.034, (0.087, 0.07, 0.0), (0.087, 0.0785, 0.0))),
    ("link7", _SILVER, Cylinder(0.0435, (0.0, 0.0, 0.053), (0.0, 0.0, 0.1065))),
    (
        "link7",
        _WHITE,
        Shell(
            (
                Cylinder(0.045, (0.0, 0.0, 0.064), (0.0, 0.0, 0.101)),
                Box((0.034, 0.032, 0.018), (0.04, 0.04, 0.083), 0.7853981633974483),
            ),
            blend_m=0.01,
            round_m=0.007,
            cell_m=0.007,
        ),
    ),
    ("link7", _BLACK, Box((0.002, 0.013, 0.007), (0.063, 0.063, 0.083), 0.7853981633974483)),
    ("hand", _SILVER, Cylinder(0.0315, (0.0, 0.0, 0.0), (0.0, 0.0, 0.012))),
    (
        "hand",
        _WHITE,
        Shell(
            (Box((0.1, 0.0215, 0.029), (0.0, 0.0, 0.0345)),),
            round_m=0.011,
            cell_m=0.011,
        ),
    ),
    ("hand", _BLACK, Box((0.085, 0.01, 0.003), (0.0, 0.0, 0.0615))),
    *(
        (f"{side}_finger", colour, shape)
        for side, sign in (("left", 1.0), ("right", -1.0))
        for colour, shape in (
            (_GREY, Box((0.01, 0.0075, 0.013), (0.0, sign * 0.0175, 0.014))),
            (_GREY, Box((0.009, 0.006, 0.01), (0.0, sign * 0.0125, 0.034))),
            (_GREY, Box((0.009, 0.007, 0.0085), (0.0, sign * 0.0085, 0.0448))),
            (_BLACK, Box((0.008, 0.0015, 0.009), (0.0, sign * 0.0012, 0.0435))),
        )
    ),
)


def add_shell(spec: mujoco.MjSpec, bodies: Bodies) -> None:
    """Draw the white shells with their black and silver caps."""
    for colour, rgba in _COLOURS.items():
        spec.add_material(name=f"panda_{colour}", rgba=rgba, specular=0.4, shininess=0.5)
    for number, (link, colour, shape) in enumerate(_LOOK):
        if isinstance(shape, Shell):
            vertices, faces = shell_mesh(shape)
            mesh = spec.add_mesh(name=f"panda_shell{number}")
            mesh.uservert = vertices.ravel()
            mesh.userface = faces.ravel()
            geom = bodies[link].add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
        else:
            geom = _add_piece(bodies[link], shape)
        geom.name = f"{link}_look{number}"
        geom.material = f"panda_{colour}"
        geom.group = 1
        geom.contype = geom.conaffinity = 0
        geom.density = 0.0


LOOKS: Mapping[str, Callable[[mujoco.MjSpec, Bodies], None]] = {"built-in": add_shell}
"""Name of a look -> what draws it."""
