"""One layered drawing, from nodes and lines to rows of vertices: ranks, columns, lanes for long lines.

A *net* is all that leaves one node (or enters the drawing, or leaves it): its lines share their way as far as they
can and branch late, as on a circuit board. A net that passes a row gets one vertex there, its lane, so no line runs
through a box. A drawing that would be a needle is cut into columns; a net leaves a column at the bottom (level
last + 1) and enters a later one at the top (level 0).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from tfgraphwidget.layout.layered.column_wrapping import cuts
from tfgraphwidget.layout.layered.components import BORDER, Line, Part
from tfgraphwidget.layout.layered.layering import folded
from tfgraphwidget.layout.spacing import NODE_GAP, ROW_GAP

LANE_GAP, LANE = 10.0, 2.0
_FAN = 5
_MOST_LANES, _FAR = 40_000, 12
_NARROWEST, _WIDER = 120.0, 1.0
# What a net has in common: the "node" all its lines come from; the node they go to, against the arrow ("back") or
# because many lines that have only this way meet there ("into"); the border above ("start") or below ("end");
# the node at the beginning of control lines to nodes of the same row ("side"); or nothing (the number of a "far" line).
Net = tuple[str, int]


@dataclass(frozen=True)
class Flow:
    """A part to draw: width and height of each node, and where lines enter and leave it (from its left; None: spread).

    `aspect` is the width : height wished for.
    """

    part: Part
    sizes: Sequence[tuple[float, float]]
    ports: Sequence[tuple[float, float] | None]
    aspect: float = 1.6

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of the part."""
        return self.part.inner


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
    net: list[Net] = field(default_factory=list)
    links: list[dict[tuple[int, int, Net], float]] = field(default_factory=list)
    sides: list[list[tuple[int, int, Net]]] = field(default_factory=list)

    def lane(self, net: Net, column: int, level: int) -> int:
        """The vertex of a net on a level that it passes, made when it is new."""
        key = (net, column, level)
        vertex = self.lanes.get(key)
        if vertex is None:
            vertex = self.lanes[key] = len(self.level)
            self.level.append(level)
            self.column.append(column)
            self.net.append(net)
            self.layers[column][level].append(vertex)
        return vertex

    def ends(self, column: int, level: int) -> list[tuple[Net, int]]:
        """The nets that enter a column (level 0) or leave it (its last level), and their vertices."""
        return [(self.net[vertex - len(self.flow.sizes)], vertex) for vertex in sorted(self.layers[column][level])]

    def last(self, column: int) -> int:
        """The level below the last row of a column."""
        return len(self.layers[column]) - 1


@dataclass(frozen=True)
class Cut:
    """The rank of each node, where columns begin, and per line whether it goes up and its net."""

    rank: Sequence[int]
    starts: Sequence[int]
    turned: list[bool]
    nets: list[Net]


def cut(flow: Flow) -> Cut:
    """Rows and columns for the shape wished for."""
    rank, turned = _ranked(flow)
    nets = nets_of(flow, turned)
    return Cut(rank, _columns(flow, rank, nets), turned, nets)


def planned(flow: Flow, into: Cut) -> Plan:
    """Rows, columns and lanes; nothing is ordered or placed yet."""
    rank, starts, turned, nets = into.rank, into.starts, into.turned, into.nets
    column = [bisect_right(starts, r) - 1 for r in rank]
    ends = [*starts[1:], max(rank, default=-1) + 1]
    layers: list[list[list[int]]] = [[[] for _ in range(b - a + 2)] for a, b in zip(starts, ends, strict=True)]
    level = [r - starts[c] + 1 for r, c in zip(rank, column, strict=True)]
    for node, (c, at) in enumerate(zip(column, level, strict=True)):
        layers[c][at].append(node)
    plan = Plan(flow, column, level, layers, turned, links=[{} for _ in starts], sides=[[] for _ in starts])
    far = _far(flow, rank)
    for number, (line, net, turn) in enumerate(zip(flow.lines, nets, turned, strict=True)):
        if number in far:
            plan.runs.append([Run(column[line.source], ("far", number), [line.source, line.target])])
        else:
            plan.runs.append(_runs(plan, line, net, turn=turn))
    for runs in plan.runs:
        for run in runs:
            _link(plan, run)
    return plan


def _ranked(flow: Flow) -> tuple[list[int], list[bool]]:
    """The rank of each node and, per line, whether it goes up."""
    area = sum((w + NODE_GAP) * (h + ROW_GAP) for w, h in flow.sizes)
    limit = max(_NARROWEST, _WIDER * sqrt(area * flow.aspect))
    rank = folded(flow.part.rank, [w + NODE_GAP for w, _ in flow.sizes], flow.part.arcs, limit)
    return rank, ups(flow.lines, rank, flow.part.turned)


def ups(lines: Sequence[Line], rank: Sequence[int], turned: Sequence[bool]) -> list[bool]:
    """Per line whether it goes up: firm ones as `turned` says, control lines where the ranks make them."""
    return [
        rank[line.source] > rank[line.target] if line.loose and BORDER not in line[:2] else turn
        for line, turn in zip(lines, turned, strict=True)
    ]


def _far(flow: Flow, rank: Sequence[int]) -> set[int]:
    """Lines that get no lanes: those past many rows in a drawing of thousands, where lanes would take minutes."""
    spans = [abs(rank[a] - rank[b]) if BORDER not in (a, b) else 0 for a, b, _, _ in flow.lines]
    if sum(spans) <= _MOST_LANES:
        return set()
    return {number for number, span in enumerate(spans) if span > _FAR}


def nets_of(flow: Flow, turned: list[bool]) -> list[Net]:
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
    return cuts(heights, widths, crossing, flow.aspect)


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
    if run.net[0] == "far":
        return
    if run.net[0] == "side":
        plan.sides[run.column].append((run.vertices[0], run.vertices[1], run.net))
        return
    nodes = len(plan.flow.sizes)
    links = plan.links[run.column]
    for a, b in zip(run.vertices, run.vertices[1:], strict=False):
        lanes = (a >= nodes) + (b >= nodes)
        links[(a, b, run.net)] = (1.0, 2.0, 30.0)[lanes]
