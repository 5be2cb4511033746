"""Every goal word in a scene in which it is true and in one in which it is not."""

import mujoco
import numpy as np
import pytest

from libero_safety.sim import predicate
from libero_safety.sim.scene import SceneError
from libero_safety.ubddl import words
from libero_safety.ubddl.spec import Term


def test_the_tables_know_the_words_of_the_language():
    assert set(predicate.PREDICATES) == set(words.PREDICATES)
    assert set(predicate.MEASURES) == set(words.MEASURES)


def holds(here, word: str, *args: str | float) -> bool:
    return predicate.compile_formula(here.scene, Term(word, args))(here.data)


@pytest.fixture
def table(lab):
    return lab(
        fixtures="stove_1 - flat_stove  cabinet_1 - wooden_cabinet",
        objects="plate_1 - plate  basket_1 - basket",
        init="(On stove_1 main_table.s) (On cabinet_1 main_table.k) "
        "(On plate_1 main_table.p) (On basket_1 main_table.q)",
    )


def settle(here, steps: int = 12) -> None:
    here.act([0, 0, 0, 0, 0, 0, -1], steps)


def test_on_needs_support_not_only_height(table):
    target = table.pos("plate_1")
    table.put("can_1", target + (0, 0, 0.05))
    assert not holds(table, "On", "can_1", "plate_1")  # 3 cm in the air
    settle(table)
    assert holds(table, "On", "can_1", "plate_1")
    assert not holds(table, "On", "plate_1", "can_1")
    assert not holds(table, "On", "soup_1", "plate_1")


def test_on_is_remembered_through_sleep(table):
    table.put("can_1", table.pos("plate_1") + (0, 0, 0.02))
    settle(table, 40)
    tree = table.scene.model.body_treeid[table.scene.entity("can_1").body]
    assert not table.data.tree_awake[tree]
    assert holds(table, "On", "can_1", "plate_1")
    assert holds(table, "On", "soup_1", "workspace")


def test_on_a_zone_and_on_a_region(table):
    zone = predicate.zone_pose(table.data, *table.scene.zone("stove_1.cook_region"))[0]
    table.put("can_1", zone + (0, 0, 0.02))
    settle(table)
    assert holds(table, "On", "can_1", "stove_1.cook_region")
    assert not holds(table, "On", "soup_1", "stove_1.cook_region")
    assert holds(table, "On", "soup_1", "main_table.b_wide")
    assert not holds(table, "On", "can_1", "main_table.b_wide")


def test_in_needs_the_inside_and_something_under_it(table):
    base = table.pos("basket_1")
    table.put("can_1", base + (0, 0, 0.05))
    assert not holds(table, "In", "can_1", "basket_1.contain_region")  # it hangs in the air
    settle(table)
    assert holds(table, "In", "can_1", "basket_1.contain_region")
    table.put("can_1", base + (0.2, 0, 0.0))
    settle(table)
    assert not holds(table, "In", "can_1", "basket_1.contain_region")


def test_doors_and_knobs(table):
    drawer = predicate.joints_of(table.scene.entity("cabinet_1"), "top_region", "door")[0]
    assert holds(table, "Close", "cabinet_1")
    assert not holds(table, "Open", "cabinet_1.top_region")
    far = drawer.spec.high if drawer.spec.opened >= drawer.spec.closed else drawer.spec.low
    table.data.qpos[drawer.qpos] = far
    assert holds(table, "Open", "cabinet_1.top_region")
    assert not holds(table, "Close", "cabinet_1")
    assert holds(table, "Close", "cabinet_1.bottom_region")
    assert not holds(table, "Open", "cabinet_1")
    knob = predicate.joints_of(table.scene.entity("stove_1"), "", "knob")[0]
    assert holds(table, "TurnOff", "stove_1")
    assert not holds(table, "TurnOn", "stove_1")
    table.data.qpos[knob.qpos] = knob.spec.high if knob.spec.opened >= knob.spec.closed else knob.spec.low
    assert holds(table, "TurnOn", "stove_1")


def test_the_start_can_be_open_and_turned_on(lab):
    here = lab(
        fixtures="stove_1 - flat_stove  cabinet_1 - wooden_cabinet",
        init="(On stove_1 main_table.s) (On cabinet_1 main_table.k) (TurnOn stove_1) (Open cabinet_1.middle_region)",
    )
    assert holds(here, "TurnOn", "stove_1")
    assert holds(here, "Open", "cabinet_1.middle_region")
    assert holds(here, "Close", "cabinet_1.top_region")


def test_stack(table):
    can = table.pos("can_1")
    table.put("soup_1", can + (0, 0, 0.1155))
    settle(table, 4)
    assert holds(table, "Stack", "soup_1", "can_1")
    table.put("soup_1", table.pos("plate_1") + (0.055, 0, 0.03))
    assert not holds(table, "Stack", "soup_1", "plate_1")


