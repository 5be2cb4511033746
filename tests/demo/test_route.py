"""Routes in frames that move: where the tip is, what the joints are, and what is out of reach."""

from types import SimpleNamespace

import numpy as np
import pytest

from libero_safety.demo.follow import Follow
from libero_safety.demo.layout import Layout
from libero_safety.demo.report import Failure
from libero_safety.demo.route import Route, Router
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.planners import make_planner
from libero_safety.sim.env import Env
from libero_safety.sim.law import Moving
from libero_safety.suites import load_suite
from libero_safety.types import Key, Keypose
from libero_safety.ubddl.sample import sample

pytest.importorskip("piqp")


def palm(speed_m_s: float, turn_rad_s: float = 0.0) -> SimpleNamespace:
    """Something that nobody touches and that goes away from the robot."""
    there = np.array([speed_m_s, 0.0, 0.0])
    law = SimpleNamespace(at=lambda t: Moving(t * there, there, t * turn_rad_s), peak_speed_m_s=speed_m_s)
    return SimpleNamespace(entity="palm", law=law)


@pytest.fixture
def here(lab) -> Situation:
    found = lab()
    arm = Arm(found.scene.model, found.scene.robot, found.scene.start[list(found.scene.robot.arm_qpos)])
    return Situation.now(found.scene, found.data, arm, 0.0, None)


def routed(here: Situation, follow: Follow) -> Route | Failure:
    stage = Stage((Keypose("onto", "palm", (0.0, 0.0, 0.0)),), None, None, False, -1.0)
    pose = (here.tip[0] + [0.0, 0.1, -0.05], here.tip[1])
    layout = Layout((pose,), (here.arm.natural(*pose, here.joints),))
    return Router(make_planner("tip")).route(here, stage, layout, follow, ())


def test_its_joints_are_those_of_where_the_frame_takes_the_tip(here):
    route = routed(here, Follow(palm(0.02, 0.1), 1.0))
    assert isinstance(route, Route), route
    driven = route.drive(0.0, 40)
    assert np.linalg.norm(driven.pos[-1] - route.motion.pos[-1]) > 0.02
    for joints, pos, rot in zip(driven.joints, driven.pos, driven.rot, strict=True):
        there, turned = here.arm.fk(joints)
        np.testing.assert_allclose(there, pos, atol=1e-4)
        np.testing.assert_allclose(turned, rot, atol=1e-3)


def test_a_frame_that_goes_out_of_reach_cannot_be_followed():
    name = "pick_up_the_red_apple_and_put_it_on_the_plate_in_my_hand"
    env = Env(render=False)
    env.reset(sample(load_suite("hri").task(name).scenario(1), Key("hri", name, 1, 0, 0), env.catalog))
    arm = Arm(env.scene.model, env.scene.robot, env.scene.start[list(env.scene.robot.arm_qpos)])
    here = Situation.now(env.scene, env.data, arm, env.time_s, None)
    assert isinstance(routed(here, Follow(palm(0.01), env.time_s)), Route)
    failure = routed(here, Follow(palm(1.0), env.time_s))
    assert isinstance(failure, Failure)
    assert failure.reason == "path_blocked_by_moving_hazard"
    assert "the end of its reach" in failure.detail
