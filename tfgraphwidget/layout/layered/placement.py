"""Node placement: the x of the vertices of ordered layers.

First every layer is moved to where its neighbors pull it (`align_nodes`), each by the exact least
squares of `isotonic_placement`. Then chains of dummy nodes are made straight (`straighten_chains`):
the dummy nodes of a chain become one block, as in U. Brandes, B. Köpf, "Fast and simple horizontal
coordinate assignment" (2001). There, blocks are packed from four corners and the results averaged.
Here, blocks stay near the places that they have. Pushed to the right just far enough, and pushed to
the left just far enough, they are in two placements without overlap; so they are in every mean of
both, and the middle favors neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from math import inf
from operator import sub
from typing import NamedTuple

import numpy as np

from tfgraphwidget.layout.layered.layered_graph import DUMMY_GAP, Hyperedge, LayeredGraph, Link
from tfgraphwidget.layout.spacing import NODE_GAP

Pull = tuple[list[tuple[int, float]], float, float]
"""Neighbors of a vertex with their weights, the sum of weighted bends, that of all weights."""
Row = tuple[list[int], list[float]]
"""The vertices of a row, and the least distances between the middles of neighbors."""

MAX_SWEEPS = 3
STILL = 1.5  # pixels; when no vertex has moved further, further sweeps change nothing that one sees
WORK_LIMIT = 9_000  # vertices over all sweeps; there are two sweeps in any case

OWN_WEIGHT = 0.02  # how much a vertex is held where it is; a link between nodes has 1
AFTER_WEIGHT = 0.1  # the say of the row that comes next, as a share of that of the row before

MAX_BEND = 20.0  # pixels that two large nodes may be apart for the sake of a straight edge

FRAME = 1.1  # as a share of the widest row: rows that spread out further are pushed together
NARROW_FRAME = 1.03  # and so wide they are then
MAX_FRAMES = 60  # places of the frame that are compared; each costs a look at all rows


@dataclass(frozen=True)
class OrderedRows:
    """Ordered rows of the vertices 0 … n - 1, none empty.

    Attributes:
        rows: the vertices of each row, from left to right.
        gaps: per row, the least distances of the middles of neighbors, in pixels.
        side: per vertex, the room that it takes on either side of its middle, in pixels.
        links: (upper, lower, weight, bend); a heavy link pulls the lower vertex to where it is
            `bend` pixels to the right of the upper one.
        is_dummy: per vertex, whether it is a dummy node.
    """

    rows: list[list[int]]
    gaps: list[list[float]]
    side: list[float]
    links: list[tuple[int, int, float, float]]
    is_dummy: list[bool]

    def narrow(self, x: list[float]) -> list[float]:
        """Rows pushed back into a frame little wider than the widest of them, where it moves least.

        `x` are the middles of the vertices, in pixels; they are changed.
        """
        if not self.rows:
            return x
        side = self.side
        widths = [
            side[row[0]] + sum(gaps) + side[row[-1]]
            for row, gaps in zip(self.rows, self.gaps, strict=True)
        ]
        lefts = [x[row[0]] - side[row[0]] for row in self.rows]
        rights = [x[row[-1]] + side[row[-1]] for row in self.rows]
        widest = max(widths)
        if max(rights) - min(lefts) <= FRAME * widest + MAX_BEND:
            return x

        frame = NARROW_FRAME * widest + MAX_BEND
        # How far rows reach out of it is least, in sum, where the frame begins or ends with a row.
        choices = [*lefts, *(right - frame for right in rights)]
        choices = choices[:: max(1, len(choices) // MAX_FRAMES)]
        starts = np.array(choices)[:, None]
        on_the_left = np.maximum(starts - lefts, 0.0).sum(axis=1)
        on_the_right = np.maximum(np.array(rights) - frame - starts, 0.0).sum(axis=1)
        left = choices[int((on_the_left + on_the_right).argmin())]
        for row, gaps, width in zip(self.rows, self.gaps, widths, strict=True):
            rightmost = left + frame - width
            # The distance of each vertex from the left of the row if it has no free space.
            offsets = accumulate(gaps, initial=side[row[0]])
            for vertex, offset in zip(row, offsets, strict=True):
                x[vertex] = min(max(x[vertex] - offset, left), rightmost) + offset
        return x


def place_nodes(graph: LayeredGraph, column: int) -> dict[int, float]:
    """Place the vertices of a column whose layers are ordered from left to right.

    Returns:
        The x of the middle of each vertex, in pixels.
    """
    vertices = [vertex for layer in graph.layers[column] for vertex in sorted(layer)]
    number = {vertex: i for i, vertex in enumerate(vertices)}
    layers = [[number[vertex] for vertex in layer] for layer in graph.layers[column]]
    links = []
    for upper, lower, hyperedge, weight in _share_weights(graph.links[column]):
        bend = _offset(graph, upper, lower, hyperedge)
        links.append((number[upper], number[lower], weight, bend))
    rows = _placement_rows(graph, vertices, layers, links)
    x = align_nodes(rows)
    if any(rows.is_dummy):
        x = straighten_chains(x, rows)
    return dict(zip(vertices, x, strict=True))


def _placement_rows(
    graph: LayeredGraph,
    vertices: list[int],
    layers: list[list[int]],
    links: list[tuple[int, int, float, float]],
) -> OrderedRows:
    """The rows to be aligned, with the numbers that the column's vertices have among themselves."""
    is_dummy = [vertex >= graph.node_count for vertex in vertices]
    half = [graph.width(vertex) / 2 for vertex in vertices]
    side = [
        width + (DUMMY_GAP if dummy else NODE_GAP) / 2
        for width, dummy in zip(half, is_dummy, strict=True)
    ]
    rows = [row for row in layers if row]
    gaps = []
    for row in rows:
        gaps_of_row = []
        for left, right in pairwise(row):
            space = DUMMY_GAP if is_dummy[left] or is_dummy[right] else NODE_GAP
            gaps_of_row.append(half[left] + half[right] + space)
        gaps.append(gaps_of_row)
    return OrderedRows(rows, gaps, side, links, is_dummy)


