"""Live graphs under a transformation: read with all that is in them, changed wholly or not at
all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import EXIT, V1_LOOPS, GraphIndex, enclosing_ops
from tfgraphwidget.runtime.live import (
    check_open,
    collections_of,
    copy_static_attributes,
    hide_failed,
    is_entry_of,
    restore_collections,
    track_new_ops,
)
from tfgraphwidget.runtime.sandbox import validate
from tfgraphwidget.sources import GraphBody, body_index
from tfgraphwidget.tensorflow_modules import check_editable, tf
from tfgraphwidget.tf_internals import (
    create_operation,
    find_operation,
    forget_colocation,
    mutation_lock,
    used_names,
)
from tfgraphwidget.tf_types import Graph, NodeDef, Operation, Tensor


def read(graph: Graph) -> GraphIndex:
    """The index of a live graph with all that is beside its ops: collections, variables, functions,
    contexts.
    """
    return body_index(GraphBody(graph), origin=graph)


@contextmanager
def all_or_nothing(graph: Graph) -> Iterator[None]:
    """On an error the graph's collections are as before, and the ops that were added are hidden
    from every editor.

    Raises:
        ValueError: TensorFlow, or what plans the copies, refuses.
        GraphFinalized: The graph takes no new ops.
    """
    check_open(graph)
    check_editable()
    op_count, names = len(graph.get_operations()), dict(used_names(graph))
    collections, own = collections_of(graph), set[str]()
    try:
        with track_new_ops(graph) as own:
            yield
    except BaseException as error:
        restore_collections(graph, collections, is_entry_of(own))
        if own:
            hide_failed(graph, [find_operation(graph, name).node_def for name in own])
        if len(graph.get_operations()) == op_count:
            used_names(graph).clear()
            used_names(graph).update(names)
        if isinstance(error, GraphEditError):
            raise ValueError(error.why) from error
        raise


def with_whole_loops(ops: list[Operation], replaced: Iterable[Tensor]) -> list[Operation]:
    """Ops with all of each while loop that they take a part of, in graph order; half a loop cannot
    run.

    Args:
        ops: The ops.
        replaced: The tensors that are replaced.

    Raises:
        ValueError: A replaced tensor lies inside such a loop.
    """
    if V1_LOOPS.isdisjoint(op.type for op in ops):
        return ops
    index = read(ops[0].graph)
    grown = enclosing_ops(index, [index.ids[op.name] for op in ops])
    members = set(ops)
    for t in replaced:
        if index.ids[t.op.name] in grown and t.op not in members and t.op.type not in EXIT:
            raise ValueError(
                f"{t.name!r} lies inside a while loop, which can only be copied whole; replace "
                "what enters the loop."
            )
    graph_ops = ops[0].graph.get_operations()
    return [graph_ops[i] for i in sorted(grown)]


def scopes_among(names: set[str], graph: Graph) -> set[str]:
    """The names that are name scopes of the graph's ops; TensorFlow imports no op under the name of
    one.
    """
    op_names = sorted(op.name for op in graph.get_operations())
    starts = ((name, bisect_left(op_names, f"{name}/")) for name in names)
    return {name for name, k in starts if k < len(op_names) and op_names[k].startswith(f"{name}/")}


def make_op(
    graph: Graph, node: NodeDef, read: list[Tensor], original: Operation | None = None
) -> Operation:
    """Make one op from its NodeDef, whose data inputs are the tensors `read`; `original` gives its
    static shapes.

    Unlike an import this takes no longer in a large graph, and may name an op as a scope is named.

    Args:
        graph: The graph of the new op.
        node: The NodeDef.
        read: The tensors that the op reads, one for each data input.
        original: The op with the static shapes of the new one; None lets TensorFlow infer them.

    Raises:
        GraphEditError: TensorFlow refuses the op; the graph is as before.
    """
    waits = [find_operation(graph, text[1:]) for text in node.input if text.startswith("^")]
    with mutation_lock(graph), graph.control_dependencies(None):
        try:
            op = create_operation(graph, node, read, waits)
        except (ValueError, TypeError, RuntimeError, tf.errors.OpError):
            validate(graph, [node])  # which is refused too, and says why in a sentence
            raise
    forget_colocation(op)
    used_names(graph).setdefault(node.name.lower(), 1)
    if original is not None:
        copy_static_attributes(graph, [(original.name, node.name)], original.graph)
    return op
