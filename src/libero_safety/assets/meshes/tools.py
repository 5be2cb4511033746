"""How things with a handle look: cutlery, kitchen and workshop tools, pans and pots."""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from libero_safety.assets.asset import MeshData, Quat, Rgba, Shape, Vec3
from libero_safety.assets.geometry import quat_about
from libero_safety.assets.meshes.kit import (
    Points2,
    extrude,
    finish,
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
from libero_safety.assets.meshes.vessels import bow
from libero_safety.assets.objects.shapes import BLACK, DARK, SILVER, WOODEN, seen, shade, tint

Head: TypeAlias = Literal["spoon", "turner"]

_Y: Vec3 = (0.0, 1.0, 0.0)
_ALONG_Y: Quat = (0.7071067811865476, -0.7071067811865476, 0.0, 0.0)
"""Turns z to y."""


def bar(rows: tuple[tuple[float, float, float, float], ...], round_: float = 0.8) -> MeshData:
    """Return a bar along x through rounded sections (x, z of the middle, half width, half height)."""
    rings = [[(x, a, z + b) for a, b in round_rect(w, h, min(w, h) * round_, 2)] for x, z, w, h in rows]
    return loft(np.array(rings))


def bent(mesh: MeshData, height: Callable[[float], float]) -> MeshData:
    """Return the mesh with every vertex raised by `height` of its x."""
    vertices = mesh.vertices.copy()
    vertices[:, 2] += [height(x) for x in vertices[:, 0].tolist()]
    return finish(mesh.name, vertices, mesh.faces)


def knife_surface(blade_m: float, handle_m: float, width_m: float, colour: Rgba) -> list[Shape]:
    """Return a chef's knife: curved edge with a ground bevel, bolster, riveted handle."""
    z, w, tip = 0.009, width_m, blade_m * 0.3
    edge = ((0.0, -0.5 * w), (blade_m * 0.45, -0.49 * w), (blade_m - tip, -0.4 * w))
    edge += ((blade_m - tip * 0.5, -0.12 * w), (blade_m - tip * 0.15, 0.24 * w), (blade_m, 0.46 * w))
    outline = (*edge, (blade_m - tip * 0.3, 0.5 * w), (0.0, 0.5 * w))
    ground = (*edge[:-1], *((x - 0.004, y + 0.15 * w) for x, y in reversed(edge[:-1])))
    h = handle_m
    grip = bar(
        (
            (-h, z, 0.0095, 0.008),
            (-h * 0.97, z, 0.0128, z),
            (-h * 0.8, z, 0.0125, z),
            (-h * 0.45, z, 0.0105, z),
            (-h * 0.12, z, 0.0122, z),
            (-0.002, z, 0.0115, z * 0.95),
        ),
        0.6,
    )
    rivet = lathe(((0, -z - 0.0004), (0.0028, -z - 0.0004), (0.0028, z + 0.0004), (0, z + 0.0004)), 8)
    return [
        seen("blade", extrude(outline, z - 0.0012, z + 0.0012), SILVER, finish="metal"),
        seen("blade", extrude(ground, z - 0.0014, z + 0.0014), tint(SILVER, 0.7), finish="metal"),
        seen(
            "blade",
            rounded_box((0.005, 0.013, z * 0.82), 0.003),
            shade(SILVER, 0.8),
            (0.001, 0, z),
            finish="metal",
        ),
        seen("handle", grip, colour),
        seen(
            "handle", joined([placed(rivet, (-h * k, 0, z)) for k in (0.2, 0.5, 0.8)]), SILVER, finish="metal"
        ),
    ]


def hammer_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a claw hammer: rubber grip, wooden neck, steel head with a round face and a split claw."""
    z, end = 0.013, length_m / 2
    x = end - 0.013
    grip = bar(
        (
            (-end, z, 0.0095, 0.0095),
            (-end + 0.006, z, 0.0138, 0.0128),
            (-end * 0.7, z, 0.0125, 0.0118),
            (-end * 0.3, z, 0.0133, 0.0124),
            (end * 0.1, z, 0.012, 0.0118),
            (end * 0.3, z, 0.0105, 0.0105),
        )
    )
    neck = tube(((end * 0.28, 0, z), (end - 0.004, 0, z)), 0.008, sides=8)
    face: Points2 = (
        (0, 0.018),
        (0.0095, 0.018),
        (0.0095, 0.03),
        (z, 0.034),
        (z, 0.049),
        (z - 0.0015, 0.05),
        (0, 0.0502),
    )
    prong = [
        sweep(
            ((x, -0.016, z), (x, -0.028, z), (x - 0.002, -0.044, z - 0.001), (x - 0.006, -0.058, z - 0.005)),
            round_rect(0.0042, 0.0055, 0.002, 1),
            (1.0, 0.95, 0.8, 0.45),
        ),
    ]
    claws = [placed(prong[0], (s * 0.0052, 0, 0)) for s in (1, -1)]
    return [
        seen("handle", grip, colour, finish="matte"),
        seen("handle", neck, WOODEN, finish="matte"),
        seen("head", rounded_box((0.0132, 0.0245, z), 0.0025), DARK, (x, 0, z), finish="metal"),
        seen("head", lathe(face, 14), SILVER, (x, 0, z), _ALONG_Y, finish="metal"),
        seen("head", joined(claws), SILVER, finish="metal"),
    ]


def fork_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a table fork, its neck arched, four tapering tines."""
    reach, head, x0 = length_m * 0.55, length_m * 0.2, length_m * 0.25

    def lift(x: float) -> float:
        return float(np.interp(x, (-reach, -reach * 0.3, 0.0, x0 * 0.6, x0, x0 + head), _ARCH))

    grip = bar(
        (
            (-reach, 0, 0.0045, 0.002),
            (-reach * 0.97, 0, 0.0088, 0.0028),
            (-reach * 0.6, 0, 0.0075, 0.0032),
            (-reach * 0.2, 0, 0.005, 0.003),
            (0.0, 0, 0.0042, 0.003),
            (x0 * 0.6, 0, 0.0042, 0.0026),
            (x0 - 0.008, 0, 0.0068, 0.002),
        )
    )
    plate = ((x0 - 0.01, -0.006), (x0 + 0.004, -0.0125), (x0 + 0.01, -0.0128), (x0 + 0.01, 0.0128))
    plate += ((x0 + 0.004, 0.0125), (x0 - 0.01, 0.006))
    tines = [
        extrude(
            (
                (x0 + 0.008, y - 0.0022),
                (x0 + head, y - 0.0009),
                (x0 + head, y + 0.0009),
                (x0 + 0.008, y + 0.0022),
            ),
            -0.0014,
            0.0014,
        )
        for y in (-0.0106, -0.0036, 0.0036, 0.0106)
    ]
    fan = joined([extrude(plate, -0.0016, 0.0016), *tines])
    return [
        seen("handle", bent(grip, lift), colour, finish="metal"),
        seen("tines", bent(fan, lift), colour, finish="metal"),
    ]


_ARCH = (0.006, 0.006, 0.0068, 0.0078, 0.005, 0.0032)
"""Heights (m) of a fork's middle from the end of its handle to its points."""


def spoon_surface(length_m: float, colour: Rgba, head: Head, shine: str) -> list[Shape]:
    """Return a spoon with an oval bowl, or a slotted turner."""
    reach, middle, r = length_m * 0.75, length_m * 0.1, length_m * 0.11
    near = middle - r * 0.8
    grip = bar(
        (
            (-reach, 0.006, 0.004, 0.003),
            (-reach * 0.97, 0.006, 0.0078, 0.0042),
            (-reach * 0.6, 0.006, 0.0068, 0.0042),
            (-reach * 0.2, 0.006, 0.0048, 0.004),
            (0.0, 0.006, 0.0046, 0.0038),
            (near, 0.0045, 0.005, 0.003),
            (middle - r * 0.55, 0.0036, 0.006, 0.002),
        )
    )
    shapes = [seen("handle", grip, colour, finish=shine)]
    if head == "turner":
        blade = tuple((middle + a, b) for a, b in round_rect(r * 1.0, r * 0.78, r * 0.3, 2))
        slot = [
            placed(rounded_box((r * 0.55, r * 0.08, 0.0021), 0.0005), (middle + r * 0.15, y * r, 0.002))
            for y in (-0.4, 0, 0.4)
        ]
        return [
            *shapes,
            seen("bowl", extrude(blade, 0.0002, 0.0038, 0.001), colour, finish=shine),
            seen("bowl", joined(slot), shade(colour, 0.3), finish="matte"),
        ]
    dish: Points2 = (
        (0, 0.0),
        (r * 0.55, 0.0006),
        (r * 0.9, 0.0035),
        (r, 0.0062),
        (r * 0.93, 0.0065),
        (r * 0.8, 0.004),
        (r * 0.45, 0.002),
        (0, 0.0016),
    )
    return [*shapes, seen("bowl", lathe(dish, 18, (1.0, 0.74)), colour, (middle, 0, 0), finish=shine)]


def scissors_surface(length_m: float, colour: Rgba, spread: float) -> list[Shape]:
    """Return half-open scissors: two pointed blades, bent shanks, two finger loops, a screw."""
    z, blade, grip = 0.006, length_m * 0.5, length_m * 0.3
    ring = torus(0.0128, 0.0042, 14, 6, 0.92)
    shapes: list[Shape] = []
    for s in (1, -1):
        point = ((-0.008, -0.0055), (blade * 0.45, -0.0052), (blade * 0.98, -0.0005), (blade * 0.98, 0.0012))
        point += ((blade * 0.3, 0.0062), (-0.008, 0.006))
        leaf = extrude(point if s > 0 else tuple((x, -y) for x, y in reversed(point)), -0.0011, 0.0011)
        quat = quat_about((0.0, 0.0, 1.0), s * spread)
        shapes.append(seen("blade", leaf, SILVER, (0, 0, z + s * 0.0012), quat, finish="metal"))
        eye = (-grip - 0.006, s * 0.019, z)
        near = (-0.006, s * 0.002, z)
        shank = tube(
            (near, (-grip * 0.45, s * 0.012, z), (-grip + 0.01, s * 0.0155, z)),
            (0.0052, 0.0048, 0.0044),
            sides=6,
        )
        shapes.append(seen("handle", joined([shank, placed(ring, eye)]), colour))
    screw = lathe(
        ((0, z - 0.003), (0.0052, z - 0.003), (0.0052, z + 0.0036), (0.004, z + 0.0046), (0, z + 0.0046)), 10
    )
    return [*shapes, seen("pivot", screw, DARK, finish="metal")]


def pan_surface(radius_m: float, height_m: float, handle_m: float, colour: Rgba, grip: Rgba) -> list[Shape]:
    """Return a frying pan: flaring wall, dark coating inside, riveted handle with a hole to hang it."""
    base, r, h = 0.005, radius_m, height_m
    low = r * 0.85
    outside = bow((low, base * 0.6), (r, h), 0.002, 2)
    inside = bow((low - 0.006, base + 0.002), (r - 0.005, h), 0.002, 1)
    shell: Points2 = (
        (0, 0),
        (low * 0.96, 0),
        *outside,
        (r - 0.001, h + 0.0008),
        (r - 0.005, h),
        (low - 0.004, base - 0.001),
        (0, base - 0.001),
    )
    coat: Points2 = (
        (0, base - 0.001),
        (low - 0.005, base - 0.001),
        (r - 0.0035, h - 0.001),
        *inside[::-1],
        (low - 0.016, base + 0.0004),
        (0, base + 0.0004),
    )
    z = h * 0.8
    end = r + handle_m
    rows = (
        (r * 0.93, z - 0.004, 0.011, 0.0045),
        (r + 0.02, z, 0.008, 0.006),
        (r + handle_m * 0.35, z + 0.002, 0.0095, 0.0075),
        (r + handle_m * 0.75, z + 0.004, 0.0108, 0.0078),
        (end - 0.008, z + 0.004, 0.0098, 0.007),
        (end - 0.001, z + 0.004, 0.005, 0.004),
    )
    hole = lathe(((0, -0.0079), (0.004, -0.0079), (0.004, 0.0079), (0, 0.0079)), 8)
    rivet = lathe(((0, -0.004), (0.004, -0.004), (0.0035, 0.003), (0, 0.0034)), 8)
    turn = quat_about((0.0, 0.0, 1.0), math.pi / 2)
    return [
        seen("body", lathe(shell, 18), colour, finish="metal"),
        seen("body", lathe(coat, 18), shade(DARK, 0.6)),
        seen("handle", bar(rows), grip, quat=turn),
        seen("handle", hole, tint(grip, 0.5), (0, end - 0.016, z + 0.004)),
        seen(
            "body",
            joined([placed(rivet, (x, r * 0.955, z + 0.001)) for x in (-0.006, 0.006)]),
            SILVER,
            finish="metal",
        ),
    ]


def moka_surface(height_m: float, colour: Rgba) -> list[Shape]:
    """Return an eight-sided stove-top coffee pot: boiler, waist, collector with a spout, lid with a knob, handle."""
    h = height_m
    waist, edge = h * 0.45, h * 0.88
    k = 1.01
    boiler: Points2 = (
        (0, 0),
        (0.0395 * k, 0),
        (0.0405 * k, 0.004),
        (0.036 * k, waist * 0.9),
        (0.031, waist * 0.93),
        (0, waist * 0.93),
    )
    collar: Points2 = (
        (0, waist * 0.92),
        (0.0335, waist * 0.92),
        (0.0345, waist * 0.97),
        (0.0335, waist * 1.06),
        (0.031, waist * 1.07),
        (0, waist * 1.07),
    )
    top: Points2 = ((0, waist * 1.05), (0.0315 * k, waist * 1.05), (0.0385 * k, edge), (0, edge))
    lid: Points2 = (
        (0, edge - 0.001),
        (0.0385 * k, edge - 0.001),
        (0.0385 * k, edge + 0.003),
        (0.012, h * 0.94),
        (0, h * 0.945),
    )
    knob: Points2 = (
        (0, h * 0.93),
        (0.0045, h * 0.93),
        (0.0045, h * 0.95),
        (0.0085, h * 0.965),
        (0.0085, h * 0.985),
        (0.005, h),
        (0, h),
    )
    turn = quat_about((0.0, 0.0, 1.0), math.pi / 8)
    beak = np.array(
        [
            [(-0.010, 0.028, edge), (0.010, 0.028, edge), (0.0, 0.0525, edge)],
            [(-0.008, 0.026, edge - 0.02), (0.008, 0.026, edge - 0.02), (0.0, 0.0405, edge - 0.018)],
            [(-0.004, 0.024, edge - 0.04), (0.004, 0.024, edge - 0.04), (0.0, 0.0345, edge - 0.04)],
        ]
    )[::-1]
    low = edge - 0.004 - h * 0.4
    ear = (
        (0, -0.034, edge - 0.012),
        (0, -0.06, edge - 0.006),
        (0, -0.081, edge - 0.009),
        (0, -0.086, edge - 0.026),
        (0, -0.084, (edge + low) / 2),
        (0, -0.082, low + 0.006),
    )
    grip = sweep(
        ear,
        round_rect(0.0055, 0.0075, 0.003, 1),
        (0.8, 1.0, 1.1, 1.1, 1.0, 0.8),
        (1.0, 0.0, 0.0),
        False,
        0.002,
    )
    return [
        seen("body", lathe(boiler, 8), colour, quat=turn, finish="metal"),
        seen("body", lathe(collar, 16), shade(colour, 0.85), finish="metal"),
        seen("body", lathe(top, 8), colour, quat=turn, finish="metal"),
        seen("lid", lathe(lid, 8), tint(colour, 0.25), quat=turn, finish="metal"),
        seen("lid", lathe(knob, 10), BLACK),
        seen("spout", loft(beak), colour, finish="metal"),
        seen("handle", grip, BLACK),
    ]


def hairbrush_surface(length_m: float, colour: Rgba) -> list[Shape]:
    """Return a paddle brush on its bristles: oval back, cushion, rows of pins, waisted handle."""
    z, end = 0.02, length_m / 2
    x = end * 0.55
    back = extrude(_oval(end * 0.45, 0.026, x), z, z + 0.012, 0.0035)
    cushion = extrude(_oval(end * 0.41, 0.0225, x), z - 0.003, z + 0.001)
    pin = lathe(((0, 0.002), (0.0012, 0.003), (0.0009, z - 0.002), (0, z - 0.002)), 4)
    pins = [
        placed(pin, (x + end * 0.3 * a, 0.017 * b, 0))
        for a in (-1.0, -0.5, 0.0, 0.5, 1.0)
        for b in (-0.9, -0.3, 0.3, 0.9)
        if abs(a) < 0.9 or abs(b) < 0.5
    ]
    rows = (
        (-end, 0.012, 0.0065, 0.0055),
        (-end + 0.006, 0.012, 0.0105, 0.0088),
        (-end * 0.6, 0.0155, 0.0108, 0.0095),
        (-end * 0.2, 0.0205, 0.0085, 0.0078),
        (end * 0.12, z + 0.006, 0.009, 0.0055),
    )
    return [
        seen("head", back, colour),
        seen("bristles", cushion, shade(colour, 0.45), finish="matte"),
        seen("bristles", joined(pins), BLACK),
        seen("handle", bar(rows), colour),
    ]


def _oval(half_x: float, half_y: float, x: float, count: int = 16) -> Points2:
    turns = [2 * math.pi * i / count for i in range(count)]
    return tuple(
        (x + half_x * math.cos(t), half_y * math.copysign(abs(math.sin(t)) ** 0.8, math.sin(t)))
        for t in turns
    )
