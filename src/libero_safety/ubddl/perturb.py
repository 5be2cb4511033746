"""Perturbations: a scenario in, the same task under other conditions out.

Each axis changes blocks of the scenario and nothing else, so a perturbed scenario is a scenario that can be written
and read. What is drawn comes from the streams `perturb/<axis>/...` of the episode; every other draw of the episode
stays as it is, and the perturbed episode makes a pair with the plain one of the same key.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError
from libero_safety.rng import rng_for
from libero_safety.types import Key
from libero_safety.ubddl import words
from libero_safety.ubddl.number import MAX_SEVERITY, mapped
from libero_safety.ubddl.place import Geometry
from libero_safety.ubddl.spec import Camera, Choice, Entity, Look, Noise, Scenario
from libero_safety.ubddl.surface import Surface

T = TypeVar("T")

ATTEMPTS = 10
"""How often a perturbation may be drawn anew for an episode whose start turns out to be impossible."""

MAY_OBSTRUCT = frozenset({"init", "layout", "unseen"})
"""Axes that can put something in the way at the start."""

SEVERITIES = (1, 2, 3)
"""Severities of `noise`: those of LIBERO-Safety's randomiser."""
INVISIBLE: Mapping[str, int] = {"gaussian_blur": 1}
"""Up to this severity a noise changes no byte of a picture, and is not drawn."""
START_NOISE_RAD = (0.1, 0.5)
"""Band of `init`: the lengths of LIBERO-Safety's 500 start poses."""
VIEW_RAD = math.radians(3.0)
"""Largest angle of `view`, about each axis: that of LIBERO-Safety's randomiser."""
LEAST_SHARE = 1 / 3
"""Angles and shifts are at least this share of the largest one, so that there is something to see."""
SCALE = (0.95, 1.05)
"""Factor of `view` on the camera's distance."""
SHIFT_M = 0.05
"""Largest shift of `layout`, along each axis."""
GROWTH_SHARE = 0.4
"""Start regions grow by this share of the largest shift, to every side."""


class PerturbationError(LiberoSafetyError):
    """A perturbation that cannot be meant."""


@dataclass(frozen=True)
class Stock:
    """What an asset library has for the perturbations of one scenario to choose from.

    Attributes:
        geometry: sizes of types.
        half_m: half sizes (x, y) of the part of the working surface that things may stand on.
        looks: part of the arena -> words with which it looks otherwise than in the scenario.
        unseen: type -> held-out types that can take its place.
    """

    geometry: Geometry
    half_m: tuple[float, float]
    looks: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


@dataclass(frozen=True)
class Perturbed:
    """A scenario after a perturbation.

    Attributes:
        changes: what is other than before, one line each; empty when nothing is.
        kept: what the perturbation is about and could not change, and why.
    """

    scenario: Scenario
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Perturbation:
    """An axis, and how strong.

    Attributes:
        strength: severity of `noise`, length of `init` (rad), largest angle of `view` (degrees), largest shift of
            `layout` (m); None draws it, or takes the default.
    """

    axis: str
    strength: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Perturbation":
        """Read `axis` or `axis=strength`.

        Raises:
            UnknownNameError: no such axis.
            PerturbationError: the strength is no number, out of range, or the axis has none.
        """
        name, given, value = text.partition("=")
        if name not in AXES:
            raise UnknownNameError("perturbation", name, AXES)
        if not given:
            return cls(name)
        low, high = AXES[name].strengths or (math.nan, math.nan)
        if math.isnan(low):
            raise PerturbationError(f"perturbation {name!r} has no strength, got {text!r}")
        try:
            strength = float(value)
        except ValueError:
            strength = math.nan
        if not low <= strength <= high:
            raise PerturbationError(
                f"perturbation {text!r}: the strength must be a number from {low:g} to {high:g} ({AXES[name].unit})"
            )
        return cls(name, strength)

    def __str__(self) -> str:
        return self.axis if self.strength is None else f"{self.axis}={self.strength:g}"


