"""Bytes -> GraphDef, MetaGraphDef or SavedModel: decided by what is in them, not by a file's name.

All three are protobufs, binary or text, and the bytes of one often parse as another. What tells is the outcome: a
graph has ops, and most of them have names and types.
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.sources.strangers import stranger

GRAPH, META, SAVED = tf.compat.v1.GraphDef, tf.compat.v1.MetaGraphDef, saved_model_pb2.SavedModel
LARGEST = (1 << 31) - 1  # protobuf's limit
_TEXT = re.compile(rb"\s*(#[^\n]*\n\s*)*[a-z_]+\s*[:{<]")
_OP = re.compile(r"[\x21-\x7e]+\Z")  # an op type may be a function's name, "<lambda>" in it
_SAMPLE = 1000


def parse(data: bytes, name: str, where: str) -> Any:
    """The GraphDef, MetaGraphDef or SavedModel that the bytes of file `name` are; NotAGraph, one sentence, if none.

    The name only says what to try first.
    """
    if not data:
        raise NotAGraph(f"{where} is empty; save the graph again.")
    if len(data) > LARGEST:
        raise NotAGraph(f"{where} is over 2 GB, which no protobuf can be; keep variables' values in a checkpoint.")
    is_text = _TEXT.match(data[:4096]) is not None and b"\0" not in data[:4096]
    complaints = []
    for kind in _order(name):
        try:
            found = text_format.Parse(data, kind(), allow_unknown_field=True) if is_text else kind.FromString(data)
        except Exception as error:  # a damaged file fails anywhere in a parser
            complaints.append(error)
            continue
        if holds_graph(found):
            return found
    known = stranger(data, name)
    if known:
        raise NotAGraph(f"{where} is {known}.")
    if len(complaints) == 3 and not is_text:
        raise NotAGraph(
            f"{where} is no GraphDef, MetaGraphDef or SavedModel, or it is truncated or damaged; save or copy it again."
        )
    told = f" ({str(complaints[0])[:120]})" if complaints and is_text else ""
    raise NotAGraph(f"{where} holds no TensorFlow graph with ops in it{told}; give a .pb, .pbtxt or .meta file.")


def _order(name: str) -> tuple[Any, ...]:
    if name.startswith("saved_model."):
        return SAVED, META, GRAPH
    return (META, GRAPH, SAVED) if ".meta" in name else (GRAPH, META, SAVED)


def holds_graph(proto: Any) -> bool:
    """Whether a GraphDef, MetaGraphDef or SavedModel holds ops, or at least functions; most with name and type."""
    if isinstance(proto, SAVED):
        return any(map(holds_graph, proto.meta_graphs))
    graph_def = proto.graph_def if isinstance(proto, META) else proto
    nodes = graph_def.node[:: len(graph_def.node) // _SAMPLE + 1]
    if not nodes:
        return any(_OP.match(function.signature.name) and function.node_def for function in graph_def.library.function)
    good = sum(bool(node.name.isprintable() and node.name and _OP.match(node.op)) for node in nodes)
    return 2 * good > len(nodes)
