"""Plain calls of functions, exchanged for the ops of the functions.

In a graph that a session runs, TensorFlow computes the gradient of a call by changing the call,
which a session that has run it already does not follow. The ops of the function have gradients like
all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfgraphwidget.edits.clone import invalidate_gradient
from tfgraphwidget.graph import FUNCTION_CALLS, GraphIndex
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, colocate, colocated_with, split_input, split_tensor
from tfgraphwidget.sources import OpTypes, function_nodes
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import FunctionDef, NodeDef


def inline(nodes: Iterable[NodeDef], index: GraphIndex) -> list[NodeDef]:
    """Copies of NodeDefs of a graph, those of called functions in place of calls.

    An op of the name of the call gives what the call gave, as IdentityN.
    """
    types = OpTypes(index.extras.function)
    return [expanded for node in nodes for expanded in _expand(node, index, types, frozenset())]


def _expand(
    node: NodeDef, index: GraphIndex, types: OpTypes, around: frozenset[str]
) -> Iterator[NodeDef]:
    function = node.attr["f"].func.name if node.op in FUNCTION_CALLS else ""
    if (
        not function or function in around or function not in index.functions
    ):  # one that calls itself stays a call
        copy = copy_of(node)
        yield copy
        return
    definition = index.extras.function(function)
    body = function_nodes(definition, types, node.attr)
    data = [text for text in node.input if text[:1] != "^"]
    control_inputs = [text for text in node.input if text[:1] == "^"]
    read = dict(zip(body.arguments, data, strict=True))
    start = tf.compat.v1.NodeDef(name=f"{node.name}/inlined", op="NoOp", input=control_inputs)
    if control_inputs:
        yield start
    for inner in body.nodes:
        if inner.name in read:
            continue
        inner.input[:] = [_outer(text, node.name, read) for text in inner.input]
        if control_inputs and not any(text[:1] != "^" for text in inner.input):
            inner.input.append(f"^{start.name}")
        inner.name = f"{node.name}/{inner.name}"
        inner.device = inner.device or node.device
        beside = colocated_with(inner)
        if beside:
            outer = [_outer(f"^{name}", node.name, read) for name in beside]
            colocate(inner, [name.removeprefix("^") for name in outer])
        invalidate_gradient(inner)
        yield from _expand(inner, index, types, around | {function})
    yield _results(node, definition, body.returns, read, waits=bool(control_inputs))


def _outer(text: str, scope: str, read: dict[str, str]) -> str:
    """The input of an op of a function, in the graph around the call."""
    op, port = split_input(text)
    if op not in read:
        return as_input(f"{scope}/{op}", port)
    return read[op] if port >= 0 else f"^{split_input(read[op])[0]}"


def _results(
    node: NodeDef,
    definition: FunctionDef,
    returns: dict[str, str],
    read: dict[str, str],
    waits: bool,
) -> NodeDef:
    """The op that gives what a call gave, and waits for the side effects that it had."""
    inputs = []
    for argument in definition.signature.output_arg:
        op, port = split_tensor(returns[argument.name])
        inputs.append(_outer(as_input(op, port or 0), node.name, read))
    effects = [f"^{node.name}/{op}" for op in definition.control_ret.values() if op not in read]
    after = effects or ([f"^{node.name}/inlined"] if waits else [])
    result: NodeDef = tf.compat.v1.NodeDef(
        name=node.name, op="IdentityN" if inputs else "NoOp", input=[*inputs, *after]
    )
    result.device = node.device
    if inputs:
        result.attr["T"].CopyFrom(node.attr["Tout"])
    return result
