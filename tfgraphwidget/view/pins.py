"""Items put somewhere by hand: they stand there, others give way, and the lines of what has moved are drawn anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.absolute import Frame
from tfgraphwidget.view.detour import Detours
from tfgraphwidget.view.placed import Placed, Point, flat
from tfgraphwidget.view.structure import BORDER
from tfgraphwidget.view.visible import Visible

Floats = npt.NDArray[np.float64]
Pinned = dict[int, Point]
_GAP = 14.0


class Pins:
    """The pinned items of each container, by their numbers there; centres in the drawing's x and y."""

    def __init__(self, visible: Visible, pinned: Mapping[str, Point], frame: Frame) -> None:
        self._of: dict[int, Pinned] = {}
        if not pinned:
            return
        for item, name in enumerate(visible.names):
            at = pinned.get(name)
            if at is not None and item and visible.depth[item]:
                around = int(visible.parent[item])
                x, y = at[::-1] if frame.right else at
                left, top = frame.before[around].tolist()
                number = item - int(visible.child_start[around])
                self._of.setdefault(around, {})[number] = (x - left, y - top)

    def of(self, item: int) -> Pinned:
        """Number of the child -> where its centre shall be, from the upper left corner of the inside."""
        return self._of.get(item, {})


def moved(placed: Placed, pinned: Pinned, sizes: Floats, lines: npt.NDArray[np.int32]) -> Placed:
    """The drawing with some nodes at their pinned places; `sizes` (n, 2), `lines` (m, 2 or more): the ends.

    A node that a pinned one would overlap moves as little as it must; of the pinned ones nobody moves, unless beyond
    the upper left border or where two are pinned to one place: then the later gives way.
    """
    if not pinned:
        return placed
    corner = placed.corner.copy()
    for number, (x, y) in pinned.items():
        corner[number] = np.maximum(np.array([x, y]) - sizes[number] / 2, 0.0)
    _apart(corner, sizes, list(pinned))
    width, height = np.maximum((corner + sizes).max(axis=0), [placed.width, placed.height]).tolist()
    stirred = np.append(np.abs(corner - placed.corner).max(axis=1) > 0.01, False)
    start = np.concatenate([[0], np.cumsum(placed.points)]).tolist()
    routes = [[(x, y) for x, y in placed.route[a:b].tolist()] for a, b in pairwise(start)]
    detours = Detours(corner, sizes, width, height)
    for number, (source, target) in enumerate(lines[:, :2].tolist()):
        if target == BORDER:
            routes[number][-1] = (routes[number][-1][0], height)
        if stirred[source] or stirred[target] or detours.hits(routes[number], (source, target)):
            routes[number] = detours.route(source, target, routes[number])
    points = np.array([len(route) for route in routes], dtype=np.int64)
    return replace(placed, corner=corner, width=width, height=height, route=flat(routes), points=points)


def _apart(corner: Floats, sizes: Floats, pinned: list[int]) -> None:
    """Move nodes off those that stand fast, nearest first, each to the nearest free place beside what it overlaps."""
    fast = list(pinned[:1])
    rest = [node for node in range(len(corner)) if node not in set(pinned)]
    middle = corner[pinned] + sizes[pinned] / 2
    centre = corner + sizes / 2
    near = {node: float(np.abs(middle - centre[node]).sum(axis=1).min()) for node in rest}
    for node in [*pinned[1:], *sorted(rest, key=near.__getitem__)]:
        others = np.array(fast)
        if _clash(corner[node], sizes[node], corner[others], sizes[others]).any():
            corner[node] = _free_place(corner[node], sizes[node], corner[others], sizes[others])
            # It may now stand on what has not had its turn: that one will give way.
        fast.append(node)


def _clash(at: Floats, size: Floats, corner: Floats, sizes: Floats) -> npt.NDArray[np.bool_]:
    apart = (at + size + _GAP <= corner + 1e-6) | (corner + sizes + _GAP <= at + 1e-6)
    return np.asarray(~apart.any(axis=1))


def _free_place(at: Floats, size: Floats, corner: Floats, sizes: Floats) -> Floats:
    """The place nearest to `at` where a box overlaps none of the others; right or below of all is always free."""
    xs = np.concatenate([[at[0]], corner[:, 0] + sizes[:, 0] + _GAP, corner[:, 0] - size[0] - _GAP])
    ys = np.concatenate([[at[1]], corner[:, 1] + sizes[:, 1] + _GAP, corner[:, 1] - size[1] - _GAP])
    xs, ys = (
        some[some >= 0][np.argsort(np.abs(some[some >= 0] - want))] for some, want in zip((xs, ys), at, strict=True)
    )
    best, least = at, np.inf
    for x in xs.tolist():
        far = abs(x - at[0])
        if far >= least:
            break
        # Of all places at this x, the nearest that no box is in the way of.
        beside = (corner[:, 0] < x + size[0] + _GAP - 1e-6) & (corner[:, 0] + sizes[:, 0] + _GAP > x + 1e-6)
        low, high = corner[beside, 1] - size[1] - _GAP, corner[beside, 1] + sizes[beside, 1] + _GAP
        for y in ys.tolist():
            if far + abs(y - at[1]) >= least:
                break
            if not ((low + 1e-6 < y) & (y < high - 1e-6)).any():
                best, least = np.array([x, y]), far + abs(y - at[1])
                break
    return best
