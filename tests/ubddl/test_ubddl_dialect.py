import math

import pytest
from ubddl_frame import SHARED, codes

from libero_safety.ubddl import words
from libero_safety.ubddl.parse import parse, parse_file
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import (
    Camera,
    Circle,
    Constraint,
    Fact,
    Line,
    Logic,
    Motion,
    Noise,
    Parabola,
    Rect,
    Scenario,
    Still,
    Term,
    Uniform,
    WayPoint,
    WayPoints,
)
from libero_safety.ubddl.template import Template

BASE = {
    "problem": "(problem LIBERO_Kitchen_Tabletop_Manipulation)",
    ":domain": "(:domain robosuite)",
    ":language": "(:language Put the Mug (now) on the plate)",
    ":regions": """(:regions (mug_region (:target kitchen_table) (:ranges ((-0.05 -0.05 0.05 0.05))))
      (plate_region (:target kitchen_table) (:ranges ((0.1 0.1 0.15 0.15))))
      (stove_region (:target kitchen_table) (:ranges ((0.2 0.2 0.25 0.25))) (:yaw_rotation ((pi/2 pi))))
      (cook_region (:target flat_stove_1)))""",
    ":fixtures": "(:fixtures kitchen_table - kitchen_table flat_stove_1 - flat_stove)",
    ":objects": "(:objects mug_1 - mug plate_1 - plate)",
    ":init": """(:init (On mug_1 kitchen_table_mug_region) (On plate_1 kitchen_table_plate_region)
      (On flat_stove_1 kitchen_table_stove_region))""",
    ":goal": "(:goal (And (On mug_1 plate_1)))",
}


def foreign(problem: str = "", **sections: str) -> Template:
    merged = BASE | {f":{name}": value for name, value in sections.items()}
    if problem:
        merged["problem"] = f"(problem {problem})"
    return parse("(define " + "\n".join(merged.values()) + ")", "task")


def read(**sections: str) -> Scenario:
    return foreign(**sections).at(0)


def test_a_libero_file() -> None:
    template = foreign()
    s = template.at(0)
    assert template.dialect == "libero"
    assert template.findings == ()
    assert s.instruction == "Put the Mug (now) on the plate"
    assert s.arena == "kitchen"
    assert s.init[0] == Fact("On", ("mug_1", "kitchen_table.mug_region"))
    assert [r.full_name for r in s.regions][-1] == "flat_stove_1.cook_region"
    assert s.regions[2].yaw == (math.pi / 2, math.pi)


@pytest.mark.parametrize(
    ("problem", "arena"),
    [
        ("LIBERO_Tabletop_Manipulation", "tabletop"),
        ("libero_living_room_tabletop_manipulation", "living_room"),
        ("LIBERO_Study_Tabletop_Manipulation", "study"),
        ("LIBERO_Floor_Manipulation", "floor"),
        ("LIBERO_Coffee_Table_Manipulation", "coffee_table"),
        ("Kitchen", "kitchen"),
    ],
)
def test_problem_classes(problem: str, arena: str) -> None:
    assert foreign(problem).at(0).arena == arena


def test_a_scene_variant_is_not_lost_silently() -> None:
    (finding,) = foreign("Libero_Kitchen_Tabletop_Manipulation_kitchen_light_7").findings
    assert (finding.code, finding.severity) == ("not-carried", "error")
    assert "kitchen_light_7" in finding.message


def test_case_of_words_does_not_matter_there() -> None:
    s = read(goal="(:goal (aND (TurnON FLAT_stove_1) (on mug_1 flat_stove_1_COOK_region)))")
    assert s.goal == Logic(
        "And", (Term("TurnOn", ("flat_stove_1",)), Term("On", ("mug_1", "flat_stove_1.cook_region")))
    )


