"""Libraries that only some planners need."""

import importlib
from typing import Any

from libero_safety.errors import LiberoSafetyError

PLAN_EXTRA = "pip install 'libero-safety[plan]'"


class MissingExtraError(LiberoSafetyError):
    """A planner whose library is not installed; the message says how to get it."""


def need(*modules: str, how: str = PLAN_EXTRA) -> tuple[Any, ...]:
    """Import modules of an optional library.

    Raises:
        MissingExtraError: one of them cannot be imported.
    """
    try:
        return tuple(importlib.import_module(name) for name in modules)
    except ImportError as error:
        raise MissingExtraError(
            f"{modules[0].partition('.')[0]} is not available ({error}): {how}"
        ) from error
