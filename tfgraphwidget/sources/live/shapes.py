"""Static shapes of tensors that are in a tf.Graph."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.graph import Shape
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import find_operation, import_serialized, wrap_operations
from tfgraphwidget.tf_types import GraphDef, TensorShapeProto, VersionDef


def tensor_shape(graph: tf.Graph, op: str, port: int) -> Shape:
    """Return the static shape of a tensor; None if it is unknown or there is no such tensor."""
    try:
        outputs = find_operation(graph, op).outputs
    except KeyError:
        return None
    if not 0 <= port < len(outputs):
        return None
    return dimensions(outputs[port].shape)


def dimensions(shape: tf.TensorShape) -> Shape:
    """Return the sizes of a TensorFlow shape, None for an unknown size; None if the rank is
    unknown.

    >>> dimensions(tf.TensorShape([None, 4])), dimensions(tf.TensorShape(None))
    ((None, 4), None)
    """
    rank: int | None = shape.rank  # always an int according to types-tensorflow
    return None if rank is None else tuple(shape.as_list())


def static_shape(shape: Sequence[int | None] | TensorShapeProto | None) -> tf.TensorShape:
    """Return the TensorFlow shape of these sizes or of a proto; None is a shape of unknown rank.

    >>> static_shape((None, 4)), static_shape(None)
    (TensorShape([None, 4]), TensorShape(None))
    """
    return tf.TensorShape(shape)  # type: ignore[arg-type]  # types-tensorflow has neither None nor protos here


def new_graph(versions: VersionDef | None) -> tf.Graph:
    """Return a graph without ops that TensorFlow reads by the rules of `versions`, or its own.

    A graph takes over the versions of what is imported into it, even of nothing
    (test_tensorflow_facts.py::test_an_import_gives_a_graph_its_versions).
    """
    graph = tf.Graph()
    if versions is not None:
        import_serialized(graph, tf_protos.GraphDef(versions=versions).SerializeToString())
    return graph


def infer_shapes(graph_def: GraphDef) -> tf.Graph:
    """Import a GraphDef into a new graph, whose tensors have the static shapes that TensorFlow
    infers.

    `tf.import_graph_def` would take most of its time for checks that matter only for running.
    """
    graph = tf.Graph()
    import_serialized(graph, graph_def.SerializeToString())
    wrap_operations(graph, graph.new_operations())
    return graph
