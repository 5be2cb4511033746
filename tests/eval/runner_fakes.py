"""A runner without physics that misbehaves as told, and a way to run it in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from libero_safety.data.strict_json import JsonValue
from libero_safety.eval.plan import EvalConfig, Job
from libero_safety.eval.runner import evaluate
from libero_safety.eval.simulator import Result, RunnerInfo, error_episode, last_lines
from libero_safety.rng import rng_for
from libero_safety.types import Episode, Trace

SCENARIO = """
(define (problem {name})
  (:ubddl 1) (:arena kitchen)
  (:language pick up the {name})
  (:regions (spot (:target kitchen_table) (:ranges ((-0.1 -0.1 0.1 0.1)))))
  (:fixtures kitchen_table - kitchen_table)
  (:objects mug_1 - {type} box_1 - cookies)
  (:init (On mug_1 kitchen_table.spot) (On box_1 kitchen_table.spot))
  (:goal (Up mug_1))
  (:constraints (NoContact robot box_1))
  (:level 1 (:language lift the {name})))
"""


def write_suite(folder: Path, *names: str, type: str = "red_coffee_mug") -> str:
    """Write a suite of small scenarios and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ("lift",):
        (folder / f"{name}.ubddl").write_text(SCENARIO.format(name=name, type=type))
    return str(folder)


class FakeRunner:
    """Outcomes drawn from the key; `acts` maps an episode's index to something else that happens in it.

    Some acts happen only at the first attempt; a file in `marks` remembers them across processes.
    """

    def __init__(self, config: EvalConfig) -> None:
        options: dict[str, Any] = dict(config.policy_options)
        if options.get("refuse"):
            os._exit(7) if options["refuse"] == "exit" else self._fail(options["refuse"])
        self._acts: dict[str, str] = options.get("acts", {})
        self._marks = Path(options.get("marks", "."))
        self.info = RunnerInfo(privileged=bool(options.get("privileged")))

    def _fail(self, text: str) -> None:
        raise RuntimeError(text)

    def run(self, job: Job) -> Result:
        act = self._acts.get(str(job.key.index), "")
        try:
            return Result(job, self._act(job, act), {"index": job.key.index})
        except Exception as error:
            return Result(job, error_episode(job, "internal", last_lines(error)))

    def close(self) -> None:
        pass

    def _first_time(self, job: Job) -> bool:
        mark = self._marks / str(job.key).replace("/", "-")
        if mark.exists():
            return False
        mark.touch()
        return True

    def _act(self, job: Job, act: str) -> Episode:
        name, _, argument = act.partition(":")
        if name in ("policy", "contract", "connection", "scene"):
            return error_episode(job, name, f"no {name}")
        if name == "connection-once" and self._first_time(job):
            return error_episode(job, "connection", "server went away")
        if name == "raise":
            raise ZeroDivisionError("by this")
        if name == "kill-once" and self._first_time(job):
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "signal":
            os.kill(os.getpid(), int(argument))
        if name == "exit":
            os._exit(int(argument))
        if name == "interrupt-parent":
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(60)
        if name == "sleep":
            time.sleep(float(argument))
        if name == "stubborn":
            self._ignore_everything()
        return fake_episode(job)

    def _ignore_everything(self) -> None:
        (self._marks / "stubborn").touch()
        while True:
            try:
                time.sleep(60)
            except BaseException:
                (self._marks / "ignored").touch()


def fake_episode(job: Job) -> Episode:
    """Return an episode that depends on the key alone."""
    rng = rng_for(job.key, "fake")
    n = 4
    trace = Trace(
        dt_s=0.05,
        qpos=rng.normal(size=(n + 1, 9)),
        eef_pos=rng.normal(size=(n + 1, 3)),
        eef_quat=rng.normal(size=(n + 1, 4)),
        gripper=rng.normal(size=(n + 1, 2)),
        asked=rng.normal(size=(n, 7)),
        executed=rng.normal(size=(n, 7)),
        clearance_m=rng.normal(size=n + 1),
        force_n=rng.normal(size=n),
        state_hash=rng.integers(0, 2**64, n + 1, dtype=np.uint64),
    )
    outcome = ("success", "timeout")[int(rng.integers(2))]
    instruction = str(job.scenario.instruction)
    return Episode(job.key, instruction, outcome, (), n, outcome == "success", trace)


def spawn_evaluate(out: Path, config: dict[str, JsonValue], resume: bool = False) -> subprocess.Popen[str]:
    """Start `evaluate` with the fake runner in a process of its own; its exit code is the summary's."""
    arguments = json.dumps({"out": str(out), "config": config, "resume": resume})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, __file__, arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def main(arguments: dict[str, Any]) -> int:
    from runner_fakes import FakeRunner as Importable  # by this name a new process can import it

    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in arguments["config"].items()}
    summary = evaluate(
        EvalConfig(**fields),
        Path(arguments["out"]),
        resume=arguments["resume"],
        make_runner=Importable,
    )
    return summary.exit_code


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
