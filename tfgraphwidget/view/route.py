"""From a plan to coordinates within each column: order, x, ports, tracks, y."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tfgraphwidget.view import tracks
from tfgraphwidget.view.align import aligned, settled
from tfgraphwidget.view.flow import LANE, LANE_GAP, NODE_GAP, ROW_GAP, Net, Plan
from tfgraphwidget.view.order import ordered
from tfgraphwidget.view.straight import straightened

Point = tuple[float, float]
TRACK = 8.0
ABOVE, BELOW = 12.0, 16.0  # from a row to the first track, from the last track to the next row (arrow heads)


@dataclass
class Column:
    """`x` of each vertex and `y` of each level's upper and lower side; `bend[(net, l)]` the track below level l."""

    x: dict[int, float]
    width: float
    upper: list[float]
    lower: list[float]
    bend: dict[tuple[Net, int], float]
    outlet: dict[tuple[int, Net], float]
    inlet: dict[tuple[int, Net], float]
    left: float = 0.0


def _width(plan: Plan, vertex: int) -> float:
    return plan.flow.sizes[vertex][0] if vertex < len(plan.flow.sizes) else LANE


def column(plan: Plan, number: int) -> Column:
    """Place the vertices of a column."""
    links = plan.links[number]
    nodes = len(plan.flow.sizes)
    layers = ordered(plan.layers[number], list(dict.fromkeys((a, b) for a, b, _ in links)), len(plan.level))
    ports = [(0.0, 0.0)] * len(plan.level)
    for node, port in enumerate(plan.flow.ports):
        if port is not None:
            half = plan.flow.sizes[node][0] / 2
            ports[node] = (port[0] - half, port[1] - half)

    def gap(a: int, b: int) -> float:
        space = NODE_GAP if a < nodes and b < nodes else LANE_GAP
        return (_width(plan, a) + _width(plan, b)) / 2 + space

    weighed = _weighed(links)
    centres = aligned(layers, weighed, ports, gap)
    if len(centres) > nodes:
        bends = [ports[a][1] - ports[b][0] for a, b, _ in weighed]
        centres = straightened(centres, layers, weighed, bends, nodes, gap)
    x = {vertex: centres[vertex] for row in layers for vertex in row}
    low = min((at - _width(plan, v) / 2 for v, at in x.items()), default=0.0)
    high = max((at + _width(plan, v) / 2 for v, at in x.items()), default=0.0)
    made = Column({v: at - low for v, at in x.items()}, high - low, [], [], {}, {}, {})
    plan.layers[number] = layers
    _ports(plan, number, made, ports)
    _levels(plan, number, made)
    return made


def _weighed(links: Mapping[tuple[int, int, Net], float]) -> list[tuple[int, int, float]]:
    """Links with their weights; the branches of a net share its weight, or many readers would bend a long lane."""
    upper = Counter((a, net) for a, _, net in links)
    lower = Counter((b, net) for _, b, net in links)
    return [(a, b, weight / max(upper[(a, net)], lower[(b, net)])) for (a, b, net), weight in links.items()]


def _ports(plan: Plan, number: int, column: Column, ports: list[Point]) -> None:
    """Where on a node's lower side each net leaves, and on its upper side each enters."""
    nodes = len(plan.flow.sizes)
    entering: dict[int, list[tuple[Net, float]]] = {}
    sides = {line.target for line, runs in zip(plan.flow.lines, plan.runs, strict=True) if runs[0].net[0] == "side"}
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


def _levels(plan: Plan, number: int, column: Column) -> None:
    """The tracks between levels and, with them, where each level is."""
    nodes = len(plan.flow.sizes)
    last = plan.last(number)
    between: list[dict[Net, tuple[list[float], list[float]]]] = [{} for _ in range(last + 1)]
    for a, b, net in plan.links[number]:
        tops, bottoms = between[plan.level[a]].setdefault(net, ([], []))
        tops.append(column.outlet[(a, net)])
        bottoms.append(column.inlet[(b, net)] if b < nodes else column.x[b])
    for line, runs in zip(plan.flow.lines, plan.runs, strict=True):
        if runs[0].net[0] == "side" and runs[0].column == number:
            tops, _ = between[plan.level[line.source]].setdefault(runs[0].net, ([], []))
            tops.extend(side(plan, column, line.source, line.target))
    y = 0.0
    for level, row in enumerate(plan.layers[number]):
        tall = max((plan.flow.sizes[v][1] for v in row if v < nodes), default=0.0)
        column.upper.append(y)
        column.lower.append(y + tall)
        y += tall
        if level < last:
            y = _gap(column, between[level], level, y, _least(plan, number, level))


def _least(plan: Plan, number: int, level: int) -> float:
    """The least space below a level. Where lines come in at the top, the channel above gives room for arrow heads."""
    last = plan.last(number)
    if level == 0:
        return 0.0 if not plan.layers[number][0] else 14.0 if len(plan.layers) == 1 else 2.0
    if level == last - 1:
        return 14.0 if plan.layers[number][last] else 0.0
    return ROW_GAP


def side(plan: Plan, column: Column, source: int, target: int) -> Point:
    """Where a control line between nodes of one row leaves and comes back, both at the lower side."""
    return column.x[source], column.x[target] + min(8.0, plan.flow.sizes[target][0] / 4)


def _gap(column: Column, nets: dict[Net, tuple[list[float], list[float]]], level: int, y: float, least: float) -> float:
    """Give each net its track in the space below a level that ends at y; where the next level begins."""
    found = tracks.tracks([tracks.Net(tuple(sorted(a)), tuple(sorted(b))) for a, b in nets.values()])
    count = max(found, default=-1) + 1
    step = TRACK if count <= 8 else max(3.0, 8 * TRACK / count)
    need = ABOVE + BELOW + step * (count - 1) if count else 0.0
    height = max(least, need)
    first = y + (height - need) / 2 + ABOVE
    for net, track in zip(nets, found, strict=True):
        column.bend[(net, level)] = first + step * track if track >= 0 else y + height / 2
    return y + height
