"""The failure atlas: a page for each reason for which draws were rejected, with pictures and what to do about it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from libero_safety.data.demos import Demos, RejectRecord
from libero_safety.demo.keypose import KeyposeError, task_keyposes
from libero_safety.demo.rejects import REASONS
from libero_safety.demo.target import GRIPPER, world_target
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.demo_replay import stored_draw, stored_tasks
from libero_safety.sim.env import Env
from libero_safety.sim.vision import gl_backend
from libero_safety.types import FloatArray

CASES = 6
"""Rejects of each reason that are shown, of different tasks first."""
SIZE_PX = 512
CAMERA = "agentview"
_PLAIN, _FAILED = (42, 120, 214), (214, 42, 60)
_DOT_PX = 5


@dataclass(frozen=True)
class _Case:
    key: str
    stage: str
    detail: str
    picture: str


def write_atlas(demos: Demos, out: Path) -> Path:
    """Write the pages and return the first one; without an OpenGL library they have no pictures.

    Raises:
        LiberoSafetyError: the tasks are not there any more.
    """
    pictures = out / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    counts = Counter(record.reason for record in demos.rejects)
    template = _environment().get_template("atlas.html.j2")
    painter = _Painter(demos, pictures) if gl_backend().ok else None
    try:
        for reason in counts:
            records = [record for record in demos.rejects if record.reason == reason]
            (out / f"{reason}.html").write_text(
                template.render(_page(reason, records, painter)), encoding="utf-8"
            )
    finally:
        if painter is not None:
            painter.close()
    index = out / "index.html"
    index.write_text(template.render(_index(demos, counts)), encoding="utf-8")
    return index


def _index(demos: Demos, counts: Counter[str]) -> dict[str, object]:
    drawn = len(demos.done())
    reasons = [
        {"name": name, "count": count, "doc": REASONS[name].doc if name in REASONS else ""}
        for name, count in counts.most_common()
    ]
    summary = f"{len(demos.rejects)} of {drawn} draws gave no demonstration."
    return {
        "title": "Failure atlas",
        "summary": summary,
        "reasons": reasons or [{"name": "index", "count": 0, "doc": ""}],
    }


def _page(reason: str, records: Sequence[RejectRecord], painter: "_Painter | None") -> dict[str, object]:
    known = REASONS.get(reason)  # type: ignore[call-overload]
    rows = Counter((f"{r.key.suite}/{r.key.task}", r.key.level, r.stage) for r in records)
    return {
        "title": reason,
        "doc": known.doc if known else "",
        "advice": known.advice if known else "",
        "rows": [
            {"task": task, "level": level, "stage": stage, "count": count}
            for (task, level, stage), count in rows.most_common()
        ],
        "cases": [
            _Case(str(r.key), r.stage, r.detail, painter.paint(r) if painter is not None else "")
            for r in _different(records)
        ],
    }


def _different(records: Sequence[RejectRecord]) -> list[RejectRecord]:
    """Return a few rejects, of different tasks and keyposes as far as there are."""
    first: dict[tuple[str, str, str], RejectRecord] = {}
    for record in records:
        first.setdefault((record.key.suite, record.key.task, record.stage), record)
    chosen = list(first.values())
    chosen += [record for record in records if record not in chosen]
    return chosen[:CASES]


class _Painter:
    """Draws scenes of rejects, with the keyposes in them."""

    def __init__(self, demos: Demos, folder: Path) -> None:
        self._folder, self._tasks = folder, stored_tasks(demos)
        self._env = Env(image_size=SIZE_PX)
        self._font = ImageFont.load_default(size=12)

    def paint(self, record: RejectRecord) -> str:
        """Return the picture's path relative to the pages; empty when the scene cannot be built."""
        if not record.draw:
            return ""
        try:
            self._env.reset(stored_draw(self._tasks, record.key, dict(record.draw)))
        except LiberoSafetyError:
            return ""
        image = Image.fromarray(self._env.image(CAMERA, (SIZE_PX, SIZE_PX), clean=True))
        draw = ImageDraw.Draw(image)
        for name, pixel in self._keyposes():
            colour = _FAILED if name == record.stage else _PLAIN
            x, y = pixel
            draw.ellipse((x - _DOT_PX, y - _DOT_PX, x + _DOT_PX, y + _DOT_PX), outline=colour, width=2)
            if name == record.stage:
                draw.text((x + _DOT_PX + 3, y - _DOT_PX), name, fill=colour, font=self._font)
        key = record.key
        path = (
            self._folder
            / f"{record.reason}-{key.suite}-{key.task[:40]}-L{key.level}-{key.seed}-{key.index}.png"
        )
        image.save(path)
        return f"{self._folder.name}/{path.name}"

    def close(self) -> None:
        """Free the GL context."""
        self._env.close()

    def _keyposes(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield name and pixel of each keypose whose place is known before anything is carried out."""
        env = self._env
        try:
            keyposes = task_keyposes(Path(env.scenario.place.file))
        except KeyposeError:
            return
        for keypose in keyposes:
            if keypose.frame == GRIPPER:
                continue
            try:
                pos, _ = world_target(keypose, *env.frame_pose(keypose.frame))
            except LiberoSafetyError:
                continue
            pixel = _pixel(env, pos)
            if pixel is not None:
                yield keypose.name, pixel


def _pixel(env: Env, pos: FloatArray) -> tuple[float, float] | None:
    """Return where a world point is in the picture; None behind the camera or outside."""
    model, data = env.scene.model, env.data
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, CAMERA)
    if camera < 0:
        return None
    right, up, back = data.cam_xmat[camera].reshape(3, 3).T @ (pos - data.cam_xpos[camera])
    if back >= 0.0:
        return None
    focal = SIZE_PX / 2.0 / np.tan(np.deg2rad(float(model.cam_fovy[camera])) / 2.0)
    x, y = SIZE_PX / 2.0 - focal * right / back, SIZE_PX / 2.0 + focal * up / back
    return (float(x), float(y)) if 0.0 <= x < SIZE_PX and 0.0 <= y < SIZE_PX else None


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("libero_safety.eval"), autoescape=True, undefined=jinja2.StrictUndefined
    )
