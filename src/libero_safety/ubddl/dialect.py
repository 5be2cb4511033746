"""LIBERO BDDL, VLA-Arena CBDDL and the reference's UBDDL read into the same scenario, with findings."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from libero_safety.ubddl import words
from libero_safety.ubddl.foreign import Reading, lowered
from libero_safety.ubddl.foreign_motion import read_motions
from libero_safety.ubddl.foreign_rules import read_facts, read_goal, read_rules
from libero_safety.ubddl.foreign_scene import read_cam_view, read_init_state, read_noise, read_scene
from libero_safety.ubddl.formula import head_of, names_in, names_of, unknown
from libero_safety.ubddl.number import word
from libero_safety.ubddl.parse import add_entity, parse_region, single
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError
from libero_safety.ubddl.spec import Entity, Fact
from libero_safety.ubddl.template import Block, Template, fact_key, scenario_of

SUITES = {
    "affordance": "aag",
    "human_safety": "hri",
    "obstacle_avoidance": "tsa",
    "obstacle_avoidance_human": "fshoa",
    "reasoning_safety": "ssr",
}
"""The reference's folder names -> our suites."""
VLA_ARENA_SECTIONS = (
    ":cost",
    ":moving_objects",
    ":image_settings",
    ":camera",
    ":random_color",
    ":water_balls",
)
REFERENCE_SECTIONS = (
    ":constraints",
    ":constraint",
    ":dynamics",
    ":noise",
    ":cam_view",
    ":scene_xml",
    ":robot_init_state",
    ":obstacle",
)
_SCENE_PREFIX = re.compile(r"^(kitchen|living_room|study)_scene\d+_")
_VARIANT_SUFFIX = re.compile(r"_(view_\d+_.*|(add|light|table)_\d+(_(static|dynamic|table))?|\d+)$")
_VIEW_IN_NAME = re.compile(r"_view_(\d+)_(\d+)_(\d+)_(\d+)_(\d+)_initstate_(\d+)")
_NEUTRAL_VIEW = ("0", "0", "100", "0", "0", "0")


def parse_foreign(root: Node) -> Template:
    """Read a file without `(:ubddl ...)`.

    Raises:
        UbddlError: the file cannot be meant, or says something that no scenario here can hold.
    """
    tree = lowered(root)
    sections = _sections(tree)
    reading = Reading(dialect_of(sections))
    reading.block.place = tree.place
    for name, read in _SECTIONS.items():
        if name in sections:
            read(reading, sections[name])
    if not reading.block.name:
        raise UbddlError(tree.place, "section (problem ...) is missing")
    _leave_out_unplaced(reading)
    level = _from_path(reading, tree)
    scenario = scenario_of(reading.block, level)
    findings = sorted(reading.findings, key=lambda finding: (finding.place.line, finding.place.column))
    return Template({level: scenario}, reading.dialect, tuple(findings))


def dialect_of(sections: dict[str, Node]) -> str:
    """Return the dialect that a file's sections show."""
    if any(name in sections for name in VLA_ARENA_SECTIONS):
        return "vla_arena"
    return "reference" if any(name in sections for name in REFERENCE_SECTIONS) else "libero"


def _sections(tree: Node) -> dict[str, Node]:
    if tree.head != "define":
        raise UbddlError(tree.place, f"expected '(define (problem ...) ...)', found '({tree.head}'")
    sections: dict[str, Node] = {}
    for item in tree.rest:
        node, name = head_of(item, "a section")
        if name not in _SECTIONS:
            raise unknown(node.items[0], "section", name, _SECTIONS)
        if name in sections:
            raise UbddlError(node.place, f"second section {name}; the first is at {sections[name].place}")
        sections[name] = node
    return sections


def _problem(reading: Reading, node: Node) -> None:
    name = word(single(node, "one name"), what="the problem's name")
    kind, _, variant = name.removeprefix("libero_").partition("manipulation")
    known = ("living_room", "coffee_table", "kitchen", "study", "floor", "tabletop")
    arena = next((arena for arena in known if arena in kind), None)
    if arena is None:
        raise unknown(node.rest[0], "problem", name, [f"libero_{arena}_manipulation" for arena in known])
    reading.block.name, reading.block.arena = name, arena
    if variant:
        reading.note(
            node.rest[0].place,
            "not-carried",
            f"scene variant {variant.strip('_')!r} is not carried over",
            "error",
        )


def _domain(reading: Reading, node: Node) -> None:
    domain = single(node, "one word")
    if word(domain) != "robosuite":
        raise UbddlError(domain.place, f"unknown domain {str(domain)!r}. Known: robosuite")


def _nothing(reading: Reading, node: Node) -> None:
    """`:requirements` says nothing in any dialect."""


