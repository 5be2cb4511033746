"""What the runner makes of episodes that go well and of ones that do not; no physics."""

import io
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from runner_fakes import FakeRunner, spawn_evaluate, write_suite

from libero_safety.data.runlog import Run, RunLogError, RunMismatchError, read_run
from libero_safety.eval.plan import EvalConfig, plan_episodes
from libero_safety.eval.progress import PlainLines, ProgressBar, Tally, console_progress
from libero_safety.eval.runner import EvalSummary, evaluate
from libero_safety.eval.worker import WorkerStartError


def config(tmp_path: Path, acts: dict[int, str] | None = None, **changes: Any) -> EvalConfig:
    options: dict[str, Any] = {"acts": {str(k): v for k, v in (acts or {}).items()}, "marks": str(tmp_path)}
    return EvalConfig(
        **{
            "suites": (write_suite(tmp_path / "cups"),),
            "policy": "fake",
            "policy_options": options,
            "levels": (0,),
            "episodes": 6,
            **changes,
        }
    )


def run(asked: EvalConfig, out: Path, **options: Any) -> EvalSummary:
    return evaluate(asked, out, make_runner=FakeRunner, **options)


def fingerprint(folder: Path) -> list[tuple[object, ...]]:
    """Everything that two equal runs have in common, by key: outcomes and hashes of all traces."""
    found = read_run(folder)
    return [(replace(r.episode, wall_s=0.0), r.trace_sha256, r.draw) for r in found.records]


def attempts(found: Run) -> list[tuple[int, int, str | None]]:
    return [(r.key.index, r.attempt, r.episode.error_class) for r in found.attempts]


def wait_for(condition: Any, limit_s: float = 30.0) -> None:
    until_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.02)


def lines(folder: Path) -> int:
    path = folder / "episodes.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_every_planned_episode_is_judged_once(tmp_path: Path) -> None:
    asked = config(tmp_path)
    summary = run(asked, tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert [r.key for r in found.attempts] == plan_episodes(asked)
    assert (summary.status, found.header.status) == ("success", "success")
    assert (summary.exit_code, summary.planned, summary.missing) == (0, 6, 0)
    assert sum(summary.outcomes.values()) == 6
    assert summary.steps == 6 * 4
    assert found.header.config.policy == "fake"


def test_a_lost_connection_is_tried_again_last_and_every_attempt_is_logged(tmp_path: Path) -> None:
    summary = run(config(tmp_path, {1: "connection-once", 3: "connection-once"}), tmp_path / "run")
    found = read_run(tmp_path / "run")
    first = [(i, 1, "connection" if i in (1, 3) else None) for i in range(6)]
    assert attempts(found) == [*first, (1, 2, None), (3, 2, None)]
    assert summary.exit_code == 0
    run(config(tmp_path), tmp_path / "well")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "well")


