"""Reset, step, hazards, snapshots: the physics of an episode."""

import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.sim.compose import build_scene
from libero_safety.sim.env import ActionError, Env, UnstableSimulationError, axis_angle
from libero_safety.sim.scene import SceneError
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.sample import sample

LINE = "(:dynamics (can_1 (:motion line) (:direction (0 -1 0)) (:travel 0.2m) (:period 4s)))"
NOISE = "(:noise (gaussian_blur 5) (fog 5))"


def actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7))


def test_a_scene_at_rest_is_still(lab):
    here = lab()
    before = here.data.qpos.copy()
    here.act([0, 0, 0, 0, 0, 0, -1], 20)
    assert np.abs(here.data.qpos - before).max() < 1e-3


def test_same_key_same_states_other_index_other_scene(lab):
    texts = [lab(more=LINE).env for _ in range(2)]
    hashes = []
    for env in texts:
        for action in actions(10):
            env.step(action)
        hashes.append(env.state_hash())
    assert hashes[0] == hashes[1]
    texts[0].step(actions(1)[0])
    assert texts[0].state_hash() != hashes[0]


def test_a_restored_episode_goes_on_bit_for_bit(lab):
    env = lab(more=LINE).env
    for action in actions(7):
        env.step(action)
    snapshot = env.snapshot()

    def go_on() -> list[int]:
        result = []
        for action in actions(12, seed=1):
            env.step(action)
            result.append(env.state_hash())
        return result

    first = go_on()
    env.restore(snapshot)
    assert env.steps == 7
    assert env.time_s == pytest.approx(0.35)
    assert go_on() == first
    env.restore(snapshot)  # a snapshot can be used again
    assert go_on() == first


def test_a_snapshot_of_another_scene_is_refused(lab):
    one, two = lab().env, lab().env
    with pytest.raises(SceneError, match="scene it was taken in"):
        two.restore(one.snapshot())


@pytest.mark.parametrize(
    "action", [[0.0] * 6, [0.0, 0.0, 0.0, np.nan, 0.0, 0.0, 0.0], [np.inf] * 7, [[0.0] * 7]]
)
def test_a_bad_action_changes_nothing(lab, action):
    env = lab().env
    before = env.state_hash()
    with pytest.raises(ActionError, match="7 finite numbers"):
        env.step(np.array(action))
    assert env.state_hash() == before
    assert env.steps == 0


def test_a_huge_action_is_clipped(lab):
    one, two = lab().env, lab().env
    assert np.array_equal(one.step(np.full(7, 1e6)), np.ones(7))
    two.step(np.ones(7))
    assert one.state_hash() == two.state_hash()


def test_a_hazard_follows_its_law_whatever_is_in_its_way(lab):
    here = lab(more=LINE)
    start = here.pos("can_1")
    here.put("soup_1", start + (0.0, -0.09, 0.0))  # pushed along for most of the way
    speed = 0.2 / 2.0
    for step in range(1, 30):
        here.act([0, 0, 0, 0, 0, 0, -1])
        assert here.pos("can_1") == pytest.approx(start + (0.0, -speed * 0.05 * step, 0.0), abs=1e-9)
    dof = here.scene.entity("can_1").dof
    assert here.data.qvel[dof : dof + 3] == pytest.approx((0.0, -speed, 0.0), abs=1e-9)
    assert here.pos("soup_1")[1] < start[1] - 0.2


def test_a_hazard_waits_while_the_scene_settles(lab):
    here = lab(more=LINE)
    assert here.pos("can_1")[:2] == pytest.approx((0.20, 0.30), abs=1e-9)
    assert here.env.time_s == 0.0


def test_a_sleeping_thing_is_woken_by_a_hazard(lab):
    here = lab(more=LINE)
    tree = here.scene.model.body_treeid[here.scene.entity("soup_1").body]
    here.put("soup_1", here.pos("can_1") + (0.0, -0.15, 0.0))
    here.act([0, 0, 0, 0, 0, 0, -1], 14)
    before = here.pos("soup_1")
    slept = not here.data.tree_awake[tree]
    here.act([0, 0, 0, 0, 0, 0, -1], 20)
    assert slept
    assert here.pos("soup_1")[1] < before[1] - 0.05


