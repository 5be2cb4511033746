"""Things with a handle: cutlery, kitchen and workshop tools, pans and pots."""

import math
from functools import partial

from libero_safety.assets.asset import Asset, Rgba
from libero_safety.assets.geometry import turned
from libero_safety.assets.meshes import tools as look
from libero_safety.assets.objects.shapes import (
    ALUMINIUM,
    BLACK,
    BROWN,
    DARK,
    FINGER_ROOM_M,
    GRIPPY,
    HAND_ROOM_M,
    PINK,
    PLASTIC,
    RED,
    SILVER,
    SLIPPERY,
    SMOOTH,
    STEEL,
    WOOD,
    WOODEN,
    Recipe,
    box,
    disc,
    ring,
    rod,
    solid,
)
from libero_safety.types import Zone


def knife(
    name: str, *, blade_m: float, handle_m: float, width_m: float = 0.03, colour: Rgba = BLACK
) -> Asset:
    """Return a kitchen knife lying flat: `handle` towards -x, `blade` towards +x with a narrower tip."""
    z = 0.009
    tip = blade_m * 0.3
    shapes = [
        box("handle", (handle_m / 2, 0.011, z), (-handle_m / 2, 0, z), colour, PLASTIC),
        box(
            "blade",
            ((blade_m - tip) / 2, width_m / 2, 0.0012),
            ((blade_m - tip) / 2, 0, z),
            SILVER,
            STEEL,
            SLIPPERY,
        ),
        box(
            "blade",
            (tip / 2, width_m * 0.28, 0.0012),
            (blade_m - tip / 2, width_m * 0.22, z),
            SILVER,
            STEEL,
            SLIPPERY,
        ),
        box("blade", (0.004, 0.013, z * 0.9), (0.002, 0, z * 0.9), SILVER, ALUMINIUM, SLIPPERY),
    ]
    # A blade in the air would let the knife tip: a low heel and tip keep it level as a real one lies on its edge.
    shapes.append(
        box("blade", (0.003, 0.003, z / 2), (blade_m - 0.012, width_m * 0.22, z / 2), SILVER, STEEL, SLIPPERY)
    )
    surface = look.knife_surface(blade_m, handle_m, width_m, colour)
    return solid(name, shapes, ((-handle_m / 2, 0.0, FINGER_ROOM_M), 0.0), surface=surface)


