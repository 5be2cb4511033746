import errno
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import libero_safety
from libero_safety.data.header import AssetStamp, RunConfig, RunHeader
from libero_safety.data.machine import git_revision, installed_versions, now, this_machine
from libero_safety.data.record import trace_from_bytes, trace_name, trace_to_bytes
from libero_safety.data.runlog import RunLogError, RunMismatchError, RunWriter, read_run
from libero_safety.types import Episode, Key, Outcome, Trace, Violation

TRACE_ARRAYS = [f.name for f in fields(Trace) if f.name != "dt_s"]


def make_header(**changes: Any) -> RunHeader:
    config = RunConfig(("tsa",), (0,), ("moka",), "expert", 2, (0,), 600, policy_options={"gain": 1.5})
    header = RunHeader(
        created=now(),
        config=config,
        versions={"libero_safety": "0.1.0", "mujoco": "3.17.0", "numpy": "2.4.6", "python": "3.11.2"},
        task_hashes={"tsa/moka": "ab" * 32},
        assets={"bottle": AssetStamp("0123456789abcdef", "CC0-1.0")},
        machine=this_machine("osmesa"),
        selftest={"passed": True, "checks": 12},
    )
    return replace(header, **changes)


def make_trace(n: int = 5, seed: int = 0) -> Trace:
    rng = np.random.default_rng(seed)
    return Trace(
        dt_s=0.05,
        qpos=rng.normal(size=(n + 1, 9)),
        eef_pos=rng.normal(size=(n + 1, 3)),
        eef_quat=rng.normal(size=(n + 1, 4)),
        gripper=rng.normal(size=(n + 1, 2)),
        asked=rng.normal(size=(n, 7)),
        executed=rng.normal(size=(n, 7)),
        clearance_m=np.full(n + 1, np.nan),
        force_n=rng.normal(size=n),
        state_hash=rng.integers(0, 2**64, n + 1, dtype=np.uint64),
    )


def make_episode(index: int = 0, outcome: Outcome = "success", **changes: Any) -> Episode:
    error = {"error_class": "policy", "error": "ValueError: no"} if outcome == "error" else {}
    episode = Episode(
        key=Key("tsa", "moka", 0, 0, index),
        instruction="put the pot on the stove",
        outcome=outcome,
        violations=(),
        steps=5,
        goal_reached=outcome == "success",
        trace=None if outcome == "error" else make_trace(seed=index),
        wall_s=1.25,
        **error,
    )
    return replace(episode, **changes)


HIT = Violation(
    "(NoContact robot hand_1)", "NoContact", 0.134, 2, ("hand_1",), "link5", 1.0, 0.0, "", "index_tip"
)


def test_an_episode_comes_back_as_it_was(tmp_path: Path) -> None:
    episode = make_episode(
        outcome="violation", violations=(HIT, replace(HIT, link=None, unit="N", part=None))
    )
    draw = {"placements": {"bottle": [0.1, 0.2, 1e-17]}, "look": "oak", "none": None}
    with RunWriter.create(tmp_path / "run", make_header()) as writer:
        writer.append(episode, draw)
    run = read_run(tmp_path / "run")
    (record,) = run.records
    back = run.episode(record)
    assert replace(back, trace=None) == replace(episode, trace=None)
    assert back.wall_s == 1.25
    assert record.draw == draw
    assert back.trace is not None
    assert episode.trace is not None
    assert back.trace.dt_s == 0.05
    for name in TRACE_ARRAYS:
        was, now_ = getattr(episode.trace, name), getattr(back.trace, name)
        assert was.dtype == now_.dtype
        np.testing.assert_array_equal(was, now_)


def test_the_header_comes_back_and_says_how_the_run_ended(tmp_path: Path) -> None:
    header = make_header(privileged=True, git="abc")
    writer = RunWriter.create(tmp_path, header)
    assert read_run(tmp_path).header == header
    writer.finish("cancelled")
    after = read_run(tmp_path).header
    assert after.status == "cancelled"
    assert after.finished is not None
    assert replace(after, status="started", finished=None) == header


@pytest.mark.parametrize(
    ("error", "status"), [(None, "success"), (KeyboardInterrupt, "cancelled"), (ValueError, "error")]
)
def test_leaving_the_context_finishes_the_run(
    tmp_path: Path, error: type[BaseException] | None, status: str
) -> None:
    try:
        with RunWriter.create(tmp_path, make_header()):
            if error is not None:
                raise error
    except (KeyboardInterrupt, ValueError):
        pass
    assert read_run(tmp_path).header.status == status


