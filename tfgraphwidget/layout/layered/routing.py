"""Edge routing within a column: ports, the tracks of horizontal segments, and the y of everything.

A *track* is a height in the space between two layers at which the horizontal segment of a hyperedge runs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.layered.layered_graph import Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.placement import (
    isotonic_placement,
)
from tfgraphwidget.layout.spacing import ABOVE, BELOW, PORT_GAP, TRACK, Skyline, drop_row, lay_track, places_beside

_NEAR = 3.0
_BUBBLE, _PACKED = 40, 400
_SLIGHT = 12.0  # by so little what is in a scope moves for its title


class HyperedgeSpan(NamedTuple):
    """The x where a hyperedge comes from above and where it goes on below, both ascending."""

    tops: tuple[float, ...]
    bottoms: tuple[float, ...]


def assign_tracks(hyperedges: Sequence[HyperedgeSpan]) -> list[int]:
    """The track of each net, 0 on top; -1 for one that goes straight down. Few crossings, no overlap.

    Args:
        hyperedges: The hyperedges between two layers.

    >>> ends = [((0.0,), (50.0,)), ((20.0,), (20.0,)), ((30.0,), (90.0,))]
    >>> assign_tracks([HyperedgeSpan(*tops_and_bottoms) for tops_and_bottoms in ends])
    [1, -1, 0]
    """
    track = [-1] * len(hyperedges)
    bent = [
        _BentEdge(i, hyperedge)
        for i, hyperedge in enumerate(hyperedges)
        if len(hyperedge.tops) + len(hyperedge.bottoms) > 1
    ]
    bent = [hyperedge for hyperedge in bent if hyperedge.high - hyperedge.low >= 1.0]
    if len(bent) > _PACKED:
        return _pack_tracks(bent, track)
    # Of two lines that go right, the one that starts further right is upper: they do not cross then.
    bent.sort(key=lambda hyperedge: hyperedge.start)
    if 1 < len(bent) < _BUBBLE:
        _swap_neighbors(bent)
    for k, hyperedge in enumerate(bent):
        low, high, at = hyperedge.low - _NEAR, hyperedge.high + _NEAR, 0
        for other in bent[:k]:
            if other.low < high and other.high > low and other.track >= at:
                at = other.track + 1
        track[hyperedge.number] = hyperedge.track = at
    return track


class _BentEdge:
    """A net that does not go straight down: its left and right end, and what it is sorted by."""

    __slots__ = ("bottoms", "high", "low", "number", "start", "tops", "track")

    def __init__(self, number: int, hyperedge: HyperedgeSpan) -> None:
        tops, bottoms = hyperedge
        self.number, self.tops, self.bottoms, self.track = number, tops, bottoms, 0
        self.low = min(tops[0], bottoms[0]) if tops and bottoms else (tops or bottoms)[0]
        self.high = max(tops[-1], bottoms[-1]) if tops and bottoms else (tops or bottoms)[-1]
        start = sum(tops) / len(tops) if tops else self.low
        end = sum(bottoms) / len(bottoms) if bottoms else self.high
        self.start = -start if end >= start else start


def _swap_neighbors(bent: list[_BentEdge]) -> None:
    """Exchange neighbors as long as that saves crossings."""
    last = len(bent) - 1
    stale = [True] * last  # pairs that are not known to be right
    for _ in range(_BUBBLE):
        if True not in stale:
            return
        for k in range(last):
            if stale[k]:
                stale[k] = False
                a, b = bent[k], bent[k + 1]
                if a.low - _NEAR < b.high and b.low - _NEAR < a.high and _cost(b, a) < _cost(a, b):
                    bent[k], bent[k + 1] = b, a
                    stale[max(0, k - 1) : k + 2] = [True] * len(stale[max(0, k - 1) : k + 2])
                    stale[k] = False


def _pack_tracks(bent: list[_BentEdge], track: list[int]) -> list[int]:
    """The same for hundreds of nets: from left to right, each on the first track that is free; crossings unheeded."""
    free: list[int] = []
    ends: list[tuple[float, int]] = []
    for hyperedge in sorted(bent, key=lambda hyperedge: hyperedge.low):
        while ends and ends[0][0] + _NEAR < hyperedge.low:
            heappush(free, heappop(ends)[1])
        at = heappop(free) if free else len(ends)
        heappush(ends, (hyperedge.high, at))
        track[hyperedge.number] = at
    return track


def _cost(upper: _BentEdge, lower: _BentEdge) -> int:
    """Crossings when `upper` runs above `lower`; lines that would run on top of each other cost more."""
    tops, bottoms = lower.tops, upper.bottoms
    cost = bisect_right(tops, upper.high) - bisect_left(tops, upper.low)
    cost += bisect_right(bottoms, lower.high) - bisect_left(bottoms, lower.low)
    for x in bottoms:
        at = bisect_left(tops, x - _NEAR)
        if at < len(tops) and tops[at] < x + _NEAR:
            cost += 5
    return cost


@dataclass
class Column:
    """`x` of each vertex's middle, `top` of each box; `bend[(hyperedge, l)]` is the y of a net's track below level l.

    `outlet` and `inlet` are the x where a net leaves and enters a vertex.
    """

    x: dict[int, float]
    width: float
    height: float = 0.0
    top: dict[int, float] = field(default_factory=dict)
    bend: dict[tuple[Hyperedge, int], float] = field(default_factory=dict)
    outlet: dict[tuple[int, Hyperedge], float] = field(default_factory=dict)
    inlet: dict[tuple[int, Hyperedge], float] = field(default_factory=dict)
    left: float = 0.0


def route_column(
    graph: LayeredGraph, number: int, x: dict[int, float], floor: Mapping[int, float] | None = None
) -> Column:
    """Assign ports, tracks and heights to a column whose vertices have their x.

    Args:
        graph: the graph with ordered layers.
        number: the number of the column.
        x: the middle of each vertex, in pixels.
        floor: the least top of each box that has one, in pixels.

    Returns:
        The column; its left border is at 0.
    """
    entries = graph.layers[0][0] if number == 0 and graph.problem.title else []
    others = x.keys() - set(entries) or x.keys()
    low = min((x[v] - graph.width(v) / 2 for v in others), default=0.0)
    high = max((x[v] + graph.width(v) / 2 for v in others), default=0.0)
    column = Column({v: at - low for v, at in x.items()}, high - low)
    if entries:
        _clear_title(graph.problem.title, entries, column)
    _assign_ports(graph, number, column)
    _assign_heights(graph, number, column, floor or {})
    return column


def _clear_title(title: float, entries: Sequence[int], column: Column) -> None:
    """Move the lines that enter below a title to its right; where it is by little, everything moves with them."""
    lack = title - min(column.x[v] for v in entries)
    if lack <= 0:
        return
    places = places_beside([column.x[v] for v in entries], title)
    # Where the ports need more width than the boxes, these stand below the ports.
    shift = lack if lack <= _SLIGHT else min(max(0.0, max(places.values()) + PORT_GAP / 2 - column.width), lack)
    column.x = {v: at + shift for v, at in column.x.items()}
    places = places_beside([column.x[v] for v in entries], title)
    column.x |= {entries[port]: at for port, at in places.items()}
    column.width = max(column.width + shift, max(places.values()) + PORT_GAP / 2)


def _assign_ports(graph: LayeredGraph, number: int, column: Column) -> None:
    """The positions on a node's lower side at which nets leave, and on its upper side at which they enter."""
    nodes = len(graph.problem.sizes)
    entering: dict[int, list[tuple[Hyperedge, float]]] = {}
    sides = {target for _, target, _ in graph.sides[number]}
    backs = {a for a, _, hyperedge in graph.links[number] if hyperedge[0] == "back"} | sides
    ends: dict[tuple[int, Hyperedge], list[int]] = {}
    for a, b, hyperedge in graph.links[number]:
        ends.setdefault((a, hyperedge), []).append(b)
    for (a, hyperedge), lower in ends.items():
        at = column.x[a]
        if a < nodes and graph.problem.ports[a] is not None:
            port = graph.port(a, hyperedge, leaves=True)
            at += min(port + 8.0 * (hyperedge[0] == "back"), graph.problem.sizes[a][0] / 2 - 2)
        elif a < nodes:
            at += 8.0 if hyperedge[0] == "back" else -8.0 if a in backs else 0.0
            at = _straight_outlet(graph, column, (a, hyperedge), lower, at)
        column.outlet[(a, hyperedge)] = at
        for b in lower:
            if b < nodes:
                entering.setdefault(b, []).append((hyperedge, at))
    for node, lines in entering.items():
        _assign_inlets(graph, column, node, lines)


