"""Where things stand: each entity's pose from the facts of `:init`, without overlap."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.rng import rng_for
from libero_safety.types import Footprint, Key, Pose, Zone
from libero_safety.ubddl import words
from libero_safety.ubddl.spec import Entity, Fact, Motion, Rect, Region, Scenario, Split

TRIES = 200
"""Positions tried for one entity in one layout."""
LAYOUTS = 10
"""Whole layouts tried; each goes on with the streams of the one before."""
GAP_M = 0.001
"""Least horizontal distance between the footprints of two things at the same height."""


class Geometry(Protocol):
    """Sizes of the things in a catalog."""

    def footprint(self, type_name: str) -> Footprint:
        """Return the room that a type takes; raises a `LiberoSafetyError` for an unknown type."""
        ...

    def zone(self, type_name: str, zone: str) -> Zone | None:
        """Return a named zone of a type, in the type's root frame at rest; None if it has no such zone."""
        ...

    def variants(self, type_name: str, split: Split) -> tuple[str, ...]:
        """Return the types of a split that can stand for a type, empty if there are none.

        A numbered variant that is in the split stands for itself. Raises a `LiberoSafetyError` for an unknown type.
        """
        ...

    def workspace_type(self, arena: str) -> str:
        """Return the fixture type that stands for the arena's working surface."""
        ...

    def looks(self, arena: str) -> Mapping[str, Collection[str]]:
        """Return what of an arena has a look, and all words for each; raises a `LiberoSafetyError` if unknown."""
        ...


class PlacementError(LiberoSafetyError):
    """Things that do not fit where the scenario puts them."""


class NoRoomError(PlacementError):
    """Something is in the way wherever the thing might stand."""


@dataclass(frozen=True)
class Placed:
    """Something that stands already. `bottom_m` and `top_m` are heights above the working surface."""

    name: str
    x: float
    y: float
    z: float
    yaw: float
    footprint: Footprint
    support: str

    @property
    def bottom_m(self) -> float:
        """Height of its lowest point."""
        return self.z + self.footprint.bottom_m

    @property
    def top_m(self) -> float:
        """Height of its highest point."""
        return self.z + self.footprint.top_m

    @property
    def pose(self) -> Pose:
        """Pose of its root origin."""
        return Pose((self.x, self.y, self.z), (math.cos(self.yaw / 2), 0.0, 0.0, math.sin(self.yaw / 2)))


@dataclass(frozen=True)
class Spot:
    """Where an origin may be: rectangles in a frame at (x, y, yaw), at height `z`.

    Attributes:
        yaw_range: added to the frame's yaw.
        centred: try the middle first (the top of a thing that names no zone).
    """

    x: float
    y: float
    yaw: float
    z: float
    rects: tuple[Rect, ...]
    yaw_range: tuple[float, float]
    centred: bool = False


