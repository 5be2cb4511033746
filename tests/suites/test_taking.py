"""How the hand takes hold of things in the tasks of all physical suites."""

from pathlib import Path

import numpy as np
import pytest

from libero_safety.demo.keypose import task_keyposes
from libero_safety.demo.layout import choose_turn, lay_out
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import stages_of
from libero_safety.plan.kinematics import Arm
from libero_safety.sim import contact
from libero_safety.sim.env import Env
from libero_safety.suites import PHYSICAL, load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

TASKS = [task for suite in PHYSICAL for task in load_suite(suite).tasks]
CLEAR_M = 0.001


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(render=False)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.suite}-{task.name[:40]}")
def test_the_palm_is_clear_of_what_the_fingers_take_in_every_variant(env, task):
    draw = sample(task.scenario(0), Key(task.suite, task.name, 0, 0, 0), env.catalog)
    env.reset(draw)
    scene = env.scene
    arm = Arm(scene.model, scene.robot, scene.start[list(scene.robot.arm_qpos)])
    palm = np.array(scene.robot.link_geoms["hand"], np.int32)
    keyposes = task_keyposes(Path(draw.scenario.place.file))
    taking = [stage for stage in stages_of(keyposes) if stage.takes is not None]
    assert taking
    for stage in taking:
        here = Situation.now(scene, env.data, arm, 0.0, None)
        turn = choose_turn(here, [stage], lambda situation, stage: lambda layout: 0)
        joints = lay_out(here, stage, turn, 0.0, lambda situation, stage: lambda layout: 0).joints[-1]
        assert joints is not None, stage.name
        here.go(joints, 0.0)
        gap_m = contact.distance(scene.model, here.data, palm, scene.entity(stage.takes).geoms)
        assert gap_m >= stage.keyposes[-1].vary.pos[2] + CLEAR_M, stage.name