def _straight_outlet(
    graph: LayeredGraph, column: Column, outlet: tuple[int, Hyperedge], lower: list[int], at: float
) -> float:
    """The position on the lower side at which a line leaves: straight above its end, if the boxes overlap enough."""
    if len(lower) > 1:
        return at
    (node, hyperedge), to, room = outlet, column.x[lower[0]], 0.0
    if lower[0] < len(graph.problem.sizes):
        room = graph.problem.sizes[lower[0]][0] / 2 - 10 if graph.problem.ports[lower[0]] is None else 0.0
        to += graph.port(lower[0], hyperedge, leaves=False)
    straight_x = min(max(at, to - room), to + room)
    return straight_x if abs(straight_x - column.x[node]) <= graph.problem.sizes[node][0] / 2 - 10 else at


def _assign_inlets(graph: LayeredGraph, column: Column, node: int, lines: list[tuple[Hyperedge, float]]) -> None:
    center = column.x[node]
    if graph.problem.ports[node] is not None:
        for hyperedge, _ in lines:
            column.inlet[(node, hyperedge)] = center + graph.port(node, hyperedge, leaves=False)
        return
    at: dict[Hyperedge, list[float]] = {}
    for hyperedge, x in lines:
        at.setdefault(hyperedge, []).append(x)
    inlets = sorted((sum(xs) / len(xs), hyperedge) for hyperedge, xs in at.items())
    room = graph.problem.sizes[node][0] - 16
    step = min(12.0, room / max(1, len(inlets) - 1))
    low, high = center - room / 2, center + room / 2
    # A line that can come straight down shall; those from further left or right give way.
    weights = [20.0 if low <= x <= high else 1.0 for x, _ in inlets]
    places = isotonic_placement([min(max(x, low), high) for x, _ in inlets], weights, [step] * (len(inlets) - 1))
    last = len(places) - 1
    for i, (place, (_, hyperedge)) in enumerate(zip(places, inlets, strict=True)):
        column.inlet[(node, hyperedge)] = min(max(place, low + i * step), high - (last - i) * step)


