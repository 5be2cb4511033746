"""How open vessels look."""

import math

import numpy as np

from libero_safety.assets.asset import MeshData, Rgba, Shape
from libero_safety.assets.meshes.kit import (
    Points2,
    lathe,
    loft,
    round_rect,
    rounded_box,
    sweep,
    tube,
)
from libero_safety.assets.objects.shapes import seen, shade, tint


def bow(start: tuple[float, float], end: tuple[float, float], bulge: float, count: int = 4) -> Points2:
    """Return `count` + 1 points from `start` to `end` that stand out to the right of the way by up to `bulge` (m)."""
    dr, dz = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dr, dz)
    points: list[tuple[float, float]] = []
    for i in range(count + 1):
        t = i / count
        out = bulge * math.sin(math.pi * t) / length
        points.append((start[0] + t * dr + out * dz, start[1] + t * dz - out * dr))
    return tuple(points)


def wrapped(points: Points2, out_m: float = 0.0006, deep_m: float = 0.0015) -> Points2:
    """Return the section of a band around a lathed thing: `points` of its outside, from below, moved out."""
    outer = [(r + out_m, z) for r, z in points]
    inner = [(max(r - deep_m, 1e-4), z) for r, z in reversed(points)]
    return (*outer, *inner)


def bowl_surface(
    radius_m: float,
    height_m: float,
    colour: Rgba,
    stripe: Rgba | None,
    foot: float,
    wall_m: float,
    finish: str,
) -> list[Shape]:
    """Return a lathed bowl on a foot ring, and its painted edge."""
    base, foot_m = 0.18 * height_m + 0.003, foot * radius_m
    bulge = min(0.003, 0.055 * radius_m) * (1.0 if foot < 0.8 else 0.3)
    outside = bow((foot_m, base * 0.5), (radius_m, height_m), bulge, 3)
    inside = bow((foot_m - wall_m * 1.4, base), (radius_m - wall_m * 0.8, height_m), bulge, 2)
    profile = (
        (0.0, 0.0015),
        (foot_m * 0.82, 0.0),
        (foot_m * 0.98, 0.0),
        *outside,
        (radius_m - wall_m * 0.4, height_m + 0.0012),
        *inside[::-1],
        (0.0, base),
    )
    shapes = [seen("body", lathe(profile, 20), colour, finish=finish)]
    if stripe is not None:
        edge = (outside[2], outside[3], (radius_m - wall_m * 0.4, height_m + 0.0018), inside[2])
        shapes.append(seen("rim", lathe(wrapped_edge(edge), 20), stripe, finish=finish))
    return shapes


def wrapped_edge(points: Points2) -> Points2:
    """Return the section of a glazed edge: outside from below, top, and a little way down inside."""
    (r0, z0), (r1, z1), top, (r2, z2) = points
    return ((r0 + 0.0008, z0), (r1 + 0.0008, z1), top, (r2 - 0.0008, z2 - 0.003), (r0 - 0.002, z0))


def plate_surface(radius_m: float, height_m: float, colour: Rgba, rim_colour: Rgba) -> list[Shape]:
    """Return a plate: flat middle, and a broad rim that sweeps up."""
    base, ring = 0.005, radius_m * 0.84
    body: Points2 = (
        (0.0, 0.001),
        (ring * 0.75, 0.0),
        (ring * 0.95, 0.0),
        (ring, 0.0025),
        (ring, base + 0.0008),
        (ring * 0.9, base),
        (0.0, base),
    )
    outside = bow((ring - 0.001, 0.002), (radius_m, height_m), 0.0022, 2)
    inside = bow((ring - 0.001, base + 0.0008), (radius_m - 0.004, height_m), 0.0018, 2)
    rim = (*outside, (radius_m - 0.002, height_m + 0.0008), *inside[::-1])
    line = ((ring * 0.68, base - 0.001), (ring * 0.71, base + 0.0004), (ring * 0.66, base + 0.0004))
    return [
        seen("body", lathe(body, 20), colour),
        seen("body", lathe(line, 20), rim_colour),
        seen("rim", lathe(rim, 20), rim_colour),
    ]


def mug_surface(radius_m: float, height_m: float, colour: Rgba, inside: Rgba, handle: float) -> list[Shape]:
    """Return a mug with a rounded foot, an inner glaze that runs over the lip, and an ear of a handle."""
    base, wall = 0.3 * height_m, 0.005
    r, h = radius_m, height_m
    body: Points2 = (
        (0, 0.0015),
        (r * 0.82, 0.0015),
        (r * 0.86, 0),
        (r - 0.003, 0.0005),
        (r, 0.005),
        (r, h - 0.004),
        (r - 0.0015, h - 0.004),
        (r - 0.0015, base),
        (0, base),
    )
    glaze: Points2 = (
        (0, base - 0.002),
        (r - 0.0014, base - 0.002),
        (r - 0.0014, h - 0.004),
        (r + 0.0002, h - 0.004),
        (r - wall * 0.4, h),
        (r - wall, h - 0.002),
        (r - wall, base + 0.005),
        (r * 0.75, base + 0.0008),
        (0, base + 0.0008),
    )
    reach = radius_m + 0.028
    ways = (
        (r + 0.002, 0.8),
        (r + 0.011, 0.845),
        (reach - 0.005, 0.79),
        (reach, 0.66),
        (reach, 0.48),
        (reach - 0.006, 0.34),
        (r + 0.011, 0.27),
        (r + 0.002, 0.3),
    )
    ear = tube(tuple((0.0, handle * y, t * h) for y, t in ways), 0.0048, sides=6, up=(1.0, 0.0, 0.0))
    return [
        seen("body", lathe(body, 17), colour),
        seen("rim", lathe(glaze, 17), inside),
        seen("handle", ear, colour),
    ]


