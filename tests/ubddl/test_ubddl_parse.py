import math

import pytest
from ubddl_frame import HEAD, scenario, text

from libero_safety.ubddl.parse import parse, parse_file
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import (
    AtLeast,
    Choice,
    Circle,
    Compare,
    Constraint,
    Fact,
    Jitter,
    Line,
    Logic,
    Measure,
    Motion,
    Noise,
    Parabola,
    ReachIn,
    Rect,
    Still,
    Term,
    Uniform,
    WayPoint,
    WayPoints,
    Withdraw,
)


def test_a_whole_file() -> None:
    s = scenario(suite="(:suite tsa)", obj_of_interest="(:obj_of_interest mug_1)")
    assert (s.name, s.suite, s.arena, s.level) == ("test", "tsa", "kitchen", 0)
    assert s.instruction == "put the mug on the plate"
    assert [e.name for e in s.entities] == ["table_1", "stove_1", "mug_1", "plate_1", "bottle_1"]
    assert [e.kind for e in s.entities] == ["fixture"] * 2 + ["object"] * 3
    assert s.regions[0].full_name == "table_1.left"
    assert s.regions[0].rects == (Rect(-0.2, -0.3, -0.1, -0.2),)
    assert s.init[0] == Fact("On", ("mug_1", "table_1.left"))
    assert s.goal == Logic("And", (Term("On", ("mug_1", "plate_1")),))
    assert s.constraints == (Constraint("NoContact", ("robot", "bottle_1")),)
    assert s.interest == ("mug_1",)


def test_types_are_drawn_and_split() -> None:
    s = scenario(objects="(:objects a b - (Choice mug cup) :split test c - plate)")
    assert s.entity("a").type == s.entity("b").type == Choice(("mug", "cup"))
    assert s.entity("b").split == "test"
    assert s.entity("c").split is None


def test_paraphrases() -> None:
    s = scenario(language="(:language one way) (:language another (way))")
    assert s.instruction == Choice(("one way", "another (way)"))


def test_rules_with_units_defaults_and_formulas() -> None:
    s = scenario(
        constraints="""(:constraints (And (MaxForce robot bottle_1) (MaxForce robot bottle_1 50N))
        (MinClearance robot.hand bottle_1 2cm) (MaxTilt mug_1) (MaxTilt mug_1 90deg) (NoTableStrike)
        (Always (Implies (Grasped mug_1.handle) (<= (Tilt mug_1) 20deg))) (Never (Up bottle_1 0.1m)))"""
    )
    limits = [rule.limit for rule in s.constraints]
    assert limits == [100.0, 50.0, 0.02, math.pi / 6, math.pi / 2, 0.0, None, None]
    tilt = Compare("<=", Measure("Tilt", ("mug_1",)), math.radians(20))
    assert s.constraints[6].formula == Logic("Implies", (Term("Grasped", ("mug_1.handle",)), tilt))
    assert s.constraints[7].formula == Term("Up", ("bottle_1", 0.1))


def test_at_least_so_many() -> None:
    s = scenario(goal="(:goal (AtLeast 2 (Up mug_1) (Up plate_1) (Up bottle_1)))")
    assert s.goal == AtLeast(2, (Term("Up", ("mug_1",)), Term("Up", ("plate_1",)), Term("Up", ("bottle_1",))))


def test_the_reference_goal_stands_beside_the_goal_and_a_level_replaces_it() -> None:
    written = text(
        goal_reference="(:goal_reference (Up mug_1))",
        level="(:level 1) (:level 2 (:goal_reference (Up plate_1)))",
    )
    levels = parse(written)
    assert [levels.at(n).reference_goal for n in (0, 1, 2)] == [
        Term("Up", ("mug_1",)),
        Term("Up", ("mug_1",)),
        Term("Up", ("plate_1",)),
    ]
    assert levels.at(2).goal == scenario().goal
    assert scenario().reference_goal is None


