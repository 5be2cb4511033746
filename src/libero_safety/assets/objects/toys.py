"""Toys and things lying about in a living room or study."""

import math
from functools import partial

from libero_safety.assets.asset import CONTACT_S, Asset, Rgba, Shape, Vec3
from libero_safety.assets.meshes import toys as look
from libero_safety.assets.meshes import vehicles
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    CLOTH,
    CREAM,
    DARK,
    FINGER_ROOM_M,
    GREEN,
    GREY,
    HAND_ROOM_M,
    HOLLOW,
    ORANGE,
    PLASTIC,
    PURPLE,
    RED,
    RUBBER,
    RUBBERY,
    SILVER,
    SKY,
    SLIPPERY,
    SMOOTH,
    WHITE,
    WOOD,
    YELLOW,
    Recipe,
    blob,
    box,
    disc,
    rod,
    solid,
)
from libero_safety.types import Zone


def _wheels(radius: float, xs: tuple[float, ...], y: float, width: float) -> list[Shape]:
    return [
        rod(
            "wheel",
            "cylinder",
            radius,
            (x, s * y, radius),
            (x, s * (y + width), radius),
            BLACK,
            RUBBER,
            RUBBERY,
        )
        for x in xs
        for s in (1, -1)
    ]


def _chocks(x: float, y: float, height: float, colour: Rgba) -> Shape:
    """Return the block under a toy that keeps it from rolling: it stands on its belly, not on its wheels."""
    return box("body", (x, y, height / 2), (0, 0, height / 2), colour, HOLLOW)


