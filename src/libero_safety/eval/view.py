"""A picture of a task's start, or a video of a policy in it."""

from collections.abc import Sequence
from pathlib import Path

import imageio.v3 as iio
from PIL import Image

from libero_safety.assets.catalog import Catalog
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.perturbed import EpisodeDraw, draws
from libero_safety.policy.load import make_policy
from libero_safety.rollout import refuse_invalid_start, run_episode
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.suites import Task
from libero_safety.types import CONTROL_HZ, ImageArray, Key
from libero_safety.ubddl.perturb import Perturbation

FRAME_STEP = 2
"""Control steps per video frame: ten frames a second."""


def save_picture(
    task: Task,
    key: Key,
    out: Path,
    camera: str,
    size: int,
    perturb: Sequence[str] = (),
    catalog: Catalog | None = None,
) -> list[str]:
    """Write the settled scene of a draw as PNG; return what perturbations did, one line each."""
    env = Env(catalog)
    try:
        drawn = _first_possible(env, task, key, perturb)
        Image.fromarray(env.image(camera, (size, size))).save(out)
    finally:
        env.close()
    return _told(drawn)


def save_video(
    task: Task,
    key: Key,
    out: Path,
    camera: str,
    size: int,
    policy: str,
    perturb: Sequence[str] = (),
    catalog: Catalog | None = None,
) -> list[str]:
    """Write an MP4 of one episode; return what perturbations did, and the outcome in words."""
    env = Env(catalog)
    frames: list[ImageArray] = []

    def record(env: Env, monitors: MonitorSet) -> None:
        if env.steps % FRAME_STEP == 0:
            frames.append(env.image(camera, (size, size)))

    try:
        drawn = _first_possible(env, task, key, perturb)
        episode = run_episode(env, make_policy(policy), drawn.draw, on_step=record)
    finally:
        env.close()
    write_mp4(out, frames)
    broken = "; ".join(
        f"{v.rule} at {v.time_s:.2f} s{v.where and f', {v.where}'}" for v in episode.violations
    )
    outcome = f"{episode.outcome} after {episode.steps} steps. {episode.error or broken}".strip()
    return [*_told(drawn), outcome]


def _first_possible(env: Env, task: Task, key: Key, perturb: Sequence[str]) -> EpisodeDraw:
    """Reset `env` to the draw that an evaluation would run, and return it."""
    wanted = tuple(map(Perturbation.parse, perturb))
    failure: LiberoSafetyError | None = None
    for drawn in draws(task.scenario(key.level), key, wanted, env.catalog):
        try:
            env.reset(drawn.draw)
            if wanted:
                refuse_invalid_start(env, MonitorSet(env.scene, env.data))
            return drawn
        except LiberoSafetyError as error:
            failure = error
    assert failure is not None
    raise failure


def _told(drawn: EpisodeDraw) -> list[str]:
    return [*drawn.perturbed.changes, *drawn.perturbed.kept] if drawn.perturbed else []


def write_mp4(out: Path, frames: list[ImageArray]) -> None:
    """Write frames as H.264 at real-time speed."""
    iio.imwrite(out, frames, fps=CONTROL_HZ / FRAME_STEP, codec="libx264", macro_block_size=8)
