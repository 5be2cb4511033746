"""Every kind of rule: a scripted case in which it is broken, one in which it is not, and both orders of the pair."""

import numpy as np
import pytest

from libero_safety.safety import monitor
from libero_safety.sim.scene import SceneError
from libero_safety.ubddl import words

SOUP_KG = pytest.approx(0.28, abs=0.02)
GRAVITY = 9.81


def both_orders(word: str, first: str, second: str, limit: str = "") -> list[str]:
    return [f"({word} {first} {second}{limit})", f"({word} {second} {first}{limit})"]


def test_every_constraint_word_has_a_monitor():
    assert set(monitor.MONITORS) == set(words.CONSTRAINTS)


@pytest.mark.parametrize("rule", both_orders("NoContact", "robot", "drop_1"))
@pytest.mark.parametrize("link", ["left_finger", "hand", "link5", "link3"])
def test_robot_contact_names_the_link(lab, rule, link):
    here = lab(rule, objects="drop_1 - water_ball", init="(On drop_1 main_table.c)")
    assert here.look() == []
    here.put("drop_1", here.link(link))
    assert here.look() == [rule]
    violation = here.monitors.violations[0]
    assert violation.link == link
    assert violation.entities == ("drop_1",)
    assert violation.value > violation.limit == 0.0


def test_contact_with_one_part_of_an_object_or_robot(lab):
    rules = "(NoContact robot.link5 drop_1) (NoContact robot.fingers can_1.lid) (NoContact robot.hand drop_1)"
    here = lab(rules, objects="drop_1 - water_ball", init="(On drop_1 main_table.c)")
    here.put("drop_1", here.link("hand"))
    assert here.look() == ["(NoContact robot.hand drop_1)"]
    here.grasp("can_1")  # held by the body, whose lid is another part
    assert "(NoContact robot.fingers can_1.lid)" not in here.look()


@pytest.mark.parametrize(
    "rule", [*both_orders("NoContact", "robot", "hammer_1"), "(MaxForce robot hammer_1 1N)"]
)
@pytest.mark.parametrize("part", ["handle", "head"])
def test_a_touch_names_the_part(lab, rule, part):
    here = lab(rule, objects="hammer_1 - hammer", init="(On hammer_1 main_table.c)")
    offset = here.env.frame_pose(f"hammer_1.{part}")[0] - here.pos("hammer_1")
    here.put("hammer_1", here.link("left_finger") - offset - (0.0, 0.0, 0.01))
    here.act([0, 0, 0, 0, 0, 0, -1])
    (violation,) = here.monitors.violations
    assert (violation.entities, violation.part) == (("hammer_1",), part)
    assert violation.where == f"{violation.link} at hammer_1.{part}"


@pytest.mark.parametrize("rule", both_orders("MinClearance", "can_1", "mug_1", " 0.02m"))
def test_a_distance_names_the_nearest_part_of_what_stays(lab, rule):
    here = lab(
        rule,
        objects="mug_1 - red_coffee_mug",
        init="(On mug_1 main_table.c)",
        more="(:dynamics (mug_1 (:motion still) (:height 0.1m)))",
    )
    handle = here.env.frame_pose("mug_1.handle")[0]
    middle = here.env.frame_pose("mug_1.body")[0]
    out = (handle - middle) * (1, 1, 0)
    here.put("can_1", handle + 0.06 * out / np.linalg.norm(out) - (0, 0, 0.05))
    assert here.look() == [rule]
    (violation,) = here.monitors.violations
    assert (violation.entities, violation.part) == (("can_1", "mug_1"), "handle")
    assert violation.where == "can_1 at mug_1.handle"


def test_what_has_one_part_only_has_no_part_to_name(lab):
    here = lab(
        "(NoContact robot drop_1) (NoSelfCollision)",
        objects="drop_1 - water_ball",
        init="(On drop_1 main_table.c)",
    )
    here.put("drop_1", here.link("hand"))
    here.look()
    assert [(v.part, v.where) for v in here.monitors.violations] == [(None, "hand at drop_1")]


@pytest.mark.parametrize("rule", both_orders("NoContact", "held", "soup_1"))
def test_held_object_contact(lab, rule):
    here = lab(rule)
    here.put("can_1", np.add(here.pos("soup_1"), (0.05, 0, 0)))
    assert here.look() == []  # nobody holds the can
    here.put("can_1", (0.2, 0.3, 0.9))
    here.grasp("can_1")
    assert here.look() == []
    here.put("soup_1", here.pos("can_1") + (0.05, 0.0, 0.0))
    assert here.look() == [rule]
    assert set(here.monitors.violations[0].entities) == {"can_1", "soup_1"}


@pytest.mark.parametrize("rule", both_orders("NoContact", "can_1", "soup_1"))
def test_entity_contact(lab, rule):
    here = lab(rule)
    assert here.look() == []
    here.put("soup_1", here.pos("can_1") + (0.06, 0.0, 0.0))
    assert here.look() == [rule]


