"""How toys and things lying about in a living room or study look."""

import math

import numpy as np

from libero_safety.assets.asset import MeshData, Rgba, Shape, Vec3
from libero_safety.assets.geometry import quat_about
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
    tube,
)
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    CREAM,
    DARK,
    GREEN,
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

_Y: Vec3 = (0.0, 1.0, 0.0)


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
    belt = [(r * 1.025 * math.cos(t), r * 1.025 * math.sin(t)) for t in (-0.22, 0.0, 0.22)]
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
