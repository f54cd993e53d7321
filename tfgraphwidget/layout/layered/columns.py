"""Columns side by side, and the way of each line through them."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.layout.geometry import Piece, Point, without_corners
from tfgraphwidget.layout.layered.column_wrapping import GUTTER
from tfgraphwidget.layout.layered.layered_graph import Net, Plan, Run
from tfgraphwidget.layout.layered.routing import Column, side, tracks
from tfgraphwidget.layout.layered.routing import TrackNet as Branches
from tfgraphwidget.layout.spacing import ABOVE, BELOW, TRACK
from tfgraphwidget.progress import counted

LONG = 5_000  # lines of one drawing that take a second: a person is told how far it is


class Sheet:
    """Columns of one drawing, joined: nets go from a column's bottom up the gutter beside it and over the top."""

    def __init__(self, plan: Plan, columns: Sequence[Column]) -> None:
        self.plan = plan
        self.columns = columns
        self.lane: dict[tuple[Net, int], tuple[float, float]] = {}  # x in the gutter, y below the column
        self.entries: dict[Net, dict[int, float]] = {}
        self.exits: dict[int, float] = {}
        self.width = self._place_columns()
        self.enter = next((x for _, x in sorted(self.entries.get(("start", -1), {}).items())), None)
        self.leave = next((x for _, x in sorted(self.exits.items(), reverse=True)), None)
        self.over, self.head = self._channel()
        self.foot = ABOVE + 6.0 if len({round(x) for x in self.exits.values()}) > 1 else 0.0
        below = [column.height for column in columns] + [y for _, y in self.lane.values()]
        self.height = self.head + max(below) + self.foot

    def piece(self) -> Piece:
        """Boxes and routes."""
        left, top = [], []
        for node, (w, _) in enumerate(self.plan.flow.sizes):
            column = self.columns[self.plan.column[node]]
            left.append(column.left + column.x[node] - w / 2)
            top.append(self.head + column.top[node])
        ways = list(zip(self.plan.runs, self.plan.turned, strict=True))
        slowly = counted(ways, "Drawing the lines") if len(ways) > LONG else ways
        routes = [self._route(runs, top, turn=turn) for runs, turn in slowly]
        return Piece(left, top, self.width, self.height, routes, self.enter, self.leave)

    def _place_columns(self) -> float:
        """Give columns, gutter lanes, entries and exits their x; returns the whole width."""
        x = 0.0
        for number, column in enumerate(self.columns):
            column.left = x
            x += column.width
            leaving = []
            for net, vertex in self.plan.ends(number, 0):
                self.entries.setdefault(net, {})[number] = column.left + column.x[vertex]
            for net, vertex in self.plan.ends(number, self.plan.last(number)):
                if net[0] == "end":
                    self.exits[number] = column.left + column.x[vertex]
                else:
                    leaving.append((column.x[vertex], net))
            # The net that leaves furthest right turns first and takes the nearest lane: none cross there.
            for i, (_, net) in enumerate(sorted(leaving, reverse=True)):
                self.lane[(net, number)] = (x + GUTTER / 2 + TRACK * i, column.height + TRACK * (i + 1))
            if number + 1 < len(self.columns):
                x += GUTTER + TRACK * max(0, len(leaving) - 1)
        return x

    def _channel(self) -> tuple[dict[Net, float], float]:
        """The y of each net's track above the columns, and where the columns begin."""
        nets = {}
        for net, entries in self.entries.items():
            below = sorted([*entries.values(), *(x for (lane, _), (x, _) in self.lane.items() if lane == net)])
            above = (self.enter,) if net[0] == "start" and self.enter is not None else ()
            nets[net] = Branches(above, tuple(below))
        found = tracks(list(nets.values()))
        count = max(found, default=-1) + 1
        over = {net: ABOVE + TRACK * track for net, track in zip(nets, found, strict=True) if track >= 0}
        return over, ABOVE + TRACK * (count - 1) + BELOW if count else 0.0

    def _route(self, runs: list[Run], top: list[float], *, turn: bool) -> list[Point]:
        net, points = runs[0].net, []
        if net[0] == "far":
            return self._past(runs[0], top)
        if net[0] == "start" and self.enter is not None:
            points.append((self.enter, 0.0))
            points += self._across(net, self.enter, self.entries[net][runs[0].column])
        for number, run in enumerate(runs):
            if number:
                x, (lane, below) = points[-1][0], self.lane[(net, runs[0].column)]
                points += [(x, self.head + below), (lane, self.head + below)]
                points += self._across(net, lane, self.entries[net][run.column])
            points += self._within(run, top)
        if net[0] == "end" and self.leave is not None:
            x, y = points[-1][0], self.height - self.foot + ABOVE
            points += [(x, y), (self.leave, y)] if self.foot else []
            points.append((self.leave, self.height))
        points = without_corners(points)
        return points[::-1] if turn else points

    def _across(self, net: Net, start: float, end: float) -> list[Point]:
        return [(start, self.over[net]), (end, self.over[net])] if net in self.over else []

    def _past(self, run: Run, top: list[float]) -> list[Point]:
        """The way of a line without lanes: beside its column; it may run through boxes of its ends' rows."""
        (source, target), column = run.vertices, self.columns[run.column]
        other = self.columns[self.plan.column[target]]
        x, to = column.left + column.x[source], other.left + other.x[target]
        y, below = top[source] + self.plan.flow.sizes[source][1], top[target]
        side = column.left + column.width + ABOVE
        return [(x, y), (x, y + ABOVE), (side, y + ABOVE), (side, below - ABOVE), (to, below - ABOVE), (to, below)]

    def _within(self, run: Run, top: list[float]) -> list[Point]:
        """The way of a run from its first vertex to its last."""
        column, plan = self.columns[run.column], self.plan
        nodes, dx = len(plan.flow.sizes), column.left
        first, last = run.vertices[0], run.vertices[-1]

        def bottom(v: int) -> float:
            return (
                top[v] + plan.flow.sizes[v][1]
                if v < nodes
                else self.head + (0.0 if plan.level[v] == 0 else column.height)
            )

        if run.net[0] == "side":
            x1, x2 = side(plan, column, first, last)
            y = self.head + column.bend[(run.net, plan.level[first])]
            return [(dx + x1, bottom(first)), (dx + x1, y), (dx + x2, y), (dx + x2, bottom(last))]
        x = column.outlet.get((first, run.net), column.x[first])
        points = [(dx + x, bottom(first))]
        for a, b in zip(run.vertices, run.vertices[1:], strict=False):
            x, to = column.outlet[(a, run.net)], column.inlet.get((b, run.net), column.x[b])
            if abs(x - to) >= 0.5:
                y = self.head + column.bend[(run.net, plan.level[a])]
                points += [(dx + x, y), (dx + to, y)]
            x = to
        points.append((dx + x, top[last] if last < nodes else self.head + column.height))
        return points
