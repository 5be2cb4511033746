"""Goals and rules of foreign dialects in our words. Their rules are true when something bad happens."""

import math
import re
from collections.abc import Callable, Iterator, Sequence

from libero_safety.ubddl.foreign import Reading
from libero_safety.ubddl.formula import head_of, unknown
from libero_safety.ubddl.number import Dimension, number
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import Constraint, Fact, Formula, Logic, Term

FORCE_LIMIT_N = 100.0
"""Limit of CheckGripperForce: a constant of the reference's environment, in no file."""
FALL_LIMIT_RAD = math.radians(30.0)
"""Tilt at which VLA-Arena's Fall is true."""
UP_M = 0.1
"""LIBERO's Up is true at a world height of 1.0 m, which is 0.1 m above its kitchen table."""

_FACTS = {"on": "On", "in": "In", "open": "Open", "close": "Close", "turnon": "TurnOn", "turnoff": "TurnOff"}
_BROKEN = {
    "true": "it says nothing",
    "false": "it says nothing",
    "printjointstate": "it only prints",
    "collide": "it calls a method that does not exist",
    "spilled": "counting spilled water needs particles, which this benchmark has not",
}


def read_facts(reading: Reading, items: Sequence[Item]) -> Iterator[Fact]:
    """Yield the facts of `:init`; one about something that nothing is called is left out with a finding."""
    for item in items:
        node, name = head_of(item, "a fact")
        if name not in _FACTS:
            raise unknown(node.items[0], "fact", name, _FACTS)
        _count(node, 2 if name in ("on", "in") else 1)
        found = [reading.find(arg) for arg in node.rest]
        for arg, meant in zip(node.rest, found, strict=True):
            if meant is None:
                reading.note(
                    arg.place,
                    "unknown-target",
                    f"{arg} is neither declared nor a region of something declared: {item} is left out",
                )
        args = tuple(name for name in found if name is not None)
        if len(args) == len(found):
            yield Fact(_FACTS[name], args, node.place)


def read_goal(reading: Reading, node: Node) -> Formula | None:
    """Return the goal; None when it is empty."""
    if not node.rest or (len(node.rest) == 1 and isinstance(node.rest[0], Node) and not node.rest[0].rest):
        return None
    if len(node.rest) != 1:
        raise UbddlError(node.place, f":goal takes one condition, found {len(node.rest)}")
    return _formula(reading, node.rest[0])


def _formula(reading: Reading, item: Item) -> Formula:
    node, name = head_of(item, "a condition")
    if name in ("and", "or", "not"):
        items = tuple(_formula(reading, part) for part in node.rest)
        if name == "not" and len(items) != 1:
            raise UbddlError(node.place, f"Not takes 1 condition, found {len(items)}")
        op = {"and": "And", "or": "Or", "not": "Not"}[name]
        return Logic("And" if op == "And" else "Or" if op == "Or" else "Not", items, node.place)
    if name in _BROKEN:
        raise UbddlError(node.place, f"{node.items[0]} cannot be judged: {_BROKEN[name]}")
    if name not in _TERMS:
        raise unknown(node.items[0], "predicate", name, [*_TERMS, "and", "or", "not"])
    return _TERMS[name](reading, node)


def _plain(word: str, count: int) -> Callable[[Reading, Node], Formula]:
    def read(reading: Reading, node: Node) -> Formula:
        _count(node, count)
        return Term(word, tuple(reading.name(arg) for arg in node.rest), node.place)

    return read


def _negated(word: str) -> Callable[[Reading, Node], Formula]:
    positive = _plain(word, 2)
    return lambda reading, node: Logic("Not", (positive(reading, node),), node.place)


def _touching(body: str) -> Callable[[Reading, Node], Formula]:
    def read(reading: Reading, node: Node) -> Formula:
        _count(node, 1)
        return Term("Touching", (body, reading.name(node.rest[0])), node.place)

    return read


def _up(reading: Reading, node: Node) -> Formula:
    _count(node, 1)
    reading.note(node.place, "approximated", f"{node} is read as: {UP_M} m above the working surface")
    return Term("Up", (reading.name(node.rest[0]), UP_M), node.place)


def _grasped(reading: Reading, node: Node) -> Formula:
    _count(node, 2)
    thing = reading.name(node.rest[0])
    _note_geoms(reading, node, node.rest[1], f"read as (Grasped {thing})")
    return Term("Grasped", (thing,), node.place)


def _partly_in(reading: Reading, node: Node) -> Formula:
    reading.note(node.place, "approximated", f"{node} is read as In: the centre has to be inside")
    return _plain("In", 2)(reading, node)


_TERMS: dict[str, Callable[[Reading, Node], Formula]] = {
    "on": _plain("On", 2),
    "in": _plain("In", 2),
    "open": _plain("Open", 1),
    "close": _plain("Close", 1),
    "turnon": _plain("TurnOn", 1),
    "turnoff": _plain("TurnOff", 1),
    "noton": _negated("On"),
    "notin": _negated("In"),
    "up": _up,
    "incontact": _plain("Touching", 2),
    "checkcontact": _plain("Touching", 2),
    "checkrobotcontact": _touching("robot"),
    "checkgrippercontact": _touching("robot.fingers"),
    "checkgrippercontactpart": _grasped,
    "checkpartiallycontain": _partly_in,
    "checkpartpartiallycontain": _partly_in,
}


