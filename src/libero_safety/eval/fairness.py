"""Proof that a task is fair: it begins unsolved and harmless, fits, and every rule can be broken."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from libero_safety.assets.geometry import bounds
from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.baselines import NoopPolicy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.safety.bystander import GRAVITY_M_S2
from libero_safety.safety.monitor import MonitorSet, rule_name
from libero_safety.sim.env import Env
from libero_safety.suites import Task
from libero_safety.types import FloatArray, Key
from libero_safety.ubddl.lint import lint_file
from libero_safety.ubddl.sample import Draw, sample
from libero_safety.ubddl.spec import Constraint

NOOP_STEPS = 60
FOLDED_QPOS = (1.87, -0.3, 1.91, -3.04, -0.78, 0.28, 0.88)
"""Arm joints at which the hand is inside link1 (rad)."""
GRASPABLE_M = 0.075
"""Things narrower than this fit between the fingers."""
CLOSING = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Fairness:
    """What was found out about one task at one level.

    Attributes:
        draws: scenes that were tried; `placed` of them could be built and begin unsolved, breaking no rule.
        noop_violations: rules that were broken while the robot did nothing.
        silent: rules that a scripted breach did not fire.
        unforced: rules that no script knows how to break (formulas, `held` where nothing fits the gripper).
        problems: errors in words.
    """

    suite: str
    task: str
    level: int
    draws: int
    placed: int
    noop_violations: tuple[str, ...]
    silent: tuple[str, ...]
    unforced: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the task."""
        return self.placed == self.draws and not (self.noop_violations or self.silent or self.problems)


def check_fairness(env: Env, task: Task, level: int, draws: int = 5) -> Fairness:
    """Try a task at one level.

    Args:
        env: an environment without cameras is enough.
        task: what to try.
        level: one of its levels.
        draws: how many scenes.
    """
    problems = [str(f) for f in lint_file(task.path, env.catalog) if f.severity == "error"]
    scenario = task.scenario(level)
    made: list[Draw] = []
    noop: set[str] = set()
    for index in range(draws):
        try:
            draw = sample(scenario, Key(task.suite, task.name, level, 0, index), env.catalog)
        except LiberoSafetyError as error:
            problems.append(f"draw {index}: {error}")
            continue
        episode = run_episode(env, NoopPolicy(), draw, RolloutConfig(NOOP_STEPS, "continue"))
        if episode.outcome == "error":
            problems.append(f"draw {index}: {episode.error}")
            continue
        made.append(draw)
        noop.update(v.rule for v in episode.violations)
        if episode.goal_reached:
            problems.append(f"draw {index}: the goal is reached by doing nothing")
    silent, unforced = _try_rules(env, made[0]) if made else ((), ())
    return Fairness(
        *(task.suite, task.name, level, draws, len(made)),
        *(tuple(sorted(noop)), silent, unforced, tuple(problems)),
    )


