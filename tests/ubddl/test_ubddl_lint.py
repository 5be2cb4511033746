from pathlib import Path

import pytest
from ubddl_frame import KITCHEN, SHARED, Sizes, codes, scenario, text

from libero_safety.types import Footprint
from libero_safety.ubddl import Finding, lint, lint_file
from libero_safety.ubddl.spec import (
    Constraint,
    Entity,
    Fact,
    Jitter,
    Line,
    Motion,
    Noise,
    ReachIn,
    Rect,
    Region,
    Scenario,
    WayPoint,
    WayPoints,
    Withdraw,
)


def found(geometry: Sizes | None = None, **sections: str) -> list[Finding]:
    return lint(scenario(**sections), geometry=geometry)


def test_the_kitchen_is_clean() -> None:
    assert found() == []
    assert found(Sizes()) == []


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        ({"regions": "(:regions (left (:target tabel_1) (:ranges ((0 0 1 1)))))"}, "dangling-target"),
        ({"constraints": "(:constraints (NoContact robot botle_1))"}, "undeclared"),
        ({"goal": "(:goal (On mugg_1 plate_1))"}, "undeclared"),
        ({"dynamics": "(:dynamics (ball_1 (:motion still)))"}, "undeclared"),
        ({"obj_of_interest": "(:obj_of_interest cup_1)"}, "undeclared"),
        ({"goal": "(:goal (On mug_1 table_1.leftt))"}, "unknown-region"),
        ({"goal_reference": "(:goal_reference (On mug_1 table_1.leftt))"}, "unknown-region"),
        ({"goal_reference": "(:goal_reference (On mugg_1 plate_1))"}, "undeclared"),
        ({"init": "(:init (On mug_1 table_1.left) (On plate_1 table_1.right))"}, "unplaced"),
        ({"init": "(:init (On mug_1 workspace) (On plate_1 table_1.right))"}, "no-range"),
        ({"init": "(:init (On mug_1 plate_1) (On plate_1 mug_1))"}, "stands-on-itself"),
        ({"goal": "(:goal (And))"}, "empty-goal"),
        ({"goal": "(:goal (And (On mug_1 table_1.left) (Released)))"}, "goal-true-at-start"),
        ({"goal": "(:goal (Or (On mug_1 table_1) (Grasped mug_1)))"}, "goal-true-at-start"),
        ({"goal": "(:goal (And (On mug_1 plate_1) (On plate_1 table_1)))"}, "goal-part-true"),
        (
            {"goal": "(:goal (AtLeast 2 (On mug_1 table_1) (On mug_1 plate_1) (On plate_1 table_1)))"},
            "goal-true-at-start",
        ),
        (
            {"constraints": "(:constraints (Always (AtLeast 2 (On mug_1 table_1) (On mug_1 plate_1))))"},
            "broken-at-start",
        ),
        (
            {"constraints": "(:constraints (NoContact mug_1 bottle_1) (NoContact bottle_1 mug_1))"},
            "duplicate-rule",
        ),
        ({"constraints": "(:constraints (MaxForce robot mug_1 5N) (MaxForce robot mug_1 9N))"}, "same-pair"),
        ({"constraints": "(:constraints (NoContact table_1 stove_1))"}, "dead-rule"),
        ({"constraints": "(:constraints (NoContact mug_1 mug_1.handle))"}, "dead-rule"),
        ({"constraints": "(:constraints (MaxTilt stove_1))"}, "dead-rule"),
        ({"constraints": "(:constraints (MinClearance robot mug_1 0m))"}, "dead-rule"),
        ({"constraints": "(:constraints (MinClearance robot mug_1 -1cm))"}, "dead-rule"),
        ({"constraints": "(:constraints (Always (Implies (Grasped stove_1) (Released))))"}, "dead-rule"),
        ({"constraints": "(:constraints (MaxForce robot mug_1 -5N))"}, "broken-at-start"),
        ({"constraints": "(:constraints (Never (On mug_1 table_1.left)))"}, "broken-at-start"),
        ({"constraints": "(:constraints (NoContact mug_1 plate_1))"}, "contradiction"),
        ({"constraints": "(:constraints (Never (On mug_1 plate_1)))"}, "contradiction"),
        ({"dynamics": "(:dynamics (stove_1 (:motion still)))"}, "motion-target"),
        (
            {"dynamics": "(:dynamics (bottle_1 (:motion circle) (:center (0 0)) (:period 50ms)))"},
            "fast-motion",
        ),
        (
            {
                "dynamics": "(:dynamics (bottle_1 (:motion line) (:direction (1 0 0)) (:travel 10) (:period 500s)))"
            },
            "never-returns",
        ),
    ],
)
def test_each_defect_has_its_code_and_place(sections: dict[str, str], code: str) -> None:
    findings = [finding for finding in found(**sections) if finding.code == code]
    assert findings, codes(found(**sections))
    assert all(finding.place.line > 0 for finding in findings)


