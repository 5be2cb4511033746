"""What a report says, before it is laid out: notes, tables, stories of single episodes."""

import base64
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import imageio_ffmpeg
import numpy as np
from markupsafe import Markup
from PIL import Image

from libero_safety.data.record import Record
from libero_safety.data.runlog import Run
from libero_safety.data.strict_json import JsonValue, RunLogError
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.metrics import EpisodeMetrics, Measure, measure, summarise
from libero_safety.eval.report_plots import Mark, timeline
from libero_safety.types import CONTROL_HZ, Episode, ImageArray, Key, Trace, Violation

PICTURE_SIZE = (320, 240)
CLEARANCE_CAP_CM = 20.0
"""Clearance plots show near misses; further away is drawn at this height."""
SMALL_SAMPLE = 50
"""With fewer episodes an interval is wider than 26 points around one half."""
NO_PICTURES = (
    "There are no pictures because no off-screen OpenGL library was found. "
    "Install libegl1, libgl1 and libgl1-mesa-dri (or libosmesa6) and write the report again."
)
MAX_DRAW_CHARACTERS = 20_000


class FrameSource(Protocol):
    """Draws moments of an episode again, from its trace."""

    def frames(
        self, episode: Episode, steps: Sequence[int], size: tuple[int, int]
    ) -> list[ImageArray] | None:
        """Return one (height, width, 3) picture per row of the trace in `steps`; `size` is (width, height).

        None if this episode cannot be drawn.
        """
        ...


