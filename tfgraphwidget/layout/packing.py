"""Packing of boxes without edges among them, beside or below what is there already."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.spacing import Skyline

GAP, AUXILIARY_GAP = 12.0, 16.0
Size = tuple[float, float]
_MANY, _TRIED = 250, 8


def pack(boxes: Sequence[Size], aspect: float) -> tuple[list[Point], float, float]:
    """Pack boxes, the tallest first; equal ones keep their order, so that single ops form a tidy
    grid.

    Args:
        boxes: width and height of each box in pixels.
        aspect: the wanted width : height.

    Returns:
        The upper left corners, the width and the height of it all.
    """
    if not boxes:
        return [], 0.0, 0.0
    _, places = pack_beside((0.0, 0.0), boxes, aspect)
    return (places, *extent(boxes, places))


def pack_beside(
    existing: Size, boxes: Sequence[Size], aspect: float, gap: float = GAP, below: bool = True
) -> tuple[bool, list[Point]]:
    """Pack boxes below or to the right of existing ones.

    Args:
        existing: The width and height of the existing drawing.
        boxes: The widths and heights of the boxes.
        aspect: The target ratio of width to height.
        gap: The distance to the existing drawing.
        below: Whether they may be put below.

    Returns:
        Whether they are below, and their corners relative to where they begin.
    """
    order = sorted(range(len(boxes)), key=lambda i: -boxes[i][1])
    widest, total = max(w for w, _ in boxes), sum(w + GAP for w, _ in boxes)
    distance = gap if existing[0] else 0.0
    best: tuple[float, bool, list[Point]] | None = None
    for limit in _candidate_widths(existing, boxes, aspect, max(widest, 1.0), total):
        places = _place_within(boxes, order, limit)
        width, height = extent(boxes, places)
        choices = [(False, existing[0] + distance + width, max(existing[1], height))]
        if below and existing[0]:
            choices.append((True, max(existing[0], width), existing[1] + distance + height))
        for is_below, w, h in choices:
            now = cost(h, w, aspect)
            if best is None or now < best[0] - 1e-6:
                best = (now, is_below, places)
    assert best is not None
    return best[1:]


def _candidate_widths(existing: Size, boxes: Sequence[Size], aspect: float, widest: float, total: float) -> list[float]:
    """The widths to try: those whose drawing would have the best shape if nothing were left
    empty.
    """
    area, tallest = sum((w + GAP) * (h + GAP) for w, h in boxes), max(h for _, h in boxes)
    costs: dict[float, float] = {}
    number = 1.0
    while number < len(boxes) * 1.3:
        width = max(widest, total / number)
        height = max(tallest, area / width)
        costs[width] = cost(max(existing[1], height), existing[0] + width, aspect)
        if existing[0]:
            costs[width] = min(costs[width], cost(existing[1] + height, max(existing[0], width), aspect))
        number = number + 0.5 if len(boxes) <= 12 else number * (1.15 if len(boxes) <= _MANY else 1.5)
    return sorted(costs, key=lambda width: (costs[width], width))[:_TRIED]


def extent(boxes: Sequence[Size], places: Sequence[Point]) -> Size:
    """Return the width and height that boxes take.

    Args:
        boxes: Width and height of the boxes, in pixels.
        places: The positions of the boxes, in pixels.
    """
    right = max(x + w for (x, _), (w, _) in zip(places, boxes, strict=True))
    return right, max(y + h for (_, y), (_, h) in zip(places, boxes, strict=True))


def _place_within(boxes: Sequence[Size], order: Sequence[int], limit: float) -> list[Point]:
    """Corners of boxes within a width: each as high up as it can, then as far left; thousands in
    plain rows.
    """
    places: list[Point] = [(0.0, 0.0)] * len(boxes)
    if len(boxes) > _MANY:
        x, y, tall = 0.0, 0.0, 0.0
        for i in order:
            w, h = boxes[i]
            if x and x + w > limit + 1e-6:
                x, y, tall = 0.0, y + tall + GAP, 0.0
            places[i] = (x, y)
            x, tall = x + w + GAP, max(tall, h)
        return places
    skyline = Skyline()
    for i in order:
        w, h = boxes[i]
        free = [0.0, *(x for x in skyline.x[1:] if x + w <= limit + 1e-6)]
        y, x = min((skyline.under(x, x + w, (0.0, GAP, GAP)), x) for x in free)
        places[i] = (x, y)
        skyline.add(x, x + w + GAP, y + h, 1)
    return places
