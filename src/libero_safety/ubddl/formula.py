"""Facts, goals and constraints: nodes to values, checked against the vocabulary."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal

from libero_safety.registry import near_match
from libero_safety.ubddl import words
from libero_safety.ubddl.number import Dimension, number, word
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import AtLeast, Compare, Constraint, Fact, Formula, Logic, Measure, Term

COMPARISONS = ("<", "<=", ">", ">=")
LOGIC_WORDS = ("And", "Or", "Not", "Implies")
COUNT_WORD = "AtLeast"
_RULE_DIMENSION: dict[str, Dimension] = {"N": "N", "m": "m", "deg": "rad"}
_MAX_TILT = math.pi


def unknown(item: Item, kind: str, name: str, known: Iterable[str]) -> UbddlError:
    """Return the error for a word that the vocabulary does not have."""
    names = sorted(set(known))
    same = next((other for other in names if other.lower() == name.lower()), None)
    near = f", did you mean {same!r}?" if same else near_match(name, names)
    return UbddlError(item.place, f"unknown {kind} {name!r}{near}. Known: {', '.join(names)}")


def head_of(item: Item, kind: str) -> tuple[Node, str]:
    """Return a list and its first word."""
    if isinstance(item, Atom):
        raise UbddlError(item.place, f"expected {kind} in parentheses, found {item.text!r}")
    if not item.head:
        raise UbddlError(item.place, f"expected {kind}, found {'a nested list' if item.items else '()'}")
    return item, item.head


def parse_fact(item: Item) -> Fact:
    """Read one thing that is so at the start, e.g. `(On mug_1 kitchen_table.left)`."""
    node, name = head_of(item, "a fact")
    if name not in words.FACTS:
        raise unknown(node.items[0], "fact", name, words.FACTS)
    roles = words.PREDICATES[name].roles
    _check_count(node, name, len(node.rest), len(roles), 0)
    return Fact(name, tuple(word(part, what="a name") for part in node.rest), node.place)


def parse_formula(item: Item) -> Formula:
    """Read a goal or the condition of a rule."""
    node, name = head_of(item, "a condition")
    if name in LOGIC_WORDS:
        return _parse_logic(node, name)
    if name == COUNT_WORD:
        return _parse_count(node)
    if name in COMPARISONS:
        return _parse_compare(node, name)
    if name in words.PREDICATES:
        return _parse_term(node, name)
    if name in words.MEASURES:
        raise UbddlError(node.place, f"{name} is a number: compare it, e.g. (<= {node} 0.1)")
    raise unknown(
        node.items[0], "predicate", name, [*words.PREDICATES, *LOGIC_WORDS, COUNT_WORD, *COMPARISONS]
    )


def _parse_logic(node: Node, name: Literal["And", "Or", "Not", "Implies"]) -> Logic:
    items = tuple(parse_formula(part) for part in node.rest)
    wanted = {"Not": 1, "Implies": 2}.get(name)
    if wanted is not None and len(items) != wanted:
        raise UbddlError(node.place, f"{name} takes {wanted} condition(s), found {len(items)}")
    return Logic(name, items, node.place)


def _parse_count(node: Node) -> AtLeast:
    if len(node.rest) < 2:
        raise UbddlError(node.place, f"({COUNT_WORD} number condition ...) takes conditions, found {node}")
    first, *rest = node.rest
    value = number(first, what=f"the number of {COUNT_WORD}")
    if value != int(value) or not 1 <= value <= len(rest):
        raise UbddlError(
            first.place, f"{COUNT_WORD} counts from 1 to its {len(rest)} condition(s), not to {first}"
        )
    return AtLeast(int(value), tuple(parse_formula(part) for part in rest), node.place)


def _parse_term(node: Node, name: str) -> Term:
    signature = words.PREDICATES[name]
    _check_count(node, name, len(node.rest), len(signature.roles), signature.optional)
    args = [
        number(part, signature.unit, what=f"the limit of {name}")
        if role == "number"
        else _name(part, role == "body")
        for part, role in zip(node.rest, signature.roles, strict=False)
    ]
    return Term(name, tuple(args), node.place)


def _parse_compare(node: Node, op: Literal["<", "<=", ">", ">="]) -> Compare:
    if len(node.items) != 3:
        raise UbddlError(node.place, f"({op} measure number) takes 2 arguments, found {len(node.rest)}")
    left, name = head_of(node.items[1], "a measure")
    if name not in words.MEASURES:
        raise unknown(left.items[0], "measure", name, words.MEASURES)
    signature = words.MEASURES[name]
    _check_count(left, name, len(left.rest), len(signature.roles), signature.optional)
    args = tuple(_name(part, role == "body") for part, role in zip(left.rest, signature.roles, strict=False))
    right = number(node.items[2], signature.unit, what=f"the limit of {name}")
    return Compare(op, Measure(name, args, left.place), right, node.place)


def parse_constraints(items: Iterable[Item]) -> Iterator[Constraint]:
    """Read rules; `(And ...)` around rules only groups them."""
    for item in items:
        node, name = head_of(item, "a rule")
        if name == "And":
            yield from parse_constraints(node.rest)
        else:
            yield _parse_constraint(node, name)


def _parse_constraint(node: Node, name: str) -> Constraint:
    if name not in words.CONSTRAINTS:
        raise unknown(node.items[0], "rule", name, words.CONSTRAINTS)
    rule = words.CONSTRAINTS[name]
    if rule.formula:
        _check_count(node, name, len(node.rest), 1, 0)
        return Constraint(name, formula=parse_formula(node.items[1]), place=node.place)
    count = len(rule.roles)
    _check_count(node, name, len(node.rest), count + (1 if rule.unit else 0), 1 if rule.unit else 0)
    args = tuple(_name(part, role == "body") for part, role in zip(node.rest, rule.roles, strict=False))
    return Constraint(name, args, _limit(node, name, node.rest[count:]), place=node.place)


def _limit(node: Node, name: str, rest: tuple[Item, ...]) -> float | None:
    """Return the threshold in SI, the word's default where none is written."""
    rule = words.CONSTRAINTS[name]
    if not rule.unit:
        return None
    if rest:
        limit = number(rest[0], _RULE_DIMENSION[rule.unit], what=f"the limit of {name}")
        if rule.unit == "deg" and abs(limit) > _MAX_TILT:
            raise UbddlError(rest[0].place, f"{name}: {limit:g} rad is over half a turn; write {limit:g}deg")
        return limit
    if rule.default is None:
        raise UbddlError(node.place, f"{name} needs a limit in {rule.unit}, after {node.rest[-1]}")
    return default_limit(name)


