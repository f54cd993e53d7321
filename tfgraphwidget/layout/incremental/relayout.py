"""The layered graph of a component again after edges or nodes were added or removed.

Layers and columns stay where all edges still run down. A node that a new edge leads to moves down
as many layers as it must, and moves only what follows it.

Numbers of nodes come in two kinds: those of the new component, and those of the earlier one.
`earlier[node]` leads from the first to the second and is -1 for a node that is new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tfgraphwidget.layout.incremental.previous_layout import PreviousLayout
from tfgraphwidget.layout.incremental.stretch import VertexOrigins
from tfgraphwidget.layout.layered.components import (
    BORDER,
    Component,
    Edge,
    Structure,
    build_component,
    constrains_layers,
)
from tfgraphwidget.layout.layered.layered_graph import (
    Hyperedge,
    LayeredGraph,
    Layering,
    LayoutProblem,
    edges_going_up,
    group_hyperedges,
    insert_dummy_nodes,
)
from tfgraphwidget.layout.layered.layering import topological_order


@dataclass
class _Group:
    """What is drawn as one component: the numbers of nodes and edges of several."""

    nodes: list[int] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    last: Component | None = None  # the one added last; the only one, if it has all nodes


def rejoin_components(
    structure: Structure, previous: PreviousLayout
) -> tuple[Structure, list[int]]:
    """The structure in which what was one component still is one, even if no edge joins it now.

    Also the number of the earlier component that each component was; -1 for a new one.

    Args:
        structure: The items and edges of one container.
    """
    earlier_structure = previous.drawing.structure
    if _is_unchanged(structure, previous):
        return earlier_structure, list(range(len(earlier_structure.components)))
    component_of = {
        node: number
        for number, component in enumerate(earlier_structure.components)
        for node in component.nodes
    }
    earlier_component = [component_of.get(earlier, -1) for earlier in previous.number]

    groups: dict[int, _Group] = {}
    for number, component in enumerate(structure.components):
        votes = Counter(earlier_component[node] for node in component.nodes)
        del votes[-1]  # new nodes have no say
        # The component that most of its nodes were in. New components get keys of their own.
        key = max(votes, key=lambda one: (votes[one], -one)) if votes else -1 - number
        group = groups.setdefault(key, _Group())
        group.nodes += component.nodes
        group.edges += component.edges
        group.last = component
    isolated = []
    for node in structure.isolated:
        if earlier_component[node] >= 0:
            groups.setdefault(earlier_component[node], _Group()).nodes.append(node)
        else:
            isolated.append(node)

    by_first_node = sorted(groups.items(), key=lambda item: min(item[1].nodes))
    components = [_join(group, structure.edges) for _, group in by_first_node]
    earlier_numbers = [max(key, -1) for key, _ in by_first_node]
    return Structure(structure.count, structure.edges, components, isolated), earlier_numbers


def _is_unchanged(structure: Structure, previous: PreviousLayout) -> bool:
    """Whether the structure is the object that was drawn before, and its nodes are the same."""
    return previous.drawing.requested is structure and all(
        earlier == node for node, earlier in enumerate(previous.number)
    )


def _join(group: _Group, edges: Sequence[Edge]) -> Component:
    """The one component of a group; what it has computed already is kept where nothing joined."""
    if group.last is not None and len(group.last.nodes) == len(group.nodes):
        return group.last
    return build_component(sorted(group.nodes), sorted(group.edges), edges)


def update_layered_graph(
    before: LayeredGraph, problem: LayoutProblem, earlier: Sequence[int]
) -> tuple[LayeredGraph, VertexOrigins] | None:
    """Update a layered graph to other edges.

    Args:
        earlier: The earlier number of each node, -1 for a new one.

    Returns:
        The layered graph and the earlier vertex of each of its vertices; None if new
        nodes are in a cycle.
    """
    earlier_starts = _first_ranks(before)
    earlier_ranks = [
        earlier_starts[column] + level - 1
        for column, level in zip(before.column, before.level, strict=True)
    ]
    own_rank = [earlier_ranks[node] if node >= 0 else None for node in earlier]

    is_reversed = _reversed_as_before(before, problem, earlier)
    rank = _push_down(problem, is_reversed, own_rank)
    if rank is None:
        # A new edge closes a cycle with one that was reversed. The edge goes up where it would
        # otherwise push down much.
        is_reversed = _reversed_by_rank(problem, is_reversed, own_rank)
        rank = _push_down(problem, is_reversed, own_rank)
    if rank is None:
        return None
    is_reversed = edges_going_up(problem.edges, rank, is_reversed)

    # Layers that have become empty are dropped; each column begins with the first that is left.
    ranks_in_use = sorted(set(rank))
    new_rank = {old: new for new, old in enumerate(ranks_in_use)}
    starts = [0, *(bisect_left(ranks_in_use, start) for start in earlier_starts[1:])]
    layering = Layering(
        [new_rank[at] for at in rank], starts, is_reversed, group_hyperedges(problem, is_reversed)
    )
    graph = insert_dummy_nodes(problem, layering)

    same: dict[int, int] = {}
    moved: dict[int, int] = {}
    for node, earlier_node in enumerate(earlier):
        if earlier_node >= 0:
            stays = rank[node] == earlier_ranks[earlier_node]
            (same if stays else moved)[node] = earlier_node
    earlier_levels = [
        _earlier_levels(before, graph, column, ranks_in_use[start:], earlier_starts[column])
        for column, start in enumerate(starts)
    ]
    for (hyperedge, column, level), vertex in graph.dummies.items():
        earlier_level = earlier_levels[column].get(level, -1)
        earlier_dummy = (_earlier_hyperedge(hyperedge, earlier), column, earlier_level)
        if earlier_dummy in before.dummies:
            same[vertex] = before.dummies[earlier_dummy]
    return graph, VertexOrigins(same, moved)


def _first_ranks(graph: LayeredGraph) -> list[int]:
    """The rank of the first layer of each column, which has two more levels: above and below."""
    heights = [len(layers) - 2 for layers in graph.layers]
    return list(accumulate(heights[:-1], initial=0))


def _earlier_hyperedge(hyperedge: Hyperedge, earlier: Sequence[int]) -> Hyperedge:
    """The hyperedge by the earlier number of its node; that of a "far" one is not a node's."""
    kind, node, upper_port, lower_port = hyperedge
    if kind != "far" and node != BORDER:
        node = earlier[node]
    return kind, node, upper_port, lower_port