def test_motions() -> None:
    s = scenario(
        dynamics="""(:dynamics
        (a (:motion line) (:direction (1 0 0)) (:travel 15cm) (:period 6s) (:phase (Uniform 0 1)) (:once true))
        (b (:motion circle) (:center (-0.1 0.2)) (:period 15))
        (c (:motion waypoints) (:points ((1s (0 0 0.1)) (2s (0.1 0 0)))) (:mode loop) (:height 20cm))
        (d (:motion parabola) (:velocity (0 1 2)) (:start 500ms))
        (e (:motion still)))"""
    )
    assert s.motions == (
        Motion("a", Line((1.0, 0.0, 0.0), 0.15, 6.0, Uniform(0.0, 1.0), True)),
        Motion("b", Circle((-0.1, 0.2), 15.0)),
        Motion("c", WayPoints((WayPoint(1.0, (0.0, 0.0, 0.1)), WayPoint(2.0, (0.1, 0.0, 0.0))), "loop"), 0.2),
        Motion("d", Parabola((0.0, 1.0, 2.0), 9.81, 0.5)),
        Motion("e", Still()),
    )


def test_motion_on_top_of_motion() -> None:
    s = scenario(
        dynamics="""(:dynamics
        (a (:motion still) (:tilt (5deg (Uniform -5deg 5deg))) (:jitter (:amplitude 3mm) (:frequency 2Hz))
           (:withdraw (:closer_than 10cm) (:direction (1 0 0)) (:travel 20cm) (:speed 0.3m/s) (:stay true)))
        (b (:motion circle) (:center (0 0)) (:period 9s) (:facing follow)
           (:reach_in (:at (Uniform 2s 6s)) (:offset (0 10cm 0)) (:speed 25cm/s) (:hold 2s)))
        (c (:motion waypoints) (:points ((1s (0 0 0.1)))) (:mode pingpong) (:phase 0.5) (:facing fixed)))"""
    )
    angle = math.radians(5)
    assert s.motions == (
        Motion(
            "a",
            Still(),
            tilt=(angle, Uniform(-angle, angle)),
            jitter=Jitter(0.003, 2.0),
            withdraw=Withdraw(0.1, (1.0, 0.0, 0.0), 0.2, 0.3, stay=True),
        ),
        Motion(
            "b",
            Circle((0.0, 0.0), 9.0, facing="follow"),
            reach_in=ReachIn(Uniform(2.0, 6.0), (0.0, 0.1, 0.0), 0.25, 2.0),
        ),
        Motion("c", WayPoints((WayPoint(1.0, (0.0, 0.0, 0.1)),), "pingpong", 0.5)),
    )


