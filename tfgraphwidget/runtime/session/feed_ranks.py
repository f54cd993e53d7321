"""What a feed must not be: of fewer dimensions than a kernel takes that ends the process then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfgraphwidget.graph import (
    BRANCHES,
    BROADCASTING,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    RANK_PRESERVING,
    WHILE_LOOPS,
    called_functions,
)
from tfgraphwidget.sources import function_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import graph_functions
from tfgraphwidget.tf_types import ConcreteFunction, FunctionDef, NodeDef, Operation, Tensor

_CALLERS = FUNCTION_CALLS | FUNCTIONAL_CONTROL_FLOW
_FEWEST = {
    "Conv2D": 4, "Conv3D": 5, "DepthwiseConv2dNative": 4, "FakeQuantWithMinMaxVarsPerChannel": 1, "MaxPool3D": 5,
}  # fmt: skip
"""The dimensions of the first input without which a kernel fails a check of its own (tests/runtime/test_feed_ranks.py).

The shape function refuses fewer, but knows them only where the shape of the placeholder is known.
"""


def check_feed_ranks(graph: tf.Graph, feeds: Mapping[Any, object]) -> None:
    """Check that no fed value has too few dimensions for a kernel that would end the process.

    Args:
        graph: The graph that is to run.
        feeds: Values by tensor or name.

    Raises:
        ValueError: One has; the message names the op that takes it.
    """
    _check(graph, ((graph.as_graph_element(fed) if isinstance(fed, str) else fed, feeds[fed]) for fed in feeds))


def check_call_ranks(function: ConcreteFunction, values: Mapping[str, object]) -> None:
    """Check the same of the values that a function is called with.

    Args:
        function: The function.
        values: Values by the name of the argument.

    Raises:
        ValueError: One has too few dimensions; the message names the op that takes it.
    """
    specs = tf.nest.flatten(function.structured_input_signature)
    arguments = {spec.name: tensor for spec, tensor in zip(specs, function.inputs, strict=False)}
    _check(function.graph, ((arguments[name], value) for name, value in values.items() if name in arguments))


def _check(graph: tf.Graph, feeds: Iterable[tuple[object, object]]) -> None:
    for tensor, value in feeds:
        if not isinstance(tensor, tf.Tensor) or not tensor.dtype.is_floating:
            continue
        static_rank: int | None = tensor.shape.rank
        if static_rank is not None:  # TensorFlow has refused such a graph, or refuses the value
            continue
        rank = np.ndim(value)  # type: ignore[arg-type]  # what TensorFlow feeds numpy takes too
        reader = _Readers(graph, rank).find(tensor) if rank < max(_FEWEST.values()) else None
        if reader is not None:
            name, op_type = reader
            raise ValueError(
                f"{tensor.name!r} is fed a value of {rank} dimensions, and op {name!r} ({op_type}) takes one of "
                f"{_FEWEST[op_type]} or more"
            )


class _Readers:
    """Finds the ops that a tensor of few dimensions reaches as it is, in the functions that are called too."""

    def __init__(self, graph: tf.Graph, rank: int) -> None:
        self._library, self._rank = graph_functions(graph), rank
        # What is known of the arguments of functions: the op that needs more dimensions, and the results that have the
        # dimensions of the argument. While a function is looked at it is of no result, so that recursion ends.
        self._arguments: dict[tuple[str, int], tuple[tuple[str, str] | None, tuple[int, ...]]] = {}

    def find(self, tensor: Tensor) -> tuple[str, str] | None:
        """The name and the type of an op that a tensor reaches and that needs more dimensions; None without one."""
        waiting, references = [tensor], {tensor.ref()}
        while waiting:
            at = waiting.pop()
            op: Operation
            for op in at.consumers():
                if self._is_refused(op.type) and op.inputs[0] is at:
                    return op.name, op.type
                others: list[int | None] = [other.shape.rank for other in op.inputs[1:] if other is not at]
                results = [0] if self._passes(op.type, others) else []
                if op.type in _CALLERS or op.type in self._library:
                    positions = [k for k, each in enumerate(op.inputs) if each is at]
                    reader, results = self._of_call(op.node_def, positions)
                    if reader is not None:
                        return reader
                for output in (op.outputs[k] for k in results if k < len(op.outputs)):
                    if output.ref() not in references:
                        references.add(output.ref())
                        waiting.append(output)
        return None

    def _is_refused(self, op_type: str) -> bool:
        return _FEWEST.get(op_type, 0) > self._rank

    def _passes(self, op_type: str, others: Iterable[int | None]) -> bool:
        """Whether the output has the dimensions of an input, with those of the other inputs."""
        return op_type in RANK_PRESERVING or (
            op_type in BROADCASTING and all(other is not None and other <= self._rank for other in others)
        )

    def _of_call(self, node: NodeDef, positions: Iterable[int]) -> tuple[tuple[str, str] | None, list[int]]:
        """The same of an op that calls functions, of the inputs at these positions; with the outputs that have them."""
        first = 1 if node.op in BRANCHES else 0  # the condition is no argument
        waiting = [k - first for k in positions if k >= first]
        reached: set[int] = set()
        while waiting:
            argument = waiting.pop()
            for call in called_functions(node, self._library.keys()):
                reader, results = self._of_argument(call.function, argument)
                if reader is not None:
                    return (f"{node.name}/{reader[0]}", reader[1]), []
                if call.label == "cond":
                    continue
                if node.op in WHILE_LOOPS:  # what a step gives the next one takes
                    waiting += set(results) - reached - {argument}
                reached |= set(results)
        return None, sorted(reached)

    def _of_argument(self, function: str, argument: int) -> tuple[tuple[str, str] | None, tuple[int, ...]]:
        key = function, argument
        if key not in self._arguments:
            self._arguments[key] = None, ()
            definition = function_definition(self._library[function])
            if argument < len(definition.signature.input_arg):
                self._arguments[key] = self._in_body(definition, definition.signature.input_arg[argument].name)
        return self._arguments[key]

    def _in_body(self, definition: FunctionDef, argument: str) -> tuple[tuple[str, str] | None, tuple[int, ...]]:
        """The same of an argument, by its name, in a function's body."""
        reached, size = {argument}, 0
        ranks = {node.name: _constant_rank(node) for node in definition.node_def}
        while len(reached) > size:  # the nodes of a function have no order
            size = len(reached)
            for node in definition.node_def:
                data = [text for text in node.input if not text.startswith("^")]
                positions = [k for k, text in enumerate(data) if _is_of(text, reached)]
                if not positions:
                    continue
                if self._is_refused(node.op) and positions[0] == 0:
                    return (node.name, node.op), ()
                others = [ranks.get(text.partition(":")[0]) for k, text in enumerate(data) if k not in positions]
                if self._passes(node.op, others):
                    reached.add(node.name)
                    continue
                reader, results = self._of_call(node, positions)
                if reader is not None:
                    return reader, ()
                reached |= {f"{node.name}:output:{k}" for k in results}
        outputs = definition.signature.output_arg
        return None, tuple(k for k, result in enumerate(outputs) if _is_of(definition.ret[result.name], reached))


def _is_of(text: str, reached: set[str]) -> bool:
    """Whether a tensor of a function's body, "op:output:0" or an argument, is one of these, or of one of these ops."""
    return text in reached or text.partition(":")[0] in reached


def _constant_rank(node: NodeDef) -> int | None:
    """How many dimensions a constant has; None for another op."""
    return len(node.attr["value"].tensor.tensor_shape.dim) if node.op == "Const" else None
