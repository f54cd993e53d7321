"""What the initialisers of copied ops give, found out before the graph changes: in a graph and a session of their own.

Random ops start anew there, as they would in the copy's first run, so an initialiser with a seed gives the same
numbers. Nothing of the person's session runs, so nothing of it can be half done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2

from tfgraphwidget.applying import values
from tfgraphwidget.applying.patches import import_nodes
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph.between import needed
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.variables import HANDLES, definitions, own_ops
from tfgraphwidget.graph.walks import mask_of


def computed(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    variables: Sequence[VariableDef],
    starters: Sequence[str],
    functions: Iterable[Any],
    originals: Mapping[str, str],
) -> dict[str, Any]:
    """The initial value of each variable by handle name; the `starters` (table initialisers) run too, as a proof.

    `index` is the graph as it will be, `functions` the FunctionDefs that it may need; `session` tells the present
    values of variables that initial values depend on, and errors name `originals`. Raises SessionRefused
    for what cannot run.
    """
    run = [v.initializer for v in variables if v.initializer]
    wanted = needed(index, (), [*run, *starters])
    wanted |= mask_of(index, [i for v in variables for i in own_ops(index, v)])
    ids = np.flatnonzero(wanted).tolist()
    others = _others(session, index, ids, variables, originals)
    _refuse_open_ends(index, ids, variables, starters, originals)
    ids = sorted({*ids, *(i for v in others for i in own_ops(index, v))})
    whole = np.flatnonzero(needed(index, (), [index.names[i] for i in ids])).tolist()
    graph = _scratch(index, whole, functions)
    with tf.compat.v1.Session(graph=graph, config=tf.compat.v1.ConfigProto(allow_soft_placement=True)) as scratch:
        values.load(scratch, others, values.current_values(session, others))
        values.run_initializers(scratch, variables)
        found = values.current_values(scratch, variables)
        try:
            scratch.run(list(starters))
        except tf.errors.OpError as error:
            raise SessionRefused(
                f'The copies\' table initialisers cannot run: {values.told(error)}; use init="none".', starters
            ) from error
    return found


def _others(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    ids: Iterable[int],
    variables: Sequence[VariableDef],
    originals: Mapping[str, str],
) -> list[VariableDef]:
    """The variables that initial values depend on, beside those that are initialised; each has a value."""
    own = {v.handle for v in variables}
    held = (i for i in ids if index.types[i] in HANDLES and index.names[i] not in own)
    others = list(definitions(index, held).values())
    missing = [v.handle for v in others if not v.initializer or not values.has_value(session, v.snapshot or v.name)]
    if missing:
        raise _needs(index, missing[0], [(v.handle, v.initializer) for v in variables], originals)
    return others


def _refuse_open_ends(
    index: GraphIndex,
    ids: Iterable[int],
    variables: Sequence[VariableDef],
    starters: Sequence[str],
    originals: Mapping[str, str],
) -> None:
    """Raise for a placeholder, which nobody feeds."""
    run = [*((v.handle, v.initializer) for v in variables), *zip(starters, starters, strict=True)]
    for i in ids:
        if index.types[i] == "Placeholder":
            raise _needs(index, index.names[i], run, originals)


def _needs(
    index: GraphIndex, lacking: str, run: Iterable[tuple[str, str | None]], originals: Mapping[str, str]
) -> SessionRefused:
    at = index.ids[lacking]
    name = next(op for op, first in run if first and needed(index, (), [first])[at])
    op, lacking = originals.get(name, name), originals.get(lacking, lacking)
    return SessionRefused(
        f"The initial value of '{op}:0' needs {lacking!r}, which has no value; "
        'clone with init="current" or init="none".',
        [op, lacking],
    )


def _scratch(index: GraphIndex, ids: Iterable[int], functions: Iterable[Any]) -> tf.Graph:
    """A graph of some ops, on whatever devices there are."""
    nodes = []
    for i in ids:
        node = type(index.nodes[i])()
        node.CopyFrom(index.nodes[i])
        node.device = ""
        node.attr.pop("_class", None)
        nodes.append(node)
    library = function_pb2.FunctionDefLibrary(function=functions)
    graph = tf.Graph()
    import_nodes(graph, nodes, library)
    return graph