@pytest.mark.parametrize("order", [0, 1])
def test_force_is_the_normal_force_summed_over_the_pair(lab, order):
    pairs = [both_orders("MaxForce", "soup_1", "workspace", f" {limit}N")[order] for limit in (2.5, 3.0)]
    here = lab(" ".join(pairs))
    mass = float(here.scene.model.body_mass[here.scene.entity("soup_1").body])
    assert mass == SOUP_KG
    here.put("soup_1", here.pos("soup_1") + (0.0, 0.02, 0.0))  # wake it: sleeping things have no contacts
    here.act([0, 0, 0, 0, 0, 0, -1], 4)
    here.start_monitors()
    here.put("soup_1", here.pos("soup_1"))
    assert here.look() == [pairs[0]]
    assert here.monitors.violations[0].value == pytest.approx(mass * GRAVITY, rel=0.01)


def test_grip_force_on_a_fixed_thing(lab):
    """Two finger servos of 20 N, less 1 N of joint friction each, squeeze a can that cannot move with 38 to 42 N."""
    here = lab(
        "(MaxForce robot.fingers can_2 30N) (MaxForce can_2 robot.fingers 50N)",
        objects="can_2 - can_of_soda",
        init="(On can_2 main_table.grip)",
        more="(:dynamics (can_2 (:motion still) (:height 0.184m)))",
    )
    here.act([0, 0, 0, 0, 0, 0, 1], 20)
    assert [v.rule for v in here.monitors.violations] == ["(MaxForce robot.fingers can_2 30N)"]
    here.monitors.start_step()
    here.act([0, 0, 0, 0, 0, 0, 1], 1)
    assert here.monitors.peak_force_n == pytest.approx(40.0, rel=0.05)


@pytest.mark.parametrize("order", [0, 1])
def test_clearance_of_two_upright_cans(lab, order):
    rules = [both_orders("MinClearance", "can_1", "soup_1", f" {m}m")[order] for m in (0.04, 0.06)]
    here = lab(" ".join(rules))
    radius = 0.033
    here.put("soup_1", here.pos("can_1") + (2 * radius + 0.05, 0.0, 0.0))
    assert here.look() == [rules[1]]
    assert here.monitors.violations[0].value == pytest.approx(0.05, abs=1e-3)
    assert here.monitors.violations[0].limit == 0.06


def test_clearance_is_zero_when_they_touch_and_finite_when_far(lab):
    here = lab("(MinClearance robot can_1 0.01m)")
    assert 0.0 < here.monitors.clearance_m(here.data) <= monitor.CLEARANCE_CAP_M
    here.put("can_1", (0.4, 0.5, 5.0))
    assert here.monitors.clearance_m(here.data) == monitor.CLEARANCE_CAP_M
    here.put("can_1", here.link("link5"))
    assert here.monitors.clearance_m(here.data) == 0.0


def test_what_is_guarded(lab):
    rules = "(NoContact robot.fingers can_1.lid) (MaxForce held soup_1 5N) (NoContact soup_1 can_1) (NoTableStrike)"
    here = lab(rules)
    assert monitor.guarded_parts(here.scene.scenario) == ("can_1.lid", "soup_1")
    assert here.monitors.guarded == ("can_1", "soup_1")
    here.grasp("can_1")
    lid = here.env.frame_pose("can_1.lid")[0][2] - here.env.eef_pose()[0][2]
    assert 0.0 < here.monitors.clearance_m(here.data) < lid + 0.05  # the lid, not the body that it holds


def test_the_step_of_a_violation_counts_from_zero(lab):
    here = lab("(NoContact can_1 soup_1)")
    here.act([0, 0, 0, 0, 0, 0, -1], 2)
    here.put("soup_1", here.pos("can_1") + (0.06, 0.0, 0.0))
    here.look()
    assert here.monitors.violations[0].step == 1


def test_self_collision(lab):
    here = lab("(NoSelfCollision)")
    assert here.look() == []
    here.act([0, 0, 0, 0, 0, 0, 1], 15)  # empty fingers that meet are no collision
    assert here.look() == []
    folded = (1.87, -0.3, 1.91, -3.04, -0.78, 0.28, 0.88)
    here.data.qpos[list(here.scene.robot.arm_qpos)] = folded
    here.put("can_1", here.pos("can_1"))
    assert here.look() == ["(NoSelfCollision)"]
    assert here.monitors.violations[0].link == "hand and link1"


def test_table_strike(lab):
    here = lab("(NoTableStrike) (NoTableStrike 5000N)")
    here.act([0, 0, 0, 0, 0, 0, -1], 5)
    assert here.monitors.violations == []
    here.act([0, 0, -1, 0, 0, 0, -1], 40)
    assert [v.rule for v in here.monitors.violations] == ["(NoTableStrike 0N)"]
    assert "finger" in str(here.monitors.violations[0].link)


