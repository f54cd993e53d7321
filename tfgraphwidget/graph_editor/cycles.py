"""Cycles that new edges of a live graph would make. A loop's way round (NextIteration to Merge) is
no cycle.

The search goes up from where the new edges come from. Mostly it ends soon, since ops that come
right before all the changed ops anyway need not be searched. Else it makes use of TensorFlow's
order: an op reads ops made before it, unless an edge has been moved. Which is the oldest op that
reads a later one is found once, by a look at all edges of the graph, and kept until there are new
ops or a new generation of the graph's record. So the one thing that can be missed is an edge that
somebody else has moved since then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import inf

from tfgraphwidget.graph import MERGE, NEXT
from tfgraphwidget.runtime.live import record_of
from tfgraphwidget.tf_internals import operation_number
from tfgraphwidget.tf_types import Graph, Operation, Tensor

Edge = tuple[Operation, Operation]
"""An op, and an op that it is to read or to wait for."""

_KEPT_AS = "_tfgraphwidget_ascends"
_AT_ONCE = 100
"""How many ops are searched before it is worth to look at all edges."""


def feeding(
    op: Operation, inputs: Iterable[Tensor], control_inputs: Iterable[Operation]
) -> Iterator[Operation]:
    """The ops that come before an op which reads the tensors `inputs` and waits for the ops
    `control_inputs`.

    Args:
        op: The op.
        inputs: The tensors that it reads.
        control_inputs: The ops that it runs after.
    """
    merges = op.type in MERGE
    yield from (t.op for t in inputs if not (merges and t.op.type in NEXT))
    yield from control_inputs


def _before(op: Operation) -> Iterator[Operation]:
    return feeding(op, op.inputs, op.control_inputs)


def cycle_of(
    graph: Graph, new: set[Edge], before: Callable[[Operation], Iterable[Operation]]
) -> list[Operation]:
    """A cycle through a new edge, or [] if there is none.

    It goes in the order in which values flow, and has its first op again at the end.

    Args:
        graph: The graph, not yet changed.
        new: The new edges.
        before: Gives the ops right before an op once the graph is changed.
    """
    if not new:
        return []
    consumers = {consumer for consumer, _ in new}
    # A cycle through an op before all consumers would be there already.
    before_all = set.intersection(*(set(_before(op)) for op in consumers))
    on_path = dict.fromkeys(before_all, False)  # False: nothing before it is left to search
    first = min(map(operation_number, consumers))
    oldest = min(_known_oldest(graph), first)
    for root in sorted({source for _, source in new}, key=operation_number):
        path: list[Operation] = []
        todo: list[Iterator[Operation]] = [iter([root])]
        while todo:
            op = next(todo[-1], None)
            if op is None:
                todo.pop()
                if path:
                    on_path[path.pop()] = False
            elif op not in on_path and operation_number(op) >= oldest:
                on_path[op] = True
                path.append(op)
                todo.append(iter(before(op)))
                if len(on_path) >= _AT_ONCE and oldest == -inf:
                    oldest = min(_find_oldest(graph), first)
            elif on_path.get(op):
                cycle = [*path[path.index(op) :], op]
                if not new.isdisjoint(pairwise(cycle)):  # else somebody else has made it
                    return cycle[::-1]
    return []


def keep_order(graph: Graph, stamp: tuple[int, int], new: Iterable[Edge]) -> None:
    """Keep what is known of the order of a graph that had the stamp `stamp`, and has got only new
    edges since then.

    Args:
        graph: The graph, changed.
        stamp: What `stamp_of` gave before the change.
        new: The new edges.
    """
    known_for, oldest = getattr(graph, _KEPT_AS, (None, -inf))
    if known_for == stamp:
        for consumer, source in new:
            if operation_number(source) > operation_number(consumer):
                oldest = min(oldest, operation_number(consumer))
        setattr(graph, _KEPT_AS, (stamp_of(graph), oldest))


def stamp_of(graph: Graph) -> tuple[int, int]:
    """Another one after each new op, and each edit by this package.

    Args:
        graph: The live graph.
    """
    record = record_of(graph)
    return graph.version, record.generation + record.rewire_count


def _known_oldest(graph: Graph) -> float:
    """The id of the oldest op that comes after one of a higher id; -infinity if unknown."""
    known_for, oldest = getattr(graph, _KEPT_AS, (None, -inf))
    return float(oldest) if known_for == stamp_of(graph) else -inf


def _find_oldest(graph: Graph) -> float:
    """The same, found; infinity if there is no such op."""
    oldest = inf
    for op in graph.get_operations():
        number = operation_number(op)
        if any(operation_number(other) > number for other in _before(op)):
            oldest = float(number)
            break
    setattr(graph, _KEPT_AS, (stamp_of(graph), oldest))
    return oldest
