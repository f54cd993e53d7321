"""The texts of badges: values of constants, shapes of variables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf

from tests.visible.test_badges import chips
from tests.visible.test_visible_graph import lines
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.visible.badges import format_constant
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, build_visible_graph


def typed(**ops: tuple[str, list[str], dict[str, object]]) -> GraphIndex:
    """An index of real NodeDefs: name=(type, inputs, attributes); a list is a variable's shape, an
    array a value.
    """
    nodes = []
    for name, (op_type, inputs, attributes) in ops.items():
        node = tf.compat.v1.NodeDef(name=name.replace("__", "/"), op=op_type, input=inputs)
        for key, value in attributes.items():
            if isinstance(value, list):
                for size in value:
                    node.attr[key].shape.dim.add(size=size)
            elif isinstance(value, int):
                node.attr[key].type = value
            else:
                node.attr[key].tensor.CopyFrom(tf.make_tensor_proto(value))
        nodes.append(node)
    return build(nodes)


def test_badges_say_values_and_shapes():
    index = typed(
        x=("Placeholder", [], {}),
        kernel=("VarHandleOp", [], {"shape": [7, 7, 3, 64]}),
        read=("ReadVariableOp", ["kernel"], {}),
        conv=("Conv2D", ["x", "read"], {}),
        shape=("Const", [], {"value": np.array([-1, 8], np.int32)}),
        a=("Reshape", ["conv", "shape"], {}),
        Const_3=("Const", [], {"value": 0.5}),
        b=("Mul", ["a", "Const_3"], {}),
        table=("Const", [], {"value": np.zeros((512, 10), np.float32)}),
        c=("MatMul", ["b", "table"], {}),
    )
    assert [said for _, _, said in chips(build_visible_graph(index, ViewSpec()))] == [
        "kernel 7×7×3×64",
        "shape [-1, 8]",
        "0.5",
        "table float32[512, 10]",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "3"),
        (np.float64(0.1), "0.1"),
        (np.array([1e-12, 2], np.float32), "[1e-12, 2]"),
        (np.array([[1, 2], [3, 4]], np.int64), "[[1, 2], [3, 4]]"),
        (True, "True"),
        ("relu", '"relu"'),
        ("<img src=x>\n", '"<img src=x>\\n"'),
        (np.zeros(0, np.int32), "[]"),
        (np.float16(1.5), "1.5"),
        (np.array([7, 7, 7, 7], np.int32), "[7, 7, 7, 7]"),
        (np.zeros(9, np.float32), "float32[9]"),
        ("a" * 100, "string[]"),
        (np.complex64(1j), "complex64[]"),
    ],
)
def test_small_values_are_written_out_and_large_ones_told_by_dtype_and_shape(value, said):
    assert format_constant(tf.make_tensor_proto(value)) == said


def test_a_damaged_constant_is_told_without_its_value():
    proto = tf.make_tensor_proto(np.arange(4, dtype=np.int32))
    proto.tensor_content = proto.tensor_content[:-1]
    assert format_constant(proto) == "int32[4]"
    proto.dtype = 99
    assert format_constant(proto) == "[4]"


def test_a_captured_variable_is_a_badge_and_no_input():
    index = typed(
        x=("Placeholder", [], {"dtype": 1}),
        dense_readvariableop_resource=("Placeholder", [], {"dtype": 20}),
        read=("ReadVariableOp", ["dense_readvariableop_resource"], {}),
        y=("MatMul", ["x", "read"], {}),
    )
    shown = build_visible_graph(index, ViewSpec())
    assert chips(shown) == [("y", "read", "dense")]
    assert [n for n, kind in zip(shown.names, shown.kind, strict=True) if kind != BADGE] == [
        "",
        "x",
        "y",
    ]


def test_a_merged_constant_is_no_line_between_layers():
    """Where equal constants were merged, one layer holds the epsilon of all others."""
    ops = {"x": ("Placeholder", [], {}), "norm_3__epsilon": ("Const", [], {"value": np.ones(2)})}
    layers, before = [f"norm_{k}" for k in range(4)], "x"
    for layer in layers:
        ops[f"{layer}__mul"] = ("Mul", [before], {})
        ops[f"{layer}__add"] = ("Add", [f"{layer}/mul", "norm_3/epsilon"], {})
        before = f"{layer}/add"
    drawn = lines(build_visible_graph(typed(**ops), ViewSpec(fold=False)))
    assert set(drawn) == {("x", "norm_0"), *pairwise(layers)}
    large = ops | {"norm_3__epsilon": ("Const", [], {"value": np.ones((20, 20))})}
    drawn = lines(build_visible_graph(typed(**large), ViewSpec(fold=False)))
    assert ("norm_3", "norm_0") in drawn, "a kernel that layers share is a part of the network"
