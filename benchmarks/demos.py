"""How many demonstrations an hour: planned only, and carried out and checked with nothing drawn.

    python benchmarks/demos.py --workers 2 --draws 2
    python benchmarks/demos.py --profile planned        # where the time goes, in one process

Every process makes its own draws of each training configuration (tasks of the physical suites at levels 0 and 1). The
first pass is cold: it starts the process, loads and compiles kernels, and builds models. The passes after it are warm,
and only they count for the rate. A rate is the demonstrations of all processes over the time of the slowest. Where
other programs run, each process gets less than a core, and the rate at 100 % is the estimate.
"""

import argparse
import cProfile
import json
import multiprocessing
import pstats
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from libero_safety.data.machine import git_revision, now, this_machine

PUBLISHED = 19_664
"""Demonstrations in the data set of LIBERO-Safety."""
TARGETS = {"planned": 5_000, "executed": 1_000}
"""Per hour on two cores."""


@dataclass
class Pass:
    """What one process did in one pass over all configurations."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    made: int = 0
    steps: int = 0
    slowest: list[tuple[float, str]] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)


def run(what: str, suites: list[str], passes: int, first: int, barrier, begun_s: float) -> list[Pass]:
    """Make the draws with the indices `first`, `first + 1`, ... of every configuration, one index a pass."""
    from libero_safety.demo.generate import Demo, Reject, generate, plan
    from libero_safety.sim.env import Env
    from libero_safety.suites import load_suite
    from libero_safety.types import Key

    env = Env(render=False)
    tasks = [task for suite in suites for task in load_suite(suite).tasks]
    found: list[Pass] = []
    for number in range(passes):
        if number == 1 and barrier is not None:  # all are warm before any is measured
            barrier.wait()
        done = Pass()
        began_s, began_cpu_s = (time.perf_counter(), time.process_time()) if number else (begun_s, 0.0)
        for task in tasks:
            for level in (0, 1):
                key = Key(task.suite, task.name, level, 0, first + number)
                one_s = time.perf_counter()
                job = [(task.scenario(level), key)]
                made = next(generate(job, env) if what == "executed" else plan(job, env))
                done.slowest.append((time.perf_counter() - one_s, str(key)))
                if isinstance(made, Reject):
                    done.rejects[made.failure.reason] += 1
                else:
                    done.made += 1
                    done.steps += made.episode.steps if isinstance(made, Demo) else 0
        done.wall_s, done.cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
        done.slowest = sorted(done.slowest, reverse=True)[:5]
        found.append(done)
    return found


def _work(results, *given) -> None:
    results.put(run(*given))


def measure(what: str, suites: list[str], workers: int, draws: int) -> list[list[Pass]]:
    """Return the passes of each process; the first of each is the cold one."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(workers), context.Queue()
    begun_s, passes = time.perf_counter(), 1 + draws
    processes = [
        context.Process(target=_work, args=(results, what, suites, passes, number * passes, barrier, begun_s))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return found


def row(what: str, found: list[list[Pass]]) -> dict[str, object]:
    """Return what one kind of work came to."""
    warm = [one for passes in found for one in passes[1:]]
    cold = [passes[0] for passes in found]
    wall_s = max(sum(one.wall_s for one in passes[1:]) for passes in found)
    cpu_s = sum(one.cpu_s for one in warm)
    made = sum(one.made for one in warm)
    draws = made + sum(one.rejects.total() for one in warm)
    per_hour = 3600.0 * made / wall_s
    return {
        "what": what,
        "workers": len(found),
        "draws": draws,
        "made": made,
        "rejects": dict(sum((one.rejects for one in warm), Counter())),
        "wall_s": wall_s,
        "per_hour": per_hour,
        "per_cpu_hour": 3600.0 * made / cpu_s,
        "cpu_s_each": cpu_s / made,
        "cpu_share": cpu_s / (wall_s * len(found)),
        "hours_for_published": PUBLISHED / per_hour,
        "cold_pass_s": max(one.wall_s for one in cold),
        "cold_each_s": max(one.wall_s for one in cold) / sum(one.made for one in cold) * len(found),
        "slowest": sorted((entry for one in warm for entry in one.slowest), reverse=True)[:5],
    }


def table(rows: list[dict]) -> str:
    """What all came to."""
    titles = ["", "workers", "made / draws", "per hour", "target", f"hours for {PUBLISHED}"]
    titles += ["CPU s each", "CPU share", "per hour at 100 %", "cold pass, s"]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for one in rows:
        lines.append(
            f"| {one['what']} | {one['workers']} | {one['made']} / {one['draws']} | {one['per_hour']:.0f} "
            f"| {TARGETS[one['what']]} | {one['hours_for_published']:.1f} | {one['cpu_s_each']:.2f} "
            f"| {one['cpu_share']:.0%} | {one['per_cpu_hour'] * one['workers']:.0f} | {one['cold_pass_s']:.0f} |"
        )
    for one in rows:
        slow = "; ".join(f"{key} {seconds:.2f} s" for seconds, key in one["slowest"])
        lines += ["", f"{one['what']}: rejects {one['rejects'] or 'none'}; slowest draws: {slow}"]
    return "\n".join(lines)


def profile(what: str, suites: list[str], lines: int) -> None:
    """Say where the time of a warm pass goes: by a function itself, and by all that it calls."""
    run(what, suites, 1, 0, None, time.perf_counter())
    profiler = cProfile.Profile()
    profiler.enable()
    run(what, suites, 1, 1, None, time.perf_counter())
    profiler.disable()
    for order in ("tottime", "cumtime"):
        pstats.Stats(profiler).sort_stats(order).print_stats(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--draws", type=int, default=1, help="warm passes over all configurations, per process"
    )
    parser.add_argument("--only", choices=list(TARGETS), help="one kind of work")
    parser.add_argument("--profile", choices=list(TARGETS), help="profile this instead")
    parser.add_argument("--lines", type=int, default=30, help="of each table of the profile")
    parser.add_argument("--json", type=Path, help="write what was measured")
    parser.add_argument("--suite", action="append", help="only this one; all physical ones by default")
    given = parser.parse_args()
    suites = given.suite or ["aag", "hri", "tsa", "fshoa"]
    if given.profile:
        profile(given.profile, suites, given.lines)
        return
    kinds = [given.only] if given.only else list(TARGETS)
    rows = [row(what, measure(what, suites, given.workers, given.draws)) for what in kinds]
    machine = this_machine()
    print(f"{machine.cpu}, {machine.cores} cores\n\n{table(rows)}")
    if given.json:
        told = {"made": now(), "git": git_revision(), "machine": vars(machine), "rows": rows}
        given.json.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
