"""From the keyposes of a stage to grip poses in the world, consistent from grasp to release."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage, entity_of
from libero_safety.demo.target import (
    GRIPPER,
    PoseArrays,
    about_x,
    about_y,
    about_z,
    grip_for,
    grip_frame,
    held_in_grip,
    nearest_turn,
    world_target,
)
from libero_safety.types import FloatArray, Keypose, Symmetry

LIMIT_RAD = 0.04
"""How far from their limits the joints stay at a keypose: the elbow lags behind while the tip moves."""
LEANS_RAD = (math.radians(8.0), math.radians(15.0))
"""How far the hand may lean where it has to: its fingers hold nearly as well then."""
_TURNS: dict[Symmetry, tuple[float, ...]] = {
    "none": (0.0,),
    "half-turn": (0.0, math.pi),
    "full": tuple(k * math.pi / 4 for k in (0, 1, -1, 2, -2, 3, -3, 4)),
}


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the grip site goes in one stage.

    Attributes:
        poses: of the grip site, one per keypose.
        joints: (7,) natural joints there; None where there are none.
        problems: how many of the poses are out of reach or not free.
    """

    poses: tuple[PoseArrays, ...]
    joints: tuple[FloatArray | None, ...]
    problems: int = 0

    @property
    def unreachable(self) -> int | None:
        """The first keypose that is out of reach."""
        return next((i for i, joints in enumerate(self.joints) if joints is None), None)


Count: TypeAlias = Callable[[Layout], int]
"""Tells how many of the keyposes of a layout that are within reach are not free."""
Blocked: TypeAlias = Callable[[Situation, Stage], Count]
"""Looks at a scene where a stage begins, so as to count for any layout of the stage."""


def lay_out(
    situation: Situation, stage: Stage, turn: FloatArray, arrive_s: float, blocked: Blocked, attempt: int = 0
) -> Layout:
    """Return the grip poses of a stage.

    Where a held thing may arrive turned in several ways, it is the least turn with which all poses are within reach
    and free, or else one with the fewest that are not.

    Args:
        situation: how things are where the stage begins.
        stage: whose keyposes to lay out.
        turn: (3, 3) how the gripper is turned against what the keyposes say, see `choose_turn`.
        arrive_s: when frames that move by themselves are looked at, seconds since the episode began.
        blocked: looks at what is not free.
        attempt: how many attempts failed; the next begins with another turn.

    Raises:
        SceneError: a keypose names something that the scene lacks.
    """
    return _lay_out(situation, stage, turn, arrive_s, blocked(situation, stage), attempt)


def _lay_out(
    situation: Situation, stage: Stage, turn: FloatArray, arrive_s: float, count: Count, attempt: int = 0
) -> Layout:
    held = [keypose for keypose in stage.keyposes if keypose.tool]
    best: Layout | None = None
    spins = _TURNS[held[0].symmetry if held else "none"]
    first = attempt % len(spins)
    for spin in (*spins[first:], *spins[:first]):
        layout = _laid_out(situation, stage, turn, arrive_s, spin)
        missed = sum(joints is None for joints in layout.joints)
        layout = replace(layout, problems=missed + count(layout))
        if best is None or layout.problems < best.problems:
            best = layout
        if not best.problems:
            break
    assert best is not None
    return best


def _laid_out(situation: Situation, stage: Stage, turn: FloatArray, arrive_s: float, spin: float) -> Layout:
    """Return the grip poses of a stage, what is held turned by `spin` (rad) from where it is turned least."""
    tip, joints = situation.tip, situation.joints
    poses: list[PoseArrays] = []
    found: list[FloatArray | None] = []
    for keypose in stage.keyposes:
        choices = _grip_poses(situation, stage, keypose, tip, turn, arrive_s, spin)
        spin = 0.0 if keypose.tool else spin
        tip, natural = _first_reachable(situation, choices, joints)
        poses.append(tip)
        found.append(natural)
        joints = joints if natural is None else natural
    return Layout(tuple(poses), tuple(found))


def choose_turn(
    situation: Situation, stages: Sequence[Stage], blocked: Blocked, attempt: int = 0
) -> FloatArray:
    """Return how the gripper is turned (3, 3) against what the keyposes say for the next stages, until it lets go.

    The two fingers are interchangeable, so the gripper may be turned about its z axis by half a turn wherever it takes
    hold of something; by any turn where all keyposes say so. It is the smallest turn with which all keyposes are within
    reach and free. Where there is none, the hand leans as well; at last it is the turn with the fewest that are not.

    Args:
        situation: how things are.
        stages: what comes next.
        blocked: looks at what is not free.
        attempt: how many attempts failed: of several turns that will do, the next takes another.
    """
    rotation, symmetry = _first_rotation(situation, stages[0])
    turns = [rotation.T @ other for other in _equivalent(symmetry, rotation, situation.tip[1])]
    best, least = turns[0], math.inf
    count = blocked(situation.copy(), stages[0])  # nothing is held yet that a turn could change
    for lean in _leans():
        free: list[FloatArray] = []
        for turn in turns:
            leaning = turn @ lean
            cost = _problems(situation.copy(), stages, leaning, count, blocked)
            if cost < least:
                best, least = leaning, cost
            if not cost:
                free.append(leaning)
            if len(free) > attempt:
                break
        if free:
            return free[attempt % len(free)]
    return best