def glass_surface(radius_m: float, height_m: float, colour: Rgba, foot: float) -> list[Shape]:
    """Return a drinking glass with a heavy bottom."""
    base, r = 0.3 * height_m, radius_m
    low = r * foot
    profile: Points2 = (
        (0, 0.002),
        (low * 0.85, 0),
        (low, 0.003),
        (low + (r - low) * 0.3, base),
        (r, height_m - 0.001),
        (r - 0.0015, height_m),
        (r - 0.003, height_m - 0.001),
        (low + (r - low) * 0.3 - 0.0035, base + 0.004),
        (low * 0.7, base),
        (0, base),
    )
    lip = (
        (r + 0.0003, height_m - 0.003),
        (r + 0.0003, height_m),
        (r - 0.003, height_m),
        (r - 0.003, height_m - 0.003),
    )
    bright: Rgba = (*shade(colour, 1.15)[:3], min(1.0, colour[3] + 0.3))
    return [seen("body", lathe(profile, 20), colour, finish="metal"), seen("rim", lathe(lip, 20), bright)]


def vase_surface(radius_m: float, height_m: float, colour: Rgba, foot: float, neck: float) -> list[Shape]:
    """Return a bellied vase with a flaring neck and painted bands."""
    r, h, top = radius_m, height_m, radius_m * neck
    belly: Points2 = (
        (r * foot, 0.004),
        (r * 0.78, 0.13 * h),
        (r * 0.93, 0.24 * h),
        (r, 0.36 * h),
        (r * 0.9, 0.48 * h),
        (r * 0.7, 0.565 * h),
        (top, 0.64 * h),
    )
    profile: Points2 = (
        (0, 0.001),
        (r * foot * 0.94, 0),
        *belly,
        (top * 0.93, 0.78 * h),
        (top * 1.12, h - 0.001),
        (top * 1.12 - 0.003, h),
        (top - 0.006, 0.66 * h),
        (0, 0.63 * h),
    )
    pale = tint(colour)
    shapes = [seen("body", lathe(profile, 16), colour)]
    shapes += [seen("body", lathe(wrapped(belly[i : i + 2]), 16), pale) for i in (2, 4)]
    return shapes


def tub(
    half_x: float,
    half_y: float,
    height_m: float,
    wall_m: float,
    base_m: float,
    corner_m: float,
    taper: float = 1.0,
) -> MeshData:
    """Return an open box with round corners; its floor is `taper` times as wide as its top."""
    rows = (
        (0.0, taper, 0.0),
        (0.0, 1.0, height_m - 0.001),
        (wall_m * 0.5, 1.0, height_m),
        (wall_m, 1.0, height_m - 0.001),
        (wall_m, taper, base_m),
    )
    rings = [
        [(x, y, z) for x, y in round_rect(half_x * k - i, half_y * k - i, max(corner_m - i, 0.002), 3)]
        for i, k, z in rows
    ]
    return loft(np.array(rings))


def hoop(half_x: float, half_y: float, corner_m: float, level: float, thick: tuple[float, float]) -> MeshData:
    """Return a flat bar, `thick` = (radial, vertical) half sizes, around a rectangle with round corners."""
    path = tuple((x, y, level) for x, y in round_rect(half_x, half_y, corner_m, 2))
    t, z = thick
    return sweep(path, ((t, -z), (t, z), (-t, z), (-t, -z)), closed=True)


def basket_surface(half_x: float, half_y: float, height_m: float, colour: Rgba, woven: bool) -> list[Shape]:
    """Return a basket of woven bands, or a plastic crate with a folded rim."""
    corner = 0.016
    edge = height_m * 0.9
    shapes = [
        seen("body", tub(half_x, half_y, height_m - 0.004, 0.008, 0.006, corner), colour, finish="matte"),
        seen(
            "rim",
            hoop(half_x - 0.003, half_y - 0.003, corner, edge, (0.006, height_m * 0.085)),
            shade(colour),
        ),
    ]
    if woven:
        levels = [height_m * (0.09 + 0.175 * i) for i in range(4)]
        shapes += [
            seen(
                "body",
                hoop(half_x - 0.001, half_y - 0.001, corner, z, (0.0025, height_m * 0.04)),
                shade(colour, 0.86),
            )
            for z in levels
        ]
    return shapes


def tray_surface(half_x: float, half_y: float, height_m: float, colour: Rgba, wall_m: float) -> list[Shape]:
    """Return a tray with a rounded rim and a raised bar at each end."""
    shapes = [seen("body", tub(half_x, half_y, height_m, wall_m, 0.008, 0.012), colour, finish="matte")]
    pad = rounded_box((half_x - wall_m - 0.003, half_y - wall_m - 0.003, 0.0005), 0.0003, 0.008)
    shapes.append(seen("body", pad, shade(colour, 1.25), (0, 0, 0.008), finish="matte"))
    y, z = half_y * 0.5, height_m
    for s in (1, -1):
        path = ((0, -y, z - 0.004), (0, -y * 0.8, z + 0.003), (0, y * 0.8, z + 0.003), (0, y, z - 0.004))
        shapes.append(seen("handle", tube(path, 0.005, sides=6), shade(colour, 0.7), (s * half_x, 0, 0)))
    return shapes
