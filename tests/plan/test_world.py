"""The world says of every configuration what the simulator would say of it."""

import copy

import mujoco
import numpy as np
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.plan.bounds import Allow, Held
from libero_safety.plan.world import World
from libero_safety.sim.compose import build_scene
from libero_safety.sim.robot import HOME_QPOS
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
