"""The same columns and order again after sizes or edges have changed, so that everything stays where the eye left it.

Where a box has grown, x is stretched: what is right of the box moves by as much as it grew, what is left of it stays,
and what is above or below moves along. No two things change their order, and nothing moves further than the box has
grown. Where all boxes at some x have shrunk, x shrinks in the same way. New vertices are inserted near what they are
linked to (`insert_into_rows`), and dummy nodes move back below the boxes that they come from (`unbend_chains`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import distinct
from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.incremental.previous_layout import Packing
from tfgraphwidget.layout.layered.layered_graph import Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.placement import isotonic_placement
from tfgraphwidget.layout.layered.routing import Column, route_column
from tfgraphwidget.layout.packing import GAP, extent, pack_beside

_NEAR = 8  # places to either side of the wished one that are looked at
_PORTS = 1e-4  # of the distance of a port from the middle of its box: tells only which line is left of which
_TIGHT = 3.0  # a pixel that others must move for it counts as so many that it stands away from where it would be


def insert_into_rows(
    graph: LayeredGraph, number: int, x: Mapping[int, float], hints: Mapping[int, float]
) -> dict[int, float]:
    """Insert new vertices into the rows of a column.

    Args:
        graph: The layered graph; its rows are sorted.
        number: The number of the column.
        x: The x of the vertices that keep it.
        hints: The preferred x of some others.

    Returns:
        The x of all vertices of the column; new ones may still overlap their neighbors.
    """
    hint = _estimate_x(graph, number, {**hints, **x})
    for row in graph.layers[number]:
        vertices = sorted((v for v in row if v in x), key=lambda v: hint[v])
        for vertex in sorted((v for v in row if v not in x), key=lambda v: (hint[v], v)):
            at = bisect_left(vertices, hint[vertex], key=lambda v: hint[v])
            near = range(max(0, at - _NEAR), min(len(vertices), at + _NEAR) + 1)
            slots = [(*_slot(graph, vertices, vertex, hint, i), i) for i in near]
            _, hint[vertex], position = min(slots, key=lambda slot: (slot[0], abs(slot[2] - at)))
            vertices.insert(position, vertex)
        row[:] = vertices
    return hint


def _slot(
    graph: LayeredGraph, vertices: Sequence[int], vertex: int, hint: Mapping[int, float], i: int
) -> tuple[float, float]:
    """How bad it is to put a vertex at this place of a row, and the x it would have."""
    half, high = graph.width(vertex) / 2, inf
    low = half  # left of the column's edge would be as bad as between two that must move
    if i:
        low = hint[vertices[i - 1]] + graph.width(vertices[i - 1]) / 2 + graph.space(vertices[i - 1], vertex) + half
    if i < len(vertices):
        high = hint[vertices[i]] - graph.width(vertices[i]) / 2 - graph.space(vertex, vertices[i]) - half
    at = (low + high) / 2 if low > high else min(max(hint[vertex], low), high)
    return abs(at - hint[vertex]) + _TIGHT * max(0.0, low - high), at


def _estimate_x(graph: LayeredGraph, number: int, x: Mapping[int, float]) -> dict[int, float]:
    """An x for all vertices of a column: from those that have one along the lines; the rest to the right.

    Lines that leave one box stand in the order of their ports, near its middle: `unbend_chains` moves them on.
    """
    nodes = len(graph.problem.sizes)
    near: dict[int, list[tuple[int, float]]] = {}
    for a, b, hyperedge in graph.links[number]:
        aside = _PORTS * graph.port(a, hyperedge, leaves=True) if a < nodes else 0.0
        near.setdefault(a, []).append((b, -aside))
        near.setdefault(b, []).append((a, aside))
    hint = dict(x)
    todo = list(x)
    for vertex in todo:
        for other, _ in near.get(vertex, ()):
            if other not in hint:
                hints = [hint[v] + aside for v, aside in near[other] if v in hint]
                hint[other] = sum(hints) / len(hints)
                todo.append(other)
    right = max(x.values(), default=0.0)
    return {v: hint.get(v, right) for row in graph.layers[number] for v in row}


_SAME, _EDGE, _BACK = 0.5, 10.0, 8.0
Ends = tuple[dict[int, list[tuple[int, float]]], dict[int, list[int]]]


def unbend_chains(graph: LayeredGraph, number: int, x: dict[int, float]) -> None:
    """Move dummy nodes that bend at both ends to where one end is straight, if there is space.

    Args:
        graph: The layered graph.
        number: The number of the column.
        x: The x of its vertices; it is changed.
    """
    ends = _ends(graph, number)
    place = {vertex: (row, i) for row in graph.layers[number] for i, vertex in enumerate(row)}
    for chain in _chains(x, ends):
        wishes = _wishes(graph, x, ends, chain)
        if not wishes or any(abs(wish - x[chain[0]]) < _SAME for wish in wishes):
            continue
        low, high = -inf, inf
        for vertex in chain:
            row, i = place[vertex]
            if i:
                low = max(low, x[row[i - 1]] + graph.gap(row[i - 1], vertex))
            if i + 1 < len(row):
                high = min(high, x[row[i + 1]] - graph.gap(vertex, row[i + 1]))
        at = max(low, min(high, wishes[0]))
        for vertex in chain:
            x[vertex] = at


def _ends(graph: LayeredGraph, number: int) -> Ends:
    """By lane: what is above it, and how far aside a way back leaves that; and what is below it."""
    nodes = len(graph.problem.sizes)
    above: dict[int, list[tuple[int, float]]] = {}
    below: dict[int, list[int]] = {}
    for a, b, hyperedge in graph.links[number]:
        if b >= nodes:
            above.setdefault(b, []).append((a, _BACK if hyperedge[0] == "back" and a < nodes else 0.0))
            below.setdefault(b, [])
        if a >= nodes:
            below.setdefault(a, []).append(b)
            above.setdefault(a, [])
    return above, below


def _chains(x: dict[int, float], ends: Ends) -> list[list[int]]:
    """Lanes right below each other."""
    above, below = ends

    def goes_on(a: int, b: int) -> bool:
        return b in above and abs(x[a] - x[b]) < _SAME

    chains = []
    for dummy in below:
        if any(a in below and goes_on(a, dummy) for a, _ in above[dummy]):
            continue
        chain = [dummy]
        while following := [b for b in below[chain[-1]] if goes_on(chain[-1], b)]:
            chain.append(following[0])
        chains.append(chain)
    return chains


def _wishes(graph: LayeredGraph, x: dict[int, float], ends: Ends, chain: list[int]) -> list[float]:
    """The positions at which the chain is straight at one of its ends, those above it first."""
    (above, below), at = ends, x[chain[0]]
    hyperedge = graph.hyperedge[chain[0] - len(graph.problem.sizes)]
    wishes = [_wish(graph, x, a, at, hyperedge, leaves=True) + aside for a, aside in above[chain[0]]]
    for vertex, onward in zip(chain, [*chain[1:], -1], strict=True):
        wishes += [_wish(graph, x, b, at, hyperedge, leaves=False) for b in below[vertex] if b != onward]
    return wishes


def _wish(graph: LayeredGraph, x: dict[int, float], end: int, at: float, by: Hyperedge, *, leaves: bool) -> float:
    """The position at which a line at `at` leaves or enters a vertex."""
    if end >= len(graph.problem.sizes):
        return x[end]
    half = graph.width(end) / 2 - _EDGE
    if graph.problem.ports[end] is not None:
        return x[end] + graph.port(end, by, leaves=leaves)
    return min(max(at, x[end] - half), x[end] + half)


Floats = npt.NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[float, float, float]


@dataclass(frozen=True)
class VertexOrigins:
    """Which vertices of a plan were which before: those of the `same` row, and nodes that have `moved` to another."""

    same: dict[int, int]
    moved: dict[int, int]


def stretch_columns(
    before: LayeredGraph, columns: list[Column], graph: LayeredGraph, was: VertexOrigins | None = None
) -> list[Column]:
    """Place columns near to where they were.

    Args:
        before: The earlier layered graph.
        columns: The earlier columns.
        graph: The new layered graph.
        was: The earlier vertex of each vertex if edges have changed, else None.

    Returns:
        The new columns.
    """
    stretched = []
    for number, old in enumerate(columns):
        same, x = {vertex: vertex for vertex in old.x}, old.x
        if was is not None:
            here = [vertex for row in graph.layers[number] for vertex in row]
            same = {v: was.same[v] for v in here if was.same.get(v) in old.x}
            moved = {v: old.x[was.moved[v]] for v in here if was.moved.get(v) in old.x}
            x = insert_into_rows(graph, number, {v: old.x[there] for v, there in same.items()}, moved)
        move = _Stretch(_spans(before, graph, number, old, same))
        middle = np.array(list(x.values()))
        half = np.array([before.width(same[v]) / 2 if v in same else 0.0 for v in x])
        centers = dict(zip(x, ((move(middle - half) + move(middle + half)) / 2).tolist(), strict=True))
        if len(same) < len(x):
            _settle_nodes(graph, number, centers, same)
        unbend_chains(graph, number, centers)
        stretched.append(route_column(graph, number, centers, _floor(before, graph, old, same)))
    return stretched


def _settle_nodes(graph: LayeredGraph, number: int, x: dict[int, float], firm: Mapping[int, int]) -> None:
    """Let new vertices stand beside the others, which do not move."""
    for row in graph.layers[number]:
        if any(v not in firm for v in row):
            gaps = [graph.gap(a, b) for a, b in pairwise(row)]
            weights = [1e9 if v in firm else 1.0 for v in row]
            x.update(zip(row, isotonic_placement([x[v] for v in row], weights, gaps), strict=True))


def _floor(before: LayeredGraph, graph: LayeredGraph, old: Column, same: Mapping[int, int]) -> dict[int, float]:
    """How high up each box may be: where it was, or higher by as much as all boxes beside each other have shrunk."""
    boxes = [(v, there) for v, there in same.items() if there < len(before.problem.sizes)]
    top = np.array([old.top[there] for _, there in boxes])
    tall = np.array([before.problem.sizes[there][1] for _, there in boxes])
    more = np.array([graph.problem.sizes[v][1] for v, _ in boxes]) - tall
    floor = _stretch(top, tall, np.minimum(tall, tall + more))
    return dict(zip((v for v, _ in boxes), floor.tolist(), strict=True))


def stretch_packing(pack: Packing, at: Sequence[int], boxes: Sequence[Size], aspect: float) -> list[Point]:
    """Place packed boxes near to where they were.

    Args:
        pack: The earlier packing.
        at: The earlier number of each box; -1 for a new one, which is placed next to or below the others.
        boxes: The new widths and heights.
        aspect: The target ratio of width to height.

    Returns:
        The corners of the boxes.
    """
    there = [i for i, was in enumerate(at) if was >= 0]
    low, old = (np.array([some[at[i]] for i in there]).reshape(-1, 2) for some in (pack.places, pack.boxes))
    new = np.array([boxes[i] for i in there]).reshape(-1, 2)
    moved = [_stretch(low[:, k], old[:, k], new[:, k]) for k in (0, 1)]
    corner = dict(zip(there, zip(moved[0].tolist(), moved[1].tolist(), strict=True), strict=True))
    more = [i for i, was in enumerate(at) if was < 0]
    if more:
        width, height = extent([boxes[i] for i in there], list(corner.values()))
        below, places = pack_beside((width, height), [boxes[i] for i in more], aspect)
        right, down = (0.0, height + GAP) if below else (width + GAP, 0.0)
        corner |= {i: (x + right, y + down) for i, (x, y) in zip(more, places, strict=True)}
    return [corner[i] for i in range(len(boxes))]


def _stretch(low: Floats, old: Floats, new: Floats) -> Floats:
    return _Stretch(list(zip(low, low + old, new - old, strict=True)))(low)


def _spans(
    before: LayeredGraph, graph: LayeredGraph, number: int, column: Column, was: Mapping[int, int]
) -> list[Span]:
    """Pieces of x (from, to) that must grow by so much at least, or may shrink by so much (negative).

    Gaps between neighbors shrink by no more than boxes above or below them do: else all stays where it is.
    """
    spans: list[Span] = []
    gaps: list[Span] = []
    neighbors = {pair for row in before.layers[number] for pair in pairwise(row)}
    for row in graph.layers[number]:
        left, last, room = None, -1, 0.0  # the last box or lane that was there, and what has come since
        for i, vertex in enumerate(row):
            room += graph.space(row[i - 1], vertex) if i else 0.0
            there = was.get(vertex)
            if there is None:
                room += graph.width(vertex)
                continue
            half = before.width(there) / 2
            low, high = column.x[there] - half, column.x[there] + half
            spans.append((low, high, graph.width(vertex) - 2 * half))
            if left is not None:
                more = room - (low - left)
                (gaps if more < 0 and (last, there) in neighbors else spans).append((left, low, more))
            left, last, room = high, there, 0.0
    spans += [
        (left, low, max(more, most)) for (left, low, more), most in zip(gaps, _shrinkage(spans, gaps), strict=True)
    ]
    return [span for span in spans if span[1] - span[0] > 1e-9]


def _shrinkage(spans: list[Span], gaps: list[Span]) -> list[float]:
    """By how much (negative) the spans that are above or below each gap shrink, taken together."""
    low, high, less = np.array([span for span in spans if span[2] < -_SAME]).reshape(-1, 3).T
    left, right, _ = np.array(gaps).reshape(-1, 3).T
    ended, begun = np.argsort(high), np.argsort(low)
    before = np.concatenate([[0.0], np.cumsum(less[ended])])[np.searchsorted(high[ended], left, side="right")]
    until = np.concatenate([[0.0], np.cumsum(less[begun])])[np.searchsorted(low[begun], right)]
    result: list[float] = (until - before).tolist()
    return result


class _Stretch:
    """A map of x that grows by what the spans ask for."""

    def __init__(self, spans: list[Span]) -> None:
        low, high, more = np.array(spans).reshape(-1, 3).T
        self.at = distinct(np.concatenate([low, high]))
        rate = np.full(max(0, len(self.at) - 1), -np.inf)
        start, stop = np.searchsorted(self.at, low), np.searchsorted(self.at, high)
        # The largest last: it overwrites the others.
        steep = more / (high - low)
        for i in np.argsort(steep, kind="stable").tolist():
            rate[start[i] : stop[i]] = steep[i]
        rate[np.isinf(rate)] = 0.0
        self.moved = np.concatenate([[0.0], np.cumsum(rate * np.diff(self.at))]) if len(self.at) else self.at

    def __call__(self, x: Floats) -> Floats:
        return x + np.interp(x, self.at, self.moved) if len(self.at) else x
