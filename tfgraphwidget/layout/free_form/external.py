"""The layout of a component by a callable like those of networkx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from tfgraphwidget.layout.layered.components import BORDER, Edge
from tfgraphwidget.layout.layered.layered_graph import LayoutProblem
from tfgraphwidget.layout.packing import pack
from tfgraphwidget.progress import report_each
from tfgraphwidget.sentences import either

Points = npt.NDArray[np.float64]
MAX_NAMES = 2  # names of ops in a message
MANY_EDGES = 500  # fewer are routed in no time, and no progress is shown
_WAY_OUT = (
    "Pass a callable that takes any graph, and that alone, like networkx.kamada_kawai_layout, or "
    "none for the layered drawing."
)


def apply_layout(layout: Layout, siblings: Sequence[str], problem: LayoutProblem) -> MutableLayout:
    """Lay out a component with a user's callable.

    The callable gets a DiGraph of names and returns name -> (x, y), as networkx does with y
    upwards. Nodes have `width` and `height` in pixels and `subset`, the layer that they would have
    in the layered layout. What only the border joins is laid out in separate calls: for most
    layouts nothing holds it together.

    Args:
        siblings: the names of all nodes of the container.

    Returns:
        Boxes and routes, in pixels, y downwards.

    Raises:
        GraphEditError: the callable fails, or returns no finite position for a node.
    """
    graph = _graph(siblings, problem)
    names = list(graph)
    sizes = np.array(problem.sizes, dtype=np.float64).reshape(-1, 2)
    number = {name: node for node, name in enumerate(names)}
    components = nx.weakly_connected_components(graph)
    groups = sorted(sorted(number[name] for name in component) for component in components)
    corner = np.zeros_like(sizes)
    boxes = []
    for nodes in groups:
        points = np.zeros((1, 2))
        if len(nodes) > 1:
            points = _call_layout(layout, _subgraph(graph, [names[node] for node in nodes]))
        low = remove_overlaps(points, sizes[nodes]) - sizes[nodes] / 2
        corner[nodes] = low - low.min(axis=0)
        width, height = (corner[nodes] + sizes[nodes]).max(axis=0) + GAP / 2
        boxes.append((float(width), float(height)))
    places, _, _ = pack(boxes, problem.aspect)
    for nodes, place in zip(groups, places, strict=True):
        corner[nodes] += place
    return _with_routes(problem, corner, sizes)


def _with_routes(problem: LayoutProblem, corner: Points, sizes: Points) -> MutableLayout:
    """A component whose boxes have their places, as large as its boxes and routes are."""
    corner = corner - corner.min(axis=0)
    routes, enter, leave = _routes(problem, corner, sizes)
    points = flatten(routes)
    low = np.minimum(points.min(axis=0, initial=0.0), 0.0)
    high = np.maximum(points.max(axis=0, initial=0.0), (corner + sizes).max(axis=0))
    for edge, route in zip(problem.edges, routes, strict=True):
        # The last segment before a border is vertical, so it can be extended.
        if edge.source == BORDER:
            route[0] = (route[0][0], float(low[1]))
        if edge.target == BORDER:
            route[-1] = (route[-1][0], float(high[1]))
    left, top = (corner - low).T.tolist()
    low_x, low_y = low.tolist()
    width, height = (high - low).tolist()
    return MutableLayout(
        left,
        top,
        width,
        height,
        routes=[[(x - low_x, y - low_y) for x, y in route] for route in routes],
        enter=() if enter is None else (enter - low_x,),
        leave=() if leave is None else (leave - low_x,),
    )


def _routes(
    problem: LayoutProblem, corner: Points, sizes: Points
) -> tuple[list[list[Point]], float | None, float | None]:
    """The routes of the edges, and the x where they come from the border and go to it.

    These are in the middle of their other ends.
    """
    middle = (corner[:, 0] + sizes[:, 0] / 2).tolist()
    enter = _median([middle[edge.target] for edge in problem.edges if edge.source == BORDER])
    leave = _median([middle[edge.source] for edge in problem.edges if edge.target == BORDER])
    margin = CLEAR + 2 * STUB  # so no edge to it ends like one to a port (`PolylineRerouter`)
    level = -margin, float((corner + sizes)[:, 1].max()) + margin
    ports = [None if port is None else (port[0][0], port[1][0]) for port in problem.ports]
    router = PolylineRouter(corner, sizes, ports, (enter or 0.0, leave or 0.0), level)
    pairs = {(edge.source, edge.target) for edge in problem.edges}
    edges: Iterable[Edge] = problem.edges
    if len(problem.edges) > MANY_EDGES:
        edges = report_each(problem.edges, "Drawing the lines")
    routes = []
    for edge in edges:
        has_twin = (edge.target, edge.source) in pairs  # one in the other direction
        routes.append(router.route(edge.source, edge.target, twin=has_twin))
    return routes, enter, leave


def _median(values: Sequence[float]) -> float | None:
    """The median of some numbers; None for none."""
    return float(np.median(values)) if values else None


def _graph(siblings: Sequence[str], problem: LayoutProblem) -> nx.DiGraph:
    """The nodes of a component in their order.

    The name that a scope shares with an op gets a slash at its end.
    """
    graph = nx.DiGraph()
    names = []
    component = problem.component
    for node, (width, height), layer in zip(
        component.nodes, problem.sizes, component.rank, strict=True
    ):
        name = siblings[node]
        while name in graph:
            name += "/"
        graph.add_node(name, width=width, height=height, subset=layer)
        names.append(name)
    for edge in problem.edges:
        if BORDER not in (edge.source, edge.target):
            graph.add_edge(names[edge.source], names[edge.target])
    return graph


def _subgraph(graph: nx.DiGraph, names: Sequence[str]) -> nx.DiGraph:
    """Some nodes and what joins them, in this order; networkx's own differs by process."""
    subgraph = nx.DiGraph()
    subgraph.add_nodes_from((name, graph.nodes[name]) for name in names)
    subgraph.add_edges_from(graph.edges(names))
    return subgraph


def _call_layout(layout: Layout, graph: nx.DiGraph) -> Points:
    """The callable's positions, float64 (n, 2), y downwards; the first two dimensions."""
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
        some = ", ".join(map(repr, names[:MAX_NAMES]))
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
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
        raise GraphEditError(
            f"The layout {layout_name!r} gave no position for {name!r}. {_WAY_OUT}", [name]
        ) from error
    try:
        x = float(position[0])
        y = -float(position[1])
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        x, y = nan, nan
    if not (isfinite(x) and isfinite(y)):
        raise GraphEditError(
            f"The layout {layout_name!r} put {name!r} at {position!r}, which is not a pair of "
            f"finite numbers. {_WAY_OUT}",
            [name],
        )
    return x, y
