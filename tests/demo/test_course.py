"""What a tip on its way does when it cannot go on: it stops, and keeps in mind what it has passed."""

import numpy as np
import pytest

from libero_safety.demo.course import Course, Planned
from libero_safety.demo.expert import find_keyposes
from libero_safety.demo.report import Failure
from libero_safety.demo.route import STOP_S, Router
from libero_safety.demo.situation import Situation
from libero_safety.demo.variants import sample_variants
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.limits import DT_S
from libero_safety.plan.planners import make_planner
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

pytest.importorskip("piqp")
TASK = "put_the_banana_on_the_porcelain_plate"


def ready(suite: str, task: str, level: int) -> Env:
    env = Env(render=False)
    env.reset(
        sample(load_suite(suite).task(task).scenario(level), Key(suite, task, level, 0, 0), env.catalog)
    )
    return env


def begun(env: Env) -> Course:
    keyposes = find_keyposes(env, None)
    assert not isinstance(keyposes, Failure)
    variants = sample_variants(keyposes, np.random.default_rng(0))
    return Course(variants, Router(make_planner("tip")), np.random.default_rng(0), vary=False, tries=1)


@pytest.fixture
def env() -> Env:
    return ready("hri", TASK, 0)


@pytest.fixture
def course(env) -> Course:
    return begun(env)


def moving(env: Env, *velocity: float) -> Situation:
    scene = env.scene
    joints = scene.start[list(scene.robot.arm_qpos)]
    situation = Situation.now(scene, env.data, Arm(scene.model, scene.robot, joints), env.time_s, None)
    situation.velocity = np.array([*velocity, 0.0, 0.0, 0.0])
    return situation


def refuse(monkeypatch, reason: str) -> None:
    monkeypatch.setattr(Router, "route", lambda self, *args: Failure(reason, "grasp", "a lorry"))


@pytest.mark.parametrize("reason", ["path_blocked_by_moving_hazard", "timing_failed"])
def test_a_tip_on_its_way_stops_where_it_cannot_go_on(env, course, monkeypatch, reason):
    refuse(monkeypatch, reason)
    planned = course.plan(moving(env, 0.0, 0.2, 0.0), passed=1)
    assert isinstance(planned, Planned)
    assert planned.then == "rest"
    # What comes next closes the gripper; that it stops does not.
    assert course.stages[0].keyposes[1].gripper > 0
    assert (planned.stage.command(1), planned.stage.wait_steps, planned.stage.acts) == (-1.0, 0, False)
    motion = planned.route.motion
    np.testing.assert_allclose(motion.pos[-1] - motion.pos[0], [0.0, 0.5 * 0.2 * STOP_S, 0.0], atol=1e-9)
    assert planned.route.start_s == env.time_s
    assert motion.steps == round(STOP_S / DT_S)


def test_it_does_not_stop_where_something_is_in_the_way_of_that(env, course, monkeypatch):
    refuse(monkeypatch, "timing_failed")
    down = moving(env, 0.0, 0.0, -1.0)
    down.go(down.arm.natural(down.tip[0] + [0.0, 0.0, -0.15], down.tip[1], down.joints), env.time_s)
    down.velocity = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    assert isinstance(course.plan(down, passed=1), Failure)


@pytest.mark.parametrize("reason", ["plan_failed", "keypose_in_collision"])
def test_what_waiting_cannot_mend_is_no_reason_to_stop(env, course, monkeypatch, reason):
    refuse(monkeypatch, reason)
    assert isinstance(course.plan(moving(env, 0.0, 0.2, 0.0), passed=1), Failure)


@pytest.mark.parametrize(("speed", "waits"), [(0.0, True), (0.2, False)])
def test_only_a_tip_at_rest_waits_for_its_departure(monkeypatch, speed, waits):
    """Everything is blocked for half a second."""
    env = ready("tsa", "pick_up_the_akita_black_bowl_on_the_stove_and_place_it_on_the_plate", 1)
    free_s = env.time_s + 0.5

    def too_near(self, found, rows, start_s):
        return None if start_s >= free_s else ("robot.hand", "lorry_1")

    monkeypatch.setattr("libero_safety.demo.route._Search._too_near", too_near)
    planned = begun(env).plan(moving(env, 0.0, speed, 0.0))
    assert isinstance(planned, Planned) == waits
    if isinstance(planned, Planned):
        assert free_s <= planned.route.start_s < free_s + 0.3