def hammer(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a claw hammer lying on its side: `handle` along x, `head` across its +x end."""
    z = 0.013
    end = length_m / 2
    shapes = [
        rod("handle", "capsule", 0.012, (-end + 0.012, 0, z), (end * 0.3, 0, z), colour, PLASTIC),
        rod("handle", "cylinder", 0.008, (end * 0.3, 0, z), (end - 0.02, 0, z), WOODEN, WOOD),
        box("head", (0.013, 0.026, z), (end - 0.013, 0, z), DARK, STEEL, SLIPPERY),
        rod("head", "cylinder", z, (end - 0.013, 0.026, z), (end - 0.013, 0.05, z), SILVER, STEEL, SLIPPERY),
        box("head", (0.009, 0.016, 0.004), (end - 0.013, -0.042, z), SILVER, STEEL, SLIPPERY),
    ]
    surface = look.hammer_surface(length_m, colour)
    return solid(name, shapes, ((end * 0.1, 0.0, z), 0.0), surface=surface)


def fork(name: str, *, length_m: float, colour: Rgba = SILVER) -> Asset:
    """Return a fork: `handle` towards -x, `tines` towards +x."""
    z = 0.006
    reach = length_m * 0.55
    head = length_m * 0.2
    shapes = [
        box("handle", (reach / 2, 0.008, z), (-reach / 2, 0, z), colour, ALUMINIUM, SMOOTH),
        box("neck", (length_m * 0.125, 0.005, 0.004), (length_m * 0.125, 0, z), colour, ALUMINIUM, SMOOTH),
        box("tines", (0.008, 0.013, 0.004), (length_m * 0.25, 0, 0.005), colour, ALUMINIUM, SMOOTH),
        *(
            box(
                "tines",
                (head / 2, 0.0016, 0.003),
                (length_m * 0.25 + head / 2, y, 0.003),
                colour,
                ALUMINIUM,
                SMOOTH,
            )
            for y in (-0.0114, -0.0038, 0.0038, 0.0114)
        ),
    ]
    surface = look.fork_surface(length_m, colour)
    return solid(name, shapes, ((-reach * 0.5, 0.0, FINGER_ROOM_M), 0.0), surface=surface)


def spoon(
    name: str,
    *,
    length_m: float,
    colour: Rgba = SILVER,
    density: float = ALUMINIUM,
    head: look.Head = "spoon",
) -> Asset:
    """Return a spoon or turner: `handle` towards -x, flat `bowl` towards +x."""
    z = 0.006
    reach = length_m * 0.75
    shapes = [
        box("handle", (reach / 2, 0.007, z), (-reach / 2, 0, z), colour, density, SMOOTH),
        disc("bowl", length_m * 0.11, 0, 0.004, colour, density, SMOOTH, xy=(length_m * 0.1, 0)),
    ]
    surface = look.spoon_surface(length_m, colour, head, "matte" if density == WOOD else "metal")
    return solid(name, shapes, ((-reach * 0.5, 0.0, FINGER_ROOM_M), 0.0), surface=surface)


def scissors(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return scissors lying half open: two `blade`s towards +x, two looped `handle`s towards -x, a `pivot`."""
    z, spread = 0.006, 0.09
    blade, grip = length_m * 0.5, length_m * 0.3
    shapes = [disc("pivot", 0.007, 0, 0.011, DARK, STEEL, SMOOTH)]
    for s in (1, -1):
        c, d = math.cos(spread), s * math.sin(spread)
        shapes += [
            box(
                "blade",
                (blade / 2, 0.006, 0.0025),
                (blade / 2 * c, blade / 2 * d, z),
                SILVER,
                STEEL,
                SLIPPERY,
                s * spread,
            ),
            box(
                "handle",
                (grip / 2, 0.005, z),
                (-grip / 2 * c, s * 0.011 + grip / 2 * d, z),
                colour,
                PLASTIC,
                GRIPPY,
                s * 0.2,
            ),
            disc("handle", 0.017, 0, 2 * z, colour, PLASTIC, xy=(-grip - 0.006, s * 0.019)),
        ]
    shapes.append(box("blade", (0.004, 0.004, z / 2), (blade - 0.01, 0, z / 2), SILVER, STEEL, SLIPPERY))
    surface = look.scissors_surface(length_m, colour, spread)
    return solid(name, shapes, ((-grip * 0.5, 0.0, FINGER_ROOM_M), 0.0), surface=surface)


def pan(
    name: str,
    *,
    radius_m: float,
    height_m: float,
    handle_m: float,
    colour: Rgba = DARK,
    grip: Rgba = BLACK,
) -> Asset:
    """Return a frying pan, open `body` and `handle` towards +y; the origin is the middle of the pan, as in LIBERO."""
    base = 0.005
    end = radius_m + handle_m
    z = height_m * 0.8
    shapes = [
        disc("body", radius_m * 0.88, 0, base, colour, ALUMINIUM * 0.4, SMOOTH),
        *ring(
            "body",
            (radius_m * 0.85, radius_m),
            (base * 0.6, height_m),
            0.004,
            colour,
            ALUMINIUM * 0.4,
            SMOOTH,
            count=9,
        ),
        rod("handle", "capsule", 0.01, (0, radius_m * 0.96, z), (0, end - 0.01, z + 0.004), grip, PLASTIC),
    ]
    inner = radius_m * 0.6
    zone = Zone("contain_region", (0, 0, base + 0.03), (inner, inner, 0.03), "surface")
    where = (0.0, radius_m + handle_m * 0.25, z)
    surface = look.pan_surface(radius_m, height_m, handle_m, colour, grip)
    return solid(name, shapes, (where, math.pi / 2), [zone], centre=False, surface=surface)


def moka_pot(name: str, *, height_m: float, colour: Rgba = SILVER) -> Asset:
    """Return a moka pot: `body` with a waist, `lid`, `spout` towards +y, `handle` towards -y."""
    waist, edge = height_m * 0.45, height_m * 0.88
    shapes = [
        disc("body", 0.04, 0, waist * 0.9, colour, ALUMINIUM * 0.35, SMOOTH),
        disc("body", 0.031, waist * 0.9, waist * 1.1, colour, ALUMINIUM * 0.35, SMOOTH),
        disc("body", 0.037, waist * 1.1, edge, colour, ALUMINIUM * 0.25, SMOOTH),
        disc("lid", 0.033, edge, height_m * 0.94, colour, ALUMINIUM * 0.35, SMOOTH),
        disc("lid", 0.008, height_m * 0.94, height_m, BLACK, PLASTIC, SMOOTH),
        box("spout", (0.008, 0.01, 0.012), (0, 0.043, edge - 0.014), colour, ALUMINIUM * 0.3, SMOOTH),
        box("handle", (0.008, 0.025, 0.006), (0, -0.058, edge - 0.01), BLACK, PLASTIC),
        box(
            "handle",
            (0.008, 0.006, height_m * 0.2),
            (0, -0.083, edge - 0.004 - height_m * 0.2),
            BLACK,
            PLASTIC,
        ),
    ]
    surface = look.moka_surface(height_m, colour)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), math.pi / 2), surface=surface)