def test_a_connection_that_stays_away_is_an_error_not_a_failure(tmp_path: Path) -> None:
    summary = run(config(tmp_path, {2: "connection"}, retries=3), tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert [a for a in attempts(found) if a[0] == 2] == [(2, n, "connection") for n in (1, 2, 3, 4)]
    assert (summary.status, summary.exit_code, summary.errors) == ("error", 3, {"connection": 1})
    assert found.header.status == "error"


def test_a_run_without_its_policy_stops_early(tmp_path: Path) -> None:
    asked = config(tmp_path, dict.fromkeys(range(40), "connection"), episodes=40)
    summary = run(asked, tmp_path / "run")
    assert lines(tmp_path / "run") == 10
    assert "10 connection errors in a row" in summary.stopped
    assert (summary.exit_code, summary.missing) == (3, 40)


def test_a_contract_error_stops_the_run_at_once(tmp_path: Path) -> None:
    summary = run(config(tmp_path, {2: "contract"}), tmp_path / "run")
    assert lines(tmp_path / "run") == 3
    assert "every episode would fail: no contract" in summary.stopped
    assert (summary.status, summary.exit_code, summary.missing) == ("error", 3, 3)
    assert read_run(tmp_path / "run").header.status == "error"


@pytest.mark.parametrize(
    ("act", "error_class", "text"),
    [("raise", "internal", "by this"), ("scene", "scene", "no scene"), ("policy", "policy", "no policy")],
)
def test_other_errors_cost_one_episode_and_are_not_repeated(
    tmp_path: Path, act: str, error_class: str, text: str
) -> None:
    summary = run(config(tmp_path, {1: act}), tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert attempts(found) == [(i, 1, error_class if i == 1 else None) for i in range(6)]
    assert text in str(found.records[1].episode.error)
    assert (summary.exit_code, summary.errors, summary.missing) == (3, {error_class: 1}, 0)


def test_a_hang_in_this_process_is_ended_tried_once_more_and_located(tmp_path: Path) -> None:
    run(config(tmp_path, {1: "sleep:60"}, episodes=3, watchdog_s=0.2), tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert attempts(found) == [(0, 1, None), (1, 1, "internal"), (2, 1, None), (1, 2, "internal")]
    error = str(found.records[1].episode.error)
    assert "hung: no result within 0.2 s" in error
    assert "time.sleep" in error
    assert found.records[1].episode.wall_s == pytest.approx(0.2, abs=0.2)


def test_resume_runs_what_is_missing_and_what_ended_in_error(tmp_path: Path) -> None:
    whole = run(config(tmp_path), tmp_path / "whole")
    asked = config(tmp_path, {2: "connection-once", 4: "contract"}, retries=0)
    assert run(asked, tmp_path / "run").exit_code == 3
    mended = config(tmp_path)
    summary = run(mended, tmp_path / "run", resume=True, allow_mixed=True)
    assert [r.key.index for r in read_run(tmp_path / "run").attempts] == [0, 1, 2, 3, 4, 2, 4, 5]
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")
    assert (summary.exit_code, dict(summary.outcomes)) == (0, dict(whole.outcomes))
    again = run(mended, tmp_path / "run", resume=True, allow_mixed=True)
    assert lines(tmp_path / "run") == 8
    assert dict(again.outcomes) == dict(whole.outcomes)


def test_resume_without_a_run_starts_one(tmp_path: Path) -> None:
    assert run(config(tmp_path), tmp_path / "run", resume=True).exit_code == 0


def test_a_folder_that_holds_a_run_is_refused_before_a_policy_is_made(tmp_path: Path) -> None:
    run(config(tmp_path), tmp_path / "run")
    before = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "run").rglob("*"))
    with pytest.raises(RunLogError, match="holds a run already"):
        run(replace(config(tmp_path), policy_options={"refuse": "was made"}), tmp_path / "run")
    with pytest.raises(RunMismatchError, match="horizon: was 600, now 7"):
        run(config(tmp_path, horizon=7), tmp_path / "run", resume=True)
    assert before == sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "run").rglob("*"))
    run(config(tmp_path, horizon=7), tmp_path / "run", resume=True, allow_mixed=True)
    assert any("horizon" in line for line in read_run(tmp_path / "run").header.mixed)


