"""Spatial variants of keyposes."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from libero_safety.demo.variants import VariantError, sample_variants
from libero_safety.types import Keypose, Vary

KEYPOSES = [
    Keypose("above", "mug_1", (0.0, 0.0, 0.1), vary=Vary((0.01, 0.002, 0.03), 0.2), group="grasp"),
    Keypose("grasp", "mug_1", (0.0, 0.0, 0.0), vary=Vary((0.01, 0.002, 0.0), 0.2), group="grasp"),
    Keypose("lift", "gripper", (0.0, 0.0, 0.2), vary=Vary((0.0, 0.0, 0.02))),
    Keypose("over", "bowl_1", (0.0, 0.1, 0.2), yaw=1.0, vary=Vary((0.02, 0.0, 0.0), 0.0, 0.1)),
    Keypose("away", "bowl_1", (0.0, 0.0, 0.3)),
]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def test_five_variants_of_three_stages_that_vary_are_a_hundred_and_twenty_five() -> None:
    variants = sample_variants(KEYPOSES, rng())
    assert variants.stages == ((0, 1), (2,), (3,), (4,))
    assert [len(offsets) for offsets in variants.offsets] == [5, 5, 5, 1]
    assert variants.combinations == 125
    seen = {variants.choose((a, b, c, 0)) for a in range(5) for b in range(5) for c in range(5)}
    assert len(seen) == 125


def test_the_first_is_as_written() -> None:
    assert sample_variants(KEYPOSES, rng()).choose((0, 0, 0, 0)) == tuple(KEYPOSES)


def test_a_group_moves_together() -> None:
    variants = sample_variants(KEYPOSES, rng())
    for number in range(1, 5):
        above, grasp, lift, *_ = variants.choose((number, 0, 0, 0))
        assert above.pos[:2] == grasp.pos[:2] != (0.0, 0.0)
        assert above.yaw == grasp.yaw != 0.0
        assert grasp.pos[2] == 0.0
        assert lift == KEYPOSES[2]


def test_variants_stay_within_what_is_stated_and_use_all_of_it() -> None:
    (keypose,) = [replace(KEYPOSES[0], pitch=0.3, vary=Vary((0.01, 0.002, 0.03), 0.2, 0.1), group="")]
    variants = sample_variants([keypose], rng(), count=2000)
    chosen = [variants.choose((number,))[0] for number in range(2000)]
    shares = np.array([(*c.pos, c.yaw, c.pitch) for c in chosen]) - (0.0, 0.0, 0.1, 0.0, 0.3)
    shares /= (0.01, 0.002, 0.03, 0.2, 0.1)
    assert np.abs(shares).max() <= 1.0 + 1e-9
    # Uniform on [-1, 1]: mean 0 and standard deviation 1 / sqrt(3), here within five standard errors.
    np.testing.assert_allclose(shares.mean(axis=0), 0.0, atol=5 * math.sqrt(1 / 3 / 2000))
    np.testing.assert_allclose(shares.std(axis=0), math.sqrt(1 / 3), atol=0.03)


def test_the_same_seed_gives_the_same() -> None:
    first, again, other = (sample_variants(KEYPOSES, rng(seed)) for seed in (3, 3, 4))
    assert first.choose((1, 2, 3, 0)) == again.choose((1, 2, 3, 0)) != other.choose((1, 2, 3, 0))
    assert first.draw(rng(1)) == again.draw(rng(1))


def test_draws_are_even() -> None:
    variants = sample_variants(KEYPOSES, rng())
    source = rng(1)
    counts = Counter(variants.draw(source)[0] for _ in range(2000))
    # 400 of each are expected, with a standard deviation of 18.
    assert set(counts) == set(range(5))
    assert all(310 < count < 490 for count in counts.values())


def test_numbers_that_do_not_fit_are_refused() -> None:
    variants = sample_variants(KEYPOSES, rng())
    with pytest.raises(VariantError, match="3 variant numbers for 4 stages"):
        variants.choose((0, 0, 0))
    with pytest.raises(VariantError, match="variant 5 of stage 'above, grasp': it has 0 to 4"):
        variants.choose((5, 0, 0, 0))
    with pytest.raises(VariantError, match="variant 1 of stage 'away': it has 0 to 0"):
        variants.choose((0, 0, 0, 1))
    with pytest.raises(VariantError, match="count is 0"):
        sample_variants(KEYPOSES, rng(), count=0)
