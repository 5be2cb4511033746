"""How boxes, cartons, packets, books and other flat or square things look."""

import math
from typing import Literal, TypeAlias

import numpy as np

from libero_safety.assets.asset import Quat, Rgba, Shape, Vec3
from libero_safety.assets.meshes.food import chip
from libero_safety.assets.meshes.kit import (
    MeshData,
    extrude,
    joined,
    lathe,
    loft,
    placed,
    round_rect,
    rounded_box,
    torus,
)
from libero_safety.assets.objects.shapes import (
    BROWN,
    CREAM,
    DARK,
    SILVER,
    WHITE,
    seen,
    shade,
    tint,
)

Style: TypeAlias = Literal["printed", "brownie", "sponge", "parcel", "bag"]

Art: TypeAlias = Literal["discs", "disc", "stripes", "elbows", "leaf"]

ON_SIDE: Quat = (0.7071067811865476, 0.7071067811865476, 0.0, 0.0)
"""Turns z to -y."""
ON_END: Quat = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0)
"""Turns z to x."""


def packet_surface(half: Vec3, colour: Rgba, label: Rgba, style: Style, art: Art) -> list[Shape]:
    """Return a printed box, a bag, a parcel, a brownie or a sponge."""
    x, y, z = half
    if style == "brownie":
        chips = [
            placed(chip(0.0045, 0.002), (x * a, y * b, 2 * z + 0.0008))
            for a, b in (
                (-0.5, 0.3),
                (0.1, -0.4),
                (0.5, 0.5),
                (0.6, -0.3),
                (-0.3, -0.6),
                (0.0, 0.2),
                (-0.7, -0.1),
            )
        ]
        return [
            seen("body", rounded_box((x, y, z * 0.8), 0.003), colour, (0, 0, z * 0.8), finish="matte"),
            seen("body", rounded_box((x, y, z * 0.22), 0.003, 0.005), label, (0, 0, z * 1.8)),
            seen("body", joined(chips), CREAM),
        ]
    if style == "sponge":
        return [
            seen(
                "body", rounded_box((x, y, z * 0.28), 0.002, 0.006), label, (0, 0, z * 1.73), finish="matte"
            ),
            seen(
                "body", rounded_box((x, y, z * 0.74), 0.003, 0.006), colour, (0, 0, z * 0.74), finish="matte"
            ),
        ]
    if style == "parcel":
        return [
            seen("body", rounded_box(half, 0.0015), colour, (0, 0, z), finish="matte"),
            seen(
                "body",
                rounded_box((x + 0.0006, y * 0.2, z + 0.0006), 0.0008),
                shade(tint(colour), 0.9),
                (0, 0, z),
            ),
            seen(
                "body", rounded_box((x + 0.0004, 0.0008, z + 0.0008), 0.0005), shade(colour, 0.5), (0, 0, z)
            ),
            seen(
                "body", rounded_box((x * 0.22, y * 0.3, 0.0005), 0.0003), WHITE, (x * 0.55, -y * 0.6, 2 * z)
            ),
        ]
    if style == "bag":
        return _bag(half, colour, label)
    return _printed(half, colour, label, art)


def _printed(half: Vec3, colour: Rgba, label: Rgba, art: Art) -> list[Shape]:
    x, y, z = half
    edge = 0.0012
    picture = [placed(m, (0, -y * 0.18, 2 * z + 0.0007)) for m in _picture(art, x * 0.62, y * 0.4, 0.0006)]
    picture += [placed(m, (0, 0, z), ON_SIDE) for m in _picture(art, x * 0.62, z * 0.55, y + 0.0012)]
    return [
        seen("body", rounded_box(half, edge), colour, (0, 0, z)),
        seen("body", rounded_box((x * 0.72, y * 0.66, z + 0.0005), 0.0003), label, (0, 0, z)),
        seen("body", rounded_box((x * 0.72, y + 0.0006, z * 0.66), 0.0003), label, (0, 0, z)),
        seen(
            "body", rounded_box((x * 0.5, y * 0.13, z + 0.0009), 0.0003), shade(colour, 0.8), (0, y * 0.36, z)
        ),
        seen("body", joined(picture), shade(colour, 0.9)),
    ]


