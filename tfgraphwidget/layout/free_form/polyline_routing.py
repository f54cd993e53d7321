"""Routes in drawings without layers: straight where nothing is between, bent around the boxes that
are.

An edge that meets a box goes around one of its sides, whichever is shorter, and so do both of its
parts again; then bends that are not needed are removed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from math import hypot

import numpy as np
import numpy.typing as npt

from tfgraphwidget.layout.free_form.orthogonal_detour import OrthogonalRouter
from tfgraphwidget.layout.geometry import ContainerLayout, Point
from tfgraphwidget.layout.layered.components import BORDER

_TOUCH = 1 / 3  # nearer to a box than this share of what should be clear, a line runs through it
_STEPS = 1_000  # pieces of one path that are tried
_DEPTH = 30  # boxes that are gone around one after the other


class NoPathError(Exception):
    """Too many boxes are in between."""


class ObstacleAvoidance:
    """Boxes, and paths between points that avoid them: they turn `clear` pixels from a corner."""

    def __init__(self, corner: Floats, sizes: Floats, clear: float) -> None:
        touch = clear * _TOUCH
        self._low, self._high = corner - clear, corner + sizes + clear
        # From left to right, so that boxes beside a piece need not be looked at.
        order = np.argsort(corner[:, 0])
        center, half = corner[order] + sizes[order] / 2, sizes[order] / 2 + touch
        (self._x, self._y), (self._wide, self._tall) = center.T.copy(), half.T.copy()
        (_, self._top), (self._right, self._bottom) = (
            (center - half).T.copy(),
            (center + half).T.copy(),
        )
        self._order, self._lefts = order, (center - half)[:, 0].tolist()
        self._widest = 2 * float(half[:, 0].max())

    def find_path(self, start: Point, end: Point, through: tuple[int, ...] = ()) -> list[Point]:
        """Find a path between two points around the boxes.

        Args:
            through: The boxes that the path may cross.
        """
        self._steps = _STEPS
        points = self._bend(start, end, through, _DEPTH)
        points_kept = [start]
        for point, after in pairwise(points):
            if self._find_obstacle(points_kept[-1], after, through) >= 0:
                points_kept.append(point)
        return [*points_kept, end]

    def _find_obstacle(self, start: Point, end: Point, through: tuple[int, ...]) -> int:
        """The box in the way that is nearest to the middle of a straight piece, or -1."""
        (a, b), (c, d) = start, end
        left, right = (a, c) if a < c else (c, a)
        first, stop = bisect_left(self._lefts, left - self._widest), bisect_left(self._lefts, right)
        some = slice(first, stop)
        near = (
            (self._top[some] < max(b, d))
            & (self._bottom[some] > min(b, d))
            & (self._right[some] > left)
        )
        boxes = near.nonzero()[0] + first
        if not len(boxes):
            return -1
        beside, below = self._x[boxes] - (a + c) / 2, self._y[boxes] - (b + d) / 2
        # Their frames meet; so they do if the normal of the piece does not tell them apart.
        off = np.abs((c - a) * below - (d - b) * beside)
        hit = off < abs(c - a) * self._tall[boxes] + abs(d - b) * self._wide[boxes]
        nodes = self._order[boxes[hit]].tolist()
        far = (np.abs(beside) + np.abs(below))[hit].tolist()
        return min(
            ((d, node) for d, node in zip(far, nodes, strict=True) if node not in through),
            default=(0, -1),
        )[1]

    def _bend(self, start: Point, end: Point, through: tuple[int, ...], depth: int) -> list[Point]:
        """The points after `start` of a way to `end`."""
        obstacle = self._find_obstacle(start, end, through)
        if obstacle < 0:
            return [end]
        self._steps -= 1
        if not depth or self._steps < 0:
            raise NoPathError
        points: list[Point] = []
        for a, b in pairwise([start, *self._beside(start, end, obstacle), end]):
            points += self._bend(a, b, through, depth - 1)
        return points

    def _beside(self, start: Point, end: Point, node: int) -> list[Point]:
        """The corners to turn at on the shorter way around a box."""
        (left, top), (right, bottom) = self._low[node].tolist(), self._high[node].tolist()
        best, least = [], np.inf
        for side in (1.0, -1.0):
            corners = [
                (x, y)
                for x in (left, right)
                for y in (top, bottom)
                if side * _turn(start, end, (x, y)) > 0
            ]
            way = _taut(start, end, corners, side)
            long = sum(hypot(c - a, d - b) for (a, b), (c, d) in pairwise([start, *way, end]))
            if long < least:
                best, least = way, long
        return best


def _turn(a: Point, b: Point, c: Point) -> float:
    """More than 0 where c is on the right of the way from a to b, as seen on the screen."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _taut(start: Point, end: Point, corners: list[Point], side: float) -> list[Point]:
    """The corners of the convex hull, of those on one side of the way from start to end."""
    x, y = end[0] - start[0], end[1] - start[1]
    hull = [start]
    for corner in [*sorted(corners, key=lambda c: x * c[0] + y * c[1]), end]:
        while len(hull) > 1 and side * _turn(hull[-2], hull[-1], corner) >= 0:
            hull.pop()
        hull.append(corner)
    return hull[1:-1]


