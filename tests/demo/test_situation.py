"""Where things will be that move by themselves."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from libero_safety.demo.situation import Situation
from libero_safety.plan.kinematics import Arm
from libero_safety.sim import contact
from libero_safety.sim.facing import EvenTurn
from libero_safety.sim.law import LayeredLaw, LineLaw
from libero_safety.sim.scene import Hazard


@pytest.fixture
def turning(lab) -> Situation:
    """A can that sets out along x with 0.1 m/s and turns by a quarter of a turn each second."""
    here = lab("(NoContact robot soup_1)")
    pos, entity = here.pos("can_1"), here.scene.entity("can_1")
    law = LineLaw(pos, np.array([0.2, 0.0, 0.0]), 4.0, 0.0, once=False)
    hazard = Hazard(
        "can_1",
        entity.qpos,
        entity.dof,
        (1.0, 0.0, 0.0, 0.0),
        LayeredLaw(law, EvenTurn(0.0, math.pi / 2), ()),
    )
    scene = replace(here.scene, hazards=(hazard,))
    here.put("can_1", pos)
    arm = Arm(scene.model, scene.robot, scene.start[list(scene.robot.arm_qpos)])
    return Situation.now(scene, here.data, arm, 0.0, None)


def test_frames_go_and_turn_with_what_moves(turning):
    start, rotation = turning.frame("can_1")
    pos, turned = turning.frame("can_1", 1.0)
    np.testing.assert_allclose(pos, start + (0.1, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(turned, np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) @ rotation, atol=1e-12)
    np.testing.assert_array_equal(turning.frame("soup_1", 1.0)[0], turning.frame("soup_1")[0])


def test_what_is_foreseen_is_where_it_will_be(turning):
    foreseen = [turning.frame(name, 1.0) for name in ("can_1", "can_1.grasp")]
    turning.go(turning.joints, 1.0)
    for name, (pos, rotation) in zip(("can_1", "can_1.grasp"), foreseen, strict=True):
        np.testing.assert_allclose(turning.frame(name)[0], pos, atol=1e-9)
        np.testing.assert_allclose(turning.frame(name)[1], rotation, atol=1e-9)


@pytest.mark.parametrize("below", [None, "soup_1"])
def test_what_is_let_go_comes_down_on_what_is_below_it(lab, below):
    here = lab("(NoContact robot soup_1)")
    arm = Arm(here.scene.model, here.scene.robot, here.scene.start[list(here.scene.robot.arm_qpos)])
    situation = Situation.now(here.scene, here.data, arm, 0.0, None)
    address, start = here.scene.entity("can_1").qpos, here.pos("can_1")
    at = start if below is None else here.pos(below)
    situation.data.qpos[address : address + 3] = at + (0.0, 0.0, 0.3)
    situation.take("can_1")
    situation.give()
    fallen = situation.data.qpos[address : address + 3]
    np.testing.assert_array_equal(fallen[:2], at[:2])
    sides = [here.scene.entity(name).geoms for name in ("can_1", below or "main_table")]
    assert contact.distance(here.scene.model, situation.data, *sides) < contact.TOUCH_GAP_M
    fallen[2] += 0.002
    mujoco.mj_kinematics(here.scene.model, situation.data)
    assert contact.distance(here.scene.model, situation.data, *sides) == pytest.approx(0.002, abs=1e-4)
