"""How toys and things lying about in a living room or study look."""

import math

import numpy as np

from libero_safety.assets.asset import MeshData, Quat, Rgba, Shape, Vec3
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
    sweep,
    torus,
    tube,
)
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    CREAM,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SILVER,
    SKY,
    WHITE,
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
    rows = (
        (-0.66, 0.4, 2.6, 0.92),
        (-0.62, 0.34, 3.1, 0.9),
        (-0.5, 0.12, 4.1, 0.8),
        (-0.46, 0.06, 4.3, 0.76),
    )

    def ring(back: float, front: float, level: float, wide: float) -> list[Vec3]:
        middle, half = x * (back + front) / 2, x * (front - back) / 2
        return [(middle + a, b, r * level) for a, b in round_rect(half, y * wide, 0.004, 1)]

    cabin = loft(np.array([ring(*row) for row in rows[:3]]))
    roof = loft(
        np.array([ring(-0.53, 0.16, 4.05, 0.83), ring(-0.51, 0.13, 4.3, 0.8), ring(-0.4, 0.03, 4.38, 0.66)])
    )
    pillar = block((x * 0.035, y * 0.87, r * 0.72))
    lamp = lathe(((0, -0.002), (r * 0.28, -0.002), (r * 0.2, 0.0018), (0, 0.002)), 8)
    lights = [placed(lamp, (x * 0.995, s * y * 0.62, r * 1.75), ON_END) for s in (1, -1)]
    tail = [placed(block((0.0012, r * 0.35, r * 0.2)), (-x, s * y * 0.62, r * 1.9)) for s in (1, -1)]
    bumper = [placed(block((0.002, y * 0.86, r * 0.18)), (s * x, 0, r * 1.05)) for s in (1, -1)]
    return [
        seen("body", placed(extrude(side, -y, y, 0.0025), quat=ON_SIDE), colour),
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
        ((0, -b * 0.1), (y * 0.24, -b * 0.1), (y * 0.24, y * 0.18), (y * 0.15, y * 0.28), (0, y * 0.32)), 8
    )
    half = (x * 0.36, y * 0.92, y * 1.0)
    roof = rounded_box((x * 0.42, y * 1.02, y * 0.12), y * 0.1, y * 0.2)
    window = joined(
        [
            placed(block((x * 0.16, y * 0.94, y * 0.34)), (-x * 0.55, 0, r * 2 + y * 1.35)),
            placed(block((x * 0.372, y * 0.5, y * 0.3)), (-x * 0.55, 0, r * 2 + y * 1.4)),
        ]
    )
    plough = ((0, -y * 0.9), (x * 0.14, 0), (0, y * 0.9))
    return [
        seen("body", block((x * 0.96, y * 0.98, r * 0.5)), colour, (0, 0, r * 1.5)),
        seen("body", extrude(plough, r * 0.25, r * 1.6), DARK, (x * 0.9, 0, 0)),
        seen("boiler", placed(boiler, (0, 0, level), ON_END), BLUE),
        seen("boiler", joined([placed(band, (x * k, 0, level), ON_END) for k in (0.2, 0.72)]), YELLOW),
        seen("chimney", funnel, shade(YELLOW, 0.95), (x * 0.6, 0, 0)),
        seen("boiler", dome, YELLOW, (x * 0.16, 0, level + b * 0.95)),
        seen("cabin", block(half), GREEN, (-x * 0.55, 0, r * 2 + y)),
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
        ((x * 0.15, 0.0095, r * 0.7), (-x * 0.3, 0.0105, r * 0.62), (-x * 0.75, 0.0105, r * 0.85)),
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
        seen("body", ball(0.0068, 8, 4), tint(YELLOW, 0.6), (x * 0.53, 0, r * 2.1)),
    ]


