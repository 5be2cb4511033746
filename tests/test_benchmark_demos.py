"""The benchmark of demonstrations counts only warm passes, and divides by the time of the slowest process."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "demos.py"


@pytest.fixture
def bench(monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmark_of_demos", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_a_rate_is_that_of_the_slowest_process(bench):
    cold = bench.Pass(wall_s=99.0, cpu_s=50.0, made=40)
    fast = bench.Pass(wall_s=30.0, cpu_s=30.0, made=40, slowest=[(2.0, "a")])
    slow = bench.Pass(wall_s=40.0, cpu_s=30.0, made=38, slowest=[(3.0, "b")], rejects=Counter(drift=2))
    row = bench.row("planned", [[cold, fast], [cold, slow]])
    assert (row["made"], row["draws"], row["rejects"]) == (78, 80, {"drift": 2})
    assert row["per_hour"] == pytest.approx(3600 * 78 / 40)
    assert row["per_cpu_hour"] == pytest.approx(3600 * 78 / 60)
    assert row["cpu_share"] == pytest.approx(60 / 80)
    assert row["hours_for_published"] == pytest.approx(19_664 / (3600 * 78 / 40))
    assert row["cold_pass_s"] == 99.0
    assert row["slowest"][0] == (3.0, "b")
    assert "| planned | 2 | 78 / 80 | 7020 | 5000 | 2.8 |" in bench.table([row])
