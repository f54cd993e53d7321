"""Cycle breaking and layering: which edges are reversed, and in which layer each node is.

Layers are assigned by longest path, then tightened: a node that more edges leave than enter moves down to its first
consumer, together with what feeds only it. That is nearly what network simplex finds, in one pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Arc = tuple[int, int]


def assign_layers(
    count: int, arcs: Sequence[Arc], from_border: Collection[int], to_border: Collection[int]
) -> list[int]:
    """Assign each node of an acyclic graph to a layer.

    Args:
        count: the number of nodes.
        arcs: (upper, lower) pairs of nodes without cycles, see `break_cycles`.
        from_border: nodes with edges from the upper border; these pull, but weakly.
        to_border: nodes with edges to the lower border; these pull, but weakly.

    Returns:
        The layer of each node, 0 at the top; no layer is empty.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in arcs:
        above[b].append(a)
        below[a].append(b)
    order = topological_order(above, below)
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[a] + 1 for a in above[node]), default=0)
    last = max(rank, default=0)
    free = [False] * count
    for node in order:
        leaving = len(below[node]) + (node in to_border)
        free[node] = leaving == 1 and node not in from_border and all(free[a] for a in above[node])
    for node in reversed(order):
        entering = 0.0 if free[node] else len(above[node]) + 0.5 * (node in from_border)
        if len(below[node]) + 0.5 * (node in to_border) > entering:
            rank[node] = min((rank[b] - 1 for b in below[node]), default=last)
    return _renumber(rank)


def break_cycles(count: int, arcs: Sequence[Arc], loops: Collection[int]) -> list[bool]:
    """Choose the arcs to reverse so that no cycle is left.

    The search is depth-first from the nodes that no arc enters, in node order: TensorFlow appends ops after their
    inputs, so the arcs that close a cycle are those that were added last.

    Args:
        count: the number of nodes.
        arcs: (source, target) pairs of nodes.
        loops: the numbers of arcs that are reversed in any case, the back edges of loops.

    Returns:
        Whether each arc is reversed.
    """
    is_reversed = [number in loops for number in range(len(arcs))]
    below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    has_input = [False] * count
    for number, (a, b) in enumerate(arcs):
        upper, lower = (b, a) if is_reversed[number] else (a, b)
        below[upper].append((lower, number))
        has_input[lower] = True
    state = [0] * count
    for root in sorted(range(count), key=lambda node: (has_input[node], node)):
        if state[root]:
            continue
        state[root], path = 1, [(root, iter(below[root]))]
        while path:
            node, rest = path[-1]
            for other, number in rest:
                if state[other] == 1:
                    is_reversed[number] = not is_reversed[number]
                elif not state[other]:
                    state[other] = 1
                    path.append((other, iter(below[other])))
                    break
            else:
                state[node] = 2
                path.pop()
    return is_reversed


def split_wide_layers(rank: list[int], widths: Sequence[float], arcs: Sequence[Arc], limit: float) -> list[int]:
    """Split every layer that is wider than a limit into several.

    Nodes whose consumers are near come last in a layer, so that the edges stay short; equal ones keep their order.

    Args:
        rank: the layer of each node.
        widths: the width of each node in pixels, the gap included.
        arcs: (upper, lower) pairs of nodes.
        limit: the width in pixels.

    Returns:
        The new layer of each node; `rank` itself if no layer is too wide.
    """
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for node, at in enumerate(rank):
        rows[at].append(node)
    if all(sum(widths[node] for node in row) <= limit for row in rows):
        return rank
    reader = [len(rows)] * len(rank)
    for a, b in arcs:
        reader[a] = min(reader[a], rank[b])
    result, first = [0] * len(rank), 0
    for row in rows:
        parts = max(1, round(sum(widths[node] for node in row) / limit))
        share, width_so_far = sum(widths[node] for node in row) / parts, 0.0
        for node in sorted(row, key=lambda node: -reader[node]):
            result[node] = first + min(parts - 1, int((width_so_far + widths[node] / 2) / share))
            width_so_far += widths[node]
        first += parts
    return _renumber(result)


def topological_order(above: list[list[int]], below: list[list[int]]) -> list[int]:
    """Return the nodes, each after all that are above it; those in a cycle and those after one are left out.

    Args:
        above: The vertices above each vertex.
        below: The vertices below each vertex.
    """
    waiting = [len(a) for a in above]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for other in below[node]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _renumber(rank: list[int]) -> list[int]:
    number = {row: i for i, row in enumerate(sorted(set(rank)))}
    return [number[row] for row in rank]
