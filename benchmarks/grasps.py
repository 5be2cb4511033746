"""How long a grasp takes to find, and how good those of the library are.

    python benchmarks/grasps.py

Times are of one core, in processor time: finding what is kept, with all palm poses that failed and everything measured.
"""

import argparse
import sys
import time
from dataclasses import fields

import numpy as np

from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.grasp_search import GraspSearch
from libero_safety.assets.grasp_synthesis import draw_hand
from libero_safety.assets.grasps import GraspQuality, library
from libero_safety.rng import rng_for
from libero_safety.types import Key

THINGS = ("can_of_soda", "bottle_of_water", "banana", "mug", "hairbrush", "knife", "box_of_tea", "toy_car")
AIM_S = 1.0
AIMS = {"max_penetration_mm": 5.0, "displacement_mm": 5.0}
AIMS_LEAST = {"fingers": 5, "epsilon": 0.05}


def search_s(thing: str, attempts: int) -> tuple[float, int, dict[str, int]]:
    """Return processor time, grasps found and reasons for failing, of so many palm poses."""
    rng = rng_for(Key("", thing, 0, 0, 0), "benchmark")
    started = time.process_time()
    _, shape, model = draw_hand(rng)
    search = GraspSearch(default_catalog().asset(thing), model, shape, rng)
    found = sum(search.attempt() is not None for _ in range(attempts))
    return time.process_time() - started, found, dict(search.rejected)


def speed(attempts: int) -> bool:
    """Print the time per grasp; return whether the goal is met."""
    search_s(THINGS[0], 3)  # loads the hand
    spent, held = 0.0, 0
    print("| thing | palm poses | grasps | s per grasp | most failed because |\n|---|---|---|---|---|")
    for thing in THINGS:
        seconds, found, rejected = search_s(thing, attempts)
        spent, held = spent + seconds, held + found
        why = max(rejected, key=lambda r: rejected[r]) if rejected else ""
        print(f"| {thing} | {attempts} | {found} | {seconds / max(found, 1):.2f} | {why} |")
    print(f"\n{spent / max(held, 1):.2f} s per grasp; goal: at most {AIM_S:g} s\n")
    return spent <= AIM_S * held


def quality() -> bool:
    """Print quartiles over the power grasps of the library; return whether the medians meet the goals."""
    stored = [g for g in library() if g.style == "power"]
    print(f"{len(stored)} power grasps, {len(library()) - len(stored)} carried things\n")
    print("| measure | least | quartile | median | quartile | most |\n|---|---|---|---|---|---|")
    met = True
    for name in (f.name for f in fields(GraspQuality)):
        row = np.percentile([getattr(g.quality, name) for g in stored], (0, 25, 50, 75, 100))
        print(f"| {name} | " + " | ".join(f"{v:.3g}" for v in row) + " |")
        met &= row[2] <= AIMS.get(name, np.inf) and row[2] >= AIMS_LEAST.get(name, -np.inf)
    return met


def main() -> int:
    """Print both tables; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attempts", type=int, default=60, help="palm poses tried for each thing")
    met = [speed(parser.parse_args().attempts), quality()]
    print(f"\ngoals: {'met' if all(met) else 'missed'}")
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
