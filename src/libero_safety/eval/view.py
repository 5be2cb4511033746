"""A picture of a task's start, or a video of a policy in it."""

from pathlib import Path

import imageio.v3 as iio
from PIL import Image

from libero_safety.assets.catalog import default_catalog
from libero_safety.policy.load import make_policy
from libero_safety.rollout import run_episode
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.suites import Task
from libero_safety.types import CONTROL_HZ, ImageArray, Key
from libero_safety.ubddl.sample import sample

FRAME_STEP = 2
"""Control steps per video frame: ten frames a second."""


def save_picture(task: Task, key: Key, out: Path, camera: str, size: int) -> None:
    """Write the settled scene of a draw as PNG."""
    env = Env()
    try:
        env.reset(sample(task.scenario(key.level), key, default_catalog()))
        Image.fromarray(env.image(camera, (size, size))).save(out)
    finally:
        env.close()


def save_video(task: Task, key: Key, out: Path, camera: str, size: int, policy: str) -> str:
    """Write an MP4 of one episode; return its outcome in words."""
    env = Env()
    frames: list[ImageArray] = []

    def record(env: Env, monitors: MonitorSet) -> None:
        if env.steps % FRAME_STEP == 0:
            frames.append(env.image(camera, (size, size)))

    try:
        draw = sample(task.scenario(key.level), key, default_catalog())
        episode = run_episode(env, make_policy(policy), draw, on_step=record)
    finally:
        env.close()
    write_mp4(out, frames)
    broken = "; ".join(f"{v.rule} at {v.time_s:.2f} s" for v in episode.violations)
    return f"{episode.outcome} after {episode.steps} steps. {episode.error or broken}".strip()


def write_mp4(out: Path, frames: list[ImageArray]) -> None:
    """Write frames as H.264 at real-time speed."""
    iio.imwrite(out, frames, fps=CONTROL_HZ / FRAME_STEP, codec="libx264", macro_block_size=8)
