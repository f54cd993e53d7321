"""Where the vertices of ordered rows stand from left to right: straight lines first, nothing overlapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import sub

Pull = tuple[list[tuple[int, float]], float, float]
_SWEEPS, _STILL = 4, 1.5
_MOST_BEND = 20.0
_OWN, _BEHIND = 0.02, 0.1
_WORK = 9_000


@dataclass(frozen=True)
class Rows:
    """Ordered rows of the vertices 0 … n - 1, none empty.

    `gaps` are per row the least distances of the middles of neighbours, `side` per vertex the room it takes on either
    side of its middle. `links` are (upper, lower, weight, bend): a heavy link wants to be straight, and the lower
    vertex that far right of the upper one. Vertices from `nodes` on, in the order of `is_lane`, are lanes.
    """

    rows: list[list[int]]
    gaps: list[list[float]]
    side: list[float]
    links: list[tuple[int, int, float, float]]
    is_lane: list[bool]

    def kept_narrow(self, x: list[float]) -> list[float]:
        """Rows pushed back into a frame little wider than the widest of them, where that is best for most."""
        rows = []
        for row, gaps in zip(self.rows, self.gaps, strict=True):
            offsets = list(accumulate(gaps, initial=self.side[row[0]]))
            rows.append((row, offsets, offsets[-1] + self.side[row[-1]]))
        room = max((wide for _, _, wide in rows), default=0.0)
        ends = [(x[row[0]] - offsets[0], x[row[-1]] - offsets[-1] + wide) for row, offsets, wide in rows]
        if not ends or max(b for _, b in ends) - min(a for a, _ in ends) <= 1.1 * room + _MOST_BEND:
            return x
        room = 1.03 * room + _MOST_BEND
        choices = [*(a for a, _ in ends), *(b - room for _, b in ends)]
        left = min(
            choices[:: max(1, len(choices) // 60)],
            key=lambda c: sum([c - a for a, _ in ends if a < c]) + sum([b - c - room for _, b in ends if b - c > room]),
        )
        for row, offsets, wide in rows:
            for vertex, offset in zip(row, offsets, strict=True):
                x[vertex] = min(max(x[vertex] - offset, left), left + room - wide) + offset
        return x


def settled(wished: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to `wished` (weighted least squares) with place i + 1 at least `gaps[i]` right of i.

    Exact, by pooling neighbours that would overlap (isotonic regression).

    >>> settled([0.0, 0.0], [1.0, 1.0], [10.0])
    [-5.0, 5.0]
    """
    for i, gap in enumerate(gaps):
        if wished[i + 1] - wished[i] < gap:
            break
    else:
        return list(wished)
    offsets = [0.0, *accumulate(gaps)]
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for wish, offset, weight in zip(wished, offsets, weights, strict=True):
        mean, mass, size = wish - offset, weight, 1
        while means and means[-1] > mean:
            heavy = masses.pop()
            mean = (means.pop() * heavy + mean * mass) / (heavy + mass)
            mass += heavy
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    flat: list[float] = []
    for mean, size in zip(means, sizes, strict=True):
        flat += [mean] * size
    return [x + o for x, o in zip(flat, offsets, strict=True)]


def aligned(rows: Rows) -> list[float]:
    """The middle x of each vertex. No row reaches beyond a frame that is little wider than the widest."""
    count = len(rows.side)
    down, up = _pulls(rows)
    x = [0.0] * count
    for row, gaps in zip(rows.rows, rows.gaps, strict=True):
        offsets = [0.0, *accumulate(gaps)]
        middle = sum(offsets) / len(row)
        for vertex, offset in zip(row, offsets, strict=True):
            x[vertex] = offset - middle
    levels = list(zip(rows.rows, rows.gaps, strict=True))
    for sweep in range(rounds(count, _SWEEPS)):
        before = list(x)
        if sweep % 2 == 0:
            _move(x, levels, down)
        else:
            _move(x, levels[::-1], up)
        if sweep > 1 and max(map(abs, map(sub, x, before)), default=0.0) < _STILL:
            break
    return rows.kept_narrow(x)


def rounds(count: int, most: int) -> int:
    """How often to go over so many vertices: of thousands, the places are only roughly the best."""
    return max(2, min(most, _WORK // max(1, count)))


def bend(leaves: float, enters: float, *, stairs: bool) -> float:
    """How far right of a vertex the one below it should be, so that the line from port to port is straight.

    Not far where both are large: they would become `stairs`, and the drawing a diagonal between empty corners.
    """
    return leaves - enters if not stairs or abs(leaves - enters) <= _MOST_BEND else 0.0


def _pulls(rows: Rows) -> tuple[list[Pull], list[Pull]]:
    """What moves each vertex, going down and going up: (others and weights), the sum of bends, and of all weights.

    The neighbours in the row before decide; those in the row behind have a small say.
    """
    count = len(rows.side)
    near: list[list[tuple[int, float]]] = [[] for _ in range(2 * count)]
    bends, masses = [0.0] * (2 * count), [_OWN] * (2 * count)
    for a, b, weight, bend in rows.links:
        for vertex, other, strong, weak, shift in (
            (b, a, weight, _BEHIND * weight, bend),
            (a, b, _BEHIND * weight, weight, -bend),
        ):
            near[vertex].append((other, strong))
            bends[vertex] += strong * shift
            masses[vertex] += strong
            near[count + vertex].append((other, weak))
            bends[count + vertex] += weak * shift
            masses[count + vertex] += weak
    pulls = list(zip(near, bends, masses, strict=True))
    return pulls[:count], pulls[count:]


def _move(x: list[float], levels: Sequence[tuple[list[int], list[float]]], pulls: list[Pull]) -> None:
    """Put row after row where its neighbours want it."""
    for row, gaps in levels:
        wished, weights = [], []
        for vertex in row:
            near, total, mass = pulls[vertex]
            total += _OWN * x[vertex]
            for other, weight in near:
                total += weight * x[other]
            wished.append(total / mass)
            weights.append(mass)
        for vertex, place in zip(row, settled(wished, weights, gaps), strict=True):
            x[vertex] = place


def pairs(rows: Rows) -> list[tuple[int, int, float]]:
    """Neighbours in a row, and their least distance."""
    return [
        (a, b, gap)
        for row, gaps in zip(rows.rows, rows.gaps, strict=True)
        for (a, b), gap in zip(pairwise(row), gaps, strict=True)
    ]
