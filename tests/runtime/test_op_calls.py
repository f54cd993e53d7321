"""Op types that we call ourselves make the ops that TensorFlow makes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.patterns import parse_replacement
from tfgraphwidget.runtime.live.traced_ops import trace_function
from tfgraphwidget.runtime.op_calls import trace_op_type
from tfgraphwidget.sources import argument_names, op_types, tf_protos

FLOATS, INTEGERS = ("float32", (None, 4)), ("int32", (3,))
CALLS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Identity", [FLOATS], {}),
    ("Relu", [FLOATS], {}),
    ("LeakyRelu", [FLOATS], {"alpha": 0.3}),
    ("Cast", [FLOATS], {"dtype": "float16"}),
    ("Cast", [FLOATS], {"dtype": "float32"}),
    ("CheckNumerics", [FLOATS], {"message": "bad"}),
    ("Reshape", [FLOATS], {"shape": [-1, 2]}),
    ("Transpose", [FLOATS], {"perm": [1, 0]}),
    ("Sum", [FLOATS], {"axis": [0], "keep_dims": True}),
    ("Sum", [FLOATS], {"axis": 1}),
    ("ExpandDims", [FLOATS], {"axis": 0}),
    ("AddV2", [FLOATS], {"y": 2.0}),
    ("AddV2", [FLOATS, FLOATS], {}),
    ("AddN", [FLOATS, FLOATS], {}),
    ("Pack", [FLOATS, FLOATS], {"axis": 1}),
    ("ConcatV2", [FLOATS, FLOATS], {"axis": 1}),
    ("MatMul", [FLOATS], {"b": [[1.0], [2.0], [3.0], [4.0]]}),
    ("Pad", [FLOATS], {"paddings": [[0, 0], [1, 1]]}),
    ("ArgMax", [FLOATS], {"dimension": 1}),
    (
        "MaxPool",
        [("float32", (1, 8, 8, 3))],
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    ),
    ("Relu", [("float32", None)], {}),
    ("Squeeze", [("float32", (1, 4, 1))], {"axis": [0]}),
    ("Neg", [INTEGERS], {}),
]
TEXTS = [
    "Elu(x)",
    "LeakyRelu(x, alpha=0.25)",
    "Mul(x, 2)",
    "Maximum(Mul(x, 0.5), x)",
    "a = Relu(x); AddV2(a, a)",
]


def described(trace: Any) -> tuple[Any, ...]:
    """The ops of a trace, with their static shapes, and its ends."""
    index = trace.index
    shapes = [
        [index.shape(op, port) for port in range(len(index.dtypes(op)))] for op in range(len(index))
    ]
    return (
        {node.name: node for node in index.nodes},
        dict(zip(index.names, shapes, strict=True)),
        trace.outputs,
    )


def is_equal(a: Any, b: Any) -> bool:
    """Whether two traces are one; TensorFlow writes some shapes of placeholders in another way."""
    return described(a)[1:] == described(b)[1:] and all(
        node == described(b)[0].get(name)
        for name, node in described(a)[0].items()
        if node.op != "Placeholder"
    )


@pytest.mark.parametrize(("op_type", "specs", "options"), CALLS, ids=lambda value: str(value)[:30])
def test_an_op_type_makes_what_tensorflow_makes(
    op_type: str, specs: list[Any], options: dict[str, Any]
) -> None:
    own = trace_op_type(op_type, specs, options)
    assert own is not None
    assert is_equal(own, trace_function(op_type, specs, options))


@pytest.mark.parametrize("text", TEXTS)
def test_a_replacement_makes_what_tensorflow_makes(text: str) -> None:
    replacement = parse_replacement(text, ["x"], [])
    own = trace_op_type(replacement, [FLOATS], {})
    assert own is not None
    assert is_equal(own, trace_function(replacement, [FLOATS], {}))


@pytest.mark.parametrize("specs", [[INTEGERS], [("string", ())]])
def test_what_cannot_be_called_is_for_tensorflow_to_refuse(specs: list[Any]) -> None:
    assert trace_op_type("Elu", specs, {}) is None
    with pytest.raises(GraphEditError, match="Elu raised TypeError"):
        trace_function("Elu", specs, {})


def test_without_tensorflow_it_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf_protos, "is_tensorflow_installed", lambda: False)
    with pytest.raises(
        GraphEditError,
        match=r"^Elu cannot be called here: it cannot be called on int32, only on .*\.$",
    ):
        trace_op_type("Elu", [INTEGERS], {})


def test_a_python_function_is_for_tensorflow_to_call() -> None:
    assert trace_op_type(tf.identity, [FLOATS], {}) is None


def test_parameters_of_all_op_types_are_named_as_in_raw_ops() -> None:
    wrong = []
    for op_type in op_types():
        signature = [
            name
            for name in inspect.signature(getattr(tf.raw_ops, op_type)).parameters
            if name != "name"
        ]
        if sorted(argument_names(op_type).values()) != sorted(signature):
            wrong.append(op_type)
    assert wrong == []