class _Layout:
    """One attempt to place everything; grows while it is made."""

    def __init__(self, scenario: Scenario, geometry: Geometry) -> None:
        self.geometry = geometry
        self.entities: dict[str, Entity] = {e.name: e for e in scenario.entities}
        self.regions: dict[str, Region] = {r.full_name: r for r in scenario.regions}
        self.motions: dict[str, Motion] = {m.entity: m for m in scenario.motions}
        self.facts: dict[str, Fact] = {
            fact.args[0]: fact for fact in scenario.init if fact.word in words.PLACEMENTS
        }
        self.workspace = workspace_names(scenario, geometry.workspace_type(scenario.arena))
        self.placed: dict[str, Placed] = {}

    def is_workspace(self, name: str) -> bool:
        """Whether `name` is the working surface itself."""
        return name in self.workspace

    def order(self) -> list[str]:
        """Return the entities to place, each after what it stands on: fixtures first, then as in the file."""
        ranked = sorted(self.entities.values(), key=lambda entity: entity.kind != "fixture")
        order: dict[str, None] = {}
        for entity in ranked:
            chain = [name for name in self._chain(entity.name) if name not in order]
            order.update(dict.fromkeys(reversed(chain)))
        return list(order)

    def _chain(self, name: str) -> Iterator[str]:
        """Yield an entity, what it stands on, what that stands on, ..., the working surface left out."""
        seen: set[str] = set()
        while not self.is_workspace(name):
            if name in seen:
                raise PlacementError(f"{name!r} stands on itself: {' on '.join([*seen, name])}")
            if name not in self.entities:
                raise PlacementError(f"{name!r} is not declared{near_match(name, self.entities)}")
            if name not in self.facts:
                raise PlacementError(f"{name!r} is never placed: (:init ...) has no (On {name} ...)")
            seen.add(name)
            yield name
            name = self.facts[name].args[1].partition(".")[0]

    def spot(self, fact: Fact, footprint: Footprint) -> Spot:
        """Return where the fact puts a thing of this footprint."""
        target, _, part = fact.args[1].partition(".")
        region = self.regions.get(fact.args[1])
        yaw_range = (region.yaw if region else None) or (0.0, 0.0)
        if self.is_workspace(target):
            if region is None or not region.rects:
                raise PlacementError(
                    f"{fact.args[0]!r}: {fact.args[1]!r} is no region with (:ranges ...)"
                    f"{near_match(fact.args[1], self.regions)}"
                )
            return Spot(0.0, 0.0, 0.0, 0.0, region.rects, yaw_range)
        base = self.placed[target]
        if region is not None and region.rects:
            return Spot(base.x, base.y, base.yaw, self._top_m(base), region.rects, yaw_range)
        return self._zone_spot(fact, base, part, footprint, yaw_range)

    def _top_m(self, base: Placed) -> float:
        zone = self.geometry.zone(str(self.entities[base.name].type), "top")
        return base.top_m if zone is None else base.z + zone.pos[2] - zone.half[2]

    def _zone_spot(
        self, fact: Fact, base: Placed, part: str, footprint: Footprint, yaw_range: tuple[float, float]
    ) -> Spot:
        type_name = str(self.entities[base.name].type)
        zone = self.geometry.zone(type_name, part or ("top" if fact.word == "On" else "inside"))
        if zone is None and (part or fact.word == "In"):
            what = f"zone {part!r}" if part else "zone 'inside'"
            raise PlacementError(
                f"{fact.args[0]!r} cannot be put {fact.word.lower()} {fact.args[1]!r}: "
                f"type {type_name!r} has no {what}"
            )
        if zone is None:
            reach = max(0.0, base.footprint.radius_m - footprint.radius_m)
            rects = (Rect(-reach, -reach, reach, reach),)
            return Spot(base.x, base.y, base.yaw, base.top_m, rects, yaw_range, centred=True)
        x, y, z = zone.pos
        half_x, half_y = (max(0.0, half - footprint.radius_m) for half in zone.half[:2])
        rect = Rect(x - half_x, y - half_y, x + half_x, y + half_y)
        return Spot(base.x, base.y, base.yaw, base.z + z - zone.half[2], (rect,), yaw_range)

    def place(self, name: str, rng: np.random.Generator) -> None:
        """Place one entity where its fact puts it and nothing is in the way."""
        entity, fact = self.entities[name], self.facts[name]
        footprint = self.geometry.footprint(str(entity.type))
        spot = self.spot(fact, footprint)
        motion = self.motions.get(name)
        height = spot.z if motion is None or motion.height is None else cast(float, motion.height)
        support = fact.args[1]
        blockers: Counter[str] = Counter()
        for attempt in range(TRIES):
            x, y, yaw = _candidate(spot, rng, attempt)
            thing = Placed(name, x, y, height - footprint.bottom_m, yaw, footprint, support)
            found = self._in_the_way(thing)
            if found is None:
                self.placed[name] = thing
                return
            blockers[found] += 1
        culprits = ", ".join(blocker for blocker, _ in blockers.most_common(5))
        raise NoRoomError(
            f"no room for {name!r} ({footprint.radius_m:.3f} m radius) in {support!r} after "
            f"{TRIES * LAYOUTS} tries; in the way: {culprits}"
        )

    def _in_the_way(self, thing: Placed) -> str | None:
        below = self._supports(thing.support)
        for other in self.placed.values():
            if other.name in below or not _same_height(thing, other):
                continue
            if _overlap(thing, other):
                return other.name
        return None

    def _supports(self, target: str) -> set[str]:
        """Return everything that a thing on `target` stands on or in."""
        names: set[str] = set()
        name = target.partition(".")[0]
        while name in self.placed:
            names.add(name)
            name = self.placed[name].support.partition(".")[0]
        return names


