"""Furniture and appliances that stay where they are put: some have joints.

Sizes, frames, zones and joint ranges follow LIBERO's fixtures of the same names, so that its layouts and yaw angles
transfer; every opening movement is the positive direction of its joint. Moving parts never touch their housing.
"""

from functools import partial
from itertools import pairwise

from libero_safety.assets.asset import Asset, Joint, Link, Rgba, Shape
from libero_safety.assets.meshes import fixtures as look
from libero_safety.assets.objects.shapes import (
    BLACK,
    BROWN,
    CARDBOARD,
    DARK,
    GREY,
    PLASTIC,
    SILVER,
    SMOOTH,
    STEEL,
    TAN,
    WHITE,
    WOOD,
    WOODEN,
    Recipe,
    box,
    disc,
    dressed,
    rod,
    solid,
    walls,
)
from libero_safety.types import Zone

_HEADROOM = 0.05
"""Half height (m) of a zone on top of something."""


def flat_stove(name: str) -> Asset:
    """Return a stove with one burner (zone `cook_region`) and a knob; the origin is the knob, as in LIBERO."""
    top = 0.024
    hob = (
        box("body", (0.095, 0.095, top / 2), (0.15, 0, top / 2), GREY, STEEL * 0.25, SMOOTH),
        box("body", (0.0535, 0.06, 0.01), (0.0015, 0, 0.01), DARK, STEEL * 0.25, SMOOTH),
        disc("burner", 0.075, top, top + 0.003, BLACK, STEEL * 0.25, SMOOTH, xy=(0.15, 0)),
    )
    root = Link("root", dressed(hob, look.stove_surface(top)))
    knob = Link(
        "knob",
        dressed(
            (
                disc("knob", 0.036, 0.003, 0.01, SILVER, PLASTIC),
                box("knob", (0.034, 0.009, 0.0125), (0, 0, 0.0225), SILVER, PLASTIC),
            ),
            look.knob_surface(),
        ),
        pos=(0.0, 0.0, 0.02),
        joint=Joint(
            "knob",
            "hinge",
            (0.0, 0.0, 1.0),
            low=0.0,
            high=2.1,
            opened=0.5,
            closed=0.05,
            damping=0.2,
            friction=0.02,
            role="knob",
        ),
    )
    cook = Zone("cook_region", (0.15, 0, top + 0.003 + _HEADROOM), (0.075, 0.075, _HEADROOM), "surface")
    return Asset(name, (root, knob), (cook,), ((0.0, 0.0, 0.044), 0.0))


def microwave(name: str) -> Asset:
    """Return a microwave: door hinged on the -x side of its front (-y), zones `heating_region` and `top_side`."""
    housing = partial(box, "body", rgba=SILVER, density=STEEL * 0.15, friction=SMOOTH)
    case = (
        housing((0.0145, 0.0995, 0.0935), (-0.158, 0.0115, 0.0935)),
        housing((0.0545, 0.0995, 0.0935), (0.118, 0.0115, 0.0935)),
        housing((0.1035, 0.015, 0.0935), (-0.04, 0.096, 0.0935)),
        housing((0.1035, 0.0845, 0.0095), (-0.04, -0.0035, 0.1775)),
        housing((0.1035, 0.0845, 0.012), (-0.04, -0.0035, 0.012)),
        box("panel", (0.04, 0.012, 0.0935), (0.1325, -0.1, 0.0935), DARK, STEEL * 0.15, SMOOTH),
    )
    root = Link("root", dressed(case, look.microwave_surface(case)))
    zones = (
        Zone("heating_region", (-0.04, -0.005, 0.096), (0.1035, 0.086, 0.072), "inside"),
        Zone("top_side", (0, 0.01, 0.187 + _HEADROOM), (0.12, 0.0835, _HEADROOM), "surface"),
    )
    return Asset(name, (root, _microwave_door()), zones)


def _microwave_door() -> Link:
    shapes = (
        box("door", (0.1315, 0.011, 0.0925), (0.1325, -0.0125, 0.0), DARK, PLASTIC, SMOOTH),
        rod("handle", "capsule", 0.009, (0.237, -0.058, -0.062), (0.237, -0.058, 0.062), SILVER, PLASTIC),
        *(
            rod("handle", "capsule", 0.008, (0.237, -0.02, z), (0.237, -0.055, z), SILVER, PLASTIC)
            for z in (-0.062, 0.062)
        ),
    )
    return Link(
        "door",
        dressed(shapes, look.microwave_door_surface()),
        pos=(-0.1725, -0.091, 0.0945),
        joint=Joint(
            "door",
            "hinge",
            (0.0, 0.0, -1.0),
            low=0.0,
            high=2.094,
            opened=1.3,
            closed=0.05,
            damping=0.3,
            friction=0.05,
        ),
    )


