"""Carrying out one route: 20 actions a second, and looking whether all goes as it was planned."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libero_safety.demo.margins import PRESSING_VERBS
from libero_safety.demo.route import Route
from libero_safety.demo.situation import size_m
from libero_safety.demo.stages import MOVING_VERBS, Stage
from libero_safety.plan.bounds import Held
from libero_safety.plan.track import Tracker, tip_state
from libero_safety.sim import predicate
from libero_safety.sim.control import CONTROLLERS
from libero_safety.sim.env import Env
from libero_safety.types import FloatArray

Outcome: TypeAlias = Literal["going", "done", "drift", "moved", "missed", "lost"]
"""`drift`: the arm is not where it should be. `moved`: what it goes to, or holds, is not. `missed`: the fingers closed
on nothing. `lost`: what was held is held no more."""

Clear: TypeAlias = Callable[[FloatArray, NDArray[np.int64]], bool]
"""Tells whether nothing is in the way along joints (n, 7) from now on, the keypose to which each leads beside them."""

DRIFT_M, PUSH_DRIFT_M = 0.015, 0.08
"""How far the tip may be from where it should be, and on the way of a push, which meets resistance."""
SHIFT_M, SLIP_M, LOST_M, SWING_M = 0.006, 0.012, 0.09, 0.001
"""How far a thing to be grasped, and any point of one that is held, may be from where it was; a held one that is
further away than the third is lost. What moves faster than the last in a control step has not come to rest."""
ARM_M = 0.06
"""Where the turn of a thing counts for the last two: a bowl that is held at its rim swings."""
LATE_STEPS = 2
"""For how many control steps something must be wrong before it counts."""
AHEAD_STEPS = 20
"""How far ahead the way must be clear for what swings: enough to stop."""
ARRIVED_M, ARRIVED_STEPS = 0.004, 8
"""How near to its end the tip must be before the gripper acts, and how long that is waited for."""
ACT_STEPS = (3, 20)
"""Least and most control steps for the gripper to act."""
STILL_M = 2e-4
"""A finger that moved less than this in a control step has stopped."""
STAY_STEPS = 80


class Execution:
    """One route on its way.

    Attributes:
        outcome: how it stands.
        steps: control steps so far; `waited` those of them spent waiting.
        error_m: largest distance so far between where the tip was and where it should have been.
    """

    def __init__(
        self, env: Env, stage: Stage, route: Route, clear: Clear, disturbance: FloatArray | None = None
    ) -> None:
        """Begin a route now.

        Args:
            env: where.
            stage: whose route it is.
            route: the way.
            clear: tells whether a part of it can be driven with what is held as it lies in the gripper now.
            disturbance: what the tracker of the route before has learnt.
        """
        self._clear = clear
        self._env, self.stage, self.route = env, stage, route
        self._motion = route.drive(env.time_s, STAY_STEPS)
        self.waited = round((route.start_s - env.time_s) / self._motion.dt_s)
        self._end = self.waited + len(route.passes) - 1
        preset = CONTROLLERS[env.scenario.robot.controller]
        self._tracker = Tracker(self._motion, preset, disturbance)
        self._thing = thing = stage.takes or stage.holds
        self._grasped = predicate.grasped(env.scene, thing) if thing is not None else None
        self._place = self._thing_now()
        self._size_m = size_m(env.scene, env.data, thing) if thing is not None else 0.0
        self.outcome: Outcome = "going"
        self._swings = False
        self.steps, self.error_m = 0, 0.0
        self._late = self._acted = self._arriving = 0
        self._shifted_m = 0.0
        self._fingers = env.gripper()

    def action(self) -> FloatArray | None:
        """Return the next action (7,), or None when the stage is over, in whichever way."""
        env = self._env
        pos, rot, velocity = tip_state(env.scene.model, env.data, env.scene.robot)
        row = min(self.steps, len(self._motion.pos) - 1)
        error = float(np.linalg.norm(self._motion.pos[row] - pos))
        self.error_m = max(self.error_m, error)
        gripper = self._gripper(error)
        self._look(error)
        if gripper is None or self.outcome != "going":
            return None
        motion = self._tracker.action(self.steps, pos, rot, velocity)
        self.steps += 1
        return np.concatenate([motion, [gripper]])

    @property
    def disturbance(self) -> FloatArray:
        """What the tracker has learnt."""
        return self._tracker.disturbance

    @property
    def passed(self) -> int:
        """How many keyposes of the stage are behind."""
        row = min(max(self.steps - self.waited, 0), len(self.route.passes) - 1)
        return int(self.route.passes[row])

    def accept(self) -> None:
        """Take what has moved as where it is now, and go on."""
        self._place, self._late, self.outcome = self._thing_now(), 0, "going"

    def _gripper(self, error: float) -> float | None:
        """Return the gripper's command, or None once it has done what the stage asks of it."""
        stage = self.stage
        if self.steps < self._end:
            return stage.command(self.passed)
        command = stage.keyposes[-1].gripper
        if not self._acted and stage.acts and error > ARRIVED_M and self._arriving < ARRIVED_STEPS:
            self._arriving += 1
            return stage.gripper
        if self._finished():
            self.outcome = self._result()
            return None
        self._acted += 1
        return command

    def _finished(self) -> bool:
        """Whether the gripper has acted, and the time to stay is over."""
        fingers = self._env.gripper()
        still = float(np.abs(fingers - self._fingers).max()) < STILL_M
        self._fingers = fingers
        if not self.stage.acts:
            return self._acted >= self.stage.wait_steps
        least, most = ACT_STEPS
        if self.stage.takes is not None:
            return self._acted >= most or (self._acted >= least and still)
        return self._acted >= most or (self._acted >= least and self._free())

    def _free(self) -> bool:
        assert self.stage.holds is not None
        return predicate.released(self._env.scene, self.stage.holds)(self._env.data)

    def _result(self) -> Outcome:
        holding = self._grasped is None or self._grasped(self._env.data)
        return "missed" if self.stage.takes is not None and not holding else "done"

    def _look(self, error: float) -> None:
        """Notice what has been wrong for a while."""
        self._swings = False
        wrong = self._wrong(error)
        self._late = self._late + 1 if wrong else 0
        if wrong and self._late > LATE_STEPS and self.outcome == "going":
            self.outcome = wrong
        if self._swings and self.outcome == "going" and not self._clear(*self._ahead()):
            self.outcome = "moved"

    def _ahead(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the joints (n, 7) on the next bit of the route, and the keypose to which each row leads."""
        rows = np.arange(self.steps, self.steps + AHEAD_STEPS + 1).clip(max=self._end)
        return self._motion.joints[rows], self.route.passes[np.maximum(rows - self.waited, 0)]

    def _wrong(self, error: float) -> Outcome | None:
        resisted = self.stage.keyposes[self.passed].verb in (*MOVING_VERBS, *PRESSING_VERBS)
        if error > (PUSH_DRIFT_M if resisted else DRIFT_M):
            return "drift"
        if self._acted or self._thing is None:
            return None
        moved_m, turned = self._shift()
        if self.stage.holds is None:
            return "moved" if moved_m > SHIFT_M else None
        before, self._shifted_m = self._shifted_m, moved_m + ARM_M * turned
        if self._shifted_m > LOST_M:
            return "lost"
        # What hangs from the fingers swings when it is lifted; where it will end shows when it has stopped.
        slipped, swings = moved_m + self._size_m * turned > SLIP_M, self._shifted_m - before >= SWING_M
        self._swings = slipped and swings
        return "moved" if slipped and not swings else None

    def _shift(self) -> tuple[float, float]:
        """Return how far (m, rad) the thing is from where it was."""
        pos, quat = self._thing_now()
        turned = 2.0 * np.arccos(np.clip(abs(float(quat @ self._place[1])), 0.0, 1.0))
        return float(np.linalg.norm(pos - self._place[0])), float(turned)

    def _thing_now(self) -> tuple[FloatArray, FloatArray]:
        """Return the pose of the thing: of what is held, in the gripper; of what is to be grasped, in the world."""
        env = self._env
        if self._thing is None:
            return np.zeros(3), np.zeros(4)
        if self.stage.holds is not None:
            held = Held.now(env.scene, env.data, self._thing)
            return held.pos, held.quat
        body = env.scene.entity(self._thing).body
        return np.array(env.data.xpos[body]), np.array(env.data.xquat[body])
