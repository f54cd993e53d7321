"""The attributes of NodeDefs read from bytes are those that their messages have."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.conftest import INCEPTION, v1
from tfgraphwidget.sources import read_attributes
from tfgraphwidget.sources.node_columns import LARGE_CONSTANT
from tfgraphwidget.tf_types import NodeDef


def odd_nodes() -> list[NodeDef]:
    """NodeDefs as strangers may write them: attributes without a name, without a value, twice, with
    fields of a newer release; none at all; a constant of a megabyte.
    """
    nodes = [v1.NodeDef(name=f"op_{k}", op="Odd") for k in range(6)]
    nodes[0].attr[""].i = -1
    nodes[1].attr["nothing"].SetInParent()
    nodes[1].attr["_class"].list.s[:] = [b"loc:@a:0", b"^b", b"\xff"]
    twice = v1.NodeDef(name="op_3", op="Odd")
    twice.attr["k"].i = 7
    nodes[3].attr["k"].f = 2.0
    nodes[3].MergeFromString(twice.SerializeToString())
    # An attribute of field 99, in an AttrValue, and one beside the fields of a NodeDef.
    nodes[4].MergeFromString(b"\x2a\x0b\x0a\x01n\x12\x06\x9a\x06\x03new" + b"\x9a\x06\x03new")
    large = v1.NodeDef(name="large", op="Const", input=["^op_0"])
    large.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1.0] * 262_144))
    large.attr["dtype"].type = tf.float32.as_datatype_enum
    return [*nodes, large]


def inception_nodes() -> list[NodeDef]:
    """The NodeDefs of a real file."""
    return list(v1.MetaGraphDef.FromString(INCEPTION.read_bytes()).graph_def.node)


@pytest.mark.parametrize("nodes", [odd_nodes(), inception_nodes(), []], ids=["odd", "real", "none"])
def test_attributes_read_together_are_those_of_each_message(nodes: list[NodeDef]) -> None:
    columns, start = read_attributes(nodes), 0
    assert len(columns.stops) == len(nodes)
    for node, end in zip(nodes, columns.stops, strict=True):
        names, values = columns.names[start:end], columns.values[start:end]
        start = end
        assert sorted(names) == sorted(node.attr)
        for name, value in zip(names, map(v1.AttrValue.FromString, values), strict=True):
            if node.name == "large" and name == "value":
                shape = node.attr["value"].tensor.tensor_shape
                assert value.tensor.tensor_shape == shape
                assert value.ByteSize() < LARGE_CONSTANT
            else:
                assert value == node.attr[name]
    assert start == len(columns.names)
