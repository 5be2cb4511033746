"""The rooms: a workspace, where the robot stands, what is around, lights and cameras.

World coordinates, surface heights, robot bases and cameras are LIBERO's, so that absolute end-effector positions and
workspace coordinates transfer. In the study and the living room LIBERO states a workspace height of 0.867 and 0.41 m,
but its table surfaces are at 0.885 and 0.437 m, measured on its compiled models; the surface counts here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from libero_safety.assets.asset import Quat, Rgba, Shape, Vec3
from libero_safety.assets.objects.shapes import box, disc

Colours: TypeAlias = dict[str, Rgba]

TABLES: Colours = {
    "oak": (0.72, 0.55, 0.37, 1.0),
    "walnut": (0.4, 0.27, 0.18, 1.0),
    "marble": (0.87, 0.86, 0.84, 1.0),
    "slate": (0.32, 0.34, 0.37, 1.0),
    "white": (0.93, 0.93, 0.91, 1.0),
    "linen": (0.8, 0.74, 0.64, 1.0),
}
FLOORS: Colours = {
    "tiles": (0.74, 0.74, 0.72, 1.0),
    "parquet": (0.58, 0.42, 0.28, 1.0),
    "concrete": (0.55, 0.55, 0.54, 1.0),
    "carpet": (0.5, 0.45, 0.42, 1.0),
}
WALLS: Colours = {
    "plaster": (0.88, 0.87, 0.83, 1.0),
    "sand": (0.85, 0.77, 0.63, 1.0),
    "sage": (0.68, 0.74, 0.65, 1.0),
    "sky": (0.68, 0.78, 0.85, 1.0),
    "brick": (0.62, 0.36, 0.28, 1.0),
}
LOOKS: dict[str, Colours] = {"table": TABLES, "floor": FLOORS, "wall": WALLS}
"""Words for `table`, `floor` and `wall`; the `material` of a shape says which of the three it follows."""


@dataclass(frozen=True)
class Light:
    """A lamp. `direction` is where its light goes; `diffuse` its brightness per colour, 0 to 1."""

    pos: Vec3
    direction: Vec3
    diffuse: Vec3 = (0.6, 0.6, 0.6)
    specular: Vec3 = (0.2, 0.2, 0.2)
    directional: bool = False
    shadow: bool = False


@dataclass(frozen=True)
class View:
    """A fixed camera in the world; it looks along its own -z, y up. `fovy_deg` is vertical."""

    name: str
    pos: Vec3
    quat: Quat
    fovy_deg: float = 45.0


@dataclass(frozen=True)
class Arena:
    """A room without objects.

    Attributes:
        workspace_types: fixture types in a scenario that mean this arena's own surface.
        workspace_pos: world position of the workspace frame's origin, on the surface.
        workspace_half: half sizes (m) of the part of the surface that things may stand on.
        robot_base: world position of the robot's base link; it looks along +x.
        shapes: everything static, world frame; the surface has part `workspace`, the robot's stand part `mount`. Shapes
            whose `material` is `table`, `floor` or `wall` take the colour of that look.
        looks: default word for each look.
    """

    name: str
    workspace_types: tuple[str, ...]
    workspace_pos: Vec3
    workspace_half: tuple[float, float]
    robot_base: Vec3
    shapes: tuple[Shape, ...]
    lights: tuple[Light, ...]
    cameras: tuple[View, ...]
    looks: tuple[tuple[str, str], ...]


def _static(
    part: str, half: Vec3, pos: Vec3, look: str, colours: Colours, word: str, felt: bool = True
) -> Shape:
    shape = box(part, half, pos, colours[word], role="both" if felt else "visual")
    return Shape("box", half, pos, part=part, rgba=shape.rgba, role=shape.role, material=look)


def _room(floor: str, wall: str, floor_part: str = "floor") -> list[Shape]:
    """Return a floor whose top is z = 0 and three walls: behind the robot and on both sides."""
    return [
        _static(floor_part, (3.0, 3.0, 0.1), (0, 0, -0.1), "floor", FLOORS, floor),
        _static("wall", (0.02, 3.0, 1.5), (-2.0, 0, 1.5), "wall", WALLS, wall, felt=False),
        _static("wall", (2.5, 0.02, 1.5), (0.5, 3.0, 1.5), "wall", WALLS, wall, felt=False),
        _static("wall", (2.5, 0.02, 1.5), (0.5, -3.0, 1.5), "wall", WALLS, wall, felt=False),
    ]


def _table(half: Vec3, top: Vec3, word: str) -> list[Shape]:
    """Return a table with four legs whose surface is centred on `top`; `half` holds half of its slab's thickness."""
    x, y, z = half
    under = top[2] - 2 * z
    return [
        _static("workspace", half, (top[0], top[1], top[2] - z), "table", TABLES, word),
        *(
            _static(
                "table",
                (0.03, 0.03, under / 2),
                (top[0] + i * (x - 0.08), top[1] + j * (y - 0.08), under / 2),
                "table",
                TABLES,
                word,
            )
            for i in (1, -1)
            for j in (1, -1)
        ),
    ]


