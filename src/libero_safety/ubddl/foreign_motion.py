"""Motions of foreign dialects. Their clock counts control steps (20 Hz), whatever their manuals call it."""

import math
from collections.abc import Callable, Mapping
from typing import NoReturn

from libero_safety.types import CONTROL_HZ, HORIZON
from libero_safety.ubddl.foreign import Reading
from libero_safety.ubddl.formula import head_of, unknown
from libero_safety.ubddl.motion import check_direction
from libero_safety.ubddl.number import number, numbers, word
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import (
    Circle,
    Fact,
    Line,
    Motion,
    Num,
    Parabola,
    Path,
    Rect,
    Region,
    Still,
    Uniform,
    Vec3,
    WayPoint,
    WayPoints,
)

_KEYS = (
    ":motion_type :motion_speed :motion_radius :motion_center :motion_quat :motion_pos :motion_direction "
    ":motion_angle :motion_period :motion_travel_dist :motion_waypoints :motion_dt :motion_loop "
    ":motion_initial_speed :motion_start_pos :motion_start_quat :motion_gravity :z_offset"
).split()
_WORLD_XY = {"study": (-0.2, 0.0)}
"""Where an arena's workspace lies in the sources' world frame, if not at its origin."""
_WORLD_Z = {"kitchen": 0.9, "tabletop": 0.9, "living_room": 0.41, "study": 0.867, "floor": -0.035}
_HORIZON_S = HORIZON / CONTROL_HZ
_LEG_S = 10.0
"""Length of a way-point leg on the sources' own clock."""

Entries = Mapping[str, Node]


def read_motions(reading: Reading, items: tuple[Item, ...]) -> None:
    """Read a `:dynamics` or `:moving_objects` section."""
    for item in items:
        node, name = head_of(item, "(name (:motion_type kind) ...)")
        if name not in reading.block.entities:
            reading.name(node.items[0])
        if name in reading.block.motions:
            raise UbddlError(node.place, f"{name!r} has a second motion")
        entries: dict[str, Node] = {}
        for part in node.rest:
            entry, key = head_of(part, "a (:key value)")
            if key in entries:
                raise UbddlError(entry.place, f"second {key} in the motion of {name!r}")
            entries[key] = entry
        read = _obstacle if ":type" in entries else _mocap
        reading.block.motions[name] = read(reading, node, name, entries)


def _one(entry: Node) -> Item:
    if len(entry.rest) != 1:
        raise UbddlError(entry.place, f"{entry.head} takes one value, found {len(entry.rest)}")
    return entry.rest[0]


def _float(entries: Entries, key: str, default: float) -> float:
    return number(_one(entries[key]), what=key) if key in entries else default


