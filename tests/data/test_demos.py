"""Demonstrations on disk: written once, read back without the simulator, gone on with after a kill."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from libero_safety.data.demos import ARRAYS, DRAWS, Demos, DemosError, DemoWriter, draw_digest, read_demos
from libero_safety.data.strict_json import RunLogError
from libero_safety.demo.generate import Demo, Reject, generate
from libero_safety.demo.report import Failure
from libero_safety.eval import demos
from libero_safety.eval.atlas import write_atlas
from libero_safety.eval.demo_check import Verdict, save_verdict, verify
from libero_safety.eval.demo_command import run_verify
from libero_safety.eval.demo_replay import sampled
from libero_safety.eval.demos import DemosPlan, DemosPlanError, make_demos, measures
from libero_safety.eval.progress import Tally
from libero_safety.eval.yields import yield_lines, yields
from libero_safety.registry import UnknownNameError
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key

pytest.importorskip("piqp")
APPLE = "pick_up_the_red_apple_and_put_it_on_the_plate_in_my_hand"
KEY = Key("hri", APPLE, 0, 0, 1)
HEADER = {"suites": ["hri"], "seed": 0}


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(render=False)


@pytest.fixture(scope="module")
def demo(env) -> Demo:
    made = next(generate([(load_suite("hri").task(APPLE).scenario(0), KEY)], env))
    assert isinstance(made, Demo)
    return made


@pytest.fixture
def folder(tmp_path, demo) -> Path:
    with DemoWriter.open(tmp_path / "demos", HEADER) as writer:
        writer.append(demo, measures(demo))
        writer.append(
            Reject(Key("hri", APPLE, 0, 0, 2), Failure("unreachable", "grasp", "too far"), 5, demo.draw)
        )
    return tmp_path / "demos"


def test_what_is_written_is_read_back(folder, demo):
    found = read_demos(folder)
    record = found.demos[0]
    assert (record.key, record.steps, record.tries) == (KEY, demo.episode.steps, demo.tries)
    assert record.draw == json.loads(json.dumps(demo.draw.to_dict()))
    assert record.draw_sha256 == draw_digest({**record.draw, "key": "another"})
    assert record.measures["steps"] == demo.episode.steps
    assert record.measures["ldlj"] > -12
    assert [stage["name"] for stage in record.report["stages"]] == [s.name for s in demo.report.stages]
    for name in ("executed", "qpos", "clearance_m", "state_hash"):
        np.testing.assert_array_equal(getattr(found.trace(record), name), getattr(demo.trace, name))
    reject = found.rejects[0]
    assert (reject.reason, reject.stage, reject.detail, reject.tries) == (
        "unreachable",
        "grasp",
        "too far",
        5,
    )
    assert found.done() == {KEY, reject.key}


def test_reading_needs_no_simulator(folder):
    code = (
        "import sys; from pathlib import Path; from libero_safety.data.files import read_lines;"
        f"import json, numpy; lines, _ = read_lines(Path({str(folder / DRAWS)!r}));"
        f"file = Path({str(folder / ARRAYS)!r}) / json.loads(lines[0])['file'];"
        "print(numpy.load(file, allow_pickle=False)['executed'].shape[1], 'mujoco' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["7", "False"]


def test_a_line_cut_short_is_left_out_and_overwritten(folder, demo):
    index = folder / DRAWS
    whole = index.read_bytes()
    index.write_bytes(whole + b'{"key": {"sui')
    assert "left out" in read_demos(folder).note
    with DemoWriter.open(folder, HEADER) as writer:
        writer.append(Reject(Key("hri", APPLE, 0, 0, 3), Failure("drift", "", "off"), 1))
    assert index.read_bytes().startswith(whole)
    assert len(read_demos(folder).rejects) == 2


def test_a_folder_of_other_demonstrations_is_refused(folder, tmp_path):
    with pytest.raises(DemosError, match="seed: was 0, now 1"):
        DemoWriter.open(folder, {**HEADER, "seed": 1})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_text("mine")
    with pytest.raises(DemosError, match="not empty"):
        DemoWriter.open(tmp_path / "other", HEADER)
    with pytest.raises(DemosError, match="no demonstrations"):
        read_demos(tmp_path / "other")
    with DemoWriter.open(folder, HEADER), pytest.raises(RunLogError, match="another process"):
        DemoWriter.open(folder, HEADER)


def test_damage_is_noticed(folder):
    found = read_demos(folder)
    file = folder / ARRAYS / found.demos[0].file
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DemosError, match="differs from the sha256"):
        found.trace(found.demos[0])


def test_replay_ends_in_the_same_state(folder, env):
    assert [replayed.problem for replayed in verify(read_demos(folder))] == [""]


@pytest.mark.slow
def test_a_demonstration_shares_no_space_at_any_physics_step(folder, env):
    found = list(verify(read_demos(folder), brute_force=True))
    assert [replayed.problem for replayed in found] == [""]
    assert found[0].overlaps == ()
    assert found[0].nearest_m > 0.0


def test_yields_count_draws(folder):
    found = yields(read_demos(folder))["hri", APPLE, 0]
    assert (found.draws, found.demos, found.share) == (2, 1, 0.5)
    assert "1 unreachable" in "\n".join(yield_lines(read_demos(folder)))


def test_generation_goes_on_where_it_stopped(tmp_path):
    first = make_demos(tmp_path / "demos", DemosPlan(("hri",), 1, (0,), (APPLE,), seed=3))
    assert len(first.demos) == 1
    again = make_demos(tmp_path / "demos", DemosPlan(("hri",), 2, (0,), (APPLE,), seed=3))
    assert [record.key.index for record in again.demos] == [0, 1]
    assert again.demos[0] == first.demos[0]
    assert again.header["count"] == 2
    assert {"ompl", "piqp", "ssik", "mujoco"} <= set(again.header["versions"])
    assert list(again.header["task_hashes"]) == [f"hri/{APPLE}"]
    with pytest.raises(DemosError, match="2 demonstrations of each task"):
        make_demos(tmp_path / "demos", DemosPlan(("hri",), 1, (0,), (APPLE,), seed=3))


def test_other_versions_are_refused_or_noted(tmp_path):
    header = {**HEADER, "count": 3, "versions": {"ompl": "2.0.1", "numpy": "2.0"}, "git": "a"}
    newer = {**header, "versions": {"ompl": "2.1.0", "numpy": "2.0"}, "git": "b"}
    DemoWriter.open(tmp_path, header).close()
    with pytest.raises(
        DemosError, match=r"git: was 'a', now 'b'; versions.ompl: was '2.0.1', now '2.1.0'.*mixed"
    ):
        DemoWriter.open(tmp_path, newer)
    DemoWriter.open(tmp_path, newer, allow_mixed=True).close()
    DemoWriter.open(tmp_path, {**newer, "perturb": []}).close()
    stated = read_demos(tmp_path).header
    assert stated["versions"] == newer["versions"]
    assert stated["mixed"] == ["git: was 'a', now 'b'", "versions.ompl: was '2.0.1', now '2.1.0'"]
    with pytest.raises(DemosError, match="seed: was 0, now 1"):
        DemoWriter.open(tmp_path, {**newer, "seed": 1}, allow_mixed=True)


def test_perturbed_demonstrations_are_made_and_replayed(tmp_path):
    plan = DemosPlan(("hri",), 1, (0,), (APPLE,), seed=3, perturb=("layout", "scene"))
    made = make_demos(tmp_path / "demos", plan)
    assert made.header["perturb"] == ["layout", "scene"]
    assert made.demos[0].draw["perturbed"]
    assert [found.problem for found in verify(made)] == [""]
    with pytest.raises(UnknownNameError, match="did you mean 'layout'"):
        make_demos(tmp_path / "other", DemosPlan(("hri",), 1, perturb=("lay-out",)))


@pytest.fixture
def cheap(monkeypatch, demo):
    """Draws that cost nothing: every third is rejected."""

    def make(plan, key):
        if key.index % 3 == 1:
            return demos._Made(Reject(key, Failure("drift", "grasp", "off"), 5))
        return demos._Made(replace(demo, draw=replace(demo.draw, key=key)), {"steps": 1.0})

    monkeypatch.setattr(demos, "_make", make)


PLAN = DemosPlan(("hri",), 3, (0, 1), (APPLE,))


def lines(demos: Demos) -> list[str]:
    """What is stored of all draws, task by task."""
    return sorted((demos.folder / DRAWS).read_text().splitlines())


class Stop:
    """Progress that ends the process as a person or a machine would, after a few draws."""

    def __init__(self, number: int, after: int) -> None:
        self._number, self._left = number, after

    def update(self, tally: Tally) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), self._number)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_between_draws_and_the_next_call_makes_the_rest(tmp_path, cheap, number):
    whole = make_demos(tmp_path / "whole", PLAN)
    with pytest.raises(KeyboardInterrupt):
        make_demos(tmp_path / "demos", PLAN, progress=Stop(number, after=4))
    assert len(read_demos(tmp_path / "demos").done()) == 3
    assert lines(make_demos(tmp_path / "demos", PLAN)) == lines(whole)


def test_a_full_disk_loses_nothing(tmp_path, cheap, monkeypatch):
    whole = make_demos(tmp_path / "whole", PLAN)
    left = 5

    def full(file, content, offset):
        nonlocal left
        left -= 1
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, content, offset)

    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RunLogError, match="No space left"):
        make_demos(tmp_path / "demos", PLAN)
    monkeypatch.setattr(os, "pwrite", write)
    assert len(read_demos(tmp_path / "demos").done()) == 4
    assert lines(make_demos(tmp_path / "demos", PLAN)) == lines(whole)


def test_no_draw_is_made_that_is_not_needed(tmp_path, cheap):
    made = make_demos(tmp_path / "demos", replace(PLAN, count=4))
    assert sorted(key.index for key in made.done() if key.level == 0) == [0, 1, 2, 3, 4, 5]
    assert len(made.demos) == 8


def test_a_sample_is_of_all_tasks_alike(folder):
    record = read_demos(folder).demos[0]
    records = [
        replace(record, key=Key("hri", task, level, 0, index))
        for task in ("a", "b", "c")
        for level in (0, 1)
        for index in range(5)
    ]
    chosen = [r.key for r in sampled(records, 12)]
    assert Counter((key.task, key.level) for key in chosen) == dict.fromkeys(
        [(task, level) for task in "abc" for level in (0, 1)], 2
    )
    assert chosen == [r.key for r in sampled(records[::-1], 12)][::-1]
    assert {key.task for key in (r.key for r in sampled(records, 6))} == {"a", "b", "c"}
    assert sampled(records, 0) == records


def test_a_verdict_counts_and_is_kept(folder, tmp_path, capsys):
    found = read_demos(folder)
    wrong = replace(found.demos[0], file=found.demos[0].file, sha256="0" * 64)
    verdict = Verdict(tuple(verify(replace(found, demos=(*found.demos, wrong)))), 2, False, "2026-01-01")
    assert verdict.summary == "1 of 2 reach the same end state and the goal, 0 violations"
    assert "differs from the sha256" in verdict.problems[0]
    assert not verdict.ok
    save_verdict(verdict, tmp_path / "verdict.json")
    stored = json.loads((tmp_path / "verdict.json").read_text())
    assert (stored["checked"], stored["same_state"], stored["success"]) == (2, 1, 1)
    assert [entry["ok"] for entry in stored["demonstrations"]] == [True, False]
    assert run_verify(folder, False, 1, 1, None, print) == 0
    assert "1 of 1 reach the same end state and the goal, 0 violations" in capsys.readouterr().out
    assert json.loads((folder / "replay.json").read_text())["ok"] is True


@pytest.mark.slow
def test_two_processes_make_and_find_the_same(tmp_path):
    plan = DemosPlan(("hri",), 2, (0,), (APPLE,), seed=3)
    one, two = (make_demos(tmp_path / str(n), plan, workers=n) for n in (1, 2))
    assert [r.sha256 for r in one.demos] == [r.sha256 for r in two.demos]
    found = list(verify(one, workers=2))
    assert [(f.key, f.ok) for f in found] == [(f.key, True) for f in verify(two)]


def test_what_cannot_be_made_is_refused_at_once(tmp_path):
    for plan in (
        DemosPlan(("hri",), 0),
        DemosPlan(("hri",), 1, (7,)),
        DemosPlan(("hri",), 1, (0,), ("juggle",)),
    ):
        with pytest.raises(DemosPlanError):
            make_demos(tmp_path / "demos", plan)
    assert not (tmp_path / "demos").exists()


def test_the_atlas_has_a_page_for_each_reason(folder, tmp_path):
    index = write_atlas(read_demos(folder), tmp_path / "atlas")
    assert "unreachable.html" in index.read_text()
    page = (tmp_path / "atlas" / "unreachable.html").read_text()
    assert "Move the keypose towards the robot" in page
    assert "too far" in page
