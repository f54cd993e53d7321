"""Columns side by side, and the routes of edges through them and from one to another."""

from __future__ import annotations

from math import nan

from tfgraphwidget.layout.geometry import MutableLayout, Point, remove_collinear
from tfgraphwidget.layout.layered.column_wrapping import GUTTER
from tfgraphwidget.layout.layered.layered_graph import Chain, Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.routing import Column, HyperedgeSpan, assign_tracks, same_layer_ports
from tfgraphwidget.layout.spacing import ABOVE, BELOW, TRACK
from tfgraphwidget.progress import report_each

LONG = 5_000  # lines of one drawing that take a second: a person is told how far it is


class ColumnAssembly:
    """The columns of one drawing: a hyperedge runs from a column's bottom up the gutter beside it and over the next."""

    def __init__(self, graph: LayeredGraph, columns: list[Column]) -> None:
        self.graph = graph
        self.columns = columns
        self.gutter: dict[tuple[Hyperedge, int], tuple[float, float]] = {}  # x in the gutter, y below the column
        self.entries: dict[Hyperedge, dict[int, float]] = {}
        self.exits: dict[int, dict[tuple[Hyperedge, int], float]] = {}  # by port
        self.width = self._place_columns()
        self.enter = self._choose_entries()
        # Where a port has several exits, that of the last column is it.
        self.leave = {port: max((at, x) for (_, at), x in exits.items())[1] for port, exits in self.exits.items()}
        self.over, self.head = self._assign_channel()
        self.under, self.foot = self._assign_lower_channel()
        below = [column.height for column in columns] + [y for _, y in self.gutter.values()]
        self.height = self.head + max(below) + self.foot

    def to_layout(self) -> MutableLayout:
        """Return the boxes and the routes of all edges, in pixels."""
        left, top = [], []
        for node, (w, _) in enumerate(self.graph.problem.sizes):
            column = self.columns[self.graph.column[node]]
            left.append(column.left + column.x[node] - w / 2)
            top.append(self.head + column.top[node])
        ways = list(zip(self.graph.chains, self.graph.is_reversed, strict=True))
        slowly = report_each(ways, "Drawing the lines") if len(ways) > LONG else ways
        routes = [self._route(chains, top, turn=turn) for chains, turn in slowly]
        return MutableLayout(left, top, self.width, self.height, routes, _by_port(self.enter), _by_port(self.leave))

    def _choose_entries(self) -> dict[int, float]:
        """The x of each port of the upper border: where its first hyperedge enters the first column."""
        entry_by_port: dict[int, tuple[int, float]] = {}
        for hyperedge, entries in self.entries.items():
            if hyperedge[0] == "start":
                first = min(entries.items())
                entry_by_port[hyperedge[2]] = min(first, entry_by_port.get(hyperedge[2], first))
        return {port: x for port, (_, x) in entry_by_port.items()}

    def _place_columns(self) -> float:
        """Give columns, gutter lanes, entries and exits their x; returns the whole width."""
        x = 0.0
        for number, column in enumerate(self.columns):
            column.left = x
            x += column.width
            leaving = []
            for hyperedge, vertex in self.graph.boundary_hyperedges(number, 0):
                self.entries.setdefault(hyperedge, {})[number] = column.left + column.x[vertex]
            for hyperedge, vertex in self.graph.boundary_hyperedges(number, self.graph.last_level(number)):
                if hyperedge[0] == "end":
                    self.exits.setdefault(hyperedge[3], {})[(hyperedge, number)] = column.left + column.x[vertex]
                else:
                    leaving.append((column.x[vertex], hyperedge))
            # The net that leaves furthest right turns first and takes the nearest lane: none cross there.
            for i, (_, hyperedge) in enumerate(sorted(leaving, reverse=True)):
                self.gutter[(hyperedge, number)] = (x + GUTTER / 2 + TRACK * i, column.height + TRACK * (i + 1))
            if number + 1 < len(self.columns):
                x += GUTTER + TRACK * max(0, len(leaving) - 1)
        return x

    def _assign_channel(self) -> tuple[dict[Hyperedge, float], float]:
        """The y of each net's track above the columns, and where the columns begin."""
        hyperedges = {}
        for hyperedge, entries in self.entries.items():
            below = sorted(
                [*entries.values(), *(x for (other, _), (x, _) in self.gutter.items() if other == hyperedge)]
            )
            above = (self.enter[hyperedge[2]],) if hyperedge[0] == "start" else ()
            hyperedges[hyperedge] = HyperedgeSpan(above, tuple(below))
        track_of = assign_tracks(list(hyperedges.values()))
        count = max(track_of, default=-1) + 1
        over = {
            hyperedge: ABOVE + TRACK * track
            for hyperedge, track in zip(hyperedges, track_of, strict=True)
            if track >= 0
        }
        return over, ABOVE + TRACK * (count - 1) + BELOW if count else 0.0

    def _assign_lower_channel(self) -> tuple[dict[int, float], float]:
        """How far below the columns the exits of each port meet, and the height that this needs."""
        exits_of_port = {
            port: exits for port, exits in self.exits.items() if len({round(x) for x in exits.values()}) > 1
        }
        spans = [
            HyperedgeSpan(tuple(sorted(exits.values())), (self.leave[port],)) for port, exits in exits_of_port.items()
        ]
        track_of = assign_tracks(spans)
        under = {port: ABOVE + TRACK * max(track, 0) for port, track in zip(exits_of_port, track_of, strict=True)}
        return under, max(under.values(), default=-6.0) + 6.0

    def _route(self, chains: list[Chain], top: list[float], *, turn: bool) -> list[Point]:
        hyperedge, points = chains[0].hyperedge, []
        if hyperedge[0] == "far":
            return self._route_beside_column(chains[0], top)
        if hyperedge[0] == "start":
            enter = self.enter[hyperedge[2]]
            points.append((enter, 0.0))
            points += self._route_over_columns(hyperedge, enter, self.entries[hyperedge][chains[0].column])
        for number, chain in enumerate(chains):
            if number:
                x, (dummy, below) = points[-1][0], self.gutter[(hyperedge, chains[0].column)]
                points += [(x, self.head + below), (dummy, self.head + below)]
                points += self._route_over_columns(hyperedge, dummy, self.entries[hyperedge][chain.column])
            points += self._route_chain(chain, top)
        if hyperedge[0] == "end":
            port = hyperedge[3]
            x, leave, y = points[-1][0], self.leave[port], self.height - self.foot + self.under.get(port, 0.0)
            points += [(x, y), (leave, y)] if port in self.under else []
            points.append((leave, self.height))
        points = remove_collinear(points)
        return points[::-1] if turn else points

    def _route_over_columns(self, hyperedge: Hyperedge, start: float, end: float) -> list[Point]:
        return [(start, self.over[hyperedge]), (end, self.over[hyperedge])] if hyperedge in self.over else []

    def _route_beside_column(self, chain: Chain, top: list[float]) -> list[Point]:
        """The way of a line without lanes: beside its column; it may run through boxes of its ends' rows."""
        (source, target), column = chain.vertices, self.columns[chain.column]
        other = self.columns[self.graph.column[target]]
        x = column.left + column.x[source] + self.graph.port(source, chain.hyperedge, leaves=True)
        to = other.left + other.x[target] + self.graph.port(target, chain.hyperedge, leaves=False)
        y, below = top[source] + self.graph.problem.sizes[source][1], top[target]
        side = column.left + column.width + ABOVE
        return [(x, y), (x, y + ABOVE), (side, y + ABOVE), (side, below - ABOVE), (to, below - ABOVE), (to, below)]

    def _route_chain(self, chain: Chain, top: list[float]) -> list[Point]:
        """The way of a run from its first vertex to its last."""
        column, graph = self.columns[chain.column], self.graph
        nodes, dx = len(graph.problem.sizes), column.left
        first, last = chain.vertices[0], chain.vertices[-1]

        def bottom(v: int) -> float:
            return (
                top[v] + graph.problem.sizes[v][1]
                if v < nodes
                else self.head + (0.0 if graph.level[v] == 0 else column.height)
            )

        if chain.hyperedge[0] == "side":
            x1, x2 = same_layer_ports(graph, column, chain.hyperedge, last)
            y = self.head + column.bend[(chain.hyperedge, graph.level[first])]
            return [(dx + x1, bottom(first)), (dx + x1, y), (dx + x2, y), (dx + x2, bottom(last))]
        x = column.outlet.get((first, chain.hyperedge), column.x[first])
        points = [(dx + x, bottom(first))]
        for a, b in zip(chain.vertices, chain.vertices[1:], strict=False):
            x, to = column.outlet[(a, chain.hyperedge)], column.inlet.get((b, chain.hyperedge), column.x[b])
            if abs(x - to) >= 0.5:
                y = self.head + column.bend[(chain.hyperedge, graph.level[a])]
                points += [(dx + x, y), (dx + to, y)]
            x = to
        points.append((dx + x, top[last] if last < nodes else self.head + column.height))
        return points


def _by_port(x: dict[int, float]) -> tuple[float, ...]:
    """The x of each port; NaN for those of other components."""
    return tuple(x.get(port, nan) for port in range(max(x, default=-1) + 1))