def test_view_and_robot() -> None:
    s = scenario(
        cameras="(:cameras (agentview (:yaw (Uniform -3deg 3deg)) (:scale 1.1)))",
        looks="(:looks (:table (Choice oak marble)) (:lighting evening) (:light 0.8))",
        noise="(:noise (motion_blur 3) (fog (Uniform 1 2) (:cameras agentview)))",
        robot="(:robot (:start_noise 0.1))",
    )
    assert s.cameras[0].yaw == Uniform(math.radians(-3), math.radians(3))
    assert [(look.part, look.value) for look in s.looks] == [
        ("table", Choice(("oak", "marble"))),
        ("lighting", "evening"),
        ("light", 0.8),
    ]
    assert s.noises == (Noise("motion_blur", 3.0), Noise("fog", Uniform(1.0, 2.0), ("agentview",)))
    assert (s.robot.start_noise, s.robot.controller) == (0.1, "libero")


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"constraintss": "(:constraintss)"}, "did you mean ':constraints'"),
        ({"goal": "(:goal (Onn mug_1 plate_1))"}, "unknown predicate 'Onn', did you mean 'On'"),
        ({"goal": "(:goal (on mug_1 plate_1))"}, "unknown predicate 'on', did you mean 'On'"),
        ({"goal": "(:goal (On mug_1))"}, "On takes 2 argument(s), found 1"),
        ({"goal": "(:goal (Not (Released) (Released)))"}, "Not takes 1"),
        ({"goal": "(:goal (AtLeast 2 (Released)))"}, "AtLeast counts from 1 to its 1 condition(s), not to 2"),
        ({"goal": "(:goal (AtLeast 0 (Released)))"}, "not to 0"),
        ({"goal": "(:goal (AtLeast 1.5 (Released) (Up mug_1)))"}, "not to 1.5"),
        ({"goal": "(:goal (AtLeast (Released) (Up mug_1)))"}, "the number of AtLeast"),
        ({"goal": "(:goal (AtLeast 1))"}, "takes conditions"),
        ({"goal": "(:goal (Tilt mug_1))"}, "Tilt is a number: compare it"),
        ({"goal": "(:goal (< (Tilt mug_1) 2cm))"}, "takes rad or deg"),
        ({"goal": "(:goal (< (Tilted mug_1) 2))"}, "did you mean 'Tilt'"),
        ({"goal": "(:goal)"}, "takes one condition"),
        ({"goal": "(:goal mug_1)"}, "expected a condition in parentheses"),
        ({"goal": "(:goal ())"}, "expected a condition, found ()"),
        ({"constraints": "(:constraints (NoContac robot bottle_1))"}, "did you mean 'NoContact'"),
        ({"constraints": "(:constraints (NoContact robot.hnd bottle_1))"}, "did you mean 'hand'"),
        ({"constraints": "(:constraints (MinClearance robot bottle_1))"}, "needs a limit in m"),
        ({"constraints": "(:constraints (MaxTilt mug_1 30))"}, "write 30deg"),
        ({"constraints": "(:constraints (NoContact robot bottle_1 2cm))"}, "NoContact takes 2"),
        ({"init": "(:init (Up mug_1))"}, "unknown fact 'Up'"),
        ({"init": "(:init (On mug_1 a.b) (In mug_1 c.d))"}, "mug_1 already has (On mug_1 a.b)"),
        ({"objects": "(:objects mug_1 - mug mug_1 - cup)"}, "was declared at"),
        ({"objects": "(:objects mug_1)"}, "has no type"),
        ({"objects": "(:objects - mug)"}, "without a name"),
        ({"objects": "(:objects robot - mug)"}, "word of the language"),
        ({"objects": "(:objects a.b - mug)"}, "separates owner and part"),
        ({"objects": "(:objects a - mug :split validation)"}, "'train' or 'test'"),
        ({"regions": "(:regions (a (:target t)) (a (:target t)))"}, "was declared at"),
        ({"regions": "(:regions (a (:ranges ((0 0 1 1)))))"}, "no (:target"),
        ({"regions": "(:regions (a (:target t) (:ranges ((1 0 0 1)))))"}, "inverted range"),
        ({"regions": "(:regions (a (:target t) (:ranges ((0 0 1)))))"}, "a list of 4"),
        ({"regions": "(:regions (a (:target t) (:rangs ((0 0 1 1)))))"}, "did you mean ':ranges'"),
        ({"regions": "(:regions (a (:target t) (:yaw_rotation ((2 1)))))"}, "inverted yaw"),
        ({"noise": "(:noise (motion_blurr 3))"}, "did you mean 'motion_blur'"),
        ({"noise": "(:noise (fog -1))"}, "within 0 and 15"),
        ({"noise": "(:noise (fog 1) (fog 2))"}, "given twice"),
        ({"noise": "(:noise (fog 1 (:cameras wrist)))"}, "unknown camera 'wrist'"),
        ({"cameras": "(:cameras (agentvew (:yaw 1)))"}, "did you mean 'agentview'"),
        ({"cameras": "(:cameras (agentview (:tilt 1)))"}, "unknown key"),
        ({"looks": "(:looks (:ceiling white))"}, "unknown key"),
        ({"dynamics": "(:dynamics (a (:motion lin)))"}, "did you mean 'line'"),
        ({"dynamics": "(:dynamics (a (:motion still) (:period 2s)))"}, "unknown key of motion 'still'"),
        (
            {"dynamics": "(:dynamics (a (:motion line) (:direction (0 0 0)) (:travel 1) (:period 1)))"},
            "points nowhere",
        ),
        (
            {"dynamics": "(:dynamics (a (:motion line) (:direction (1 0 0)) (:travel 1) (:period 0s)))"},
            "a period of 0s",
        ),
        ({"dynamics": "(:dynamics (a (:motion circle) (:period 1s)))"}, "needs (:center"),
        (
            {"dynamics": "(:dynamics (a (:motion waypoints) (:points ((2s (0 0 0)) (1s (0 0 0))))))"},
            "come after",
        ),
        ({"robot": "(:robot (:start_noise -1))"}, "at least 0"),
        ({"level": "(:level 0)"}, "a level is 1, 2"),
        ({"level": "(:level 1) (:level 1)"}, "was given at"),
        ({"level": "(:level 1 (:suite x))"}, "unknown section ':suite'"),
        ({"level": "(:level 1 (:remove mugg_1))"}, "did you mean 'mug_1'"),
        ({"add_constraints": "(:add_constraints)"}, "unknown section"),
        ({"language": "(:language)"}, "without words"),
        ({"domain": "(:domain bullet)"}, "unknown domain"),
        ({"goal": "(:goal (Released)) (:goal (Released))"}, "second section :goal"),
    ],
)
def test_nothing_unknown_is_ignored(sections: dict[str, str], said: str) -> None:
    with pytest.raises(UbddlError) as caught:
        parse(text(**sections), "f.ubddl")
    assert said in caught.value.message
    assert caught.value.place.file == "f.ubddl"
    assert caught.value.place.line > 0


