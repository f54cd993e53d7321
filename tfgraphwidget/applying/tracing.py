"""Runs a person's Python function on tensors of a live graph, so that it adds its ops there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope, variables

from tfgraphwidget.applying import values
from tfgraphwidget.edits.grafting import Made
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph.index import VariableDef
from tfgraphwidget.sources.live import refusing

TABLES = "table_initializer"
_STORES = (variable_scope._VARSTORE_KEY, variable_scope._VARSCOPESTORE_KEY)


def forget(graph: tf.Graph, scope: str, ops_made: Collection[str]) -> None:
    """Let `get_variable` know nothing of the variables with ops of these names, nor of variable scopes in `scope`."""
    stores, scopes = (graph.get_collection(key) for key in _STORES)
    for store in stores:
        for known in (store._vars, store._partitioned_vars):
            gone = [name for name, variable in known.items() if _handles(variable) <= set(ops_made)]
            for name in gone:
                del known[name]
    for held in scopes:
        count = held.variable_scopes_count
        for name in [name for name in count if name == scope or name.startswith(f"{scope}/")]:
            del count[name]


def _handles(variable: Any) -> set[str]:
    """The handle ops of a variable, or of the parts of a partitioned one."""
    parts = variable if isinstance(variable, variables.PartitionedVariable) else [variable]
    return {part.name.partition(":")[0] for part in parts}


def called(graph: tf.Graph, scope: str, function: Callable[..., Any], names: Iterable[str]) -> Any:
    """What `function` gives for the graph's tensors of these names; its ops and variables lie in the scope."""
    tensors = [graph.get_tensor_by_name(name) for name in names]
    scoped = tf.compat.v1.VariableScope(reuse=False, name=scope, name_scope=f"{scope}/")
    with graph.as_default(), ops.name_scope(None):  # wherever the caller stands
        if scope.lower() not in graph._names_in_use:
            graph.unique_name(scope)  # a later tf.name_scope of that name becomes name_1, as it should
        with (
            ops.control_dependencies(None),
            ops.name_scope(f"{scope}/"),  # this very scope, though a function that failed may have left ops in it
            tf.compat.v1.variable_scope(scoped, auxiliary_name_scope=False),
        ):
            return function(*tensors)


@refusing("initialise what the function makes")
def rehearse(session: Any, made: Made) -> None:
    """Initialise what a function has made in the graph that it was called in, as it will be in the session's graph.

    Raises what `initialise` raises, before TensorFlow's graph has ops of an edit that fails, which it cannot remove.
    """
    tables = [member.name for member in made.index.collections.get(TABLES, ())]
    with tf.compat.v1.Session(session.sess_str, made.alive, session._config) as rehearsal:
        initialise(rehearsal, made.index.variable_defs, tables)


def initialise(session: Any, made: Sequence[VariableDef], tables: Sequence[str]) -> None:
    """Give new variables their initial values, and fill new tables; nothing else."""
    orphans = [v.handle for v in made if not v.initializer]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no initialiser; make it with tf.compat.v1.get_variable or tf.Variable.",
            orphans,
        )
    try:
        if made:
            values.run_initializers(session, made)
        if tables:
            session.run(list(tables))
    except tf.errors.OpError as error:
        raise SessionRefused(f"What the function made cannot be initialised: {values.told(error)}.") from error
