"""`ge.util`: lists of ops and tensors, control outputs, placeholders."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.graph_editor.lists import (
    ListView,
    as_op,
    check_graphs,
    check_type,
    concatenate_unique,
    get_consuming_ops,
    get_generating_ops,
    get_tensors,
    get_unique_graph,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
)
from tfgraphwidget.graph_editor.placeholders import (
    make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor,
    placeholder_name,
    scope_basename,
    scope_dirname,
    scope_finalize,
)
from tfgraphwidget.graph_editor.trees import (
    find_corresponding,
    find_corresponding_elem,
    flatten_tree,
    transform_tree,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import control_outputs
from tfgraphwidget.tf_types import Graph, Operation

# First what the original's `from util import *` gave, then what was reached as ge.util.x.
__all__ = [  # noqa: RUF022
    "make_list_of_op",
    "get_tensors",
    "make_list_of_t",
    "get_generating_ops",
    "get_consuming_ops",
    "ControlOutputs",
    "placeholder_name",
    "make_placeholder_from_tensor",
    "make_placeholder_from_dtype_and_shape",
    "ListView",
    "check_graphs",
    "concatenate_unique",
    "find_corresponding",
    "find_corresponding_elem",
    "flatten_tree",
    "get_predefined_collection_names",
    "get_unique_graph",
    "is_iterable",
    "scope_basename",
    "scope_dirname",
    "scope_finalize",
    "transform_tree",
]


class ControlOutputs(ArgumentChecks, refusal=TypeError):
    """The control edges of a graph, from the op waited for to those that wait.

    It asks the graph each time, so it is never out of date. (The original's was, once edges had
    been changed.)
    """

    def __init__(self, graph: Graph) -> None:
        check_type(graph, (tf.Graph,))
        self._graph = graph

    def update(self) -> ControlOutputs:
        """Nothing to do; returns itself."""
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """For each op that others wait for, those others in graph order."""
        return {op: waiting for op in self._graph.get_operations() if (waiting := _waiting(op))}

    def get(self, op: Operation) -> Sequence[Operation]:
        """The ops that wait for `op`, in graph order; () when there are none, or `op` is of another
        graph.
        """
        op = as_op(op)
        check_type(op, (tf.Operation,))
        return (_waiting(op) if op.graph is self._graph else None) or ()

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph


def get_predefined_collection_names() -> list[str]:
    """The names of the collections that TensorFlow itself defines."""
    # The class's own dict, because asking for GraphKeys.VARIABLES logs that it is deprecated.
    attributes = vars(tf.compat.v1.GraphKeys).items()
    return sorted(
        {value for key, value in attributes if isinstance(value, str) and not key.startswith("__")}
    )


def _waiting(op: Operation) -> list[Operation]:
    """TensorFlow lists them in the order of their addresses."""
    return control_outputs(op)
