"""What a graph has beside its ops, so that a networkx graph of these can be opened again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfgraphwidget.export.formats.function_library import assembled
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.runtime.live import proto_of


def surroundings(index: GraphIndex, envelope: Callable[[], Any]) -> bytes:
    """A MetaGraphDef without nodes: the versions, the function library, the collections with their variables."""
    made = tf.compat.v1.MetaGraphDef()
    made.graph_def.CopyFrom(assembled(index, envelope(), ()))
    variables = {variable.name: variable for variable in index.variable_defs}
    for key, members in index.collections.items():
        held = made.collection_def[key]
        found = [variables[member.name] for member in members if member.kind == "variable"]
        if found:
            held.bytes_list.value.extend(proto_of(v).SerializeToString(deterministic=True) for v in found)
        else:
            held.node_list.value.extend(member.name for member in members)
    content: bytes = made.SerializeToString(deterministic=True)
    return content
