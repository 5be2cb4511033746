"""How many validated scenes per second, and with how much memory: benchmarks/scenes.py [--count N] [--workers W].

A scene is drawn, built, settled for half a second, checked (rests, begins unsolved, breaks no rule) and hashed;
no pictures.
"""

import argparse
import os
import resource
import tempfile
from pathlib import Path

from libero_safety.eval.scenes import make_scenes
from libero_safety.suites import suites


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for workers in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            made = make_scenes(Path(folder) / "scenes", options.count, suites=suites(), workers=workers)
        who = resource.RUSAGE_SELF if workers == 1 else resource.RUSAGE_CHILDREN
        peak_mib = resource.getrusage(who).ru_maxrss / 1024
        print(
            f"{workers} processes: {made.per_second:.1f} scenes/s, {made.rejected} draws rejected, "
            f"{peak_mib:.0f} MiB resident per process"
        )


if __name__ == "__main__":
    main()
