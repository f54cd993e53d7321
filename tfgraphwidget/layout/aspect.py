"""The shapes of open scopes, so that the children of a container fill it.

From the outermost container inwards, each is divided, in flow order, into columns, the columns into
rows and the rows into boxes, with about the area that each child will need. The proportions of
those boxes are what the insides are laid out to. Areas are estimates; nothing but the look depends
on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from tfgraphwidget.layout.layered.components import Structure

STEP = 0.35  # proportions are rounded to powers of e**STEP, so that equal insides are drawn once
_TALLEST, _WIDEST, _IDEAL = -3, 2, 1.4
_MOST_COLUMNS = 16
Rows = list[list[int]]


def aspect_of(level: int) -> float:
    """Return the width : height of a level; 0 is `_IDEAL`."""
    return _IDEAL * exp(STEP * level)


def level_of(aspect: float) -> int:
    """Return the level nearest to a width : height, not too far from square.

    Args:
        aspect: The width of the drawing area divided by its height.
    """
    return max(_TALLEST, min(_WIDEST, round(log(aspect / _IDEAL) / STEP)))


def choose_child_levels(
    structure: Structure, area: Sequence[float], is_open: Sequence[bool], aspect: float
) -> list[int]:
    """Choose the shape of each open child of a container.

    Args:
        structure: the container's components and edges.
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
    best: tuple[float, list[tuple[Rows, float]]] | None = None
    for count in range(1, min(len(rows), _MOST_COLUMNS) + 1):
        columns = _split_into_columns(rows, row_areas, total / count)
        if len(columns) < count:
            continue
        wide = [(column, sum(area[i] for row in column for i in row) / height) for column in columns]
        bad = sum(_badness(column, area, is_open, width) for column, width in wide) + 0.01 * count * total
        if best is None or bad < best[0]:
            best = (bad, wide)
    levels = [0] * structure.count
    for column, width in best[1] if best else []:
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
    """Rows cut into columns of about one share of the area each."""
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
    return sum(
        area[i] * max(0.0, abs(log(_shape(row, i, area, width) / _IDEAL)) - 0.5)
        for row in column
        for i in row
        if is_open[i]
    )


def _shape(row: Sequence[int], i: int, area: Sequence[float], width: float) -> float:
    """The width : height of a box in a row that fills a column; rows of slim boxes are broken into
    several.
    """
    whole = sum(area[j] for j in row)
    count = max(1, round(sqrt(_IDEAL * whole * whole / (width * width * max(area[j] for j in row)))))
    count = min(count, len(row))
    return width * width * area[i] * count * count / (whole * whole)
