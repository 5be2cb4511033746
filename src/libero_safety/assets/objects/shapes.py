"""Pieces that objects are put together from, and the densities and colours they have."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from libero_safety.assets.asset import Asset, Link, MeshData, Quat, Rgba, Shape, Vec3
from libero_safety.assets.geometry import quat_about, quat_multiply, quat_to, shape_bounds, shifted
from libero_safety.types import Zone

Recipe: TypeAlias = Callable[[str], Asset]
"""Makes the asset of a type, given the name of the type."""

# kg/m^3. Solids: engineering tables. `FILLED` and `FOOD` are near water; `HOLLOW` is a thin-walled casing.
STEEL = 7800.0
ALUMINIUM = 2700.0
CERAMIC = 2000.0
WOOD = 650.0
PLASTIC = 950.0
RUBBER = 1100.0
FLESH = 1050.0
FILLED = 1000.0
FOOD = 900.0
BREAD = 350.0
PAPER = 800.0
CARDBOARD = 450.0
CLOTH = 300.0
HOLLOW = 300.0
FOAM = 120.0

BLACK: Rgba = (0.07, 0.07, 0.08, 1.0)
DARK: Rgba = (0.2, 0.21, 0.23, 1.0)
GREY: Rgba = (0.55, 0.56, 0.58, 1.0)
SILVER: Rgba = (0.76, 0.77, 0.79, 1.0)
WHITE: Rgba = (0.95, 0.95, 0.93, 1.0)
CREAM: Rgba = (0.95, 0.89, 0.74, 1.0)
RED: Rgba = (0.78, 0.12, 0.1, 1.0)
ORANGE: Rgba = (0.93, 0.5, 0.12, 1.0)
YELLOW: Rgba = (0.95, 0.79, 0.2, 1.0)
GREEN: Rgba = (0.26, 0.56, 0.24, 1.0)
DARK_GREEN: Rgba = (0.1, 0.26, 0.14, 1.0)
TEAL: Rgba = (0.12, 0.55, 0.55, 1.0)
BLUE: Rgba = (0.14, 0.33, 0.66, 1.0)
SKY: Rgba = (0.5, 0.74, 0.88, 1.0)
PURPLE: Rgba = (0.45, 0.25, 0.55, 1.0)
PINK: Rgba = (0.93, 0.6, 0.67, 1.0)
BROWN: Rgba = (0.36, 0.2, 0.1, 1.0)
TAN: Rgba = (0.76, 0.58, 0.36, 1.0)
WOODEN: Rgba = (0.62, 0.42, 0.24, 1.0)
AMBER: Rgba = (0.42, 0.2, 0.06, 1.0)
SKIN: Rgba = (0.86, 0.66, 0.54, 1.0)

HAND_ROOM_M = 0.03
"""How far below the top of a thing a top-down grasp is: the palm of the gripper must not touch it."""
FINGER_ROOM_M = 0.012
"""How far above the table a grasp is: the finger tips reach below the grip."""

RUBBERY = 1.2
GRIPPY = 1.0
SMOOTH = 0.6
SLIPPERY = 0.35
"""Sliding friction: rubber or skin, wood and card, glazed ceramic and plastic, polished steel."""


def shade(colour: Rgba, factor: float = 0.75) -> Rgba:
    """Return a darker colour."""
    r, g, b, alpha = colour
    return (r * factor, g * factor, b * factor, alpha)


def tint(colour: Rgba, white: float = 0.55) -> Rgba:
    """Return the colour mixed with a share of white."""
    r, g, b, alpha = colour
    return (r + (1 - r) * white, g + (1 - g) * white, b + (1 - b) * white, alpha)


Role: TypeAlias = Literal["both", "collision", "visual"]


def box(
    part: str,
    half: Vec3,
    pos: Vec3,
    rgba: Rgba,
    density: float = PLASTIC,
    friction: float = GRIPPY,
    yaw: float = 0.0,
    role: Role = "both",
) -> Shape:
    """Return a box with half sizes `half`, turned by `yaw` about the vertical."""
    quat = quat_about((0.0, 0.0, 1.0), yaw)
    return Shape("box", half, pos, quat, part, rgba, density, role, friction)


def disc(
    part: str,
    radius_m: float,
    low: float,
    high: float,
    rgba: Rgba,
    density: float = PLASTIC,
    friction: float = GRIPPY,
    xy: tuple[float, float] = (0.0, 0.0),
    role: Role = "both",
) -> Shape:
    """Return an upright cylinder between the heights `low` and `high`."""
    size = (radius_m, (high - low) / 2)
    pos = (xy[0], xy[1], (low + high) / 2)
    return Shape("cylinder", size, pos, part=part, rgba=rgba, density=density, friction=friction, role=role)


def rod(
    part: str,
    kind: Literal["capsule", "cylinder"],
    radius_m: float,
    start: Vec3,
    end: Vec3,
    rgba: Rgba,
    density: float = PLASTIC,
    friction: float = GRIPPY,
    role: Role = "both",
) -> Shape:
    """Return a capsule or cylinder whose axis runs from `start` to `end`."""
    way = (end[0] - start[0], end[1] - start[1], end[2] - start[2])
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, (start[2] + end[2]) / 2)
    size = (radius_m, math.hypot(*way) / 2)
    return Shape(kind, size, middle, quat_to(way), part, rgba, density, role, friction)


def blob(
    part: str,
    half: Vec3,
    pos: Vec3,
    rgba: Rgba,
    density: float = FOOD,
    friction: float = GRIPPY,
    role: Role = "both",
) -> Shape:
    """Return an ellipsoid."""
    return Shape("ellipsoid", half, pos, part=part, rgba=rgba, density=density, friction=friction, role=role)


def ring(
    part: str,
    radius: tuple[float, float],
    height: tuple[float, float],
    wall_m: float,
    rgba: Rgba,
    density: float = CERAMIC,
    friction: float = SMOOTH,
    count: int = 10,
    role: Role = "both",
) -> list[Shape]:
    """Return `count` boxes in a round wall, leaning so that its outside grows from radius[0] to radius[1].

    The radii are those of the circle midway between the flats and the corners of the outside. One flat faces +y.
    """
    flats = (1 + math.cos(math.pi / count)) / 2
    radius = (radius[0] * flats, radius[1] * flats)
    lean = math.atan2(radius[1] - radius[0], height[1] - height[0])
    length = math.hypot(radius[1] - radius[0], height[1] - height[0])
    half = (wall_m / 2, max(radius) * math.tan(math.pi / count), length / 2)
    middle = (radius[0] + radius[1]) / 2 - wall_m / 2 * math.cos(lean)
    z = (height[0] + height[1]) / 2 + wall_m / 2 * math.sin(lean)
    walls: list[Shape] = []
    for i in range(count):
        yaw = math.pi / 2 + 2 * math.pi * i / count
        quat = quat_multiply(quat_about((0.0, 0.0, 1.0), yaw), quat_about((0.0, 1.0, 0.0), lean))
        pos = (middle * math.cos(yaw), middle * math.sin(yaw), z)
        walls.append(Shape("box", half, pos, quat, part, rgba, density, role, friction))
    return walls


def walls(
    part: str,
    half: Vec3,
    pos: Vec3,
    wall_m: float,
    rgba: Rgba,
    density: float = WOOD,
    friction: float = GRIPPY,
) -> list[Shape]:
    """Return the four walls of an open box whose outer half sizes are `half`, centred at `pos`."""
    x, y, z = half
    t = wall_m / 2
    return [
        box(part, (t, y, z), (pos[0] + side * (x - t), pos[1], pos[2]), rgba, density, friction)
        for side in (1, -1)
    ] + [
        box(part, (x - wall_m, t, z), (pos[0], pos[1] + side * (y - t), pos[2]), rgba, density, friction)
        for side in (1, -1)
    ]


def seen(
    part: str,
    mesh: MeshData,
    rgba: Rgba,
    pos: Vec3 = (0.0, 0.0, 0.0),
    quat: Quat = (1.0, 0.0, 0.0, 0.0),
    finish: str = "satin",
) -> Shape:
    """Return a mesh that is seen and not felt; `finish` is how it shines: satin, matte, metal or glow."""
    return Shape("mesh", (), pos, quat, part, rgba, role="visual", material=finish, mesh=mesh)


def dressed(shapes: Sequence[Shape], surface: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return what of `shapes` collides, to be felt only, and `surface`, to be seen."""
    felt = [replace(s, role="collision") for s in shapes if s.role != "visual"]
    return (*felt, *surface)


def solid(
    name: str,
    shapes: Sequence[Shape],
    grasp: tuple[Vec3, float] | None = None,
    zones: Sequence[Zone] = (),
    centre: bool = True,
    surface: Sequence[Shape] = (),
) -> Asset:
    """Return a rigid asset that stands on z = 0, its bounding box centred on the origin unless `centre` is False.

    With a `surface` that is what is seen, and `shapes` are only felt.
    """
    shapes = dressed(shapes, surface) if surface else tuple(shapes)
    asset = Asset(name, (Link("root", shapes),), tuple(zones), grasp)
    low, high = shape_bounds([s for s in shapes if s.role != "visual"])
    x, y = (-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2) if centre else (0.0, 0.0)
    return shifted(asset, (x, y, -low[2]))


def with_shapes(asset: Asset, shapes: Sequence[Shape]) -> Asset:
    """Return a jointless asset with `shapes` added to its root."""
    root = asset.links[0]
    return replace(asset, links=(replace(root, shapes=(*root.shapes, *shapes)), *asset.links[1:]))
