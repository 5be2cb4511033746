"""Scenes by the thousand: valid, distinct, the same from any number of processes, resumable, and checkable."""

import json
from pathlib import Path

import pytest

from libero_safety.cli import main
from libero_safety.eval import scenes
from libero_safety.eval.scenes import SCENES, ScenesError, make_scenes, plan_scenes, read_scenes, recheck

SUITES = ("tsa",)


def test_the_plan_goes_through_tasks_and_levels_before_the_next_index():
    keys = plan_scenes(SUITES, (0, 1), seed=3)
    first = [next(keys) for _ in range(40)]
    pairs = {(k.task, k.level) for k in first}
    assert [k.index for k in first[: len(pairs)]] == [0] * len(pairs)
    assert len(set(first)) == 40
    assert all(k.seed == 3 and k.level in (0, 1) for k in first)
    later = plan_scenes(SUITES, (0, 1), seed=3, start=7)
    assert next(later) == first[7]


def test_scenes_are_valid_distinct_and_can_be_rebuilt(tmp_path: Path):
    made = make_scenes(tmp_path / "s", 10, suites=SUITES, levels=(0, 1))
    assert made.valid == 10
    records = read_scenes(tmp_path / "s")
    assert len({r.state_hash for r in records}) == 10
    assert [problem for _, problem in recheck(tmp_path / "s")] == [None] * 10
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["valid"] == 10
    assert sum(manifest["per_suite_and_level"].values()) == 10


def test_it_goes_on_where_it_stopped(tmp_path: Path):
    make_scenes(tmp_path / "whole", 6, suites=SUITES)
    make_scenes(tmp_path / "parts", 3, suites=SUITES)
    path = tmp_path / "parts" / SCENES
    path.write_text(path.read_text() + '{"key": {"sui')  # killed while writing
    make_scenes(tmp_path / "parts", 6, suites=SUITES)
    assert path.read_text() == (tmp_path / "whole" / SCENES).read_text()
    assert make_scenes(tmp_path / "parts", 6, suites=SUITES).valid == 6


def test_another_plan_or_a_strange_folder_is_refused(tmp_path: Path):
    make_scenes(tmp_path / "s", 1, suites=SUITES)
    with pytest.raises(ScenesError, match="seed: was 0, now 1"):
        make_scenes(tmp_path / "s", 2, suites=SUITES, seed=1)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine.txt").write_text("")
    with pytest.raises(ScenesError, match="not empty"):
        make_scenes(tmp_path / "t", 1, suites=SUITES)
    with pytest.raises(ScenesError, match="has any of the levels"):
        make_scenes(tmp_path / "u", 1, suites=SUITES, levels=(7,))


def test_a_scene_that_is_not_what_it_was_is_found(tmp_path: Path, capsys):
    out = tmp_path / "s"
    assert main(["scenes", "--suite", "tsa", "--level", "0", "--count", "3", "--out", str(out)]) == 0
    assert main(["check", str(out)]) == 0
    path = out / SCENES
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    name = next(iter(lines[1]["draw"]["poses"]))
    lines[1]["draw"]["poses"][name][0] += 0.001
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["check", str(out)]) == 1
    assert "3 scenes rebuilt, 1 wrong" in capsys.readouterr().out


def test_an_invalid_draw_is_rejected_with_its_reason(tmp_path: Path, monkeypatch):
    real = scenes.sample

    def crowded(scenario, key, catalog):
        if key.index == 1:
            raise ScenesError("no room")
        return real(scenario, key, catalog)

    monkeypatch.setattr(scenes, "sample", crowded)
    task_levels = len(
        {(k.task, k.level) for k, _ in zip(plan_scenes(SUITES, (0,), 0), range(9), strict=False)}
    )
    made = make_scenes(tmp_path / "s", task_levels + 1, suites=SUITES, levels=(0,))
    assert made.rejected >= 1
    rejects = (tmp_path / "s" / "rejects.jsonl").read_text()
    assert '"why": "no room"' in rejects


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(tmp_path: Path):
    one = make_scenes(tmp_path / "one", 40, suites=("aag", "fshoa"), workers=1)
    two = make_scenes(tmp_path / "two", 40, suites=("aag", "fshoa"), workers=2)
    assert (one.valid, one.rejected) == (two.valid, two.rejected)
    assert (tmp_path / "one" / SCENES).read_bytes() == (tmp_path / "two" / SCENES).read_bytes()
