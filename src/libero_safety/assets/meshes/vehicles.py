"""How toy vehicles look."""

import math

import numpy as np

from libero_safety.assets.asset import Quat, Rgba, Shape, Vec3
from libero_safety.assets.geometry import quat_about
from libero_safety.assets.meshes.boxes import ON_END, ON_SIDE
from libero_safety.assets.meshes.food import ball
from libero_safety.assets.meshes.kit import (
    Points2,
    block,
    extrude,
    joined,
    lathe,
    loft,
    placed,
    round_rect,
    rounded_box,
    torus,
    tube,
)
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    DARK,
    GREEN,
    GREY,
    RED,
    SILVER,
    YELLOW,
    seen,
    shade,
    tint,
)

GLASS: Rgba = (0.16, 0.24, 0.32, 1.0)
_Y: Vec3 = (0.0, 1.0, 0.0)


def wheels(radius: float, xs: tuple[float, ...], y: float, width: float, hub: Rgba) -> list[Shape]:
    """Return tyres from `y` to `y + width` on both sides, with bright hubs."""
    r, w = radius, width
    tyre = lathe(((0, 0), (r, 0), (r, w), (0, w)), 10)
    disc = lathe(((0, w * 0.9), (r * 0.6, w * 0.9), (r * 0.5, w * 1.06), (0, w * 1.1)), 8)
    places: list[tuple[Vec3, Quat]] = []
    for x in xs:
        places += [((x, -y, r), ON_SIDE), ((x, y, r), (ON_SIDE[0], -ON_SIDE[1], 0.0, 0.0))]
    return [
        seen("wheel", joined([placed(tyre, at, turn) for at, turn in places]), BLACK, finish="matte"),
        seen("wheel", joined([placed(disc, at, turn) for at, turn in places]), hub),
    ]


def car_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a toy car: bonnet and boot, dark windows under a roof, lights, bumpers, wheels with hubs."""
    x, r, y = length_m / 2, length_m * 0.12, length_m * 0.2
    side: Points2 = (
        (-x * 0.97, r * 0.85),
        (x * 0.97, r * 0.85),
        (x, r * 1.3),
        (x * 0.99, r * 2.0),
        (x * 0.88, r * 2.35),
        (x * 0.4, r * 2.65),
        (-x * 0.85, r * 2.65),
        (-x, r * 2.3),
        (-x, r * 1.3),
    )
    rows = ((-0.66, 0.42, 2.6, 0.94), (-0.62, 0.36, 3.1, 0.92), (-0.54, 0.18, 4.1, 0.86))

    def ring(back: float, front: float, level: float, wide: float) -> list[Vec3]:
        middle, half = x * (back + front) / 2, x * (front - back) / 2
        return [(middle + a, b, r * level) for a, b in round_rect(half, y * wide, 0.004, 1)]

    cabin = loft(np.array([ring(*row) for row in rows]))
    roof = loft(
        np.array([ring(-0.57, 0.22, 4.0, 0.89), ring(-0.55, 0.19, 4.28, 0.86), ring(-0.44, 0.08, 4.37, 0.7)])
    )
    pillar = block((x * 0.035, y * 0.87, r * 0.72))
    lamp = lathe(((0, -0.002), (r * 0.28, -0.002), (r * 0.2, 0.0018), (0, 0.002)), 8)
    lights = [placed(lamp, (x * 0.995, s * y * 0.62, r * 1.75), ON_END) for s in (1, -1)]
    tail = [placed(block((0.0012, r * 0.35, r * 0.2)), (-x, s * y * 0.62, r * 1.9)) for s in (1, -1)]
    bumper = [placed(block((0.002, y * 0.86, r * 0.18)), (s * x, 0, r * 1.05)) for s in (1, -1)]
    return [
        seen("body", placed(extrude(side, -y, y, 0.0025), quat=ON_SIDE), colour),
        seen("body", block((x * 0.34, y * 0.78, r * 0.42)), DARK, (0, 0, r * 0.44)),
        seen("cabin", cabin, GLASS),
        seen("cabin", roof, colour),
        seen("cabin", pillar, colour, (-x * 0.2, 0, r * 3.35)),
        seen("body", joined(lights), tint(YELLOW, 0.5)),
        seen("body", joined(tail), RED),
        seen("body", joined(bumper), SILVER, finish="metal"),
        *wheels(r, (x * 0.62, -x * 0.62), y * 0.85, y * 0.3, SILVER),
    ]


def train_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a toy steam engine: frame, banded boiler, funnel, dome, cabin with windows and a roof, lamp, wheels."""
    x, r, y = length_m / 2, length_m * 0.085, length_m * 0.16
    level, b = r * 2 + y * 0.8, y * 0.8
    boiler = lathe(((0, -x * 0.1), (b, -x * 0.1), (b, x * 0.86), (b * 0.8, x * 0.9), (0, x * 0.9)), 12)
    band = lathe(((b * 0.9, 0), (b * 1.04, -x * 0.025), (b * 1.04, x * 0.025)), 12)
    low = r * 2 + y * 1.5
    funnel = lathe(
        ((0, low), (y * 0.2, low), (y * 0.2, low + y * 0.5), (y * 0.34, low + y * 0.9), (0, low + y * 0.9)),
        10,
    )
    dome = lathe(
        ((0, -b * 0.1), (y * 0.24, -b * 0.1), (y * 0.24, y * 0.18), (y * 0.15, y * 0.24), (0, y * 0.27)), 8
    )
    half = (x * 0.375, y * 0.945, y * 1.08)
    roof = rounded_box((x * 0.42, y * 1.02, y * 0.12), y * 0.1, y * 0.2)
    window = joined(
        [
            placed(block((x * 0.16, y * 0.955, y * 0.34)), (-x * 0.55, 0, r * 2 + y * 1.35)),
            placed(block((x * 0.382, y * 0.5, y * 0.3)), (-x * 0.55, 0, r * 2 + y * 1.4)),
        ]
    )
    plough = ((0, -y * 0.9), (x * 0.14, 0), (0, y * 0.9))
    return [
        seen("body", block((x * 0.98, y * 0.99, r * 0.5)), colour, (0, 0, r * 1.5)),
        seen("body", block((x * 0.78, y * 0.72, r * 0.48)), DARK, (0, 0, r * 0.5)),
        seen("body", extrude(plough, r * 0.6, r * 1.6), DARK, (x * 0.86, 0, 0)),
        seen("boiler", placed(boiler, (0, 0, level), ON_END), BLUE),
        seen("boiler", joined([placed(band, (x * k, 0, level), ON_END) for k in (0.2, 0.72)]), YELLOW),
        seen("chimney", funnel, shade(YELLOW, 0.95), (x * 0.6, 0, 0)),
        seen("boiler", dome, YELLOW, (x * 0.16, 0, level + b * 0.95)),
        seen("cabin", block(half), GREEN, (-x * 0.55, 0, r * 2 + y * 1.08)),
        seen("cabin", window, GLASS),
        seen("cabin", roof, colour, (-x * 0.55, 0, r * 2 + y * 2.15)),
        seen("boiler", ball(y * 0.2, 6, 4), tint(YELLOW, 0.6), (x * 0.9, 0, level)),
        *wheels(r, (x * 0.65, 0.0, -x * 0.65), y * 0.8, y * 0.25, RED),
    ]


