"""Closed containers that stand: bottles, flasks, jars and cans."""

from functools import partial

from libero_safety.assets.asset import Asset, Rgba
from libero_safety.assets.meshes import bottles as look
from libero_safety.assets.objects.shapes import (
    AMBER,
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    DARK,
    DARK_GREEN,
    FILLED,
    GREEN,
    GREY,
    HAND_ROOM_M,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SILVER,
    SKY,
    SMOOTH,
    TEAL,
    WHITE,
    YELLOW,
    Recipe,
    box,
    disc,
    solid,
)

CLEAR: Rgba = (0.72, 0.86, 0.92, 0.6)


def bottle(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    colour: Rgba,
    label: Rgba = WHITE,
    cap: Rgba = DARK,
    shoulder: float = 0.62,
    neck: float = 0.42,
    density: float = FILLED,
) -> Asset:
    """Return a round bottle: `body` up to `shoulder` of the height, a `neck` that is `neck` times as wide, a `cap`."""
    top, edge = height_m * shoulder, height_m * 0.88
    slope = top + (edge - top) * 0.35
    shapes = [
        disc("body", radius_m, 0, top, colour, density, SMOOTH),
        disc("body", radius_m * (1 + neck) / 2, top, slope, colour, density, SMOOTH),
        disc("neck", radius_m * neck, slope, edge, colour, density, SMOOTH),
        disc("cap", radius_m * neck * 1.15, edge, height_m, cap, density, SMOOTH),
    ]
    surface = look.bottle_surface(radius_m, height_m, colour, label, cap, shoulder, neck)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)


def flask(
    name: str,
    *,
    half_x: float,
    half_y: float,
    height_m: float,
    colour: Rgba,
    label: Rgba = WHITE,
    cap: Rgba = WHITE,
    density: float = FILLED,
    pump: bool = False,
) -> Asset:
    """Return a flat-sided bottle: box `body`, round `neck`, `cap` (a cone or a `pump`)."""
    top, edge = height_m * 0.74, height_m * 0.84
    radius = min(half_x, half_y) * 0.7
    shapes = [
        box("body", (half_x, half_y, top / 2), (0, 0, top / 2), colour, density, SMOOTH),
        disc("neck", radius * 0.85, top, edge, colour, density, SMOOTH),
        disc("cap", radius, edge, height_m, cap, density, SMOOTH),
    ]
    surface = look.flask_surface(half_x, half_y, height_m, colour, label, cap, pump)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)


def can(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    colour: Rgba,
    band: Rgba = WHITE,
    lid: Rgba = SILVER,
    density: float = FILLED,
    jar: bool = False,
) -> Asset:
    """Return a can or `jar`: `body` and a slightly narrower `lid` on top."""
    edge = height_m - 0.006
    shapes = [
        disc("body", radius_m, 0, edge, colour, density, SMOOTH),
        disc("lid", radius_m * 0.94, edge, height_m, lid, density, SMOOTH),
    ]
    surface = look.can_surface(radius_m, height_m, colour, band, lid, jar)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)


_SLIM = partial(bottle, radius_m=0.03, height_m=0.2)
_JUICE = partial(bottle, radius_m=0.032, height_m=0.18, neck=0.55, shoulder=0.68)
_SMALL = partial(bottle, radius_m=0.025, height_m=0.12, neck=0.6, shoulder=0.7)
_SQUEEZE = partial(flask, half_x=0.028, half_y=0.019, height_m=0.146)
_TIN = partial(can, radius_m=0.033, height_m=0.083)
_SPICE = partial(can, radius_m=0.024, height_m=0.095, jar=True)
_PUMP = partial(flask, half_x=0.034, half_y=0.024, height_m=0.19, pump=True)

