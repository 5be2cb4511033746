"""A run folder as one page that a person can read, a Markdown summary and tables."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from libero_safety.data.record import Record
from libero_safety.data.runlog import Run, read_run
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval import report_view as view
from libero_safety.eval.metrics import MEASURES, EpisodeMetrics, Factor, Summary, summarise
from libero_safety.eval.report_view import FrameSource
from libero_safety.eval.statistics import Mean, Rate
from libero_safety.types import Key

__all__ = ["FrameSource", "ReportError", "ReportFiles", "write_report"]

MAX_VIOLATIONS = 300
"""Violations on the page; all of them are in violations.csv."""
MAX_ERRORS = 10
"""Errors of one class on the page; all of them are in episodes.csv."""


class ReportError(LiberoSafetyError):
    """A report that cannot be written; the message names the path and the cause."""


@dataclass(frozen=True)
class ReportFiles:
    """What `write_report` wrote; `tables` by name: episodes, violations, by_task, by_suite."""

    html: Path
    markdown: Path
    tables: Mapping[str, Path]


@dataclass(frozen=True)
class Column:
    """A column of means: title, name in `Summary.means`, factor to the unit shown, digits, meaning."""

    title: str
    name: str
    scale: float
    digits: int
    meaning: str


MOTION = (
    Column("Time", "steps", 1, 0, "control steps to the end, mean"),
    Column("LDLJ", "ldlj", 1, 2, "log dimensionless jerk, paper variant, mean"),
    Column("LDLJ ok", "ldlj_success", 1, 2, "the same over successes only"),
    Column("LDLJ SG", "ldlj_savgol", 1, 2, "log dimensionless jerk, Savitzky-Golay derivatives, mean"),
    Column("SPARC", "sparc", 1, 2, "spectral arc length of the speed, mean"),
)
NEARNESS = (
    Column("Clearance cm", "min_clearance_m", 100, 1, "smallest distance to a guarded entity, mean"),
    Column("Force N", "peak_force_n", 1, 1, "largest normal force on a guarded entity, mean"),
    Column("< 1 cm s", "exposure_1cm_s", 1, 2, "seconds nearer than 1 cm, mean"),
    Column("< 2 cm s", "exposure_2cm_s", 1, 2, "seconds nearer than 2 cm, mean"),
    Column("< 5 cm s", "exposure_5cm_s", 1, 2, "seconds nearer than 5 cm, mean"),
)
BY_SUITE: tuple[Factor, ...] = ("policy", "suite", "level")
BY_TASK: tuple[Factor, ...] = ("policy", "suite", "task", "level")


def write_report(
    run_folder: Path,
    out: Path | None = None,
    frames: FrameSource | None = None,
    *,
    videos: bool = False,
    episodes: Sequence[Key] | None = None,
) -> ReportFiles:
    """Write report.html, report.md and the tables of a run.

    The page is one file that loads nothing: it can be mailed, archived and printed.

    Args:
        run_folder: what `RunWriter` wrote, finished or not.
        out: folder to write to; the run folder by default. Files of an earlier report there are replaced.
        frames: draws episodes again; None where there is no off-screen OpenGL library, which the page says.
        videos: whether the episodes told are also shown as video.
        episodes: the episodes to tell; by default the first of every outcome of every suite, at most 12.

    Raises:
        RunLogError: no run there, or it cannot be read.
        ReportError: the report cannot be written.
    """
    run = read_run(run_folder)
    rows, problems = view.measured(run)
    by_key = {row.key: row for row in rows}
    stories = [
        view.tell(run, record, by_key[record.key], frames, videos) for record in view.chosen(run, episodes)
    ]
    page = _page(run, rows, view.notes(run, rows, problems), stories, pictures=frames is not None)
    page["chosen"] = episodes is not None
    pages = environment()
    folder = run_folder if out is None else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("report.html", "report.md"):
            text = pages.get_template(f"{name}.j2").render(page)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        tables = _write_tables(folder, run, rows)
    except OSError as error:
        raise ReportError(f"cannot write the report to {folder}: {error.strerror or error}") from error
    return ReportFiles(folder / "report.html", folder / "report.md", tables)


def _page(
    run: Run,
    rows: Sequence[EpisodeMetrics],
    notes: Sequence[view.Note],
    stories: Sequence[view.Story],
    pictures: bool,
) -> dict[str, object]:
    return {
        "run": run,
        "total": summarise(rows, ())[0],
        "suites": summarise(rows, BY_SUITE),
        "tasks": summarise(rows, BY_TASK),
        "notes": notes,
        "instructions": view.instructions(run),
        "violations": [
            (record, violation) for record in run.records for violation in record.episode.violations
        ],
        "max_violations": MAX_VIOLATIONS,
        "errors": view.error_classes(run),
        "max_errors": MAX_ERRORS,
        "stories": stories,
        "no_pictures": view.NO_PICTURES if stories and not pictures else "",
        "facts": view.facts(run),
        "motion": MOTION,
        "nearness": NEARNESS,
    }


def environment() -> jinja2.Environment:
    """Return the templates of pages, with the filters that show numbers."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("libero_safety.eval"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "short": short,
        "percent": percent,
        "interval": interval,
        "md": markdown,
    }
    return made


