"""Every draw gives a demonstration or a reason, and each reason can be provoked."""

import dataclasses
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from libero_safety.demo import generate as module
from libero_safety.demo import route, segments
from libero_safety.demo.execution import Tracker
from libero_safety.demo.generate import Demo, Plan, Reject, generate, plan
from libero_safety.demo.rejects import REASONS
from libero_safety.plan.problem import PlanFailed
from libero_safety.plan.timing import TimingFailed
from libero_safety.plan.tip import TipPlanner
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.parse import parse_file
from libero_safety.ubddl.spec import Scenario

pytest.importorskip("piqp")
APPLE = "pick_up_the_red_apple_and_put_it_on_the_plate_in_my_hand"
TASK = load_suite("hri").task(APPLE)
WRITTEN = TASK.keyposes_path.read_text()
KEY = Key("hri", APPLE, 0, 0, 1)


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(render=False)


def one(env: Env, scenario: Scenario | None = None, **options) -> Demo | Reject:
    return next(generate([(scenario or TASK.scenario(0), KEY)], env, **options))


def written(folder: Path, change: Callable[[str], str]) -> dict[str, object]:
    file = folder / "keyposes.toml"
    file.write_text(change(WRITTEN))
    return {"keyposes": file, "tries": 1}


def only(text: str, count: int) -> str:
    """The first keyposes of a file."""
    return "[[keypose]]".join(text.split("[[keypose]]")[: count + 1])


def changed(old: str, new: str) -> Callable[[str], str]:
    assert old in WRITTEN
    return lambda text: text.replace(old, new)


def moved(name: str, pos: list[float]) -> Callable[[str], str]:
    """Another place for a keypose."""
    found = re.search(rf'name = "{name}".*?pos = \[.*?\]', WRITTEN, re.DOTALL)
    assert found is not None
    return changed(found[0], re.sub(r"pos = .*", f"pos = {pos}", found[0]))


def no_draw(env, tmp_path, patch):
    scenario = TASK.scenario(0)
    spot = dict.fromkeys(("x_min", "y_min"), 0.0) | dict.fromkeys(("x_max", "y_max"), 0.001)
    regions = tuple(
        dataclasses.replace(region, rects=(dataclasses.replace(region.rects[0], **spot),))
        if region.rects
        else region
        for region in scenario.regions
    )
    return one(env, dataclasses.replace(scenario, regions=regions))


def invalid_start(env, tmp_path, patch):
    file = tmp_path / TASK.path.name
    file.write_text(
        TASK.path.read_text().replace("(NoSelfCollision)", "(Never (Touching apple_1 workspace))")
    )
    return one(env, parse_file(file).at(0))


def no_keyposes(env, tmp_path, patch):
    shutil.copy(TASK.path, tmp_path)
    return one(env, parse_file(tmp_path / TASK.path.name).at(0))


def bad_keypose(env, tmp_path, patch):
    return one(env, **written(tmp_path, changed("apple_1.grasp", "apple_1.stalk")))


def unreachable(env, tmp_path, patch):
    return one(env, **written(tmp_path, moved("above the apple", [1.5, 0.0, 0.1])))


def start_in_collision(env, tmp_path, patch):
    patch.setattr(segments, "_first_hit", lambda *_: ("robot.hand", "apple_1"))
    patch.setattr(
        TipPlanner, "plan", lambda *_: PlanFailed("start_in_collision", "robot.hand touches apple_1")
    )
    return one(env, **written(tmp_path, str))


def keypose_in_collision(env, tmp_path, patch):
    return one(env, **written(tmp_path, moved("above the apple", [0.0, 0.0, -0.2])))


def plan_timeout(env, tmp_path, patch):
    patch.setattr(segments, "_first_hit", lambda *_: ("robot.hand", "apple_1"))
    patch.setattr(TipPlanner, "plan", lambda *_: PlanFailed("timeout", "no way within 2 s"))
    return one(env, **written(tmp_path, str))


def plan_failed(env, tmp_path, patch):
    patch.setattr(segments, "_first_hit", lambda *_: ("robot.hand", "apple_1"))
    patch.setattr(TipPlanner, "plan", lambda *_: PlanFailed("constraint", "it cannot stay upright"))
    return one(env, **written(tmp_path, str))