def hairbrush(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a hairbrush lying on its bristles: `handle` towards -x, `head` and `bristles` towards +x."""
    z = 0.02
    end = length_m / 2
    shapes = [
        box("head", (end * 0.45, 0.026, 0.006), (end * 0.55, 0, z + 0.006), colour, PLASTIC),
        box("bristles", (end * 0.4, 0.021, 0.009), (end * 0.55, 0, 0.011), BLACK, 150),
        rod("handle", "capsule", 0.01, (end * 0.1, 0, z + 0.004), (-end + 0.01, 0, 0.012), colour, 400),
        box("bristles", (0.004, 0.012, 0.001), (end * 0.16, 0, 0.001), BLACK, 150),
    ]
    surface = look.hairbrush_surface(length_m, colour)
    return solid(name, shapes, ((-end * 0.4, 0.0, 0.015), 0.0), surface=surface)


def _turned(recipe: Recipe, yaw_rad: float, name: str) -> Asset:
    return turned(recipe(name), yaw_rad)


_KNIFE = partial(knife, blade_m=0.15, handle_m=0.11)
_HAMMER = partial(hammer, length_m=0.27, colour=RED)
_FORK = partial(fork, length_m=0.18)
_PAN = partial(pan, radius_m=0.1, height_m=0.05, handle_m=0.15)

TOOLS: dict[str, Recipe] = {
    "knife": _KNIFE,
    "rotated_knife": partial(_turned, _KNIFE, math.pi),
    "hammer": _HAMMER,
    "rotated_hammer": partial(_turned, _HAMMER, math.pi / 2),
    "fork": _FORK,
    "rotated_fork": partial(_turned, _FORK, math.pi),
    "spoon": partial(spoon, length_m=0.18),
    "wooden_spoon": partial(spoon, length_m=0.26, colour=WOODEN, density=WOOD),
    "scissors": partial(scissors, length_m=0.18, colour=RED),
    "frypan": partial(_PAN, colour=(0.35, 0.1, 0.1, 1.0)),
    "rotated_frypan": partial(_turned, partial(_PAN, colour=(0.35, 0.1, 0.1, 1.0)), math.pi),
    "chefmate_8_frypan": _PAN,
    "moka_pot": partial(moka_pot, height_m=0.152),
    "hairbrush": partial(hairbrush, length_m=0.2, colour=PINK),
    "spatula": partial(spoon, length_m=0.28, colour=BROWN, density=WOOD, head="turner"),
}