def test_a_privileged_policy_cannot_go_on_with_an_ordinary_run(tmp_path: Path) -> None:
    asked = config(tmp_path)
    run(asked, tmp_path / "run")
    assert not read_run(tmp_path / "run").header.privileged

    class Privileged(FakeRunner):
        def __init__(self, config: EvalConfig) -> None:
            super().__init__(config)
            self.info = replace(self.info, privileged=True)

    with pytest.raises(RunMismatchError, match="privileged: was False, now True"):
        evaluate(asked, tmp_path / "run", resume=True, make_runner=Privileged)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunLogError, match="file/run"):
        run(config(tmp_path), tmp_path / "file" / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    with pytest.raises(RunLogError, match="not empty"):
        run(config(tmp_path), tmp_path / "full")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(RunLogError, match=r"locked.*[Pp]ermission"):
        run(config(tmp_path), tmp_path / "locked" / "run")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_valid_log_that_can_go_on(tmp_path: Path, number: signal.Signals) -> None:
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    summary = run(config(tmp_path, {3: f"signal:{number.value}"}), tmp_path / "run")
    assert handlers == [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    found = read_run(tmp_path / "run")
    assert (summary.status, summary.exit_code, found.header.status) == ("cancelled", 130, "cancelled")
    assert [r.key.index for r in found.attempts] == [0, 1, 2]
    assert summary.missing == 3
    resumed = run(config(tmp_path), tmp_path / "run", resume=True, allow_mixed=True)
    assert (resumed.exit_code, lines(tmp_path / "run")) == (0, 6)


def test_without_a_progress_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(config(tmp_path, {1: "raise"}), tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_progress_is_told_of_every_episode_and_of_what_was_done_before(tmp_path: Path) -> None:
    told: list[Tally] = []

    class Recorder:
        closed = 0

        def update(self, tally: Tally) -> None:
            told.append(tally)

        def close(self) -> None:
            self.closed += 1

    recorder = Recorder()
    acts = {1: "connection-once", 4: "signal:15"}
    run(config(tmp_path, acts), tmp_path / "run", progress=recorder)
    assert [(t.done, t.retries) for t in told] == [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1)]
    told.clear()
    run(config(tmp_path, acts | {4: ""}), tmp_path / "run", progress=recorder, resume=True, allow_mixed=True)
    assert [t.done for t in told] == [3, 4, 5, 6]
    assert recorder.closed == 2


def test_plain_lines_say_how_far_it_is_now_and_then() -> None:
    stream = io.StringIO()
    shown = PlainLines(stream, every_s=60.0)
    shown.update(Tally(60, {"success": 10}))
    for done in range(11, 31):
        shown.update(Tally(60, {"success": 10, "violation": done - 10}, retries=2))
    shown.close()
    shown.close()
    first, last = stream.getvalue().splitlines()
    assert first == "10/60 episodes: 10 success"
    assert last.startswith("30/60 episodes: 10 success, 20 violation, 2 retried; ")
    assert last.endswith(" left")


def test_a_terminal_gets_a_bar_and_anything_else_lines() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    bar = console_progress(terminal)
    assert isinstance(bar, ProgressBar)
    bar.update(Tally(4, {}))
    bar.update(Tally(4, {"success": 3}))
    bar.close()
    assert "3/4" in terminal.getvalue()
    assert "3 success" in terminal.getvalue()
    assert isinstance(console_progress(io.StringIO()), PlainLines)


def test_workers_change_nothing_but_the_order(tmp_path: Path) -> None:
    run(config(tmp_path, episodes=10), tmp_path / "one")
    summary = run(config(tmp_path, episodes=10, workers=2), tmp_path / "two")
    assert fingerprint(tmp_path / "two") == fingerprint(tmp_path / "one")
    assert [r.key.index for r in read_run(tmp_path / "two").records] == list(range(10))
    assert summary.exit_code == 0


def test_a_worker_that_dies_is_replaced_and_only_its_episode_tried_again(tmp_path: Path) -> None:
    asked = config(tmp_path, {1: "kill-once", 3: "exit:9"}, workers=2)
    summary = run(asked, tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert sorted(a for a in attempts(found) if a[0] in (1, 3)) == [
        (1, 1, "internal"),
        (1, 2, None),
        (3, 1, "internal"),
        (3, 2, "internal"),
    ]
    errors = {(r.key.index, r.attempt): r.episode.error for r in found.attempts}
    assert errors[1, 1] == "the worker process was ended by SIGKILL"
    assert errors[3, 2] == "the worker process ended with exit code 9"
    assert (summary.exit_code, summary.errors, summary.missing) == (3, {"internal": 1}, 0)


@pytest.mark.slow
@pytest.mark.parametrize("act", [f"signal:{signal.SIGSTOP.value}", "stubborn"])
def test_a_worker_that_hangs_whatever_it_does_is_killed_and_the_others_go_on(
    tmp_path: Path, act: str
) -> None:
    asked = config(tmp_path, {0: act}, workers=2, watchdog_s=4.0)
    summary = run(asked, tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert [a for a in attempts(found) if a[0] == 0] == [(0, 1, "internal"), (0, 2, "internal")]
    assert "hung: no result within 4 s" in str(found.records[0].episode.error)
    assert (summary.exit_code, summary.missing) == (3, 0)
    left = psutil.Process().children(recursive=True)
    assert all("resource_tracker" in " ".join(process.cmdline()) for process in left)


@pytest.mark.parametrize(("refuse", "text"), [("no such file", "no such file"), ("exit", "exit code 7")])
def test_workers_that_cannot_start_leave_no_folder(tmp_path: Path, refuse: str, text: str) -> None:
    asked = replace(config(tmp_path, workers=2), policy_options={"refuse": refuse})
    with pytest.raises(WorkerStartError, match=text):
        run(asked, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_too(tmp_path: Path) -> None:
    started_s = time.monotonic()
    summary = run(config(tmp_path, {2: "interrupt-parent"}, workers=2), tmp_path / "run")
    assert (summary.status, summary.exit_code) == ("cancelled", 130)
    assert read_run(tmp_path / "run").header.status == "cancelled"
    assert time.monotonic() - started_s < 30


def plain(asked: EvalConfig) -> dict[str, Any]:
    names = ("suites", "policy", "policy_options", "levels", "episodes", "workers", "watchdog_s")
    return {name: getattr(asked, name) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_kill_9_of_everything_and_resume_gives_the_unbroken_run(tmp_path: Path, workers: int) -> None:
    acts = dict.fromkeys(range(20), "sleep:0.1")
    asked = config(tmp_path, acts, episodes=20, workers=workers)
    process = spawn_evaluate(tmp_path / "run", plain(asked))
    wait_for(lambda: lines(tmp_path / "run") >= 7)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    wait_for(lambda: not any(child.is_running() for child in children))
    done = lines(tmp_path / "run")
    assert 7 <= done < 20
    assert read_run(tmp_path / "run").header.status == "started"
    again = spawn_evaluate(tmp_path / "run", plain(asked), resume=True)
    output = again.communicate(timeout=60)
    assert (output, again.returncode) == (("", ""), 0)
    run(asked, tmp_path / "whole")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")
    assert lines(tmp_path / "run") == 20


@pytest.mark.slow
def test_sigterm_from_outside_ends_everything_in_order(tmp_path: Path) -> None:
    asked = config(tmp_path, dict.fromkeys(range(1, 6), "sleep:60"), workers=2)
    process = spawn_evaluate(tmp_path / "run", plain(asked))
    wait_for(lambda: lines(tmp_path / "run") == 1)
    children = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    assert process.wait(20) == 130
    assert process.communicate() == ("", "")
    assert read_run(tmp_path / "run").header.status == "cancelled"
    wait_for(lambda: not any(child.is_running() for child in children), 5)


@pytest.mark.slow
def test_the_second_ctrl_c_ends_what_ignores_the_first(tmp_path: Path) -> None:
    process = spawn_evaluate(tmp_path / "run", plain(config(tmp_path, {1: "stubborn"})))
    wait_for((tmp_path / "stubborn").exists)
    process.send_signal(signal.SIGINT)
    wait_for((tmp_path / "ignored").exists)
    assert process.poll() is None
    time.sleep(0.6)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130
    process.communicate()
    assert [r.key.index for r in read_run(tmp_path / "run").records] == [0]
