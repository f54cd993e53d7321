"""The layered graph of one component: layers, columns, and chains of dummy nodes for long edges.

A *hyperedge* is all edges that leave one node (or enter the drawing, or leave it): they share a
route as far as they can and branch late, as on a circuit board. A hyperedge that passes a layer
gets one dummy node there, so that no edge runs through a box. A drawing that would be very long is
wrapped into columns: a hyperedge leaves a column at the bottom (level last + 1) and enters a later
one at the top (level 0).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt

from tfgraphwidget.layout.layered.column_wrapping import wrap_columns
from tfgraphwidget.layout.layered.components import BORDER, Component, Edge
from tfgraphwidget.layout.layered.layering import split_wide_layers
from tfgraphwidget.layout.spacing import NODE_GAP, ROW_GAP

DUMMY_GAP = 10.0  # pixels on either side of a dummy node
DUMMY_WIDTH = 2.0  # pixels, the width of a stroke

MIN_LAYER_WIDTH = 120.0  # pixels; a layer is not split into narrower ones: one box is about as wide

FAN_IN = 5  # edges from different sources that share a route to one node, such as AddN or concat

# Dummy nodes of one component. More take minutes, so the edges that pass more than MAX_SPAN layers
# run beside their column and have none.
MAX_DUMMIES = 40_000
MAX_SPAN = 12

# How heavy a link between two vertices is, by the number of them that are dummy nodes: long edges
# are to be straight before others are. Gansner et al., "A technique for drawing directed graphs"
# (1993), section 4, do the same with the factors 1, 2 and 8.
LINK_WEIGHTS = (1.0, 2.0, 30.0)

# What the edges of a hyperedge have in common, as (kind, node, upper port, lower port):
#   "node"   they leave the node;
#   "into"   they enter the node, and each is the only one that leaves its source;
#   "back"   they enter the node, and run upwards;
#   "start"  they come from the border above; the node is BORDER;
#   "end"    they go to the border below; the node is BORDER;
#   "side"   control edges from the node to others of its layer;
#   "far"    nothing: it is the edge with this number, which has no dummy nodes.
# A port is that of a border at which the edges begin or end, else -1: distinct tensors run apart.
Hyperedge = tuple[str, int, int, int]
Link = tuple[int, int, Hyperedge]
"""The upper and the lower vertex of a piece of a hyperedge between neighboring layers."""
NodePorts = tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True)
class LayoutProblem:
    """A component with the sizes of its nodes and the ports where edges enter and leave them.

    Sizes are (width, height) in pixels. Ports are in pixels from the left of the node: those where
    edges enter, and those where they leave; None for a node where they may do so anywhere. `aspect`
    is the wanted width : height, `title` how far the title above reaches from the left, in pixels.
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

    Attributes:
        problem: what is drawn.
        column: per vertex, the number of its column.
        level: per vertex, its layer within the column; 0 and the last level have no nodes.
        layers: `layers[c][l]` are the vertices of level l of column c.
        is_reversed: per edge, whether it runs upwards.
        chains: per edge, its parts in the columns that it passes.
        dummies: the dummy node of each hyperedge, column and level.
        hyperedge: per dummy node, its hyperedge.
        links: per column, the links between neighboring levels with their weights.
        sides: per column, the control edges within a level as (source, target, hyperedge).
    """

    problem: LayoutProblem
    column: list[int]
    level: list[int]
    layers: list[list[list[int]]]
    is_reversed: list[bool]
    chains: list[list[Chain]] = field(default_factory=list)
    dummies: dict[tuple[Hyperedge, int, int], int] = field(default_factory=dict)
    hyperedge: list[Hyperedge] = field(default_factory=list)
    links: list[dict[Link, float]] = field(default_factory=list)
    sides: list[list[Link]] = field(default_factory=list)

    @property
    def node_count(self) -> int:
        """The number of nodes; vertices from this one on are dummy nodes."""
        return len(self.problem.sizes)

    def dummy_node(self, hyperedge: Hyperedge, column: int, level: int) -> int:
        """Return the dummy node of a hyperedge on a level that it passes; add it if it is new."""
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
        """Return the hyperedges that enter a column (level 0) or leave it (last level).

        Each comes with its dummy node on that level.
        """
        dummies = sorted(self.layers[column][level])
        return [(self.hyperedge[vertex - self.node_count], vertex) for vertex in dummies]

    def width(self, vertex: int) -> float:
        """How wide a node or dummy node is, in pixels."""
        return self.problem.sizes[vertex][0] if vertex < len(self.problem.sizes) else DUMMY_WIDTH

    def space(self, a: int, b: int) -> float:
        """The least distance between the borders of two neighbors in a layer, in pixels."""
        nodes = len(self.problem.sizes)
        return NODE_GAP if a < nodes and b < nodes else DUMMY_GAP

    def gap(self, a: int, b: int) -> float:
        """The least distance between the middles of two neighbors in a layer, in pixels."""
        return (self.width(a) + self.width(b)) / 2 + self.space(a, b)

    def port(self, node: int, hyperedge: Hyperedge, *, leaves: bool) -> float:
        """The x where a hyperedge enters a node, or `leaves` it, from the node's middle.

        It is 0 for a node without ports. An edge without a port of its own takes the first.

        Args:
            leaves: Whether the node is the upper end.
        """
        ports = self.problem.ports[node]
        if ports is None:
            return 0.0
        entering, leaving = ports
        _, _, upper_port, lower_port = hyperedge
        side, port = (leaving, upper_port) if leaves else (entering, lower_port)
        if not side:
            return 0.0
        x = side[port] if 0 <= port < len(side) else side[0]
        return x - self.problem.sizes[node][0] / 2

    def last_level(self, column: int) -> int:
        """Return the level below the last layer of a column."""
        return len(self.layers[column]) - 1


@dataclass(frozen=True)
class Layering:
    """Where each node is placed, and how each edge is drawn.

    `rank` is the layer of each node and `starts` the first layer of each column. `is_reversed`
    (whether it runs upwards) and `hyperedges` are per edge.
    """

    rank: Sequence[int]
    starts: Sequence[int]
    is_reversed: list[bool]
    hyperedges: list[Hyperedge]


def assign_columns(problem: LayoutProblem, rank: list[int], is_reversed: list[bool]) -> Layering:
    """Split wide layers and wrap the layers into columns, for about the wanted aspect.

    Args:
        problem: the component with the sizes of its nodes.
        rank: the layer of each node, from layering.
        is_reversed: per edge, whether it runs upwards, from cycle breaking.

    Returns:
        The final layers, and in which of them columns begin.
    """
    area = sum((width + NODE_GAP) * (height + ROW_GAP) for width, height in problem.sizes)
    limit = max(MIN_LAYER_WIDTH, sqrt(area * problem.aspect))
    rank = split_wide_layers(rank, problem.sizes, NODE_GAP, problem.component.arcs, limit)
    is_reversed = edges_going_up(problem.edges, rank, is_reversed)
    hyperedges = group_hyperedges(problem, is_reversed)
    sources = _sources(problem)
    starts = _choose_columns(problem, rank, hyperedges, sources)
    rank, starts = _move_sources(rank, starts, sources)
    return Layering(rank, starts, is_reversed, hyperedges)


def _sources(problem: LayoutProblem) -> set[int]:
    """The nodes that no edge enters, such as constants."""
    return set(range(len(problem.sizes))) - {edge.target for edge in problem.edges}


def _move_sources(
    rank: list[int], starts: list[int], sources: Collection[int]
) -> tuple[list[int], list[int]]:
    """Move the sources in the last layer of a column into a new first layer of the next one, where
    they stand beside their consumers and their edges need not pass; return each node's new layer,
    and each column's first.
    """
    if len(starts) == 1:
        return rank, starts
    staying = {layer for node, layer in enumerate(rank) if node not in sources}
    left = {start - 1 for start in starts[1:]} & staying  # the layers that sources move out of
    movers = [node for node in sources if rank[node] in left]
    added = sorted({rank[node] + 1 for node in movers})  # a new layer comes before each of these
    moved = [layer + bisect_right(added, layer) for layer in rank]
    for node in movers:
        moved[node] += 1
    return moved, [start + bisect_left(added, start) for start in starts]


def insert_dummy_nodes(problem: LayoutProblem, into: Layering) -> LayeredGraph:
    """Build the layered graph: nodes in the layers of columns, long edges as chains of dummy nodes.

    Returns:
        The graph; the layers are not ordered yet.
    """
    rank, starts = into.rank, into.starts
    stops = [*starts[1:], max(rank, default=-1) + 1]
    layers: list[list[list[int]]] = []
    for start, stop in zip(starts, stops, strict=True):
        layers.append([[] for _ in range(stop - start + 2)])  # and one above, and one below
    column = [bisect_right(starts, layer) - 1 for layer in rank]
    level = [layer - starts[number] + 1 for layer, number in zip(rank, column, strict=True)]
    for node, (number, at) in enumerate(zip(column, level, strict=True)):
        layers[number][at].append(node)
    graph = LayeredGraph(problem, column, level, layers, into.is_reversed)
    graph.links = [{} for _ in starts]
    graph.sides = [[] for _ in starts]

    far = _edges_without_dummies(problem, rank)
    for number, edge in enumerate(problem.edges):
        if number in far:
            hyperedge = ("far", number, edge.source_port, edge.target_port)
            chains = [Chain(column[edge.source], hyperedge, [edge.source, edge.target])]
        else:
            is_reversed = into.is_reversed[number]
            chains = _make_chains(graph, edge, into.hyperedges[number], is_reversed=is_reversed)
        graph.chains.append(chains)
    for chains in graph.chains:
        for chain in chains:
            _link_chain(graph, chain)
    return graph


def edges_going_up(
    edges: Sequence[Edge], rank: Sequence[int], is_reversed: Sequence[bool]
) -> list[bool]:
    """Whether each edge runs upwards: as `is_reversed` says; one that may join two nodes of a layer
    as its layers do.
    """
    result = []
    for edge, reverse in zip(edges, is_reversed, strict=True):
        if edge.length < 1 and BORDER not in (edge.source, edge.target):
            result.append(rank[edge.source] > rank[edge.target])
        else:
            result.append(reverse)
    return result


def _edges_without_dummies(problem: LayoutProblem, rank: Sequence[int]) -> set[int]:
    """The edges past many layers, if there are so many that dummy nodes would take minutes."""
    spans = {
        number: abs(rank[edge.source] - rank[edge.target])
        for number, edge in enumerate(problem.edges)
        if BORDER not in (edge.source, edge.target)
    }
    if sum(spans.values()) <= MAX_DUMMIES:
        return set()
    return {number for number, span in spans.items() if span > MAX_SPAN}


def group_hyperedges(problem: LayoutProblem, is_reversed: list[bool]) -> list[Hyperedge]:
    """The hyperedge of each edge, where cycle breaking has reversed these.

    Args:
        problem: The items and edges of one container.
        is_reversed: Whether each edge is reversed, so that there is no cycle.
    """
    leaving = Counter((edge.source, edge.source_port) for edge in problem.edges)
    entering = Counter((edge.target, edge.target_port) for edge in problem.edges)
    hyperedges: list[Hyperedge] = []
    for edge, reverse in zip(problem.edges, is_reversed, strict=True):
        ports = (edge.source_port, edge.target_port)
        is_only_one = leaving[edge.source, edge.source_port] == 1
        meets_many = entering[edge.target, edge.target_port] >= FAN_IN
        if edge.target == BORDER:
            hyperedges.append(("end", BORDER, *ports))
        elif edge.source == BORDER:
            hyperedges.append(("start", BORDER, *ports))
        elif reverse:
            hyperedges.append(("back", edge.target, -1, -1))
        elif is_only_one and meets_many:
            hyperedges.append(("into", edge.target, *ports))
        else:
            hyperedges.append(("node", edge.source, *ports))
    return hyperedges


def _choose_columns(
    problem: LayoutProblem, rank: list[int], hyperedges: list[Hyperedge], sources: Collection[int]
) -> list[int]:
    """The first layer of each column, chosen by how large the layers will be with dummy nodes."""
    count = max(rank, default=-1) + 1
    heights = [0.0] * count
    widths = [0.0] * count
    for (width, height), layer in zip(problem.sizes, rank, strict=True):
        heights[layer] = max(heights[layer], height + ROW_GAP)
        widths[layer] += width + NODE_GAP

    reach: dict[Hyperedge, tuple[int, int]] = {}  # the first and the last layer of each
    # Edges between layers; those that share a route count half each, and half for the route.
    passing = [0.0] * (count + 1)
    for edge, hyperedge in zip(problem.edges, hyperedges, strict=True):
        if BORDER not in (edge.source, edge.target):
            first, last = sorted((rank[edge.source], rank[edge.target]))
            bounds = reach.get(hyperedge, (first, last))
            reach[hyperedge] = (min(first, bounds[0]), max(last, bounds[1]))
            # A source moves into the next column, see _move_sources.
            for layer in range(first + (edge.source in sources), last):
                passing[layer] += 0.5
    for (_, node, *_), (first, last) in reach.items():
        for layer in range(first + (node in sources), last):
            passing[layer] += 0.5
        for layer in range(first + 1, last):
            widths[layer] += DUMMY_GAP
    return wrap_columns(heights, widths, passing, problem.aspect)


def _make_chains(
    graph: LayeredGraph, edge: Edge, hyperedge: Hyperedge, *, is_reversed: bool
) -> list[Chain]:
    """The chains of an edge, one for each column; for an edge within a layer, its two ends."""
    upper, lower = edge.source, edge.target
    if is_reversed:
        upper, lower = lower, upper
    # An edge to or from the border is in the column of its only node.
    first = graph.column[lower if upper == BORDER else upper]
    last = graph.column[upper if lower == BORDER else lower]
    # The levels between the ends; the border is above level 0 and below the last one.
    start = 0 if upper == BORDER else graph.level[upper] + 1
    stop = graph.last_level(last) + 1 if lower == BORDER else graph.level[lower]

    has_border = BORDER in (upper, lower)
    if not has_border and first == last and graph.level[upper] == graph.level[lower]:
        side = ("side", edge.source, edge.source_port, -1)
        return [Chain(first, side, [edge.source, edge.target])]
    if first == last:
        dummies = [graph.dummy_node(hyperedge, first, level) for level in range(start, stop)]
        vertices = [vertex for vertex in (upper, *dummies, lower) if vertex != BORDER]
        return [Chain(first, hyperedge, vertices)]
    out_levels = range(start, graph.last_level(first) + 1)
    out = [graph.dummy_node(hyperedge, first, level) for level in out_levels]
    into = [graph.dummy_node(hyperedge, last, level) for level in range(stop)]
    return [Chain(first, hyperedge, [upper, *out]), Chain(last, hyperedge, [*into, lower])]


def _link_chain(graph: LayeredGraph, chain: Chain) -> None:
    """Record which vertices of neighboring levels are linked, and how heavy the links are."""
    kind = chain.hyperedge[0]
    if kind == "far":
        return
    if kind == "side":
        source, target = chain.vertices
        graph.sides[chain.column].append((source, target, chain.hyperedge))
        return
    nodes = graph.node_count
    links = graph.links[chain.column]
    for upper, lower in pairwise(chain.vertices):
        dummies = (upper >= nodes) + (lower >= nodes)
        links[(upper, lower, chain.hyperedge)] = LINK_WEIGHTS[dummies]
