"""Where the vertices of ordered rows stand from left to right: straight lines first, nothing overlapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, pairwise
from operator import sub

Links = list[list[tuple[int, float, float]]]
_SWEEPS, _STILL = 10, 1.5
_MOST_BEND = 20.0
MANY = 2500  # vertices; of more, the places are only roughly the best


def settled(wished: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to `wished` (weighted least squares) with place i + 1 at least `gaps[i]` right of i.

    Exact, by pooling neighbours that would overlap (isotonic regression).

    >>> settled([0.0, 0.0], [1.0, 1.0], [10.0])
    [-5.0, 5.0]
    """
    if len(wished) == 1:
        return [wished[0]]
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
    large: Collection[int] = (),
) -> list[float]:
    """The centre x of each vertex; `gap(a, b)` is the least distance of the centres of neighbours a, b.

    `links` are (upper, lower, weight): a heavy link wants to be straight. `ports` are, per vertex, the distances
    of the places where lines enter and leave from its centre; `large` are the vertices that are open scopes (see
    `bend`). No row reaches beyond a frame that is little wider than the widest.
    """
    count = len(ports)
    above: Links = [[] for _ in range(count)]
    below: Links = [[] for _ in range(count)]
    for a, b, weight in links:
        shift = bend(ports[a][1], ports[b][0], stairs=a in large and b in large)
        above[b].append((a, weight, shift))
        below[a].append((b, weight, -shift))
    x = [0.0] * count
    gaps = [[gap(a, b) for a, b in pairwise(row)] for row in layers]
    for row, between in zip(layers, gaps, strict=True):
        for vertex, place in zip(row, settled([0.0] * len(row), [1.0] * len(row), between), strict=True):
            x[vertex] = place
    rows = [(row, between) for row, between in zip(layers, gaps, strict=True) if row]
    for sweep in range(_SWEEPS if count < MANY else 2):
        down, before = sweep % 2 == 0, list(x)
        for row, between in rows if down else rows[::-1]:
            _move(x, row, between, above if down else below, below if down else above)
        if sweep > 1 and max(map(abs, map(sub, x, before)), default=0.0) < _STILL:
            break
    keep_narrow(x, layers, gap)
    return x


def bend(leaves: float, enters: float, *, stairs: bool) -> float:
    """How far right of a vertex the one below it should be, so that the line from port to port is straight.

    Not far where both are large: they would become `stairs`, and the drawing a diagonal between empty corners.
    """
    return leaves - enters if not stairs or abs(leaves - enters) <= _MOST_BEND else 0.0


def keep_narrow(x: list[float], layers: Sequence[Sequence[int]], gap: Callable[[int, int], float]) -> None:
    """Push rows back into a frame little wider than the widest of them, where that is best for most."""
    rows = []
    for row in layers:
        if row:
            offsets = list(accumulate([gap(row[0], row[0]) / 2, *(gap(a, b) for a, b in pairwise(row))]))
            rows.append((row, offsets, offsets[-1] + gap(row[-1], row[-1]) / 2))
    room = max((wide for _, _, wide in rows), default=0.0)
    ends = [(x[row[0]] - offsets[0], x[row[-1]] - offsets[-1] + wide) for row, offsets, wide in rows]
    if not ends or max(b for _, b in ends) - min(a for a, _ in ends) <= 1.1 * room + _MOST_BEND:
        return
    room = 1.03 * room + _MOST_BEND
    choices = [*(a for a, _ in ends), *(b - room for _, b in ends)]
    left = min(
        choices[:: max(1, len(choices) // 60)], key=lambda c: sum(max(0.0, c - a, b - c - room) for a, b in ends)
    )
    for row, offsets, wide in rows:
        for vertex, offset in zip(row, offsets, strict=True):
            x[vertex] = min(max(x[vertex] - offset, left), left + room - wide) + offset


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
