"""How near the robot may come to what: the rules of the scenario, and what a stage must touch, as bounds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from libero_safety.demo.keypose import VERBS
from libero_safety.demo.stages import MOVING_VERBS, Stage, entity_of
from libero_safety.demo.target import GRIPPER
from libero_safety.plan.bounds import MARGIN_M, TOUCH_M, Allow
from libero_safety.sim.scene import Scene
from libero_safety.ubddl.spec import Scenario


class Care(NamedTuple):
    """How careful a motion is.

    Attributes:
        margin_m: clearance to what the rules protect, on top of what they ask for.
        touch_m: clearance of the open fingers to what they are about to take; negative where they may rub.
    """

    margin_m: float
    touch_m: float


CARES = (Care(0.02, 0.001), Care(0.01, 0.001), Care(MARGIN_M, 0.0), Care(MARGIN_M, TOUCH_M))
"""The most wanted first; with less care than the last nothing is planned."""
SURFACE_M = 0.002
"""Clearance to what is fixed, and to what the thing to be grasped stands on: fingers go down beside thin things."""
NEAR_M = 0.002
"""Clearance to a part that must not be touched of a thing that must: a blade beside the handle."""

PRESSING_VERBS = ("cut", "hand-over")
"""Verbs whose held thing is pressed against the other until it stops."""
PRESSES_M = -0.03
YIELDS_M = -1.0
"""What gives way to the fingers may be where they go: where it will be is not known."""

_DISTANCE_WORDS = ("NoContact", "MaxForce", "MinClearance")


class Apart(NamedTuple):
    """Two that a rule keeps apart.

    Attributes:
        mover: `robot`, `robot.<links>`, `held`, or a part of what is held.
        other: an entity or a part of one.
        distance_m: what the rule asks for; 0 where it only forbids to touch.
        firmly: whether it forbids to touch at all, not only to press hard.
    """

    mover: str
    other: str
    distance_m: float
    firmly: bool


def kept_apart(scenario: Scenario, holds: str | None) -> list[Apart]:
    """Return what must be kept apart while `holds` is in the gripper, the farthest last: of bounds the last holds."""
    found: list[Apart] = []
    for rule in scenario.constraints:
        if rule.word not in _DISTANCE_WORDS:
            continue
        first, second = rule.args
        distance_m = float(rule.limit or 0.0) if rule.word == "MinClearance" else 0.0
        for mover, other in ((first, second), (second, first)):
            name = _mover(mover, holds)
            if name is not None and entity_of(other) not in ("robot", "held", holds):
                found.append(Apart(name, other, distance_m, rule.word != "MaxForce"))
    return sorted(found, key=lambda apart: apart.distance_m)


def allowances(
    scene: Scene, stage: Stage, segment: int, care: Care, resting: Sequence[str], *, approaching: bool = False
) -> list[Allow]:
    """Return the bounds for the motion to one keypose of a stage; later ones go before earlier ones.

    What a rule protects is kept further away than the rule asks. What the keypose's verb, or leaving the
    last stop, must touch may be touched; parts of it that a rule protects still keep a little distance.

    Args:
        scene: whose rules they are.
        stage: the motion.
        segment: which of its keyposes the motion leads to.
        care: how much further, and how near the fingers come to what they take.
        resting: entities that the thing to be grasped, or held, stands on or leans at where the stage begins.
        approaching: whether what is held is still on its way to what it will touch, and must not graze it.
    """
    apart = kept_apart(scene.scenario, stage.holds)
    touched = list(_touched(stage, segment, resting))
    movers = ["robot"] if stage.holds is None else ["robot", "held"]
    still = [name for name, entity in scene.entities.items() if entity.qpos is None]
    bounds = [Allow(mover, name, SURFACE_M) for name in still for mover in movers]
    if stage.holds is None:
        bounds += [Allow("robot.gripper", name, SURFACE_M) for name in resting]
    beside_m = min(SURFACE_M, care.touch_m)
    beside = {other: None for mover, other in touched if mover == "held"}
    owner = entity_of(stage.keyposes[segment].frame)
    beside |= {owner: None} if owner in still else {}
    bounds += [Allow("robot", name, beside_m) for name in beside]
    bounds += [Allow(rule.mover, rule.other, rule.distance_m + care.margin_m) for rule in apart]
    near_m = care.touch_m if stage.takes is not None else TOUCH_M
    if stage.keyposes[segment].verb in MOVING_VERBS:
        near_m = YIELDS_M
        # A door that is pushed shut takes along what was put behind it.
        touched += [("robot.gripper", stage.leaves)] if stage.leaves is not None else []
    held_m = PRESSES_M if stage.keyposes[segment].verb in PRESSING_VERBS else TOUCH_M
    held_m = 0.0 if approaching else held_m
    bounds += [Allow(mover, other, held_m if mover == "held" else near_m) for mover, other in touched]
    for rule in apart:
        if rule.firmly and any(_about(rule, *pair) for pair in touched):
            bounds.append(Allow(rule.mover, rule.other, max(rule.distance_m, NEAR_M)))
    return bounds


def _mover(name: str, holds: str | None) -> str | None:
    """Return what a rule's argument is called when it is the robot, or what it holds."""
    if entity_of(name) == "robot":
        return name
    if holds is not None and name in ("held", holds):
        return "held"
    return name if holds is not None and entity_of(name) == holds else None


def _touched(stage: Stage, segment: int, resting: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield who may touch whom on the way to a keypose."""
    keypose = stage.keyposes[segment]
    touches, entity = VERBS[keypose.verb].touches, entity_of(keypose.frame)
    if entity == GRIPPER:
        pass
    elif touches == "gripper" and entity != stage.holds:
        yield "robot.gripper", entity
    elif touches == "held" and stage.holds is not None and entity != stage.holds:
        yield "held", entity
    if segment == 0 and stage.leaves is not None:
        yield "robot.gripper", stage.leaves
    if segment == 0 and stage.holds is not None:
        yield from (("held", name) for name in resting)


def _about(rule: Apart, mover: str, other: str) -> bool:
    """Whether a rule is about two of whom one touches the other."""
    same_side = (entity_of(rule.mover) == "robot") == (mover != "held")
    return same_side and entity_of(rule.other) == entity_of(other)
