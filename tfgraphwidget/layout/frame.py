"""From layouts relative to their containers to pixels of the whole drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tfgraphwidget.hierarchy import TRAINS
from tfgraphwidget.layout.geometry import ContainerLayout
from tfgraphwidget.naming import last_part
from tfgraphwidget.visible import (
    CLOSED,
    OPEN,
    ROOT_ASPECT,
    TEXT,
    WIDEST_TITLE,
    VisibleGraph,
    place_badges,
    scope_title,
    text_widths,
)

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

BOLD = 1.09  # how much wider bold letters are, in which pages write the titles of open scopes
TITLE_MARGIN = 12.0  # pixels beside a title, on both sides together
EDGE_MARGIN = 2.0  # pixels between a title and edges from above


class Frame:
    """The space around the inside of an open scope. Layouts run down; `right` exchanges x and y.

    `before` and `after`, float64 (n, 2), are the least distances in pixels of the inside from the
    left and upper and from the right and lower border, in the drawing's x and y; `least` (n,) is
    how wide the scope must be for its title, and `title` (n,) how far that reaches into the inside;
    0 where no lines come in from above. `aspect` is the wanted width : height of the whole drawing,
    before `right` exchanges x and y.
    """

    header: ClassVar[float] = 22.0
    padding: ClassVar[float] = 6.0
    margin: ClassVar[float] = 16.0

    def __init__(self, visible: VisibleGraph, *, right: bool, aspect: float = ROOT_ASPECT) -> None:
        self.right = right
        self.aspect = 1 / aspect if right else aspect
        n = len(visible)
        self.before = np.full((n, 2), self.padding)
        self.after = np.full((n, 2), self.padding)
        self.before[:, 0 if right else 1] = self.header
        # The first item is the whole drawing.
        self.before[:1] = self.margin
        self.after[:1] = self.margin
        is_open = visible.kind == OPEN
        is_open[0] = False
        width = _title_widths(visible, is_open)
        self.least = np.where(is_open, width + TITLE_MARGIN, 0.0)
        self.title = np.where(is_open, width + EDGE_MARGIN, 0.0) * (not right)
        # The same per item, for single look-ups.
        before, after, least = self.before.tolist(), self.after.tolist(), self.least.tolist()
        self._around = list(zip(before, after, least, strict=True))

    def enclose(
        self, item: int, width: float, height: float
    ) -> tuple[tuple[float, float], float, float]:
        """Add the header and padding of a scope to its inside.

        Returns:
            The corner of the inside in the scope, and the width and height of the scope.
        """
        (left, top), (right, bottom), least = self._around[item]
        width = left + width + right
        height = top + height + bottom
        spare = max(0.0, least - (height if self.right else width))
        if self.right:
            return (left, top + spare / 2), width, height + spare
        return (left + spare / 2, top), width + spare, height

    def fill(self, item: int, layout: ContainerLayout) -> ContainerLayout:
        """Center a layout in all the width that the scope's name needs."""
        axis = 1 if self.right else 0
        extent = layout.height if self.right else layout.width
        room = self.least[item] - self.before[item, axis] - self.after[item, axis]
        spare = max(0.0, room - extent)
        shift = np.zeros(2)
        shift[axis] = spare / 2
        layout = replace(layout, corner=layout.corner + shift, route=layout.route + shift)
        if self.right:
            return replace(layout, height=layout.height + spare)
        return replace(
            layout,
            width=layout.width + spare,
            enter=tuple(x + spare / 2 for x in layout.enter),
            leave=tuple(x + spare / 2 for x in layout.leave),
        )


def _title_widths(visible: VisibleGraph, is_open: Mask) -> Floats:
    """The title's width of each open scope in pixels: the widest of all that are alike."""
    is_scope = (visible.kind == CLOSED) | is_open
    is_like_open = np.isin(visible.alike, visible.alike[is_open])
    scopes = np.flatnonzero(is_scope & is_like_open)
    width = TEXT * BOLD * text_widths(scope_titles(visible, scopes))
    widest = np.zeros(len(visible))
    np.maximum.at(widest, visible.alike[scopes], np.minimum(width, WIDEST_TITLE))
    return widest[visible.alike]


def scope_titles(visible: VisibleGraph, scopes: npt.NDArray[np.integer]) -> list[str]:
    """Return the texts that the headers of scopes have, or would have if they were open."""
    labels = [visible.labels[item] or last_part(visible.names[item]) for item in scopes.tolist()]
    counts = visible.members[scopes].tolist()
    loops = (visible.loop[scopes] > 0).tolist()
    trains = visible.part == TRAINS
    trainings = (trains[scopes] & ~trains[visible.parent[scopes]]).tolist()
    titles = []
    for label, count, is_loop, is_training in zip(labels, counts, loops, trainings, strict=True):
        titles.append(scope_title(label, count, is_loop=is_loop, is_training=is_training))
    return titles


def to_absolute(
    visible: VisibleGraph,
    frame: Frame,
    size: Floats,
    offset: Floats,
    layouts: Sequence[ContainerLayout],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """Convert the layouts of containers to absolute coordinates.

    Args:
        size: The width and height of each item, in the drawing's x and y.
        offset: Where the inside of each item begins in it.
        layouts: The layouts of the open scopes in the order of their items.

    Returns:
        Boxes, offsets of routes and routes, as in Positions.
    """
    scopes = np.flatnonzero(visible.kind == OPEN)
    corner = np.zeros((len(visible), 2))
    inner = np.zeros(len(visible), dtype=bool)
    inner[1:] = visible.kind[visible.parent[1:]] == OPEN
    if inner.any():
        corner[inner] = np.concatenate([one.corner for one in layouts])
    # Level by level, the items are ordered by depth: what is around them has its place already.
    start = np.searchsorted(visible.depth, np.arange(int(visible.depth[-1]) + 2)).tolist()
    for first_item, stop in pairwise(start[1:]):
        parents = visible.parent[first_item:stop]
        corner[first_item:stop] += corner[parents] + offset[parents]
    points = np.concatenate([one.points for one in layouts])
    route = np.concatenate([one.route for one in layouts])
    per_scope = [len(one.route) for one in layouts]
    route = route + np.repeat((corner + offset)[scopes], per_scope, axis=0)
    first = np.concatenate([[0], np.cumsum(points)])
    _extend_to_borders(visible, frame, route, first, corner, size)
    if frame.right:
        corner, size, route = corner[:, ::-1], size[:, ::-1], route[:, ::-1]
    box = np.concatenate([corner, size], axis=1)
    place_badges(visible, box)
    return box.astype(np.float32), first.astype(np.uint32), route.astype(np.float32)


def _extend_to_borders(
    visible: VisibleGraph,
    frame: Frame,
    route: Floats,
    first: npt.NDArray[np.int64],
    corner: Floats,
    size: Floats,
) -> None:
    """Extend routes to the border below, and from that above.

    In a scope that runs down, they begin at the header.
    """
    leaving = np.flatnonzero(visible.target == visible.container)
    scope = visible.container[leaving]
    route[first[leaving + 1] - 1, 1] = corner[scope, 1] + size[scope, 1]
    if frame.right:
        entering = np.flatnonzero(visible.source == visible.container)
        route[first[entering], 1] = corner[visible.container[entering], 1]
