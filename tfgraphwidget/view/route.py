"""From a plan to coordinates within each column: order, x, ports, tracks, y."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from tfgraphwidget.view import tracks
from tfgraphwidget.view.align import aligned, bend, settled
from tfgraphwidget.view.flow import LANE, LANE_GAP, Net, Plan
from tfgraphwidget.view.order import ordered
from tfgraphwidget.view.placed import Point
from tfgraphwidget.view.rows import ABOVE, BELOW, NODE_GAP, TRACK, Skyline, dropped, laid
from tfgraphwidget.view.straight import straightened


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


def gap(plan: Plan, a: int, b: int) -> float:
    """The least distance of the middles of neighbours."""
    nodes = len(plan.flow.sizes)
    space = NODE_GAP if a < nodes and b < nodes else LANE_GAP
    return (width(plan, a) + width(plan, b)) / 2 + space


def column(plan: Plan, number: int) -> Column:
    """Order and place the vertices of a column."""
    links = plan.links[number]
    nodes = len(plan.flow.sizes)
    layers = ordered(plan.layers[number], list(dict.fromkeys((a, b) for a, b, _ in links)), len(plan.level))
    plan.layers[number] = layers
    ports = _offsets(plan)
    between = partial(gap, plan)
    weighed = _weighed(links)
    large = {node for node, port in enumerate(plan.flow.ports) if port is not None}
    centres = aligned(layers, weighed, ports, between, large)
    if len(centres) > nodes:
        bends = [bend(ports[a][1], ports[b][0], stairs=a in large and b in large) for a, b, _ in weighed]
        centres = straightened(centres, layers, weighed, bends, nodes, between)
    return finished(plan, number, {vertex: centres[vertex] for row in layers for vertex in row})


def finished(plan: Plan, number: int, x: dict[int, float]) -> Column:
    """A column whose vertices have their place from left to right."""
    low = min((at - width(plan, v) / 2 for v, at in x.items()), default=0.0)
    high = max((at + width(plan, v) / 2 for v, at in x.items()), default=0.0)
    made = Column({v: at - low for v, at in x.items()}, high - low)
    _ports(plan, number, made, _offsets(plan))
    _heights(plan, number, made)
    return made


def _offsets(plan: Plan) -> list[Point]:
    """Where lines enter and leave each vertex, from its middle."""
    ports = [(0.0, 0.0)] * len(plan.level)
    for node, port in enumerate(plan.flow.ports):
        if port is not None:
            half = plan.flow.sizes[node][0] / 2
            ports[node] = (port[0] - half, port[1] - half)
    return ports


def _weighed(links: Mapping[tuple[int, int, Net], float]) -> list[tuple[int, int, float]]:
    """Links with their weights; the branches of a net share its weight, or many readers would bend a long lane."""
    upper = Counter((a, net) for a, _, net in links)
    lower = Counter((b, net) for _, b, net in links)
    return [(a, b, weight / max(upper[(a, net)], lower[(b, net)])) for (a, b, net), weight in links.items()]


def _ports(plan: Plan, number: int, column: Column, ports: list[Point]) -> None:
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
            at += ports[a][1] + 8.0 * (net[0] == "back")
        elif a < nodes:
            at += 8.0 if net[0] == "back" else -8.0 if a in backs else 0.0
            at = _straight(plan, column, a, lower, at)
        column.outlet[(a, net)] = at
        for b in lower:
            if b < nodes:
                entering.setdefault(b, []).append((net, at))
    for node, lines in entering.items():
        _enter(plan, column, node, ports[node][0], lines)


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


def _enter(plan: Plan, column: Column, node: int, port: float, lines: list[tuple[Net, float]]) -> None:
    centre = column.x[node]
    if plan.flow.ports[node] is not None:
        for net, _ in lines:
            column.inlet[(node, net)] = centre + port
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
    shift = max(0.0, low - places[0]) - max(0.0, places[-1] - high)
    for place, (_, net) in zip(places, wished, strict=True):
        column.inlet[(node, net)] = place + shift


def _heights(plan: Plan, number: int, column: Column) -> None:
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
        for v, top in zip(boxes, dropped(skyline, reach, head), strict=True):
            column.top[v] = top
        if level < last and between[level]:
            _lay(skyline, between[level], level, column)
    column.height = skyline.lowest((0.0, BELOW if leaves else 0.0, ABOVE))


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
    found = tracks.tracks([tracks.Net(tuple(sorted(a)), tuple(sorted(b))) for a, b in nets.values()])
    count = max(found, default=-1) + 1
    step = TRACK if count <= 8 else max(3.0, 8 * TRACK / count)
    for _, net, (tops, bottoms) in sorted(
        (track, net, ends) for (net, ends), track in zip(nets.items(), found, strict=True)
    ):
        low, high = min(*tops[:1], *bottoms[:1], *tops, *bottoms), max(*tops[:1], *bottoms[:1], *tops, *bottoms)
        column.bend[(net, level)] = laid(skyline, low, high, step)