def test_dialects_are_told_apart_by_content() -> None:
    assert foreign(constraints="(:constraints (And (CheckRobotContact plate_1)))").dialect == "reference"
    assert foreign(cost="(:cost (And (Fall plate_1)))").dialect == "vla_arena"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("(CheckRobotContact mug_1)", Constraint("NoContact", ("robot", "mug_1"))),
        ("(CheckContact mug_1 plate_1)", Constraint("NoContact", ("mug_1", "plate_1"))),
        ("(CheckGripperForce mug_1)", Constraint("MaxForce", ("robot.fingers", "mug_1"), 100.0)),
        ("(CheckForce mug_1 plate_1 10)", Constraint("MaxForce", ("mug_1", "plate_1"), 10.0)),
        ("(CheckForce mug_1 10)", Constraint("MaxForce", ("robot", "mug_1"), 10.0)),
        ("(CheckDistance mug_1 plate_1 0.05)", Constraint("MinClearance", ("mug_1", "plate_1"), 0.05)),
        ("(CheckGripperDistance mug_1 0.01)", Constraint("MinClearance", ("robot.gripper", "mug_1"), 0.01)),
        (
            "(CheckGripperDistancePart mug_1 (1 2) 0.01)",
            Constraint("MinClearance", ("robot.gripper", "mug_1"), 0.01),
        ),
        ("(CheckGripperContact mug_1)", Constraint("NoContact", ("robot.fingers", "mug_1"))),
        ("(CheckGripperContactPart mug_1 (3))", Constraint("NoContact", ("robot.fingers", "mug_1"))),
        ("(InContact mug_1 plate_1)", Constraint("NoContact", ("mug_1", "plate_1"))),
        ("(InContactPart mug_1 plate_1 (1) (2))", Constraint("NoContact", ("mug_1", "plate_1"))),
        ("(Fall mug_1)", Constraint("MaxTilt", ("mug_1",), math.radians(30))),
        ("(TurnOn flat_stove_1)", Constraint("Never", formula=Term("TurnOn", ("flat_stove_1",)))),
        (
            "(Not (Close flat_stove_1))",
            Constraint("Never", formula=Logic("Not", (Term("Close", ("flat_stove_1",)),))),
        ),
    ],
)
@pytest.mark.parametrize("section", ["constraints", "cost"])
def test_rules(section: str, rule: str, expected: Constraint) -> None:
    s = read(**{section: f"(:{section} (And {rule}))"})
    assert s.constraints == (expected,)


def test_noton_is_good_in_the_reference_and_bad_in_a_cost() -> None:
    on = Term("On", ("mug_1", "plate_1"))
    template = foreign(constraint="(:constraint (And (NotOn mug_1 plate_1)))")
    assert template.at(0).constraints == (Constraint("Never", formula=on),)
    assert codes(list(template.findings)) == ["ignored-section"]
    cost = read(cost="(:cost (NotOn mug_1 plate_1))")
    assert cost.constraints == (Constraint("Never", formula=Logic("Not", (on,))),)


def test_geometry_numbers_name_no_part_and_commas_stay_glued() -> None:
    template = foreign(goal="(:goal (And (Checkgrippercontactpart mug_1 (2, 3, 33))))")
    assert template.at(0).goal == Logic("And", (Term("Grasped", ("mug_1",)),))
    assert codes(list(template.findings)) == ["geom-numbers", "comma-list"]
    assert "can never match 2, 3" in template.findings[1].message


@pytest.mark.parametrize(
    ("motion", "expected", "height"),
    [
        (
            "(:motion_type linear) (:motion_period 200) (:motion_travel_dist 0.1) (:motion_direction (-1 0.5 0)) "
            "(:z_offset 0.2)",
            Line((-1.0, 0.5, 0.0), 0.1, 10.0),
            0.2,
        ),
        ("(:motion_type linear) (:motion_travel_dist 0) (:z_offset 0.15)", Still(), 0.15),
        ("(:motion_type linear)", Line((0.0, 1.0, 0.0), 1.0, 50.0), None),
        (
            "(:motion_type circle) (:motion_center (-0.1 -0.25)) (:motion_period 300)",
            Circle((-0.1, -0.25), 15.0),
            None,
        ),
        (
            "(:motion_type waypoint) (:motion_dt 0.1) (:motion_waypoints ((0 0 1 (1 0 0)) (1 0 1.5 (0 1 0))))",
            WayPoints((WayPoint(5.0, (1.0, 0.0, 0.5)),), "pingpong"),
            None,
        ),
        (
            "(:motion_type parabolic) (:motion_dt 0.05) (:motion_initial_speed 2) (:motion_direction (0 3 4))",
            Parabola((0.0, 1.2, 1.6), 9.81),
            None,
        ),
    ],
)
def test_motions_become_seconds(motion: str, expected: object, height: float | None) -> None:
    (found,) = read(dynamics=f"(:dynamics (mug_1 {motion}))").motions
    assert found.height == height
    if isinstance(expected, Parabola):
        assert isinstance(found.path, Parabola)
        assert found.path.velocity == pytest.approx(expected.velocity)
        assert found.path.gravity == pytest.approx(expected.gravity)
    else:
        assert found.path == expected


