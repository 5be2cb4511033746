"""The independent look at contacts: what it finds is what measuring everything at every step would find."""

import mujoco
import numpy as np
import pytest

from libero_safety.eval import brute_force
from libero_safety.eval.brute_force import DEEP_M, NEAR_M, BruteForce, solid_of
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

SHAPES = """<mujoco><worldbody>
<geom type="box" size="0.03 0.02 0.01"/>
<geom type="sphere" size="0.02"/>
<geom type="capsule" size="0.01 0.04"/>
<geom type="cylinder" size="0.02 0.03"/>
<geom type="ellipsoid" size="0.02 0.03 0.01"/>
<geom type="plane" size="1 1 0.1"/>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def env() -> Env:
    """A scene in which the robot must not touch a hand that is made of many shapes."""
    env = Env(render=False)
    task = load_suite("fshoa").tasks[0]
    env.reset(sample(task.scenario(1), Key("fshoa", task.name, 1, 0, 0), env.catalog))
    return env


@pytest.mark.parametrize(
    ("geom", "height", "outside"),
    [(0, 0.05, 0.04), (1, 0.05, 0.03), (2, 0.09, 0.04), (3, 0.05, 0.02), (4, 0.03, 0.02), (5, 0.05, 0.05)],
)
def test_a_point_above_a_shape_is_as_far_outside_as_it_is(geom, height, outside):
    solid = solid_of(mujoco.MjModel.from_xml_string(SHAPES), geom)
    above, middle = solid.outside(np.array([[0.0, 0.0, height], [0.0, 0.0, -1e-3]]))
    assert above == pytest.approx(outside, abs=1e-9)
    assert middle < 0.0


@pytest.mark.parametrize("geom", range(5))
def test_points_lie_on_the_surface_close_together(geom):
    solid = solid_of(mujoco.MjModel.from_xml_string(SHAPES), geom)
    assert np.abs(solid.outside(solid.points)).max() < 5e-4
    gaps = np.linalg.norm(solid.points[:200, None] - solid.points[None], axis=2)
    gaps[gaps == 0.0] = np.inf
    assert gaps.min(axis=1).max() < 1.5 * brute_force.SPACING_M


@pytest.fixture
def coarse(monkeypatch):
    """Fewer points, so that all pairs can be measured."""
    brute_force._hull.cache_clear()
    monkeypatch.setattr(brute_force, "SPACING_M", 0.008)
    yield
    brute_force._hull.cache_clear()


def test_nothing_is_left_out(env, coarse, monkeypatch):
    """While the hand comes to the gripper, in steps and leaps: the same as when every pair is measured each time."""
    scene, data = env.scene, env.data
    look, every = BruteForce(scene), BruteForce(scene)
    pairs = zip(every._pairs._geoms.tolist(), every._pairs._rules, strict=True)
    everything = [brute_force._Pair(i, tuple(geoms), rules, i) for i, (geoms, rules) in enumerate(pairs)]
    monkeypatch.setattr(every._pairs, "to_measure", lambda data, below: everything)
    monkeypatch.setattr(every._pairs, "note", lambda pair, outside: None)
    hand = scene.hazards[0].qpos
    gripper, start = env.eef_pose()[0], np.array(data.qpos)
    for number, away_m in enumerate((0.32, 0.182, 0.18, 0.178, 0.28, 0.02)):
        data.qpos[hand : hand + 3] = gripper + [0.0, away_m, 0.0]
        data.time = number * 0.002
        mujoco.mj_kinematics(scene.model, data)
        look.after_substep(scene, data)
        every.after_substep(scene, data)
        if away_m == 0.178:
            assert 0.0 < every.nearest_m < NEAR_M
        assert look.nearest_m >= every.nearest_m - 1e-12
    assert look.physics_steps == 6
    assert {(o.rule, o.time_s) for o in look.overlaps} == {(o.rule, o.time_s) for o in every.overlaps}
    assert look.overlaps
    data.qpos[:] = start
    mujoco.mj_kinematics(scene.model, data)


def test_shared_space_is_found(env):
    """The hand is put where the gripper is."""
    scene, data = env.scene, env.data
    hand, start = scene.hazards[0].qpos, np.array(data.qpos)
    look = BruteForce(scene)
    data.qpos[hand : hand + 3] = env.eef_pose()[0] + [0.0, 0.0, 0.6]
    mujoco.mj_kinematics(scene.model, data)
    look.after_substep(scene, data)
    assert not look.overlaps
    data.qpos[hand : hand + 3] = env.eef_pose()[0]
    mujoco.mj_kinematics(scene.model, data)
    look.after_substep(scene, data)
    data.qpos[:] = start
    mujoco.mj_kinematics(scene.model, data)
    assert look.overlaps[0].depth_m > DEEP_M
    assert look.nearest_m <= -look.overlaps[0].depth_m
    assert " and hand_1/" in look.nearest
    assert look.overlaps[0].first.startswith("robot/")
    assert look.overlaps[0].second.startswith("hand_1/")
