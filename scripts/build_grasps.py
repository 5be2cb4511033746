"""Make the library of hand-object pairs again, `src/libero_safety/assets/data/grasps.npz`.

    python scripts/build_grasps.py [--workers 2] [--only bottle_of_beer ...] [--out grasps.npz]

The same command with the same version of MuJoCo gives the same pairs, whatever the number of workers. It takes about
a quarter of an hour of one core. What was made so far is written every fifty things, before pairs are chosen, to OUT
with `.raw` before its suffix.
"""

import argparse
import sys
import time
from pathlib import Path

from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.grasp_library import Made, make_all, orders, selected
from libero_safety.assets.grasps import Grasp, write_grasps
from libero_safety.assets.splits import Numbered

OUT = Path(__file__).parents[1] / "src/libero_safety/assets/data/grasps.npz"
EVERY = 50


def main() -> None:
    """Make, choose, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="base types to make, all by default")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    things = [o for o in orders(default_catalog()) if not options.only or _base(o.thing) in options.only]
    started = time.perf_counter()
    done: list[Made] = []
    grasps: list[Grasp] = []

    def told(made: Made) -> None:
        done.append(made)
        grasps.extend(made.grasps)
        sys.stdout.write(f"{len(done)}/{len(things)} {made.thing}: {len(made.grasps)} {made.problem}\n")
        sys.stdout.flush()
        if len(done) % EVERY == 0 and grasps:
            write_grasps(options.out.with_suffix(".raw.npz"), grasps)

    make_all(things, options.workers, told=told)
    kept = selected(grasps)
    write_grasps(options.out, kept)
    options.out.with_suffix(".raw.npz").unlink(missing_ok=True)
    bases = {_base(g.thing) for g in kept}
    train = sum(g.split == "train" for g in kept)
    sys.stdout.write(
        f"{len(kept)} pairs ({train} train, {len(kept) - train} test) of {len(bases)} types, "
        f"{len(grasps)} grasps made in {time.perf_counter() - started:.0f} s\n"
    )


def _base(thing: str) -> str:
    numbered = Numbered.parse(thing)
    return thing if numbered is None else numbered.base


if __name__ == "__main__":
    main()