def _language(reading: Reading, node: Node) -> None:
    text = node.raw_rest()
    if not text:
        raise UbddlError(node.place, "(:language) without words")
    reading.block.languages.append(text)


def _things(kind: str) -> Callable[[Reading, Node], None]:
    def read(reading: Reading, node: Node) -> None:
        types: dict[str, Atom] = {}
        names: list[Atom] = []
        items = deque(node.rest)
        while items:
            item = items.popleft()
            if isinstance(item, Node):
                raise UbddlError(item.place, f"expected a name, found the list {item}")
            if item.text != "-":
                names.append(item)
                continue
            if not names or not items or isinstance(items[0], Node):
                raise UbddlError(item.place, "expected 'name ... - type'")
            type_atom = items.popleft()
            assert isinstance(type_atom, Atom)
            if type_atom.text in types:
                reading.note(
                    type_atom.place,
                    "type-twice",
                    f"type {type_atom} stands at {types[type_atom.text].place} too; the source forgets those",
                )
            types[type_atom.text] = type_atom
            for name in names:
                entity_kind = "fixture" if kind == "fixture" else "object"
                add_entity(reading.block, Entity(name.text, type_atom.text, entity_kind, None, name.place))
            names = []
        if names:
            raise UbddlError(names[0].place, f"{names[0].text!r} has no type: expected 'name - type'")

    return read


def _regions(reading: Reading, node: Node) -> None:
    for item in node.rest:
        region = parse_region(_one_range(reading, item))
        key = f"{region.target}_{region.name}"
        if region.target not in reading.block.entities:
            reading.dangling[key] = region.full_name
            reading.note(
                region.place,
                "dangling-target",
                f"region {region.name!r} is on {region.target!r}, which is not declared",
            )
            continue
        old = reading.block.regions.get(region.full_name)
        if old is not None:
            reading.note(
                region.place,
                "duplicate-region",
                f"region {region.full_name!r} was declared at {old.place} too; the later one holds",
            )
        reading.keys[key] = region.full_name
        reading.block.regions[region.full_name] = region


def _one_range(reading: Reading, item: Item) -> Item:
    """Return a region without its `:ranges2`; where there are both, `:ranges` is the one that is read."""
    if isinstance(item, Atom):
        return item
    second = next((part for part in item.items if isinstance(part, Node) and part.head == ":ranges2"), None)
    if second is None:
        return item
    has_first = any(isinstance(part, Node) and part.head == ":ranges" for part in item.items)
    if has_first:
        reading.note(second.place, "two-ranges", "both :ranges and :ranges2: read is :ranges")
        return item._replace(items=tuple(part for part in item.items if part is not second))
    head = second.items[0]
    assert isinstance(head, Atom)
    renamed = second._replace(items=(head._replace(text=":ranges"), *second.rest))
    return item._replace(items=tuple(renamed if part is second else part for part in item.items))


def _interest(reading: Reading, node: Node) -> None:
    names: list[str] = []
    for item in node.rest:
        found = reading.find(item)
        if found is None:
            reading.note(item.place, "undeclared", f"thing of interest {item} is not declared")
        else:
            names.append(found)
    reading.block.interest = tuple(names)


def _init(reading: Reading, node: Node) -> None:
    facts: dict[tuple[str, str], Fact] = {}
    for fact in read_facts(reading, node.rest):
        old = facts.get(fact_key(fact))
        if old is None:
            facts[fact_key(fact)] = fact
        elif old == fact:
            reading.note(fact.place, "stated-twice", f"({fact.word} {' '.join(fact.args)}) is stated twice")
        else:
            raise UbddlError(fact.place, f"{fact.args[0]!r} already has ({old.word} {' '.join(old.args)})")
    reading.block.init = list(facts.values())
    _drop_yaw_of_objects(reading)


def _drop_yaw_of_objects(reading: Reading) -> None:
    """Yaw ranges turn fixtures only; an object keeps the orientation of its asset."""
    block = reading.block
    placed = [fact for fact in block.init if fact.word in words.PLACEMENTS]
    turned = {fact.args[1] for fact in placed if block.entities[fact.args[0]].kind == "fixture"}
    for fact in placed:
        region = block.regions.get(fact.args[1])
        if region is None or region.yaw is None or region.full_name in turned:
            continue
        block.regions[region.full_name] = replace(region, yaw=None)
        if region.yaw != (0.0, 0.0):
            message = f"yaw turns fixtures only, there and here: it does not turn {fact.args[0]!r}"
            reading.note(region.place, "yaw-of-object", message)


def _goal(reading: Reading, node: Node) -> None:
    reading.block.goal = read_goal(reading, node)


def _rules(reading: Reading, node: Node) -> None:
    reading.block.constraints = [*(reading.block.constraints or []), *read_rules(reading, node.rest)]


