"""The layered layout of one connected component, phase by phase.

The phases have the names that ELK and dagre give them; each is a call in `run_layout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log

from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.columns import LONG, ColumnAssembly
from tfgraphwidget.layout.layered.crossing import order_layers
from tfgraphwidget.layout.layered.layered_graph import Layering, LayoutProblem, assign_columns, insert_dummy_nodes
from tfgraphwidget.layout.layered.placement import place_nodes
from tfgraphwidget.layout.layered.routing import route_column
from tfgraphwidget.progress import report_each

# Shapes that are tried for components of _FEW to _MANY nodes, as factors of the wanted aspect. The first is taken at
# once if it is _NEAR enough (the difference of logarithms), but not for less than _SMALL nodes: these are soon drawn,
# and the same few nodes occur in a network a hundred times.
_SHAPES, _FEW, _SMALL, _MANY, _NEAR, _PER_COLUMN = (1.0, 0.4, 0.6, 1.7), 3, 12, 100, 0.35, 0.03


def run_layout(problem: LayoutProblem) -> ColumnAssembly:
    """Draw a connected component in layers, from top to bottom.

    How wide and tall the drawing becomes is only estimated while the layers are split into columns. So several
    shapes are tried where the first is far from the wanted one, and the best is taken.

    Args:
        problem: the component, the sizes and ports of its nodes in pixels, and the wanted width : height.

    Returns:
        The columns of the best drawing; `to_layout` gives the boxes and routes.
    """
    component = problem.component
    is_reversed = component.is_reversed  # 1. Cycle breaking: which edges run upwards. Kept, as it needs no sizes.
    rank = component.rank  # 2. Layering: the layer of each node. Kept, too.
    best: tuple[float, ColumnAssembly] | None = None
    for layering in _candidate_layerings(problem, rank, is_reversed):  # 3. Wide layers are split, long ones wrapped.
        graph = insert_dummy_nodes(problem, layering)  # 4. Long edges become chains of dummy nodes.
        numbers = range(len(graph.layers))
        columns = []
        for number in report_each(numbers, "Laying out the lines", every=1) if len(problem.edges) > LONG else numbers:
            order_layers(graph, number)  # 5. Crossing minimization: the order in each layer.
            x = place_nodes(graph, number)  # 6. Node placement: the x of nodes and dummy nodes.
            columns.append(route_column(graph, number, x))  # 7. Edge routing: ports, tracks, and the y of everything.
        drawing = ColumnAssembly(graph, columns)  # 8. Columns side by side, edges routed from one to another.
        price = cost(drawing.height, drawing.width, problem.aspect) * (1 + _PER_COLUMN * len(columns))
        is_first = best is None
        if best is None or price < best[0]:
            best = price, drawing
        far = abs(log(max(drawing.width, 1.0) / max(drawing.height, 1.0) / problem.aspect))
        if is_first and len(columns) == 1 and far < _NEAR and len(problem.sizes) > _SMALL:
            break
    assert best is not None
    return best[1]


def _candidate_layerings(problem: LayoutProblem, rank: list[int], is_reversed: list[bool]) -> Iterator[Layering]:
    """Yield different ways to split the layers into columns, that for the wanted aspect first."""
    tried: list[Layering] = []
    for factor in _SHAPES if _FEW <= len(problem.sizes) <= _MANY else _SHAPES[:1]:
        layering = assign_columns(replace(problem, aspect=problem.aspect * factor), rank, is_reversed)
        if layering not in tried:
            tried.append(layering)
            yield layering
