"""How fruit and other food look."""

import math
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from libero_safety.assets.asset import MeshData, Quat, Rgba, Shape, Vec3
from libero_safety.assets.meshes.kit import (
    Points2,
    circle,
    extrude,
    joined,
    lathe,
    loft,
    placed,
    sweep,
    tube,
)
from libero_safety.assets.objects.shapes import (
    BROWN,
    DARK_GREEN,
    GREEN,
    RED,
    WHITE,
    seen,
    shade,
    tint,
)

Form: TypeAlias = Literal["round", "apple", "citrus", "pear", "egg", "tomato"]

ALONG_X: Quat = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0)
"""Turns z to x."""


def ball(radius: float, segments: int = 12, rows: int = 6) -> MeshData:
    """Return a sphere of few facets."""
    return lathe(_arc(radius * (1 + 0.65 / rows**2), radius, rows), segments)


def chip(radius: float, half: float) -> MeshData:
    """Return a crumb."""
    return lathe(((0, -half), (radius, -half), (radius * 0.8, half), (0, half)), 5)


def _arc(radius: float, half_z: float, rows: int, skew: float = 0.0) -> Points2:
    """Return half an ellipse from bottom to top; with `skew` its lower end is blunter."""
    points: list[tuple[float, float]] = []
    for i in range(rows + 1):
        t = math.pi * (i / rows - 0.5)
        wide = math.cos(t) * (1 - skew * math.sin(t))
        points.append((0.0 if i in (0, rows) else radius * wide, half_z * math.sin(t)))
    return tuple(points)


def fruit_surface(
    half: Vec3, rest: float, colour: Rgba, stem: Rgba | None, tip: float, form: Form
) -> list[Shape]:
    """Return a fruit or an egg whose middle is `rest` above the table."""
    x, y, z = half
    at = (0.0, 0.0, rest)
    if form == "egg":
        shell = lathe(_arc(1.0, x, 10, 0.13), 16, (z, y))
        return [seen("body", shell, colour, at, ALONG_X, finish="matte")]
    if form == "citrus":
        return _citrus(half, colour, tip, at)
    if form == "pear":
        return _pear(half, colour, stem or BROWN, at)
    if form == "round":
        return [seen("body", lathe(_arc(1.0, z, 8), 16, (x, y)), colour, at)]
    return _apple(half, colour, stem or BROWN, at, form)


def _apple(half: Vec3, colour: Rgba, stem: Rgba, at: Vec3, form: Form) -> list[Shape]:
    x, y, z = half
    profile: Points2 = (
        (0, -0.88 * z),
        (0.22, -0.96 * z),
        (0.5, -0.86 * z),
        (0.82, -0.52 * z),
        (1.0, 0.02 * z),
        (0.92, 0.5 * z),
        (0.62, 0.84 * z),
        (0.3, 0.96 * z),
        (0.12, 0.88 * z),
        (0, 0.74 * z),
    )
    shapes = [seen("body", lathe(profile, 16, (x, y)), colour, at)]
    top = at[2] + z * 0.74
    if form == "tomato":
        star = tuple(
            (r * math.cos(t), r * math.sin(t))
            for r, t in ((x * (0.6 if i % 2 == 0 else 0.16), math.pi * i / 5) for i in range(10))
        )
        rings = [
            [(a, b, z * (0.98 + up) - 0.0045 * math.hypot(a, b) / (x * 0.3)) for a, b in star]
            for up in (-0.04, 0.03)
        ]
        shapes.append(seen("stem", loft(np.array(rings)), stem, at))
        shapes.append(
            seen("stem", tube(((0, 0, top), (0.002, 0, top + z * 0.42)), 0.0022, sides=5, up=_UP), stem)
        )
        return shapes
    stalk = ((0, 0, top), (0.001, 0, top + z * 0.22), (0.004, 0, top + z * 0.46))
    blade = ((0.0, 0.0), (0.006, -0.0045), (0.014, -0.004), (0.02, 0.0), (0.014, 0.004), (0.006, 0.0045))
    leaf = placed(extrude(blade, -0.0005, 0.0005), (0.002, 0, top + z * 0.36), (0.985, 0.0, -0.17, 0.0))
    return [
        *shapes,
        seen("stem", tube(stalk, (0.0018, 0.0016, 0.0022), sides=5, up=_UP), stem),
        seen("stem", leaf, GREEN),
    ]


_UP: Vec3 = (0.0, 1.0, 0.0)


