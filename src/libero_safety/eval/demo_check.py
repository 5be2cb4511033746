"""Do demonstrations hold what they promise? Open-loop replay, and a slow independent look at every contact."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from libero_safety.data.demos import DemoRecord, Demos
from libero_safety.data.files import write_file
from libero_safety.data.machine import git_revision, installed_versions
from libero_safety.data.strict_json import JsonObject, dumps, plain
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.brute_force import NEAR_M, BruteForce, Overlap
from libero_safety.eval.demo_replay import reenact, sampled, stored_tasks
from libero_safety.eval.pool import in_order
from libero_safety.eval.progress import Progress, Silent, Tally
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.types import Episode, Key, Trace


@dataclass(frozen=True)
class Replayed:
    """What came of executing a demonstration's actions once more.

    Attributes:
        outcome: how the replay ended; `error` also when it could not begin.
        same_state: whether the last state is the stored one, bit for bit.
        problem: what is wrong; empty when it ends in the same state, reaches its goal and breaks no rule.
        violations: rules that were broken.
        overlaps: what the independent look found, if it was asked for.
        nearest_m: smallest distance between two that a rule keeps apart, at most `brute_force.NEAR_M`; NaN if not
            asked for.
        nearest: which two those were and when, in words.
        physics_steps: how many the independent look has seen.
    """

    key: Key
    outcome: str
    same_state: bool
    problem: str = ""
    violations: int = 0
    overlaps: tuple[Overlap, ...] = ()
    nearest_m: float = math.nan
    nearest: str = ""
    physics_steps: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem and not self.overlaps


def verify(
    demos: Demos,
    *,
    brute_force: bool = False,
    sample: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Iterator[Replayed]:
    """Replay demonstrations open loop in scenes rebuilt from their draws.

    Args:
        demos: a folder as read.
        brute_force: look at every physics step for shared space, see `brute_force`; three times as slow.
        sample: only so many, see `sampled`; all when 0.
        workers: processes; what is found does not depend on it.
        progress: is told after every demonstration.

    Raises:
        DemosError: the header names no suites.
        SuiteError: one of them is not there any more.
    """
    stored_tasks(demos)
    show, records = progress or Silent(), sampled(demos.demos, sample)
    work = partial(_check, replace(demos, demos=(), rejects=()), brute_force)
    counts = {"as stored": 0, "wrong": 0}
    tally = partial(Tally, len(records), unit="demonstrations")
    try:
        show.update(tally(counts))
        for found in in_order(work, iter(records), workers):
            counts["as stored" if found.ok else "wrong"] += 1
            show.update(tally(counts))
            yield found
    finally:
        show.close()


@cache
def _env() -> Env:
    """One environment per process."""
    return Env(render=False)


def _check(demos: Demos, brute_force: bool, record: DemoRecord) -> Replayed:
    looks: list[BruteForce] = []

    def look(env: Env, monitors: MonitorSet) -> None:
        if not looks:
            looks.append(BruteForce(env.scene))
            env.hooks = [*env.hooks, looks[0]]

    try:
        episode, stored = reenact(demos, record, _env(), look if brute_force else None)
    except LiberoSafetyError as error:
        return Replayed(record.key, "error", False, str(error))
    same, problem = compared(episode, stored)
    found = Replayed(record.key, episode.outcome, same, problem, len(episode.violations))
    if not looks:
        return found
    seen = looks[0]
    return replace(
        found,
        overlaps=tuple(seen.overlaps),
        nearest_m=seen.nearest_m,
        nearest=seen.nearest,
        physics_steps=seen.physics_steps,
    )


def compared(again: Episode, stored: Trace) -> tuple[bool, str]:
    """Return whether the last state is the stored one, and what is wrong."""
    if again.trace is None or again.outcome == "error":
        return False, f"it could not be replayed: {again.error}"
    rows = min(len(stored.eef_pos), len(again.trace.eef_pos))
    same = len(stored.state_hash) == len(again.trace.state_hash) and bool(
        stored.state_hash[-1] == again.trace.state_hash[-1]
    )
    if again.outcome != "success":
        broken = "; ".join(f"{violation.rule} at step {violation.step}" for violation in again.violations)
        return same, f"it ends as {again.outcome}" + (f": {broken}" if broken else "")
    if not same:
        gap = float(np.linalg.norm(stored.eef_pos[:rows] - again.trace.eef_pos[:rows], axis=1).max())
        return same, f"it ends in another state (end effector up to {gap * 1000:.3f} mm elsewhere)"
    return same, ""


@dataclass(frozen=True)
class Verdict:
    """What came of replaying demonstrations of a folder.

    Attributes:
        stored: demonstrations in the folder.
        brute_force: whether every physics step was looked at.
        made: ISO 8601 time.
    """

    found: tuple[Replayed, ...]
    stored: int
    brute_force: bool
    made: str

    @property
    def ok(self) -> bool:
        """Whether there were any, and nothing is wrong with any of them."""
        return bool(self.found) and all(found.ok for found in self.found)

    @property
    def problems(self) -> list[str]:
        """What is wrong, one line each."""
        lines = [f"{found.key}: {found.problem}" for found in self.found if found.problem]
        for found in self.found:
            lines += [
                f"{found.key}: {o.rule}: {o.first} is {o.depth_m * 1000:.2f} mm inside {o.second} at {o.time_s:.3f} s"
                for o in found.overlaps
            ]
        return lines

    @property
    def summary(self) -> str:
        """What was found, in a sentence."""
        good = sum(found.outcome == "success" and found.same_state for found in self.found)
        violations = sum(found.violations for found in self.found)
        text = f"{good} of {len(self.found)} reach the same end state and the goal, {violations} violations"
        if not self.brute_force:
            return text
        shared = sum(bool(found.overlaps) for found in self.found)
        steps = sum(found.physics_steps for found in self.found)
        near = min((found.nearest_m for found in self.found), default=NEAR_M)
        nearest = (
            f"nothing nearer than {near * 1000:.1f} mm" if near >= NEAR_M else f"nearest {near * 1000:.1f} mm"
        )
        return f"{text}; {shared} share space at any of {steps} physics steps, {nearest}"

    def to_json(self) -> JsonObject:
        """Return everything, as JSON values."""
        told = {
            "made": self.made,
            "brute_force": self.brute_force,
            "summary": self.summary,
            "ok": self.ok,
            "stored": self.stored,
            "checked": len(self.found),
            "same_state": sum(found.same_state for found in self.found),
            "success": sum(found.outcome == "success" for found in self.found),
            "violations": sum(found.violations for found in self.found),
            "sharing_space": sum(bool(found.overlaps) for found in self.found),
            "physics_steps": sum(found.physics_steps for found in self.found),
            "versions": installed_versions(),
            "git": git_revision(),
            "demonstrations": [{**asdict(found), "ok": found.ok} for found in self.found],
        }
        return {name: plain(value) for name, value in told.items()}


def verdict_file(folder: Path, brute_force: bool) -> Path:
    """Return where the verdict on a folder of demonstrations is kept."""
    return folder / ("brute-force.json" if brute_force else "replay.json")


def save_verdict(verdict: Verdict, path: Path) -> None:
    """Write a verdict as JSON.

    Raises:
        RunLogError: it cannot be written.
    """
    write_file(path, (dumps(verdict.to_json(), indent=1) + "\n").encode("utf-8"))