def _leans() -> list[FloatArray]:
    """Rotations (3, 3) of the grip site against its upright turns, the least first."""
    angles = [sign * angle for angle in LEANS_RAD for sign in (1.0, -1.0)]
    return [np.eye(3), *(about(angle) for angle in angles for about in (about_x, about_y))]


def end_stage(situation: Situation, stage: Stage, joints: FloatArray | None, time_s: float) -> None:
    """Move a situation on to where it is once a stage is over, its gripper's act included.

    Args:
        situation: how things are where the stage begins.
        stage: what is over.
        joints: (7,) at its end; None leaves the arm where it is.
        time_s: when it is over.
    """
    if joints is not None:
        situation.go(joints, time_s)
    if stage.takes is not None:
        situation.take(stage.takes)
    elif stage.gives:
        situation.give()


def _problems(
    situation: Situation, stages: Sequence[Stage], turn: FloatArray, count: Count, blocked: Blocked
) -> int:
    """Return how many keyposes are out of reach or not free with a turn, until something is let go.

    `count` is that of the first stage.
    """
    found = 0
    for stage in stages:
        if stage is not stages[0]:
            count = blocked(situation, stage)
        layout = _lay_out(situation, stage, turn, situation.time_s, count)
        found += layout.problems
        if stage.gives:
            break
        end_stage(situation, stage, layout.joints[-1], situation.time_s)
    return found


def _first_rotation(situation: Situation, stage: Stage) -> tuple[FloatArray, Symmetry]:
    """Return the rotation of the first grip pose that something else than the gripper determines, and its symmetry."""
    placed = [k for k in stage.keyposes if k.frame != GRIPPER and not k.tool]
    if not placed:
        return situation.tip[1], "half-turn"
    full = all(keypose.symmetry == "full" for keypose in placed)
    rotation = world_target(placed[0], *situation.frame(placed[0].frame))[1]
    return rotation, "full" if full else "half-turn"


def _equivalent(symmetry: Symmetry, rotation: FloatArray, now: FloatArray) -> list[FloatArray]:
    """Return rotations (3, 3) that do as well, the one nearest to `now` first."""
    near = nearest_turn(symmetry, rotation, now)
    return [near @ about_z(angle) for angle in _TURNS[symmetry]]


def _grip_poses(
    situation: Situation,
    stage: Stage,
    keypose: Keypose,
    tip: PoseArrays,
    turn: FloatArray,
    arrive_s: float,
    spin: float,
) -> list[PoseArrays]:
    """Return the grip poses that a keypose stands for, the most wanted first; the motion comes from `tip`."""
    if keypose.frame == GRIPPER:
        return [world_target(keypose, *grip_frame(tip))]
    pos, rotation = world_target(keypose, *_frame(situation, stage, keypose.frame, tip, arrive_s))
    if not keypose.tool:
        return [(pos, rotation @ turn)]
    in_grip = held_in_grip(situation.tip, situation.frame(keypose.tool))
    rotations = _equivalent(keypose.symmetry, rotation, tip[1] @ in_grip[1])
    return [grip_for((pos, other @ about_z(spin)), in_grip) for other in rotations]


def _first_reachable(
    situation: Situation, choices: Sequence[PoseArrays], joints: FloatArray
) -> tuple[PoseArrays, FloatArray | None]:
    """Return the first pose that is well within reach with its natural joints, else the first without."""
    for pose in choices:
        natural = situation.arm.natural(*pose, joints)
        if natural is not None and situation.arm.within_limits(natural, LIMIT_RAD):
            return pose, natural
    return choices[0], None


def _frame(situation: Situation, stage: Stage, name: str, tip: PoseArrays, arrive_s: float) -> PoseArrays:
    """Return a frame; of a thing that is held, where it is when the grip site is at `tip`."""
    if stage.holds is None or entity_of(name) != stage.holds:
        return situation.frame(name, arrive_s)
    pos, rotation = held_in_grip(situation.tip, situation.frame(name))
    return tip[0] + tip[1] @ pos, tip[1] @ rotation
