"""The command line as a newcomer uses it: words out, files made, exit codes, no traceback."""

import json
import os
import subprocess
import sys

import pytest

from libero_safety.cli import main
from libero_safety.suites import load_suite, suites

TASK = "pick_up_the_akita_black_bowl_on_the_stove_and_place_it_on_the_plate"


def libero(*args: str, **env: str | None) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in {**os.environ, **env}.items() if v is not None}
    return subprocess.run(
        [sys.executable, "-m", "libero_safety", *args],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    tasks = [f"{s}/{t.name}" for s in suites() for t in load_suite(s).tasks]
    assert [line.split()[0] for line in lines] == tasks
    for what in ("suites", "policies", "planners", "types", "arenas", "words"):
        assert main(["list", what]) == 0
    out = capsys.readouterr().out
    assert "reckless" in out
    assert "akita_black_bowl" in out
    assert "(NoContact body body)" in out


def test_check_says_where_and_ends_with_its_verdict(capsys, tmp_path):
    good = load_suite("tsa").tasks[0].path
    assert main(["check", str(good)]) == 0
    assert capsys.readouterr().out.endswith("1 files read, 0 errors, 0 warnings\n")
    bad = tmp_path / "bad.ubddl"
    bad.write_text(good.read_text().replace("(NoContact robot bottle_1)", "(NoContact robot botle_1)"))
    assert main(["check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    line = next(i for i, t in enumerate(bad.read_text().splitlines(), 1) if "botle_1" in t)
    assert f"bad.ubddl:{line}:" in out
    assert "bottle_1" in out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["check", "nowhere"], "nowhere does not exist"),
        (["eval", "--suite", "tsaa"], "did you mean 'tsa'"),
        (["eval", "--suite", "tsa", "--policy", "rekless"], "did you mean 'reckless'"),
        (["eval", "--suite", "tsa", "--policy-arg", "gain"], "KEY=VALUE"),
        (["eval", "--suite", "tsa", "--task", "pick"], "pick"),
        (["report", "nowhere"], "nowhere"),
        (["replay", "nowhere"], "nowhere"),
        (["view", "tsa/nothing"], "nothing"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(capsys, monkeypatch, tmp_path, args, text):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert text in captured.err
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A small run, made by the command line in a process of its own."""
    out = tmp_path_factory.mktemp("cli") / "run with a space"
    done = libero(
        *("eval", "--suite", "tsa", "--task", TASK, "--policy", "reckless", "--episodes", "2"),
        *("--out", str(out), "--no-report"),
    )
    assert done.returncode == 0, done.stderr
    return out


def test_eval_writes_a_run(run_folder):
    header = json.loads((run_folder / "header.json").read_text())
    assert header["status"] == "success"
    assert header["selftest"]["ok"]
    assert header["privileged"]
    assert set(header["versions"]) >= {"libero_safety", "mujoco", "numpy", "python"}
    lines = [json.loads(line) for line in (run_folder / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * len(load_suite("tsa").tasks[0].levels)
    assert all(line["outcome"] in ("success", "violation", "timeout") for line in lines)


def test_an_existing_run_is_not_overwritten(run_folder, capsys):
    before = (run_folder / "episodes.jsonl").read_bytes()
    assert main(["eval", "--suite", "tsa", "--task", TASK, "--out", str(run_folder)]) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert (run_folder / "episodes.jsonl").read_bytes() == before


def test_a_run_replays_bit_for_bit(run_folder, capsys):
    assert main(["replay", str(run_folder), "--episode", "L1"]) == 0
    assert "2 episodes replayed, 0 drifted" in capsys.readouterr().out
    assert main(["replay", str(run_folder), "--episode", "nothing like it"]) == 1


def test_a_report_can_be_written_without_a_gl_library(run_folder, tmp_path):
    done = libero("report", str(run_folder), "--out", str(tmp_path), MUJOCO_GL="off")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "<img" not in page
    assert "no pictures" in done.stdout


@pytest.mark.gl
def test_a_report_has_pictures(run_folder, tmp_path, capsys):
    assert main(["report", str(run_folder), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "data:image/" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert (tmp_path / "report.md").is_file()
    assert (tmp_path / "episodes.csv").is_file()


@pytest.mark.gl
def test_view_makes_a_picture_and_a_video(tmp_path, capsys):
    picture, video = tmp_path / "a.png", tmp_path / "a.mp4"
    assert main(["view", f"tsa/{TASK}", "--out", str(picture), "--size", "128"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    args = ["view", f"tsa/{TASK}", "--policy", "reckless", "--out", str(video), "--size", "128"]
    assert main([*args, "--level", "1", "--index", "2"]) == 0
    assert b"ftyp" in video.read_bytes()[:16]
    assert "after" in capsys.readouterr().out


def test_without_home_terminal_or_cache(tmp_path):
    out = tmp_path / "run"
    done = libero(
        *("eval", "--suite", "tsa", "--task", TASK, "--level", "0", "--policy", "noop"),
        *("--horizon", "3", "--episodes", "1", "--out", str(out)),
        HOME=None,
        XDG_CACHE_HOME=None,
        TERM=None,
        MUJOCO_GL="off",
    )
    assert done.returncode == 0, done.stderr
    assert (out / "report.html").is_file()
    assert "1 timeout" in done.stdout


def test_a_broken_gl_setting_is_explained():
    done = libero("eval", "--suite", "tsa", "--policy", "noop", "--out", "/nowhere/run", MUJOCO_GL="glitch")
    assert done.returncode == 2
    assert "MUJOCO_GL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["eval", "--suite", "tsa", "--policy", "noop", "--out", str(tmp_path / "file" / "run")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_selftest_prints_every_check(capsys):
    assert main(["selftest"]) == 0
    out = capsys.readouterr().out
    assert "9.81 N" in out
    assert "all checks passed" in out


@pytest.mark.parametrize("verb", ["list", "check", "view", "eval", "report", "replay", "selftest", "doctor"])
def test_help_of_every_verb_names_its_options(capsys, verb):
    with pytest.raises(SystemExit) as left:
        main([verb, "--help"])
    assert left.value.code in (None, 0)
    assert "usage" in capsys.readouterr().out


def test_help_is_there_in_a_process_of_its_own():
    done = libero("eval", "--help")
    assert done.returncode == 0
    assert "usage" in done.stdout
