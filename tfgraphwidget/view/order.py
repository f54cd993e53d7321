"""The order inside the rows of a layered drawing: few crossings."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise

Layers = list[list[int]]
_SMALL, _LARGE = 600, 4000


def ordered(layers: Layers, links: Sequence[tuple[int, int]], count: int) -> Layers:
    """`layers` (rows of vertices, top first) with each row reordered; `links` join neighbouring rows (upper, lower).

    Barycentre sweeps down and up, neighbours swapped where that helps; the best order met is kept. `count` is
    one more than the greatest vertex.
    """
    if all(len(row) < 2 for row in layers):
        return layers
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        above[b].append(a)
        below[a].append(b)
    size = sum(len(row) for row in layers)
    layers = [list(row) for row in layers]
    best, fewest = layers, _crossings(layers, below)
    for sweep in range(8 if size < _SMALL else 3 if size < _LARGE else 1):
        if not fewest:
            break
        layers = _swept(layers, above, below, down=sweep % 2 == 0)
        if size < _SMALL:
            _transpose(layers, above, below)
        now = _crossings(layers, below)
        if now < fewest:
            best, fewest = [list(row) for row in layers], now
    return best


def _swept(layers: Layers, above: list[list[int]], below: list[list[int]], *, down: bool) -> Layers:
    """Every row sorted by the mean place of its neighbours in the row before; who has none keeps its place."""
    rows, neighbours = (layers, above) if down else (layers[::-1], below)
    result = [rows[0]]
    for row in rows[1:]:
        place = {vertex: i / max(1, len(result[-1]) - 1) for i, vertex in enumerate(result[-1])}
        last = max(1, len(row) - 1)
        key = {}
        for i, vertex in enumerate(row):
            near = [place[other] for other in neighbours[vertex]]
            key[vertex] = sum(near) / len(near) if near else i / last
        result.append(sorted(row, key=key.__getitem__))
    return result if down else result[::-1]


def _crossings(layers: Layers, below: list[list[int]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {vertex: i for i, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(place[other] for other in below[vertex])
            for end in ends:
                total += len(seen) - bisect_left(seen, end + 1)
            for end in ends:
                insort(seen, end)
    return total


def _transpose(layers: Layers, above: list[list[int]], below: list[list[int]]) -> None:
    """Swap neighbours in a row as long as that removes crossings."""
    for level, row in enumerate(layers):
        sides = []
        if level:
            sides.append(({v: i for i, v in enumerate(layers[level - 1])}, above))
        if level + 1 < len(layers):
            sides.append(({v: i for i, v in enumerate(layers[level + 1])}, below))
        ends = {v: [[place[o] for o in near[v]] for place, near in sides] for v in row}
        moved = True
        while moved:
            moved = False
            for i in range(len(row) - 1):
                a, b = row[i], row[i + 1]
                gain = sum(_compare(ea, eb) for ea, eb in zip(ends[a], ends[b], strict=True))
                if gain > 0:
                    row[i], row[i + 1], moved = b, a, True


def _compare(left: list[int], right: list[int]) -> int:
    """Crossings that a swap of two neighbours removes, less those that it adds."""
    return sum((x > y) - (x < y) for x in left for y in right)
