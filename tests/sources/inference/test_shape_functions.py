"""Our own shape functions say what TensorFlow's say, or nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import node_def_pb2

from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import dtype_number
from tfgraphwidget.sources.inference.shape_functions import INFERRED, ShapeMismatch, output_shapes

ROUNDS = 60
ATTRIBUTES: dict[str, list[str]] = {
    "Conv2D": ["strides", "padding", "data_format", "dilations"],
    "DepthwiseConv2dNative": ["strides", "padding", "data_format", "dilations"],
    "MaxPool": ["strides", "padding", "data_format", "ksize"],
    "AvgPool": ["strides", "padding", "data_format", "ksize"],
    "MatMul": ["transpose_a", "transpose_b"],
    "BatchMatMulV2": ["adj_x", "adj_y"],
    "BatchMatMulV3": ["adj_x", "adj_y"],
}
RANKS = {
    "Conv2D": 4,
    "DepthwiseConv2dNative": 4,
    "MaxPool": 4,
    "AvgPool": 4,
    "FusedBatchNorm": 4,
    "FusedBatchNormV2": 4,
}
VALUES = {
    "Reshape": 1, "ExpandDims": 1, "Transpose": 1, "ArgMax": 1, "ArgMin": 1, "Pad": 1, "PadV2": 1,
    "MirrorPad": 1, "All": 1, "Any": 1, "Max": 1, "Mean": 1, "Min": 1, "Prod": 1, "Sum": 1,
    "Fill": 0, "RandomUniform": 0, "RandomStandardNormal": 0, "TruncatedNormal": 0, "ConcatV2": -1,
}  # fmt: skip
"""The input whose numbers shapes depend on."""


def sizes(chance: random.Random, rank: int) -> list[int | None]:
    return [chance.choice([None, 1, 1, 2, 2, 3, 4, 0]) for _ in range(rank)]


def shape(chance: random.Random, op_type: str) -> list[int | None] | None:
    if not chance.randrange(8):
        return None
    return sizes(
        chance,
        RANKS.get(op_type, 0) if op_type in RANKS and chance.randrange(6) else chance.randrange(5),
    )


def numbers(chance: random.Random, op_type: str, first: list[int | None] | None) -> Any:
    rank = len(first) if first is not None else 2
    if op_type in ("Fill", "RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        return [chance.randrange(-1, 4) for _ in range(chance.randrange(4))]
    if op_type == "Reshape":
        known = int(np.prod([size or 1 for size in first or [4]]))
        return chance.choice(
            [[-1], [known], [1, -1], [known, 1], [2, -1], [-1, 3], [], [2, 2], [-1, -1], [0, -1]]
        )
    if op_type == "Transpose":
        return chance.sample(range(rank), rank)
    if op_type in ("Pad", "PadV2", "MirrorPad"):
        return [[chance.randrange(3), chance.randrange(3)] for _ in range(rank)]
    if op_type in ("ExpandDims", "ArgMax", "ArgMin", "ConcatV2"):
        return chance.randrange(-rank - 1, rank + 2)
    return chance.choice([0, [0], [-1], list(range(rank)), [], [rank]])


def dtype_of(definition: Any, argument: Any) -> int:
    if argument.type:
        return int(argument.type)
    attr = next(attr for attr in definition.attr if attr.name == argument.type_attr)
    allowed = list(attr.allowed_values.list.type)
    float32, int32 = dtype_number("float32"), dtype_number("int32")
    if argument.name in (
        "shape",
        "paddings",
        "perm",
        "reduction_indices",
        "axis",
        "dim",
        "dims",
        "dimension",
    ):
        return int32
    return float32 if not allowed or float32 in allowed else allowed[0]


def set_attributes(chance: random.Random, node: Any, definition: Any) -> None:  # noqa: C901 - one branch for each attribute
    """Random attributes, of those that shapes depend on."""
    op_type = node.op
    for attr in definition.attr:
        if attr.name in node.attr:
            continue
        wanted = ATTRIBUTES.get(op_type, [])
        if attr.name in ("strides", "ksize", "dilations") and attr.name in wanted:
            pair = [chance.randrange(1, 3), chance.randrange(1, 3)]
            node.attr[attr.name].list.i.extend([1, *pair, 1])
        elif attr.name == "padding" or (attr.name == "data_format" and attr.name in wanted):
            allowed = [text for text in attr.allowed_values.list.s if text != b"NCHW_VECT_C"]
            node.attr[attr.name].s = chance.choice(
                [text for text in allowed if text != b"EXPLICIT"] or [b"VALID"]
            )
        elif attr.type == "bool":
            node.attr[attr.name].b = (
                bool(chance.randrange(2)) if attr.name != "incompatible_shape_error" else True
            )
        elif attr.name == "squeeze_dims":
            node.attr[attr.name].list.i.extend(chance.sample([0, -1, 1], chance.randrange(3)))
        elif attr.name == "axis" and op_type == "Pack":
            node.attr[attr.name].i = chance.randrange(-2, 3)
        elif attr.name == "shape":
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape(chance, op_type)).as_proto())
        elif attr.name == "value":
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.zeros([2, 3], np.float32)))
        elif attr.HasField("default_value"):
            node.attr[attr.name].CopyFrom(attr.default_value)
        elif attr.type == "type":
            node.attr[attr.name].type = dtype_number("float32")
        elif attr.type == "string":
            node.attr[attr.name].s = b"REFLECT" if attr.name == "mode" else b""


def random_op(  # noqa: C901 - one branch for each kind of op
    chance: random.Random, op_type: str
) -> tuple[Any, list[Any], dict[int, Any]]:
    """A NodeDef, the shapes of what it reads, and the constants that it reads."""
    definition = tf_protos.registered_op(op_type)
    assert definition is not None
    node = node_def_pb2.NodeDef(name="op", op=op_type)
    shapes: list[Any] = []
    values: dict[int, Any] = {}
    for argument in definition.input_arg:
        count = chance.randrange(1, 4) if argument.number_attr else 1
        if argument.number_attr:
            node.attr[argument.number_attr].i = count
        if argument.type_attr:
            node.attr[argument.type_attr].type = dtype_of(definition, argument)
        for _ in range(count):
            node.input.append(f"in{len(shapes)}")
            own = shape(chance, op_type)
            if shapes and chance.randrange(3) and op_type not in RANKS:  # mostly what fits
                own = (
                    None
                    if shapes[0] is None
                    else [n if chance.randrange(4) else None for n in shapes[0]]
                )
            if (
                shapes
                and shapes[0]
                and op_type in ("BiasAdd", "FusedBatchNorm", "FusedBatchNormV2")
            ):
                own = [
                    chance.choice(
                        [None, shapes[0][chance.choice([-1, -1, min(1, len(shapes[0]) - 1)])]]
                    )
                ]
            if op_type == "Fill" and shapes and chance.randrange(4):
                own = []
            shapes.append(own)
    set_attributes(chance, node, definition)
    if node.attr.get("data_format") is not None and node.attr["data_format"].s == b"NCHW":
        for name in ("strides", "ksize", "dilations"):
            if name in node.attr:
                given = list(node.attr[name].list.i)
                node.attr[name].list.i[:] = [1, 1, *given[1:3]]
    if op_type in VALUES:
        at = VALUES[op_type] % len(shapes)
        array = np.array(numbers(chance, op_type, shapes[0] if at else None), np.int32)
        shapes[at], values[at] = list(array.shape), array
        if not chance.randrange(8):
            values.pop(at)
    return node, shapes, values


def constant(value: Any) -> Any:
    node = node_def_pb2.NodeDef(name="const", op="Const")
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return node


def inferred(node: Any, shapes: list[Any], values: dict[int, Any]) -> list[Any] | None:
    """What TensorFlow infers; None where it refuses the op."""
    definition = tf_protos.registered_op(node.op)
    assert definition is not None
    graph_def = tf.compat.v1.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    k = 0
    for argument in definition.input_arg:
        for _ in range(node.attr[argument.number_attr].i if argument.number_attr else 1):
            new = graph_def.node.add(name=f"in{k}", op="Const" if k in values else "Placeholder")
            kind = argument.type or node.attr[argument.type_attr].type
            if argument.is_ref or kind == dtype_number("resource"):
                pytest.skip("reads a variable")
            new.attr["dtype"].type = kind
            if k in values:
                new.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values[k]))
            else:
                new.attr["shape"].shape.CopyFrom(tf.TensorShape(shapes[k]).as_proto())
            k += 1
    graph_def.node.add().CopyFrom(node)
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError:
            return None
        outputs = graph.get_operation_by_name("op").outputs
        return [
            None if each.shape.rank is None else tuple(each.shape.as_list()) for each in outputs
        ]


@pytest.mark.parametrize("op_type", sorted(INFERRED))
@pytest.mark.sample(30)
def test_shapes_are_those_that_tensorflow_infers(op_type: str) -> None:
    chance, known = random.Random(op_type), 0
    for _ in range(ROUNDS):
        node, shapes, values = random_op(chance, op_type)
        definition = tf_protos.registered_op(op_type)
        sources = [constant(values[k]) if k in values else None for k in range(len(shapes))]
        expected = inferred(node, shapes, values)
        known_shapes = [None if s is None else tuple(s) for s in shapes]
        own, mismatch = None, ""
        try:
            own = output_shapes(node, definition, known_shapes, sources)
        except ShapeMismatch as reason:
            mismatch = str(reason)
        assert not (mismatch and expected is not None), (
            f"{mismatch}: {text_format.MessageToString(node)} of {shapes}"
        )
        if own is not None:
            known += 1
            assert expected is not None, (
                f"TensorFlow refuses {text_format.MessageToString(node)} of {shapes}"
            )
            assert list(own) == expected, (
                f"{text_format.MessageToString(node)} of {shapes} with {values}"
            )
    assert known > ROUNDS // 30
