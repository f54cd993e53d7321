"""Straight lanes: a line that passes several rows keeps its x, where nothing forbids it.

The vertices of a lane are made one block. Blocks pushed to the right just far enough, and pushed to the left just
far enough, are two ways to stand without overlap; so is every mean of the two, which favours neither side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

_PASSES = 4


def straightened(
    x: Sequence[float],
    layers: Sequence[Sequence[int]],
    links: Sequence[tuple[int, int, float]],
    bends: Sequence[float],
    nodes: int,
    gap: Callable[[int, int], float],
) -> list[float]:
    """New centres near `x`, with straight lanes; vertices from `nodes` on are lanes.

    `bends[i]` is how far right of its upper vertex link i wants its lower one.
    """
    block = _blocks(layers, links, len(x), nodes)
    count = max(block, default=-1) + 1
    members: list[list[int]] = [[] for _ in range(count)]
    for row in layers:
        for vertex in row:
            members[block[vertex]].append(vertex)
    right: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    left: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for row in layers:
        for a, b in zip(row, row[1:], strict=False):
            distance = gap(a, b)
            right[block[a]].append((block[b], distance))
            left[block[b]].append((block[a], distance))
    wished = [sum(x[v] for v in part) / max(1, len(part)) for part in members]
    order = _topological(right, left)
    low, high = list(wished), list(wished)
    for b in order:
        low[b] = max([low[b], *(low[other] + distance for other, distance in left[b])])
    for b in reversed(order):
        high[b] = min([high[b], *(high[other] - distance for other, distance in right[b])])
    place = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    pulls: list[list[tuple[int, float, float]]] = [[] for _ in range(count)]
    for (a, b, weight), bend in zip(links, bends, strict=True):
        if block[a] != block[b]:
            pulls[block[a]].append((block[b], weight, -bend))
            pulls[block[b]].append((block[a], weight, bend))
    _relax(place, order, pulls, left, right)
    return [place[block[v]] if block[v] >= 0 else 0.0 for v in range(len(x))]


def _blocks(
    layers: Sequence[Sequence[int]], links: Sequence[tuple[int, int, float]], count: int, nodes: int
) -> list[int]:
    """The block of each vertex. Of two lanes that cross, one is broken there, or blocks could not be ordered."""
    at = [0] * count
    for row in layers:
        for i, vertex in enumerate(row):
            at[vertex] = i
    onward: dict[int, int] = {}
    for a, b, _ in links:
        if a >= nodes and b >= nodes:
            onward[a] = b
    block, fresh = [-1] * count, 0
    for row in layers:
        for vertex in row:
            if block[vertex] < 0:
                block[vertex], fresh = fresh, fresh + 1
        furthest = -1
        for vertex in row:
            below = onward.get(vertex)
            if below is not None and at[below] > furthest:
                block[below], furthest = block[vertex], at[below]
    return block


def _topological(right: list[list[tuple[int, float]]], left: list[list[tuple[int, float]]]) -> list[int]:
    waiting = [len(before) for before in left]
    order = [b for b, missing in enumerate(waiting) if not missing]
    for b in order:
        for other, _ in right[b]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _relax(
    place: list[float],
    order: Sequence[int],
    pulls: list[list[tuple[int, float, float]]],
    left: list[list[tuple[int, float]]],
    right: list[list[tuple[int, float]]],
) -> None:
    """Let each block move to where its lines want it, as far as its neighbours leave room."""
    for number in range(_PASSES):
        for b in order if number % 2 == 0 else reversed(order):
            if not pulls[b]:
                continue
            whole = sum(weight for _, weight, _ in pulls[b])
            wish = sum(weight * (place[other] + bend) for other, weight, bend in pulls[b]) / whole
            low = max((place[other] + distance for other, distance in left[b]), default=-inf)
            high = min((place[other] - distance for other, distance in right[b]), default=inf)
            place[b] = min(max(wish, low), high)