def balls_surface(
    places: list[Vec3],
    radius_m: float,
    colours: tuple[Rgba, ...],
    frame_m: float,
    frame: Rgba,
    numbered: bool,
) -> list[Shape]:
    """Return balls in a shallow round tray; `numbered` ones have a white spot."""
    tray = lathe(((0, 0.0), (frame_m, 0), (frame_m, 0.0055), (frame_m * 0.95, 0.004), (0, 0.004)), 18)
    shapes = [seen("frame", tray, frame, finish="matte")]
    shapes += [seen("ball", ball(radius_m, 12, 5), c, at) for at, c in zip(places, colours, strict=True)]
    if numbered:
        spot = _patch(radius_m, 0.42)
        lean = [quat_about(_Y, 0.5 + 0.35 * (i % 3)) for i in range(len(places))]
        shapes.append(
            seen("ball", joined([placed(spot, at, q) for at, q in zip(places, lean, strict=True)]), WHITE)
        )
    return shapes


def _patch(radius: float, spread_rad: float) -> MeshData:
    """Return a round piece of a thin shell around a ball, about +z."""
    out, deep = radius * 1.012, radius * 0.9
    turns = (spread_rad, spread_rad * 0.5)
    outer = [(out * math.sin(t), out * math.cos(t)) for t in turns]
    return lathe(
        (
            (0, deep * math.cos(spread_rad)),
            (deep * math.sin(spread_rad), deep * math.cos(spread_rad)),
            *outer,
            (0, out),
        ),
        10,
    )


def ball_surface(radius_m: float, colour: Rgba) -> list[Shape]:
    """Return a play ball with a white belt and poles; a drop of water has neither."""
    r = radius_m
    at = (0.0, 0.0, r)
    if r < 0.012:
        return [seen("body", ball(r, 10, 5), colour, at)]
    belt = [(r * 1.008 * math.cos(t), r * 1.008 * math.sin(t)) for t in (-0.22, 0.0, 0.22)]
    loop = (*belt, (r * 0.9, r * 0.2), (r * 0.9, -r * 0.2))
    lean = quat_about((1.0, 0.0, 0.0), 0.6)
    return [
        seen("body", ball(r, 14, 8), colour, at),
        seen("body", lathe(loop, 14), WHITE, at, lean),
        seen("body", _patch(r, 0.35), shade(YELLOW, 1.0), at, lean),
    ]


def candle_surface(radius_m: float, height_m: float, colour: Rgba) -> list[Shape]:
    """Return a burning candle: saucer, wax with a melted hollow and a run, wick, bright flame."""
    r, h = radius_m, height_m
    wide = r * 1.5
    saucer: Points2 = (
        (0, 0.0),
        (wide * 0.7, 0.0),
        (wide, 0.006),
        (wide, 0.008),
        (wide * 0.94, 0.008),
        (wide * 0.68, 0.003),
        (0, 0.003),
    )
    wax: Points2 = (
        (0, 0.003),
        (r, 0.003),
        (r, h - 0.004),
        (r * 0.93, h),
        (r * 0.72, h - 0.0012),
        (r * 0.4, h - 0.003),
        (0, h - 0.003),
    )
    run = tube(
        ((0, r * 0.98, h - 0.002), (0, r * 1.0, h * 0.78), (0, r * 1.0, h * 0.62)),
        (0.0035, 0.003, 0.0042),
        sides=6,
        up=(1.0, 0.0, 0.0),
    )
    wick = tube(((0, 0, h - 0.003), (0.0006, 0, h + 0.006)), 0.0011, sides=5, up=_Y)
    flame: Points2 = (
        (0, h + 0.003),
        (0.0042, h + 0.007),
        (0.006, h + 0.013),
        (0.0042, h + 0.021),
        (0.0016, h + 0.029),
        (0, h + 0.034),
    )
    core = tuple((a * 0.5, h + 0.003 + (z - h - 0.003) * 0.5) for a, z in flame)
    return [
        seen("holder", lathe(saucer, 18), SILVER, finish="metal"),
        seen("body", lathe(wax, 16), colour),
        seen("body", run, tint(colour, 0.3)),
        seen("flame", wick, BLACK),
        seen("flame", lathe(core, 8), tint(YELLOW, 0.6), finish="glow"),
        seen("flame", lathe(flame, 10), (*ORANGE[:3], 0.75), finish="glow"),
    ]


