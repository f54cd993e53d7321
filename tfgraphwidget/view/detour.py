"""Ways around boxes, for single lines whose ends were moved."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.placed import Point, without_corners
from tfgraphwidget.view.structure import BORDER

Floats = npt.NDArray[np.float64]
_CLEAR, _TURN = 7.0, 30.0
_MOST = 60  # boxes near a line that are heeded; beyond, it may run through one


class Detours:
    """Boxes in a container, and ways of horizontal and vertical pieces between them."""

    def __init__(self, corner: Floats, sizes: Floats, width: float, height: float) -> None:
        self.low, self.high = corner, corner + sizes
        self.width, self.height = width, height

    def hits(self, route: list[Point], ends: tuple[int, int]) -> bool:
        """Whether a way leads through a box other than those at its ends."""
        free = np.ones(len(self.low), dtype=bool)
        free[[end for end in ends if end != BORDER]] = False
        low, high = self.low[free], self.high[free]
        return any(_between(low, high, a, b).any() for a, b in pairwise(route))

    def route(self, source: int, target: int, before: list[Point]) -> list[Point]:
        """A way from the lower side of one box to the upper side of another; from or to a border where it was."""
        start = before[0] if source == BORDER else self._middle(source, self.high)
        end = before[-1] if target == BORDER else self._middle(target, self.low)
        leave = start if source == BORDER else (start[0], start[1] + _CLEAR)
        come = end if target == BORDER else (end[0], end[1] - _CLEAR)
        return without_corners([start, *self._way(leave, come), end])

    def _middle(self, node: int, side: Floats) -> Point:
        return float(self.low[node, 0] + self.high[node, 0]) / 2, float(side[node, 1])

    def _way(self, start: Point, end: Point) -> list[Point]:
        """The shortest way with few turns on the lines along the boxes' sides (Dijkstra)."""
        low, high = self._near(start, end)
        xs = sorted({start[0], end[0], *(low[:, 0] - _CLEAR).tolist(), *(high[:, 0] + _CLEAR).tolist()})
        ys = sorted({start[1], end[1], *(low[:, 1] - _CLEAR).tolist(), *(high[:, 1] + _CLEAR).tolist()})
        along, down = _passable(xs, ys, low, high)
        first, last = (xs.index(start[0]), ys.index(start[1])), (xs.index(end[0]), ys.index(end[1]))
        best: dict[tuple[int, int, bool], float] = {(*first, True): 0.0}
        came: dict[tuple[int, int, bool], tuple[int, int, bool]] = {}
        queue = [(0.0, (*first, True))]
        while queue:
            far, at = heappop(queue)
            if far > best[at]:
                continue
            i, j, upright = at
            if (i, j) == last:
                return _back(came, at, xs, ys)
            steps = [(i + d, j, along[min(i, i + d), j]) for d in (-1, 1) if 0 <= i + d < len(xs)]
            steps += [(i, j + d, down[i, min(j, j + d)]) for d in (-1, 1) if 0 <= j + d < len(ys)]
            for k, m, free in steps:
                if free:
                    turns = _TURN * ((k == i) != upright)
                    now = far + abs(xs[k] - xs[i]) + abs(ys[m] - ys[j]) + turns
                    if now < best.get((k, m, k == i), np.inf):
                        best[(k, m, k == i)] = now
                        came[(k, m, k == i)] = at
                        heappush(queue, (now, (k, m, k == i)))
        middle = (start[1] + end[1]) / 2
        return [start, (start[0], middle), (end[0], middle), end]

    def _near(self, start: Point, end: Point) -> tuple[Floats, Floats]:
        """The boxes that matter most: those nearest to the straight way."""
        middle = (self.low + self.high) / 2
        low, high = np.minimum(start, end), np.maximum(start, end)
        far = np.maximum(np.maximum(low - middle, middle - high), 0.0).sum(axis=1)
        chosen = np.argsort(far, kind="stable")[:_MOST]
        return self.low[chosen], self.high[chosen]


def _passable(
    xs: list[float], ys: list[float], low: Floats, high: Floats
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether the pieces from x[i] to x[i + 1] at y[j], and from y[j] to y[j + 1] at x[i], are free of boxes."""
    x, y = np.array(xs), np.array(ys)
    along, down = np.ones((len(xs) - 1, len(ys)), dtype=bool), np.ones((len(xs), len(ys) - 1), dtype=bool)
    for (left, top), (right, bottom) in zip(low.tolist(), high.tolist(), strict=True):
        over_x, over_y = (x[:-1] < right - 0.5) & (x[1:] > left + 0.5), (y[:-1] < bottom - 0.5) & (y[1:] > top + 0.5)
        in_x, in_y = (x > left - 1) & (x < right + 1), (y > top - 1) & (y < bottom + 1)
        along &= ~(over_x[:, None] & in_y[None])
        down &= ~(in_x[:, None] & over_y[None])
    return along, down


def _back(
    came: dict[tuple[int, int, bool], tuple[int, int, bool]],
    at: tuple[int, int, bool],
    xs: list[float],
    ys: list[float],
) -> list[Point]:
    way = [(xs[at[0]], ys[at[1]])]
    while at in came:
        at = came[at]
        way.append((xs[at[0]], ys[at[1]]))
    return way[::-1]


def _between(low: Floats, high: Floats, a: Point, b: Point) -> npt.NDArray[np.bool_]:
    inside = (np.minimum(a, b) < high - 0.5) & (np.maximum(a, b) > low + 0.5)
    return np.asarray(inside.all(axis=1))