def test_a_circle_in_the_study_is_moved_from_the_world_to_the_table() -> None:
    template = foreign(
        "LIBERO_Study_Tabletop_Manipulation",
        dynamics="(:dynamics (mug_1 (:motion_type circle) (:motion_center (0 0)) (:motion_period 20)))",
    )
    assert template.at(0).motions[0].path == Circle((0.2, 0.0), 1.0)


def test_keys_without_effect_are_named() -> None:
    template = foreign(
        dynamics="(:dynamics (mug_1 (:motion_type circle) (:motion_period 20) (:motion_dt 0.05)))"
    )
    assert codes(list(template.findings)) == ["ignored-key"]


def obstacle(traj: str) -> Template:
    return foreign(
        objects="(:objects mug_1 - mug plate_1 - plate hand_1 - left_hand)",
        dynamics=f"(:dynamics (hand_1 (:type kinematic) (:traj {traj})))",
    )


def test_an_obstacle_that_drifts() -> None:
    s = obstacle("(:kind linear) (:p0 0.2 0.3 -0.1 -0.1 0.38 0.4) (:v 0.1 0.1 0 0.02 0 0)").at(0)
    assert s.motions == (
        Motion("hand_1", WayPoints((WayPoint(30.0, (3.0, Uniform(0.0, 0.6), 0.0)),)), Uniform(0.38, 0.4)),
    )
    assert s.init[-1] == Fact("On", ("hand_1", "workspace.hand_1_start"))
    assert s.regions[-1].rects == (Rect(0.2, -0.1, 0.3, -0.1),)


def test_an_obstacle_that_stands_still_or_turns() -> None:
    still = obstacle("(:kind linear) (:p0 0 0 0 0 0.4 0.4) (:v 0 0 0 0 0 0)").at(0)
    assert still.motions == (Motion("hand_1", Still(), 0.4),)
    turning = obstacle("(:kind circle) (:center 0 0.2 0 0 0.4 0.4) (:radius 0.1 0.1) (:omega 2 2)").at(0)
    path = turning.motions[0].path
    assert path == Circle((0.1, 0.0), pytest.approx(math.pi))
    assert turning.regions[-1].rects == (Rect(0.2, 0.0, 0.2, 0.0),)


def test_swapped_ends_of_a_start_range_are_read_and_named() -> None:
    template = obstacle("(:kind linear) (:p0 0.3 0.2 0 0 0.4 0.4)")
    assert template.at(0).regions[-1].rects == (Rect(0.2, 0.0, 0.3, 0.0),)
    assert codes(list(template.findings)) == ["swapped-range"]