def glasses_surface(width_m: float, colour: Rgba, z: float) -> list[Shape]:
    """Return eyeglasses: two rims with clear lenses, bridge, hinged temples that bend down behind the ears."""
    y, lens = width_m / 2, width_m * 0.2
    path = round_rect(lens, z * 0.86, z * 0.62, 3)
    rim = sweep(
        tuple((0.0, a, b) for a, b in path),
        ((0.0021, -0.002), (0.0021, 0.002), (-0.0021, 0.002), (-0.0021, -0.002)),
        None,
        (1.0, 0.0, 0.0),
        True,
    )
    pane = placed(extrude(path, -0.0006, 0.0006), quat=(0.5, 0.5, 0.5, 0.5))
    bow = ((0, -width_m * 0.055, z * 1.25), (0.002, 0, z * 1.42), (0, width_m * 0.055, z * 1.25))
    shapes = [seen("bridge", tube(bow, 0.0022, sides=6), colour)]
    for s in (1, -1):
        middle = (0.0, s * (y - lens - 0.004), z)
        arm = (
            (0.001, s * (y - 0.003), z + 0.007),
            (-0.004, s * y, z + 0.007),
            (-width_m * 0.62, s * y, z + 0.006),
            (-width_m * 0.76, s * y, z),
            (-width_m * 0.83, s * y, 0.004),
        )
        shapes += [
            seen("lens", rim, colour, middle),
            seen("lens", pane, (0.75, 0.88, 0.95, 0.35), middle, finish="metal"),
            seen(
                "temple",
                tube(arm, (0.002, 0.0022, 0.0022, 0.0028, 0.0028), sides=5, up=(0.0, 1.0, 0.2)),
                colour,
            ),
        ]
    return shapes


def keyboard_surface(half_x: float, half_y: float) -> list[Shape]:
    """Return a keyboard: sloped case, five rows of keys in two tones, a space bar."""
    pitch_x, pitch_y = half_x * 1.72 / 5, half_y * 1.88 / 12

    def key(wide: float) -> MeshData:
        x, y = pitch_x * 0.43, pitch_y * (wide / 2 - 0.07)
        return extrude(((-x, -y), (x, -y), (x, y), (-x, y)), 0.0, 0.0045, 0.0)

    plain, dark = [], []
    for row in range(5):
        widths = [1.0] * 12 if row else [1.25, 1.25, 1.25, 4.5, 1.25, 1.25, 1.25]
        at = -6.0
        for i, wide in enumerate(widths):
            pos = (pitch_x * (row - 2), pitch_y * (at + wide / 2), 0.0162)
            at += wide
            edge = row == 4 or i in (0, len(widths) - 1)
            (dark if edge else plain).append(placed(key(wide), pos))
    return [
        seen("body", rounded_box((half_x, half_y, 0.0085), 0.003), DARK, (0, 0, 0.0085)),
        seen("keys", joined(plain), WHITE),
        seen("keys", joined(dark), (0.6, 0.64, 0.7, 1.0)),
    ]