def perturb(
    scenario: Scenario, perturbation: Perturbation, key: Key, stock: Stock, attempt: int = 0
) -> Perturbed:
    """Return `scenario` under other conditions; the same arguments always give the same.

    Args:
        scenario: may have distributions in it.
        perturbation: axis and strength.
        key: of the episode.
        stock: what there is for this scenario.
        attempt: 0, and 1, 2, ... where the start of the one before was impossible. What may stand in the way (`init`,
            `layout`, `unseen`) is then drawn anew, a tenth closer to the unperturbed start each time.
    """
    axis = AXES[perturbation.axis]
    return axis.change(scenario, _Dice(key, perturbation, stock, attempt))


def perturb_all(
    scenario: Scenario, perturbations: Sequence[Perturbation], key: Key, stock: Stock, attempt: int = 0
) -> Perturbed:
    """Return `scenario` after several perturbations, one after the other."""
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    for perturbation in perturbations:
        after = perturb(scenario, perturbation, key, stock, attempt)
        scenario = after.scenario
        changes += after.changes
        kept += after.kept
    return Perturbed(scenario, changes, kept)


@dataclass(frozen=True)
class _Dice:
    """What one perturbation draws with, and from."""

    key: Key
    wanted: Perturbation
    stock: Stock
    attempt: int

    def rng(self, what: str, *, again: bool = False) -> np.random.Generator:
        """Return the generator of one thing to draw; with `again` each attempt has one of its own."""
        suffix = f"/{self.attempt}" if again and self.attempt else ""
        return rng_for(self.key, f"perturb/{self.wanted.axis}/{what}{suffix}")

    @property
    def reach(self) -> float:
        """How far to go: 1 at first, a tenth less with every attempt."""
        return 1.0 - self.attempt / ATTEMPTS


def _noise(scenario: Scenario, dice: _Dice) -> Perturbed:
    given = dice.wanted.strength
    severities = {
        kind: [s for s in (SEVERITIES if given is None else (given,)) if round(s) > INVISIBLE.get(kind, 0)]
        for kind in words.NOISES
        if kind not in {noise.kind for noise in scenario.noises}
    }
    kinds = [kind for kind, options in severities.items() if options]
    if not kinds:
        return Perturbed(scenario, kept=("noise: the scenario has every kind already",))
    kind = _one_of(kinds, dice.rng("kind"))
    severity = float(_one_of(severities[kind], dice.rng("severity")))
    after = replace(scenario, noises=(*scenario.noises, Noise(kind, severity)))
    return Perturbed(after, (f"noise: {kind} {severity:g}",))


def _init(scenario: Scenario, dice: _Dice) -> Perturbed:
    given = dice.wanted.strength
    low, high = START_NOISE_RAD if given is None else (given, given)
    length = dice.reach * float(dice.rng("length", again=True).uniform(low, high))
    after = replace(scenario, robot=replace(scenario.robot, start_noise=length))
    return Perturbed(after, (f"init: the robot starts {length:.3f} rad from home",))


def _view(scenario: Scenario, dice: _Dice) -> Perturbed:
    name = words.CAMERAS[0]
    limit = VIEW_RAD if dice.wanted.strength is None else math.radians(dice.wanted.strength)
    yaw, pitch, roll = (_to_either_side(limit, dice.rng(angle)) for angle in ("yaw", "pitch", "roll"))
    scale = float(dice.rng("scale").uniform(*SCALE))
    before = next((camera for camera in scenario.cameras if camera.name == name), Camera(name))
    camera = replace(
        before,
        yaw=mapped(before.yaw, lambda angle: angle + yaw),
        pitch=mapped(before.pitch, lambda angle: angle + pitch),
        roll=mapped(before.roll, lambda angle: angle + roll),
        scale=mapped(before.scale, lambda factor: factor * scale),
    )
    cameras = {camera.name: camera for camera in scenario.cameras} | {name: camera}
    angles = ", ".join(f"{math.degrees(angle):+.1f}" for angle in (yaw, pitch, roll))
    after = replace(scenario, cameras=tuple(cameras.values()))
    return Perturbed(after, (f"view: {name} turned by {angles} degrees, distance x {scale:.3f}",))


