"""What the arm must not touch: a scene prepared for asking "is this configuration free?" many thousand times.

MuJoCo's own collision check decides, on a copy of the scene's model in which only the robot and what it holds are
tested, against everything else and against themselves. So what is free here touches nothing in the simulation.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np

from libero_safety.numba_cache import njit
from libero_safety.plan.advance import Wrapping, advance, doubtful
from libero_safety.plan.bounds import (
    MARGIN_M,
    NEVER,
    Allow,
    Bound,
    Held,
    Load,
    WorldError,
    allowed_bounds,
    geom_names,
    keep_pairs,
    limit_table,
    rule_bounds,
)
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.wrap import Elsewhere, wrap
from libero_safety.sim import contact
from libero_safety.sim.robot import RobotIds
from libero_safety.sim.scene import Hazard, IntArray, Scene
from libero_safety.types import FloatArray


class Hit(NamedTuple):
    """Where a path is not free: the row it follows, the configuration (7,), and what is too near to what."""

    row: int
    joints: FloatArray
    names: tuple[str, str]


@njit
def _worst(geom: IntArray, dist: FloatArray, row_of: IntArray, limits: FloatArray) -> int:
    """Return the index of the contact that is furthest below its limit, or -1."""
    worst, index = 0.0, -1
    for i in range(geom.shape[0]):
        a, b = geom[i, 0], geom[i, 1]
        limit = limits[row_of[a], b] if row_of[a] >= 0 else limits[row_of[b], a]
        if dist[i] - limit < worst:
            worst, index = dist[i] - limit, i
    return index


class World:
    """Robot, gripper and load against everything else of a scene, and against themselves.

    Not thread-safe: all questions, also those to `at`, share one `MjData`.

    Attributes:
        model: the copy of the model that is tested.
        robot: where the robot is in it.
        home: (7,) arm joints in the state that the world was made from.
        rest: (7,) arm joints towards which the controller pulls the elbow.
        limits: (7, 2) lowest and highest joint positions (rad).
        margin_m: clearance to whatever has no other limit.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        robot: RobotIds,
        qpos: FloatArray,
        *,
        margin_m: float = MARGIN_M,
        bounds: Sequence[Bound] = (),
        load: Load | None = None,
        hazards: Sequence[Hazard] = (),
        names: Mapping[int, str] | None = None,
        rest: FloatArray | None = None,
        arm: Arm | None = None,
    ) -> None:
        """Prepare a model.

        Args:
            model: any compiled model with the robot in it; it is copied.
            robot: where the robot is.
            qpos: (nq,) where everything stands; fingers too.
            margin_m: clearance to everything.
            bounds: pairs with another limit; a later one overrides.
            load: what moves with the grip site.
            hazards: what stands elsewhere at other times.
            names: geom id -> what to call it; the rest go by their geom names.
            rest: (7,) joints towards which the controller pulls the elbow; as in `qpos` by default.
            arm: kinematics of the robot with this `rest`, if they are at hand.
        """
        self.model, self.robot, self.margin_m = copy.copy(model), robot, margin_m
        self._data = mujoco.MjData(self.model)
        self._data.qpos[:] = qpos
        self._arm, self._fingers = np.array(robot.arm_qpos), np.array(robot.finger_qpos)
        self.home = np.array(self._data.qpos[self._arm])
        self.rest = self.home if rest is None else np.array(rest)
        self._known_arm = arm
        self._opening = np.array(self._data.qpos[self._fingers])
        self.limits = np.array(self.model.jnt_range[list(robot.arm_joints)])
        self._turn = np.empty(4)
        self._load, self._hazards, self._names = load, tuple(hazards), names or {}
        here = [self._data.qpos[hazard.qpos : hazard.qpos + 7] for hazard in self._hazards]
        self._places: tuple[FloatArray, ...] = (np.array(here),)
        loads = load.geoms if load is not None else np.empty(0, np.int32)
        self._moving = np.array([*robot.all_geoms, *loads], np.int32)
        self._row = np.full(model.ngeom, -1, np.int32)
        self._row[self._moving] = np.arange(len(self._moving), dtype=np.int32)
        self._limits = limit_table(self.model, robot, self._row, loads, margin_m, bounds)
        keep_pairs(self.model, robot, self._moving, self._limits)
        self._settle(self.home)

    @classmethod
    def of_scene(
        cls,
        scene: Scene,
        data: mujoco.MjData,
        *,
        margin_m: float = MARGIN_M,
        held: Held | None = None,
        allow: Sequence[Allow] = (),
        hazards_at: float | Sequence[float] | None = None,
        fingers_m: float | None = None,
        arm: Arm | None = None,
    ) -> "World":
        """Return the world of a scene in its state `data`; doors and drawers stand as they do there.

        A rule `MinClearance d` raises the margin between the two it names to d + margin.

        Args:
            scene: the compiled scene.
            data: where everything is now.
            margin_m: clearance to everything.
            held: what is in the gripper.
            allow: what may come nearer, or touch; a thing to be grasped, or what a held thing stands on.
            hazards_at: seconds at which moving hazards are looked at: a configuration is free if it is at all
                of these times. As they are in `data` by default.
            fingers_m: how far each finger is from the middle; as in `data` by default.
            arm: kinematics of the scene's robot, if they are at hand.

        Raises:
            WorldError: `held` cannot be carried, or `allow` says held though nothing is.
            SceneError: a name that is not in the scene.
        """
        load = None
        if held is not None:
            entity = scene.entity(held.entity)
            if entity.qpos is None:
                raise WorldError(f"{scene.scenario.name}: {held.entity} is fixed and cannot be held")
            load = Load(entity.qpos, entity.geoms, np.array(held.pos), np.array(held.quat))
        qpos = np.array(data.qpos)
        if fingers_m is not None:
            qpos[list(scene.robot.finger_qpos)] = fingers_m, -fingers_m
        world = cls(
            scene.model,
            scene.robot,
            qpos,
            margin_m=margin_m,
            bounds=[*rule_bounds(scene, load, margin_m), *allowed_bounds(scene, load, allow)],
            load=load,
            hazards=[h for h in scene.hazards if held is None or h.entity != held.entity],
            names=geom_names(scene),
            rest=scene.start[list(scene.robot.arm_qpos)],
            arm=arm,
        )
        return world if hazards_at is None else world.at(hazards_at)

    @cached_property
    def arm(self) -> Arm:
        """The arm's kinematics."""
        return self._known_arm or Arm(self.model, self.robot, self.rest)

    def at(self, time_s: float | Sequence[float]) -> "World":
        """Return this world with the moving hazards where they are at that time, or at each of several times."""
        if not self._hazards:
            return self
        times = [time_s] if isinstance(time_s, int | float) else list(time_s)
        other = self._twin()
        other.__dict__.pop("_wrapping", None)
        other._places = tuple(np.array([h.pose_at(t) for h in self._hazards]) for t in times)
        return other

    def detached(self) -> "World":
        """Return the same world with an `MjData` of its own, for another thread."""
        other = self._twin()
        other.__dict__.pop("arm", None)
        other._known_arm = None
        other._data, other._turn = mujoco.MjData(self.model), np.empty(4)
        other._data.qpos[:] = self._data.qpos
        return other

    def _twin(self) -> "World":
        """Return a shallow copy; `copy.copy` takes longer than to ask for a configuration."""
        other = World.__new__(World)
        other.__dict__.update(self.__dict__)
        return other

    def free(self, joints: FloatArray, fingers_m: float | None = None) -> bool:
        """Whether nothing is nearer than its limit.

        Args:
            joints: (7,) arm joints (rad).
            fingers_m: how far each finger is from the middle (0 closed, 0.04 open); as at first by default.
        """
        return self._touching(joints, fingers_m) < 0

    def first_contact(self, joints: FloatArray, fingers_m: float | None = None) -> tuple[str, str] | None:
        """Return the names of the two that are deepest below their limit, those of the robot first."""
        index = self._touching(joints, fingers_m)
        if index < 0:
            return None
        pair = sorted(self._data.contact.geom[index].tolist(), key=lambda g: (self._row[g] < 0, self._row[g]))
        return self._name(pair[0]), self._name(pair[1])

    def clearance(self, joints: FloatArray, cap_m: float = 0.5, fingers_m: float | None = None) -> float:
        """Distance (m) to the nearest thing that may not be touched, at any of the times; in [0, cap_m].

        Pairs that are allowed to touch, and the robot's own links, do not count.
        """
        best = cap_m
        for place in self._places:
            self._put_hazards(place)
            self._settle(joints, fingers_m)
            for moving, others in self._watched():
                best = min(best, contact.distance(self.model, self._data, moving, others, best))
        return best

    def inside_limits(self, joints: FloatArray, slack_rad: float = 0.0) -> bool:
        """Whether no joint is beyond its limits by more than some slack."""
        low, high = self.limits.T
        return bool(np.all(joints >= low - slack_rad) and np.all(joints <= high + slack_rad))

    def edge_free(self, first: FloatArray, last: FloatArray, step_m: float | None = None) -> bool:
        """Whether a straight line in joint space is free, its first end not looked at; see `first_hit`."""
        return self.free(last) and self.first_hit(np.stack([first, last]), step_m) is None

    def first_hit(self, joints: FloatArray, step_m: float | None = None) -> Hit | None:
        """Return where the polyline through the rows (n, 7) is not free, or None; its start is not looked at.

        Args:
            joints: (n, 7).
            step_m: no point of arm or load moves further from one look to the next, except where there is
                more room than that. At the default, twice the margin (5 mm if that is less), nothing that is
                nearer than the margin allows a contact in between.
        """
        rows = np.ascontiguousarray(joints, np.float64)
        step = step_m or max(2.0 * self.margin_m, 0.005)
        row, part, last = 0, 0.0, len(rows) - 1
        while True:
            row, part, least = advance(self._wrapping, rows, row, part, step)
            if row >= last:
                return None
            if row or part:
                hit = self._hit(row, rows[row] + part * (rows[row + 1] - rows[row]))
                if hit is not None:
                    return hit
            part += least
            if part >= 1.0:
                row, part = row + 1, 0.0
                hit = self._hit(row, rows[row])
                if hit is not None or row == last:
                    return hit

    def _hit(self, row: int, joints: FloatArray) -> Hit | None:
        names = self.first_contact(joints)
        return None if names is None else Hit(row, joints, names)

    @cached_property
    def _wrapping(self) -> Wrapping:
        """What `advance` measures with; fingers as at first, hazards at all the times."""
        self._put_hazards(self._places[0])
        self._settle(self.home)
        return wrap(self.model, self._data, self.robot, self._moving, self._limits, self._elsewhere())

    def _elsewhere(self) -> list[Elsewhere]:
        """Where the hazards are at all times but the first."""
        return [
            Elsewhere.of(time, self._geoms_of(hazard), here, there)
            for time, place in enumerate(self._places[1:], start=1)
            for hazard, there, here in zip(self._hazards, place, self._places[0], strict=True)
        ]

    def _geoms_of(self, hazard: Hazard) -> IntArray:
        body = int(self.model.jnt_bodyid[np.flatnonzero(self.model.jnt_qposadr == hazard.qpos)[0]])
        return np.flatnonzero(self.model.body_rootid[self.model.geom_bodyid] == body).astype(np.int32)

    def grip_pose(self, joints: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of the grip site, world."""
        self._settle(joints)
        site = self.robot.grip_site
        return np.array(self._data.site_xpos[site]), np.array(self._data.site_xmat[site]).reshape(3, 3)

    @property
    def base_pose(self) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of the robot's base link, world."""
        return self.body_pose(self.robot.link_bodies["link0"])

    def body_pose(self, body: int) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of a body at the configuration that was looked at last."""
        return np.array(self._data.xpos[body]), np.array(self._data.xmat[body]).reshape(3, 3)

    def geom_pose(self, geom: int) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of a geom at the configuration that was looked at last."""
        return np.array(self._data.geom_xpos[geom]), np.array(self._data.geom_xmat[geom]).reshape(3, 3)

    def obstacles(self) -> list[tuple[int, FloatArray, FloatArray, float]]:
        """Return what nothing may touch: geom, position (3,) and rotation (3, 3) at one of the times, margin (m)."""
        self._put_hazards(self._places[0])
        self._settle(self.home)
        least, most = (
            self._limits.min(axis=0, where=self._limits > NEVER, initial=np.inf),
            self._limits.max(axis=0),
        )
        wanted = np.flatnonzero((self._row < 0) & (most > NEVER) & (least >= 0.0))
        found = [(int(geom), *self.geom_pose(int(geom)), float(most[geom])) for geom in wanted]
        for other in self._elsewhere():
            geoms = [int(geom) for geom in other.geoms if geom in wanted]
            found += [(geom, *other.pose(*self.geom_pose(geom)), float(most[geom])) for geom in geoms]
        return found

    def moving_geoms(self) -> list[tuple[int, int, int]]:
        """Return geom, link number and body of that link for arm, gripper and load; all are posed as at `home`."""
        self._settle(self.home)
        links = {g: min(i, 7) for i, geoms in enumerate(self.robot.link_geoms.values()) for g in geoms}
        bodies = [self.robot.link_bodies[f"link{i}"] for i in range(8)]
        return [(g, links.get(g, 7), bodies[links.get(g, 7)]) for g in self._moving.tolist()]

    def _touching(self, joints: FloatArray, fingers_m: float | None) -> int:
        """Return the index of the worst contact in `_data`, or -1 when all times are free."""
        places = self._places
        if len(places) > 1 and fingers_m is None:
            wanted = np.empty(len(places), np.bool_)
            if not doubtful(self._wrapping, np.asarray(joints, np.float64), wanted):
                return -1
            places = [places[i] for i in np.flatnonzero(wanted)]
        data = self._data
        for number, place in enumerate(places):
            self._put_hazards(place)
            if number:
                mujoco.mj_kinematics(self.model, data)
            else:
                self._settle(joints, fingers_m)
            mujoco.mj_collision(self.model, data)
            if data.ncon:
                found = data.contact
                index = _worst(found.geom, found.dist, self._row, self._limits)
                if index >= 0:
                    return index
        return -1

    def _settle(self, joints: FloatArray, fingers_m: float | None = None) -> None:
        """Put arm, fingers and load where they are asked, and bring the poses of everything up to date."""
        data = self._data
        qpos = data.qpos
        qpos[self._arm] = joints
        qpos[self._fingers] = self._opening if fingers_m is None else (fingers_m, -fingers_m)
        if self._load is not None:
            at = self._load.qpos
            pos, rotation = self.arm.fk(np.asarray(joints, np.float64))
            qpos[at : at + 3] = pos + rotation @ self._load.pos
            mujoco.mju_mat2Quat(self._turn, rotation.ravel())
            mujoco.mju_mulQuat(qpos[at + 3 : at + 7], self._turn, self._load.quat)
        mujoco.mj_kinematics(self.model, data)

    def _put_hazards(self, place: FloatArray) -> None:
        """Put hazards where they are at a time; the poses of their geoms come with the next `mj_kinematics`."""
        for hazard, pose in zip(self._hazards, place, strict=True):
            self._data.qpos[hazard.qpos : hazard.qpos + 7] = pose

    def _watched(self) -> list[tuple[IntArray, IntArray]]:
        """Return which moving geoms `clearance` measures against which others."""
        wanted = (self._limits >= 0.0) & (self._row < 0)
        kinds, which = np.unique(wanted, axis=0, return_inverse=True)
        sets = [
            (self._moving[which == k], np.flatnonzero(kinds[k]).astype(np.int32)) for k in range(len(kinds))
        ]
        return [(moving, others) for moving, others in sets if len(others)]

    def _name(self, geom: int) -> str:
        return self._names.get(geom) or self.model.geom(geom).name or f"geom {geom}"