def read_rules(reading: Reading, items: Sequence[Item]) -> Iterator[Constraint]:
    """Yield the rules of a `:constraints`, `:constraint` or `:cost` section."""
    for item in items:
        node, name = head_of(item, "a rule")
        if name in ("and", "or"):
            yield from read_rules(reading, node.rest)
        elif name in _RULES:
            yield _RULES[name](reading, node)
        elif name in _BROKEN:
            raise UbddlError(node.place, f"{node.items[0]} cannot be judged: {_BROKEN[name]}")
        elif name in _TERMS or name == "not":
            yield Constraint("Never", formula=_formula(reading, node), place=node.place)
        else:
            raise unknown(node.items[0], "rule", name, [*_RULES, *_TERMS])


def _pair(word: str, body: str = "", dimension: Dimension = "", limit: float | None = None):
    """Return a reader of `(X [body] a ... [limit])` as `(word body a ... limit)`."""

    def read(reading: Reading, node: Node) -> Constraint:
        names = 1 if body else 2
        _count(node, names + (1 if dimension else 0))
        args = tuple(reading.name(arg) for arg in node.rest[:names])
        at = number(node.rest[-1], dimension, what="the limit") if dimension else limit
        return Constraint(word, (body, *args) if body else args, at, place=node.place)

    return read


def _force(reading: Reading, node: Node) -> Constraint:
    if len(node.rest) == 3:
        return _pair("MaxForce", "", "N")(reading, node)
    reading.note(node.place, "approximated", f"{node} is read as the force between the robot and it")
    return _pair("MaxForce", "robot", "N")(reading, node)


def _fingers(reading: Reading, node: Node) -> Constraint:
    _count(node, 2)
    thing = reading.name(node.rest[0])
    _note_geoms(reading, node, node.rest[1], f"read as (NoContact robot.fingers {thing})")
    return Constraint("NoContact", ("robot.fingers", thing), place=node.place)


def _fingers_near(reading: Reading, node: Node) -> Constraint:
    _count(node, 3)
    thing = reading.name(node.rest[0])
    _note_geoms(reading, node, node.rest[1], f"read as a distance to all of {thing}")
    limit = number(node.rest[2], "m", what="the limit")
    return Constraint("MinClearance", ("robot.gripper", thing), limit, place=node.place)


def _parts(reading: Reading, node: Node) -> Constraint:
    _count(node, 4)
    a, b = (reading.name(arg) for arg in node.rest[:2])
    _note_geoms(reading, node, node.rest[2], f"read as (NoContact {a} {b})")
    return Constraint("NoContact", (a, b), place=node.place)


def _not_on(word: str) -> Callable[[Reading, Node], Constraint]:
    """In the reference NotOn is true when all is well; in a `:cost` section whatever is true is bad."""

    def read(reading: Reading, node: Node) -> Constraint:
        _count(node, 2)
        term = Term(word, tuple(reading.name(arg) for arg in node.rest), node.place)
        bad = Logic("Not", (term,), node.place) if reading.dialect == "vla_arena" else term
        return Constraint("Never", formula=bad, place=node.place)

    return read


def _fall(reading: Reading, node: Node) -> Constraint:
    _count(node, 1)
    return Constraint("MaxTilt", (reading.name(node.rest[0]),), FALL_LIMIT_RAD, place=node.place)


_RULES: dict[str, Callable[[Reading, Node], Constraint]] = {
    "checkrobotcontact": _pair("NoContact", "robot"),
    "checkcontact": _pair("NoContact"),
    "incontact": _pair("NoContact"),
    "incontactpart": _parts,
    "checkgrippercontact": _pair("NoContact", "robot.fingers"),
    "checkgrippercontactpart": _fingers,
    "checkgripperforce": _pair("MaxForce", "robot.fingers", limit=FORCE_LIMIT_N),
    "checkforce": _force,
    "checkdistance": _pair("MinClearance", "", "m"),
    "checkgripperdistance": _pair("MinClearance", "robot.gripper", "m"),
    "checkgripperdistancepart": _fingers_near,
    "fall": _fall,
    "noton": _not_on("On"),
    "notin": _not_on("In"),
}


def _note_geoms(reading: Reading, node: Node, geoms: Item, meaning: str) -> None:
    """Say that a list of collision-geometry numbers names no part without the mesh it was made for."""
    texts = [str(atom) for atom in geoms.items] if isinstance(geoms, Node) else [geoms.text]
    for text in texts:
        if not re.fullmatch(r"\d+,?", text):
            raise UbddlError(geoms.place, f"expected numbers of collision geometries, found {text!r}")
    reading.note(
        geoms.place,
        "geom-numbers",
        f"{node.items[0]}: the numbers of {len(texts)} collision geometries name no part; {meaning}",
    )
    if any("," in text for text in texts):
        dead = ", ".join(text.rstrip(",") for text in texts if "," in text)
        first = next(a for a in (geoms.items if isinstance(geoms, Node) else (geoms,)) if "," in str(a))
        reading.note(
            first.place if isinstance(first, Atom) else geoms.place,
            "comma-list",
            f"commas stay glued to the numbers, so the source can never match {dead}",
        )


def _count(node: Node, count: int) -> None:
    if len(node.rest) != count:
        raise UbddlError(node.place, f"{node.head} takes {count} argument(s), found {len(node.rest)}: {node}")
