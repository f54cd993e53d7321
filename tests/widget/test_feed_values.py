"""Which variables of a notebook are offered as feeds of a placeholder, and what is said of those
that do not fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import Shape
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.feed_values import ArraySpec, array_spec, feed_array
from tfgraphwidget.widget.kernel_namespace import KernelNamespace
from tfgraphwidget.widget.request_handler import RequestHandler

GRAPH = tf.Graph()
with GRAPH.as_default():
    GRAPH_TENSORS = {
        "placeholder": v1.placeholder(tf.float32, [2]),
        "constant": tf.constant([1.0, 2.0]),
        "resource_variable": v1.get_variable("resource", [2], use_resource=True),
        "reference_variable": v1.get_variable("reference", [2], use_resource=False),
        "sparse": tf.sparse.from_dense([1.0, 0.0]),
        "dataset": v1.data.make_one_shot_iterator(tf.data.Dataset.range(3)).string_handle(),
    }


class Odd:
    """An object whose shape and array raise: listing variables must not read them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Raises."""
        raise RuntimeError

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("it is odd")


def offered(dtype: Any, shape: Any, **things: object) -> tuple[str, ...]:
    """The variables that the form offers for a placeholder, in the notebook's order."""
    with tf.Graph().as_default() as graph:
        tf.identity(v1.placeholder(dtype, shape, name="x"), name="y")
    answers = RequestHandler(tgw.edit(graph), namespace=KernelNamespace(lambda: dict(things)))
    reply = answers.handle(p.Feedable("y"))[0]
    assert isinstance(reply, p.Feeds)
    return reply.fields[0].variables[::-1]


@pytest.mark.parametrize("name", GRAPH_TENSORS)
def test_tensors_and_variables_of_a_graph_are_not_offered(name: str) -> None:
    assert array_spec(GRAPH_TENSORS[name]) is None
    assert offered(tf.float32, None, wrong=GRAPH_TENSORS[name], right=np.ones(2)) == ("right",)


def test_arrays_numbers_lists_and_eager_tensors_are_offered() -> None:
    things: dict[str, object] = {
        "array": np.ones([2, 3]),
        "number": 1.5,
        "scalar": np.float64(1.5),
        "nested": [[1, 2, 3], [4, 5, 6]],
        "pair": (1, 2),
        "eager": tf.ones([2, 3]),
        "variable": tf.Variable(tf.ones([2, 3])),
        "kernel": tf.keras.Variable(np.ones([2, 3])),
        "odd": Odd(),
        "ragged": tf.ragged.constant([[1.0], [2.0, 3.0]]),
        "keras_tensor": tf.keras.Input([3]),
        "things": [{}],
        "dictionary": {},
        "words": ["a", "b"],
        "handle": tf.Variable(1.0).handle,
        "dates": np.array(["2020-01-01"], "datetime64[D]"),
    }
    all_of_them = (
        "array",
        "number",
        "scalar",
        "nested",
        "pair",
        "eager",
        "variable",
        "kernel",
        "odd",
    )
    assert offered(tf.float32, None, **things) == all_of_them
    assert offered(tf.float32, [None, 3], **things) == (
        "array",
        "nested",
        "eager",
        "variable",
        "kernel",
        "odd",
    )
    assert offered(tf.int32, [2], **things) == ("pair", "odd")
    assert offered(tf.string, None, **things) == ("odd", "words")
    assert offered(tf.float64, [], **things) == ("number", "scalar", "odd")


def test_variables_of_any_shape_are_offered() -> None:
    any_rank = tf.Variable(np.ones(3, np.float32), shape=tf.TensorShape(None))
    any_rows = tf.Variable(np.ones([4, 2], np.float32), shape=[None, 2])
    assert offered(tf.float32, [4, 2], rows=any_rows, rank=any_rank) == ("rows", "rank")


def test_lists_of_what_numpy_reads_are_offered_and_fed() -> None:
    rows = [pd.Series([1.0, 2.0]), pd.Series([3.0, 4.0])]
    assert offered(tf.float32, [2, 2], rows=rows) == ("rows",)
    assert feed_array(rows, "x:0", "rows", "float32", (2, 2)).tolist() == [[1, 2], [3, 4]]


