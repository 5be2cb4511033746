"""What a motion planner is asked, and what it answers.

Joint positions are those of the arm, (7,) in rad; poses are of the grip site, in the world.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from libero_safety.plan.world import World
from libero_safety.types import FloatArray

EFFORT = 4000
"""Edges that are looked at before a search is given up; about two seconds' worth."""
STOP_S = 60.0
"""Seconds after which a search is taken to hang."""


@dataclass(frozen=True)
class Upright:
    """The fingers stay within `tilt_rad` of the direction in which they point at the start (a full cup)."""

    tilt_rad: float


@dataclass(frozen=True)
class Straight:
    """The grip site moves on the straight line between its ends (the last centimetres before a grasp)."""


@dataclass(frozen=True, eq=False)
class Hinge:
    """The grip site turns about an axis (a door): a point (3,) on it and its unit direction (3,), world."""

    point: FloatArray
    axis: FloatArray


PathConstraint: TypeAlias = Upright | Straight | Hinge


@dataclass(frozen=True, eq=False)
class Problem:
    """One motion to find.

    Attributes:
        world: what must not be touched, and what the gripper holds.
        start: (7,) joints.
        goals: (n, 7) joints, any one of which will do, the most wanted first.
        constraint: what must hold all along the path, if anything.
        effort: edges to look at before giving up: the same on every machine, however busy it is.
        stop_s: seconds after which a planner that hangs is stopped. The clock never chooses between ways: what it
            stops ends as `timeout`.
        seed: makes a random planner repeat itself.
    """

    world: World
    start: FloatArray
    goals: FloatArray
    constraint: PathConstraint | None = None
    effort: int = EFFORT
    stop_s: float = STOP_S
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Path:
    """A way from the start to one of the goals, free along every straight line in joint space between its rows.

    Attributes:
        joints: (n, 7), n >= 2.
        planner: who found it.
        plan_s: how long that took.
    """

    joints: FloatArray
    planner: str
    plan_s: float


@dataclass(frozen=True)
class PlanFailed:
    """Why there is no path.

    Attributes:
        reason: `start_in_collision`, `start_outside_limits`, `no_goal`, `goal_in_collision`,
            `constraint`, `exhausted`, `timeout` or `backend`.
        detail: in words, with the names of what touches or what is out of reach.
    """

    reason: str
    detail: str


class Planner(Protocol):
    """Finds collision-free paths. Open set: see `PLANNERS`."""

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none, within the problem's effort."""
        ...
