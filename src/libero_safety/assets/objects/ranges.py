"""How far the parameters of each family may be from those of a type, and things drawn from there.

A drawn thing is built anew from its parameters: its proportions, colours and pattern differ, not only its size. What
makes a type itself (that a banana is bent and yellow, that a knife has an edge) is kept.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from libero_safety.assets.asset import Asset, Rgba
from libero_safety.assets.objects.shapes import (
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    DARK,
    DARK_GREEN,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SILVER,
    SKY,
    TAN,
    TEAL,
    WHITE,
    WOODEN,
    YELLOW,
    Recipe,
)
from libero_safety.errors import LiberoSafetyError


class NoRangeError(LiberoSafetyError):
    """A recipe whose family has no ranges."""


@dataclass(frozen=True)
class Times:
    """A factor on the type's own number or lengths, each length by its own."""

    low: float
    high: float


@dataclass(frozen=True)
class Between:
    """A number, whatever the type's own is."""

    low: float
    high: float


@dataclass(frozen=True)
class Tone:
    """The type's own colour, lighter or darker by a factor."""

    low: float = 0.8
    high: float = 1.15


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    values: tuple[object, ...]


Range: TypeAlias = Times | Between | Tone | OneOf

SIZE = Times(0.92, 1.08)
_SLIM = Times(0.93, 1.03)
"""Of things that an 8 cm gripper just closes around."""
_MUSTARD: Rgba = (0.72, 0.55, 0.12, 1.0)
_OLIVE: Rgba = (0.42, 0.45, 0.2, 1.0)
_ROSE: Rgba = (0.75, 0.4, 0.42, 1.0)
_NAVY: Rgba = (0.1, 0.15, 0.32, 1.0)
_MINT: Rgba = (0.6, 0.82, 0.7, 1.0)
GLAZE = OneOf((WHITE, CREAM, BLACK, RED, TEAL, BLUE, GREEN, GREY, _MUSTARD, _ROSE, _NAVY, _MINT))
BRIGHT = OneOf((RED, ORANGE, YELLOW, GREEN, TEAL, BLUE, SKY, PURPLE, PINK, BLACK, WHITE))
PRINT = OneOf((WHITE, CREAM, YELLOW, SKY, RED, BLUE, GREEN, ORANGE, PINK, DARK_GREEN))
LID = OneOf((WHITE, BLACK, DARK, RED, BLUE, GREEN, YELLOW, SILVER))
GRIP = OneOf((BLACK, DARK, RED, BLUE, BROWN, DARK_GREEN, _NAVY))
METAL = OneOf((SILVER, (0.72, 0.66, 0.5, 1.0), (0.6, 0.61, 0.64, 1.0), (0.8, 0.72, 0.62, 1.0)))
TIMBER = OneOf((WOODEN, TAN, BROWN, (0.72, 0.52, 0.32, 1.0), (0.48, 0.3, 0.18, 1.0), (0.82, 0.68, 0.48, 1.0)))
TEXTILE = OneOf((CREAM, WHITE, SKY, GREY, _MINT, PINK, _OLIVE, _ROSE, BLUE))
_EDGE = OneOf((None, RED, BLUE, TEAL, BROWN, _NAVY, _MUSTARD))

