"""What stands on the working surface, and moving all of it together."""

import math
from dataclasses import replace

from libero_safety.ubddl import words
from libero_safety.ubddl.formula import names_in
from libero_safety.ubddl.number import mapped
from libero_safety.ubddl.place import Geometry, workspace_names
from libero_safety.ubddl.spec import Choice, Circle, Motion, Rect, Region, Scenario


class Surface:
    """The regions of a scenario's working surface, and how far all of them can be shifted."""

    def __init__(self, scenario: Scenario, geometry: Geometry, half_m: tuple[float, float]) -> None:
        """Look at a scenario.

        Args:
            scenario: whose regions.
            geometry: sizes of the types in it.
            half_m: half sizes (x, y) of the surface.
        """
        self._scenario, self._half_m = scenario, half_m
        names = workspace_names(scenario, geometry.workspace_type(scenario.arena))
        self._regions = {r.full_name: r for r in scenario.regions if r.target in names and r.rects}
        named = set(names_in(scenario.goal) if scenario.goal is not None else ())
        named |= {name for rule in scenario.constraints if rule.formula for name in names_in(rule.formula)}
        moving = {motion.entity for motion in scenario.motions}
        self._radius_m = dict.fromkeys(self._regions, 0.0)
        self._grows = self._regions.keys() - named
        entities = {entity.name: entity for entity in scenario.entities}
        for fact in scenario.init:
            placed = fact.word in words.PLACEMENTS and fact.args[1] in self._regions
            if not placed or fact.args[0] not in entities:
                continue
            entity, region = entities[fact.args[0]], fact.args[1]
            types = entity.type.options if isinstance(entity.type, Choice) else (entity.type,)
            radii = [geometry.footprint(str(name)).radius_m for name in types]
            self._radius_m[region] = max(self._radius_m[region], *radii)
            if entity.kind == "fixture" or entity.name in moving:
                self._grows.discard(region)

    def slack_m(self, axis: int) -> tuple[float, float]:
        """Return the furthest shifts down and up along x (0) or y (1) that leave on it all that is on it."""
        half, low, high = self._half_m[axis], -math.inf, math.inf
        for name, region in self._regions.items():
            radius = self._radius_m[name]
            for rect in region.rects:
                start, end = ((rect.x_min, rect.x_max), (rect.y_min, rect.y_max))[axis]
                low = max(low, min(0.0, radius - half - start))
                high = min(high, max(0.0, half - radius - end))
        return (low, high) if self._regions else (0.0, 0.0)

    def moved(self, dx: float, dy: float, growth: float) -> Scenario:
        """Return the scenario with all regions of the surface shifted, and some grown by `growth` to every side.

        What moves by itself goes along. Regions of fixtures, of things that move, and those that the goal or a
        condition names keep their size; none grows over the edge.
        """
        return replace(
            self._scenario,
            regions=tuple(self._moved(region, dx, dy, growth) for region in self._scenario.regions),
            motions=tuple(_moved(motion, dx, dy) for motion in self._scenario.motions),
        )

    def _moved(self, region: Region, dx: float, dy: float, growth: float) -> Region:
        if region.full_name not in self._regions:
            return region
        by = growth if region.full_name in self._grows else 0.0
        half_x, half_y = self._half_m
        rects: list[Rect] = []
        for rect in region.rects:
            x_min, x_max = _grown(rect.x_min + dx, rect.x_max + dx, by, half_x)
            y_min, y_max = _grown(rect.y_min + dy, rect.y_max + dy, by, half_y)
            rects.append(Rect(x_min, y_min, x_max, y_max))
        return replace(region, rects=tuple(rects))


def _grown(low: float, high: float, by: float, half: float) -> tuple[float, float]:
    return min(low, max(low - by, -half)), max(high, min(high + by, half))


def _moved(motion: Motion, dx: float, dy: float) -> Motion:
    """Return a motion whose centre went along, if it has one; everything else is relative to the start."""
    if not isinstance(motion.path, Circle):
        return motion
    x, y = motion.path.center
    center = (mapped(x, lambda value: value + dx), mapped(y, lambda value: value + dy))
    return replace(motion, path=replace(motion.path, center=center))
