"""A folder of demonstrations as one page: what a person needs to judge it."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from markupsafe import Markup

from libero_safety.data.demos import DemoRecord, Demos
from libero_safety.data.files import decode, read_bytes
from libero_safety.data.strict_json import JsonObject, RunLogError, dumps, loads, take
from libero_safety.demo.rejects import REASONS
from libero_safety.eval.brute_force import NEAR_M
from libero_safety.eval.demo_check import verdict_file
from libero_safety.eval.report import ReportError, environment, number
from libero_safety.eval.report_plots import Curve, distribution
from libero_safety.eval.report_view import SMALL_SAMPLE, Note
from libero_safety.eval.statistics import Rate, rate
from libero_safety.eval.yields import Yield, yields
from libero_safety.types import CONTROL_HZ, FloatArray

CLEARANCE_MM = 5.0
"""The least clearance with which motions are planned."""
PAPER_LDLJ = -14.47
"""Of the privileged planner of the LIBERO-Safety paper on FSHOA at level 2 (its table on data scaling)."""
CLEARANCE_END_MM, TRACKING_END_MM, PLAN_END_S = 150.0, 15.0, 5.0
"""Where plots end: what is more is not on them."""


@dataclass(frozen=True)
class Column:
    """A column of quantiles.

    Attributes:
        title: with the unit.
        name: in `DemoRecord.measures`, or `tries`.
        scale: factor to the unit shown.
        digits: decimals.
        main: quantile that is shown large.
        other: quantile that is shown small, after `word`.
        meaning: in words.
    """

    title: str
    name: str
    scale: float
    digits: int
    main: float
    other: float
    word: str
    meaning: str


COLUMNS = (
    Column("Steps", "steps", 1, 0, 0.5, 1.0, "most", f"control steps, {CONTROL_HZ} a second; median"),
    Column("LDLJ", "ldlj", 1, 2, 0.5, 0.0, "lowest", "log dimensionless jerk of the executed motion; median"),
    Column(
        *("Near mm", "min_clearance_m", 1000, 1, 0.5, 0.0, "least"),
        "smallest distance to a guarded entity in a demonstration, touches that the task asks for included; median",
    ),
    Column(
        *("Track mm", "tracking_error_m", 1000, 1, 0.5, 1.0, "most"),
        "largest distance between where the tip was and where it should have been; median",
    ),
    Column("Plan s", "plan_s", 1, 2, 0.5, 0.98, "98 %", "seconds of planning a whole task; median"),
    Column("Tries", "tries", 1, 0, 0.5, 1.0, "most", "how many were needed; median"),
)
APART = Column(
    *("Apart mm", "nearest_m", 1000, 1, 0.0, 0.5, "median"),
    f"smallest distance between two that a rule keeps apart, of all physics steps, looked at up to {1000 * NEAR_M:.0f}"
    " mm; the least of all demonstrations",
)
"""Shown where every physics step was looked at."""


@dataclass(frozen=True)
class Group:
    """Demonstrations of one suite or task, at one level, and what came of their draws."""

    suite: str
    task: str
    level: int
    found: Yield
    records: tuple[DemoRecord, ...]

    def values(self, name: str) -> FloatArray:
        """Return a measure of each demonstration that has it."""
        values = [r.tries if name == "tries" else r.measures.get(name, math.nan) for r in self.records]
        array = np.array(values, np.float64)
        return array[np.isfinite(array)]

    def cell(self, column: Column) -> tuple[float, float]:
        """Return the two numbers of a column; NaN where there is none."""
        values = self.values(column.name) * column.scale
        if not values.size:
            return math.nan, math.nan
        return float(np.quantile(values, column.main)), float(np.quantile(values, column.other))

    def planners(self) -> Counter[str]:
        """Return how often each planner found the way of a motion."""
        stages = [stage for record in self.records for stage in record.report.get("stages") or ()]  # type: ignore[union-attr]
        return Counter(str(stage["planner"]) for stage in stages if isinstance(stage, dict))


def write_demo_report(demos: Demos, out: Path) -> Path:
    """Write the page and return its path; it is one file that loads nothing.

    Raises:
        ReportError: it cannot be written.
    """
    text = environment().get_template("demos.html.j2").render(_page(demos))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ReportError(f"cannot write the report to {out}: {error.strerror or error}") from error
    return out


def groups(demos: Demos, *, by_task: bool) -> list[Group]:
    """Return the groups in order, by suite and level, or by suite, task and level."""
    found: dict[tuple[str, str, int], Yield] = {}
    for (suite, task, level), one in yields(demos).items():
        total = found.setdefault((suite, task if by_task else "", level), Yield())
        total.demos += one.demos
        total.reasons += one.reasons
    records: dict[tuple[str, str, int], list[DemoRecord]] = {key: [] for key in found}
    for record in demos.demos:
        key = record.key
        records[key.suite, key.task if by_task else "", key.level].append(record)
    return [Group(*key, found[key], tuple(records[key])) for key in sorted(found)]


def _page(demos: Demos) -> dict[str, object]:
    demos = _with_distances(demos)
    looked_at = any("nearest_m" in record.measures for record in demos.demos)
    columns = (*COLUMNS[:3], APART, *COLUMNS[3:]) if looked_at else COLUMNS
    suites, tasks = groups(demos, by_task=False), groups(demos, by_task=True)
    whole = Group("", "", 0, _sum(suites), demos.demos)
    planners = [name for name, _ in whole.planners().most_common()]
    return {
        "title": demos.folder.resolve().name,
        "header": demos.header,
        "notes": _notes(demos, suites),
        "whole": whole,
        "suites": suites,
        "tasks": tasks,
        "columns": columns,
        "looked_at": looked_at,
        "plots": _plots(suites),
        "reasons": _reasons(demos, suites, whole.found),
        "planners": planners,
        "facts": _facts(demos),
    }


def _with_distances(demos: Demos) -> Demos:
    """Add to the measures what the independent look has measured, if it was taken."""
    data = _read_verdict(demos, brute_force=True)
    entries = data.get("demonstrations") if isinstance(data, dict) else None
    nearest: dict[str, float] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("nearest_m"), float):
            nearest[dumps(entry["key"])] = cast(float, entry["nearest_m"])
    records = tuple(
        replace(record, measures={**record.measures, "nearest_m": nearest[key]})
        if (key := dumps(asdict(record.key))) in nearest
        else record
        for record in demos.demos
    )
    return replace(demos, demos=records)


def _read_verdict(demos: Demos, brute_force: bool) -> JsonObject | str | None:
    """Return a verdict on the folder, why it cannot be read, or None where there is none."""
    path = verdict_file(demos.folder, brute_force)
    if not path.is_file():
        return None
    try:
        data = loads(decode(read_bytes(path), path), str(path))
        for name, kind in (("summary", str), ("made", str), ("ok", bool), ("stored", int)):
            take(data, name, kind, str(path))
    except RunLogError as error:
        return str(error)
    return data


def _sum(found: Sequence[Group]) -> Yield:
    total = Yield()
    for group in found:
        total.demos += group.found.demos
        total.reasons += group.found.reasons
    return total


def _plots(suites: Sequence[Group]) -> list[Markup]:
    """Return the distributions: smoothness by level, the rest of all levels together."""
    levels = sorted({group.level for group in suites})
    clearance = {"5 mm": CLEARANCE_MM}
    plots = [
        distribution(
            _curves(suites, "nearest_m", 1000.0),
            f"Distance of what a rule keeps apart (mm, up to {1000 * NEAR_M:.0f})",
            marks=clearance,
            low=0.0,
        ),
        distribution(
            _curves(suites, "min_clearance_m", 1000.0),
            "Distance to the nearest guarded thing (mm)",
            marks=clearance,
            low=0.0,
            high=CLEARANCE_END_MM,
        ),
    ]
    for level in levels:
        at = [group for group in suites if group.level == level]
        title = f"LDLJ at level {level}, executed; right is smoother"
        plots.append(
            distribution(_curves(at, "ldlj"), title, marks={f"paper {number(PAPER_LDLJ)}": PAPER_LDLJ})
        )
    for name, scale, title, high in (
        ("steps", 1.0, "Length (control steps)", math.inf),
        ("tracking_error_m", 1000.0, "Largest tracking error (mm)", TRACKING_END_MM),
        ("plan_s", 1.0, "Planning of a whole task (s)", PLAN_END_S),
    ):
        plots.append(distribution(_curves(suites, name, scale), title, low=0.0, high=high))
    return [plot for plot in plots if plot is not None]


def _curves(found: Sequence[Group], name: str, scale: float = 1.0) -> list[Curve]:
    suites = dict.fromkeys(group.suite for group in found)
    return [
        Curve(suite, scale * np.concatenate([group.values(name) for group in found if group.suite == suite]))
        for suite in suites
    ]


@dataclass(frozen=True)
class _Reason:
    """A reason for which draws were rejected: how often, in which groups, and what to do."""

    name: str
    share: Rate
    by_group: tuple[int, ...]
    doc: str
    advice: str


def _reasons(demos: Demos, suites: Sequence[Group], whole: Yield) -> list[_Reason]:
    rows: list[_Reason] = []
    for name, count in whole.reasons.most_common():
        known = {str(key): reason for key, reason in REASONS.items()}.get(name)
        rows.append(
            _Reason(
                name,
                rate(count, whole.draws),
                tuple(group.found.reasons[name] for group in suites),
                known.doc if known else "",
                known.advice if known else "",
            )
        )
    return rows


def _notes(demos: Demos, suites: Sequence[Group]) -> list[Note]:
    notes: list[Note] = []
    mixed = demos.header.get("mixed")
    if isinstance(mixed, list) and mixed:
        text = "Mixed folder: its demonstrations were not all made under the same conditions."
        notes.append(Note(text, True, tuple(map(str, mixed))))
    notes += [note for brute_force in (False, True) if (note := _verdict(demos, brute_force))]
    few = [group for group in groups(demos, by_task=True) if group.found.demos < _count(demos)]
    if few:
        text = f"Fewer than {_count(demos)} demonstrations: {len(few)} tasks at a level, or they are still being made."
        notes.append(Note(text, lines=tuple(f"{g.suite}/{g.task} L{g.level}: {g.found.demos}" for g in few)))
    if demos.note:
        notes.append(Note(demos.note))
    if any(0 < group.found.draws < SMALL_SAMPLE for group in suites):
        notes.append(
            Note(
                f"Some rows per suite and level have fewer than {SMALL_SAMPLE} draws: read the intervals, not the "
                "digits.",
                warning=False,
            )
        )
    return notes


def _count(demos: Demos) -> int:
    count = demos.header.get("count")
    return count if isinstance(count, int) else 0


def _verdict(demos: Demos, brute_force: bool) -> Note | None:
    """Say what came of replaying, or that it was not done."""
    data = _read_verdict(demos, brute_force)
    if isinstance(data, str):
        return Note(f"A verdict cannot be read: {data}")
    if data is None:
        if brute_force or verdict_file(demos.folder, brute_force=True).is_file():
            return None
        return Note(f"Not replayed yet: “libero-safety demo verify {demos.folder}” does it.")
    how = "Replayed, and looked at in every physics step" if brute_force else "Replayed"
    later = len(demos.demos) - take(data, "stored", int, "")
    more = f" {later} demonstrations were added since." if later > 0 else ""
    return Note(f"{how} ({data['made']}): {data['summary']}.{more}", warning=data["ok"] is not True)


def _facts(demos: Demos) -> list[tuple[str, str]]:
    """Return what was made as (name, text)."""
    header = demos.header
    names: Mapping[str, tuple[str, Callable[[object], str]]] = {
        "suites": ("Suites", _listed),
        "levels": ("Levels", _listed),
        "tasks": ("Tasks", _listed),
        "count": ("Wanted", lambda value: f"{value} per task and level"),
        "seed": ("Seed", str),
        "tries": ("Tries", lambda value: f"at most {value} per draw"),
        "perturb": ("Perturbed", _listed),
        "versions": ("Versions", _listed),
        "git": ("Revision", str),
    }
    return [(title, show(header[key])) for key, (title, show) in names.items() if header.get(key)]


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
