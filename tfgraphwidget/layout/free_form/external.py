"""The layout of a component by a callable like those of networkx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite, nan

import networkx as nx
import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.layout import Layout
from tfgraphwidget.layout.free_form.overlap_removal import GAP, remove_overlaps
from tfgraphwidget.layout.free_form.polyline_routing import CLEAR, STUB, PolylineRouter
from tfgraphwidget.layout.geometry import MutableLayout, Point, flatten
from tfgraphwidget.layout.layered.components import BORDER
from tfgraphwidget.layout.layered.layered_graph import LayoutProblem
from tfgraphwidget.layout.packing import pack
from tfgraphwidget.progress import report_each
from tfgraphwidget.sentences import either

Points = npt.NDArray[np.float64]
_NAMED = 2
_MANY = 500  # lines: fewer take no time to speak of
_WAY_OUT = (
    "Pass a callable that takes any graph, and that alone, like networkx.kamada_kawai_layout, or none for the layered "
    "drawing."
)


def apply_layout(layout: Layout, siblings: Sequence[str], problem: LayoutProblem) -> MutableLayout:
    """Lay out a component with a user's callable.

    The callable gets a DiGraph of names and returns name -> (x, y), as networkx does with y
    upwards. Nodes have `width` and `height` in pixels and `subset`, the layer that they would have
    in the layered layout. What only the border joins is laid out in separate calls: for most
    layouts nothing holds it together.

    Args:
        layout: the callable.
        siblings: the names of all nodes of the container.
        problem: the component with sizes and ports.

    Returns:
        Boxes and routes, in pixels, y downwards.

    Raises:
        GraphEditError: the callable fails, or returns no finite position for a node.
    """
    graph = _graph(siblings, problem)
    names = list(graph)
    sizes = np.array(problem.sizes, dtype=np.float64).reshape(-1, 2)
    number = {name: node for node, name in enumerate(names)}
    groups = sorted(sorted(number[name] for name in some) for some in nx.weakly_connected_components(graph))
    corner, boxes = np.zeros_like(sizes), []
    for nodes in groups:
        points = (
            _call_layout(layout, _subgraph(graph, [names[node] for node in nodes]))
            if len(nodes) > 1
            else np.zeros((1, 2))
        )
        low = remove_overlaps(points, sizes[nodes]) - sizes[nodes] / 2
        corner[nodes] = low - low.min(axis=0)
        boxes.append((corner[nodes] + sizes[nodes]).max(axis=0) + GAP / 2)
    places, _, _ = pack([(float(w), float(h)) for w, h in boxes], problem.aspect)
    for nodes, place in zip(groups, places, strict=True):
        corner[nodes] += place
    return _with_routes(problem, corner, sizes)


def _with_routes(problem: LayoutProblem, corner: Points, sizes: Points) -> MutableLayout:
    """A part whose boxes have their places; the drawing is as large as boxes and lines are."""
    corner = corner - corner.min(axis=0)
    routes, enter, leave = _routes(problem, corner, sizes)
    points = flatten(routes)
    low = np.minimum(points.min(axis=0, initial=0.0), 0.0)
    high = np.maximum(points.max(axis=0, initial=0.0), (corner + sizes).max(axis=0))
    for edge, way in zip(problem.edges, routes, strict=True):
        # The last piece before a border is upright, so it can be drawn on.
        if edge.source == BORDER:
            way[0] = (way[0][0], float(low[1]))
        if edge.target == BORDER:
            way[-1] = (way[-1][0], float(high[1]))
    left, top = (corner - low).T.tolist()
    (x, y), (width, height) = low.tolist(), (high - low).tolist()
    return MutableLayout(
        left,
        top,
        width,
        height,
        [[(a - x, b - y) for a, b in way] for way in routes],
        () if enter is None else (enter - x,),
        () if leave is None else (leave - x,),
    )


def _routes(
    problem: LayoutProblem, corner: Points, sizes: Points
) -> tuple[list[list[Point]], float | None, float | None]:
    """The ways of the lines, and the x where they come from the border and go to it: in the middle
    of their ends.
    """
    middle = (corner[:, 0] + sizes[:, 0] / 2).tolist()
    heads = [middle[edge.target] for edge in problem.edges if edge.source == BORDER]
    tails = [middle[edge.source] for edge in problem.edges if edge.target == BORDER]
    enter, leave = (float(np.median(ends)) if ends else None for ends in (heads, tails))
    margin = CLEAR + 2 * STUB  # so no line to it ends like one to a port (`PolylineRerouter`)
    level = -margin, float((corner + sizes)[:, 1].max()) + margin
    ports = [None if port is None else (port[0][0], port[1][0]) for port in problem.ports]
    draw = PolylineRouter(corner, sizes, ports, (enter or 0.0, leave or 0.0), level)
    both = {(edge.source, edge.target) for edge in problem.edges}
    edges = report_each(problem.edges, "Drawing the lines") if len(problem.edges) > _MANY else problem.edges
    routes = [draw.route(edge.source, edge.target, twin=(edge.target, edge.source) in both) for edge in edges]
    return routes, enter, leave


def _graph(siblings: Sequence[str], problem: LayoutProblem) -> nx.DiGraph:
    """The nodes of a flow in their order; a slash stands behind the name that a scope shares with
    an op.
    """
    graph, names = nx.DiGraph(), []
    for node, (width, height), row in zip(problem.component.nodes, problem.sizes, problem.component.rank, strict=True):
        name = siblings[node]
        while name in graph:
            name += "/"
        graph.add_node(name, width=width, height=height, subset=row)
        names.append(name)
    graph.add_edges_from((names[edge.source], names[edge.target]) for edge in problem.edges if BORDER not in edge[:2])
    return graph


def _subgraph(graph: nx.DiGraph, names: Sequence[str]) -> nx.DiGraph:
    """Some nodes of a graph and what joins them, in this order: networkx's own would be another in
    each process.
    """
    some = nx.DiGraph()
    some.add_nodes_from((name, graph.nodes[name]) for name in names)
    some.add_edges_from(margin for margin in graph.edges(names))
    return some


def _call_layout(layout: Layout, graph: nx.DiGraph) -> Points:
    """The positions that the callable returns, float64 (n, 2), y downwards; of more dimensions the
    first two.
    """
    names = list(graph)
    function = layout.func if isinstance(layout, partial) else layout
    layout_name = getattr(function, "__name__", type(function).__name__)
    if not callable(layout):
        raise GraphEditError(
            f"The layout is a {layout_name}, which cannot be called. {_WAY_OUT}"
            + either(" editor.view.pin puts single ops somewhere.", "")
        )
    try:
        answer = layout(graph)
    except Exception as error:
        some = ", ".join(repr(name) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        reason = f"{type(error).__name__}: {error}"
        raise GraphEditError(
            f"The layout {layout_name!r} failed for {some}{more} ({reason}). {_WAY_OUT}", names
        ) from error
    return np.array([_point(layout_name, answer, name) for name in names])


def _point(layout_name: str, answer: Mapping[str, Sequence[float]], name: str) -> Point:
    """The place of one node in the answer."""
    try:
        position = answer[name]
    except (KeyError, IndexError, TypeError) as error:
        raise GraphEditError(f"The layout {layout_name!r} gave no position for {name!r}. {_WAY_OUT}", [name]) from error
    try:
        x, y = float(position[0]), -float(position[1])
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        x, y = nan, nan
    if not (isfinite(x) and isfinite(y)):
        raise GraphEditError(
            f"The layout {layout_name!r} put {name!r} at {position!r}, which is no pair of finite numbers. {_WAY_OUT}",
            [name],
        )
    return x, y