def toy_car(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a toy car pointing to +x: `body`, `cabin`, four `wheel`s."""
    x, r = length_m / 2, length_m * 0.12
    y = length_m * 0.2
    shapes = [
        _chocks(x * 0.35, y * 0.8, r, DARK),
        box("body", (x, y, r * 0.9), (0, 0, r * 1.75), colour, HOLLOW),
        box("cabin", (x * 0.45, y * 0.85, r * 0.8), (-x * 0.1, 0, r * 3.4), SKY, HOLLOW),
        box("cabin", (x * 0.4, y * 0.8, r * 0.12), (-x * 0.1, 0, r * 4.25), colour, HOLLOW),
        *_wheels(r, (x * 0.62, -x * 0.62), y * 0.85, y * 0.3),
    ]
    return solid(
        name, shapes, ((-x * 0.1, 0.0, r * 3.2), 0.0), surface=vehicles.car_surface(length_m, colour)
    )


def toy_train(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a toy locomotive pointing to +x: `body`, `boiler`, `chimney`, `cabin`, six `wheel`s."""
    x, r = length_m / 2, length_m * 0.085
    y = length_m * 0.16
    shapes = [
        _chocks(x * 0.8, y * 0.75, r, DARK),
        box("body", (x, y, r * 0.5), (0, 0, r * 1.5), colour, HOLLOW),
        rod(
            "boiler",
            "cylinder",
            y * 0.8,
            (-x * 0.1, 0, r * 2 + y * 0.8),
            (x * 0.9, 0, r * 2 + y * 0.8),
            BLUE,
            HAND_ROOM_M,
            HOLLOW,
        ),
        disc("chimney", y * 0.3, r * 2 + y * 1.5, r * 2 + y * 2.4, YELLOW, HOLLOW, xy=(x * 0.6, 0)),
        box("cabin", (x * 0.38, y * 0.95, y * 1.15), (-x * 0.55, 0, r * 2 + y * 1.15), GREEN, HOLLOW),
        *_wheels(r, (x * 0.65, 0.0, -x * 0.65), y * 0.8, y * 0.25),
    ]
    grasp = ((-x * 0.55, 0.0, r * 2 + y * 1.6), 0.0)
    return solid(name, shapes, grasp, surface=vehicles.train_surface(length_m, colour))


def toy_motorbike(name: str, *, length_m: float, colour: Rgba) -> Asset:
    """Return a toy motorbike pointing to +x: two `wheel`s, `body`, `seat`, `handlebar`, on a wide `stand`."""
    x = length_m / 2
    r = length_m * 0.19
    shapes = [
        box("stand", (x * 0.3, 0.024, 0.003), (0, 0, 0.003), DARK, PLASTIC),
        *(
            rod(
                "wheel",
                "cylinder",
                r * 0.97,
                (s * x * 0.6, -0.008, r),
                (s * x * 0.6, 0.008, r),
                BLACK,
                RUBBER,
                RUBBERY,
            )
            for s in (1, -1)
        ),
        box("body", (x * 0.5, 0.01, r * 0.55), (0, 0, r * 1.0), GREY, HOLLOW),
        box("body", (x * 0.28, 0.013, r * 0.35), (x * 0.12, 0, r * 1.85), colour, HOLLOW),
        box("seat", (x * 0.32, 0.011, r * 0.16), (-x * 0.4, 0, r * 1.75), DARK, HOLLOW),
        rod("body", "capsule", 0.005, (x * 0.6, 0, r * 1.1), (x * 0.42, 0, r * 2.3), SILVER, HOLLOW),
        rod(
            "handlebar",
            "capsule",
            0.004,
            (x * 0.42, -0.026, r * 2.35),
            (x * 0.42, 0.026, r * 2.35),
            BLACK,
            PLASTIC,
        ),
    ]
    return solid(
        name, shapes, ((0.0, 0.0, r * 1.8), 0.0), surface=vehicles.motorbike_surface(length_m, colour)
    )


def balls(
    name: str,
    *,
    radius_m: float,
    colours: tuple[Rgba, ...],
    frame: Rgba,
    density: float,
    numbered: bool = False,
) -> Asset:
    """Return balls lying together in a flat `frame` that keeps them from rolling; parts `ball` and `frame`."""
    count = len(colours)
    orbit = radius_m / math.sin(math.pi / count) * 1.02
    shapes = [disc("frame", orbit + radius_m * 0.5, 0, 0.005, frame, WOOD)]
    places: list[Vec3] = []
    for i, colour in enumerate(colours):
        a = 2 * math.pi * i / count
        at = (orbit * math.cos(a), orbit * math.sin(a), radius_m + 0.003)
        places.append(at)
        shapes.append(
            Shape("sphere", (radius_m,), at, part="ball", rgba=colour, density=density, friction=SMOOTH)
        )
    surface = look.balls_surface(places, radius_m, colours, orbit + radius_m * 0.5, frame, numbered)
    return solid(name, shapes, surface=surface)


def ball(name: str, *, radius_m: float, colour: Rgba, density: float, contact_s: float = CONTACT_S) -> Asset:
    """Return one ball; it rolls."""
    shape = Shape(
        "sphere",
        (radius_m,),
        (0, 0, radius_m),
        rgba=colour,
        density=density,
        friction=SLIPPERY,
        contact_s=contact_s,
    )
    surface = look.ball_surface(radius_m, colour)
    return solid(name, [shape], ((0.0, 0.0, max(radius_m, FINGER_ROOM_M)), 0.0), surface=surface)


def candle(name: str, *, radius_m: float, height_m: float, colour: Rgba) -> Asset:
    """Return a burning candle on a saucer: `holder`, `body`, and a `flame` that is seen but not felt."""
    shapes = [
        disc("holder", radius_m * 1.5, 0, 0.008, SILVER, 2000, SMOOTH),
        disc("body", radius_m, 0.008, height_m, colour, 900),
    ]
    surface = look.candle_surface(radius_m, height_m, colour)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)


def eyeglasses(name: str, *, width_m: float, colour: Rgba) -> Asset:
    """Return glasses lying open: two `lens`es towards +x, a `bridge`, two `temple`s towards -x."""
    y, lens, z = width_m / 2, width_m * 0.2, 0.018
    shapes: list[Shape] = [box("bridge", (0.002, width_m * 0.05, 0.003), (0, 0, z + 0.004), colour, PLASTIC)]
    for s in (1, -1):
        middle = s * (y - lens - 0.004)
        shapes += [
            box("lens", (0.002, lens + 0.004, z), (0, middle, z), colour, PLASTIC, SMOOTH),
            box(
                "temple", (width_m * 0.42, 0.002, 0.004), (-width_m * 0.42, s * y, z + 0.006), colour, PLASTIC
            ),
            box("temple", (0.006, 0.002, 0.013), (-width_m * 0.82, s * y, 0.013), colour, PLASTIC),
        ]
    return solid(name, shapes, ((0.0, 0.0, z), math.pi / 2), surface=look.glasses_surface(width_m, colour, z))


