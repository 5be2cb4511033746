"""Why a draw gave no demonstration: a closed table of reasons, each with what to do about it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ReasonName: TypeAlias = Literal[
    "no_draw",
    "invalid_start",
    "no_keyposes",
    "bad_keypose",
    "unreachable",
    "start_in_collision",
    "keypose_in_collision",
    "plan_timeout",
    "plan_failed",
    "timing_failed",
    "path_blocked_by_moving_hazard",
    "drift",
    "lost_grasp",
    "execution_violation",
    "goal_not_reached",
    "episode_timeout",
    "unstable",
    "internal",
]


@dataclass(frozen=True)
class Reason:
    """One way in which making a demonstration can fail.

    Attributes:
        doc: what happened, in a sentence.
        advice: what an annotator should do.
    """

    doc: str
    advice: str


REASONS: dict[ReasonName, Reason] = {
    "no_draw": Reason(
        "The scenario could not be drawn: something does not fit or has no variant.",
        "Run `libero-safety check` on the scenario file; widen the region that is named.",
    ),
    "invalid_start": Reason(
        "A rule is broken, or the goal holds, before the first action.",
        "Run `libero-safety check --suite`; move the region of what is named away from the robot or the hazard.",
    ),
    "no_keyposes": Reason(
        "The task has no keypose file.",
        "Write `keyposes/<task>.toml` beside the scenario file.",
    ),
    "bad_keypose": Reason(
        "The keypose file cannot be read, or names an entity, part or zone that this draw does not have.",
        "Correct the file at the place that the message names.",
    ),
    "unreachable": Reason(
        "No arm posture within the joint limits brings the grip site to a keypose.",
        "Move the keypose towards the robot, tilt or turn it, allow a symmetry, or move the region of its frame.",
    ),
    "start_in_collision": Reason(
        "The robot, or what it holds, is too near to something where a motion should begin.",
        "Let the keypose before end further away; if it is the first motion, move the region of what is named.",
    ),
    "keypose_in_collision": Reason(
        "At a keypose the robot, or what it holds, would touch or be too near to what is named.",
        "Raise the keypose, turn it so that the fingers have room, or grasp another part.",
    ),
    "plan_timeout": Reason(
        "The clock stopped a search: the planner hangs, or the machine is far too slow.",
        "Make the draw again where less else is running; if it is stopped again, report it with its key.",
    ),
    "plan_failed": Reason(
        "The planner found no way with the effort that it may spend, or none that keeps the path constraint.",
        "Look at the picture: add a keypose that shows the way round, or loosen the constraint of the segment.",
    ),
    "timing_failed": Reason(
        "The path cannot be driven smoothly within the limits without leaving its free tube.",
        "Give the keyposes around the named one more room, or straighten the way between them.",
    ),
    "path_blocked_by_moving_hazard": Reason(
        "Whenever the robot would set out, a moving hazard would come too near on the way.",
        "Lead the way round the hazard's lane with a keypose, or slow the hazard in the scenario.",
    ),
    "drift": Reason(
        "The arm did not follow its motion, again and again.",
        "Look for a contact that the planner was told to allow; move the keypose away from it.",
    ),
    "lost_grasp": Reason(
        "The gripper closed on nothing, or what it held slipped out.",
        "Lower the grasp keypose, centre it on the part, or let the fingers close across the narrow side.",
    ),
    "execution_violation": Reason(
        "A rule was broken while the motion was carried out.",
        "Look at the rule and the moment: leave more room there, or hold the thing firmer.",
    ),
    "goal_not_reached": Reason(
        "All keyposes were passed, but the goal does not hold.",
        "Compare where the thing ended with the goal; move the last keyposes.",
    ),
    "episode_timeout": Reason(
        "The horizon was over before all keyposes were passed.",
        "Remove keyposes and waits that are not needed; a demonstration should take half of the horizon.",
    ),
    "unstable": Reason(
        "The physics blew up.",
        "Look for things that are placed inside each other, or are pressed where they cannot give way.",
    ),
    "internal": Reason(
        "The program failed; the message has the place.",
        "Report it with the key of the draw.",
    ),
}
"""All that there are, in the order in which they can happen."""
