"""The same columns and order again after sizes or edges have changed: things stay where they were.

Where a box has grown, x is stretched: what is right of the box moves by as much as it grew, what is
left of it stays, and what is above or below moves with it. No two things change their order, and
nothing moves further than the box has grown. Where all boxes at some x have shrunk, x shrinks in
the same way. New vertices are inserted near what they are linked to (`insert_into_rows`), and dummy
nodes move back below the boxes that they come from (`unbend_chains`).

That the order stays and distances change little is what K. Misue, P. Eades, W. Lai, K. Sugiyama
call the mental map, in "Layout adjustment and the mental map" (1995).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import distinct
from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.incremental.previous_layout import Packing
from tfgraphwidget.layout.layered.layered_graph import Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.placement import isotonic_placement
from tfgraphwidget.layout.layered.routing import Column, route_column
from tfgraphwidget.layout.packing import GAP, extent, pack_beside

NEAR = 8  # places to either side of the preferred one that are compared
PORT_SHARE = 1e-4  # of a port's distance from the middle: says only which edge is left of which
MOVE_COST = 3.0  # what a pixel costs that others move; one beside the preferred place costs 1

SAME = 0.5  # pixels; what is no further apart is at the same place
CORNER = 10.0  # pixels from the corner of a node to the outermost place of an edge
BACK_ASIDE = 8.0  # pixels from the middle of a node to where a reversed edge leaves it
FIRM_WEIGHT = 1e9  # of vertices that do not move, where one of a new vertex is 1


def insert_into_rows(
    graph: LayeredGraph, number: int, x: Mapping[int, float], hints: Mapping[int, float]
) -> dict[int, float]:
    """Insert new vertices into the rows of a column, and sort the rows.

    `x` is kept by those that have one; `hints` are the preferred x of some others. The x of all
    vertices of the column are returned; new ones may still overlap their neighbors.

    Args:
        graph: The layered graph; its rows are sorted.
        x: The x of the vertices that keep it.
    """
    preferred = _estimate_x(graph, number, {**hints, **x})
    for row in graph.layers[number]:
        vertices = sorted((vertex for vertex in row if vertex in x), key=preferred.__getitem__)
        new = [vertex for vertex in row if vertex not in x]
        for vertex in sorted(new, key=lambda vertex: (preferred[vertex], vertex)):
            best = bisect_left(vertices, preferred[vertex], key=preferred.__getitem__)
            near = range(max(0, best - NEAR), min(len(vertices), best + NEAR) + 1)
            slots = [_slot(graph, vertices, vertex, preferred, position) for position in near]
            slot = min(slots, key=lambda slot: (slot.cost, abs(slot.position - best)))
            preferred[vertex] = slot.x
            vertices.insert(slot.position, vertex)
        row[:] = vertices
    return preferred


class _Slot(NamedTuple):
    """A position in a row where a vertex may be inserted, what that costs, and the x it gets."""

    position: int
    cost: float
    x: float


def _slot(
    graph: LayeredGraph,
    vertices: Sequence[int],
    vertex: int,
    preferred: Mapping[int, float],
    position: int,
) -> _Slot:
    """What it costs to insert a vertex at a position of a row, by the `preferred` x of all."""
    half = graph.width(vertex) / 2
    low = half  # left of the column's side would be as bad as between two that must move
    high = inf
    if position > 0:
        left = vertices[position - 1]
        low = preferred[left] + graph.width(left) / 2 + graph.space(left, vertex) + half
    if position < len(vertices):
        right = vertices[position]
        high = preferred[right] - graph.width(right) / 2 - graph.space(vertex, right) - half
    is_too_narrow = low > high
    x = (low + high) / 2 if is_too_narrow else min(max(preferred[vertex], low), high)
    cost = abs(x - preferred[vertex]) + MOVE_COST * max(0.0, low - high)
    return _Slot(position, cost, x)


def _estimate_x(graph: LayeredGraph, number: int, x: Mapping[int, float]) -> dict[int, float]:
    """An x for all vertices of a column: that of what they are linked to; else one on the right.

    Edges that leave one box are in the order of their ports, near its middle: `unbend_chains` moves
    them on.
    """
    nodes = graph.node_count
    near: dict[int, list[tuple[int, float]]] = {}
    for upper, lower, hyperedge in graph.links[number]:
        aside = 0.0
        if upper < nodes:
            aside = PORT_SHARE * graph.port(upper, hyperedge, leaves=True)
        near.setdefault(upper, []).append((lower, -aside))
        near.setdefault(lower, []).append((upper, aside))
    # Breadth first from the vertices that have an x. The list grows while it is gone through.
    estimate = dict(x)
    queue = list(x)
    for vertex in queue:
        for other, _ in near.get(vertex, ()):
            if other not in estimate:
                hints = [estimate[v] + aside for v, aside in near[other] if v in estimate]
                estimate[other] = sum(hints) / len(hints)
                queue.append(other)
    right = max(x.values(), default=0.0)
    vertices = chain.from_iterable(graph.layers[number])
    return {vertex: estimate.get(vertex, right) for vertex in vertices}


Neighbors = tuple[dict[int, list[tuple[int, float]]], dict[int, list[int]]]
"""By dummy node, what is above it and how far aside it leaves that; and what is below it."""


def unbend_chains(graph: LayeredGraph, number: int, x: dict[int, float]) -> None:
    """Move dummy nodes that bend at both ends to where one end is straight, if there is space.

    `x` is changed; `number` is that of the column.

    Args:
        x: The x of its vertices; it is changed.
    """
    neighbors = _find_neighbors(graph, number)
    place = {vertex: (row, i) for row in graph.layers[number] for i, vertex in enumerate(row)}
    for dummies in _chains(x, neighbors):
        straight = _straight_places(graph, x, neighbors, dummies)
        if not straight or any(abs(at - x[dummies[0]]) < SAME for at in straight):
            continue
        low, high = -inf, inf
        for vertex in dummies:
            row, i = place[vertex]
            if i > 0:
                low = max(low, x[row[i - 1]] + graph.gap(row[i - 1], vertex))
            if i + 1 < len(row):
                high = min(high, x[row[i + 1]] - graph.gap(vertex, row[i + 1]))
        new_x = max(low, min(high, straight[0]))
        for vertex in dummies:
            x[vertex] = new_x


def _find_neighbors(graph: LayeredGraph, number: int) -> Neighbors:
    """What is above and below each dummy node of a column."""
    nodes = graph.node_count
    above: dict[int, list[tuple[int, float]]] = {}
    below: dict[int, list[int]] = {}
    for upper, lower, hyperedge in graph.links[number]:
        if lower >= nodes:
            is_back = hyperedge[0] == "back" and upper < nodes
            above.setdefault(lower, []).append((upper, BACK_ASIDE if is_back else 0.0))
            below.setdefault(lower, [])
        if upper >= nodes:
            below.setdefault(upper, []).append(lower)
            above.setdefault(upper, [])
    return above, below


def _chains(x: dict[int, float], neighbors: Neighbors) -> list[list[int]]:
    """Chains of dummy nodes right below each other."""
    above, below = neighbors

    def continues(upper: int, lower: int) -> bool:
        """Whether the lower one is a dummy node right below the upper one."""
        return lower in above and abs(x[upper] - x[lower]) < SAME

    chains = []
    for dummy in below:
        if any(upper in below and continues(upper, dummy) for upper, _ in above[dummy]):
            continue  # it is not the first of its chain
        dummies = [dummy]
        while True:
            last = dummies[-1]
            following = next((lower for lower in below[last] if continues(last, lower)), None)
            if following is None:
                break
            dummies.append(following)
        chains.append(dummies)
    return chains


def _straight_places(
    graph: LayeredGraph, x: dict[int, float], neighbors: Neighbors, dummies: list[int]
) -> list[float]:
    """The x at which a chain is straight at one of its ends, those above it first."""
    above, below = neighbors
    first = dummies[0]
    hyperedge = graph.hyperedge[first - graph.node_count]
    places = []
    for vertex, aside in above[first]:
        places.append(_nearest_place(graph, x, vertex, x[first], hyperedge, leaves=True) + aside)
    for dummy, following in zip(dummies, [*dummies[1:], None], strict=True):
        for vertex in below[dummy]:
            if vertex != following:
                place = _nearest_place(graph, x, vertex, x[first], hyperedge, leaves=False)
                places.append(place)
    return places


def _nearest_place(
    graph: LayeredGraph,
    x: dict[int, float],
    vertex: int,
    wanted: float,
    hyperedge: Hyperedge,
    *,
    leaves: bool,
) -> float:
    """The x nearest to the wanted one at which a hyperedge `leaves` or enters a vertex."""
    if vertex >= graph.node_count:
        return x[vertex]
    if graph.problem.ports[vertex] is not None:
        return x[vertex] + graph.port(vertex, hyperedge, leaves=leaves)
    half = graph.width(vertex) / 2 - CORNER
    return min(max(wanted, x[vertex] - half), x[vertex] + half)


Floats = npt.NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[float, float, float]
"""A piece of x as (from, to), and by how much it must grow at least; negative: it may shrink."""


@dataclass(frozen=True)
class VertexOrigins:
    """The earlier vertex of each that is in the `same` layer, and of nodes that have `moved`."""

    same: dict[int, int]
    moved: dict[int, int]


def stretch_columns(
    before: LayeredGraph,
    columns: list[Column],
    graph: LayeredGraph,
    was: VertexOrigins | None = None,
) -> list[Column]:
    """Place columns near to where they were.

    Args:
        was: The earlier vertex of each vertex if edges have changed, else None.
    """
    stretched = []
    for number, old in enumerate(columns):
        x = old.x
        same = {vertex: vertex for vertex in old.x}
        if was is not None:
            vertices = list(chain.from_iterable(graph.layers[number]))
            same = {v: was.same[v] for v in vertices if was.same.get(v) in old.x}
            hints = {v: old.x[was.moved[v]] for v in vertices if was.moved.get(v) in old.x}
            kept_x = {v: old.x[earlier] for v, earlier in same.items()}
            x = insert_into_rows(graph, number, kept_x, hints)
        move = _Stretch(_spans(before, graph, number, old, same))
        middle = np.array(list(x.values()))
        half = np.array([before.width(same[v]) / 2 if v in same else 0.0 for v in x])
        # The middle between where the left side and the right side of each box move.
        new_middle = (move(middle - half) + move(middle + half)) / 2
        centers = dict(zip(x, new_middle.tolist(), strict=True))
        if len(same) < len(x):
            _settle_nodes(graph, number, centers, same)
        unbend_chains(graph, number, centers)
        stretched.append(route_column(graph, number, centers, _floor(before, graph, old, same)))
    return stretched


def _settle_nodes(
    graph: LayeredGraph, number: int, x: dict[int, float], firm: Mapping[int, int]
) -> None:
    """Place new vertices beside the `firm` ones, which do not move."""
    for row in graph.layers[number]:
        if any(vertex not in firm for vertex in row):
            targets = [x[vertex] for vertex in row]
            weights = [FIRM_WEIGHT if vertex in firm else 1.0 for vertex in row]
            gaps = [graph.gap(left, right) for left, right in pairwise(row)]
            places = isotonic_placement(targets, weights, gaps)
            x.update(zip(row, places, strict=True))


def _floor(
    before: LayeredGraph, graph: LayeredGraph, old: Column, same: Mapping[int, int]
) -> dict[int, float]:
    """How high up each box may be, in pixels.

    It may be where it was, or higher by as much as all boxes beside each other have shrunk.
    """
    nodes = {node: earlier for node, earlier in same.items() if earlier < before.node_count}
    top = np.array([old.top[earlier] for earlier in nodes.values()])
    old_height = np.array([before.problem.sizes[earlier][1] for earlier in nodes.values()])
    growth = np.array([graph.problem.sizes[node][1] for node in nodes]) - old_height
    floor = _stretch(top, old_height, np.minimum(old_height, old_height + growth))
    return dict(zip(nodes, floor.tolist(), strict=True))


def stretch_packing(
    pack: Packing, at: Sequence[int], boxes: Sequence[Size], aspect: float
) -> list[Point]:
    """Place packed boxes near to where they were.

    Args:
        at: The earlier number of each box; -1 for a new one, which is placed next to or
            below the others.
        aspect: The target ratio of width to height.
    """
    old = [i for i, earlier in enumerate(at) if earlier >= 0]
    place = np.array([pack.places[at[i]] for i in old]).reshape(-1, 2)
    old_size = np.array([pack.boxes[at[i]] for i in old]).reshape(-1, 2)
    new_size = np.array([boxes[i] for i in old]).reshape(-1, 2)
    x, y = (_stretch(place[:, k], old_size[:, k], new_size[:, k]).tolist() for k in (0, 1))
    corner = dict(zip(old, zip(x, y, strict=True), strict=True))

    added = [i for i, earlier in enumerate(at) if earlier < 0]
    if added:
        width, height = extent([boxes[i] for i in old], list(corner.values()))
        below, places = pack_beside((width, height), [boxes[i] for i in added], aspect)
        right, down = (0.0, height + GAP) if below else (width + GAP, 0.0)
        for i, (left, top) in zip(added, places, strict=True):
            corner[i] = (left + right, top + down)
    return [corner[i] for i in range(len(boxes))]


def _stretch(low: Floats, old: Floats, new: Floats) -> Floats:
    """Where boxes move along one axis that begin at `low` and have `new` sizes in place of old."""
    return _Stretch(list(zip(low, low + old, new - old, strict=True)))(low)


def _spans(
    before: LayeredGraph,
    graph: LayeredGraph,
    number: int,
    column: Column,
    earlier: Mapping[int, int],
) -> list[Span]:
    """By how much the pieces of x in a column must grow, or may shrink.

    Gaps between neighbors shrink by no more than boxes above or below them do: otherwise they stay.
    """
    spans: list[Span] = []
    gaps: list[Span] = []
    old_neighbors = {pair for row in before.layers[number] for pair in pairwise(row)}
    for row in graph.layers[number]:
        last = None  # the last vertex that was there before, by its earlier number
        end_of_last = 0.0
        needed = 0.0  # for what has come since
        for i, vertex in enumerate(row):
            if i > 0:
                needed += graph.space(row[i - 1], vertex)
            old = earlier.get(vertex)
            if old is None:
                needed += graph.width(vertex)
                continue
            half = before.width(old) / 2
            low, high = column.x[old] - half, column.x[old] + half
            spans.append((low, high, graph.width(vertex) - 2 * half))
            if last is not None:
                growth = needed - (low - end_of_last)
                may_shrink = growth < 0 and (last, old) in old_neighbors
                (gaps if may_shrink else spans).append((end_of_last, low, growth))
            last = old
            end_of_last = high
            needed = 0.0
    shrinkage = _shrinkage(spans, gaps)
    for (low, high, growth), most in zip(gaps, shrinkage, strict=True):
        spans.append((low, high, max(growth, most)))
    return [(low, high, growth) for low, high, growth in spans if high - low > 1e-9]


def _shrinkage(spans: list[Span], gaps: list[Span]) -> list[float]:
    """By how much (negative) the spans that are above or below each gap shrink, taken together."""
    shrinking = [span for span in spans if span[2] < -SAME]
    low, high, growth = np.array(shrinking).reshape(-1, 3).T
    left, right, _ = np.array(gaps).reshape(-1, 3).T
    # The spans that overlap a gap are those that begin before its end, less those that end before
    # it begins. Two running sums answer that for all gaps at once.
    by_high, by_low = np.argsort(high), np.argsort(low)
    sum_by_high = np.concatenate([[0.0], np.cumsum(growth[by_high])])
    sum_by_low = np.concatenate([[0.0], np.cumsum(growth[by_low])])
    before_gap = sum_by_high[np.searchsorted(high[by_high], left, side="right")]
    until_end = sum_by_low[np.searchsorted(low[by_low], right)]
    result: list[float] = (until_end - before_gap).tolist()
    return result


class _Stretch:
    """A map of x that grows by what the spans ask for: linear between the places `at`."""

    def __init__(self, spans: list[Span]) -> None:
        low, high, growth = np.array(spans).reshape(-1, 3).T
        self.at = distinct(np.concatenate([low, high]))
        # How much each piece between two places grows per pixel: as the span that grows most asks.
        rate = np.full(max(0, len(self.at) - 1), -np.inf)
        start, stop = np.searchsorted(self.at, low), np.searchsorted(self.at, high)
        steepness = growth / (high - low)
        for i in np.argsort(steepness, kind="stable").tolist():  # the steepest last: it overwrites
            rate[start[i] : stop[i]] = steepness[i]
        rate[np.isinf(rate)] = 0.0
        self.moved = self.at
        if len(self.at):
            self.moved = np.concatenate([[0.0], np.cumsum(rate * np.diff(self.at))])

    def __call__(self, x: Floats) -> Floats:
        """Where each x moves."""
        return x + np.interp(x, self.at, self.moved) if len(self.at) else x
