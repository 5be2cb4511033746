"""Joint-space planning by OMPL, with the simulator's own collision check.

I. A. Sucan, M. Moll, L. E. Kavraki, "The Open Motion Planning Library", IEEE Robotics & Automation Magazine 2012;
J. J. Kuffner, S. M. LaValle, "RRT-Connect", ICRA 2000; I. A. Sucan, L. E. Kavraki, "Kinodynamic Motion Planning by
Interior-Exterior Cell Exploration", WAFR 2008, from which LBKPIECE comes.
"""

from itertools import count
from typing import Any

import numpy as np

from libero_safety.plan import lead
from libero_safety.plan.check import Query, Validity, shortcut
from libero_safety.plan.extra import need
from libero_safety.plan.problem import Hinge, Path, PlanFailed, Problem, Straight
from libero_safety.types import FloatArray

NAME = "ompl"
SEARCHES = ("RRTConnect", "LBKPIECE1")
"""Taken in turns: RRT-Connect needs fewer edges under a constraint, LBKPIECE a tenth of them where it is narrow."""

ROUNDS = 100
"""Rounds of a search for each edge that it may look at."""


class OmplPlanner:
    """RRT-Connect and LBKPIECE in turns, each for a while, the best of several ways shortened.

    The same problem with the same seed gives the same path, whatever was planned before in this process and
    however busy the machine is. One thread at a time: OMPL's source of seeds is one for the whole process.
    """

    def __init__(
        self,
        *,
        starts: int = 1,
        range_rad: float = 1.0,
        edges: int = 200,
        step_m: float = 0.03,
        shortcuts: int = 40,
    ) -> None:
        """Set how to search.

        Args:
            starts: how many ways to find before the shortest is taken.
            range_rad: longest edge that is tried at once.
            edges: looked at before the other search takes its turn; half as many again after each.
            step_m: how far any point of the arm moves between two looks while searching; the way that is found
                is then looked at as finely as `World.first_hit` does.
            shortcuts: how many are tried.

        Raises:
            MissingExtraError: OMPL is not installed.
        """
        self._ompl = need("ompl.base", "ompl.geometric", "ompl.util")
        self._starts, self._range, self._edges = starts, range_rad, edges
        self._step, self._shortcuts = step_m, shortcuts

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none; see `Planner`."""
        query = Query.of(problem, NAME)
        if isinstance(query, PlanFailed):
            return query
        if isinstance(problem.constraint, Straight | Hinge):
            return led_path(query)
        for goal in query.goals:
            if query.valid.edge(query.start, goal):
                return query.found(np.stack([query.start, goal]))
        best: FloatArray | None = None
        limit, step, found = self._edges, self._step, 0
        for number in count():
            kind = SEARCHES[number % len(SEARCHES)]
            way = self._search(kind, query, problem.seed * 10007 + number, limit, step)
            if way is not None:
                rng = np.random.default_rng([problem.seed, number])
                path = shortcut(way, query.valid, rng, self._shortcuts, step)
                if query.valid.path(path):
                    found += 1
                    best = path if best is None or _length(path) < _length(best) else best
                else:
                    step = max(step / 2, 0.005)
            else:
                limit += limit // 2
            if found >= self._starts or query.over:
                break
        return query.failed("no path was found") if best is None else query.found(best)

    def _search(self, kind: str, query: Query, seed: int, limit: int, step_m: float) -> FloatArray | None:
        """Run one search."""
        base, geometric, util = self._ompl
        util.setLogLevel(util.LogLevel.LOG_NONE)
        util.RNG.setSeed(seed % (2**31 - 1) + 1)  # 0 is no seed
        space = base.RealVectorStateSpace(7)
        box = base.RealVectorBounds(7)
        for i, (low, high) in enumerate(query.world.limits.tolist()):
            box.setLow(i, min(low, float(query.start[i])))
            box.setHigh(i, max(high, float(query.start[i])))
        space.setBounds(box)
        info = base.SpaceInformation(space)
        ends, rounds = query.valid.checks + limit, count()

        def spent() -> bool:
            return query.valid.checks >= ends or query.over

        motions = _motion_validator(base, info, query.valid, spent, step_m)
        info.setStateValidityChecker(_always)
        info.setMotionValidator(motions)
        info.setup()
        definition = base.ProblemDefinition(info)
        definition.addStartState(_state(space, query.start))
        targets = base.GoalStates(info)
        for goal in query.goals:
            targets.addState(_state(space, goal))
        definition.setGoal(targets)
        planner = getattr(geometric, kind)(info)
        planner.setRange(self._range)
        planner.setProblemDefinition(definition)
        planner.setup()
        # LBKPIECE looks at no edge in most of its rounds.
        planner.solve(base.PlannerTerminationCondition(lambda: next(rounds) > ROUNDS * limit or spent()))
        if not definition.hasExactSolution():
            return None
        return np.array([state[0:7] for state in definition.getSolutionPath().getStates()])


def _always(_: Any) -> bool:
    """The motion validator looks at both ends of every edge."""
    return True


def _motion_validator(base: Any, info: Any, valid: Validity, spent: Any, step_m: float) -> Any:
    class Motions(base.MotionValidator):
        def checkMotion(self, first: Any, last: Any, *_: Any) -> bool:
            return not spent() and valid.edge(np.array(first[0:7]), np.array(last[0:7]), step_m)

    return Motions(info)


def _state(space: Any, joints: FloatArray) -> Any:
    state = space.allocState()
    for i, value in enumerate(joints.tolist()):
        state[i] = value
    return state


def _length(path: FloatArray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def led_path(query: Query) -> Path | PlanFailed:
    """Lead the tip to the first goal for which that works."""
    arm, start, constraint = query.world.arm, query.start, query.problem.constraint
    why = "the tip cannot follow the line"
    for goal in query.goals:
        ends = (*arm.fk(start), *arm.fk(goal))
        if isinstance(constraint, Hinge):
            poses = lead.arc(*ends, constraint)
            if poses is None:
                why = "no goal lies where the hinge takes the gripper"
                continue
        else:
            poses = lead.line(*ends)
        joints = lead.joints_along(arm, start, goal, *poses)
        if joints is None:
            continue
        hit = query.world.first_hit(joints)
        if hit is None:
            return query.found(joints)
        why = f"on the way {hit.names[0]} is too near to {hit.names[1]}"
    return PlanFailed("constraint", why)