def motorbike_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a toy motorbike: spoked wheels, forked front, engine, tank, seat, exhaust, lamp, on a stand."""
    x, r = length_m / 2, length_m * 0.19
    tyre = torus(r * 0.8, r * 0.185, 12, 4)
    spoke = block((r * 0.66, 0.0016, 0.0012))
    spokes = [placed(spoke, quat=quat_about((0.0, 0.0, 1.0), math.pi * i / 3)) for i in range(3)]
    places = [(s * x * 0.6, 0.0, r) for s in (1, -1)]
    bars = (
        (x * 0.36, -0.026, r * 2.38),
        (x * 0.45, -0.012, r * 2.34),
        (x * 0.45, 0.012, r * 2.34),
        (x * 0.36, 0.026, r * 2.38),
    )
    legs = [
        tube(((x * 0.6, s * 0.0065, r), (x * 0.43, s * 0.0065, r * 2.3)), 0.0026, sides=5, up=_Y)
        for s in (1, -1)
    ]
    frame = [
        tube(
            ((x * 0.45, 0, r * 2.15), (x * 0.2, 0, r * 0.62), (-x * 0.25, 0, r * 0.58), (-x * 0.6, 0, r)),
            0.0028,
            sides=5,
            up=_Y,
        ),
        tube(((x * 0.42, 0, r * 2.0), (-x * 0.05, 0, r * 1.75), (-x * 0.6, 0, r)), 0.0028, sides=5, up=_Y),
    ]
    pipe = tube(
        ((x * 0.15, 0.0095, r * 0.7), (-x * 0.3, 0.0105, r * 0.62), (-x * 0.62, 0.0095, r * 0.78)),
        (0.0022, 0.003, 0.0036),
        sides=6,
        up=_Y,
    )
    side: Points2 = (
        (-x * 0.16, r * 1.6),
        (x * 0.36, r * 1.75),
        (x * 0.38, r * 2.05),
        (x * 0.2, r * 2.25),
        (-x * 0.08, r * 2.0),
    )
    seat: Points2 = (
        (-x * 0.72, r * 1.75),
        (-x * 0.1, r * 1.55),
        (-x * 0.08, r * 1.85),
        (-x * 0.35, r * 1.85),
        (-x * 0.74, r * 2.05),
    )
    return [
        seen("stand", block((x * 0.3, 0.024, 0.003)), DARK, (0, 0, 0.003)),
        seen("stand", block((0.003, 0.003, r * 0.3)), DARK, (0, 0, r * 0.3)),
        seen("wheel", joined([placed(tyre, at, ON_SIDE) for at in places]), BLACK, finish="matte"),
        seen(
            "wheel", joined([placed(s, at, ON_SIDE) for at in places for s in spokes]), SILVER, finish="metal"
        ),
        seen("body", joined([*legs, *frame, pipe]), SILVER, finish="metal"),
        seen("body", rounded_box((x * 0.2, 0.009, r * 0.36), 0.003), GREY, (-x * 0.02, 0, r * 0.95)),
        seen("body", placed(extrude(side, -0.0115, 0.0115, 0.003), quat=ON_SIDE), colour),
        seen("seat", placed(extrude(seat, -0.0095, 0.0095, 0.002), quat=ON_SIDE), BLACK, finish="matte"),
        seen("handlebar", tube(bars, 0.0028, sides=6), BLACK),
        seen("body", ball(0.0068, 8, 4), tint(YELLOW, 0.6), (x * 0.5, 0, r * 2.1)),
    ]
