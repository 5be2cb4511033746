"""The benchmark of speed runs on its own, without LIBERO, and writes what it measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_one_round_without_libero(tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    command = [sys.executable, str(BENCHMARKS / "env.py"), "--rounds", "1", "--steps", "4"]
    environment = {**os.environ, "MUJOCO_GL": "off", "LIBERO_SAFETY_LIBERO_PYTHON": ""}
    done = subprocess.run(
        [*command, "--json", str(out)], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert "| control steps/s, nothing drawn |" in done.stdout
    found = json.loads(out.read_text())
    assert list(found["samples"]) == ["rules"]
    (sample,) = found["samples"]["rules"]["steps"]
    assert sample["per_wall_s"] > 0
    assert sample["rules"] == 28
    assert 50 < found["memory_mb"]["rules"]["own_mb"] < found["memory_mb"]["rules"]["resident_mb"] < 1000
