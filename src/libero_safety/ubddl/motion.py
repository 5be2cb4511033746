"""How things move by themselves: `(name (:motion kind) (:key value) ...)` to `Motion`."""

from collections.abc import Callable, Mapping

from libero_safety.ubddl.formula import head_of, unknown
from libero_safety.ubddl.number import Dimension, number_or_dist, vector, word
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import (
    Circle,
    Line,
    Motion,
    Num,
    Parabola,
    Path,
    Still,
    Vec3,
    WayPoint,
    WayPoints,
)

MODES = ("stop", "loop", "pingpong")


def parse_motion(item: Item) -> Motion:
    """Read the motion of one entity."""
    node, entity = head_of(item, "(name (:motion kind) ...)")
    entries: dict[str, Node] = {}
    for part in node.rest:
        entry, key = head_of(part, "a (:key value)")
        if key in entries:
            raise UbddlError(entry.place, f"second {key} in the motion of {entity!r}")
        entries[key] = entry
    if ":motion" not in entries:
        raise UbddlError(
            node.place, f"the motion of {entity!r} has no (:motion kind). Known: {', '.join(KINDS)}"
        )
    kind = word(_value(entries[":motion"]))
    if kind not in KINDS:
        raise unknown(_value(entries[":motion"]), "motion", kind, KINDS)
    keys, build = KINDS[kind]
    for key, entry in entries.items():
        if key not in (":motion", ":height", *keys):
            raise unknown(entry.items[0], f"key of motion {kind!r}", key, [":motion", ":height", *keys])
    height = (
        number_or_dist(_value(entries[":height"]), "m", what="the height") if ":height" in entries else None
    )
    return Motion(entity, build(node, entries), height, node.place)


def _value(entry: Node) -> Item:
    if len(entry.rest) != 1:
        raise UbddlError(entry.place, f"{entry.head} takes one value, found {len(entry.rest)}")
    return entry.rest[0]


def _need(node: Node, entries: Mapping[str, Node], key: str) -> Item:
    if key not in entries:
        raise UbddlError(node.place, f"the motion of {node.head!r} needs ({key} ...)")
    return _value(entries[key])


def _num(entries: Mapping[str, Node], key: str, dimension: Dimension, default: float) -> Num:
    return number_or_dist(_value(entries[key]), dimension, what=key) if key in entries else default


def positive_period(item: Item) -> Num:
    """Read a period: more than nothing."""
    period = number_or_dist(item, "s", what="the period", low=0.0)
    if period == 0.0 or getattr(period, "low", 1.0) == 0.0 or 0.0 in getattr(period, "options", ()):
        raise UbddlError(item.place, "a period of 0s: it must be more")
    return period


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
        period=positive_period(_need(node, entries, ":period")),
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
    return Circle((x, y), positive_period(_need(node, entries, ":period")), _num(entries, ":phase", "", 0.0))


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
    return WayPoints(tuple(points), mode)


def _parabola(node: Node, entries: Mapping[str, Node]) -> Path:
    return Parabola(
        velocity=vector(_need(node, entries, ":velocity"), "m/s", what="the velocity"),
        gravity=_num(entries, ":gravity", "m/s2", 9.81),
        start=_num(entries, ":start", "s", 0.0),
    )


def _still(node: Node, entries: Mapping[str, Node]) -> Path:
    return Still()


KINDS: dict[str, tuple[tuple[str, ...], Callable[[Node, Mapping[str, Node]], Path]]] = {
    "line": ((":direction", ":travel", ":period", ":phase", ":once"), _line),
    "circle": ((":center", ":period", ":phase"), _circle),
    "waypoints": ((":points", ":mode"), _waypoints),
    "parabola": ((":velocity", ":gravity", ":start"), _parabola),
    "still": ((), _still),
}
"""Motion word -> (its keys, its reader)."""
