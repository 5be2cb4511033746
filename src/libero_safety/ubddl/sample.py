"""One random outcome of a scenario: every number drawn, every thing placed."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.rng import rng_for
from libero_safety.types import Key, Pose
from libero_safety.ubddl.place import Geometry, PlacementError, place_all
from libero_safety.ubddl.spec import Choice, Entity, Scenario, Uniform

__all__ = [
    "Draw",
    "Geometry",
    "NoVariantError",
    "PlacementError",
    "draw_value",
    "resolve_values",
    "sample",
    "variants_of",
]

ROBOT_JOINTS = 7

T = TypeVar("T")
Distribution = Uniform | Choice


class NoVariantError(LiberoSafetyError):
    """A type must come from a split in which it has no variant."""


@dataclass(frozen=True)
class Draw:
    """Every random outcome of one episode's scene, stored: a log replays even if the sampler changes.

    Attributes:
        scenario: every number and word drawn, so there is no distribution and no split left in it.
        poses: entity -> pose of its root origin, workspace frame (z = 0 is the working surface).
        robot_offset: displacement of the seven joints from the home pose (rad); its norm is the start noise.
        values: where a distribution stood -> what was drawn for it.
    """

    key: Key
    scenario: Scenario
    poses: Mapping[str, Pose]
    robot_offset: tuple[float, ...]
    values: Mapping[str, float | str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; floats survive exactly."""
        key = self.key
        return {
            "key": [key.suite, key.task, key.level, key.seed, key.index],
            "problem": self.scenario.name,
            "values": dict(self.values),
            "poses": {name: [*pose.pos, *pose.quat] for name, pose in self.poses.items()},
            "robot_offset": list(self.robot_offset),
        }

    @classmethod
    def from_dict(cls, scenario: Scenario, data: Mapping[str, Any]) -> "Draw":
        """Return the draw that `to_dict` wrote, for the scenario that it was drawn from.

        Raises:
            LiberoSafetyError: the data belong to another scenario, or to an earlier text of this one.
        """
        if data["problem"] != scenario.name:
            raise LiberoSafetyError(f"this draw is of {data['problem']!r}, not of {scenario.name!r}")
        values = cast(Mapping[str, float | str], data["values"])
        used: dict[str, float | str] = {}

        def stored(path: str, _: Distribution) -> float | str:
            if path not in values:
                raise LiberoSafetyError(
                    f"{scenario.name}: the draw has no value for {path}; the file has changed"
                )
            used[path] = values[path]
            return values[path]

        resolved = resolve_values(_with_types(scenario, _types), stored)
        poses = {
            name: Pose((x, y, z), (qw, qx, qy, qz))
            for name, (x, y, z, qw, qx, qy, qz) in data["poses"].items()
        }
        return cls(Key(*data["key"]), resolved, poses, tuple(data["robot_offset"]), used)


def sample(scenario: Scenario, key: Key, geometry: Geometry) -> Draw:
    """Draw one scene. The same (scenario, key, geometry) always gives the same draw.

    Each value has a stream of its own (`value/<path>`), each entity's place too (`place/<entity>`). The type of an
    entity with a split is drawn among the variants of that split (`value/entities/<name>/type`).

    Raises:
        NoVariantError: a type has no variant in the split that it must come from.
        PlacementError: something does not fit, is placed on nothing, or is never placed.
    """
    values: dict[str, float | str] = {}

    def draw(path: str, dist: Distribution) -> float | str:
        stream = "language" if path == "instruction" else f"value/{path}"
        values[path] = draw_value(dist, rng_for(key, stream))
        return values[path]

    resolved = resolve_values(_with_types(scenario, lambda entity: variants_of(entity, geometry)), draw)
    poses = place_all(resolved, key, geometry)
    return Draw(key, resolved, poses, _robot_offset(resolved, key), values)


def variants_of(entity: Entity, geometry: Geometry) -> tuple[str, ...]:
    """Return every type that an entity may turn out to have: its own, or their variants if it has a split.

    Raises:
        NoVariantError: a type has no variant in the split.
    """
    if entity.split is None:
        return _types(entity)
    found: dict[str, None] = {}
    for name in _types(entity):
        variants = geometry.variants(name, entity.split)
        if not variants:
            raise NoVariantError(
                f"{entity.place}: {entity.name!r} must come from the split {entity.split!r}, where there is no {name}"
            )
        found.update(dict.fromkeys(variants))
    return tuple(found)


def draw_value(dist: Distribution, rng: np.random.Generator) -> float | str:
    """Draw one value of a distribution."""
    if isinstance(dist, Uniform):
        return float(rng.uniform(dist.low, dist.high))
    return dist.options[int(rng.integers(len(dist.options)))]


def resolve_values(scenario: Scenario, choose: Callable[[str, Distribution], float | str]) -> Scenario:
    """Return `scenario` with each distribution replaced by `choose(path, distribution)`.

    Paths name things, not positions: `motions/hand_1/path/phase`, `entities/juice_1/type`, `instruction`.
    """
    return _resolve(scenario, "", choose)


def _resolve(value: T, path: str, choose: Callable[[str, Distribution], float | str]) -> T:
    if isinstance(value, Uniform | Choice):
        return cast(T, choose(path, value))
    if isinstance(value, tuple):
        items = cast(tuple[object, ...], value)
        return cast(T, tuple(_resolve(v, _join(path, _key_of(v, i)), choose) for i, v in enumerate(items)))
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            f.name: new
            for f in fields(value)
            if f.compare
            and (new := _resolve(old := getattr(value, f.name), _join(path, f.name), choose)) is not old
        }
        return replace(value, **changed) if changed else value
    return value


def _types(entity: Entity) -> tuple[str, ...]:
    options = entity.type.options if isinstance(entity.type, Choice) else (entity.type,)
    return tuple(str(option) for option in options)


def _with_types(scenario: Scenario, types: Callable[[Entity], tuple[str, ...]]) -> Scenario:
    """Return a scenario without splits, in which what had one draws its type among `types`."""
    entities = tuple(
        e if e.split is None else replace(e, type=Choice(types(e)), split=None) for e in scenario.entities
    )
    return scenario if entities == scenario.entities else replace(scenario, entities=entities)


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _key_of(value: object, index: int) -> str:
    for attribute in ("full_name", "name", "entity", "part", "kind"):
        name = getattr(value, attribute, None)
        if isinstance(name, str):
            return name
    return str(index)


def _robot_offset(scenario: Scenario, key: Key) -> tuple[float, ...]:
    """Return a joint displacement in a random direction, as long as the start noise."""
    length = cast(float, scenario.robot.start_noise)
    if length == 0.0:
        return (0.0,) * ROBOT_JOINTS
    direction = rng_for(key, "robot").normal(size=ROBOT_JOINTS)
    return tuple(float(x) for x in direction * (length / math.hypot(*direction)))
