"""One layered drawing, from nodes and lines to rows of vertices: ranks, columns, lanes for long lines.

A *net* is all that leaves one node (or enters the drawing, or leaves it): its lines share their way as far as they
can and branch late, as on a circuit board. A net that passes a row gets one vertex there, its lane, so no line runs
through a box. A drawing that would be a needle is cut into columns; a net leaves a column at the bottom (level
last + 1) and enters a later one at the top (level 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from tfgraphwidget.view.rank import flipped, folded, ranks
from tfgraphwidget.view.rows import NODE_GAP, ROW_GAP
from tfgraphwidget.view.wrap import cuts

BORDER = -1
LANE_GAP, LANE = 10.0, 2.0
_FAN = 5
# What a net has in common: the "node" all its lines come from; the node they go to, against the arrow ("back") or
# because many lines that have only this way meet there ("into"); the border above ("start") or below ("end"); or
# the node at the beginning of control lines to nodes of the same row ("side").
Net = tuple[str, int]


class Line(NamedTuple):
    """One line; an end that is BORDER is the container's. `loose` (control) lines do not decide the ranks."""

    source: int
    target: int
    loose: bool = False
    loop: bool = False


@dataclass(frozen=True)
class Flow:
    """Nodes to draw: width and height each, where lines enter and leave (from its left; None: spread), and lines.

    `aspect` is the width : height wished for, `tolerance` how much taller than wide it may be before it is wrapped.
    `names` are the nodes' names, for layouts that the user gives.
    """

    sizes: Sequence[tuple[float, float]]
    ports: Sequence[tuple[float, float] | None]
    lines: Sequence[Line]
    names: Sequence[str] = ()
    aspect: float = 1.6
    tolerance: float = 1.6


@dataclass
class Run:
    """The part of a line within one column: vertices from top to bottom."""

    column: int
    net: Net
    vertices: list[int]


@dataclass
class Plan:
    """Vertices 0 … n-1 are the nodes, the others lanes. `layers[c][l]` are the vertices of level l of column c."""

    flow: Flow
    column: list[int]
    level: list[int]
    layers: list[list[list[int]]]
    turned: list[bool]
    runs: list[list[Run]] = field(default_factory=list)
    lanes: dict[tuple[Net, int, int], int] = field(default_factory=dict)
    links: list[dict[tuple[int, int, Net], float]] = field(default_factory=list)

    def lane(self, net: Net, column: int, level: int) -> int:
        """The vertex of a net on a level that it passes, made when it is new."""
        key = (net, column, level)
        vertex = self.lanes.get(key)
        if vertex is None:
            vertex = self.lanes[key] = len(self.level)
            self.level.append(level)
            self.column.append(column)
            self.layers[column][level].append(vertex)
        return vertex

    def last(self, column: int) -> int:
        """The level below the last row of a column."""
        return len(self.layers[column]) - 1


def planned(flow: Flow) -> Plan:
    """Rows, columns and lanes; nothing is ordered or placed yet."""
    rank, turned = _ranked(flow)
    nets = _nets(flow, turned)
    starts = _columns(flow, rank, nets)
    column = [sum(start <= r for start in starts) - 1 for r in rank]
    ends = [*starts[1:], max(rank, default=-1) + 1]
    layers: list[list[list[int]]] = [[[] for _ in range(b - a + 2)] for a, b in zip(starts, ends, strict=True)]
    level = [r - starts[c] + 1 for r, c in zip(rank, column, strict=True)]
    for node, (c, at) in enumerate(zip(column, level, strict=True)):
        layers[c][at].append(node)
    plan = Plan(flow, column, level, layers, turned, links=[{} for _ in starts])
    for line, net, turn in zip(flow.lines, nets, turned, strict=True):
        plan.runs.append(_runs(plan, line, net, turn=turn))
    for runs in plan.runs:
        for run in runs:
            _link(plan, run)
    return plan


