"""Packing of boxes without edges among them, beside or below what is there already."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.spacing import NODE, Skyline

GAP = 12.0  # pixels between boxes
AUXILIARY_GAP = 16.0  # pixels between isolated nodes and the rest

MANY = 250  # boxes; more are packed in plain rows, and fewer widths are thought of
MAX_TRIES = 8  # widths that are tried

Size = tuple[float, float]


def pack(boxes: Sequence[Size], aspect: float) -> tuple[list[Point], float, float]:
    """Pack boxes, the tallest first; equal ones keep their order, so that single ops form a tidy
    grid.

    Args:
        boxes: width and height of each box in pixels.

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

    Returns:
        Whether they are below, and their corners relative to where they begin.
    """
    order = sorted(range(len(boxes)), key=lambda i: -boxes[i][1])
    widest = max(width for width, _ in boxes)
    total = sum(width + GAP for width, _ in boxes)
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


def _candidate_widths(
    existing: Size, boxes: Sequence[Size], aspect: float, widest: float, total: float
) -> list[float]:
    """The widths to try: those whose drawing would have the best shape if nothing were left
    empty.
    """
    area = sum((width + GAP) * (height + GAP) for width, height in boxes)
    tallest = max(height for _, height in boxes)
    existing_width, existing_height = existing
    costs: dict[float, float] = {}
    rows = 1.0  # in which the boxes would be
    while rows < len(boxes) * 1.3:
        width = max(widest, total / rows)
        height = max(tallest, area / width)
        costs[width] = cost(max(existing_height, height), existing_width + width, aspect)
        if existing_width:
            below = cost(existing_height + height, max(existing_width, width), aspect)
            costs[width] = min(costs[width], below)
        if len(boxes) <= 12:
            rows += 0.5
        else:
            rows *= 1.15 if len(boxes) <= MANY else 1.5
    return sorted(costs, key=lambda width: (costs[width], width))[:MAX_TRIES]


def extent(boxes: Sequence[Size], places: Sequence[Point]) -> Size:
    """Return the width and height that boxes take, in pixels.

    Args:
        boxes: The widths and heights of the boxes, in pixels.
        places: The positions of the boxes, in pixels.
    """
    right = max(x + width for (x, _), (width, _) in zip(places, boxes, strict=True))
    bottom = max(y + height for (_, y), (_, height) in zip(places, boxes, strict=True))
    return right, bottom


def _place_within(boxes: Sequence[Size], order: Sequence[int], limit: float) -> list[Point]:
    """Corners of boxes within a width: each as high up as it can be, then as far left.

    Many boxes are placed in plain rows.
    """
    if len(boxes) > MANY:
        return _place_in_rows(boxes, order, limit)
    places: list[Point] = [(0.0, 0.0)] * len(boxes)
    skyline = Skyline()
    for i in order:
        width, height = boxes[i]
        candidates = [0.0]
        candidates += [x for x in skyline.x[1:] if x + width <= limit + 1e-6]
        y, x = min((skyline.under(x, x + width, (0.0, GAP, GAP)), x) for x in candidates)
        places[i] = (x, y)
        skyline.add(x, x + width + GAP, y + height, NODE)
    return places


def _place_in_rows(boxes: Sequence[Size], order: Sequence[int], limit: float) -> list[Point]:
    """Corners of boxes in rows of a width, each row as tall as its tallest box."""
    places: list[Point] = [(0.0, 0.0)] * len(boxes)
    x = 0.0
    y = 0.0
    row_height = 0.0
    for i in order:
        width, height = boxes[i]
        if x and x + width > limit + 1e-6:
            x = 0.0
            y += row_height + GAP
            row_height = 0.0
        places[i] = (x, y)
        x += width + GAP
        row_height = max(row_height, height)
    return places
