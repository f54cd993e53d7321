"""Orthogonal routes around boxes, for single edges whose ends have moved."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout.geometry import Point, remove_collinear
from tfgraphwidget.layout.layered.components import BORDER

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Pixels
_CLEAR = 7.0  # between a box and a line that goes around it
_TURN = 30.0  # that a way may be longer for the sake of one turn less
_CORNER = 8.0  # between the corner of a box and a line that comes in
_TRACKS = 5.0  # between lines of several producers that come to one box, where there is room
_OUT = 4.0  # so far beyond the inside there is still room on all sides
_IN = 0.5  # so far inside, it is a box that a line runs through and no border that it touches
_THROUGH = 1e5  # pixels that a line rather runs than through one box: more than a sheet is wide
_ROUNDS = 40  # of searching a way, each around the boxes that the last one ran through
_State = tuple[int, int, bool]
_Producer = tuple[int, float]  # a box or the border, and the x where its line begins
Costs = list[list[float]]


class OrthogonalRouter:
    """Boxes in a container, and routes of horizontal and vertical segments between them."""

    def __init__(self, corner: Floats, sizes: Floats, width: float, height: float) -> None:
        self.low, self.high = corner, corner + sizes
        self.before, self.after = np.maximum(corner - _CLEAR, -_OUT), self.high + _CLEAR
        self.after = np.minimum(self.after, np.array([width, height]) + _OUT)

    def route(
        self, source: int, target: int, before: list[Point], entry: Point | None = None
    ) -> list[Point]:
        """Route an edge from the lower side of a box to the upper side of another.

        Args:
            source: The source box, or BORDER.
            target: The target box, or BORDER.
            before: The route before; its end at a border stays.
            entry: Where the edge turns down to its target, see `entries`; None for the middle.
        """
        start = (
            before[0] if source == BORDER else (self.middle_of(source), float(self.high[source, 1]))
        )
        leave = start if source == BORDER else (start[0], float(self.after[source, 1]))
        if target == BORDER:
            return remove_collinear([start, *self._find_path(leave, before[-1])])
        come = entry or (self.middle_of(target), float(self.before[target, 1]))
        end = come[0], float(self.low[target, 1])
        return remove_collinear([start, *self._find_path(leave, come), end])

    def entries(self, target: int, producers: Iterable[float]) -> dict[float, Point]:
        """Where edges turn down to a box, so that those of several producers do not become one.

        Each comes in at a place of its own, and on a track of its own. An edge further to the
        right comes in further to the right; of those from one side of the box the one that goes
        furthest runs above the others, so that none crosses another.

        Args:
            target: The box.
            producers: The x where the edges begin.

        Returns:
            The place above the box by the x where edges begin.
        """
        starts = sorted(set(producers))
        (left, top), right = self.low[target].tolist(), float(self.high[target, 0])
        middle, count = (left + right) / 2, len(starts)
        inner = max(right - left - 2 * _CORNER, 0.0)
        places = [left + _CORNER + inner * k / max(count - 1, 1) for k in range(count)]
        room = max(self._room_above(target) - _CLEAR, _CLEAR)
        step = min(_TRACKS, (room - _CLEAR) / max(count - 1, 1))
        ranks = [k if x < middle else count - 1 - k for k, x in enumerate(starts)]
        return {
            x: (place if count > 1 else middle, max(top - _CLEAR - rank * step, -_OUT))
            for x, place, rank in zip(starts, places, ranks, strict=True)
        }

    def _room_above(self, node: int) -> float:
        """The height of what is free above a box and beside it."""
        above = (self.high[:, 1] <= self.low[node, 1]) & (
            (self.low[:, 0] < self.high[node, 0] + _CLEAR)
            & (self.high[:, 0] > self.low[node, 0] - _CLEAR)
        )
        return float(self.low[node, 1] - self.high[above, 1].max(initial=0.0))

    def middle_of(self, node: int) -> float:
        """The x of the middle of a box, where edges leave it."""
        return float(self.low[node, 0] + self.high[node, 0]) / 2

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


class TrackSeparator:
    """Moves pieces of routes off pieces of other producers, with which they would be one line."""

    _STEP = 4.0  # pixels that a piece is moved by
    _MOST = 6  # steps to either side, less one
    _APART = 2.5  # pixels between pieces of different producers
    _BUCKET = 8.0  # pixels; pieces are sought in three buckets, so more than they are to be apart

    def __init__(self, low: Floats, high: Floats) -> None:
        self._low, self._high = low - 2, high + 2
        self._pieces: dict[tuple[int, int], list[tuple[float, float, float, _Producer]]] = {}

    def add(self, source: int, way: list[Point]) -> list[Point]:
        """Return a route with its inner pieces on tracks that no other producer's line is on.

        Args:
            source: The producer, or BORDER. Lines of one may run on one track.
            way: The route; its ends, and where it leaves and enters boxes, stay.
        """
        points, producer = [list(point) for point in way], (source, way[0][0])
        for first in range(1, len(points) - 2):
            axis = 0 if points[first][0] == points[first + 1][0] else 1
            track = points[first][axis]
            points[first][axis] = points[first + 1][axis] = next(
                (
                    track + step
                    for step in self._steps()
                    if self._is_free(producer, points, first, axis, track + step)
                ),
                track,
            )
        for first in range(len(points) - 1):
            axis = 0 if points[first][0] == points[first + 1][0] else 1
            low, high = sorted((points[first][1 - axis], points[first + 1][1 - axis]))
            piece = points[first][axis], low, high, producer
            self._pieces.setdefault((axis, int(piece[0] // self._BUCKET)), []).append(piece)
        return [(x, y) for x, y in points]

    def _steps(self) -> list[float]:
        """No step first, then to both sides, the nearest before."""
        return [0.0, *(k * side * self._STEP for k in range(1, self._MOST) for side in (1, -1))]

    def _is_free(
        self, producer: _Producer, points: list[list[float]], first: int, axis: int, track: float
    ) -> bool:
        """Whether a piece may run on a track: beside other producers' lines, through no box."""
        low, high = sorted((points[first][1 - axis], points[first + 1][1 - axis]))
        bucket = int(track // self._BUCKET)
        near = [piece for k in (-1, 0, 1) for piece in self._pieces.get((axis, bucket + k), ())]
        if any(
            other != producer and abs(at - track) < self._APART and low < end and begin < high
            for at, begin, end, other in near
        ):
            return False
        if track == points[first][axis]:
            return True
        # The pieces before and after it become longer or shorter, and do not turn round.
        before, after = points[first - 1][axis], points[first + 2][axis]
        if any((points[first][axis] - end) * (track - end) < 0 for end in (before, after)):
            return False
        piece: list[Point] = (
            [(track, low), (track, high)] if axis == 0 else [(low, track), (high, track)]
        )
        return not through(piece, self._low, self._high).any()


def through(way: list[Point], low: Floats, high: Floats) -> Mask:
    """Find the boxes that a route crosses."""
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
