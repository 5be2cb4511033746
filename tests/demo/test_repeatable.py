"""The same key gives the same episode, however busy the machine is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from libero_safety.demo.expert import ExpertPolicy
from libero_safety.plan.problem import PlanFailed
from libero_safety.plan.tip import TipPlanner
from libero_safety.rollout import run_episode
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

pytest.importorskip("piqp")
BANANA = "pick_up_the_banana_and_put_it_on_the_plate_in_my_hand"
EPISODE = f"""
import hashlib, sys
from libero_safety.demo.expert import ExpertPolicy
from libero_safety.rollout import run_episode
from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

env, expert = Env(render=False), ExpertPolicy(planner=sys.argv[1])
draw = sample(load_suite("hri").task("{BANANA}").scenario(1), Key("hri", "{BANANA}", 1, 0, 0), env.catalog)
episode = run_episode(env, expert, draw)
digest = hashlib.sha256(episode.trace.executed.tobytes()).hexdigest()
print(episode.outcome, episode.steps, sys.argv[1] in [s.planner for s in expert.report().stages], digest)
"""


def episode(planner: str, hash_seed: int) -> str:
    """Run one in a process of its own; return how it went."""
    done = subprocess.run(
        [sys.executable, "-c", EPISODE, planner],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@contextmanager
def busy() -> Iterator[None]:
    """Keep every core busy twice over."""
    count = 2 * (os.cpu_count() or 1)
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.slow
@pytest.mark.parametrize("planner", ["tip", "ompl"])
def test_a_busy_machine_and_another_process_give_the_same_episode(planner):
    pytest.importorskip("ompl")
    alone = episode(planner, 1)
    assert alone.startswith("success "), alone
    assert " True " in alone, alone  # the planner was asked
    with busy():
        assert episode(planner, 2) == alone


def test_what_the_clock_stopped_is_not_gone_around(monkeypatch):
    asked: list[object] = []

    def stopped(self, problem):
        asked.append(problem)
        return PlanFailed("timeout", "stopped by the clock")

    monkeypatch.setattr(TipPlanner, "plan", stopped)
    env, expert = Env(render=False), ExpertPolicy()
    draw = sample(load_suite("hri").task(BANANA).scenario(1), Key("hri", BANANA, 1, 0, 0), env.catalog)
    run_episode(env, expert, draw)
    assert len(asked) == 1
    failure = expert.report().failure
    assert failure is not None
    assert failure.reason == "plan_timeout"
    assert "stopped by the clock" in failure.detail
