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

    def __init__(self, samples: int, *, stepped: bool = False) -> None:
        """Prepare for sequences of `samples` samples.

        Args:
            samples: more than six.
            stepped: differences between neighbours will be bounded, too.

        Raises:
            MissingExtraError: piqp is not installed.
        """
        (self._piqp,) = need("piqp")
        self._inside = slice(PINNED, samples - PINNED)
        self._hessian, self._pull, self._first = _matrices(samples)
        self._stepped = stepped
        self._solver: Any = None

    def smoothest(
        self, ends: FloatArray, low: FloatArray, high: FloatArray, step: FloatArray | None = None
    ) -> FloatArray | None:
        """Return the smoothest sequence (n,) in a corridor.

        Args:
            ends: (6,) the first three and the last three samples.
            low: (n,) lower bounds; those of the given samples are not looked at.
            high: (n,) upper bounds.
            step: (n - 1,) largest difference between neighbours, given if and only if `stepped`.

        Returns:
            The sequence, or None when the corridor holds none.
        """
        x = np.zeros(len(low))
        x[:PINNED], x[-PINNED:] = ends[:PINNED], ends[PINNED:]
        pull = self._pull @ ends
        box = {"x_l": low[self._inside], "x_u": high[self._inside]}
        if self._stepped:
            assert step is not None
            given = self._first @ x
            box |= {"h_l": -step - given, "h_u": step - given}
        if self._solver is None:
            self._solver = self._piqp.SparseSolver()
            self._solver.settings.eps_abs = self._solver.settings.eps_rel = 1e-9
            rows = self._first[:, self._inside].tocsc() if self._stepped else None
            self._solver.setup(self._hessian, pull, G=rows, **box)
        else:
            self._solver.update(c=pull, **box)
        if self._solver.solve() != self._piqp.PIQP_SOLVED:
            return None
        x[self._inside] = self._solver.result.x
        return x


@lru_cache(maxsize=256)
def _matrices(samples: int) -> tuple[Any, FloatArray, Any]:
    """Hessian of the free samples, what the six given ones pull at them with, and first differences of all."""
    one: Any = sparse.eye_array(samples, format="csc")
    first = one[1:] - one[:-1]
    third = one[3:] - 3.0 * one[2:-1] + 3.0 * one[1:-2] - one[:-3]
    inside = slice(PINNED, samples - PINNED)
    given = [*range(PINNED), *range(samples - PINNED, samples)]
    hessian = (third.T @ third).tocsc()
    return hessian[inside, inside].tocsc(), hessian[inside][:, given].toarray(), first
