"""Cycle breaking and layering: which edges are reversed, and in which layer each node is.

The frame is that of K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
hierarchical system structures" (1981), and the first two steps are done as E. R. Gansner,
E. Koutsofios, S. C. North, K.-P. Vo propose in "A technique for drawing directed graphs" (1993):
a depth-first search reverses the edges that close a cycle, and layers are such that edges are
short. Their network simplex gives the shortest edges in many passes. Here the layers are assigned
by longest path and then tightened, in one pass and with nearly the same result: a node that more
edges leave than enter moves down to its first consumer, together with what feeds only it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Arc = tuple[int, int]
Size = tuple[float, float]

# How much an edge to the border pulls at its node, if an edge between nodes pulls with 1.
BORDER_PULL = 0.5

SPLIT_FACTOR = 1.5  # a layer is split if it is wider than the limit by this factor

# Up to so many boxes of one height are peers if the widest is at most so much wider than the
# narrowest: names of one length differ by this.
MAX_PEERS = 4
PEER_WIDTH = 1.25

# The states of a node in a depth-first search: not reached, on the current path, and left for good.
NEW, ON_PATH, DONE = range(3)


def assign_layers(
    count: int,
    arcs: Sequence[Arc],
    lengths: Sequence[int],
    from_border: Collection[int],
    to_border: Collection[int],
) -> list[int]:
    """Assign each node of an acyclic graph to a layer.

    Args:
        arcs: (upper, lower) pairs of nodes without cycles, see `break_cycles`.
        lengths: how many layers each arc spans at least, 1 or 0; those of 0 do not pull.
        from_border: nodes with edges from the upper border; these pull, but weakly.
        to_border: nodes with edges to the lower border; these pull, but weakly.

    Returns:
        The layer of each node, 0 at the top; no layer is empty.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    entering: list[list[Arc]] = [[] for _ in range(count)]  # per node, (upper node, length)
    leaving: list[list[Arc]] = [[] for _ in range(count)]  # per node, (lower node, length)
    for (upper, lower), length in zip(arcs, lengths, strict=True):
        above[lower].append(upper)
        below[upper].append(lower)
        entering[lower].append((upper, length))
        leaving[upper].append((lower, length))
    order = topological_order(above, below)

    # Longest path: each node right below the lowest of those above it.
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[upper] + length for upper, length in entering[node]), default=0)
    last = max(rank, default=0)

    # What feeds a single node, all the way up, moves with that node and does not hold it.
    is_free = [False] * count
    for node in order:
        consumers = sum(length for _, length in leaving[node]) + (node in to_border)
        is_free[node] = (
            consumers == 1
            and node not in from_border
            and all(is_free[upper] for upper, length in entering[node] if length)
        )

    for node in reversed(order):
        pull_up = 0.0
        if not is_free[node]:
            pull_up = sum(length for _, length in entering[node])
            pull_up += BORDER_PULL * (node in from_border)
        pull_down = sum(length for _, length in leaving[node]) + BORDER_PULL * (node in to_border)
        if pull_down > pull_up:
            rank[node] = min(
                (rank[lower] - length for lower, length in leaving[node]), default=last
            )
    return _without_empty_layers(rank)


def break_cycles(count: int, arcs: Sequence[Arc], loops: Collection[int]) -> list[bool]:
    """Choose the arcs to reverse so that no cycle is left.

    The search is depth-first from the nodes that no arc enters, in node order: TensorFlow appends
    ops after their inputs, so the arcs that close a cycle are those that were added last.

    Args:
        arcs: (source, target) pairs of nodes.
        loops: the numbers of arcs that are reversed in any case, the back edges of loops.

    Returns:
        Whether each arc is reversed.
    """
    is_reversed = [number in loops for number in range(len(arcs))]
    below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    has_input = [False] * count
    for number, (source, target) in enumerate(arcs):
        upper, lower = (target, source) if is_reversed[number] else (source, target)
        below[upper].append((lower, number))
        has_input[lower] = True
    state = [NEW] * count
    for root in sorted(range(count), key=lambda node: (has_input[node], node)):
        if state[root] != NEW:
            continue
        state[root] = ON_PATH
        # The path with the arcs that are still to be followed from each node. Python's own stack
        # would not do: a chain of thousands of ops is not rare.
        path = [(root, iter(below[root]))]
        while path:
            node, remaining = path[-1]
            for lower, number in remaining:
                if state[lower] == ON_PATH:
                    # Turns the back edge of a loop round again, if that is what closes the cycle.
                    is_reversed[number] = not is_reversed[number]
                elif state[lower] == NEW:
                    state[lower] = ON_PATH
                    path.append((lower, iter(below[lower])))
                    break
            else:
                state[node] = DONE
                path.pop()
    return is_reversed


def split_wide_layers(
    rank: list[int], sizes: Sequence[Size], gap: float, arcs: Sequence[Arc], limit: float
) -> list[int]:
    """Split every layer that is much wider than a limit into several.

    Nodes whose consumers are near come last in a layer, so that the edges stay short; equal ones
    keep their order.

    Args:
        sizes: the width and height of each node in pixels.
        gap: the distance between neighbors in pixels.
        arcs: (upper, lower) pairs of nodes.
        limit: the width in pixels.

    Returns:
        The new layer of each node; `rank` itself if no layer is too wide.
    """
    widths = [width + gap for width, _ in sizes]
    layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for node, number in enumerate(rank):
        layers[number].append(node)
    layer_widths = [sum(widths[node] for node in layer) for layer in layers]
    if all(width < SPLIT_FACTOR * limit for width in layer_widths):
        return rank

    first_consumer = [len(layers)] * len(rank)  # the layer where it is
    for upper, lower in arcs:
        first_consumer[upper] = min(first_consumer[upper], rank[lower])
    result = [0] * len(rank)
    first = 0
    for layer, layer_width in zip(layers, layer_widths, strict=True):
        parts = _rows_of_layer([sizes[node] for node in layer], layer_width / limit)
        part_width = layer_width / parts
        filled = 0.0
        for node in sorted(layer, key=lambda node: -first_consumer[node]):
            part = int((filled + widths[node] / 2) / part_width)  # where its middle is
            result[node] = first + min(parts - 1, part)
            filled += widths[node]
        first += parts
    return _without_empty_layers(result)


def _rows_of_layer(sizes: Sequence[Size], excess: float) -> int:
    """Into how many rows a layer is split that is wider than the limit by a factor.

    Lines pass between the boxes of the rows below, so a layer that is little wider stays one row.
    So do a few boxes of one size: equal things stand side by side.
    """
    if excess < SPLIT_FACTOR:
        return 1
    if len(sizes) <= MAX_PEERS:
        widths = [width for width, _ in sizes]
        if max(widths) <= PEER_WIDTH * min(widths) and len({height for _, height in sizes}) == 1:
            return 1
    return round(excess)


def topological_order(above: list[list[int]], below: list[list[int]]) -> list[int]:
    """Return the nodes, each after all that are above it, without those in a cycle or after one.

    This is A. B. Kahn's "Topological sorting of large networks" (1962): the list that is returned
    is also the queue.
    """
    waiting = [len(upper) for upper in above]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for lower in below[node]:
            waiting[lower] -= 1
            if not waiting[lower]:
                order.append(lower)
    return order


def _without_empty_layers(rank: list[int]) -> list[int]:
    """The layers numbered from 0 without a gap."""
    number = {layer: i for i, layer in enumerate(sorted(set(rank)))}
    return [number[layer] for layer in rank]
