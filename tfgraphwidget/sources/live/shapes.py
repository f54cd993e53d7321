"""Static shapes of tensors that are in a tf.Graph."""

from __future__ import annotations

import tensorflow as tf

from tfgraphwidget.graph import Shape
from tfgraphwidget.tf_internals import find_operation, import_serialized, wrap_operations
from tfgraphwidget.tf_types import GraphDef


def tensor_shape(graph: tf.Graph, op: str, port: int) -> Shape:
    """Return the static shape of a tensor of a graph; None when it is not known, or there is no such tensor."""
    try:
        outputs = find_operation(graph, op).outputs
    except KeyError:
        return None
    if not 0 <= port < len(outputs):
        return None
    shape = outputs[port].shape
    return None if shape.rank is None else tuple(shape.as_list())


def infer_shapes(graph_def: GraphDef) -> tf.Graph:
    """Import a GraphDef into a new graph, whose tensors have the static shapes that TensorFlow infers.

    `tf.import_graph_def` would take most of its time for checks that matter only for running.
    """
    graph = tf.Graph()
    import_serialized(graph, graph_def.SerializeToString())
    wrap_operations(graph, graph.new_operations())
    return graph