def test_narrower_kinds_are_offered_where_wider_ones_are_expected() -> None:
    things: dict[str, object] = {
        "flags": np.ones(2, bool),
        "bytes": np.ones(2, np.uint8),
        "wide": np.ones(2, np.int64),
        "halves": np.ones(2, np.float16),
        "brains": np.asarray(tf.ones(2, tf.bfloat16)),
        "complexes": np.ones(2, np.complex64),
    }
    assert offered(tf.bool, [2], **things) == ("flags",)
    assert offered(tf.uint8, [2], **things) == ("flags", "bytes", "wide")
    assert offered(tf.bfloat16, [2], **things) == ("flags", "bytes", "wide", "halves", "brains")
    assert offered(tf.complex128, [2], **things) == tuple(things)


def test_long_lists_are_described_by_their_first_elements() -> None:
    assert array_spec([[1, 2]] * 1_000_000) == ArraySpec("i", (1_000_000, 2))
    assert array_spec([]) == ArraySpec("", (0,))
    endless: list[Any] = []
    endless.append(endless)
    assert array_spec(endless) is None


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "why"),
    [
        (
            np.ones([4, 5]),
            "float32",
            (None, 64),
            r"x:0: shape \(4, 5\) does not fit \(None, 64\); give one that does",
        ),
        (1.5, "float32", (None, 64), r"x:0: a scalar does not fit \(None, 64\)"),
        ([1.5], "float32", (), r"x:0: shape \(1,\) does not fit a scalar"),
        (np.full(2, 0.5), "int32", (2,), "'v' is float64, which does not fit int32; cast it"),
        ([1, 0.5], "int32", (2,), "'v' is float64, which does not fit int32"),
        (np.array([1, 300]), "uint8", (2,), "'v' has numbers that uint8 does not have"),
        ([10**30], "int64", (1,), "'v' is object, which does not fit int64"),
        ([[1], [2, 3]], "float32", None, "'v' is not an array .its lists have different lengths"),
        (Odd(), "float32", None, "'v' is not an array .*it is odd"),
        (["a"], "float32", (1,), "'v' is string, which does not fit float32"),
        (np.ones(1), "string", (1,), "'v' is float64, which does not fit string"),
        (np.ones(1, ml_dtypes.bfloat16), "int4", (1,), "'v' is bfloat16, which does not fit int4"),
        (
            np.ones(1, "V2"),
            "float32",
            (1,),
            "'v' is without a dtype, 2 bytes each, which does not fit float32; load it",
        ),
        (
            np.ones(1, [("qint8", "i1")]),
            "int32",
            (1,),
            "'v' is qint8, which does not fit int32; cast it",
        ),
        (
            np.ones(1, [("qint8", "i1")]),
            "quint8",
            (1,),
            "'v' is qint8, which does not fit quint8; cast it",
        ),
        (np.array([300]), "qint8", (1,), "'v' has numbers that qint8 does not have"),
        (np.array([8]), "int4", (1,), "'v' has numbers that int4 does not have"),
        (np.array([1e5]), "float16", (1,), "'v' has numbers that float16 does not have"),
        (GRAPH_TENSORS["placeholder"], "float32", None, "'v' is a SymbolicTensor; choose an array"),
        (
            GRAPH_TENSORS["resource_variable"],
            "float32",
            None,
            "'v' is a ResourceVariable; choose an array",
        ),
        (
            tf.ragged.constant([[1.0], [2.0, 3.0]]),
            "float32",
            None,
            "'v' is a RaggedTensor; choose an array",
        ),
        ({}, "float32", None, "'v' is a dict; choose an array"),
    ],
)
def test_what_does_not_fit_is_said_in_words(
    value: object, dtype: str, shape: Shape, why: str
) -> None:
    with pytest.raises(InvalidArgument, match=why) as caught:
        feed_array(value, "x:0", "v", dtype, shape)
    assert caught.value.argument == "x:0"


def test_what_fits_is_fed_in_the_placeholder_s_dtype() -> None:
    assert feed_array([1, 2], "x:0", "v", "float32", (2,)).dtype == np.float32
    assert feed_array([], "x:0", "v", "int32", (None,)).dtype == np.int32
    assert feed_array(tf.Variable([1.0]), "x:0", "v", "bfloat16", None).dtype.name == "bfloat16"
    assert feed_array(["a"], "x:0", "v", "string", (1,)).tolist() == ["a"]


