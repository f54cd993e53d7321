"""Real `tf.Variable`s over ops that are in a graph already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from tfgraphwidget import tf_types
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.sources import static_shape, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    find_operation,
    reference_variable,
    resource_variable,
    set_constraint,
    variable_from_proto,
)
from tfgraphwidget.tf_types import NodeDef

_NONE: Mapping[str, NodeDef] = MappingProxyType({})


def make_variable(
    graph: tf.Graph, definition: VariableDef, nodes: Mapping[str, NodeDef] = _NONE
) -> tf.Variable:
    """Return a `tf.Variable` over ops that are in the graph, in no collection. `nodes` has their
    NodeDefs by name, as far as they are known; asking TensorFlow for one takes most of the time.
    """
    variable = _plain_variable(graph, definition, nodes)
    if variable is None:  # a variable of a graph has no truth value
        value = _initial_value(graph, definition)
        proto = proto_of(replace(definition, initial_value=None if value is None else value.name))
        variable = variable_from_proto(graph, proto)
    set_constraint(variable, definition.constraint)
    return variable


def _initial_value(graph: tf.Graph, definition: VariableDef) -> tf.Tensor | None:
    """Return the tensor of the initial value. If it is not in the graph, return the tensor that the
    initializer reads.

    An edit can have separated the two (detach, reroute) before the variable was copied.
    """
    if not definition.initial_value:
        return None
    try:
        return _tensor(graph, definition.initial_value)
    except KeyError:
        if not definition.initializer:
            raise
        return find_operation(graph, definition.initializer).inputs[1]


def proto_of(definition: VariableDef) -> tf_types.VariableDef:
    """Return the VariableDef of a definition."""
    proto: tf_types.VariableDef = tf_protos.VariableDef(
        variable_name=definition.name,
        initial_value_name=definition.initial_value or "",
        initializer_name=definition.initializer or "",
        snapshot_name=definition.snapshot or definition.name,
        trainable=definition.trainable,
        is_resource=definition.resource,
        synchronization=cast("Any", definition.synchronization),  # an int, which the field takes
        aggregation=cast("Any", definition.aggregation),
    )
    if definition.slice_info is not None:
        proto.save_slice_info_def.CopyFrom(definition.slice_info)
    return proto


def _plain_variable(
    graph: tf.Graph, definition: VariableDef, nodes: Mapping[str, NodeDef]
) -> tf.Variable | None:
    """Return an ordinary variable as `from_proto` does, four times as fast; else None."""
    if not (definition.initializer and definition.snapshot) or definition.slice_info:
        return None
    handle, read = _tensor(graph, definition.name), _tensor(graph, definition.snapshot)
    initializer = find_operation(graph, definition.initializer)
    initial_value = _initial_value(graph, definition)
    synchronization = tf.VariableSynchronization(definition.synchronization)
    aggregation = tf.VariableAggregation(definition.aggregation)
    if not definition.resource:
        return reference_variable(
            handle=handle,
            read=read,
            initializer=initializer,
            initial_value=initial_value,
            trainable=definition.trainable,
            synchronization=synchronization,
            aggregation=aggregation,
        )
    if _node(read.op, definition.snapshot.rpartition(":")[0], nodes).op != "ReadVariableOp":
        return None
    attributes = _node(handle.op, definition.handle, nodes).attr
    return resource_variable(
        name=definition.name,
        handle=handle,
        read=read,
        initializer=initializer,
        initial_value=initial_value,
        shape=static_shape(attributes["shape"].shape),
        dtype=tf.as_dtype(attributes["dtype"].type),
        trainable=definition.trainable,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def _node(op: tf.Operation, name: str, nodes: Mapping[str, NodeDef]) -> NodeDef:
    node = nodes.get(name)
    return op.node_def if node is None else node


def _tensor(graph: tf.Graph, name: str) -> tf.Tensor:
    op, _, port = name.rpartition(":")
    return find_operation(graph, op).outputs[int(port)]
