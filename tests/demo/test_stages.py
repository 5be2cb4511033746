"""Keyposes as motions: where they stop, what is held, what may be touched, what moves along."""

from types import SimpleNamespace

import numpy as np
import pytest

from libero_safety.demo.follow import follow_of
from libero_safety.demo.margins import CARES, allowances, kept_apart
from libero_safety.demo.stages import stages_of
from libero_safety.sim.law import LineLaw, Moving
from libero_safety.types import Keypose


def keypose(name: str, frame: str = "can_1", **more) -> Keypose:
    return Keypose(name, frame, (0.0, 0.0, 0.1), **more)


PICK_AND_PLACE = (
    keypose("above", verb="pre-grasp"),
    keypose("grasp", verb="grasp", gripper=1.0, wait_steps=12),
    keypose("lift", "gripper", verb="lift", gripper=1.0),
    keypose("over", "soup_1", verb="pre-place", gripper=1.0, wait_steps=4),
    keypose("hint", "soup_1", gripper=1.0, hint=True),
    keypose("onto", "soup_1", verb="place", wait_steps=12),
    keypose("away", "gripper", verb="retreat"),
)


def test_a_stage_ends_where_the_gripper_acts():
    grasp, place, away = stages_of(PICK_AND_PLACE)
    assert [k.name for k in grasp.keyposes] == ["above", "grasp"]
    assert (grasp.holds, grasp.takes, grasp.gives) == (None, "can_1", False)
    assert [k.name for k in place.keyposes] == ["lift", "over", "onto"]
    assert (place.holds, place.takes, place.gives) == ("can_1", None, True)
    assert place.gripper > 0
    assert (away.holds, away.leaves) == (None, "can_1")


def test_a_wait_counts_where_it_has_an_effect():
    cut = (
        *PICK_AND_PLACE[:3],
        keypose("cut", "soup_1", verb="cut", gripper=1.0, wait_steps=6),
        PICK_AND_PLACE[3],
    )
    assert [stage.name for stage in stages_of(cut)] == ["grasp", "cut", "over"]
    assert stages_of(cut)[1].wait_steps == 6


def test_it_stops_before_something_has_to_give_way():
    push = (
        keypose("behind"),
        keypose("push", verb="push"),
        keypose("shut", verb="close", wait_steps=5),
        keypose("away"),
    )
    stages = stages_of(push)
    assert [stage.name for stage in stages] == ["behind", "shut", "away"]
    assert [stage.slow for stage in stages] == [False, True, False]


def test_the_rest_of_a_stage_keeps_the_command():
    place = stages_of(PICK_AND_PLACE)[1]
    rest = place.rest(2)
    assert [k.name for k in rest.keyposes] == ["onto"]
    assert rest.gripper > 0


def test_rules_say_who_is_kept_from_whom(lab):
    here = lab(
        "(NoContact robot soup_1) (MaxForce held soup_1 30N)"
        "(MinClearance robot.gripper soup_1 0.03m) (MaxTilt soup_1 20deg)"
    )
    empty = kept_apart(here.scene.scenario, None)
    assert [(a.mover, a.other, a.distance_m, a.firmly) for a in empty] == [
        ("robot", "soup_1", 0.0, True),
        ("robot.gripper", "soup_1", 0.03, True),
    ]
    assert ("held", "soup_1") in [(a.mover, a.other) for a in kept_apart(here.scene.scenario, "can_1")]
    assert kept_apart(here.scene.scenario, "soup_1") == []


def test_margins_are_kept_from_what_is_protected_and_what_is_taken_may_be_touched(lab):
    here = lab("(MinClearance robot soup_1 0.03m)")
    grasp = stages_of(PICK_AND_PLACE)[0]
    for care in CARES:
        bounds = {
            (a.first, a.second): a.limit_m for a in allowances(here.scene, grasp, 1, care, ["main_table"])
        }
        assert bounds["robot", "soup_1"] == pytest.approx(0.03 + care.margin_m)
        assert bounds["robot.gripper", "can_1"] == care.touch_m
    above = {(a.first, a.second) for a in allowances(here.scene, grasp, 0, CARES[0], [])}
    assert ("robot.gripper", "can_1") not in above


