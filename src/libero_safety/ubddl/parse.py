"""The strict dialect: one small function per section, in one table. Nothing unknown is ever ignored."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from libero_safety.ubddl import words
from libero_safety.ubddl.formula import head_of, parse_constraints, parse_fact, parse_formula, unknown
from libero_safety.ubddl.motion import parse_motion
from libero_safety.ubddl.number import MAX_SEVERITY, number, number_or_dist, numbers, word, word_or_choice
from libero_safety.ubddl.reader import Atom, Item, Node, UbddlError, read, read_file
from libero_safety.ubddl.spec import Camera, Entity, Look, Noise, Rect, Region, Split
from libero_safety.ubddl.template import Block, Template, fact_key, resolve

VERSION = 1
"""The version that `(:ubddl 1)` names."""

Section = Callable[[Block, Node], None]


def parse(text: str, file: str = "<text>") -> Template:
    """Return what a scenario text says, in our dialect or a foreign one.

    Raises:
        UbddlError: the text cannot be meant; the error says where and, for a misspelt word, what was near.
    """
    return _parse(read(text, file))


def parse_file(path: str | Path) -> Template:
    """Return what a scenario file says, as `parse`; a foreign file's folders tell its suite and level."""
    return _parse(read_file(path))


def _parse(root: Node) -> Template:
    if any(isinstance(item, Node) and item.head == ":ubddl" for item in root.items):
        return Template(resolve(parse_block(root)))
    from libero_safety.ubddl.dialect import parse_foreign  # the two dialects share the section readers below

    return parse_foreign(root)


def parse_block(root: Node) -> Block:
    """Read a whole `(define (problem name) ...)` of the strict dialect."""
    if root.head != "define":
        raise UbddlError(root.place, f"expected '(define (problem name) ...)', found '({root.head}'")
    block = Block(place=root.place)
    _read_sections(block, root.rest, TOP_SECTIONS)
    for name, value in (("problem", block.name), (":arena", block.arena)):
        if not value:
            raise UbddlError(root.place, f"section ({name} ...) is missing")
    for level, override in block.levels.items():
        if level <= block.base_level:
            raise UbddlError(
                override.place, f"level {level} does not come after the base level {block.base_level}"
            )
    return block


def _read_sections(block: Block, items: tuple[Item, ...], table: Mapping[str, Section]) -> None:
    seen: dict[str, Node] = {}
    for item in items:
        node, name = head_of(item, "a section")
        if name not in table:
            raise unknown(node.items[0], "section", name, table)
        if name in seen and name not in REPEATABLE:
            raise UbddlError(node.place, f"second section {name}; the first is at {seen[name].place}")
        seen[name] = node
        table[name](block, node)


def single(node: Node, what: str) -> Item:
    """Return the only argument of a list."""
    if len(node.rest) != 1:
        raise UbddlError(node.place, f"{node.head} takes {what}, found {len(node.rest)} item(s)")
    return node.rest[0]


def keyed(node: Node, items: tuple[Item, ...], known: tuple[str, ...]) -> dict[str, Node]:
    """Return `(:key value ...)` items by key; an unknown or repeated key is an error."""
    found: dict[str, Node] = {}
    for item in items:
        entry, key = head_of(item, "a (:key value)")
        if key not in known:
            raise unknown(entry.items[0], f"key of {node.head}", key, known)
        if key in found:
            raise UbddlError(entry.place, f"second {key} in {node.head}; the first is at {found[key].place}")
        found[key] = entry
    return found


def _problem(block: Block, node: Node) -> None:
    block.name = word(single(node, "one name"), what="the problem's name")


def _ubddl(block: Block, node: Node) -> None:
    version = single(node, "one version")
    if number(version) != VERSION:
        raise UbddlError(version.place, f"this reader knows version {VERSION}, not {version}")


def _domain(block: Block, node: Node) -> None:
    domain = single(node, "one word")
    if word(domain) != "robosuite":
        raise UbddlError(domain.place, f"unknown domain {str(domain)!r}. Known: robosuite")


def _suite(block: Block, node: Node) -> None:
    block.suite = word(single(node, "one name"))


def _arena(block: Block, node: Node) -> None:
    block.arena = word(single(node, "one name"))


def _base_level(block: Block, node: Node) -> None:
    block.base_level = _level_number(single(node, "one level"), least=0)


def _level_number(item: Item, least: int) -> int:
    value = number(item, what="the level")
    if int(value) != value or value < least:
        raise UbddlError(item.place, f"a level is {least}, {least + 1}, ..., found {item}")
    return int(value)


def _hazard(block: Block, node: Node) -> None:
    block.hazard = node.raw_rest()
    if not block.hazard:
        raise UbddlError(node.place, "(:hazard) without words: say what makes it dangerous, or leave it out")


def _language(block: Block, node: Node) -> None:
    text = node.raw_rest()
    if not text:
        raise UbddlError(node.place, "(:language) without words")
    block.languages.append(text)