def keyboard(name: str, *, half_x: float, half_y: float) -> Asset:
    """Return a computer keyboard, long along y: `body`, rows of `keys` seen and felt as one block; zone `top_side`."""
    shapes = [
        box("body", (half_x, half_y, 0.008), (0, 0, 0.008), DARK, 700),
        box("keys", (half_x * 0.85, half_y * 0.94, 0.002), (0, 0, 0.018), GREY, 700),
    ]
    zone = Zone("top_side", (0, 0, 0.07), (half_x, half_y, 0.05), "surface")
    return solid(name, shapes, None, [zone], surface=look.keyboard_surface(half_x, half_y))


def game_console(name: str, *, half_x: float, half_y: float) -> Asset:
    """Return a hand-held console: `screen` in the middle, a `grip` with buttons at each y end; zone `top_side`."""
    z, end = 0.008, half_y * 0.3
    shapes = [
        box("screen", (half_x, half_y - end, z), (0, 0, z), BLACK, 900),
        *(
            box("grip", (half_x, end / 2, z), (0, s * (half_y - end / 2), z), c, 900)
            for s, c in ((1, RED), (-1, BLUE))
        ),
    ]
    zone = Zone("top_side", (0, 0, 2 * z + 0.05), (half_x, half_y, 0.05), "surface")
    grasp = ((0.0, 0.0, FINGER_ROOM_M), math.pi / 2)
    return solid(name, shapes, grasp, [zone], surface=look.console_surface(half_x, half_y))


def cap(name: str, *, radius_m: float, colour: Rgba) -> Asset:
    """Return a cap: round `crown`, a flat `visor` towards -x, and a `button` on top that a gripper can pinch."""
    r = radius_m
    shapes = [
        disc("crown", r, 0, r * 0.6, colour, 80),
        blob("crown", (r, r, r * 0.58), (0, 0, r * 0.6), colour, 80),
        disc("button", 0.012, r * 1.1, r * 1.18 + 0.02, WHITE, 80),
        box("visor", (r * 0.45, r * 0.7, 0.003), (-r * 1.25, 0, 0.003), colour, CLOTH),
    ]
    surface = look.cap_surface(radius_m, colour)
    return solid(name, shapes, ((0.0, 0.0, r * 1.18 + 0.01), 0.0), surface=surface)


_RAINBOW = (RED, YELLOW, GREEN, BLUE, PURPLE)

TOYS: dict[str, Recipe] = {
    "toy_car": partial(toy_car, length_m=0.12, colour=RED),
    "toy_train": partial(toy_train, length_m=0.14, colour=RED),
    "toy_motorbike": partial(toy_motorbike, length_m=0.13, colour=ORANGE),
    "toy_balls": partial(balls, radius_m=0.024, colours=_RAINBOW, frame=SKY, density=400),
    "billiard_balls": partial(
        balls, radius_m=0.0286, colours=(YELLOW, RED, BLUE, ORANGE), frame=GREEN, density=1700, numbered=True
    ),
    # So stiff that at 2 m/s a drop does not sink through the bottom of a bowl to the table.
    "water_ball": partial(
        ball, radius_m=0.007, colour=(0.35, 0.65, 0.95, 0.8), density=1000, contact_s=0.006
    ),
    "ball": partial(ball, radius_m=0.032, colour=RED, density=200),
    "candle": partial(candle, radius_m=0.025, height_m=0.1, colour=CREAM),
    "eyeglasses": partial(eyeglasses, width_m=0.14, colour=BLACK),
    "keyboard": partial(keyboard, half_x=0.065, half_y=0.18),
    "game_console": partial(game_console, half_x=0.037, half_y=0.11),
    "cap": partial(cap, radius_m=0.07, colour=BLUE),
}
