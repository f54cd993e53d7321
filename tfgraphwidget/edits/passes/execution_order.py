"""Sort: the ops of a file in an order in which they can run."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, Report, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.graph import MERGE, NEXT, GraphIndex


@register
@dataclass(frozen=True)
class Sort(Command):
    """List each op of a file, or of a function, after the ops that it reads and waits for.

    Returns:
        How many ops are at another place.

    Raises:
        GraphEditError: The graph is a live one, and its ops are in another order.

    Example:
        >>> import tfgraphwidget as tgw
        >>> graph_def = tgw.example().graph.as_graph_def()
        >>> nodes = list(graph_def.node)[::-1]
        >>> del graph_def.node[:]
        >>> graph_def.node.extend(nodes)
        >>> editor = tgw.edit(graph_def)
        >>> report = editor.passes.sort()
        >>> editor._core.index.is_sorted()
        True
    """

    method: ClassVar[str] = "passes.sort"

    keeps_values: ClassVar[bool] = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Sorted the ops by execution order"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of `context`'s graph; one that does nothing if the ops are sorted."""
        index = context.index
        order = execution_order(index)
        if order == list(range(len(index))):
            return nothing_to_do("Each op is listed after the ops that it reads already.")
        places = {op: at for at, op in enumerate(order)}
        moved = sum(places[op] != op for op in order)
        return Patch(
            order=tuple(index.names[op] for op in order),
            report=Report((f"{moved:,} ops are at another place in the file.",)),
        )


def execution_order(index: GraphIndex) -> list[int]:
    """List ops in an order in which each is after those that it reads and waits for, near that of
    the graph `index`.

    A Merge of a loop is listed before the NextIteration that it reads. Ops of a damaged graph that
    wait for each other come last.
    """
    waiting = [0] * len(index)
    for op in range(len(index)):
        waiting[op] = len(_sources(index, op))
    ready = [op for op in range(len(index)) if not waiting[op]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        op = heapq.heappop(ready)
        order.append(op)
        is_back = index.types[op] in NEXT
        data = {
            consumer
            for consumer in index.consumer_lists[op]
            if not (is_back and index.types[consumer] in MERGE)
        }
        for consumer in data | set(index.control_consumer_lists[op]):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, consumer)
    done = set(order)
    return order + [op for op in range(len(index)) if op not in done]


def _sources(index: GraphIndex, op: int) -> set[int]:
    data = index.input_lists[op]
    if index.types[op] in MERGE:
        data = [source for source in data if index.types[source] not in NEXT]
    return {*data, *index.control_lists[op]}