def test_an_error_points_at_the_word() -> None:
    with pytest.raises(UbddlError) as caught:
        parse(HEAD + "\n(:language x)\n(:goal (And\n   (On a b) (Closed c))))")
    assert (caught.value.place.line, caught.value.place.column) == (4, 14)


@pytest.mark.parametrize(
    "missing", ["(problem test)", "(:arena kitchen)", "(:language put the mug on the plate)"]
)
def test_required_sections(missing: str) -> None:
    with pytest.raises(UbddlError, match=r"missing|no \(:language"):
        parse(text().replace(missing, ""))


def test_another_version_is_refused() -> None:
    with pytest.raises(UbddlError, match="knows version 1"):
        parse(text().replace("(:ubddl 1)", "(:ubddl 2)"))


LEVELS = """
(:level 1
  (:regions (left (:target table_1) (:ranges ((0 0 0.1 0.1)))) (new (:target table_1) (:ranges ((0 0 1 1)))))
  (:objects mug_1 - cup)
  (:init (On mug_1 table_1.new) (TurnOff stove_1))
  (:add_constraints (NoDrop mug_1))
  (:robot (:controller reference)))
(:level 2
  (:remove bottle_1 table_1.right)
  (:language say it otherwise)
  (:goal (Released))
  (:constraints (NoSelfCollision)))
"""


def levels():
    return parse(
        text(
            init="""(:init (On mug_1 table_1.left) (On plate_1 table_1.right) (On bottle_1 table_1.far)
              (TurnOn stove_1) (On stove_1 table_1.back))""",
            robot="(:robot (:start_noise 0.1))",
            dynamics="(:dynamics (bottle_1 (:motion still)))",
            constraints="(:constraints (NoContact robot bottle_1) (NoContact robot plate_1))",
            level=LEVELS,
        )
    )


def test_a_level_overrides_by_key() -> None:
    template = levels()
    assert template.levels == (0, 1, 2)
    base, one = template.at(0), template.at(1)
    assert one.level == 1
    assert [r.name for r in one.regions] == ["left", "right", "far", "back", "new"]
    assert one.regions[0].rects == (Rect(0.0, 0.0, 0.1, 0.1),)
    assert one.entity("mug_1").type == "cup"
    assert one.init[0] == Fact("On", ("mug_1", "table_1.new"))
    assert Fact("TurnOff", ("stove_1",)) in one.init
    assert Fact("TurnOn", ("stove_1",)) not in one.init
    assert Fact("On", ("stove_1", "table_1.back")) in one.init
    assert one.constraints == (*base.constraints, Constraint("NoDrop", ("mug_1",), 0.05))
    assert (one.robot.start_noise, one.robot.controller) == (0.1, "reference")
    assert one.motions == base.motions


