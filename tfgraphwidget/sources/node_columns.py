"""The names, types, inputs and devices of NodeDefs, read from bytes field by field.

A message of Python for each NodeDef, and a text for each of its fields, take two microseconds. So
protobuf reads all names in one call, all op types, and so on: of messages that follow each other
it makes one, in which each field is a list. An empty text after each NodeDef says where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tfgraphwidget.graph import NodeColumns, NodeRecords
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import NodeDef

_PROTO = descriptor_pb2.FieldDescriptorProto
_COLUMNS = ("name", "op", "input", "device")  # by the numbers of their fields in a NodeDef, from 1
MOST_MESSAGES = 20_000  # ops; messages of fewer are kept, which takes less than looks one by one
LONG_RECORD = 1_000  # bytes of an op on average; of longer ones messages cost less than bytes
_END = b"\x0a\x00\x12\x00\x1a\x00\x22\x00"  # an empty text in each of these fields


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
    """NodeDefs that are parsed when they are looked at.

    Args:
        records: The bytes of each.
        parsed: The NodeDefs, where they are parsed already.
    """

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


@cache
def _messages() -> dict[str, Any]:
    """The classes of messages, in a pool of their own: GraphDefs whose NodeDefs stay bytes, and
    NodeDefs as one.
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
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"columns.{name}"))
        for name in ("Records", "Columns")
    }
