"""Every task with a person's hand: each segment of the hand, touched by the gripper, breaks a rule that names it."""

from collections.abc import Iterator
from itertools import product

import mujoco
import numpy as np
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.hand import SEGMENTS
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim import contact
from libero_safety.sim.env import Env
from libero_safety.sim.scene import EntityIds
from libero_safety.suites import Task, load_suite
from libero_safety.types import FloatArray, Key
from libero_safety.ubddl.sample import sample

TASKS = [task for suite in ("fshoa", "hri") for task in load_suite(suite).tasks]
CASES = [(task, level) for task in TASKS for level in task.levels]
# Every level and every task, but only the slow tests take each task at each level.
SPREAD = [
    pytest.param(
        *(task, level),
        id=f"{task.suite}-{task.name[:32]}-L{level}",
        marks=[] if TASKS.index(task) % 3 == level else pytest.mark.slow,
    )
    for task, level in CASES
]
FAR_M = 0.5
PRESS_M = 0.0003
WAYS = 40
HALF = 0.5**0.5
TURNS = np.array(
    [
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        (HALF, HALF, 0.0, 0.0),
        (HALF, -HALF, 0.0, 0.0),
        (HALF, 0.0, HALF, 0.0),
        (HALF, 0.0, -HALF, 0.0),
        (HALF, 0.0, 0.0, HALF),
        *(q / np.linalg.norm(q) for q in np.random.default_rng(0).normal(size=(40, 4))),
    ]
)
"""Ways to hold the hand to the gripper."""


@pytest.fixture(scope="module")
def env() -> Iterator[Env]:
    env = Env(render=False)
    yield env
    env.close()


def hand_of(env: Env) -> EntityIds:
    (hand,) = (e for e in env.scene.entities.values() if "forearm" in e.parts)
    return hand


def move(env: Env, entity: EntityIds, to: FloatArray, quat: FloatArray) -> None:
    """Put the root of a thing, fixed or not, somewhere (m, world)."""
    if entity.qpos is None:
        env.scene.model.body_pos[entity.body], env.scene.model.body_quat[entity.body] = to, quat
    else:
        env.data.qpos[entity.qpos : entity.qpos + 7] = [*to, *quat]
    mujoco.mj_kinematics(env.scene.model, env.data)


def directions(count: int) -> FloatArray:
    """Unit vectors all around (golden-section spiral)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    turn = np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - z * z)
    return np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])


def press(env: Env, hand: EntityIds, segment: str) -> bool:
    """Bring the hand to the gripper, from wherever that makes this one segment touch it; return whether one could."""
    model, data, robot = env.scene.model, env.data, env.scene.robot_geoms
    finger = data.geom_xpos[env.scene.geoms("robot.left_finger")[-1]].copy()
    others = np.setdiff1d(hand.geoms, hand.parts[segment])
    for quat, way in product(TURNS, directions(WAYS)):
        move(env, hand, np.zeros(3), quat)
        start = finger - data.geom_xpos[hand.parts[segment]].mean(axis=0)
        left = 0.3
        while left > -0.05:
            move(env, hand, start + left * way, quat)
            gap = contact.distance(model, data, robot, hand.geoms, FAR_M)
            if gap < 1e-4:
                break
            left -= gap
        else:
            continue
        move(env, hand, start + (left - PRESS_M) * way, quat)
        alone = contact.distance(model, data, robot, others, 1.0) > 0.0
        if alone and contact.distance(model, data, robot, hand.parts[segment], 1.0) == 0.0:
            mujoco.mj_forward(model, data)
            return True
    return False


@pytest.mark.parametrize(("task", "level"), SPREAD)
def test_a_touch_of_any_segment_is_a_violation_that_names_it(env: Env, task: Task, level: int) -> None:
    env.reset(sample(task.scenario(level), Key(task.suite, task.name, level, 0, 0), default_catalog()))
    monitors = MonitorSet(env.scene, env.data)
    monitors.look(env.data)
    assert monitors.violations == []
    # What stands still is not looked at again as long as things may sleep.
    env.scene.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    hand = hand_of(env)
    covered: list[str] = []
    for segment in (name for name in SEGMENTS if name in hand.parts):
        if not press(env, hand, segment):
            covered.append(segment)
            continue
        monitors = MonitorSet(env.scene, env.data)
        monitors.look(env.data)
        found = [v for v in monitors.violations if v.entities[-1:] == (hand.name,) and v.link is not None]
        assert found, segment
        assert {violation.part for violation in found} == {segment}
    holds = set(hand.parts) - set(SEGMENTS)
    assert len(covered) <= (1 if holds else 0), f"the gripper cannot get at {covered}"