def workspace_names(scenario: Scenario, workspace_type: str) -> set[str]:
    """Return the names of the working surface: `workspace`, and fixtures that stand for it and are placed nowhere."""
    placed = {fact.args[0] for fact in scenario.init if fact.word in words.PLACEMENTS}
    types = {workspace_type, *words.WORKSPACES.values()}
    surfaces = (e for e in scenario.entities if e.kind == "fixture" and e.type in types)
    return {"workspace", *(e.name for e in surfaces if e.name not in placed)}


def place_all(scenario: Scenario, key: Key, geometry: Geometry) -> dict[str, Pose]:
    """Return the pose of every entity but the working surface; `scenario` must have no distribution left.

    Raises:
        PlacementError: see `sample`.
    """
    streams: dict[str, np.random.Generator] = {}
    failure: PlacementError | None = None
    for _ in range(LAYOUTS):
        layout = _Layout(scenario, geometry)
        order = layout.order()
        try:
            for name in order:
                if name not in streams:
                    streams[name] = rng_for(key, f"place/{name}")
                layout.place(name, streams[name])
        except NoRoomError as error:
            failure = error
            continue
        return {e.name: layout.placed[e.name].pose for e in scenario.entities if e.name in layout.placed}
    assert failure is not None
    raise failure


def _candidate(spot: Spot, rng: np.random.Generator, attempt: int) -> tuple[float, float, float]:
    rect = spot.rects[int(rng.integers(len(spot.rects)))]
    u, v = rng.uniform(rect.x_min, rect.x_max), rng.uniform(rect.y_min, rect.y_max)
    yaw = spot.yaw + float(rng.uniform(*spot.yaw_range))
    if spot.centred and attempt == 0:
        u, v = 0.0, 0.0
    cos, sin = math.cos(spot.yaw), math.sin(spot.yaw)
    return float(spot.x + cos * u - sin * v), float(spot.y + sin * u + cos * v), yaw


def _same_height(a: Placed, b: Placed) -> bool:
    return a.bottom_m < b.top_m - 1e-6 and b.bottom_m < a.top_m - 1e-6


def _overlap(a: Placed, b: Placed) -> bool:
    """Whether both the circles and the rectangles around two things come closer than the gap."""
    if math.hypot(b.x - a.x, b.y - a.y) >= a.footprint.radius_m + b.footprint.radius_m + GAP_M:
        return False
    for yaw in (a.yaw, a.yaw + math.pi / 2, b.yaw, b.yaw + math.pi / 2):
        (a_low, a_high), (b_low, b_high) = _shadow(a, yaw), _shadow(b, yaw)
        if a_low >= b_high + GAP_M or b_low >= a_high + GAP_M:
            return False
    return True


def _shadow(thing: Placed, direction: float) -> tuple[float, float]:
    """Return from where to where a thing's rectangle reaches along a horizontal direction (rad) through the origin."""
    radius = thing.footprint.radius_m
    x_min, y_min, x_max, y_max = thing.footprint.box_m or (-radius, -radius, radius, radius)
    origin = thing.x * math.cos(direction) + thing.y * math.sin(direction)
    cos, sin = math.cos(direction - thing.yaw), math.sin(direction - thing.yaw)
    reach = [x * cos + y * sin for x in (x_min, x_max) for y in (y_min, y_max)]
    return origin + min(reach), origin + max(reach)
