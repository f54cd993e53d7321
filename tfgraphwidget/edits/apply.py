"""Carries patches out on a live graph: the only module that changes one.

TensorFlow cannot remove ops. What a patch removes is hidden: no editor shows or exports it, its variables leave
all collections, and its names stay taken. What is added again after that comes back as the same ops and the
same `tf.Variable` objects. The record of it lives on the graph itself, so that it goes when the graph goes and
all editors of one graph agree.

New ops are imported in one call of the C API that `tf.import_graph_def` uses. The Python half of that function
is left out on purpose: it fills in default attributes (these nodes have them all), overwrites the device of
colocated ops, cannot map a control input to an op without outputs, and takes most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import variable_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import c_api_util, ops
from tensorflow.python.ops import ref_variable, resource_variable_ops

from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError, GraphFinalized
from tfgraphwidget.graph.index import Member, VariableDef
from tfgraphwidget.names import split_input

_RECORD = "_tfgraphwidget_record"


@dataclass
class Record:
    """What a graph's editors must agree on; `generation` grows whenever ops are hidden or shown again."""

    hidden: set[str] = field(default_factory=set)
    variables: dict[str, tf.Variable] = field(default_factory=dict)
    generation: int = 0


def record_of(graph: tf.Graph) -> Record:
    """The record that lives on this graph."""
    record: Record | None = getattr(graph, _RECORD, None)
    if record is None:
        record = Record()
        setattr(graph, _RECORD, record)
    return record


def apply_live(patch: Patch, graph: tf.Graph) -> None:
    """Carry `patch` out; raises GraphFinalized before anything has changed, GraphEditError when TensorFlow refuses.

    Removing is tolerant of what is not there, so that the inverse of a patch that failed half way can be applied.
    """
    record = record_of(graph)
    if any(node.name not in record.hidden for node in patch.add.nodes):
        check_open(graph)
    _hide(patch.remove, graph, record)
    _add(patch, graph, record)


def check_open(graph: tf.Graph) -> None:
    """Raise when the graph takes no new ops."""
    if graph.finalized:
        raise GraphFinalized(
            "The graph is finalized, so TensorFlow takes no new ops; edit a copy: import graph.as_graph_def() into a "
            "new tf.Graph, or open the graph before it is finalized (a MonitoredSession or Supervisor does that)."
        )


def _add(patch: Patch, graph: tf.Graph, record: Record) -> None:
    change = patch.add
    new = [node for node in change.nodes if node.name not in record.hidden]
    if new:
        import_nodes(graph, new)
        if patch.scope:
            # Marks the scope as used: a later tf.name_scope of that name becomes name_1, as it should.
            with graph.as_default(), ops.name_scope(None):
                graph.unique_name(patch.scope)
    if len(new) < len(change.nodes):
        record.hidden.difference_update(node.name for node in change.nodes)
        record.generation += 1
    for definition in change.variables:
        if definition.name not in record.variables:
            record.variables[definition.name] = make_variable(graph, definition)
    _add_members(graph, change.members, record.variables)


def _hide(change: Change, graph: tf.Graph, record: Record) -> None:
    if not change.nodes:
        return
    record.hidden.update(node.name for node in change.nodes if _exists(graph, node.name))
    record.generation += 1
    gone = set(change.members)
    for key in {key for key, _ in gone}:
        held = graph.get_collection_ref(key)
        members = [Member.of(item) for item in held]
        for item, member in zip(held, members, strict=True):
            if member and member.kind == "variable" and (key, member) in gone:
                record.variables[member.name] = item
        held[:] = [item for item, member in zip(held, members, strict=True) if (key, member) not in gone]


def _exists(graph: tf.Graph, name: str) -> bool:
    """Whether the graph has the op; after an import that failed it has not."""
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def import_nodes(graph: tf.Graph, nodes: Iterable[Any], functions: Any = None) -> None:
    """Add NodeDefs under their own names; inputs may name ops of the graph. `functions` is a FunctionDefLibrary."""
    graph_def = tf.compat.v1.GraphDef(node=nodes, versions=graph.graph_def_versions)
    if functions is not None:
        graph_def.library.CopyFrom(functions)
    options = c_api_util.ScopedTFImportGraphDefOptions()
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
    _map_outside_inputs(graph, graph_def, options.options)
    buffer = c_api.TF_NewBufferFromString(graph_def.SerializeToString())
    try:
        # No session may run between the two halves: an op without its Python side has no control flow context.
        with graph._mutation_lock(), graph.as_default(), ops.control_dependencies(None):
            with graph._c_graph.get() as c_graph:
                results = c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
                c_api_util.ScopedTFImportGraphDefResults(results)
            graph._add_new_tf_operations(compute_devices=False)
    except tf.errors.OpError as error:
        raise GraphEditError(f"TensorFlow refused the new ops: {error.message}") from error
    finally:
        c_api.TF_DeleteBuffer(buffer)


def _map_outside_inputs(graph: tf.Graph, graph_def: Any, options: Any) -> None:
    """Tell the importer where each input that is not among the nodes comes from."""
    inside = {node.name for node in graph_def.node}
    for text in {text for node in graph_def.node for text in node.input}:
        op, port = split_input(text)
        if op in inside:
            continue
        source = graph._get_operation_by_name(op)
        if port < 0:
            c_api.TF_ImportGraphDefOptionsRemapControlDependency(options, op, source._c_op)
        else:
            c_api.TF_ImportGraphDefOptionsAddInputMapping(options, op, port, source.outputs[port]._as_tf_output())


def keep_shapes(graph: tf.Graph, pairs: Iterable[tuple[str, str]]) -> None:
    """Give copies the static shapes of their originals; pairs are op names (original, copy).

    What `set_shape` said of a tensor is in no NodeDef, and some ops (`py_func`) cannot infer it.
    """
    for original, copy in pairs:
        for k, tensor in enumerate(graph._get_operation_by_name(copy).outputs):
            if not tensor.shape.is_fully_defined():
                tensor.set_shape(graph._get_operation_by_name(original).outputs[k].shape)


def make_variable(graph: tf.Graph, definition: VariableDef) -> tf.Variable:
    """A real `tf.Variable` over ops that are in the graph already; in no collection yet."""
    proto = variable_pb2.VariableDef(
        variable_name=definition.name,
        initial_value_name=definition.initial_value or "",
        initializer_name=definition.initializer or "",
        snapshot_name=definition.snapshot or definition.name,
        trainable=definition.trainable,
        is_resource=definition.resource,
        synchronization=definition.synchronization,
        aggregation=definition.aggregation,
    )
    if definition.slice_info is not None:
        proto.save_slice_info_def.CopyFrom(definition.slice_info)
    kind = resource_variable_ops.ResourceVariable if definition.resource else ref_variable.RefVariable
    with graph.as_default():
        variable = kind.from_proto(proto)
    variable._constraint = definition.constraint  # a Python function, which no proto can hold
    return variable


def _add_members(graph: tf.Graph, members: Iterable[tuple[str, Member]], variables: dict[str, tf.Variable]) -> None:
    for key, (kind, name) in members:
        item = variables[name] if kind == "variable" else graph.as_graph_element(name)
        graph.get_collection_ref(key).append(item)  # add_to_collection refuses redo on a finalized graph
