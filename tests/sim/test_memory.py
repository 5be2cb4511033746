"""Memory stays flat over many episodes in one process: models, contexts and monitors are let go."""

import gc
from collections.abc import Callable

import numpy as np
import psutil
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.sim.vision import gl_backend
from libero_safety.types import Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.sample import sample

SCENE = """(define (problem small) (:ubddl 1) (:arena tabletop) (:language do it)
  (:regions (a (:target main_table) (:ranges ((0.15 0.15 0.30 0.30)))))
  (:fixtures main_table - table) (:objects can_1 - can_of_soda)
  (:init (On can_1 main_table.a)) (:goal (Up can_1 1m))
  (:constraints (NoContact robot can_1) (MaxTilt can_1 30deg) (MinClearance robot can_1 0.02m)))"""

GROWTH_LIMIT_BYTES = 20_000
"""Per reset: a hundredth of what a compiled scene takes. The heap itself breathes by ten megabytes."""


def growth_per_episode(episode: Callable[[int], None], *, warm_up: int, count: int) -> float:
    """Least-squares slope of resident memory (bytes per episode) after `warm_up` episodes."""
    process = psutil.Process()
    for index in range(warm_up):
        episode(index)
    samples: list[tuple[int, int]] = []
    for index in range(count):
        episode(warm_up + index)
        if index % (count // 20) == 0:
            gc.collect()
            samples.append((index, process.memory_info().rss))
    slope, _ = np.polyfit(*np.array(samples, dtype=float).T, 1)
    return float(slope)


def episodes(env: Env) -> Callable[[int], None]:
    scenario = parse(SCENE, "small").at(0)

    def run(index: int) -> None:
        env.reset(sample(scenario, Key("memory", "small", 0, 0, index), env.catalog), settle_steps=1)
        env.hooks = [MonitorSet(env.scene, env.data)]
        env.step(np.zeros(7))
        env.observe()

    return run


@pytest.mark.slow
def test_a_thousand_resets_leave_nothing_behind() -> None:
    env = Env(default_catalog(), render=False)
    assert growth_per_episode(episodes(env), warm_up=100, count=1000) < GROWTH_LIMIT_BYTES


@pytest.mark.slow
@pytest.mark.gl
def test_a_hundred_drawn_resets_leave_nothing_behind() -> None:
    if not gl_backend().ok:
        pytest.skip("no off-screen GL library here")
    env = Env(default_catalog(), image_size=64, quality="fast")
    try:
        assert growth_per_episode(episodes(env), warm_up=40, count=100) < 10 * GROWTH_LIMIT_BYTES
    finally:
        env.close()