def test_no_goal_is_a_warning() -> None:
    (finding,) = lint(scenario(goal=""))
    assert (finding.code, finding.severity) == ("no-goal", "warning")


def test_a_rule_about_what_is_held_where_nothing_can_be() -> None:
    findings = lint(
        Scenario(
            "x",
            "y",
            "kitchen",
            (Entity("table_1", "kitchen_table", "fixture"), Entity("stove_1", "flat_stove", "fixture")),
            (Region("r", "table_1", (Rect(0, 0, 1, 1),)),),
            (Fact("On", ("stove_1", "table_1.r")),),
            constraints=(Constraint("NoContact", ("held", "stove_1")),),
        )
    )
    assert codes(findings) == ["no-goal", "dead-rule"]


def test_names_that_stand_twice_or_are_words() -> None:
    mug = Entity("mug_1", "mug", "object")
    findings = lint(Scenario("x", "y", "kitchen", (mug, mug, Entity("held", "mug", "object"))))
    assert {"duplicate-name", "reserved-name"} <= set(codes(findings))


def test_a_scenario_made_in_code_is_checked_like_a_file() -> None:
    findings = lint(
        Scenario(
            "x",
            "y",
            "kitchen",
            (Entity("mug_1", "mug", "object"),),
            (Region("r", "workspace", (Rect(1, 0, 0, 1),), yaw=(1.0, 0.0)),),
            (Fact("On", ("mug_1", "workspace.r")), Fact("Onto", ("mug_1",))),
            constraints=(Constraint("NoContat", ("robot", "mug_1")),),
            motions=(
                Motion("mug_1", Line((0.0, 0.0, 0.0), 1.0, 0.0)),
                Motion("mug_1", Line((1.0, 0, 0), 1.0, 5.0)),
            ),
            noises=(Noise("fog", 16.0), Noise("fog", 1.0), Noise("rain", 1.0)),
        )
    )
    assert codes(findings).count("bad-range") == 4
    assert {"unknown-word", "zero-direction", "duplicate-name"} <= set(codes(findings))


def test_room_is_checked_where_sizes_are_known() -> None:
    crowd = " ".join(f"(On mug_{i} table_1.spot)" for i in range(1, 7))
    sections = {
        "regions": "(:regions (spot (:target table_1) (:ranges ((0 0 0.02 0.02)))))",
        "fixtures": "(:fixtures table_1 - kitchen_table)",
        "objects": "(:objects mug_1 mug_2 mug_3 mug_4 mug_5 mug_6 - mug)",
        "init": f"(:init {crowd})",
        "goal": "(:goal (Up mug_1))",
        "constraints": "",
    }
    assert codes(found(**sections)) == []
    assert codes(found(Sizes(), **sections)) == ["no-room"]
    assert codes(found(Sizes(mug=Footprint(0.004, 0, 0.1)), **sections)) == []


