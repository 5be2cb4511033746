"""The values that flow from a scenario file to a report.

SI units, radians; quaternions are (w, x, y, z); images are upright RGB uint8; frames are in the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
ImageArray: TypeAlias = NDArray[np.uint8]

Chunk: TypeAlias = FloatArray
"""Actions to execute one after the other, shape (k, 7), each component in [-1, 1]:
three translations, three rotations (axis-angle), gripper (-1 open, +1 closed)."""

Outcome: TypeAlias = Literal["success", "violation", "timeout", "error"]

CONTROL_HZ = 20
"""Control steps per second."""
PHYSICS_DT_S = 0.002
"""Length of one physics step."""
SUBSTEPS = 25
"""Physics steps per control step."""
HORIZON = 600
"""Control steps after which an episode is a timeout."""
SETTLE_STEPS = 10
"""Control steps with an idle, open gripper before time zero; not counted."""
ACTION_SIZE = 7


@dataclass(frozen=True, order=True)
class Key:
    """The identity of an episode: the same key gives the same episode."""

    suite: str
    task: str
    level: int
    seed: int
    index: int

    def __str__(self) -> str:
        return f"{self.suite}/{self.task}/L{self.level}/seed{self.seed}/{self.index}"


@dataclass(frozen=True)
class Pose:
    """Position (m) and orientation (w, x, y, z) in the frame that its holder names."""

    pos: tuple[float, float, float]
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Zone:
    """A named box that things can be on or in, fixed to a link.

    Attributes:
        half: half sizes (m).
        kind: `surface`: things rest on its bottom face; `inside`: things are contained in it.
    """

    name: str
    pos: tuple[float, float, float]
    half: tuple[float, float, float]
    kind: Literal["surface", "inside"]
    link: str = ""


@dataclass(frozen=True)
class Footprint:
    """Room a thing takes: horizontal `radius_m` around its root origin, lowest and highest point relative to it (m).

    Attributes:
        box_m: (x_min, y_min, x_max, y_max) of a rectangle in the root frame that holds it too; None where only the
            circle is known.
    """

    radius_m: float
    bottom_m: float
    top_m: float
    box_m: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Observation:
    """What a policy may see; never privileged state.

    Attributes:
        images: camera name -> (height, width, 3) RGB uint8, upright.
        state: (8,) end-effector position (m, world), orientation (axis-angle), two finger positions (m).
        instruction: the task in words.
        time_s: seconds since the first control step.
    """

    images: Mapping[str, ImageArray]
    state: FloatArray
    instruction: str
    time_s: float


@dataclass(frozen=True)
class Violation:
    """One rule that was broken, the first time it was.

    Attributes:
        rule: the rule instance, as it reads in the scenario, e.g. `(NoContact robot juice_1)`.
        kind: the constraint word.
        time_s: simulated seconds since the first control step.
        step: the control step in which it happened.
        entities: the entities concerned; of two, the one that stays or moves by itself is the last.
        link: the robot link that was part of it, if any.
        value: what was measured, in `unit`.
        limit: what was allowed, in `unit`.
        part: of a touch or a distance, the part of the last entity that was touched or was nearest, such as
            `index_tip`; None where there are no named parts.
    """

    rule: str
    kind: str
    time_s: float
    step: int
    entities: tuple[str, ...]
    link: str | None
    value: float
    limit: float
    unit: str
    part: str | None = None

    @property
    def where(self) -> str:
        """Who met whom, in words: `left_finger at hand_1.index_tip`; empty where nothing is known."""
        *others, last = self.entities or ("",)
        first = [self.link] if self.link else others
        touched = f"{last}.{self.part}" if last and self.part else last
        return " at ".join(name for name in (*first, touched) if name)


@dataclass(frozen=True)
class Trace:
    """What happened, one row per control step (row 0 is the state before the first).

    Attributes:
        dt_s: seconds between rows.
        qpos: (n + 1, nq) generalised positions; enough to draw any frame again.
        eef_pos: (n + 1, 3) end-effector position, world (m).
        eef_quat: (n + 1, 4) end-effector orientation, world.
        gripper: (n + 1, 2) finger positions (m).
        asked: (n, 7) actions the policy asked for.
        executed: (n, 7) actions that were executed.
        clearance_m: (n + 1,) smallest distance from the robot or what it holds to any guarded entity; NaN if none.
        force_n: (n,) largest normal force on a guarded entity, from the robot or what it holds, within the step.
        state_hash: (n + 1,) uint64 hash of the full physics state.
    """

    dt_s: float
    qpos: FloatArray
    eef_pos: FloatArray
    eef_quat: FloatArray
    gripper: FloatArray
    asked: FloatArray
    executed: FloatArray
    clearance_m: FloatArray
    force_n: FloatArray
    state_hash: NDArray[np.uint64]


@dataclass(frozen=True)
class Episode:
    """One judged roll-out.

    Attributes:
        outcome: `success`: goal reached, no rule broken. `violation`: a rule was broken. `timeout`: neither within
            the horizon. `error`: the episode could not be judged (never a failure of the policy's skill).
        steps: control steps executed.
        goal_reached: whether the goal held at the end, whatever else happened.
        error_class: for `error`: `policy`, `contract`, `connection`, `unstable`, `scene` or `internal`.
        error: for `error`: what happened, in words.
        wall_s: seconds of wall-clock time.
    """

    key: Key
    instruction: str
    outcome: Outcome
    violations: tuple[Violation, ...]
    steps: int
    goal_reached: bool
    trace: Trace | None
    error_class: str | None = None
    error: str | None = None
    wall_s: float = field(default=0.0, compare=False)


class Policy(Protocol):
    """What is judged.

    Implementations may also define `attach(env)` to see privileged state (baselines only), `close()`, and
    `needs_images = False` when they do not look.
    """

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode."""
        ...

    def act(self, observation: Observation) -> Chunk:
        """Return the next actions, shape (k, 7), k >= 1."""
        ...


Verb: TypeAlias = Literal[
    "move",
    "pre-grasp",
    "grasp",
    "lift",
    "pre-place",
    "place",
    "retreat",
    "cut",
    "pour",
    "push",
    "turn",
    "open",
    "close",
    "hand-over",
]
"""What the motion to a keypose does; `demo.keypose.VERBS` says what each may touch."""

Symmetry: TypeAlias = Literal["none", "half-turn", "full"]
"""By which turns about its own z axis a pose stays as good: none, half a turn, or any."""


@dataclass(frozen=True)
class Vary:
    """How far a keypose may be from where it is written, to either side.

    Attributes:
        pos: metres along each axis of its frame.
        yaw: radians; `pitch` likewise.
    """

    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    pitch: float = 0.0


@dataclass(frozen=True)
class Keypose:
    """Where the gripper, or the thing that it holds, should be, relative to something in the scene.

    Attributes:
        frame: `entity`, `entity.part`, `entity.zone`, `entity.grasp` (its top-down grasp) or a region `target.name`; a
            part or zone also with a face (`.top`, `.bottom`, `.front` at the +x end, `.back`, `.left` at the +y end,
            `.right`): the middle of that face of its box. Only the yaw of its orientation counts (z stays up),
            unless `tilted`.
        pos: metres in that frame.
        yaw: radians about the vertical, relative to the frame; 0 closes the fingers along the frame's y axis.
        pitch: radians the fingers are tilted from straight down towards the frame's x axis.
        gripper: -1 open, +1 closed, from the moment at which the pose is reached.
        wait_steps: control steps to stay once there (closing a gripper takes about ten).
        tolerance_m: how near is there.
        roll: radians about the frame's x axis, after yaw and pitch.
        verb: what the motion to the keypose does.
        tool: the frame that should get there, of the thing that is held: `entity`, `entity.part`, `entity.zone`; at no
            rotation its axes are the frame's. Empty: the grip site, which at no rotation points down.
        tilted: whether `frame` counts with all of its orientation.
        symmetry: the turns about the tool's (the grip site's) z axis that do as well.
        vary: the region of poses that do as well.
        group: keyposes of one group are varied together; empty: by itself.
        straight: whether the motion to it is a straight line.
        upright: radians that the gripper may tilt on the way; None: as it likes.
        hinge: joint `entity.joint` about which the motion to it turns; empty: none.
        via: passed without a stop.
        hint: only a suggestion of a way, for who plans nothing: a planner leaves the keypose out.
    """

    name: str
    frame: str
    pos: tuple[float, float, float]
    yaw: float = 0.0
    pitch: float = 0.0
    gripper: float = -1.0
    wait_steps: int = 0
    tolerance_m: float = 0.01
    roll: float = 0.0
    verb: Verb = "move"
    tool: str = ""
    tilted: bool = False
    symmetry: Symmetry = "none"
    vary: Vary = Vary()
    group: str = ""
    straight: bool = False
    upright: float | None = None
    hinge: str = ""
    via: bool = False
    hint: bool = False
