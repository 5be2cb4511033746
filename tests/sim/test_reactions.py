"""Things that turn, lean, tremble, reach in and draw back, in the simulation."""

import math
import subprocess
import sys
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libero_safety.assets.catalog import default_catalog
from libero_safety.sim import contact
from libero_safety.sim.compose import ModelCache, build_scene
from libero_safety.sim.env import Env
from libero_safety.sim.reaction import Load
from libero_safety.sim.shift import Retreat
from libero_safety.types import PHYSICS_DT_S, Key
from libero_safety.ubddl.sample import sample
from libero_safety.ubddl.write import write

SHY = """(:dynamics (box_1 (:motion still) (:height 12cm) {more}
  (:withdraw (:closer_than {closer}) (:direction (3 0 0)) (:travel 20cm) (:speed {speed}) {stay})))"""
DOWN, UP, WAIT = [0, 0, -1, 0, 0, 0, -1], [0, 0, 1, 0, 0, 0, -1], [0, 0, 0, 0, 0, 0, -1]
UNDER_THE_GRIPPER = {"objects": "box_1 - cookies", "init": "(On box_1 main_table.grip)"}


def shy(lab, closer: str = "10cm", stay: str = "", more: str = "", speed: str = "0.3m/s"):
    """A box in the air, 12.5 cm under the gripper, that draws back along x."""
    return lab(more=SHY.format(closer=closer, stay=stay, more=more, speed=speed), **UNDER_THE_GRIPPER)


