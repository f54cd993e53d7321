"""Crossing minimization: the order of the vertices within each layer.

The layers are swept down and up, and each is sorted by the barycenters of its vertices' neighbors
in the layer before (K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
hierarchical system structures", 1981). After every second sweep, neighbors within a layer are
swapped where that removes crossings (the "transpose" step of E. R. Gansner et al., "A technique for
drawing directed graphs", 1993). Crossings are counted as W. Barth, P. Mutzel, M. Jünger do in
"Simple and efficient bilayer cross counting" (2004): they are the inversions of the lower ends of
the links, once the links are sorted by their upper ends.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tfgraphwidget.layout.layered.layered_graph import LayeredGraph

Layers = list[list[int]]

MAX_SWEEPS = 8
WORK_LIMIT = 12_000  # vertices and links over all sweeps; there is one sweep in any case
RESTART_LIMIT = 12_000  # vertices and links over as many sweeps; more begin with one order only
STALL_LIMIT = 2  # sweeps without progress after which no more are made
PROGRESS = 0.99  # a sweep makes progress if it leaves no more than this share of the crossings
SWEEPS_PER_SWAP = 2  # neighbors are swapped after every second sweep
SWAP_SIZE_LIMIT = 2_500  # vertices; swapping compares all links of neighbors, and takes longest

UNKNOWN = -1  # a number of crossings that is to be counted


def order_layers(graph: LayeredGraph, column: int) -> None:
    """Order the vertices in each layer of a column, so that few edges cross.

    Args:
        graph: the graph with its dummy nodes; `layers[column]` is replaced.
    """
    vertices = [vertex for layer in graph.layers[column] for vertex in layer]
    number = {vertex: i for i, vertex in enumerate(vertices)}
    layers = [[number[vertex] for vertex in layer] for layer in graph.layers[column]]
    # Hyperedges that join the same two vertices cross as one. A dict keeps the order.
    links = list({(number[upper], number[lower]): None for upper, lower, _ in graph.links[column]})
    ordered = minimize_crossings(layers, links, len(vertices))
    graph.layers[column] = [[vertices[i] for i in layer] for layer in ordered]
    entering = _places_of_exits(graph, column)
    if len(entering) > 1 and entering == sorted(entering, reverse=True):
        # As few edges cross in its mirror image, and none on the way there.
        graph.layers[column] = [layer[::-1] for layer in graph.layers[column]]


def _places_of_exits(graph: LayeredGraph, column: int) -> list[int]:
    """Where the hyperedges that enter a column from earlier ones leave those, in their order here.

    They cross on their way over the columns unless these numbers ascend.
    """
    nodes = graph.node_count
    leaving = [
        graph.hyperedge[vertex - nodes]
        for earlier in range(column)[::-1]
        for vertex in graph.layers[earlier][-1]
    ]
    place = {hyperedge: i for i, hyperedge in enumerate(leaving)}
    entering = [graph.hyperedge[vertex - nodes] for vertex in graph.layers[column][0]]
    return [place[hyperedge] for hyperedge in entering if hyperedge in place]


def minimize_crossings(layers: Layers, links: Sequence[tuple[int, int]], count: int) -> Layers:
    """Order the vertices in layers so that few links cross.

    The heuristic is barycenter sweeps down and up, with swaps of neighbors; the best order of all
    sweeps is kept. The number of sweeps depends on the number of vertices and links, and on what
    they improve.

    Args:
        layers: the vertices of each layer, top first.
        links: (upper, lower) vertices of neighboring layers.
    """
    if all(len(layer) < 2 for layer in layers):
        return layers
    work = sum(map(len, layers)) + len(links)
    sweeps = min(MAX_SWEEPS, WORK_LIMIT // work)
    best, fewest = _sweep(layers, links, count, max(1, sweeps))
    for start in _other_starts(layers, links, count):
        if not fewest or work * MAX_SWEEPS > RESTART_LIMIT:
            break
        ordered, crossings = _sweep(start, links, count, sweeps)
        if crossings < fewest:
            best, fewest = ordered, crossings
    return best


def _sweep(
    layers: Layers, links: Sequence[tuple[int, int]], count: int, sweeps: int
) -> tuple[Layers, int]:
    """Return the best order of some sweeps from a first order, and its crossings."""
    sorting = _BarycenterSweeps(layers, links, count)
    best = sorting.copy_layers()
    fewest = sorting.crossings()
    size = sum(map(len, layers))
    stalled = 0
    for sweep in range(sweeps):
        if not fewest or stalled == STALL_LIMIT:
            break
        sorting.sweep(down=sweep % 2 == 0)
        if size < SWAP_SIZE_LIMIT and (sweep + 1) % SWEEPS_PER_SWAP == 0:
            sorting.swap()
        crossings = sorting.crossings()
        stalled = stalled + 1 if crossings > PROGRESS * fewest else 0
        if crossings < fewest:
            best = sorting.copy_layers()
            fewest = crossings
    return best, fewest


def _other_starts(layers: Layers, links: Sequence[tuple[int, int]], count: int) -> Iterator[Layers]:
    """Yield first orders in which what is joined is together: those of depth-first searches.

    One goes down from the first layer, and one goes up from the last, as dot does (Gansner et al.).
    """
    level = [0] * count
    for number, layer in enumerate(layers):
        for vertex in layer:
            level[vertex] = number
    above: Layers = [[] for _ in range(count)]
    below: Layers = [[] for _ in range(count)]
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    for neighbors, roots in ((below, layers), (above, layers[::-1])):
        order: Layers = [[] for _ in layers]
        stack = [vertex for layer in roots for vertex in layer][::-1]
        is_placed = [False] * count
        while stack:
            vertex = stack.pop()
            if not is_placed[vertex]:
                is_placed[vertex] = True
                order[level[vertex]].append(vertex)
                stack += reversed(neighbors[vertex])
        yield order


class _BarycenterSweeps:
    """Layers that are being ordered.

    A layer that did not change since the last swaps, between layers that did not change, is not
    swapped again, nor are its crossings counted again.

    Attributes:
        layers: the vertices of each layer, in their current order.
        above: the neighbors of each vertex in the layer above.
        below: the neighbors of each vertex in the layer below.
        place: the position of each vertex in its layer.
        count: the crossings between each layer and the next, or `UNKNOWN`.
        has_changed: whether each layer has changed since the last swaps.
    """

    def __init__(self, layers: Layers, links: Sequence[tuple[int, int]], count: int) -> None:
        self.layers = [list(layer) for layer in layers]
        self.above: Layers = [[] for _ in range(count)]
        self.below: Layers = [[] for _ in range(count)]
        for upper, lower in links:
            self.above[lower].append(upper)
            self.below[upper].append(lower)
        self.place = [0] * count
        for layer in self.layers:
            self._number(layer)
        self.count = [UNKNOWN] * len(layers)
        self.has_changed = [True] * len(layers)

    def copy_layers(self) -> Layers:
        """Return a copy of the layers."""
        return [list(layer) for layer in self.layers]

    def _number(self, layer: list[int]) -> None:
        """Note the position of each vertex of a layer."""
        for i, vertex in enumerate(layer):
            self.place[vertex] = i

    def _mark_changed(self, level: int) -> None:
        """Note that a layer has another order."""
        self._number(self.layers[level])
        self.has_changed[level] = True
        self.count[level] = UNKNOWN
        if level:
            self.count[level - 1] = UNKNOWN

    def sweep(self, *, down: bool) -> None:
        """Sort every layer by the mean place of the neighbors in the layer before.

        A vertex without any keeps its place.
        """
        if down:
            levels = range(1, len(self.layers))
            previous, neighbors = -1, self.above
        else:
            levels = range(len(self.layers) - 2, -1, -1)
            previous, neighbors = 1, self.below
        place = self.place
        for level in levels:
            layer = self.layers[level]
            if len(layer) < 2:
                continue
            # What a place in this layer is in places of the layer before.
            scale = max(1, len(self.layers[level + previous]) - 1) / (len(layer) - 1)
            barycenters: list[float] = []
            for i, vertex in enumerate(layer):
                near = neighbors[vertex]
                if len(near) == 1:  # the most frequent case by far
                    barycenters.append(place[near[0]])
                elif near:
                    barycenters.append(sum([place[other] for other in near]) / len(near))
                else:
                    barycenters.append(i * scale)
            if any(left > right for left, right in pairwise(barycenters)):
                order = sorted(range(len(layer)), key=barycenters.__getitem__)
                self.layers[level] = [layer[i] for i in order]
                self._mark_changed(level)

    def crossings(self) -> int:
        """Return the number of crossings."""
        for level, count in enumerate(self.count):
            if count == UNKNOWN:
                self.count[level] = self._count_below(level)
        return sum(self.count)

    def _count_below(self, level: int) -> int:
        """Count the crossings between a layer and the next."""
        place, below = self.place, self.below
        lower_places: list[int] = []
        for vertex in self.layers[level]:
            near = below[vertex]
            if len(near) == 1:
                lower_places.append(place[near[0]])
            else:
                lower_places += sorted([place[other] for other in near])
        return _inversions(lower_places)

    def swap(self) -> None:
        """Swap neighbors in a layer as long as that removes crossings."""
        before = self.has_changed
        self.has_changed = [False] * len(self.layers)
        for level, layer in enumerate(self.layers):
            is_stale = any(before[max(0, level - 1) : level + 2])
            has_changed_above = level > 0 and self.has_changed[level - 1]
            if len(layer) > 1 and (is_stale or has_changed_above) and self._swap_in(layer):
                self._mark_changed(level)

    def _swap_in(self, layer: list[int]) -> bool:
        """Swap neighbors in one layer; return whether any were swapped."""
        place, above, below = self.place, self.above, self.below
        upper = [[place[other] for other in above[vertex]] for vertex in layer]
        lower = [[place[other] for other in below[vertex]] for vertex in layer]
        is_changed = False
        i, last = 0, len(layer) - 1
        while i < last:
            j = i + 1
            if _gain(upper[i], upper[j]) + _gain(lower[i], lower[j]) > 0:
                layer[i], layer[j] = layer[j], layer[i]
                upper[i], upper[j] = upper[j], upper[i]
                lower[i], lower[j] = lower[j], lower[i]
                is_changed = True
                i = max(0, i - 1)  # the vertex may go on to the left
            else:
                i = j
        return is_changed


def _gain(left: list[int], right: list[int]) -> int:
    """Return the crossings that a swap of two neighbors removes, minus those that it adds."""
    if len(left) == 1 == len(right):
        return (left[0] > right[0]) - (left[0] < right[0])
    return sum([(x > y) - (x < y) for x in left for y in right])


def _inversions(values: list[int]) -> int:
    """Return how many pairs are in the wrong order."""
    if sorted(values) == values:
        return 0
    # Barth, Mutzel and Jünger sum over a binary tree of counters. Insertion into a sorted list is
    # quadratic in theory, and faster up to thousands of links: `insort` moves memory in one go.
    total = 0
    ordered: list[int] = []
    for value in values:
        total += len(ordered) - bisect_right(ordered, value)
        insort(ordered, value)
    return total
