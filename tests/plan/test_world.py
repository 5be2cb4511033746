"""The world says of every configuration what the simulator would say of it."""

import copy
import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.plan.bounds import Allow, Held, WorldError
from libero_safety.plan.world import World
from libero_safety.sim import contact
from libero_safety.sim.compose import build_scene
from libero_safety.sim.facing import EvenTurn
from libero_safety.sim.law import LayeredLaw, StillLaw
from libero_safety.sim.robot import FINGER_OPEN_QPOS, HOME_QPOS, resolve, robot_spec
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

HOME = np.array(HOME_QPOS)
TASKS = (("fshoa", 0, 1), ("tsa", 0, 1), ("aag", 1, 0))


def scene_of(suite: str, number: int, level: int):
    task = load_suite(suite).tasks[number]
    draw = sample(task.scenario(level), Key(suite, task.name, level, 0, 0), default_catalog())
    scene = build_scene(draw, default_catalog())
    data = mujoco.MjData(scene.model)
    data.qpos[:] = scene.start
    mujoco.mj_forward(scene.model, data)
    return scene, data


def near_home(rng: np.random.Generator, world: World) -> np.ndarray:
    joints = HOME + rng.normal(0.0, 0.5, 7)
    return np.clip(joints, world.limits[:, 0], world.limits[:, 1])


def brute_force(scene, data, joints: np.ndarray) -> bool:
    """Free as the simulator's own contact list has it, every pair of the whole model tested."""
    model = copy.copy(scene.model)
    model.opt.enableflags = 0
    fresh = mujoco.MjData(model)
    fresh.qpos[:] = data.qpos
    fresh.qpos[list(scene.robot.arm_qpos)] = joints
    mujoco.mj_forward(model, fresh)
    robot = set(scene.robot.all_geoms) - set(scene.robot.link_geoms["link0"])
    fingers = {*scene.robot.link_geoms["left_finger"], *scene.robot.link_geoms["right_finger"]}
    pairs = [set(pair) for pair in fresh.contact.geom.tolist()]
    return not any(pair & robot and not pair <= fingers for pair in pairs)


@pytest.mark.parametrize("task", TASKS)
def test_verdicts_are_those_of_the_simulator(task):
    scene, data = scene_of(*task)
    world = World.of_scene(scene, data, margin_m=0.0, allow=no_margins(scene))
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(300):
        joints = near_home(rng, world)
        verdicts.append(world.free(joints))
        assert verdicts[-1] == brute_force(scene, data, joints)
        assert verdicts[-1] == (world.first_contact(joints) is None)
    assert 15 < sum(verdicts) < 285


def no_margins(scene) -> list[Allow]:
    """Undo what clearance rules add."""
    rules = [r for r in scene.scenario.constraints if r.word == "MinClearance"]
    return [Allow("robot", r.args[1], 0.0) for r in rules if r.args[0] == "robot"]


@pytest.mark.parametrize("task", TASKS[:2])
def test_nothing_is_missed_along_an_edge(task):
    scene, data = scene_of(*task)
    world = World.of_scene(scene, data)
    bare = World.of_scene(scene, data, margin_m=0.0, allow=no_margins(scene))
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(60):
        first, last = near_home(rng, world), near_home(rng, world)
        if not world.free(first):
            continue
        dense = [bare.free(first + (last - first) * s) for s in np.linspace(0.0, 1.0, 200)]
        hit = world.first_hit(np.stack([first, last]))
        if hit is None:
            assert all(dense)
        else:
            hits += 1
            assert world.first_contact(hit.joints) == hit.names
    assert hits > 5


