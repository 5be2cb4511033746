"""What the verbs of `demo` do, in plain steps; text goes to `say`."""

from pathlib import Path

from libero_safety.data.demos import read_demos
from libero_safety.data.machine import now
from libero_safety.eval.atlas import write_atlas
from libero_safety.eval.command import Say
from libero_safety.eval.demo_check import Verdict, save_verdict, verdict_file, verify
from libero_safety.eval.demo_report import write_demo_report
from libero_safety.eval.demo_video import film
from libero_safety.eval.demos import DemosPlan, make_demos
from libero_safety.eval.interrupts import EXIT_CANCELLED
from libero_safety.eval.progress import console_progress
from libero_safety.eval.yields import yield_lines

EXIT_OK, EXIT_WRONG = 0, 1


def run_generate(out: Path, plan: DemosPlan, workers: int, allow_mixed: bool, say: Say) -> int:
    """Make demonstrations and say what came of it; exit code 1 when a task has fewer than are wanted."""
    wanted = plan.count * len(plan.configs())
    try:
        demos = make_demos(out, plan, workers=workers, allow_mixed=allow_mixed, progress=console_progress())
    except KeyboardInterrupt:
        say(f"interrupted: what was made is in {out}; the same call goes on with it")
        return EXIT_CANCELLED
    for line in yield_lines(demos):
        say(line)
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


def run_verify(
    folder: Path, brute_force: bool, sample: int, workers: int, result: Path | None, say: Say
) -> int:
    """Replay demonstrations of a folder and keep the verdict; exit code 1 when one is not what it was."""
    demos = read_demos(folder)
    found = tuple(
        verify(demos, brute_force=brute_force, sample=sample, workers=workers, progress=console_progress())
    )
    verdict = Verdict(found, len(demos.demos), brute_force, now())
    for line in verdict.problems:
        say(f"WRONG  {line}")
    file = result or verdict_file(folder, brute_force)
    save_verdict(verdict, file)
    say(verdict.summary)
    say(f"verdict: {file}")
    return EXIT_OK if verdict.ok else EXIT_WRONG


def run_demo_report(folder: Path, out: Path | None, say: Say) -> int:
    """Write the page about a folder."""
    say(f"report: {write_demo_report(read_demos(folder), out or folder / 'report.html')}")
    return EXIT_OK


def run_video(
    folder: Path, out: Path | None, per_task: int, size: int, camera: str, workers: int, say: Say
) -> int:
    """Film demonstrations of a folder; exit code 1 when a replay is not what was stored, or there is none."""
    target, wrong, count = out or folder / "videos", 0, 0
    films = film(
        read_demos(folder),
        target,
        per_task=per_task,
        size=size,
        camera=camera,
        workers=workers,
        progress=console_progress(),
    )
    for found in films:
        count += 1
        if found.problem:
            wrong += 1
            say(f"WRONG  {found.key}: {found.problem}")
    say(f"{count} videos and a sheet for each task: {target}")
    return EXIT_WRONG if wrong or not count else EXIT_OK


def run_atlas(folder: Path, out: Path | None, say: Say) -> int:
    """Write the failure atlas of a folder."""
    say(str(write_atlas(read_demos(folder), out or folder / "atlas")))
    return EXIT_OK
