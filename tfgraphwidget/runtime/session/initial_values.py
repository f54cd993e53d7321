"""Computes the values that initializers of copied ops give, before the graph changes: in a sandbox.

Random ops start their sequences again there, as in the copy's first run, so an initializer with a
seed gives the same values. Nothing runs in the user's session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    HANDLES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Trust,
    VariableDef,
    definitions,
    initializers,
    mask_of,
    needed_ops,
    own_ops,
    resources,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.runtime.live.graph_import import import_nodes
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sentences import clone_with
from tfgraphwidget.sources import error_text, new_graph, open_session, tf_protos, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import FunctionDef


@wrap_tf_errors("work out the initial values")
def compute_initial_values(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    variables: Sequence[VariableDef],
    starters: Sequence[str],
    functions: Iterable[FunctionDef],
    originals: Mapping[str, str],
    overrides: Mapping[str, npt.ArrayLike],
    trust: Trust,
) -> dict[str, np.ndarray]:
    """Compute the initial value of each variable, by its handle op, in a sandbox, and run table
    initializers there as a check.

    Args:
        session: The user's session, with the values of variables that initial values depend on.
        starters: The ops that fill new tables and iterators.
        originals: The name of the original of each copied op, for error messages.
        overrides: Values of copied variables that do not start from their initial value, by handle
            op.

    Raises:
        SessionRefused: An initializer cannot run.
    """
    run = [v.initializer for v in variables if v.initializer]
    needed = needed_ops(index, (), [*run, *starters])
    needed |= mask_of(index, [i for v in variables for i in own_ops(index, v)])
    first = _table_initializers(index, np.flatnonzero(needed).tolist(), variables, originals)
    needed |= needed_ops(index, (), first)
    ids = np.flatnonzero(needed).tolist()
    others = _other_variables(session, index, ids, variables, overrides, originals)
    _refuse_placeholders(index, ids, variables, starters, originals)
    ids = sorted({*ids, *(i for v in others for i in own_ops(index, v))})
    whole = np.flatnonzero(needed_ops(index, (), [index.names[i] for i in ids])).tolist()
    graph = _sandbox_graph(index, whole, functions)
    present = variable_values.current_values(
        session, [v for v in others if v.handle not in overrides]
    )
    # Each op runs once. Optimizing the graph would cost more than that, and ever more per op as it
    # grows.
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with open_session(graph, trust, config) as sandbox:
        variable_values.load_values(sandbox, others, {**overrides, **present})
        _run_starters(sandbox, first)
        variable_values.run_initializers(sandbox, variables)
        values = variable_values.current_values(sandbox, variables)
        _run_starters(sandbox, [name for name in starters if name not in first])
    return values


def _run_starters(sandbox: tf.compat.v1.Session, ops: Sequence[str]) -> None:
    try:
        sandbox.run(list(ops))
    except tf.errors.OpError as error:
        why = (
            f"The copies' table initializers cannot run: {error_text(error)}; "
            + clone_with("init", "none")
            + "."
        )
        raise SessionRefused(why, ops) from error


def _table_initializers(
    index: GraphIndex,
    ids: Sequence[int],
    variables: Sequence[VariableDef],
    originals: Mapping[str, str],
) -> list[str]:
    """Return the ops that fill the tables that initial values look up.

    Raises SessionRefused for state that only the user's session has.
    """
    upstream = needed_ops(index, (), [v.initializer for v in variables if v.initializer])
    states = [
        i
        for i, _ in resources(index, [i for i in ids if upstream[i]])
        if index.types[i] not in HANDLES
    ]
    fillers: dict[str, None] = {}
    for i in states:
        fills = initializers(index, i)
        if not fills:
            raise _missing_value_error(
                index, index.names[i], [(v.handle, v.initializer) for v in variables], originals
            )
        fillers |= dict.fromkeys(index.names[k] for k in fills)
    return list(fillers)


def _other_variables(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    ids: Iterable[int],
    variables: Sequence[VariableDef],
    overrides: Mapping[str, npt.ArrayLike],
    originals: Mapping[str, str],
) -> list[VariableDef]:
    """Return the variables that initial values depend on, except the new ones; each has a value."""
    own = {v.handle for v in variables}
    handles = (i for i in ids if index.types[i] in HANDLES and index.names[i] not in own)
    others = list(definitions(index, handles).values())
    for v in others:
        has_value = v.handle in overrides or (
            v.handle not in originals and variable_values.has_value(session, v.snapshot or v.name)
        )
        if not v.initializer or not has_value:
            raise _missing_value_error(
                index, v.handle, [(v.handle, v.initializer) for v in variables], originals
            )
    return others


def _refuse_placeholders(
    index: GraphIndex,
    ids: Iterable[int],
    variables: Sequence[VariableDef],
    starters: Sequence[str],
    originals: Mapping[str, str],
) -> None:
    """Raise for a placeholder, which has no value here."""
    run = [*((v.handle, v.initializer) for v in variables), *zip(starters, starters, strict=True)]
    for i in ids:
        if index.types[i] in REQUIRED_PLACEHOLDERS:
            raise _missing_value_error(index, index.names[i], run, originals)


def _missing_value_error(
    index: GraphIndex,
    missing: str,
    run: Iterable[tuple[str, str | None]],
    originals: Mapping[str, str],
) -> SessionRefused:
    at = index.ids[missing]
    name = next(op for op, first in run if first and needed_ops(index, (), [first])[at])
    op, missing = originals.get(name, name), originals.get(missing, missing)
    return SessionRefused(
        f"The initial value of '{op}:0' needs {missing!r}, which has no value; "
        + clone_with("init", "current", "none")
        + ".",
        [op, missing],
    )


def _sandbox_graph(
    index: GraphIndex, ids: Iterable[int], functions: Iterable[FunctionDef]
) -> tf.Graph:
    """Return a new graph with some ops of an index, without devices."""
    nodes = []
    for i in ids:
        node = copy_of(index.nodes[i])
        node.device = ""
        node.attr.pop("_class", None)
        nodes.append(node)
    library = tf_protos.FunctionDefLibrary(function=functions)
    graph = new_graph(index.extras.versions())
    import_nodes(graph, nodes, library)
    return graph