def _picture(art: Art, half_x: float, half_y: float, half_z: float) -> list[MeshData]:
    """Return flat pieces, `half_z` (m) thick, that fill an oblong."""
    x, y = half_x, half_y
    if art == "disc":
        return [placed(_coin(y * 0.95, half_z), (-x * 0.1, 0, 0))]
    if art == "stripes":
        return [placed(rounded_box((x, y * 0.2, half_z), 0.0003), (0, y * k, 0)) for k in (-0.6, 0.0, 0.6)]
    if art == "leaf":
        blade = tuple(
            (x * 0.7 * math.cos(t), y * math.sin(t) * abs(math.sin(t)) ** 0.6)
            for t in (2 * math.pi * i / 12 for i in range(12))
        )
        return [extrude(blade, -half_z, half_z)]
    if art == "elbows":
        outer = [(math.cos(t), math.sin(t)) for t in (math.pi * i / 5 for i in range(6))]
        arc = tuple((y * 0.5 * a, y * 0.5 * b) for a, b in outer)
        arc += tuple((y * 0.25 * a, y * 0.25 * b) for a, b in reversed(outer))
        arc_mesh = extrude(arc, -half_z, half_z)
        return [placed(arc_mesh, (x * a, y * b, 0)) for a, b in ((-0.6, 0.1), (0.0, -0.5), (0.55, 0.15))]
    return [
        placed(_coin(y * 0.7 * k, half_z), (x * a, 0, 0)) for a, k in ((-0.62, 1.0), (0.0, 0.8), (0.6, 1.0))
    ]


def _bag(half: Vec3, colour: Rgba, label: Rgba) -> list[Shape]:
    x, y, z = half
    rows = ((-1.0, 0.1), (-0.97, 0.14), (-0.86, 1.02), (0.0, 1.08), (0.86, 1.02), (0.97, 0.14), (1.0, 0.1))
    rings = [[(x * a, b, z + c) for b, c in round_rect(y, z * k, z * k * 0.3, 2)] for a, k in rows]
    spot = rounded_box((x * 0.42, y * 0.6, z * 1.0), 0.002, y * 0.5)
    return [
        seen("body", loft(np.array(rings)), colour),
        seen("body", spot, label, (0, 0, z + 0.0006)),
        seen(
            "body", rounded_box((x * 0.25, y * 0.16, z), 0.001), shade(colour, 0.7), (0, y * 0.1, z + 0.0012)
        ),
    ]


def _coin(radius: float, half: float) -> MeshData:
    return lathe(((0, -half), (radius, -half), (radius, half), (0, half)), 12)


def carton_surface(half_m: float, height_m: float, colour: Rgba, label: Rgba, cap: Rgba) -> list[Shape]:
    """Return a gable-top carton with a printed picture and a screw cap on its roof."""
    x, top, ridge = half_m, height_m * 0.8, height_m * 0.915
    gable = (
        (-x, top - 0.004),
        (x, top - 0.004),
        (x, top),
        (0.0016, ridge),
        (0.0016, height_m),
        (-0.0016, height_m),
        (-0.0016, ridge),
        (-x, top),
    )
    roof = placed(extrude(gable, -x, x), (0, 0, 0), _YZ)
    tilt = math.atan2(ridge - top, x)
    lean = (math.cos(tilt / 2), -math.sin(tilt / 2), 0.0, 0.0)
    knob = lathe(((0, -0.004), (x * 0.3, -0.004), (x * 0.3, 0.003), (x * 0.25, 0.0042), (0, 0.0042)), 12)
    wave = tuple((x * 1.5 * (i / 8 - 0.5), top * (0.03 * math.sin(i * 1.6) + 0.1)) for i in range(9))
    hill = ((-x * 0.75, -top * 0.3), (x * 0.75, -top * 0.3), *wave[::-1])
    blots = [
        placed(extrude(hill, -x - 0.0008, x + 0.0008), (0, 0, top * 0.42), turn) for turn in (_YZ, ON_SIDE)
    ]
    title = [
        rounded_box((a, b, top * 0.07), 0.0003) for a, b in ((x * 0.6, x + 0.0008), (x + 0.0008, x * 0.6))
    ]
    return [
        seen("body", rounded_box((x, x, top / 2), 0.0012), colour, (0, 0, top / 2)),
        seen("neck", roof, colour),
        seen("body", joined(blots), label),
        seen("body", joined(title), shade(label, 0.75), (0, 0, top * 0.72)),
        seen("cap", knob, cap, (0, -x * 0.4, top + (ridge - top) * 0.6), (lean[0], -lean[1], 0, 0)),
    ]


_YZ: Quat = (0.5, 0.5, 0.5, 0.5)
"""Turns x to y, y to z, z to x."""


