"""The y of everything in a column: as far up as what is above it allows, layers kept level where
they are near.

Boxes and the horizontal segments of edges are put down one after the other, from the top, on a
skyline. What does not overlap in x does not wait for each other, so a small box beside a tall one
leaves no hole below it. Things that overlap in x keep the order of the layers, so no edge runs
through a box.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import inf, isnan

# Pixels. A track is the y of a horizontal segment of an edge.
NODE_GAP = 12.0  # between boxes of a row
ROW_GAP = 18.0  # between rows without a track
TRACK = 6.0  # between tracks
ABOVE = 7.0  # from a row to the first track
BELOW = 11.0  # from the last track to the next row: there are arrow heads
PORT_GAP = 12.0  # between ports of a border that are beside a title
_NEAR = 4.0  # beside a segment, where nothing else is
_SNAP = 30.0  # boxes of a row that are no further apart in y are aligned
_CENTERED = 20.0  # a box that is no less tall than the tallest is centered, others are at the top

BORDER, NODE, LINE = range(3)  # what a skyline is made of


def places_beside(ports: Sequence[float], title: float) -> dict[int, float]:
    """Place the ports of a border beside a title, in their order; those that are there already
    stay.

    >>> places_beside([40.0, 10.0, 200.0], 50.0)
    {1: 50.0, 0: 62.0, 2: 200.0}
    """
    places, free = {}, title
    for x, port in sorted((x, port) for port, x in enumerate(ports) if not isnan(x)):
        places[port] = max(x, free)
        free = places[port] + PORT_GAP
    return places


class Skyline:
    """The lower side of all so far: [x[i], x[i + 1]) is at `y[i]`, made by a `kind[i]`."""

    def __init__(self) -> None:
        self.x, self.y, self.kind = [-inf], [0.0], [BORDER]

    def under(self, low: float, high: float, need: Sequence[float]) -> float:
        """Find the highest free y between two x.

        Args:
            need: The distance to keep from each kind.
        """
        i = bisect_right(self.x, low) - 1
        result = self.y[i] + need[self.kind[i]]
        i, end = i + 1, len(self.x)
        while i < end and self.x[i] < high:
            result = max(result, self.y[i] + need[self.kind[i]])
            i += 1
        return result

    def add(self, low: float, high: float, y: float, kind: int) -> None:
        """Make something end at a y between two x."""
        a, b = bisect_left(self.x, low), bisect_left(self.x, high)
        after = (high, self.y[b - 1], self.kind[b - 1])
        more = b == len(self.x) or self.x[b] > high
        self.x[a:b] = [low, after[0]] if more else [low]
        self.y[a:b] = [y, after[1]] if more else [y]
        self.kind[a:b] = [kind, after[2]] if more else [kind]

    def lowest(self, need: Sequence[float]) -> float:
        """The lowest position of a border below everything.

        Args:
            need: The space that each needs, in pixels.
        """
        return max(y + need[kind] for y, kind in zip(self.y, self.kind, strict=True))


def drop_row(
    skyline: Skyline,
    boxes: Sequence[tuple[float, float, float]],
    head: float,
    floor: Sequence[float] | None = None,
) -> list[float]:
    """Place the boxes of one row as high as possible.

    Boxes at nearly the same height are aligned with the lowest of them.

    Args:
        skyline: What is above; the boxes are added.
        boxes: (low x, high x, height) of each box.
        head: The distance to keep from the border.

    Returns:
        The y of the upper sides.
    """
    need = (head, ROW_GAP, BELOW)
    free = [skyline.under(low - NODE_GAP / 2, high + NODE_GAP / 2, need) for low, high, _ in boxes]
    if floor:
        free = [max(pair) for pair in zip(free, floor, strict=True)]
    tops = list(free)
    group: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -free[i]):
        if not group or free[group[0]] - free[i] > _SNAP:
            group = [i]
        else:
            group.append(i)
        tops[i] = free[group[0]]
    tallest: dict[float, float] = {}
    for top, (_, _, height) in zip(tops, boxes, strict=True):
        tallest[top] = max(tallest.get(top, 0.0), height)
    for i, (low, high, height) in enumerate(boxes):
        spare = tallest[tops[i]] - height
        tops[i] += spare / 2 if spare <= _CENTERED else 0.0
        skyline.add(low - NODE_GAP / 2, high + NODE_GAP / 2, tops[i] + height, NODE)
    return tops


def lay_track(skyline: Skyline, low: float, high: float, step: float) -> float:
    """Place a horizontal segment below what is there.

    Args:
        skyline: What is above; the segment is added.
        step: The distance to keep from other segments.

    Returns:
        The y of the segment.
    """
    y = skyline.under(low - _NEAR, high + _NEAR, (ABOVE, ABOVE, step))
    skyline.add(low - _NEAR, high + _NEAR, y, LINE)
    return y
