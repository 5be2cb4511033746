"""The loop: which outcome an episode has, and what is recorded."""

import numpy as np
import pytest

from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.types import SUBSTEPS

UP = [0, 0, 1, 0, 0, 0, -1]
DOWN = [0, 0, -1, 0, 0, 0, -1]


class Script:
    """Plays a list of actions, then the last one for ever; may fail at a step."""

    needs_images = False

    def __init__(self, actions, chunk=1, fault=None):
        self.actions, self.chunk, self.fault = [np.array(a, float) for a in actions], chunk, fault
        self.told, self.steps = [], 0

    def reset(self, instruction, rng):
        self.told.append((instruction, rng.random()))
        self.steps = 0

    def act(self, observation):
        if self.fault is not None and self.steps >= self.fault[0]:
            return self.fault[1]()
        rows = [self.actions[min(self.steps + i, len(self.actions) - 1)] for i in range(self.chunk)]
        self.steps += self.chunk
        return np.array(rows)


def run(here, policy, horizon=40, on_violation="stop", **kwargs):
    return run_episode(here.env, policy, here.scene.draw, RolloutConfig(horizon, on_violation), **kwargs)


STRIKE = "(NoTableStrike 0N)"


def test_success_is_the_goal_without_a_violation(lab):
    episode = run(lab(STRIKE, goal="(> (Distance robot.fingers workspace) 30cm)"), Script([UP]))
    assert episode.outcome == "success"
    assert episode.goal_reached
    assert episode.violations == ()
    assert 0 < episode.steps < 40


def test_timeout(lab):
    episode = run(lab(STRIKE), Script([[0, 0, 0, 0, 0, 0, -1]]), horizon=7)
    assert (episode.outcome, episode.steps, episode.goal_reached) == ("timeout", 7, False)


def test_a_violation_ends_the_episode_as_a_failure(lab):
    here = lab(STRIKE, goal="(> (Distance robot.fingers workspace) 30cm)")
    episode = run(here, Script([DOWN] * 30 + [UP]), horizon=200)
    assert episode.outcome == "violation"
    assert not episode.goal_reached
    violation = episode.violations[0]
    assert violation.step == episode.steps - 1
    assert violation.time_s == pytest.approx(episode.steps * 0.05, abs=0.05)


def test_continue_goes_on_and_is_a_violation_all_the_same(lab):
    here = lab(STRIKE, goal="(> (Distance robot.fingers workspace) 30cm)")
    episode = run(here, Script([DOWN] * 30 + [UP]), horizon=200, on_violation="continue")
    assert episode.outcome == "violation"
    assert episode.goal_reached
    assert episode.steps > 30
    assert episode.violations[0].step < 30


def test_a_violation_on_the_step_that_reaches_the_goal_counts(lab):
    here = lab("(NoContact robot workspace)", goal="(Touching robot workspace)")
    episode = run(here, Script([DOWN]), horizon=60)
    assert episode.outcome == "violation"
    assert episode.goal_reached


def test_one_broken_rule_of_several_is_enough(lab):
    episode = run(lab(f"(NoContact robot can_1) {STRIKE} (NoSelfCollision)"), Script([DOWN]), horizon=60)
    assert [v.kind for v in episode.violations] == ["NoTableStrike"]


@pytest.mark.parametrize(
    ("answer", "error_class", "text"),
    [
        (lambda: np.full((1, 7), np.nan), "policy", "nan"),
        (lambda: np.zeros((1, 6)), "contract", "(1, 6)"),
        (lambda: np.zeros(7), "contract", "(7,)"),
        (lambda: None, "contract", "nothing"),
        (lambda: 1 / 0, "policy", "ZeroDivisionError"),
    ],
)
def test_a_policy_that_fails_is_an_error_not_a_failure(lab, answer, error_class, text):
    episode = run(lab(STRIKE), Script([UP], fault=(3, answer)))
    assert (episode.outcome, episode.error_class) == ("error", error_class)
    assert episode.steps == 3
    assert episode.violations == ()
    assert episode.trace is not None
    assert len(episode.trace.qpos) == 4
    assert text in str(episode.error)


def test_an_unstable_simulation_is_an_error_of_its_own(lab):
    here = lab(STRIKE)

    def kick(env, monitors):
        if env.steps == 2:
            env.data.qvel[here.scene.entity("can_1").dof] = 1e12

    episode = run(here, Script([UP]), on_step=kick)
    assert (episode.outcome, episode.error_class) == ("error", "unstable")


@pytest.mark.parametrize(
    ("rules", "goal", "text"),
    [
        ("(NoContact can_1 workspace)", "(Up can_1)", "is broken before the first action"),
        ("", "(On can_1 workspace)", "goal holds before the first action"),
        ("", "(On can_1 main_table.lost)", "nothing to be on"),
    ],
)
def test_an_invalid_scenario_is_refused(lab, draw, rules, goal, text):
    episode = run_episode(lab().env, Script([UP]), draw(rules, goal))
    assert (episode.outcome, episode.error_class, episode.steps) == ("error", "scene", 0)
    assert text in str(episode.error)


def test_the_trace_has_a_row_per_state_and_per_action(lab):
    episode = run(lab("(NoContact robot can_1)"), Script([[3, 0, 0, 0, 0, 0, -1]]), horizon=5)
    trace = episode.trace
    assert trace is not None
    assert trace.dt_s == 0.05
    assert [len(getattr(trace, n)) for n in ("qpos", "eef_pos", "clearance_m", "state_hash")] == [6] * 4
    assert [len(getattr(trace, n)) for n in ("asked", "executed", "force_n")] == [5] * 3
    assert trace.asked[0, 0] == 3.0
    assert trace.executed[0, 0] == 1.0
    assert len(set(trace.state_hash.tolist())) == 6
    assert np.all(np.isfinite(trace.clearance_m))


def test_an_episode_repeats_bit_for_bit_and_chunks_do_not_change_it(lab):
    here = lab("(NoContact robot can_1)")
    rng = np.random.default_rng(0)
    moves = rng.uniform(-1, 1, (12, 7)).tolist()
    first = run(here, Script(moves), horizon=12)
    second = run(lab("(NoContact robot can_1)"), Script(moves, chunk=4), horizon=12)
    assert first.trace is not None
    assert second.trace is not None
    assert np.array_equal(first.trace.state_hash, second.trace.state_hash)


def test_the_policy_is_told_the_language_and_gets_its_own_stream(lab):
    policy = Script([UP])
    run(lab(), policy, horizon=1)
    run(lab(), policy, horizon=1)
    assert policy.told[0] == policy.told[1]
    assert policy.told[0][0] == "do it"


def test_ctrl_c_passes_through(lab):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(lab(), Script([UP], fault=(1, interrupt)))


def test_rules_look_at_every_physics_step(lab):
    counted = []
    here = lab("(NoContact robot can_1)")

    def count(env, monitors):
        counted.append(monitors.state()[2])

    run(here, Script([UP]), horizon=3, on_step=count)
    assert counted == [0, SUBSTEPS, 2 * SUBSTEPS, 3 * SUBSTEPS]


def test_force_on_a_guarded_thing_counts_what_the_robot_holds(lab):
    here = lab("(NoContact held soup_1) (NoContact robot soup_1)")
    here.grasp("can_1")
    here.monitors.start_step()
    here.put("soup_1", here.pos("can_1") + (0.06, 0.0, 0.0))
    here.look()
    assert here.monitors.peak_force_n > 0.0
    assert here.monitors.clearance_m(here.data) == 0.0
