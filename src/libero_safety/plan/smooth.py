"""The smoothest sequence of samples within a corridor: a quadratic programme."""

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sparse

from libero_safety.plan.extra import need
from libero_safety.types import FloatArray

PINNED = 3
"""Samples at each end that are given: they fix position, velocity and acceleration there."""


class Smoother:
    """Finds sequences of one length with the least sum of squared third differences."""

    def __init__(self, samples: int) -> None:
        """Prepare for sequences of `samples` samples, more than six.

        Raises:
            MissingExtraError: piqp is not installed.
        """
        (self._piqp,) = need("piqp")
        self._inside = slice(PINNED, samples - PINNED)
        self._hessian, self._pull = _matrices(samples)
        self._solver: Any = None

    def smoothest(self, ends: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray | None:
        """Return the smoothest sequence (n,) in a corridor.

        Args:
            ends: (6,) the first three and the last three samples.
            low: (n,) lower bounds; those of the given samples are not looked at.
            high: (n,) upper bounds.

        Returns:
            The sequence, or None when the corridor holds none.
        """
        x = np.empty(len(low))
        x[:PINNED], x[-PINNED:] = ends[:PINNED], ends[PINNED:]
        pull, low, high = self._pull @ ends, low[self._inside], high[self._inside]
        if self._solver is None:
            self._solver = self._piqp.SparseSolver()
            self._solver.settings.eps_abs = self._solver.settings.eps_rel = 1e-9
            self._solver.setup(self._hessian, pull, x_l=low, x_u=high)
        else:
            self._solver.update(c=pull, x_l=low, x_u=high)
        if self._solver.solve() != self._piqp.PIQP_SOLVED:
            return None
        x[self._inside] = self._solver.result.x
        return x


@lru_cache(maxsize=256)
def _matrices(samples: int) -> tuple[Any, FloatArray]:
    """Hessian of the free samples, and what the six given ones pull at them with."""
    one: Any = sparse.eye_array(samples, format="csc")
    third = one[3:] - 3.0 * one[2:-1] + 3.0 * one[1:-2] - one[:-3]
    inside = slice(PINNED, samples - PINNED)
    given = [*range(PINNED), *range(samples - PINNED, samples)]
    hessian = (third.T @ third).tocsc()
    return hessian[inside, inside].tocsc(), hessian[inside][:, given].toarray()
