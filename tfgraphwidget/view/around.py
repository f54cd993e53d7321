"""Straight lines between boxes, bent around those in between: for drawings that know no rows.

A line that meets a box goes around one of its sides, whichever is shorter, and so do both of its parts again; then
what was gone around in vain is cut short.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from math import hypot

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.placed import Point

Floats = npt.NDArray[np.float64]
_TOUCH = 1 / 3  # nearer to a box than this share of what should be clear, a line runs through it
_STEPS, _DEPTH = 1_000, 30


class NoWayError(Exception):
    """Too many boxes are in between."""


class Around:
    """Boxes, and ways between points that keep off them: they turn `clear` pixels from a corner."""

    def __init__(self, corner: Floats, sizes: Floats, clear: float) -> None:
        touch = clear * _TOUCH
        self._low, self._high = corner - clear, corner + sizes + clear
        # From left to right, so that boxes beside a piece need not be looked at.
        order = np.argsort(corner[:, 0])
        centre, half = corner[order] + sizes[order] / 2, sizes[order] / 2 + touch
        (self._x, self._y), (self._wide, self._tall) = centre.T.copy(), half.T.copy()
        (_, self._top), (self._right, self._bottom) = (centre - half).T.copy(), (centre + half).T.copy()
        self._order, self._lefts = order, (centre - half)[:, 0].tolist()
        self._widest = 2 * float(half[:, 0].max())

    def way(self, start: Point, end: Point, through: tuple[int, ...] = ()) -> list[Point]:
        """A way from point to point that may lead through some boxes."""
        self._steps = _STEPS
        points = self._bent(start, end, through, _DEPTH)
        kept = [start]
        for point, after in pairwise(points):
            if self._met(kept[-1], after, through) >= 0:
                kept.append(point)
        return [*kept, end]

    def _met(self, start: Point, end: Point, through: tuple[int, ...]) -> int:
        """The box in the way that is nearest to the middle of a straight piece, or -1."""
        (a, b), (c, d) = start, end
        left, right = (a, c) if a < c else (c, a)
        first, stop = bisect_left(self._lefts, left - self._widest), bisect_left(self._lefts, right)
        some = slice(first, stop)
        near = (self._top[some] < max(b, d)) & (self._bottom[some] > min(b, d)) & (self._right[some] > left)
        found = near.nonzero()[0] + first
        if not len(found):
            return -1
        beside, below = self._x[found] - (a + c) / 2, self._y[found] - (b + d) / 2
        # Their frames meet; so they do if the normal of the piece does not tell them apart.
        off = np.abs((c - a) * below - (d - b) * beside)
        hit = off < abs(c - a) * self._tall[found] + abs(d - b) * self._wide[found]
        nodes = self._order[found[hit]].tolist()
        far = (np.abs(beside) + np.abs(below))[hit].tolist()
        return min(((d, node) for d, node in zip(far, nodes, strict=True) if node not in through), default=(0, -1))[1]

    def _bent(self, start: Point, end: Point, through: tuple[int, ...], depth: int) -> list[Point]:
        """The points behind `start` of a way to `end`."""
        met = self._met(start, end, through)
        if met < 0:
            return [end]
        self._steps -= 1
        if not depth or self._steps < 0:
            raise NoWayError
        points: list[Point] = []
        for a, b in pairwise([start, *self._beside(start, end, met), end]):
            points += self._bent(a, b, through, depth - 1)
        return points

    def _beside(self, start: Point, end: Point, node: int) -> list[Point]:
        """The corners to turn at on the shorter way around a box."""
        (left, top), (right, bottom) = self._low[node].tolist(), self._high[node].tolist()
        best, least = [], np.inf
        for side in (1.0, -1.0):
            corners = [(x, y) for x in (left, right) for y in (top, bottom) if side * _turn(start, end, (x, y)) > 0]
            way = _taut(start, end, corners, side)
            long = sum(hypot(c - a, d - b) for (a, b), (c, d) in pairwise([start, *way, end]))
            if long < least:
                best, least = way, long
        return best


def _turn(a: Point, b: Point, c: Point) -> float:
    """More than 0 where c is on the right of the way from a to b, as seen on the screen."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _taut(start: Point, end: Point, corners: list[Point], side: float) -> list[Point]:
    """Of corners on one side of the way from start to end, those at which a string around all of them turns."""
    x, y = end[0] - start[0], end[1] - start[1]
    hull = [start]
    for corner in [*sorted(corners, key=lambda c: x * c[0] + y * c[1]), end]:
        while len(hull) > 1 and side * _turn(hull[-2], hull[-1], corner) >= 0:
            hull.pop()
        hull.append(corner)
    return hull[1:-1]
