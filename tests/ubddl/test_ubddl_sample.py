import dataclasses
import itertools
import json
import math

import pytest
from ubddl_frame import SHARED, Sizes, scenario

from libero_safety.errors import LiberoSafetyError
from libero_safety.types import Footprint, Key, Pose
from libero_safety.ubddl import Draw, PlacementError, parse_file, sample
from libero_safety.ubddl.spec import Choice, Scenario

KEY = Key("tsa", "test", 0, 1, 7)
DRAWN = {
    "language": "(:language one) (:language two) (:language three)",
    "objects": "(:objects mug_1 - (Choice mug cup) plate_1 - plate bottle_1 - bottle)",
    "dynamics": """(:dynamics (bottle_1 (:motion line) (:direction (1 0 0)) (:travel 0.1) (:period (Uniform 5 7))
      (:phase (Uniform 0 1))))""",
    "cameras": "(:cameras (agentview (:yaw (Uniform -1deg 1deg))))",
    "looks": "(:looks (:table (Choice oak marble slate)))",
    "robot": "(:robot (:start_noise (Uniform 0.1 0.2)))",
}


def yaw(pose: Pose) -> float:
    return 2 * math.atan2(pose.quat[3], pose.quat[0])


def test_the_same_key_gives_the_same_draw() -> None:
    s = scenario(**DRAWN)
    assert sample(s, KEY, Sizes()) == sample(s, KEY, Sizes())
    assert sample(s, KEY, Sizes()) != sample(s, dataclasses.replace(KEY, index=8), Sizes())


def test_everything_is_drawn() -> None:
    draw = sample(scenario(**DRAWN), KEY, Sizes())
    assert "Uniform" not in repr(draw.scenario)
    assert "Choice" not in repr(draw.scenario)
    assert draw.scenario.instruction in ("one", "two", "three")
    assert 5 <= draw.scenario.motions[0].path.period <= 7  # type: ignore[union-attr]
    assert set(draw.values) == {
        "instruction",
        "entities/mug_1/type",
        "motions/bottle_1/path/period",
        "motions/bottle_1/path/phase",
        "cameras/agentview/yaw",
        "looks/table/value",
        "robot/start_noise",
    }


def test_numbers_of_reactions_are_drawn_and_stored() -> None:
    s = scenario(
        dynamics="""(:dynamics (bottle_1 (:motion still) (:tilt ((Uniform -5deg 5deg) 0))
          (:jitter (:amplitude (Uniform 1mm 3mm)) (:frequency 2Hz))
          (:reach_in (:at (Uniform 2s 6s)) (:offset ((Choice 0.1 0.2) 0 0)) (:speed 1))
          (:withdraw (:closer_than (Uniform 8cm 12cm)) (:direction (1 0 0)) (:travel 1) (:speed 1))))"""
    )
    draw = sample(s, KEY, Sizes())
    assert set(draw.values) == {
        "motions/bottle_1/tilt/0",
        "motions/bottle_1/jitter/amplitude",
        "motions/bottle_1/reach_in/at",
        "motions/bottle_1/reach_in/offset/0",
        "motions/bottle_1/withdraw/closer_than",
    }
    (motion,) = draw.scenario.motions
    assert motion.reach_in is not None
    assert motion.reach_in.at == draw.values["motions/bottle_1/reach_in/at"]
    assert Draw.from_dict(s, draw.to_dict()) == draw


def test_adding_a_draw_moves_no_other() -> None:
    before = sample(scenario(**DRAWN), KEY, Sizes())
    more = DRAWN | {
        "noise": "(:noise (fog (Uniform 1 2)))",
        "objects": "(:objects cube_1 - (Choice cube dice) mug_1 - (Choice mug cup) plate_1 - plate bottle_1 - bottle)",
        "init": """(:init (On cube_1 plate_1) (On bottle_1 table_1.far) (On mug_1 table_1.left)
          (On plate_1 table_1.right) (On stove_1 table_1.back))""",
    }
    after = sample(scenario(**more), KEY, Sizes())
    assert {name: after.poses[name] for name in before.poses} == dict(before.poses)
    assert {path: after.values[path] for path in before.values} == dict(before.values)
    assert after.robot_offset == before.robot_offset


def test_paraphrases_are_all_drawn() -> None:
    s = scenario(**DRAWN)
    told = {sample(s, dataclasses.replace(KEY, index=i), Sizes()).scenario.instruction for i in range(30)}
    assert told == {"one", "two", "three"}


def test_a_draw_survives_json_exactly() -> None:
    s = scenario(**DRAWN)
    for index in range(20):
        draw = sample(s, dataclasses.replace(KEY, index=index), Sizes())
        again = Draw.from_dict(s, json.loads(json.dumps(draw.to_dict())))
        assert again == draw


