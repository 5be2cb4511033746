"""The verbs of `libero-safety demo`."""

from pathlib import Path
from typing import Literal

import tyro

demo_app = tyro.extras.SubcommandApp()

Positional = tyro.conf.Positional


@demo_app.command
def generate(
    suite: tuple[str, ...] = ("all",),
    level: tuple[int, ...] = (0, 1),
    task: tuple[str, ...] = (),
    count: int = 10,
    seed: int = 0,
    tries: int = 5,
    perturb: tuple[str, ...] = (),
    workers: int = 1,
    out: Path = Path("demos"),
    allow_mixed: bool = False,
) -> int:
    """Make demonstrations: draw a scene, plan through its keyposes, carry it out under all rules, keep what succeeds.

    An interrupted call goes on when it is repeated, also with a higher count. Exit code 1 when a task has fewer than
    are wanted: one of which fewer than a fifth of the draws succeed is given up after twenty.

    Args:
        suite: built-in suite names, folders or scenario files; `all` stands for `aag`, `hri`, `tsa` and `fshoa`.
        level: levels to draw from; level 2 is held out of training.
        task: only these tasks.
        count: demonstrations per task and level.
        seed: of the draws.
        tries: how often a draw is tried, each time with other variants of the keyposes.
        perturb: `noise`, `init`, `view`, `scene`, `layout`, `unseen`, each also as AXIS=STRENGTH.
        workers: processes; what is made does not depend on it.
        out: folder, made new or gone on with.
        allow_mixed: go on although versions or files of tasks differ; the folder is labelled as mixed.
    """
    from libero_safety.eval.demo_command import run_generate
    from libero_safety.eval.demos import DemosPlan
    from libero_safety.suites import PHYSICAL

    suites = PHYSICAL if suite == ("all",) else suite
    plan = DemosPlan(suites, count, level, task, seed, tries, perturb)
    return run_generate(out, plan, workers, allow_mixed, say=print)


@demo_app.command(name="yield")
def yield_(folder: Positional[Path]) -> int:
    """Show what came of the draws of a folder of demonstrations, by task and by reject reason.

    Args:
        folder: what `demo generate` has written.
    """
    from libero_safety.eval.demo_command import run_yield

    return run_yield(folder, say=print)


@demo_app.command
def verify(
    folder: Positional[Path],
    brute_force: bool = False,
    sample: int = 0,
    workers: int = 1,
    result: Path | None = None,
) -> int:
    """Execute stored actions again; exit code 1 when a demonstration ends otherwise or breaks a rule.

    Args:
        folder: what `demo generate` has written.
        brute_force: also look at every physics step for shapes that share space, without the simulator's help; slow.
        sample: only so many, of all tasks and levels alike; which ones follows from their keys. 0 for all.
        workers: processes.
        result: where the verdict is written as JSON; `replay.json` or `brute-force.json` in the folder by default.
    """
    from libero_safety.eval.demo_command import run_verify

    return run_verify(folder, brute_force, sample, workers, result, say=print)


@demo_app.command
def report(folder: Positional[Path], out: Path | None = None) -> int:
    """Write one page about a folder: yields, rejects, clearance, smoothness, length, tracking, planning.

    Args:
        folder: what `demo generate` has written, finished or not.
        out: the file; `report.html` inside the folder by default.
    """
    from libero_safety.eval.demo_command import run_demo_report

    return run_demo_report(folder, out, say=print)


@demo_app.command
def video(
    folder: Positional[Path],
    out: Path | None = None,
    per_task: int = 1,
    size: int = 512,
    camera: Literal["agentview", "robot0_eye_in_hand"] = "agentview",
    workers: int = 1,
) -> int:
    """Film demonstrations, executed again from their actions: an MP4 of each, and a sheet of pictures for each task.

    Args:
        folder: what `demo generate` has written.
        out: folder for them; `videos` inside the folder by default.
        per_task: how many of each task at each level, the first ones.
        size: pixels.
        camera: which one.
        workers: processes.
    """
    from libero_safety.eval.demo_command import run_video

    return run_video(folder, out, per_task, size, camera, workers, say=print)


@demo_app.command
def atlas(folder: Positional[Path], out: Path | None = None) -> int:
    """Write the failure atlas: a page with pictures and advice for each reason for which draws were rejected.

    Args:
        folder: what `demo generate` has written.
        out: folder for the pages; `atlas` inside the folder by default.
    """
    from libero_safety.eval.demo_command import run_atlas

    return run_atlas(folder, out, say=print)