@pytest.mark.parametrize(
    "dtype", ["qint8", "quint8", "qint16", "quint16", "qint32", "bfloat16", "float8_e4m3fn", "int4"]
)
def test_each_dtype_is_fed_from_a_form_a_variable_and_a_file(dtype: str, tmp_path: Path) -> None:
    numpy_dtype = tf.as_dtype(dtype).as_numpy_dtype
    with tf.Graph().as_default() as graph:
        tf.identity(v1.placeholder(dtype, [2], name="x"), name="y")
    own = np.array([3, 0]).astype(numpy_dtype)
    np.save(tmp_path / "saved.npy", own)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    handler = RequestHandler(
        editor, namespace=KernelNamespace(lambda: {"own": own, "numbers": [3, 0]})
    )
    form = handler.handle(p.Feedable("y"))[0]
    assert isinstance(form, p.Feeds)
    assert form.fields[0].variables == ("numbers", "own")
    for kind, source in (
        ("variable", "own"),
        ("variable", "numbers"),
        ("file", str(tmp_path / "saved.npy")),
    ):
        handler.handle(p.Probe("y", (p.Feed("x:0", kind, "", 0.0, 1.0, source),)))
        assert np.asarray(editor._core.evaluator.probed["y"][0].value).astype(int).tolist() == [
            3,
            0,
        ], (kind, source)
    handler.handle(p.Probe("y", (p.Feed("x:0", "random", "[2]", 3.0, 3.0, ""),)))
    assert np.asarray(editor._core.evaluator.probed["y"][0].value).astype(int).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("uint8", -5.0, 7.0), ("int32", 2.0**63, 2.0**63), ("half", 0.0, 1e6)],
)
def test_random_numbers_that_a_dtype_does_not_have_are_refused(
    dtype: str, low: float, high: float
) -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(v1.placeholder(dtype, [90], name="x"), name="y")
    handler = RequestHandler(
        tgw.edit(graph, session=v1.Session(graph=graph)), namespace=KernelNamespace(dict)
    )
    with pytest.raises(
        InvalidArgument,
        match=f"x:0: .* to .* has numbers that {tf.as_dtype(dtype).name} does not have",
    ):
        handler.handle(p.Probe("y", (p.Feed("x:0", "random", "[90]", low, high, ""),)))


def test_a_file_that_is_no_array_is_refused_in_a_sentence(tmp_path: Path) -> None:
    editor = tgw.edit(graph_with_a_handle())
    handler = RequestHandler(editor, namespace=KernelNamespace(dict))
    header = (
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000,), }".ljust(117) + b"\n"
    )
    huge = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    for content in (b"", b"PK\x03\x04 no archive", b"text", huge):
        (tmp_path / "damaged.npy").write_bytes(content)
        with pytest.raises(InvalidArgument, match=r"x:0: .* cannot be read as .npy"):
            handler.handle(
                p.Probe(
                    "square", (p.Feed("x:0", "file", "", 0.0, 1.0, str(tmp_path / "damaged.npy")),)
                )
            )


# Placeholders that are handles


def graph_with_a_handle() -> tf.Graph:
    """What is computed from numbers, and what from a resource."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        handle = v1.placeholder(tf.resource, [], name="handle")
        tf.square(x, name="square")
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")
    return graph


def test_a_placeholder_of_a_handle_is_not_asked_for_but_refused() -> None:
    editor = tgw.edit(graph := graph_with_a_handle(), session=v1.Session(graph=graph))
    answers = RequestHandler(editor, namespace=KernelNamespace(dict))
    for request in (p.Feedable("read"), p.Probe("read", ()), p.Feedable("handle")):
        with pytest.raises(
            GraphEditError, match="Placeholder 'handle' is a resource, which cannot be fed; choose"
        ):
            answers.handle(request)
    with pytest.raises(
        GraphEditError, match="which cannot be fed; choose tensors that do not depend on it"
    ):
        editor.probe("read")


def test_what_needs_no_handle_is_measured() -> None:
    editor = tgw.edit(graph := graph_with_a_handle(), session=v1.Session(graph=graph))
    answers = RequestHandler(editor, namespace=KernelNamespace(dict))
    reply = answers.handle(p.Feedable("", measure=True))[0]
    assert isinstance(reply, p.Feeds)
    assert [field.tensor for field in reply.fields] == ["x:0"]
    answers.handle(p.Measure((reply.fields[0].feed,)))
    assert "square" in editor._core.evaluator.costs


def test_a_function_of_a_handle_is_measured_where_it_can_be() -> None:
    @tf.function(autograph=False)
    def both(x: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        array = tf.raw_ops.TensorListStack(
            input_handle=values, element_shape=[2], element_dtype=tf.float32
        )
        return tf.square(x), array, values

    specs = [tf.TensorSpec([2], tf.float32, name="x"), tf.TensorSpec([], tf.variant, name="values")]
    editor = tgw.edit(both, signature=specs)
    assert editor._core.evaluator.placeholders() == ("x:0",)
    assert editor.measure(feeds={"x:0": [1.0, 2.0]})
