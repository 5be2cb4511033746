"""Evaluations on assets of one's own: the run says which, and is drawn and replayed with them."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from libero_safety.cli import main
from libero_safety.data.header import AssetStamp, differences, header_from_json
from libero_safety.data.runlog import Run, read_run
from libero_safety.eval.plan import EvalConfig
from libero_safety.eval.replay import replay
from libero_safety.eval.runner import evaluate

BRICK = """<mujoco model="brick"><custom><text name="licence" data="CC0-1.0"/></custom><worldbody>
  <body name="object"><geom type="box" size=".02 .03 {height}" mass=".3"/></body></worldbody></mujoco>"""
TASK = """(define (problem lift) (:ubddl 1) (:arena tabletop)
  (:language lift the brick)
  (:regions (spot (:target table) (:ranges ((-0.05 -0.05 0.05 0.05)))))
  (:fixtures table - table)
  (:objects brick_1 - brick)
  (:init (On brick_1 table.spot))
  (:goal (Up brick_1 0.2m))
  (:constraints (NoContact robot brick_1)))"""


@pytest.fixture
def bricks(tmp_path: Path) -> Path:
    folder = tmp_path / "bricks"
    folder.mkdir()
    (folder / "brick.xml").write_text(BRICK.format(height=".02"))
    return folder


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "lift.ubddl"
    path.write_text(TASK)
    return path


def judged(task: Path, bricks: Path, out: Path) -> Run:
    config = EvalConfig((str(task),), "random", episodes=1, horizon=4, assets=(str(bricks), "built-in"))
    return read_run(evaluate(config, out).folder)


def test_the_header_says_where_assets_came_from(task: Path, bricks: Path, tmp_path: Path) -> None:
    run = judged(task, bricks, tmp_path / "run")
    assert run.header.config.assets == (str(bricks), "built-in")
    stamp = run.header.assets["brick"]
    assert (stamp.licence, stamp.source) == ("CC0-1.0", str(bricks / "brick.xml"))
    assert run.records[0].episode.outcome == "timeout"


def test_a_run_is_replayed_with_its_own_assets(task: Path, bricks: Path, tmp_path: Path) -> None:
    run = judged(task, bricks, tmp_path / "run")
    _, drift = replay(run, run.records[0])
    assert drift.exact


def test_runs_on_other_assets_do_not_mix(task: Path, bricks: Path, tmp_path: Path) -> None:
    before = judged(task, bricks, tmp_path / "before").header
    other = tmp_path / "other"
    other.mkdir()
    (other / "brick.xml").write_text(BRICK.format(height=".03"))
    after = judged(task, other, tmp_path / "after").header
    assert {line.split(":")[0] for line in differences(before, after)} == {"config.assets", "assets.brick"}


def test_headers_of_earlier_versions_are_of_built_in_assets(task: Path, bricks: Path, tmp_path: Path) -> None:
    data = json.loads(json.dumps(asdict(judged(task, bricks, tmp_path / "run").header)))
    del data["config"]["assets"], data["assets"]["brick"]["source"]
    old = header_from_json(data, "old")
    assert old.config.assets == ("built-in",)
    assert old.assets["brick"] == AssetStamp(old.assets["brick"].digest, "CC0-1.0", "built-in")


def test_check_and_view_take_assets(task: Path, bricks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(task)]) == 1
    assert "unknown asset type 'brick'" in capsys.readouterr().out
    assert main(["check", str(task), "--assets", f"{bricks},built-in"]) == 0
