"""How things move by themselves: `(name (:motion kind) (:key value) ...)` to `Motion`."""

import math
from collections.abc import Callable, Mapping
from typing import get_args

from libero_safety.ubddl.formula import head_of, unknown
from libero_safety.ubddl.number import Dimension, number_or_dist, vector, word
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import (
    Choice,
    Circle,
    Facing,
    Jitter,
    Line,
    Motion,
    Num,
    Parabola,
    Path,
    ReachIn,
    Still,
    Uniform,
    Vec3,
    WayPoint,
    WayPoints,
    Withdraw,
)

MODES = ("stop", "loop", "pingpong")


def parse_motion(item: Item) -> Motion:
    """Read the motion of one entity."""
    node, entity = head_of(item, "(name (:motion kind) ...)")
    owner = f"the motion of {entity!r}"
    entries = _entries(node.rest, owner)
    if ":motion" not in entries:
        raise UbddlError(node.place, f"{owner} has no (:motion kind). Known: {', '.join(KINDS)}")
    kind = word(_value(entries[":motion"]))
    if kind not in KINDS:
        raise unknown(_value(entries[":motion"]), "motion", kind, KINDS)
    keys, build = KINDS[kind]
    known = (":motion", ":height", ":tilt", *keys, *(() if kind == "parabola" else ADDED))
    _only(entries, known, f"motion {kind!r}")
    height = (
        number_or_dist(_value(entries[":height"]), "m", what="the height") if ":height" in entries else None
    )
    return Motion(
        entity,
        build(node, entries),
        height,
        tilt=_tilt(_value(entries[":tilt"])) if ":tilt" in entries else (0.0, 0.0),
        jitter=_jitter(entries[":jitter"]) if ":jitter" in entries else None,
        reach_in=_reach_in(entries[":reach_in"]) if ":reach_in" in entries else None,
        withdraw=_withdraw(entries[":withdraw"]) if ":withdraw" in entries else None,
        place=node.place,
    )


def _entries(items: tuple[Item, ...], owner: str) -> dict[str, Node]:
    entries: dict[str, Node] = {}
    for part in items:
        entry, key = head_of(part, "a (:key value)")
        if key in entries:
            raise UbddlError(entry.place, f"second {key} in {owner}")
        entries[key] = entry
    return entries


def _only(entries: Mapping[str, Node], known: tuple[str, ...], owner: str) -> None:
    for key, entry in entries.items():
        if key not in known:
            raise unknown(entry.items[0], f"key of {owner}", key, known)


def _value(entry: Node) -> Item:
    if len(entry.rest) != 1:
        raise UbddlError(entry.place, f"{entry.head} takes one value, found {len(entry.rest)}")
    return entry.rest[0]


def _need(node: Node, entries: Mapping[str, Node], key: str) -> Item:
    if key not in entries:
        owner = node.head if node.head.startswith(":") else f"the motion of {node.head!r}"
        raise UbddlError(node.place, f"{owner} needs ({key} ...)")
    return _value(entries[key])


def _num(entries: Mapping[str, Node], key: str, dimension: Dimension, default: float) -> Num:
    return number_or_dist(_value(entries[key]), dimension, what=key) if key in entries else default


def _positive(item: Item, dimension: Dimension, what: str) -> Num:
    """Read a number that is more than nothing, whatever is drawn."""
    value = number_or_dist(item, dimension, what=f"the {what}", low=0.0)
    least = value.low if isinstance(value, Uniform) else value
    if least == 0.0 or (isinstance(value, Choice) and 0.0 in value.options):
        raise UbddlError(item.place, f"a {what} of 0{dimension}: it must be more")
    return value


def check_direction(item: Item, direction: Vec3) -> Vec3:
    """Return a direction that points somewhere."""
    if direction == (0.0, 0.0, 0.0):
        raise UbddlError(item.place, "zero direction (0 0 0): it points nowhere")
    return direction


def _line(node: Node, entries: Mapping[str, Node]) -> Path:
    direction = _need(node, entries, ":direction")
    return Line(
        direction=check_direction(direction, vector(direction, what="the direction")),
        travel=number_or_dist(_need(node, entries, ":travel"), "m", what="the travel", low=0.0),
        period=_positive(_need(node, entries, ":period"), "s", "period"),
        phase=_num(entries, ":phase", "", 0.0),
        once=_flag(entries, ":once"),
    )


def _flag(entries: Mapping[str, Node], key: str) -> bool:
    if key not in entries:
        return False
    value = _value(entries[key])
    if str(value) not in ("true", "false"):
        raise UbddlError(value.place, f"{key} is true or false, found {value}")
    return str(value) == "true"


def _circle(node: Node, entries: Mapping[str, Node]) -> Path:
    center = _need(node, entries, ":center")
    if isinstance(center, Atom) or len(center.items) != 2:
        raise UbddlError(center.place, f"expected the center (x y), found {center}")
    x, y = (number_or_dist(part, "m", what="the center") for part in center.items)
    return Circle(
        (x, y),
        _positive(_need(node, entries, ":period"), "s", "period"),
        _num(entries, ":phase", "", 0.0),
        _facing(entries),
    )


