"""The fields of NodeDefs, read from bytes field by field.

A message of Python for each NodeDef, and a text for each of its fields, take two microseconds. So
protobuf reads all names in one call, all op types, and so on: of messages that follow each other
it makes one, in which each field is a list. An empty text after each NodeDef says where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tfgraphwidget.graph import CONSTANTS, NodeColumns, NodeRecords
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import NodeDef

_PROTO = descriptor_pb2.FieldDescriptorProto
_COLUMNS = ("name", "op", "input", "device")  # by the numbers of their fields in a NodeDef, from 1
MOST_MESSAGES = 20_000  # ops; messages of fewer are kept, which takes less than looks one by one
LONG_RECORD = 1_000  # bytes of an op on average; of longer ones messages cost less than bytes
_END = b"\x0a\x00\x12\x00\x1a\x00\x22\x00"  # an empty text in each of these fields
_NO_MORE = b"\x2a\x00"  # an attribute without a name and a value, which ends those of a NodeDef
LARGE_CONSTANT = 65_536  # bytes from which on only the shape of a constant is read, not its numbers


class AttributeColumns(NamedTuple):
    """The attributes of some NodeDefs that follow each other.

    Attributes:
        names: The names of all of them, one after another.
        values: The bytes of their AttrValues.
        stops: Where those of each NodeDef end, among all.
    """

    names: list[str]
    values: list[bytes]
    stops: list[int]


def split_records(data: bytes) -> tuple[list[bytes], bytes]:
    """The bytes of each NodeDef in those of a GraphDef, and all other fields of it.

    Raises DecodeError for bytes that are not fields; what is in the NodeDefs is not looked at.
    """
    graph = _messages()["Records"].FromString(data)
    records: list[bytes] = graph.node[:]
    graph.ClearField("node")
    return records, graph.SerializeToString()


def join_records(records: list[bytes]) -> bytes:
    """The bytes of a GraphDef with some NodeDefs."""
    joined: bytes = _messages()["Records"](node=records).SerializeToString()
    return joined


def stored_nodes(data: bytes) -> Sequence[NodeDef]:
    """The NodeDefs in the bytes of a GraphDef that protobuf is known to parse.

    They stay bytes where there are so many that messages would take much memory.
    """
    records, _ = split_records(data)
    if len(records) > MOST_MESSAGES:
        return node_records(records)
    nodes: Sequence[NodeDef] = tf_protos.GraphDef.FromString(data).node
    if len(data) > LONG_RECORD * len(records):
        return nodes[:]
    return node_records(records, nodes)


def node_records(records: list[bytes], parsed: Sequence[NodeDef] | None = None) -> NodeRecords:
    """NodeDefs given as bytes, parsed when they are looked at, unless `parsed` already."""

    def parse(some: list[bytes]) -> list[NodeDef]:
        nodes: list[NodeDef] = tf_protos.GraphDef.FromString(join_records(some)).node[:]
        return nodes

    return NodeRecords(records, parse, read_columns, parsed)


def read_columns(records: list[bytes]) -> NodeColumns | None:
    """The fields of NodeDefs; None if one lacks a name or type or has a field twice, so that only
    its message says what it means.
    """
    count = len(records)
    columns = _messages()["Columns"].FromString(_END.join([*records, b""]))
    names, types, inputs, devices = (getattr(columns, column)[:] for column in _COLUMNS)
    for texts in (names, types):
        # A text and an end by turns.
        if len(texts) != 2 * count or any(texts[1::2]) or not all(texts[::2]):
            return None
    stops = np.flatnonzero(~np.fromiter(map(bool, inputs), bool, len(inputs)))
    if len(stops) != count or devices.count("") != count:
        return None
    counts = (np.diff(stops, prepend=-1) - 1).tolist()
    pinned: dict[int, str] = {}
    if len(devices) > count:
        number = 0
        for device in devices:
            if device:
                pinned[number] = device
            else:
                number += 1
    return NodeColumns(names[::2], types[::2], list(filter(None, inputs)), counts, pinned)


def read_attributes(nodes: Sequence[NodeDef]) -> AttributeColumns:
    """The attributes of NodeDefs; of large constants without their numbers."""
    messages, attributes = _messages(), list(map(_without_large_value, nodes))
    data = _NO_MORE.join([*(node.SerializeToString() for node in attributes), b""])
    entries = messages["Attributes"].FromString(data).attr[:]
    columns = messages["Entries"].FromString(b"".join(entries))
    names, values = columns.key[:], columns.value[:]
    stops = np.flatnonzero(~np.fromiter(map(bool, entries), bool, len(entries)))
    if not len(names) == len(values) == len(entries) - len(stops):
        # protobuf in Python leaves out what is empty.
        pairs = [(name, node.attr[name]) for node in attributes for name in node.attr]
        names = [name for name, _ in pairs]
        values = [value.SerializeToString() for _, value in pairs]
    return AttributeColumns(names, values, (stops - np.arange(len(stops))).tolist())


def _without_large_value(node: NodeDef) -> NodeDef:
    """A NodeDef; in place of a large constant its attributes, without its numbers."""
    if node.op not in CONSTANTS or node.ByteSize() < LARGE_CONSTANT:
        return node
    light = type(node)()
    for name in node.attr:
        value = node.attr[name]
        if value.WhichOneof("value") == "tensor":
            light.attr[name].tensor.dtype = value.tensor.dtype
            light.attr[name].tensor.tensor_shape.CopyFrom(value.tensor.tensor_shape)
        else:
            light.attr[name].CopyFrom(value)
    return light


@cache
def _messages() -> dict[str, Any]:
    """The classes of messages, in a pool of their own: GraphDefs whose NodeDefs stay bytes,
    NodeDefs as one, NodeDefs whose attributes stay bytes, and attributes as one.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="columns.proto", package="columns", syntax="proto3"
    )
    many = _PROTO.LABEL_REPEATED
    records = file.message_type.add(name="Records")
    records.field.add(name="node", number=1, type=_PROTO.TYPE_BYTES, label=many)
    columns = file.message_type.add(name="Columns")
    for number, name in enumerate(_COLUMNS, 1):
        columns.field.add(name=name, number=number, type=_PROTO.TYPE_STRING, label=many)
    attributes = file.message_type.add(name="Attributes")
    attributes.field.add(name="attr", number=5, type=_PROTO.TYPE_BYTES, label=many)
    entries = file.message_type.add(name="Entries")
    entries.field.add(name="key", number=1, type=_PROTO.TYPE_STRING, label=many)
    entries.field.add(name="value", number=2, type=_PROTO.TYPE_BYTES, label=many)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"columns.{name}"))
        for name in ("Records", "Columns", "Attributes", "Entries")
    }
