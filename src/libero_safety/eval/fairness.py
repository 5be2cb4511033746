"""Proof that a task is fair: it begins unsolved and harmless, fits, and every rule can be broken."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from libero_safety.assets.catalog import Catalog
from libero_safety.assets.geometry import bounds
from libero_safety.demo.check import check_keyposes
from libero_safety.demo.keypose import KeyposeError, load_keyposes
from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.baselines import NoopPolicy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.safety.bystander import GRAVITY_M_S2
from libero_safety.safety.monitor import MonitorSet, rule_name
from libero_safety.sim import contact
from libero_safety.sim.env import Env
from libero_safety.suites import Task
from libero_safety.types import FloatArray, Key
from libero_safety.ubddl.lint import lint_file
from libero_safety.ubddl.sample import Draw, sample
from libero_safety.ubddl.spec import Constraint, Scenario

NOOP_STEPS = 60
FOLDED_QPOS = (1.87, -0.3, 1.91, -3.04, -0.78, 0.28, 0.88)
"""Arm joints at which the hand is inside link1 (rad)."""
GRASPABLE_M = 0.075
"""Things narrower than this fit between the fingers."""
DEPTHS_M = (0.004, 0.012, 0.03)
"""How far into each other two things are put, the least first: a limit of force wants more than a touch."""
REACH_M = 5.0
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
    problems += _keypose_problems(task, scenario, env.catalog)
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


def _keypose_problems(task: Task, scenario: Scenario, catalog: Catalog) -> list[str]:
    """Return what is wrong with the keyposes of the task, if it has any."""
    if task.keyposes_path is None:
        return []
    try:
        keyposes = load_keyposes(task.keyposes_path)
    except KeyposeError as error:
        return [str(error)]
    return check_keyposes(keyposes, scenario, catalog, str(task.keyposes_path))


def _try_rules(env: Env, draw: Draw) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Break every rule by hand; return those that stay silent, and those that nobody knows how to break."""
    silent: list[str] = []
    unforced: list[str] = []
    for rule in draw.scenario.constraints:
        fired: bool | None = None
        for depth_m in DEPTHS_M:
            fired = _fires(env, draw, rule, depth_m)
            if fired is not False:
                break
        if fired is None:
            unforced.append(rule_name(rule))
        elif not fired:
            silent.append(rule_name(rule))
    return tuple(silent), tuple(unforced)


def _fires(env: Env, draw: Draw, rule: Constraint, depth_m: float) -> bool | None:
    """Break one rule by hand; return whether it fires, or None when nobody knows how to break it."""
    env.hooks = []
    env.reset(draw)
    monitors = MonitorSet(env.scene, env.data)
    force = BREACHES.get(rule.word)
    if force is None or not force(env, rule, depth_m):
        return None
    mujoco.mj_forward(env.scene.model, env.data)
    monitors.look(env.data)
    return rule_name(rule) in [v.rule for v in monitors.violations]


def _shift(env: Env, name: str, by: FloatArray) -> None:
    """Move an entity, whether it can move by itself or not."""
    entity, model = env.scene.entity(name), env.scene.model
    if entity.qpos is not None:
        env.data.qpos[entity.qpos : entity.qpos + 3] += by
    else:
        model.body_pos[entity.body] += by
        # What is fixed is not looked at again as long as things may sleep.
        model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)


def _meet(env: Env, rule: Constraint, depth_m: float) -> bool:
    """Move one of the two against the other, along the shortest way."""
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
    # The base is fixed: it can touch nothing that is fixed too.
    gap = _gap(env, "robot.gripper" if first == "robot" else first, second)
    if gap is None:
        return False
    _shift(env, second.partition(".")[0], gap * (1.0 + depth_m / max(float(np.linalg.norm(gap)), 1e-9)))
    return True


def _gap(env: Env, first: str, second: str) -> FloatArray | None:
    """Return the way (3,) from the second to the first where they are nearest (m, world); None beyond reach."""
    scene = env.scene
    found = contact.nearest(scene.model, env.data, scene.geoms(first), scene.geoms(second), REACH_M)
    if found.first < 0:
        return None
    ends = np.zeros(6)
    mujoco.mj_geomDistance(scene.model, env.data, found.first, found.second, REACH_M, ends)
    return ends[:3] - ends[3:]


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


def _displace(env: Env, rule: Constraint, depth_m: float) -> bool:
    _shift(env, rule.args[0], np.array([0.0, 0.0, (rule.limit or 0.0) + 0.01]))
    return True


def _tilt(env: Env, rule: Constraint, depth_m: float) -> bool:
    qpos = env.scene.entity(rule.args[0]).qpos
    assert qpos is not None
    angle = (rule.limit or 0.0) + 0.1
    turned = np.empty(4)
    turn = np.array([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])
    mujoco.mju_mulQuat(turned, turn, env.data.qpos[qpos + 3 : qpos + 7])
    env.data.qpos[qpos + 3 : qpos + 7] = turned
    _shift(env, rule.args[0], np.array([0.0, 0.0, 0.3]))
    return True


def _drop(env: Env, rule: Constraint, depth_m: float) -> bool:
    dof = env.scene.entity(rule.args[0]).dof
    assert dof is not None
    env.data.qvel[dof + 2] = -np.sqrt(2 * GRAVITY_M_S2 * ((rule.limit or 0.0) + 0.01))
    return True


def _fold(env: Env, rule: Constraint, depth_m: float) -> bool:
    env.data.qpos[list(env.scene.robot.arm_qpos)] = FOLDED_QPOS
    return True


def _lean(env: Env, rule: Constraint, depth_m: float) -> bool:
    """Bend the shoulder until the robot is in the workspace."""
    shoulder = env.scene.robot.arm_qpos[1]
    surface = env.scene.workspace_pos[2]
    while env.eef_pose()[0][2] > surface - 0.02 and env.data.qpos[shoulder] < 1.7:
        env.data.qpos[shoulder] += 0.05
        mujoco.mj_forward(env.scene.model, env.data)
    return True


BREACHES: dict[str, Callable[[Env, Constraint, float], bool]] = {
    "NoContact": _meet,
    "MaxForce": _meet,
    "MinClearance": _meet,
    "NoSelfCollision": _fold,
    "NoTableStrike": _lean,
    "MaxDisplacement": _displace,
    "MaxTilt": _tilt,
    "NoDrop": _drop,
}
"""How each kind of rule is broken by hand; a function returns False when it does not know how to here.

The last argument is how deep two things are pushed into each other, where that is the way."""
