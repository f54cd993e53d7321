"""Columns side by side, and the routes of edges through them and from one to another."""

from __future__ import annotations

from itertools import pairwise
from math import nan

from tfgraphwidget.layout.geometry import MutableLayout, Point, remove_collinear
from tfgraphwidget.layout.layered.column_wrapping import GUTTER
from tfgraphwidget.layout.layered.layered_graph import Chain, Hyperedge, LayeredGraph
from tfgraphwidget.layout.layered.routing import (
    Column,
    HyperedgeSpan,
    assign_tracks,
    same_layer_ports,
)
from tfgraphwidget.layout.spacing import ABOVE, BELOW, TRACK
from tfgraphwidget.progress import report_each

LONG = 5_000  # edges of one drawing that take a second: from here on, progress is shown
BELOW_EXITS = 6.0  # pixels below the channel in which exits meet; without a channel, none
SAME_X = 0.5  # pixels; an edge does not bend for less


class ColumnAssembly:
    """The columns of one drawing, and the ways from one to another.

    A hyperedge runs from a column's bottom up the gutter beside it and over the next column.

    Attributes:
        graph: the layered graph.
        columns: the columns, from left to right.
        gutter: the x of each hyperedge in the gutter on the right of a column, and the y below it.
        entries: the x where each hyperedge enters each column.
        exits: by port of the lower border, the x where each hyperedge leaves each column for it.
        width: of the drawing.
        enter: the x of each port of the upper border.
        leave: the x of each port of the lower border.
        over: the y of the track of each hyperedge in the channel above the columns.
        head: the height of that channel.
        under: by port, how far below the columns its exits meet.
        foot: the height of the channel for that.
        height: of the drawing.
    """

    def __init__(self, graph: LayeredGraph, columns: list[Column]) -> None:
        self.graph = graph
        self.columns = columns
        self.gutter: dict[tuple[Hyperedge, int], tuple[float, float]] = {}
        self.entries: dict[Hyperedge, dict[int, float]] = {}
        self.exits: dict[int, dict[tuple[Hyperedge, int], float]] = {}
        self.width = self._place_columns()
        self.enter = self._choose_entries()
        self.leave = self._choose_exits()
        self.over, self.head = self._assign_channel()
        self.under, self.foot = self._assign_lower_channel()
        bottoms = [column.height for column in columns]
        bottoms += [y for _, y in self.gutter.values()]
        self.height = self.head + max(bottoms) + self.foot

    @property
    def passing(self) -> list[float]:
        """How many edges pass from each column to a later one, as `wrap_columns` counts them."""
        # On the right of the last column, too, edges pass: those that come back to an earlier one.
        passing = [0.0] * len(self.columns)
        for _, column in self.gutter:
            passing[column] += 0.5
        for chains in self.graph.chains:
            for chain in chains[:-1]:
                passing[chain.column] += 0.5
        return passing[:-1]

    def to_layout(self) -> MutableLayout:
        """Return the boxes and the routes of all edges, in pixels."""
        left = []
        top = []
        for node, (width, _) in enumerate(self.graph.problem.sizes):
            column = self.columns[self.graph.column[node]]
            left.append(column.left + column.x[node] - width / 2)
            top.append(self.head + column.top[node])
        edges = list(zip(self.graph.chains, self.graph.is_reversed, strict=True))
        in_turn = report_each(edges, "Drawing the lines") if len(edges) > LONG else edges
        routes = [self._route(chains, top, is_reversed=reverse) for chains, reverse in in_turn]
        enter, leave = _by_port(self.enter), _by_port(self.leave)
        return MutableLayout(left, top, self.width, self.height, routes, enter, leave)

    def _choose_entries(self) -> dict[int, float]:
        """The x of each port of the upper border: where its first hyperedge enters a column."""
        entry_by_port: dict[int, tuple[int, float]] = {}
        for hyperedge, entries in self.entries.items():
            if hyperedge[0] == "start":
                first = min(entries.items())
                entry_by_port[hyperedge[2]] = min(first, entry_by_port.get(hyperedge[2], first))
        return {port: x for port, (_, x) in entry_by_port.items()}

    def _choose_exits(self) -> dict[int, float]:
        """The x of each port of the lower border: where its last hyperedge leaves a column."""
        leave = {}
        for port, exits in self.exits.items():
            _, leave[port] = max((column, x) for (_, column), x in exits.items())
        return leave

    def _place_columns(self) -> float:
        """Give columns, gutter lanes, entries and exits their x; returns the whole width."""
        x = 0.0
        for number, column in enumerate(self.columns):
            column.left = x
            x += column.width
            leaving = []
            for hyperedge, vertex in self.graph.boundary_hyperedges(number, 0):
                self.entries.setdefault(hyperedge, {})[number] = column.left + column.x[vertex]
            last = self.graph.last_level(number)
            for hyperedge, vertex in self.graph.boundary_hyperedges(number, last):
                if hyperedge[0] == "end":
                    exits = self.exits.setdefault(hyperedge[3], {})
                    exits[(hyperedge, number)] = column.left + column.x[vertex]
                else:
                    leaving.append((column.x[vertex], hyperedge))
            # What leaves furthest right turns first and takes the nearest place: none cross there.
            for i, (_, hyperedge) in enumerate(sorted(leaving, reverse=True)):
                beside = x + GUTTER / 2 + TRACK * i
                below = column.height + TRACK * (i + 1)
                self.gutter[(hyperedge, number)] = (beside, below)
            if number + 1 < len(self.columns):
                x += GUTTER + TRACK * max(0, len(leaving) - 1)
        return x

    def _assign_channel(self) -> tuple[dict[Hyperedge, float], float]:
        """The y of each hyperedge's track above the columns, and where the columns begin."""
        in_gutter: dict[Hyperedge, list[float]] = {}
        for (hyperedge, _), (x, _) in self.gutter.items():
            in_gutter.setdefault(hyperedge, []).append(x)
        spans = []
        for hyperedge, entries in self.entries.items():
            below = sorted([*entries.values(), *in_gutter.get(hyperedge, ())])
            above = (self.enter[hyperedge[2]],) if hyperedge[0] == "start" else ()
            spans.append(HyperedgeSpan(above, tuple(below)))
        tracks = assign_tracks(spans)
        over = {
            hyperedge: ABOVE + TRACK * track
            for hyperedge, track in zip(self.entries, tracks, strict=True)
            if track >= 0
        }
        last = max(tracks, default=-1)
        return over, ABOVE + TRACK * last + BELOW if last >= 0 else 0.0

    def _assign_lower_channel(self) -> tuple[dict[int, float], float]:
        """How far below the columns the exits of each port meet, and the height that this needs."""
        ports = []
        spans = []
        for port, exits in self.exits.items():
            if len({round(x) for x in exits.values()}) > 1:
                ports.append(port)
                spans.append(HyperedgeSpan(tuple(sorted(exits.values())), (self.leave[port],)))
        if not ports:
            return {}, 0.0
        under = {
            port: ABOVE + TRACK * max(track, 0)
            for port, track in zip(ports, assign_tracks(spans), strict=True)
        }
        return under, max(under.values()) + BELOW_EXITS

    def _route(self, chains: list[Chain], top: list[float], *, is_reversed: bool) -> list[Point]:
        """The points of an edge, from its source to its target."""
        first_chain = chains[0]
        hyperedge = first_chain.hyperedge
        kind, _, upper_port, lower_port = hyperedge
        if kind == "far":
            return self._route_beside_column(first_chain, top)
        points: list[Point] = []
        if kind == "start":
            enter = self.enter[upper_port]
            entry = self.entries[hyperedge][first_chain.column]
            points.append((enter, 0.0))
            points += self._route_over_columns(hyperedge, enter, entry)
        points += self._route_chain(first_chain, top)
        for chain in chains[1:]:
            x, _ = points[-1]
            beside, below = self.gutter[(hyperedge, first_chain.column)]
            entry = self.entries[hyperedge][chain.column]
            points += [(x, self.head + below), (beside, self.head + below)]
            points += self._route_over_columns(hyperedge, beside, entry)
            points += self._route_chain(chain, top)
        if kind == "end":
            leave = self.leave[lower_port]
            if lower_port in self.under:
                x, _ = points[-1]
                y = self.height - self.foot + self.under[lower_port]
                points += [(x, y), (leave, y)]
            points.append((leave, self.height))
        points = remove_collinear(_straighten(points))
        return points[::-1] if is_reversed else points

    def _route_over_columns(self, hyperedge: Hyperedge, start: float, end: float) -> list[Point]:
        """The points of a hyperedge in the channel above the columns; none if it does not bend."""
        if hyperedge not in self.over:
            return []
        y = self.over[hyperedge]
        return [(start, y), (end, y)]

    def _route_beside_column(self, chain: Chain, top: list[float]) -> list[Point]:
        """The points of an edge without dummy nodes, which runs beside its column.

        It may run through boxes in the layers of its ends.
        """
        graph = self.graph
        source, target = chain.vertices
        column = self.columns[chain.column]
        other = self.columns[graph.column[target]]
        x1 = column.left + column.x[source] + graph.port(source, chain.hyperedge, leaves=True)
        x2 = other.left + other.x[target] + graph.port(target, chain.hyperedge, leaves=False)
        y1 = top[source] + graph.problem.sizes[source][1]
        y2 = top[target]
        side = column.left + column.width + ABOVE
        out = [(x1, y1), (x1, y1 + ABOVE), (side, y1 + ABOVE)]
        return [*out, (side, y2 - ABOVE), (x2, y2 - ABOVE), (x2, y2)]

    def _lower_side(self, vertex: int, top: list[float]) -> float:
        """The y where edges leave a vertex at the upper end of a chain."""
        graph = self.graph
        if vertex < graph.node_count:
            return top[vertex] + graph.problem.sizes[vertex][1]
        if graph.level[vertex] == 0:
            return self.head
        return self.head + self.columns[graph.column[vertex]].height

    def _route_chain(self, chain: Chain, top: list[float]) -> list[Point]:
        """The points of a chain, from its first vertex to its last."""
        column, graph, hyperedge = self.columns[chain.column], self.graph, chain.hyperedge
        left = column.left
        first, last = chain.vertices[0], chain.vertices[-1]
        start = self._lower_side(first, top)
        if hyperedge[0] == "side":
            x1, x2 = same_layer_ports(graph, column, hyperedge, last)
            y = self.head + column.bend[(hyperedge, graph.level[first])]
            end = self._lower_side(last, top)
            return [(left + x1, start), (left + x1, y), (left + x2, y), (left + x2, end)]
        x = column.outlet.get((first, hyperedge), column.x[first])
        points = [(left + x, start)]
        for upper, lower in pairwise(chain.vertices):
            x = column.outlet[(upper, hyperedge)]
            next_x = column.inlet.get((lower, hyperedge), column.x[lower])
            if abs(x - next_x) >= SAME_X:
                y = self.head + column.bend[(hyperedge, graph.level[upper])]
                points += [(left + x, y), (left + next_x, y)]
            x = next_x
        end = top[last] if last < graph.node_count else self.head + column.height
        points.append((left + x, end))
        return points


def _straighten(points: list[Point]) -> list[Point]:
    """The points of an edge without the slant of what does not bend, by which lines that leave a
    box together would cross.
    """
    straight = points[:1]
    for x, y in points[1:]:
        x_above, _ = straight[-1]
        straight.append((x_above if abs(x - x_above) < SAME_X else x, y))
    return straight


def _by_port(x: dict[int, float]) -> tuple[float, ...]:
    """The x of each port; NaN for those of other components."""
    return tuple(x.get(port, nan) for port in range(max(x, default=-1) + 1))
