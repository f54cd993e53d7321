"""What a feed must not be: of fewer dimensions than a kernel takes that ends the process then."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
    "Conv2D": 4, "Conv3D": 5, "DepthwiseConv2dNative": 4, "FakeQuantWithMinMaxVarsPerChannel": 1,
    "MaxPool3D": 5,
}  # fmt: skip
"""The dimensions of the first input without which a kernel fails a check of its own
(tests/runtime/test_feed_ranks.py).

The shape function refuses fewer, but knows them only where the shape of the placeholder is known.
"""


def check_feed_ranks(
    graph: tf.Graph, feeds: Mapping[Any, object], fetches: Sequence[object] = ()
) -> None:
    """Check that no fed value has too few dimensions for a kernel that would end the process.

    An op in a branch counts, whichever branch is taken.

    Args:
        feeds: Values by tensor or name.
        fetches: The ops and tensors to compute, or their names; () for all that depends on the
            feeds.

    Raises:
        ValueError: One has; the message names the op that takes it.
    """
    pairs = [
        (graph.as_graph_element(fed) if isinstance(fed, str) else fed, value)
        for fed, value in feeds.items()
    ]
    _check(graph, pairs, fetches)


def check_call_ranks(function: ConcreteFunction, values: Mapping[str, object]) -> None:
    """Check the same of a function's arguments, by their names."""
    specs = tf.nest.flatten(function.structured_input_signature, expand_composites=True)
    # A Python value is not an input.
    tensor_specs = (spec for spec in specs if isinstance(spec, tf.TensorSpec))
    arguments = {
        spec.name: tensor for spec, tensor in zip(tensor_specs, function.inputs, strict=False)
    }
    _check(
        function.graph,
        [(arguments[name], value) for name, value in values.items() if name in arguments],
        (),
    )


def _check(
    graph: tf.Graph, feeds: Sequence[tuple[object, object]], fetches: Sequence[object]
) -> None:
    fed = {tensor.ref() for tensor, _ in feeds if isinstance(tensor, tf.Tensor)}
    for tensor, value in feeds:
        if not isinstance(tensor, tf.Tensor) or not tensor.dtype.is_floating:
            continue
        static_rank: int | None = tensor.shape.rank
        if static_rank is not None:  # TensorFlow has refused such a graph, or refuses the value
            continue
        rank = np.ndim(value)  # type: ignore[arg-type]  # what TensorFlow feeds numpy takes too
        if rank >= max(_FEWEST.values()):
            continue
        needed: set[str] | None = None
        for consumer in _Readers(graph, rank).of(tensor, fed):
            if needed is None:
                needed = _needed_ops(graph, fetches, fed)
            if consumer.op in needed or not fetches:
                raise ValueError(
                    f"{tensor.name!r} is fed a value of {rank} dimensions, and op "
                    f"{consumer.name!r} "
                    f"({consumer.op_type}) takes one of {_FEWEST[consumer.op_type]} or more"
                )


def _needed_ops(graph: tf.Graph, fetches: Iterable[object], fed: Container[object]) -> set[str]:
    """The names of the ops that run for these fetches, where some tensors are fed."""
    elements = (graph.as_graph_element(fetch) for fetch in fetches)
    waiting = [element.op if isinstance(element, tf.Tensor) else element for element in elements]
    needed = {op.name for op in waiting}
    while waiting:
        op = waiting.pop()
        for other in (
            *(tensor.op for tensor in op.inputs if tensor.ref() not in fed),
            *op.control_inputs,
        ):
            if other.name not in needed:
                needed.add(other.name)
                waiting.append(other)
    return needed


class _Reader(NamedTuple):
    """An op that needs more dimensions: `op` is it, or the op of the graph that calls the function
    it is in.
    """

    op: str
    name: str
    op_type: str


class _Found(NamedTuple):
    """What becomes of an argument: an op that needs more dimensions, results that keep them."""

    consumer: tuple[str, str] | None
    results: frozenset[int]


_NOTHING = _Found(None, frozenset())