def _mount(base: Vec3) -> list[Shape]:
    """Return the stand under the robot; nothing if it stands on the floor."""
    x, y, z = base
    if z < 0.05:
        return []
    dark: Rgba = (0.2, 0.21, 0.23, 1.0)
    return [
        disc("mount", 0.09, 0.04, z, dark, xy=(x - 0.04, y)),
        box("mount", (0.13, 0.25, 0.02), (x - 0.05, y, 0.02), dark),
    ]


_LIGHTS = (
    Light((1.0, 1.0, 4.0), (0.0, -0.15, -1.0), shadow=True),
    Light((-3.0, -3.0, 4.0), (0.3, 0.3, -1.0), (0.35, 0.35, 0.35)),
)
_FRONT: Quat = (0.56, 0.43, 0.43, 0.56)
_DOWN_38: Quat = (0.6380177736282349, 0.3048497438430786, 0.30484986305236816, 0.6380177736282349)
_DOWN_32: Quat = (0.6182166934013367, 0.3432307541370392, 0.3432314395904541, 0.6182177066802979)


def _views(agent: Vec3, quat: Quat, front: Vec3) -> tuple[View, ...]:
    gallery: Quat = (0.42261379957199097, 0.23374411463737488, 0.41646939516067505, 0.7702690958976746)
    return (
        View("agentview", agent, quat),
        View("frontview", front, _FRONT),
        View("galleryview", (2.844547668904445, 2.1279684793440667, 3.128616846013882), gallery),
    )


def _decor(part: str, half: Vec3, pos: Vec3, rgba: Rgba) -> Shape:
    return box(part, half, pos, rgba, role="visual")