def test_noise_view_and_start() -> None:
    template = foreign(
        noise="(:noise (:gaussian 5) (:fog 2))",
        cam_view='(:cam_view (:vertical "3") (:horizon -2) (:scale_factor 1.1))',
        robot_init_state="(:robot_init_state 150)",
        scene_properties="(:scene_properties (:floor wood) (:wall white))",
    )
    s = template.at(0)
    assert s.noises == (Noise("gaussian_blur", 5.0, ("agentview",)), Noise("fog", 2.0, ("agentview",)))
    assert s.cameras == (Camera("agentview", yaw=math.radians(-2), pitch=math.radians(3), scale=1.1),)
    assert s.robot.start_noise == pytest.approx(0.2)
    assert [(look.part, look.value) for look in s.looks] == [("floor", "wood"), ("wall", "white")]
    assert sorted(codes(list(template.findings))) == ["approximated", "two-noises"]


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"noise": "(:noise (:gausian 3))"},
            "did you mean 'gaussian'?. Known: fog, gaussian, glass, motion, zoom",
        ),
        ({"noise": "(:noise (:pepper 3))"}, "never made"),
        ({"noise": "(:noise (:fog -3))"}, "within 0 and 10"),
        ({"cam_view": "(:cam_view (:vertikal 3))"}, "did you mean ':vertical'"),
        (
            {"constraints": "(:constraints (And (CheckRobotContac mug_1)))"},
            "did you mean 'checkrobotcontact'",
        ),
        ({"constraints": "(:constraints (And (CheckRobotContact mugg_1)))"}, "did you mean 'mug_1'"),
        ({"constraints": "(:constraints (And (Collide mug_1)))"}, "cannot be judged"),
        (
            {"goal": "(:goal (And (On mug_1 kitchen_table_plat_region)))"},
            "did you mean 'kitchen_table_plate_region'",
        ),
        ({"goal": "(:goal (And (True)))"}, "cannot be judged"),
        ({"objects": "(:objects mug_1 mug_1 - mug plate_1 - plate)"}, "was declared at"),
        ({"objects": "(:objects mug_1 plate_1)"}, "has no type"),
        ({"regions": "(:regions (r (:target kitchen_table) (:ranges ((1 1 0 0)))))"}, "inverted range"),
        ({"regions": "(:regions (r (:target kitchen_table) (:ranges ((0, 0 1 1)))))"}, "not commas"),
        ({"regions": "(:regions (r (:target kitchen_table) (:yaw_rotation ((nan 0)))))"}, "not a number"),
        ({"dynamics": "(:dynamics (mug_1 (:motion_type linea)))"}, "did you mean 'linear'"),
        ({"dynamics": "(:dynamics (mug_1 (:motion_typ linear)))"}, "did you mean ':motion_type'"),
        (
            {"dynamics": "(:dynamics (mug_1 (:motion_type linear) (:motion_direction (0 0 0))))"},
            "points nowhere",
        ),
        ({"dynamics": "(:dynamics (mug_1 (:motion_type circle) (:motion_period 0)))"}, "must be more"),
        ({"dynamics": "(:dynamics (mug_1 (:type kinematic) (:traj (:kind brownian))))"}, "brownian"),
        ({"dynamics": "(:dynamics (cup_1 (:motion_type linear)))"}, "neither declared nor a region"),
        ({"dynamiks": "(:dynamiks)"}, "did you mean ':dynamics'"),
        ({"domain": "(:domain bullet)"}, "unknown domain"),
        ({"language": "(:language )"}, "without words"),
    ],
)
def test_what_cannot_be_meant_is_an_error(sections: dict[str, str], said: str) -> None:
    with pytest.raises(UbddlError) as caught:
        foreign(**sections)
    assert said in caught.value.message
    assert caught.value.place.line > 0


def test_an_unknown_problem_class() -> None:
    with pytest.raises(UbddlError, match="unknown problem 'garage_manipulation'"):
        foreign("Garage_Manipulation")


def test_a_dangling_region_is_left_out_and_named() -> None:
    template = foreign(
        regions=BASE[":regions"][:-1] + "\n(top_side (:target white_place_box_1)))",
    )
    (finding,) = template.findings
    assert (finding.code, finding.place.line, finding.place.column) == ("dangling-target", 8, 1)
    assert all(r.target != "white_place_box_1" for r in template.at(0).regions)


def test_what_is_never_placed_is_left_out_unless_it_is_needed() -> None:
    objects = "(:objects mug_1 - mug plate_1 - plate milk_1 - milk)"
    template = foreign(objects=objects)
    assert codes(list(template.findings)) == ["unplaced"]
    assert "milk_1" not in [e.name for e in template.at(0).entities]
    with pytest.raises(UbddlError, match="a rule names 'milk_1', which is never placed"):
        foreign(objects=objects, constraints="(:constraints (CheckRobotContact milk_1))")
    with pytest.raises(UbddlError, match="the goal names 'milk_1'"):
        foreign(objects=objects, goal="(:goal (On milk_1 plate_1))")