class Watch:
    """Notes of each physics step: when it began, how near the robot was then, and where the thing was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[tuple[float, float, np.ndarray, np.ndarray, np.ndarray]] = []

    def after_substep(self, scene, data) -> None:
        entity = scene.entity(self.name)
        gap = contact.distance(scene.model, data, scene.robot_geoms, entity.geoms)
        # The clock and qvel are those after the step; geometry is of its beginning, like this velocity.
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(scene.model, data, mujoco.mjtObj.mjOBJ_XBODY, entity.body, velocity, 0)
        at, turned = data.xpos[entity.body], data.xmat[entity.body].reshape(3, 3)
        self.rows.append((float(data.time) - PHYSICS_DT_S, gap, np.array(at), np.array(turned), velocity))

    def column(self, index: int) -> np.ndarray:
        return np.array([row[index] for row in self.rows])


def watched(here, name: str = "box_1") -> Watch:
    watch = Watch(name)
    here.env.hooks = [watch]
    return watch


def drawn_back(time_s: float, travel: float = 0.2, speed: float = 0.3) -> float:
    """Speed rises evenly within 0.1 s, stays, and falls evenly within 0.1 s."""
    lasts = travel / speed + 0.1
    time_s = min(max(time_s, 0.0), lasts)
    ramps = [min(time_s, 0.1), min(max(time_s - (lasts - 0.1), 0.0), 0.1)]
    return speed / 0.2 * ramps[0] ** 2 + speed * (time_s - ramps[0]) - speed / 0.2 * ramps[1] ** 2


def test_it_draws_back_from_the_first_physics_step_in_which_the_robot_is_too_near(lab) -> None:
    here = shy(lab)
    watch = watched(here)
    here.act(DOWN, 5)
    here.act(WAIT, 15)
    times, gaps, x = watch.column(0), watch.column(1), watch.column(2)[:, 0] + 0.2083
    first = int(np.argmax(gaps < 0.1))
    assert 0 < first < 200
    assert (gaps[:first] >= 0.1).all()
    assert x[: first + 1] == pytest.approx(np.zeros(first + 1), abs=1e-12)
    expected = [drawn_back(t - times[first]) for t in times]
    assert x == pytest.approx(expected, abs=1e-9)
    assert x[-1] == pytest.approx(0.2)
    steepest = np.diff(x).max() / PHYSICS_DT_S
    assert steepest == pytest.approx(0.3)


def test_it_stays_where_it_is_while_the_robot_is_far(lab) -> None:
    here = shy(lab, closer="12cm")
    before = here.pos("box_1")
    here.act(WAIT, 10)
    assert np.array_equal(here.pos("box_1"), before)


@pytest.mark.parametrize("stay", ["", "(:stay true)"])
def test_it_comes_back_when_the_robot_has_gone_unless_it_stays(lab, stay: str) -> None:
    here = shy(lab, stay=stay)
    watch = watched(here)
    here.act(DOWN, 5)
    here.act(WAIT, 15)
    assert here.pos("box_1")[0] == pytest.approx(-0.0083)
    here.act(UP, 25)
    here.act(WAIT, 20)
    assert here.pos("box_1")[0] == pytest.approx(-0.0083 if stay else -0.2083)
    if stay:
        return
    times, gaps, x = watch.column(0), watch.column(1), watch.column(2)[:, 0] + 0.2083
    out = int(np.argmax(x > 0.2 - 1e-9))
    back = out + int(np.argmax(gaps[out:] >= 0.3))  # closer_than and travel together
    expected = [0.2 - drawn_back(t - times[back]) for t in times[back:]]
    assert x[back:] == pytest.approx(expected, abs=1e-9)
    assert gaps[back:].min() > 0.1


def test_it_turns_round_on_its_way_back_when_the_robot_comes_again(lab) -> None:
    here = shy(lab, closer="11cm", speed="0.1m/s")
    watch = watched(here)
    here.act(DOWN, 3)
    here.act(UP, 20)
    for _ in range(60):
        if watch.rows[-1][4][3] < 0.0:  # on its way back
            break
        here.act(WAIT)
    here.act([0.5, 0, -1, 0, 0, 0, -1], 30)
    times, gaps, x = watch.column(0), watch.column(1), watch.column(2)[:, 0] + 0.2083
    speed = watch.column(4)[:, 3]
    on_its_way = (gaps < 0.11) & (speed < -0.09)
    again = int(np.argmax(on_its_way))
    assert on_its_way[again]
    assert 0.01 < x[again] < 0.19
    # It loses 0.1 m/s within 0.1 s, 5 mm later, and sets out anew.
    turned = x[again] - 0.005
    expected = [turned + drawn_back(t - times[again] - 0.1, 0.2 - turned, 0.1) for t in times[again + 50 :]]
    assert x[again + 50 :] == pytest.approx(expected, abs=1e-9)
    assert np.abs(np.diff(speed)).max() <= 1.0 * PHYSICS_DT_S + 1e-9


def test_what_the_robot_holds_is_shied_from_too(lab) -> None:
    here = shy(lab, closer="5cm", stay="(:stay true)")
    here.grasp("soup_1")
    assert len(Load(here.scene).geoms(here.data)) == len(here.scene.entity("soup_1").geoms)
    watch = watched(here)
    box, soup = (here.scene.entity(name).geoms for name in ("box_1", "soup_1"))
    here.act([0, 0, -0.3, 0, 0, 0, 1], 8)
    moved = int(np.argmax(watch.column(2)[:, 0] + 0.2083 > 0.0))
    assert moved > 0
    assert watch.column(1)[moved - 1] > 0.05  # the robot itself was still far
    assert contact.distance(here.scene.model, here.data, soup, box) < 0.3


def test_the_gripper_holds_nothing_when_it_touches_nothing(lab) -> None:
    here = shy(lab)
    assert len(Load(here.scene).geoms(here.data)) == 0


def hashes(env: Env, action, steps: int) -> list[int]:
    found = []
    for _ in range(steps):
        env.step(np.array(action, dtype=float))
        found.append(env.state_hash())
    return found


def test_an_episode_restored_while_it_draws_back_goes_on_bit_for_bit(lab) -> None:
    here = shy(lab, more="(:jitter (:amplitude 3mm) (:frequency 2Hz))")
    env = here.env
    hashes(env, DOWN, 8)
    assert 0.01 < here.pos("box_1")[0] + 0.2083 < 0.19
    snapshot = env.snapshot()
    first = hashes(env, UP, 40)
    env.restore(snapshot)
    assert hashes(env, UP, 40) == first


def test_the_hash_tells_whether_a_thing_has_set_out(lab) -> None:
    one, two = shy(lab).env, shy(lab, stay="(:stay true)").env
    for env in (one, two):
        hashes(env, DOWN, 5)
        hashes(env, WAIT, 14)
    before = one.snapshot()
    assert one.state_hash() == two.state_hash()
    hashes(one, UP, 1)
    after = one.state_hash()
    one.restore(before)
    assert one.state_hash() != after


JITTER = "(:jitter (:amplitude 3mm) (:frequency 2Hz))"


def test_trembling_is_the_same_for_the_same_key_and_differs_from_episode_to_episode(lab) -> None:
    scenario = lab(more=f"(:dynamics (box_1 (:motion still) {JITTER}))", **UNDER_THE_GRIPPER).env.scenario

    def path(index: int) -> np.ndarray:
        env = Env(render=False)
        env.reset(sample(scenario, Key("lab", "lab", 0, 0, index), default_catalog()))
        (hazard,) = env.scene.hazards
        start = np.array(env.data.xpos[env.scene.entity("box_1").body])
        assert start == pytest.approx(hazard.law.at(0.0).pos, abs=1e-12)
        places = []
        for _ in range(15):
            env.step(np.array(WAIT, dtype=float))
            places.append(np.array(env.data.qpos[hazard.qpos : hazard.qpos + 3]))
            assert places[-1] == pytest.approx(hazard.law.at(env.time_s).pos, abs=1e-12)
        return np.array(places)

    assert np.array_equal(path(0), path(0))
    assert np.abs(path(0) - path(1)).max() > 1e-4


ANOTHER_PROCESS = """
import sys
import numpy as np
from libero_safety.sim.env import Env
from libero_safety.types import Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.sample import sample
env = Env(render=False)
env.reset(sample(parse(sys.argv[1]).at(0), Key("lab", "lab", 0, 0, 0), env.catalog))
for _ in range(10):
    env.step(np.array([0, 0, -1, 0, 0, 0, -1.0]))