def tabletop() -> Arena:
    """Return a bare table in an empty room."""
    base = (-0.66, 0.0, 0.912)
    return Arena(
        "tabletop",
        ("table", "main_table"),
        (0.0, 0.0, 0.9),
        (0.5, 0.6),
        base,
        (*_room("tiles", "plaster"), *_table((0.5, 0.6, 0.025), (0.0, 0.0, 0.9), "oak"), *_mount(base)),
        _LIGHTS,
        _views((0.6586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        (("table", "oak"), ("floor", "tiles"), ("wall", "plaster")),
    )


def kitchen() -> Arena:
    """Return a kitchen table in front of a counter with wall cupboards."""
    base = (-0.66, 0.0, 0.912)
    counter: Rgba = (0.86, 0.85, 0.8, 1.0)
    front: Rgba = (0.55, 0.62, 0.58, 1.0)
    decor = [
        _decor("counter", (0.3, 1.6, 0.43), (-1.65, 0.0, 0.43), front),
        _decor("counter", (0.32, 1.62, 0.02), (-1.64, 0.0, 0.88), counter),
        _decor("cupboard", (0.17, 1.6, 0.35), (-1.8, 0.0, 1.85), front),
        *(_decor("counter", (0.004, 0.004, 0.4), (-1.348, y, 0.43), counter) for y in (-0.8, 0.0, 0.8)),
        *(_decor("cupboard", (0.004, 0.004, 0.33), (-1.628, y, 1.85), counter) for y in (-0.8, 0.0, 0.8)),
        _decor("fridge", (0.33, 0.38, 0.95), (-1.62, -2.1, 0.95), (0.8, 0.82, 0.84, 1.0)),
    ]
    return Arena(
        "kitchen",
        ("kitchen_table",),
        (0.0, 0.0, 0.9),
        (0.5, 0.6),
        base,
        (
            *_room("tiles", "sand"),
            *_table((0.5, 0.6, 0.025), (0.0, 0.0, 0.9), "linen"),
            *_mount(base),
            *decor,
        ),
        _LIGHTS,
        _views((0.6586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        (("table", "linen"), ("floor", "tiles"), ("wall", "sand")),
    )


def study() -> Arena:
    """Return a desk in front of a bookshelf."""
    base = (-0.75, 0.0, 0.912)
    wood: Rgba = (0.42, 0.29, 0.2, 1.0)
    spines: tuple[Rgba, ...] = (
        (0.55, 0.2, 0.18, 1),
        (0.2, 0.35, 0.5, 1),
        (0.75, 0.65, 0.35, 1),
        (0.3, 0.45, 0.3, 1),
    )
    decor = [
        _decor("shelf", (0.17, 0.9, 0.02), (-1.8, -0.9, z), wood) for z in (0.02, 0.5, 0.95, 1.4, 1.85)
    ] + [_decor("shelf", (0.17, 0.02, 0.93), (-1.8, y, 0.93), wood) for y in (-1.8, 0.0)]
    decor += [
        _decor(
            "book",
            (0.1, 0.018 + 0.004 * (i % 3), 0.12 + 0.012 * (i % 4)),
            (-1.77, -1.7 + 0.056 * i, z),
            spines[i % 4],
        )
        for z in (0.66, 1.11, 1.56)
        for i in range(2, 26)
        if (i + int(z * 100)) % 7
    ]
    decor.append(_decor("picture", (0.01, 0.4, 0.3), (-1.97, 0.8, 1.6), (0.25, 0.4, 0.5, 1.0)))
    return Arena(
        "study",
        ("study_table",),
        (-0.2, 0.0, 0.885),
        (0.4, 0.6),
        base,
        (
            *_room("parquet", "sage"),
            *_table((0.4, 0.9, 0.02), (-0.2, 0.0, 0.885), "walnut"),
            *_mount(base),
            *decor,
        ),
        _LIGHTS,
        _views((0.4586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        (("table", "walnut"), ("floor", "parquet"), ("wall", "sage")),
    )


def _lounge() -> list[Shape]:
    cloth: Rgba = (0.46, 0.5, 0.56, 1.0)
    return [
        _decor("sofa", (0.4, 1.0, 0.2), (-1.5, 0.0, 0.2), cloth),
        _decor("sofa", (0.12, 1.0, 0.4), (-1.8, 0.0, 0.45), cloth),
        *(_decor("sofa", (0.4, 0.12, 0.3), (-1.5, s * 1.1, 0.3), cloth) for s in (1, -1)),
        _decor("picture", (0.01, 0.5, 0.35), (-1.97, 0.0, 1.6), (0.7, 0.45, 0.3, 1.0)),
    ]


def living_room() -> Arena:
    """Return a low table in front of a sofa."""
    base = (-0.51, 0.0, 0.42)
    return Arena(
        "living_room",
        ("living_room_table",),
        (0.0, 0.0, 0.437),
        (0.35, 0.6),
        base,
        (
            *_room("parquet", "sky"),
            *_table((0.35, 0.8, 0.012), (0.0, 0.0, 0.437), "walnut"),
            *_mount(base),
            *_lounge(),
        ),
        _LIGHTS,
        _views((0.6065773716836134, 0.0, 0.96), _DOWN_32, (1.5, 0.0, 0.9)),
        (("table", "walnut"), ("floor", "parquet"), ("wall", "sky")),
    )


def coffee_table() -> Arena:
    """Return a marble coffee table."""
    base = (-0.51, 0.0, 0.41)
    return Arena(
        "coffee_table",
        ("coffee_table",),
        (0.0, 0.0, 0.424),
        (0.35, 0.6),
        base,
        (
            *_room("carpet", "plaster"),
            *_table((0.35, 0.8, 0.014), (0.0, 0.0, 0.424), "marble"),
            *_mount(base),
            *_lounge(),
        ),
        _LIGHTS,
        _views((1.5, 0.0, 0.9), _FRONT, (1.5, 0.0, 0.9)),
        (("table", "marble"), ("floor", "carpet"), ("wall", "plaster")),
    )


def floor() -> Arena:
    """Return an empty room: the floor is the workspace."""
    return Arena(
        "floor",
        ("floor",),
        (0.0, 0.0, 0.0),
        (0.45, 0.6),
        (-0.6, 0.0, 0.0),
        tuple(_room("parquet", "plaster", floor_part="workspace")),
        _LIGHTS,
        _views((0.8965773716836134, 0.0, 0.65), _DOWN_32, (1.0, 0.0, 0.65)),
        (("floor", "parquet"), ("wall", "plaster")),
    )


ARENAS: dict[str, Callable[[], Arena]] = {
    "tabletop": tabletop,
    "kitchen": kitchen,
    "living_room": living_room,
    "study": study,
    "floor": floor,
    "coffee_table": coffee_table,
}