RANGES: dict[str, dict[str, Range]] = {
    # open vessels
    "bowl": {
        "radius_m": SIZE,
        "height_m": Times(0.9, 1.12),
        "foot": Times(0.9, 1.1),
        "colour": GLAZE,
        "stripe": _EDGE,
    },
    "plate": {
        "radius_m": Times(0.92, 1.1),
        "height_m": Times(0.95, 1.1),
        "colour": GLAZE,
        "rim_colour": GLAZE,
    },
    "mug": {
        "radius_m": Times(0.92, 1.06),
        "height_m": Times(0.9, 1.1),
        "colour": GLAZE,
        "inside": OneOf((WHITE, CREAM, YELLOW, SKY, _MINT, DARK)),
    },
    "tumbler": {"radius_m": Times(0.92, 1.06), "height_m": Times(0.92, 1.06), "colour": Tone()},
    "basket": {"half_x": SIZE, "half_y": SIZE, "height_m": Times(0.9, 1.05), "colour": Tone(0.75, 1.2)},
    "tray": {"half_x": SIZE, "half_y": SIZE, "height_m": Times(0.9, 1.1), "colour": TIMBER},
    # closed containers
    "bottle": {
        "radius_m": _SLIM,
        "height_m": SIZE,
        "shoulder": Times(0.94, 1.04),
        "neck": Times(0.92, 1.08),
        "colour": Tone(0.75, 1.2),
        "label": PRINT,
        "cap": LID,
    },
    "flask": {
        "half_x": SIZE,
        "half_y": SIZE,
        "height_m": Times(0.94, 1.06),
        "colour": Tone(0.75, 1.2),
        "label": PRINT,
        "cap": LID,
    },
    "can": {"radius_m": _SLIM, "height_m": SIZE, "colour": Tone(0.7, 1.2), "band": PRINT},
    # boxes
    "packet": {"half": SIZE, "colour": Tone(0.75, 1.2), "label": PRINT},
    "carton": {"half_m": SIZE, "height_m": SIZE, "colour": Tone(0.8, 1.1), "label": PRINT, "cap": LID},
    "book": {"width_m": SIZE, "height_m": SIZE, "thick_m": Times(0.85, 1.12), "colour": Tone(0.7, 1.25)},
    "notebook": {"half": SIZE, "colour": BRIGHT},
    "board": {"half": SIZE, "colour": TIMBER},
    "towel": {"half": SIZE, "colour": TEXTILE, "stripe": BRIGHT},
    # food
    "fruit": {"half_x": _SLIM, "half_y": _SLIM, "half_z": Times(0.95, 1.05), "colour": Tone(0.8, 1.12)},
    "banana": {"radius_m": SIZE, "length_m": SIZE, "curve": Between(0.75, 1.05), "colour": Tone(0.85, 1.05)},
    "cluster": {"radius_m": Times(0.92, 1.04), "colour": Tone(0.75, 1.2)},
    "croissant": {"length_m": SIZE, "colour": Tone(0.75, 1.1)},
    "cupcake": {
        "radius_m": Times(0.94, 1.04),
        "colour": Tone(),
        "icing": OneOf((PINK, CREAM, WHITE, SKY, _MINT, BROWN, (0.8, 0.7, 0.9, 1.0))),
    },
    "half_fruit": {
        "radius_m": _SLIM,
        "skin": OneOf((RED, GREEN, (0.82, 0.72, 0.25, 1.0))),
        "flesh": Tone(0.9, 1.05),
    },
    # tools
    "knife": {
        "blade_m": Times(0.9, 1.1),
        "handle_m": Times(0.94, 1.06),
        "width_m": Times(0.9, 1.15),
        "colour": GRIP,
    },
    "hammer": {"length_m": SIZE, "colour": GRIP},
    "fork": {"length_m": Times(0.92, 1.1), "colour": METAL},
    "spoon": {"length_m": Times(0.92, 1.1), "colour": Tone(0.8, 1.1)},
    "scissors": {"length_m": Times(0.92, 1.1), "colour": BRIGHT},
    "pan": {
        "radius_m": Times(0.92, 1.06),
        "height_m": Times(0.9, 1.1),
        "handle_m": SIZE,
        "colour": OneOf((DARK, BLACK, (0.35, 0.1, 0.1, 1.0), GREY, _NAVY, DARK_GREEN)),
        "grip": GRIP,
    },
    "moka_pot": {"height_m": Times(0.94, 1.06), "colour": METAL},
    "hairbrush": {"length_m": SIZE, "colour": BRIGHT},
    # toys and things about the house
    "toy_car": {"length_m": SIZE, "colour": BRIGHT},
    "toy_train": {"length_m": SIZE, "colour": BRIGHT},
    "toy_motorbike": {"length_m": SIZE, "colour": BRIGHT},
    "balls": {"radius_m": Times(0.92, 1.05), "frame": BRIGHT},
    "ball": {"radius_m": SIZE, "colour": BRIGHT},
    "candle": {
        "radius_m": Times(0.9, 1.06),
        "height_m": SIZE,
        "colour": OneOf((CREAM, WHITE, RED, PINK, _MINT, SKY, PURPLE)),
    },
    "eyeglasses": {
        "width_m": Times(0.94, 1.05),
        "colour": OneOf((BLACK, BROWN, RED, _NAVY, DARK_GREEN, GREY)),
    },
    "keyboard": {"half_x": SIZE, "half_y": SIZE},
    "game_console": {"half_x": Times(0.93, 1.02), "half_y": SIZE},
    "cap": {"radius_m": Times(0.95, 1.04), "colour": BRIGHT},
}
"""For each family (the name of its generator) its parameters that vary, and within what."""