def _ranked(flow: Flow) -> tuple[list[int], list[bool]]:
    """The rank of each node and, per line, whether it goes up."""
    count, turned = len(flow.sizes), [False] * len(flow.lines)
    inner = [i for i, line in enumerate(flow.lines) if BORDER not in (line.source, line.target)]
    firm = [i for i in inner if not flow.lines[i].loose]
    ends = [(flow.lines[i].source, flow.lines[i].target) for i in firm]
    loops = {k for k, i in enumerate(firm) if flow.lines[i].loop}
    for i, turn in zip(firm, flipped(count, ends, loops), strict=True):
        turned[i] = turn
    arcs = [(b, a) if turned[i] else (a, b) for i, (a, b) in zip(firm, ends, strict=True)]
    heads = {line.target for line in flow.lines if line.source == BORDER and not line.loose}
    tails = {line.source for line in flow.lines if line.target == BORDER and not line.loose}
    rank = ranks(count, arcs, heads, tails)
    area = sum((w + NODE_GAP) * (h + ROW_GAP) for w, h in flow.sizes)
    limit = max(600.0, 1.3 * sqrt(area * flow.aspect))
    rank = folded(rank, [w + NODE_GAP for w, _ in flow.sizes], arcs, limit)
    for i in inner:
        if flow.lines[i].loose:
            turned[i] = rank[flow.lines[i].source] > rank[flow.lines[i].target]
    return rank, turned


def _nets(flow: Flow, turned: list[bool]) -> list[Net]:
    """The net of each line."""
    leaving = [0] * (len(flow.sizes) + 1)
    entering = [0] * (len(flow.sizes) + 1)
    for line in flow.lines:
        leaving[line.source] += 1
        entering[line.target] += 1
    nets: list[Net] = []
    for line, turn in zip(flow.lines, turned, strict=True):
        if line.target == BORDER:
            nets.append(("end", BORDER))
        elif line.source == BORDER:
            nets.append(("start", BORDER))
        elif turn:
            nets.append(("back", line.target))
        elif leaving[line.source] == 1 and entering[line.target] >= _FAN:
            nets.append(("into", line.target))
        else:
            nets.append(("node", line.source))
    return nets


def _columns(flow: Flow, rank: list[int], nets: list[Net]) -> list[int]:
    rows = max(rank, default=-1) + 1
    heights, widths = [0.0] * rows, [0.0] * rows
    for (w, h), r in zip(flow.sizes, rank, strict=True):
        heights[r] = max(heights[r], h + ROW_GAP)
        widths[r] += w + NODE_GAP
    reach: dict[Net, tuple[int, int]] = {}
    for line, net in zip(flow.lines, nets, strict=True):
        if BORDER not in (line.source, line.target):
            low, high = sorted((rank[line.source], rank[line.target]))
            known = reach.get(net, (low, high))
            reach[net] = (min(low, known[0]), max(high, known[1]))
    crossing = [0] * (rows + 1)
    for low, high in reach.values():
        for r in range(low, high):
            crossing[r] += 1
            widths[r] += LANE_GAP * (r > low)
    return cuts(heights, widths, crossing, flow.aspect, flow.tolerance)


def _runs(plan: Plan, line: Line, net: Net, *, turn: bool) -> list[Run]:
    """The way of a line, column by column; one run of a single vertex for a line within a row."""
    upper, lower = (line.target, line.source) if turn else (line.source, line.target)
    first = plan.column[lower] if upper == BORDER else plan.column[upper]
    last = first if lower == BORDER else plan.column[lower]
    if BORDER not in (upper, lower) and first == last and plan.level[upper] == plan.level[lower]:
        return [Run(first, ("side", line.source), [line.source, line.target])]
    if first == last:
        start = 0 if upper == BORDER else plan.level[upper] + 1
        stop = plan.last(first) + 1 if lower == BORDER else plan.level[lower]
        lanes = [plan.lane(net, first, at) for at in range(start, stop)]
        ends = ([] if upper == BORDER else [upper]), ([] if lower == BORDER else [lower])
        return [Run(first, net, [*ends[0], *lanes, *ends[1]])]
    down = [plan.lane(net, first, at) for at in range(plan.level[upper] + 1, plan.last(first) + 1)]
    on = [plan.lane(net, last, at) for at in range(plan.level[lower])]
    return [Run(first, net, [upper, *down]), Run(last, net, [*on, lower])]


def _link(plan: Plan, run: Run) -> None:
    """Note which vertices of neighbouring levels are joined, and how straight that should be."""
    if run.net[0] == "side":
        return
    nodes = len(plan.flow.sizes)
    links = plan.links[run.column]
    for a, b in zip(run.vertices, run.vertices[1:], strict=False):
        lanes = (a >= nodes) + (b >= nodes)
        links[(a, b, run.net)] = (1.0, 2.0, 30.0)[lanes]
