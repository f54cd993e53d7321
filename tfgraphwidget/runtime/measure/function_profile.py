"""What the ops of a function's body take.

TensorFlow 2 traces no single op of a function, so a copy of the body, with its variables as constants, runs in a
session of TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import GraphIndex, Held, build, forward, pairs, readers_of
from tfgraphwidget.runtime.functions.module_clone import as_module
from tfgraphwidget.runtime.measure.profile import Measured, check_harmless, measured
from tfgraphwidget.runtime.sandbox.evaluation import feeds_of, run_module
from tfgraphwidget.runtime.session.run import Answered
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.tf_internals import freeze_function

_INTO = "aside"


def measured_aside(
    index: GraphIndex, held: Held, tensors: Sequence[str], feeds: Mapping[str, Any], runs: int
) -> Measured:
    """As `measured`, of a function's body, whose variables are copied for it."""
    check_harmless(index, tensors, feeds)
    behind = forward(index, readers_of(index, pairs(index, feeds)))
    # What hangs on no argument is no end of a path that begins at one.
    wanted = [name for name in dict.fromkeys(tensors) if name not in feeds]
    wanted = [name for name in wanted if behind[index.op(name)]] or wanted
    if not wanted:
        raise GraphEditError("All that is to be measured is fed, so nothing is computed; name other tensors.")
    inputs = feeds_of(index, wanted, feeds) if behind[index.op(wanted[0])] else []
    module = as_module(index, held, inputs, wanted, _INTO, variables="own", arguments=tuple(feeds))
    run_module(index, module, feeds)
    frozen = _frozen(module)
    given = {place.name: feeds[name] for name, place in zip(module.inputs, frozen.inputs, strict=True)}
    with tf.compat.v1.Session(graph=frozen.graph) as session:

        def run(names: Sequence[str], metadata: Any) -> Any:
            try:
                return Answered(session).run(list(names), given, run_metadata=metadata)
            except tf.errors.OpError as error:
                raise SessionRefused(f"The function's body cannot run: {told(error)}.") from error

        copy = build(frozen.graph.as_graph_def().node)
        found = measured(copy, [tensor.name for tensor in frozen.outputs], given, run, runs)
    return _under_own_names(found, index)


def _frozen(module: Any) -> Any:
    """The function of a module, with constants for variables."""
    try:
        return freeze_function(module.run.get_concrete_function())
    except Exception as error:  # whatever TensorFlow cannot turn into constants
        raise GraphEditError(
            f"This function's body cannot be measured apart: {str(error).splitlines()[0][:200]}; profile a run of it "
            "and give editor.measure(metadata=folder)."
        ) from error


def _under_own_names(found: Measured, index: GraphIndex) -> Measured:
    own = {name: name.removeprefix(f"{_INTO}/") for name in {*found, *found.fused}}
    own = {name: was for name, was in own.items() if was in index.ids}
    costs = {own[name]: cost for name, cost in found.items() if name in own}
    joined = {own[name]: own[told] for name, told in found.fused.items() if name in own and told in own}
    return Measured(costs, joined, found.runs)
