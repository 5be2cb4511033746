"""Evaluations with real physics: short episodes of small scenes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runner_fakes import write_suite

from libero_safety.data.runlog import Record, Run, read_run
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.plan import EvalConfig
from libero_safety.eval.runner import EvalSummary, evaluate
from libero_safety.registry import UnknownNameError
from libero_safety.sim.gl import NoGLError, gl_backend

Evaluate = Callable[..., tuple[EvalSummary, Run]]


@pytest.fixture
def judge(tmp_path: Path) -> Evaluate:
    """Return a function that evaluates `runner_policies:NAME` on a small suite and reads the run back."""
    made = 0

    def evaluate_and_read(policy: str, **changes: Any) -> tuple[EvalSummary, Run]:
        nonlocal made
        made += 1
        spec = policy if policy.islower() else f"runner_policies:{policy}"
        suite = write_suite(tmp_path / "cups", "lift", "raise_up")
        asked = EvalConfig(
            **{
                "suites": (suite,),
                "policy": spec,
                "levels": (0,),
                "tasks": ("lift",),
                "episodes": 3,
                "horizon": 6,
                **changes,
            }
        )
        summary = evaluate(asked, tmp_path / f"run{made}")
        return summary, read_run(summary.folder)

    return evaluate_and_read


def fingerprint(record: Record) -> tuple[object, ...]:
    return replace(record.episode, wall_s=0.0), record.trace_sha256, record.draw


def test_an_episode_depends_on_its_key_alone(judge: Evaluate) -> None:
    _, several = judge("Random", seeds=(0, 1), tasks=(), levels=(0, 1))
    _, alone = judge("Random", seeds=(1,))
    found = {record.key: fingerprint(record) for record in several.records}
    assert len(found) == 24
    assert len({str(draw) for _, _, draw in found.values()}) == 24
    for record in alone.records:
        assert record.trace_sha256 is not None
        assert found[record.key] == fingerprint(record)


@pytest.mark.slow
def test_workers_and_order_change_nothing(judge: Evaluate) -> None:
    _, one = judge("Random", tasks=(), levels=(0, 1))
    summary, four = judge("Random", tasks=(), levels=(0, 1), workers=4)
    assert summary.exit_code == 0
    assert [fingerprint(r) for r in four.records] == [fingerprint(r) for r in one.records]


def test_which_scene_comes_next_does_not_depend_on_when_the_last_episode_ended(judge: Evaluate) -> None:
    _, quick = judge("Raises", policy_options={"at": 1})
    _, never = judge("noop")
    assert [r.draw for r in quick.records] == [r.draw for r in never.records]
    assert {r.episode.steps for r in quick.records} == {0}
    assert {r.episode.steps for r in never.records} == {6}


def test_every_level_is_told_in_its_own_words(judge: Evaluate) -> None:
    _, run = judge("noop", levels=(0, 1), episodes=1)
    assert [r.episode.instruction for r in run.records] == ["pick up the lift", "lift the lift"]


@pytest.mark.parametrize(
    ("policy", "error_class", "text"),
    [
        ("Nan", "policy", "nan in component 3"),
        ("Raises", "policy", "ValueError in act(): out of ideas"),
        ("Exits", "internal", "SystemExit: 4"),
    ],
)
def test_a_policy_that_fails_makes_errors_not_failures(
    judge: Evaluate, policy: str, error_class: str, text: str
) -> None:
    summary, run = judge(policy)
    assert [r.episode.outcome for r in run.attempts] == ["error"] * 3
    assert {r.episode.error_class for r in run.records} == {error_class}
    assert all(text in str(r.episode.error) for r in run.records)
    assert all(r.episode.violations == () for r in run.records)
    assert (summary.status, summary.exit_code, summary.errors) == ("error", 3, {error_class: 3})
    assert all("poses" in r.draw for r in run.records)


def test_a_nan_reaches_neither_the_simulator_nor_the_log(judge: Evaluate) -> None:
    _, run = judge("Nan")
    trace = run.episode(run.records[0]).trace
    assert trace is not None
    assert trace.executed.shape == (2, 7)
    assert np.isfinite(trace.qpos).all()


@pytest.mark.parametrize(
    ("policy", "text"), [("Nothing", "returned nothing"), ("Flat", "chunk of shape (1, 7)")]
)
def test_a_policy_that_does_not_fit_stops_the_run(judge: Evaluate, policy: str, text: str) -> None:
    summary, run = judge(policy)
    assert [r.episode.error_class for r in run.attempts] == ["contract"]
    assert text in summary.stopped
    assert (summary.status, summary.exit_code, summary.missing) == ("error", 3, 2)


def test_a_policy_that_is_not_there_is_asked_again(judge: Evaluate) -> None:
    summary, run = judge("Lost", episodes=2, retries=1)
    assert [(r.key.index, r.attempt) for r in run.attempts] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert (summary.errors, summary.exit_code) == ({"connection": 2}, 3)


def test_a_policy_that_hangs_is_ended(judge: Evaluate) -> None:
    summary, run = judge("Hangs", episodes=1, watchdog_s=1.0)
    assert [r.episode.error_class for r in run.attempts] == ["internal"] * 2
    assert "watchdog" in str(run.records[0].episode.error)
    assert summary.exit_code == 3


@pytest.mark.slow
def test_a_policy_that_hangs_in_a_worker_is_ended(judge: Evaluate) -> None:
    summary, run = judge("Hangs", episodes=2, watchdog_s=4.0, workers=2)
    assert len(run.attempts) == 4
    assert summary.errors == {"internal": 2}


def test_a_scene_that_does_not_fit_is_an_error_of_the_scene(judge: Evaluate, tmp_path: Path) -> None:
    folder = Path(write_suite(tmp_path / "tight", "fits", "tight"))
    text = (folder / "tight.ubddl").read_text()
    (folder / "tight.ubddl").write_text(text.replace("(-0.1 -0.1 0.1 0.1)", "(0 0 0.001 0.001)"))
    summary, run = judge("noop", suites=(str(folder),), tasks=(), episodes=1)
    outcomes = {r.key.task: (r.episode.outcome, r.episode.error_class) for r in run.records}
    assert outcomes == {"fits": ("timeout", None), "tight": ("error", "scene")}
    assert summary.exit_code == 3


def test_a_policy_nobody_knows_leaves_no_folder(judge: Evaluate, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'noop'"):
        judge("nop")
    with pytest.raises(LiberoSafetyError, match="has no option 'att', did you mean 'at'"):
        judge("Random", policy_options={"att": 3})
    assert not (tmp_path / "run1").exists()


def test_a_policy_with_eyes_is_refused_where_nothing_can_draw(
    judge: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(NoGLError, match="MUJOCO_GL=disable"):
        judge("Looks")
    assert not (tmp_path / "run1").exists()
    assert judge("Random")[0].exit_code == 0


@pytest.mark.gl
def test_a_policy_sees_images_of_the_size_asked_for(judge: Evaluate) -> None:
    if not gl_backend().ok:
        pytest.skip("no off-screen GL library")
    summary, run = judge("Looks", image_size=48, quality="fast", episodes=1)
    assert summary.exit_code == 0, run.records[0].episode.error
    assert run.header.machine.gl != "none"
    assert (run.header.config.image_size, run.header.config.quality) == (48, "fast")