BOTTLES: dict[str, Recipe] = {
    "wine_bottle": partial(
        bottle,
        radius_m=0.023,
        height_m=0.16,
        colour=DARK_GREEN,
        label=CREAM,
        cap=RED,
        shoulder=0.6,
        neck=0.4,
    ),
    "white_bottle": partial(bottle, radius_m=0.023, height_m=0.16, colour=WHITE, label=SKY),
    "bottle": partial(_SLIM, colour=CLEAR, label=BLUE, cap=BLUE),
    "bottle_of_beer": partial(_SLIM, colour=AMBER, label=CREAM, cap=YELLOW),
    "bottle_of_ginger_beer": partial(_SLIM, colour=GREEN, label=YELLOW, cap=YELLOW),
    "bottle_of_sake": partial(_SLIM, colour=(0.35, 0.55, 0.65, 1.0), label=WHITE, cap=BLACK),
    "bottle_of_water": partial(_SLIM, colour=CLEAR, label=SKY, cap=BLUE),
    "bottle_of_pop": partial(_SLIM, colour=(0.25, 0.1, 0.06, 1.0), label=RED, cap=RED),
    "bottle_of_carrot_juice": partial(_JUICE, colour=ORANGE, label=WHITE, cap=GREEN),
    "bottle_of_lemon_juice": partial(_JUICE, colour=YELLOW, label=GREEN, cap=GREEN),
    "bottle_of_alfredo_sauce": partial(_JUICE, colour=CREAM, label=DARK_GREEN, cap=YELLOW),
    "bottle_of_perfume": partial(
        flask, half_x=0.028, half_y=0.018, height_m=0.1, colour=PINK, label=CREAM, cap=YELLOW
    ),
    "bottle_of_dish_soap": partial(_PUMP, colour=GREEN, label=YELLOW, cap=WHITE),
    "bottle_of_shampoo": partial(_PUMP, colour=PURPLE, label=WHITE, cap=SILVER),
    "bottle_of_cold_cream": partial(
        can, radius_m=0.035, height_m=0.055, colour=WHITE, band=PINK, lid=PINK, density=900, jar=True
    ),
    "bottle_of_alcohol": partial(_SMALL, colour=CLEAR, label=BLUE, cap=WHITE),
    "bottle_of_aspirin": partial(_SMALL, colour=WHITE, label=RED, cap=WHITE, density=700),
    "bottle_of_black_pepper": partial(
        _SPICE, colour=(0.3, 0.28, 0.27, 1.0), band=CREAM, lid=BLACK, density=600
    ),
    "bottle_of_mustard_seeds": partial(_SPICE, colour=YELLOW, band=WHITE, lid=BROWN, density=700),
    "bottle_of_tomato_paste": partial(_SPICE, colour=RED, band=GREEN, lid=WHITE),
    "bottle_of_catsup": partial(_JUICE, colour=RED, label=WHITE, cap=WHITE),
    "ketchup": partial(_SQUEEZE, colour=RED, label=WHITE, cap=WHITE),
    "bbq_sauce": partial(
        flask, half_x=0.025, half_y=0.017, height_m=0.115, colour=BROWN, label=RED, cap=BLACK
    ),
    "salad_dressing": partial(_SQUEEZE, colour=(0.9, 0.86, 0.6, 1.0), label=GREEN, cap=GREEN),
    "new_salad_dressing": partial(_SQUEEZE, colour=(0.9, 0.86, 0.6, 1.0), label=TEAL, cap=TEAL),
    "mayo": partial(_SQUEEZE, colour=CREAM, label=BLUE, cap=BLUE),
    "alphabet_soup": partial(_TIN, colour=(0.82, 0.2, 0.12, 1.0), band=YELLOW),
    "tomato_sauce": partial(_TIN, colour=(0.62, 0.08, 0.07, 1.0), band=GREEN),
    "can_of_soda": partial(_TIN, height_m=0.115, colour=BLUE, band=RED),
    "can_of_coffee": partial(
        can, radius_m=0.036, height_m=0.11, colour=BROWN, band=CREAM, lid=GREY, density=700, jar=True
    ),
    "can_of_bay_leaves": partial(
        _TIN, radius_m=0.03, height_m=0.09, colour=DARK_GREEN, band=CREAM, density=500
    ),
    "canned_food": partial(_TIN, colour=SILVER, band=ORANGE),
}
