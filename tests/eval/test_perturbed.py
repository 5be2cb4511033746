"""A perturbation reaches the policy, the log and the replay, and moves nothing else."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from runner_fakes import FakeRunner, write_suite

from libero_safety.assets.catalog import default_catalog
from libero_safety.cli import main
from libero_safety.data.runlog import RunLogError, read_run
from libero_safety.eval.frames import logged_draw
from libero_safety.eval.header import run_header
from libero_safety.eval.perturbed import EpisodeDraw, draws, impossible, stock_of
from libero_safety.eval.plan import EvalConfig, EvalConfigError, make_plan
from libero_safety.eval.replay import replay
from libero_safety.eval.runner import evaluate
from libero_safety.eval.simulator import RunnerInfo, Simulator
from libero_safety.registry import UnknownNameError
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.sim import corrupt
from libero_safety.sim.env import Env
from libero_safety.sim.vision import gl_backend
from libero_safety.suites import BUILTIN, find_task, load_suite
from libero_safety.types import Chunk, Key, Observation
from libero_safety.ubddl.perturb import AXES, Perturbation
from libero_safety.ubddl.spec import Look
from libero_safety.ubddl.words import CAMERAS

TASK = "tsa/put_both_moka_pots_on_the_stove"
needs_gl = pytest.mark.skipif(not gl_backend().ok, reason="no off-screen GL library")


class Recorder:
    """A policy that stands still and keeps all that it is shown."""

    def __init__(self) -> None:
        self.told = ""
        self.seen: list[Observation] = []

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        self.told = instruction

    def act(self, observation: Observation) -> Chunk:
        self.seen.append(observation)
        return np.zeros((1, 7))


def first_draw(*perturb: str, task: str = TASK, level: int = 0, index: int = 0) -> EpisodeDraw:
    found = find_task(task)
    key = Key(found.suite, found.name, level, 0, index)
    wanted = tuple(map(Perturbation.parse, perturb))
    return next(draws(found.scenario(level), key, wanted, default_catalog()))


@lru_cache
def shown(*perturb: str) -> Recorder:
    """What a policy is shown at the first two steps of the same episode under perturbations."""
    policy, env = Recorder(), Env(image_size=64)
    try:
        episode = run_episode(env, policy, first_draw(*perturb).draw, RolloutConfig(horizon=2))
    finally:
        env.close()
    assert episode.outcome == "timeout"
    return policy


def change(a: Recorder, b: Recorder, camera: str) -> float:
    """Mean difference of the first pictures, in grey levels."""
    one, other = (policy.seen[0].images[camera].astype(float) for policy in (a, b))
    return float(np.abs(one - other).mean())


@needs_gl
@pytest.mark.gl
@pytest.mark.parametrize("axis", AXES)
def test_the_policy_is_told_the_same_but_shown_something_else(axis: str) -> None:
    plain, perturbed = shown(), shown(axis)
    assert perturbed.told == plain.told == "put both moka pots on the stove"
    assert change(plain, perturbed, "agentview") > 0.3
    # Only the agent's camera is turned, and a start elsewhere is all that moves the arm.
    wrist = change(plain, perturbed, "robot0_eye_in_hand")
    assert (wrist == 0.0) == (axis == "view")
    same_state = np.allclose(plain.seen[0].state, perturbed.seen[0].state, atol=1e-5)
    assert same_state == (axis != "init")


@needs_gl
@pytest.mark.gl
def test_noise_reaches_both_cameras_at_every_step_and_adds_up_with_the_rest() -> None:
    strong = shown("noise=12")
    for camera in CAMERAS:
        assert change(shown(), strong, camera) > 2.0
        assert change(shown("view"), shown("view", "noise=12"), camera) > 2.0
    both = [np.abs(a.images["agentview"].astype(float) - b.images["agentview"]).mean()
            for a, b in zip(shown().seen, strong.seen, strict=True)]  # fmt: skip
    assert min(both) > 2.0


@needs_gl
@pytest.mark.gl
def test_scene_changes_the_colours_of_table_floor_and_wall() -> None:
    plain, perturbed = (
        policy.seen[0].images["agentview"].astype(float) for policy in (shown(), shown("scene"))
    )
    table = np.s_[50:64, 8:56]
    assert np.abs(plain[table].mean(axis=(0, 1)) - perturbed[table].mean(axis=(0, 1))).max() > 10
    looks = {look.part for look in first_draw("scene").draw.scenario.looks}
    assert looks >= {"table", "floor", "wall", "lighting"}


def test_only_layout_and_unseen_move_what_stands_on_the_table() -> None:
    plain = first_draw().draw
    for axis in ("noise", "view", "scene", "init"):
        assert first_draw(axis).draw.poses == plain.poses
    moved = first_draw("layout").draw.poses
    assert all(moved[name].pos[:2] != pose.pos[:2] for name, pose in plain.poses.items())
    other = first_draw("unseen").draw.scenario
    held_out = [e for e in other.entities if e.kind == "object"]
    assert held_out
    assert all(default_catalog().split(str(entity.type)) == "test" for entity in held_out)


@pytest.mark.parametrize("index", range(3))
def test_a_perturbed_episode_is_otherwise_the_plain_one(index: int) -> None:
    everything = first_draw(*AXES, level=1, index=index).draw
    plain = first_draw(level=1, index=index).draw
    common = plain.values.keys() & everything.values.keys()
    assert common
    assert {name: plain.values[name] for name in common} == {name: everything.values[name] for name in common}
    assert everything.scenario.instruction == plain.scenario.instruction
    assert everything.scenario.goal == plain.scenario.goal
    assert everything.scenario.constraints == plain.scenario.constraints


def config(*suites: str, **changes: Any) -> EvalConfig:
    return EvalConfig(suites=suites, **{"policy": "noop", "episodes": 1, "horizon": 3, **changes})


def test_the_log_holds_what_was_perturbed_and_can_be_replayed(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "cups")
    asked = config(suite, perturb=("init", "layout", "unseen", "noise=2"), levels=(1,), episodes=2)
    assert evaluate(asked, tmp_path / "run").exit_code == 0
    run = read_run(tmp_path / "run")
    assert run.header.config.perturb == ("init", "layout", "unseen", "noise=2")
    plain = {job.key: job.scenario for job in make_plan(replace(asked, perturb=())).jobs}
    for record in run.records:
        assert record.episode.instruction == "lift the lift"
        axes = [str(line).partition(":")[0] for line in _lines(record.draw["perturbed"])]
        assert set(axes) == {"init", "layout", "unseen", "noise"}
        draw = logged_draw(run, record)
        assert draw.scenario.noises
        assert draw.scenario.regions != plain[record.key].regions
        assert replay(run, record)[1].exact


def _lines(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def test_a_run_goes_on_only_with_its_own_perturbation(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "cups")
    evaluate(config(suite, perturb=("noise",)), tmp_path / "run", make_runner=FakeRunner)
    evaluate(config(suite, perturb=("noise",)), tmp_path / "run", resume=True, make_runner=FakeRunner)
    for other in ((), ("noise=3",), ("view",)):
        with pytest.raises(RunLogError, match=r"config\.perturb: was \['noise'\]"):
            evaluate(config(suite, perturb=other), tmp_path / "run", resume=True, make_runner=FakeRunner)


def test_the_header_stamps_the_types_that_unseen_may_bring(tmp_path: Path) -> None:
    asked = config(write_suite(tmp_path / "cups"), perturb=("unseen",))
    header = run_header(asked, make_plan(asked), RunnerInfo(), default_catalog())
    expected = {
        *default_catalog().variants("red_coffee_mug", "test"),
        *default_catalog().variants("cookies", "test"),
    }
    assert expected <= set(header.assets)


def test_what_cannot_be_perturbed_is_reported(tmp_path: Path) -> None:
    held_out = write_suite(tmp_path / "cups", "a", type="red_coffee_mug :split test")
    path = Path(held_out) / "a.ubddl"
    path.write_text(path.read_text().replace("box_1 - cookies)", "box_1 - cookies :split test)"))
    with pytest.raises(
        EvalConfigError, match=r"'unseen' changes no task: cups/a L0: unseen: mug_1 stays .*already"
    ):
        make_plan(config(held_out, perturb=("noise", "unseen")))
    other = write_suite(tmp_path / "boxes", "b")
    plan = make_plan(config(held_out, other, perturb=("noise", "unseen")))
    assert [line.partition(": ")[0] for line in plan.unperturbed] == ["cups/a L0", "cups/a L1"]


def test_a_perturbation_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'layout'"):
        config("tsa", perturb=("layuot",))
    with pytest.raises(EvalConfigError, match="perturb has 'noise' twice"):
        config("tsa", perturb=("noise", "noise=3"))


def test_an_impossible_start_is_drawn_anew_and_the_log_says_which_it_was(tmp_path: Path) -> None:
    suite = Path(write_suite(tmp_path / "cups"))
    file = suite / "lift.ubddl"
    text = file.read_text()
    # At home the gripper is 24 cm above the box; some of the starts 0.5 rad away are too close, none 0.1 rad away is.
    text = text.replace("(NoContact robot box_1)", "(MinClearance robot box_1 22cm)")
    text = text.replace("(:ranges ((-0.1 -0.1 0.1 0.1)))", "(:ranges ((-0.24 -0.02 -0.20 0.02)))", 1)
    file.write_text(text.replace("(On mug_1 kitchen_table.spot)", "(On mug_1 kitchen_table.far)").replace(
        "(:regions ", "(:regions (far (:target kitchen_table) (:ranges ((0.2 0.2 0.2 0.2)))) "))  # fmt: skip
    simulator = Simulator(config(str(suite), perturb=("init=0.5",)))
    lengths: list[float] = []
    for job in make_plan(config(str(suite), levels=(0,), episodes=12, perturb=("init=0.5",))).jobs:
        result = simulator.run(job)
        assert not impossible(result.episode), result.episode.error
        said = str(_lines(result.draw["perturbed"])[0])
        lengths.append(float(said.split()[4]))
    simulator.close()
    assert max(lengths) == 0.5
    assert min(lengths) < 0.5


def test_looks_on_offer_are_others_than_those_shown() -> None:
    scenario = find_task(TASK).scenario(0)
    stock = stock_of(scenario, default_catalog())
    assert set(stock.looks) == {part for part, _ in default_catalog().arena(scenario.arena).looks}
    first = stock.looks["table"][0]
    shown = replace(scenario, looks=(Look("table", first),))
    assert first not in stock_of(shown, default_catalog()).looks["table"]


def _all_tasks() -> Iterator[tuple[str, int]]:
    for suite in BUILTIN:
        for task in load_suite(suite).tasks:
            yield from ((f"{suite}/{task.name}", level) for level in task.levels)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "level"), list(_all_tasks()))
def test_every_task_can_begin_under_everything_at_once(task: str, level: int) -> None:
    env = Env(render=False)
    found = find_task(task)
    wanted = tuple(Perturbation(axis) for axis in AXES)
    for index in range(2):
        key = Key(found.suite, found.name, level, 0, index)
        episodes = (
            run_episode(env, Recorder(), drawn.draw, RolloutConfig(horizon=5))
            for drawn in draws(found.scenario(level), key, wanted, default_catalog())
        )
        episode = next((e for e in episodes if not impossible(e)), None)
        assert episode is not None, f"{key} can never begin"
        assert episode.outcome == "timeout", episode.error or episode.violations


def test_the_example_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "perturbations.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    said = capsys.readouterr().out
    assert said.startswith("view: agentview turned by ")
    assert "(:cameras" in said
    assert [axis for axis in AXES if f"| `{axis}` |" not in page] == []


def test_the_severities_on_the_page_are_those_in_use() -> None:
    page = (Path(__file__).parents[2] / "docs" / "perturbations.md").read_text(encoding="utf-8")
    tables = {"gaussian_blur": corrupt.GAUSSIAN, "motion_blur": corrupt.MOTION, "fog": corrupt.FOG}
    tables |= {"zoom_blur": [row.end for row in corrupt.ZOOM], "glass_blur": corrupt.GLASS}
    for kind, table in tables.items():
        (row,) = re.findall(rf"^\| `{kind}`: [^|]*\|(.*)\|$", page, re.MULTILINE)
        shown = [tuple(map(float, cell.split(","))) for cell in row.split("|")]
        assert shown == [cell if isinstance(cell, tuple) else (cell,) for cell in table]


def test_eval_names_the_tasks_that_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = write_suite(tmp_path / "cups", "a")
    held_out = Path(write_suite(tmp_path / "boxes", "b", type="red_coffee_mug :split test")) / "b.ubddl"
    held_out.write_text(held_out.read_text().replace("box_1 - cookies)", "box_1 - cookies :split test)"))
    out = str(tmp_path / "run")
    flags = ["--policy", "noop", "--perturb", "unseen", "--episodes", "1", "--horizon", "1", "--no-report"]
    assert main(["eval", "--suite", suite, str(held_out.parent), *flags, "--out", out]) == 0
    said = capsys.readouterr().out
    assert "not perturbed: boxes/b L1: unseen: mug_1 stays red_coffee_mug: held out already" in said
    assert "not perturbed: cups" not in said
    assert main(["eval", "--suite", suite, "--perturb", "unsen", "--out", out]) == 2
    assert "did you mean 'unseen'" in capsys.readouterr().err


@needs_gl
@pytest.mark.gl
def test_view_draws_the_perturbed_scene_and_says_what_is_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = [tmp_path / "plain.png", tmp_path / "noisy.png"]
    for out, flags in zip(pictures, ([], ["--perturb", "noise=15", "init"]), strict=True):
        assert main(["view", TASK, "--size", "48", "--out", str(out), *flags]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^noise: \w+ 15$", said, re.MULTILINE)
    assert re.search(r"^init: the robot starts 0\.\d+ rad from home$", said, re.MULTILINE)
    one, other = (np.asarray(Image.open(path)).astype(float) for path in pictures)
    assert np.abs(one - other).mean() > 2.0
