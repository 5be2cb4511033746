import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libero_safety.eval.statistics import mean, population_std, rate


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (77, 150, 0.434, 0.592),  # half width 7.9 points at 150 episodes around one half
        (0, 150, 0.0, 0.025),
        (0, 300, 0.0, 0.0126),
        (0, 50, 0.0, 0.0713),
        (1, 1, 0.2065, 1.0),  # 1 / (1 + z^2)
        (5, 10, 0.2366, 0.7634),
    ],
)
def test_wilson(k: int, n: int, low: float, high: float) -> None:
    found = rate(k, n)
    assert found.value == k / n
    assert found.low == pytest.approx(low, abs=6e-4)
    assert found.high == pytest.approx(high, abs=6e-4)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_mirrors(pair: tuple[int, int]) -> None:
    k, n = pair
    found, mirrored = rate(k, n), rate(n - k, n)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.low == pytest.approx(1.0 - mirrored.high, abs=1e-12)
    assert found.low < found.high


def test_a_rate_of_nothing_is_no_number() -> None:
    found = rate(0, 0)
    assert all(math.isnan(x) for x in (found.value, found.low, found.high))
    with pytest.raises(ValueError, match="k = 3, n = 2"):
        rate(3, 2)


def test_mean_leaves_out_what_is_no_number_and_counts_the_rest() -> None:
    rng = np.random.default_rng(0)
    found = mean([1.0, math.nan, 3.0, math.inf, 5.0], rng)
    assert (found.value, found.n) == (3.0, 3)
    assert 1.0 <= found.low < 3.0 < found.high <= 5.0
    assert mean([], rng).n == 0
    assert math.isnan(mean([math.nan], rng).value)
    one = mean([2.0], rng)
    assert one.value == 2.0
    assert math.isnan(one.low)


def test_the_bootstrap_interval_is_about_two_standard_errors() -> None:
    values = np.random.default_rng(1).normal(10.0, 2.0, 400)
    found = mean(values, np.random.default_rng(2))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * 2.0 / 20, rel=0.15)


def test_population_std() -> None:
    # The three seed rates 0.48, 0.50, 0.52 of the paper's mode: sqrt(2/3) * 0.02.
    assert population_std([0.48, 0.50, 0.52]) == pytest.approx(0.02 * math.sqrt(2 / 3))
    assert math.isnan(population_std([]))
