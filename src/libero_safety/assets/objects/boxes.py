"""Boxes, cartons, packets, books and other flat or square things."""

from functools import partial

from libero_safety.assets.asset import Asset, Rgba, Vec3
from libero_safety.assets.meshes import boxes as look
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    BROWN,
    CARDBOARD,
    CLOTH,
    CREAM,
    DARK,
    FILLED,
    FINGER_ROOM_M,
    FOOD,
    GREEN,
    GREY,
    GRIPPY,
    HAND_ROOM_M,
    HOLLOW,
    ORANGE,
    PAPER,
    RED,
    SKY,
    TAN,
    TEAL,
    WHITE,
    WOOD,
    WOODEN,
    YELLOW,
    Recipe,
    box,
    solid,
)
from libero_safety.types import Zone


def packet(
    name: str,
    *,
    half: Vec3,
    colour: Rgba,
    label: Rgba,
    density: float = FOOD,
    friction: float = GRIPPY,
    style: look.Style = "printed",
    art: look.Art = "discs",
) -> Asset:
    """Return a closed packet or another thing of one box; the fingers close across its y side."""
    z = half[2]
    shapes = [
        box("body", half, (0, 0, z), colour, density, friction),
    ]
    grasp = ((0.0, 0.0, max(z, 2 * z - HAND_ROOM_M, FINGER_ROOM_M)), 0.0)
    return solid(name, shapes, grasp, surface=look.packet_surface(half, colour, label, style, art))


def carton(name: str, *, half_m: float, height_m: float, colour: Rgba, label: Rgba, cap: Rgba) -> Asset:
    """Return a drink carton: square `body`, `neck` with a gable, screw `cap`."""
    top = height_m * 0.8
    shapes = [
        box("body", (half_m, half_m, top / 2), (0, 0, top / 2), colour, FILLED),
        box("neck", (half_m, half_m * 0.55, height_m * 0.06), (0, 0, top + height_m * 0.06), colour, HOLLOW),
        box("neck", (half_m, 0.0025, height_m * 0.05), (0, 0, height_m * 0.95), colour, CARDBOARD),
    ]
    surface = look.carton_surface(half_m, height_m, colour, label, cap)
    return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)


def book(name: str, *, width_m: float, height_m: float, thick_m: float, colour: Rgba, upright: bool) -> Asset:
    """Return a closed book: two `cover` boards, a `spine` and the `pages`. Standing, its covers face +y and -y."""
    t, board = thick_m / 2, 0.0025
    x, z = width_m / 2, height_m / 2
    shapes = [
        box("pages", (x - 0.003, t - 2 * board, z - 0.002), (0.001, 0, z), WHITE, PAPER),
        *(box("cover", (x, board, z), (0, side * (t - board), z), colour, PAPER) for side in (1, -1)),
        box("spine", (board, t - 2 * board, z), (-x + board, 0, z), colour, PAPER),
    ]
    surface = look.book_surface(width_m, height_m, thick_m, colour, upright)
    if upright:
        return solid(name, shapes, ((0.0, 0.0, height_m - HAND_ROOM_M), 0.0), surface=surface)
    flat = [
        box(
            s.part,
            (s.size[0], s.size[2], s.size[1]),
            (s.pos[0], s.pos[2], s.pos[1]),
            s.rgba,
            s.density,
        )
        for s in shapes
    ]
    return solid(name, flat, surface=surface)


def notebook(name: str, *, half: Vec3, colour: Rgba) -> Asset:
    """Return a notebook lying shut: `cover`, `pages`, and a `spine` of rings along its -y side."""
    x, y, z = half
    shapes = [
        box("cover", (x, y, 0.001), (0, 0, 0.001), colour, PAPER),
        box("pages", (x - 0.003, y - 0.003, z - 0.002), (0, 0, z), WHITE, PAPER),
        box("cover", (x, y, 0.001), (0, 0, 2 * z - 0.001), colour, PAPER),
        box("spine", (x * 0.95, 0.003, z), (0, -y, z), DARK, PAPER),
    ]
    zone = Zone("top_side", (0, 0, 2 * z + 0.03), (x, y, 0.03), "surface")
    return solid(name, shapes, None, [zone], surface=look.notebook_surface(half, colour))


