"""Fruit and other food. Round things stand on a small flat foot: nothing in a kitchen scene rolls away at rest."""

import math
from functools import partial

from libero_safety.assets.asset import Asset, Rgba, Shape
from libero_safety.assets.meshes import food as look
from libero_safety.assets.objects.shapes import (
    BREAD,
    BROWN,
    CREAM,
    FOOD,
    GREEN,
    HAND_ROOM_M,
    ORANGE,
    PINK,
    RED,
    TAN,
    WHITE,
    YELLOW,
    Recipe,
    blob,
    box,
    disc,
    rod,
    solid,
)


def fruit(
    name: str,
    *,
    half_x: float,
    half_y: float,
    half_z: float,
    colour: Rgba,
    stem: Rgba | None = BROWN,
    tip: float = 0.0,
    foot: float = 0.45,
    density: float = FOOD,
    form: look.Form = "round",
) -> Asset:
    """Return a round fruit: ellipsoid `body`, a flat foot `foot` times as wide, a `stem` and a pointed `tip` (m)."""
    radius = foot * min(half_x, half_y)
    rest = half_z * math.sqrt(1 - foot**2)
    shapes = [
        blob("body", (half_x, half_y, half_z), (0, 0, rest), colour, density),
        *_foot(radius, half_z - rest, colour, density),
    ]
    if tip:
        shapes += [
            blob("body", (tip, half_y * 0.4, half_z * 0.4), (s * half_x, 0, rest), colour, density)
            for s in (1, -1)
        ]
    surface = look.fruit_surface((half_x, half_y, half_z), rest, colour, stem, tip, form)
    return solid(name, shapes, ((0.0, 0.0, max(rest, rest + half_z - HAND_ROOM_M)), 0.0), surface=surface)


def _foot(radius: float, rise: float, colour: Rgba, density: float) -> list[Shape]:
    return [disc("body", radius, -rise, 0.003 - rise, colour, density)]


def banana(name: str, *, radius_m: float, length_m: float, colour: Rgba, curve: float = 0.9) -> Asset:
    """Return a banana lying on its side: five capsules along an arc of `curve` radians, `body` with a `stem`."""
    bend = length_m / curve
    count = 5

    def point(i: float) -> tuple[float, float, float]:
        a = curve * (i / count - 0.5)
        return (bend * math.sin(a), bend * math.cos(a), radius_m)

    shapes = [
        rod(
            "body",
            "capsule",
            radius_m * (0.8 if i in (0, count - 1) else 1),
            point(i),
            point(i + 1),
            colour,
            FOOD,
        )
        for i in range(count)
    ]
    a, b = point(count), point(count + 0.6)
    shapes.append(rod("stem", "capsule", radius_m * 0.35, a, b, BROWN, FOOD))
    grip = (0.0, bend, radius_m)
    return solid(name, shapes, (grip, 0.0), surface=look.banana_surface(radius_m, bend, curve, colour))


def cluster(name: str, *, radius_m: float, colour: Rgba, count: int = 4, leafy: bool = False) -> Asset:
    """Return a bunch of small balls grown together (`leafy` sprouts, grapes): `count` round a foot and one on top."""
    shapes = [
        blob(
            "body",
            (radius_m, radius_m, radius_m),
            (radius_m * 1.1 * math.cos(a), radius_m * 1.1 * math.sin(a), radius_m),
            colour,
            FOOD,
        )
        for a in (2 * math.pi * i / count for i in range(count))
    ]
    shapes.append(blob("body", (radius_m, radius_m, radius_m), (0, 0, radius_m * 2.1), colour, FOOD))
    side = radius_m * 0.9
    shapes.append(box("body", (side, side, 0.003), (0, 0, 0.0025), colour, FOOD))
    surface = look.cluster_surface(radius_m, colour, count, leafy)
    return solid(name, shapes, ((0.0, 0.0, radius_m * 1.1), math.pi / 4), surface=surface)