def _citrus(half: Vec3, colour: Rgba, tip: float, at: Vec3) -> list[Shape]:
    x, y, z = half
    if not tip:
        skin = lathe((*_arc(1.0, z, 8)[:-1], (0.1, z * 0.97), (0, z * 0.93)), 16, (x, y))
        navel = lathe(((0, z * 0.9), (0.0035, z * 0.9), (0.0035, z * 0.965), (0, z * 0.975)), 6)
        return [seen("body", skin, colour, at), seen("stem", navel, shade(DARK_GREEN, 1.3), at)]
    end = x + tip * 0.8
    profile: Points2 = (
        (0, -end + tip * 0.2),
        (0.14, -end + tip * 0.3),
        (0.34, -x * 0.96),
        (0.68, -x * 0.78),
        (0.92, -x * 0.42),
        (1.0, 0),
        (0.92, x * 0.42),
        (0.68, x * 0.76),
        (0.4, x * 0.96),
        (0.22, x + tip * 0.3),
        (0.12, end - tip * 0.1),
        (0, end),
    )
    bud = lathe(((0, -0.0015), (0.003, -0.0015), (0.0025, 0.001), (0, 0.001)), 6)
    return [
        seen("body", lathe(profile, 16, (z, y)), colour, at, ALONG_X),
        seen("body", bud, shade(GREEN, 0.8), (-end, 0, at[2]), ALONG_X),
    ]


def _pear(half: Vec3, colour: Rgba, stem: Rgba, at: Vec3) -> list[Shape]:
    x, y, z = half
    profile: Points2 = (
        (0, -0.84 * z),
        (0.3, -0.9 * z),
        (0.72, -0.78 * z),
        (1.0, -0.4 * z),
        (1.02, -0.1 * z),
        (0.86, 0.3 * z),
        (0.64, 0.64 * z),
        (0.5, 0.88 * z),
        (0.28, 1.0 * z),
        (0, 0.98 * z),
    )
    stalk = ((0, 0, z * 0.95), (0.001, 0, z * 1.08), (0.004, 0, z * 1.2))
    return [
        seen("body", lathe(profile, 16, (x, y)), colour, at),
        seen("stem", tube(stalk, 0.0018, sides=5, up=_UP), stem, at),
    ]


def banana_surface(radius_m: float, bend: float, curve: float, colour: Rgba) -> list[Shape]:
    """Return a bent, five-edged banana with a stalk and a dark blossom end."""

    def point(share: float) -> Vec3:
        a = curve * (share - 0.5)
        return (bend * math.sin(a), bend * math.cos(a), radius_m)

    shares = (-0.075, -0.03, 0.06, 0.22, 0.4, 0.6, 0.78, 0.92, 1.0, 1.06)
    sizes = (0.3, 0.62, 0.92, 1.04, 1.06, 1.06, 1.03, 0.86, 0.55, 0.34)
    outline = tuple(
        (1.09 * math.cos(t), 1.09 * math.sin(t)) for t in (2 * math.pi * (i + 0.25) / 6 for i in range(6))
    )
    scale = tuple(radius_m * k for k in sizes)
    body = sweep(tuple(point(s) for s in shares), outline, scale)
    stalk = tube(
        (point(1.05), point(1.1), point(1.16)), (radius_m * 0.33, radius_m * 0.28, radius_m * 0.36), sides=6
    )
    blossom = tube((point(-0.085), point(-0.07)), radius_m * 0.26, sides=6)
    return [
        seen("body", body, colour, finish="matte"),
        seen("stem", stalk, shade(colour, 0.6), finish="matte"),
        seen("body", blossom, shade(BROWN, 0.6), finish="matte"),
    ]


def cluster_surface(radius_m: float, colour: Rgba, count: int, leafy: bool) -> list[Shape]:
    """Return balls grown together: sprouts of wrapped leaves, or grapes on a stalk."""
    r = radius_m
    middles = [
        (r * 1.1 * math.cos(a), r * 1.1 * math.sin(a), r)
        for a in (2 * math.pi * i / count for i in range(count))
    ]
    middles.append((0.0, 0.0, r * 2.1))
    if not leafy:
        berry = ball(r * 1.03, 10, 5)
        twig = tube(((0, 0, r * 2.9), (0.001, 0, r * 3.3), (0.005, 0, r * 3.6)), 0.0016, sides=5, up=_UP)
        berries = [placed(berry, m) for m in middles]
        return [seen("body", joined(berries), colour), seen("stem", twig, BROWN)]
    head = _sprout(r * 1.04)
    leans = [(math.cos(a), math.sin(a), 0.0, 0.0) for a in (0.25, -0.2, 0.35, -0.3, 0.15)]
    sprouts = [placed(head, m, leans[i % 5]) for i, m in enumerate(middles)]
    return [seen("body", joined(sprouts), colour, finish="matte")]


def _sprout(radius: float) -> MeshData:
    """Return a ball of three layers of leaves, each standing out at its edge."""
    layers = [(-1.571, 0.0), (-0.8, 1.0), (0.0, 1.04), (0.42, 1.06), (0.46, 0.99), (0.85, 1.01), (0.9, 0.94)]
    layers.append((1.571, 0.95))
    profile = [(k * math.cos(t) * radius, max(k, 0.97) * math.sin(t) * radius) for t, k in layers]
    return lathe(((0.0, profile[0][1]), *profile[1:-1], (0.0, profile[-1][1])), 10)