def _offset(graph: LayeredGraph, upper: int, lower: int, hyperedge: Hyperedge) -> float:
    """How far to the right of a vertex the next one must be for a straight edge."""
    nodes, ports = graph.node_count, graph.problem.ports
    leaves = graph.port(upper, hyperedge, leaves=True) if upper < nodes else 0.0
    enters = graph.port(lower, hyperedge, leaves=False) if lower < nodes else 0.0
    offset = leaves - enters
    # Two nodes with ports are open scopes, and large: they would be on a diagonal between empty
    # corners.
    are_large = max(upper, lower) < nodes and None not in (ports[upper], ports[lower])
    if are_large and abs(offset) > MAX_BEND:
        return 0.0
    return offset


def _share_weights(links: Mapping[Link, float]) -> list[tuple[int, int, Hyperedge, float]]:
    """Links with their weights, which the branches of a hyperedge share.

    Otherwise many consumers would bend a long chain of dummy nodes.
    """
    branches_below = Counter((upper, hyperedge) for upper, _, hyperedge in links)
    branches_above = Counter((lower, hyperedge) for _, lower, hyperedge in links)
    result = []
    for (upper, lower, hyperedge), weight in links.items():
        branches = max(branches_below[upper, hyperedge], branches_above[lower, hyperedge])
        result.append((upper, lower, hyperedge, weight / branches))
    return result


def isotonic_placement(
    targets: Sequence[float], weights: Sequence[float], gaps: Sequence[float]
) -> list[float]:
    """Return the places nearest to the wanted ones (weighted least squares) that keep the gaps.

    The result is exact. Less their least distances from the first, the places may not descend: that
    is isotonic regression, done by pooling adjacent violators (M. Ayer et al., "An empirical
    distribution function for sampling with incomplete information", 1955).

    Args:
        gaps: the least distance of each place to the next.

    Example:
        >>> isotonic_placement([0.0, 0.0], [1.0, 1.0], [10.0])
        [-5.0, 5.0]
    """
    for i, gap in enumerate(gaps):
        if targets[i + 1] - targets[i] < gap:
            break
    else:
        return list(targets)
    offsets = [0.0, *accumulate(gaps)]
    # The pools so far: their weighted means, which ascend, their weights and how many are in each.
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for target, offset, weight in zip(targets, offsets, weights, strict=True):
        mean = target - offset
        mass = weight
        size = 1
        while means and means[-1] > mean:
            other_mass = masses.pop()
            mean = (means.pop() * other_mass + mean * mass) / (other_mass + mass)
            mass += other_mass
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    mean_of_each: list[float] = []
    for mean, size in zip(means, sizes, strict=True):
        mean_of_each += [mean] * size
    return [mean + offset for mean, offset in zip(mean_of_each, offsets, strict=True)]


