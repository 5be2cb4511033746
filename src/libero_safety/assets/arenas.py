"""The rooms: a workspace, where the robot stands, what is around, and cameras.

World coordinates, surface heights, robot bases and cameras are LIBERO's, so that absolute end-effector positions and
workspace coordinates transfer. In the study and the living room LIBERO states a workspace height of 0.867 and 0.41 m,
but its table surfaces are at 0.885 and 0.437 m, measured on its compiled models; the surface counts here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from libero_safety.assets import decor
from libero_safety.assets.asset import Quat, Rgba, Shape, Vec3
from libero_safety.assets.objects.shapes import box, disc


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
        shapes: everything static, world frame; the surface has part `workspace`, the robot's stand part `mount`. Boxes
            that have a `material` show a picture on their local x and y: that of the look of the `table`, `floor` or
            `wall`, or of the surface that it names.
        looks: default word for each look: `table` (where there is one), `floor`, `wall` and `lighting`.
    """

    name: str
    workspace_types: tuple[str, ...]
    workspace_pos: Vec3
    workspace_half: tuple[float, float]
    robot_base: Vec3
    shapes: tuple[Shape, ...]
    cameras: tuple[View, ...]
    looks: tuple[tuple[str, str], ...]


def _felt(part: str, half: Vec3, pos: Vec3, look: str) -> Shape:
    """Return a box that collides."""
    return Shape("box", half, pos, part=part, material=look)


def _room(floor_part: str = "floor") -> list[Shape]:
    """Return a floor whose top is z = 0 and three walls."""
    return [_felt(floor_part, (3.0, 3.0, 0.1), (0, 0, -0.1), "floor"), *decor.walls()]


def _table(half: Vec3, top: Vec3) -> list[Shape]:
    """Return a table with four legs whose surface is centred on `top`; `half` holds half of its slab's thickness."""
    x, y, z = half
    under = top[2] - 2 * z
    legs = [
        _felt(
            "table",
            (0.03, 0.03, under / 2),
            (top[0] + i * (x - 0.08), top[1] + j * (y - 0.08), under / 2),
            "table",
        )
        for i in (1, -1)
        for j in (1, -1)
    ]
    return [_felt("workspace", half, (top[0], top[1], top[2] - z), "table"), *legs]


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


def _looks(table: str, floor: str, wall: str) -> tuple[tuple[str, str], ...]:
    return (("table", table), ("floor", floor), ("wall", wall), ("lighting", "day"))


def _furnished(table: tuple[Vec3, Vec3], base: Vec3, around: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return a room with a table of (half sizes, top), the robot's stand, and what is around."""
    return (*_room(), *_table(*table), *_mount(base), *decor.skirting(), *around)


def tabletop() -> Arena:
    """Return a bare table in a plain room with a window and a picture."""
    base = (-0.66, 0.0, 0.912)
    around = [
        *decor.window((1.25, 1.6), (0.5, 0.55)),
        *decor.picture((-1.2, 1.55), (0.3, 0.4), "stone_sandstone_02"),
        *decor.plant((-1.7, 2.2)),
    ]
    return Arena(
        "tabletop",
        ("table", "main_table"),
        (0.0, 0.0, 0.9),
        (0.5, 0.6),
        base,
        _furnished(((0.5, 0.6, 0.025), (0.0, 0.0, 0.9)), base, around),
        _views((0.6586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        _looks("oak", "tiles", "plaster"),
    )


def kitchen() -> Arena:
    """Return a kitchen table in front of a run of kitchen units."""
    base = (-0.66, 0.0, 0.912)
    around = decor.kitchen_run((0.55, 0.62, 0.58, 1.0), "granite_grey_01", "glazed_ivory_02")
    return Arena(
        "kitchen",
        ("kitchen_table",),
        (0.0, 0.0, 0.9),
        (0.5, 0.6),
        base,
        _furnished(((0.5, 0.6, 0.025), (0.0, 0.0, 0.9)), base, around),
        _views((0.6586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        _looks("linen", "tiles", "sand"),
    )


def study() -> Arena:
    """Return a desk in front of a bookcase."""
    base = (-0.75, 0.0, 0.912)
    around = [
        *decor.bookcase("walnut_02"),
        *decor.picture((0.9, 1.5), (0.4, 0.3), "marble_green_01"),
        *decor.floor_lamp((-1.6, 1.9)),
    ]
    return Arena(
        "study",
        ("study_table",),
        (-0.2, 0.0, 0.885),
        (0.4, 0.6),
        base,
        _furnished(((0.4, 0.9, 0.02), (-0.2, 0.0, 0.885)), base, around),
        _views((0.4586131746834771, 0.0, 1.6103500240372423), _DOWN_38, (1.0, 0.0, 1.48)),
        _looks("walnut", "parquet", "sage"),
    )


def _lounge(cloth: Rgba) -> list[Shape]:
    return [
        *decor.sofa(cloth),
        *decor.picture((0.0, 1.55), (0.5, 0.33), "terrazzo_coral_01"),
        *decor.floor_lamp((-1.6, 1.75)),
        *decor.plant((-1.65, -1.75)),
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
        _furnished(((0.35, 0.8, 0.012), (0.0, 0.0, 0.437)), base, _lounge((0.42, 0.49, 0.58, 1.0))),
        _views((0.6065773716836134, 0.0, 0.96), _DOWN_32, (1.5, 0.0, 0.9)),
        _looks("walnut", "parquet", "sky"),
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
        _furnished(((0.35, 0.8, 0.014), (0.0, 0.0, 0.424)), base, _lounge((0.53, 0.54, 0.41, 1.0))),
        _views((1.5, 0.0, 0.9), _FRONT, (1.5, 0.0, 0.9)),
        _looks("marble", "carpet", "plaster"),
    )


def floor() -> Arena:
    """Return an empty room: the floor is the workspace."""
    around = [
        *decor.skirting(),
        *decor.picture((0.8, 1.5), (0.35, 0.28), "concrete_pale_02"),
        *decor.plant((-1.7, -1.4)),
    ]
    return Arena(
        "floor",
        ("floor",),
        (0.0, 0.0, 0.0),
        (0.45, 0.6),
        (-0.6, 0.0, 0.0),
        (*_room(floor_part="workspace"), *around),
        _views((0.8965773716836134, 0.0, 0.65), _DOWN_32, (1.0, 0.0, 0.65)),
        _looks("", "parquet", "plaster")[1:],
    )


ARENAS: dict[str, Callable[[], Arena]] = {
    "tabletop": tabletop,
    "kitchen": kitchen,
    "living_room": living_room,
    "study": study,
    "floor": floor,
    "coffee_table": coffee_table,
}
