"""Planners by name."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from libero_safety.errors import LiberoSafetyError
from libero_safety.plan.guarded import GuardedPlanner
from libero_safety.plan.problem import Planner
from libero_safety.registry import Registry

PlannerFactory: TypeAlias = Callable[..., Planner]

PLANNERS: Registry[str | PlannerFactory] = Registry(
    "planner",
    "libero_safety.planners",
    {
        "curobo": "libero_safety.plan.curobo:CuroboPlanner",
        "ompl": "libero_safety.plan.ompl:OmplPlanner",
        "roboplan": "libero_safety.plan.roboplan:RoboplanPlanner",
        "tip": "libero_safety.plan.tip:TipPlanner",
        "vamp": "libero_safety.plan.vamp:VampPlanner",
    },
)
"""The planners by name; plug-ins add theirs with an entry point of this group."""


class PlannerError(LiberoSafetyError):
    """What a name stands for is no planner."""


def make_planner(spec: str, /, **options: object) -> Planner:
    """Return the planner that `spec` names; those of others are guarded, see `GuardedPlanner`.

    Args:
        spec: a name in `PLANNERS`, or `module:attr` where `attr` is a class or function that is called with the
            options, or a ready object with a method `plan`.
        options: parameters of the planner.

    Raises:
        UnknownNameError: no planner of that name.
        MissingExtraError: its library is not installed.
        PlannerError: what came out has no method `plan`, or does not take an option.
    """
    thing: Any = PLANNERS.get(spec)
    own = isinstance(thing, str)
    if own:
        thing = PLANNERS.get(thing)
    if isinstance(thing, type) or not hasattr(thing, "plan"):
        if not callable(thing):
            raise PlannerError(
                f"planner {spec!r} is a {type(thing).__name__}, expected a class or a function"
            )
        try:
            thing = thing(**options)
        except TypeError as error:
            raise PlannerError(f"planner {spec!r}: {error}") from error
    elif options:
        raise PlannerError(f"planner {spec!r} is a ready object and takes no options")
    if not callable(getattr(thing, "plan", None)):
        raise PlannerError(f"planner {spec!r} is a {type(thing).__name__} without a method plan()")
    planner = cast(Planner, thing)
    return planner if own else GuardedPlanner(planner, spec)