def align_nodes(rows: OrderedRows) -> list[float]:
    """Return the middle x of each vertex, so that heavy links are straight.

    All rows are within a frame that is little wider than the widest.
    """
    count = len(rows.side)
    pulls_down, pulls_up = _pulls(rows)
    x = [0.0] * count
    for row, gaps in zip(rows.rows, rows.gaps, strict=True):
        offsets = [0.0, *accumulate(gaps)]
        middle = sum(offsets) / len(row)
        for vertex, offset in zip(row, offsets, strict=True):
            x[vertex] = offset - middle
    levels = list(zip(rows.rows, rows.gaps, strict=True))
    for sweep in range(_sweep_count(count, MAX_SWEEPS)):
        before = list(x)
        if sweep % 2 == 0:
            _move_rows(x, levels, pulls_down)
        else:
            _move_rows(x, levels[::-1], pulls_up)
        if sweep > 1 and _largest_move(before, x) < STILL:
            break
    return rows.narrow(x)


def _sweep_count(count: int, most: int) -> int:
    """How often to sweep over so many vertices; with thousands, the places are only approximate."""
    return max(2, min(most, WORK_LIMIT // max(1, count)))


def _largest_move(before: list[float], after: list[float]) -> float:
    """How far that which has moved most has moved, in pixels."""
    return max(map(abs, map(sub, after, before)), default=0.0)


def _pulls(rows: OrderedRows) -> tuple[list[Pull], list[Pull]]:
    """The pulls at each vertex in sweeps down, and those in sweeps up.

    The neighbors in the row before decide; those in the row after have a small say.
    """
    count = len(rows.side)
    # Those in sweeps down, and after them those in sweeps up.
    near: list[list[tuple[int, float]]] = [[] for _ in range(2 * count)]
    bends = [0.0] * (2 * count)
    masses = [OWN_WEIGHT] * (2 * count)

    def pull(at: int, other: int, weight: float, bend: float) -> None:
        near[at].append((other, weight))
        bends[at] += weight * bend
        masses[at] += weight

    for upper, lower, weight, bend in rows.links:
        pull(lower, upper, weight, bend)
        pull(upper, lower, AFTER_WEIGHT * weight, -bend)
        pull(count + lower, upper, AFTER_WEIGHT * weight, bend)
        pull(count + upper, lower, weight, -bend)
    pulls = list(zip(near, bends, masses, strict=True))
    return pulls[:count], pulls[count:]


def _move_rows(x: list[float], levels: Sequence[Row], pulls: list[Pull]) -> None:
    """Put row after row where its neighbors pull it."""
    for row, gaps in levels:
        targets = []
        weights = []
        for vertex in row:
            near, total, mass = pulls[vertex]
            total += OWN_WEIGHT * x[vertex]
            for other, weight in near:
                total += weight * x[other]
            targets.append(total / mass)
            weights.append(mass)
        for vertex, place in zip(row, isotonic_placement(targets, weights, gaps), strict=True):
            x[vertex] = place


Distances = list[list[tuple[int, float]]]
"""Per block, its neighbors on one side, and their least distances in pixels."""

MAX_BLOCK_SWEEPS = 6
BLOCKS_STILL = 4.0  # pixels; as STILL, for blocks
BLOCK_OWN_WEIGHT = 0.001  # as OWN_WEIGHT; a block is heavy, and moves slowly as it is


class _Segment(NamedTuple):
    """Blocks of nodes side by side, between two chains of dummy nodes.

    Attributes:
        nodes: the blocks, from left to right.
        gaps: the least distances between them, in pixels.
        offsets: the least distance of each from the first, in pixels.
        left: the block of the chain on the left; -1 for none.
        left_gap: the least distance of the first block from it, in pixels.
        right: the block of the chain on the right; -1 for none.
        right_gap: the least distance of the last block from it, in pixels.
    """

    nodes: list[int]
    gaps: list[float]
    offsets: list[float]
    left: int
    left_gap: float
    right: int
    right_gap: float


def straighten_chains(x: Sequence[float], rows: OrderedRows) -> list[float]:
    """Return new middles near `x` with straight chains of dummy nodes, in pixels.

    Args:
        x: The middles of the vertices, in pixels.
    """
    block = _blocks(rows)
    count = max(block, default=-1) + 1
    total = [0.0] * count
    size = [0] * count
    for vertex, number in enumerate(block):
        total[number] += x[vertex]
        size[number] += 1
    means = [sum_of_block / members for sum_of_block, members in zip(total, size, strict=True)]
    is_chain = [members > 1 for members in size]
    place = _BlockRelaxation(rows, block, means).relax(is_chain)
    return rows.narrow([place[number] for number in block])


class _BlockRelaxation:
    """Blocks without overlap, moved to where their links pull them, as far as there is room.

    Attributes:
        rows: the rows that the blocks pass.
        block: per vertex, the number of its block.
        left: per block, its neighbors on the left.
        right: per block, its neighbors on the right.
        place: per block, the x of its middle in pixels.
        near: per block, the others that pull it and how strongly.
        bends: per block, the sum of what its links want it to be away from those, weighted.
        masses: per block, the sum of all weights.
    """

    def __init__(self, rows: OrderedRows, block: list[int], targets: list[float]) -> None:
        self.rows = rows
        self.block = block
        count = len(targets)
        self.left: Distances = [[] for _ in range(count)]
        self.right: Distances = [[] for _ in range(count)]
        for row, gaps in zip(rows.rows, rows.gaps, strict=True):
            for (a, b), distance in zip(pairwise(row), gaps, strict=True):
                self.right[block[a]].append((block[b], distance))
                self.left[block[b]].append((block[a], distance))
        self.place = self._without_overlap(targets)
        self.near: list[list[tuple[int, float]]] = [[] for _ in range(count)]
        self.bends = [0.0] * count
        self.masses = [BLOCK_OWN_WEIGHT] * count
        for upper, lower, weight, bend in rows.links:
            a, b = block[upper], block[lower]
            if a != b:
                self._pull(a, b, weight, -bend)
                self._pull(b, a, weight, bend)

    def _pull(self, block: int, other: int, weight: float, bend: float) -> None:
        """Let a link pull a block to `bend` pixels on the right of another."""
        self.near[block].append((other, weight))
        self.bends[block] += weight * bend
        self.masses[block] += weight

    def _without_overlap(self, targets: list[float]) -> list[float]:
        """Places near the targets: the means of pushed to the right and pushed to the left."""
        left, right = self.left, self.right
        order = _from_left_to_right(right, left)
        pushed_right = list(targets)
        for block in order:
            place = pushed_right[block]
            for other, distance in right[block]:
                pushed_right[other] = max(pushed_right[other], place + distance)
        pushed_left = list(targets)
        for block in reversed(order):
            place = pushed_left[block]
            for other, distance in left[block]:
                pushed_left[other] = min(pushed_left[other], place - distance)
        return [(a + b) / 2 for a, b in zip(pushed_right, pushed_left, strict=True)]

    def relax(self, is_chain: list[bool]) -> list[float]:
        """The places of the blocks, of which some are chains of dummy nodes."""
        segments_of_rows = [
            self._segments(row, gaps, is_chain)
            for row, gaps in zip(self.rows.rows, self.rows.gaps, strict=True)
        ]
        down = list(chain.from_iterable(segments_of_rows))
        up = list(chain.from_iterable(reversed(segments_of_rows)))
        chains = [block for block, is_one in enumerate(is_chain) if is_one]
        for sweep in range(_sweep_count(len(self.place), MAX_BLOCK_SWEEPS)):
            before = list(self.place)
            self._move_segments(down if sweep % 2 else up)
            self._move_chains(chains)
            if _largest_move(before, self.place) < BLOCKS_STILL:
                break
        return self.place

    def _segments(self, row: list[int], gaps: list[float], is_chain: list[bool]) -> list[_Segment]:
        """The nodes between two chains, which move together: alone, neighbors would hold each."""
        blocks = [self.block[vertex] for vertex in row]
        walls = [-1, *(i for i, block in enumerate(blocks) if is_chain[block]), len(blocks)]
        segments = []
        for start, stop in pairwise(walls):
            if stop - start < 2:
                continue
            has_left, has_right = start >= 0, stop < len(blocks)
            between = gaps[start + 1 : stop - 1]
            segment = _Segment(
                nodes=blocks[start + 1 : stop],
                gaps=between,
                offsets=[0.0, *accumulate(between)],
                left=blocks[start] if has_left else -1,
                left_gap=gaps[start] if has_left else 0.0,
                right=blocks[stop] if has_right else -1,
                right_gap=gaps[stop - 1] if has_right else 0.0,
            )
            segments.append(segment)
        return segments

    def _target(self, block: int) -> float:
        """Where the links of a block pull it."""
        place = self.place
        total = BLOCK_OWN_WEIGHT * place[block] + self.bends[block]
        for other, weight in self.near[block]:
            total += weight * place[other]
        return total / self.masses[block]

    def _move_segments(self, segments: Sequence[_Segment]) -> None:
        """Move the nodes of segment after segment between the chains beside them."""
        place, masses = self.place, self.masses
        for nodes, gaps, offsets, left, left_gap, right, right_gap in segments:
            # Where the first node may be, so that all are between the chains.
            low = place[left] + left_gap if left >= 0 else -inf
            high = place[right] - right_gap - offsets[-1] if right >= 0 else inf
            if not gaps:
                place[nodes[0]] = min(max(self._target(nodes[0]), low), high)
                continue
            targets = [self._target(block) for block in nodes]
            weights = [masses[block] for block in nodes]
            places = isotonic_placement(targets, weights, gaps)
            for block, target, offset in zip(nodes, places, offsets, strict=True):
                place[block] = min(max(target - offset, low), high) + offset

    def _move_chains(self, chains: Sequence[int]) -> None:
        """Move chain after chain as far as its neighbors let it."""
        place, left, right = self.place, self.left, self.right
        for block in chains:
            low, high = -inf, inf
            for other, distance in left[block]:
                low = max(low, place[other] + distance)
            for other, distance in right[block]:
                high = min(high, place[other] - distance)
            place[block] = min(max(self._target(block), low), high)


def _blocks(rows: OrderedRows) -> list[int]:
    """The block of each vertex: a chain of dummy nodes is one, and each other vertex.

    Of two chains that cross, one is broken there: otherwise blocks could not be ordered from left
    to right. Brandes and Köpf call these conflicts of type 2.
    """
    count = len(rows.side)
    position = [0] * count
    for row in rows.rows:
        for i, vertex in enumerate(row):
            position[vertex] = i
    is_dummy = rows.is_dummy
    next_dummy = {
        upper: lower for upper, lower, _, _ in rows.links if is_dummy[upper] and is_dummy[lower]
    }
    block = [-1] * count
    new_block = 0
    for row in rows.rows:
        for vertex in row:
            if block[vertex] < 0:
                block[vertex] = new_block
                new_block += 1
        furthest = -1  # to the right, of the chains that go on
        for vertex in row:
            lower = next_dummy.get(vertex)
            if lower is not None and position[lower] > furthest:
                block[lower] = block[vertex]
                furthest = position[lower]
    return block


def _from_left_to_right(right: Distances, left: Distances) -> list[int]:
    """The blocks, each after all that are on its left."""
    waiting = [len(others) for others in left]
    order = [block for block, count in enumerate(waiting) if not count]
    for block in order:
        for other, _ in right[block]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order
