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
    """Finds sequences of one length whose steps are short enough, with the least sum of squared third differences."""

    def __init__(self, samples: int) -> None:
        """Prepare for sequences of `samples` samples, more than six.

        Raises:
            MissingExtraError: piqp is not installed.
        """
        (self._piqp,) = need("piqp")
        self._inside = slice(PINNED, samples - PINNED)
        self._hessian, self._pull, self._steps, self._given = _matrices(samples)
        self._solver: Any = None

    def smoothest(
        self, ends: FloatArray, low: FloatArray, high: FloatArray, step: float
    ) -> FloatArray | None:
        """Return the smoothest sequence (n,) in a corridor.

        Args:
            ends: (6,) the first three and the last three samples.
            low: (n,) lower bounds; those of the given samples are not looked at.
            high: (n,) upper bounds.
            step: how far apart two samples that follow each other may be; more between given ones is allowed.

        Returns:
            The sequence, or None when the corridor holds none.
        """
        x = np.empty(len(low))
        x[:PINNED], x[-PINNED:] = ends[:PINNED], ends[PINNED:]
        pull, given = self._pull @ ends, self._given @ ends
        bounds: dict[str, FloatArray] = {
            "h_l": -step - given,
            "h_u": step - given,
            "x_l": low[self._inside],
            "x_u": high[self._inside],
        }
        if self._solver is None:
            self._solver = self._piqp.SparseSolver()
            self._solver.settings.eps_abs = self._solver.settings.eps_rel = 1e-9
            self._solver.setup(self._hessian, pull, G=self._steps, **bounds)
        else:
            self._solver.update(c=pull, **bounds)
        if self._solver.solve() != self._piqp.PIQP_SOLVED:
            return None
        x[self._inside] = self._solver.result.x
        return x


@lru_cache(maxsize=256)
def _matrices(samples: int) -> tuple[Any, FloatArray, Any, FloatArray]:
    """Hessian of the free samples and what the six given ones pull at them with; the same of the steps beside them."""
    one: Any = sparse.eye_array(samples, format="csc")
    first = (one[1:] - one[:-1])[PINNED - 1 : samples - PINNED].tocsc()
    third = one[3:] - 3.0 * one[2:-1] + 3.0 * one[1:-2] - one[:-3]
    inside = slice(PINNED, samples - PINNED)
    given = [*range(PINNED), *range(samples - PINNED, samples)]
    hessian = (third.T @ third).tocsc()
    return (
        hessian[inside, inside].tocsc(),
        hessian[inside][:, given].toarray(),
        first[:, inside].tocsc(),
        first[:, given].toarray(),
    )