Floats = npt.NDArray[np.float64]
Port = tuple[float, float] | None
CLEAR = 9.0  # how far lines run from boxes: less than half of what is between two
STUB = 2.0  # of a line at the container's border, which may be drawn on to one further away
_CLOSE = 4.0  # the same where boxes stand as near to each other as a person puts them
_TWIN = 5.0  # pixels aside of the middle, for two edges in opposite directions
_LOOP = 5.0  # half the height of an edge from an op to itself
_ASLANT = 1.0  # pieces of a drawing in rows are askew by half a pixel at most


class PolylineRouter:
    """Draws lines between boxes.

    A line to or from an open scope goes to the top and comes from the bottom of it, where those
    inside go on: `ports` are these places, from the left of each box. `border` are those of the
    container, and `level` the y of its upper and its lower border.
    """

    def __init__(
        self,
        corner: Floats,
        sizes: Floats,
        ports: Sequence[Port],
        border: tuple[float, float],
        level: tuple[float, float],
        clear: float = CLEAR,
    ) -> None:
        self._corner, self._sizes, self._ports, self._clear = corner, sizes, ports, clear
        self._border = (border[0], level[0]), (border[1], level[1])
        self._around = ObstacleAvoidance(corner, sizes, clear)

    def route(self, source: int, target: int, *, twin: bool = False) -> list[Point]:
        """Route one edge.

        Args:
            source: The source box, or BORDER.
            target: The target box, or BORDER.
            twin: Whether there is an edge in the opposite direction to keep clear of.
        """
        if source == target and self._ports[source] is None:
            return self._loop(source)
        first, last = self._out(source), self._into(target)
        free = tuple(node for node, end in ((source, first), (target, last)) if len(end) == 1)
        start, end = _beside(first[-1], last[0], _TWIN if twin and len(free) == 2 else 0.0)
        try:
            way = [*first[:-1], *self._around.find_path(start, end, free), *last[1:]]
        except NoPathError:
            width, height = np.maximum(
                (self._corner + self._sizes).max(axis=0), [0.0, self._border[1][1]]
            ).tolist()
            return OrthogonalRouter(self._corner, self._sizes, width, height).route(
                source, target, [first[0], last[-1]]
            )
        if len(first) == 1:
            way = self._outside(way, source)
        if len(last) == 1:
            way = self._outside(way[::-1], target)[::-1]
        return way

    def _out(self, node: int) -> list[Point]:
        """The start of a line: an op's middle, or a scope's or border's port, and a little on."""
        if node == BORDER:
            x, y = self._border[0]
            return [(x, y), (x, y + STUB)]
        port = self._ports[node]
        if port is None:
            return [self._middle(node)]
        x, y = (
            float(self._corner[node, 0]) + port[1],
            float(self._corner[node, 1] + self._sizes[node, 1]),
        )
        return [(x, y), (x, y + self._clear)]

    def _into(self, node: int) -> list[Point]:
        """The end of a line."""
        if node == BORDER:
            x, y = self._border[1]
            return [(x, y - STUB), (x, y)]
        port = self._ports[node]
        if port is None:
            return [self._middle(node)]
        x, y = float(self._corner[node, 0]) + port[0], float(self._corner[node, 1])
        return [(x, y - self._clear), (x, y)]

    def _middle(self, node: int) -> Point:
        x, y = (self._corner[node] + self._sizes[node] / 2).tolist()
        return x, y

    def _outside(self, way: list[Point], node: int) -> list[Point]:
        """A way that begins in a box, from where it leaves it for good."""
        low, high = self._corner[node].tolist(), (self._corner[node] + self._sizes[node]).tolist()
        within = [
            all(a <= p <= b for a, p, b in zip(low, point, high, strict=True)) for point in way[:-1]
        ]
        last = max((i for i, is_in in enumerate(within) if is_in), default=0)
        (x, y), (to_x, to_y) = way[last], way[last + 1]
        shares = [1.0]
        for at, to, a, b in ((x, to_x, low[0], high[0]), (y, to_y, low[1], high[1])):
            if to != at:
                shares.append(((b if to > at else a) - at) / (to - at))
        share = max(min(shares), 0.0)
        return [(x + share * (to_x - x), y + share * (to_y - y)), *way[last + 1 :]]

    def _loop(self, node: int) -> list[Point]:
        """From an op to itself."""
        x, y = float(self._corner[node, 0] + self._sizes[node, 0]), self._middle(node)[1]
        far = x + self._clear
        return [(x, y + _LOOP), (far, y + _LOOP), (far, y - _LOOP), (x, y - _LOOP)]


