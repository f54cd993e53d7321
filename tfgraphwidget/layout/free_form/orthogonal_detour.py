"""Orthogonal routes around boxes, for single edges whose ends have moved."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout.geometry import Point, remove_collinear
from tfgraphwidget.layout.layered.components import BORDER

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_CLEAR, _TURN = 7.0, 30.0
_OUT = 4.0  # so far beyond the inside there is still room on all sides
_IN = 0.5  # so far inside, it is a box that a line runs through and no border that it touches
_THROUGH = 1e5  # pixels that a line rather runs than through one box: more than a sheet is wide
_ROUNDS = 40
_State = tuple[int, int, bool]
Costs = list[list[float]]


class OrthogonalRouter:
    """Boxes in a container, and routes of horizontal and vertical segments between them."""

    def __init__(self, corner: Floats, sizes: Floats, width: float, height: float) -> None:
        self.low, self.high = corner, corner + sizes
        self.before, self.after = np.maximum(corner - _CLEAR, -_OUT), self.high + _CLEAR
        self.after = np.minimum(self.after, np.array([width, height]) + _OUT)

    def route(self, source: int, target: int, before: list[Point]) -> list[Point]:
        """Route an edge from the lower side of a box to the upper side of another.

        Args:
            source: The source box, or BORDER.
            target: The target box, or BORDER.
            before: The route before; its end at a border stays.

        Returns:
            The points of the route.
        """
        start = before[0] if source == BORDER else self._middle(source, self.high)
        end = before[-1] if target == BORDER else self._middle(target, self.low)
        leave = start if source == BORDER else (start[0], float(self.after[source, 1]))
        come = end if target == BORDER else (end[0], float(self.before[target, 1]))
        return remove_collinear([start, *self._find_path(leave, come), end])

    def _middle(self, node: int, side: Floats) -> Point:
        return float(self.low[node, 0] + self.high[node, 0]) / 2, float(side[node, 1])

    def _find_path(self, start: Point, end: Point) -> list[Point]:
        """A short way with few turns around the boxes.

        It keeps to lines along the sides of few of them: those that a way on fewer lines would run
        through.
        """
        passed = np.zeros(len(self.low), dtype=bool)
        for _ in range(_ROUNDS):
            xs, ys = (self._beside(passed, axis, {start[axis], end[axis]}) for axis in (0, 1))
            way = _shortest(start, end, xs, ys, *self._costs(xs, ys))
            obstacles = through(way, self.low, self.high) & ~passed
            if not obstacles.any():
                break
            passed |= obstacles
        return way

    def _beside(self, mask: Mask, axis: int, more: set[float]) -> list[float]:
        """The tracks of lines that leave some boxes beside them."""
        return sorted(more.union(self.before[mask, axis].tolist(), self.after[mask, axis].tolist()))

    def _costs(self, xs: list[float], ys: list[float]) -> tuple[Costs, Costs]:
        """The costs of going from x[i] to x[i + 1] at y[j], and from y[j] to y[j + 1] at x[i]."""
        x, y = np.array(xs)[:, None], np.array(ys)[:, None]
        (left, top), (right, bottom) = self.low.T, self.high.T
        over_x, over_y = (
            (x[:-1] < right - _IN) & (x[1:] > left + _IN),
            (y[:-1] < bottom - _IN) & (y[1:] > top + _IN),
        )
        in_x, in_y = (x > left - 1) & (x < right + 1), (y > top - 1) & (y < bottom + 1)
        along = np.diff(x, axis=0) + _THROUGH * (
            over_x.astype(np.float32) @ in_y.T.astype(np.float32)
        )
        down = np.diff(y, axis=0).T + _THROUGH * (
            in_x.astype(np.float32) @ over_y.T.astype(np.float32)
        )
        return along.tolist(), down.tolist()


def through(way: list[Point], low: Floats, high: Floats) -> Mask:
    """Find the boxes that a route crosses.

    Returns:
        Which boxes it crosses.
    """
    points = np.array(way)
    least, most = np.minimum(points[:-1], points[1:]), np.maximum(points[:-1], points[1:])
    return np.asarray(
        ((least[:, None] < high - _IN) & (most[:, None] > low + _IN)).all(axis=2).any(axis=0)
    )


def pieces_through(points: Floats, low: Floats, high: Floats) -> Mask:
    """Find the segments of a route that cross a box.

    Returns:
        Which segments cross any of the boxes.
    """
    least, most = np.minimum(points[:-1], points[1:]), np.maximum(points[:-1], points[1:])
    along, from_origin = np.diff(points, axis=0), _cross(points[:-1], points[1:])
    hit = np.zeros(len(least), dtype=bool)
    for corner, opposite in zip(low + _IN, high - _IN, strict=True):
        near = ((least < opposite) & (most > corner)).all(axis=1)
        # A slanted piece may pass a corner.
        off = np.abs(_cross(along, (corner + opposite) / 2) + from_origin)
        hit |= near & (off <= (np.abs(along[:, ::-1]) * (opposite - corner) / 2).sum(axis=1))
    return hit


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _shortest(
    start: Point, end: Point, xs: list[float], ys: list[float], along: Costs, down: Costs
) -> list[Point]:
    """The way of least cost on a grid, where a turn has its price too (A*)."""
    first = xs.index(start[0]), ys.index(start[1]), True
    best: dict[_State, float] = {first: 0.0}
    came: dict[_State, _State] = {}
    queue = [(0.0, 0.0, first)]
    while queue:
        _, far, at = heappop(queue)
        i, j, upright = at
        if xs[i] == end[0] and ys[j] == end[1]:
            break
        if far > best[at]:
            continue
        steps = [(i + d, j, along[min(i, i + d)][j]) for d in (-1, 1) if 0 <= i + d < len(xs)]
        steps += [(i, j + d, down[i][min(j, j + d)]) for d in (-1, 1) if 0 <= j + d < len(ys)]
        for k, m, cost in steps:
            to, now = (k, m, k == i), far + cost + _TURN * ((k == i) != upright)
            if now < best.get(to, np.inf):
                best[to], came[to] = now, at
                heappush(queue, (now + abs(xs[k] - end[0]) + abs(ys[m] - end[1]), now, to))
    way = [(xs[at[0]], ys[at[1]])]
    while at in came:
        at = came[at]
        way.append((xs[at[0]], ys[at[1]]))
    return remove_collinear(way[::-1])
