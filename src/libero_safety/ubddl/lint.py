"""What can be known about a scenario without physics: names, room, goals true at the start, dead rules."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import Footprint
from libero_safety.ubddl import words
from libero_safety.ubddl.formula import names_in, names_of, terms_of
from libero_safety.ubddl.lint_context import Context, error, warning
from libero_safety.ubddl.lint_motion import check_motions, check_noises, check_values
from libero_safety.ubddl.lint_rules import check_contradictions, check_goal, check_rules
from libero_safety.ubddl.parse import parse_file
from libero_safety.ubddl.place import Geometry
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import Choice, Entity, Finding, Place, Scenario, Split, Term

_DENSEST = math.pi / math.sqrt(12)
"""Share of a plane that equal discs can cover at most (Thue)."""


def lint(scenario: Scenario, *, geometry: Geometry | None = None) -> list[Finding]:
    """Return what is wrong or dubious about a scenario, in the order of the file.

    With `geometry`, types, zones, sizes and speeds are checked too.
    """
    context = Context(scenario, geometry)
    found = {finding: None for check in CHECKS for finding in check(context)}
    return sorted(found, key=lambda finding: (finding.place.line, finding.place.column))


def lint_file(path: str | Path, geometry: Geometry | None = None) -> list[Finding]:
    """Return the findings of a file: of reading it and of each level, each once.

    A file that cannot be read gives one finding, `unreadable`.
    """
    try:
        template = parse_file(path)
    except UbddlError as problem:
        return [Finding(problem.place, "unreadable", problem.message, "error")]
    found = dict.fromkeys(template.findings)
    for level in template.levels:
        found.update(dict.fromkeys(lint(template.at(level), geometry=geometry)))
    stem = Path(path).stem
    if template.dialect == "ubddl" and template.name != stem:
        place = template.at(template.levels[0]).place
        found[warning(place, "name-differs", f"problem {template.name!r} is in a file called {stem!r}")] = (
            None
        )
    return sorted(found, key=lambda finding: (finding.place.line, finding.place.column))


def check_names(c: Context) -> Iterator[Finding]:
    """Names that are declared twice, reserved or not at all."""
    yield from _declared_twice(c)
    for region in c.scenario.regions:
        if region.target != "workspace" and region.target not in c.entities:
            near = near_match(region.target, c.entities)
            message = f"region {region.name!r} is on {region.target!r}, which is not declared{near}"
            yield error(region.place, "dangling-target", message)
    for fact in c.scenario.init:
        yield from c.undeclared(fact.place, fact.args[:1], allow=())
        yield from c.undeclared(fact.place, fact.args[1:], allow=("workspace",))
    for goal in (c.scenario.goal, c.scenario.reference_goal):
        if goal is not None:
            yield from c.undeclared(goal.place, names_in(goal), allow=words.RESERVED)
    for rule in c.scenario.constraints:
        yield from c.undeclared(rule.place, names_of(rule), allow=words.RESERVED)
    for motion in c.scenario.motions:
        yield from c.undeclared(motion.place, (motion.entity,), allow=())
    yield from c.undeclared(c.scenario.place, c.scenario.interest, allow=("workspace",))


def _declared_twice(c: Context) -> Iterator[Finding]:
    seen: dict[str, Place] = {}
    named = [(entity.name, entity.place) for entity in c.scenario.entities]
    for name, place in [*named, *((region.full_name, region.place) for region in c.scenario.regions)]:
        if name in words.RESERVED:
            yield error(place, "reserved-name", f"{name!r} is a word of the language")
        if name in seen:
            yield error(place, "duplicate-name", f"{name!r} was declared at {seen[name]} already")
        seen[name] = place


def check_regions(c: Context) -> Iterator[Finding]:
    """Regions that facts, goals or rules name, but nobody defines."""
    used = [(fact.place, fact.args[1]) for fact in c.placements.values()]
    formulas = [
        c.scenario.goal,
        c.scenario.reference_goal,
        *(rule.formula for rule in c.scenario.constraints),
    ]
    for term in (term for formula in formulas if formula is not None for term in terms_of(formula)):
        if isinstance(term, Term) and term.word in words.PLACEMENTS:
            used.append((term.place, str(term.args[1])))
    for place, name in used:
        owner, _, part = name.partition(".")
        if not part or name in c.regions or (owner not in c.entities and owner != "workspace"):
            continue
        if c.is_workspace(owner):
            near = near_match(name, c.regions)
            yield error(place, "unknown-region", f"{name!r} is no region of the workspace{near}")
        elif c.geometry is not None and not c.has_zone(c.entities[owner], part):
            types = c.types(c.entities[owner])
            yield error(place, "unknown-region", f"{name!r}: {' or '.join(types)} has no zone {part!r}")


def check_types(c: Context) -> Iterator[Finding]:
    """Arenas and types that the catalog does not have."""
    if c.geometry is None:
        return
    try:
        c.geometry.workspace_type(c.scenario.arena)
    except LiberoSafetyError as problem:
        yield error(c.scenario.place, "unknown-arena", str(problem))
    for entity in c.scenario.entities:
        if c.is_workspace(entity.name):
            continue
        for type_name in c.types(entity):
            try:
                c.geometry.footprint(type_name)
            except LiberoSafetyError as problem:
                yield error(entity.place, "unknown-type", str(problem))
                break
        else:
            if missing := c.without_variants(entity):
                message = (
                    f"{entity.name!r}: no variant of {' or '.join(missing)} in the split {entity.split!r}"
                )
                yield error(entity.place, "no-variant", message)


def check_placement(c: Context) -> Iterator[Finding]:
    """Things that are never placed, placed on nothing, or that stand on themselves."""
    for entity in c.scenario.entities:
        if entity.name not in c.placements and not c.is_workspace(entity.name):
            yield error(entity.place, "unplaced", f"{entity.name!r} is never placed")
    for name, fact in c.placements.items():
        target = fact.args[1]
        region = c.regions.get(target)
        if c.is_workspace(target) or (
            region is not None and c.is_workspace(region.target) and not region.rects
        ):
            yield error(
                fact.place, "no-range", f"{name!r} is placed on {target!r}, which has no (:ranges ...)"
            )
        chain = [name]
        while (below := c.placements.get(chain[-1])) is not None:
            owner = below.args[1].partition(".")[0]
            if owner in chain:
                yield error(fact.place, "stands-on-itself", f"{' on '.join([*chain, owner])}")
                break
            chain.append(owner)


def check_room(c: Context) -> Iterator[Finding]:
    """Regions and zones with too little room for what is placed there."""
    if c.geometry is None:
        return
    groups: defaultdict[str, list[tuple[Entity, Footprint, Place]]] = defaultdict(list)
    for name, fact in c.placements.items():
        footprint = c.footprint(name)
        if footprint is not None:
            groups[fact.args[1]].append((c.entities[name], footprint, fact.place))
    for target, things in groups.items():
        halves = c.rect_halves(target)
        if not halves:
            continue
        for entity, footprint, place in things:
            if target not in c.regions_with_rects and all(_narrow(footprint) > max(half) for half in halves):
                yield warning(
                    place, "small-region", f"{entity.name!r} is larger than {target!r}: it hangs over"
                )
        if len(things) > 1:
            yield from _too_full(target, things, halves)


def _too_full(
    target: str, things: list[tuple[Entity, Footprint, Place]], halves: list[tuple[float, float]]
) -> Iterator[Finding]:
    """Compare areas; origins stay inside, so a thing may hang over each side by its radius."""
    widest = max(footprint.radius_m for _, footprint, _ in things)
    room = sum(4 * (x + widest) * (y + widest) for x, y in halves)
    need = sum(_area(footprint) for _, footprint, _ in things)
    if need > _DENSEST * room:
        names = ", ".join(entity.name for entity, _, _ in things)
        message = f"no room in {target!r} for {names}: they cover {need:.4f} m2, {room:.4f} m2 can be reached"
        yield error(things[-1][2], "no-room", message)


def _area(footprint: Footprint) -> float:
    return math.pi * _narrow(footprint) ** 2


def _narrow(footprint: Footprint) -> float:
    """Return the radius of a disc that surely fits inside a thing's outline."""
    if footprint.box_m is None:
        return footprint.radius_m
    x_min, y_min, x_max, y_max = footprint.box_m
    return min(x_max - x_min, y_max - y_min) / 2