def board(name: str, *, half: Vec3, colour: Rgba) -> Asset:
    """Return a cutting board: `body` and a `handle` towards +x; zone `top_side`."""
    x, y, z = half
    shapes = [
        box("body", half, (0, 0, z), colour, WOOD),
        box("handle", (0.04, 0.018, z), (x + 0.04, 0, z), colour, WOOD),
    ]
    zone = Zone("top_side", (0, 0, 2 * z + 0.03), (x, y, 0.03), "surface")
    grasp = ((x + 0.025, 0.0, FINGER_ROOM_M), 0.0)
    return solid(name, shapes, grasp, [zone], surface=look.board_surface(half, colour))


def towel(name: str, *, half: Vec3, colour: Rgba, stripe: Rgba) -> Asset:
    """Return a folded towel as a thin rigid pad: `body` and a thicker `fold` along its -y side."""
    x, y, z = half
    shapes = [
        box("body", half, (0, 0, z), colour, CLOTH),
        box("fold", (x, 0.02, z * 1.6), (0, -y + 0.02, z * 1.6), colour, CLOTH),
    ]
    return solid(name, shapes, surface=look.towel_surface(half, colour, stripe))


BOXES: dict[str, Recipe] = {
    "butter": partial(packet, half=(0.038, 0.02, 0.009), colour=YELLOW, label=BLUE, art="stripes"),
    "cream_cheese": partial(packet, half=(0.041, 0.0215, 0.0095), colour=SKY, label=WHITE, art="disc"),
    "cookies": partial(packet, half=(0.041, 0.031, 0.0095), colour=RED, label=CREAM, density=500),
    "chocolate_pudding": partial(
        packet, half=(0.041, 0.024, 0.014), colour=BROWN, label=ORANGE, density=600, art="disc"
    ),
    "macaroni_and_cheese": partial(
        packet, half=(0.058, 0.035, 0.014), colour=BLUE, label=YELLOW, density=400, art="elbows"
    ),
    "popcorn": partial(
        packet, half=(0.032, 0.021, 0.011), colour=GREEN, label=WHITE, density=400, style="bag"
    ),
    "brownie": partial(
        packet, half=(0.03, 0.03, 0.015), colour=BROWN, label=(0.25, 0.13, 0.07, 1.0), style="brownie"
    ),
    "milk": partial(carton, half_m=0.0275, height_m=0.142, colour=WHITE, label=BLUE, cap=RED),
    "orange_juice": partial(carton, half_m=0.0275, height_m=0.142, colour=ORANGE, label=WHITE, cap=GREEN),
    "box_of_vegetable_juice": partial(carton, half_m=0.03, height_m=0.15, colour=GREEN, label=RED, cap=WHITE),
    "box_of_tea": partial(
        packet, half=(0.05, 0.03, 0.035), colour=TEAL, label=CREAM, density=250, art="leaf"
    ),
    "black_book": partial(book, width_m=0.11, height_m=0.137, thick_m=0.03, colour=BLACK, upright=True),
    "yellow_book": partial(book, width_m=0.1, height_m=0.124, thick_m=0.026, colour=YELLOW, upright=True),
    "red_book": partial(book, width_m=0.12, height_m=0.16, thick_m=0.028, colour=RED, upright=False),
    "notebook": partial(notebook, half=(0.075, 0.105, 0.007), colour=TEAL),
    "cutting_board": partial(board, half=(0.11, 0.08, 0.008), colour=WOODEN),
    "dish_towel": partial(towel, half=(0.09, 0.06, 0.006), colour=CREAM, stripe=RED),
    "sponge": partial(
        packet, half=(0.045, 0.03, 0.013), colour=YELLOW, label=GREEN, density=150, style="sponge"
    ),
    "cardboard_box": partial(
        packet, half=(0.06, 0.035, 0.045), colour=TAN, label=GREY, density=150, style="parcel"
    ),
}