def test_a_draw_of_another_scenario_is_refused() -> None:
    data = sample(scenario(), KEY, Sizes()).to_dict()
    with pytest.raises(LiberoSafetyError, match="not of 'other'"):
        Draw.from_dict(dataclasses.replace(scenario(), name="other"), data)
    with pytest.raises(LiberoSafetyError, match="no value for instruction"):
        Draw.from_dict(dataclasses.replace(scenario(), instruction=Choice(("a", "b"))), data)


def test_start_noise_is_an_exact_length_in_any_direction() -> None:
    s = scenario(robot="(:robot (:start_noise 0.3))")
    draws = [sample(s, dataclasses.replace(KEY, index=i), Sizes()).robot_offset for i in range(20)]
    assert all(len(offset) == 7 and math.hypot(*offset) == pytest.approx(0.3, rel=1e-12) for offset in draws)
    assert all(min(offset[j] for offset in draws) < 0 < max(offset[j] for offset in draws) for j in range(7))
    assert sample(scenario(), KEY, Sizes()).robot_offset == (0.0,) * 7


def test_origins_stay_in_their_rectangles_and_bottoms_on_the_surface() -> None:
    s = scenario(
        regions="""(:regions (left (:target table_1) (:ranges ((-0.2 -0.3 -0.1 -0.2) (0 0.3 0.1 0.35)))
          (:yaw_rotation ((30deg 60deg)))) (right (:target table_1) (:ranges ((-0.2 0.2 -0.1 0.3))))
          (far (:target table_1) (:ranges ((0.2 0 0.3 0.1))))
          (back (:target table_1) (:ranges ((0.2 -0.35 0.25 -0.3)))))"""
    )
    seen = set()
    for index in range(60):
        pose = sample(s, dataclasses.replace(KEY, index=index), Sizes()).poses["mug_1"]
        x, y, z = pose.pos
        first, second = -0.2 <= x <= -0.1 and -0.3 <= y <= -0.2, 0 <= x <= 0.1 and 0.3 <= y <= 0.35
        assert first or second
        seen.add(first)
        assert z == 0.05
        assert math.radians(30) <= yaw(pose) <= math.radians(60)
    assert seen == {True, False}


def test_the_surface_itself_has_no_pose() -> None:
    assert set(sample(scenario(), KEY, Sizes()).poses) == {"stove_1", "mug_1", "plate_1", "bottle_1"}


def test_height_lifts_the_lowest_point() -> None:
    s = scenario(dynamics="(:dynamics (bottle_1 (:motion still) (:height 20cm)))")
    assert sample(s, KEY, Sizes()).poses["bottle_1"].pos[2] == pytest.approx(0.25)


def test_on_a_thing_means_its_middle_and_top() -> None:
    s = scenario(
        init="(:init (On mug_1 plate_1) (On plate_1 table_1.right) (On bottle_1 mug_1) (On stove_1 table_1.back))"
    )
    poses = sample(s, KEY, Sizes()).poses
    assert poses["mug_1"].pos[:2] == poses["plate_1"].pos[:2]
    assert [poses[n].pos[2] for n in ("plate_1", "mug_1", "bottle_1")] == pytest.approx([0.05, 0.15, 0.25])


def test_on_a_zone_turns_with_its_owner() -> None:
    s = scenario(
        regions="""(:regions (back (:target table_1) (:ranges ((0.2 -0.3 0.2 -0.3))) (:yaw_rotation ((90deg 90deg))))
          (right (:target table_1) (:ranges ((-0.2 0.2 -0.1 0.3))))
          (far (:target table_1) (:ranges ((0.2 0 0.3 0.1)))))""",
        init="""(:init (On mug_1 stove_1.burner) (On plate_1 table_1.right) (On bottle_1 table_1.far)
          (On stove_1 table_1.back))""",
    )
    pose = sample(s, KEY, Sizes()).poses["mug_1"]
    # zone at (0.02, 0) in the stove, turned by 90 degrees; the mug (4 cm) may be 1 cm off the middle of a 5 cm half
    assert pose.pos[0] == pytest.approx(0.2, abs=0.0101)
    assert pose.pos[1] == pytest.approx(-0.3 + 0.02, abs=0.0101)
    assert pose.pos[2] == pytest.approx(0.05 + 0.06 - 0.01 + 0.05)
    assert yaw(pose) == pytest.approx(math.pi / 2)


def test_several_things_in_one_drawer_do_not_overlap() -> None:
    s = scenario(
        objects="(:objects cabinet_1 - cabinet a - mug b - mug)",
        init="""(:init (In a cabinet_1.inside) (In b cabinet_1.inside) (On cabinet_1 table_1.far)
          (On stove_1 table_1.back))""",
        goal="",
        constraints="",
    )
    for index in range(20):
        poses = sample(s, dataclasses.replace(KEY, index=index), Sizes()).poses
        assert math.dist(poses["a"].pos[:2], poses["b"].pos[:2]) >= 0.081