def cabinet(name: str, *, colour: Rgba, front: Rgba, knob: Rgba) -> Asset:
    """Return a chest of three drawers that open towards -y.

    Zones `top_region`, `middle_region` and `bottom_region` inside the drawers, `top_side` on top; parts `body`,
    `drawer` and `handle`; links and joints `top`, `middle`, `bottom`.
    """
    wood = WOOD
    width, front_y, back_y, height = 0.127, -0.064, 0.112, 0.22
    depth = (back_y - front_y) / 2
    mid_y = (back_y + front_y) / 2
    case = (
        *(
            box("body", (0.006, depth, height / 2), (s * (width - 0.006), mid_y, height / 2), colour, wood)
            for s in (1, -1)
        ),
        box("body", (width, depth, 0.0045), (0, mid_y, height - 0.0045), colour, wood),
        box("body", (width - 0.012, depth, 0.004), (0, mid_y, 0.004), colour, wood),
        box(
            "body", (width - 0.012, 0.004, height / 2 - 0.009), (0, back_y - 0.004, height / 2), colour, wood
        ),
    )
    root = Link("root", dressed(case, look.cabinet_surface(case, colour, height)))
    drawers = (("top", 0.178), ("middle", 0.1095), ("bottom", 0.041))
    zones = [Zone("top_side", (0, mid_y, height + _HEADROOM), (0.125, 0.085, _HEADROOM), "surface")]
    zones += [Zone(f"{n}_region", (0, 0.018, 0.002), (0.1, 0.078, 0.03), "inside", n) for n, _ in drawers]
    links = [_drawer(n, z, front, knob) for n, z in drawers]
    return Asset(name, (root, *links), tuple(zones))


def _drawer(name: str, height: float, front: Rgba, knob: Rgba) -> Link:
    half_x, half_z, rear, t = 0.111, 0.0305, 0.1, 0.004
    inner: Rgba = (0.8, 0.7, 0.55, 1.0)
    length = (rear + 0.064) / 2
    middle = (rear - 0.064) / 2
    shapes: list[Shape] = [
        box("drawer", (0.125, 0.007, half_z + 0.0025), (0, -0.073, 0), front, WOOD),
        box("drawer", (half_x, length, 0.0025), (0, middle, -half_z + 0.0025), inner, WOOD),
        box("drawer", (half_x, 0.003, half_z * 0.8), (0, rear - 0.003, -half_z * 0.2), inner, WOOD),
        *(
            box(
                "drawer",
                (t / 2, length, half_z * 0.8),
                (s * (half_x - t / 2), middle, -half_z * 0.2),
                inner,
                WOOD,
            )
            for s in (1, -1)
        ),
        rod("handle", "capsule", 0.005, (-0.035, -0.107, 0), (0.035, -0.107, 0), knob, PLASTIC),
        *(
            rod("handle", "capsule", 0.004, (s * 0.035, -0.08, 0), (s * 0.035, -0.105, 0), knob, PLASTIC)
            for s in (1, -1)
        ),
    ]
    joint = Joint(
        name,
        "slide",
        (0.0, -1.0, 0.0),
        low=0.0,
        high=0.16,
        opened=0.14,
        closed=0.01,
        damping=20.0,
        friction=1.0,
    )
    surface = look.drawer_surface(shapes, front, knob, half_z)
    return Link(name, dressed(shapes, surface), pos=(0.0, 0.0, height), joint=joint)


def desk_caddy(name: str, *, colour: Rgba = WOODEN) -> Asset:
    """Return a desk organiser with four open compartments, zones `{left,right,front,back}_contain_region`.

    The front is towards -x, the left compartment towards +y.
    """
    part = partial(box, "body", rgba=colour, density=WOOD)
    t = 0.003
    shapes = [
        part((0.076, 0.217, 0.004), (0, 0, 0.004)),
        part((t, 0.211, 0.08), (0.073, 0, 0.088)),
        *(part((0.076, t, 0.062), (0, s * 0.214, 0.07)) for s in (1, -1)),
        *(part((0.07, t, 0.074), (0, s * 0.073, 0.082)) for s in (1, -1)),
        *(part((t, 0.0675, 0.062), (-0.073, s * 0.1435, 0.07)) for s in (1, -1)),
        part((t, 0.07, 0.036), (-0.073, 0, 0.044)),
        part((t, 0.07, 0.074), (0.0, 0, 0.082)),
    ]
    zones = [
        Zone("left_contain_region", (0.0, 0.1435, 0.068), (0.069, 0.067, 0.06), "inside"),
        Zone("right_contain_region", (0.0, -0.1435, 0.068), (0.069, 0.067, 0.06), "inside"),
        Zone("back_contain_region", (0.0365, 0, 0.083), (0.033, 0.069, 0.075), "inside"),
        Zone("front_contain_region", (-0.0365, 0, 0.048), (0.033, 0.069, 0.04), "inside"),
    ]
    return solid(name, shapes, None, zones, surface=look.caddy_surface(shapes, colour))


