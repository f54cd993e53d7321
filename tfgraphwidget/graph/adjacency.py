"""Walks over adjacency lists in CSR: what can be reached, components, the opposite direction.

An array `start` has n + 1 offsets into an array `values`: the successors of node i are
`values[start[i]:start[i + 1]]`. All is numpy and Python, so that opening a file does not wait for
SciPy's import, which takes longer than these walks. Walks of large graphs are SciPy's in a process
that has imported TensorFlow, which takes twenty times as long.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_Int = TypeVar("_Int", bound=np.integer)
_Node = TypeVar("_Node", bound=Hashable)
Ints = npt.NDArray[np.integer]
Labels = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_WIDE = 96  # nodes from which on numpy takes them all at once
_HALF = 32  # bits
_LARGE = 10_000  # edges from which on SciPy's walk is the faster one


def rows_of(owner: Ints, values: Ints, count: int) -> tuple[Labels, Labels]:
    """Sort edges by the node that they leave: `start`, and `values` with ascending successors."""
    order = np.sort((owner.astype(np.int64) << _HALF) | values.astype(np.int64))
    return row_starts(owner, count), (order & ((1 << _HALF) - 1)).astype(np.int32)


def turn_around(start: Ints, values: Ints, count: int) -> tuple[Labels, Labels, Labels]:
    """Sort edges by which of `count` nodes they lead to: `start` and `values` of the opposite
    direction, and the place of each edge in the `values` before.
    """
    order = np.sort((values.astype(np.int64) << _HALF) | np.arange(len(values)))
    places = (order & ((1 << _HALF) - 1)).astype(np.int32)
    owner = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return row_starts(values, count), owner[places], places


def row_starts(owner: Ints, count: int) -> Labels:
    """Where the values of each of so many rows start, and after them the end, once they are sorted
    by the row that each stands in.
    """
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int32)


def distinct(values: npt.NDArray[_Int]) -> npt.NDArray[_Int]:
    """The distinct numbers of an array of integers, sorted.

    `np.unique` does that too, but imports numpy.ma, which takes as long as the drawing of a small
    graph.
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def runs_of(things: npt.NDArray[np.integer], keys: npt.NDArray[np.integer]) -> list[list[int]]:
    """Numbers cut into lists where their keys change; ten times as fast as `np.split`."""
    flat = things.tolist()
    if not flat:
        return []
    cuts = (np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist()
    return [flat[start:stop] for start, stop in pairwise([0, *cuts, len(flat)])]


def is_among(values: npt.NDArray[np.integer], others: npt.NDArray[np.integer]) -> Mask:
    """Whether each integer of an array is in another array; `np.isin`, without numpy.ma."""
    members = distinct(others)
    at = np.searchsorted(members, values)
    result: Mask = at < len(members)
    result[result] = members[at[result]] == values[result]
    return result


def reach(start: Ints, values: Ints, seeds: Ints) -> Mask:
    """What edges lead to from the seeds, these included, as one bool per node."""
    reached = np.zeros(len(start) - 1, dtype=bool)
    reached[seeds] = True
    search = _search_of_scipy(len(values))
    if search is not None:
        reached[search(start, values, seeds)[0]] = True
        return reached
    flags, offsets, successors = reached.view(np.uint8).data, _view(start), _view(values)
    spread: _Spread | None = None
    nodes = distinct(seeds).tolist()
    while nodes:
        if len(nodes) > _WIDE:
            spread = spread or _Spread(start, values, reached)
            nodes = spread.until_narrow(nodes)
            continue
        node = nodes.pop()
        for successor in successors[offsets[node] : offsets[node + 1]].tolist():
            if not flags[successor]:
                flags[successor] = 1
                nodes.append(successor)
    return reached


_Search = Callable[[Ints, Ints, Ints], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]


def _search_of_scipy(edges: int) -> _Search | None:
    """SciPy's search of a graph of that many edges; None where it would take longer."""
    if edges <= _LARGE or not sys.modules.get("tensorflow"):
        return None
    return _compiled_search()


@cache
def _compiled_search() -> _Search | None:
    """A function that finds what seeds reach, nearest first, with predecessors; or None."""
    try:
        matrix: Any = import_module("scipy.sparse").csr_matrix
        breadth_first_order: Any = import_module("scipy.sparse.csgraph").breadth_first_order
    except ImportError:
        return None

    def search(
        start: Ints, values: Ints, seeds: Ints
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        # One more node leads to the seeds. SciPy would make the edges floats, and sum those that
        # are there twice.
        count = len(start) - 1
        columns = np.concatenate([values, seeds])
        rows = np.append(start, start[-1] + len(seeds)).astype(np.int32)
        edges = matrix((np.ones(len(columns)), columns, rows), (count + 1, count + 1))
        nodes, before = breadth_first_order(edges, count)
        return nodes[1:], before[:count]

    return search


class _Spread:
    """Takes all successors of many nodes at once, each once, and marks them in `reached`."""

    def __init__(self, start: Ints, values: Ints, reached: Mask) -> None:
        self._values, self._reached = values, reached
        self._first, self._count = start[:-1], np.diff(start)
        self._numbers = np.arange(len(values), dtype=np.int32)
        self._number_of = np.empty(len(reached), dtype=np.int32)

    def until_narrow(self, nodes: list[int]) -> list[int]:
        """Go on from some nodes until few are new; those."""
        ahead = np.array(nodes)
        while len(ahead) > _WIDE:
            counts = self._count[ahead]
            stops = counts.cumsum()
            offsets = (self._first[ahead] - stops + counts).repeat(counts)
            new = self._values[offsets + self._numbers[: stops[-1]]]
            new = new[~self._reached[new]]
            numbers = self._numbers[: len(new)]
            self._number_of[new] = numbers
            ahead = new[self._number_of[new] == numbers]
            self._reached[ahead] = True
        rest: list[int] = ahead.tolist()
        return rest


def _view(array: Ints) -> memoryview:
    """An array whose items and slices are taken at less cost than numpy's."""
    return np.ascontiguousarray(array).data


def walk_from(
    first: Iterable[_Node], following: Callable[[_Node], Iterable[_Node]]
) -> Iterator[_Node]:
    """Nodes of any kind and all that they lead to, each once; what is found last comes first."""
    ahead = list(dict.fromkeys(first))
    visited = set(ahead)
    while ahead:
        node = ahead.pop()
        yield node
        for other in following(node):
            if other not in visited:
                visited.add(other)
                ahead.append(other)


def first_to_reach(start: Ints, values: Ints, seeds: Ints) -> npt.NDArray[np.intp]:
    """For each node the position of the first seed that leads to it; len(seeds) where none does."""
    offsets, successors = start.tolist(), values.tolist()
    first = [len(seeds)] * (len(start) - 1)
    for position, seed in enumerate(seeds.tolist()):
        nodes = [seed] if first[seed] == len(seeds) else []
        while nodes:
            node = nodes.pop()
            if first[node] == len(seeds):
                first[node] = position
                nodes += successors[offsets[node] : offsets[node + 1]]
    return np.array(first, dtype=np.intp)


def shortest_path(start: Ints, values: Ints, source: int, target: int) -> list[int]:
    """The nodes of a path with the fewest edges, both ends included; [] if there is none."""
    before: Mapping[int, int] | npt.NDArray[np.int32]
    search = _search_of_scipy(len(values))
    if search is not None:
        before = search(start, values, np.array([source], dtype=np.int32))[1]
        if before[target] < 0:
            return []
    else:
        before = _steps_before(start, values, source, target)
        if target not in before:
            return []
    path = [target]
    while path[-1] != source:
        path.append(int(before[path[-1]]))
    return path[::-1]


def _steps_before(start: Ints, values: Ints, source: int, target: int) -> dict[int, int]:
    """The node before each one of those that are as near as a target."""
    offsets, successors = _view(start), _view(values)
    before, ahead = {source: source}, deque([source])
    while ahead and target not in before:
        node = ahead.popleft()
        for successor in successors[offsets[node] : offsets[node + 1]].tolist():
            if successor not in before:
                before[successor] = node
                ahead.append(successor)
    return before


def weak_components(count: int, edges: Ints) -> list[int]:
    """Number the parts that no edge, a row of two nodes, joins: the number of each node's part, in
    the order of their first nodes. This is union-find, with path halving.
    """
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for a, b in edges.tolist():
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(node), len(numbers)) for node in range(count)]


def strong_components(start: Ints, values: Ints) -> Labels:
    """Number the strongly connected parts; the number of each node's (R. Tarjan, "Depth-first
    search and linear graph algorithms", 1972, without recursion).
    """
    offsets, successors = start.tolist(), values.tolist()
    stops, count, unknown = offsets[1:], len(start) - 1, len(start)
    order, low, label = [unknown] * count, [0] * count, [-1] * count
    following = offsets[:-1]  # of each node the edge to be walked next
    clock = parts = 0
    waiting: list[int] = []
    for root in range(count):
        path = [root] if order[root] == unknown else []
        while path:
            node = path[-1]
            if order[node] == unknown:
                order[node] = low[node] = clock
                clock += 1
                waiting.append(node)
            if following[node] < stops[node]:
                successor = successors[following[node]]
                following[node] += 1
                if order[successor] == unknown:
                    path.append(successor)
                elif label[successor] < 0:
                    low[node] = min(low[node], order[successor])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == order[node]:
                while label[node] < 0:
                    label[waiting.pop()] = parts
                parts += 1
    return np.array(label, dtype=np.int32)
