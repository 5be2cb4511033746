"""Things that draw back from the robot: the only motion that depends on what happens."""

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from libero_safety.sim import contact, predicate
from libero_safety.sim.scene import Hazard, IntArray, Scene
from libero_safety.sim.shift import Retreat, Shifted
from libero_safety.types import FloatArray


class _Course(NamedTuple):
    """When (s), from where (m) and how fast (m/s) a thing last set out along its way back, and for where (m)."""

    since_s: float
    way_m: float
    rate_m_s: float
    goal_m: float


_AT_HOME = _Course(0.0, 0.0, 0.0, 0.0)


class Load:
    """What the gripper holds."""

    def __init__(self, scene: Scene) -> None:
        """Look up everything that can be held."""
        prescribed = {hazard.entity for hazard in scene.hazards}
        things = [e for e in scene.entities.values() if e.qpos is not None and e.name not in prescribed]
        self._things = [(thing.geoms, predicate.grasped(scene, thing.name)) for thing in things]
        self.all_geoms = np.concatenate([np.empty(0, np.int32), *(geoms for geoms, _ in self._things)])
        finger = scene.geoms("robot.left_finger")
        self._touched = contact.PairTable(scene.model.ngeom, [(finger, self.all_geoms)])

    def geoms(self, data: mujoco.MjData) -> IntArray:
        """Return the colliding geoms of what both fingers press now; none when they hold nothing."""
        none = self.all_geoms[:0]
        if self._touched.touching(data) is None:
            return none
        return np.concatenate([none, *(geoms for geoms, is_held in self._things if is_held(data))])


@dataclass(frozen=True, eq=False)
class _Shy:
    """A hazard that draws back, and bounding tests that cheaply tell that everything that may come near is far."""

    name: str
    retreat: Retreat
    geoms: IntArray
    near: contact.GapTable
    around: contact.GapTable

    @classmethod
    def of(cls, scene: Scene, hazard: Hazard, retreat: Retreat, load: Load) -> "_Shy":
        geoms = scene.entity(hazard.entity).geoms
        near, around = (
            contact.GapTable(scene.model, [(scene.robot_geoms, geoms, cap), (load.all_geoms, geoms, cap)])
            for cap in (retreat.closer_than_m, retreat.closer_than_m + retreat.travel_m)
        )
        return cls(hazard.entity, retreat, geoms, near, around)


class Reactions:
    """Everything that draws back in one episode, and how far each has."""

    def __init__(self, scene: Scene) -> None:
        """Nothing has drawn back yet."""
        self._model, self._robot = scene.model, scene.robot_geoms
        reacting = [(hazard, hazard.retreat) for hazard in scene.hazards if hazard.retreat is not None]
        self._load = Load(scene) if reacting else None
        self._shy = [_Shy.of(scene, *pair, self._load) for pair in reacting if self._load is not None]
        self._row = {shy.name: row for row, shy in enumerate(self._shy)}
        self._courses = [_AT_HOME] * len(self._shy)

    def look(self, data: mujoco.MjData) -> None:
        """Let things set out that the physics step just taken gives reason to.

        Contacts and geometry in `data` are those at the beginning of that step, its clock shows the end.
        """
        now_s = float(data.time) - self._model.opt.timestep
        for row, shy in enumerate(self._shy):
            retreat, course = shy.retreat, self._courses[row]
            if course.goal_m > 0.0:
                if retreat.stay:
                    continue
                way, _ = self._along(row, now_s)
                if way == retreat.travel_m and not self._closer(data, shy, by_travel=True):
                    self._courses[row] = _Course(now_s, way, 0.0, 0.0)
            elif self._closer(data, shy, by_travel=False):
                self._courses[row] = _Course(now_s, *self._along(row, now_s), retreat.travel_m)

    def _closer(self, data: mujoco.MjData, shy: _Shy, *, by_travel: bool) -> bool:
        """Whether robot or load is nearer than the limit, or than the limit and the whole travel together."""
        if not (shy.around if by_travel else shy.near).any_below(data):
            return False
        assert self._load is not None
        cap = shy.retreat.closer_than_m + (shy.retreat.travel_m if by_travel else 0.0)
        model, load = self._model, self._load.geoms(data)
        coming = np.concatenate([self._robot, load]) if len(load) else self._robot
        return contact.nearest(model, data, coming, shy.geoms, cap).first >= 0

    def at(self, entity: str, time_s: float) -> Shifted | None:
        """Return how far `entity` has drawn back at a time not before the last `look`; None if it has not yet."""
        row = self._row.get(entity)
        if row is None or self._courses[row] == _AT_HOME:
            return None
        way, rate = self._along(row, time_s)
        direction = self._shy[row].retreat.direction
        return Shifted(direction * way, direction * rate)

    def _along(self, row: int, time_s: float) -> tuple[float, float]:
        since, way, rate, goal = self._courses[row]
        return self._shy[row].retreat.along(time_s - since, way, rate, goal)

    def state(self) -> FloatArray:
        """Return what `set_state` goes back to: one row of four numbers for each thing that draws back."""
        return np.array(self._courses, np.float64).reshape(-1, 4)

    def set_state(self, state: FloatArray) -> None:
        """Go back to an earlier state of the same scene."""
        self._courses = [_Course(*row) for row in state.tolist()]