def croissant(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a croissant: five thick capsules on an arc, thinner towards the tips; `body`."""
    radii = (0.55, 0.8, 1.0, 0.8, 0.55)
    r, bend = length_m * 0.17, length_m * 0.55
    angles = [math.radians(a) for a in (-72, -44, -15, 15, 44, 72)]
    points = [(bend * math.sin(a), bend * math.cos(a)) for a in angles]
    shapes = [
        rod("body", "capsule", r * k, (*points[i], r * k), (*points[i + 1], r * k), colour, BREAD)
        for i, k in enumerate(radii)
    ]
    surface = look.croissant_surface(tuple(points), r, radii, colour)
    return solid(name, shapes, ((0.0, bend, r), 0.0), surface=surface)


def cupcake(name: str, *, radius_m: float, colour: Rgba, icing: Rgba, muffin: bool = False) -> Asset:
    """Return a cupcake or `muffin`: ribbed `cup`, domed `icing`."""
    h = radius_m * 1.1
    shapes = [
        disc("cup", radius_m * 0.72, 0, h, colour, BREAD),
        blob("icing", (radius_m, radius_m, radius_m * 0.75), (0, 0, h), icing, BREAD),
    ]
    surface = look.cupcake_surface(radius_m, h, colour, icing, muffin)
    return solid(name, shapes, ((0.0, 0.0, h), 0.0), surface=surface)


def half_fruit(name: str, *, radius_m: float, skin: Rgba, flesh: Rgba) -> Asset:
    """Return half a fruit lying on its cut: `body`, with the `cut` face below and a stalk above."""
    shapes = [
        disc("cut", radius_m, 0, 0.004, flesh, FOOD),
        blob("body", (radius_m, radius_m, radius_m * 0.48), (0, 0, radius_m * 0.48), skin, FOOD),
    ]
    surface = look.half_fruit_surface(radius_m, skin, flesh)
    return solid(name, shapes, ((0.0, 0.0, radius_m * 0.4), 0.0), surface=surface)


_APPLE = partial(fruit, half_x=0.036, half_y=0.036, half_z=0.034, form="apple")

FOODS: dict[str, Recipe] = {
    "apple": partial(_APPLE, colour=RED),
    "apple__1": partial(_APPLE, colour=GREEN),
    "apple__7": partial(_APPLE, colour=(0.82, 0.1, 0.08, 1.0)),
    "half_apple": partial(half_fruit, radius_m=0.036, skin=RED, flesh=CREAM),
    "orange": partial(
        fruit, half_x=0.037, half_y=0.037, half_z=0.036, colour=ORANGE, stem=None, form="citrus"
    ),
    "lemon": partial(
        fruit, half_x=0.032, half_y=0.027, half_z=0.027, colour=YELLOW, stem=None, tip=0.012, form="citrus"
    ),
    "lime": partial(
        fruit, half_x=0.026, half_y=0.023, half_z=0.023, colour=GREEN, stem=None, tip=0.008, form="citrus"
    ),
    "pear": partial(
        fruit, half_x=0.034, half_y=0.034, half_z=0.044, colour=(0.72, 0.75, 0.25, 1.0), foot=0.6, form="pear"
    ),
    "egg": partial(
        fruit,
        half_x=0.028,
        half_y=0.0215,
        half_z=0.0215,
        colour=(0.93, 0.8, 0.66, 1.0),
        stem=None,
        foot=0.5,
        density=1030,
        form="egg",
    ),
    "tomato": partial(fruit, half_x=0.033, half_y=0.033, half_z=0.029, colour=RED, stem=GREEN, form="tomato"),
    "banana": partial(banana, radius_m=0.017, length_m=0.16, colour=YELLOW),
    "brussels_sprouts": partial(cluster, radius_m=0.016, colour=GREEN, leafy=True),
    "grapes": partial(cluster, radius_m=0.013, colour=(0.4, 0.15, 0.4, 1.0), count=6),
    "croissant": partial(croissant, length_m=0.11, colour=TAN),
    "cupcake": partial(cupcake, radius_m=0.034, colour=TAN, icing=PINK),
    "muffin": partial(cupcake, radius_m=0.034, colour=TAN, icing=BROWN, muffin=True),
    "mozzarella": partial(fruit, half_x=0.03, half_y=0.03, half_z=0.028, colour=WHITE, stem=None),
}