def default_limit(name: str) -> float | None:
    """Return the threshold (SI) that the constraint word `name` has when none is written."""
    rule = words.CONSTRAINTS[name]
    if rule.default is None or not rule.unit:
        return None
    return math.radians(rule.default) if rule.unit == "deg" else rule.default


def _check_count(node: Node, name: str, found: int, most: int, optional: int) -> None:
    if most - optional <= found <= most:
        return
    takes = f"{most - optional} to {most}" if optional else str(most)
    raise UbddlError(node.place, f"{name} takes {takes} argument(s), found {found}: {node}")


def _name(item: Item, body: bool) -> str:
    """Return an entity name; the parts of the robot are a closed vocabulary."""
    text = word(item, what="a name")
    owner, _, part = text.partition(".")
    if body and owner == "robot" and part:
        known = (*words.ROBOT_LINKS, *words.ROBOT_GROUPS)
        if part not in known:
            raise unknown(item, "part of the robot", part, known)
    return text


def terms_of(formula: Formula) -> Iterator[Term | Compare]:
    """Yield every term and comparison inside a formula."""
    if isinstance(formula, Logic | AtLeast):
        for item in formula.items:
            yield from terms_of(item)
    else:
        yield formula


def names_in(formula: Formula) -> Iterator[str]:
    """Yield every name that a formula mentions, as written."""
    for term in terms_of(formula):
        args = term.args if isinstance(term, Term) else term.left.args
        yield from (arg for arg in args if isinstance(arg, str))


def names_of(constraint: Constraint) -> Iterator[str]:
    """Yield every name that a rule mentions, as written."""
    yield from constraint.args
    if constraint.formula is not None:
        yield from names_in(constraint.formula)
