"""FLOPs of a graph whose ops call functions: a call costs what is called, which nobody sees from outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfgraphwidget.applying.flops import flops
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.costs import Floats
from tfgraphwidget.graph.doors import doors
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.sources import open_function
from tfgraphwidget.sources.body import Body

_CHOICES = frozenset(("If", "StatelessIf", "Case", "StatelessCase"))
_CALLS = _CHOICES | {"PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "While", "StatelessWhile"}


def flops_and_calls(index: GraphIndex, batch: int, body: Body | None) -> Floats:
    """As `flops`, and for ops that call functions the FLOPs of those: of a choice the dearest, of a loop one round.

    What is unknown inside counts nothing; a call is NaN when all is. `body` is where the graph comes from; without it
    no call is known.
    """
    return _Calls(batch).of(index, body)


class _Calls:
    """`known` are the FLOPs of bodies, by function and what the call gives to it."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.known: dict[tuple[Any, ...], float] = {}

    def of(self, index: GraphIndex, body: Body | None) -> Floats:
        found = flops(index, self.batch)
        for op, kind in enumerate(index.types):
            if kind in _CALLS or kind in index.functions:
                ways = doors(index.nodes[op], index.functions)
                inside = [np.nan if body is None else self._inside(index, body, op, way.function) for way in ways]
                found[op] = _joined(inside, choice=kind in _CHOICES)
        return found

    def _inside(self, index: GraphIndex, body: Body, op: int, function: str) -> float:
        key = (function, *_given(index, op))
        if key not in self.known:
            self.known[key] = np.nan  # a function that calls itself
            try:
                inner = open_function(function, body, index, op)
            except GraphEditError:  # damaged, or not there: what calls it can be looked at all the same
                return np.nan
            nodes, beside = inner.nodes(), inner.collections()
            held = build(nodes, *beside, typing=inner.typing, functions=inner.functions(), beside=inner)
            self.known[key] = _joined(self.of(held, inner).tolist(), choice=False)
        return self.known[key]


def _given(index: GraphIndex, op: int) -> list[Any]:
    """What an op is given, as far as what it does with that costs more or less: shapes, and states themselves."""
    ends = range(index.inputs.start[op], index.inputs.start[op + 1])
    slots = [(int(index.inputs.values[at]), int(index.ports[at])) for at in ends]
    return [index.shape(*slot) if index.dtypes(slot[0])[slot[1]] != "resource" else slot for slot in slots]


def _joined(costs: list[float], *, choice: bool) -> float:
    told = [cost for cost in costs if not np.isnan(cost)]
    if costs and not told:
        return np.nan
    return max(told, default=0.0) if choice else sum(told)