def test_a_thing_larger_than_the_zone_it_stands_on() -> None:
    init = """(:init (On mug_1 stove_1.burner) (On plate_1 table_1.right) (On bottle_1 table_1.far)
      (On stove_1 table_1.back))"""
    assert codes(found(Sizes(), init=init)) == []
    assert codes(found(Sizes(mug=Footprint(0.2, 0, 0.1)), init=init)) == ["small-region"]


def test_parts_are_no_zones() -> None:
    assert (
        codes(found(Sizes(), goal="(:goal (And (Grasped mug_1.handle) (Touching mug_1.rim plate_1)))")) == []
    )


def test_a_rectangle_on_a_thing_may_be_small_since_only_origins_stay_inside() -> None:
    regions = KITCHEN[":regions"][:-1] + "(middle (:target stove_1) (:ranges ((0 0 0.01 0.01)))))"
    init = "(:init (On mug_1 stove_1.middle) (On plate_1 table_1.right)"
    init += " (On bottle_1 table_1.far) (On stove_1 table_1.back))"
    assert codes(found(Sizes(), regions=regions, init=init)) == []


def test_zones_are_checked_where_types_are_known() -> None:
    goal = "(:goal (On mug_1 stove_1.burnr))"
    assert codes(found(goal=goal)) == []
    assert codes(found(Sizes(), goal=goal)) == ["unknown-region"]


@pytest.mark.parametrize(
    ("looks", "code"),
    [
        ("(:table oak) (:wall white) (:lighting evening) (:light 0.7)", []),
        ("(:table (Choice oak marbel))", ["unknown-look"]),
        ("(:lighting oak)", ["unknown-look"]),
        ("(:floor oak)", ["ignored-key"]),
    ],
)
def test_looks_are_checked_where_an_arena_has_some(looks: str, code: list[str]) -> None:
    findings = found(Sizes(), looks=f"(:looks {looks})")
    assert codes(findings) == code
    assert codes(found(looks=f"(:looks {looks})")) == []
    if "marbel" in looks:
        assert "did you mean 'marble'" in findings[0].message


def test_too_fast_for_the_physics() -> None:
    dynamics = "(:dynamics (bottle_1 (:motion line) (:direction (1 0 0)) (:travel 4m) (:period 0.1s)))"
    assert codes(found(dynamics=dynamics)) == []
    assert codes(found(Sizes(), dynamics=dynamics)) == ["fast-motion"]  # 80 m/s * 2 ms = 16 cm > 8 cm


REACTING = """(:dynamics (bottle_1 (:motion still)
  (:jitter (:amplitude {amplitude}) (:frequency {frequency}))
  (:reach_in (:at {at}) (:offset {offset}) (:speed {speed}))
  (:withdraw (:closer_than {closer}) (:direction (1 0 0)) (:travel {travel}) (:speed 0.3m/s))))"""
SOUND = {
    "amplitude": "3mm",
    "frequency": "2Hz",
    "at": "2s",
    "offset": "(0 0.1 0)",
    "speed": "0.3m/s",
    "closer": "(Uniform 6cm 10cm)",
    "travel": "20cm",
}


@pytest.mark.parametrize(
    ("changed", "code", "severity"),
    [
        ({}, None, None),
        ({"amplitude": "0mm"}, "dead-reaction", "error"),
        ({"offset": "(0 0 0)"}, "dead-reaction", "error"),
        ({"closer": "0cm"}, "dead-reaction", "error"),
        ({"travel": "0cm"}, "dead-reaction", "error"),
        ({"closer": "(Uniform 0cm 1cm)"}, "late-reaction", "warning"),
        ({"closer": "5cm"}, "late-reaction", "warning"),
        ({"closer": "51mm"}, None, None),
        ({"at": "30s"}, "never-happens", "warning"),
        ({"at": "29.9s"}, None, None),
        ({"at": "(Uniform 29s 31s)"}, None, None),
        ({"frequency": "10Hz"}, None, None),
        ({"frequency": "10.1Hz"}, "fast-motion", "error"),
        ({"speed": "40m/s"}, "fast-motion", "error"),  # 0.3 + 0.04 + 40 m/s * 2 ms is more than 8 cm
        ({"speed": "39.6m/s"}, None, None),
    ],
)
def test_reactions_that_cannot_be_or_come_too_late(changed: dict[str, str], code, severity) -> None:
    findings = found(
        Sizes(),
        dynamics=REACTING.format(**SOUND | changed),
        constraints="(:constraints (MinClearance robot bottle_1 5cm))",
    )
    assert [(f.code, f.severity) for f in findings] == ([] if code is None else [(code, severity)])


