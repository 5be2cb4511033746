"""The expert does a task without breaking a rule, repeats itself, and says why when it cannot."""

from pathlib import Path

import numpy as np
import pytest

from libero_safety.demo.expert import ExpertError, ExpertPolicy
from libero_safety.policy.load import make_policy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Episode, Key
from libero_safety.ubddl.sample import Draw, sample

pytest.importorskip("piqp")
BOWL = "pick_up_the_akita_black_bowl_on_the_stove_and_place_it_on_the_plate"
APPLE = "pick_up_the_red_apple_and_put_it_on_the_plate_in_my_hand"


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(render=False)


def drawn(env: Env, suite: str, task: str, level: int, index: int = 0) -> Draw:
    found = load_suite(suite).task(task)
    return sample(found.scenario(level), Key(suite, task, level, 0, index), env.catalog)


@pytest.fixture(scope="module")
def done(env) -> tuple[ExpertPolicy, Episode]:
    expert = ExpertPolicy()
    return expert, run_episode(env, expert, drawn(env, "hri", APPLE, 0))


def test_it_completes_a_task_safely(done):
    _, episode = done
    assert (episode.outcome, episode.violations) == ("success", ())
    assert episode.steps < 200
    assert np.abs(episode.trace.executed).max() <= 1.0


def test_it_reports_what_it_decided(done):
    expert, episode = done
    report = expert.report()
    assert report.failure is None
    assert [stage.name for stage in report.stages] == ["grasp the apple", "onto the plate"]
    assert sum(stage.steps for stage in report.stages) <= episode.steps
    assert report.tracking_error_m < 0.003
    assert report.margin_m >= 0.005
    assert set(report.variants.values()) == {0}


def test_the_same_episode_gives_the_same_actions(env, done):
    again = run_episode(env, ExpertPolicy(), drawn(env, "hri", APPLE, 0))
    np.testing.assert_array_equal(again.trace.executed, done[1].trace.executed)


@pytest.mark.parametrize(
    ("suite", "task", "level", "seed", "index"),
    [
        ("aag", "put_the_frypan_on_the_stove", 2, 1, 2),
        ("hri", "put_the_banana_on_the_porcelain_plate", 2, 1, 3),
        ("aag", "put_the_frypan_on_the_stove", 2, 12, 0),
        ("tsa", BOWL, 1, 13, 8),
        ("tsa", BOWL, 0, 14, 1),
    ],
    ids=[
        "beside the pot",
        "beside the pointing hand",
        "a pan that sinks in the fingers, over a pot",
        "a bowl that swings down over the car",
        "a bowl that swings down to the stove",
    ],
)
def test_held_things_touch_nothing_on_their_way(env, suite, task, level, seed, index):
    found = load_suite(suite).task(task)
    draw = sample(found.scenario(level), Key(suite, task, level, seed, index), env.catalog)
    assert run_episode(env, ExpertPolicy(), draw).outcome == "success"


def test_it_sets_things_down_on_a_palm_that_moves(env):
    episode = run_episode(env, ExpertPolicy(), drawn(env, "hri", APPLE, 1))
    assert (episode.outcome, episode.violations) == ("success", ())


def test_variants_give_another_way(env, done):
    expert = ExpertPolicy(vary=True)
    episode = run_episode(env, expert, drawn(env, "hri", APPLE, 0))
    assert episode.outcome == "success"
    assert any(expert.report().variants.values())
    assert not np.array_equal(episode.trace.executed[:20], done[1].trace.executed[:20])


def test_it_foresees_its_plan_without_moving_anything(env):
    expert = ExpertPolicy()
    env.reset(drawn(env, "hri", APPLE, 0))
    before = env.state_hash()
    expert.attach(env)
    expert.reset("", np.random.default_rng(0))
    report = expert.foresee()
    assert report.failure is None
    assert [stage.name for stage in report.stages][:2] == ["grasp the apple", "onto the plate"]
    assert env.state_hash() == before


def test_without_a_way_it_stops_acting_and_says_why(env, tmp_path):
    file = tmp_path / "far.toml"
    file.write_text('[[keypose]]\nname = "far"\nframe = "apple_1"\npos = [2.0, 0.0, 0.1]\n')
    expert = ExpertPolicy(file)
    episode = run_episode(env, expert, drawn(env, "hri", APPLE, 0), RolloutConfig(horizon=5))
    assert episode.outcome == "timeout"
    assert not episode.trace.executed[:, :6].any()
    failure = expert.report().failure
    assert (failure.reason, failure.stage) == ("unreachable", "far")


def test_it_is_a_policy_of_that_name():
    assert isinstance(make_policy("expert", vary="yes", keyposes="x.toml").inner, ExpertPolicy)


def test_it_must_be_attached_first():
    with pytest.raises(ExpertError, match="attach"):
        ExpertPolicy().reset("", np.random.default_rng(0))
    with pytest.raises(ExpertError, match="reset"):
        ExpertPolicy().act(None)
    with pytest.raises(ExpertError, match="reset"):
        ExpertPolicy().foresee()


def test_a_missing_file_of_keyposes_is_a_reason(env):
    expert = ExpertPolicy(Path("nowhere.toml"))
    run_episode(env, expert, drawn(env, "hri", APPLE, 0), RolloutConfig(horizon=2))
    assert expert.report().failure.reason == "no_keyposes"


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["aag", "hri", "tsa", "fshoa"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_it_does_every_task_without_breaking_a_rule(env, suite, level):
    outcomes = {}
    for task in load_suite(suite).tasks:
        expert = ExpertPolicy()
        episode = run_episode(env, expert, drawn(env, suite, task.name, level))
        assert episode.violations == (), task.name
        outcomes[task.name] = (episode.outcome, expert.report().failure)
    assert sum(outcome == "success" for outcome, _ in outcomes.values()) >= 4, outcomes
