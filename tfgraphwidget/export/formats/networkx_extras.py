"""The parts of a graph besides its ops, so that a networkx graph of the ops can be opened again."""

from __future__ import annotations

from tfgraphwidget.export.formats.function_library import fill_graph_def
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.runtime.live import proto_of
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import GraphDef, MetaGraphDef


def pack_extras(index: GraphIndex, envelope: GraphDef) -> bytes:
    """Serialize a MetaGraphDef without nodes: the versions and the function library, of the
    envelope, which is changed, and the collections.
    """
    meta_graph = tf_protos.MetaGraphDef()
    meta_graph.graph_def.CopyFrom(fill_graph_def(index, envelope, ()))
    add_collections(meta_graph, index)
    content: bytes = meta_graph.SerializeToString(deterministic=True)
    return content


def add_collections(meta_graph: MetaGraphDef, index: GraphIndex) -> None:
    """Add the collections of ops, tensors and variables to a MetaGraphDef."""
    for key in index.collections:
        add_collection(meta_graph, index, key)


def add_collection(meta_graph: MetaGraphDef, index: GraphIndex, key: str) -> None:
    """Add one of the collections to a MetaGraphDef, in place of one that has its key."""
    variables = {variable.name: variable for variable in index.variable_defs}
    collection, members = meta_graph.collection_def[key], index.collections[key]
    collection.Clear()
    definitions = [variables[member.name] for member in members if member.kind == "variable"]
    if definitions:
        collection.bytes_list.value.extend(
            proto_of(v).SerializeToString(deterministic=True) for v in definitions
        )
    else:
        collection.node_list.value.extend(member.name for member in members)
