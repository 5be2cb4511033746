"""Demonstrations to look at: a video of each, and a row of pictures on the sheet of its task."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from PIL import Image

from libero_safety.data.demos import DemoRecord, Demos
from libero_safety.data.files import naming
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.demo_check import compared
from libero_safety.eval.demo_replay import reenact, stored_tasks
from libero_safety.eval.pool import in_order
from libero_safety.eval.progress import Progress, Silent, Tally
from libero_safety.eval.sheet import contact_sheet
from libero_safety.eval.view import FRAME_STEP, write_mp4
from libero_safety.eval.yields import Config, config_of
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.sim.vision import NoGLError, gl_backend
from libero_safety.types import CONTROL_HZ, ImageArray, Key

FRAMES = 8
"""Pictures in a row of a sheet, evenly over the demonstration."""
SHEET_PX = 240


@dataclass(frozen=True)
class Film:
    """One demonstration as it was filmed.

    Attributes:
        video: the file.
        cells: pictures for the sheet, each with its label.
        problem: how it differs from what was stored; empty when it does not.
    """

    key: Key
    video: Path
    cells: tuple[tuple[ImageArray, str], ...]
    problem: str = ""


def film(
    demos: Demos,
    out: Path,
    *,
    per_task: int = 1,
    size: int = 512,
    camera: str = "agentview",
    workers: int = 1,
    progress: Progress | None = None,
) -> Iterator[Film]:
    """Replay the first demonstrations of each task and level from their actions, and write what is seen.

    A folder gets `<suite>-<task>-L<level>-<index>.mp4` and, for each task, `<suite>-<task>.png` with a row of pictures
    for each video.

    Args:
        demos: a folder as read.
        out: folder, made if it is not there.
        per_task: videos of each task at each level.
        size: pixels of the square videos.
        camera: which one.
        workers: processes.
        progress: is told after every video.

    Raises:
        NoGLError: nothing here can draw.
        LiberoSafetyError: tasks or files are not there any more, or nothing can be written.
    """
    backend = gl_backend()
    if not backend.ok:
        raise NoGLError(backend.why)
    stored_tasks(demos)
    with naming(out):
        out.mkdir(parents=True, exist_ok=True)
    records = first_of_each(demos, per_task)
    show, done = progress or Silent(), 0
    work = partial(_film, replace(demos, demos=(), rejects=()), out, size, camera)
    rows: list[Film] = []
    try:
        show.update(Tally(len(records), {}, unit="videos"))
        for found in in_order(work, iter(records), workers):
            done += 1
            show.update(Tally(len(records), {"written": done}, unit="videos"))
            rows = [*rows, found] if rows and _sheet(rows[0]) == _sheet(found) else [found]
            _write_sheet(out, rows)
            yield found
    finally:
        show.close()


def first_of_each(demos: Demos, count: int) -> list[DemoRecord]:
    """Return the first `count` demonstrations of each task at each level, sorted by task."""
    by_config: dict[Config, list[DemoRecord]] = {}
    for record in sorted(demos.demos, key=lambda record: record.key):
        by_config.setdefault(config_of(record.key), []).append(record)
    return [record for records in by_config.values() for record in records[:count]]


def _sheet(found: Film) -> str:
    return f"{found.key.suite}-{found.key.task}"


def _write_sheet(out: Path, rows: list[Film]) -> None:
    path = out / f"{_sheet(rows[0])}.png"
    with naming(path):
        Image.fromarray(contact_sheet([cell for row in rows for cell in row.cells], FRAMES)).save(path)


@cache
def _env() -> Env:
    """One environment per process."""
    return Env()


def _film(demos: Demos, out: Path, size: int, camera: str, record: DemoRecord) -> Film:
    key = record.key
    frames: list[ImageArray] = []

    def shoot(env: Env, monitors: MonitorSet) -> None:
        if env.steps % FRAME_STEP == 0 or env.steps == record.steps:
            frames.append(env.image(camera, (size, size), clean=True))

    episode, stored = reenact(demos, record, _env(), shoot)
    if not frames:
        raise LiberoSafetyError(f"{key}: it could not be replayed: {episode.error}")
    video = out / f"{key.suite}-{key.task}-L{key.level}-{key.index}.mp4"
    with naming(video):
        write_mp4(video, frames)
    at = np.linspace(0, len(frames) - 1, FRAMES).round().astype(int).tolist()
    step_s = FRAME_STEP / CONTROL_HZ
    cells = tuple((_small(frames[i]), f"L{key.level} no. {key.index}, {i * step_s:.1f} s") for i in at)
    return Film(key, video, cells, compared(episode, stored)[1])


def _small(image: ImageArray) -> ImageArray:
    return np.asarray(Image.fromarray(image).resize((SHEET_PX, SHEET_PX), Image.Resampling.LANCZOS))
