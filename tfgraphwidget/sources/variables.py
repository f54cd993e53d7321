"""Collections and variables of a MetaGraphDef or a live graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from google.protobuf.message import DecodeError

from tfgraphwidget.graph import Member, VariableDef
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.tf_types import (
    CollectionDef,
    ContextDef,
    MetaGraphDef,
    QueueRunnerDef,
    Tensor,
    Variable,
)


def read_variable_def(
    proto: tf_protos.VariableDef, constraint: Callable[..., Tensor] | None = None
) -> VariableDef:
    """Convert TensorFlow's VariableDef message to a `graph.index.VariableDef`.

    Args:
        constraint: What projects the values after each update of an optimizer; None for nothing.
    """
    return VariableDef(
        handle=proto.variable_name.rpartition(":")[0],
        initial_value=proto.initial_value_name or None,
        initializer=proto.initializer_name or None,
        snapshot=proto.snapshot_name or None,
        resource=proto.is_resource,
        trainable=proto.trainable,
        synchronization=proto.synchronization,
        aggregation=proto.aggregation,
        slice_info=proto.save_slice_info_def if proto.HasField("save_slice_info_def") else None,
        constraint=constraint,
    )


def is_same_variable(one: object, other: object) -> bool:
    """Whether two objects are one resource variable; Keras variables hold a `tf.Variable`."""
    handles = [
        getattr(getattr(each, "value", None), "handle", getattr(each, "handle", None))
        for each in (one, other)
    ]
    return handles[0] is not None and handles[0] is handles[1]


def variable_definition(variable: Variable) -> VariableDef:
    """The VariableDef of a `tf.Variable` in a graph."""
    with variable.graph.as_default():
        return read_variable_def(variable.to_proto(), variable.constraint)


def variable_collections(variables: Sequence[VariableDef]) -> Collections:
    """Variables in the collections that a TensorFlow 1 graph has for them."""
    members = {
        tf_protos.GLOBAL_VARIABLES: tuple(Member("variable", v.name) for v in variables),
        tf_protos.TRAINABLE_VARIABLES: tuple(
            Member("variable", v.name) for v in variables if v.trainable
        ),
    }
    return {key: entries for key, entries in members.items() if entries}, tuple(variables)


def read_collections(meta: MetaGraphDef, ops_there: Container[str]) -> Collections:
    """The entries of a MetaGraphDef's collections that are in the graph."""
    entries: dict[str, tuple[Member, ...]] = {}
    variables: dict[str, VariableDef] = {}
    for key, collection in sorted(meta.collection_def.items()):
        variables_of_key = _variables(key, collection, ops_there)
        variables.update((variable.handle, variable) for variable in variables_of_key)
        names = [name for name in collection.node_list.value if split_tensor(name)[0] in ops_there]
        members = [
            Member("op" if split_tensor(name)[1] is None else "tensor", name) for name in names
        ]
        members += [Member("variable", variable.name) for variable in variables_of_key]
        if members:
            entries[key] = tuple(members)
    # Protos of old releases do not say which variables are trainable; the collection does.
    trainable = {member.name for member in entries.get(tf_protos.TRAINABLE_VARIABLES, ())}
    found_variables = (
        replace(v, trainable=True) if v.name in trainable else v for v in variables.values()
    )
    return entries, tuple(found_variables)


def read_contexts(meta: MetaGraphDef, ops_there: Container[str]) -> tuple[ContextDef, ...]:
    """The control flow contexts of a MetaGraphDef, without those of what the graph lacks."""
    contexts: list[ContextDef] = []
    for key in (key for key in ("while_context", "cond_context") if key in meta.collection_def):
        message: Any = tf_protos.collection_message(key)
        for data in meta.collection_def[key].bytes_list.value:
            with contextlib.suppress(DecodeError):  # the import says that it is damaged
                contexts.append(message.FromString(data))
    return tuple(
        context for context in contexts if split_tensor(context.pivot_name)[0] in ops_there
    )


def read_runners(
    meta: MetaGraphDef, ops_there: Container[str]
) -> tuple[tuple[str, QueueRunnerDef], ...]:
    """(collection key, QueueRunnerDef) of a MetaGraphDef's runners of queues in the graph."""
    runners: list[tuple[str, QueueRunnerDef]] = []
    for key in sorted(meta.collection_def):
        if tf_protos.collection_message(key) is not tf_protos.QueueRunnerDef:
            continue
        for data in meta.collection_def[key].bytes_list.value:
            with contextlib.suppress(DecodeError):  # the import says that it is damaged
                runners.append((key, tf_protos.QueueRunnerDef.FromString(data)))
    return tuple(
        (key, runner) for key, runner in runners if split_tensor(runner.queue_name)[0] in ops_there
    )


def _variables(key: str, collection: CollectionDef, ops_there: Container[str]) -> list[VariableDef]:
    """Return the variables of a collection, except those that are not in the graph."""
    if tf_protos.collection_message(key) is not tf_protos.VariableDef:
        return []
    variables = []
    for data in collection.bytes_list.value:
        try:
            variable = read_variable_def(tf_protos.VariableDef.FromString(data))
        except DecodeError:
            continue
        if variable.handle in ops_there:
            variables.append(_without_missing_ops(variable, ops_there))
    return variables


def _without_missing_ops(variable: VariableDef, ops_there: Container[str]) -> VariableDef:
    """Return a variable without the ops that are not in the graph."""

    def name_if_present(name: str | None) -> str | None:
        return name if name is not None and split_tensor(name)[0] in ops_there else None

    return replace(
        variable,
        initial_value=name_if_present(variable.initial_value),
        initializer=name_if_present(variable.initializer),
        snapshot=name_if_present(variable.snapshot),
    )