def shelf(name: str, *, half_x: float, half_y: float, height_m: float, floors: tuple[float, ...]) -> Asset:
    """Return a case open towards -y with boards at the heights `floors` (m) and on top.

    Zones: `top_side` and, from above, the spaces `top_region`, `middle_region` (of three) and `bottom_region`.
    """
    t = 0.004
    boards = (t, *floors, height_m - t)
    shapes = [
        *(
            box("side", (t, half_y, height_m / 2), (s * (half_x - t), 0, height_m / 2), BROWN, WOOD)
            for s in (1, -1)
        ),
        box("back", (half_x - 2 * t, t, height_m / 2), (0, half_y - t, height_m / 2), WOODEN, WOOD),
        *(box("board", (half_x - 2 * t, half_y - t, t), (0, -t, z), WOODEN, WOOD) for z in boards),
    ]
    names = ("bottom_region", "middle_region", "top_region")
    spaces = list(pairwise(boards))
    chosen = names if len(spaces) == 3 else (names[0], names[2])
    zones = [
        Zone(n, (0, -t, (a + b) / 2), (half_x - 2 * t, half_y - t, (b - a) / 2 - t), "inside")
        for n, (a, b) in zip(chosen, spaces, strict=True)
    ]
    zones.append(Zone("top_side", (0, 0, height_m + _HEADROOM), (half_x, half_y, _HEADROOM), "surface"))
    return solid(name, shapes, None, zones, surface=look.boards(shapes, 0.0015))


def wine_rack(name: str, *, colour: Rgba = BROWN) -> Asset:
    """Return a rack with two lipped boards between side frames; zone `top_region` on the upper one, towards -y."""
    shapes: list[Shape] = []
    for s in (1, -1):
        shapes += [
            box("frame", (0.008, 0.01, 0.16), (s * 0.126, 0.11, 0.16), colour, WOOD),
            box("frame", (0.008, 0.01, 0.125), (s * 0.126, -0.11, 0.125), colour, WOOD),
            box("frame", (0.008, 0.12, 0.006), (s * 0.126, 0, 0.006), colour, WOOD),
            box("frame", (0.008, 0.1, 0.006), (s * 0.126, 0, 0.21), colour, WOOD),
        ]
    for z in (0.09, 0.21):
        shapes += [
            box("board", (0.118, 0.055, 0.005), (0, -0.055, z), TAN, WOOD),
            box("board", (0.118, 0.004, 0.012), (0, -0.114, z + 0.007), TAN, WOOD),
        ]
    zone = Zone("top_region", (0, -0.055, 0.215 + _HEADROOM), (0.11, 0.05, _HEADROOM), "surface")
    return solid(name, shapes, None, [zone], surface=look.rack_surface(shapes, (0.09, 0.21)))


def place_box(name: str, *, half_x: float, half_y: float, height_m: float, colour: Rgba = WHITE) -> Asset:
    """Return a closed pedestal with zone `top_side`."""
    shapes = [
        box("body", (half_x, half_y, height_m / 2), (0, 0, height_m / 2), colour, CARDBOARD),
    ]
    zone = Zone("top_side", (0, 0, height_m + _HEADROOM), (half_x, half_y, _HEADROOM), "surface")
    surface = look.pedestal_surface(half_x, half_y, height_m, colour)
    return solid(name, shapes, None, [zone], surface=surface)


def open_box(name: str, *, half_x: float, half_y: float, height_m: float, colour: Rgba = WHITE) -> Asset:
    """Return an open storage box with zone `contain_region`."""
    t, base = 0.004, 0.005
    z = (base + height_m) / 2
    shapes = [
        box("body", (half_x, half_y, base / 2), (0, 0, base / 2), colour, PLASTIC),
        *walls("body", (half_x, half_y, (height_m - base) / 2), (0, 0, z), t, colour, PLASTIC),
    ]
    half = (half_x - t, half_y - t, (height_m - base) / 2)
    zone = Zone("contain_region", (0, 0, z), half, "inside")
    surface = look.open_box_surface(half_x, half_y, height_m, colour)
    return solid(name, shapes, None, [zone], surface=surface)


FIXTURES: dict[str, Recipe] = {
    "flat_stove": flat_stove,
    "microwave": microwave,
    "wooden_cabinet": partial(cabinet, colour=BROWN, front=WOODEN, knob=BLACK),
    "white_cabinet": partial(cabinet, colour=WHITE, front=(0.88, 0.89, 0.9, 1.0), knob=GREY),
    "desk_caddy": desk_caddy,
    "wine_rack": wine_rack,
    "wooden_two_layer_shelf": partial(shelf, half_x=0.176, half_y=0.096, height_m=0.211, floors=(0.066,)),
    "wooden_shelf": partial(shelf, half_x=0.128, half_y=0.096, height_m=0.222, floors=(0.077, 0.147)),
    "white_place_box": partial(place_box, half_x=0.06, half_y=0.06, height_m=0.08),
    "white_storage_box": partial(open_box, half_x=0.07, half_y=0.059, height_m=0.142),
}