def timing_failed(env, tmp_path, patch):
    patch.setattr(
        route, "time_path", lambda *_, **__: TimingFailed("tube", "there is no motion within the tube")
    )
    return one(env, **written(tmp_path, str))


def path_blocked_by_moving_hazard(env, tmp_path, patch):
    key = dataclasses.replace(KEY, level=1)
    patch.setattr(route, "WAIT_S", 0.4)
    patch.setattr(route._Search, "_too_near", lambda *_: ("robot.hand", "plate_with_hand_1"))
    return next(generate([(TASK.scenario(1), key)], env, tries=1))


def drift(env, tmp_path, patch):
    patch.setattr(Tracker, "action", lambda *_: np.zeros(6))
    return one(env, **written(tmp_path, str))


def lost_grasp(env, tmp_path, patch):
    return one(env, **written(tmp_path, moved("grasp the apple", [0.0, 0.0, 0.08])))


def execution_violation(env, tmp_path, patch):
    file = tmp_path / TASK.path.name
    file.write_text(TASK.path.read_text().replace("(NoSelfCollision)", "(MaxDisplacement apple_1 0.05m)"))
    return one(env, parse_file(file).at(0), **written(tmp_path, str))


def goal_not_reached(env, tmp_path, patch):
    return one(env, **written(tmp_path, lambda text: only(text, 1)))


def episode_timeout(env, tmp_path, patch):
    return one(env, horizon=10, **written(tmp_path, str))


def unstable(env, tmp_path, patch):
    run = module.run_episode
    patch.setattr(
        module,
        "run_episode",
        lambda *args: dataclasses.replace(
            run(*args), outcome="error", error_class="unstable", error="it blew up"
        ),
    )
    return one(env, horizon=2, **written(tmp_path, str))


def internal(env, tmp_path, patch):
    patch.setattr(route.Router, "route", lambda *_: 1 / 0)
    return one(env, **written(tmp_path, str))


CASES = {case.__name__: case for case in (
    no_draw, invalid_start, no_keyposes, bad_keypose, unreachable, start_in_collision, keypose_in_collision,
    plan_timeout, plan_failed, timing_failed, path_blocked_by_moving_hazard, drift, lost_grasp, execution_violation,
    goal_not_reached, episode_timeout, unstable, internal,
)}  # fmt: skip


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_can_be_provoked(env, tmp_path, monkeypatch, reason):
    made = CASES[reason](env, tmp_path, monkeypatch)
    assert isinstance(made, Reject)
    assert made.failure.reason == reason, made.failure
    assert made.failure.detail


def test_every_reason_says_what_to_do():
    assert list(CASES) == list(REASONS)
    assert all(reason.doc.endswith(".") and reason.advice.endswith(".") for reason in REASONS.values())


def test_a_demonstration_reached_its_goal_and_broke_no_rule(env):
    made = one(env)
    assert isinstance(made, Demo)
    assert (made.episode.outcome, made.episode.violations) == ("success", ())
    assert len(made.trace.executed) == made.episode.steps


def test_a_draw_is_tried_with_other_variants(env, monkeypatch):
    seen: list[tuple[int, ...]] = []
    attempt = module._try

    def failing(draw, env, number, config, keyposes):
        made = attempt(draw, env, number, config, keyposes)
        seen.append(tuple(made.report.variants.values()))
        return (
            made
            if number == 3
            else Reject(draw.key, module.Failure("goal_not_reached", "", "not yet"), number, draw)
        )

    monkeypatch.setattr(module, "_try", failing)
    made = one(env)
    assert (made.tries, len(set(seen))) == (3, 3)


def test_planning_alone_moves_nothing(env):
    made = next(plan([(TASK.scenario(0), KEY)], env))
    assert isinstance(made, Plan)
    assert made.report.failure is None
    assert env.steps == 0
    rejected = next(plan([(TASK.scenario(0), KEY)], env, keyposes=Path("nowhere.toml")))
    assert isinstance(rejected, Reject)
    assert rejected.failure.reason == "no_keyposes"


def test_a_plan_for_two_things_in_one_basket_knows_where_the_first_falls(env):
    """Where it is let go it would be in the way of the second."""
    task = load_suite("tsa").task("put_both_the_alphabet_soup_and_the_cream_cheese_box_in_the_basket")
    made = next(plan([(task.scenario(0), Key("tsa", task.name, 0, 0, 0))], env))
    assert isinstance(made, Plan), made.failure
