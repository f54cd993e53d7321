"""The structure of a container, whatever the sizes of its nodes: connected components, edges and isolated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tfgraphwidget.layout.layered.layering import Arc, assign_layers, break_cycles

BORDER = -1


class Edge(NamedTuple):
    """An edge between nodes; an end that is BORDER is the border of the container.

    `source_port` and `target_port` are the ports of borders, the container's own or those of open scopes; -1 at a box.
    `is_control` edges do not constrain the layers; `is_back` marks the back edge of a loop.
    """

    source: int
    target: int
    is_control: bool = False
    is_back: bool = False
    source_port: int = -1
    target_port: int = -1


@dataclass(frozen=True, eq=False)
class Component:
    """A connected component: its `nodes` and the numbers of its `edges`, both ascending.

    `local_edges` are the edges with the component's own numbers of nodes. The results of cycle breaking and layering
    do not depend on sizes and are computed once: `is_reversed`, `arcs` and `rank`.
    """

    nodes: Sequence[int]
    edges: Sequence[int]
    local_edges: Sequence[Edge]

    @cached_property
    def is_reversed(self) -> list[bool]:
        """Per edge, whether it is drawn upwards so that no cycle is left (cycle breaking)."""
        firm = [i for i, edge in enumerate(self.local_edges) if constrains_layers(edge)]
        ends = [self.local_edges[i][:2] for i in firm]
        loops = {k for k, i in enumerate(firm) if self.local_edges[i].is_back}
        result = [False] * len(self.local_edges)
        for i, reverse in zip(firm, break_cycles(len(self.nodes), ends, loops), strict=True):
            result[i] = reverse
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
        heads = {edge.target for edge in self.local_edges if edge.source == BORDER and not edge.is_control}
        tails = {edge.source for edge in self.local_edges if edge.target == BORDER and not edge.is_control}
        return assign_layers(len(self.nodes), self.arcs, heads, tails)


@dataclass(frozen=True, eq=False)
class Structure:
    """`count` nodes and `edges` as connected components; `isolated` nodes are drawn apart, without edges."""

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
    components = _connected_components(edges, auxiliary)
    isolated = [node for node, is_auxiliary in enumerate(auxiliary) if is_auxiliary]
    if any(own for _, own in components):
        isolated = sorted(isolated + [nodes[0] for nodes, own in components if not own])
        components = [component for component in components if component[1]]
    return Structure(len(auxiliary), edges, [build_component(nodes, own, edges) for nodes, own in components], isolated)


def constrains_layers(edge: Edge) -> bool:
    """Return whether an edge joins two nodes and decides their layers."""
    return not edge.is_control and BORDER not in edge[:2]


def _connected_components(edges: Sequence[Edge], auxiliary: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Connected parts as (nodes, lines), ascending; the border joins what touches it. The first node's comes first."""
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
        groups[find(max(edge.source, edge.target))][1].append(number)
    return list(groups.values())


def build_component(nodes: list[int], own: list[int], edges: Sequence[Edge]) -> Component:
    """Build the component of some nodes and edges.

    Args:
        nodes: The numbers of the nodes, ascending.
        own: The numbers of the edges, ascending.
        edges: All edges.
    """
    number = {node: i for i, node in enumerate(nodes)}
    number[BORDER] = BORDER
    local = [edges[i]._replace(source=number[edges[i].source], target=number[edges[i].target]) for i in own]
    return Component(nodes, own, local)
