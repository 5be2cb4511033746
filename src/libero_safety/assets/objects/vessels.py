"""Open vessels: bowls, plates, mugs, glasses, vases, baskets, trays. Fingers go over the rim."""

import math
from functools import partial

from libero_safety.assets.asset import Asset, Rgba
from libero_safety.assets.geometry import turned
from libero_safety.assets.meshes import vessels as look
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    BROWN,
    CERAMIC,
    CREAM,
    GRIPPY,
    HOLLOW,
    RED,
    SKY,
    SMOOTH,
    TAN,
    TEAL,
    WHITE,
    WOOD,
    WOODEN,
    YELLOW,
    Recipe,
    blob,
    box,
    disc,
    ring,
    shade,
    solid,
    walls,
)
from libero_safety.types import Zone


def bowl(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    colour: Rgba,
    stripe: Rgba | None = None,
    foot: float = 0.6,
    wall_m: float = 0.005,
    density: float = CERAMIC,
    friction: float = SMOOTH,
) -> Asset:
    """Return a bowl: a flat `body` on a foot `foot` times the radius, and a leaning wall, the `rim`."""
    base = 0.18 * height_m + 0.003
    foot_m = foot * radius_m
    shapes = [
        disc("body", foot_m, 0, base, colour, density * 0.6, friction),
        *ring("rim", (foot_m, radius_m), (base * 0.6, height_m), wall_m, colour, density, friction),
    ]
    finish = "matte" if friction == GRIPPY else "satin"
    surface = look.bowl_surface(radius_m, height_m, colour, stripe, foot, wall_m, finish)
    inner = radius_m * 0.6
    zone = Zone(
        "contain_region", (0, 0, (base + height_m) / 2), (inner, inner, (height_m - base) / 2), "inside"
    )
    grasp = ((0.0, radius_m * 0.92, max(height_m - 0.012, 0.012)), 0.0)
    return solid(name, shapes, grasp, [zone], surface=surface)


def plate(
    name: str, *, radius_m: float, height_m: float, colour: Rgba, rim_colour: Rgba | None = None
) -> Asset:
    """Return a plate: a flat `body` and a `rim` that rises to `height_m`, high enough for a finger below it."""
    base = 0.005
    shapes = [
        disc("body", radius_m * 0.86, 0, base, colour, CERAMIC, SMOOTH),
        *ring(
            "rim",
            (radius_m * 0.85, radius_m),
            (base * 0.6, height_m),
            0.004,
            rim_colour or colour,
            CERAMIC,
            SMOOTH,
        ),
    ]
    zone = Zone("contain_region", (0, 0, base + 0.03), (radius_m * 0.62, radius_m * 0.62, 0.03), "surface")
    surface = look.plate_surface(radius_m, height_m, colour, rim_colour or colour)
    return solid(name, shapes, ((0.0, radius_m * 0.91, height_m - 0.004), 0.0), [zone], surface=surface)


def mug(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    colour: Rgba,
    inside: Rgba | None = None,
    handle: float = -1.0,
) -> Asset:
    """Return a mug: solid `body` below, hollow wall (`rim`) above, `handle` towards -y (`handle` = -1) or +y (+1)."""
    base = 0.3 * height_m
    reach = radius_m + 0.026
    y = handle * (radius_m + reach) / 2
    bar = (reach - radius_m) / 2 + 0.002
    shapes = [
        disc("body", radius_m, 0, base, colour, 450, SMOOTH),
        *ring("rim", (radius_m, radius_m), (base, height_m), 0.005, colour, CERAMIC, SMOOTH, count=8),
        box("handle", (0.005, bar, 0.004), (0, y, height_m * 0.82), colour, CERAMIC, SMOOTH),
        box("handle", (0.005, bar, 0.004), (0, y, height_m * 0.3), colour, CERAMIC, SMOOTH),
        box(
            "handle",
            (0.005, 0.004, height_m * 0.26 + 0.004),
            (0, handle * (reach + 0.002), height_m * 0.56),
            colour,
            CERAMIC,
            SMOOTH,
        ),
    ]
    inner = radius_m * 0.65
    zone = Zone(
        "contain_region", (0, 0, (base + height_m) / 2), (inner, inner, (height_m - base) / 2), "inside"
    )
    wall = -handle * (radius_m * 0.96 - 0.0025)
    surface = look.mug_surface(radius_m, height_m, colour, inside or colour, handle)
    return solid(name, shapes, ((0.0, wall, height_m - 0.016), 0.0), [zone], surface=surface)


def tumbler(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    colour: Rgba,
    foot: float = 0.85,
    neck: float | None = None,
    density: float = CERAMIC,
) -> Asset:
    """Return a glass or vase: a `body`, an open wall that grows from `foot` to 1 times the radius, and a `rim`.

    With `neck` the wall narrows to that fraction of the radius above 60 % of the height.
    """
    base = 0.3 * height_m
    shapes = [
        disc("body", radius_m * foot, 0, base * (1.0 if neck is None else 0.5), colour, density * 0.4, SMOOTH)
    ]
    if neck is None:
        shapes += ring(
            "rim", (radius_m * foot, radius_m), (base, height_m), 0.004, colour, density, SMOOTH, count=8
        )
        top = radius_m
        surface = look.glass_surface(radius_m, height_m, colour, foot)
    else:
        belly = (radius_m, radius_m, height_m * 0.27)
        shapes.append(blob("body", belly, (0, 0, height_m * 0.36), colour, density * 0.3, SMOOTH))
        top = radius_m * neck
        shapes += ring(
            "rim", (top, top), (height_m * 0.56, height_m), 0.005, colour, density, SMOOTH, count=8
        )
        surface = look.vase_surface(radius_m, height_m, colour, foot, neck)
    zone = Zone("contain_region", (0, 0, height_m * 0.65), (top * 0.6, top * 0.6, height_m * 0.33), "inside")
    return solid(name, shapes, ((0.0, 0.0, height_m - 0.02), 0.0), [zone], surface=surface)


