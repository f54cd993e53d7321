"""Runs a person's Python function on tensors of a live graph, so that it adds its ops there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfgraphwidget.applying import values
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph.index import VariableDef

Held = dict[str, list[Any]]


def collections_of(graph: tf.Graph) -> Held:
    """What the graph's collections hold now."""
    return {key: list(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}


def put_back(graph: tf.Graph, held: Held) -> None:
    """Make the graph's collections hold again what they held."""
    for key in graph.get_all_collection_keys():
        if key in held:
            graph.get_collection_ref(key)[:] = held[key]
        else:
            graph.clear_collection(key)


def called(graph: tf.Graph, scope: str, function: Callable[..., Any], names: Iterable[str]) -> Any:
    """What `function` gives for the graph's tensors of these names; its ops and variables lie in the scope."""
    tensors = [graph.get_tensor_by_name(name) for name in names]
    variables = tf.compat.v1.VariableScope(reuse=False, name=scope, name_scope=f"{scope}/")
    with (
        graph.as_default(),
        ops.control_dependencies(None),
        ops.name_scope(None),  # wherever the caller stands
        ops.name_scope(scope),
        tf.compat.v1.variable_scope(variables, auxiliary_name_scope=False),
    ):
        return function(*tensors)


def initialise(session: Any, variables: Sequence[VariableDef], tables: Sequence[str]) -> None:
    """Give new variables their initial values, and fill new tables; nothing else."""
    orphans = [v.handle for v in variables if not v.initializer]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no initialiser; make it with tf.compat.v1.get_variable or tf.Variable.",
            orphans,
        )
    try:
        if variables:
            values.run_initializers(session, variables)
        if tables:
            session.run(list(tables))
    except tf.errors.OpError as error:
        raise SessionRefused(f"What the function made cannot be initialised: {values.told(error)}.") from error