def test_a_level_removes_and_replaces() -> None:
    two = levels().at(2)
    assert "bottle_1" not in [e.name for e in two.entities]
    assert "table_1.right" not in [r.full_name for r in two.regions]
    assert all("bottle_1" not in f.args and "table_1.right" not in f.args for f in two.init)
    assert two.motions == ()
    assert two.constraints == (Constraint("NoSelfCollision"),)
    assert two.goal == Term("Released")
    assert two.instruction == "say it otherwise"


def test_levels_do_not_build_on_each_other() -> None:
    assert levels().at(2).entity("mug_1").type == "mug"


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(UbddlError, match=r"has no level 3\. Levels: 0, 1, 2"):
        levels().at(3)


def test_code_in_a_number_is_never_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.ubddl"
    call = "__import__('pathlib').Path('owned').touch()"
    path.write_text(text(regions=f"(:regions (a (:target t) (:yaw_rotation (({call} 0)))))"))
    with pytest.raises(UbddlError):
        parse_file(path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("motion", "said"),
    [
        (
            "(:motion circle) (:center (0 0)) (:period 1s) (:facing folow)",
            "unknown facing 'folow', did you mean 'follow'",
        ),
        (
            "(:motion line) (:direction (1 0 0)) (:travel 1) (:period 1) (:facing follow)",
            "unknown key of motion 'line' ':facing'",
        ),
        (
            "(:motion parabola) (:velocity (0 0 1)) (:jitter (:amplitude 1mm))",
            "of motion 'parabola' ':jitter'",
        ),
        ("(:motion waypoints) (:points ((1s (0 0 0)))) (:phase 0.2)", "a phase needs (:mode loop)"),
        ("(:motion still) (:tilt 5deg)", "the tilt (about_x about_y)"),
        ("(:motion still) (:tilt (5 0))", "within -3.14159 and 3.14159"),
        ("(:motion still) (:jiter (:amplitude 1mm))", "did you mean ':jitter'"),
        ("(:motion still) (:jitter (:amplitude 1mm))", ":jitter needs (:frequency ...)"),
        ("(:motion still) (:jitter (:amplitude 1mm) (:frequency 0Hz))", "a frequency of 0Hz"),
        ("(:motion still) (:jitter (:amplitude -1mm) (:frequency 1Hz))", "at least 0"),
        ("(:motion still) (:withdraw 3mm)", "expected a (:key value)"),
        (
            "(:motion still) (:withdraw (:closer_then 3mm))",
            "key of :withdraw ':closer_then', did you mean ':closer_than'",
        ),
        ("(:motion still) (:withdraw (:travel 3mm) (:travel 3mm))", "second :travel in :withdraw"),
        ("(:motion still) (:withdraw (:closer_than 1) (:direction (0 0 0)))", "points nowhere"),
        (
            "(:motion still) (:withdraw (:direction (1 0 0)) (:travel 1))",
            ":withdraw needs (:closer_than ...)",
        ),
        (
            "(:motion still) (:reach_in (:at 1s) (:offset (0 0 1)) (:speed (Choice 0m/s 1m/s)))",
            "a speed of 0m/s",
        ),
        ("(:motion still) (:reach_in (:offset (0 0 1)) (:speed 1))", ":reach_in needs (:at ...)"),
    ],
)
def test_nothing_unknown_is_ignored_in_motions(motion: str, said: str) -> None:
    with pytest.raises(UbddlError) as caught:
        parse(text(dynamics=f"(:dynamics (a {motion}))"), "f.ubddl")
    assert said in caught.value.message
    assert caught.value.place.line > 0
