"""Numbered variants of a type, and which of them are held out for tests.

`NAME__7` is a NAME of other proportions and colours, the same for everyone. Numbers below `TEST_FROM` belong to the
split `train`, like NAME itself; from there on to `test`. Built-in types are built anew from parameters: train variants
from the middle of every range, test variants from its ends, and from colours that no train variant has. Other types are
scaled, and their hues turned; there, too, the bands of the two splits do not touch.
"""

import math
import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from libero_safety.assets.asset import Asset
from libero_safety.assets.geometry import scaled, tinted
from libero_safety.assets.objects.ranges import OneOf, Range, can_draw, drawn
from libero_safety.assets.objects.shapes import Recipe
from libero_safety.rng import rng_for
from libero_safety.types import Key
from libero_safety.ubddl.spec import Split

TEST_FROM = 100
"""The least number of a held-out variant."""
TRAIN_NUMBERS, TEST_NUMBERS = range(1, 12), range(TEST_FROM, TEST_FROM + 8)
"""Numbers of the variants that a scenario's `:split` draws from; the train split has the type itself, too."""

SPLIT_NUMBERS: dict[Split, range] = {"train": range(1, TEST_FROM), "test": range(TEST_FROM, 2 * TEST_FROM)}
"""Numbers of the variants that `objects --count` draws from."""

MIDDLE, END = 0.6, 0.15
"""Shares of a parameter's range that train variants come from, and test variants at either end."""
HELD_OUT_EVERY = 3
"""Every third colour of a list is held out, but for a type's own."""

TRAIN_SIZE = (0.95, 1.05)
"""Least and largest size of a train variant, as a factor."""
TEST_SIZES = ((0.88, 0.93), (1.07, 1.12))
"""Sizes of test variants: every other number is smaller than all in training, the rest are larger."""
TRAIN_HUE, TEST_HUE = (-0.35, 0.35), (0.42, 0.58)
"""How far hues move, in turns of the colour circle; greys stay grey."""

_GOLDEN = (math.sqrt(5) - 1) / 2
_NUMBERED = re.compile(r"(?P<base>.+?)_{1,2}(?P<number>\d+(?:_\d+)*)")


@dataclass(frozen=True)
class Numbered:
    """A variant's name, taken apart: `bottle_of_beer__7`, `bottle_of_beer_7`, and `bottle_of_beer_1_0` for 10."""

    base: str
    number: int

    @classmethod
    def parse(cls, name: str) -> "Numbered | None":
        """Return the parts of a name, or None if it has no number at its end."""
        match = _NUMBERED.fullmatch(name)
        return None if match is None else cls(match["base"], int(match["number"].replace("_", "")))

    @property
    def split(self) -> Split:
        """The split that the variant belongs to."""
        return "train" if self.number < TEST_FROM else "test"

    def __str__(self) -> str:
        return f"{self.base}__{self.number}"


def size_factor(number: int) -> float:
    """Return how large a variant is, in times its base."""
    low, high = TRAIN_SIZE if number < TEST_FROM else TEST_SIZES[number % 2]
    return low + _share(number) * (high - low)


def hue_turn(number: int) -> float:
    """Return how far the hues of a variant are from those of its base, in turns of the colour circle."""
    low, high = TRAIN_HUE if number < TEST_FROM else TEST_HUE
    return low + _share(number) * (high - low)


def variant(recipe: Recipe, name: str, numbered: Numbered, *, recolour: bool) -> Asset:
    """Return the variant of a recipe; with `recolour` the hues of what is only scaled differ, too."""
    if can_draw(recipe):
        rng = rng_for(Key("", numbered.base, 0, numbered.number, 0), "variant")
        return drawn(recipe, name, rng, partial(_part, numbered.split))
    other = scaled(recipe(name), size_factor(numbered.number))
    return tinted(other, hue_turn(numbered.number)) if recolour else other


def _part(split: Split, kind: Range, own: object, rng: np.random.Generator) -> Range:
    """Return what a variant's parameter comes from: the middle of its range, or one end for a test variant."""
    if isinstance(kind, OneOf):
        held = held_out(kind, own)
        return OneOf(held if split == "test" else tuple(v for v in kind.values if v not in held))
    low, high = kind.low, kind.high
    if split == "train":
        margin = (1 - MIDDLE) / 2 * (high - low)
        return replace(kind, low=low + margin, high=high - margin)
    width = END * (high - low)
    return replace(kind, high=low + width) if rng.integers(2) else replace(kind, low=high - width)


def held_out(kind: OneOf, own: object) -> tuple[object, ...]:
    """Return the values that only test variants have; never a type's own, which is in the train split."""
    others = tuple(value for value in kind.values if value != own)
    return others[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY] or others[-1:]


def _share(number: int) -> float:
    """Return a share in [0, 1) that differs for all numbers, neighbours most (golden-ratio sequence)."""
    return number * _GOLDEN % 1.0