def test_files_hold_neither_nan_nor_infinity(tmp_path: Path) -> None:
    odd = replace(HIT, value=float("inf"), limit=float("nan"))
    draw = {"a": np.float64("nan"), "b": np.array([1.0, -np.inf]), "c": (np.int64(3), np.bool_(True))}
    options = {"x": float("inf")}
    config = replace(make_header().config, policy_options=options)
    with RunWriter.create(tmp_path, make_header(config=config)) as writer:
        writer.append(make_episode(violations=(odd,), wall_s=float("nan")), draw)
    for path in (tmp_path / "header.json", tmp_path / "episodes.jsonl"):
        for word in ("NaN", "Infinity"):
            assert word not in path.read_text(encoding="utf-8")
    record = read_run(tmp_path).records[0]
    assert record.draw == {"a": None, "b": [1.0, None], "c": [3, True]}
    assert np.isnan(record.episode.violations[0].value)
    assert np.isnan(record.episode.wall_s)


@pytest.mark.parametrize("draw", [{"a": object()}, {"a": {1: 2}}, {"a": b"bytes"}])
def test_a_draw_that_is_no_json_is_refused_and_leaves_nothing(tmp_path: Path, draw: dict[str, Any]) -> None:
    writer = RunWriter.create(tmp_path, make_header())
    with pytest.raises(RunLogError, match="holds only"):
        writer.append(make_episode(), draw)
    assert read_run(tmp_path).attempts == ()
    assert list((tmp_path / "traces").iterdir()) == []


