"""Where things will be that move by themselves."""

import math
from dataclasses import replace

import numpy as np
import pytest

from libero_safety.demo.situation import Situation
from libero_safety.plan.kinematics import Arm
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
