"""FLOPs of ops, as TensorFlow's profiler counts them (tests/runtime/test_flops.py), from shapes
alone.

Of op types that TensorFlow's registry does not have they are unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import prod

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BATCH_MATMULS,
    BRANCHES,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    REMOTE_CALLS,
    WHILE_LOOPS,
    Floats,
    GraphIndex,
    Shape,
    called_functions,
)
from tfgraphwidget.hierarchy import FAMILIES, families
from tfgraphwidget.naming import split_input, split_tensor
from tfgraphwidget.runtime.measure.batch import with_input_shapes
from tfgraphwidget.sources import Body, EditedLibrary, NodeBody, body_index, open_function
from tfgraphwidget.tf_types import FunctionDef

# What moves, stores or steers numbers has none.
_NONE = frozenset({"input", "constant", "variable", "shape", "control", "state"})


class _Unknown(Exception):
    """A shape that is needed is unknown, or the layout is not one that TensorFlow counts for."""


@dataclass(frozen=True)
class _Op:
    """The shapes and attributes of an op; sizes that are unknown count as 1."""

    index: GraphIndex
    number: int

    def operand(self, number: int) -> list[int]:
        """The shape of an input."""
        op, port = split_input(self.index.nodes[self.number].input[number])
        return self._shape(self.index.ids[op], port)

    @property
    def output(self) -> list[int]:
        return self._shape(self.number, 0)

    def _shape(self, op: int, port: int) -> list[int]:
        sizes = self.index.shape(op, port)
        if sizes is None:
            raise _Unknown
        return [1 if size is None else size for size in sizes]

    def _last_two(self, end: str) -> list[float]:
        """The sizes of matrices; -1 for free ones, NaN for those of an unknown rank."""
        op, port = split_input(end)
        shape = self.index.shape(self.index.ids[op], port)
        if shape is None:
            return [np.nan, np.nan]
        return [-1 if size is None else size for size in shape[-2:]]

    def area(self, name: str) -> int:
        """The product of the sizes or strides of a window over images, channels last."""
        attributes = self.index.nodes[self.number].attr
        if "data_format" in attributes and attributes["data_format"].s != b"NHWC":
            raise _Unknown
        return prod(attributes[name].list.i)

    def product(self, *transposed: str) -> float:
        """The FLOPs of a product of matrices, which attributes transpose. What one does not give
        another may.
        """
        node = self.index.nodes[self.number]
        left, right, output = map(self._last_two, (node.input[0], node.input[1], node.name))
        for operand, name in zip((left, right), transposed, strict=True):
            if name in node.attr and node.attr[name].b:
                operand.reverse()
        sizes = _size(left[0], output[0]), _size(left[1], right[0]), _size(right[1], output[1])
        return 2 * prod(self.output[:-2]) * prod(sizes)

    def convolution(self, summed: int) -> float:
        """With a filter over the first dimensions of which each element of the output is summed."""
        return 2 * prod(self.output) * prod(self.operand(1)[:summed])

    def convolution_gradient(self, image: list[int], kernel: list[int]) -> float:
        return 2 * prod(image) * prod(kernel) / (image[-1] * self.area("strides"))


def _size(one: float, other: float) -> float:
    """A size that two shapes give: the one that is known, 1 if both are free, NaN if a rank is
    unknown.
    """
    sizes = [size for size in (one, other) if size >= 0]
    return sizes[0] if sizes else abs(one * other)


_COUNTS: dict[str, Callable[[_Op], float]] = {
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "BiasAdd"),
        lambda op: prod(op.operand(0)),
    ),
    "Rsqrt": lambda op: 2 * prod(op.operand(0)),
    "Softmax": lambda op: 5 * prod(op.operand(0)),
    "L2Loss": lambda op: 3 * prod(op.operand(0)) - 1,
    **dict.fromkeys(
        (
            *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow"),
            *("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"),
        ),
        lambda op: prod(op.output),
    ),
    "SquaredDifference": lambda op: 2 * prod(op.output),
    "RsqrtGrad": lambda op: 4 * prod(op.output),
    "AddN": lambda op: prod(op.output) * (len(op.index.input_lists[op.number]) - 1),
    "Mean": lambda op: prod(op.operand(0)),
    **dict.fromkeys(
        ("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), lambda op: prod(op.operand(0)) - prod(op.output)
    ),
    "MatMul": lambda op: op.product("transpose_a", "transpose_b"),
    **dict.fromkeys(BATCH_MATMULS, lambda op: op.product("adj_x", "adj_y")),
    "Conv3D": lambda op: op.convolution(4),
    "Conv2D": lambda op: op.convolution(3),
    "DepthwiseConv2dNative": lambda op: op.convolution(2),
    "Dilation2D": lambda op: op.convolution(2),
    "Conv2DBackpropInput": lambda op: op.convolution_gradient(op.output, op.operand(1)),
    "Conv2DBackpropFilter": lambda op: op.convolution_gradient(op.operand(0), op.output),
    **dict.fromkeys(("AvgPool", "MaxPool"), lambda op: op.area("ksize") * prod(op.output)),
    "AvgPoolGrad": lambda op: 2 * op.area("ksize") * prod(op.operand(1)),
    "MaxPoolGrad": lambda op: (op.area("ksize") + 1) * prod(op.operand(1)),
}
COUNTED = frozenset(_COUNTS)
"""The op types whose FLOPs are counted."""


def flops(index: GraphIndex) -> Floats:
    """Floating point operations of each op, (n,); dimensions that are unknown count as 1, see
    `batch.at_batch`.

    0 for ops that compute nothing, NaN where the op type or a shape is unknown. An op in a loop
    counts once.
    """
    names, codes = index.kinds
    kinds = families(names).tolist() if names else []
    silent = {name for name, family in zip(names, kinds, strict=True) if FAMILIES[family] in _NONE}
    costs = np.full(len(index), np.nan)
    for i, code in enumerate(codes.tolist()):
        name = names[code]
        if name in COUNTED:
            with suppress(_Unknown, LookupError):
                # A LookupError: of an op without the inputs of its type.
                costs[i] = _COUNTS[name](_Op(index, i))
        elif name in silent:
            costs[i] = 0
    return costs


MAX_DEPTH = 100  # calls in calls: TensorFlow imports no graph of deeper ones
_CALLS = FUNCTIONAL_CONTROL_FLOW | FUNCTION_CALLS | REMOTE_CALLS


def flops_and_calls(index: GraphIndex, body: Body | None) -> Floats:
    """Return the FLOPs of each op as `flops` does, and for calls the FLOPs of the called functions,
    which `body` has.

    For a conditional it is the most expensive branch, for a loop one iteration. Unknown costs
    inside count as 0; a call is NaN if all are unknown.
    """
    return _CallCosts().of(index, body)


class _CallCosts:
    """The costs of calls; `known` has the FLOPs of bodies, by function and inputs."""

    def __init__(self) -> None:
        self._depth = 0
        self.costs: dict[tuple[object, ...], float] = {}

    def of(self, index: GraphIndex, body: Body | None) -> Floats:
        costs = flops(index)
        for op, kind in enumerate(index.types):
            if kind in _CALLS or kind in index.functions:
                ways = called_functions(index.nodes[op], index.functions)
                inside = [
                    np.nan if body is None else self._inside(index, body, op, way.function)
                    for way in ways
                ]
                costs[op] = _total(inside, choice=kind in BRANCHES)
        return costs

    def _inside(self, index: GraphIndex, body: Body, op: int, function: str) -> float:
        key = (function, *_cost_inputs(index, op))
        if key not in self.costs:
            self.costs[key] = np.nan  # a function that calls itself
            if self._depth == MAX_DEPTH:
                return np.nan
            try:
                inner = open_function(function, body, index, op)
            except GraphEditError:
                # Damaged, or not there: what calls it can be looked at all the same.
                return np.nan
            inner_index = with_input_shapes(
                body_index(inner),
                _argument_shapes(index, op, EditedLibrary(body, index).function(function), inner),
            )
            self._depth += 1
            self.costs[key] = _total(self.of(inner_index, inner).tolist(), choice=False)
            self._depth -= 1
        return self.costs[key]


def _argument_shapes(
    index: GraphIndex, op: int, definition: FunctionDef, inner: NodeBody
) -> dict[str, Shape]:
    """The static shapes with which a call calls a function; a loop's hold in each round."""
    node = index.nodes[op]
    first = 1 if node.op in BRANCHES | REMOTE_CALLS else 0
    sources = [split_input(text) for text in node.input if text[:1] != "^"][first:]
    if node.op in WHILE_LOOPS:
        shapes = [index.shape(op, k) for k in range(len(sources))]
    else:
        shapes = [index.shape(index.ids[source], port) for source, port in sources]
    of_names = dict(
        zip((argument.name for argument in definition.signature.input_arg), shapes, strict=False)
    )
    names = (split_tensor(tensor)[0] for tensor in inner.arguments)
    return {name: of_names[name] for name in names if name in of_names}


def _cost_inputs(index: GraphIndex, op: int) -> list[object]:
    """Return the inputs of an op that its cost depends on: shapes, and state handles themselves."""
    edges = range(index.inputs.start[op], index.inputs.start[op + 1])
    slots = [(int(index.inputs.values[at]), int(index.ports[at])) for at in edges]
    return [
        index.shape(*slot) if index.dtypes(slot[0])[slot[1]] != "resource" else slot
        for slot in slots
    ]


def _total(costs: list[float], *, choice: bool) -> float:
    costs_known = [cost for cost in costs if not np.isnan(cost)]
    if costs and not costs_known:
        return np.nan
    return max(costs_known, default=0.0) if choice else sum(costs_known)
