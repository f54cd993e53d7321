"""The layered graph of one component: layers, columns, and chains of dummy nodes for long edges.

A *hyperedge* is all edges that leave one node (or enter the drawing, or leave it): they share a route as far as they
can and branch late, as on a circuit board. A hyperedge that passes a layer gets one dummy node there, so that no edge
runs through a box. A drawing that would be very long is wrapped into columns: a hyperedge leaves a column at the bottom
(level last + 1) and enters a later one at the top (level 0).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from tfgraphwidget.layout.layered.column_wrapping import wrap_columns
from tfgraphwidget.layout.layered.components import BORDER, Component, Edge
from tfgraphwidget.layout.layered.layering import split_wide_layers
from tfgraphwidget.layout.spacing import NODE_GAP, ROW_GAP

DUMMY_GAP, DUMMY_WIDTH = 10.0, 2.0
_FAN = 5
_MOST_DUMMIES, _FAR = 40_000, 12
_NARROWEST, _WIDER = 120.0, 1.0
# What the edges of a hyperedge have in common: the "node" that all come from; the node that they go to, if they are
# reversed ("back") or many edges that are the only one of their source meet there ("into"); the border above ("start")
# or below ("end"); the node at the beginning of control lines to nodes of the same row ("side"); or nothing (the number
# of a "far" line).
# Then the port of its upper and of its lower end, where that is a border; else -1: distinct tensors run apart.
Hyperedge = tuple[str, int, int, int]
NodePorts = tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True)
class LayoutProblem:
    """A component with the width and height of each node and the x where edges enter and leave it (None: anywhere).

    Sizes and ports are in pixels, ports from the left of the node: those where edges enter, and where they leave.
    `aspect` is the wanted width : height, `title` how far the title above reaches from the left, in pixels.
    """

    component: Component
    sizes: Sequence[tuple[float, float]]
    ports: Sequence[NodePorts]
    aspect: float = 1.6
    title: float = 0.0

    @property
    def edges(self) -> Sequence[Edge]:
        """The edges of the component."""
        return self.component.local_edges


@dataclass
class Chain:
    """The part of an edge within one column: nodes and dummy nodes from top to bottom."""

    column: int
    hyperedge: Hyperedge
    vertices: list[int]


@dataclass
class LayeredGraph:
    """Vertices 0 … n - 1 are the nodes, the others dummy nodes.

    `column` and `level` are per vertex; `layers[c][l]` are the vertices of level l of column c. `is_reversed` and
    `chains` are per edge, `hyperedge` per dummy node, `links` and `sides` per column: the (upper, lower, hyperedge)
    links between neighboring levels with their weights, and the control edges within a level.
    """

    problem: LayoutProblem
    column: list[int]
    level: list[int]
    layers: list[list[list[int]]]
    is_reversed: list[bool]
    chains: list[list[Chain]] = field(default_factory=list)
    dummies: dict[tuple[Hyperedge, int, int], int] = field(default_factory=dict)
    hyperedge: list[Hyperedge] = field(default_factory=list)
    links: list[dict[tuple[int, int, Hyperedge], float]] = field(default_factory=list)
    sides: list[list[tuple[int, int, Hyperedge]]] = field(default_factory=list)

    def dummy_node(self, hyperedge: Hyperedge, column: int, level: int) -> int:
        """Return the dummy node of a hyperedge on a layer that it passes; add it if it is new.

        Args:
            hyperedge: The hyperedge.
            column: The number of the column.
            level: The number of the layer.

        Returns:
            The number of the vertex.
        """
        key = (hyperedge, column, level)
        vertex = self.dummies.get(key)
        if vertex is None:
            vertex = self.dummies[key] = len(self.level)
            self.level.append(level)
            self.column.append(column)
            self.hyperedge.append(hyperedge)
            self.layers[column][level].append(vertex)
        return vertex

    def boundary_hyperedges(self, column: int, level: int) -> list[tuple[Hyperedge, int]]:
        """Return the hyperedges that enter a column (level 0) or leave it (last level), and their dummy nodes."""
        return [
            (self.hyperedge[vertex - len(self.problem.sizes)], vertex) for vertex in sorted(self.layers[column][level])
        ]

    def width(self, vertex: int) -> float:
        """How wide a node or dummy node is, in pixels.

        Args:
            vertex: The number of the vertex.
        """
        return self.problem.sizes[vertex][0] if vertex < len(self.problem.sizes) else DUMMY_WIDTH

    def space(self, a: int, b: int) -> float:
        """The least distance between the borders of two neighbors in a layer.

        Args:
            a: The number of one op.
            b: The number of the other op.
        """
        nodes = len(self.problem.sizes)
        return NODE_GAP if a < nodes and b < nodes else DUMMY_GAP

    def gap(self, a: int, b: int) -> float:
        """The least distance between the middles of two neighbors in a layer.

        Args:
            a: The number of one op.
            b: The number of the other op.
        """
        return (self.width(a) + self.width(b)) / 2 + self.space(a, b)

    def port(self, node: int, hyperedge: Hyperedge, *, leaves: bool) -> float:
        """The x where a hyperedge enters a node, or `leaves` it, from its middle; 0 for a node without ports.

        Args:
            node: The node.
            hyperedge: The hyperedge.
            leaves: Whether the node is the upper end.
        """
        ports = self.problem.ports[node]
        if ports is None:
            return 0.0
        side, port = ports[leaves], hyperedge[2] if leaves else hyperedge[3]
        half = self.problem.sizes[node][0] / 2
        return (side[port] if 0 <= port < len(side) else side[0] if side else half) - half

    def last_level(self, column: int) -> int:
        """Return the level below the last layer of a column."""
        return len(self.layers[column]) - 1


@dataclass(frozen=True)
class Layering:
    """The layer of each node, the first layers of columns, and per edge whether it runs upwards and its hyperedge."""

    rank: Sequence[int]
    starts: Sequence[int]
    is_reversed: list[bool]
    hyperedges: list[Hyperedge]


def assign_columns(problem: LayoutProblem, rank: list[int], is_reversed: list[bool]) -> Layering:
    """Split wide layers and wrap the layers into columns, so that the drawing gets about the wanted aspect.

    Args:
        problem: the component with the sizes of its nodes.
        rank: the layer of each node, from layering.
        is_reversed: per edge, whether it runs upwards, from cycle breaking.

    Returns:
        The final layers, and in which of them columns begin.
    """
    area = sum((w + NODE_GAP) * (h + ROW_GAP) for w, h in problem.sizes)
    limit = max(_NARROWEST, _WIDER * sqrt(area * problem.aspect))
    rank = split_wide_layers(rank, [w + NODE_GAP for w, _ in problem.sizes], problem.component.arcs, limit)
    is_reversed = edges_going_up(problem.edges, rank, is_reversed)
    hyperedges = group_hyperedges(problem, is_reversed)
    return Layering(rank, _choose_columns(problem, rank, hyperedges), is_reversed, hyperedges)


def insert_dummy_nodes(problem: LayoutProblem, into: Layering) -> LayeredGraph:
    """Build the layered graph: nodes in the layers of columns, long edges as chains of dummy nodes.

    Args:
        problem: the component with sizes and ports.
        into: its layers and columns.

    Returns:
        The graph; the layers are not ordered yet.
    """
    rank, starts, is_reversed, hyperedges = into.rank, into.starts, into.is_reversed, into.hyperedges
    column = [bisect_right(starts, r) - 1 for r in rank]
    ends = [*starts[1:], max(rank, default=-1) + 1]
    layers: list[list[list[int]]] = [[[] for _ in range(b - a + 2)] for a, b in zip(starts, ends, strict=True)]
    level = [r - starts[c] + 1 for r, c in zip(rank, column, strict=True)]
    for node, (c, at) in enumerate(zip(column, level, strict=True)):
        layers[c][at].append(node)
    graph = LayeredGraph(
        problem, column, level, layers, is_reversed, links=[{} for _ in starts], sides=[[] for _ in starts]
    )
    far = _edges_without_dummies(problem, rank)
    for number, (edge, hyperedge, reverse) in enumerate(zip(problem.edges, hyperedges, is_reversed, strict=True)):
        if number in far:
            ports = edge.source_port, edge.target_port
            graph.chains.append([Chain(column[edge.source], ("far", number, *ports), [edge.source, edge.target])])
        else:
            graph.chains.append(_make_chains(graph, edge, hyperedge, is_reversed=reverse))
    for chains in graph.chains:
        for chain in chains:
            _link_chain(graph, chain)
    return graph


def edges_going_up(edges: Sequence[Edge], rank: Sequence[int], is_reversed: Sequence[bool]) -> list[bool]:
    """Find the edges that run upwards.

    Args:
        edges: The edges.
        rank: The layer of each node.
        is_reversed: Which edges are reversed; for control edges between nodes, the layers decide.

    Returns:
        Whether it runs upwards, per edge.
    """
    return [
        rank[edge.source] > rank[edge.target] if edge.is_control and BORDER not in edge[:2] else reverse
        for edge, reverse in zip(edges, is_reversed, strict=True)
    ]


def _edges_without_dummies(problem: LayoutProblem, rank: Sequence[int]) -> set[int]:
    """Return the edges past many layers in a drawing of thousands, where dummy nodes would take minutes."""
    spans = [abs(rank[a] - rank[b]) if BORDER not in (a, b) else 0 for a, b, *_ in problem.edges]
    if sum(spans) <= _MOST_DUMMIES:
        return set()
    return {number for number, span in enumerate(spans) if span > _FAR}


def group_hyperedges(problem: LayoutProblem, is_reversed: list[bool]) -> list[Hyperedge]:
    """Return the hyperedge of each edge.

    Args:
        problem: The items and edges of one container.
        is_reversed: Whether each edge is reversed, so that there is no cycle.
    """
    leaving = Counter((edge.source, edge.source_port) for edge in problem.edges)
    entering = Counter((edge.target, edge.target_port) for edge in problem.edges)
    hyperedges: list[Hyperedge] = []
    for edge, reverse in zip(problem.edges, is_reversed, strict=True):
        ports = edge.source_port, edge.target_port
        if edge.target == BORDER:
            hyperedges.append(("end", BORDER, *ports))
        elif edge.source == BORDER:
            hyperedges.append(("start", BORDER, *ports))
        elif reverse:
            hyperedges.append(("back", edge.target, -1, -1))
        elif leaving[edge.source, ports[0]] == 1 and entering[edge.target, ports[1]] >= _FAN:
            hyperedges.append(("into", edge.target, *ports))
        else:
            hyperedges.append(("node", edge.source, *ports))
    return hyperedges


def _choose_columns(problem: LayoutProblem, rank: list[int], hyperedges: list[Hyperedge]) -> list[int]:
    rows = max(rank, default=-1) + 1
    heights, widths = [0.0] * rows, [0.0] * rows
    for (w, h), r in zip(problem.sizes, rank, strict=True):
        heights[r] = max(heights[r], h + ROW_GAP)
        widths[r] += w + NODE_GAP
    reach: dict[Hyperedge, tuple[int, int]] = {}
    for edge, hyperedge in zip(problem.edges, hyperedges, strict=True):
        if BORDER not in (edge.source, edge.target):
            low, high = sorted((rank[edge.source], rank[edge.target]))
            bounds = reach.get(hyperedge, (low, high))
            reach[hyperedge] = (min(low, bounds[0]), max(high, bounds[1]))
    crossing = [0] * (rows + 1)
    for low, high in reach.values():
        for r in range(low, high):
            crossing[r] += 1
            widths[r] += DUMMY_GAP * (r > low)
    return wrap_columns(heights, widths, crossing, problem.aspect)


def _make_chains(graph: LayeredGraph, edge: Edge, hyperedge: Hyperedge, *, is_reversed: bool) -> list[Chain]:
    """Return the chains of an edge, column by column; one of its two ends for an edge within a layer."""
    upper, lower = (edge.target, edge.source) if is_reversed else (edge.source, edge.target)
    first = graph.column[lower] if upper == BORDER else graph.column[upper]
    last = first if lower == BORDER else graph.column[lower]
    if BORDER not in (upper, lower) and first == last and graph.level[upper] == graph.level[lower]:
        return [Chain(first, ("side", edge.source, edge.source_port, -1), [edge.source, edge.target])]
    if first == last:
        start = 0 if upper == BORDER else graph.level[upper] + 1
        stop = graph.last_level(first) + 1 if lower == BORDER else graph.level[lower]
        dummies = [graph.dummy_node(hyperedge, first, at) for at in range(start, stop)]
        ends = ([] if upper == BORDER else [upper]), ([] if lower == BORDER else [lower])
        return [Chain(first, hyperedge, [*ends[0], *dummies, *ends[1]])]
    down = [graph.dummy_node(hyperedge, first, at) for at in range(graph.level[upper] + 1, graph.last_level(first) + 1)]
    on = [graph.dummy_node(hyperedge, last, at) for at in range(graph.level[lower])]
    return [Chain(first, hyperedge, [upper, *down]), Chain(last, hyperedge, [*on, lower])]


def _link_chain(graph: LayeredGraph, chain: Chain) -> None:
    """Record which vertices of neighboring levels are linked, and how straight the link should be."""
    if chain.hyperedge[0] == "far":
        return
    if chain.hyperedge[0] == "side":
        graph.sides[chain.column].append((chain.vertices[0], chain.vertices[1], chain.hyperedge))
        return
    nodes = len(graph.problem.sizes)
    links = graph.links[chain.column]
    for a, b in zip(chain.vertices, chain.vertices[1:], strict=False):
        dummies = (a >= nodes) + (b >= nodes)
        links[(a, b, chain.hyperedge)] = (1.0, 2.0, 30.0)[dummies]
