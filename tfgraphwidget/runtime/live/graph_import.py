"""Adds ops to a live graph, by one call of the C API that `tf.import_graph_def` uses.

The Python half of that function is left out: it fills in default attributes (these nodes have all
of them), overwrites the device of colocated ops, cannot map a control input to an op without
outputs, and takes most of the time. The surroundings of the call (`tf.device`, `colocate_with`,
`gradient_override_map`, …) are ignored too: a copy is like its original.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.errors import GraphFinalized
from tfgraphwidget.naming import as_input
from tfgraphwidget.runtime.live.edit_record import exclusive_access, record_of, wrap_new_operations
from tfgraphwidget.runtime.sandbox.preflight import (
    OutsideTensors,
    ValidatedNodes,
    external_inputs,
    run_import,
    serialize_nodes,
)
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    add_function,
    c_end,
    find_operation,
    is_reference,
    operations_by_name,
    remove_function,
    static_dimensions,
    used_names,
)
from tfgraphwidget.tf_types import FunctionDefLibrary, NodeDef


def check_open(graph: tf.Graph) -> None:
    """Raise GraphFinalized if the graph takes no new ops."""
    if graph.finalized:
        raise GraphFinalized(
            "The graph is finalized, so TensorFlow takes no new ops; "
            + in_cell(
                "edit a copy with its values, editor.save('copy.tgw') and tgw.edit('copy.tgw'), or "
                "edit the graph before it is finalized (by a MonitoredSession or Supervisor: a "
                "SessionRunHook's begin() comes before)."
            )
        )


def import_nodes(
    graph: tf.Graph, nodes: Iterable[NodeDef], functions: FunctionDefLibrary | None = None
) -> None:
    """Add NodeDefs, whose inputs can name ops of the graph, under their own names, without
    validating them, with functions that they call. Raises GraphEditError where TensorFlow refuses;
    the graph has no new ops then.
    """
    nodes = list(nodes)
    names = tuple(node.name for node in nodes)
    import_validated(
        graph,
        ValidatedNodes(
            names, serialize_nodes(graph, nodes, functions), external_inputs(nodes, names)
        ),
    )


def import_validated(graph: tf.Graph, validated: ValidatedNodes, *, by_veil: bool = True) -> None:
    """Add ops and functions; if TensorFlow refuses, the graph has none of them. With `by_veil`,
    tensors whose static shape an edit has changed are read through a veil.
    """
    by_veil = by_veil and bool(record_of(graph).rewire_count)
    outside: OutsideTensors = {
        (op, port): _end(graph, op, port, by_veil=by_veil) for op, port in validated.outside
    }
    added: list[str] = []
    try:
        for function in validated.functions:
            add_function(graph, function)
            added.append(function.name)
        with exclusive_access(graph), graph.as_default(), tf.control_dependencies(None):
            try:
                run_import(graph, validated, outside)
                _wrap(graph, validated.names)
            except BaseException:
                # An interrupt may come in between; no op may go without its Python side.
                _wrap(graph, validated.names)
                raise
    except BaseException:
        if not _has_any(graph, validated.names):
            for name in added:
                remove_function(graph, name)
        raise


def _end(graph: tf.Graph, op: str, port: int, *, by_veil: bool) -> object:
    """Return the importer's object for an output of an op, or for port -1 for the op."""
    source = find_operation(graph, op)
    if port >= 0 and by_veil and _is_stale(source.outputs[port]):
        return c_end(veil(graph, source.outputs[port]).op, 0)
    return c_end(source, port)


def _is_stale(tensor: tf.Tensor) -> bool:
    """Return whether TensorFlow would infer shapes from a static shape that edits have changed."""
    dims, unknown = static_dimensions(tensor)
    if unknown or is_reference(tensor.dtype):
        return False
    static_sizes = tensor.shape.as_list() if tensor.shape.rank == len(dims) else None
    return static_sizes is None or any(
        a not in (None, b) for a, b in zip(dims, static_sizes, strict=True)
    )


def veil(graph: tf.Graph, tensor: tf.Tensor) -> tf.Tensor:
    """Return a tensor with the same value and unknown static shape, from a hidden op; see
    `runtime.live.in_place_changes`.
    """
    record, source = record_of(graph), as_input(tensor.op.name, tensor.value_index)
    name = next((veil for veil, of in record.veils.items() if of == source), "")
    if not name:
        name = graph.unique_name("veil", mark_as_used=False)
        node = tf.compat.v1.NodeDef(name=name, op="PlaceholderWithDefault", input=[source])
        node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
        node.attr["shape"].shape.unknown_rank = True
        validated = ValidatedNodes(
            (name,), serialize_nodes(graph, [node]), ((tensor.op.name, tensor.value_index),)
        )
        import_validated(graph, validated, by_veil=False)
        record.veils[name] = source
    return graph.get_operation_by_name(name).outputs[0]


def _wrap(graph: tf.Graph, names: Iterable[str]) -> None:
    """Make the Python objects of ops that the C API has added and that have none yet."""
    count = wrap_new_operations(graph)
    record_of(graph).import_count += count
    if count or _has_any(graph, names):
        in_use = used_names(graph)
        in_use.update(dict.fromkeys((key for key in map(str.lower, names) if key not in in_use), 1))


def _has_any(graph: tf.Graph, names: Iterable[str]) -> bool:
    """Whether one of these ops is in the graph."""
    there = operations_by_name(graph)
    return any(name in there for name in names)
