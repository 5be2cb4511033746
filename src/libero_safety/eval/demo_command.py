"""What the verbs of `demo` do, in plain steps; text goes to `say`."""

from pathlib import Path

from libero_safety.data.demos import read_demos
from libero_safety.eval.atlas import write_atlas
from libero_safety.eval.command import Say
from libero_safety.eval.demo_check import verify
from libero_safety.eval.demos import DemosPlan, make_demos, yield_lines
from libero_safety.eval.progress import console_progress
from libero_safety.sim.env import Env

EXIT_OK, EXIT_WRONG = 0, 1


def run_generate(out: Path, plan: DemosPlan, workers: int, say: Say) -> int:
    """Make demonstrations and say what came of it; exit code 1 when a task has fewer than are wanted."""
    demos = make_demos(out, plan, workers=workers, progress=console_progress())
    for line in yield_lines(demos):
        say(line)
    wanted = plan.count * len(plan.configs())
    say(f"demonstrations: {out}")
    if len(demos.demos) >= wanted:
        return EXIT_OK
    say(f"{wanted - len(demos.demos)} of {wanted} are missing: `libero-safety demo atlas {out}` shows why")
    return EXIT_WRONG


def run_yield(folder: Path, say: Say) -> int:
    """Say what came of the draws of a folder."""
    demos = read_demos(folder)
    for line in yield_lines(demos):
        say(line)
    if demos.note:
        say(demos.note)
    return EXIT_OK


def run_verify(folder: Path, brute_force: bool, say: Say) -> int:
    """Replay the demonstrations of a folder; exit code 1 when one is not what it was."""
    demos = read_demos(folder)
    wrong = count = 0
    for found in verify(demos, Env(render=False), brute_force=brute_force):
        count += 1
        wrong += not found.ok
        if found.problem:
            say(f"WRONG  {found.key}: {found.problem}")
        for overlap in found.overlaps:
            where = f"{overlap.first} is {overlap.depth_m * 1000:.2f} mm inside {overlap.second}"
            say(f"WRONG  {found.key}: {overlap.rule}: {where} at {overlap.time_s:.3f} s")
    how = "replayed and looked at step by step" if brute_force else "replayed"
    say(f"{count} demonstrations {how}, {wrong} wrong")
    return EXIT_WRONG if wrong or not count else EXIT_OK


def run_atlas(folder: Path, out: Path | None, say: Say) -> int:
    """Write the failure atlas of a folder."""
    say(str(write_atlas(read_demos(folder), out or folder / "atlas")))
    return EXIT_OK