def test_instability_is_told_apart(lab):
    here = lab()
    here.data.qvel[here.scene.entity("can_1").dof] = 1e12
    with pytest.raises(UnstableSimulationError, match="control step 1"):
        here.act([0, 0, 0, 0, 0, 0, -1], 3)


def test_nothing_is_written_to_the_working_folder_when_it_blows_up(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = lab()
    here.data.qvel[here.scene.entity("can_1").dof] = 1e12
    with pytest.raises(UnstableSimulationError):
        here.act([0, 0, 0, 0, 0, 0, -1], 3)
    assert list(tmp_path.iterdir()) == []


def test_frames(lab):
    here = lab(fixtures="stove_1 - flat_stove", init="(On stove_1 main_table.s)")
    env = here.env
    assert env.frame_pose("can_1")[0] == pytest.approx(here.pos("can_1"))
    lid = env.frame_pose("can_1.lid")[0]
    assert lid[:2] == pytest.approx(here.pos("can_1")[:2], abs=1e-3)
    assert lid[2] > here.pos("can_1")[2] + 0.08
    assert env.frame_pose("main_table.b")[0] == pytest.approx((0.2, -0.3, 0.9))
    assert env.frame_pose("stove_1.cook_region")[0][2] > 0.9
    half = np.pi / 8
    here.put("can_1", here.pos("can_1"), (np.cos(half), 0, 0, np.sin(half)))
    assert env.frame_pose("can_1")[1][:, 0] == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0.0))
    with pytest.raises(SceneError, match="did you mean 'can_1'"):
        env.frame_pose("cann_1")


def test_state_is_what_libero_tells_policies(lab):
    env = lab().env
    state = env.observe().state
    assert state.shape == (8,)
    assert state[:3] == pytest.approx(env.eef_pose()[0])
    assert state[6:] == pytest.approx((0.04, -0.04), abs=2e-3)
    # Fingers down: the flange is turned by pi about a horizontal axis.
    assert np.linalg.norm(state[3:6]) == pytest.approx(np.pi, abs=0.1)


def test_axis_angle_keeps_the_sign_of_w():
    assert axis_angle(np.array([1.0, 0, 0, 0])) == pytest.approx((0, 0, 0))
    assert axis_angle(np.array([np.cos(0.2), np.sin(0.2), 0, 0])) == pytest.approx((0.4, 0, 0))
    flipped = axis_angle(-np.array([np.cos(0.2), np.sin(0.2), 0, 0]))
    assert flipped == pytest.approx((0.4 - 2 * np.pi, 0, 0))


def test_a_scene_does_not_depend_on_what_was_built_before(lab):
    more = "(:robot (:start_noise 0.1rad))"
    cold = lab(more=more).env
    warm = lab(more=more).env
    draws = [sample(cold.scenario, Key("lab", "lab", 0, 0, i), cold.catalog) for i in range(3)]
    warm.reset(draws[1])
    warm.scene.model.opt.gravity[:] = 0.0  # a scene's model is its own
    warm.scene.model.body_pos[:] += 1.0
    for draw in draws:
        fresh = Env(render=False)
        fresh.reset(draw)
        warm.reset(draw)
        for action in actions(3):
            fresh.step(action)
            warm.step(action)
        assert fresh.state_hash() == warm.state_hash()


def test_fixtures_and_objects_stand_where_they_were_drawn(lab):
    here = lab(fixtures="stove_1 - flat_stove", init="(On stove_1 main_table.s)")
    for name in ("stove_1", "can_1"):
        pose = here.scene.draw.poses[name]
        assert here.pos(name) == pytest.approx(here.scene.workspace_pos + pose.pos, abs=2e-3)


