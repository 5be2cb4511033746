"""A compiled scene: every name of a scenario resolved to ids, once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import NDArray

from libero_safety.assets.arenas import Arena
from libero_safety.assets.asset import Asset, Joint
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.sim.law import LayeredLaw, MotionLaw, Moving
from libero_safety.sim.robot import RobotIds
from libero_safety.sim.shift import Retreat
from libero_safety.types import FloatArray, Zone
from libero_safety.ubddl import spec, words
from libero_safety.ubddl.sample import Draw

IntArray = NDArray[np.int32]


class SceneError(LiberoSafetyError):
    """A scenario that cannot be built: a name that means nothing here, or a thing that cannot be where it is asked."""


@dataclass(frozen=True)
class JointIds:
    """A joint of a fixture: what it is and where its value lives in qpos and qvel."""

    spec: Joint
    qpos: int
    dof: int
    link: str

    def value(self, data: mujoco.MjData) -> float:
        """Joint value (rad or m)."""
        return float(data.qpos[self.qpos])

    def is_open(self, data: mujoco.MjData) -> bool:
        """At or past the `opened` mark, in whichever direction the joint opens."""
        sign = 1.0 if self.spec.opened >= self.spec.closed else -1.0
        return sign * self.value(data) >= sign * self.spec.opened

    def is_closed(self, data: mujoco.MjData) -> bool:
        """At or before the `closed` mark."""
        sign = 1.0 if self.spec.opened >= self.spec.closed else -1.0
        return sign * self.value(data) <= sign * self.spec.closed


@dataclass(frozen=True)
class EntityIds:
    """Where an entity lives in the model.

    Attributes:
        body: root body id.
        geoms: ids of its colliding geoms.
        parts: part name -> ids of that part's colliding geoms.
        qpos: address of its free joint in qpos, None when it does not move freely; `dof` likewise in qvel.
        joints: joints by name.
        bodies: link name -> body id.
    """

    name: str
    kind: str
    asset: Asset | None
    body: int
    geoms: IntArray
    parts: Mapping[str, IntArray]
    qpos: int | None
    dof: int | None
    joints: Mapping[str, JointIds]
    bodies: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Hazard:
    """An entity that moves by prescription: its law, and where to write it.

    Attributes:
        quat: orientation (w, x, y, z) in which it is placed, world.
        law: where it is when nothing makes it draw back.
        retreat: how it draws back from the robot, if it does.
    """

    entity: str
    qpos: int
    dof: int
    quat: tuple[float, float, float, float]
    law: MotionLaw
    retreat: Retreat | None = None

    def quat_at(self, moving: Moving) -> tuple[float, float, float, float]:
        """Return the orientation (w, x, y, z) that goes with a state of its law, world."""
        if moving.turn == 0.0:
            return self.quat
        c, s = math.cos(moving.turn / 2.0), math.sin(moving.turn / 2.0)
        w, x, y, z = self.quat
        return (c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w)

    def pose_at(self, time_s: float) -> FloatArray:
        """Return position (m) and orientation (w, x, y, z) at a time as one (7,), world, unless it draws back."""
        moving = self.law.at(time_s)
        return np.concatenate([moving.pos, self.quat_at(moving)])

    @property
    def peak_turn_rad_s(self) -> float:
        """The fastest turn about the vertical."""
        facing = self.law.facing if isinstance(self.law, LayeredLaw) else None
        return facing.peak_rate_rad_s if facing is not None else 0.0

    @cached_property
    def up(self) -> FloatArray:
        """World vertical (3,) in its own axes: the same however far it has turned about it."""
        w, x, y, z = self.quat
        return np.array((2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)))


@dataclass(frozen=True, eq=False)
class Scene:
    """A compiled scenario. Immutable; the state lives in an `MjData` beside it.

    Attributes:
        workspace_pos: (3,) origin of the workspace frame in the world (m); its z is the surface height.
        start: qpos (nq,) that the episode begins with, before settling.
    """

    model: mujoco.MjModel
    scenario: spec.Scenario
    draw: Draw
    arena: Arena
    robot: RobotIds
    entities: Mapping[str, EntityIds]
    hazards: tuple[Hazard, ...]
    workspace: str
    workspace_pos: FloatArray
    start: FloatArray

    def entity(self, name: str) -> EntityIds:
        """Return the ids of an entity, or of the `workspace`; SceneError with near names if there is none."""
        try:
            return self.entities[self.workspace if name == "workspace" else name]
        except KeyError:
            raise SceneError(
                f"{self.scenario.name}: no entity {name!r}{near_match(name, self.entities)}. "
                f"In this scene: {', '.join(self.entities)}"
            ) from None

    @cached_property
    def robot_geoms(self) -> IntArray:
        """All colliding geoms of arm and gripper."""
        return np.array(sorted(g for geoms in self.robot.link_geoms.values() for g in geoms), np.int32)

    @cached_property
    def link_of_geom(self) -> Mapping[int, str]:
        """Robot link name of each of the robot's geoms."""
        return {g: link for link, geoms in self.robot.link_geoms.items() for g in geoms}

    @cached_property
    def entity_of_geom(self) -> Mapping[int, str]:
        """Entity name of each colliding geom that is not the robot's."""
        return {int(g): e.name for e in self.entities.values() for g in e.geoms}

    @cached_property
    def part_of_geom(self) -> Mapping[int, str]:
        """Part name of each colliding geom of an entity that has more than one part."""
        things = [e for e in self.entities.values() if len(e.parts) > 1]
        return {int(g): part for e in things for part, geoms in e.parts.items() for g in geoms}

    def geoms(self, ref: str) -> IntArray:
        """Return the colliding geoms of `robot`, `robot.<link or group>`, `workspace`, `entity` or `entity.part`.

        Raises:
            SceneError: nothing of that name; the message lists what there is.
        """
        name, _, part = ref.partition(".")
        if name == "robot":
            return self._robot_geoms_of(part)
        entity = self.entity(name)
        if not part:
            return entity.geoms
        if part not in entity.parts:
            raise SceneError(
                f"{self.scenario.name}: {name} has no part {part!r}{near_match(part, entity.parts)}. "
                f"Parts: {', '.join(entity.parts)}"
            )
        return entity.parts[part]

    def _robot_geoms_of(self, part: str) -> IntArray:
        if not part:
            return self.robot_geoms
        links = words.ROBOT_GROUPS.get(part, (part,))
        missing = [link for link in links if link not in self.robot.link_geoms]
        if missing:
            known = [*self.robot.link_geoms, *words.ROBOT_GROUPS]
            raise SceneError(
                f"the robot has no {part!r}{near_match(part, known)}. Links and groups: {', '.join(known)}"
            )
        return np.array(sorted(g for link in links for g in self.robot.link_geoms[link]), np.int32)

    def zone(self, ref: str) -> tuple[EntityIds, Zone] | None:
        """Return the entity and zone that `entity.zone` names, or None when `ref` is no zone of an asset."""
        name, _, zone_name = ref.partition(".")
        entity = self.entity(name)
        zone = entity.asset.zone(zone_name) if entity.asset and zone_name else None
        return (entity, zone) if zone else None

    def region(self, ref: str) -> spec.Region | None:
        """Return the scenario's region `target.name` that has rectangles, or None."""
        return next((r for r in self.scenario.regions if r.full_name == ref and r.rects), None)


def joints_of(entity: EntityIds, part: str, role: str) -> list[JointIds]:
    """Joints of an entity with that role; `part` may be a joint, a link, or a zone that moves with one.

    Raises:
        SceneError: there is none.
    """
    links = {link for link in entity.bodies if link == part}
    zone = entity.asset.zone(part) if entity.asset and part else None
    if zone is not None:
        links.add(zone.link)
    found = [
        j
        for j in entity.joints.values()
        if j.spec.role == role and (not part or j.spec.name == part or j.link in links)
    ]
    if not found:
        known = [j.spec.name for j in entity.joints.values() if j.spec.role == role]
        raise SceneError(f"{entity.name} has no {role} {part!r}. It has: {', '.join(known) or 'none'}")
    return found
