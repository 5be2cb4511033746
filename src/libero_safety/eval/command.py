"""What the verbs `eval`, `report`, `replay`, `check` and `scenes` do, in plain steps; text goes to `say`."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from libero_safety.assets.catalog import Catalog, catalog_of
from libero_safety.data.runlog import Run, read_run
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.fairness import Fairness, check_fairness
from libero_safety.eval.frames import RunFrames
from libero_safety.eval.listing import lint_paths
from libero_safety.eval.plan import EvalConfig, make_plan
from libero_safety.eval.progress import console_progress
from libero_safety.eval.replay import replay
from libero_safety.eval.report import ReportFiles, write_report
from libero_safety.eval.runner import evaluate
from libero_safety.eval.scene_sheet import save_scene_sheet
from libero_safety.eval.scenes import MANIFEST, make_scenes, recheck
from libero_safety.selftest import stamp
from libero_safety.sim.env import Env
from libero_safety.sim.vision import gl_backend
from libero_safety.suites import load_suite
from libero_safety.suites import suites as builtin_suites

Say = Callable[[str], None]


class NothingToCheckError(LiberoSafetyError):
    """`check` without anything to check."""


def run_eval(
    config: EvalConfig, out: Path, *, resume: bool, allow_mixed: bool, with_report: bool, say: Say
) -> int:
    """Evaluate, report, and return the exit code of the evaluation."""
    for line in make_plan(config).unperturbed:
        say(f"not perturbed: {line}")
    checked = stamp()
    if not checked.ok:
        failed = ", ".join(check.name for check in checked.checks if not check.ok)
        say(f"WARNING: self-test failed ({failed}): the numbers of this run cannot be trusted")
    summary = evaluate(
        config,
        out,
        resume=resume,
        allow_mixed=allow_mixed,
        progress=console_progress(),
        selftest=checked.to_dict(),
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items())
    say(f"{summary.planned} episodes: {counts}" + (f", {summary.missing} not run" if summary.missing else ""))
    for kind, count in summary.errors.items():
        say(f"  {count} could not be judged: {kind}")
    if summary.stopped:
        say(f"stopped: {summary.stopped}")
    say(f"run folder: {out}")
    if with_report:
        run_report(out, None, video=False, say=say)
    return summary.exit_code


def run_report(folder: Path, out: Path | None, video: bool, say: Say) -> int:
    """Write the report; without an OpenGL library it has no pictures and says what to install."""
    run = read_run(folder)
    report = gl_backend()
    if not report.ok:
        say(f"no pictures: {report.why}")
        files = write_report(folder, out)
    else:
        files = _illustrated(run, folder, out, video)
    say(f"report: {files.html}")
    return 0


def _illustrated(run: Run, folder: Path, out: Path | None, video: bool) -> ReportFiles:
    frames = RunFrames(run)
    try:
        return write_report(folder, out, frames, videos=video)
    finally:
        frames.close()


def run_replay(folder: Path, wanted: Sequence[str], say: Say) -> int:
    """Replay logged episodes and compare them; exit code 1 when one drifts."""
    run = read_run(folder)
    drifted = compared = 0
    for record in run.records:
        chosen = not wanted or any(part in str(record.key) for part in wanted)
        if not chosen or record.trace_file is None:
            continue
        again, drift = replay(run, record)
        compared += 1
        drifted += not drift.exact
        if drift.exact:
            say(f"same   {drift.key}: {drift.steps} steps, every state equal")
        else:
            at = "never" if drift.first_step is None else f"from step {drift.first_step}"
            say(
                f"DRIFT  {drift.key}: states differ {at}, end effector by up to {drift.worst_m * 1000:.3f} mm"
            )
        for v in again.violations:
            say(f"       {v.rule} at {v.time_s:.2f} s{v.where and f', {v.where}'}")
    say(f"{compared} episodes replayed, {drifted} drifted")
    return 1 if drifted or not compared else 0


def run_check(
    paths: Sequence[Path], suites: Sequence[str], *, strict: bool, draws: int, assets: Sequence[str], say: Say
) -> int:
    """Lint `paths`, prove `suites` fair; exit code 1 when a file has an error or a task is unfair."""
    if not paths and not suites:
        raise NothingToCheckError("nothing to check: name files, folders, or --suite NAME")
    folders = [path for path in paths if (path / MANIFEST).is_file()]
    files = [path for path in paths if path not in folders]
    catalog = catalog_of(tuple(assets))
    wrong = _lint(files, catalog, strict, say) if files else 0
    wrong += sum(_recheck(folder, say) for folder in folders)
    names = builtin_suites() if list(suites) == ["all"] else suites
    env = Env(catalog, render=False)
    unfair = [
        found
        for name in names
        for task in load_suite(name).tasks
        for level in task.levels
        if not _tell(found := check_fairness(env, task, level, draws), say).ok
    ]
    if names:
        say(f"{len(unfair)} unfair" if unfair else "every task is fair at every level")
    return int(bool(wrong or unfair))


def _lint(paths: Sequence[Path], catalog: Catalog, strict: bool, say: Say) -> int:
    counts = {"error": 0, "warning": 0}
    files = 0
    for path, findings in lint_paths(paths, catalog):
        files += 1
        for finding in findings:
            say(str(finding))
            counts[finding.severity] += 1
        if not findings:
            say(f"ok: {path}")
    say(f"{files} files read, {counts['error']} errors, {counts['warning']} warnings")
    return counts["error"] + (counts["warning"] if strict else 0)


def _recheck(folder: Path, say: Say) -> int:
    """Rebuild the scenes of a folder; return how many are not what they were."""
    found = [problem for _, problem in recheck(folder)]
    wrong = [problem for problem in found if problem is not None]
    for problem in wrong:
        say(f"error: {problem}")
    say(f"{folder}: {len(found)} scenes rebuilt, {len(wrong)} wrong")
    return len(wrong)


def run_scenes(
    out: Path, count: int, suites: Sequence[str], levels: Sequence[int], seed: int, workers: int, say: Say
) -> int:
    """Write scenes and say how many, how fast, and where."""
    made = make_scenes(out, count, suites=suites, levels=levels, seed=seed, workers=workers)
    say(
        f"{made.valid} scenes in {out}, {made.rejected} draws rejected, {made.per_second:.1f} scenes per second"
    )
    return 0


def run_scene_sheet(
    out: Path,
    count: int | None,
    suites: Sequence[str],
    levels: Sequence[int],
    seed: int,
    cameras: Sequence[str],
    size: int,
    say: Say,
) -> int:
    """Draw scenes on a sheet; exit code 1 when some could not be drawn."""
    failures = save_scene_sheet(
        out, suites=suites, levels=levels, seed=seed, count=count, cameras=cameras, size=size
    )
    for line in failures:
        say(f"error: {line}")
    say(str(out))
    return int(bool(failures))


def _tell(found: Fairness, say: Say) -> Fairness:
    """Say what was found out about one task at one level."""
    mark = "fair  " if found.ok else "UNFAIR"
    say(f"{mark} {found.suite}/{found.task} L{found.level}: {found.placed} of {found.draws} draws")
    for title, lines in (
        ("problem", found.problems),
        ("broken by doing nothing", found.noop_violations),
        ("never fires", found.silent),
        ("not tried", found.unforced),
    ):
        for line in lines:
            say(f"       {title}: {line}")
    return found


def command_line() -> str:
    """Return this process's command line as one would type it."""
    return shlex.join(["libero-safety", *sys.argv[1:]])