def _assign_heights(graph: LayeredGraph, number: int, column: Column, floor: Mapping[int, float]) -> None:
    """The y of boxes, of the tracks between the rows and of the column's end."""
    nodes, sizes = len(graph.problem.sizes), graph.problem.sizes
    last = graph.last_level(number)
    between = _hyperedge_ends(graph, number, column)
    enters, leaves = bool(graph.layers[number][0]), bool(graph.layers[number][last])
    head = 0.0 if not enters else BELOW if len(graph.layers) == 1 else 2.0
    skyline = Skyline()
    for level, row in enumerate(graph.layers[number]):
        boxes = [v for v in row if v < nodes]
        reach = [(column.x[v] - sizes[v][0] / 2, column.x[v] + sizes[v][0] / 2, sizes[v][1]) for v in boxes]
        lowest = [floor.get(v, 0.0) for v in boxes] if floor else None
        for v, top in zip(boxes, drop_row(skyline, reach, head, lowest), strict=True):
            column.top[v] = top
        if level < last and between[level]:
            _lay_tracks(skyline, between[level], level, column)
    column.height = skyline.lowest((0.0, 2.0 if leaves else 0.0, ABOVE))


def _hyperedge_ends(
    graph: LayeredGraph, number: int, column: Column
) -> list[dict[Hyperedge, tuple[list[float], list[float]]]]:
    """Below each level, where every net comes from and goes to (x)."""
    nodes = len(graph.problem.sizes)
    between: list[dict[Hyperedge, tuple[list[float], list[float]]]] = [{} for _ in graph.layers[number]]
    for a, b, hyperedge in graph.links[number]:
        tops, bottoms = between[graph.level[a]].setdefault(hyperedge, ([], []))
        tops.append(column.outlet[(a, hyperedge)])
        bottoms.append(column.inlet[(b, hyperedge)] if b < nodes else column.x[b])
    for source, target, hyperedge in graph.sides[number]:
        tops, _ = between[graph.level[source]].setdefault(hyperedge, ([], []))
        tops.extend(same_layer_ports(graph, column, hyperedge, target))
    return between


def same_layer_ports(graph: LayeredGraph, column: Column, hyperedge: Hyperedge, target: int) -> Point:
    """Place the ports of a control edge between nodes of one layer, both on the lower side.

    Args:
        graph: The layered graph.
        column: The placed column.
        hyperedge: The hyperedge of the source node.
        target: The target node.

    Returns:
        The x where the edge leaves and the x where it enters.
    """
    source = hyperedge[1]
    leaves = column.x[source] + graph.port(source, hyperedge, leaves=True)
    return leaves, column.x[target] + min(8.0, graph.problem.sizes[target][0] / 4)


def _lay_tracks(
    skyline: Skyline, hyperedges: dict[Hyperedge, tuple[list[float], list[float]]], level: int, column: Column
) -> None:
    """Give each net its track in the space below a level."""
    spans = [HyperedgeSpan(tuple(sorted(a)), tuple(sorted(b))) for a, b in hyperedges.values()]
    track_of = assign_tracks(spans)
    count = max(track_of, default=-1) + 1
    step = TRACK if count <= 8 else max(3.0, 8 * TRACK / count)
    for _, hyperedge, (tops, bottoms) in sorted(
        (track, hyperedge, ends) for hyperedge, track, ends in zip(hyperedges, track_of, spans, strict=True)
    ):
        low, high = min(tops[:1] + bottoms[:1]), max(tops[-1:] + bottoms[-1:])
        column.bend[(hyperedge, level)] = lay_track(skyline, low, high, step)