def test_looks_cameras_and_start_noise_reach_the_model():
    text = """(define (problem p) (:ubddl 1) (:arena tabletop) (:language l)
      (:fixtures main_table - table) (:objects can_1 - can_of_soda)
      (:regions (a (:target main_table) (:ranges ((0 0 0 0))))) (:init (On can_1 main_table.a))
      (:goal (Up can_1)) {more})"""
    plain, changed = (
        build_scene(
            sample(parse(text.format(more=more)).at(0), Key("s", "p", 0, 0, 0), default_catalog()),
            default_catalog(),
        )
        for more in (
            "",
            "(:cameras (agentview (:yaw 10deg) (:scale 1.2))) (:looks (:table slate) (:light 0.5))"
            "(:robot (:start_noise 0.1rad))",
        )
    )
    arm = list(plain.robot.arm_qpos)
    assert np.linalg.norm(changed.start[arm] - plain.start[arm]) == pytest.approx(0.1)
    camera = plain.model.camera("agentview").id
    before, after = plain.model.cam_pos[camera], changed.model.cam_pos[camera]
    assert np.arctan2(after[1], after[0]) != pytest.approx(np.arctan2(before[1], before[0]))
    assert table_picture(plain.model) == "look/oak_01"
    assert table_picture(changed.model) == "look/stone_slate_01"
    assert changed.model.light_diffuse == pytest.approx(plain.model.light_diffuse / 2)
    assert changed.model.vis.headlight.ambient == pytest.approx(plain.model.vis.headlight.ambient / 2)


def test_looks_change_pictures_only(lab):
    looks = "(:looks (:table marble_black_01) (:floor carpet) (:wall brick) (:lighting night) (:light 0.5))"
    hashes = []
    for more in (LINE, LINE + looks):
        env = lab(more=more).env
        for action in actions(10):
            env.step(action)
        hashes.append(env.state_hash())
    assert hashes[0] == hashes[1]


def table_picture(model):
    material = model.geom("arena/workspace/4").matid[0]
    return model.texture(model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]).name


def test_an_unknown_look_or_controller_is_an_error(lab):
    with pytest.raises(Exception, match=r"slaty.*did you mean 'slate'"):
        lab(more="(:looks (:table slaty))")
    with pytest.raises(SceneError, match="unknown controller 'liber'"):
        lab(more="(:robot (:controller liber))")


@pytest.mark.gl
def test_both_cameras_and_noise(lab):
    here = lab(more=NOISE)
    env = Env(default_catalog(), image_size=64)
    try:
        env.reset(here.scene.draw)
        first = env.observe().images
    except LookupError:
        pytest.skip("no GL")
    assert set(first) == {"agentview", "robot0_eye_in_hand"}
    assert all(i.shape == (64, 64, 3) and i.dtype == np.uint8 for i in first.values())
    again = env.observe().images
    for camera, image in first.items():
        assert np.array_equal(image, again[camera])  # same step, same noise: however often one looks
        assert not np.array_equal(image, env.image(camera, clean=True))
    env.step(np.zeros(7))
    assert not np.array_equal(first["agentview"], env.observe().images["agentview"])
    env.close()


def twenty_states() -> list[int]:
    task = load_suite("tsa").tasks[0]
    env = Env(render=False)
    env.reset(sample(task.scenario(1), Key("tsa", task.name, 1, 3, 0), default_catalog()))
    states = []
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 7)):
        env.step(action)
        states.append(env.state_hash())
    return states


def test_two_processes_agree_on_every_state():
    command = [sys.executable, "-c", "import test_env; print(*test_env.twenty_states())"]
    here = Path(__file__).parent
    theirs = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout
    mine = twenty_states()
    assert [int(state) for state in theirs.split()] == mine
    assert len(set(mine)) == 20


def test_contacts_and_forces_are_those_of_the_step_that_was_taken(lab):
    here = lab()
    seen = []

    class Hook:
        def after_substep(self, scene, data):
            seen.append((data.ncon, float(data.time)))

    here.env.hooks = [Hook()]
    here.put("can_1", here.pos("can_1"))
    here.act([0, 0, 0, 0, 0, 0, -1])
    assert len(seen) == 25
    assert seen[0][0] > 0
    assert np.diff([t for _, t in seen]) == pytest.approx(0.002)
    assert mujoco.mj_versionString()
