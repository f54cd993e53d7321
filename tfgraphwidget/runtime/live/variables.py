"""Real `tf.Variable`s over ops that are in a graph already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import variable_pb2
from tensorflow.python.framework import dtypes
from tensorflow.python.ops import ref_variable, resource_variable_ops

from tfgraphwidget.graph.index import VariableDef

_NONE: Mapping[str, Any] = MappingProxyType({})


def make_variable(graph: tf.Graph, definition: VariableDef, nodes: Mapping[str, Any] = _NONE) -> tf.Variable:
    """A real `tf.Variable` over ops that are in the graph already; in no collection yet.

    `nodes` are NodeDefs of these ops by name, as far as they are known: asking TensorFlow for one takes longer than all
    the rest.
    """
    variable = _plain_variable(graph, definition, nodes)
    if variable is None:  # a variable of a graph has no truth value
        value = _initial_value(graph, definition)
        proto = proto_of(replace(definition, initial_value=None if value is None else value.name))
        kind = resource_variable_ops.ResourceVariable if definition.resource else ref_variable.RefVariable
        with graph.as_default():
            variable = kind.from_proto(proto)
    variable._constraint = definition.constraint  # a Python function, which no proto can hold
    return variable


def _initial_value(graph: tf.Graph, definition: VariableDef) -> tf.Tensor | None:
    """The initial value; what the initialiser reads, where the tensor that the definition tells is not in the graph.

    An edit may have cut the two apart (detach, reroute) before the variable was copied.
    """
    if not definition.initial_value:
        return None
    try:
        return _tensor(graph, definition.initial_value)
    except KeyError:
        if not definition.initializer:
            raise
        return graph._get_operation_by_name(definition.initializer).inputs[1]


def proto_of(definition: VariableDef) -> variable_pb2.VariableDef:
    """TensorFlow's own form of what is known of a variable."""
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
    return proto


def _plain_variable(graph: tf.Graph, definition: VariableDef, nodes: Mapping[str, Any]) -> tf.Variable | None:
    """What `ResourceVariable.from_proto` makes of an ordinary variable, at a quarter of the time; None for others.

    See test_tensorflow_facts.py::test_a_variable_is_made_as_tensorflow_makes_it.
    """
    if not (definition.resource and definition.initializer and definition.snapshot) or definition.slice_info:
        return None
    handle, read = _tensor(graph, definition.name), _tensor(graph, definition.snapshot)
    if _node(read.op, definition.snapshot.rpartition(":")[0], nodes).op != "ReadVariableOp":
        return None
    attributes = _node(handle.op, definition.handle, nodes).attr
    kind = resource_variable_ops.ResourceVariable
    made = kind.__new__(kind)
    vars(made).update(  # Over 30 lines: one for each field.
        _in_graph_mode=True,
        _handle=handle,
        _shape=tf.TensorShape(attributes["shape"].shape),
        _handle_name=definition.name,
        _unique_id=definition.name,
        _initializer_op=graph._get_operation_by_name(definition.initializer),
        _initial_value=_initial_value(graph, definition),
        _synchronization=tf.VariableSynchronization(definition.synchronization),
        _aggregation=tf.VariableAggregation(definition.aggregation),
        _trainable=definition.trainable,
        _cached_value=None,
        _graph_element=read,
        _save_slice_info=None,
        _caching_device=None,
        _dtype=dtypes.as_dtype(attributes["dtype"].type),
        _constraint=None,
        _validate_shape=True,
    )
    return made


def _node(op: tf.Operation, name: str, nodes: Mapping[str, Any]) -> Any:
    node = nodes.get(name)
    return op.node_def if node is None else node


def _tensor(graph: tf.Graph, name: str) -> tf.Tensor:
    op, _, port = name.rpartition(":")
    return graph._get_operation_by_name(op).outputs[int(port)]
