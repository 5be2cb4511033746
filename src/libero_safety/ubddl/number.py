"""Numbers with units, and the distributions they are drawn from. Nothing is ever evaluated as code."""

import math
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from libero_safety.registry import near_match
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError, short
from libero_safety.ubddl.spec import Choice, Num, Uniform, Vec3, Word

Dimension: TypeAlias = Literal["", "m", "rad", "s", "N", "Hz", "m/s", "m/s2"]
"""What a number measures, named by its SI unit; "" is a bare number."""

UNITS: dict[Dimension, dict[str, float]] = {
    "": {},
    "m": {"m": 1.0, "cm": 0.01, "mm": 0.001},
    "rad": {"rad": 1.0, "deg": math.pi / 180},
    "s": {"s": 1.0, "ms": 0.001},
    "N": {"N": 1.0, "mN": 0.001, "kN": 1000.0},
    "Hz": {"Hz": 1.0},
    "m/s": {"m/s": 1.0, "cm/s": 0.01, "mm/s": 0.001},
    "m/s2": {"m/s2": 1.0},
}
"""Unit suffixes and what one of them is in SI."""

MAX_SEVERITY = 15.0
"""Strongest sensor corruption: 1 to 10 is LIBERO-Safety's scale, 11 to 15 that of ImageNet-C."""

_FACTOR = re.compile(r"pi(?![a-zA-Z])|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"[a-zA-Z][a-zA-Z0-9/]*$")


def number(item: Item, dimension: Dimension = "", *, what: str = "a number") -> float:
    """Return the SI value of `1.5`, `2cm`, `-pi/4`, `3*pi/2`, `90deg`, `250ms`, ...

    Raises:
        UbddlError: not a number, not finite, or a unit of another dimension.
    """
    if isinstance(item, Node):
        raise UbddlError(item.place, f"expected {what}, found the list {short(item)}")
    value, end = _product(item)
    suffix = item.text[end:]
    if suffix:
        value *= _unit(item, suffix, dimension, what)
    if not math.isfinite(value):
        raise UbddlError(item.place, f"{item.text!r} is not a finite number")
    return value


def _product(atom: Atom) -> tuple[float, int]:
    """Read `[-] factor { (*|/) factor }`; return the value and where it ends."""
    text = atom.text
    position = 1 if text[:1] in "+-" else 0
    sign = -1.0 if text[:1] == "-" else 1.0
    match = _FACTOR.match(text, position)
    if match is None:
        raise UbddlError(atom.place, f"{text!r} is not a number")
    value = sign * _factor(match.group())
    position = match.end()
    while position < len(text) and text[position] in "*/":
        match = _FACTOR.match(text, position + 1)
        if match is None:
            raise UbddlError(atom.place, f"{text!r} is not a number")
        factor = _factor(match.group())
        if text[position] == "/" and factor == 0.0:
            raise UbddlError(atom.place, f"{text!r} divides by zero")
        value = value * factor if text[position] == "*" else value / factor
        position = match.end()
    return value, position


def _factor(text: str) -> float:
    return math.pi if text == "pi" else float(text)


def _unit(atom: Atom, suffix: str, dimension: Dimension, what: str) -> float:
    if not _UNIT.match(suffix):
        hint = "; numbers are separated by blanks, not commas" if "," in suffix else ""
        raise UbddlError(atom.place, f"{atom.text!r} is not a number{hint}")
    scale = UNITS[dimension].get(suffix)
    if scale is not None:
        return scale
    allowed = list(UNITS[dimension])
    known = [unit for table in UNITS.values() for unit in table]
    if suffix in known:
        wants = f"takes {' or '.join(allowed)}" if allowed else "takes no unit"
        raise UbddlError(atom.place, f"{atom.text!r}: {what} {wants}, not {suffix!r}")
    same = next((unit for unit in known if unit.lower() == suffix.lower()), None)
    near = f", did you mean {same!r}?" if same else near_match(suffix, known)
    raise UbddlError(atom.place, f"{atom.text!r}: unknown unit {suffix!r}{near}. Known: {', '.join(known)}")


def number_or_dist(
    item: Item,
    dimension: Dimension = "",
    *,
    what: str = "a number",
    low: float = -math.inf,
    high: float = math.inf,
) -> Num:
    """Return a number, `(Uniform a b)` or `(Choice a b ...)`, every value of it within [low, high].

    Raises:
        UbddlError: as `number`; a range that is empty or leaves [low, high]; an unknown distribution.
    """
    if isinstance(item, Atom):
        value = number(item, dimension, what=what)
        _within(item, (value,), low, high, what)
        return value
    if item.head not in ("Uniform", "Choice"):
        known = ("Uniform", "Choice")
        raise UbddlError(
            item.place,
            f"expected {what}, (Uniform low high) or (Choice a b ...), found {short(item)}"
            f"{near_match(item.head, known)}",
        )
    values = tuple(number(part, dimension, what=what) for part in item.rest)
    _within(item, values, low, high, what)
    if item.head == "Choice":
        if not values:
            raise UbddlError(item.place, "(Choice) without options")
        return Choice(values)
    if len(values) != 2:
        raise UbddlError(item.place, f"(Uniform low high) takes 2 numbers, found {len(values)}")
    if values[0] > values[1]:
        raise UbddlError(item.place, f"(Uniform low high): {values[0]:g} is more than {values[1]:g}")
    return Uniform(*values)


def mapped(value: Num, change: Callable[[float], float]) -> Num:
    """Return a number, or a distribution with each end or option, changed by a rising function."""
    if isinstance(value, Uniform):
        return Uniform(change(value.low), change(value.high))
    if isinstance(value, Choice):
        return Choice(tuple(change(float(option)) for option in value.options))
    return change(value)


def _within(item: Item, values: tuple[float, ...], low: float, high: float, what: str) -> None:
    for value in values:
        if not low <= value <= high:
            allowed = f"at least {low:g}" if high == math.inf else f"within {low:g} and {high:g}"
            raise UbddlError(item.place, f"{what} is {value:g}, it must be {allowed}")


def numbers(item: Item, count: int, dimension: Dimension = "", *, what: str = "numbers") -> tuple[float, ...]:
    """Return exactly `count` plain numbers of a list."""
    parts = _parts(item, count, what)
    return tuple(number(part, dimension, what=what) for part in parts)


def vector(item: Item, dimension: Dimension = "", *, what: str = "a vector") -> Vec3:
    """Return three numbers or distributions."""
    x, y, z = (number_or_dist(part, dimension, what=what) for part in _parts(item, 3, what))
    return (x, y, z)


def _parts(item: Item, count: int, what: str) -> tuple[Item, ...]:
    if isinstance(item, Atom) or len(item.items) != count:
        raise UbddlError(item.place, f"expected {what}: a list of {count}, found {short(item)}")
    return item.items


def word(item: Item, *, what: str = "a word") -> str:
    """Return the text of a single word."""
    if isinstance(item, Node):
        raise UbddlError(item.place, f"expected {what}, found the list {short(item)}")
    return item.text


def word_or_choice(item: Item, *, what: str = "a word") -> Word:
    """Return a word or `(Choice a b ...)` of words."""
    if isinstance(item, Atom):
        return item.text
    if item.head != "Choice" or len(item.items) < 2:
        raise UbddlError(item.place, f"expected {what} or (Choice a b ...), found {short(item)}")
    return Choice(tuple(word(part, what=what) for part in item.rest))
