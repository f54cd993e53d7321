"""Column wrapping: where a long sequence of layers is split into columns side by side."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations, pairwise
from math import log, sqrt

GUTTER = 20.0  # pixels between columns
PASSING_WIDTH = 8.0  # pixels that an edge from one column to another takes in the gutter

# What makes a drawing in columns harder to follow, as shares. An edge or two that go back to the
# top are a path; with each more, all of them are harder to tell apart. They cost less, by the
# square of the height, where one column is so tall that a pane that shows all of it cannot be
# read, and several columns can.
COST_PER_EDGE = 0.3  # for the square of how many edges more than EASY pass to the next column
READABLE = 1000.0  # pixels; a column that is no taller can be read
READABLE_IN_COLUMNS = 4000.0  # pixels; of more, no number of columns can be read
EASY = 2  # edges; so many can be followed together
MANY = 4  # edges more; of still more, each further one costs the same
COST_PER_COLUMN = 0.02  # for each column

IMPROVEMENT = 0.95  # columns are made if the cost is less than this share of that of one column
SMALL = 360.0  # pixels; a drawing that is no taller is in one column: it fits in a cell
TALLER = 1.1  # one that is taller than wanted by this factor may be wrapped

ALL_WAYS_LIMIT = 9  # layers of which all ways to wrap them are compared: 255

# Of more layers, numbers of columns are tried around the number that would have the wanted shape.
FEWEST = 0.3  # of that number
MOST = 2.0  # of that number
NEXT = 1.1  # each is so many times the one before


def wrap_columns(
    heights: Sequence[float], widths: Sequence[float], crossing: Sequence[float], aspect: float
) -> list[int]:
    """Choose the layers in which columns begin.

    Args:
        heights: the height of each layer in pixels, the space below included.
        widths: the width of each layer in pixels.
        crossing: how many edges pass between each layer and the next. Those that share a route
            count half each, and half for the route.

    Returns:
        The first layers of the columns, ascending, beginning with 0; [0] if one column
        is best, or small anyway.
    """
    total = sum(heights)
    widest = max(widths, default=0.0)
    if len(heights) < 2 or total <= max(TALLER * widest / aspect, SMALL):
        return [0]
    above = [0.0, *accumulate(heights)]  # the height of all layers above each
    best = [0]
    lowest_cost = cost(total, widest, aspect) * IMPROVEMENT
    ideal = sqrt(total * aspect * len(widths) / max(sum(widths), 1.0))
    for starts in _candidate_starts(above, crossing, ideal):
        columns = list(pairwise([*starts, len(heights)]))
        height = max(above[stop] - above[start] for start, stop in columns)
        width = sum(max(widths[start:stop]) for start, stop in columns)
        passing = [crossing[start - 1] for start in starts[1:]]
        width += GUTTER * len(passing) + PASSING_WIDTH * sum(passing)
        cost_now = cost(height + GUTTER, width, aspect) * hardness(passing, total)
        if cost_now < lowest_cost:
            best = starts
            lowest_cost = cost_now
    return best


def hardness(passing: Sequence[float], height: float) -> float:
    """Rate how hard it is to follow the edges from column to column; a factor, 1 at best.

    Args:
        passing: how many edges pass from each column to the next.
        height: that of all columns together, in pixels.
    """
    columns = len(passing) + 1
    more = [max(count - EASY, 0) for count in passing]
    squares = sum(count * min(count, MANY) for count in more)
    cost_per_edge = COST_PER_EDGE
    if READABLE < height <= READABLE_IN_COLUMNS:
        cost_per_edge *= (READABLE / height) ** 2
    return 1.0 + cost_per_edge * squares / columns + COST_PER_COLUMN * columns


def cost(height: float, width: float, aspect: float) -> float:
    """Rate a drawing: its area, increased where its width : height is far from the wanted one.

    Args:
        height: In pixels.
        width: In pixels.
    """
    # A difference of logarithms, so that twice as wide is as bad as twice as tall.
    far = abs(log(max(width, 1.0) / max(height, 1.0) / aspect))
    return height * width * (1.0 + 0.5 * far + max(0.0, far - 1.0))


def _candidate_starts(
    above: Sequence[float], crossing: Sequence[float], ideal: float
) -> Iterable[list[int]]:
    """Ways to split layers into columns: all for a few layers, else some that are well filled, of
    about the ideal number of columns.
    """
    layers = len(above) - 1
    candidates = []
    if layers <= ALL_WAYS_LIMIT:
        for count in range(1, layers):
            candidates += [[0, *starts] for starts in combinations(range(1, layers), count)]
        return candidates
    numbers = {2}
    number = FEWEST * ideal
    while number <= min(MOST * ideal, layers):
        numbers.add(max(2, round(number)))
        number *= NEXT
    for columns in sorted(numbers):
        candidates.append(_split_evenly(above, crossing, columns))
        height = above[-1] / columns
        # Layers seldom fill columns exactly: with 3 % more they often do, with 15 % they can.
        candidates.append(_fill_columns(above, 1.03 * height))
        candidates.append(_fill_columns(above, 1.15 * height))
    return candidates


def _fill_columns(above: Sequence[float], limit: float) -> list[int]:
    """Starts of columns that take layers as long as they are no taller than `limit`."""
    starts = [0]
    for layer in range(1, len(above) - 1):
        if above[layer + 1] - above[starts[-1]] > limit:
            starts.append(layer)
    return starts


def _split_evenly(above: Sequence[float], crossing: Sequence[float], columns: int) -> list[int]:
    """Starts of columns about equally tall: near an even split, where the fewest edges pass."""
    share = above[-1] / columns
    layers = len(above) - 1
    starts = [0]
    for column in range(1, columns):
        ideal = share * column
        first = max(bisect_left(above, ideal - 0.3 * share), starts[-1] + 1)
        stop = min(bisect_right(above, ideal + 0.3 * share), layers)
        # Where a layer is taller than that, the next one.
        choices = range(first, stop) or range(starts[-1] + 1, layers)[:1]
        if not choices:
            break

        def badness(start: int, ideal: float = ideal) -> float:
            """How far a start is from the ideal one, and how many edges pass there."""
            return abs(above[start] - ideal) / share + 0.15 * crossing[start - 1]

        starts.append(min(choices, key=badness))
    return starts