def number(value: float, digits: int = 2) -> str:
    """Return a number as shown on the page; `n/a` if it is none."""
    return f"{value:.{digits}f}".replace("-", "\u2212") if math.isfinite(value) else "n/a"


def short(value: float) -> str:
    """Return a number with three significant digits; `n/a` if it is none."""
    return f"{value:.3g}".replace("-", "\u2212") if math.isfinite(value) else "n/a"


def percent(value: Rate) -> str:
    """Return a rate in percent with one decimal; `n/a` if there were no episodes."""
    return number(100.0 * value.value, 1)


def interval(value: Rate | Mean, scale: float = 100.0, digits: int = 1) -> str:
    """Return the interval of a rate (in percent) or a mean; nothing if it has none."""
    if not (math.isfinite(value.low) and math.isfinite(value.high)):
        return ""
    return f"{number(scale * value.low, digits)} to {number(scale * value.high, digits)}"


def markdown(text: object) -> str:
    """Return text that Markdown shows as it is, also within a table."""
    kept = " ".join(str(text).split())
    for mark in "\\`*[]|<>":
        kept = kept.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return kept


def _write_tables(folder: Path, run: Run, rows: Sequence[EpisodeMetrics]) -> dict[str, Path]:
    tables = {
        "episodes": [_episode_cells(*pair) for pair in zip(run.records, rows, strict=True)],
        "violations": [cells for record in run.records for cells in _violation_cells(record)],
        "by_task": [_summary_cells(summary) for summary in summarise(rows, BY_TASK)],
        "by_suite": [_summary_cells(summary) for summary in summarise(rows, BY_SUITE)],
    }
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, cells in tables.items():
        _write_csv(paths[name], cells)
    return paths


def _write_csv(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    rows = list(rows)
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return int(value) if isinstance(value, bool) else value


def _key_cells(key: Key) -> dict[str, object]:
    return {name: getattr(key, name) for name in ("suite", "task", "level", "seed", "index")}


def _episode_cells(record: Record, row: EpisodeMetrics) -> dict[str, object]:
    episode = record.episode
    return {
        "policy": row.policy,
        **_key_cells(record.key),
        "attempt": record.attempt,
        "outcome": episode.outcome,
        "goal_reached": episode.goal_reached,
        "collision": row.collision,
        "violated": row.violated,
        "steps": episode.steps,
        **{name: row.measures[name].value for name in MEASURES},
        "error_class": episode.error_class or "",
        "error": episode.error or "",
        "instruction": episode.instruction,
        "wall_s": episode.wall_s,
        "trace": record.trace_file or "",
    }


def _violation_cells(record: Record) -> Iterable[dict[str, object]]:
    for violation in record.episode.violations:
        yield {
            **_key_cells(record.key),
            "rule": violation.rule,
            "kind": violation.kind,
            "time_s": violation.time_s,
            "step": violation.step,
            "link": violation.link or "",
            "entities": " ".join(violation.entities),
            "part": violation.part or "",
            "value": violation.value,
            "limit": violation.limit,
            "unit": violation.unit,
        }


def _summary_cells(summary: Summary) -> dict[str, object]:
    cells: dict[str, object] = {**summary.group, "n": summary.n, "errors": summary.errors}
    cells |= {f"outcome_{name}": count for name, count in summary.outcomes.items()}
    for name, found in (("sr", summary.success), ("cr", summary.collision), ("vr", summary.violated)):
        cells |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    cells["sr_seed_std"] = summary.success_seed_std
    for name, found in summary.means.items():
        cells |= {
            name: found.value,
            f"{name}_low": found.low,
            f"{name}_high": found.high,
            f"{name}_n": found.n,
        }
    return cells
