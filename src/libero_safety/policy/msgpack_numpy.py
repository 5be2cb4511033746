"""MessagePack with NumPy arrays, as openpi and its kin send them.

An array travels as a map with the byte-string keys `__ndarray__`, `data` (C order), `dtype` (such as `<f4`)
and `shape`; a NumPy scalar as `__npgeneric__`, `data` and `dtype`. Only plain data is read: nothing received
is executed.
"""

import math
import re
from typing import Any, cast

import msgpack
import numpy as np
from numpy.typing import NDArray

from libero_safety.errors import LiberoSafetyError

_DTYPE = re.compile(r"[<>|][biufSU][0-9]{1,6}")
"""The dtype strings that pass: bool, integers, floats and text; not objects, records or complex numbers."""


class CodecError(LiberoSafetyError):
    """Data that cannot be sent, or bytes that are not a message."""


def pack(message: object) -> bytes:
    """Return `message` as bytes: None, bool, int, float, str, bytes, lists, dicts, NumPy arrays and scalars.

    Raises:
        CodecError: something else is inside, an array of objects, records or complex numbers for example.
    """
    try:
        return cast(bytes, msgpack.packb(message, default=_encode))
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"cannot send this message: {error}") from error


def unpack(data: bytes) -> Any:
    """Return the message in `data`; arrays are read-only views into it.

    Raises:
        CodecError: not one whole message, or an array whose dtype is refused or whose size does not fit its
            shape.
    """
    try:
        return msgpack.unpackb(data, object_hook=_decode)
    except CodecError:
        raise
    except (TypeError, ValueError, KeyError, RecursionError, msgpack.UnpackException) as error:
        detail = str(error) or type(error).__name__
        raise CodecError(f"cannot read a message of {len(data)} bytes: {detail}") from error


def _encode(value: object) -> object:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{type(value).__name__} is not plain data")
    dtype = _plain(value.dtype.str).str
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": dtype, b"shape": value.shape}
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": dtype}


def _decode(value: dict[Any, Any]) -> object:
    if b"__ndarray__" in value:
        return _array(value[b"data"], _plain(value[b"dtype"]), value[b"shape"])
    if b"__npgeneric__" in value:
        return _plain(value[b"dtype"]).type(value[b"data"])
    return value


def _array(data: object, dtype: np.dtype[Any], shape: object) -> NDArray[Any]:
    if not isinstance(data, bytes) or not isinstance(shape, list):
        raise CodecError("an array must hold its data as bytes and its shape as a list")
    sizes = cast("list[object]", shape)
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise CodecError(f"an array has the shape {sizes}")
    lengths = tuple(cast("list[int]", sizes))
    if math.prod(lengths) * dtype.itemsize != len(data):
        raise CodecError(f"an array of shape {lengths} and dtype {dtype.str} came with {len(data)} bytes")
    return np.ndarray(shape=lengths, dtype=dtype, buffer=data)


def _plain(dtype: object) -> np.dtype[Any]:
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise CodecError(f"arrays of dtype {dtype!r} are refused; plain numbers, bools and strings pass")
    return np.dtype(dtype)