def console_surface(half_x: float, half_y: float) -> list[Shape]:
    """Return a hand-held console: glossy screen with a picture, two coloured grips with sticks and buttons."""
    z, end = 0.008, half_y * 0.3
    side = half_y - end / 2
    stick = lathe(
        (
            (0, 2 * z - 0.001),
            (0.004, 2 * z - 0.001),
            (0.004, 2 * z + 0.002),
            (0.0065, 2 * z + 0.002),
            (0.0065, 2 * z + 0.0035),
            (0, 2 * z + 0.003),
        ),
        8,
    )
    button = lathe(
        ((0, 2 * z - 0.001), (0.003, 2 * z - 0.001), (0.003, 2 * z + 0.0012), (0, 2 * z + 0.0012)), 6
    )
    buttons = [
        placed(button, (-s * half_x * 0.25 + 0.0075 * a, s * side + 0.0075 * b, 0))
        for s in (1, -1)
        for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    hill = ((-half_x * 0.78, -half_y * 0.56), (-half_x * 0.1, -half_y * 0.56), (half_x * 0.2, -half_y * 0.2))
    hill += (
        (-half_x * 0.15, half_y * 0.1),
        (half_x * 0.1, half_y * 0.35),
        (-half_x * 0.1, half_y * 0.56),
        (-half_x * 0.78, half_y * 0.56),
    )
    shapes = [
        seen("screen", rounded_box((half_x, half_y - end, z), 0.002), BLACK, (0, 0, z)),
        seen("screen", block((half_x * 0.82, half_y * 0.58, 0.0005)), SKY, (0, 0, 2 * z), finish="glow"),
        seen("screen", extrude(hill, 2 * z, 2 * z + 0.0009), GREEN, finish="glow"),
        seen("grip", joined(buttons), WHITE),
        seen("grip", joined([placed(stick, (s * half_x * 0.38, s * side, 0)) for s in (1, -1)]), DARK),
    ]
    for s, colour in ((1, RED), (-1, BLUE)):
        shapes.append(seen("grip", rounded_box((half_x, end / 2, z), 0.003, 0.012), colour, (0, s * side, z)))
    return shapes


def cap_surface(radius_m: float, colour: Rgba) -> list[Shape]:
    """Return a baseball cap: domed crown with seams, curved visor, a bobble."""
    r = radius_m
    crown: Points2 = (
        (0, 0.001),
        (r * 0.97, 0),
        (r * 0.99, r * 0.3),
        (r * 0.97, r * 0.65),
        (r * 0.84, r * 0.95),
        (r * 0.56, r * 1.1),
        (r * 0.25, r * 1.17),
        (0, r * 1.18),
    )
    seams: list[MeshData] = []
    for i in range(3):
        a = math.pi * (i / 3 + 1 / 6)
        arc = [
            (k * rr * 1.004, z * 1.003)
            for k in (1, -1)
            for rr, z in (crown[1:-1] if k == 1 else crown[-2:0:-1])
        ]
        path = tuple((d * math.cos(a), d * math.sin(a), z) for d, z in arc)
        seams.append(
            sweep(
                path,
                ((0.0012, 0), (-0.0006, 0.001), (-0.0006, -0.001)),
                None,
                (-math.sin(a), math.cos(a), 0.0),
            )
        )
    arc = [
        (-r * (0.8 + 0.9 * math.sin(t)), -r * 0.78 * math.cos(t))
        for t in (math.pi * i / 10 for i in range(11))
    ]
    visor = extrude(tuple(reversed([(x, y) for x, y in arc])), 0.0005, 0.0055, 0.0015)
    band = lathe(((r * 0.9, r * 0.07), (r * 1.002, 0.0), (r * 1.004, r * 0.14)), 18)
    return [
        seen("crown", lathe(crown, 18), colour, finish="matte"),
        seen("crown", joined(seams), shade(colour, 0.6), finish="matte"),
        seen("crown", band, shade(colour, 0.8), finish="matte"),
        seen("visor", visor, shade(colour, 0.8), finish="matte"),
        seen("button", ball(0.0125, 8, 5), WHITE, (0, 0, r * 1.18 + 0.0085), finish="matte"),
        seen("crown", _badge(r), CREAM, finish="matte"),
    ]


def _badge(r: float) -> MeshData:
    """Return a round patch on the front of a cap's crown."""
    ring = [
        [
            (-out + 0.06 * r * (b * 0.5 + 0.5) ** 2, a * r * 0.26, r * 0.5 + b * r * 0.22)
            for a, b in _circle8()
        ]
        for out in (r * 0.93, r * 1.004)
    ]
    return loft(np.array(ring)[:, ::-1])


def _circle8() -> Points2:
    return tuple((math.cos(math.pi * i / 5), math.sin(math.pi * i / 5)) for i in range(10))