def test_the_latest_attempt_counts_and_errors_stay_listed(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        writer.append(make_episode(1, "error"), {})
        writer.append(make_episode(0, "timeout"), {})
        writer.append(make_episode(1, "success"), {})
        writer.append(make_episode(2, "error"), {})
    run = read_run(tmp_path)
    assert [(r.key.index, r.episode.outcome, r.attempt) for r in run.records] == [
        (0, "timeout", 1),
        (1, "success", 2),
        (2, "error", 1),
    ]
    assert [r.episode.outcome for r in run.attempts] == ["error", "timeout", "success", "error"]
    assert {key.index for key in run.done()} == {0, 1}
    assert run.records[2].episode.error == "ValueError: no"


def test_a_resumed_run_goes_on_counting_attempts(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        writer.append(make_episode(0), {})
        writer.append(make_episode(1, "error"), {})
    with RunWriter.resume(tmp_path, make_header(created="later", machine=this_machine("egl"))) as writer:
        writer.append(make_episode(1), {})
    run = read_run(tmp_path)
    assert [r.attempt for r in run.attempts] == [1, 1, 2]
    assert run.header.mixed == ()
    assert len(run.done()) == 2


@pytest.mark.parametrize("cut", [1, 7, 150])
def test_a_line_cut_off_by_a_kill_is_dropped_and_said(tmp_path: Path, cut: int) -> None:
    writer = RunWriter.create(tmp_path, make_header())
    writer.append(make_episode(0), {})
    writer.append(make_episode(1), {})
    writer.close()
    log = tmp_path / "episodes.jsonl"
    log.write_bytes(log.read_bytes()[:-cut])
    run = read_run(tmp_path)
    assert [key.index for key in run.done()] == [0]
    assert "not written to its end" in run.note
    with RunWriter.resume(tmp_path, make_header()) as writer:
        writer.append(make_episode(1), {})
    run = read_run(tmp_path)
    assert run.note == ""
    assert {key.index for key in run.done()} == {0, 1}


def test_a_broken_line_in_the_middle_is_an_error_with_its_place(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        for index in range(3):
            writer.append(make_episode(index), {})
    log = tmp_path / "episodes.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines()
    log.write_text("\n".join([lines[0], lines[1][:40], lines[2], ""]), encoding="utf-8")
    with pytest.raises(RunLogError, match=r"episodes\.jsonl:2: not JSON"):
        read_run(tmp_path)
    data = json.loads(lines[1])
    data["outcome"] = "succes"
    log.write_text("\n".join([lines[0], json.dumps(data), ""]), encoding="utf-8")
    with pytest.raises(RunLogError, match=r"episodes\.jsonl:2: outcome should be one of success, "):
        read_run(tmp_path)


def test_kill_9_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from test_runlog import make_episode, make_header
        from libero_safety.data.runlog import RunWriter
        writer = RunWriter.create(Path(sys.argv[1]), make_header())
        for index in range(100_000):
            writer.append(make_episode(index), {})
            print(index, flush=True)
    """
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(script),
        str(tmp_path / "run"),
        str(Path(__file__).parent),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(5)]
        process.send_signal(signal.SIGKILL)
    run = read_run(tmp_path / "run")
    assert run.header.status == "started"
    done = {key.index for key in run.done()}
    assert done >= set(acknowledged)
    for record in run.records:
        assert run.episode(record).trace is not None
    with RunWriter.resume(tmp_path / "run", make_header()) as writer:
        writer.append(make_episode(max(done) + 1), {})
    assert len(read_run(tmp_path / "run").done()) == len(done) + 1
    assert not list((tmp_path / "run").glob("**/.*.part"))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (
            {"versions": {**make_header().versions, "mujoco": "3.3.3"}},
            "versions.mujoco: was '3.17.0', now '3.3.3'",
        ),
        ({"config": replace(make_header().config, horizon=300)}, "config.horizon: was 600, now 300"),
        ({"config": replace(make_header().config, goal="reference")}, "config.goal"),
        ({"config": replace(make_header().config, policy_options={})}, "config.policy_options"),
        ({"task_hashes": {"tsa/moka": "cd" * 32}}, "task_hashes.tsa/moka"),
        ({"assets": {}}, "assets.bottle: was '0123456789abcdef', now 'absent'"),
        ({"git": "f00"}, "git: was None, now 'f00'"),
        ({"privileged": True}, "privileged"),
    ],
)
def test_another_run_is_not_resumed(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        writer.append(make_episode(0), {})
    before = (tmp_path / "header.json").read_bytes()
    with pytest.raises(RunMismatchError) as caught:
        RunWriter.resume(tmp_path, make_header(**changes))
    assert field in str(caught.value)
    assert len(caught.value.lines) == 1
    assert (tmp_path / "header.json").read_bytes() == before
    with RunWriter.resume(tmp_path, make_header(**changes), allow_mixed=True) as writer:
        writer.append(make_episode(1), {})
    run = read_run(tmp_path)
    assert len(run.done()) == 2
    assert field in run.header.mixed[0]


def test_workers_and_command_may_change(tmp_path: Path) -> None:
    RunWriter.create(tmp_path, make_header()).close()
    config = replace(make_header().config, workers=8, command="libero-safety eval --workers 8")
    RunWriter.resume(tmp_path, make_header(config=config)).close()


def test_create_never_touches_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not lose me")
    with pytest.raises(RunLogError, match="is not empty and holds no run"):
        RunWriter.create(tmp_path, make_header())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    RunWriter.create(tmp_path / "run", make_header()).close()
    with pytest.raises(RunLogError, match="holds a run already"):
        RunWriter.create(tmp_path / "run", make_header())
    with pytest.raises(RunLogError, match="is no run folder"):
        RunWriter.resume(tmp_path, make_header())
    (tmp_path / "file").write_text("")
    with pytest.raises(RunLogError, match="Not a directory"):
        RunWriter.create(tmp_path / "file" / "run", make_header())


def test_two_writers_cannot_write_one_run(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, make_header())
    with pytest.raises(RunLogError, match="another process is writing"):
        RunWriter.resume(tmp_path, make_header())
    writer.close()
    RunWriter.resume(tmp_path, make_header()).close()
    with pytest.raises(RunLogError, match="closed"):
        writer.append(make_episode(), {})


def test_a_full_disk_loses_nothing_and_the_call_may_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path, make_header())
    writer.append(make_episode(0), {})
    real_pwrite, real_fsync = os.pwrite, os.fsync

    def half_then_full(file: int, content: bytes, offset: int) -> int:
        real_pwrite(file, content[: len(content) // 2], offset)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name, broken in (("pwrite", half_then_full), ("fsync", full)):
        monkeypatch.setattr(os, name, broken)
        with pytest.raises(RunLogError, match=r"No space left on device") as caught:
            writer.append(make_episode(1), {"long": "x" * 3000})
        assert str(tmp_path) in str(caught.value)
        monkeypatch.setattr(os, "pwrite", real_pwrite)
        monkeypatch.setattr(os, "fsync", real_fsync)
        run = read_run(tmp_path)
        assert [key.index for key in run.done()] == [0]
        assert run.note == ""
    writer.append(make_episode(1), {})
    writer.finish("success")
    run = read_run(tmp_path)
    assert [record.attempt for record in run.attempts] == [1, 1]
    assert all(run.episode(record).trace is not None for record in run.records)
    assert len(list((tmp_path / "traces").iterdir())) == 2


def test_a_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(RunLogError, match=r"/proc/libero-safety-run: "):
        RunWriter.create(Path("/proc/libero-safety-run"), make_header())


def test_a_changed_or_missing_trace_is_not_trusted(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        record = writer.append(make_episode(0), {})
    assert record.trace_file is not None
    path = tmp_path / "traces" / record.trace_file
    run = read_run(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunLogError, match="differs from the sha256 in line 1"):
        run.episode(run.records[0])
    path.unlink()
    with pytest.raises(RunLogError, match="No such file"):
        run.episode(run.records[0])


def test_a_trace_file_cannot_run_code(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, **{"qpos": np.array([print], dtype=object)})
    with pytest.raises(RunLogError, match="not a trace file"):
        trace_from_bytes(path.read_bytes(), "evil.npz")
    with pytest.raises(RunLogError, match="not a trace file"):
        trace_from_bytes(b"PK\x03\x04 nothing", "evil.npz")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "plå te 🫖", "x" * 400, "", "\udcff", "line\u2028two"]
)
def test_any_name_is_safe_as_a_file(tmp_path: Path, name: str) -> None:
    key = Key(name, name, 1, -2, 3)
    with RunWriter.create(tmp_path, make_header()) as writer:
        record = writer.append(make_episode(key=key, instruction=name), {})
    assert record.trace_file is not None
    run = read_run(tmp_path)
    assert run.done() == {key}
    assert run.episode(run.record(key)).trace is not None
    assert (tmp_path / "traces" / record.trace_file).parent == tmp_path / "traces"
    assert len(record.trace_file) < 200
    assert record.trace_file.isascii()


def test_keys_that_read_alike_get_different_files() -> None:
    names = {
        trace_name(Key(suite, task, 0, 0, 0), attempt)
        for suite, task in (("a", "b_c"), ("a", "b c"), ("a-b", "c"), ("a", "b-c"), ("A", "b-c"))
        for attempt in (1, 2)
    }
    assert len({name.lower() for name in names}) == 10


def test_equal_traces_give_equal_files() -> None:
    assert trace_to_bytes(make_trace()) == trace_to_bytes(make_trace())


def test_a_run_of_format_1_is_read_and_has_no_parts(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, make_header()) as writer:
        writer.append(make_episode(outcome="violation", violations=(HIT,)), {})
    for name, change in (
        ("header.json", lambda data: data.update(format=1)),
        ("episodes.jsonl", lambda data: data["violations"][0].pop("part")),
    ):
        path = tmp_path / name
        data = json.loads(path.read_text(encoding="utf-8"))
        change(data)
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")
    run = read_run(tmp_path)
    assert run.header.format == 1
    assert run.episodes[0].violations == (replace(HIT, part=None),)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    RunWriter.create(tmp_path, make_header()).close()
    path = tmp_path / "header.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "format": 99}), encoding="utf-8")
    with pytest.raises(RunLogError, match="run format 99 is newer"):
        read_run(tmp_path)
    path.write_text(json.dumps({**data, "config": {**data["config"], "horizon": "600"}}), encoding="utf-8")
    with pytest.raises(RunLogError, match="field 'horizon' should be int, is '600'"):
        read_run(tmp_path)


def test_this_installation_is_described(tmp_path: Path) -> None:
    assert set(installed_versions()) == {"libero_safety", "mujoco", "numpy", "python"}
    assert installed_versions()["numpy"] == np.__version__
    assert this_machine().cores >= 1
    assert git_revision(tmp_path) is None


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "run-log.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    source = str(Path(libero_safety.__file__).resolve().parents[1])
    monkeypatch.chdir(tmp_path)
    with RunWriter.create(Path("runs/first"), make_header()) as writer:
        writer.append(make_episode(0), {})
        writer.append(make_episode(1, "error"), {})
    environment = {**os.environ, "PYTHONPATH": source}
    printed = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        ).stdout
        for code in examples
    ]
    assert printed[0].splitlines() == [
        "expert success",
        "tsa/moka/L0/seed0/0 success 5 nan",
        "tsa/moka/L0/seed0/1 error 5 None",
    ]
    assert [key.task for key in read_run(Path("runs/mine")).done()] == ["my_task"]


def test_the_documentation_names_every_field(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "run-log.md").read_text(encoding="utf-8")
    with RunWriter.create(tmp_path, make_header()) as writer:
        writer.append(make_episode(0, violations=(HIT,)), {})
    line = json.loads((tmp_path / "episodes.jsonl").read_text(encoding="utf-8"))
    header = json.loads((tmp_path / "header.json").read_text(encoding="utf-8"))
    names = [*header, *header["config"], *header["machine"], *line, *line["key"], *line["violations"][0]]
    assert [name for name in [*names, *TRACE_ARRAYS] if f"`{name}`" not in page] == []
