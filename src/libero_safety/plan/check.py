"""What every planner does before and after it searches: look at the ends, count its work, shorten, prove."""

import time

import numpy as np

from libero_safety.plan.problem import Path, PlanFailed, Problem, Upright
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

SHORTCUTS = 80
"""Shortcuts that are tried on a path."""
LIMIT_SLACK_RAD = 0.01
"""How far a joint may be beyond its limits at the start: in the simulation they give a little."""
TILT_STEP_RAD = 0.05
"""How far the joints together move between two looks at the tilt of the gripper."""


class Validity:
    """Whether configurations and edges of a problem will do: free, within limits, and as its constraint says.

    `Upright` is checked here; `Straight` and `Hinge` are a matter of how a path is made.

    Attributes:
        checks: edges looked at so far.
    """

    def __init__(self, problem: Problem) -> None:
        self.world, self.checks = problem.world, 0
        self._arm = self._axis = None
        self._least = -1.0
        if isinstance(problem.constraint, Upright):
            self._arm = problem.world.arm
            self._axis = self._arm.fk(problem.start)[1][:, 2]
            self._least = float(np.cos(problem.constraint.tilt_rad)) - 1e-9

    def upright(self, joints: FloatArray) -> bool:
        """Whether the fingers point as they must."""
        if self._arm is None or self._axis is None:
            return True
        return float(self._arm.fk(joints)[1][:, 2] @ self._axis) >= self._least

    def edge(self, first: FloatArray, last: FloatArray, step_m: float | None = None) -> bool:
        """Whether a straight line in joint space will do, its first end not looked at; see `World.first_hit`."""
        self.checks += 1
        return self._upright_between(first, last) and self.world.edge_free(first, last, step_m)

    def path(self, joints: FloatArray) -> bool:
        """Whether a polyline will do, its start not looked at."""
        return all(self.edge(joints[i], joints[i + 1]) for i in range(len(joints) - 1))

    def _upright_between(self, first: FloatArray, last: FloatArray) -> bool:
        if self._arm is None:
            return True
        count = max(1, int(np.ceil(float(np.abs(last - first).sum()) / TILT_STEP_RAD)))
        return all(self.upright(first + (last - first) * (i / count)) for i in range(1, count + 1))


class Query:
    """A problem on its way: its start and the goals that will do, the work spent on it, and the clock.

    Attributes:
        problem: what was asked.
        world: that of the problem.
        valid: judges edges, and counts them.
        start: (7,).
        goals: (n, 7), all of them free, in their order.
    """

    def __init__(
        self, problem: Problem, name: str, valid: Validity, goals: FloatArray, began_s: float
    ) -> None:
        """Begin; see `of`."""
        self.problem, self.world, self.valid, self.goals = problem, problem.world, valid, goals
        self.start = np.array(problem.start, np.float64)
        self._name, self._began_s, self._stopped = name, began_s, False

    @classmethod
    def of(cls, problem: Problem, name: str, *, free: bool = False) -> "Query | PlanFailed":
        """Return a problem on its way, or why there is nothing to search for.

        Args:
            problem: what is asked.
            name: of the planner.
            free: it plans free ways only, and keeps no constraint.
        """
        if free and problem.constraint is not None:
            return PlanFailed("constraint", f"{name} cannot keep a {type(problem.constraint).__name__} path")
        began_s, valid = time.perf_counter(), Validity(problem)
        goals = _usable_goals(problem, valid)
        return goals if isinstance(goals, PlanFailed) else cls(problem, name, valid, goals, began_s)

    @property
    def _spent_s(self) -> float:
        return time.perf_counter() - self._began_s

    @property
    def left_s(self) -> float:
        """Seconds until the clock stops the search."""
        return self.problem.stop_s - self._spent_s

    @property
    def over(self) -> bool:
        """Whether the effort is spent, or the clock has stopped the search: then nothing counts as found any more."""
        self._stopped = self._stopped or self.left_s <= 0.0
        return self._stopped or self.valid.checks >= self.problem.effort

    def found(self, joints: FloatArray) -> Path | PlanFailed:
        """Return a path; the failure where the clock had a say in it."""
        if self._stopped:
            return self.failed("")
        return Path(joints, self._name, self._spent_s)

    def failed(self, why: str) -> PlanFailed:
        """Return the failure that is due when it is over: `timeout` where it was the clock, else `exhausted`."""
        if self._stopped:
            return PlanFailed(
                "timeout", f"{self._name} was stopped by the clock after {self.problem.stop_s:g} s"
            )
        return PlanFailed("exhausted", f"{why}; {self.valid.checks} edges were looked at")


