"""The layered graph of a component again after edges or nodes were added or removed.

Layers and columns stay where all edges still run down; a node that a new edge leads to moves down as many layers as it
must, and moves only what follows it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from tfgraphwidget.layout.incremental.previous_layout import PreviousLayout
from tfgraphwidget.layout.incremental.stretch import VertexOrigins
from tfgraphwidget.layout.layered.components import BORDER, Component, Structure, build_component, constrains_layers
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

Group = tuple[list[int], list[int]]


def rejoin_components(structure: Structure, previous: PreviousLayout) -> tuple[Structure, list[int]]:
    """The structure with what was one part in one part still, even if no line joins it any more.

    Also, per part, the number of the part that it was; -1 for a new one.

    Args:
        structure: The items and edges of one container.
        previous: The layout of before.
    """
    old = previous.drawing.structure
    if previous.drawing.requested is structure and all(was == node for node, was in enumerate(previous.number)):
        return old, list(range(len(old.components)))
    was = {node: i for i, component in enumerate(old.components) for node in component.nodes}
    before = [was.get(number, -1) for number in previous.number]
    groups: dict[int, Group] = {}
    whole: dict[int, Component] = {}
    for i, component in enumerate(structure.components):
        votes = Counter(before[node] for node in component.nodes if before[node] >= 0)
        base = max(votes, key=lambda one: (votes[one], -one)) if votes else -1 - i
        nodes, edges = groups.setdefault(base, ([], []))
        whole[base] = component
        nodes += component.nodes
        edges += component.edges
    isolated = []
    for node in structure.isolated:
        if before[node] >= 0:
            groups.setdefault(before[node], ([], []))[0].append(node)
        else:
            isolated.append(node)
    components = []
    for base, (nodes, edges) in sorted(groups.items(), key=lambda group: min(group[1][0])):
        same = whole.get(base)
        if same is None or len(same.nodes) < len(nodes):
            same = build_component(sorted(nodes), sorted(edges), structure.edges)
        components.append((same, max(base, -1)))
    new_structure = Structure(structure.count, structure.edges, [component for component, _ in components], isolated)
    return new_structure, [base for _, base in components]


def update_layered_graph(
    before: LayeredGraph, problem: LayoutProblem, number: Sequence[int]
) -> tuple[LayeredGraph, VertexOrigins] | None:
    """Update a layered graph to other edges.

    Args:
        before: The earlier layered graph.
        problem: The new layout problem.
        number: The earlier number of each node, -1 for a new one.

    Returns:
        The layered graph and the earlier vertex of each of its vertices; None if new nodes are in a cycle.
    """
    starts = list(accumulate((len(layers) - 2 for layers in before.layers[:-1]), initial=0))
    old = [starts[column] + level - 1 for column, level in zip(before.column, before.level, strict=True)]
    own = [old[was] if was >= 0 else None for was in number]
    is_reversed = _reversed_as_before(before, problem, number)
    rank = _push_down(problem, is_reversed, own)
    if rank is None:  # a new line closes a circle with one that was turned: it goes up where it would else move much
        is_reversed = _reversed_by_rank(problem, is_reversed, own)
        rank = _push_down(problem, is_reversed, own)
    if rank is None:
        return None
    is_reversed = edges_going_up(problem.edges, rank, is_reversed)
    levels_in_use = sorted(set(rank))
    begins = [0, *(bisect_left(levels_in_use, start) for start in starts[1:])]
    row = {at: i for i, at in enumerate(levels_in_use)}
    graph = insert_dummy_nodes(
        problem, Layering([row[at] for at in rank], begins, is_reversed, group_hyperedges(problem, is_reversed))
    )
    levels = _earlier_levels(before, graph, levels_in_use, starts, begins)
    old_node_of = {node: was for node, was in enumerate(number) if was >= 0}
    same = {node: was for node, was in old_node_of.items() if rank[node] == old[was]}
    moved = {node: was for node, was in old_node_of.items() if node not in same}
    for (hyperedge, column, level), vertex in graph.dummies.items():
        was = before.dummies.get((_earlier_hyperedge(hyperedge, number), column, levels[column].get(level, -1)))
        if was is not None:
            same[vertex] = was
    return graph, VertexOrigins(same, moved)


def _earlier_hyperedge(hyperedge: Hyperedge, number: Sequence[int]) -> Hyperedge:
    kind, node, *ports = hyperedge
    return (kind, node if kind == "far" or node == BORDER else number[node], ports[0], ports[1])


def _earlier_levels(
    before: LayeredGraph,
    graph: LayeredGraph,
    levels_in_use: Sequence[int],
    starts: Sequence[int],
    begins: Sequence[int],
) -> list[dict[int, int]]:
    """Per column, which level each level was."""
    result = []
    for column, (start, begin) in enumerate(zip(starts, begins, strict=True)):
        last, was = graph.last_level(column), before.last_level(column)
        levels = {level: levels_in_use[begin + level - 1] - start + 1 for level in range(1, last)}
        result.append({0: 0, last: was} | {level: at for level, at in levels.items() if 0 < at < was})
    return result


def _reversed_as_before(before: LayeredGraph, problem: LayoutProblem, number: Sequence[int]) -> list[bool]:
    """Per line whether it goes up: as it did before; a new one as its part has it."""
    went = {
        edge[:2]: up
        for edge, up in zip(before.problem.edges, before.is_reversed, strict=True)
        if constrains_layers(edge)
    }
    return [
        went.get((number[edge.source], number[edge.target]), up) if constrains_layers(edge) else up
        for edge, up in zip(problem.edges, problem.component.is_reversed, strict=True)
    ]


def _reversed_by_rank(problem: LayoutProblem, is_reversed: Sequence[bool], own: Sequence[int | None]) -> list[bool]:
    """Per line whether it goes up, with all that join rows of the plan before as these were."""
    result = []
    for edge, up in zip(problem.edges, is_reversed, strict=True):
        a, b = (own[edge.source], own[edge.target]) if constrains_layers(edge) else (None, None)
        result.append(up if a is None or b is None or a == b else a > b)
    return result


def _push_down(problem: LayoutProblem, is_reversed: Sequence[bool], own: Sequence[int | None]) -> list[int] | None:
    """The rank of each node: its own, or further down where a line asks for it; None where lines run in a circle."""
    count = len(problem.sizes)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for edge, turn in zip(problem.edges, is_reversed, strict=True):
        if not constrains_layers(edge):
            continue
        upper, lower = (edge.target, edge.source) if turn else (edge.source, edge.target)
        above[lower].append(upper)
        below[upper].append(lower)
    order = topological_order(above, below)
    if len(order) < count:
        return None
    rank = _guess_new_ranks(own, order[::-1], below)
    for node in order:
        rank[node] = max([rank[node], *(rank[a] + 1 for a in above[node])])
    return rank


def _guess_new_ranks(own: Sequence[int | None], upwards: Sequence[int], below: Sequence[Sequence[int]]) -> list[int]:
    """Ranks, and for new nodes the row above the first that reads them: it may be above all others."""
    rank = [0 if at is None else at for at in own]
    lowest = max(rank, default=0)
    for node in upwards:
        if own[node] is None:
            rank[node] = min((rank[b] - 1 for b in below[node]), default=lowest)
    return rank