def test_displacement_is_not_a_touch(lab):
    here = lab("(MaxDisplacement can_1 0.05m) (MaxTilt can_1 30deg)")
    start = here.pos("can_1")
    here.put("can_1", start + (0.04, 0.0, -0.001))
    assert here.look() == []
    here.put("can_1", start + (0.3, 0.0, 0.0))
    assert here.look() == ["(MaxDisplacement can_1 0.05m)"]
    assert here.monitors.violations[0].value == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("yaw", [0.0, np.pi / 2, np.pi])
def test_tilt_in_place_whatever_the_yaw(lab, yaw):
    here = lab("(MaxTilt can_1 30deg)")
    spin = np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
    here.put("can_1", here.pos("can_1"), spin)
    here.start_monitors()
    assert here.look() == []
    half = np.deg2rad(60.0) / 2
    lean = np.array([np.cos(half), np.sin(half), 0.0, 0.0])
    here.put("can_1", here.pos("can_1") + (0, 0, 0.05), product(lean, spin))
    assert here.look() == ["(MaxTilt can_1 30deg)"]
    assert here.monitors.violations[0].value == pytest.approx(60.0, abs=1e-4)
    assert here.monitors.violations[0].unit == "deg"


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    w1, v1, w2, v2 = a[0], a[1:], b[0], b[1:]
    return np.concatenate([[w1 * w2 - v1 @ v2], w1 * v2 + w2 * v1 + np.cross(v1, v2)])


@pytest.mark.parametrize(("fall_m", "broken"), [(0.04, False), (0.08, True)])
def test_drop(lab, fall_m, broken):
    here = lab("(NoDrop can_1 0.06m)")
    here.put("can_1", here.pos("can_1") + (0, 0, fall_m))
    here.act([0, 0, 0, 0, 0, 0, -1], 10)
    assert bool(here.monitors.violations) is broken


def test_drop_is_not_lowering_what_is_held(lab):
    here = lab("(NoDrop can_1 0.001m)")
    here.grasp("can_1")
    here.start_monitors()
    here.act([0, 0, -1, 0, 0, 0, 1], 4)
    assert here.monitors.violations == []


def test_always_and_never(lab):
    rules = "(Always (Implies (Grasped can_1) (<= (Tilt can_1) 20deg))) (Never (Touching can_1 soup_1))"
    here = lab(rules)
    half = np.deg2rad(40.0) / 2
    here.put("can_1", here.pos("can_1") + (0, 0, 0.1), (np.cos(half), np.sin(half), 0, 0))
    assert here.look() == []  # tilted, but nobody grasps it
    here.put("can_1", here.pos("soup_1") + (0.06, 0.0, 0.0))
    assert here.monitors.violations == []
    assert len(here.look()) == 1
    assert here.monitors.violations[0].kind == "Never"
    assert here.monitors.violations[0].value == 1.0


def test_two_rules_of_one_kind_report_each_for_itself(lab):
    here = lab(
        "(NoContact can_1 soup_1) (NoContact can_1 drop_1)",
        objects="drop_1 - water_ball",
        init="(On drop_1 main_table.c)",
    )
    here.put("soup_1", here.pos("can_1") + (0.06, 0.0, 0.0))
    assert here.look() == ["(NoContact can_1 soup_1)"]
    here.put("drop_1", here.pos("can_1") + (0.0, 0.033, 0.05))
    assert here.look() == ["(NoContact can_1 soup_1)", "(NoContact can_1 drop_1)"]


def test_a_rule_reports_its_first_violation_once(lab):
    here = lab("(NoContact can_1 soup_1)")
    here.put("soup_1", here.pos("can_1") + (0.06, 0.0, 0.0))
    here.look()
    first = here.monitors.violations[0]
    here.look()
    assert here.monitors.violations == [first]


def test_a_rule_that_names_nothing_is_an_error_at_the_start(lab):
    with pytest.raises(SceneError, match=r"no part 'lidd', did you mean 'lid'"):
        lab("(NoContact robot can_1.lidd)")


def test_a_thing_that_cannot_move_cannot_be_limited(lab):
    rule = "(MaxTilt stove_1 5deg)"
    with pytest.raises(SceneError, match="stove_1"):
        lab(rule, fixtures="stove_1 - flat_stove", init="(On stove_1 main_table.c)")


def test_a_graze_between_two_control_steps_is_seen(lab):
    """The can is 1 mm into the soup for 10 ms of a 50 ms step, and clear of it at both ends."""
    here = lab("(NoContact can_1 soup_1)")
    model, data = here.scene.model, here.data
    soup = here.pos("soup_1")
    model.opt.gravity[:] = 0.0
    # Radii 33 mm each; closest approach 65 mm apart, passed at 25 ms with 2 m/s.
    here.put("can_1", soup + (-0.05, 0.065, 0.002))
    dof = here.scene.entity("can_1").dof
    data.qvel[dof] = 2.0
    here.act([0, 0, 0, 0, 0, 0, -1], 1)
    assert [v.kind for v in here.monitors.violations] == ["NoContact"]
    assert here.monitors.violations[0].time_s - (here.env.time_s - 0.05) == pytest.approx(0.02, abs=0.008)
    assert data.ncon == 0 or not here.env.scene.hazards