print(env.state_hash())
"""


def test_another_process_sees_the_same_episode(lab) -> None:
    here = shy(lab, more=JITTER)
    mine = hashes(here.env, DOWN, 10)[-1]
    assert here.pos("box_1")[0] > -0.2  # drawing back
    command = [sys.executable, "-c", ANOTHER_PROCESS, write(here.env.scenario)]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(theirs) == mine


def test_only_what_may_stir_gets_a_joint(lab) -> None:
    for more, free in (
        ("", False),
        (JITTER, True),
        ("(:reach_in (:at 1s) (:offset (0 0 0.1)) (:speed 1))", True),
    ):
        here = lab(more=f"(:dynamics (box_1 (:motion still) {more}))", **UNDER_THE_GRIPPER)
        assert (here.scene.entity("box_1").qpos is not None) is free
        assert len(here.scene.hazards) == int(free)


def test_a_motion_waits_while_the_scene_settles(lab) -> None:
    here = lab(
        more="(:dynamics (box_1 (:motion still) (:reach_in (:at 0s) (:offset (0 0 0.1)) (:speed 0.2m/s))))",
        **UNDER_THE_GRIPPER,
    )
    assert here.pos("box_1") == pytest.approx((-0.2083, 0.0, 0.9), abs=1e-6)
    here.act(WAIT, 19)  # 1.875 * 0.1 / 0.2 = 0.9375 s
    assert here.pos("box_1")[2] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("motion", ["still", "line", "still-trembling"])
def test_a_leaning_thing_keeps_the_height_of_its_lowest_point(lab, motion: str) -> None:
    kind = "line) (:direction (0 1 0)) (:travel 1cm) (:period 9s" if motion == "line" else "still"
    extra = JITTER if "trembling" in motion else ""
    here = lab(
        more=f"(:dynamics (box_1 (:motion {kind}) (:height 20cm) (:tilt (30deg 0deg)) {extra}))",
        **UNDER_THE_GRIPPER,
    )
    scene, data = here.scene, here.data
    rotation = data.xmat[scene.entity("box_1").body].reshape(3, 3)
    half = math.sqrt(0.75)
    assert rotation == pytest.approx(np.array([[1, 0, 0], [0, half, -0.5], [0, 0.5, half]]))
    # Lowest corner of a box of half width 31 mm whose bottom face goes through the origin, turned about x.
    lowest = data.xpos[scene.entity("box_1").body][2] - 0.031 * 0.5
    assert lowest == pytest.approx(0.9 + 0.2, abs=0.003 if extra else 1e-9)


FOLLOW = """(:dynamics (box_1 (:motion {motion}) (:height 12cm) (:facing follow) (:tilt (20deg -10deg)) {extra}))"""
CIRCLE = "circle) (:center (-0.1 0.05)) (:period 2s"
SQUARE = (
    "waypoints) (:mode loop) (:phase 0.3)"
    "(:points ((0.5s (0.1 0 0)) (1s (0.1 0.1 0)) (1.5s (0 0.1 0)) (2s (0 0 0)))"
)


@pytest.mark.parametrize("motion", [CIRCLE, SQUARE], ids=["circle", "waypoints"])
def test_body_velocities_are_the_derivatives_of_its_pose(lab, motion: str) -> None:
    extra = f"{JITTER} (:withdraw (:closer_than 20cm) (:direction (0 1 1)) (:travel 5cm) (:speed 0.2m/s))"
    here = lab(more=FOLLOW.format(motion=motion, extra=extra), **UNDER_THE_GRIPPER)
    watch = watched(here)
    here.act(WAIT, 40)
    pos, turned, velocity = watch.column(2), watch.column(3), watch.column(4)
    smooth = 0
    for k in range(1, len(pos) - 1):
        if np.abs(velocity[k + 1, 3:] - velocity[k - 1, 3:]).max() > 0.05:
            continue  # a corner of the path
        smooth += 1
        assert (pos[k + 1] - pos[k - 1]) / (2 * PHYSICS_DT_S) == pytest.approx(velocity[k, 3:], abs=2e-3)
        spin = (turned[k + 1] - turned[k - 1]) / (2 * PHYSICS_DT_S) @ turned[k].T
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        assert omega == pytest.approx(velocity[k, :3], abs=2e-3)
        assert np.abs(omega[:2]).max() < 2e-3  # about the vertical, however it leans
    assert smooth > 900
    assert np.abs(velocity[:, 2]).max() > 1.0


def test_a_contact_feels_the_velocity_of_what_trembles_turns_and_moves(lab) -> None:
    here = lab(
        more=f"""(:dynamics (box_1 (:motion line) (:direction (0 1 0)) (:travel 0.5m) (:period 4s) {JITTER}
          (:reach_in (:at 0s) (:offset (0 0.1 0)) (:speed 0.2m/s))))""",
        **UNDER_THE_GRIPPER,
    )
    here.put("soup_1", here.pos("box_1") + (0.0, 0.1, 0.0))
    (hazard,) = here.scene.hazards
    box, soup = (here.scene.entity(name) for name in ("box_1", "soup_1"))
    felt = []

    class Hook:
        def after_substep(self, scene, data) -> None:
            for touch in contact.touches(data, box.geoms, soup.geoms):
                row = data.contact.efc_address[touch.contact]
                moving = hazard.law.at(float(data.time) - PHYSICS_DT_S)
                felt.append((data.efc_vel[row], -moving.vel @ touch.normal))

    here.env.hooks = [Hook()]
    while not felt:
        here.act(WAIT)
    at_rest = [pair for pair in felt if pair[1] < -0.1][:2]
    assert at_rest
    for measured, expected in at_rest[:1]:
        assert measured == pytest.approx(expected, abs=5e-3)


def test_the_compiled_model_is_kept_whatever_the_motions_numbers(lab) -> None:
    made = []

    class Counting(ModelCache):
        def get(self, key, make):
            return super().get(key, lambda: made.append(1) or make())

    cache = Counting()
    for amplitude in ("1mm", "2mm"):
        here = lab(
            more=f"(:dynamics (box_1 (:motion still) {JITTER.replace('3mm', amplitude)}))",
            **UNDER_THE_GRIPPER,
        )
        build_scene(here.scene.draw, here.env.catalog, cache)
    assert len(made) == 1
    here = lab(more="(:dynamics (box_1 (:motion still)))", **UNDER_THE_GRIPPER)
    build_scene(here.scene.draw, here.env.catalog, cache)
    assert len(made) == 2


retreats = st.builds(
    Retreat,
    st.just(0.1),
    st.just(np.array([1.0, 0.0, 0.0])),
    st.floats(0.001, 0.5),
    st.floats(0.05, 2.0),
    st.booleans(),
)


def test_drawing_back_a_short_way_never_reaches_full_speed() -> None:
    # 0.3 m/s within 0.1 s is 3 m/s^2: 20 mm are left behind in two ramps of sqrt(0.02 / 3) s.
    retreat = Retreat(0.1, np.array([1.0, 0.0, 0.0]), 0.02, 0.3, False)
    ramp = math.sqrt(0.02 / 3.0)
    assert retreat.along(ramp, 0.0, 0.0, 0.02) == pytest.approx((0.01, 3.0 * ramp))
    assert retreat.along(2 * ramp + 1e-9, 0.0, 0.0, 0.02) == (0.02, 0.0)
    assert retreat.along(0.5 * ramp, 0.02, 0.0, 0.0) == pytest.approx((0.02 - 0.01 / 4, -1.5 * ramp))


def test_who_is_on_the_way_back_stops_first() -> None:
    retreat = Retreat(0.1, np.array([1.0, 0.0, 0.0]), 0.2, 0.3, False)
    assert retreat.along(0.1, 0.1, -0.3, 0.2) == pytest.approx((0.085, 0.0), abs=1e-12)
    assert retreat.along(0.05, 0.1, -0.3, 0.2) == pytest.approx((0.1 - 0.015 + 0.00375, -0.15))
    assert retreat.along(0.1 + 0.2, 0.1, -0.3, 0.2) == pytest.approx((0.085 + 0.015 + 0.03, 0.3))
    assert retreat.along(0.1 + 0.115 / 0.3 + 0.1, 0.1, -0.3, 0.2) == pytest.approx((0.2, 0.0))


@settings(max_examples=200, deadline=None)
@given(retreats, st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_drawing_back_is_smooth_and_bounded_also_when_its_return_is_broken_off(retreat, at_s, time_s) -> None:
    way, rate = retreat.along(at_s, retreat.travel_m, 0.0, 0.0)
    step = 1e-5
    states = [retreat.along(time_s + k * step, way, rate, retreat.travel_m) for k in (0, 1, 2)]
    assert (states[2][0] - states[0][0]) / (2 * step) == pytest.approx(states[1][1], abs=1e-3)
    for (_, one), (_, two) in pairwise(states):
        assert abs(two - one) <= retreat.speed_m_s / 0.1 * step * (1 + 1e-6) + 1e-12
    assert all(-1e-12 <= way <= retreat.travel_m + 1e-12 for way, _ in states)
    assert all(abs(rate) <= retreat.speed_m_s + 1e-12 for _, rate in states)
    assert retreat.along(0.0, way, rate, retreat.travel_m) == pytest.approx((way, rate))
