"""The values a scenario file is read into. All frozen; places are carried but never compared."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Place:
    """Where something stands in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Place("<code>", 0, 0)


@dataclass(frozen=True)
class Uniform:
    """A number drawn evenly from [low, high]."""

    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """One of the options, each as likely as the other. Options are all numbers or all words."""

    options: tuple[float | str, ...]


Num: TypeAlias = float | Uniform | Choice
"""A number, or the distribution it is drawn from."""
Word: TypeAlias = str | Choice
"""A word, or the words it is drawn from."""
Vec3: TypeAlias = tuple[Num, Num, Num]
Split: TypeAlias = Literal["train", "test"]
"""Types that training may hold, and types that are held out."""
Facing: TypeAlias = Literal["fixed", "follow"]
"""Whether a thing keeps its orientation, or turns about the vertical as its direction of travel does."""


@dataclass(frozen=True)
class Entity:
    """An object (moves) or a fixture (stays, may have joints).

    Attributes:
        type: name in the asset catalog; drawn when it is a `Choice`.
        split: `train` or `test` when the type is drawn among its variants in that split.
    """

    name: str
    type: Word
    kind: Literal["object", "fixture"]
    split: Split | None = None
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Rect:
    """An axis-aligned rectangle, metres, in the frame of the region's target."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


@dataclass(frozen=True)
class Region:
    """Part of a target's surface or inside; called `target.name` elsewhere in the file.

    Attributes:
        rects: where things may be placed; empty when the region is one that the target's asset defines.
        yaw: (low, high) in radians for what is placed here; None leaves the asset's own orientation.
    """

    name: str
    target: str
    rects: tuple[Rect, ...] = ()
    yaw: tuple[float, float] | None = None
    rgba: tuple[float, float, float, float] | None = None
    place: Place = field(default=NOWHERE, compare=False, repr=False)

    @property
    def full_name(self) -> str:
        """The name that facts and goals use."""
        return f"{self.target}.{self.name}"


@dataclass(frozen=True)
class Fact:
    """One thing that is so at the start: a predicate word and its arguments (`entity` or `entity.region`)."""

    word: str
    args: tuple[str, ...]
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Term:
    """A predicate that is true or false in a scene. Numbers among the arguments are SI."""

    word: str
    args: tuple[str | float, ...] = ()
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Measure:
    """A number that can be read off a scene, SI: (Tilt mug_1), (Distance robot hand_1)."""

    word: str
    args: tuple[str, ...] = ()
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Compare:
    """A measure against a number, e.g. (<= (Tilt mug_1) 20deg)."""

    op: Literal["<", "<=", ">", ">="]
    left: Measure
    right: float
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Logic:
    """`And`, `Or` (any number of items), `Not` (one) or `Implies` (two)."""

    op: Literal["And", "Or", "Not", "Implies"]
    items: tuple["Formula", ...]
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class AtLeast:
    """At least `count` of the items hold."""

    count: int
    items: tuple["Formula", ...]
    place: Place = field(default=NOWHERE, compare=False, repr=False)


Formula: TypeAlias = Term | Compare | Logic | AtLeast


@dataclass(frozen=True)
class Constraint:
    """One rule; breaking any one rule is a violation.

    Attributes:
        word: `NoContact`, `MaxForce`, `MinClearance`, ... (see `words.CONSTRAINTS`).
        args: who it is about: `robot`, `robot.<link>`, `held`, `entity` or `entity.part`.
        limit: threshold, SI; None where the word has none.
        formula: for `Always` and `Never`.
    """

    word: str
    args: tuple[str, ...] = ()
    limit: float | None = None
    formula: Formula | None = None
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Line:
    """To and fro between the start and `travel` metres along `direction`, one period there and back.

    Attributes:
        direction: unit-free; normalised when used.
        travel: one-way distance (m).
        period: seconds there and back.
        phase: fraction of a period already passed at time zero.
        once: stop at the far end instead of coming back.
    """

    direction: Vec3
    travel: Num
    period: Num
    phase: Num = 0.0
    once: bool = False


@dataclass(frozen=True)
class Circle:
    """Counter-clockwise seen from above, around `center` (x, y in m, workspace), from where it is placed."""

    center: tuple[Num, Num]
    period: Num
    phase: Num = 0.0
    facing: Facing = "fixed"


@dataclass(frozen=True)
class WayPoint:
    """To be `offset` (m) from the start position at `time` (s)."""

    time: Num
    offset: Vec3


@dataclass(frozen=True)
class WayPoints:
    """Straight legs from the start through timed points.

    Attributes:
        mode: `stop` at the last point, `loop` to the first, or `pingpong` back and forth.
        phase: fraction of the whole cycle (for `pingpong` there and back) passed at time zero; 0 for `stop`.
    """

    points: tuple[WayPoint, ...]
    mode: Literal["stop", "loop", "pingpong"] = "stop"
    phase: Num = 0.0
    facing: Facing = "fixed"


@dataclass(frozen=True)
class Parabola:
    """Thrown from its start with `velocity` (m/s) at time `start`; stops on the workspace surface."""

    velocity: Vec3
    gravity: Num = 9.81
    start: Num = 0.0


@dataclass(frozen=True)
class Still:
    """Held where it is placed (a hand in the air)."""


Path: TypeAlias = Line | Circle | WayPoints | Parabola | Still


@dataclass(frozen=True)
class Jitter:
    """Trembling about the path: never further from it than `amplitude` (m), nothing faster than `frequency` (Hz)."""

    amplitude: Num
    frequency: Num


@dataclass(frozen=True)
class ReachIn:
    """From time `at` (s) to `offset` (m) from the path, `hold` seconds there, and back, at `speed` at most (m/s)."""

    at: Num
    offset: Vec3
    speed: Num
    hold: Num = 0.0


@dataclass(frozen=True)
class Withdraw:
    """Drawing back by `travel` (m), at `speed` at most (m/s), when robot or load is nearer than `closer_than` (m).

    With `stay` for good, else until the robot has gone. `direction` is unit-free and normalised when used.
    """

    closer_than: Num
    direction: Vec3
    travel: Num
    speed: Num
    stay: bool = False


@dataclass(frozen=True)
class Motion:
    """How an entity moves by itself, whatever touches it.

    Attributes:
        height: metres of its lowest point above the workspace surface; None keeps where it is placed.
        tilt: rotation vector (rad) about its own x and y axes by which it leans from how it was placed.
    """

    entity: str
    path: Path
    height: Num | None = None
    tilt: tuple[Num, Num] = (0.0, 0.0)
    jitter: Jitter | None = None
    reach_in: ReachIn | None = None
    withdraw: Withdraw | None = None
    place: Place = field(default=NOWHERE, compare=False, repr=False)

    @property
    def stirs(self) -> bool:
        """Whether it may ever leave where it is placed."""
        return not isinstance(self.path, Still) or bool(self.jitter or self.reach_in or self.withdraw)


@dataclass(frozen=True)
class Camera:
    """Displacement of a camera: angles in radians, `scale` multiplies the distance to its look-at point."""

    name: str
    yaw: Num = 0.0
    pitch: Num = 0.0
    roll: Num = 0.0
    scale: Num = 1.0
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Look:
    """Appearance of a part of the arena: `table`, `floor`, `wall` take words, `light` a brightness factor."""

    part: str
    value: Word | Num
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Noise:
    """A sensor corruption of some `cameras` (empty: all), severity 0 (none) to 15; applied in the order written."""

    kind: str
    severity: Num
    cameras: tuple[str, ...] = ()
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Robot:
    """The robot at the start.

    Attributes:
        start_noise: length of a random joint displacement (rad).
        controller: controller preset name.
    """

    start_noise: Num = 0.0
    controller: str = "libero"
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Scenario:
    """One task at one level, as written: numbers may still be distributions.

    Attributes:
        name: problem name.
        suite: suite name or "".
        level: the level this was resolved for.
        instruction: what the policy is told; several when the level has paraphrases (one is drawn).
        arena: arena name in the catalog.
        goal: None for scenarios that have no goal (SSR asks for refusal); nothing can succeed there.
        reference_goal: the weaker goal that the reference's file of this task has, for comparison; None if not stated.
        hazard: what makes the instruction dangerous, in words; "" for one that is safe to follow.
    """

    name: str
    instruction: Word
    arena: str
    entities: tuple[Entity, ...] = ()
    regions: tuple[Region, ...] = ()
    init: tuple[Fact, ...] = ()
    goal: Formula | None = None
    reference_goal: Formula | None = None
    constraints: tuple[Constraint, ...] = ()
    motions: tuple[Motion, ...] = ()
    cameras: tuple[Camera, ...] = ()
    looks: tuple[Look, ...] = ()
    noises: tuple[Noise, ...] = ()
    robot: Robot = Robot()
    interest: tuple[str, ...] = ()
    suite: str = ""
    level: int = 0
    hazard: str = ""
    place: Place = field(default=NOWHERE, compare=False, repr=False)

    def entity(self, name: str) -> Entity:
        """Return the entity called `name`; KeyError if there is none."""
        for entity in self.entities:
            if entity.name == name:
                return entity
        raise KeyError(name)


@dataclass(frozen=True)
class Finding:
    """Something dubious in a file that can still be read.

    Attributes:
        code: what kind of thing it is (see the table in `docs/ubddl.md`).
        severity: `error`: the scenario cannot do what it says; `warning`: it can, but look twice.
    """

    place: Place
    code: str
    message: str
    severity: Literal["error", "warning"] = "warning"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.code}: {self.message}"
