"""The layered layout of one connected component, phase by phase.

The phases have the names that ELK and dagre give them; each is a call in `run_layout`. They are
those of K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures" (1981); the module of each phase names the papers that it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import log

from tfgraphwidget.layout.layered.column_wrapping import cost, hardness
from tfgraphwidget.layout.layered.columns import LONG, ColumnAssembly
from tfgraphwidget.layout.layered.crossing import order_layers
from tfgraphwidget.layout.layered.layered_graph import (
    Layering,
    LayoutProblem,
    assign_columns,
    insert_dummy_nodes,
)
from tfgraphwidget.layout.layered.placement import place_nodes
from tfgraphwidget.layout.layered.routing import route_column
from tfgraphwidget.progress import report_each

# Shapes that are tried for components of some sizes, as factors of the wanted aspect.
SHAPES = (1.0, 0.4, 0.6, 1.7)
MIN_NODES = 3  # fewer have one shape only
MAX_NODES = 100  # more take too long to be drawn four times

# The first shape is taken at once if it is near enough to the wanted one: by this difference of the
# logarithms of width : height. But a component of few nodes is soon drawn, and the same few nodes
# occur in a network a hundred times: there, all shapes are tried, as they are for up to some more
# nodes in several columns.
NEAR_ENOUGH = 0.35
SMALL = 12  # nodes
SMALL_IN_COLUMNS = 40  # nodes


def run_layout(problem: LayoutProblem) -> ColumnAssembly:
    """Draw a connected component in layers, from top to bottom.

    How wide and tall the drawing becomes is only estimated while the layers are split into columns.
    So several shapes are tried where the first is far from the wanted one, and the best is taken.

    Args:
        problem: the component, the sizes and ports of its nodes in pixels, and the wanted
            width : height.

    Returns:
        The columns of the best drawing; `to_layout` gives the boxes and routes.
    """
    component = problem.component
    # The first two phases need no sizes: the component keeps their results.
    is_reversed = component.is_reversed  # 1. Cycle breaking: which edges run upwards.
    rank = component.rank  # 2. Layering: the layer of each node.
    # 3. Wide layers are split, and many layers are wrapped into columns.
    if not MIN_NODES <= len(problem.sizes) <= MAX_NODES:
        return _draw(problem, assign_columns(problem, rank, is_reversed))
    best: ColumnAssembly | None = None
    lowest_cost = 0.0
    for layering in _candidate_layerings(problem, rank, is_reversed):
        drawing = _draw(problem, layering)
        if best is None and _is_good_enough(problem, drawing):
            return drawing
        cost_now = cost(drawing.height, drawing.width, problem.aspect)
        cost_now *= hardness(drawing.passing, sum(column.height for column in drawing.columns))
        if best is None or cost_now < lowest_cost:
            best = drawing
            lowest_cost = cost_now
    assert best is not None
    return best


def _draw(problem: LayoutProblem, layering: Layering) -> ColumnAssembly:
    """Run the phases that follow layering."""
    graph = insert_dummy_nodes(problem, layering)  # 4. Long edges become chains of dummy nodes.
    numbers: Iterable[int] = range(len(graph.layers))
    if len(problem.edges) > LONG:
        numbers = report_each(range(len(graph.layers)), "Laying out the lines", every=1)
    columns = []
    for number in numbers:
        order_layers(graph, number)  # 5. Crossing minimization: the order in each layer.
        x = place_nodes(graph, number)  # 6. Node placement: the x of nodes and dummy nodes.
        # 7. Edge routing: ports, tracks, and the y of everything.
        columns.append(route_column(graph, number, x))
    return ColumnAssembly(graph, columns)  # 8. Columns side by side, edges from one to another.


def _is_good_enough(problem: LayoutProblem, drawing: ColumnAssembly) -> bool:
    """Whether no other shape than this, the first, needs to be tried."""
    ratio = max(drawing.width, 1.0) / max(drawing.height, 1.0)
    is_near = abs(log(ratio / problem.aspect)) < NEAR_ENOUGH
    small = SMALL if len(drawing.columns) == 1 else SMALL_IN_COLUMNS
    return is_near and len(problem.sizes) > small


def _candidate_layerings(
    problem: LayoutProblem, rank: list[int], is_reversed: list[bool]
) -> Iterator[Layering]:
    """Yield different ways to split the layers into columns, that for the wanted aspect first."""
    tried: list[Layering] = []
    for factor in SHAPES:
        reshaped = replace(problem, aspect=problem.aspect * factor)
        layering = assign_columns(reshaped, rank, is_reversed)
        if layering not in tried:
            tried.append(layering)
            yield layering
