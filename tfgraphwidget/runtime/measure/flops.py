"""FLOPs of ops, from TensorFlow's own registry. Nothing is imported or run: the registry asks for shapes only."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BATCH_MATMULS,
    BRANCHES,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    REMOTE_CALLS,
    Floats,
    GraphIndex,
    build,
    called_functions,
)
from tfgraphwidget.hierarchy import FAMILIES, families
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources import Body, open_function, static_shape
from tfgraphwidget.tf_internals import has_flops, op_flops
from tfgraphwidget.tf_types import NodeDef

# What moves, stores or steers numbers has none.
_NONE = frozenset({"input", "constant", "variable", "shape", "control", "state"})


def flops(index: GraphIndex, batch: int = 1) -> Floats:
    """Floating point operations of each op, (n,); dimensions that are unknown count as `batch`.

    0 for ops that compute nothing, NaN where the registry or the shapes do not tell. An op in a loop counts once.
    """
    shapes = _Shapes(index, batch)
    names, codes = index.kinds
    kinds = families(names).tolist() if names else []
    silent = {name for name, family in zip(names, kinds, strict=True) if FAMILIES[family] in _NONE}
    counted_types = {name for name in names if name in BATCH_MATMULS or has_flops(name)}
    costs = np.full(len(index), np.nan)
    for i, code in enumerate(codes.tolist()):
        name = names[code]
        if name in counted_types:
            costs[i] = _of_op(shapes, index, i)
        elif name in silent:
            costs[i] = 0
    return costs


def _of_op(shapes: _Shapes, index: GraphIndex, i: int) -> float:
    node = type(index.nodes[i])()
    node.CopyFrom(index.nodes[i])  # to read an attribute that a NodeDef leaves out adds it
    try:
        if index.types[i] in BATCH_MATMULS:
            return shapes.product(node, i)
        count = op_flops(shapes, node)
    except Exception:  # unknown shapes make the registry's functions fail in many ways
        return float("nan")
    return float("nan") if count is None else count


class _Shapes:
    """What the registry's functions ask of a tf.Graph: the shape of a tensor of some name."""

    def __init__(self, index: GraphIndex, batch: int) -> None:
        self._index, self._batch = index, batch

    def get_tensor_by_name(self, name: str) -> Any:
        """Something with the tensor's shape."""
        shape = self._shape(name)
        return SimpleNamespace(get_shape=lambda: static_shape(shape), shape=static_shape(shape))

    def _shape(self, name: str) -> list[int] | None:
        op, port = split_input(name)
        shape = self._index.shape(self._index.ids[op], port)
        return None if shape is None else [self._batch if size is None else size for size in shape]

    def product(self, node: NodeDef, i: int) -> float:
        """Of a batched matrix product."""
        first, result = self._shape(node.input[0]), self._shape(f"{self._index.names[i]}:0")
        assert first is not None
        assert result is not None
        inner = first[-2] if node.attr["adj_x"].b else first[-1]
        return 2.0 * inner * prod(result)


_CALLS = FUNCTIONAL_CONTROL_FLOW | FUNCTION_CALLS | REMOTE_CALLS


def flops_and_calls(index: GraphIndex, batch: int, body: Body | None) -> Floats:
    """Return the FLOPs of each op as `flops` does, and for calls the FLOPs of the called functions.

    For a conditional it is the most expensive branch, for a loop one iteration. Unknown costs inside count as 0; a call
    is NaN if all are unknown.

    Args:
        index: The graph.
        batch: The size to assume for unknown dimensions.
        body: The graph's functions; without it no call is known.
    """
    return _CallCosts(batch).of(index, body)


class _CallCosts:
    """The costs of calls; `known` has the FLOPs of bodies, by function and inputs."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.costs: dict[tuple[Any, ...], float] = {}

    def of(self, index: GraphIndex, body: Body | None) -> Floats:
        costs = flops(index, self.batch)
        for op, kind in enumerate(index.types):
            if kind in _CALLS or kind in index.functions:
                ways = called_functions(index.nodes[op], index.functions)
                inside = [np.nan if body is None else self._inside(index, body, op, way.function) for way in ways]
                costs[op] = _total(inside, choice=kind in BRANCHES)
        return costs

    def _inside(self, index: GraphIndex, body: Body, op: int, function: str) -> float:
        key = (function, *_cost_inputs(index, op))
        if key not in self.costs:
            self.costs[key] = np.nan  # a function that calls itself
            try:
                inner = open_function(function, body, index, op)
            except GraphEditError:  # damaged, or not there: what calls it can be looked at all the same
                return np.nan
            nodes, extras = inner.nodes(), inner.collections()
            inner_index = build(nodes, *extras, typing=inner.typing, functions=inner.functions(), extras=inner)
            self.costs[key] = _total(self.of(inner_index, inner).tolist(), choice=False)
        return self.costs[key]


def _cost_inputs(index: GraphIndex, op: int) -> list[object]:
    """Return the inputs of an op that its cost depends on: shapes, and state handles themselves."""
    ends = range(index.inputs.start[op], index.inputs.start[op + 1])
    slots = [(int(index.inputs.values[at]), int(index.ports[at])) for at in ends]
    return [index.shape(*slot) if index.dtypes(slot[0])[slot[1]] != "resource" else slot for slot in slots]


def _total(costs: list[float], *, choice: bool) -> float:
    costs_known = [cost for cost in costs if not np.isnan(cost)]
    if costs and not costs_known:
        return np.nan
    return max(costs_known, default=0.0) if choice else sum(costs_known)
