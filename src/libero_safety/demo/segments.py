"""Ways from keypose to keypose: straight where that is free, else as a planner finds them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from libero_safety.demo.keypose import VERBS
from libero_safety.demo.layout import Layout
from libero_safety.demo.rejects import ReasonName
from libero_safety.demo.report import Failure
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage
from libero_safety.demo.target import PoseArrays
from libero_safety.errors import LiberoSafetyError
from libero_safety.plan.lead import arc, line
from libero_safety.plan.problem import Hinge, PlanFailed, Planner, Problem, Upright
from libero_safety.plan.world import World
from libero_safety.types import FloatArray, Keypose

FREE = ((0.08, 0.3), (0.03, 0.15))
"""How far (m, rad) a smooth motion may leave a way through free space; the second where the first gives none."""
CLOSE_M, CLOSE_RAD = 0.004, 0.03
"""How far it may leave the way on which something is touched or let go."""
FUNNEL_M = 0.08
"""Length of the end of a way along which it narrows, when something is touched there."""
STRAIGHT_SHARE = 0.1
"""Share for a way that has to be straight though nothing is touched."""

LOOSE_VERBS = ("lift", "retreat")
"""Verbs whose way may bend although it should be straight: they lead away from what is touched."""

REASONS: dict[str, ReasonName] = {
    "start_in_collision": "start_in_collision",
    "start_outside_limits": "start_in_collision",
    "no_goal": "unreachable",
    "goal_in_collision": "keypose_in_collision",
    "timeout": "plan_timeout",
}
"""Reasons of planners as reasons of rejects; any other is `plan_failed`."""


class SearchStoppedError(LiberoSafetyError):
    """The clock stopped a search: no other way may be taken because of that.

    Attributes:
        failure: what is to be reported.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.reason} at {failure.stage!r}: {failure.detail}")
        self.failure = failure


@dataclass(frozen=True, eq=False)
class Segment:
    """The way to one keypose.

    Attributes:
        pos: (n, 3) of the grip site; the first row is where it begins.
        rot: (n, 3, 3).
        share: (n,) of what a motion may leave the way by in free space; 0 where something is touched.
        planner: who found it.
    """

    pos: FloatArray
    rot: FloatArray
    share: FloatArray
    planner: str

    def slack(self, free_m: float, free_rad: float) -> tuple[FloatArray, FloatArray]:
        """Return how far (m, rad) a motion may leave each row, when it may leave it by so much in free space."""
        return CLOSE_M + (free_m - CLOSE_M) * self.share, CLOSE_RAD + (free_rad - CLOSE_RAD) * self.share


class Segmenter:
    """Finds the ways of a stage, one keypose after the other."""

    def __init__(self, planner: Planner, seed: int, effort: int) -> None:
        self._planner, self._seed, self._effort = planner, seed, effort

    def segments(
        self, situation: Situation, stage: Stage, layout: Layout, world: Callable[[int], World]
    ) -> list[Segment] | Failure:
        """Return the ways to all keyposes of a stage, or why one cannot be reached.

        Args:
            situation: how things are where the stage begins.
            stage: whose ways they are.
            layout: its grip poses.
            world: what may not be touched on the way to each keypose.

        Raises:
            SearchStoppedError: the clock stopped a search.
        """
        found: list[Segment] = []
        tip, joints = situation.tip, situation.joints
        for index, (keypose, goal) in enumerate(zip(stage.keyposes, layout.poses, strict=True)):
            end = layout.joints[index]
            assert end is not None
            way = self._way(situation, keypose, world(index), tip, joints, goal, end)
            if isinstance(way, Failure):
                return way
            found.append(_with_slack(way, stage, index, leaves=index == 0 and situation.at_rest))
            tip, joints = goal, end
        return found

    def _way(
        self,
        situation: Situation,
        keypose: Keypose,
        world: World,
        tip: PoseArrays,
        joints: FloatArray,
        goal: PoseArrays,
        end: FloatArray,
    ) -> tuple[FloatArray, FloatArray, str] | Failure:
        names = world.first_contact(end)
        if names is not None:
            return _near("keypose_in_collision", keypose, names, f"at {keypose.name!r}")
        led = _led(situation, keypose, tip, goal)
        if led is None:
            return Failure(
                "plan_failed",
                keypose.name,
                f"{keypose.hinge} does not lead from the keypose before to {keypose.name!r}",
            )
        hit = _first_hit(situation, world, *led, joints)
        if hit is None:
            return *led, "straight"
        if keypose.hinge or (keypose.straight and keypose.verb not in LOOSE_VERBS):
            return _near("plan_failed", keypose, hit, f"on the straight way to {keypose.name!r}")
        return self._search(situation, keypose, world, joints, end)

    def _search(
        self, situation: Situation, keypose: Keypose, world: World, joints: FloatArray, end: FloatArray
    ) -> tuple[FloatArray, FloatArray, str] | Failure:
        constraint = Upright(keypose.upright) if keypose.upright is not None else None
        problem = Problem(world, joints, end[None], constraint, self._effort, seed=self._seed)
        path = self._planner.plan(problem)
        if isinstance(path, PlanFailed):
            reason = REASONS.get(path.reason, "plan_failed")
            failure = Failure(reason, keypose.name, f"{path.reason}: {path.detail}")
            if reason == "plan_timeout":
                raise SearchStoppedError(failure)
            return failure
        poses = [situation.arm.fk(row) for row in path.joints]
        return np.array([pos for pos, _ in poses]), np.array([rot for _, rot in poses]), path.planner


def _near(reason: ReasonName, keypose: Keypose, names: tuple[str, str], where: str) -> Failure:
    return Failure(reason, keypose.name, f"{names[0]} would touch, or be too near to, {names[1]} {where}")


def _led(
    situation: Situation, keypose: Keypose, tip: PoseArrays, goal: PoseArrays
) -> tuple[FloatArray, FloatArray] | None:
    if not keypose.hinge:
        return line(*tip, *goal)
    return arc(*tip, *goal, Hinge(*situation.hinge(keypose.hinge)))


def _first_hit(
    situation: Situation, world: World, pos: FloatArray, rot: FloatArray, joints: FloatArray
) -> tuple[str, str] | None:
    """Return what would touch what, or be too near, on a led way; the way out of reach counts as a hit."""
    for row in range(1, len(pos)):
        found = situation.arm.natural(pos[row], rot[row], joints)
        if found is None:
            return "robot", "the end of its reach"
        joints = found
        names = world.first_contact(joints)
        if names is not None:
            return names
    return None


def _with_slack(
    way: tuple[FloatArray, FloatArray, str], stage: Stage, index: int, *, leaves: bool
) -> Segment:
    """Say how far a smooth motion may leave the way: by little near to what is touched at its ends.

    Args:
        way: positions, rotations and who found them.
        stage: whose way it is.
        index: number of its keypose.
        leaves: whether it begins where something was touched.
    """
    pos, rot, planner = way
    keypose = stage.keyposes[index]
    gone = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(pos, axis=0), axis=1))])
    share = np.ones(len(pos))
    if VERBS[keypose.verb].touches != "nothing" and keypose.verb not in ("lift", "retreat"):
        share = np.minimum(share, (gone[-1] - gone) / FUNNEL_M)
    if leaves and (stage.leaves is not None or stage.holds is not None):
        share = np.minimum(share, gone / FUNNEL_M)
    if keypose.straight and keypose.verb == "move":
        share = np.minimum(share, STRAIGHT_SHARE)
    if keypose.hinge:
        share[:] = 0.0
    return Segment(pos, rot, np.clip(share, 0.0, 1.0), planner)