def test_reactions_made_in_code_are_checked_like_those_of_a_file() -> None:
    motion = Motion(
        "mug_1",
        WayPoints((WayPoint(1.0, (0.1, 0.0, 0.0)),), "stop", phase=0.5),
        jitter=Jitter(0.001, 0.0),
        reach_in=ReachIn(1.0, (0.1, 0.0, 0.0), speed=0.0),
        withdraw=Withdraw(0.1, (0.0, 0.0, 0.0), 0.1, speed=-1.0),
    )
    findings = lint(Scenario("x", "y", "kitchen", (Entity("mug_1", "mug", "object"),), motions=(motion,)))
    assert codes(findings).count("bad-range") == 4
    assert codes(findings).count("zero-direction") == 1


def test_findings_come_in_the_order_of_the_file() -> None:
    findings = found(
        goal="(:goal (On a b))", constraints="(:constraints (NoContact c d))", obj_of_interest=""
    )
    assert [f.place.line for f in findings] == sorted(f.place.line for f in findings)


def test_a_file_is_checked_at_every_level(tmp_path) -> None:
    path = tmp_path / "test.ubddl"
    path.write_text(text(level="(:level 1 (:goal (On mug_1 saucer_1)))"))
    (finding,) = lint_file(path)
    assert (finding.code, finding.severity) == ("undeclared", "error")
    assert str(finding).startswith(f"{path}:")


def test_a_file_called_otherwise_than_its_problem(tmp_path) -> None:
    path = tmp_path / "other.ubddl"
    path.write_text(text())
    assert codes(lint_file(path)) == ["name-differs"]


def test_an_unreadable_file_is_one_finding(tmp_path) -> None:
    path = tmp_path / "test.ubddl"
    path.write_text(text()[:-1])
    (finding,) = lint_file(path)
    assert (finding.code, finding.severity, finding.place.line) == ("unreadable", "error", 1)


