"""A contact sheet of scenes: what tasks look like at their levels."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.scenes import plan_scenes
from libero_safety.eval.sheet import contact_sheet, refuse_unwritable
from libero_safety.sim.env import Env
from libero_safety.suites import Task, load_suite
from libero_safety.types import ImageArray, Key
from libero_safety.ubddl.sample import sample
from libero_safety.ubddl.words import CAMERAS

COLUMNS = 8
"""Pictures in a row: two tasks with both cameras at level 0 and one at levels 1 and 2."""
MISSING_GREY = 200


def save_scene_sheet(
    out: Path,
    *,
    suites: Sequence[str],
    levels: Sequence[int] = (),
    seed: int = 0,
    count: int | None = None,
    cameras: Sequence[str] = (),
    size: int = 256,
) -> list[str]:
    """Write one picture with pictures of settled scenes; return what could not be drawn, one line each.

    A scene that cannot be placed or built leaves a grey field, so that the others keep their places.

    Args:
        out: the file; its ending says in which format.
        suites: built-in suite names, folders or scenario files.
        levels: levels to show; empty: all that there are.
        seed: seed of the draws.
        count: how many scenes, in the order in which `make_scenes` tries them; None: every task at every level once.
        cameras: for every scene; empty: both at level 0, `agentview` at the others.
        size: pixels of each picture.

    Raises:
        NoGLError: nothing here can draw.
        ScenesError: no task has any of the levels.
        SheetError: `out` cannot be written.
    """
    refuse_unwritable(out)
    tasks = {(task.suite, task.name): task for name in suites for task in load_suite(name).tasks}
    once = sum(not levels or level in levels for task in tasks.values() for level in task.levels)
    keys = islice(plan_scenes(suites, levels, seed), once if count is None else count)
    failures: list[str] = []
    env = Env()
    try:
        cells = [
            cell
            for key in keys
            for cell in _cells(env, tasks[key.suite, key.task], key, cameras, size, failures)
        ]
    finally:
        env.close()
    Image.fromarray(contact_sheet(cells, COLUMNS)).save(out)
    return failures


def _cells(
    env: Env, task: Task, key: Key, cameras: Sequence[str], size: int, failures: list[str]
) -> Iterator[tuple[ImageArray, str]]:
    """Yield a picture with its label per camera."""
    label = f"L{key.level} {key.suite}/{key.task}"
    shown = cameras or (CAMERAS if key.level == 0 else CAMERAS[:1])
    try:
        env.reset(sample(task.scenario(key.level), key, env.catalog))
    except LiberoSafetyError as error:
        failures.append(f"{key}: {error}")
        blank = np.full((size, size, 3), MISSING_GREY, np.uint8)
        yield from [(blank, label)] * len(shown)
        return
    for camera in shown:
        yield env.image(camera, (size, size)), label