def _regions(block: Block, node: Node) -> None:
    for item in node.rest:
        region = parse_region(item)
        old = block.regions.get(region.full_name)
        if old is not None:
            raise UbddlError(region.place, f"region {region.full_name!r} was declared at {old.place} already")
        block.regions[region.full_name] = region


def parse_region(item: Item) -> Region:
    """Read `(name (:target t) (:ranges (...)) (:yaw_rotation ((low high))) (:rgba (r g b a)))`."""
    node, name = head_of(item, "a region")
    entries = keyed(node, node.rest, (":target", ":ranges", ":yaw_rotation", ":rgba"))
    if ":target" not in entries:
        raise UbddlError(node.place, f"region {name!r} has no (:target ...)")
    return Region(
        name=name,
        target=word(single(entries[":target"], "one name"), what="a target"),
        rects=tuple(_rects(entries[":ranges"])) if ":ranges" in entries else (),
        yaw=_yaw(entries[":yaw_rotation"]) if ":yaw_rotation" in entries else None,
        rgba=_rgba(entries[":rgba"]) if ":rgba" in entries else None,
        place=node.place,
    )


def _rects(node: Node) -> Iterator[Rect]:
    rects = single(node, "one list of rectangles")
    if isinstance(rects, Atom):
        raise UbddlError(rects.place, f"expected ((x_min y_min x_max y_max) ...), found {rects.text!r}")
    for item in rects.items:
        rect = Rect(*numbers(item, 4, "m", what="(x_min y_min x_max y_max)"))
        if rect.x_min > rect.x_max or rect.y_min > rect.y_max:
            raise UbddlError(
                item.place, f"inverted range {item}: expected (x_min y_min x_max y_max), smallest first"
            )
        yield rect


def _yaw(node: Node) -> tuple[float, float]:
    outer = single(node, "((low high))")
    if isinstance(outer, Atom) or len(outer.items) != 1:
        raise UbddlError(outer.place, f"expected one range ((low high)), found {outer}")
    low, high = numbers(outer.items[0], 2, "rad", what="(low high)")
    if low > high:
        raise UbddlError(outer.items[0].place, f"inverted yaw range: {low:g} is more than {high:g}")
    return (low, high)


def _rgba(node: Node) -> tuple[float, float, float, float]:
    r, g, b, a = numbers(single(node, "(r g b a)"), 4, what="(r g b a)")
    return (r, g, b, a)


def _fixtures(block: Block, node: Node) -> None:
    for entity in _entities(node, "fixture"):
        add_entity(block, entity)


def _objects(block: Block, node: Node) -> None:
    for entity in _entities(node, "object"):
        add_entity(block, entity)


def add_entity(block: Block, entity: Entity) -> None:
    """Declare an entity; its name must be free and not reserved."""
    if entity.name in words.RESERVED:
        raise UbddlError(entity.place, f"{entity.name!r} is a word of the language, it cannot name an entity")
    if "." in entity.name:
        raise UbddlError(
            entity.place, f"entity name {entity.name!r} has a '.', which separates owner and part"
        )
    old = block.entities.get(entity.name)
    if old is not None:
        raise UbddlError(entity.place, f"{entity.name!r} was declared at {old.place} already")
    block.entities[entity.name] = entity


def _entities(node: Node, kind: str) -> Iterator[Entity]:
    """Read `name ... - type [:split train|test]` groups."""
    names: list[Atom] = []
    items = deque(node.rest)
    while items:
        item = items.popleft()
        if isinstance(item, Node):
            raise UbddlError(item.place, f"expected a name, found the list {item}")
        if item.text != "-":
            names.append(item)
            continue
        if not names:
            raise UbddlError(item.place, "'-' without a name before it")
        if not items:
            raise UbddlError(item.place, "'-' without a type after it")
        type_name = word_or_choice(items.popleft(), what="a type")
        split = None
        if items and isinstance(items[0], Atom) and items[0].text == ":split":
            split = _split(items)
        for name in names:
            yield Entity(
                name.text, type_name, "fixture" if kind == "fixture" else "object", split, name.place
            )
        names = []
    if names:
        raise UbddlError(names[0].place, f"{names[0].text!r} has no type: expected 'name - type'")


def _split(items: deque[Item]) -> Split:
    key = items.popleft()
    value = items.popleft() if items else None
    for split in get_args(Split):
        if str(value) == split:
            return split
    raise UbddlError(key.place, f":split takes 'train' or 'test', found {value or 'nothing'}")


def _interest(block: Block, node: Node) -> None:
    block.interest = tuple(word(item, what="a name") for item in node.rest)


def _init(block: Block, node: Node) -> None:
    seen: dict[tuple[str, str], str] = {}
    for item in node.rest:
        fact = parse_fact(item)
        key = fact_key(fact)
        if key in seen:
            raise UbddlError(item.place, f"{item}: {fact.args[0]} already has {seen[key]}")
        seen[key] = str(item)
        block.init.append(fact)


def _goal(block: Block, node: Node) -> None:
    block.goal = parse_formula(single(node, "one condition, e.g. (And (On a b) ...)"))