def _scene(scenario: Scenario, dice: _Dice) -> Perturbed:
    looks = {look.part: look for look in scenario.looks}
    changes: list[str] = []
    kept: list[str] = []
    for part, others in dice.stock.looks.items():
        if not others:
            kept.append(f"scene: the {part} has no other look")
            continue
        word = _one_of(others, dice.rng(part))
        looks[part] = Look(part, word)
        changes.append(f"scene: {part} {word}")
    return Perturbed(replace(scenario, looks=tuple(looks.values())), tuple(changes), tuple(kept))


def _layout(scenario: Scenario, dice: _Dice) -> Perturbed:
    limit = dice.reach * (SHIFT_M if dice.wanted.strength is None else dice.wanted.strength)
    growth = GROWTH_SHARE * limit
    surface = Surface(scenario, dice.stock.geometry, dice.stock.half_m)
    dx, dy = (
        _shift(limit, surface.slack_m(axis), dice.rng(name, again=True)) for axis, name in enumerate("xy")
    )
    after = surface.moved(dx, dy, growth)
    if after == scenario:
        return Perturbed(scenario, kept=("layout: there is no room on the working surface to move anything",))
    what = f"shifted by ({100 * dx:+.1f}, {100 * dy:+.1f}) cm, start regions grown by {100 * growth:.1f} cm"
    return Perturbed(after, (f"layout: {what}",))


def _unseen(scenario: Scenario, dice: _Dice) -> Perturbed:
    entities: list[Entity] = []
    changes: list[str] = []
    kept: list[str] = []
    for entity in scenario.entities:
        types = [str(t) for t in (entity.type.options if isinstance(entity.type, Choice) else (entity.type,))]
        others = dict.fromkeys(other for t in types for other in dice.stock.unseen.get(t, ()))
        options = [other for other in others if other not in types]
        if entity.kind == "fixture" or entity.split == "test" or not options:
            entities.append(entity)
            if entity.kind == "object":
                why = "held out already" if entity.split == "test" else "nothing held out stands in for it"
                kept.append(f"unseen: {entity.name} stays {' or '.join(types)}: {why}")
            continue
        chosen = _one_of(options, dice.rng(entity.name, again=True))
        entities.append(replace(entity, type=chosen, split="test"))
        changes.append(f"unseen: {entity.name} is {chosen}")
    return Perturbed(replace(scenario, entities=tuple(entities)), tuple(changes), tuple(kept))


def _shift(limit: float, slack: tuple[float, float], rng: np.random.Generator) -> float:
    """Return a shift to either side; to the other one, or less far, where there is no room."""
    wanted = _to_either_side(limit, rng)
    low, high = slack
    room = {wanted: min(max(wanted, low), high), -wanted: min(max(-wanted, low), high)}
    return room[wanted] if abs(room[wanted]) >= abs(room[-wanted]) else room[-wanted]


def _to_either_side(limit: float, rng: np.random.Generator) -> float:
    return float(rng.uniform(LEAST_SHARE * limit, limit) * rng.choice((-1.0, 1.0)))


def _one_of(options: Sequence[T], rng: np.random.Generator) -> T:
    return options[int(rng.integers(len(options)))]


@dataclass(frozen=True)
class Axis:
    """One kind of condition.

    Attributes:
        doc: what it changes.
        strengths: least and largest strength; None: it has none.
        unit: of the strength.
    """

    change: Callable[[Scenario, _Dice], Perturbed]
    doc: str
    strengths: tuple[float, float] | None = None
    unit: str = ""


AXES: dict[str, Axis] = {
    "noise": Axis(_noise, "one sensor corruption on all cameras", (1.0, MAX_SEVERITY), "severity"),
    "init": Axis(_init, "the robot starts away from its home pose", (0.01, START_NOISE_RAD[1]), "rad"),
    "view": Axis(_view, "the agent's camera hangs elsewhere", (0.1, 45.0), "degrees"),
    "scene": Axis(_scene, "table, floor, walls and lighting look otherwise"),
    "layout": Axis(_layout, "everything stands elsewhere on the table", (0.005, 0.2), "m"),
    "unseen": Axis(_unseen, "objects are of held-out types"),
}
"""What can be perturbed, in the order of the paper's table."""