def test_of_two_rules_about_the_same_two_the_stricter_holds(lab):
    here = lab("(MinClearance robot soup_1 0.03m) (MaxForce robot soup_1 30N)")
    bounds = allowances(here.scene, stages_of(PICK_AND_PLACE)[0], 0, CARES[0], [])
    last = [bound.limit_m for bound in bounds if (bound.first, bound.second) == ("robot", "soup_1")][-1]
    assert last == pytest.approx(0.03 + CARES[0].margin_m)


def test_what_is_carried_grazes_nothing_on_its_way_down(lab):
    here, near = lab("(MaxTilt soup_1 20deg)"), CARES[-1]
    carry = next(stage for stage in stages_of(PICK_AND_PLACE) if stage.gives)
    down = [keypose.verb for keypose in carry.keyposes].index("place")
    for approaching, least_m in ((True, 0.0), (False, -0.003)):
        bounds = allowances(here.scene, carry, down, near, [], approaching=approaching)
        assert [b.limit_m for b in bounds if (b.first, b.second) == ("held", "soup_1")][-1] == least_m


def moving(entity: str = "palm") -> SimpleNamespace:
    law = LineLaw(np.zeros(3), np.array([0.1, 0.0, 0.0]), 10.0, 0.0, False)
    return SimpleNamespace(entity=entity, law=law)


def test_a_motion_joins_a_moving_frame_and_leaves_it():
    stage = stages_of((keypose("over", "palm"), keypose("onto", "palm", verb="place")))[0]
    joins = follow_of([moving()], stage, None, 1.0, 3.0)
    passes = np.array([0, 0, 0, 1, 1])
    np.testing.assert_allclose(joins.shares(passes), [0.0, 0.5, 1.0, 1.0, 1.0])
    # 2 cm per second: where the frame is at the time of arrival, the motion needs no correction.
    here, upright = np.array([[0.5, 0.1, 0.2]]), np.eye(3)[None]
    for time_s, ahead_m in ((3.0, 0.0), (4.0, 0.02)):
        there, turned = joins.carried(here, upright, np.array([time_s]), np.ones(1))
        np.testing.assert_allclose(there, here + [ahead_m, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(turned, upright, atol=1e-12)
    off = follow_of([moving()], stages_of((keypose("away", "gripper"),))[0], "palm", 5.0, 6.0)
    np.testing.assert_allclose(off.shares(np.zeros(3, np.int64)), [1.0, 0.5, 0.0])
    stays = follow_of([moving()], stage, "palm", 5.0, 6.0)
    np.testing.assert_allclose(stays.shares(passes), np.ones(5))


def test_on_a_frame_that_turns_it_stays_above_its_place_and_turns_along():
    """A palm that circles the origin once in 8 s and looks where it goes, joined 2 s after the time planned for."""
    law = SimpleNamespace(
        peak_speed_m_s=1.0,
        at=lambda t: Moving(
            0.4 * np.array([np.cos(t * np.pi / 4), np.sin(t * np.pi / 4), 0.0]), np.zeros(3), t * np.pi / 4
        ),
    )
    stage = stages_of((keypose("over", "palm"), keypose("onto", "palm", verb="place")))[0]
    joins = follow_of([SimpleNamespace(entity="palm", law=law)], stage, None, 0.0, 0.0)
    away, over, onto = (0.7, -0.3, 0.5), (0.45, 0.0, 0.3), (0.45, 0.0, 0.2)
    pos, rot = joins.carried(
        np.array([away, over, onto]),
        np.tile(np.eye(3), (3, 1, 1)),
        np.full(3, 2.0),
        np.array([0.0, 1.0, 1.0]),
    )
    np.testing.assert_allclose(pos, [away, (0.0, 0.45, 0.3), (0.0, 0.45, 0.2)], atol=1e-12)
    np.testing.assert_allclose(rot[0], np.eye(3), atol=1e-12)
    for turned in rot[1:]:
        np.testing.assert_allclose(turned @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)


def test_nothing_is_followed_that_stands_still():
    stage = stages_of(PICK_AND_PLACE)[0]
    assert follow_of([moving()], stage, None, 0.0, 1.0).hazard is None
