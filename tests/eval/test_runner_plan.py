from pathlib import Path
from typing import Any

import pytest
from runner_fakes import write_suite

from libero_safety.assets.catalog import default_catalog
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.header import run_header
from libero_safety.eval.plan import EvalConfig, EvalConfigError, make_plan, plan_episodes
from libero_safety.eval.simulator import RunnerInfo
from libero_safety.registry import UnknownNameError
from libero_safety.types import Key


def config(*suites: str, **changes: Any) -> EvalConfig:
    return EvalConfig(suites=suites, **{"policy": "noop", "episodes": 2, **changes})


def test_the_order_is_breadth_first(tmp_path: Path) -> None:
    cups, boxes = write_suite(tmp_path / "cups", "a", "b"), write_suite(tmp_path / "boxes", "c")
    keys = plan_episodes(config(cups, boxes, seeds=(7, 3)))
    one_round = [("cups", "a", 0), ("cups", "a", 1), ("cups", "b", 0), ("cups", "b", 1)]
    one_round += [("boxes", "c", 0), ("boxes", "c", 1)]
    assert keys == [Key(*where, seed, index) for seed in (7, 3) for index in (0, 1) for where in one_round]


def test_more_episodes_begin_with_the_same_ones(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "cups", "a", "b")
    few, many = plan_episodes(config(suite)), plan_episodes(config(suite, episodes=10))
    assert many[: len(few)] == few
    assert len(set(many)) == 40


def test_the_reference_goal_takes_the_place_of_the_goal_where_that_is_asked_for() -> None:
    own, reference = (make_plan(config("hri", goal=goal, episodes=1)).jobs for goal in ("own", "reference"))
    assert [job.key for job in own] == [job.key for job in reference]
    for before, after in zip(own, reference, strict=True):
        assert after.scenario.goal == before.scenario.reference_goal != before.scenario.goal


def test_a_task_without_a_reference_goal_cannot_be_judged_by_it(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "cups", "a")
    with pytest.raises(EvalConfigError, match=r"a L0 has no \(:goal_reference"):
        make_plan(config(suite, goal="reference"))


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [(("b",), ["cups/b", "boxes/b"]), (("cups/b", "c"), ["cups/b", "boxes/c"]), ((), None)],
)
def test_tasks_are_chosen_by_name_or_by_suite_and_name(
    tmp_path: Path, tasks: tuple[str, ...], expected: list[str] | None
) -> None:
    suites = write_suite(tmp_path / "cups", "a", "b"), write_suite(tmp_path / "boxes", "b", "c")
    keys = plan_episodes(config(*suites, tasks=tasks, levels=(0,), episodes=1))
    found = [f"{key.suite}/{key.task}" for key in keys]
    assert found == (expected or ["cups/a", "cups/b", "boxes/b", "boxes/c"])


def test_a_task_without_the_level_is_left_out_unless_it_was_named(tmp_path: Path) -> None:
    suite = Path(write_suite(tmp_path / "cups", "a", "b"))
    text = (suite / "b.ubddl").read_text()
    (suite / "b.ubddl").write_text(text.replace("(:level 1", "(:level 2"))
    plan = make_plan(config(str(suite), levels=(1,), episodes=1))
    assert [job.key.task for job in plan.jobs] == ["a"]
    assert [task.name for task in plan.tasks] == ["a"]
    assert [k.level for k in plan_episodes(config(str(suite), levels=(2, 0), episodes=1))] == [0, 0, 2]
    with pytest.raises(EvalConfigError, match=r"cups/b has no level 1\. Known: 0, 2"):
        plan_episodes(config(str(suite), tasks=("a", "cups/b"), levels=(1,)))
    with pytest.raises(EvalConfigError, match=r"no task has level 3\. Known: 0, 1, 2"):
        plan_episodes(config(str(suite), levels=(0, 3)))


@pytest.mark.parametrize(
    ("suite", "task", "message"),
    [
        ("cups", "lift_the_mgu", "did you mean 'lift_the_mug'"),
        ("cups", "cup/lift_the_mug", "did you mean 'cups/lift_the_mug'"),
        ("tsaa", "x", "did you mean 'tsa'"),
    ],
)
def test_misspelt_names_are_refused_with_the_nearest(
    tmp_path: Path, suite: str, task: str, message: str
) -> None:
    path = write_suite(tmp_path / "cups", "lift_the_mug", "stack_the_plates")
    with pytest.raises(LiberoSafetyError, match=message):
        plan_episodes(config(path if suite == "cups" else suite, tasks=(task,)))


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    suites = write_suite(tmp_path / "x" / "cups"), write_suite(tmp_path / "y" / "cups")
    with pytest.raises(EvalConfigError, match="two suites are called 'cups'"):
        plan_episodes(config(*suites))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 0}, "episodes is 0"),
        ({"horizon": 0}, "horizon is 0"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"watchdog_s": 0.0}, "watchdog_s is 0"),
        ({"watchdog_s": float("nan")}, "watchdog_s is nan"),
        ({"image_size": 100_000}, "at most 4096"),
        ({"seeds": ()}, "seeds is empty"),
        ({"suites": ()}, "suites is empty"),
        ({"seeds": (1, 2, 1)}, "seeds has 1 twice"),
        ({"levels": (0, 0)}, "levels has 0 twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EvalConfigError, match=message):
        EvalConfig(**{"suites": ("tsa",), "policy": "noop", **changes})


def test_an_unknown_quality_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'good'"):
        EvalConfig(("tsa",), "noop", quality="goood")  # type: ignore[arg-type]


def test_the_header_names_everything_that_was_used_but_no_secret(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "cups", "a", "b")
    options: dict[str, Any] = {"api_key": "s3cret", "hf_token": "s3cret", "unnorm_key": "libero", "replan": 5}
    command = "libero-safety eval --policy-arg api_key=s3cret replan=5"
    asked = config(suite, levels=(1,), policy_options=options, seeds=(1, 2), image_size=64, command=command)
    plan = make_plan(asked)
    header = run_header(asked, plan, RunnerInfo(True, "osmesa"), default_catalog(), {"passed": True})
    assert header.config.suites == (suite,)
    assert (header.config.tasks, header.config.levels, header.config.seeds) == (("a", "b"), (1,), (1, 2))
    assert header.config.image_size == 64
    assert header.config.command == "libero-safety eval --policy-arg api_key=(hidden) replan=5"
    assert dict(header.config.policy_options) == {
        "api_key": "(hidden)",
        "hf_token": "(hidden)",
        "unnorm_key": "libero",
        "replan": 5,
    }
    assert header.task_hashes == {f"cups/{task.name}": task.sha256 for task in plan.tasks}
    assert set(header.assets) == {"arena/kitchen", "red_coffee_mug", "cookies"}
    assert header.assets["cookies"].digest == default_catalog().asset("cookies").digest()
    assert (header.privileged, header.machine.gl, header.selftest) == (True, "osmesa", {"passed": True})


def test_an_unknown_asset_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    asked = config(write_suite(tmp_path / "cups", type="red_cofee_mug"))
    with pytest.raises(LiberoSafetyError, match="did you mean 'red_coffee_mug'"):
        run_header(asked, make_plan(asked), RunnerInfo(), default_catalog())
