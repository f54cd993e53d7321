"""Where the vertices of ordered rows stand from left to right: straight lines first, nothing overlapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

Links = list[list[tuple[int, float, float]]]
_SWEEPS = 10


def settled(wished: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to `wished` (weighted least squares) with place i + 1 at least `gaps[i]` right of i.

    Exact, by pooling neighbours that would overlap (isotonic regression).

    >>> settled([0.0, 0.0], [1.0, 1.0], [10.0])
    [-5.0, 5.0]
    """
    offset = 0.0
    offsets: list[float] = []
    blocks: list[tuple[float, float, int]] = []
    for i, wish in enumerate(wished):
        if i:
            offset += gaps[i - 1]
        offsets.append(offset)
        mean, weight, size = wish - offset, weights[i], 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, many = blocks.pop()
            mean = (other * heavy + mean * weight) / (heavy + weight)
            weight += heavy
            size += many
        blocks.append((mean, weight, size))
    flat = [mean for mean, _, size in blocks for _ in range(size)]
    return [x + o for x, o in zip(flat, offsets, strict=True)]


def aligned(
    layers: Sequence[Sequence[int]],
    links: Sequence[tuple[int, int, float]],
    ports: Sequence[tuple[float, float]],
    gap: Callable[[int, int], float],
) -> list[float]:
    """The centre x of each vertex; `gap(a, b)` is the least distance of the centres of neighbours a, b.

    `links` are (upper, lower, weight): a heavy link wants to be straight. `ports` are, per vertex, the distances
    of the places where lines enter and leave from its centre.
    """
    count = len(ports)
    above: Links = [[] for _ in range(count)]
    below: Links = [[] for _ in range(count)]
    for a, b, weight in links:
        bend = ports[a][1] - ports[b][0]
        above[b].append((a, weight, bend))
        below[a].append((b, weight, -bend))
    x = [0.0] * count
    gaps = [[gap(a, b) for a, b in pairwise(row)] for row in layers]
    for row, between in zip(layers, gaps, strict=True):
        for vertex, place in zip(row, settled([0.0] * len(row), [1.0] * len(row), between), strict=True):
            x[vertex] = place
    rows = [(row, between) for row, between in zip(layers, gaps, strict=True) if row]
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row, between in rows if down else rows[::-1]:
            _move(x, row, between, above if down else below, below if down else above)
    return x


def _move(x: list[float], row: Sequence[int], gaps: Sequence[float], near: Links, far: Links) -> None:
    """Put a row where its neighbours in the row before want it; the row behind has a small say."""
    wished, weights = [], []
    for vertex in row:
        pull, weight = 0.02 * x[vertex], 0.02
        for other, strength, bend in near[vertex]:
            pull += strength * (x[other] + bend)
            weight += strength
        for other, strength, bend in far[vertex]:
            pull += 0.1 * strength * (x[other] + bend)
            weight += 0.1 * strength
        wished.append(pull / weight)
        weights.append(weight)
    for vertex, place in zip(row, settled(wished, weights, gaps), strict=True):
        x[vertex] = place
