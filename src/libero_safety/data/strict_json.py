"""JSON that any reader accepts: no NaN, no infinity, no surprises in the types read back."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]
T = TypeVar("T")


class RunLogError(LiberoSafetyError):
    """A run folder that cannot be written, read or trusted; the message names the path and the cause."""


def plain(value: object) -> JsonValue:
    """Return `value` as JSON values: NumPy scalars and arrays unwrapped, non-finite numbers as null.

    Raises:
        RunLogError: something that JSON cannot hold, such as an object or a key that is no string.
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(cast(object, value.tolist()))
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        items = cast(Mapping[object, object], value).items()
        wrong = next((key for key, _ in items if not isinstance(key, str)), None)
        if wrong is not None:
            raise RunLogError(f"a run log holds only text as keys of a mapping, not {wrong!r}")
        return {str(key): plain(item) for key, item in items}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in cast(Sequence[object], value)]
    raise RunLogError(f"a run log holds only JSON values, not {type(value).__name__}: {value!r:.80}")


def dumps(value: object, indent: int | None = None) -> str:
    """Return `plain(value)` as text; one line unless `indent` is given."""
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def loads(text: str, where: str) -> JsonObject:
    """Read one JSON object.

    Raises:
        RunLogError: not JSON, not an object, or NaN or infinity in it; `where` is named.
    """

    def refuse(word: str) -> float:
        raise RunLogError(f"{where}: {word} is not JSON; a missing number is null")

    try:
        value: JsonValue = json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunLogError(f"{where}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise RunLogError(f"{where}: should hold a JSON object, holds {type(value).__name__}")
    return value


def take(data: Mapping[str, Any], name: str, kind: type[T] | tuple[type[T], ...], where: str) -> T:
    """Return `data[name]`, which must be of the given type (bool is no int here).

    Raises:
        RunLogError: it is missing or of another type.
    """
    if name not in data:
        raise RunLogError(f"{where}: no field {name!r}{near_match(name, data)}")
    value = data[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(k.__name__ for k in kinds)
        raise RunLogError(f"{where}: field {name!r} should be {names}, is {value!r:.80}")
    return value


def take_list(data: Mapping[str, Any], name: str, kind: type[T], where: str) -> tuple[T, ...]:
    """Return `data[name]`, a list whose items are all of the given type."""
    items = cast(list[Any], take(data, name, list, where))
    return tuple(take({name: item}, name, kind, where) for item in items)


def take_number(data: Mapping[str, Any], name: str, where: str) -> float:
    """Return `data[name]` as a float; null gives NaN."""
    value = take(data, name, (int, float, type(None)), where)
    return math.nan if value is None else float(value)