def basket(
    name: str, *, half_x: float, half_y: float, height_m: float, colour: Rgba, woven: bool = True
) -> Asset:
    """Return an open basket or crate, `body` below and `rim` above, with zone `contain_region` inside."""
    base, wall = 0.006, 0.008
    lower, upper = height_m * 0.8, height_m
    half = (half_x, half_y, (lower - base) / 2)
    shapes = [
        box("body", (half_x, half_y, base / 2), (0, 0, base / 2), colour, HOLLOW),
        *walls("body", half, (0, 0, (base + lower) / 2), wall, colour, HOLLOW),
        *walls(
            "rim",
            (half_x + 0.002, half_y + 0.002, (upper - lower) / 2),
            (0, 0, (lower + upper) / 2),
            wall + 0.004,
            shade(colour),
            HOLLOW,
        ),
    ]
    zone = Zone(
        "contain_region",
        (0, 0, (base + height_m) / 2),
        (half_x - wall, half_y - wall, (height_m - base) / 2),
        "inside",
    )
    surface = look.basket_surface(half_x, half_y, height_m, colour, woven)
    return solid(name, shapes, ((0.0, half_y - 0.005, height_m - 0.012), 0.0), [zone], surface=surface)


def tray(
    name: str, *, half_x: float, half_y: float, height_m: float, colour: Rgba, wall_m: float = 0.008
) -> Asset:
    """Return a low open tray: `body`, `rim`, two `handle` bars at its x ends, zone `contain_region`."""
    base = 0.008
    z = (base + height_m) / 2
    half = (half_x, half_y, (height_m - base) / 2)
    shapes = [
        box("body", (half_x, half_y, base / 2), (0, 0, base / 2), colour, WOOD),
        *walls("rim", half, (0, 0, z), wall_m, colour, WOOD),
        *(
            box("handle", (0.006, half_y * 0.5, 0.006), (s * half_x, 0, height_m), colour, WOOD)
            for s in (1, -1)
        ),
    ]
    zone = Zone(
        "contain_region", (0, 0, z), (half_x - wall_m, half_y - wall_m, (height_m - base) / 2), "inside"
    )
    surface = look.tray_surface(half_x, half_y, height_m, colour, wall_m)
    return solid(name, shapes, ((0.0, half_y - 0.004, height_m - 0.012), 0.0), [zone], surface=surface)


def _quarter(recipe: Recipe, name: str) -> Asset:
    return turned(recipe(name), math.pi / 2)


_CLASSIC = partial(mug, radius_m=0.042, height_m=0.095, colour=BLUE, inside=WHITE)

VESSELS: dict[str, Recipe] = {
    "akita_black_bowl": partial(bowl, radius_m=0.054, height_m=0.052, colour=BLACK, stripe=RED),
    "white_bowl": partial(bowl, radius_m=0.041, height_m=0.036, colour=WHITE),
    "porcelain_bowl": partial(bowl, radius_m=0.065, height_m=0.055, colour=WHITE, stripe=BLUE),
    "wood_bowl": partial(
        bowl, radius_m=0.06, height_m=0.05, colour=WOODEN, wall_m=0.008, density=WOOD, friction=GRIPPY
    ),
    "glazed_rim_porcelain_ramekin": partial(
        bowl, radius_m=0.045, height_m=0.043, colour=WHITE, stripe=TEAL, foot=0.85
    ),
    "bowl": partial(bowl, radius_m=0.055, height_m=0.05, colour=TEAL),
    "plate": partial(plate, radius_m=0.069, height_m=0.022, colour=WHITE, rim_colour=(0.85, 0.87, 0.9, 1.0)),
    "salad_porcelain_plate": partial(plate, radius_m=0.085, height_m=0.025, colour=WHITE, rim_colour=SKY),
    "white_yellow_mug": partial(mug, radius_m=0.053, height_m=0.103, colour=WHITE, inside=YELLOW),
    "porcelain_mug": partial(mug, radius_m=0.048, height_m=0.106, colour=WHITE, handle=1.0),
    "red_coffee_mug": partial(mug, radius_m=0.046, height_m=0.12, colour=RED, inside=CREAM),
    "classic_blue_mug": _CLASSIC,
    "rotated_classic_blue_mug": partial(_quarter, _CLASSIC),
    "mug": partial(mug, radius_m=0.042, height_m=0.09, colour=TEAL),
    "drinking_glass": partial(tumbler, radius_m=0.034, height_m=0.12, colour=(0.75, 0.88, 0.92, 0.45)),
    "vase": partial(tumbler, radius_m=0.05, height_m=0.2, colour=BLUE, foot=0.75, neck=0.55),
    "basket": partial(basket, half_x=0.078, half_y=0.085, height_m=0.141, colour=TAN),
    "wooden_tray": partial(tray, half_x=0.14, half_y=0.085, height_m=0.06, colour=WOODEN),
    "tray": partial(tray, half_x=0.15, half_y=0.1, height_m=0.035, colour=BROWN),
    "storage_box": partial(basket, half_x=0.07, half_y=0.06, height_m=0.1, colour=SKY, woven=False),
}