def _ignored_rules(reading: Reading, node: Node) -> None:
    reading.note(
        node.place, "ignored-section", ":constraint (no s) is ignored by the reference; here its rules hold"
    )
    _rules(reading, node)


def _dynamics(reading: Reading, node: Node) -> None:
    read_motions(reading, node.rest)


def _obstacle(reading: Reading, node: Node) -> None:
    reading.note(node.place, "ignored-section", ":obstacle has no effect, there or here: it states no rule")


def _not_carried(reading: Reading, node: Node) -> None:
    reading.note(node.place, "not-carried", f"{node.head} is not carried over", "error")


_SECTIONS: dict[str, Callable[[Reading, Node], None]] = {
    "problem": _problem,
    ":domain": _domain,
    ":requirements": _nothing,
    ":language": _language,
    ":fixtures": _things("fixture"),
    ":objects": _things("object"),
    ":regions": _regions,
    ":obj_of_interest": _interest,
    ":init": _init,
    ":goal": _goal,
    ":constraints": _rules,
    ":constraint": _ignored_rules,
    ":cost": _rules,
    ":dynamics": _dynamics,
    ":moving_objects": _dynamics,
    ":obstacle": _obstacle,
    ":noise": read_noise,
    ":cam_view": read_cam_view,
    ":scene_properties": read_scene,
    ":robot_init_state": read_init_state,
    ":scene_xml": _not_carried,
    ":image_settings": _not_carried,
    ":camera": _not_carried,
    ":random_color": _not_carried,
    ":water_balls": _not_carried,
}
"""In the order in which they are read: what is declared before what names it."""


def _leave_out_unplaced(reading: Reading) -> None:
    """Drop things that are never placed, with a finding; it is an error if anything needs one."""
    block = reading.block
    supports = {f.args[0]: f.args[1].partition(".")[0] for f in block.init if f.word in words.PLACEMENTS}
    standing = {name for name in block.entities if reading.is_workspace(name)} | {"workspace"}
    while new := {name for name, on in supports.items() if on in standing and name not in standing}:
        standing |= new
    for name, entity in list(block.entities.items()):
        if name in standing:
            continue
        _check_unneeded(block, name)
        reading.note(entity.place, "unplaced", f"{name!r} is never placed: it is left out")
        del block.entities[name]
    block.init = [f for f in block.init if all(a.partition(".")[0] in standing for a in f.args)]
    block.regions = {key: region for key, region in block.regions.items() if region.target in standing}
    block.interest = tuple(name for name in block.interest or () if name.partition(".")[0] in standing)


def _check_unneeded(block: Block, name: str) -> None:
    users = [(rule.place, "a rule", list(names_of(rule))) for rule in block.constraints or []]
    users += [(motion.place, "a motion", [motion.entity]) for motion in block.motions.values()]
    if block.goal is not None:
        users.append((block.goal.place, "the goal", list(names_in(block.goal))))
    for place, user, names in users:
        if name in (used.partition(".")[0] for used in names):
            raise UbddlError(place, f"{user} names {name!r}, which is never placed")


def _from_path(reading: Reading, tree: Node) -> int:
    """Take name, suite and level from the file's path, and compare its name with the instruction."""
    path = PurePath(tree.source.file)
    if path.suffix not in (".bddl", ".ubddl"):
        return 0
    block = reading.block
    block.name = path.stem
    level = 0
    for folder in path.parts[:-1]:
        match = re.fullmatch(r"(?:l|level_)(\d)", folder.lower())
        level = int(match.group(1)) if match else level
        block.suite = SUITES.get(folder, folder if folder.startswith(("libero_", "safety_")) else block.suite)
    _compare_name(reading, path.stem, tree)
    return level


def _compare_name(reading: Reading, stem: str, tree: Node) -> None:
    view = _VIEW_IN_NAME.search(stem)
    if view and view.groups() != _NEUTRAL_VIEW:
        reading.note(
            tree.place,
            "perturbation-in-name",
            f"the file name speaks of a view or start state ({view.group()[1:]}) that the file does not hold",
            "error",
        )
    spoken = _VARIANT_SUFFIX.sub("", _SCENE_PREFIX.sub("", stem.lower()))
    if not reading.block.languages or spoken.count("_") < 2:
        return
    named, told = _plain_words(spoken), _plain_words(reading.block.languages[0])
    if named != told and len(set(named) & set(told)) >= len(set(named)) / 2:
        node = next(item for item in tree.rest if isinstance(item, Node) and item.head == ":language")
        reading.note(
            node.place,
            "name-differs",
            f"the file name says {' '.join(named)!r}; told is {reading.block.languages[0]!r}",
        )


def _plain_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
