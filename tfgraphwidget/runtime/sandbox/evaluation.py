"""Aside: what tensors of an index come to for some feeds, in a graph of its own; nobody else's state is touched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    ARGUMENTS,
    HANDLES,
    BodyState,
    GraphIndex,
    Mask,
    VariableDef,
    definitions,
    first_contents,
    forward,
    initializers,
    needed_ops,
    of_type,
    pairs,
    persistent_state,
    readers_of,
)
from tfgraphwidget.naming import colocated_with
from tfgraphwidget.runtime.functions.body_import import called
from tfgraphwidget.runtime.functions.module_clone import as_module
from tfgraphwidget.runtime.sandbox.sandbox import Sandbox
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import NodeDef

Array = np.ndarray[Any, Any]
Values = Mapping[str, Any]


def variables_for(index: GraphIndex, outputs: Sequence[str], feeds: Collection[str]) -> tuple[VariableDef, ...]:
    """The variables that the outputs need, and what fills the tables that they need."""
    need = needed_ops(index, feeds, outputs)
    need = need | needed_ops(index, (), _starters(index, need))
    return tuple(definitions(index, np.flatnonzero(need & of_type(index, HANDLES.__contains__)).tolist()).values())


def run_graph(index: GraphIndex, outputs: Sequence[str], feeds: Values, values: Values) -> list[Array]:
    """The outputs of a graph, in order; `feeds` by tensor, `values` of variables by handle op.

    Raises SessionRefused when it cannot run, in one sentence.
    """
    starters = _starters(index, needed_ops(index, feeds, outputs))
    inside = np.flatnonzero(needed_ops(index, (), [*outputs, *feeds, *starters])).tolist()
    names = {index.names[i] for i in inside}
    nodes = [_alone(index.nodes[i], names) for i in inside]
    held = {handle: value for handle, value in values.items() if handle in names}
    with Sandbox(nodes, _library(index, nodes), held, starters) as sandbox:
        return [np.asarray(value) for value in sandbox.run(outputs, feeds)]


def _starters(index: GraphIndex, need: Mask) -> list[str]:
    """The ops that fill the tables and iterators among some ops, and those that these need in turn."""
    while True:
        held = np.flatnonzero(need & persistent_state(index) & ~of_type(index, HANDLES.__contains__)).tolist()
        fills = {op for handle in held for op in initializers(index, handle)}
        names = [index.names[op] for op in first_contents(index, fills | set(held))]
        grown = need | needed_ops(index, (), names)
        if np.array_equal(grown, need):
            return names
        need = grown


def _library(index: GraphIndex, nodes: Iterable[NodeDef]) -> Any:
    functions = called(index, nodes)
    gradients = {name: index.extras.gradient(name) for name in functions}
    return tf_protos.FunctionDefLibrary(
        function=[functions[name] for name in sorted(functions)],
        gradient=[
            tf_protos.GradientDef(function_name=name, gradient_func=gradient)
            for name, gradient in gradients.items()
            if gradient in functions
        ],
    )


def _alone(node: NodeDef, inside: Collection[str]) -> Any:
    """A NodeDef that need not stand beside an op that stays behind."""
    beside = colocated_with(node)
    if all(name in inside for name in beside):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    copy.attr["_class"].list.s[:] = [f"loc:@{name}".encode() for name in beside if name in inside]
    return copy


def run_body(index: GraphIndex, held: BodyState, outputs: Sequence[str], feeds: Values) -> list[Array]:
    """The outputs of a function's body, in order, with copies of its variables; `feeds` by tensor.

    Raises GraphEditError when a part of it cannot stand alone, SessionRefused when it cannot run.
    """
    found = {name: np.asarray(value) for name, value in feeds.items()}
    inner = [name for name in feeds if index.types[index.op(name)] not in ARGUMENTS]
    behind = forward(index, readers_of(index, pairs(index, inner)))
    wanted = [name for name in dict.fromkeys(outputs) if name not in feeds]
    for some in ([o for o in wanted if behind[index.op(o)]], [o for o in wanted if not behind[index.op(o)]]):
        if some:
            # What hangs on no argument is no end of a path that begins at one.
            used = feeds_of(index, some, feeds) if behind[index.op(some[0])] else []
            module = as_module(index, held, used, some, "aside", variables="own", arguments=tuple(feeds))
            found |= zip(module.outputs, run_module(index, module, feeds), strict=True)
    return [found[name] for name in outputs]


def run_module(index: GraphIndex, module: Any, feeds: Values) -> list[Array]:
    """What a module made of a body gives for the feeds, by their names in `index`."""
    with tf.init_scope():
        try:
            given = {name: tf.convert_to_tensor(feeds[name], _dtype(index, name)) for name in module.inputs}
            results = module(**given)
            return [np.asarray(result) for result in (results if len(module.outputs) > 1 else (results,))]
        except (tf.errors.OpError, ValueError, TypeError) as error:
            why = told(error) if isinstance(error, tf.errors.OpError) else str(error).splitlines()[0][:300]
            raise SessionRefused(f"The function's body cannot run: {why.rstrip('.')}.") from error


def _dtype(index: GraphIndex, tensor: str) -> Any:
    op, port = pairs(index, [tensor])[0]
    return tf.as_dtype(index.dtypes(op)[port]).base_dtype


def feeds_of(index: GraphIndex, outputs: Sequence[str], feeds: Values) -> list[str]:
    """The feeds that the outputs need."""
    need = needed_ops(index, feeds, outputs)
    return [name for name in feeds if need[readers_of(index, pairs(index, [name]))].any()]