def check_words(c: Context) -> Iterator[Finding]:
    """Words that no part of the program knows; a parsed file cannot have any, a scenario made in code can."""
    for fact in c.scenario.init:
        if fact.word not in words.FACTS:
            yield error(fact.place, "unknown-word", f"fact {fact.word!r}{near_match(fact.word, words.FACTS)}")
    for rule in c.scenario.constraints:
        if rule.word not in words.CONSTRAINTS:
            near = near_match(rule.word, words.CONSTRAINTS)
            yield error(rule.place, "unknown-word", f"rule {rule.word!r}{near}")
    for entity in c.scenario.entities:
        if entity.split not in (None, *get_args(Split)):
            yield error(entity.place, "unknown-word", f"split {entity.split!r} is neither 'train' nor 'test'")


def check_looks(c: Context) -> Iterator[Finding]:
    """Looks that the arena's parts cannot have."""
    try:
        known = c.geometry.looks(c.scenario.arena) if c.geometry else {}
    except LiberoSafetyError:
        return  # check_types reports the unknown arena
    for look in c.scenario.looks if known else ():
        if look.part == "light":
            continue
        if look.part not in known:
            message = f"the arena {c.scenario.arena} has no {look.part}"
            yield warning(look.place, "ignored-key", message)
            continue
        for word in map(str, look.value.options if isinstance(look.value, Choice) else (look.value,)):
            if word not in known[look.part]:
                message = f"{look.part} {word!r}{near_match(word, known[look.part])}"
                yield error(look.place, "unknown-look", message)


CHECKS: tuple[Callable[[Context], Iterator[Finding]], ...] = (
    check_words,
    check_names,
    check_regions,
    check_types,
    check_values,
    check_placement,
    check_room,
    check_goal,
    check_rules,
    check_contradictions,
    check_motions,
    check_noises,
    check_looks,
)
