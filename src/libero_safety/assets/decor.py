"""Furniture and walls around a workspace: seen, never touched."""

from typing import TypeAlias

from libero_safety.assets.asset import Quat, Rgba, Shape, Vec3
from libero_safety.assets.objects.shapes import box, disc, shade

_Spot: TypeAlias = tuple[float, float]

FACING_X: Quat = (0.5, 0.5, 0.5, 0.5)
"""Turns a box so that its local z looks along +x, its local x along +y and its local y up."""
_HALF_ROOT = 0.7071067811865476
FACING_Y: Quat = (0.0, 0.0, _HALF_ROOT, _HALF_ROOT)
"""Likewise, looking along +y, with x along -x."""
FACING_MINUS_Y: Quat = (_HALF_ROOT, _HALF_ROOT, 0.0, 0.0)
"""Likewise, looking along -y, with x along +x."""

WALL_X = -2.0
"""Where the middle of the wall behind the robot is; its face is 2 cm nearer."""
_STEEL: Rgba = (0.62, 0.63, 0.65, 1.0)
_WHITE: Rgba = (0.9, 0.9, 0.88, 1.0)


def panel(part: str, half: _Spot, pos: Vec3, look: str, quat: Quat = FACING_X, thick: float = 0.02) -> Shape:
    """Return an upright board, `half` its half width and height, whose picture is on its broad sides."""
    return Shape("box", (*half, thick), pos, quat, part=part, role="visual", material=look)


def block(part: str, half: Vec3, pos: Vec3, rgba: Rgba) -> Shape:
    """Return a box of one colour."""
    return box(part, half, pos, rgba, role="visual")


def clad(part: str, half: Vec3, pos: Vec3, look: str) -> Shape:
    """Return a box whose picture is on its top."""
    return Shape("box", half, pos, part=part, role="visual", material=look)


def walls() -> list[Shape]:
    """Return three walls: behind the robot and on both sides."""
    return [
        panel("wall", (3.0, 1.5), (WALL_X, 0.0, 1.5), "wall"),
        panel("wall", (2.5, 1.5), (0.5, 3.0, 1.5), "wall", FACING_MINUS_Y),
        panel("wall", (2.5, 1.5), (0.5, -3.0, 1.5), "wall", FACING_Y),
    ]


def skirting(rgba: Rgba = _WHITE) -> list[Shape]:
    """Return boards along the foot of the walls."""
    return [
        block("skirting", (0.008, 3.0, 0.04), (WALL_X + 0.028, 0.0, 0.04), rgba),
        *(block("skirting", (2.5, 0.008, 0.04), (0.5, side * 2.972, 0.04), rgba) for side in (1, -1)),
    ]


def picture(pos: _Spot, half: _Spot, look: str, frame: Rgba = (0.16, 0.14, 0.13, 1.0)) -> list[Shape]:
    """Return a framed picture on the wall behind the robot; `pos` is (y, z)."""
    y, z = pos
    return [
        block("frame", (0.012, half[0] + 0.025, half[1] + 0.025), (WALL_X + 0.03, y, z), frame),
        panel("picture", half, (WALL_X + 0.038, y, z), look, thick=0.006),
    ]


def window(pos: _Spot, half: _Spot) -> list[Shape]:
    """Return a window with a cross and a sill; `pos` is (y, z)."""
    y, z = pos
    width, height = half
    x = WALL_X + 0.03
    bars = [(width + 0.04, 0.03, 0.0, s * height) for s in (1, 0, -1)]
    posts = [(0.03, height, s * width, 0.0) for s in (1, 0, -1)]
    return [
        block("window", (0.005, width, height), (x, y, z), (0.72, 0.83, 0.92, 1.0)),
        *(block("window", (0.02, w, h / 2), (x, y + j, z + k), _WHITE) for w, h, j, k in bars),
        *(block("window", (0.02, w / 2, h), (x, y + j, z + k), _WHITE) for w, h, j, k in posts),
        block("sill", (0.08, width + 0.08, 0.015), (x + 0.05, y, z - height - 0.03), _WHITE),
    ]


