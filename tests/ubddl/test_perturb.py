import math
from dataclasses import replace

import pytest
from ubddl_frame import Sizes, scenario

from libero_safety.registry import UnknownNameError
from libero_safety.types import Key
from libero_safety.ubddl import lint, parse, write
from libero_safety.ubddl.perturb import (
    ATTEMPTS,
    AXES,
    START_NOISE_RAD,
    VIEW_RAD,
    Perturbation,
    PerturbationError,
    Perturbed,
    Stock,
    perturb,
    perturb_all,
)
from libero_safety.ubddl.sample import sample
from libero_safety.ubddl.spec import Choice, Circle, Noise, Rect, Scenario, Uniform

STOCK = Stock(
    Sizes(),
    (0.5, 0.6),
    {"table": ("oak", "slate"), "floor": ("carpet",), "wall": ()},
    {"mug": ("cup", "beaker"), "bottle": ("flask",), "kitchen_table": ("desk",)},
)
ALL = [Perturbation(axis) for axis in AXES]
MOVING = {
    "dynamics": "(:dynamics (bottle_1 (:motion circle) (:center (0.1 (Uniform 0 0.1))) (:period 15s)))",
}


def key(index: int = 0) -> Key:
    return Key("suite", "task", 0, 0, index)


def after(base: Scenario, text: str, index: int = 0, attempt: int = 0, stock: Stock = STOCK) -> Perturbed:
    return perturb(base, Perturbation.parse(text), key(index), stock, attempt)


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_changes_its_own_blocks_and_says_so(axis: str) -> None:
    owns = {
        "noise": {"noises"}, "init": {"robot"}, "view": {"cameras"}, "scene": {"looks"},
        "layout": {"regions", "motions"}, "unseen": {"entities"},
    }[axis]  # fmt: skip
    base = scenario(**MOVING)
    found = after(base, axis)
    assert found.changes
    assert all(line.startswith(f"{axis}: ") for line in (*found.changes, *found.kept))
    changed = {name for name in vars(base) if getattr(base, name) != getattr(found.scenario, name)}
    assert changed == owns


@pytest.mark.parametrize("index", range(5))
def test_a_perturbed_scenario_can_be_written_and_read(index: int) -> None:
    level = "(:level 1 (:noise (fog 2)) (:cameras (agentview (:yaw (Uniform 0 2deg)))) (:looks (:light 0.9)))"
    for base in (scenario(**MOVING), parse(_text(level)).at(1)):
        found = perturb_all(base, ALL, key(index), STOCK).scenario
        assert found != base
        assert parse(write(found)).at(base.level) == found
        assert [f for f in lint(found, geometry=Sizes()) if f.severity == "error"] == []


def _text(level: str) -> str:
    return write(scenario(**MOVING)).rstrip()[:-1] + level + ")"


def test_the_same_key_gives_the_same_and_another_key_something_else() -> None:
    base = scenario(**MOVING)
    for axis in AXES:
        assert after(base, axis, 3) == after(base, axis, 3)
        assert len({after(base, axis, index).changes for index in range(20)}) >= 2


def test_axes_neither_disturb_each_other_nor_the_other_draws() -> None:
    base = scenario(robot="(:robot (:start_noise 0.1))", **MOVING)
    forwards, backwards = (perturb_all(base, order, key(), STOCK) for order in (ALL, ALL[::-1]))
    assert forwards.scenario == backwards.scenario
    assert set(forwards.changes) == set(backwards.changes)
    plain = sample(base, key(), Sizes())
    for axis in ("noise", "view", "scene", "init"):
        drawn = sample(after(base, axis).scenario, key(), Sizes())
        assert drawn.poses == plain.poses
        assert drawn.values == plain.values
        along = [a * b > 0 for a, b in zip(drawn.robot_offset, plain.robot_offset, strict=True)]
        assert all(along)


def test_noise_is_one_kind_that_shows_on_all_cameras() -> None:
    drawn = [after(scenario(), "noise", i).scenario.noises for i in range(200)]
    assert {len(noises) for noises in drawn} == {1}
    assert all(noise.cameras == () for (noise,) in drawn)
    kinds = {noise.kind: set[float]() for (noise,) in drawn}
    assert len(kinds) == 5
    for (noise,) in drawn:
        kinds[noise.kind].add(noise.severity)
    # The faintest Gaussian blur changes no byte.
    assert kinds.pop("gaussian_blur") == {2.0, 3.0}
    assert all(severities == {1.0, 2.0, 3.0} for severities in kinds.values())


