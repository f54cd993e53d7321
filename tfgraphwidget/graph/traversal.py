"""Traversals of the edges of an index. Each is linear in the size of the graph.

Ops are numbers, sets of ops are boolean arrays with one entry per op.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.adjacency import reach, rows_of, shortest_path
from tfgraphwidget.graph.edges import Csr, Edges, Ids, Mask
from tfgraphwidget.graph.index import GraphIndex

ANY_PORT = -1

Tensors = Collection[tuple[int, int]]
"""(op, port) pairs; port ANY_PORT represents all tensors of the op and its control edges."""


def forward(
    index: GraphIndex,
    seeds: Iterable[int],
    *,
    stop: Tensors = (),
    within: Mask | None = None,
    controls: bool = True,
) -> Mask:
    """All ops that depend on the seeds, these included, one bool per op.

    Edges of the tensors `stop` are not followed, and only ops `within` are reached; the seeds need
    not be among them.
    """
    edges = index.consumer_edges
    followed = _followed_edges(edges, _leaving(edges, stop), within, controls)
    return _walk(edges, seeds, followed)


def backward(
    index: GraphIndex,
    seeds: Iterable[int],
    *,
    stop: Tensors = (),
    within: Mask | None = None,
    controls: bool = True,
) -> Mask:
    """All ops that the seeds need, as `forward` finds those that depend on them."""
    edges = index.sources
    followed = _followed_edges(edges, _arriving(edges, stop), within, controls)
    return _walk(edges, seeds, followed)


def flood(
    index: GraphIndex,
    seeds: Iterable[int],
    wall: Mask,
    *,
    controls_in: bool = False,
    controls_out: bool = False,
) -> Mask:
    """All ops, one bool each, that are connected with the seeds, with edges taken both ways, up to
    a wall, whose ops are reached but not left.

    Control edges are followed from an op to those it waits for (`controls_in`), and to those that
    wait for it (`controls_out`).
    """
    owner, to = _both_ways(index, controls_in=controls_in, controls_out=controls_out)
    free = ~wall[owner]
    return reach(*rows_of(owner[free], to[free], len(index)), _numbers(seeds))


def neighbors(
    index: GraphIndex, ops: Mask, *, controls_in: bool = False, controls_out: bool = False
) -> Mask:
    """The ops one edge away from some ops, one bool each, in either direction, among them ops of
    `ops` that an edge joins; `controls_in` and `controls_out` are as for `flood`.
    """
    owner, to = _both_ways(index, controls_in=controls_in, controls_out=controls_out)
    mask = np.zeros(len(index), dtype=bool)
    mask[to[ops[owner]]] = True
    return mask


def along(rows: Csr, seeds: Iterable[int]) -> Mask:
    """All that rows of ops lead to from the seeds, seeds included; the rows need not be those of an
    index.
    """
    return _walk(Edges(rows.start, rows.values, rows.values), seeds, None)


def shortest(index: GraphIndex, first: tuple[int, int], last: int) -> list[int]:
    """The ops of a shortest path of tensors or control edges, both ends included; [] if there is
    none. It begins at (op, port); ANY_PORT for all outputs.
    """
    edges, (op, port) = index.consumer_edges, first
    keep = np.ones(len(edges.to), dtype=bool)
    if port != ANY_PORT:
        keep[edges.start[op] : edges.start[op + 1]] = False
        keep[_leaving(edges, [first])] = True
    return shortest_path(*_less(edges, keep), op, last)


def mask_of(index: GraphIndex, ops: Iterable[int] | Ids) -> Mask:
    """Op numbers as one bool per op of the index."""
    mask = np.zeros(len(index), dtype=bool)
    mask[_numbers(ops)] = True
    return mask


def _numbers(ops: Iterable[int] | Ids) -> Ids:
    return ops.astype(np.int32) if isinstance(ops, np.ndarray) else np.fromiter(ops, dtype=np.int32)


def consumers_of(index: GraphIndex, tensors: Tensors) -> Ids:
    """The ops that read one of the tensors, and those that wait for the op, for ANY_PORT; once for
    each edge.
    """
    return index.consumer_edges.to[_leaving(index.consumer_edges, tensors)]


def _leaving(edges: Edges, tensors: Tensors) -> Ids:
    """The numbers of the edges that carry the tensors, where edges are listed by producer."""
    edge_numbers = [np.zeros(0, dtype=np.int32)]
    for op, port in tensors:
        row = np.arange(edges.start[op], edges.start[op + 1], dtype=np.int32)
        edge_numbers.append(row if port == ANY_PORT else row[edges.port[row] == port])
    return np.concatenate(edge_numbers)


def _arriving(edges: Edges, tensors: Tensors) -> Ids:
    """The same, where edges are listed by consumer."""
    if not tensors:
        return np.zeros(0, dtype=np.int32)
    ops, ports = np.array(list(tensors), dtype=np.int64).T
    near = np.flatnonzero(np.isin(edges.to, ops.astype(np.int32))).astype(np.int32)
    whole = np.isin(edges.to[near], ops[ports == ANY_PORT])
    one = np.isin(_key(edges.to[near], edges.port[near]), _key(ops, ports))
    arriving: Ids = near[whole | one]
    return arriving


def _key(ops: npt.NDArray[np.integer], ports: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """One number for each (op, port)."""
    keys: npt.NDArray[np.int64] = (ops.astype(np.int64) << 32) + ports
    return keys


def _followed_edges(edges: Edges, dropped: Ids, within: Mask | None, controls: bool) -> Mask | None:
    """Which edges are followed; None for all."""
    if controls and within is None and not len(dropped):
        return None
    keep = np.ones(len(edges.to), dtype=bool) if controls else edges.port >= 0
    keep[dropped] = False
    if within is not None:
        keep &= within[edges.to]
    return keep


def _walk(edges: Edges, seeds: Iterable[int], keep: Mask | None) -> Mask:
    start, to = (edges.start, edges.to) if keep is None else _less(edges, keep)
    return reach(start, to, _numbers(seeds))


def _less(edges: Edges, keep: Mask) -> tuple[Ids, Ids]:
    """Start and end of some of the edges."""
    count_before = np.concatenate([[0], np.cumsum(keep, dtype=np.int32)]).astype(np.int32)
    return count_before[edges.start], edges.to[keep]


def _both_ways(index: GraphIndex, *, controls_in: bool, controls_out: bool) -> tuple[Ids, Ids]:
    """The edges as (from, to), data edges either way."""
    owners, targets = [], []
    for edges, controls in ((index.consumer_edges, controls_out), (index.sources, controls_in)):
        keep = (edges.port >= 0) | controls
        owners.append(edges.owner[keep])
        targets.append(edges.to[keep])
    return np.concatenate(owners), np.concatenate(targets)


def after_sources(
    roots: Iterable[int], sources: Callable[[int], Iterable[int]], count: int
) -> list[int]:
    """Ops, of which there are so many, and all that `sources` gives for them, each after its
    sources, but for one of each cycle.
    """
    order: list[int] = []
    state = np.zeros(count, np.int8)
    for root in roots:
        stack = [root]
        while stack:
            op = stack[-1]
            if state[op] == 0:
                state[op] = 1
                stack += [source for source in sources(op) if state[source] == 0]
                continue
            stack.pop()
            if state[op] == 1:
                state[op] = 2
                order.append(op)
    return order


def topological_rank(index: GraphIndex) -> Sequence[int]:
    """For each op its place in an order where ops follow what they read, but for loops."""
    if index.is_sorted():
        return range(len(index))

    def sources(op: int) -> Iterable[int]:
        return (*index.input_lists[op], *index.control_lists[op])

    order = after_sources(range(len(index)), sources, len(index))
    rank = np.empty(len(index), np.int64)
    rank[order] = np.arange(len(index))
    ranks: list[int] = rank.tolist()
    return ranks
