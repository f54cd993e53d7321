"""The structure of a container, whatever the sizes of its nodes.

That is: its connected components, their edges, and the isolated nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tfgraphwidget.layout.layered.layering import Arc, assign_layers, break_cycles

BORDER = -1
LOOSE = -1  # the length of an edge that does not constrain the layers


class Edge(NamedTuple):
    """An edge between nodes; an end that is BORDER is the border of the container.

    `source_port` and `target_port` are the ports of borders, the container's own or those of open
    scopes; -1 at a box. `length` is how many layers its target stands below its source at least: 0
    for shared weights, as a tower stands next to the one whose weights it reads, and LOOSE for
    control inputs. `is_back` marks the back edge of a loop.
    """

    source: int
    target: int
    length: int = 1
    is_back: bool = False
    source_port: int = -1
    target_port: int = -1


@dataclass(frozen=True, eq=False)
class Component:
    """A connected component: its `nodes` and the numbers of its `edges`, both ascending.

    `local_edges` are the edges with the component's own numbers of nodes. The results of cycle
    breaking and layering do not depend on sizes and are computed once: `is_reversed`, `arcs` and
    `rank`.
    """

    nodes: Sequence[int]
    edges: Sequence[int]
    local_edges: Sequence[Edge]

    @cached_property
    def is_reversed(self) -> list[bool]:
        """Per edge, whether it is drawn upwards so that no cycle is left (cycle breaking)."""
        constraining: list[int] = []  # the numbers of the edges that become arcs
        arcs: list[Arc] = []
        loops: set[int] = set()
        for number, edge in enumerate(self.local_edges):
            if constrains_layers(edge):
                if edge.is_back:
                    loops.add(len(arcs))
                constraining.append(number)
                arcs.append((edge.source, edge.target))
        result = [False] * len(self.local_edges)
        reversals = break_cycles(len(self.nodes), arcs, loops)
        for number, is_reversed in zip(constraining, reversals, strict=True):
            result[number] = is_reversed
        return result

    @cached_property
    def arcs(self) -> list[Arc]:
        """The edges that constrain the layers as (upper node, lower node), without cycles."""
        return [
            (edge.target, edge.source) if is_reversed else (edge.source, edge.target)
            for edge, is_reversed in zip(self.local_edges, self.is_reversed, strict=True)
            if constrains_layers(edge)
        ]

    @cached_property
    def rank(self) -> list[int]:
        """The layer of each node, 0 at the top (layering)."""
        lengths = [edge.length for edge in self.local_edges if constrains_layers(edge)]
        data_edges = [edge for edge in self.local_edges if edge.length != LOOSE]
        from_border = {edge.target for edge in data_edges if edge.source == BORDER}
        to_border = {edge.source for edge in data_edges if edge.target == BORDER}
        return assign_layers(len(self.nodes), self.arcs, lengths, from_border, to_border)


@dataclass(frozen=True, eq=False)
class Structure:
    """`count` nodes and `edges` as connected components.

    `isolated` nodes are drawn apart, without edges.
    """

    count: int
    edges: Sequence[Edge]
    components: Sequence[Component]
    isolated: Sequence[int]

    @cached_property
    def has_entries(self) -> bool:
        """Whether edges come in from the border."""
        return any(edge.source == BORDER for edge in self.edges)


def build_structure(auxiliary: Sequence[int], edges: Sequence[Edge]) -> Structure:
    """Split the nodes and edges of a container into connected components.

    A node without edges is isolated if any component has edges: it is best out of the way.

    Args:
        auxiliary: 0 or 1 per node, 1 for bookkeeping.
        edges: the edges between the nodes and the border.

    Returns:
        The components, that of the first node first, and the isolated nodes, ascending.
    """
    isolated = [node for node, is_auxiliary in enumerate(auxiliary) if is_auxiliary]
    groups = _connected_components(edges, auxiliary)
    with_edges = [(nodes, own_edges) for nodes, own_edges in groups if own_edges]
    if with_edges:
        # A group without edges is a single node.
        isolated += [nodes[0] for nodes, own_edges in groups if not own_edges]
        isolated.sort()
        groups = with_edges
    components = [build_component(nodes, own_edges, edges) for nodes, own_edges in groups]
    return Structure(len(auxiliary), edges, components, isolated)


def constrains_layers(edge: Edge) -> bool:
    """Return whether an edge joins two nodes and decides their layers."""
    return edge.length != LOOSE and BORDER not in edge[:2]


def _connected_components(
    edges: Sequence[Edge], auxiliary: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Connected parts as (nodes, edges), both ascending; that of the first node comes first.

    The border joins what has an edge to it. The parts are found by union-find with path halving
    (R. E. Tarjan, J. van Leeuwen, "Worst-case analysis of set union algorithms", 1984).
    """
    # The last entry is the border's: BORDER is -1.
    root = list(range(len(auxiliary) + 1))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for edge in edges:
        a, b = find(edge.source), find(edge.target)
        root[max(a, b)] = min(a, b)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for node, is_auxiliary in enumerate(auxiliary):
        if not is_auxiliary:
            groups.setdefault(find(node), ([], []))[0].append(node)
    for number, edge in enumerate(edges):
        node = max(edge.source, edge.target)  # not the border
        groups[find(node)][1].append(number)
    return list(groups.values())


def build_component(nodes: list[int], own_edges: list[int], edges: Sequence[Edge]) -> Component:
    """Build the component of some nodes and of some of all `edges`, given by ascending numbers."""
    number = {node: i for i, node in enumerate(nodes)}
    number[BORDER] = BORDER
    local_edges = []
    for i in own_edges:
        edge = edges[i]
        local_edges.append(edge._replace(source=number[edge.source], target=number[edge.target]))
    return Component(nodes, own_edges, local_edges)
