"""Values of commands as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.conftest import build_mlp
from tfgraphwidget.edits.serialization.json_format import (
    NotDecodable,
    NotEncodable,
    OpNames,
    decode,
    encode,
    records_from,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import build
from tfgraphwidget.sources.live.graph_body import GraphBody

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=10,
)
dtypes = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes(endianness="?")
    | arrays.unsigned_integer_dtypes(endianness="?")
    | arrays.floating_dtypes(endianness="?", sizes=(16, 32, 64))
    | arrays.complex_number_dtypes(endianness="?", sizes=(64, 128))
    | arrays.byte_string_dtypes(endianness="?", max_len=5)
    | arrays.unicode_string_dtypes(endianness="?", max_len=5)
)


def through(value: Any) -> Any:
    """What comes back after a way through JSON text."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


@given(plain)
def test_numbers_texts_and_tuples_come_back(value: Any) -> None:
    assert repr(through(value)) == repr(value)


@given(arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, min_side=0, max_side=3)))
def test_arrays_come_back_with_dtype_and_shape(array: np.ndarray) -> None:
    found = through(array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    assert found.tobytes() == array.astype(found.dtype).tobytes()
    assert found.flags.writeable


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_dtypes_that_numpy_lacks_come_back(dtype: Any) -> None:
    found = through(np.arange(6).reshape(2, 3).astype(dtype))
    assert found.dtype == dtype
    assert found.astype(int).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_arrays_of_strings_and_tensors_with_a_value_come_back() -> None:
    held = through(np.array([["a", b"\xff"]], object))
    assert held.dtype == object
    assert held.tolist() == [["a", b"\xff"]]
    assert through(tf.constant([1.5, 2.5])).tolist() == [1.5, 2.5]
    assert through(tf.constant(["é"])).tolist() == ["é".encode()]


def test_a_selection_is_its_names() -> None:
    body = GraphBody(build_mlp(resource=True))
    index = build(body.nodes(), *body.collections(), typing=body.typing)
    chosen = OpNames(("net/one/out",), ("x:0",))
    found = through(chosen.on(index))
    assert found == chosen
    assert found.on(index) == chosen.on(index)


@pytest.mark.parametrize(
    "value",
    [len, lambda x: x, object(), {"a": 1}, {1}, np.array([object()]), np.array("2020", "M8[Y]")],
)
def test_what_json_cannot_hold_is_said(value: Any) -> None:
    with pytest.raises(NotEncodable):
        encode(value)


def test_a_tensor_without_a_value_is_said() -> None:
    with pytest.raises(NotEncodable, match="without a value"):
        encode(build_mlp(resource=True).get_tensor_by_name("x:0"))


@pytest.mark.parametrize(
    "held",
    [
        {"array": "", "dtype": "float32", "shape": [0, 10**30]},
        {"array": "", "dtype": "float32", "shape": [0, 2**40, 2**40]},
        {"array": "AAAAAA==", "dtype": "float32", "shape": [1] * 100},
        {"array": [], "dtype": "object", "shape": [0, 10**30]},
        {"array": ["a"], "dtype": "object", "shape": [1] * 100},
        {"array": "", "dtype": "S0", "shape": [10**18]},
        {"array": "", "dtype": "str", "shape": [1]},
        {"array": "/////w==", "dtype": "U1", "shape": []},
        {"array": "AAARAA==", "dtype": "U1", "shape": []},
        {"complex": [10**400, 0]},
        {"complex": [True, 0]},
    ],
    ids=repr,
)
def test_what_no_value_can_be_is_refused(held: Any) -> None:
    with pytest.raises(NotDecodable):
        decode(held)
    with pytest.raises(GraphEditError, match=r"^Edit 1 \(set_attr\) cannot be read: .*[^.]\.$"):
        records_from(
            [{"command": "set_attr", "arguments": {"op": "a", "name": "n", "value": held}}]
        )


def test_the_last_character_that_there_is_comes_back() -> None:
    assert through(np.array("\U0010ffff")).item() == "\U0010ffff"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["float", "complex", "bytes", "array", "dtype", "shape", "ops", "tensors", "x"]
            ),
            inner,
        )
    ),
)


@given(
    anything
    | st.fixed_dictionaries(
        {
            "array": anything,
            "dtype": anything | st.sampled_from(["int8", "object", "V4", "O", "S0", "U1"]),
            "shape": anything,
        }
    )
    | st.fixed_dictionaries({"ops": anything, "tensors": anything})
    | st.fixed_dictionaries({"complex": anything})
)
def test_any_json_is_a_value_or_is_refused(held: Any) -> None:
    try:
        value = decode(held)
    except NotDecodable:
        return
    # What it is can be written, and is the same when it is read again: NaN is not equal to itself,
    # but its JSON is.
    if not isinstance(value, OpNames):
        assert encode(decode(encode(value))) == encode(value)
