"""Things that draw back from the robot: the only motion that depends on what happens."""

from dataclasses import dataclass

import mujoco
import numpy as np

from libero_safety.sim import contact, predicate
from libero_safety.sim.scene import Hazard, IntArray, Scene
from libero_safety.sim.shift import Retreat, Shifted
from libero_safety.types import FloatArray

_SINCE, _WAY, _RATE, _GOAL = range(4)
"""Columns of the state: when (s), from where (m) and how fast (m/s) it last set out, and for where (m)."""


class Load:
    """What the gripper holds."""

    def __init__(self, scene: Scene) -> None:
        """Look up everything that can be held."""
        prescribed = {hazard.entity for hazard in scene.hazards}
        things = [e for e in scene.entities.values() if e.qpos is not None and e.name not in prescribed]
        self._things = [(thing.geoms, predicate.grasped(scene, thing.name)) for thing in things]
        self._finger = scene.geoms("robot.left_finger")
        self._all = np.concatenate([np.empty(0, np.int32), *(geoms for geoms, _ in self._things)])

    def geoms(self, data: mujoco.MjData) -> IntArray:
        """Return the colliding geoms of what both fingers press now; none when they hold nothing."""
        if next(contact.touches(data, self._finger, self._all), None) is None:
            return self._all[:0]
        held = [geoms for geoms, is_held in self._things if is_held(data)]
        return np.concatenate([self._all[:0], *held])


@dataclass(frozen=True, eq=False)
class _Shy:
    """A hazard that draws back, and bounding tests that tell cheaply that the robot is far."""

    name: str
    retreat: Retreat
    geoms: IntArray
    robot: IntArray
    near: contact.GapTable
    around: contact.GapTable

    @classmethod
    def of(cls, scene: Scene, hazard: Hazard, retreat: Retreat) -> "_Shy":
        geoms, robot = scene.entity(hazard.entity).geoms, scene.robot_geoms
        near, around = (
            contact.GapTable(scene.model, [(robot, geoms, cap)])
            for cap in (retreat.closer_than_m, retreat.closer_than_m + retreat.travel_m)
        )
        return cls(hazard.entity, retreat, geoms, robot, near, around)

    def closer(self, model: mujoco.MjModel, data: mujoco.MjData, load: IntArray, *, by_travel: bool) -> bool:
        """Whether robot or load is nearer than the limit, or than the limit and the whole travel together."""
        cap = self.retreat.closer_than_m + (self.retreat.travel_m if by_travel else 0.0)
        table = self.around if by_travel else self.near
        if table.any_below(data) and contact.nearest(model, data, self.robot, self.geoms, cap).first >= 0:
            return True
        return bool(len(load)) and contact.nearest(model, data, load, self.geoms, cap).first >= 0


class Reactions:
    """Everything that draws back in one episode, and how far each has."""

    def __init__(self, scene: Scene) -> None:
        """Nothing has drawn back yet."""
        self._model = scene.model
        self._shy = [_Shy.of(scene, h, h.retreat) for h in scene.hazards if h.retreat is not None]
        self._row = {shy.name: row for row, shy in enumerate(self._shy)}
        self._load = Load(scene) if self._shy else None
        self._state = np.zeros((len(self._shy), 4))

    def look(self, data: mujoco.MjData) -> None:
        """Let things set out that the physics step just taken gives reason to.

        Contacts and geometry in `data` are those at the beginning of that step, its clock shows the end.
        """
        if self._load is None:
            return
        load = self._load.geoms(data)
        now_s = float(data.time) - self._model.opt.timestep
        for row, shy in enumerate(self._shy):
            travel, (way, rate) = shy.retreat.travel_m, self._along(row, now_s)
            out = self._state[row, _GOAL] > 0.0
            if not out and shy.closer(self._model, data, load, by_travel=False):
                self._state[row] = now_s, way, rate, travel
            elif (
                out
                and not shy.retreat.stay
                and way == travel
                and not shy.closer(self._model, data, load, by_travel=True)
            ):
                self._state[row] = now_s, way, 0.0, 0.0

    def at(self, entity: str, time_s: float) -> Shifted | None:
        """Return how far `entity` has drawn back at a time not before the last `look`; None if it never does."""
        row = self._row.get(entity)
        if row is None:
            return None
        way, rate = self._along(row, time_s)
        direction = self._shy[row].retreat.direction
        return Shifted(direction * way, direction * rate)

    def _along(self, row: int, time_s: float) -> tuple[float, float]:
        since, way, rate, goal = self._state[row].tolist()
        return self._shy[row].retreat.along(time_s - since, way, rate, goal)

    def state(self) -> FloatArray:
        """Return a copy of what `set_state` goes back to."""
        return self._state.copy()

    def set_state(self, state: FloatArray) -> None:
        """Go back to an earlier state of the same scene."""
        self._state[:] = state
