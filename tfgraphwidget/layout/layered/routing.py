"""From a plan to coordinates within each column: order, x, ports, tracks, y."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from tfgraphwidget.layout.geometry import Point
from tfgraphwidget.layout.layered.crossing import ordered
from tfgraphwidget.layout.layered.layered_graph import LANE, LANE_GAP, Net, Plan
from tfgraphwidget.layout.layered.placement import Rows, aligned, bend, settled, straightened
from tfgraphwidget.layout.spacing import ABOVE, BELOW, NODE_GAP, TRACK, Skyline, dropped, laid

# Tracks: at which height the horizontal parts of lines run in the space between two rows.

_NEAR = 3.0
_BUBBLE, _PACKED = 40, 400


class TrackNet(NamedTuple):
    """One line with all its branches: the x where it comes from above and where from below, both ascending."""

    tops: tuple[float, ...]
    bottoms: tuple[float, ...]


def tracks(nets: Sequence[TrackNet]) -> list[int]:
    """The track of each net, 0 on top; -1 for one that goes straight down. Few crossings, no overlap.

    >>> tracks([TrackNet((0.0,), (50.0,)), TrackNet((20.0,), (20.0,)), TrackNet((30.0,), (90.0,))])
    [1, -1, 0]
    """
    track = [-1] * len(nets)
    bent = [_Bent(i, net) for i, net in enumerate(nets) if len(net.tops) + len(net.bottoms) > 1]
    bent = [net for net in bent if net.high - net.low >= 1.0]
    if len(bent) > _PACKED:
        return _packed(bent, track)
    # Of two lines that go right, the one that starts further right is upper: they do not cross then.
    bent.sort(key=lambda net: net.start)
    if 1 < len(bent) < _BUBBLE:
        _swapped(bent)
    for k, net in enumerate(bent):
        low, high, at = net.low - _NEAR, net.high + _NEAR, 0
        for other in bent[:k]:
            if other.low < high and other.high > low and other.track >= at:
                at = other.track + 1
        track[net.number] = net.track = at
    return track


class _Bent:
    """A net that does not go straight down: its left and right end, and what it is sorted by."""

    __slots__ = ("bottoms", "high", "low", "number", "start", "tops", "track")

    def __init__(self, number: int, net: TrackNet) -> None:
        tops, bottoms = net
        self.number, self.tops, self.bottoms, self.track = number, tops, bottoms, 0
        self.low = min(tops[0], bottoms[0]) if tops and bottoms else (tops or bottoms)[0]
        self.high = max(tops[-1], bottoms[-1]) if tops and bottoms else (tops or bottoms)[-1]
        start = sum(tops) / len(tops) if tops else self.low
        end = sum(bottoms) / len(bottoms) if bottoms else self.high
        self.start = -start if end >= start else start


def _swapped(bent: list[_Bent]) -> None:
    """Exchange neighbours as long as that saves crossings."""
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


def _packed(bent: list[_Bent], track: list[int]) -> list[int]:
    """The same for hundreds of nets: from left to right, each on the first track that is free; crossings unheeded."""
    free: list[int] = []
    ends: list[tuple[float, int]] = []
    for net in sorted(bent, key=lambda net: net.low):
        while ends and ends[0][0] + _NEAR < net.low:
            heappush(free, heappop(ends)[1])
        at = heappop(free) if free else len(ends)
        heappush(ends, (net.high, at))
        track[net.number] = at
    return track


def _cost(upper: _Bent, lower: _Bent) -> int:
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
    """`x` of each vertex's middle, `top` of each box; `bend[(net, l)]` is the y of a net's track below level l.

    `outlet` and `inlet` are the x where a net leaves and enters a vertex.
    """

    x: dict[int, float]
    width: float
    height: float = 0.0
    top: dict[int, float] = field(default_factory=dict)
    bend: dict[tuple[Net, int], float] = field(default_factory=dict)
    outlet: dict[tuple[int, Net], float] = field(default_factory=dict)
    inlet: dict[tuple[int, Net], float] = field(default_factory=dict)
    left: float = 0.0


def width(plan: Plan, vertex: int) -> float:
    """How wide a box or lane is."""
    return plan.flow.sizes[vertex][0] if vertex < len(plan.flow.sizes) else LANE


def space(plan: Plan, a: int, b: int) -> float:
    """The least distance between neighbours."""
    nodes = len(plan.flow.sizes)
    return NODE_GAP if a < nodes and b < nodes else LANE_GAP


def gap(plan: Plan, a: int, b: int) -> float:
    """The least distance of the middles of neighbours."""
    return (width(plan, a) + width(plan, b)) / 2 + space(plan, a, b)


def column(plan: Plan, number: int) -> Column:
    """Order and place the vertices of a column."""
    vertices = [vertex for row in plan.layers[number] for vertex in row]
    of = {vertex: i for i, vertex in enumerate(vertices)}
    weighed = [(of[a], of[b], weight) for a, b, weight in _weighed(plan.links[number])]
    joined = list({(a, b): None for a, b, _ in weighed})
    layers = ordered([[of[vertex] for vertex in row] for row in plan.layers[number]], joined, len(vertices))
    plan.layers[number] = [[vertices[i] for i in row] for row in layers]
    rows = _rows(plan, vertices, layers, weighed)
    x = aligned(rows)
    if any(rows.is_lane):
        x = straightened(x, rows)
    return finished(plan, number, dict(zip(vertices, x, strict=True)))


def _rows(plan: Plan, vertices: list[int], layers: list[list[int]], weighed: list[tuple[int, int, float]]) -> Rows:
    """The rows to be aligned, with the numbers that the column's vertices have among themselves."""
    nodes, flow = len(plan.flow.sizes), plan.flow
    is_lane = [vertex >= nodes for vertex in vertices]
    half = [width(plan, vertex) / 2 for vertex in vertices]
    rows = [row for row in layers if row]
    gaps = [
        [half[a] + half[b] + (LANE_GAP if is_lane[a] or is_lane[b] else NODE_GAP) for a, b in pairwise(row)]
        for row in rows
    ]
    side = [at + (LANE_GAP if lane else NODE_GAP) / 2 for at, lane in zip(half, is_lane, strict=True)]
    ports = [(0.0, 0.0) if lane else port(plan, vertex) for vertex, lane in zip(vertices, is_lane, strict=True)]
    large = [not lane and flow.ports[vertex] is not None for vertex, lane in zip(vertices, is_lane, strict=True)]
    links = [(a, b, weight, bend(ports[a][1], ports[b][0], stairs=large[a] and large[b])) for a, b, weight in weighed]
    return Rows(rows, gaps, side, links, is_lane)