def ball_world(gap_m: float, **options) -> World:
    """A ball before the end of the left finger, which is flat, at home."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.attach(robot_spec(), prefix="robot/", frame=spec.worldbody.add_frame())
    body = spec.worldbody.add_body(name="ball")
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.03, 0, 0))
    model = spec.compile()
    robot = resolve(model)
    data = mujoco.MjData(model)
    data.qpos[list(robot.arm_qpos)] = HOME_QPOS
    data.qpos[list(robot.finger_qpos)] = FINGER_OPEN_QPOS
    mujoco.mj_kinematics(model, data)
    end = model.geom("robot/left_finger_collision1").id
    outwards = data.geom_xmat[end].reshape(3, 3)[:, 2]
    away = float(model.geom_size[end][2]) + gap_m + 0.03
    model.body_pos[model.body("ball").id] = data.geom_xpos[end] + away * outwards
    return World(model, robot, np.array(data.qpos), **options)


@pytest.mark.parametrize("margin_m", [0.0, 0.005, 0.02])
def test_margins_are_exact(margin_m):
    assert ball_world(margin_m + 1e-5, margin_m=margin_m).free(HOME)
    near = ball_world(margin_m - 1e-5, margin_m=margin_m)
    assert not near.free(HOME)
    assert near.first_contact(HOME)[1] == "ball"
    assert near.first_contact(HOME)[0].startswith("robot/left_finger")
    assert ball_world(0.037, margin_m=margin_m).clearance(HOME) == pytest.approx(0.037, abs=1e-6)
    assert ball_world(0.037, margin_m=margin_m).clearance(HOME, cap_m=0.01) == 0.01


def test_a_rule_keeps_further_off(lab):
    for rule, limit_m in (("", 0.005), ("(MinClearance robot.fingers can_1 3cm)", 0.035)):
        here = lab(rule)
        fingers, can = here.scene.geoms("robot.fingers"), here.scene.geoms("can_1")
        rest = np.setdiff1d(here.scene.robot_geoms, fingers).astype(np.int32)
        verdicts = []
        for z in np.linspace(0.12, 0.24, 40):
            here.put("can_1", here.env.eef_pose()[0] - (0.0, 0.06, z))
            gaps = [contact.distance(here.scene.model, here.data, side, can) for side in (fingers, rest)]
            world = World.of_scene(here.scene, here.data)
            verdicts.append(world.free(world.home))
            assert verdicts[-1] == (gaps[0] >= limit_m and gaps[1] >= 0.005), (rule, gaps)
        assert 3 < sum(verdicts) < 37, (rule, verdicts)


def test_what_may_be_touched(lab):
    here = lab()
    high = here.bounds("can_1")[1][2]
    here.put("can_1", here.env.eef_pose()[0] - (0, 0, high - 0.01))
    opened = World.of_scene(here.scene, here.data, fingers_m=0.035)
    assert opened.first_contact(opened.home)[1].startswith("can_1")
    fingers = Allow("robot.fingers", "can_1")
    allowed = World.of_scene(here.scene, here.data, fingers_m=0.035, allow=[fingers])
    assert allowed.free(allowed.home)
    # Closing through it is more than touching.
    assert not allowed.free(allowed.home, fingers_m=0.0)
    with pytest.raises(WorldError, match="nothing is"):
        World.of_scene(here.scene, here.data, allow=[Allow("held", "main_table")])


def test_a_held_thing_is_part_of_the_arm(lab):
    here = lab()
    here.grasp("can_1")
    held = Held.now(here.scene, here.data, "can_1")
    world = World.of_scene(here.scene, here.data, held=held)
    assert world.free(world.home), world.first_contact(world.home)
    reach = World.of_scene(here.scene, here.data, allow=[Allow("robot", "can_1", -9.0)])
    down = world.home.copy()
    hits = []
    while not hits or hits[-1] is None:
        down[1] += 0.01
        hits.append(world.first_contact(down))
    # The can is lower than the fingers, so it is the first to meet the table.
    assert hits[-1][0].startswith("can_1")
    assert reach.free(down)
    pos, rot = world.grip_pose(down)
    body = here.scene.entity("can_1").body
    np.testing.assert_allclose(world.body_pose(body)[0], pos + rot @ held.pos, atol=1e-9)
    with pytest.raises(WorldError, match="fixed"):
        World.of_scene(here.scene, here.data, held=Held("main_table", np.zeros(3), np.array([1.0, 0, 0, 0])))


def test_moving_hazards_are_looked_at_when_they_are_there():
    scene, data = scene_of("hri", 0, 1)
    (hazard,) = scene.hazards
    world = World.of_scene(scene, data)
    times = [float(t) for t in np.linspace(0.0, 6.0, 7)]
    every, single = world.at(times), [world.at(t) for t in times]
    rng = np.random.default_rng(2)
    seen = 0
    over = hazard.law.at(0.0).pos + (0.0, 0.0, 0.1)
    goal = world.arm.natural(over, world.arm.fk(world.home)[1], world.home)
    for _ in range(200):
        joints = np.clip(goal + rng.normal(0.0, 0.1, 7), world.limits[:, 0], world.limits[:, 1])
        verdicts = [one.free(joints) for one in single]
        assert every.free(joints) == all(verdicts)
        seen += len(set(verdicts)) == 2
        names = every.first_contact(joints)
        assert (names is None) == all(verdicts)
    assert seen > 0
    fresh = mujoco.MjData(scene.model)
    fresh.qpos[:] = data.qpos
    fresh.qpos[hazard.qpos : hazard.qpos + 3] = hazard.law.at(3.0).pos
    there = World.of_scene(scene, fresh)
    sample_of = [near_home(rng, world) for _ in range(100)]
    assert [there.free(q) for q in sample_of] == [world.at(3.0).free(q) for q in sample_of]


def test_looking_at_another_time_moves_nothing_for_good():
    scene, data = scene_of("hri", 0, 1)
    (hazard,) = scene.hazards
    world = World.of_scene(scene, data)
    over = data.qpos[hazard.qpos : hazard.qpos + 3] + (0.0, 0.0, 0.1)
    goal = world.arm.natural(over, world.arm.fk(world.home)[1], world.home)
    rng = np.random.default_rng(6)
    sample_of = [np.clip(goal + rng.normal(0.0, 0.1, 7), *world.limits.T) for _ in range(50)]
    now = [(world.free(q), world.clearance(q)) for q in sample_of]
    later = [(world.at(3.0).free(q), world.at(3.0).clearance(q)) for q in sample_of]
    assert [(world.free(q), world.clearance(q)) for q in sample_of] == now != later


def test_what_turns_is_looked_at_as_it_is_turned_then():
    scene, data = scene_of("hri", 0, 1)
    (hazard,) = scene.hazards
    turning = replace(hazard, law=LayeredLaw(StillLaw(hazard.law.at(0.0).pos), EvenTurn(0.0, 0.5), ()))
    world = World.of_scene(replace(scene, hazards=(turning,)), data)
    times = [float(t) for t in np.linspace(0.0, 4.0, 5)]
    verdicts_of = []
    rng = np.random.default_rng(5)
    goal = world.arm.natural(
        hazard.law.at(0.0).pos + (0.0, 0.0, 0.08), world.arm.fk(world.home)[1], world.home
    )
    sample_of = [np.clip(goal + rng.normal(0.0, 0.1, 7), *world.limits.T) for _ in range(100)]
    for time_s in times:
        there = mujoco.MjData(scene.model)
        there.qpos[:] = data.qpos
        there.qpos[hazard.qpos : hazard.qpos + 3] = hazard.law.at(0.0).pos
        turn, quat = [math.cos(0.25 * time_s), 0.0, 0.0, math.sin(0.25 * time_s)], np.empty(4)
        mujoco.mju_mulQuat(quat, np.array(turn), np.array(hazard.quat))
        there.qpos[hazard.qpos + 3 : hazard.qpos + 7] = quat
        placed = World.of_scene(replace(scene, hazards=()), there)
        verdicts_of.append([placed.free(q) for q in sample_of])
        assert [world.at(time_s).free(q) for q in sample_of] == verdicts_of[-1]
    assert any(len(set(verdicts)) == 2 for verdicts in zip(*verdicts_of, strict=True))
    every = world.at(times)
    assert [every.free(q) for q in sample_of] == [
        all(verdicts) for verdicts in zip(*verdicts_of, strict=True)
    ]
    geoms = scene.entity(hazard.entity).geoms.tolist()
    where = [pos for geom, pos, _, _ in every.obstacles() if geom in geoms]
    assert len({tuple(np.round(pos, 6)) for pos in where}) > len(geoms)


def test_a_detached_world_has_its_own_state():
    scene, data = scene_of("aag", 1, 0)
    world = World.of_scene(scene, data)
    other = world.detached()
    far = near_home(np.random.default_rng(3), world)
    world.grip_pose(far)
    hand = scene.robot.link_bodies["hand"]
    before = world.body_pose(hand)[0]
    other.free(world.home)
    np.testing.assert_array_equal(world.body_pose(hand)[0], before)
    assert [world.free(q) for q in (far, world.home)] == [other.free(q) for q in (far, world.home)]
