"""The order inside the rows of a layered drawing: few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from tfgraphwidget.layout.layered.layered_graph import LayeredGraph

Layers = list[list[int]]
_WORK, _MOST_SWEEPS = 12_000, 8
_IN_VAIN, _WORTH_IT = 2, 0.99  # sweeps without a gain after which no more is tried, and what is a gain
_EVERY, _SWAPPED = 2, 2500  # sweeps until neighbours are swapped; vertices, of more they are not


def order_layers(graph: LayeredGraph, column: int) -> None:
    """Order the vertices in each layer of a column, so that few edges cross.

    Args:
        graph: the graph with its dummy nodes; `layers[column]` is replaced.
        column: the number of the column.
    """
    vertices = [vertex for layer in graph.layers[column] for vertex in layer]
    number = {vertex: i for i, vertex in enumerate(vertices)}
    layers = [[number[vertex] for vertex in layer] for layer in graph.layers[column]]
    links = list({(number[a], number[b]): None for a, b, _ in graph.links[column]})
    ordered = minimize_crossings(layers, links, len(vertices))
    graph.layers[column] = [[vertices[i] for i in layer] for layer in ordered]


def minimize_crossings(layers: Layers, links: Sequence[tuple[int, int]], count: int) -> Layers:
    """`layers` (rows of vertices, top first) with each row reordered; `links` join neighbouring rows (upper, lower).

    Barycentre sweeps down and up, neighbours swapped where that helps; the best order met is kept. How many sweeps
    there are depends on the number of vertices and links, and on what they bring. `count` is one more than the
    greatest vertex.
    """
    if all(len(row) < 2 for row in layers):
        return layers
    sorting = _BarycenterSweeps(layers, links, count)
    best, fewest = sorting.rows(), sorting.crossings()
    size = sum(map(len, layers))
    vain = 0
    for sweep in range(max(1, min(_MOST_SWEEPS, _WORK // (size + len(links))))):
        if not fewest or vain == _IN_VAIN:
            break
        sorting.sweep(down=sweep % 2 == 0)
        if size < _SWAPPED and sweep % _EVERY == _EVERY - 1:
            sorting.swap()
        now = sorting.crossings()
        vain = vain + 1 if now > _WORTH_IT * fewest else 0
        if now < fewest:
            best, fewest = sorting.rows(), now
    return best


class _BarycenterSweeps:
    """Rows being sorted; `place` is where in its row each vertex stands.

    A row that is as it was since the last swaps, and between rows that are, needs none; nor are its crossings counted
    again.
    """

    def __init__(self, layers: Layers, links: Sequence[tuple[int, int]], count: int) -> None:
        self.layers = [list(row) for row in layers]
        self.above: Layers = [[] for _ in range(count)]
        self.below: Layers = [[] for _ in range(count)]
        for a, b in links:
            self.above[b].append(a)
            self.below[a].append(b)
        self.place = [0] * count
        for row in self.layers:
            self._number(row)
        self.count = [-1] * len(layers)  # of crossings below a row; -1: not known
        self.fresh = [True] * len(layers)

    def rows(self) -> Layers:
        """The rows as they are now."""
        return [list(row) for row in self.layers]

    def _number(self, row: list[int]) -> None:
        for i, vertex in enumerate(row):
            self.place[vertex] = i

    def _mark_changed(self, level: int) -> None:
        self._number(self.layers[level])
        self.fresh[level] = True
        self.count[level] = -1
        if level:
            self.count[level - 1] = -1

    def sweep(self, *, down: bool) -> None:
        """Every row sorted by the mean place of its neighbours in the row before; who has none keeps its place."""
        levels = range(1, len(self.layers)) if down else range(len(self.layers) - 2, -1, -1)
        neighbours, place = self.above if down else self.below, self.place
        for level in levels:
            row = self.layers[level]
            if len(row) < 2:
                continue
            scale = max(1, len(self.layers[level - 1 if down else level + 1]) - 1) / (len(row) - 1)
            keys: list[float] = []
            for i, vertex in enumerate(row):
                near = neighbours[vertex]
                if len(near) == 1:
                    keys.append(place[near[0]])
                else:
                    keys.append(sum([place[v] for v in near]) / len(near) if near else i * scale)
            if any(a > b for a, b in pairwise(keys)):
                order = sorted(range(len(row)), key=keys.__getitem__)
                self.layers[level] = [row[i] for i in order]
                self._mark_changed(level)

    def crossings(self) -> int:
        """All there are."""
        place, below = self.place, self.below
        for level, known in enumerate(self.count):
            if known < 0:
                ends: list[int] = []
                for vertex in self.layers[level]:
                    near = below[vertex]
                    if len(near) == 1:
                        ends.append(place[near[0]])
                    else:
                        ends += sorted([place[v] for v in near])
                self.count[level] = _inversions(ends)
        return sum(self.count)

    def swap(self) -> None:
        """Swap neighbours in a row as long as that removes crossings."""
        rows, fresh = len(self.layers), self.fresh
        todo = [any(fresh[max(0, level - 1) : level + 2]) for level in range(rows)]
        self.fresh = [False] * rows
        for level, row in enumerate(self.layers):
            moved = (todo[level] or (level > 0 and self.fresh[level - 1])) and len(row) > 1
            if moved and self._swap_in(row):
                self._mark_changed(level)

    def _swap_in(self, row: list[int]) -> bool:
        """The same in one row; whether there was anything to swap."""
        place, above, below = self.place, self.above, self.below
        upper = [[place[v] for v in above[vertex]] for vertex in row]
        lower = [[place[v] for v in below[vertex]] for vertex in row]
        moved, i, last = False, 0, len(row) - 1
        while i < last:
            j = i + 1
            if _gain(upper[i], upper[j]) + _gain(lower[i], lower[j]) > 0:
                row[i], row[j] = row[j], row[i]
                upper[i], upper[j] = upper[j], upper[i]
                lower[i], lower[j] = lower[j], lower[i]
                moved, i = True, max(0, i - 1)
            else:
                i = j
        return moved


def _gain(left: list[int], right: list[int]) -> int:
    """Crossings that a swap of two neighbours removes, less those that it adds."""
    if len(left) == 1 == len(right):
        return (left[0] > right[0]) - (left[0] < right[0])
    return sum([(x > y) - (x < y) for x in left for y in right])


def _inversions(ends: list[int]) -> int:
    """How many pairs are in the wrong order."""
    seen = sorted(ends)
    if seen == ends:
        return 0
    total = 0
    seen = []
    for end in ends:
        total += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return total