def _vec3(entries: Entries, key: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
    if key not in entries:
        return default
    x, y, z = numbers(_one(entries[key]), 3, what=key)
    return (x, y, z)


def _mocap(reading: Reading, node: Node, name: str, entries: Entries) -> Motion:
    for key, entry in entries.items():
        if key not in _KEYS:
            raise unknown(entry.items[0], "key of a motion", key, _KEYS)
    if ":motion_type" not in entries:
        raise UbddlError(node.place, f"the motion of {name!r} has no (:motion_type kind)")
    kind = word(_one(entries[":motion_type"]))
    if kind not in _KINDS:
        raise unknown(_one(entries[":motion_type"]), "motion", kind, _KINDS)
    used, read = _KINDS[kind]
    for key, entry in entries.items():
        if key not in (":motion_type", ":z_offset", *used):
            reading.note(entry.place, "ignored-key", f"{key} has no effect on a {kind} motion, there or here")
    height = _float(entries, ":z_offset", 0.0) if ":z_offset" in entries else None
    return Motion(name, read(reading, node, entries), height, place=node.place)


def _period_s(reading: Reading, node: Node, entries: Entries, default: float) -> float:
    steps = _float(entries, ":motion_period", default)
    if steps <= 0:
        raise UbddlError(
            entries[":motion_period"].place, f"a period of {steps:g} control steps: it must be more"
        )
    return steps / CONTROL_HZ


def _linear(reading: Reading, node: Node, entries: Entries) -> Path:
    travel = _float(entries, ":motion_travel_dist", 1.0)
    if travel == 0.0:
        return Still()
    direction = _vec3(entries, ":motion_direction", (0.0, 1.0, 0.0))
    place = entries.get(":motion_direction", node)
    default = 1.0 if reading.dialect == "vla_arena" else 1000.0
    return Line(check_direction(place, direction), travel, _period_s(reading, node, entries, default))


def _circle(reading: Reading, node: Node, entries: Entries) -> Path:
    center = (0.0, 0.0)
    if ":motion_center" in entries:
        item = _one(entries[":motion_center"])
        count = len(item.items) if isinstance(item, Node) else 0
        x, y, *_ = numbers(item, 3 if count == 3 else 2, what="the center (x y) or (x y z)")
        center = (x, y)
    offset = _WORLD_XY.get(reading.block.arena, (0.0, 0.0))
    return Circle((center[0] - offset[0], center[1] - offset[1]), _period_s(reading, node, entries, 1.0))


def _waypoint(reading: Reading, node: Node, entries: Entries) -> Path:
    if ":motion_waypoints" not in entries:
        raise UbddlError(node.place, "way-point motion without (:motion_waypoints ...)")
    listed = _one(entries[":motion_waypoints"])
    if isinstance(listed, Atom) or len(listed.items) < 2:
        raise UbddlError(listed.place, "way-point motion needs at least two way-points")
    points = [_position(item) for item in listed.items]
    leg_s = _LEG_S / _positive(entries, ":motion_dt", 0.01) / CONTROL_HZ
    looping = ":motion_loop" not in entries or word(_one(entries[":motion_loop"])) != "false"
    if not looping:
        reading.note(
            entries[":motion_loop"].place, "approximated", "the source takes 'false' for true; here it stops"
        )
    reading.note(
        node.place, "approximated", "starts where it is placed, not at its first way-point; never turns"
    )
    x0, y0, z0 = points[0]
    legs = tuple(
        WayPoint(i * leg_s, (x - x0, y - y0, z - z0)) for i, (x, y, z) in enumerate(points[1:], start=1)
    )
    return WayPoints(legs, "pingpong" if looping else "stop")


def _position(item: Item) -> tuple[float, float, float]:
    if isinstance(item, Atom) or len(item.items) not in (3, 4):
        raise UbddlError(item.place, f"expected a way-point (x y z (direction)), found {item}")
    x, y, z = (number(part, "m", what="a way-point") for part in item.items[:3])
    return (x, y, z)


def _positive(entries: Entries, key: str, default: float) -> float:
    value = _float(entries, key, default)
    if value <= 0:
        raise UbddlError(entries[key].place, f"{key} is {value:g}, it must be more than 0")
    return value


def _parabolic(reading: Reading, node: Node, entries: Entries) -> Path:
    rate = _positive(entries, ":motion_dt", 0.01) * CONTROL_HZ  # seconds of flight per second
    direction = check_direction(
        entries.get(":motion_direction", node), _vec3(entries, ":motion_direction", (0.0, 1.0, 0.0))
    )
    length = math.hypot(*(float(x) for x in direction if isinstance(x, float)))
    speed = _float(entries, ":motion_initial_speed", 1.0) * rate / length
    x, y, z = (speed * part for part in direction if isinstance(part, float))
    if ":motion_start_pos" in entries:
        reading.note(entries[":motion_start_pos"].place, "approximated", "starts where it is placed")
    return Parabola((x, y, z), _gravity(entries) * rate**2)


def _gravity(entries: Entries) -> float:
    if ":motion_gravity" not in entries:
        return 9.81
    item = _one(entries[":motion_gravity"])
    if isinstance(item, Atom):
        return abs(number(item, what="the gravity"))
    x, y, z = numbers(item, 3, what="the gravity")
    if x or y or z > 0:
        raise UbddlError(item.place, f"gravity {item} does not point down: no motion here can follow it")
    return -z


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Reading, Node, Entries], Path]]] = {
    "linear": ((":motion_period", ":motion_travel_dist", ":motion_direction"), _linear),
    "circle": ((":motion_center", ":motion_period"), _circle),
    "waypoint": ((":motion_waypoints", ":motion_dt", ":motion_loop"), _waypoint),
    "parabolic": (
        (":motion_initial_speed", ":motion_direction", ":motion_gravity", ":motion_start_pos", ":motion_dt"),
        _parabolic,
    ),
}


# The second grammar, of the reference's `*_obs` folders: (:type kinematic) (:traj (:kind k) (:p0 ...) ...).


