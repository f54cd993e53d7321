"""Edge routing within a column: ports, the tracks of horizontal segments, and the y of everything.

A *track* is a height in the space between two layers at which the horizontal segment of a hyperedge
runs. Tracks are chosen as G. Sander's "Layout of directed hypergraphs with orthogonal hyperedges"
(2004) does: of two hyperedges, that is the upper one which then crosses the other less often.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from tfgraphwidget.layout.layered.layered_graph import Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.placement import isotonic_placement
from tfgraphwidget.layout.spacing import (
    ABOVE,
    BELOW,
    PORT_GAP,
    TRACK,
    Skyline,
    drop_row,
    lay_track,
    places_beside,
)

NEAR = 3.0  # pixels; segments that are nearer to each other look like one
SWAP_LIMIT = 40  # hyperedges; of as many, neighbors are not swapped: that is quadratic
PACK_LIMIT = 400  # hyperedges; more are packed, however they cross
OVERLAP_COST = 5  # an edge on top of another is as bad as so many crossings

BACK_ASIDE = 8.0  # pixels from the middle of a node to where reversed edges leave and enter it
CORNER = 10.0  # pixels from the corner of a node to the outermost place of an edge
INLET_MARGIN = 8.0  # the same for edges that enter: there are more of them
INLET_GAP = 12.0  # pixels between edges that enter a node, where it is wide enough
STRAIGHT_WEIGHT = 20.0  # how much an edge that can come straight down stays, one from aside has 1

FULL_TRACKS = 8  # tracks of the usual distance; more share the height of these
MIN_TRACK = 3.0  # pixels between tracks

SMALL_SHIFT = 12.0  # pixels by which all that is in a scope may move for its title


class HyperedgeSpan(NamedTuple):
    """The x where a hyperedge comes from above and where it goes on below, both ascending."""

    tops: tuple[float, ...]
    bottoms: tuple[float, ...]


def assign_tracks(hyperedges: Sequence[HyperedgeSpan]) -> list[int]:
    """The track of each hyperedge between two layers; few cross, and none overlap.

    It is 0 on top, and -1 for a hyperedge that goes straight down.

    >>> hyperedges = [((0.0,), (50.0,)), ((20.0,), (20.0,)), ((30.0,), (90.0,))]
    >>> assign_tracks([HyperedgeSpan(*tops_and_bottoms) for tops_and_bottoms in hyperedges])
    [1, -1, 0]
    """
    bent = []
    for number, hyperedge in enumerate(hyperedges):
        if len(hyperedge.tops) + len(hyperedge.bottoms) > 1:
            one = _BentEdge(number, hyperedge)
            if one.high - one.low >= 1.0:
                bent.append(one)
    if len(bent) > PACK_LIMIT:
        _pack_tracks(bent)
    else:
        # Of two edges that go right, the one that starts further right is upper: they do not cross.
        bent.sort(key=lambda one: one.start)
        if 1 < len(bent) < SWAP_LIMIT:
            _swap_neighbors(bent)
        _lay_below_each_other(bent)
    tracks = [-1] * len(hyperedges)
    for one in bent:
        tracks[one.number] = one.track
    return tracks


class _BentEdge:
    """A hyperedge that may not go straight down.

    Attributes:
        number: its number among all.
        tops: the x where it comes from above, ascending.
        bottoms: the x where it goes on below, ascending.
        low: the least x of all.
        high: the greatest x of all.
        start: what hyperedges are sorted by, the upper ones first.
        track: the track that it has got.
    """

    __slots__ = ("bottoms", "high", "low", "number", "start", "tops", "track")

    def __init__(self, number: int, hyperedge: HyperedgeSpan) -> None:
        tops, bottoms = hyperedge
        self.number = number
        self.tops = tops
        self.bottoms = bottoms
        self.track = 0
        self.low = min(tops[:1] + bottoms[:1])
        self.high = max(tops[-1:] + bottoms[-1:])
        start = sum(tops) / len(tops) if tops else self.low
        end = sum(bottoms) / len(bottoms) if bottoms else self.high
        goes_right = end >= start
        self.start = -start if goes_right else start

    def is_beside(self, other: _BentEdge) -> bool:
        """Whether both could be on one track, or nearly so."""
        return self.low - NEAR >= other.high or other.low - NEAR >= self.high


def _swap_neighbors(bent: list[_BentEdge]) -> None:
    """Swap neighbors as long as that saves crossings."""
    pairs = len(bent) - 1
    is_stale = [True] * pairs  # whether each pair of neighbors is to be looked at
    for _ in range(SWAP_LIMIT):
        if True not in is_stale:
            return
        for i in range(pairs):
            if is_stale[i]:
                is_stale[i] = False
                upper, lower = bent[i], bent[i + 1]
                if not upper.is_beside(lower) and _cost(lower, upper) < _cost(upper, lower):
                    bent[i], bent[i + 1] = lower, upper
                    # Both have another neighbor now.
                    if i > 0:
                        is_stale[i - 1] = True
                    if i + 1 < pairs:
                        is_stale[i + 1] = True


def _lay_below_each_other(bent: list[_BentEdge]) -> None:
    """Give each hyperedge the first track that is below all that overlap it and come earlier."""
    for i, hyperedge in enumerate(bent):
        low, high = hyperedge.low - NEAR, hyperedge.high + NEAR
        track = 0
        for other in bent[:i]:
            if other.low < high and other.high > low and other.track >= track:
                track = other.track + 1
        hyperedge.track = track


def _pack_tracks(bent: list[_BentEdge]) -> None:
    """Give each hyperedge, from left to right, the first track that is free.

    This is the left-edge algorithm of A. Hashimoto and J. Stevens, "Wire routing by optimizing
    channel assignment within large apertures" (1971): the fewest tracks, and quick.
    """
    free: list[int] = []
    in_use: list[tuple[float, int]] = []  # where the last on a track ends, and the track
    for hyperedge in sorted(bent, key=lambda one: one.low):
        while in_use and in_use[0][0] + NEAR < hyperedge.low:
            _, track = heappop(in_use)
            heappush(free, track)
        hyperedge.track = heappop(free) if free else len(in_use)
        heappush(in_use, (hyperedge.high, hyperedge.track))


def _cost(upper: _BentEdge, lower: _BentEdge) -> int:
    """Crossings when `upper` runs above `lower`, with a price for running on top of each other."""
    tops, bottoms = lower.tops, upper.bottoms
    # What comes down to the lower track crosses the upper one, and what goes down from the upper
    # track crosses the lower one.
    cost = bisect_right(tops, upper.high) - bisect_left(tops, upper.low)
    cost += bisect_right(bottoms, lower.high) - bisect_left(bottoms, lower.low)
    for x in bottoms:
        nearest = bisect_left(tops, x - NEAR)
        if nearest < len(tops) and tops[nearest] < x + NEAR:
            cost += OVERLAP_COST
    return cost


@dataclass
class Column:
    """A column with all positions in it, in pixels from its upper left corner.

    Attributes:
        x: the middle of each vertex.
        width: of the column.
        height: of the column.
        top: the upper side of each node.
        bend: the y of the track of each hyperedge below each level.
        outlet: the x where each hyperedge leaves a vertex above it.
        inlet: the x where each hyperedge enters a vertex below it.
        left: where the column begins in the drawing.
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
        x: the middle of each vertex, in pixels.
        floor: the least top of each box that has one, in pixels.

    Returns:
        The column; its left border is at 0.
    """
    entries = graph.layers[0][0] if number == 0 and graph.problem.title else []
    # What enters below a title is placed by the title, and does not count for the width.
    others = x.keys() - set(entries) or x.keys()
    left = min((x[vertex] - graph.width(vertex) / 2 for vertex in others), default=0.0)
    right = max((x[vertex] + graph.width(vertex) / 2 for vertex in others), default=0.0)
    column = Column({vertex: middle - left for vertex, middle in x.items()}, right - left)
    if entries:
        _clear_title(graph.problem.title, entries, column)
    _assign_ports(graph, number, column)
    _assign_heights(graph, number, column, floor or {})
    return column


def _clear_title(title: float, entries: Sequence[int], column: Column) -> None:
    """Move the edges that enter below a title to its right."""
    lack = title - min(column.x[vertex] for vertex in entries)
    if lack <= 0:
        return
    shift = _shift_for_title(lack, title, entries, column)
    column.x = {vertex: x + shift for vertex, x in column.x.items()}
    places = places_beside([column.x[vertex] for vertex in entries], title)
    column.x |= {entries[port]: x for port, x in places.items()}
    column.width = max(column.width + shift, max(places.values()) + PORT_GAP / 2)


def _shift_for_title(lack: float, title: float, entries: Sequence[int], column: Column) -> float:
    """How far to the right everything moves together with the edges that enter, in pixels."""
    if lack <= SMALL_SHIFT:
        return lack
    # Where the ports need more width than the boxes, these are placed below the ports.
    places = places_beside([column.x[vertex] for vertex in entries], title)
    overhang = max(places.values()) + PORT_GAP / 2 - column.width
    return min(max(0.0, overhang), lack)


def _assign_ports(graph: LayeredGraph, number: int, column: Column) -> None:
    """Choose where hyperedges leave nodes, on the lower side, and enter them, on the upper one."""
    nodes = graph.node_count
    # Nodes that share their lower side with an edge that enters there: a reversed one, or one
    # within the layer.
    entered_below = {target for _, target, _ in graph.sides[number]}
    lower_vertices: dict[tuple[int, Hyperedge], list[int]] = {}
    for upper, lower, hyperedge in graph.links[number]:
        if hyperedge[0] == "back":
            entered_below.add(upper)
        lower_vertices.setdefault((upper, hyperedge), []).append(lower)

    entering: dict[int, list[tuple[Hyperedge, float]]] = {}
    for (upper, hyperedge), below in lower_vertices.items():
        x = column.x[upper]
        if upper < nodes:
            x = _outlet(graph, column, (upper, hyperedge), below, shared=upper in entered_below)
        column.outlet[(upper, hyperedge)] = x
        for lower in below:
            if lower < nodes:
                entering.setdefault(lower, []).append((hyperedge, x))
    for node, lines in entering.items():
        _assign_inlets(graph, column, node, lines)


def _outlet(
    graph: LayeredGraph,
    column: Column,
    outlet: tuple[int, Hyperedge],
    below: list[int],
    *,
    shared: bool,
) -> float:
    """The x at which a hyperedge leaves the lower side of a node, which may be `shared`."""
    node, hyperedge = outlet
    is_back = hyperedge[0] == "back"
    middle = column.x[node]
    if graph.problem.ports[node] is not None:
        aside = graph.port(node, hyperedge, leaves=True) + BACK_ASIDE * is_back
        return middle + min(aside, graph.problem.sizes[node][0] / 2 - 2)
    x = middle
    if is_back:
        x += BACK_ASIDE
    elif shared:
        x -= BACK_ASIDE
    if len(below) > 1:
        return x
    # Straight above its end, if the boxes overlap enough.
    straight = _nearest_entry(graph, column, below[0], hyperedge, x)
    is_on_node = abs(straight - middle) <= graph.problem.sizes[node][0] / 2 - CORNER
    return straight if is_on_node else x


def _nearest_entry(
    graph: LayeredGraph, column: Column, vertex: int, hyperedge: Hyperedge, x: float
) -> float:
    """The x nearest to another at which a hyperedge can enter a vertex."""
    middle = column.x[vertex]
    if vertex >= graph.node_count:
        return middle
    middle += graph.port(vertex, hyperedge, leaves=False)
    room = 0.0
    if graph.problem.ports[vertex] is None:
        room = graph.problem.sizes[vertex][0] / 2 - CORNER
    return min(max(x, middle - room), middle + room)


def _assign_inlets(
    graph: LayeredGraph, column: Column, node: int, lines: list[tuple[Hyperedge, float]]
) -> None:
    """Choose where hyperedges enter a node, given the x of what each comes from."""
    middle = column.x[node]
    if graph.problem.ports[node] is not None:
        for hyperedge, _ in lines:
            column.inlet[(node, hyperedge)] = middle + graph.port(node, hyperedge, leaves=False)
        return
    origins: dict[Hyperedge, list[float]] = {}
    for hyperedge, x in lines:
        origins.setdefault(hyperedge, []).append(x)
    inlets = sorted((sum(xs) / len(xs), hyperedge) for hyperedge, xs in origins.items())
    room = graph.problem.sizes[node][0] - 2 * INLET_MARGIN
    step = min(INLET_GAP, room / max(1, len(inlets) - 1))
    low, high = middle - room / 2, middle + room / 2
    targets = [min(max(x, low), high) for x, _ in inlets]
    # An edge that can come straight down does; those from further left or right give way.
    weights = [STRAIGHT_WEIGHT if low <= x <= high else 1.0 for x, _ in inlets]
    places = isotonic_placement(targets, weights, [step] * (len(inlets) - 1))
    last = len(places) - 1
    for i, (place, (_, hyperedge)) in enumerate(zip(places, inlets, strict=True)):
        leftmost = low + i * step
        rightmost = high - (last - i) * step
        column.inlet[(node, hyperedge)] = min(max(place, leftmost), rightmost)


def _assign_heights(
    graph: LayeredGraph, number: int, column: Column, floor: Mapping[int, float]
) -> None:
    """Choose the y of boxes, of the tracks between the rows and of the column's lower end."""
    nodes, sizes = graph.node_count, graph.problem.sizes
    last = graph.last_level(number)
    between = _tops_and_bottoms(graph, number, column)
    head = 0.0  # above the first row
    if graph.layers[number][0]:
        # Above several columns is a channel, which has room for arrow heads.
        head = BELOW if len(graph.layers) == 1 else 2.0
    skyline = Skyline()
    for level, row in enumerate(graph.layers[number]):
        boxes = [vertex for vertex in row if vertex < nodes]
        reach = []
        for node in boxes:
            width, height = sizes[node]
            reach.append((column.x[node] - width / 2, column.x[node] + width / 2, height))
        least = [floor.get(node, 0.0) for node in boxes] if floor else None
        for node, top in zip(boxes, drop_row(skyline, reach, head, least), strict=True):
            column.top[node] = top
        if level < last and between[level]:
            _lay_tracks(skyline, between[level], level, column)
    below_nodes = 2.0 if graph.layers[number][last] else 0.0
    column.height = skyline.lowest((0.0, below_nodes, ABOVE))