def _facing(entries: Mapping[str, Node]) -> Facing:
    if ":facing" not in entries:
        return "fixed"
    value = _value(entries[":facing"])
    for facing in get_args(Facing):
        if str(value) == facing:
            return facing
    raise unknown(value, "facing", str(value), get_args(Facing))


def _waypoints(node: Node, entries: Mapping[str, Node]) -> Path:
    listed = _need(node, entries, ":points")
    if isinstance(listed, Atom) or not listed.items:
        raise UbddlError(listed.place, f"expected way-points ((time (x y z)) ...), found {listed}")
    points: list[WayPoint] = []
    for item in listed.items:
        if isinstance(item, Atom) or len(item.items) != 2:
            raise UbddlError(item.place, f"expected a way-point (time (x y z)), found {item}")
        time = number_or_dist(item.items[0], "s", what="the time", low=0.0)
        last = points[-1].time if points else 0.0
        if isinstance(time, float) and isinstance(last, float) and (time <= last if points else time < 0):
            raise UbddlError(item.place, f"way-point at {time:g}s does not come after {last:g}s")
        points.append(WayPoint(time, vector(item.items[1], "m", what="the offset")))
    mode = word(_value(entries[":mode"])) if ":mode" in entries else "stop"
    if mode not in MODES:
        raise unknown(_value(entries[":mode"]), "mode", mode, MODES)
    if mode == "stop" and ":phase" in entries:
        raise UbddlError(entries[":phase"].place, "a phase needs (:mode loop) or (:mode pingpong)")
    return WayPoints(tuple(points), mode, _num(entries, ":phase", "", 0.0), _facing(entries))


def _parabola(node: Node, entries: Mapping[str, Node]) -> Path:
    return Parabola(
        velocity=vector(_need(node, entries, ":velocity"), "m/s", what="the velocity"),
        gravity=_num(entries, ":gravity", "m/s2", 9.81),
        start=_num(entries, ":start", "s", 0.0),
    )


def _still(node: Node, entries: Mapping[str, Node]) -> Path:
    return Still()


def _tilt(item: Item) -> tuple[Num, Num]:
    if isinstance(item, Atom) or len(item.items) != 2:
        raise UbddlError(item.place, f"expected the tilt (about_x about_y), found {item}")
    about_x, about_y = (
        number_or_dist(part, "rad", what="the tilt", low=-math.pi, high=math.pi) for part in item.items
    )
    return (about_x, about_y)


def _jitter(node: Node) -> Jitter:
    entries = _entries(node.rest, node.head)
    _only(entries, (":amplitude", ":frequency"), node.head)
    return Jitter(
        amplitude=number_or_dist(_need(node, entries, ":amplitude"), "m", what="the amplitude", low=0.0),
        frequency=_positive(_need(node, entries, ":frequency"), "Hz", "frequency"),
    )


def _reach_in(node: Node) -> ReachIn:
    entries = _entries(node.rest, node.head)
    _only(entries, (":at", ":offset", ":speed", ":hold"), node.head)
    return ReachIn(
        at=number_or_dist(_need(node, entries, ":at"), "s", what="the time", low=0.0),
        offset=vector(_need(node, entries, ":offset"), "m", what="the offset"),
        speed=_positive(_need(node, entries, ":speed"), "m/s", "speed"),
        hold=number_or_dist(_value(entries[":hold"]), "s", what="the hold", low=0.0)
        if ":hold" in entries
        else 0.0,
    )


def _withdraw(node: Node) -> Withdraw:
    entries = _entries(node.rest, node.head)
    _only(entries, (":closer_than", ":direction", ":travel", ":speed", ":stay"), node.head)
    direction = _need(node, entries, ":direction")
    return Withdraw(
        closer_than=number_or_dist(_need(node, entries, ":closer_than"), "m", what="the distance", low=0.0),
        direction=check_direction(direction, vector(direction, what="the direction")),
        travel=number_or_dist(_need(node, entries, ":travel"), "m", what="the travel", low=0.0),
        speed=_positive(_need(node, entries, ":speed"), "m/s", "speed"),
        stay=_flag(entries, ":stay"),
    )


ADDED = (":jitter", ":reach_in", ":withdraw")
"""What may come on top of any motion but a throw."""
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Node, Mapping[str, Node]], Path]]] = {
    "line": ((":direction", ":travel", ":period", ":phase", ":once"), _line),
    "circle": ((":center", ":period", ":phase", ":facing"), _circle),
    "waypoints": ((":points", ":mode", ":phase", ":facing"), _waypoints),
    "parabola": ((":velocity", ":gravity", ":start"), _parabola),
    "still": ((), _still),
}
"""Motion word -> (its keys, its reader)."""
