"""Speed of the sensor corruptions, and how far the fast blurs are from their definitions.

    python benchmarks/corrupt.py

One 256 x 256 image, one core; each time is the median of the repeats. The definitions are in
`tests/sim/plain_corrupt.py`, in double precision; the difference is the largest of any byte.
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from libero_safety.sim.corrupt import CORRUPTIONS, MOTION_ANGLE_DEG
from libero_safety.types import ImageArray

sys.path.append(str(Path(__file__).parents[1] / "tests" / "sim"))
import plain_corrupt

LEVELS = range(1, 16)
SIZE = 256
AIM_MS = 15.0
AIM_LEVELS = 2.0


def picture() -> ImageArray:
    """Return waves, a ramp and a checkerboard with pixel noise on top."""
    y, x = np.mgrid[:SIZE, :SIZE]
    channels = (
        127 + 100 * np.sin(x / 9) * np.cos(y / 13),
        255.0 * x / SIZE,
        255.0 * ((x // 16 + y // 16) % 2),
    )
    noise = np.random.default_rng(0).normal(0, 8, (SIZE, SIZE, 3))
    return np.clip(np.stack(channels, axis=-1) + noise, 0, 255).astype(np.uint8)


def time_ms(kind: str, image: ImageArray, level: int, repeats: int) -> float:
    """Return the median time of one call."""
    rng = np.random.default_rng(level)
    CORRUPTIONS[kind](image, level, rng)  # compiles, and fills the caches
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        CORRUPTIONS[kind](image, level, rng)
        times.append(time.perf_counter() - started)
    return 1000.0 * median(times)


def difference(kind: str, image: ImageArray, level: int) -> float | None:
    """Return how many grey levels the fast blur is off, at most; None where the definition is random."""
    angle = np.random.default_rng(level).uniform(-MOTION_ANGLE_DEG, MOTION_ANGLE_DEG)
    if kind == "gaussian_blur":
        expected = plain_corrupt.gaussian(image, level)
    elif kind == "motion_blur":
        expected = plain_corrupt.motion(image, level, angle)
    elif kind == "zoom_blur":
        expected = plain_corrupt.zoom(image, level)
    else:
        return None
    found = CORRUPTIONS[kind](image, level, np.random.default_rng(level))
    return float(np.abs(found - expected).max())


def main() -> int:
    """Print the table; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    image = picture()
    print("| ms, by level | " + " | ".join(map(str, LEVELS)) + " | furthest from the definition |")
    print("|---" * (len(LEVELS) + 2) + "|")
    missed = False
    for kind in CORRUPTIONS:
        times = [time_ms(kind, image, level, repeats) for level in LEVELS]
        off = [d for level in LEVELS if (d := difference(kind, image, level)) is not None]
        far = f"{max(off):.2f} grey levels" if off else "random: the law is the definition's"
        print(f"| {kind} | " + " | ".join(f"{t:.1f}" for t in times) + f" | {far} |")
        missed = missed or max(times) > AIM_MS or max(off, default=0.0) > AIM_LEVELS
    print(f"goal: at most {AIM_MS:g} ms, within {AIM_LEVELS:g} grey levels: {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
