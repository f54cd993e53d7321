"""Bytes as protobuf messages that hold graphs: GraphDef, MetaGraphDef, SavedModel, binary or text.

The bytes of one kind often parse as another. What decides is the outcome: a graph has ops, and most
of them have names and types.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from tfgraphwidget.tf_types import GraphDef, Message

LARGEST = (1 << 31) - 1  # protobuf's limit
_TEXT = re.compile(rb"\s*(#[^\n]*\n\s*)*[a-z_]+\s*[:{<]")
_OP = re.compile(r"[\x21-\x7e]+\Z")  # an op type may be a function's name, "<lambda>" in it
_NO_FIELD = re.compile(r'has no field named "(\w+)"')
_SAMPLE = 1000


def is_text_format(data: bytes) -> bool:
    """Whether bytes look like protobuf's text format."""
    return _TEXT.match(data[:4096]) is not None and b"\0" not in data[:4096]


_Graphs = TypeVar("_Graphs", bound=Message)


def parse_message(data: bytes, message_class: type[_Graphs], *, text: bool) -> tuple[_Graphs, str]:
    """Parse a message, also in text format, and name the first field of a text that it has no place
    for, or "". For damaged bytes protobuf can raise any exception.
    """
    if not text:
        return message_class.FromString(data), ""
    from google.protobuf import text_format

    try:
        return text_format.Parse(data, message_class()), ""
    except text_format.ParseError as error:
        unknown = _NO_FIELD.search(str(error))
        if unknown is None:
            raise
        return text_format.Parse(data, message_class(), allow_unknown_field=True), unknown[1]


def graph_defs(message: Any) -> list[GraphDef]:
    """The GraphDefs in a GraphDef, MetaGraphDef or SavedModel."""
    kind = message.DESCRIPTOR.name
    if kind == "SavedModel":
        return [meta.graph_def for meta in message.meta_graphs]
    return [message.graph_def if kind == "MetaGraphDef" else message]


def holds_graph(message: object) -> bool:
    """Whether a message holds ops or functions; most of the ops have a name and type."""
    return any(map(_holds_ops, graph_defs(message)))


def _holds_ops(graph_def: GraphDef) -> bool:
    nodes = graph_def.node[:: len(graph_def.node) // _SAMPLE + 1]
    if not nodes:
        return any(
            _OP.match(function.signature.name) and function.node_def
            for function in graph_def.library.function
        )
    good = sum(bool(node.name.isprintable() and node.name and _OP.match(node.op)) for node in nodes)
    return 2 * good > len(nodes)
