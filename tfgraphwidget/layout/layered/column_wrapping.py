"""Column wrapping: where a long sequence of layers is split into columns side by side."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations, pairwise
from math import log

GUTTER = 20.0
_CROSSING = 8.0
_WORTH_IT = 0.95
_SMALL, _TALLER = 260.0, 1.1
_FEW, _MOST_COLUMNS = 9, 24


def wrap_columns(
    heights: Sequence[float], widths: Sequence[float], crossing: Sequence[int], aspect: float
) -> list[int]:
    """Choose the layers in which columns begin.

    Args:
        heights: the height of each layer in pixels, the space below included.
        widths: the width of each layer in pixels.
        crossing: how many edges pass between each layer and the next.
        aspect: the wanted width : height.

    Returns:
        The first layers of the columns, ascending, beginning with 0; [0] if one column is best, or small anyway.
    """
    total, widest = sum(heights), max(widths, default=0.0)
    if len(heights) < 2 or total <= max(_TALLER * widest / aspect, _SMALL):
        return [0]
    below = [0.0, *accumulate(heights)]
    best, best_cost = [0], cost(total, widest, aspect) * _WORTH_IT
    for starts in _candidate_starts(below, crossing):
        spans = list(pairwise([*starts, len(heights)]))
        tall = max(below[b] - below[a] for a, b in spans)
        lines = sum(crossing[a - 1] for a in starts[1:])
        wide = sum(max(widths[a:b]) for a, b in spans) + GUTTER * (len(starts) - 1) + _CROSSING * lines
        now = cost(tall + GUTTER, wide, aspect) * (1 + 0.06 * lines / len(starts) + 0.02 * len(starts))
        if now < best_cost:
            best, best_cost = starts, now
    return best


def cost(height: float, width: float, aspect: float) -> float:
    """Rate a drawing: its area, increased where its width : height is far from the wanted one.

    Args:
        height: in pixels.
        width: in pixels.
        aspect: the wanted width : height.

    Returns:
        The cost; less is better.
    """
    far = abs(log(max(width, 1.0) / max(height, 1.0) / aspect))
    return height * width * (1.0 + 0.5 * far + max(0.0, far - 1.0))


def _candidate_starts(below: Sequence[float], crossing: Sequence[int]) -> Iterable[list[int]]:
    """Ways to cut: all of them for a few rows, else columns about equally tall and columns that are well filled."""
    rows = len(below) - 1
    if rows <= _FEW:
        return [[0, *some] for count in range(1, rows) for some in combinations(range(1, rows), count)]
    candidates = []
    few = range(2, min(rows, _MOST_COLUMNS) + 1)
    many = (round(_MOST_COLUMNS * 1.2**k) for k in range(1, 30)) if rows > 10 * _MOST_COLUMNS else ()
    for columns in (*few, *(number for number in many if number < rows)):
        candidates.append(_split_evenly(below, crossing, columns))
        candidates += [_fill_columns(below, below[-1] / columns * spare) for spare in (1.03, 1.15)]
    return candidates


def _fill_columns(below: Sequence[float], limit: float) -> list[int]:
    """Starts of columns that take rows as long as they are no taller than `limit`."""
    starts = [0]
    for row in range(1, len(below) - 1):
        if below[row + 1] - below[starts[-1]] > limit:
            starts.append(row)
    return starts


def _split_evenly(below: Sequence[float], crossing: Sequence[int], columns: int) -> list[int]:
    """Starts of columns about equally tall; near an even cut, the one that the fewest lines cross."""
    share = below[-1] / columns
    starts = [0]
    for column in range(1, columns):
        ideal = share * column
        low, high = bisect_left(below, ideal - 0.3 * share), bisect_right(below, ideal + 0.3 * share)
        choices = (
            range(max(low, starts[-1] + 1), min(high, len(below) - 1)) or range(starts[-1] + 1, len(below) - 1)[:1]
        )
        if not choices:
            break
        starts.append(min(choices, key=lambda r: abs(below[r] - ideal) / share + 0.15 * crossing[r - 1]))
    return starts
