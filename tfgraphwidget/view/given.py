"""Positions from any networkx layout callable, made free of overlaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.view.flow import Flow
from tfgraphwidget.view.placed import Piece
from tfgraphwidget.view.structure import BORDER

Points = npt.NDArray[np.float64]
_GAP = 24.0
_SPREAD = 3.0  # scale up at most until the boxes cover about a ninth of the drawing; what still overlaps is pushed


def given(layout: Callable[[Any], Mapping[Any, Any]], siblings: Sequence[str], flow: Flow) -> Piece:
    """A flow drawn with `layout`, a callable like those of networkx; `siblings` are its container's nodes' names.

    The callable gets a DiGraph of names whose nodes carry `width` and `height` in pixels, and returns
    name -> (x, y), as networkx does with y upwards.
    """
    graph, names = nx.DiGraph(), [siblings[node] for node in flow.part.nodes]
    for name, (width, height) in zip(names, flow.sizes, strict=True):
        graph.add_node(name, width=width, height=height)
    for line in flow.lines:
        if BORDER not in (line.source, line.target):
            graph.add_edge(names[line.source], names[line.target])
    sizes = np.array(flow.sizes, dtype=np.float64).reshape(-1, 2)
    centre = _apart(_asked(layout, graph), sizes)
    corner = centre - sizes / 2
    corner -= corner.min(axis=0, initial=np.inf) if len(corner) else 0.0
    width, height = (corner + sizes).max(axis=0, initial=0.0).tolist()
    return _with_routes(flow, corner, sizes, width, height)


def _asked(layout: Callable[[Any], Mapping[Any, Any]], graph: nx.DiGraph) -> Points:
    """What the callable answers, float64 (n, 2), y downwards."""
    called = getattr(layout, "__name__", type(layout).__name__)
    way_out = "Pass a callable like networkx.kamada_kawai_layout, or none for the layered drawing."
    try:
        answer = layout(graph)
        points = np.array([[float(answer[node][0]), float(answer[node][1])] for node in graph], dtype=np.float64)
    except KeyError as error:
        raise GraphEditError(f"The layout {called!r} gave no position for {error.args[0]!r}. {way_out}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise GraphEditError(f"The layout {called!r} failed ({reason}). {way_out}") from error
    if not all(isfinite(value) for value in points.ravel().tolist()):
        raise GraphEditError(f"The layout {called!r} gave positions that are not finite numbers. {way_out}")
    return points.reshape(-1, 2) * [1.0, -1.0]


def _apart(points: Points, sizes: Points) -> Points:
    """Scale up until no two boxes overlap, as far as that makes sense; push apart what still does."""
    n = len(points)
    if n < 2:
        return points
    i, j = np.triu_indices(n, 1)
    need = (sizes[i] + sizes[j]) / 2 + _GAP
    distance = np.abs(points[i] - points[j])
    extent = max(float(np.ptp(points, axis=0).max()), 1e-9)
    # A pair is apart when it is far enough in x or in y; the scale must suffice for the worst pair.
    with np.errstate(divide="ignore"):
        scale = float(np.min(need / np.maximum(distance, 1e-12), axis=1).max())
    enough = _SPREAD * float(np.sqrt((sizes + _GAP).prod(axis=1).sum())) / extent
    points = points * min(scale, enough)
    return _pushed(points, sizes)


def _pushed(points: Points, sizes: Points) -> Points:
    """Boxes from top to bottom; each moves down past the ones it would overlap; most stay where they are."""
    order = np.lexsort((points[:, 0], points[:, 1]))
    settled = points.copy()
    done: list[int] = []
    for node in order.tolist():
        moved = True
        while moved and done:
            other = np.array(done)
            need = (sizes[other] + sizes[node]) / 2 + _GAP
            near = (np.abs(settled[other] - settled[node]) < need - 1e-6).all(axis=1)
            moved = bool(near.any())
            if moved:
                settled[node, 1] = float((settled[other, 1] + need[:, 1])[near].max())
        done.append(node)
    return settled


def _with_routes(flow: Flow, corner: Points, sizes: Points, width: float, height: float) -> Piece:
    """Straight lines between the borders of the boxes; to and from the middle of the container's border."""
    centre = corner + sizes / 2
    routes = []
    for line in flow.lines:
        start = np.array([width / 2, 0.0]) if line.source == BORDER else centre[line.source]
        end = np.array([width / 2, height]) if line.target == BORDER else centre[line.target]
        first = start if line.source == BORDER else _at_border(start, end, sizes[line.source])
        last = end if line.target == BORDER else _at_border(end, start, sizes[line.target])
        routes.append([(float(first[0]), float(first[1])), (float(last[0]), float(last[1]))])
    touches = any(BORDER in (line.source, line.target) for line in flow.lines)
    middle = width / 2 if touches else None
    return Piece(corner[:, 0].tolist(), corner[:, 1].tolist(), width, height, routes, middle, middle)


def _at_border(inside: Points, outside: Points, size: Points) -> Points:
    """Where the line from the centre of a box to a point outside crosses the box's border."""
    along = outside - inside
    share = float(np.min(size / 2 / np.maximum(np.abs(along), 1e-9)))
    result: Points = inside + along * min(share, 1.0)
    return result
