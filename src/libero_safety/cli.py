"""The command line: `libero-safety VERB`. Each verb is a typed function; its docstring is its help."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from libero_safety.cli_demo import demo_app
from libero_safety.errors import LiberoSafetyError

app = tyro.extras.SubcommandApp()
app.command(
    demo_app, name="demo", help="Make demonstrations from keyposes, check them, and see why some failed."
)

Positional = tyro.conf.Positional


@app.command(name="list")
def list_(
    what: Positional[
        Literal["suites", "tasks", "policies", "planners", "types", "arenas", "words"]
    ] = "tasks",
) -> int:
    """List what there is.

    Args:
        what: which kind of thing.
    """
    from libero_safety.eval.listing import LISTINGS

    for line in LISTINGS[what]():
        print(line)
    return 0


@app.command
def check(
    paths: Positional[tuple[Path, ...]] = (),
    suite: tuple[str, ...] = (),
    strict: bool = False,
    draws: int = 5,
    assets: str = "built-in",
) -> int:
    """Lint scenario files and folders, or prove suites fair; exit code 1 when anything is wrong.

    Fair means: every draw fits, begins unsolved and breaks no rule while the robot waits, and every rule fires
    when it is broken by hand.

    Args:
        paths: files (*.ubddl, *.bddl), folders that are searched for such files, and folders of `scenes`.
        suite: suites to prove fair; `all` stands for the built-in ones.
        strict: warnings count as errors.
        draws: scenes per task and level to prove fairness with.
        assets: where assets come from, in this order: `built-in`, `libero`, folders of MJCF files; commas between.
    """
    from libero_safety.assets.sources import source_names
    from libero_safety.eval.command import run_check

    return run_check(paths, suite, strict=strict, draws=draws, assets=source_names(assets), say=print)


@app.command
def objects(
    names: Positional[tuple[str, ...]] = (),
    list_: Annotated[bool, tyro.conf.arg(name="list")] = False,
    split: Literal["train", "test"] | None = None,
    count: int | None = None,
    seed: int = 0,
    sheet: Path | None = None,
    assets: str = "built-in",
) -> int:
    """List objects with split, size, mass, hash, licence, source and parts, or draw them on a sheet.

    Args:
        names: only these types; by default all that a scenario's `:split` can draw.
        list_: list them although a sheet is made.
        split: only this split.
        count: this many different objects, drawn from the seed, instead of all.
        seed: of `count`.
        sheet: write a PNG with a picture of each.
        assets: where assets come from, in this order: `built-in`, `libero`, folders of MJCF files; commas between.
    """
    from libero_safety.assets.catalog import catalog_of
    from libero_safety.assets.sources import source_names
    from libero_safety.eval.objects import chosen_objects, object_lines, save_sheet

    catalog = catalog_of(source_names(assets))
    chosen = chosen_objects(catalog, names, split, count, seed)
    if list_ or sheet is None:
        for line in object_lines(catalog, chosen):
            print(line)
    if sheet is not None:
        save_sheet(catalog, chosen, sheet)
        print(sheet)
    return 0


@app.command
def hands(
    names: Positional[tuple[str, ...]] = (),
    list_: Annotated[bool, tyro.conf.arg(name="list")] = False,
    split: Literal["train", "test"] | None = None,
    count: int | None = None,
    seed: int = 0,
    sheet: Path | None = None,
    build: Path | None = None,
    workers: int = 1,
) -> int:
    """List pairs of a hand and a thing with split, quality and the segments that touch, or draw them on a sheet.

    Args:
        names: only these pairs, or all pairs of these things and their variants; by default all.
        list_: list them although a sheet is made.
        split: only this split.
        count: only this many of them, drawn from the seed.
        seed: of `count`.
        sheet: write this picture, *.png or *.jpg, with each pair from three sides.
        build: make the whole library anew and write it to this *.npz file; nothing else is done.
        workers: processes of `build`; the result does not depend on it.
    """
    from libero_safety.assets.catalog import default_catalog
    from libero_safety.eval.hands import build_library, chosen_pairs, pair_lines, save_pair_sheet

    catalog = default_catalog()
    if build is not None:
        print(f"{build_library(catalog, build, workers, say=print)} pairs in {build}")
        return 0
    chosen = chosen_pairs(names, split, count, seed)
    if list_ or sheet is None:
        for line in pair_lines(catalog, chosen):
            print(line)
    if sheet is not None:
        save_pair_sheet(catalog, chosen, sheet)
        print(sheet)
    return 0


@app.command
def scenes(
    count: int | None = None,
    suite: tuple[str, ...] = ("all",),
    level: tuple[int, ...] = (),
    seed: int = 0,
    workers: int = 1,
    out: Path = Path("scenes"),
    sheet: Path | None = None,
    camera: tuple[Literal["agentview", "robot0_eye_in_hand"], ...] = (),
    size: int = 256,
) -> int:
    """Write distinct, valid scenes with a manifest, or draw them on a sheet.

    Every scene is built, settled and looked at: it fits, rests, begins unsolved and breaks no rule.
    `libero-safety check DIR` rebuilds all of them and compares. An interrupted call goes on when it is repeated.

    Args:
        count: how many valid scenes the folder should hold (100), or the sheet show (every task at every level once).
        suite: built-in suite names, folders or scenario files; `all` stands for the built-in ones.
        level: levels to draw from; all that there are by default.
        seed: seed of the draws.
        workers: processes; the result does not depend on it.
        out: folder, made new or gone on with.
        sheet: write this picture, *.png or *.jpg, with pictures of the scenes instead.
        camera: for the sheet; by default both at level 0 and `agentview` at the others.
        size: pixels of each picture of the sheet.
    """
    from libero_safety.eval.command import run_scene_sheet, run_scenes
    from libero_safety.suites import suites

    names = suites() if suite == ("all",) else suite
    if sheet is not None:
        return run_scene_sheet(sheet, count, names, level, seed, camera, size, say=print)
    return run_scenes(out, 100 if count is None else count, names, level, seed, workers, say=print)


@app.command
def view(
    task: Positional[str],
    level: int | None = None,
    seed: int = 0,
    index: int = 0,
    camera: str = "agentview",
    size: int = 512,
    policy: str | None = None,
    perturb: tuple[str, ...] = (),
    assets: str = "built-in",
    out: Path | None = None,
) -> int:
    """Draw a task: a picture of its start, or a video of a policy in it.

    Args:
        task: `suite/task` or a scenario file.
        level: 0 nominal, 1 moved, moving or disturbed, 2 out of distribution; the lowest that the task has by default.
        seed: seed of the draw.
        index: which draw of that seed.
        camera: `agentview` or `robot0_eye_in_hand`.
        size: pixels.
        policy: make a video of this policy instead of a picture.
        perturb: `noise`, `init`, `view`, `scene`, `layout`, `unseen`, each also as AXIS=STRENGTH.
        assets: where assets come from, in this order: `built-in`, `libero`, folders of MJCF files; commas between.
        out: where to; *.png, or *.mp4 with a policy.
    """
    from libero_safety.assets.catalog import catalog_of
    from libero_safety.assets.sources import source_names
    from libero_safety.eval.view import save_picture, save_video
    from libero_safety.suites import find_task
    from libero_safety.types import Key

    catalog = catalog_of(source_names(assets))
    found = find_task(task)
    key = Key(found.suite, found.name, found.levels[0] if level is None else level, seed, index)
    target = out or Path(f"{found.name}-L{key.level}.{'mp4' if policy else 'png'}")
    if policy is None:
        told = save_picture(found, key, target, camera, size, perturb, catalog)
    else:
        told = save_video(found, key, target, camera, size, policy, perturb, catalog)
    print(*told, target, sep="\n")
    return 0


@app.command(name="eval")
def eval_(
    suite: tuple[str, ...] = ("all",),
    policy: str = "reckless",
    level: tuple[int, ...] = (),
    task: tuple[str, ...] = (),
    episodes: int = 10,
    seed: tuple[int, ...] = (0,),
    workers: int = 1,
    out: Path = Path("runs/latest"),
    policy_arg: tuple[str, ...] = (),
    horizon: int = 600,
    on_violation: Literal["stop", "continue"] = "stop",
    image_size: int = 256,
    quality: Literal["fast", "good", "libero"] = "good",
    goal: Literal["own", "reference"] = "own",
    perturb: tuple[str, ...] = (),
    assets: str = "built-in",
    watchdog_s: float = 1800.0,
    retries: int = 2,
    resume: bool = False,
    allow_mixed: bool = False,
    report: bool = True,
) -> int:
    """Judge a policy: writes a run folder and its report. Exit code 0 when every episode could be judged.

    Args:
        suite: built-in suite names, folders or scenario files; `all` stands for `aag`, `hri`, `tsa` and `fshoa`.
            Whether a model refuses the instructions of `ssr` is judged by the semantic track.
        policy: `expert`, `noop`, `random`, `reckless`, `replay`, `openpi`, `module:attr` or an installed plug-in.
        level: levels to run; all that there are by default.
        task: only these tasks, as `task` or `suite/task`.
        episodes: per task, level and seed.
        seed: seeds of the draws.
        workers: processes.
        out: run folder, made new.
        policy_arg: options of the policy, KEY=VALUE.
        horizon: control steps after which an episode is a timeout.
        on_violation: end the episode at the first violation, or record all of them.
        image_size: pixels of the square camera images.
        quality: rendering preset; `libero` draws as LIBERO does, slowly.
        goal: the tasks' own goals, or the weaker ones that their files state as the reference's.
        perturb: `noise`, `init`, `view`, `scene`, `layout`, `unseen`, each also as AXIS=STRENGTH.
        assets: where assets come from, in this order: `built-in`, `libero`, folders of MJCF files; commas between.
        watchdog_s: wall-clock seconds after which an episode counts as hung.
        retries: how often an episode is run again after its connection to the policy failed.
        resume: go on with the run in `out`.
        allow_mixed: resume although versions or files differ; the run is labelled as mixed.
        report: write the report when done.
    """
    from libero_safety.assets.sources import source_names
    from libero_safety.eval.command import command_line, run_eval
    from libero_safety.eval.plan import EvalConfig
    from libero_safety.policy.load import parse_policy_args
    from libero_safety.suites import PHYSICAL

    config = EvalConfig(
        suites=PHYSICAL if suite == ("all",) else suite,
        policy=policy,
        policy_options=parse_policy_args(policy_arg),
        levels=level,
        tasks=task,
        episodes=episodes,
        seeds=seed,
        horizon=horizon,
        on_violation=on_violation,
        workers=workers,
        image_size=image_size,
        quality=quality,
        goal=goal,
        perturb=perturb,
        assets=source_names(assets),
        watchdog_s=watchdog_s,
        retries=retries,
        command=command_line(),
    )
    return run_eval(config, out, resume=resume, allow_mixed=allow_mixed, with_report=report, say=print)


@app.command
def report(run: Positional[Path], out: Path | None = None, video: bool = False) -> int:
    """Write the report of a run: one HTML page, Markdown and CSV tables.

    Args:
        run: run folder.
        out: folder for the report; the run folder by default.
        video: put an MP4 of every selected episode into the page.
    """
    from libero_safety.eval.command import run_report

    return run_report(run, out, video, say=print)


@app.command
def replay(run: Positional[Path], episode: tuple[str, ...] = ()) -> int:
    """Run logged episodes again from their actions and compare every state; exit code 1 on any drift.

    Args:
        run: run folder.
        episode: only episodes whose key contains one of these, e.g. `tsa/put_both_moka_pots_on_the_stove/L0`.
    """
    from libero_safety.eval.command import run_replay

    return run_replay(run, episode, say=print)


@app.command
def selftest() -> int:
    """Check the ruler: force, touch, distance, motion and restore against physics computed by hand."""
    from libero_safety.selftest import selftest as run

    made = run()
    for check_ in made.checks:
        mark = "ok  " if check_.ok else "FAIL"
        print(f"{mark} {check_.name}: {check_.measured:.6g} {check_.unit} (expected {check_.expected:g})")
    print(f"mujoco {made.versions['mujoco']}: {'all checks passed' if made.ok else 'NOT to be trusted'}")
    return 0 if made.ok else 1


@app.command
def doctor() -> int:
    """Show what this machine has: versions, GL library, speed; and how to mend what is missing."""
    from libero_safety.doctor import doctor as run

    found = run()
    for line in found.lines():
        print(line)
    return 0 if found.ok else 1


def main(args: list[str] | None = None) -> int:
    """Run one verb and return its exit code; errors are one line on stderr and exit code 2."""
    from libero_safety.sim.gl import load_mujoco

    try:
        load_mujoco()  # it reads MUJOCO_GL while it is imported, and a bad value should be explained, not raised
        return int(app.cli(args=args, prog="libero-safety", description=__doc__) or 0)
    except LiberoSafetyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141


if __name__ == "__main__":
    sys.exit(main())