def test_up_and_upright(table):
    assert not holds(table, "Up", "can_1")
    table.put("can_1", table.pos("can_1") + (0, 0, 0.06))
    assert holds(table, "Up", "can_1")
    assert not holds(table, "Up", "can_1", 0.07)
    assert holds(table, "Upright", "can_1")
    half = np.deg2rad(20) / 2
    table.put("can_1", table.pos("can_1"), (np.cos(half), 0, np.sin(half), 0))
    assert not holds(table, "Upright", "can_1")
    assert holds(table, "Upright", "can_1", float(np.deg2rad(25)))


def test_grasped_and_released(table):
    assert not holds(table, "Grasped", "can_1")
    assert holds(table, "Released")
    table.grasp("can_1")
    assert holds(table, "Grasped", "can_1")
    assert holds(table, "Grasped", "can_1.body")
    assert not holds(table, "Grasped", "can_1.lid")
    assert not holds(table, "Released", "can_1")
    assert not holds(table, "Released")
    assert holds(table, "Released", "soup_1")


def test_one_finger_is_no_grasp(table):
    finger = table.link("left_finger")
    table.put("can_1", finger + (0.0, 0.04, -0.09))
    assert not holds(table, "Grasped", "can_1")


def test_settled(table):
    assert holds(table, "Settled", "can_1")
    table.put("can_1", table.pos("can_1") + (0, 0, 0.2))
    table.act([0, 0, 0, 0, 0, 0, -1], 2)
    assert not holds(table, "Settled", "can_1")


def test_a_thing_that_turns_in_place_is_not_settled(table):
    table.data.qvel[table.scene.entity("can_1").dof + 5] = 1.0
    mujoco.mj_forward(table.scene.model, table.data)
    assert not holds(table, "Settled", "can_1")


def test_touching(table):
    assert holds(table, "Touching", "can_1", "workspace")
    assert holds(table, "Touching", "workspace", "can_1")
    assert not holds(table, "Touching", "can_1", "soup_1")


def test_measures_by_hand(table):
    gauges = predicate.MEASURES
    half = np.deg2rad(30) / 2
    base = table.pos("can_1")
    table.put("can_1", base + (0, 0, 0.25), (np.cos(half), np.sin(half), 0, 0))
    table.put("soup_1", base + (0.2, 0, 0.25))
    assert gauges["Tilt"](table.scene, "can_1")(table.data) == pytest.approx(np.deg2rad(30))
    # Leaning by 30 degrees, the lowest point of a can of radius r is r sin(30) below the centre of its bottom.
    low = float(base[2] - table.scene.workspace_pos[2]) + 0.25 - 0.033 * np.sin(np.deg2rad(30))
    assert gauges["Height"](table.scene, "can_1")(table.data) == pytest.approx(low, abs=1e-3)
    upright = base + (0.0, 0.0, 0.25)
    table.put("can_1", upright)
    assert gauges["Distance"](table.scene, "can_1", "soup_1")(table.data) == pytest.approx(
        0.2 - 0.066, abs=1e-3
    )
    table.data.qvel[table.scene.entity("can_1").dof] = 0.3
    mujoco.mj_forward(table.scene.model, table.data)
    assert gauges["Speed"](table.scene, "can_1")(table.data) == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    "goal",
    ["(On can_1 main_table.nowhere)", "(On can_1 plate_1)", "(TurnOn can_1)", "(Grasped can_1.handle)"],
)
def test_a_goal_that_names_nothing_is_an_error_before_the_first_step(lab, goal):
    with pytest.raises(SceneError, match=r"nowhere|plate_1|can_1"):
        lab(goal=goal)


def test_logic(lab):
    here = lab(goal="(Up can_1)")
    for goal, expected in [
        ("(And (Settled can_1) (Settled soup_1))", True),
        ("(And (Settled can_1) (Up soup_1))", False),
        ("(Or (Up can_1) (Settled soup_1))", True),
        ("(Not (Up can_1))", True),
        ("(Implies (Up can_1) (Up soup_1))", True),
        ("(Implies (Settled can_1) (Up soup_1))", False),
        ("(AtLeast 2 (Up can_1) (Settled can_1) (Settled soup_1))", True),
        ("(AtLeast 2 (Up can_1) (Up soup_1) (Settled soup_1))", False),
        ("(>= (Distance can_1 soup_1) 10cm)", True),
        ("(< (Height can_1) 1cm)", True),
        ("(> (Height can_1) 1cm)", False),
    ]:
        assert lab(goal=f"(And (Up can_1) {goal})").env.goal_reached() is False
        assert predicate.compile_formula(here.scene, formula(goal))(here.data) is expected, goal


def formula(text: str):
    from libero_safety.ubddl.formula import parse_formula
    from libero_safety.ubddl.reader import read

    return parse_formula(read(text))
