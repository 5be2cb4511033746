"""From the name of a policy and its options to a checked policy."""

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from libero_safety.demo.expert import ExpertPolicy
from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.baselines import NoopPolicy, RandomPolicy, RecklessPolicy, ReplayPolicy
from libero_safety.policy.contract import CheckedPolicy, ContractError, PolicyRaised
from libero_safety.policy.openpi import OpenpiPolicy
from libero_safety.registry import Registry, near_match
from libero_safety.types import Policy

PolicyFactory: TypeAlias = Callable[..., Policy]

POLICIES: Registry[PolicyFactory] = Registry(
    "policy",
    "libero_safety.policies",
    {
        "expert": ExpertPolicy,
        "noop": NoopPolicy,
        "openpi": OpenpiPolicy,
        "random": RandomPolicy,
        "reckless": RecklessPolicy,
        "replay": ReplayPolicy,
    },
)
"""The policies by name; plug-ins add theirs with an entry point of this group."""

_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class PolicyOptionError(LiberoSafetyError):
    """An option that the policy does not take, lacks, or cannot read."""


def make_policy(spec: str, /, **options: object) -> CheckedPolicy:
    """Return the policy that `spec` names.

    Args:
        spec: a name in `POLICIES`, or `module:attr` where `attr` is a class or function that is called with
            the options, or a ready object with `reset` and `act`.
        options: parameters of the policy. Text is read as the type that the parameter is annotated with, so
            that options can come from a command line; anything else is passed on as it is.

    Raises:
        UnknownNameError: no policy of that name.
        PolicyOptionError: an unknown, missing or unreadable option.
        ContractError: what came out is no policy.
        PolicyRaised: the policy raised while it was made.
    """
    thing: object = POLICIES.get(spec)
    if not inspect.isclass(thing) and hasattr(thing, "act"):
        if options:
            raise PolicyOptionError(
                f"policy {spec!r} is a ready object and takes no options, but was given {', '.join(options)}"
            )
        policy = thing
    else:
        policy = _build(spec, thing, options)
    for method in ("reset", "act"):
        if not callable(getattr(policy, method, None)):
            raise ContractError(f"policy {spec!r} is a {type(policy).__name__} without a method {method}()")
    return CheckedPolicy(cast(Policy, policy))


def parse_policy_args(pairs: Iterable[str]) -> dict[str, str]:
    """Return the options in texts of the form `KEY=VALUE`; the value is everything after the first `=`.

    Raises:
        PolicyOptionError: no `=`, no key, or a key twice.
    """
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise PolicyOptionError(f"policy option {pair!r} is not of the form KEY=VALUE")
        if key in options:
            raise PolicyOptionError(f"policy option {key!r} is given twice: {options[key]!r} and {value!r}")
        options[key] = value
    return options


def _build(spec: str, factory: object, options: Mapping[str, object]) -> object:
    if not callable(factory):
        raise ContractError(
            f"policy {spec!r} is a {type(factory).__name__}, "
            "expected a class, a function or an object with act()"
        )
    arguments = _arguments(spec, factory, options)
    try:
        return factory(**arguments)
    except LiberoSafetyError:
        raise
    except Exception as error:
        raise PolicyRaised(f"making policy {spec!r} raised {type(error).__name__}: {error}") from error


def _arguments(spec: str, factory: Callable[..., object], options: Mapping[str, object]) -> dict[str, object]:
    try:
        parameters = inspect.signature(factory, eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        raise PolicyOptionError(f"cannot read which options policy {spec!r} takes: {error}") from error
    named = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for key in options:
            if key not in named:
                raise PolicyOptionError(
                    f"policy {spec!r} has no option {key!r}{near_match(key, named)}. "
                    f"Options: {', '.join(named) or 'none'}"
                )
    missing = [name for name, p in named.items() if p.default is p.empty and name not in options]
    if missing:
        raise PolicyOptionError(f"policy {spec!r} needs {' and '.join(f'{name}=...' for name in missing)}")
    given = dict(options)
    for key, value in options.items():
        if isinstance(value, str) and key in named:
            given[key] = _read(spec, key, value, named[key].annotation)
    return given


def _read(spec: str, key: str, text: str, annotation: Any) -> object:
    try:
        return _convert(text, annotation)
    except ValueError as error:
        raise PolicyOptionError(f"option {key} of policy {spec!r}: {error}") from None


def _convert(text: str, annotation: Any) -> object:
    """Read `text` as `annotation`; ValueError says what was expected."""
    if annotation in (inspect.Parameter.empty, Any, object, str):
        return text
    if annotation is Path:
        return Path(text)
    if annotation is bool:
        return _choose(text, _BOOLS)
    if annotation in (int, float):
        try:
            return annotation(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {'a whole' if annotation is int else 'a'} number") from None
    if annotation in (None, types.NoneType):
        return _choose(text, {"none": None})
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return _choose(text, {str(choice): choice for choice in typing.get_args(annotation)})
    if origin in (typing.Union, types.UnionType):
        return _convert_union(text, typing.get_args(annotation))
    raise ValueError(f"its type {annotation} cannot be read from text")


def _convert_union(text: str, members: tuple[Any, ...]) -> object:
    problems: list[str] = []
    for member in sorted(members, key=lambda m: (m is not types.NoneType, m in (str, Path))):
        try:
            return _convert(text, member)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError("; ".join(problems))


def _choose(text: str, choices: Mapping[str, object]) -> object:
    if text.lower() in choices:
        return choices[text.lower()]
    if text in choices:
        return choices[text]
    raise ValueError(f"{text!r} is not one of {', '.join(choices)}{near_match(text, choices)}")
