"""What all checks look things up in."""

from collections.abc import Iterable, Iterator
from typing import get_args

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import Footprint
from libero_safety.ubddl import words
from libero_safety.ubddl.place import Geometry, workspace_names
from libero_safety.ubddl.spec import Choice, Entity, Fact, Finding, Place, Region, Scenario, Split


def error(place: Place, code: str, message: str) -> Finding:
    """Return a finding that keeps the scenario from doing what it says."""
    return Finding(place, code, message, "error")


def warning(place: Place, code: str, message: str) -> Finding:
    """Return a finding to look at twice."""
    return Finding(place, code, message, "warning")


def _declared_types(entity: Entity) -> list[str]:
    options = entity.type.options if isinstance(entity.type, Choice) else (entity.type,)
    return [str(option) for option in options]


class Context:
    """A scenario with its things by name."""

    def __init__(self, scenario: Scenario, geometry: Geometry | None) -> None:
        self.scenario = scenario
        self.geometry = geometry
        self.entities: dict[str, Entity] = {entity.name: entity for entity in scenario.entities}
        self.regions: dict[str, Region] = {region.full_name: region for region in scenario.regions}
        self.regions_with_rects = {name for name, region in self.regions.items() if region.rects}
        self.placements: dict[str, Fact] = {
            fact.args[0]: fact
            for fact in scenario.init
            if fact.word in words.PLACEMENTS and len(fact.args) == 2 and fact.args[0] in self.entities
        }
        self.movers = {motion.entity for motion in scenario.motions}
        self._workspace = workspace_names(scenario, self._workspace_type())

    def _workspace_type(self) -> str:
        try:
            if self.geometry is not None:
                return self.geometry.workspace_type(self.scenario.arena)
        except LiberoSafetyError:
            pass  # check_types reports the unknown arena
        return words.WORKSPACES.get(self.scenario.arena, "")

    def is_workspace(self, name: str) -> bool:
        """Whether `name` is the working surface."""
        return name in self._workspace

    def undeclared(self, place: Place, names: Iterable[str], allow: tuple[str, ...]) -> Iterator[Finding]:
        """Yield a finding for each name whose owner is not declared."""
        for name in names:
            owner = name.partition(".")[0]
            if owner not in self.entities and owner not in allow:
                yield error(
                    place, "undeclared", f"{owner!r} is not declared{near_match(owner, self.entities)}"
                )

    def types(self, entity: Entity) -> list[str]:
        """Return every type that an entity may have; a type without variants in the entity's split as it is."""
        found = ((name, self._variants(entity, name)) for name in _declared_types(entity))
        return list(dict.fromkeys(t for name, variants in found for t in variants or (name,)))

    def without_variants(self, entity: Entity) -> list[str]:
        """Return the types that an entity is declared to have, but that its split does not."""
        return [name for name in _declared_types(entity) if not self._variants(entity, name)]

    def _variants(self, entity: Entity, type_name: str) -> tuple[str, ...]:
        """Return the types that a declared type stands for; itself where that is not known."""
        if self.geometry is None or entity.split is None or entity.split not in get_args(Split):
            return (type_name,)
        try:
            return self.geometry.variants(type_name, entity.split)
        except LiberoSafetyError:
            return (type_name,)  # check_types reports the unknown type

    def footprint(self, name: str) -> Footprint | None:
        """Return the smallest footprint that an entity may have; None where that is not known."""
        if self.geometry is None or name not in self.entities:
            return None
        try:
            found = [self.geometry.footprint(type_name) for type_name in self.types(self.entities[name])]
        except LiberoSafetyError:
            return None  # check_types reports the unknown type
        return min(found, key=lambda footprint: footprint.radius_m)

    def has_zone(self, entity: Entity, zone: str) -> bool:
        """Whether every type that an entity may have has the zone; True for unknown types, reported elsewhere."""
        assert self.geometry is not None
        try:
            return all(self.geometry.zone(type_name, zone) is not None for type_name in self.types(entity))
        except LiberoSafetyError:
            return True

    def rect_halves(self, target: str) -> list[tuple[float, float]]:
        """Return half sizes of the rectangles that `target` stands for; none where that is not known."""
        region = self.regions.get(target)
        if region is not None and region.rects:
            return [((r.x_max - r.x_min) / 2, (r.y_max - r.y_min) / 2) for r in region.rects]
        owner, _, part = target.partition(".")
        if self.geometry is None or not part or owner not in self.entities:
            return []
        try:
            zones = [self.geometry.zone(type_name, part) for type_name in self.types(self.entities[owner])]
        except LiberoSafetyError:
            return []
        return [(zone.half[0], zone.half[1]) for zone in zones[:1] if zone is not None]