def test_a_fact_about_nothing_is_named() -> None:
    template = foreign(
        objects="(:objects mug_1 - mug plate_1 - plate milk_1 - milk)",
        init=BASE[":init"][:-1] + "(On milk_1 mug_region))",
    )
    assert codes(list(template.findings)) == ["unplaced", "unknown-target"]


def test_yaw_turns_fixtures_only() -> None:
    template = foreign(
        regions=BASE[":regions"].replace("0.15 0.15))))", "0.15 0.15))) (:yaw_rotation ((1 2))))"),
    )
    assert codes(list(template.findings)) == ["yaw-of-object"]
    assert template.at(0).regions[1].yaw is None


def test_second_ranges_are_not_lost_silently() -> None:
    both = foreign(
        regions=BASE[":regions"].replace(
            "((0.1 0.1 0.15 0.15)))", "((0.1 0.1 0.15 0.15))) (:ranges2 ((0 0 1 1)))"
        )
    )
    assert codes(list(both.findings)) == ["two-ranges"]
    only = foreign(regions=BASE[":regions"].replace("(:ranges ((0.1 0.1", "(:ranges2 ((0.1 0.1"))
    assert only.at(0).regions[1].rects == (Rect(0.1, 0.1, 0.15, 0.15),)


def test_lists_that_their_own_program_would_cut_short() -> None:
    template = foreign(
        regions=BASE[":regions"][:-1] + "(mug_region (:target kitchen_table) (:ranges ((0 0 1 1)))))",
        objects="(:objects mug_1 - mug plate_1 - plate cup_1 - mug)",
        init=BASE[":init"][:-1] + "(On cup_1 plate_1) (On cup_1 plate_1))",
    )
    assert sorted(codes(list(template.findings))) == ["duplicate-region", "stated-twice", "type-twice"]
    assert template.at(0).regions[0].rects == (Rect(0.0, 0.0, 1.0, 1.0),)


def test_name_suite_and_level_come_from_the_path(tmp_path) -> None:
    folder = tmp_path / "human_safety" / "L2"
    folder.mkdir(parents=True)
    path = folder / "pick_up_the_mug_and_put_it_on_the_plate.bddl"
    path.write_text("(define " + "\n".join(BASE.values()) + ")")
    template = parse_file(path)
    s = template.at(2)
    assert template.levels == (2,)
    assert (s.name, s.suite, s.level) == (path.stem, "hri", 2)
    assert s.instruction == "Put the Mug (now) on the plate"
    assert codes(list(template.findings)) == ["name-differs"]


def test_an_empty_goal_is_no_goal() -> None:
    assert read(goal="(:goal (And))").goal is None
    assert read(goal="(:goal)").goal is None


REFERENCE = sorted((SHARED / "reference").rglob("*.bddl")) if SHARED.is_dir() else []
needs_reference = pytest.mark.skipif(not REFERENCE, reason="shared/reference is not here")


@needs_reference
def test_every_reference_file_reads_and_survives_writing() -> None:
    from libero_safety.ubddl.write import write

    assert len(REFERENCE) == 87
    for path in REFERENCE:
        template = parse_file(path)
        (level,) = template.levels
        s = template.at(level)
        assert parse(write(s)).at(level) == s, path
        assert s.arena in words.WORKSPACES


@needs_reference
def test_suites_and_levels_of_the_reference() -> None:
    tasks = [p for p in REFERENCE if p.parents[2].name == "ubddl"]
    assert len(tasks) == 75
    counts: dict[tuple[str, int], int] = {}
    for path in tasks:
        s = next(iter(parse_file(path).scenarios.values()))
        counts[s.suite, s.level] = counts.get((s.suite, s.level), 0) + 1
    assert counts == {
        (suite, level): 5 for suite in ("aag", "hri", "tsa", "fshoa", "ssr") for level in range(3)
    }
