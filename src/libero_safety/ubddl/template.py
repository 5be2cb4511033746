"""A scenario file as read: level 0 and what each further level changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from libero_safety.registry import near_match
from libero_safety.ubddl import words
from libero_safety.ubddl.formula import names_of
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import (
    NOWHERE,
    Camera,
    Choice,
    Constraint,
    Entity,
    Fact,
    Finding,
    Formula,
    Look,
    Motion,
    Noise,
    Place,
    Region,
    Robot,
    Scenario,
)


@dataclass
class Block:
    """What one block of sections says, keyed so that a level can override it. Parsers fill it."""

    place: Place = NOWHERE
    name: str = ""
    suite: str = ""
    arena: str = ""
    hazard: str = ""
    base_level: int = 0
    languages: list[str] = field(default_factory=list[str])
    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    regions: dict[str, Region] = field(default_factory=dict[str, Region])
    init: list[Fact] = field(default_factory=list[Fact])
    goal: Formula | None = None
    reference_goal: Formula | None = None
    constraints: list[Constraint] | None = None
    added: list[Constraint] = field(default_factory=list[Constraint])
    motions: dict[str, Motion] = field(default_factory=dict[str, Motion])
    cameras: dict[str, Camera] = field(default_factory=dict[str, Camera])
    looks: dict[str, Look] = field(default_factory=dict[str, Look])
    noises: dict[str, Noise] = field(default_factory=dict[str, Noise])
    robot: dict[str, Any] = field(default_factory=dict[str, Any])
    interest: tuple[str, ...] | None = None
    removed: dict[str, Place] = field(default_factory=dict[str, Place])
    levels: dict[int, "Block"] = field(default_factory=dict[int, "Block"])


@dataclass(frozen=True)
class Template:
    """One scenario file.

    Attributes:
        scenarios: level -> scenario, ascending.
        dialect: `ubddl`, or the foreign dialect of the file: `libero`, `vla_arena` or `reference`.
        findings: what was dubious while reading.
    """

    scenarios: Mapping[int, Scenario]
    dialect: str = "ubddl"
    findings: tuple[Finding, ...] = ()

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that the file defines, ascending."""
        return tuple(self.scenarios)

    @property
    def name(self) -> str:
        """The problem's name."""
        return next(iter(self.scenarios.values())).name

    def at(self, level: int) -> Scenario:
        """Return the scenario at one level.

        Raises:
            UbddlError: the file does not define that level.
        """
        if level not in self.scenarios:
            known = ", ".join(map(str, self.levels))
            place = next(iter(self.scenarios.values())).place
            raise UbddlError(place, f"{self.name} has no level {level}. Levels: {known}")
        return self.scenarios[level]


def resolve(base: Block) -> dict[int, Scenario]:
    """Return each level's scenario: the base level as written, every other with its block merged over it."""
    scenarios = {base.base_level: scenario_of(base, base.base_level)}
    for level in sorted(base.levels):
        scenarios[level] = scenario_of(_merge(base, base.levels[level]), level)
    return scenarios


def scenario_of(block: Block, level: int) -> Scenario:
    """Return what a block says as a scenario."""
    if not block.languages:
        raise UbddlError(block.place, "no (:language ...): the policy has to be told something")
    first, *more = block.languages
    return Scenario(
        name=block.name,
        instruction=Choice((first, *more)) if more else first,
        arena=block.arena,
        entities=tuple(block.entities.values()),
        regions=tuple(block.regions.values()),
        init=tuple(block.init),
        goal=block.goal,
        reference_goal=block.reference_goal,
        constraints=tuple([*(block.constraints or []), *block.added]),
        motions=tuple(block.motions.values()),
        cameras=tuple(block.cameras.values()),
        looks=tuple(block.looks.values()),
        noises=tuple(block.noises.values()),
        robot=Robot(**block.robot),
        interest=block.interest or (),
        suite=block.suite,
        level=level,
        hazard=block.hazard,
        place=block.place,
    )


def _merge(base: Block, over: Block) -> Block:
    kept = _without(base, over.removed)
    return replace(
        kept,
        arena=over.arena or kept.arena,
        languages=over.languages or kept.languages,
        hazard=over.hazard or kept.hazard,
        entities=kept.entities | over.entities,
        regions=kept.regions | over.regions,
        init=_merge_init(kept.init, over.init),
        goal=over.goal if over.goal is not None else kept.goal,
        reference_goal=over.reference_goal if over.reference_goal is not None else kept.reference_goal,
        constraints=over.constraints if over.constraints is not None else kept.constraints,
        added=over.added,
        motions=kept.motions | over.motions,
        cameras=kept.cameras | over.cameras,
        looks=kept.looks | over.looks,
        noises=kept.noises | over.noises,
        robot=kept.robot | over.robot,
        interest=over.interest if over.interest is not None else kept.interest,
    )


def fact_key(fact: Fact) -> tuple[str, str]:
    """Return what a fact is about: the place, door or knob of its first argument."""
    if fact.word in words.PLACEMENTS:
        return ("place", fact.args[0])
    return ("door" if fact.word in ("Open", "Close") else "knob", fact.args[0])


def _merge_init(base: list[Fact], over: list[Fact]) -> list[Fact]:
    """Put facts about the same thing where the old ones stood, new ones at the end."""
    new = {fact_key(fact): fact for fact in over}
    merged = [new.pop(fact_key(fact), fact) for fact in base]
    return [*merged, *new.values()]


def _without(block: Block, removed: dict[str, Place]) -> Block:
    """Return `block` without the removed entities and regions and everything that names them.

    Save the goal: it is never thinned out silently, `lint` reports a removed name in it.
    """
    if not removed:
        return block
    declared = {*block.entities, *block.regions}
    for name, place in removed.items():
        if name not in declared:
            raise UbddlError(place, f"cannot remove {name!r}: not declared{near_match(name, declared)}")

    def gone(name: str) -> bool:
        return name in removed or name.partition(".")[0] in removed

    return replace(
        block,
        entities={name: entity for name, entity in block.entities.items() if not gone(name)},
        regions={name: region for name, region in block.regions.items() if not gone(name)},
        init=[fact for fact in block.init if not any(map(gone, fact.args))],
        constraints=[c for c in block.constraints or [] if not any(map(gone, names_of(c)))],
        added=[c for c in block.added if not any(map(gone, names_of(c)))],
        motions={name: motion for name, motion in block.motions.items() if not gone(name)},
        interest=tuple(name for name in block.interest or () if not gone(name)),
    )
