"""What the initialisers of copied ops give, found out before the graph changes: in a graph and a session of their own.

Random ops start anew there, as they would in the copy's first run, so an initialiser with a seed gives the same
numbers. Nothing of the person's session runs, so nothing of it can be half done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    HANDLES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    VariableDef,
    definitions,
    initializers,
    mask_of,
    needed_ops,
    own_ops,
    resources,
)
from tfgraphwidget.runtime.live.graph_import import import_nodes
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sources import tf_protos, wrap_tf_errors
from tfgraphwidget.tf_types import FunctionDef


@wrap_tf_errors("work out the initial values")
def computed(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    variables: Sequence[VariableDef],
    starters: Sequence[str],
    functions: Iterable[FunctionDef],
    originals: Mapping[str, str],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """The initial value of each variable by handle name; the `starters` (table initialisers) run too, as a proof.

    `index` is the graph as it will be, `functions` the FunctionDefs that it may need; `session` tells the present
    values of variables that initial values depend on, `given` those of the copies that are no initial ones, and errors
    name `originals`. Raises SessionRefused for what cannot run.
    """
    run = [v.initializer for v in variables if v.initializer]
    wanted = needed_ops(index, (), [*run, *starters])
    wanted |= mask_of(index, [i for v in variables for i in own_ops(index, v)])
    first = _filling(index, np.flatnonzero(wanted).tolist(), variables, originals)
    wanted |= needed_ops(index, (), first)
    ids = np.flatnonzero(wanted).tolist()
    others = _others(session, index, ids, variables, given, originals)
    _refuse_open_ends(index, ids, variables, starters, originals)
    ids = sorted({*ids, *(i for v in others for i in own_ops(index, v))})
    whole = np.flatnonzero(needed_ops(index, (), [index.names[i] for i in ids])).tolist()
    graph = _scratch(index, whole, functions)
    present = variable_values.current_values(session, [v for v in others if v.handle not in given])
    # Each op runs once. Optimising the graph would cost more than that, and ever more per op as it grows.
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.compat.v1.Session(graph=graph, config=config) as scratch:
        variable_values.load(scratch, others, {**given, **present})
        _start(scratch, first)
        variable_values.run_initializers(scratch, variables)
        found = variable_values.current_values(scratch, variables)
        _start(scratch, [name for name in starters if name not in first])
    return found


def _start(scratch: tf.compat.v1.Session, ops: Sequence[str]) -> None:
    try:
        scratch.run(list(ops))
    except tf.errors.OpError as error:
        why = f'The copies\' table initialisers cannot run: {variable_values.told(error)}; use init="none".'
        raise SessionRefused(why, ops) from error


def _filling(
    index: GraphIndex, ids: Sequence[int], variables: Sequence[VariableDef], originals: Mapping[str, str]
) -> list[str]:
    """What fills the tables that initial values look things up in.

    Raises for state that only the person's session holds: the numbers would be others, or never come.
    """
    behind = needed_ops(index, (), [v.initializer for v in variables if v.initializer])
    states = [i for i, _ in resources(index, [i for i in ids if behind[i]]) if index.types[i] not in HANDLES]
    found: dict[str, None] = {}
    for i in states:
        fills = initializers(index, i)
        if not fills:
            raise _needs(index, index.names[i], [(v.handle, v.initializer) for v in variables], originals)
        found |= dict.fromkeys(index.names[k] for k in fills)
    return list(found)


def _others(
    session: tf.compat.v1.Session,
    index: GraphIndex,
    ids: Iterable[int],
    variables: Sequence[VariableDef],
    given: Mapping[str, Any],
    originals: Mapping[str, str],
) -> list[VariableDef]:
    """The variables that initial values depend on, beside those that are initialised; each has a value."""
    own = {v.handle for v in variables}
    held = (i for i in ids if index.types[i] in HANDLES and index.names[i] not in own)
    others = list(definitions(index, held).values())
    for v in others:
        told = v.handle in given or (
            v.handle not in originals and variable_values.has_value(session, v.snapshot or v.name)
        )
        if not v.initializer or not told:
            raise _needs(index, v.handle, [(v.handle, v.initializer) for v in variables], originals)
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
        if index.types[i] in REQUIRED_PLACEHOLDERS:
            raise _needs(index, index.names[i], run, originals)


def _needs(
    index: GraphIndex, lacking: str, run: Iterable[tuple[str, str | None]], originals: Mapping[str, str]
) -> SessionRefused:
    at = index.ids[lacking]
    name = next(op for op, first in run if first and needed_ops(index, (), [first])[at])
    op, lacking = originals.get(name, name), originals.get(lacking, lacking)
    return SessionRefused(
        f"The initial value of '{op}:0' needs {lacking!r}, which has no value; "
        'clone with init="current" or init="none".',
        [op, lacking],
    )


def _scratch(index: GraphIndex, ids: Iterable[int], functions: Iterable[FunctionDef]) -> tf.Graph:
    """A graph of some ops, on whatever devices there are."""
    nodes = []
    for i in ids:
        node = type(index.nodes[i])()
        node.CopyFrom(index.nodes[i])
        node.device = ""
        node.attr.pop("_class", None)
        nodes.append(node)
    library = tf_protos.FunctionDefLibrary(function=functions)
    graph = tf.Graph()
    import_nodes(graph, nodes, library)
    return graph
