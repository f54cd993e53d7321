"""Crossing minimization: the order of the vertices within each layer."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from tfgraphwidget.layout.layered.layered_graph import LayeredGraph

Layers = list[list[int]]
_WORK, _MOST_SWEEPS = 12_000, 8
_IN_VAIN, _WORTH_IT = 2, 0.99  # sweeps without a gain after which no more is tried, and what is a gain
_EVERY, _SWAPPED = 2, 2500  # sweeps until neighbors are swapped; vertices, of more they are not


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
    """Order the vertices in layers so that few links cross.

    The heuristic is barycenter sweeps down and up, with swaps of neighbors; the best order of all sweeps is kept. The
    number of sweeps depends on the number of vertices and links, and on what they improve.

    Args:
        layers: the vertices of each layer, top first.
        links: (upper, lower) vertices of neighboring layers.
        count: one more than the greatest vertex.

    Returns:
        The layers with each one reordered.
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
    """Layers that are being ordered; `place` is the position of each vertex in its layer.

    A layer that did not change since the last swaps, between layers that did not change, is not swapped again, nor are
    its crossings counted again.
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
        """Return a copy of the layers."""
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
        """Sort every layer by the mean place of the neighbors in the layer before.

        A vertex without any keeps its place.
        """
        levels = range(1, len(self.layers)) if down else range(len(self.layers) - 2, -1, -1)
        neighbors, place = self.above if down else self.below, self.place
        for level in levels:
            row = self.layers[level]
            if len(row) < 2:
                continue
            scale = max(1, len(self.layers[level - 1 if down else level + 1]) - 1) / (len(row) - 1)
            keys: list[float] = []
            for i, vertex in enumerate(row):
                near = neighbors[vertex]
                if len(near) == 1:
                    keys.append(place[near[0]])
                else:
                    keys.append(sum([place[v] for v in near]) / len(near) if near else i * scale)
            if any(a > b for a, b in pairwise(keys)):
                order = sorted(range(len(row)), key=keys.__getitem__)
                self.layers[level] = [row[i] for i in order]
                self._mark_changed(level)

    def crossings(self) -> int:
        """Return the number of crossings."""
        place, below = self.place, self.below
        for level, count in enumerate(self.count):
            if count < 0:
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
        """Swap neighbors in a layer as long as that removes crossings."""
        rows, fresh = len(self.layers), self.fresh
        todo = [any(fresh[max(0, level - 1) : level + 2]) for level in range(rows)]
        self.fresh = [False] * rows
        for level, row in enumerate(self.layers):
            moved = (todo[level] or (level > 0 and self.fresh[level - 1])) and len(row) > 1
            if moved and self._swap_in(row):
                self._mark_changed(level)

    def _swap_in(self, row: list[int]) -> bool:
        """Swap neighbors in one layer; return whether any were swapped."""
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
    """Return the crossings that a swap of two neighbors removes, minus those that it adds."""
    if len(left) == 1 == len(right):
        return (left[0] > right[0]) - (left[0] < right[0])
    return sum([(x > y) - (x < y) for x in left for y in right])


def _inversions(ends: list[int]) -> int:
    """Return how many pairs are in the wrong order."""
    sorted_ends = sorted(ends)
    if sorted_ends == ends:
        return 0
    total = 0
    sorted_ends = []
    for end in ends:
        total += len(sorted_ends) - bisect_right(sorted_ends, end)
        insort(sorted_ends, end)
    return total