TopsAndBottoms = tuple[list[float], list[float]]
"""The x where a hyperedge comes from above, and the x where it goes on below."""


def _tops_and_bottoms(
    graph: LayeredGraph, number: int, column: Column
) -> list[dict[Hyperedge, TopsAndBottoms]]:
    """Below each level, where every hyperedge comes from and goes to."""
    nodes = graph.node_count
    between: list[dict[Hyperedge, TopsAndBottoms]] = [{} for _ in graph.layers[number]]
    for upper, lower, hyperedge in graph.links[number]:
        tops, bottoms = between[graph.level[upper]].setdefault(hyperedge, ([], []))
        tops.append(column.outlet[(upper, hyperedge)])
        bottoms.append(column.inlet[(lower, hyperedge)] if lower < nodes else column.x[lower])
    for source, target, hyperedge in graph.sides[number]:
        tops, _ = between[graph.level[source]].setdefault(hyperedge, ([], []))
        tops.extend(same_layer_ports(graph, column, hyperedge, target))
    return between


def same_layer_ports(
    graph: LayeredGraph, column: Column, hyperedge: Hyperedge, target: int
) -> tuple[float, float]:
    """The x where a control edge within a layer leaves its source, and where it enters its target.

    Both are on the lower side.
    """
    source = hyperedge[1]
    leaves = column.x[source] + graph.port(source, hyperedge, leaves=True)
    enters = column.x[target] + min(BACK_ASIDE, graph.problem.sizes[target][0] / 4)
    return leaves, enters


def _lay_tracks(
    skyline: Skyline, hyperedges: dict[Hyperedge, TopsAndBottoms], level: int, column: Column
) -> None:
    """Give each hyperedge the y of its track in the space below a level."""
    spans = [
        HyperedgeSpan(tuple(sorted(tops)), tuple(sorted(bottoms)))
        for tops, bottoms in hyperedges.values()
    ]
    tracks = assign_tracks(spans)
    count = max(tracks, default=-1) + 1
    step = TRACK if count <= FULL_TRACKS else max(MIN_TRACK, FULL_TRACKS * TRACK / count)
    # The upper ones first, as each is laid on what is there.
    for _, hyperedge, (tops, bottoms) in sorted(zip(tracks, hyperedges, spans, strict=True)):
        low = min(tops[:1] + bottoms[:1])
        high = max(tops[-1:] + bottoms[-1:])
        column.bend[(hyperedge, level)] = lay_track(skyline, low, high, step)
