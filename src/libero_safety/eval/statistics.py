"""Rates, means and their intervals. 95 % throughout."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Z_95 = 1.959963984540054
"""The 0.975 quantile of the standard normal distribution."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Rate:
    """`k` of `n`, with its Wilson score interval (Wilson 1927); all NaN when `n` is 0."""

    k: int
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Mean:
    """Mean of the `n` finite values, with a percentile bootstrap interval.

    All NaN when there is no value; the interval is NaN when there is only one.
    """

    value: float
    low: float
    high: float
    n: int


def rate(k: int, n: int) -> Rate:
    """Return the share `k / n` with its Wilson interval.

    Raises:
        ValueError: not 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"a rate needs 0 <= k <= n, not k = {k}, n = {n}")
    if n == 0:
        return Rate(0, 0, math.nan, math.nan, math.nan)
    p, z2 = k / n, Z_95**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # At the ends the interval touches 0 or 1 exactly; rounding must not push it past the rate.
    low = 0.0 if k == 0 else centre - half
    high = 1.0 if k == n else centre + half
    return Rate(k, n, p, low, high)


def mean(values: Iterable[float], rng: np.random.Generator) -> Mean:
    """Return the mean of the finite values with a percentile bootstrap interval of 1000 resamples."""
    array = np.array(list(values), dtype=float)
    array = array[np.isfinite(array)]
    if array.size == 0:
        return Mean(math.nan, math.nan, math.nan, 0)
    if array.size == 1:
        return Mean(float(array[0]), math.nan, math.nan, 1)
    picks = rng.integers(0, array.size, (RESAMPLES, array.size))
    low, high = np.quantile(array[picks].mean(axis=1), (0.025, 0.975))
    return Mean(float(array.mean()), float(low), float(high), int(array.size))


def population_std(values: Iterable[float]) -> float:
    """Return the standard deviation with ddof = 0, as the paper reports it over seeds; NaN without values."""
    array = np.array(list(values), dtype=float)
    return float(array.std()) if array.size else math.nan