def finished(plan: Plan, number: int, x: dict[int, float], floor: Mapping[int, float] | None = None) -> Column:
    """A column whose vertices have their place from left to right; `floor` says how high up boxes may be."""
    low = min((at - width(plan, v) / 2 for v, at in x.items()), default=0.0)
    high = max((at + width(plan, v) / 2 for v, at in x.items()), default=0.0)
    made = Column({v: at - low for v, at in x.items()}, high - low)
    _ports(plan, number, made)
    _heights(plan, number, made, floor or {})
    return made


def port(plan: Plan, node: int) -> Point:
    """Where lines enter and leave a node, from its middle."""
    port = plan.flow.ports[node]
    if port is None:
        return 0.0, 0.0
    half = plan.flow.sizes[node][0] / 2
    return port[0] - half, port[1] - half


def _weighed(links: Mapping[tuple[int, int, Net], float]) -> list[tuple[int, int, float]]:
    """Links with their weights; the branches of a net share its weight, or many readers would bend a long lane."""
    upper = Counter((a, net) for a, _, net in links)
    lower = Counter((b, net) for _, b, net in links)
    return [(a, b, weight / max(upper[(a, net)], lower[(b, net)])) for (a, b, net), weight in links.items()]


def _ports(plan: Plan, number: int, column: Column) -> None:
    """Where on a node's lower side each net leaves, and on its upper side each enters."""
    nodes = len(plan.flow.sizes)
    entering: dict[int, list[tuple[Net, float]]] = {}
    sides = {target for _, target, _ in plan.sides[number]}
    backs = {a for a, _, net in plan.links[number] if net[0] == "back"} | sides
    ends: dict[tuple[int, Net], list[int]] = {}
    for a, b, net in plan.links[number]:
        ends.setdefault((a, net), []).append(b)
    for (a, net), lower in ends.items():
        at = column.x[a]
        if a < nodes and plan.flow.ports[a] is not None:
            at += min(port(plan, a)[1] + 8.0 * (net[0] == "back"), plan.flow.sizes[a][0] / 2 - 8)
        elif a < nodes:
            at += 8.0 if net[0] == "back" else -8.0 if a in backs else 0.0
            at = _straight(plan, column, a, lower, at)
        column.outlet[(a, net)] = at
        for b in lower:
            if b < nodes:
                entering.setdefault(b, []).append((net, at))
    for node, lines in entering.items():
        _enter(plan, column, node, lines)