def _usable_goals(problem: Problem, valid: Validity) -> FloatArray | PlanFailed:
    """Return the goals (n, 7) that will do, in their order, or why there is nothing to search for."""
    world, start = problem.world, np.asarray(problem.start, np.float64)
    goals = np.asarray(problem.goals, np.float64).reshape(-1, 7)
    if not world.inside_limits(start, LIMIT_SLACK_RAD):
        return PlanFailed("start_outside_limits", _outside(world, start))
    names = world.first_contact(start)
    if names is not None:
        return PlanFailed("start_in_collision", f"at the start {_near(names)}")
    if not len(goals):
        return PlanFailed("no_goal", "there is no goal")
    inside = goals[[world.inside_limits(goal) for goal in goals]]
    if not len(inside):
        return PlanFailed("no_goal", f"no goal is within the joint limits: {_outside(world, goals[0])}")
    upright = inside[[valid.upright(goal) for goal in inside]]
    if not len(upright):
        return PlanFailed("constraint", "every goal tilts the gripper further than the constraint allows")
    free = upright[[world.free(goal) for goal in upright]]
    if not len(free):
        names = world.first_contact(upright[0])
        assert names is not None
        return PlanFailed(
            "goal_in_collision", f"at every goal something is touched; at the first {_near(names)}"
        )
    return free


def _near(names: tuple[str, str]) -> str:
    return f"{names[0]} is too near to {names[1]}"


def _outside(world: World, joints: FloatArray) -> str:
    low, high = world.limits.T
    beyond = np.maximum(low - joints, joints - high)
    worst = int(np.argmax(beyond))
    return f"joint {worst + 1} is at {joints[worst]:.3f} rad, outside [{low[worst]:.3f}, {high[worst]:.3f}]"


def shortcut(
    joints: FloatArray,
    valid: Validity,
    rng: np.random.Generator,
    rounds: int = SHORTCUTS,
    step_m: float | None = None,
) -> FloatArray:
    """Return a polyline with the same ends, no longer than `joints` (n, 7).

    Points anywhere on the path are joined by straight lines where these are free.
    """
    path = np.asarray(joints, np.float64)
    for _ in range(rounds):
        if len(path) < 3:
            break
        lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
        first, last = np.sort(rng.uniform(0.0, lengths[-1], 2))
        i, j = (int(np.searchsorted(lengths, at, side="right")) - 1 for at in (first, last))
        if i == j:
            continue
        a = path[i] + (path[i + 1] - path[i]) * (first - lengths[i]) / (lengths[i + 1] - lengths[i])
        b = path[j] + (path[j + 1] - path[j]) * (last - lengths[j]) / (lengths[j + 1] - lengths[j])
        if last - first - np.linalg.norm(b - a) > 1e-3 and valid.edge(a, b, step_m):
            path = np.concatenate([path[: i + 1], [a, b], path[j + 1 :]])
    return _straightened(path, valid, step_m)


def _straightened(path: FloatArray, valid: Validity, step_m: float | None) -> FloatArray:
    """Leave rows out as far as the way without them is free."""
    rows = [0]
    while rows[-1] < len(path) - 1:
        here = rows[-1]
        after = len(path) - 1
        while after > here + 1 and not valid.edge(path[here], path[after], step_m):
            after -= 1
        rows.append(after)
    return path[rows]
