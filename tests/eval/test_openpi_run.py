"""An evaluation over the wire: openpi's own server package answers, dies in the middle of an episode and comes back."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from libero_safety.data.runlog import read_run
from libero_safety.eval.plan import EvalConfig
from libero_safety.eval.runner import evaluate
from libero_safety.suites import load_suite

PYTHON = os.environ.get("LIBERO_SAFETY_OPENPI_PYTHON", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gl,
    pytest.mark.skipif(not PYTHON, reason="LIBERO_SAFETY_OPENPI_PYTHON names no Python with openpi-server"),
]

SERVER = """
import sys, time
import numpy as np
from openpi_server import WebsocketPolicyServer

class Policy:
    def infer(self, obs):
        time.sleep(0.05)
        assert obs["observation/image"].shape == (224, 224, 3)
        state = np.asarray(obs["observation/state"])
        return {"actions": np.tile(0.2 * np.sin(20 * state[:7]), (10, 1)).astype(np.float32)}

WebsocketPolicyServer(Policy(), "127.0.0.1", int(sys.argv[1]), {}).serve_forever()
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([PYTHON, "-c", SERVER, str(port)], stderr=subprocess.DEVNULL)


def config(port: int) -> EvalConfig:
    task = load_suite("tsa").tasks[0].name
    options = {"url": f"ws://127.0.0.1:{port}", "connect_timeout_s": "60"}
    return EvalConfig(
        ("tsa",), "openpi", options, (0,), (task,), episodes=3, horizon=60, image_size=96, quality="fast"
    )


def end_states(folder: Path) -> dict[str, int]:
    run = read_run(folder)
    traces = {str(r.key): run.episode(r).trace for r in run.records}
    return {key: int(trace.state_hash[-1]) for key, trace in traces.items() if trace is not None}


def test_a_server_that_dies_in_mid_episode_costs_nothing(port: int, tmp_path: Path) -> None:
    server = start(port)
    try:
        summary = evaluate(config(port), tmp_path / "calm")
        assert summary.exit_code == 0
        assert sum(summary.outcomes.values()) == 3
        server = _die_and_return(server, port, tmp_path / "storm")
    finally:
        server.kill()
    run = read_run(tmp_path / "storm")
    failed = [r for r in run.attempts if r.episode.outcome == "error"]
    assert len(failed) == 1
    assert failed[0].episode.error_class == "connection"
    assert 0 < failed[0].episode.steps < 60
    assert run.record(failed[0].key).attempt == 2
    # Every episode, the interrupted one too, is the one that an undisturbed run has.
    assert end_states(tmp_path / "storm") == end_states(tmp_path / "calm")


def _die_and_return(server: subprocess.Popen[bytes], port: int, out: Path) -> subprocess.Popen[bytes]:
    """Run an evaluation; kill the server within its second episode and start it again."""
    again: list[subprocess.Popen[bytes]] = []

    def storm() -> None:
        log = out / "episodes.jsonl"
        while not (log.exists() and log.read_text().count("\n") >= 1):
            time.sleep(0.02)
        time.sleep(0.3)  # into the next episode: twelve calls of at least 50 ms
        server.send_signal(signal.SIGKILL)
        server.wait()
        again.append(start(port))

    thread = threading.Thread(target=storm)
    thread.start()
    summary = evaluate(config(port), out)
    thread.join()
    assert summary.exit_code == 0
    assert sum(summary.outcomes.values()) == 3
    return again[0]


def test_no_server_is_an_error_and_leaves_no_success(port: int, tmp_path: Path) -> None:
    from dataclasses import replace

    options = {"url": f"ws://127.0.0.1:{port}", "connect_timeout_s": "1"}
    summary = evaluate(replace(config(port), policy_options=options, retries=0), tmp_path / "run")
    assert summary.exit_code == 3
    assert summary.status == "error"
    assert not summary.outcomes.get("success", 0)
