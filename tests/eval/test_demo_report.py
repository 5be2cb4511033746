"""The page about a folder of demonstrations: its numbers are those of the folder, and it loads nothing."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from libero_safety.data.demos import DemoRecord, Demos, RejectRecord
from libero_safety.eval.demo_report import groups, write_demo_report
from libero_safety.eval.report_plots import Curve, distribution
from libero_safety.types import Key

HEADER = {"suites": ["tsa", "hri"], "count": 4, "seed": 0, "levels": [0, 1], "versions": {"ompl": "2.0.1"}}


def record(suite: str, level: int, index: int, **measures: float) -> DemoRecord:
    stages = [{"name": "grasp", "planner": "straight"}, {"name": "place", "planner": "tip"}]
    told = {"steps": 100.0 + index, "ldlj": -9.0 - index, "min_clearance_m": 0.01 * (index + 1)}
    told |= {"tracking_error_m": 0.001, "plan_s": 0.5, **measures}
    return DemoRecord(
        *(Key(suite, "task_a", level, 0, index), "do it", 100 + index, 1 + index % 2, {}, ""),
        *({"stages": stages}, told, "a.npz", ""),
    )


def reject(suite: str, level: int, index: int, reason: str = "unreachable") -> RejectRecord:
    return RejectRecord(Key(suite, "task_a", level, 0, index), {}, reason, "grasp", "<b>too far</b>", 5)


def demos(folder: Path, rejects: Sequence[RejectRecord] = (), **header: object) -> Demos:
    folder.mkdir(exist_ok=True)
    found = [record(suite, level, i) for suite in ("hri", "tsa") for level in (0, 1) for i in range(4)]
    return Demos(folder, {**HEADER, **header}, tuple(found), tuple(rejects))  # type: ignore[arg-type]


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))


def test_the_page_has_yields_with_intervals_and_the_reasons(tmp_path):
    found = demos(
        tmp_path / "demos", [reject("hri", 1, 4), reject("hri", 1, 5), reject("hri", 1, 6, "drift")]
    )
    page = write_demo_report(found, tmp_path / "a" / "report.html")
    text = text_of(page)
    # Wilson 1927, 4 of 7, 95 %
    assert "57.1 25.0 to 84.2" in text
    assert "unreachable" in text
    assert "Move the keypose towards the robot" in text
    assert "2 unreachable, 1 drift" in text
    assert "4 of 7" in text
    assert "ompl 2.0.1" in text


def test_the_page_is_one_file(tmp_path):
    page = write_demo_report(demos(tmp_path / "demos"), tmp_path / "report.html").read_text()
    assert not re.search(r"(src|href)=", page)
    assert "http" not in page
    assert page.count("<svg") == 6  # near, LDLJ of two levels, steps, tracking, planning
    assert "5 mm" in page
    assert "paper −14.47" in page


def test_quantiles_are_those_of_the_group(tmp_path):
    found = demos(tmp_path / "demos")
    group = groups(found, by_task=False)[0]
    assert (group.suite, group.level, group.found.demos) == ("hri", 0, 4)
    np.testing.assert_allclose(group.values("steps"), [100, 101, 102, 103])
    assert group.planners() == {"straight": 4, "tip": 4}
    text = text_of(write_demo_report(found, tmp_path / "report.html"))
    assert "−10.50 lowest −12.00" in text
    assert "25.0 least 10.0" in text


def test_the_verdict_is_told_and_used(tmp_path):
    found = demos(tmp_path / "demos")
    page = tmp_path / "report.html"
    assert "Not replayed yet" in text_of(write_demo_report(found, page))
    entries = [
        {
            "key": {"suite": "hri", "task": "task_a", "level": 0, "seed": 0, "index": i},
            "nearest_m": 0.004 + i / 1000,
        }
        for i in range(4)
    ]
    verdict = {
        "made": "2026-01-01",
        "ok": True,
        "stored": 14,
        "summary": "14 of 14",
        "demonstrations": entries,
    }
    (found.folder / "brute-force.json").write_text(json.dumps(verdict))
    text = text_of(write_demo_report(found, page))
    assert "Not replayed yet" not in text
    assert "every physics step (2026-01-01): 14 of 14. 2 demonstrations were added since." in text
    assert "4.0 median 5.5" in text
    (found.folder / "brute-force.json").write_text("{")
    assert "cannot be read" in text_of(write_demo_report(found, page))


def test_what_is_missing_or_mixed_is_said(tmp_path):
    found = demos(tmp_path / "demos", count=5, mixed=["git: was 'a', now 'b'"])
    text = text_of(write_demo_report(found, tmp_path / "report.html"))
    assert "Fewer than 5 demonstrations: 4 tasks at a level" in text
    assert "Mixed folder" in text


def test_an_empty_folder_has_a_page(tmp_path):
    (tmp_path / "demos").mkdir()
    found = Demos(tmp_path / "demos", dict(HEADER), (), ())
    assert "There is nothing to judge" in text_of(write_demo_report(found, tmp_path / "report.html"))


def test_a_measure_that_is_missing_is_left_out(tmp_path):
    (tmp_path / "demos").mkdir()
    found = Demos(tmp_path / "demos", dict(HEADER), (record("hri", 0, 0, min_clearance_m=math.nan),), ())
    assert "n/a least n/a" in text_of(write_demo_report(found, tmp_path / "report.html"))


def test_a_distribution_rises_to_its_end_and_marks_lines():
    plot = distribution([Curve("a", np.array([1.0, np.nan, 3.0]))], "Things (mm)", marks={"limit": 2.0})
    assert plot is not None
    (path,) = re.findall(r'<path class="line s0" d="(M[^"]+V[^"]+)"', plot)
    heights = [float(value) for value in re.findall(r"V([\d.]+)", path)]
    assert len(heights) == 2
    assert heights[0] > heights[1]  # half, then all: up is less
    assert heights[1] == pytest.approx(28.0)
    assert plot.count('class="limit"') == 1
    assert distribution([Curve("a", np.array([np.nan]))], "Nothing") is None
