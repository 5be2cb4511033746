"""The expert: a privileged policy that plans its way through keyposes and keeps clear of everything protected."""

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from libero_safety.demo.check import check_keyposes
from libero_safety.demo.course import Course, Planned
from libero_safety.demo.execution import Execution
from libero_safety.demo.keypose import KeyposeError, load_keyposes, task_keyposes
from libero_safety.demo.layout import end_stage
from libero_safety.demo.rejects import ReasonName
from libero_safety.demo.report import ExpertReport, Failure, StageReport
from libero_safety.demo.route import Route, Router
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage
from libero_safety.demo.variants import sample_variants
from libero_safety.errors import LiberoSafetyError
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.limits import DT_S
from libero_safety.plan.planners import make_planner
from libero_safety.sim.env import Env
from libero_safety.types import ACTION_SIZE, Chunk, FloatArray, Keypose, Observation

REPLANS, SLIPS = 4, 15
"""How often one stage is planned again because of what happened on the way; more often where a thing slips."""
FORESEEN_ACT_S = 0.5
"""How long a gripper is taken to act when nothing is carried out."""
LAST_STEPS = 60
"""Control steps after the last stage in which the goal must come to hold."""


class ExpertError(LiberoSafetyError):
    """The expert cannot start, or gave up and was asked to raise."""