def test_noise_comes_on_top_of_the_noise_there_is() -> None:
    base = scenario(noise="(:noise (fog 2) (zoom_blur 1))")
    for index in range(20):
        first, second, third = after(base, "noise=12", index).scenario.noises
        assert (first, second) == base.noises
        assert third.kind not in ("fog", "zoom_blur")
        assert third.severity == 12.0
    full = replace(base, noises=tuple(Noise(k, 1.0) for k in
                                      ("fog", "zoom_blur", "glass_blur", "motion_blur", "gaussian_blur")))  # fmt: skip
    found = after(full, "noise")
    assert found.scenario == full
    assert found.changes == ()
    assert "every kind" in found.kept[0]


def test_init_draws_a_length_within_its_band() -> None:
    lengths = [after(scenario(), "init", i).scenario.robot.start_noise for i in range(100)]
    low, high = START_NOISE_RAD
    assert all(isinstance(x, float) and low <= x <= high for x in lengths)
    assert max(lengths) - min(lengths) > 0.3
    exact = after(scenario(), "init=0.2").scenario
    assert exact.robot.start_noise == pytest.approx(0.2)
    assert math.hypot(*sample(exact, key(), Sizes()).robot_offset) == pytest.approx(0.2)


def test_view_turns_the_agents_camera_a_little_and_never_not_at_all() -> None:
    for index in range(50):
        (camera,) = after(scenario(), "view", index).scenario.cameras
        assert camera.name == "agentview"
        for angle in (camera.yaw, camera.pitch, camera.roll):
            assert isinstance(angle, float)
            assert VIEW_RAD / 3 <= abs(angle) <= VIEW_RAD
    assert {after(scenario(), "view", i).scenario.cameras[0].yaw > 0 for i in range(20)} == {True, False}
    (wide,) = after(scenario(), "view=30").scenario.cameras
    assert abs(wide.yaw) >= math.radians(10)


def test_view_adds_to_the_displacement_there_is() -> None:
    text = (
        "(:cameras (robot0_eye_in_hand (:roll 1)) (agentview (:yaw (Uniform 0.5 0.7)) (:scale (Choice 1 2))))"
    )
    base = scenario(cameras=text)
    alone = after(scenario(), "view").scenario.cameras[0]
    wrist, agent = after(base, "view").scenario.cameras
    assert wrist == base.cameras[0]
    assert agent.yaw == Uniform(0.5 + alone.yaw, 0.7 + alone.yaw)
    assert agent.scale == Choice((alone.scale, 2 * alone.scale))
    assert agent.pitch == alone.pitch


def test_scene_takes_looks_that_there_are_and_says_what_stays() -> None:
    base = scenario(looks="(:looks (:table marble) (:light (Uniform 0.5 1)))")
    for index in range(20):
        found = after(base, "scene", index)
        looks = {look.part: look.value for look in found.scenario.looks}
        assert looks["table"] in ("oak", "slate")
        assert looks["floor"] == "carpet"
        assert "wall" not in looks
        assert found.kept == ("scene: the wall has no other look",)
        assert looks["light"] == Uniform(0.5, 1.0)
    nothing = after(base, "scene", stock=replace(STOCK, looks={"wall": ()}))
    assert nothing.scenario == base
    assert nothing.changes == ()


def test_layout_shifts_everything_together_and_widens_where_objects_start() -> None:
    base = scenario(**MOVING)
    for index in range(50):
        found = after(base, "layout", index).scenario
        before = {region.name: region.rects[0] for region in base.regions}
        rects = {region.name: region.rects[0] for region in found.regions}
        # `back` holds the stove and `far` the bottle that moves: they keep their size, so they tell the shift.
        dx, dy = rects["back"].x_min - before["back"].x_min, rects["back"].y_min - before["back"].y_min
        assert 0.05 / 3 <= abs(dx) <= 0.05
        assert 0.05 / 3 <= abs(dy) <= 0.05
        for name, grown in (("back", 0.0), ("far", 0.0), ("left", 0.02), ("right", 0.02)):
            was, now = before[name], rects[name]
            expected = (
                was.x_min + dx - grown,
                was.y_min + dy - grown,
                was.x_max + dx + grown,
                was.y_max + dy + grown,
            )
            assert (now.x_min, now.y_min, now.x_max, now.y_max) == pytest.approx(expected)
        circle = found.motions[0].path
        assert isinstance(circle, Circle)
        assert circle.center[0] == pytest.approx(0.1 + dx)
        assert isinstance(circle.center[1], Uniform)
        assert (circle.center[1].low, circle.center[1].high) == pytest.approx((dy, 0.1 + dy))
        poses, moved = (sample(s, key(index), Sizes()).poses for s in (base, found))
        assert all(poses[name].pos != moved[name].pos for name in poses)


