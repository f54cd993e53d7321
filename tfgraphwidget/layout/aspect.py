"""The shapes of open scopes, so that the children of a container fill it.

From the outermost container inwards, each is divided, in flow order, into columns, the columns into
rows and the rows into boxes, with about the area that each child will need. The proportions of
those boxes are what the insides are laid out to. Areas are estimates; nothing but the look depends
on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt

from tfgraphwidget.layout.layered.components import Structure
from tfgraphwidget.layout.layered.layering import MAX_PEERS, PEER_WIDTH

IDEAL = 1.4  # width : height of level 0
STEP = 0.35  # proportions are rounded to powers of e**STEP, so that equal insides are drawn once
TALLEST = -3  # the level of the tallest shape, about 1 : 2
WIDEST = 2  # the level of the widest shape, about 3 : 1
TOLERANCE = 0.5  # difference of logarithms from the ideal shape that is as good as none
MAX_COLUMNS = 16
COST_PER_COLUMN = 0.01  # as a share of the area

Rows = list[list[int]]


def aspect_of(level: int) -> float:
    """Return the width : height of a level."""
    return IDEAL * exp(STEP * level)


def level_of(aspect: float) -> int:
    """Return the level nearest to a width : height, not too far from square.

    Args:
        aspect: The width of the drawing area divided by its height.
    """
    return max(TALLEST, min(WIDEST, round(log(aspect / IDEAL) / STEP)))


def choose_child_levels(
    structure: Structure, area: Sequence[float], is_open: Sequence[bool], aspect: float
) -> list[int]:
    """Choose the shape of each open child of a container.

    Args:
        area: the estimated area per child, in pixels².
        is_open: whether each child is an open scope.
        aspect: the width : height of the container.

    Returns:
        A level per child, see `aspect_of`; 0 for those that are not open.
    """
    rows = _rows_of_children(structure)
    row_areas = [sum(area[i] for i in row) for row in rows]
    total = sum(row_areas)
    height = sqrt(total / aspect)
    best: list[tuple[Rows, float]] = []
    lowest_badness = inf
    for count in range(1, min(len(rows), MAX_COLUMNS) + 1):
        columns = _split_into_columns(rows, row_areas, total / count)
        if len(columns) < count:
            continue
        with_widths = []
        badness = 0.0
        for column in columns:
            width = sum(area[i] for row in column for i in row) / height
            with_widths.append((column, width))
            badness += _badness(column, area, is_open, width)
        badness += COST_PER_COLUMN * count * total
        if badness < lowest_badness:
            best = with_widths
            lowest_badness = badness
    levels = [0] * structure.count
    for column, width in best:
        for row in column:
            for i in row:
                if is_open[i]:
                    levels[i] = level_of(_shape(row, i, area, width))
    return levels


def _rows_of_children(structure: Structure) -> Rows:
    """All children in rows, in about the order of the flow."""
    rows: Rows = []
    alone: list[int] = list(structure.isolated)
    for component in structure.components:
        if not component.edges:
            alone += component.nodes
            continue
        inside: Rows = [[] for _ in range(max(component.rank) + 1)]
        for node, at in zip(component.nodes, component.rank, strict=True):
            inside[at].append(node)
        rows += inside
    return [*rows, alone] if alone else rows


def _split_into_columns(rows: Rows, row_areas: Sequence[float], share: float) -> list[Rows]:
    """The rows in columns of about one share of the area each."""
    columns: list[Rows] = []
    area_so_far = share
    for row, area in zip(rows, row_areas, strict=True):
        if not columns or area_so_far + area / 2 > share:
            columns.append([])
            area_so_far = 0.0
        columns[-1].append(row)
        area_so_far += area
    return columns


def _badness(column: Rows, area: Sequence[float], is_open: Sequence[bool], width: float) -> float:
    """How far from square the boxes would be, weighed by their areas."""
    badness = 0.0
    for row in column:
        for i in row:
            if is_open[i]:
                far = abs(log(_shape(row, i, area, width) / IDEAL))
                badness += area[i] * max(0.0, far - TOLERANCE)
    return badness


def _shape(row: Sequence[int], i: int, area: Sequence[float], width: float) -> float:
    """The width : height of a box in a row that fills a column.

    A row of slim boxes becomes several rows, so that its largest box has about the ideal shape;
    a row of peers stays one.
    """
    total = sum(area[j] for j in row)
    largest = max(area[j] for j in row)
    if len(row) <= MAX_PEERS and largest <= PEER_WIDTH * min(area[j] for j in row):
        return width * width * area[i] / (total * total)
    count = max(1, round(sqrt(IDEAL * total * total / (width * width * largest))))
    count = min(count, len(row))
    return width * width * area[i] * count * count / (total * total)
