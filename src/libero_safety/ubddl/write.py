"""Scenario to text, such that reading the text gives the same scenario back."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from libero_safety.ubddl import words
from libero_safety.ubddl.parse import VERSION
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import (
    NOWHERE,
    AtLeast,
    Camera,
    Choice,
    Circle,
    Compare,
    Constraint,
    Entity,
    Facing,
    Fact,
    Formula,
    Line,
    Logic,
    Measure,
    Motion,
    Noise,
    Num,
    Parabola,
    Path,
    Region,
    Robot,
    Scenario,
    Term,
    Uniform,
    WayPoints,
    Word,
)

_WORD = re.compile(r"[^\s();]+")


def write(scenario: Scenario) -> str:
    """Return `scenario` as a file: `parse(write(s)).at(s.level) == s`.

    Raises:
        UbddlError: a name with blanks or parentheses; an instruction with unbalanced parentheses, `;` or
            outer blanks.
    """
    body = [line for section in _sections(scenario) for line in section]
    return "\n".join([f"(define (problem {_word(scenario.name)})", *(f"  {line}" for line in body)]) + ")\n"


def write_formula(formula: Formula) -> str:
    """Return a goal or condition as it stands in a file."""
    if isinstance(formula, Logic):
        return _list(formula.op, *map(write_formula, formula.items))
    if isinstance(formula, AtLeast):
        return _list("AtLeast", str(formula.count), *map(write_formula, formula.items))
    if isinstance(formula, Compare):
        return _list(formula.op, _measure(formula.left), repr(formula.right))
    return _term(formula)


def write_constraint(constraint: Constraint) -> str:
    """Return a rule as it stands in a file."""
    parts = [_word(arg) for arg in constraint.args]
    if constraint.limit is not None:
        unit = words.CONSTRAINTS[constraint.word].unit if constraint.word in words.CONSTRAINTS else ""
        parts.append(repr(constraint.limit) + {"N": "N", "m": "m", "deg": "rad"}.get(unit, ""))
    if constraint.formula is not None:
        parts.append(write_formula(constraint.formula))
    return _list(constraint.word, *parts)


def _sections(s: Scenario) -> Iterator[list[str]]:
    yield [f"(:ubddl {VERSION})"]
    if s.suite:
        yield [f"(:suite {_word(s.suite)})"]
    if s.level:
        yield [f"(:base_level {s.level})"]
    yield [f"(:arena {_word(s.arena)})"]
    options = s.instruction.options if isinstance(s.instruction, Choice) else (s.instruction,)
    yield [f"(:language {_sentence(str(option))})" for option in options]
    if s.hazard:
        yield [f"(:hazard {_sentence(s.hazard)})"]
    yield _block(":regions", map(_region, s.regions))
    for kind, group in groupby(s.entities, key=lambda entity: entity.kind):
        yield _block(f":{kind}s", map(_entity, group))
    yield _block(":obj_of_interest", map(_word, s.interest))
    yield _block(":init", map(_fact, s.init))
    if s.goal is not None:
        yield [f"(:goal {write_formula(s.goal)})"]
    if s.reference_goal is not None:
        yield [f"(:goal_reference {write_formula(s.reference_goal)})"]
    yield _block(":constraints", map(write_constraint, s.constraints))
    yield _block(":dynamics", map(_motion, s.motions))
    yield _block(":cameras", map(_camera, s.cameras))
    yield _block(":looks", (_list(f":{look.part}", _value(look.value)) for look in s.looks))
    yield _block(":noise", map(_noise, s.noises))
    if s.robot != Robot():
        yield [
            _list(
                ":robot",
                _list(":start_noise", _value(s.robot.start_noise)),
                f"(:controller {s.robot.controller})",
            )
        ]


def _block(head: str, items: Iterable[str]) -> list[str]:
    lines = list(items)
    return [f"({head}", *(f"  {line}" for line in lines[:-1]), f"  {lines[-1]})"] if lines else []


def _list(*parts: str) -> str:
    return f"({' '.join(parts)})"


def _word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise UbddlError(
            NOWHERE, f"{text!r} cannot be written as a name: it has blanks, parentheses, ';' or nothing"
        )
    return text


def _sentence(text: str) -> str:
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            break
    if depth or ";" in text or "\0" in text or not text or text != text.strip():
        raise UbddlError(
            NOWHERE,
            f"{text!r} cannot be written as an instruction: unbalanced parentheses, ';' or outer blanks",
        )
    return text


def _value(value: Num | Word) -> str:
    if isinstance(value, Uniform):
        return f"(Uniform {value.low!r} {value.high!r})"
    if isinstance(value, Choice):
        return _list("Choice", *(_plain(option) for option in value.options))
    return _plain(value)


def _plain(value: float | str) -> str:
    return _word(value) if isinstance(value, str) else repr(float(value))


def _vector(values: Iterable[Num]) -> str:
    return _list(*map(_value, values))


def _entity(entity: Entity) -> str:
    split = f" :split {entity.split}" if entity.split else ""
    return f"{_word(entity.name)} - {_value(entity.type)}{split}"


def _region(region: Region) -> str:
    parts = [_word(region.name), f"(:target {_word(region.target)})"]
    if region.rects:
        rects = (_vector((r.x_min, r.y_min, r.x_max, r.y_max)) for r in region.rects)
        parts.append(f"(:ranges ({' '.join(rects)}))")
    if region.yaw is not None:
        parts.append(f"(:yaw_rotation ({_vector(region.yaw)}))")
    if region.rgba is not None:
        parts.append(f"(:rgba {_vector(region.rgba)})")
    return _list(*parts)


def _fact(fact: Fact) -> str:
    return _list(fact.word, *map(_word, fact.args))


def _term(term: Term) -> str:
    return _list(term.word, *map(_plain, term.args))


def _measure(measure: Measure) -> str:
    return _list(measure.word, *map(_word, measure.args))


def _motion(motion: Motion) -> str:
    parts = _path(motion.path)
    if motion.height is not None:
        parts.append(f"(:height {_value(motion.height)})")
    if motion.tilt != (0.0, 0.0):
        parts.append(f"(:tilt {_vector(motion.tilt)})")
    if motion.jitter is not None:
        keys = {"amplitude": motion.jitter.amplitude, "frequency": motion.jitter.frequency}
        parts.append(_list(":jitter", *_keys(keys)))
    if (reach := motion.reach_in) is not None:
        keys = {"at": reach.at, "speed": reach.speed, "hold": reach.hold}
        parts.append(_list(":reach_in", f"(:offset {_vector(reach.offset)})", *_keys(keys)))
    if (back := motion.withdraw) is not None:
        keys = {"closer_than": back.closer_than, "travel": back.travel, "speed": back.speed}
        stay = ["(:stay true)"] if back.stay else []
        parts.append(_list(":withdraw", f"(:direction {_vector(back.direction)})", *_keys(keys), *stay))
    return _list(_word(motion.entity), *parts)


def _keys(values: Mapping[str, Num]) -> list[str]:
    return [f"(:{key} {_value(value)})" for key, value in values.items()]


def _path(path: Path) -> list[str]:
    if isinstance(path, Line):
        parts = [
            "(:motion line)",
            f"(:direction {_vector(path.direction)})",
            f"(:travel {_value(path.travel)})",
        ]
        parts += [f"(:period {_value(path.period)})", f"(:phase {_value(path.phase)})"]
        return [*parts, "(:once true)"] if path.once else parts
    if isinstance(path, Circle):
        parts = ["(:motion circle)", f"(:center {_vector(path.center)})", f"(:period {_value(path.period)})"]
        return [*parts, f"(:phase {_value(path.phase)})", *_facing(path.facing)]
    if isinstance(path, WayPoints):
        points = " ".join(f"({_value(point.time)} {_vector(point.offset)})" for point in path.points)
        parts = ["(:motion waypoints)", f"(:points ({points}))", f"(:mode {path.mode})"]
        phase = [] if path.mode == "stop" else [f"(:phase {_value(path.phase)})"]
        return [*parts, *phase, *_facing(path.facing)]
    if isinstance(path, Parabola):
        parts = ["(:motion parabola)", f"(:velocity {_vector(path.velocity)})"]
        return [*parts, f"(:gravity {_value(path.gravity)})", f"(:start {_value(path.start)})"]
    return ["(:motion still)"]


def _facing(facing: Facing) -> list[str]:
    return [] if facing == "fixed" else [f"(:facing {facing})"]


def _camera(camera: Camera) -> str:
    keys = {"yaw": camera.yaw, "pitch": camera.pitch, "roll": camera.roll, "scale": camera.scale}
    return _list(_word(camera.name), *_keys(keys))


def _noise(noise: Noise) -> str:
    cameras = [_list(":cameras", *map(_word, noise.cameras))] if noise.cameras else []
    return _list(noise.kind, _value(noise.severity), *cameras)