def book_surface(width_m: float, height_m: float, thick_m: float, colour: Rgba, upright: bool) -> list[Shape]:
    """Return a hardcover: boards, a rounded spine with bands, a block of pages, a title."""
    t, edge = thick_m / 2, 0.0025
    x, z = width_m / 2, height_m / 2
    gold = tint(colour, 0.75) if sum(colour[:3]) < 1.4 else shade(colour, 0.4)
    pieces: list[tuple[str, Vec3, Vec3, Rgba, float]] = [
        ("pages", (x - 0.003, t - edge * 1.1, z - 0.002), (0.001, 0, z), WHITE, 0.0005),
        ("cover", (x, edge / 2 + 0.0006, z), (0, t - edge / 2 - 0.0006, z), colour, 0.0012),
        ("cover", (x, edge / 2 + 0.0006, z), (0, -t + edge / 2 + 0.0006, z), colour, 0.0012),
        ("spine", (edge, t - 0.0006, z), (-x + edge, 0, z), colour, 0.0015),
    ]
    pieces += [
        ("spine", (edge, t * 0.8, z * 0.02), (-x + edge - 0.0004, 0, z * k), gold, 0.0004) for k in (0.3, 1.7)
    ]
    pieces += [
        ("cover", (x * 0.55, t + 0.0004, z * 0.1), (x * 0.05, 0, z * 1.4), gold, 0.0003),
        ("cover", (x * 0.35, t + 0.0004, z * 0.04), (x * 0.05, 0, z * 0.6), gold, 0.0003),
    ]
    pieces.append(
        ("pages", (0.0004, t - edge * 1.2, z - 0.003), (x - 0.0019, 0, z), shade(WHITE, 0.86), 0.0002)
    )
    shapes: list[Shape] = []
    for part, half, pos, rgba, bevel in pieces:
        if not upright:
            half, pos = (half[0], half[2], half[1]), (pos[0], pos[2], pos[1])
        shapes.append(seen(part, rounded_box(half, bevel), rgba, pos))
    return shapes


def notebook_surface(half: Vec3, colour: Rgba) -> list[Shape]:
    """Return a spiral-bound notebook with a label on its cover."""
    x, y, z = half
    wire = torus(z * 1.05, 0.0012, 6, 3)
    count = 7
    rings = [placed(wire, (x * 1.8 * (i / (count - 1) - 0.5), -y, z), ON_END) for i in range(count)]
    return [
        seen("cover", rounded_box((x, y, 0.001), 0.0004), colour, (0, 0, 0.001)),
        seen("pages", rounded_box((x - 0.003, y - 0.003, z - 0.002), 0.0004), WHITE, (0, 0, z)),
        seen("cover", rounded_box((x, y, 0.001), 0.0004), colour, (0, 0, 2 * z - 0.001)),
        seen("cover", rounded_box((x * 0.5, y * 0.2, 0.0004), 0.0003), CREAM, (0, y * 0.35, 2 * z)),
        seen("cover", rounded_box((x * 0.4, y * 0.02, 0.0006), 0.0003), DARK, (0, y * 0.4, 2 * z)),
        seen("spine", joined(rings), SILVER, finish="metal"),
        seen("spine", rounded_box((x * 0.95, 0.0025, z * 0.9), 0.001), DARK, (0, -y + 0.001, z * 0.95)),
    ]


def board_surface(half: Vec3, colour: Rgba) -> list[Shape]:
    """Return a cutting board of glued strips with a grip that has a hole."""
    x, y, z = half
    count = 5
    strips = [
        placed(
            rounded_box((x * 0.965, y / count * 0.94, z + 0.0003), 0.0003),
            (0, y * (2 * i + 1 - count) / count, z),
        )
        for i in range(count)
    ]
    body = rounded_box((x, y, z), 0.003, 0.014)
    grip = rounded_box((0.044, 0.018, z), 0.003, 0.016)
    return [
        seen("body", body, colour, (0, 0, z), finish="matte"),
        seen("body", joined(strips[::2]), shade(colour, 0.84), finish="matte"),
        seen("body", joined(strips[1::2]), tint(colour, 0.1), finish="matte"),
        seen("handle", grip, colour, (x + 0.036, 0, z), finish="matte"),
        seen("handle", _coin(0.0075, z + 0.0004), shade(BROWN, 0.5), (x + 0.06, 0, z), finish="matte"),
    ]


def towel_surface(half: Vec3, colour: Rgba, stripe: Rgba) -> list[Shape]:
    """Return a folded towel: soft layers, a rolled fold, woven stripes."""
    x, y, z = half
    layer = rounded_box((x, y - 0.001, z * 0.5), z * 0.45, 0.006)
    shapes = [
        seen("body", layer, shade(colour, 0.93), (0, 0, z * 0.5), finish="matte"),
        seen("body", layer, colour, (0, 0, z * 1.5), finish="matte"),
        seen(
            "fold", rounded_box((x, 0.02, z * 1.6), z, 0.008), colour, (0, -y + 0.02, z * 1.6), finish="matte"
        ),
    ]
    for k in (0.6, -0.6):
        band = rounded_box((x * 0.07, y - 0.0005, z + 0.0005), z * 0.5)
        shapes.append(seen("body", band, stripe, (x * k, 0, z), finish="matte"))
        strip = rounded_box((x * 0.07, 0.0205, z * 1.6 + 0.0005), z)
        shapes.append(seen("fold", strip, stripe, (x * k, -y + 0.02, z * 1.6), finish="matte"))
    return shapes