@dataclass(frozen=True)
class Note:
    """A sentence that a reader must not miss (`warning`) or should know."""

    text: str
    warning: bool = True
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A picture as a data URI."""

    uri: str
    caption: str


@dataclass(frozen=True)
class Story:
    """One episode, told in pictures and timelines."""

    record: Record
    episode: Episode
    metrics: EpisodeMetrics
    pictures: tuple[Picture, ...] = ()
    video: str | None = None
    plots: tuple[Markup, ...] = ()
    draw: str = ""
    note: str = ""


def load(run: Run, record: Record) -> tuple[Episode, str]:
    """Return the episode with its trace; without it and with the reason if the trace cannot be trusted."""
    try:
        return run.episode(record), ""
    except RunLogError as error:
        return record.episode, str(error)


def measured(run: Run) -> tuple[list[EpisodeMetrics], list[str]]:
    """Return the metrics of every episode and what could not be read; one trace is in memory at a time."""
    rows: list[EpisodeMetrics] = []
    problems: list[str] = []
    for record in run.records:
        episode, problem = load(run, record)
        row = measure(episode, run.header.config.policy)
        if problem:
            problems.append(problem)
            unread = dict.fromkeys(row.measures, Measure(math.nan, "the trace could not be read"))
            row = replace(row, measures=unread)
        rows.append(row)
    return rows, problems


def chosen(run: Run, keys: Sequence[Key] | None, at_most: int = 12) -> list[Record]:
    """Return the episodes to tell: those of `keys`, or the first of every outcome of every suite."""
    if keys is not None:
        return [run.record(key) for key in keys]
    first: dict[tuple[str, str], Record] = {}
    for record in run.records:
        first.setdefault((record.episode.outcome, record.key.suite), record)
    order = ("violation", "success", "timeout", "error")
    firsts = sorted(first.values(), key=lambda r: (order.index(r.episode.outcome), r.key))[:at_most]
    return sorted(firsts, key=lambda record: record.key)


def tell(
    run: Run, record: Record, row: EpisodeMetrics, source: FrameSource | None, video: bool = False
) -> Story:
    """Return the story of one episode; what cannot be drawn is said in its note."""
    episode, note = load(run, record)
    draw = json.dumps(record.draw, ensure_ascii=False, indent=1)
    if len(draw) > MAX_DRAW_CHARACTERS:
        draw = f"{draw[:MAX_DRAW_CHARACTERS]}\n... cut; the rest is in line {record.line} of episodes.jsonl"
    story = Story(record, episode, row, draw=draw, note=note)
    if episode.trace is None:
        return story
    story = replace(story, plots=_plots(episode, episode.trace))
    if source is None:
        return story
    try:
        return _with_pictures(story, episode.trace, source, video)
    except LiberoSafetyError as error:
        return replace(story, note=f"No pictures: {error}")


def _with_pictures(story: Story, trace: Trace, source: FrameSource, video: bool) -> Story:
    steps = key_rows(story.episode, trace)
    images = source.frames(story.episode, steps, PICTURE_SIZE)
    if images is None:
        return replace(story, note="No pictures: this episode could not be drawn again.")
    last = "the first violation" if story.episode.violations else "the end"
    names = ["start", *[""] * (len(steps) - 2), last] if len(steps) > 1 else ["start"]
    captions = [
        f"{row * trace.dt_s:.2f} s" + (f", {name}" if name else "")
        for row, name in zip(steps, names, strict=True)
    ]
    pictures = tuple(
        Picture(_jpeg_uri(image), caption) for image, caption in zip(images, captions, strict=True)
    )
    story = replace(story, pictures=pictures)
    if not video:
        return story
    every = 2
    moving = source.frames(story.episode, range(0, len(trace.qpos), every), PICTURE_SIZE)
    return replace(story, video=_mp4_uri(moving, 1.0 / (trace.dt_s * every))) if moving else story


def key_rows(episode: Episode, trace: Trace) -> list[int]:
    """Return the rows of the trace to draw: the start, two between, and the first violation or the end."""
    end = len(trace.qpos) - 1
    times = [violation.time_s for violation in episode.violations if math.isfinite(violation.time_s)]
    if times:
        end = min(end, max(0, math.ceil(min(times) / trace.dt_s - 1e-9)))
    return sorted({0, end // 3, 2 * end // 3, end})


def _plots(episode: Episode, trace: Trace) -> tuple[Markup, ...]:
    marks = [Mark(violation.time_s, str(i)) for i, violation in enumerate(episode.violations[:9], start=1)]
    time_s = np.arange(len(trace.clearance_m), dtype=np.float64) * np.float64(trace.dt_s)
    plots = (
        timeline(
            time_s,
            trace.clearance_m * 100.0,
            "Clearance to guarded entities (cm)",
            marks=marks,
            levels=(1.0, 2.0, 5.0),
            limits=[100.0 * limit for limit in _limits(episode.violations, "m", "MinClearance")],
            cap=CLEARANCE_CAP_CM,
        ),
        timeline(
            time_s[1:],
            trace.force_n,
            "Largest normal force on guarded entities (N)",
            marks=marks,
            limits=_limits(episode.violations, "N", "MaxForce"),
        )
        if len(trace.force_n)
        else None,
    )
    return tuple(plot for plot in plots if plot is not None)


def _limits(violations: Sequence[Violation], unit: str, kind: str) -> list[float]:
    return sorted({v.limit for v in violations if v.unit == unit and v.kind == kind})


def _jpeg_uri(image: ImageArray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _mp4_uri(images: Sequence[ImageArray], fps: float) -> str:
    height, width = images[0].shape[:2]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "episode.mp4"
        writer = imageio_ffmpeg.write_frames(
            path, (width, height), fps=round(fps), quality=6, macro_block_size=2
        )
        writer.send(None)
        for image in images:
            writer.send(np.ascontiguousarray(image).tobytes())
        writer.close()
        return "data:video/mp4;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def notes(run: Run, rows: Sequence[EpisodeMetrics], problems: Sequence[str]) -> list[Note]:
    """Return what a reader has to know before trusting the numbers, the most serious first."""
    header = run.header
    found: list[Note] = []
    if header.mixed:
        found.append(
            Note("Mixed run: its episodes were not all made under the same conditions.", True, header.mixed)
        )
    if header.status != "success":
        found.append(Note(_STATUS_NOTES[header.status]))
    errors = sum(not row.ran for row in rows)
    if errors:
        text = (
            f"{errors} of {len(rows)} episodes ended in an error. They are in no rate and no mean; resuming "
        )
        found.append(Note(text + "the run repeats them."))
    if header.privileged:
        text = "This policy was given privileged simulator state. Its numbers are a reference for the tasks, "
        found.append(Note(text + "not a result of a policy that sees only images."))
    if header.selftest is None:
        found.append(
            Note("The physics self-test was not run with this installation: the ruler is unchecked.")
        )
    elif header.selftest.get("ok") is not True:
        failed = tuple(name for name, ok in _checks(header.selftest) if not ok)
        text = "The physics self-test failed on this installation: do not trust these numbers."
        found.append(Note(text, True, failed))
    if problems:
        found.append(
            Note(
                "Some traces could not be read; what is measured from them is missing.", True, tuple(problems)
            )
        )
    if run.note:
        found.append(Note(run.note))
    small = [s for s in summarise(rows, ("suite", "level")) if 0 < s.n < SMALL_SAMPLE]
    if small:
        text = f"Rows per suite and level with fewer than {SMALL_SAMPLE} episodes: {len(small)}. Read the "
        found.append(Note(text + "intervals, not the digits.", warning=False))
    return found


_STATUS_NOTES = {
    "started": "This run has not finished, or was killed: the numbers are of the episodes that are there.",
    "cancelled": "This run was cancelled: the numbers are of the episodes that are there.",
    "error": "This run ended in an error: the numbers are of the episodes that are there.",
}


def instructions(run: Run) -> dict[tuple[str, str, int], str]:
    """Return per (suite, task, level) what the policy was told, where it differs from the task's name.

    Of several instructions the first is shown, with the number of the others.
    """
    told: dict[tuple[str, str, int], dict[str, None]] = {}
    for episode in run.episodes:
        key = episode.key
        if _words(episode.instruction) != _words(key.task):
            told.setdefault((key.suite, key.task, key.level), {})[episode.instruction] = None
    return {
        place: next(iter(texts)) + (f" (and {len(texts) - 1} more)" if len(texts) > 1 else "")
        for place, texts in told.items()
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace("_", " ").casefold())


@dataclass(frozen=True)
class ErrorClass:
    """Episodes that ended in the same class of error."""

    name: str
    records: tuple[Record, ...]


def error_classes(run: Run) -> list[ErrorClass]:
    """Return the errors that stand, the most frequent class first."""
    classes: dict[str, list[Record]] = {}
    for record in run.records:
        if record.episode.outcome == "error":
            classes.setdefault(record.episode.error_class or "unknown", []).append(record)
    ordered = sorted(classes.items(), key=lambda item: (-len(item[1]), item[0]))
    return [ErrorClass(name, tuple(records)) for name, records in ordered]


def _checks(stamp: Mapping[str, JsonValue]) -> list[tuple[str, bool]]:
    checks = stamp.get("checks")
    items = [item for item in checks if isinstance(item, dict)] if isinstance(checks, list) else []
    return [(str(item.get("name")), item.get("ok") is True) for item in items]


def _selftest_fact(stamp: Mapping[str, JsonValue] | None) -> str:
    if stamp is None:
        return "not run"
    results = [ok for _, ok in _checks(stamp)]
    return f"{sum(results)} of {len(results)} checks passed" if results else f"ok: {stamp.get('ok')}"


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what was run as (name, text)."""
    header, config = run.header, run.header.config
    options = json.dumps(dict(config.policy_options), ensure_ascii=False) if config.policy_options else ""
    pairs = [
        ("Policy", f"{config.policy} {options}".strip()),
        ("Suites", ", ".join(config.suites)),
        ("Levels", ", ".join(f"L{level}" for level in config.levels)),
        ("Episodes", f"{config.episodes} per task, level and seed"),
        ("Seeds", ", ".join(map(str, config.seeds))),
        ("Goals", {"own": "the tasks' own", "reference": "the reference's"}[config.goal]),
        ("Perturbed", ", ".join(config.perturb) or "no"),
        ("Horizon", f"{config.horizon} control steps ({config.horizon / CONTROL_HZ:g} s at {CONTROL_HZ} Hz)"),
        ("On violation", config.on_violation),
        ("Images", f"{config.image_size} x {config.image_size} pixels, {config.quality}"),
        ("Command", config.command),
        ("Started", header.created),
        ("Ended", f"{header.finished or ''} {header.status}".strip()),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(header.versions.items()))),
        ("Revision", header.git or ""),
        ("Self-test", _selftest_fact(header.selftest)),
        ("Machine", f"{header.machine.platform}, {header.machine.cpu}, {header.machine.cores} cores"),
        ("Rendering", header.machine.gl),
        ("Workers", str(config.workers)),
    ]
    return [(name, text) for name, text in pairs if text]
