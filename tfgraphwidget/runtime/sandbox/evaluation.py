"""Evaluation: the values of tensors of an index for some feeds, computed in a sandbox; no user
state changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    ARGUMENTS,
    HANDLES,
    BodyState,
    GraphIndex,
    Mask,
    Trust,
    VariableDef,
    called_definitions,
    consumers_of,
    effects_of,
    enclosing_blocks,
    first_contents,
    forward,
    initializers,
    needed_ops,
    of_type,
    pairs,
    persistent_state,
    variables_among,
    waiting_tensors,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import colocate, colocated_with, names_text
from tfgraphwidget.runtime.functions.module_clone import as_module
from tfgraphwidget.runtime.sandbox.sandbox import PATIENCE, Sandbox
from tfgraphwidget.runtime.session.feed_ranks import check_call_ranks
from tfgraphwidget.runtime.session.run import QUEUE_PATIENCE
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import error_text, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import FunctionDefLibrary, Module, NodeDef

Array = np.ndarray
Values = Mapping[str, Any]
"""What is fed: whatever TensorFlow makes a tensor of, which its types do not say for all of it."""


def variables_for(
    index: GraphIndex, outputs: Sequence[str], feeds: Collection[str]
) -> tuple[VariableDef, ...]:
    """Return the variables that outputs, and the tables that they read, depend on."""
    need = needed_ops(index, feeds, outputs)
    need = need | needed_ops(index, (), _starters(index, need))
    return variables_among(index, need)


def run_graph(
    index: GraphIndex, outputs: Sequence[str], feeds: Values, values: Values, trust: Trust
) -> list[Array]:
    """Compute tensors of a graph, in order. Raises NotTrusted for an op that does more than
    compute, and SessionRefused for a graph that cannot run.
    """
    starters = _starters(index, needed_ops(index, feeds, outputs))
    trust.check(effects_of(index, trust).of_run([*outputs, *starters], feeds))
    waiting = _check_not_waiting(index, outputs, feeds, starters)
    inside = np.flatnonzero(needed_ops(index, (), [*outputs, *feeds, *starters])).tolist()
    names = {index.names[i] for i in inside}
    nodes = [_without_outside_colocation(index.nodes[i], names) for i in inside]
    own_values = {handle: value for handle, value in values.items() if handle in names}
    patience = QUEUE_PATIENCE if waiting else PATIENCE
    try:
        versions = index.extras.versions()
        with Sandbox(
            nodes, _library(index, nodes), own_values, starters, patience, versions
        ) as sandbox:
            return [np.asarray(value) for value in sandbox.run(outputs, feeds)]
    except SessionRefused as refusal:
        if waiting and isinstance(refusal.__cause__, tf.errors.DeadlineExceededError):
            why = f"The run took longer than {patience:g} seconds, and {names_text(waiting)} may be"
            raise _waiting_refusal(why, waiting) from refusal.__cause__
        raise


def _check_not_waiting(
    index: GraphIndex, outputs: Sequence[str], feeds: Values, starters: Sequence[str]
) -> tuple[str, ...]:
    """Raise SessionRefused for outputs that would wait for what is in a queue: apart from the
    session it is empty. Return the tensors that are waited for only if a branch is taken or a loop
    runs.
    """
    fetches = [*outputs, *starters]
    tensors = waiting_tensors(index, needed_ops(index, feeds, fetches), feeds, fetches)
    if always := [tensor for tensor in tensors if not enclosing_blocks(index, index.op(tensor))]:
        raise _waiting_refusal(f"{names_text(always)} would be", always)
    return tensors


def _waiting_refusal(tensors_are: str, tensors: Sequence[str]) -> SessionRefused:
    feeding = ", ".join(f"{tensor!r}: …" for tensor in tensors)
    return SessionRefused(
        f"{tensors_are} waited for without end, since the graph is run apart from its session, "
        "where nothing "
        "fills the queue; " + in_cell(f"give a value in its place: feeds={{{feeding}}}.")
    )


def _starters(index: GraphIndex, need: Mask) -> list[str]:
    """Return the ops that fill tables and iterators among some, and what they depend on."""
    while True:
        states = np.flatnonzero(
            need & persistent_state(index) & ~of_type(index, HANDLES.__contains__)
        ).tolist()
        fills = {op for handle in states for op in initializers(index, handle)}
        names = [index.names[op] for op in first_contents(index, fills | set(states))]
        grown = need | needed_ops(index, (), names)
        if np.array_equal(grown, need):
            return names
        need = grown


def _library(index: GraphIndex, nodes: Iterable[NodeDef]) -> FunctionDefLibrary:
    functions = called_definitions(nodes, index.functions, index.extras.function)
    gradients = {name: index.extras.gradient(name) for name in functions}
    library: FunctionDefLibrary = tf_protos.FunctionDefLibrary(
        function=[functions[name] for name in sorted(functions)],
        gradient=[
            tf_protos.GradientDef(function_name=name, gradient_func=gradient)
            for name, gradient in gradients.items()
            if gradient in functions
        ],
    )
    return library


def _without_outside_colocation(node: NodeDef, inside: Collection[str]) -> NodeDef:
    """Return a NodeDef that is not colocated with ops that are left out."""
    colocated = colocated_with(node)
    if all(name in inside for name in colocated):
        return node
    copy = copy_of(node)
    colocate(copy, [name for name in colocated if name in inside])
    return copy


def run_body(
    index: GraphIndex, body_state: BodyState, outputs: Sequence[str], feeds: Values, trust: Trust
) -> list[Array]:
    """Compute tensors of a function body, in order, with copies of its variables. Raises what
    `body_runner` raises, and SessionRefused for a body that cannot run.
    """
    return body_runner(index, body_state, outputs, feeds, trust)(feeds)


def body_runner(
    index: GraphIndex,
    body_state: BodyState,
    outputs: Sequence[str],
    fed: Collection[str],
    trust: Trust,
) -> Callable[[Values], list[Array]]:
    """A function that computes tensors of a function body for values of the tensors `fed`. Raises
    GraphEditError where a part of the body cannot be copied, and NotTrusted for an op that does
    more than compute.
    """
    trust.check(effects_of(index, trust).of_run(outputs, fed))
    inner = [name for name in fed if index.types[index.op(name)] not in ARGUMENTS]
    downstream = forward(index, consumers_of(index, pairs(index, inner)))
    fetches = [name for name in dict.fromkeys(outputs) if name not in fed]
    modules = []
    for group in (
        [o for o in fetches if downstream[index.op(o)]],
        [o for o in fetches if not downstream[index.op(o)]],
    ):
        if group:
            # A tensor that depends on no argument is not on a path from one.
            inputs = feeds_of(index, group, fed) if downstream[index.op(group[0])] else []
            modules.append(
                as_module(
                    index, body_state, inputs, group, "aside", variables="own", arguments=tuple(fed)
                )
            )

    def run(feeds: Values) -> list[Array]:
        values = {name: np.asarray(value) for name, value in feeds.items()}
        for module in modules:
            values |= zip(module.outputs, run_module(index, module, feeds), strict=True)
        return [values[name] for name in outputs]

    return run


def run_module(index: GraphIndex, module: Module, feeds: Values) -> list[Array]:
    """Call a module made of a function body; its outputs in order. Raises SessionRefused."""
    with tf.init_scope():
        try:
            arguments = {
                name: tf.convert_to_tensor(feeds[name], _dtype(index, name))
                for name in module.inputs
            }
            fed = zip(module.parameters, arguments.values(), strict=True)
            check_call_ranks(module.signature.get_concrete_function(), dict(fed))
            results = module(**arguments)
            return [
                np.asarray(result)
                for result in (results if len(module.outputs) > 1 else (results,))
            ]
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise SessionRefused(
                f"The function's body cannot run: {error_text(error)}; give other feeds."
            ) from error


def _dtype(index: GraphIndex, tensor: str) -> tf.DType:
    op, port = pairs(index, [tensor])[0]
    dtype: tf.DType = tf.as_dtype(index.dtypes(op)[port]).base_dtype
    return dtype


def feeds_of(index: GraphIndex, outputs: Sequence[str], feeds: Collection[str]) -> list[str]:
    """Return the feeds that outputs depend on."""
    need = needed_ops(index, feeds, outputs)
    return [name for name in feeds if need[consumers_of(index, pairs(index, [name]))].any()]