class ExpertPolicy:
    """Plans each stage of a task's keyposes from what there is, carries it out, and plans again when reality drifts.

    A stage is planned with the largest clearance to what the rules protect that there is a way with, in the exact
    geometry of the simulator, at the time at which the robot will be there. When a stage cannot be planned, other
    variants of its keyposes are tried. When there is no way it stops acting, and `report` says why.

    Args:
        keyposes: a TOML file of keyposes; by default `keyposes/<task>.toml` beside the scenario's file.
        vary: draw variants of the keyposes from the first; else the written poses are tried first.
        tries: variants of a stage that are tried.
        planner: finds ways that are not straight, a name in `plan.planners.PLANNERS`.
        give_up: what to do when there is no way: `wait` until the episode is over, or `raise` an ExpertError.
    """

    needs_images = False

    def __init__(
        self,
        keyposes: Path | None = None,
        vary: bool = False,
        tries: int = 5,
        planner: str = "tip",
        give_up: Literal["wait", "raise"] = "wait",
    ) -> None:
        self._source, self._vary, self._tries, self._give_up = keyposes, vary, tries, give_up
        self._planner = make_planner(planner)
        self._env: Env | None = None
        self._episode: _Episode | None = None

    def attach(self, env: Env) -> None:
        """Take the environment that the next episodes run in."""
        self._env = env

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode; all that is drawn comes from `rng`.

        Raises:
            ExpertError: `attach` was not called, or there are no usable keyposes and it was asked to raise.
        """
        if self._env is None:
            raise ExpertError("ExpertPolicy sees privileged state: call attach(env) before reset()")
        seed = int(rng.integers(2**31))
        found = find_keyposes(self._env, self._source)
        if isinstance(found, Failure):
            self._episode = _Episode(self._env, found, seed)
            return
        router, variants = Router(self._planner, seed), sample_variants(found, rng)
        course = Course(variants, router, rng, vary=self._vary, tries=self._tries)
        self._episode = _Episode(self._env, course, seed)

    def act(self, observation: Observation) -> Chunk:
        """Return one action, (1, 7).

        Raises:
            ExpertError: there is no way, and it was asked to raise.
        """
        episode = self._episode
        if episode is None:
            raise ExpertError("ExpertPolicy.act() before reset()")
        action = episode.action()
        if episode.failure is not None and self._give_up == "raise":
            raise ExpertError(
                f"{episode.failure.reason} at {episode.failure.stage!r}: {episode.failure.detail}"
            )
        return action[None]

    def report(self) -> ExpertReport:
        """Return what was decided in the episode so far."""
        return self._episode.report() if self._episode is not None else ExpertReport()

    def foresee(self) -> ExpertReport:
        """Return what would be decided if every motion ended where it should; nothing moves.

        Raises:
            ExpertError: `reset` was not called.
        """
        if self._episode is None:
            raise ExpertError("ExpertPolicy.foresee() before reset()")
        self._episode.foresee()
        return self._episode.report()


def find_keyposes(env: Env, source: Path | None) -> tuple[Keypose, ...] | Failure:
    """Return the keyposes of the scenario that is in `env`, or what is wrong with them."""
    scenario_file = Path(env.scenario.place.file)
    file = source or scenario_file.parent / "keyposes" / f"{scenario_file.stem}.toml"
    try:
        keyposes = load_keyposes(source) if source is not None else task_keyposes(scenario_file)
    except KeyposeError as error:
        return Failure("bad_keypose" if file.is_file() else "no_keyposes", "", str(error))
    problems = check_keyposes(keyposes, env.scenario, env.catalog, str(file))
    return Failure("bad_keypose", "", problems[0]) if problems else keyposes


class _Episode:
    """One episode on its way."""

    def __init__(self, env: Env, course: Course | Failure, seed: int) -> None:
        scene = env.scene
        self._env, self._course, self._seed = env, course, seed
        self.failure = course if isinstance(course, Failure) else None
        self._arm = Arm(scene.model, scene.robot, scene.start[list(scene.robot.arm_qpos)])
        self._execution: Execution | None = None
        self._disturbance: FloatArray | None = None
        self._reports: list[StageReport] = []
        self._replans = self._idle = self._passed = 0
        self._gripper = -1.0
        self._then = "next"

    def action(self) -> FloatArray:
        """Return the next action (7,); no motion once there is nothing more to do."""
        while self.failure is None:
            assert not isinstance(self._course, Failure)
            if self._execution is None and self._course.over:
                self._wait_for_goal()
                break
            if self._execution is None and not self._begin(self._course, 0):
                break
            execution = self._execution
            assert execution is not None
            action = execution.action()
            if action is not None:
                self._gripper = float(action[6])
                return action
            self._end(self._course, execution)
        action = np.zeros(ACTION_SIZE)
        action[6] = self._gripper
        return action

    def foresee(self) -> None:
        """Plan all stages, each from where the one before should end."""
        course, env = self._course, self._env
        situation = Situation.now(env.scene, env.data, self._arm, env.time_s, None)
        while self.failure is None and not isinstance(course, Failure) and not course.over:
            planned = course.plan(situation)
            if isinstance(planned, Failure):
                self.failure = planned
                return
            self._replans += planned.then == "anew"
            if self._replans > REPLANS:
                self.failure = Failure("path_blocked_by_moving_hazard", planned.stage.name, "again and again")
                return
            stage, route = planned.stage, planned.route
            self._reports.append(_stage_report(stage, route, steps=len(route.passes) - 1))
            end_s = route.start_s + (len(route.passes) - 1) * DT_S
            end_stage(situation, stage, route.joints(situation, route.start_s)[-1], end_s + FORESEEN_ACT_S)
            if planned.then == "next":
                course.done()
                self._replans = 0

    def _begin(self, course: Course, passed: int) -> bool:
        """Plan the next stage, or what is left of it; False when there is no way."""
        env, stage = self._env, course.stages[course.index]
        situation = Situation.now(env.scene, env.data, self._arm, env.time_s, stage.holds)
        planned = course.plan(situation, passed)
        if isinstance(planned, Failure):
            self.failure = planned
            return False
        clear = partial(self._clear, course, planned)
        self._execution = Execution(env, planned.stage, planned.route, clear, self._disturbance)
        self._passed, self._then = passed, planned.then
        return True

    def _clear(self, course: Course, planned: Planned, rows: FloatArray, passes: NDArray[np.int64]) -> bool:
        """Whether nothing is in the way on a part of a route with what is held as it is now."""
        env = self._env
        situation = Situation.now(env.scene, env.data, self._arm, env.time_s, planned.stage.holds)
        return course.clear(situation, planned, rows, passes)

    def _end(self, course: Course, execution: Execution) -> None:
        """Take the stage as done, or plan it again if something went wrong."""
        self._execution, self._disturbance = None, execution.disturbance
        self._note(execution)
        if execution.outcome == "done" and self._then == "next":
            course.done()
            self._replans = 0
            return
        stopped = execution.outcome == "done" and self._then == "rest"
        # That it stopped is part of the plan that failed before.
        self._replans += not stopped
        name = execution.stage.name
        if execution.outcome == "lost":
            self.failure = Failure("lost_grasp", name, f"{execution.stage.holds} slipped out of the gripper")
        elif self._replans > (SLIPS if stopped or execution.outcome == "moved" else REPLANS):
            reason: ReasonName = "lost_grasp" if execution.outcome == "missed" else "drift"
            if self._then == "anew":
                reason = "path_blocked_by_moving_hazard"
            self.failure = Failure(reason, name, f"{execution.outcome} {self._replans} times")
        elif not self._begin(course, self._behind(execution)):
            self._go_on(execution)

    def _behind(self, execution: Execution) -> int:
        """Return how many keyposes of the stage need not be passed again."""
        then = self._then
        if execution.outcome == "missed" or then == "anew":
            return 0
        return self._passed + (execution.passed if then == "next" else 0)

    def _go_on(self, execution: Execution) -> None:
        """Keep to the old route where there is no new one, if what happened is no reason to stop."""
        if self.failure is not None and self.failure.reason == "plan_timeout":
            return
        if execution.outcome == "drift" or (
            execution.outcome == "moved" and execution.stage.holds is not None
        ):
            execution.accept()
            self._execution, self.failure = execution, None

    def _wait_for_goal(self) -> None:
        self._idle += 1
        if self._idle > LAST_STEPS:
            self.failure = Failure(
                "goal_not_reached",
                self._reports[-1].name if self._reports else "",
                "all keyposes were passed",
            )

    def _note(self, execution: Execution) -> None:
        waited = min(execution.waited, execution.steps)
        self._reports.append(
            _stage_report(
                execution.stage,
                execution.route,
                steps=execution.steps,
                waited_steps=waited,
                replans=self._replans,
                tracking_error_m=execution.error_m,
            )
        )

    def report(self) -> ExpertReport:
        """Return what was decided so far."""
        ids = {} if isinstance(self._course, Failure) else self._course.variant_ids
        return ExpertReport(ids, self._seed, tuple(self._reports), self.failure)


def _stage_report(
    stage: Stage,
    route: Route,
    *,
    steps: int,
    waited_steps: int = 0,
    replans: int = 0,
    tracking_error_m: float = 0.0,
) -> StageReport:
    return StageReport(
        stage.name,
        route.planner,
        route.plan_s,
        route.margin_m,
        steps,
        waited_steps,
        replans,
        tracking_error_m,
    )