def crowd(count: int, half: float) -> Scenario:
    names = [f"m{i}" for i in range(count)]
    return scenario(
        fixtures="(:fixtures table_1 - kitchen_table)",
        objects=f"(:objects {' '.join(names)} - mug)",
        regions=f"(:regions (spot (:target table_1) (:ranges (({-half} {-half} {half} {half})))))",
        init=f"(:init {' '.join(f'(On {n} table_1.spot)' for n in names)})",
        goal="",
        constraints="",
    )


def test_nothing_overlaps_at_one_height() -> None:
    for index in range(20):
        poses = sample(crowd(6, 0.15), dataclasses.replace(KEY, index=index), Sizes()).poses
        for a, b in itertools.combinations(poses.values(), 2):
            assert math.dist(a.pos[:2], b.pos[:2]) >= 0.08 + 0.001


def test_a_raised_thing_may_be_above_another() -> None:
    s = dataclasses.replace(crowd(2, 0.0), motions=())
    with pytest.raises(PlacementError):
        sample(s, KEY, Sizes())
    raised = scenario(
        objects="(:objects m0 m1 - mug)",
        regions="(:regions (spot (:target workspace) (:ranges ((0 0 0 0)))))",
        fixtures="",
        init="(:init (On m0 workspace.spot) (On m1 workspace.spot))",
        dynamics="(:dynamics (m1 (:motion still) (:height 10cm)))",
        goal="",
        constraints="",
    )
    assert sample(raised, KEY, Sizes()).poses["m1"].pos == (0.0, 0.0, 0.15000000000000002)


def test_rectangles_let_long_things_lie_side_by_side() -> None:
    s = scenario(
        objects="(:objects a b - knife)",
        fixtures="",
        regions="""(:regions (p (:target workspace) (:ranges ((0 0 0 0))))
          (q (:target workspace) (:ranges ((0 0.05 0 0.05)))))""",
        init="(:init (On a workspace.p) (On b workspace.q))",
        goal="",
        constraints="",
    )
    with pytest.raises(PlacementError):
        sample(s, KEY, Sizes(knife=Footprint(0.1, 0, 0.02)))
    poses = sample(s, KEY, Sizes(knife=Footprint(0.1, 0, 0.02, (-0.1, -0.02, 0.1, 0.02)))).poses
    assert poses["b"].pos[1] == 0.05
    crossed = scenario(
        objects="(:objects a b - knife)",
        fixtures="",
        regions="""(:regions (p (:target workspace) (:ranges ((0 0 0 0))))
          (q (:target workspace) (:ranges ((0 0.05 0 0.05))) (:yaw_rotation ((90deg 90deg)))))""",
        init="(:init (On a workspace.p) (On b workspace.q))",
        goal="",
        constraints="",
    )
    with pytest.raises(PlacementError, match="in the way: a"):
        sample(crossed, KEY, Sizes(knife=Footprint(0.1, 0, 0.02, (-0.1, -0.02, 0.1, 0.02))))


def test_no_room_names_everything() -> None:
    with pytest.raises(PlacementError) as caught:
        sample(crowd(6, 0.01), KEY, Sizes())
    message = str(caught.value)
    assert all(part in message for part in ("'m1'", "'table_1.spot'", "2000 tries", "in the way: m0"))


REST = "(On plate_1 table_1.right) (On bottle_1 table_1.far)"


@pytest.mark.parametrize(
    ("init", "said"),
    [
        ("(On mug_1 table_1.left)", "'stove_1' is never placed"),
        ("(On mug_1 stove_1) (On stove_1 mug_1)", "stands on itself"),
        ("(On mug_1 tray_1) (On stove_1 table_1.back)", "'tray_1' is not declared"),
        ("(On mug_1 table_1.left) (On stove_1 table_1.bak)", "did you mean 'table_1.back'"),
        ("(On mug_1 table_1.left) (On stove_1 workspace)", "no region with"),
        ("(On mug_1 stove_1.burnr) (On stove_1 table_1.back)", "has no zone 'burnr'"),
        ("(In mug_1 stove_1) (On stove_1 table_1.back)", "has no zone 'inside'"),
    ],
)
def test_what_cannot_be_placed(init: str, said: str) -> None:
    with pytest.raises(PlacementError) as caught:
        sample(scenario(init=f"(:init {init} {REST})"), KEY, Sizes())
    assert said in str(caught.value)


def test_an_interrupt_and_a_foreign_error_come_through() -> None:
    class Broken(Sizes):
        def footprint(self, type_name: str) -> Footprint:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(scenario(), KEY, Broken())


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared/ is not here")
def test_the_crowded_fixture_is_an_error_not_a_loop() -> None:
    s = parse_file(SHARED / "fixtures" / "b12_no_room.ubddl").at(0)
    with pytest.raises(PlacementError, match="no room for 'cup_2'"):
        sample(s, KEY, Sizes())
