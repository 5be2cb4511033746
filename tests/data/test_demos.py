"""Demonstrations on disk: written once, read back without the simulator, gone on with after a kill."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from libero_safety.data.demos import ARRAYS, DRAWS, DemosError, DemoWriter, draw_digest, read_demos
from libero_safety.data.strict_json import RunLogError
from libero_safety.demo.generate import Demo, Reject, generate
from libero_safety.demo.report import Failure
from libero_safety.eval.atlas import write_atlas
from libero_safety.eval.demo_check import verify
from libero_safety.eval.demos import DemosPlan, DemosPlanError, make_demos, measures, yield_lines, yields
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
    assert [replayed.problem for replayed in verify(read_demos(folder), env)] == [""]


@pytest.mark.slow
def test_a_demonstration_shares_no_space_at_any_physics_step(folder, env):
    found = list(verify(read_demos(folder), env, brute_force=True))
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
