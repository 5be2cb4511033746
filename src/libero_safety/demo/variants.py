"""Spatial variants of keyposes: a few poses within each stated region, one of them drawn per stage."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.types import FloatArray, Keypose, Vary

VARIANTS = 5
"""Variants per stage, the written pose among them."""


class VariantError(LiberoSafetyError):
    """Variant numbers that do not fit the keyposes."""


@dataclass(frozen=True, eq=False)
class Variants:
    """A few variants of every stage of a task; a stage is a group of keyposes, or one keypose without a group.

    The keyposes of a stage are shifted together: by the same share of each one's own `vary`, so that what is
    above the grasp stays above it. Stages that may not vary have one variant.

    Attributes:
        keyposes: as written.
        stages: which keyposes, by number, vary together, in order of their first.
        offsets: per stage, shares (count, 5) of `vary`, each in [-1, 1]: x, y, z, yaw, pitch. Row 0 is zero.
    """

    keyposes: tuple[Keypose, ...]
    stages: tuple[tuple[int, ...], ...]
    offsets: tuple[FloatArray, ...]

    @property
    def combinations(self) -> int:
        """How many different sequences of keyposes there are: count to the power of the stages that vary."""
        return math.prod(len(offsets) for offsets in self.offsets)

    def draw(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return one variant number per stage, every combination equally likely."""
        return tuple(int(rng.integers(len(offsets))) for offsets in self.offsets)

    def choose(self, ids: Sequence[int]) -> tuple[Keypose, ...]:
        """Return the keyposes with the variant of each stage that `ids` names; 0 is as written.

        Raises:
            VariantError: not one number per stage, or one that its stage does not have.
        """
        if len(ids) != len(self.stages):
            raise VariantError(f"{len(ids)} variant numbers for {len(self.stages)} stages")
        chosen = list(self.keyposes)
        for number, stage, offsets in zip(ids, self.stages, self.offsets, strict=True):
            if not 0 <= number < len(offsets):
                names = ", ".join(self.keyposes[index].name for index in stage)
                raise VariantError(f"variant {number} of stage {names!r}: it has 0 to {len(offsets) - 1}")
            for index in stage:
                chosen[index] = _shifted(self.keyposes[index], offsets[number])
        return tuple(chosen)


def sample_variants(keyposes: Sequence[Keypose], rng: np.random.Generator, count: int = VARIANTS) -> Variants:
    """Return `count` variants of every stage, uniform within `vary`, the first as written.

    Raises:
        VariantError: `count` is below 1.
    """
    if count < 1:
        raise VariantError(f"count is {count}, must be 1 or more")
    groups: dict[tuple[str, int], list[int]] = {}
    for index, keypose in enumerate(keyposes):
        groups.setdefault((keypose.group, -1) if keypose.group else ("", index), []).append(index)
    stages = tuple(tuple(stage) for stage in groups.values())
    offsets: list[FloatArray] = []
    for stage in stages:
        shares = rng.uniform(-1.0, 1.0, (count, 5))
        shares[0] = 0.0
        varies = any(keyposes[index].vary != Vary() for index in stage)
        offsets.append(shares if varies else shares[:1])
    return Variants(tuple(keyposes), stages, tuple(offsets))


def _shifted(keypose: Keypose, share: FloatArray) -> Keypose:
    x, y, z = (np.array(keypose.pos) + share[:3] * keypose.vary.pos).tolist()
    return replace(
        keypose,
        pos=(x, y, z),
        yaw=keypose.yaw + float(share[3]) * keypose.vary.yaw,
        pitch=keypose.pitch + float(share[4]) * keypose.vary.pitch,
    )
