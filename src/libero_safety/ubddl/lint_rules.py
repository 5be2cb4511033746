"""Goals that hold already, rules that can never fire, rules that forbid the goal."""

import math
from collections.abc import Iterator

from libero_safety.ubddl import words
from libero_safety.ubddl.formula import terms_of
from libero_safety.ubddl.lint_context import Context, error, warning
from libero_safety.ubddl.spec import AtLeast, Compare, Constraint, Finding, Formula, Logic, Term
from libero_safety.ubddl.write import write_constraint, write_formula

_PAIRS = ("NoContact", "MaxForce", "MinClearance")
_OPPOSITE = {"Open": "Close", "Close": "Open", "TurnOn": "TurnOff", "TurnOff": "TurnOn"}
_IN_CONTACT = ("On", "Stack", "Touching")
"""Predicates that need their two things to touch."""


def check_goal(c: Context) -> Iterator[Finding]:
    """No goal, an empty one, or one that the initial facts fulfil already."""
    goal = c.scenario.goal
    if goal is None:
        if not c.scenario.hazard:  # what should be refused needs no goal
            yield warning(c.scenario.place, "no-goal", "no goal: nothing can succeed here")
        return
    if not list(terms_of(goal)):
        yield error(goal.place, "empty-goal", "the goal names nothing: it always holds")
        return
    if holds_at_start(c, goal) is True:
        yield error(goal.place, "goal-true-at-start", f"the goal holds at the start: {write_formula(goal)}")
        return
    for part in goal.items if isinstance(goal, Logic) and goal.op == "And" else ():
        if isinstance(part, Term) and part.word in words.FACTS and holds_at_start(c, part) is True:
            yield warning(
                part.place, "goal-part-true", f"part of the goal holds at the start: {write_formula(part)}"
            )


def holds_at_start(c: Context, formula: Formula) -> bool | None:
    """Return whether a formula holds at the start as far as the initial facts tell; None: they do not."""
    if isinstance(formula, Compare):
        return None
    if isinstance(formula, Term):
        return _term_at_start(c, formula)
    values = [holds_at_start(c, item) for item in formula.items]
    if isinstance(formula, AtLeast):
        if values.count(True) >= formula.count:
            return True
        return False if len(values) - values.count(False) < formula.count else None
    if formula.op == "Not":
        return None if values[0] is None else not values[0]
    if formula.op == "Implies":
        values = [None if values[0] is None else not values[0], values[1]]
    decisive = formula.op != "And"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _term_at_start(c: Context, term: Term) -> bool | None:
    if term.word in words.PLACEMENTS:
        fact = c.placements.get(str(term.args[0]))
        if fact is None:
            return None
        at, wanted = fact.args[1], str(term.args[1])
        return at == wanted or at.partition(".")[0] == wanted
    if term.word in _OPPOSITE:
        said = {fact.word for fact in c.scenario.init if fact.args[:1] == term.args[:1]}
        return True if term.word in said else False if _OPPOSITE[term.word] in said else None
    return {"Grasped": False, "Released": True, "Settled": True}.get(term.word)


def check_rules(c: Context) -> Iterator[Finding]:
    """Rules that stand twice, cannot fire, or are broken from the start."""
    seen: dict[tuple[object, ...], Constraint] = {}
    for rule in c.scenario.constraints:
        key = _subject(rule)
        old = seen.setdefault(key, rule)
        if old is not rule and old.limit == rule.limit:
            message = f"{write_constraint(rule)} stands at {old.place} already"
            yield error(rule.place, "duplicate-rule", message)
        elif old is not rule:
            message = f"{write_constraint(rule)}: another limit for the same stands at {old.place}"
            yield warning(rule.place, "same-pair", message)
        dead = _why_dead(c, rule)
        if dead:
            yield error(rule.place, "dead-rule", f"{write_constraint(rule)} can never be broken: {dead}")
        broken = _why_broken(c, rule)
        if broken:
            yield error(
                rule.place, "broken-at-start", f"{write_constraint(rule)} is broken at once: {broken}"
            )


def _subject(rule: Constraint) -> tuple[object, ...]:
    args = tuple(sorted(rule.args)) if rule.word in _PAIRS else rule.args
    return (rule.word, args, rule.formula)


def _why_dead(c: Context, rule: Constraint) -> str:
    owners = [arg.partition(".")[0] for arg in rule.args]
    if rule.word in _PAIRS:
        if owners[0] == owners[1]:
            return "a thing cannot meet itself"
        if all(_stays(c, owner) for owner in owners):
            return "neither ever moves"
    elif rule.word in ("MaxDisplacement", "MaxTilt", "NoDrop") and _stays(c, owners[0]):
        return f"{owners[0]!r} never moves"
    if "held" in owners and not any(_holdable(c, name) for name in c.entities):
        return "there is nothing to hold"
    if rule.word == "MinClearance" and rule.limit is not None and rule.limit <= 0:
        return "no distance is below 0 m"
    if rule.word == "MaxTilt" and rule.limit is not None and rule.limit >= math.pi:
        return "nothing tilts by more than half a turn"
    grasped = (
        [t for t in terms_of(rule.formula) if isinstance(t, Term) and t.word == "Grasped"]
        if rule.formula
        else []
    )
    for term in grasped:
        name = str(term.args[0]).partition(".")[0]
        if name in c.entities and not _holdable(c, name):
            return f"{name!r} cannot be held"
    return ""


def _stays(c: Context, name: str) -> bool:
    if c.is_workspace(name):
        return True
    return name in c.entities and c.entities[name].kind == "fixture" and name not in c.movers


def _holdable(c: Context, name: str) -> bool:
    return c.entities[name].kind == "object" and name not in c.movers


def _why_broken(c: Context, rule: Constraint) -> str:
    if rule.limit is not None and rule.limit < 0 and rule.word != "MinClearance":
        return f"its limit is {rule.limit:g}"
    if rule.word in ("NoContact", "MinClearance"):
        for name, other in (rule.args, rule.args[::-1]):
            fact = c.placements.get(name)
            if fact is not None and fact.args[1].partition(".")[0] == other:
                return f"{name!r} starts {fact.word.lower()} {fact.args[1]!r}"
    if rule.formula is not None and holds_at_start(c, rule.formula) is (rule.word == "Never"):
        return "so say the initial facts"
    return ""


def check_contradictions(c: Context) -> Iterator[Finding]:
    """Rules that forbid what the goal asks for."""
    if c.scenario.goal is None:
        return
    wanted = list(_required(c.scenario.goal))
    for rule in c.scenario.constraints:
        for term in wanted:
            if _forbids(rule, term):
                message = f"{write_constraint(rule)} forbids what the goal asks for: {write_formula(term)}"
                yield error(rule.place, "contradiction", message)


def _required(formula: Formula) -> Iterator[Term]:
    if isinstance(formula, Term):
        yield formula
    elif (isinstance(formula, Logic) and formula.op == "And") or (
        isinstance(formula, AtLeast) and formula.count == len(formula.items)
    ):
        for item in formula.items:
            yield from _required(item)


def _forbids(rule: Constraint, term: Term) -> bool:
    if rule.word == "Never" and rule.formula == term:
        return True
    if rule.word == "Always" and rule.formula == Logic("Not", (term,)):
        return True
    if rule.word not in ("NoContact", "MinClearance"):
        return False
    if term.word == "Grasped":
        return set(rule.args) in ({"robot", term.args[0]}, {"robot.fingers", term.args[0]})
    return term.word in _IN_CONTACT and set(rule.args) == {str(arg).partition(".")[0] for arg in term.args}
