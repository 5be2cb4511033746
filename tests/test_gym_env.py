"""The Gymnasium door."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from libero_safety.gym_env import SafetyEnv
from libero_safety.rollout import RolloutConfig
from libero_safety.suites import load_suite

UP = np.array([0, 0, 1.0, 0, 0, 0, -1])
DOWN = np.array([0, 0, -1.0, 0, 0, 0, -1])


@pytest.fixture
def make():
    def make(**kwargs):
        return SafetyEnv(load_suite("tsa").tasks[0], images=False, **kwargs)

    return make


def test_it_passes_gymnasiums_own_check(make):
    check_env(make(), skip_render_check=True)


def test_reset_is_reproducible_and_goes_on_to_the_next_draw(make):
    env = make()
    first, info = env.reset(seed=4)
    assert info["key"].endswith("L0/seed4/0")
    hash_0 = env.env.state_hash()
    _, info = env.reset()
    assert info["key"].endswith("seed4/1")
    assert env.env.state_hash() != hash_0
    env.reset(options={"index": 0})
    assert env.env.state_hash() == hash_0
    again, _ = make().reset(seed=4)
    assert np.array_equal(first["state"], again["state"])


def test_a_violation_terminates_with_its_facts(make):
    env = make()
    env.reset(seed=0)
    for _ in range(60):
        _, reward, terminated, truncated, info = env.step(DOWN)
        if terminated:
            break
    assert terminated
    assert not truncated
    assert reward == 0.0
    assert not info["success"]
    violation = info["violations"][0]
    assert violation["kind"] == "NoTableStrike"
    assert violation["value"] > violation["limit"] == 40.0
    assert "finger" in violation["link"]


def test_continue_goes_on_until_the_horizon(make):
    env = make(config=RolloutConfig(horizon=30, on_violation="continue"))
    env.reset(seed=0)
    flags = [env.step(DOWN)[2:4] for _ in range(30)]
    assert flags == [(False, False)] * 29 + [(False, True)]


def test_a_restored_episode_has_its_violations_back(make):
    env = make(config=RolloutConfig(on_violation="continue"))
    env.reset(seed=0)
    env.step(UP)
    snapshot = env.snapshot()
    results = []
    for _ in range(2):
        env.restore(snapshot)
        for _ in range(25):
            *_, info = env.step(DOWN)
        results.append((info["violations"], env.env.state_hash()))
    assert results[0] == results[1]
    assert results[0][0]


@pytest.mark.gl
def test_images_have_the_declared_shape():
    env = SafetyEnv(load_suite("tsa").tasks[0], level=1, image_size=96)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert env.render().shape == (96, 96, 3)
    env.close()