def _reference_goal(block: Block, node: Node) -> None:
    block.reference_goal = parse_formula(single(node, "one condition, e.g. (And (On a b) ...)"))


def _constraints(block: Block, node: Node) -> None:
    block.constraints = list(parse_constraints(node.rest))


def _add_constraints(block: Block, node: Node) -> None:
    block.added = list(parse_constraints(node.rest))


def _dynamics(block: Block, node: Node) -> None:
    for item in node.rest:
        motion = parse_motion(item)
        if motion.entity in block.motions:
            raise UbddlError(item.place, f"{motion.entity!r} has a second motion")
        block.motions[motion.entity] = motion


def _cameras(block: Block, node: Node) -> None:
    for item in node.rest:
        entry, name = head_of(item, "a camera")
        if name not in words.CAMERAS:
            raise unknown(entry.items[0], "camera", name, words.CAMERAS)
        if name in block.cameras:
            raise UbddlError(entry.place, f"camera {name!r} is displaced twice")
        keys = keyed(entry, entry.rest, (":yaw", ":pitch", ":roll", ":scale"))
        angles = {
            key: number_or_dist(single(keys[f":{key}"], "one angle"), "rad", what=f"the {key}")
            for key in ("yaw", "pitch", "roll")
            if f":{key}" in keys
        }
        scale = 1.0
        if ":scale" in keys:
            scale = number_or_dist(single(keys[":scale"], "one factor"), what="the scale", low=0.01)
        block.cameras[name] = Camera(name, scale=scale, place=entry.place, **angles)


def _looks(block: Block, node: Node) -> None:
    for key, entry in keyed(node, node.rest, tuple(f":{part}" for part in words.LOOKS)).items():
        part = key[1:]
        value = single(entry, "one value")
        look = (
            number_or_dist(value, what="the light", low=0.0)
            if part == "light"
            else word_or_choice(value, what=f"a look of the {part}")
        )
        block.looks[part] = Look(part, look, entry.place)


def _noise(block: Block, node: Node) -> None:
    for item in node.rest:
        entry, kind = head_of(item, "(kind severity)")
        if kind not in words.NOISES:
            raise unknown(entry.items[0], "noise", kind, words.NOISES)
        if kind in block.noises:
            raise UbddlError(entry.place, f"noise {kind!r} is given twice")
        if not entry.rest:
            raise UbddlError(entry.place, f"({kind} severity) has no severity")
        severity = number_or_dist(entry.rest[0], what="the severity", low=0.0, high=MAX_SEVERITY)
        keys = keyed(entry, entry.rest[1:], (":cameras",))
        cameras = tuple(word(name) for name in keys[":cameras"].rest) if keys else ()
        for name in cameras:
            if name not in words.CAMERAS:
                raise unknown(keys[":cameras"], "camera", name, words.CAMERAS)
        block.noises[kind] = Noise(kind, severity, cameras, entry.place)


def _robot(block: Block, node: Node) -> None:
    keys = keyed(node, node.rest, (":start_noise", ":controller"))
    block.robot["place"] = node.place
    if ":start_noise" in keys:
        value = single(keys[":start_noise"], "one angle")
        block.robot["start_noise"] = number_or_dist(value, "rad", what="the start noise", low=0.0)
    if ":controller" in keys:
        block.robot["controller"] = word(single(keys[":controller"], "one name"))


def _remove(block: Block, node: Node) -> None:
    for item in node.rest:
        block.removed[word(item, what="a name")] = item.place


def _level(block: Block, node: Node) -> None:
    if not node.rest:
        raise UbddlError(node.place, "(:level N ...) has no number")
    level = _level_number(node.rest[0], least=1)
    if level in block.levels:
        raise UbddlError(node.place, f"level {level} was given at {block.levels[level].place} already")
    block.levels[level] = Block(place=node.place)
    _read_sections(block.levels[level], node.rest[1:], LEVEL_SECTIONS)


LEVEL_SECTIONS: dict[str, Section] = {
    ":arena": _arena,
    ":language": _language,
    ":hazard": _hazard,
    ":regions": _regions,
    ":fixtures": _fixtures,
    ":objects": _objects,
    ":obj_of_interest": _interest,
    ":init": _init,
    ":goal": _goal,
    ":goal_reference": _reference_goal,
    ":constraints": _constraints,
    ":add_constraints": _add_constraints,
    ":dynamics": _dynamics,
    ":cameras": _cameras,
    ":looks": _looks,
    ":noise": _noise,
    ":robot": _robot,
    ":remove": _remove,
}
TOP_SECTIONS: dict[str, Section] = {
    "problem": _problem,
    ":ubddl": _ubddl,
    ":domain": _domain,
    ":suite": _suite,
    ":base_level": _base_level,
    ":level": _level,
    **{name: read for name, read in LEVEL_SECTIONS.items() if name not in (":add_constraints", ":remove")},
}
REPEATABLE = (":language", ":fixtures", ":objects", ":level")
"""Sections that a block may have more than once; all others at most once."""