def _straight(plan: Plan, column: Column, node: int, lower: list[int], at: float) -> float:
    """Where on its lower side a line to one place leaves: straight above it, if the boxes overlap enough."""
    if len(lower) > 1:
        return at
    to, room = column.x[lower[0]], 0.0
    if lower[0] < len(plan.flow.sizes):
        port = plan.flow.ports[lower[0]]
        room = plan.flow.sizes[lower[0]][0] / 2 - 10 if port is None else 0.0
        to += 0.0 if port is None else port[0] - plan.flow.sizes[lower[0]][0] / 2
    wished = min(max(at, to - room), to + room)
    return wished if abs(wished - column.x[node]) <= plan.flow.sizes[node][0] / 2 - 10 else at


def _enter(plan: Plan, column: Column, node: int, lines: list[tuple[Net, float]]) -> None:
    centre = column.x[node]
    if plan.flow.ports[node] is not None:
        for net, _ in lines:
            column.inlet[(node, net)] = centre + port(plan, node)[0]
        return
    at: dict[Net, list[float]] = {}
    for net, x in lines:
        at.setdefault(net, []).append(x)
    wished = sorted((sum(xs) / len(xs), net) for net, xs in at.items())
    room = plan.flow.sizes[node][0] - 16
    step = min(12.0, room / max(1, len(wished) - 1))
    low, high = centre - room / 2, centre + room / 2
    # A line that can come straight down shall; those from further left or right give way.
    weights = [20.0 if low <= x <= high else 1.0 for x, _ in wished]
    places = settled([min(max(x, low), high) for x, _ in wished], weights, [step] * (len(wished) - 1))
    last = len(places) - 1
    for i, (place, (_, net)) in enumerate(zip(places, wished, strict=True)):
        column.inlet[(node, net)] = min(max(place, low + i * step), high - (last - i) * step)


def _heights(plan: Plan, number: int, column: Column, floor: Mapping[int, float]) -> None:
    """The y of boxes, of the tracks between the rows and of the column's end."""
    nodes, sizes = len(plan.flow.sizes), plan.flow.sizes
    last = plan.last(number)
    between = _between(plan, number, column)
    enters, leaves = bool(plan.layers[number][0]), bool(plan.layers[number][last])
    head = 0.0 if not enters else BELOW if len(plan.layers) == 1 else 2.0
    skyline = Skyline()
    for level, row in enumerate(plan.layers[number]):
        boxes = [v for v in row if v < nodes]
        reach = [(column.x[v] - sizes[v][0] / 2, column.x[v] + sizes[v][0] / 2, sizes[v][1]) for v in boxes]
        lowest = [floor.get(v, 0.0) for v in boxes] if floor else None
        for v, top in zip(boxes, dropped(skyline, reach, head, lowest), strict=True):
            column.top[v] = top
        if level < last and between[level]:
            _lay(skyline, between[level], level, column)
    column.height = skyline.lowest((0.0, 2.0 if leaves else 0.0, ABOVE))


def _between(plan: Plan, number: int, column: Column) -> list[dict[Net, tuple[list[float], list[float]]]]:
    """Below each level, where every net comes from and goes to (x)."""
    nodes = len(plan.flow.sizes)
    between: list[dict[Net, tuple[list[float], list[float]]]] = [{} for _ in plan.layers[number]]
    for a, b, net in plan.links[number]:
        tops, bottoms = between[plan.level[a]].setdefault(net, ([], []))
        tops.append(column.outlet[(a, net)])
        bottoms.append(column.inlet[(b, net)] if b < nodes else column.x[b])
    for source, target, net in plan.sides[number]:
        tops, _ = between[plan.level[source]].setdefault(net, ([], []))
        tops.extend(side(plan, column, source, target))
    return between


def side(plan: Plan, column: Column, source: int, target: int) -> Point:
    """Where a control line between nodes of one row leaves and comes back, both at the lower side."""
    return column.x[source], column.x[target] + min(8.0, plan.flow.sizes[target][0] / 4)


def _lay(skyline: Skyline, nets: dict[Net, tuple[list[float], list[float]]], level: int, column: Column) -> None:
    """Give each net its track in the space below a level."""
    sorted_nets = [TrackNet(tuple(sorted(a)), tuple(sorted(b))) for a, b in nets.values()]
    found = tracks(sorted_nets)
    count = max(found, default=-1) + 1
    step = TRACK if count <= 8 else max(3.0, 8 * TRACK / count)
    for _, net, (tops, bottoms) in sorted(
        (track, net, ends) for net, track, ends in zip(nets, found, sorted_nets, strict=True)
    ):
        low, high = min(tops[:1] + bottoms[:1]), max(tops[-1:] + bottoms[-1:])
        column.bend[(net, level)] = laid(skyline, low, high, step)