OWN_COLOURS = frozenset(
    {
        "akita_black_bowl",
        "white_bowl",
        "porcelain_bowl",
        "wood_bowl",
        "glazed_rim_porcelain_ramekin",
        "white_yellow_mug",
        "porcelain_mug",
        "red_coffee_mug",
        "classic_blue_mug",
        "rotated_classic_blue_mug",
        "wooden_tray",
        "brownie",
        "water_ball",
    }
)
"""Types that are told by their colours: theirs become lighter or darker only."""

_NUMBER = re.compile(r"_{1,2}\d+(_\d+)*$")

Narrow: TypeAlias = Callable[[Range, object, np.random.Generator], Range]
"""Makes a range smaller, given the type's own value."""


def sample_parameters(
    recipe: Recipe,
    rng: np.random.Generator,
    narrow: Narrow | None = None,
    *,
    own_colours: bool = False,
) -> dict[str, object]:
    """Return parameters drawn around those of a type, to be given to its generator.

    Args:
        recipe: of the type.
        rng: to draw with.
        narrow: draws from a part of each range only.
        own_colours: whether colours are the type's own, lighter or darker.

    Raises:
        NoRangeError: the recipe's family has no ranges (hands, furniture).
    """
    made = _generator(recipe)
    name = getattr(made.func, "__name__", "")
    if name not in RANGES:
        raise NoRangeError(f"no ranges for the recipe {name or recipe!r}. Known: {', '.join(RANGES)}")
    own: Mapping[str, object] = made.keywords
    near = Tone(0.9, 1.1)
    kinds = {k: near if own_colours and isinstance(r, OneOf) else r for k, r in RANGES[name].items()}
    ranges = {key: kind for key, kind in kinds.items() if _varies(key, kind, own)}
    if narrow is not None:
        ranges = {key: narrow(kind, own.get(key), rng) for key, kind in ranges.items()}
    return {key: _draw(kind, own.get(key), rng) for key, kind in ranges.items()}


def drawn(recipe: Recipe, name: str, rng: np.random.Generator, narrow: Narrow | None = None) -> Asset:
    """Return a thing called `name` like those of `recipe`, with parameters drawn within `RANGES`.

    The name is that of the type or of a numbered variant; those of `OWN_COLOURS` keep their colours.

    Raises:
        NoRangeError: the recipe's family has no ranges.
    """
    own_colours = _NUMBER.sub("", name) in OWN_COLOURS
    return _with(recipe, sample_parameters(recipe, rng, narrow, own_colours=own_colours))(name)


def can_draw(recipe: Recipe) -> bool:
    """Return whether the recipe's family has ranges."""
    return isinstance(recipe, partial) and getattr(_generator(recipe).func, "__name__", "") in RANGES


def _generator(recipe: Recipe) -> "partial[Asset]":
    """Return the recipe itself, or the one that it turns round, as generator and parameters."""
    if not isinstance(recipe, partial):
        return partial(recipe)
    inner = recipe.args[0] if recipe.args else None
    return _generator(inner) if isinstance(inner, partial) else recipe


def _with(recipe: Recipe, parameters: Mapping[str, object]) -> Recipe:
    assert isinstance(recipe, partial)
    inner = recipe.args[0] if recipe.args else None
    if isinstance(inner, partial):
        return partial(recipe.func, _with(inner, parameters), *recipe.args[1:], **recipe.keywords)
    return partial(recipe, **parameters)


def _varies(key: str, kind: Range, own: Mapping[str, object]) -> bool:
    return not isinstance(kind, Times | Tone) or own.get(key) is not None


def _draw(kind: Range, own: object, rng: np.random.Generator) -> object:
    if isinstance(kind, OneOf):
        return kind.values[int(rng.integers(len(kind.values)))]
    if isinstance(kind, Between):
        return float(rng.uniform(kind.low, kind.high))
    if isinstance(kind, Tone):
        assert isinstance(own, tuple)
        factor = float(rng.uniform(kind.low, kind.high))
        return (*(min(1.0, c * factor) for c in own[:3]), own[3])
    if isinstance(own, tuple):
        return tuple(v * float(rng.uniform(kind.low, kind.high)) for v in own)
    assert isinstance(own, float)
    return own * float(rng.uniform(kind.low, kind.high))
