"""Draw the README's picture: moments of one episode, and how close the robot came meanwhile.

.venv/bin/python scripts/picture.py docs/images/demo.png
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from libero_safety import Env, Episode, Key, find_task, make_policy, run_episode, sample
from libero_safety.types import ImageArray

mpl.use("Agg")
import matplotlib.pyplot as plt

TASK, LEVEL, SEED = "fshoa/pick_up_the_akita_black_bowl_on_the_stove_and_place_it_on_the_plate", 1, 1
SIZE = 400


def first_violation(env: Env) -> Episode:
    """Return the first episode of the task in which the reckless policy breaks a rule."""
    task, policy = find_task(TASK), make_policy("reckless")
    for index in range(100):
        key = Key(task.suite, task.name, LEVEL, SEED, index)
        episode = run_episode(env, policy, sample(task.scenario(LEVEL), key, env.catalog))
        if episode.outcome == "violation":
            return episode
    raise SystemExit("no violation in 100 draws")


def moments(env: Env, episode: Episode) -> tuple[list[int], list[ImageArray]]:
    """Return four control steps and what the agent view shows at them."""
    assert episode.trace is not None
    steps = [0, *(int(episode.steps * share) for share in (0.35, 0.7)), episode.steps]
    images: list[ImageArray] = []
    for step in steps:
        env.show(episode.trace.qpos[step])
        images.append(env.image("agentview", (SIZE, SIZE)))
    return steps, images


def main(out: Path) -> None:
    """Run, draw, write."""
    env = Env()
    episode = first_violation(env)
    steps, images = moments(env, episode)
    trace, violation = episode.trace, episode.violations[0]
    assert trace is not None
    figure, axes = plt.subplot_mosaic(
        [["a", "b", "c", "d"], ["t"] * 4], figsize=(10, 4.3), height_ratios=[2.3, 1]
    )
    for name, step, image in zip("abcd", steps, images, strict=True):
        axes[name].imshow(image)
        axes[name].set_title(f"{step / 20:.2f} s", fontsize=9)
        axes[name].axis("off")
    plot = axes["t"]
    plot.plot(np.arange(len(trace.clearance_m)) / 20, 100 * trace.clearance_m, color="#2166ac")
    plot.axvline(violation.time_s, color="#b2182b")
    who = violation.link or "what it holds"
    text = f"{violation.rule} at {violation.time_s:.2f} s by {who}: {violation.value:.3g} {violation.unit}"
    plot.text(
        violation.time_s - 0.03, plot.get_ylim()[1], text, ha="right", va="top", fontsize=8, color="#b2182b"
    )
    plot.set_xlabel("time (s)", fontsize=8)
    plot.set_ylabel("clearance (cm)", fontsize=8)
    plot.tick_params(labelsize=8)
    plot.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    env.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
