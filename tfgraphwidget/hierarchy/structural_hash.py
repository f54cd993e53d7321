"""Structural hashes: a number per name scope, equal where the op types and the edges inside are
equal.

Names, values of constants and shapes do not matter. An edge counts where its two ends are siblings
(ops, or the scopes around them). The number of each sibling is mixed with those of its neighbors,
twice, and the sum of all is that of the scope. Scopes that differ get different numbers, except
where they differ in edges more than two steps away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy.op_facts import Ints, Mask
from tfgraphwidget.hierarchy.tree import Outline

Hashes = npt.NDArray[np.uint64]
_ROUNDS = 2


@dataclass(frozen=True, eq=False)
class SiblingEdges:
    """Nodes of an outline, and its ops after them, as one run of numbers.

    Per thing: `around` (the node it is directly in), `depth`. Per data edge whose ends are
    different siblings: `source`, `target` (things), `op` (the op that produces), `reader`. Per
    thing `enters`, `leaves`: whether an edge comes in from outside its container, goes out of it.
    """

    around: Ints
    depth: Ints
    source: Ints
    target: Ints
    op: Ints
    reader: Ints
    enters: Mask
    leaves: Mask

    def without_training(self, outline: Outline) -> SiblingEdges:
        """These edges, less those that lead from the network to gradients or training."""
        trains = outline.trains
        stays = trains[self.source] | ~trains[self.target]
        return replace(
            self,
            source=self.source[stays],
            target=self.target[stays],
            op=self.op[stays],
            reader=self.reader[stays],
        )


def sibling_edges(index: GraphIndex, outline: Outline) -> SiblingEdges:
    """Return the data edges of a graph between siblings of an outline."""
    nodes = len(outline)
    around = np.concatenate([outline.parent, outline.home])
    depth = np.concatenate([outline.depth, outline.depth[outline.home] + 1])
    reader = index.inputs.owner
    op = index.inputs.values
    apart = op != reader
    op, reader = op[apart], reader[apart]
    a, b = op + nodes, reader + nodes
    enters, leaves = np.zeros(len(around), dtype=bool), np.zeros(len(around), dtype=bool)
    rest = np.flatnonzero(around[a] != around[b])
    while len(rest):
        up, down = a[rest], b[rest]
        rise_a = depth[up] >= depth[down]
        rise_b = depth[down] >= depth[up]
        leaves[up[rise_a]] = True
        enters[down[rise_b]] = True
        a[rest] = np.where(rise_a, around[up], up)
        b[rest] = np.where(rise_b, around[down], down)
        rest = rest[around[a[rest]] != around[b[rest]]]
    return SiblingEdges(around, depth, a, b, op, reader, enters, leaves)


def structural_hashes(index: GraphIndex, outline: Outline, edges: SiblingEdges) -> Hashes:
    """Hash the structure of siblings.

    Returns:
        A uint64 per sibling: equal for nodes of equal structure and for ops of one type.
    """
    nodes = len(outline)
    color = np.zeros(len(edges.around), dtype=np.uint64)
    color[nodes:] = mix(index.kinds[1].astype(np.uint64) + np.uint64(1)) if len(index) else 0
    # Of numbers of 16 bits numpy sorts a million in one pass.
    depth = edges.depth.astype(np.int16)
    by_level = np.argsort(depth[edges.source], kind="stable").astype(np.int32)
    by_depth = np.argsort(depth, kind="stable").astype(np.int32)
    level_of, depth_of = depth[edges.source[by_level]], depth[by_depth]
    place = np.empty(len(depth), dtype=np.int32)  # of each thing among those of its depth
    for level in range(int(depth_of[-1]), 0, -1):
        here = by_level[slice(*np.searchsorted(level_of, (level, level + 1)))]
        members = by_depth[slice(*np.searchsorted(depth_of, (level, level + 1)))]
        place[members] = np.arange(len(members))
        inner = members[members < nodes]
        color[inner] = mix(color[inner] + np.uint64(1 << 40))
        mixed = _mix_with_neighbors(
            color[members], place[edges.source[here]], place[edges.target[here]]
        )
        np.add.at(color, edges.around[members], mixed)
    return color


def _mix_with_neighbors(hashes: Hashes, a: Ints, b: Ints) -> Hashes:
    """The numbers of things mixed with those of neighbors along the edges from `a` to `b`."""
    for _ in range(_ROUNDS):
        total = mix(hashes)
        np.add.at(total, b, mix(hashes[a] + np.uint64(3)))
        np.add.at(total, a, mix(hashes[b] + np.uint64(7)))
        hashes = mix(total)
    return hashes


def mix(values: Hashes) -> Hashes:
    """Scatter numbers over all 64 bits, so that sums of them identify sets (splitmix64).

    Args:
        values: The hashes, uint64.
    """
    mixed: Hashes = values + np.uint64(0x9E3779B97F4A7C15)
    # In place: numbers of a million things take 8 MB each time that they are copied.
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