def _obstacle(reading: Reading, node: Node, name: str, entries: Entries) -> Motion:
    for key, entry in entries.items():
        if key not in (":type", ":traj"):
            raise unknown(entry.items[0], "key of an obstacle", key, (":type", ":traj"))
    kind = word(_one(entries[":type"]))
    if kind != "kinematic":
        raise UbddlError(entries[":type"].place, f"obstacle type {kind!r}: only kinematic ones can be read")
    if ":traj" not in entries:
        raise UbddlError(node.place, f"obstacle {name!r} has no (:traj ...)")
    keys = (":kind", ":p0", ":v", ":center", ":radius", ":omega", ":quat")
    traj: dict[str, Node] = {}
    for part in entries[":traj"].rest:
        entry, key = head_of(part, "a (:key value)")
        if key not in keys:
            raise unknown(entry.items[0], "key of :traj", key, keys)
        traj[key] = entry
    if ":quat" in traj:
        reading.note(
            traj[":quat"].place, "not-carried", f"the fixed orientation of {name!r} is not carried over"
        )
    shape = word(_one(traj[":kind"])) if ":kind" in traj else ""
    if shape == "linear":
        return _drift(reading, entries[":traj"], name, traj)
    if shape == "circle":
        return _orbit(reading, entries[":traj"], name, traj)
    _no_such_path(traj.get(":kind", node), shape)


def _no_such_path(node: Node, shape: str) -> NoReturn:
    if shape == "brownian":
        raise UbddlError(
            node.place, "brownian motion is a new random path at every step; no motion here is so"
        )
    raise UbddlError(node.place, f"unknown path {shape!r}. Known: linear, circle")


def _ranges(reading: Reading, node: Node, traj: Entries, key: str, count: int) -> list[tuple[float, float]]:
    """Return `count` (low, high) pairs; the sources draw evenly from each, also where they are swapped."""
    if key not in traj:
        raise UbddlError(node.place, f"the path needs ({key} ...)")
    entry = traj[key]
    if len(entry.rest) != 2 * count:
        raise UbddlError(entry.place, f"{key} takes {2 * count} numbers, found {len(entry.rest)}")
    values = [number(item, what=key) for item in entry.rest]
    pairs = [(values[i], values[i + 1]) for i in range(0, 2 * count, 2)]
    if any(low > high for low, high in pairs):
        reading.note(entry.place, "swapped-range", f"{key}: a range has its larger end first")
    return [(min(pair), max(pair)) for pair in pairs]


def _spread(low: float, high: float) -> Num:
    return low if low == high else Uniform(low, high)


def _start(reading: Reading, node: Node, name: str, xs: tuple[float, float], ys: tuple[float, float]) -> None:
    """Place an obstacle where its path begins."""
    region = Region(f"{name}_start", "workspace", (Rect(xs[0], ys[0], xs[1], ys[1]),), place=node.place)
    reading.block.regions[region.full_name] = region
    reading.block.init.append(Fact("On", (name, region.full_name), node.place))


def _drift(reading: Reading, node: Node, name: str, traj: Entries) -> Motion:
    xs, ys, zs = _ranges(reading, node, traj, ":p0", 3)
    speeds = _ranges(reading, node, traj, ":v", 3) if ":v" in traj else [(0.0, 0.0)] * 3
    _start(reading, node, name, xs, ys)
    path: Path = Still()
    if any(speed != (0.0, 0.0) for speed in speeds):
        x, y, z = (_spread(low * _HORIZON_S, high * _HORIZON_S) for low, high in speeds)
        offset: Vec3 = (x, y, z)
        path = WayPoints((WayPoint(_HORIZON_S, offset),))
    return Motion(name, path, _spread(*zs), place=node.place)


def _orbit(reading: Reading, node: Node, name: str, traj: Entries) -> Motion:
    (xs, ys, zs), (radii,), (omegas,) = (
        _ranges(reading, node, traj, key, count)
        for key, count in ((":center", 3), (":radius", 1), (":omega", 1))
    )
    (x, y), radius, omega = (sum(xs) / 2, sum(ys) / 2), sum(radii) / 2, sum(omegas) / 2
    if omega <= 0:
        raise UbddlError(
            traj[":omega"].place, f"turning speed {omega:g} rad/s: only counter-clockwise circles"
        )
    reading.note(
        node.place, "approximated", f"the circle of {name!r} has the middle centre, radius and speed"
    )
    _start(reading, node, name, (x + radius, x + radius), (y, y))
    return Motion(name, Circle((x, y), 2 * math.pi / omega), _spread(*zs), place=node.place)
