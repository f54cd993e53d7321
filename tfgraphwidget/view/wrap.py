"""Where to cut a long sequence of rows, so that a chain becomes columns side by side rather than a needle."""

from __future__ import annotations

from collections.abc import Sequence

GUTTER = 44.0
_CROSSING = 12.0
_WORTH_IT = 0.95
_SMALL = 440.0


def cuts(
    heights: Sequence[float], widths: Sequence[float], crossing: Sequence[int], aspect: float, tolerance: float
) -> list[int]:
    """The first rows of the columns, ascending, beginning with 0: [0] when one column is best.

    Row r is `heights[r]` tall (the space below included) and `widths[r]` wide; `crossing[r]` lines pass between
    rows r and r + 1. `aspect` is the width : height wished for. Columns are made only when one column is more
    than `tolerance` times taller than wide, and not small anyway.
    """
    total, widest = sum(heights), max(widths, default=0.0)
    if len(heights) < 2 or total <= max(tolerance * widest, _SMALL):
        return [0]
    best, best_cost = [0], _cost(total, widest, aspect) * _WORTH_IT
    for columns in range(2, min(len(heights), 24) + 1):
        starts = _even(heights, crossing, columns)
        tall = max(sum(heights[a:b]) for a, b in _spans(starts, len(heights)))
        lanes = sum(GUTTER + _CROSSING * crossing[a - 1] for a in starts[1:])
        wide = lanes + sum(max(widths[a:b]) for a, b in _spans(starts, len(heights)))
        lines = sum(crossing[a - 1] for a in starts[1:])
        cost = _cost(tall + GUTTER, wide, aspect) * (1 + 0.06 * lines / columns + 0.02 * columns)
        if cost < best_cost:
            best, best_cost = starts, cost
        if wide > 2 * aspect * tall:
            break
    return best


def _cost(height: float, width: float, aspect: float) -> float:
    """The height of the smallest frame of the wished aspect around a drawing, a little more if it is badly filled."""
    frame = max(height, width / aspect)
    return frame + 0.1 * (height + width / aspect)


def _spans(starts: Sequence[int], end: int) -> list[tuple[int, int]]:
    return list(zip(starts, [*starts[1:], end], strict=True))


def _even(heights: Sequence[float], crossing: Sequence[int], columns: int) -> list[int]:
    """Starts of columns about equally tall; near an even cut, the one that the fewest lines cross."""
    total = sum(heights)
    share = total / columns
    below, reached = [], 0.0
    for height in heights:
        reached += height
        below.append(reached)
    starts = [0]
    for column in range(1, columns):
        ideal = share * column
        choices = range(starts[-1] + 1, len(heights))
        near = [r for r in choices if abs(below[r - 1] - ideal) <= 0.3 * share] or list(choices)
        if not near:
            break
        starts.append(min(near, key=lambda r: abs(below[r - 1] - ideal) / share + 0.15 * crossing[r - 1]))
    return starts