def _earlier_levels(
    before: LayeredGraph, graph: LayeredGraph, column: int, ranks: Sequence[int], earlier_start: int
) -> dict[int, int]:
    """The earlier level of each level of a column whose layers have these ranks, without new ones.

    What enters above the first layer, and what leaves below the last, did so before.
    """
    last, earlier_last = graph.last_level(column), before.last_level(column)
    levels = {0: 0, last: earlier_last}
    for level in range(1, last):
        earlier_level = ranks[level - 1] - earlier_start + 1
        if 0 < earlier_level < earlier_last:
            levels[level] = earlier_level
    return levels


def _reversed_as_before(
    before: LayeredGraph, problem: LayoutProblem, earlier: Sequence[int]
) -> list[bool]:
    """Whether each edge runs upwards: as it did before; a new one as its component has it."""
    was_reversed = {
        (edge.source, edge.target): reverse
        for edge, reverse in zip(before.problem.edges, before.is_reversed, strict=True)
        if constrains_layers(edge)
    }
    result = []
    for edge, reverse in zip(problem.edges, problem.component.is_reversed, strict=True):
        if constrains_layers(edge):
            earlier_edge = (earlier[edge.source], earlier[edge.target])
            result.append(was_reversed.get(earlier_edge, reverse))
        else:
            result.append(reverse)
    return result


def _reversed_by_rank(
    problem: LayoutProblem, is_reversed: Sequence[bool], own_rank: Sequence[int | None]
) -> list[bool]:
    """Whether each edge runs upwards; between nodes of the earlier graph, its layers decide."""
    result = []
    for edge, reverse in zip(problem.edges, is_reversed, strict=True):
        if constrains_layers(edge):
            source, target = own_rank[edge.source], own_rank[edge.target]
            if source is not None and target is not None and source != target:
                result.append(source > target)
                continue
        result.append(reverse)
    return result


def _push_down(
    problem: LayoutProblem, is_reversed: Sequence[bool], own_rank: Sequence[int | None]
) -> list[int] | None:
    """The rank of each node: its own, or lower where an edge requires it; None for a cycle."""
    count = len(problem.sizes)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    entering: list[list[tuple[int, int]]] = [[] for _ in range(count)]  # (upper node, length)
    for edge, reverse in zip(problem.edges, is_reversed, strict=True):
        if constrains_layers(edge):
            upper, lower = edge.source, edge.target
            if reverse:
                upper, lower = lower, upper
            above[lower].append(upper)
            below[upper].append(lower)
            entering[lower].append((upper, edge.length))
    order = topological_order(above, below)
    if len(order) < count:
        return None
    rank = _guess_new_ranks(own_rank, order[::-1], below)
    for node in order:
        for upper, length in entering[node]:
            rank[node] = max(rank[node], rank[upper] + length)
    return rank


def _guess_new_ranks(
    own_rank: Sequence[int | None], upwards: Sequence[int], below: Sequence[Sequence[int]]
) -> list[int]:
    """Ranks, those of new nodes right above their first consumer: so maybe less than 0."""
    rank = [0 if own is None else own for own in own_rank]
    lowest = max(rank, default=0)
    for node in upwards:
        if own_rank[node] is None:
            rank[node] = min((rank[lower] - 1 for lower in below[node]), default=lowest)
    return rank
