"""Straight lanes: a line that passes several rows keeps its x, where nothing forbids it.

The vertices of a lane are made one block. Blocks pushed to the right just far enough, and pushed to the left just
far enough, are two ways to stand without overlap; so is every mean of the two, which favours neither side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import inf

from tfgraphwidget.view.align import MANY, keep_narrow, settled

Distances = list[list[tuple[int, float]]]
Pulls = list[list[tuple[int, float, float]]]
_PASSES, _STILL = 24, 1.0


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
    members: list[list[int]] = [[] for _ in range(max(block, default=-1) + 1)]
    for row in layers:
        for vertex in row:
            members[block[vertex]].append(vertex)
    rows = [[block[vertex] for vertex in row] for row in layers if row]
    gaps = [[gap(a, b) for a, b in pairwise(row)] for row in layers if row]
    pulls: Pulls = [[] for _ in members]
    for (a, b, weight), bend in zip(links, bends, strict=True):
        if block[a] != block[b]:
            pulls[block[a]].append((block[b], weight, -bend))
            pulls[block[b]].append((block[a], weight, bend))
    wished = [sum(x[v] for v in part) / max(1, len(part)) for part in members]
    place = _relaxed(wished, rows, gaps, pulls, [len(part) > 1 for part in members])
    result = [place[block[v]] if block[v] >= 0 else 0.0 for v in range(len(x))]
    keep_narrow(result, layers, gap)
    return result


def _relaxed(
    wished: Sequence[float],
    rows: Sequence[Sequence[int]],
    gaps: Sequence[Sequence[float]],
    pulls: Pulls,
    is_lane: Sequence[bool],
) -> list[float]:
    """Places without overlap near the wished ones, then moved to where the lines want them, as far as there is room."""
    right: Distances = [[] for _ in wished]
    left: Distances = [[] for _ in wished]
    for row, between in zip(rows, gaps, strict=True):
        for (a, b), distance in zip(pairwise(row), between, strict=True):
            right[a].append((b, distance))
            left[b].append((a, distance))
    place = _feasible(wished, left, right)
    lanes = [b for b, lane in enumerate(is_lane) if lane]
    for number in range(_PASSES if len(wished) < MANY else 2):
        before = list(place)
        for row, between in list(zip(rows, gaps, strict=True))[:: 1 if number % 2 else -1]:
            _settle_row(place, row, between, pulls, is_lane)
        for b in lanes:
            wish, _ = _wish(place, b, pulls)
            low = max((place[other] + distance for other, distance in left[b]), default=-inf)
            high = min((place[other] - distance for other, distance in right[b]), default=inf)
            place[b] = min(max(wish, low), high)
        if max((abs(a - b) for a, b in zip(before, place, strict=True)), default=0.0) < _STILL:
            break
    return place


def _feasible(wished: Sequence[float], left: Distances, right: Distances) -> list[float]:
    order = _topological(right, left)
    low, high = list(wished), list(wished)
    for b in order:
        low[b] = max([low[b], *(low[other] + distance for other, distance in left[b])])
    for b in reversed(order):
        high[b] = min([high[b], *(high[other] - distance for other, distance in right[b])])
    return [(a + b) / 2 for a, b in zip(low, high, strict=True)]


def _wish(place: Sequence[float], b: int, pulls: Pulls) -> tuple[float, float]:
    """Where the lines of a block want it, and how strongly; its own place, weakly, when it has none."""
    total, whole = 0.001 * place[b], 0.001
    for other, weight, bend in pulls[b]:
        total += weight * (place[other] + bend)
        whole += weight
    return total / whole, whole


def _settle_row(
    place: list[float], row: Sequence[int], gaps: Sequence[float], pulls: Pulls, is_lane: Sequence[bool]
) -> None:
    """Move the nodes between two lanes together: one by one, each would be held by its neighbours."""
    start = 0
    while start < len(row):
        if is_lane[row[start]]:
            start += 1
            continue
        stop = start
        while stop < len(row) and not is_lane[row[stop]]:
            stop += 1
        wishes = [_wish(place, b, pulls) for b in row[start:stop]]
        between = gaps[start : stop - 1]
        places = settled([wish for wish, _ in wishes], [weight for _, weight in wishes], between)
        offsets = [0.0, *accumulate(between)]
        low = place[row[start - 1]] + gaps[start - 1] if start else -inf
        high = place[row[stop]] - gaps[stop - 1] - offsets[-1] if stop < len(row) else inf
        for b, at, offset in zip(row[start:stop], places, offsets, strict=True):
            place[b] = min(max(at - offset, low), high) + offset
        start = stop


def _blocks(
    layers: Sequence[Sequence[int]], links: Sequence[tuple[int, int, float]], count: int, nodes: int
) -> list[int]:
    """The block of each vertex. Of two lanes that cross, one is broken there, or blocks could not be ordered."""
    at = [0] * count
    for row in layers:
        for i, vertex in enumerate(row):
            at[vertex] = i
    onward = {a: b for a, b, _ in links if a >= nodes and b >= nodes}
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


def _topological(right: Distances, left: Distances) -> list[int]:
    waiting = [len(before) for before in left]
    order = [b for b, missing in enumerate(waiting) if not missing]
    for b in order:
        for other, _ in right[b]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order