class _Readers:
    """Finds the ops that a tensor of few dimensions reaches unchanged, in functions too."""

    def __init__(self, graph: tf.Graph, rank: int) -> None:
        self._library, self._rank = graph_functions(graph), rank
        # While a function is looked at, its arguments give nothing, so that recursion ends.
        self._arguments: dict[tuple[str, int], _Found] = {}

    def of(self, tensor: Tensor, fed: Container[object]) -> Iterator[_Reader]:
        """The ops that a tensor reaches and that need more dimensions; what is `fed` has those of
        its own value.
        """
        waiting, references = [tensor], {tensor.ref()}
        while waiting:
            at = waiting.pop()
            op: Operation
            for op in at.consumers():
                is_first = op.inputs[0] is at
                if self._is_refused(op.type) and is_first:
                    yield _Reader(op.name, op.name, op.type)
                others: list[int | None] = [
                    other.shape.rank for other in op.inputs if other is not at
                ]
                results = frozenset({0} if self._passes(op.type, others, is_first=is_first) else ())
                if op.type in _CALLERS or op.type in self._library:
                    positions = [k for k, each in enumerate(op.inputs) if each is at]
                    consumer, results = self._of_call(op.node_def, positions)
                    if consumer is not None:
                        yield _Reader(op.name, *consumer)
                for output in (op.outputs[k] for k in results if k < len(op.outputs)):
                    if output.ref() not in references and output.ref() not in fed:
                        references.add(output.ref())
                        waiting.append(output)

    def _is_refused(self, op_type: str) -> bool:
        return _FEWEST.get(op_type, 0) > self._rank

    def _passes(self, op_type: str, others: Iterable[int | None], *, is_first: bool) -> bool:
        """Whether the output has the dimensions of an input, with those of the other inputs."""
        return (op_type in RANK_PRESERVING and is_first) or (
            op_type in BROADCASTING
            and all(other is not None and other <= self._rank for other in others)
        )

    def _of_call(self, node: NodeDef, positions: Iterable[int]) -> _Found:
        """The same of an op that calls functions, of the inputs at these positions."""
        first = 1 if node.op in BRANCHES else 0  # the condition is not an argument
        waiting = [k - first for k in positions if k >= first]
        arguments, reached = set(waiting), set[int]()
        while waiting:
            argument = waiting.pop()
            of_calls = {
                call.label: self._of_argument(call.function, argument)
                for call in called_functions(node, self._library.keys())
            }
            consumer = next(
                (each.consumer for each in of_calls.values() if each.consumer is not None), None
            )
            if consumer is not None:
                return _Found((f"{node.name}/{consumer[0]}", consumer[1]), frozenset())
            results = [each.results for label, each in of_calls.items() if label != "cond"]
            if node.op in WHILE_LOOPS:
                # What a step gives the next one takes; without a step an argument is a result.
                new = frozenset().union(*results) - arguments
                arguments |= new
                waiting += new
                reached |= arguments
            elif results:
                # Of branches all have to give it on: a model may add a dimension in one of them.
                reached |= frozenset.intersection(*results)
        return _Found(None, frozenset(reached))

    def _of_argument(self, function: str, argument: int) -> _Found:
        key = function, argument
        if key not in self._arguments:
            self._arguments[key] = _NOTHING
            definition = function_definition(self._library[function])
            if argument < len(definition.signature.input_arg):
                self._arguments[key] = self._in_body(
                    definition, definition.signature.input_arg[argument].name
                )
        return self._arguments[key]

    def _in_body(self, definition: FunctionDef, argument: str) -> _Found:
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
                    return _Found((node.name, node.op), frozenset())
                others = [
                    ranks.get(text.partition(":")[0])
                    for k, text in enumerate(data)
                    if k not in positions
                ]
                if self._passes(node.op, others, is_first=positions[0] == 0):
                    reached.add(node.name)
                    continue
                inside = self._of_call(node, positions)
                if inside.consumer is not None:
                    return inside
                reached |= {self._output_text(node, k) for k in inside.results}
        outputs = definition.signature.output_arg
        return _Found(
            None,
            frozenset(
                k for k, each in enumerate(outputs) if _is_of(definition.ret[each.name], reached)
            ),
        )

    def _output_text(self, node: NodeDef, number: int) -> str:
        """How a function's body names an output of an op that calls a function, "call:output:1"."""
        if node.op not in self._library:
            return f"{node.name}:output:{number}"
        # An op whose type is the name of a function names its outputs as the function does.
        outputs = function_definition(self._library[node.op]).signature.output_arg
        return f"{node.name}:{outputs[number].name}:0"


def _is_of(text: str, reached: set[str]) -> bool:
    """Whether a tensor of a function's body, "op:output:0" or an argument, is one of these, or of
    one of these ops.
    """
    return text in reached or text.partition(":")[0] in reached


def _constant_rank(node: NodeDef) -> int | None:
    """How many dimensions a constant has; None for another op."""
    return len(node.attr["value"].tensor.tensor_shape.dim) if node.op == "Const" else None
