"""`numba.njit` that keeps its compiled code on disk where that is possible and works where it is not."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F) -> F:
    """Compile `function` on first use; the result is cached on disk unless no folder can be written to."""
    try:
        return cast(F, numba.njit(function, cache=True))
    except RuntimeError:  # "cannot cache function": read-only package and no home folder
        return cast(F, numba.njit(function))