def croissant_surface(
    points: Points2, radius_m: float, radii: tuple[float, ...], colour: Rgba
) -> list[Shape]:
    """Return a croissant: rolled layers along an arc, darker in the grooves."""
    middle = np.array(points)
    thick = np.array([radii[0] * 0.62, *((a + b) / 2 for a, b in pairwise(radii)), radii[-1] * 0.62])
    share = np.linspace(0, len(points) - 1, 17)
    x = np.interp(share, np.arange(len(points)), middle[:, 0])
    y = np.interp(share, np.arange(len(points)), middle[:, 1])
    r = np.interp(share, np.arange(len(points)), thick) * radius_m
    ridge = np.array([1.14, 1.24, 1.1, 1.12] * 4 + [1.14])
    path = tuple((float(a), float(b), float(c)) for a, b, c in zip(x, y, r, strict=True))
    body = sweep(path, circle(1.0, 9), tuple((r * ridge).tolist()), bulge=radius_m * 0.2)
    seams = [
        sweep(path[i : i + 2], circle(1.0, 9), tuple((r[i : i + 2] * (1.245, 1.13)).tolist()))
        for i in range(1, 16, 4)
    ]
    return [
        seen("body", body, colour, finish="matte"),
        seen("body", joined(seams), shade(colour, 0.68), finish="matte"),
    ]


def cupcake_surface(radius_m: float, height_m: float, colour: Rgba, icing: Rgba, muffin: bool) -> list[Shape]:
    """Return a pleated paper cup with a swirl of icing and a cherry, or with a baked dome."""
    r, h = radius_m, height_m
    pleats = 32
    rings = [
        [
            (k * (1 - 0.05 * (i % 2)) * math.cos(t), k * (1 - 0.05 * (i % 2)) * math.sin(t), z)
            for i, t in ((i, 2 * math.pi * i / pleats) for i in range(pleats))
        ]
        for k, z in ((r * 0.72, 0.0), (r * 0.93, h * 0.98))
    ]
    shapes = [seen("cup", loft(np.array(rings)), tint(colour, 0.2), finish="matte")]
    if muffin:
        dome: Points2 = (
            (0, h * 0.9),
            (r * 0.9, h * 0.9),
            (r, h * 1.02),
            (r * 0.93, h + r * 0.3),
            (r * 0.6, h + r * 0.6),
            (r * 0.25, h + r * 0.72),
            (0, h + r * 0.74),
        )
        spots = (
            (0.0, 0.1, 0.72),
            (0.45, 0.2, 0.6),
            (-0.4, 0.35, 0.58),
            (0.1, -0.5, 0.57),
            (-0.45, -0.3, 0.57),
            (0.6, -0.35, 0.42),
        )
        chips = [placed(chip(0.0032, 0.002), (r * a, r * b, h + r * c)) for a, b, c in spots]
        return [
            *shapes,
            seen("icing", lathe(dome, 14), shade(colour, 0.75), finish="matte"),
            seen("icing", joined(chips), shade(icing, 0.55)),
        ]
    swirl: Points2 = (
        (0, h * 0.85),
        (r * 0.86, h * 0.92),
        (r, h + r * 0.08),
        (r * 0.86, h + r * 0.27),
        (r * 0.8, h + r * 0.3),
        (r * 0.78, h + r * 0.42),
        (r * 0.58, h + r * 0.55),
        (r * 0.5, h + r * 0.56),
        (r * 0.44, h + r * 0.68),
        (0, h + r * 0.78),
    )
    cherry = ball(r * 0.2, 10, 5)
    return [
        *shapes,
        seen("icing", lathe(swirl, 14), icing),
        seen("icing", cherry, RED, (0, 0, h + r * 0.8)),
    ]


def half_fruit_surface(radius_m: float, skin: Rgba, flesh: Rgba) -> list[Shape]:
    """Return half a fruit on its cut face, a rim of flesh showing below the skin."""
    r = radius_m
    profile: Points2 = (
        (0, 0.0035),
        (r * 0.995, 0.0035),
        (r * 0.98, r * 0.3),
        (r * 0.86, r * 0.6),
        (r * 0.55, r * 0.86),
        (r * 0.2, r * 0.94),
        (0, r * 0.82),
    )
    cut: Points2 = ((0, 0), (r * 0.985, 0), (r, 0.0015), (r, 0.004), (0, 0.004))
    stalk = ((0, 0, r * 0.8), (0.001, 0, r * 0.95), (0.004, 0, r * 1.1))
    return [
        seen("cut", lathe(cut, 18), tint(flesh, 0.3)),
        seen("body", lathe(profile, 18), skin),
        seen("stem", tube(stalk, 0.0018, sides=5, up=_UP), BROWN),
        seen("cut", lathe(((0, 0.0002), (0.004, -0.0001), (0.004, 0.001), (0, 0.001)), 6), WHITE),
    ]
