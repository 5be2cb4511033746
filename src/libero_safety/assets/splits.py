"""Numbered variants of a type, and which of them are held out for tests.

`NAME__7` is a NAME of another size and colour, the same for everyone. Numbers below `TEST_FROM` belong to the split
`train`, like NAME itself; from there on to `test`. The two splits come from bands of size and hue that do not touch, so
that nothing in the test split has been seen in training.
"""

import math
import re
from dataclasses import dataclass, replace

from libero_safety.assets.asset import Asset
from libero_safety.assets.geometry import scaled, tinted
from libero_safety.ubddl.spec import Split

TEST_FROM = 100
"""The least number of a held-out variant."""
TRAIN_NUMBERS, TEST_NUMBERS = range(1, 12), range(TEST_FROM, TEST_FROM + 8)
"""Numbers of the variants that a scenario's `:split` draws from; the train split has the type itself, too."""

SPLIT_NUMBERS: dict[Split, range] = {"train": range(1, TEST_FROM), "test": range(TEST_FROM, 10 * TEST_FROM)}
"""Numbers of the variants that `objects --count` draws from."""

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


def variant(asset: Asset, number: int, *, recolour: bool) -> Asset:
    """Return a variant of `asset` under the same name; with `recolour` its hues differ, too."""
    other = scaled(asset, size_factor(number))
    return replace(tinted(other, hue_turn(number)) if recolour else other, name=asset.name)


def _share(number: int) -> float:
    """Return a share in [0, 1) that differs for all numbers, neighbours most (golden-ratio sequence)."""
    return number * _GOLDEN % 1.0