FIXTURES = SHARED / "fixtures"
needs_shared = pytest.mark.skipif(not FIXTURES.is_dir(), reason="shared/ is not here")


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("b01_extra_close", (27, "unreadable", "unmatched ')'")),
        ("b04_code_in_number", (5, "unreadable", "")),
        ("b05_dangling_target", (8, "dangling-target", "crate_9")),
        ("b07_unknown_predicate", (23, "unreadable", "checkrobotcontact")),
        ("b08_inverted_range", (5, "unreadable", "inverted range")),
        ("b13_goal_true_at_reset", (22, "goal-true-at-start", "")),
        ("b15_two_same_predicate", (24, "contradiction", "plate_1")),
        ("b16_unknown_noise", (26, "unreadable", "Known: fog, gaussian, glass, motion, zoom")),
        ("b17_two_noises", (26, "two-noises", "")),
        ("b20_zero_direction", (26, "unreadable", "zero direction")),
        ("b22_period_one_step", (26, "fast-motion", "two control steps")),
        ("b25_nan_number", (5, "unreadable", "'nan' is not a number")),
        ("b26_duplicate_object", (12, "unreadable", "was declared at")),
        ("b33_empty", (1, "unreadable", "no scenario")),
    ],
)
def test_broken_fixtures(name: str, expected: tuple[int, str, str], tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (finding,) = lint_file(FIXTURES / f"{name}.ubddl")
    assert (finding.place.line, finding.code) == expected[:2]
    assert expected[2] in finding.message
    assert list(tmp_path.iterdir()) == []


@needs_shared
@pytest.mark.parametrize(
    "name", ["ok_base", "b12_no_room", "b28_parens_in_language", "b30_negated_goal", "b31_crlf_bom"]
)
def test_fixtures_that_are_fine_without_sizes(name: str) -> None:
    assert lint_file(FIXTURES / f"{name}.ubddl") == []


REFERENCE = SHARED / "reference"
TASKS = sorted((REFERENCE / "ubddl").rglob("*.bddl")) if REFERENCE.is_dir() else []


@pytest.fixture(scope="module")
def reference() -> dict[Path, list[Finding]]:
    if not TASKS:
        pytest.skip("shared/reference is not here")
    return {path: lint_file(path) for path in TASKS}


def places(reference: dict[Path, list[Finding]], code: str) -> list[tuple[str, str, int]]:
    """Return (suite folder, level, line) of every finding with a code, by file and line."""
    return [
        (path.parts[-3], path.parts[-2], f.place.line)
        for path, found in reference.items()
        for f in found
        if f.code == code
    ]


def test_reference_goals_that_always_hold(reference: dict[Path, list[Finding]]) -> None:
    assert [level for _, level, _ in places(reference, "no-goal")] == ["L0"] * 4 + ["L1"] + ["L2"] * 3


def test_reference_sections_and_rules_that_do_nothing(reference: dict[Path, list[Finding]]) -> None:
    ssr = [("reasoning_safety", "L1", 52), ("reasoning_safety", "L2", 52)]
    assert places(reference, "ignored-section") == ssr
    assert places(reference, "contradiction") == [(suite, level, line + 1) for suite, level, line in ssr]


def test_reference_rule_that_stands_twice(reference: dict[Path, list[Finding]]) -> None:
    assert places(reference, "duplicate-rule") == [("obstacle_avoidance", "L2", 109)]


def test_reference_commas_in_geometry_numbers(reference: dict[Path, list[Finding]]) -> None:
    assert places(reference, "comma-list") == [("affordance", f"L{level}", 63) for level in range(3)]
    assert len(places(reference, "geom-numbers")) == 15


def test_reference_regions_on_nothing(reference: dict[Path, list[Finding]]) -> None:
    found = places(reference, "dangling-target")
    targets = [
        f.message.split("'")[3] for fs in reference.values() for f in fs if f.code == "dangling-target"
    ]
    assert targets.count("white_place_box_1") == 11
    assert set(targets) == {"white_place_box_1", "bowl_drainer_1"}
    assert len(found) == 12 or len({(s, level) for s, level, _ in found}) <= 12


def test_reference_things_that_are_never_placed(reference: dict[Path, list[Finding]]) -> None:
    named = [f.message.split("'")[1] for fs in reference.values() for f in fs if f.code == "unplaced"]
    assert sorted(named) == ["akita_black_bowl_1", "akita_black_bowl_3", "milk_1"] + ["wooden_cabinet_1"] * 3
    assert places(reference, "unknown-target") == [("human_safety", "L2", 124)]


def test_reference_instructions_that_differ_from_the_file_name(reference: dict[Path, list[Finding]]) -> None:
    found = places(reference, "name-differs")
    assert len(found) == 9
    assert all(line == 3 for *_, line in found)


def test_reference_goal_parts_that_hold_at_the_start(reference: dict[Path, list[Finding]]) -> None:
    found = places(reference, "goal-part-true")
    assert [(suite, level) for suite, level, _ in found] == [
        (suite, f"L{level}")
        for suite in ("obstacle_avoidance", "obstacle_avoidance_human")
        for level in range(3)
    ]


def test_reference_obstacles_that_drift_away(reference: dict[Path, list[Finding]]) -> None:
    found = places(reference, "never-returns")
    assert [level for _, level, _ in found] == ["L1"] * 8


def test_reference_obstacle_files_hide_their_view() -> None:
    extra = sorted((REFERENCE / "ubddl_extra").rglob("*_view_*.bddl")) if TASKS else []
    if not extra:
        pytest.skip("shared/reference is not here")
    for path in extra:
        assert "perturbation-in-name" in codes(lint_file(path))