def kitchen_run(front: Rgba, worktop: str, splash: str) -> list[Shape]:
    """Return base units, a worktop, a tiled back, wall units and a fridge along the wall behind the robot."""
    doors, gaps = (-1.2, -0.4, 0.4, 1.2), (-0.8, 0.0, 0.8)
    gap = shade(front, 0.45)
    return [
        block("counter", (0.29, 1.6, 0.38), (-1.67, 0.0, 0.48), front),
        block("plinth", (0.26, 1.58, 0.05), (-1.69, 0.0, 0.05), gap),
        clad("counter", (0.32, 1.62, 0.02), (-1.66, 0.0, 0.88), worktop),
        panel("splash", (1.6, 0.31), (WALL_X + 0.025, 0.0, 1.21), splash, thick=0.004),
        block("cupboard", (0.16, 1.6, 0.35), (-1.82, 0.0, 1.87), front),
        *(block("counter", (0.004, 0.004, 0.38), (-1.38, y, 0.48), gap) for y in gaps),
        block("counter", (0.004, 1.6, 0.003), (-1.38, 0.0, 0.67), gap),
        *(block("cupboard", (0.004, 0.004, 0.35), (-1.66, y, 1.87), gap) for y in gaps),
        *(block("handle", (0.012, 0.14, 0.008), (-1.37, y, 0.77), _STEEL) for y in doors),
        *(block("handle", (0.012, 0.14, 0.008), (-1.37, y, 0.6), _STEEL) for y in doors),
        *(block("handle", (0.012, 0.14, 0.008), (-1.65, y, 1.59), _STEEL) for y in doors),
        block("fridge", (0.32, 0.37, 0.95), (-1.64, -2.1, 0.95), (0.8, 0.82, 0.84, 1.0)),
        block("fridge", (0.006, 0.372, 0.006), (-1.32, -2.1, 1.25), (0.45, 0.46, 0.48, 1.0)),
        *(block("handle", (0.015, 0.012, 0.2), (-1.305, -1.8, z), _STEEL) for z in (0.95, 1.5)),
        disc("jar", 0.06, 0.9, 1.08, (0.78, 0.72, 0.62, 1.0), xy=(-1.8, 0.95), role="visual"),
        disc("jar", 0.05, 0.9, 1.04, (0.55, 0.63, 0.6, 1.0), xy=(-1.8, 1.1), role="visual"),
        disc("pot", 0.11, 0.9, 1.03, (0.5, 0.51, 0.53, 1.0), xy=(-1.7, -1.15), role="visual"),
    ]


def bookcase(wood: str) -> list[Shape]:
    """Return a bookcase with three rows of books against the wall behind the robot."""
    spines: tuple[Rgba, ...] = (
        (0.5, 0.2, 0.18, 1),
        (0.2, 0.33, 0.47, 1),
        (0.72, 0.63, 0.38, 1),
        (0.29, 0.42, 0.3, 1),
        (0.8, 0.77, 0.7, 1),
        (0.33, 0.25, 0.32, 1),
    )
    shelves = [clad("shelf", (0.17, 0.9, 0.018), (-1.8, -0.9, z), wood) for z in (0.02, 0.5, 0.95, 1.4, 1.85)]
    sides = [
        panel("shelf", (0.17, 0.93), (-1.8, y, 0.93), wood, FACING_MINUS_Y, thick=0.02) for y in (-1.8, 0.0)
    ]
    back = panel("shelf", (0.9, 0.92), (-1.965, -0.9, 0.93), wood, thick=0.005)
    books: list[Shape] = []
    for row, z in enumerate((0.52, 0.97, 1.42)):
        for i in range(1, 29):
            if (5 * i + 3 * row) % 13 < 2:
                continue
            half = (0.1, 0.019 + 0.004 * ((i + row) % 3), 0.125 + 0.013 * ((3 * i + row) % 4))
            colour = spines[(37 * i + 17 * row + i * i % 11) % len(spines)]
            books.append(block("book", half, (-1.77, -1.75 + 0.06 * i, z + half[2]), colour))
    return [*shelves, *sides, back, *books]


def sofa(cloth: Rgba) -> list[Shape]:
    """Return a sofa against the wall behind the robot."""
    cushion = shade(cloth, 1.12)
    return [
        block("sofa", (0.4, 1.0, 0.11), (-1.5, 0.0, 0.14), shade(cloth, 0.85)),
        *(block("sofa", (0.38, 0.485, 0.07), (-1.46, s * 0.495, 0.31), cushion) for s in (1, -1)),
        *(block("sofa", (0.09, 0.475, 0.25), (-1.74, s * 0.495, 0.61), cushion) for s in (1, -1)),
        block("sofa", (0.07, 1.12, 0.36), (-1.87, 0.0, 0.42), cloth),
        *(block("sofa", (0.42, 0.11, 0.27), (-1.5, s * 1.12, 0.31), cloth) for s in (1, -1)),
    ]


def floor_lamp(pos: _Spot) -> list[Shape]:
    """Return a lamp on a pole; `pos` is (x, y)."""
    dark: Rgba = (0.2, 0.2, 0.21, 1.0)
    return [
        disc("lamp", 0.14, 0.0, 0.02, dark, xy=pos, role="visual"),
        disc("lamp", 0.012, 0.02, 1.35, dark, xy=pos, role="visual"),
        disc("lamp", 0.17, 1.32, 1.6, (0.93, 0.88, 0.76, 1.0), xy=pos, role="visual"),
    ]


def plant(pos: _Spot) -> list[Shape]:
    """Return a plant in a pot; `pos` is (x, y)."""
    x, y = pos
    leaf: Rgba = (0.23, 0.4, 0.22, 1.0)
    lean = ((0.0, 0.0, 0.62), (0.1, 0.06, 0.5), (-0.09, 0.08, 0.53), (0.03, -0.11, 0.55), (-0.04, 0.02, 0.78))
    return [
        disc("pot", 0.14, 0.0, 0.28, (0.75, 0.72, 0.67, 1.0), xy=pos, role="visual"),
        *(
            Shape("ellipsoid", (0.13, 0.13, 0.17), (x + i, y + j, z), part="plant", rgba=leaf, role="visual")
            for i, j, z in lean
        ),
    ]
