"""What the collections of a live graph hold of the ops shown, as a MetaGraphDef keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import meta_graph

from tfgraphwidget.applying.variables import proto_of
from tfgraphwidget.graph.index import GraphIndex, Member, VariableDef
from tfgraphwidget.names import split_tensor

_GLOBAL = tf.compat.v1.GraphKeys.GLOBAL_VARIABLES


def add_collections(made: Any, graph: tf.Graph, index: GraphIndex, variables: Iterable[VariableDef]) -> list[str]:
    """Add to a MetaGraphDef what the collections hold; the keys of those that it cannot hold.

    `variables` are those that the checkpoint has: all are global ones, so that a Saver restores them.
    """
    lost = []
    with graph.as_default():
        for key in graph.get_all_collection_keys():
            items = [item for item in graph.get_collection_ref(key) if _is_shown(item, index)]
            if items and key != _GLOBAL:
                meta_graph.add_collection_def(made, key, graph, override_contents=items)
            if items and key != _GLOBAL and key not in made.collection_def:
                lost.append(str(key))
    protos = [proto_of(variable).SerializeToString(deterministic=True) for variable in variables]
    if protos:
        made.collection_def[_GLOBAL].bytes_list.value.extend(protos)
    return lost


def _is_shown(item: Any, index: GraphIndex) -> bool:
    """Whether all that an entry of a collection names is in the index."""
    member = Member.of(item)
    names = [member.name] if member is not None else _named(item)
    return all(split_tensor(name)[0] in index.ids for name in names)


def _named(item: Any) -> list[str]:
    """The ops and tensors that a loop's or conditional's context, a queue runner or a Saver hangs on."""
    pivot = getattr(item, "pivot", None)
    queue = getattr(item, "queue", None)
    saver = getattr(item, "saver_def", None)
    told = [getattr(held, "name", None) for held in (pivot, getattr(queue, "queue_ref", None))]
    told += [saver.filename_tensor_name, saver.restore_op_name] if saver is not None else []
    return [name for name in told if isinstance(name, str) and name]
