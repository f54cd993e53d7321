"""What must hold for drawings whose lines run in any direction."""

from __future__ import annotations

import numpy as np

from tests.layout.checks import loose, outside, overlaps
from tfgraphwidget.layout.compound import Positions
from tfgraphwidget.visible.visible_graph import VisibleGraph


def assert_sound(shown: VisibleGraph, positions: Positions) -> None:
    """No box on another, all within what is around them, no line through a box or beside its
    ends.
    """
    assert np.isfinite(positions.box).all()
    assert np.isfinite(positions.route).all()
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert loose(shown, positions) == []
    assert through(shown, positions) == []


def through(shown: VisibleGraph, positions: Positions) -> list[tuple[str, str]]:
    """The lines that run through a sibling of their ends."""
    found = []
    for edge, item in enumerate(shown.container.tolist()):
        first, stop = shown.child_start[item : item + 2].tolist()
        box = positions.box[first:stop].astype(float)
        way = positions.route[positions.route_start[edge] : positions.route_start[edge + 1]].astype(
            float
        )
        hit = _long_within(way[:-1], way[1:], box[:, :2], box[:, :2] + box[:, 2:]).any(axis=0)
        ends = [int(shown.source[edge]), int(shown.target[edge])]
        hit[[end - first for end in ends if first <= end < stop]] = False
        if hit.any():
            found.append((shown.names[ends[0]], shown.names[ends[1]]))
    return found


def _long_within(start, end, low, high):
    """Whether each piece (k, 2) runs for more than half a pixel within each box (n, 2), (k, n)."""
    along, start = (end - start)[:, None], start[:, None]
    flat, within = along == 0, (start > low + 0.5) & (start < high - 0.5)
    by = np.where(flat, 1.0, along)
    one, other = (np.where(flat, 0.0, (side - start) / by) for side in (low + 0.5, high - 0.5))
    enter = np.where(flat, np.where(within, -np.inf, np.inf), np.minimum(one, other)).max(axis=2)
    leave = np.where(flat, np.inf, np.maximum(one, other)).min(axis=2)
    share = np.minimum(leave, 1.0) - np.maximum(enter, 0.0)
    return np.maximum(share, 0.0) * np.hypot(along[..., 0], along[..., 1]) > 0.5
