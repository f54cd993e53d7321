"""Costs of the ops of a function body.

TensorFlow 2 does not trace single ops of a function, so a copy of the body, with its variables as
constants, runs in a session of TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfgraphwidget.errors import GraphEditError, SessionRefused, reason_of
from tfgraphwidget.graph import BodyState, GraphIndex, build, consumers_of, forward, pairs
from tfgraphwidget.runtime.functions.module_clone import as_module
from tfgraphwidget.runtime.measure.profile import Measurement, check_harmless, measure_ops
from tfgraphwidget.runtime.sandbox.evaluation import feeds_of, run_module
from tfgraphwidget.runtime.session.run import TimedSession
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.sources import error_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import freeze_function
from tfgraphwidget.tf_types import ConcreteFunction, Module, RunMetadata

_INTO = "aside"


def measure_function(
    index: GraphIndex,
    body_state: BodyState,
    tensors: Sequence[str],
    feeds: Mapping[str, object],
    runs: int,
) -> Measurement:
    """Measure a function body as `measure_ops` does a graph. Its variables are copied. Raises
    GraphEditError where all tensors are fed, or the body cannot be frozen, and SessionRefused where
    it cannot run.
    """
    check_harmless(index, tensors, feeds)
    downstream = forward(index, consumers_of(index, pairs(index, feeds)))
    # A tensor that depends on no argument is not on a path from one.
    fetches = [name for name in dict.fromkeys(tensors) if name not in feeds]
    fetches = [name for name in fetches if downstream[index.op(name)]] or fetches
    if not fetches:
        raise GraphEditError(
            "All that is to be measured is fed, so nothing is computed; name other tensors."
        )
    inputs = feeds_of(index, fetches, feeds) if downstream[index.op(fetches[0])] else []
    module = as_module(
        index, body_state, inputs, fetches, _INTO, variables="own", arguments=tuple(feeds)
    )
    run_module(index, module, feeds)
    frozen = _freeze(module)
    if len(frozen.inputs) > len(module.inputs):  # a session cannot be fed with the handle of one
        raise _refusal("it reads a table or another resource that lives outside of it")
    values = {
        place.name: feeds[name] for name, place in zip(module.inputs, frozen.inputs, strict=True)
    }
    with tf.compat.v1.Session(graph=frozen.graph) as session:

        def run(names: Sequence[str], metadata: RunMetadata | None) -> object:
            try:
                return TimedSession(session).run(list(names), values, run_metadata=metadata)
            except tf.errors.OpError as error:
                raise SessionRefused(
                    f"The function's body cannot run: {error_text(error)}; give other feeds."
                ) from error

        copy = build(frozen.graph.as_graph_def().node)
        costs = measure_ops(copy, [tensor.name for tensor in frozen.outputs], values, run, runs)
    return _rename_ops(costs, index)


def _freeze(module: Module) -> ConcreteFunction:
    """Return the function of a module, with constants for variables."""
    try:
        return freeze_function(module.run.get_concrete_function())
    except Exception as error:  # whatever TensorFlow cannot turn into constants
        raise _refusal(reason_of(error)) from error


def _refusal(why: str) -> GraphEditError:
    return GraphEditError(
        f"This function's body cannot be measured apart: {why}; profile a run of it and give "
        + editor_call("measure", "metadata=folder")
        + "."
    )


def _rename_ops(costs: Measurement, index: GraphIndex) -> Measurement:
    own = {name: name.removeprefix(f"{_INTO}/") for name in {*costs, *costs.fused}}
    own = {name: was for name, was in own.items() if was in index.ids}
    op_costs = {own[name]: cost for name, cost in costs.items() if name in own}
    fused = {
        own[name]: own[main] for name, main in costs.fused.items() if name in own and main in own
    }
    return Measurement(op_costs, fused, costs.runs)