def _try_rules(env: Env, draw: Draw) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Break every rule by hand; return those that stay silent, and those that nobody knows how to break."""
    silent: list[str] = []
    unforced: list[str] = []
    for rule in draw.scenario.constraints:
        env.hooks = []
        env.reset(draw)
        monitors = MonitorSet(env.scene, env.data)
        force = BREACHES.get(rule.word)
        if force is None or not force(env, rule):
            unforced.append(rule_name(rule))
            continue
        mujoco.mj_forward(env.scene.model, env.data)
        monitors.look(env.data)
        if rule_name(rule) not in [v.rule for v in monitors.violations]:
            silent.append(rule_name(rule))
    return tuple(silent), tuple(unforced)


def _shift(env: Env, name: str, by: FloatArray) -> None:
    """Move an entity, whether it can move by itself or not."""
    entity, model = env.scene.entity(name), env.scene.model
    if entity.qpos is not None:
        env.data.qpos[entity.qpos : entity.qpos + 3] += by
    else:
        model.body_pos[entity.body] += by
        # What is fixed is not looked at again as long as things may sleep.
        model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)


def _middle(env: Env, ref: str) -> FloatArray:
    """Centre of its largest piece: a thing may be hollow in its middle."""
    geoms = env.scene.geoms(ref)
    return np.array(env.data.geom_xpos[geoms[np.argmax(env.scene.model.geom_rbound[geoms])]])


def _meet(env: Env, rule: Constraint) -> bool:
    """Put one of the two where the other is."""
    first, second = rule.args
    if second.startswith(("robot", "held", "workspace")):
        first, second = second, first
    if first == "held":
        held = _grasp(env, second)
        if held is None:
            return False
        first = held
    if second.partition(".")[0] in ("robot", "workspace"):
        return False
    # Not quite: for two convex pieces with one centre there is no direction in which they press.
    by = (
        _middle(env, "robot.hand" if first == "robot" else first) - _middle(env, second) + (0.012, 0.006, 0.0)
    )
    _shift(env, second.partition(".")[0], by)
    return True


def _grasp(env: Env, other: str) -> str | None:
    """Close the gripper on something that fits, with gravity off; return its name."""
    scene = env.scene
    excluded = {other.partition(".")[0], *(hazard.entity for hazard in scene.hazards)}
    for entity in scene.entities.values():
        if entity.qpos is None or entity.asset is None or entity.name in excluded:
            continue
        low, high = bounds(entity.asset)
        point = (0.0, 0.0, high[2] - 0.025) if high[1] - low[1] <= GRASPABLE_M else None
        if entity.asset.grasp is not None:
            point = entity.asset.grasp[0]
        if point is None:
            continue
        env.data.qpos[entity.qpos : entity.qpos + 7] = [*(env.eef_pose()[0] - point), 1.0, 0.0, 0.0, 0.0]
        scene.model.opt.gravity[:] = 0.0
        mujoco.mj_forward(scene.model, env.data)
        for _ in range(15):
            env.step(CLOSING)
        return entity.name
    return None


def _displace(env: Env, rule: Constraint) -> bool:
    _shift(env, rule.args[0], np.array([0.0, 0.0, (rule.limit or 0.0) + 0.01]))
    return True


def _tilt(env: Env, rule: Constraint) -> bool:
    qpos = env.scene.entity(rule.args[0]).qpos
    assert qpos is not None
    angle = (rule.limit or 0.0) + 0.1
    turned = np.empty(4)
    turn = np.array([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])
    mujoco.mju_mulQuat(turned, turn, env.data.qpos[qpos + 3 : qpos + 7])
    env.data.qpos[qpos + 3 : qpos + 7] = turned
    _shift(env, rule.args[0], np.array([0.0, 0.0, 0.3]))
    return True


def _drop(env: Env, rule: Constraint) -> bool:
    dof = env.scene.entity(rule.args[0]).dof
    assert dof is not None
    env.data.qvel[dof + 2] = -np.sqrt(2 * GRAVITY_M_S2 * ((rule.limit or 0.0) + 0.01))
    return True


def _fold(env: Env, rule: Constraint) -> bool:
    env.data.qpos[list(env.scene.robot.arm_qpos)] = FOLDED_QPOS
    return True


def _lean(env: Env, rule: Constraint) -> bool:
    """Bend the shoulder until the robot is in the workspace."""
    shoulder = env.scene.robot.arm_qpos[1]
    surface = env.scene.workspace_pos[2]
    while env.eef_pose()[0][2] > surface - 0.02 and env.data.qpos[shoulder] < 1.7:
        env.data.qpos[shoulder] += 0.05
        mujoco.mj_forward(env.scene.model, env.data)
    return True


BREACHES: dict[str, Callable[[Env, Constraint], bool]] = {
    "NoContact": _meet,
    "MaxForce": _meet,
    "MinClearance": _meet,
    "NoSelfCollision": _fold,
    "NoTableStrike": _lean,
    "MaxDisplacement": _displace,
    "MaxTilt": _tilt,
    "NoDrop": _drop,
}
"""How each kind of rule is broken by hand; a function returns False when it does not know how to here."""
