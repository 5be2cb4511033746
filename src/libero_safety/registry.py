"""Named things that users may add to: policies, planners, exporters, judges, guards."""

import difflib
import importlib
import importlib.metadata
from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

from libero_safety.errors import LiberoSafetyError

T = TypeVar("T")


class UnknownNameError(LiberoSafetyError):
    """A name that nothing answers to."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        super().__init__(
            f"unknown {kind} {name!r}{near_match(name, names)}. Known: {', '.join(names) or 'none'}"
        )


class DuplicateNameError(LiberoSafetyError):
    """A second thing under a name that is taken."""


def near_match(name: str, known: Iterable[str]) -> str:
    """Return ', did you mean ...?' for the closest known name, or nothing."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f", did you mean {found[0]!r}?" if found else ""


def import_attribute(path: str) -> Any:
    """Import `module:attr`.

    Raises:
        LiberoSafetyError: the module cannot be imported or has no such attribute.
    """
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise LiberoSafetyError(f"cannot import module {module_name!r} of {path!r}: {error}") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [n for n in vars(module) if not n.startswith("_")]
        raise LiberoSafetyError(
            f"module {module_name!r} has no {attribute!r}{near_match(attribute, public)}"
        ) from None


class Registry(Generic[T]):
    """Names to things; refuses duplicates, accepts `module:attr`, asks entry points on a miss."""

    def __init__(self, kind: str, entry_point_group: str, builtin: dict[str, T] | None = None) -> None:
        self._kind = kind
        self._group = entry_point_group
        self._things: dict[str, T] = dict(builtin or {})

    def add(self, name: str, thing: T) -> None:
        """Register `thing`; the name must be free."""
        if name in self._things:
            raise DuplicateNameError(f"{self._kind} {name!r} exists already")
        self._things[name] = thing

    def get(self, name: str) -> T:
        """Return what `name` stands for: a registered name, `module:attr`, or an entry point."""
        if name in self._things:
            return self._things[name]
        if ":" in name:
            return cast(T, import_attribute(name))
        for point in importlib.metadata.entry_points(group=self._group):
            if point.name == name:
                return cast(T, point.load())
        raise UnknownNameError(self._kind, name, self.names())

    def names(self) -> list[str]:
        """Return all names, entry points included, sorted."""
        points = importlib.metadata.entry_points(group=self._group)
        return sorted({*self._things, *(point.name for point in points)})
