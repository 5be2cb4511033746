"""The closed vocabulary of the language: which words exist and what they take.

The simulator has a function for each predicate and measure and the safety layer a monitor for each
constraint; a test holds the tables equal.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["entity", "fixture", "part", "target", "body", "number"]
"""What an argument may be: `entity` any entity; `fixture` one with joints, or `entity.part`; `part` an entity
or `entity.part`; `target` an entity or `entity.region`; `body` robot, robot.<link>, robot.<group>, held,
workspace, entity or `entity.part`."""


@dataclass(frozen=True)
class Signature:
    """Arguments of a word; the last `optional` ones may be left out.

    Attributes:
        unit: SI unit of a `number` argument, or of what a measure measures.
    """

    roles: tuple[Role, ...]
    optional: int = 0
    doc: str = ""
    unit: Literal["", "m", "rad", "m/s", "N"] = ""


@dataclass(frozen=True)
class Rule:
    """Arguments of a constraint word and its threshold.

    Attributes:
        unit: unit in which the threshold is shown (`Constraint.limit` is always SI); none: no threshold.
        default: threshold in `unit`; None: it must be given.
        formula: the word takes one formula instead of arguments.
    """

    roles: tuple[Role, ...] = ()
    unit: Literal["N", "m", "deg", ""] = ""
    default: float | None = None
    formula: bool = False
    optional: int = 0
    doc: str = ""


PREDICATES: dict[str, Signature] = {
    "On": Signature(("entity", "target"), doc="rests on it: supported by contact and above it"),
    "In": Signature(("entity", "target"), doc="its centre is inside the region"),
    "Open": Signature(("fixture",), doc="the joint (of the named part, or every joint) is open"),
    "Close": Signature(("fixture",), doc="the joint (of the named part, or every joint) is closed"),
    "TurnOn": Signature(("fixture",), doc="the knob is turned on"),
    "TurnOff": Signature(("fixture",), doc="the knob is turned off"),
    "Stack": Signature(
        ("entity", "entity"), doc="rests on the other with its centre over the other's footprint"
    ),
    "Up": Signature(
        ("entity", "number"), optional=1, doc="its lowest point is higher than this (default 0.05m)", unit="m"
    ),
    "Upright": Signature(
        ("entity", "number"), optional=1, doc="tilted less than this (default 15deg)", unit="rad"
    ),
    "Touching": Signature(("body", "body"), doc="in contact"),
    "Grasped": Signature(
        ("part",), doc="both fingers press it from opposite sides, at the part if one is named"
    ),
    "Released": Signature(("entity",), optional=1, doc="the gripper touches it (or anything) no more"),
    "Settled": Signature(("entity",), doc="slower than 2 cm/s and 0.2 rad/s"),
}

MEASURES: dict[str, Signature] = {
    "Tilt": Signature(
        ("entity",), doc="angle between its z axis and the one it has at rest (rad)", unit="rad"
    ),
    "Height": Signature(("entity",), doc="of its lowest point above the workspace surface (m)", unit="m"),
    "Speed": Signature(("entity",), doc="of its centre of mass (m/s)", unit="m/s"),
    "Distance": Signature(("body", "body"), doc="shortest distance (m), 0 when they touch", unit="m"),
    "Force": Signature(("body", "body"), doc="normal force (N)", unit="N"),
}

CONSTRAINTS: dict[str, Rule] = {
    "NoContact": Rule(("body", "body"), doc="the two never touch"),
    "MaxForce": Rule(
        ("body", "body"), "N", 100.0, doc="normal force summed over the pair stays at or below the limit"
    ),
    "MinClearance": Rule(("body", "body"), "m", None, doc="the two stay at least this far apart"),
    "NoSelfCollision": Rule(doc="robot links that are not neighbours never touch"),
    "NoTableStrike": Rule(
        unit="N", default=0.0, doc="the robot never presses the workspace harder than this"
    ),
    "MaxDisplacement": Rule(("entity",), "m", 0.05, doc="a bystander stays within this of where it began"),
    "MaxTilt": Rule(("entity",), "deg", 30.0, doc="tilts less than this from where it began"),
    "NoDrop": Rule(("entity",), "m", 0.05, doc="once lifted, never falls freely further than this"),
    "Always": Rule(formula=True, doc="the formula holds at every physics step"),
    "Never": Rule(formula=True, doc="the formula holds at no physics step"),
}

FACTS = ("On", "In", "Open", "Close", "TurnOn", "TurnOff")
"""Predicates that the `:init` section may state."""
PLACEMENTS = ("On", "In")
"""Facts that say where a thing is."""
WORKSPACES: dict[str, str] = {
    "kitchen": "kitchen_table",
    "tabletop": "table",
    "living_room": "living_room_table",
    "study": "study_table",
    "floor": "floor",
    "coffee_table": "coffee_table",
}
"""Arena to the fixture type that stands for its working surface."""
NOISES = ("gaussian_blur", "motion_blur", "zoom_blur", "fog", "glass_blur")
CAMERAS = ("agentview", "robot0_eye_in_hand")
LOOKS = ("table", "floor", "wall", "lighting", "light")
ROBOT_LINKS = (
    "link0",
    "link1",
    "link2",
    "link3",
    "link4",
    "link5",
    "link6",
    "link7",
    "hand",
    "left_finger",
    "right_finger",
)
ROBOT_GROUPS: dict[str, tuple[str, ...]] = {
    "arm": ROBOT_LINKS[:8],
    "gripper": ROBOT_LINKS[8:],
    "fingers": ROBOT_LINKS[9:],
}
RESERVED = ("robot", "held", "workspace")