class PolylineRerouter:
    """Draws lines of a slanted drawing whose boxes have moved; twin of `OrthogonalRouter`."""

    def __init__(
        self,
        layout: ContainerLayout,
        lines: npt.NDArray[np.int32],
        corner: Floats,
        sizes: Floats,
        height: float,
    ):
        ports: list[Port] = [None] * len(corner)
        stop = np.cumsum(layout.points).tolist()
        for (source, target), (a, b) in zip(
            lines[:, :2].tolist(), pairwise([0, *stop]), strict=True
        ):
            way, out, into = (
                layout.route[a:b],
                *(ports[node] or (0.0, 0.0) for node in (source, target)),
            )
            if source != BORDER and _is_stub(way[:2]):
                ports[source] = out[0], float(way[0, 0] - layout.corner[source, 0])
            if target != BORDER and _is_stub(way[-2:]):
                ports[target] = float(way[-1, 0] - layout.corner[target, 0]), into[1]
        self._both = {(source, target) for source, target in lines[:, :2].tolist()}
        border = ((*layout.enter, 0.0)[0], (*layout.leave, 0.0)[0])
        self._slanted = PolylineRouter(corner, sizes, ports, border, (0.0, height), _CLOSE)

    def route(
        self,
        source: int,
        target: int,
        before: list[Point],  # noqa: ARG002
        entry: Point | None = None,  # noqa: ARG002
    ) -> list[Point]:
        """Route one edge.

        Args:
            source: The source box, or BORDER.
            target: The target box, or BORDER.
            before: The route before; not used.
            entry: Not used.
        """
        return self._slanted.route(source, target, twin=(target, source) in self._both)


def is_slanted(layout: ContainerLayout) -> bool:
    """Whether any line runs in another direction than up, down, left and right."""
    along = np.abs(np.diff(layout.route, axis=0)).min(axis=1)
    along[np.cumsum(layout.points)[:-1] - 1] = 0.0  # from a line's end to the next one's beginning
    return bool((along > _ASLANT).any())


def _is_stub(piece: Floats) -> bool:
    return bool(np.abs(np.abs(piece[1] - piece[0]) - [0.0, CLEAR]).max() < 1e-6)


def _beside(start: Point, end: Point, aside: float) -> tuple[Point, Point]:
    """Both points moved to the right of the way from the one to the other."""
    (a, b), (c, d) = start, end
    far = hypot(c - a, d - b) or 1.0
    x, y = -aside * (d - b) / far, aside * (c - a) / far
    return (a + x, b + y), (c + x, d + y)
