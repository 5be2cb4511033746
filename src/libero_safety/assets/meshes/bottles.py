"""How closed containers look."""

import math

import numpy as np

from libero_safety.assets.asset import Rgba, Shape
from libero_safety.assets.meshes.kit import Points2, circle, lathe, loft, round_rect, rounded_box, torus, tube
from libero_safety.assets.meshes.vessels import wrapped
from libero_safety.assets.objects.shapes import seen, shade, tint


def bottle_surface(
    radius_m: float,
    height_m: float,
    colour: Rgba,
    label: Rgba,
    cap: Rgba,
    shoulder: float,
    neck: float,
) -> list[Shape]:
    """Return a round bottle with sloping shoulders, a label with a band and a mark, and a ribbed cap."""
    r, h, n = radius_m, height_m, radius_m * neck
    top, edge = h * shoulder, h * 0.88
    slope = top + (edge - top) * 0.35
    body: Points2 = (
        (0, 0.002),
        (r * 0.88, 0),
        (r, 0.005),
        (r, top * 0.97),
        (r * 0.96, top + (slope - top) * 0.3),
        (r * (0.45 + 0.55 * neck), slope),
        (n * 1.03, slope + (edge - slope) * 0.28),
        (n, slope + (edge - slope) * 0.5),
        (0, slope + (edge - slope) * 0.5),
    )
    throat = slope + (edge - slope) * 0.48
    collar: Points2 = ((0, throat), (n, throat), (n * 1.1, edge), (0, edge))
    c = n * 1.15
    lid: Points2 = ((0, edge), (c, edge), (c * 1.02, edge + (h - edge) * 0.8), (c * 0.9, h), (0, h))
    low, high = top * 0.25, top * 0.8
    span = high - low
    belt = ((r - 0.001, low + span * 0.15), (r + 0.0009, low + span * 0.08), (r + 0.0009, low + span * 0.22))
    return [
        seen("body", lathe(body, 14), colour),
        seen("neck", lathe(collar, 10), colour),
        seen("cap", lathe(lid, 12), cap),
        seen("body", lathe(wrapped(((r, low), (r, high))), 14), label),
        seen("body", lathe(belt, 14), cap),
        *marks(r, low + span * 0.62, span * 0.22, shade(cap, 0.9)),
    ]


def marks(radius_m: float, level_m: float, half_m: float, colour: Rgba) -> list[Shape]:
    """Return a round mark on the front and on the back of a cylinder of facets."""
    outside = radius_m * 1.018 + 0.0009
    shapes: list[Shape] = []
    for s in (1, -1):
        rings = [
            [(s * (math.sqrt(max(r * r - y * y, 0.0))), s * y, z) for y, z in circle(half, 10)]
            for r, half in ((radius_m * 0.9, half_m), (outside, half_m), (outside, half_m * 0.5))
        ]
        tips = [np.array([s * r, 0.0, 0.0]) for r in (radius_m * 0.9, outside)]
        shapes.append(seen("body", loft(np.array(rings), (tips[0], tips[1])), colour, (0, 0, level_m)))
    return shapes


def flask_surface(
    half_x: float, half_y: float, height_m: float, colour: Rgba, label: Rgba, cap: Rgba, pump: bool
) -> list[Shape]:
    """Return a flat bottle with round shoulders, a label on both faces, and a conical cap or a pump."""
    x, y, h = half_x, half_y, height_m
    top, edge = h * 0.74, h * 0.84
    r = min(x, y) * 0.7
    rows = (
        (0.93, 0.0),
        (1.0, 0.004),
        (1.0, top * 0.93),
        (0.93, top * 0.985),
        (0.7, top * 1.01),
    )
    corner = min(x, y) * 0.55
    rings = [[(a, b, z) for a, b in round_rect(x * k, y * k, corner * k, 3)] for k, z in rows]
    rings.append([(a, b, top * 1.04) for a, b in round_rect(r * 0.85, r * 0.85, r, 3)])
    rings.append([(a, b, edge) for a, b in round_rect(r * 0.85, r * 0.85, r, 3)])
    shapes = [seen("body", loft(np.array(rings)), colour)]
    if pump:
        low = edge + (h - edge) * 0.35
        lid: Points2 = ((0, edge), (r, edge), (r, low), (r * 0.3, low), (r * 0.3, h - 0.006), (0, h - 0.006))
        spout = tube(
            ((r * 0.55, 0, h - 0.004), (-r * 0.6, 0, h - 0.004), (-r - 0.0005, 0, h - 0.008)), 0.004, sides=6
        )
        shapes += [seen("cap", lathe(lid, 12), cap), seen("cap", spout, cap)]
    else:
        lid = (
            (0, edge),
            (r, edge),
            (r, edge + (h - edge) * 0.3),
            (r * 0.62, h - 0.001),
            (r * 0.5, h),
            (0, h),
        )
        shapes.append(seen("cap", lathe(lid, 14), cap))
    panel = rounded_box((x * 0.72, y + 0.0006, top * 0.3), 0.0004, None)
    bar = rounded_box((x * 0.72, y + 0.0009, top * 0.06), 0.0003, None)
    disc = lathe(((0, -y - 0.001), (top * 0.1, -y - 0.001), (top * 0.1, y + 0.001), (0, y + 0.001)), 12)
    lying = (0.7071067811865476, 0.7071067811865476, 0.0, 0.0)
    return [
        *shapes,
        seen("body", panel, label, (0, 0, top * 0.45)),
        seen("body", bar, shade(colour, 0.8), (0, 0, top * 0.62)),
        seen("body", disc, cap if cap != label else colour, (0, 0, top * 0.4), lying),
    ]


def can_surface(
    radius_m: float, height_m: float, colour: Rgba, band: Rgba, lid: Rgba, jar: bool
) -> list[Shape]:
    """Return a can with rolled edges, a ring pull and a printed band, or a jar with a screw lid."""
    r, h = radius_m, height_m
    edge = h - 0.006
    body: Points2 = (
        (0, 0.003),
        (r * 0.9, 0.0),
        (r * 0.95, 0.0005),
        (r, 0.004),
        (r, edge - 0.002),
        (r * 0.97, edge),
        (0, edge),
    )
    shapes = [seen("body", lathe(body, 16), colour)]
    if jar:
        top: Points2 = (
            (0, edge - 0.006),
            (r * 1.0, edge - 0.006),
            (r * 1.0, h - 0.001),
            (r * 0.94, h),
            (0, h),
        )
        shapes.append(seen("lid", lathe(top, 16), lid))
    else:
        k = r * 0.96
        top = (
            (0, edge - 0.001),
            (k, edge - 0.001),
            (k, h),
            (k - 0.0015, h),
            (k - 0.003, h - 0.003),
            (0, h - 0.003),
        )
        pull = torus(0.006, 0.0013, 10, 4, 0.75)
        shapes += [
            seen("lid", lathe(top, 16), lid, finish="metal"),
            seen("lid", pull, shade(lid, 0.6), (r * 0.25, 0, h - 0.002)),
        ]
    low, high = h * 0.3, h * 0.62
    return [
        *shapes,
        seen("body", lathe(wrapped(((r, low), (r, high))), 16), band),
        *marks(r, (low + high) / 2, (high - low) * 0.36, tint(colour, 0.1)),
    ]
