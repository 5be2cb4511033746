import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from libero_safety.policy.msgpack_numpy import CodecError, pack, unpack

PLAIN = st.one_of(
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    st.just(np.dtype(bool)),
)


@given(hnp.arrays(PLAIN, hnp.array_shapes(min_dims=0, min_side=0)))
def test_arrays_come_back_as_they_went(array: np.ndarray) -> None:
    back = unpack(pack({"a": [array]}))["a"][0]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_order_in_memory_does_not_matter() -> None:
    array = np.arange(12).reshape(3, 4)
    for view in (array.T, array[:, ::-1], np.asfortranarray(array)):
        np.testing.assert_array_equal(unpack(pack(view)), view)


def test_the_bytes_are_those_of_the_protocol() -> None:
    packed = pack({"x": np.array([[1, 2]], np.uint8)})
    fields = {b"__ndarray__": True, b"data": b"\x01\x02", b"dtype": "|u1", b"shape": [1, 2]}
    assert msgpack.unpackb(packed) == {"x": fields}


def test_scalars_and_plain_values_come_back() -> None:
    message = {
        "n": None,
        "b": True,
        "i": 3,
        "s": "pick up",
        "raw": b"\0",
        "list": [1.5],
        "np": np.float32(0.5),
    }
    back = unpack(pack(message))
    assert back == message
    assert isinstance(back["np"], np.float32)


def test_received_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        unpack(pack(np.zeros(3)))[0] = 1.0


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.zeros(2, "f4,i4"),
        np.zeros(2, complex),
        1 + 2j,
        object(),
        np.datetime64("2020-01-01"),
    ],
)
def test_what_is_no_plain_data_is_not_sent(value: object) -> None:
    with pytest.raises(CodecError, match=r"cannot send|refused"):
        pack({"x": value})


@pytest.mark.parametrize("dtype", ["|O", "O", "<c8", "|V8", "f4,i4", "<M8[s]", 5, None, ["<f4"], "()f4"])
def test_other_dtypes_are_not_read(dtype: object) -> None:
    packed = msgpack.packb({b"__ndarray__": True, b"data": bytes(8), b"dtype": dtype, b"shape": [1]})
    with pytest.raises(CodecError, match="refused"):
        unpack(packed)


@pytest.mark.parametrize("shape", [[3], [-1], [2, 2], [0], [1.0], "1", None, [2**62, 2**62]])
def test_a_shape_must_fit_the_data(shape: object) -> None:
    packed = msgpack.packb({b"__ndarray__": True, b"data": bytes(4), b"dtype": "<f4", b"shape": shape})
    with pytest.raises(CodecError, match="shape"):
        unpack(packed)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        unpack(data)
    except CodecError:
        pass


def test_nothing_received_is_executed(tmp_path: object) -> None:
    pickled = b"cos\nsystem\n(S'exit 1'\ntR."
    packed = msgpack.packb({b"__ndarray__": True, b"data": pickled, b"dtype": "|O", b"shape": [1]})
    for data in (pickled, packed):
        with pytest.raises(CodecError):
            unpack(data)