def test_layout_keeps_regions_of_the_goal_in_shape_and_leaves_others_surfaces_alone() -> None:
    base = scenario(
        goal="(:goal (And (On mug_1 table_1.right) (Not (On mug_1 plate_1))))",
        regions="""(:regions (left (:target table_1) (:ranges ((-0.2 -0.3 -0.1 -0.2))))
          (right (:target table_1) (:ranges ((-0.2 0.2 -0.1 0.3))))
          (far (:target table_1) (:ranges ((0.2 0 0.3 0.1))))
          (back (:target table_1) (:ranges ((0.2 -0.35 0.25 -0.3))))
          (rim (:target plate_1) (:ranges ((0 0 0.01 0.01)))))""",
    )
    found = after(base, "layout").scenario
    rects = {region.name: region.rects[0] for region in found.regions}
    assert rects["right"].x_max - rects["right"].x_min == pytest.approx(0.1)
    assert rects["left"].x_max - rects["left"].x_min == pytest.approx(0.14)
    assert rects["rim"] == Rect(0.0, 0.0, 0.01, 0.01)


def test_layout_stays_on_the_surface() -> None:
    # 4 cm of radius: the bottle at x = 0.30 can go no further than 0.32 on a surface that ends at 0.36.
    tight = replace(STOCK, half_m=(0.36, 0.6))
    seen: set[float] = set()
    for index in range(40):
        found = after(scenario(), "layout", index, stock=tight).scenario
        far = next(region for region in found.regions if region.name == "far").rects[0]
        left = next(region for region in found.regions if region.name == "left").rects[0]
        assert left.x_min + 0.02 - -0.2 <= 0.02 + 1e-9
        assert far.x_max <= 0.36 + 1e-9
        seen.add(round(left.x_min + 0.02 + 0.2, 9))
    assert min(seen) < -0.016
    assert max(seen) <= 0.02


def test_layout_without_room_says_that_nothing_moved() -> None:
    still = " ".join(f"({name} (:motion still))" for name in ("mug_1", "plate_1", "bottle_1"))
    found = after(
        scenario(dynamics=f"(:dynamics {still})"), "layout", stock=replace(STOCK, half_m=(0.1, 0.1))
    )
    assert found.changes == ()
    assert "no room" in found.kept[0]


def test_unseen_takes_held_out_types_and_names_what_stays() -> None:
    found = after(scenario(), "unseen")
    types = {entity.name: (entity.type, entity.split) for entity in found.scenario.entities}
    assert types["mug_1"][0] in ("cup", "beaker")
    assert types["mug_1"][1] == "test"
    assert types["bottle_1"] == ("flask", "test")
    assert types["plate_1"] == ("plate", None)
    assert types["table_1"] == ("kitchen_table", None)
    assert found.kept == ("unseen: plate_1 stays plate: nothing held out stands in for it",)
    done = after(scenario(objects="(:objects mug_1 - mug :split test plate_1 bottle_1 - bottle)"), "unseen")
    assert done.scenario.entity("mug_1") == replace(scenario().entity("mug_1"), split="test")
    assert done.kept == ("unseen: mug_1 stays mug: held out already",)
    nothing = after(scenario(), "unseen", stock=replace(STOCK, unseen={}))
    assert nothing.scenario == scenario()
    assert nothing.changes == ()
    assert len(nothing.kept) == 3


def test_an_impossible_start_is_drawn_anew_closer_to_home() -> None:
    base = scenario(**MOVING)
    lengths = [after(base, "init", attempt=a).scenario.robot.start_noise for a in range(ATTEMPTS)]
    assert len(set(lengths)) == ATTEMPTS
    assert all(length <= 0.5 * (1 - a / ATTEMPTS) for a, length in enumerate(lengths))
    assert len({after(base, "layout", attempt=a).changes for a in range(ATTEMPTS)}) == ATTEMPTS
    assert len({after(base, "unseen", attempt=a).changes for a in range(ATTEMPTS)}) == 2
    for axis in ("noise", "view", "scene"):
        assert len({after(base, axis, attempt=a) for a in range(ATTEMPTS)}) == 1


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("niose", UnknownNameError, "did you mean 'noise'"),
        ("noise=16", PerturbationError, "from 1 to 15 (severity)"),
        ("noise=0", PerturbationError, "from 1 to 15"),
        ("init=nan", PerturbationError, "from 0.01 to 0.5 (rad)"),
        ("view=much", PerturbationError, "must be a number"),
        ("layout=", PerturbationError, "must be a number"),
        ("scene=2", PerturbationError, "'scene' has no strength"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        Perturbation.parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["noise", "noise=8", "init=0.25", "unseen"])
def test_a_perturbation_is_written_as_it_is_read(text: str) -> None:
    assert str(Perturbation.parse(text)) == text
