"""Node placement: the x of the vertices of ordered layers.

First every layer is moved to where its neighbors pull it (`align_nodes`), then chains of dummy nodes are made straight
(`straighten_chains`): the dummy nodes of a chain become one block. Blocks pushed to the right just far enough, and
pushed to the left just far enough, are two placements without overlap; so is every mean of both, and the middle favors
neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from operator import sub

from tfgraphwidget.layout.layered.layered_graph import DUMMY_GAP, Hyperedge, LayeredGraph
from tfgraphwidget.layout.spacing import NODE_GAP

Pull = tuple[list[tuple[int, float]], float, float]
_SWEEPS, _STILL = 4, 1.5
_MOST_BEND = 20.0
_OWN, _BEHIND = 0.02, 0.1
_WORK = 9_000


@dataclass(frozen=True)
class OrderedRows:
    """Ordered rows of the vertices 0 … n - 1, none empty.

    `gaps` are per row the least distances of the middles of neighbors, `side` per vertex the room it takes on either
    side of its middle. `links` are (upper, lower, weight, bend): a heavy link wants to be straight, and the lower
    vertex that far right of the upper one. Vertices from `nodes` on, in the order of `is_dummy`, are lanes.
    """

    rows: list[list[int]]
    gaps: list[list[float]]
    side: list[float]
    links: list[tuple[int, int, float, float]]
    is_dummy: list[bool]

    def narrow(self, x: list[float]) -> list[float]:
        """Rows pushed back into a frame little wider than the widest of them, where that is best for most.

        Args:
            x: The positions of the vertices, in pixels.
        """
        rows = []
        for row, gaps in zip(self.rows, self.gaps, strict=True):
            offsets = list(accumulate(gaps, initial=self.side[row[0]]))
            rows.append((row, offsets, offsets[-1] + self.side[row[-1]]))
        room = max((wide for _, _, wide in rows), default=0.0)
        ends = [(x[row[0]] - offsets[0], x[row[-1]] - offsets[-1] + wide) for row, offsets, wide in rows]
        if not ends or max(b for _, b in ends) - min(a for a, _ in ends) <= 1.1 * room + _MOST_BEND:
            return x
        room = 1.03 * room + _MOST_BEND
        choices = [*(a for a, _ in ends), *(b - room for _, b in ends)]
        left = min(
            choices[:: max(1, len(choices) // 60)],
            key=lambda c: sum([c - a for a, _ in ends if a < c]) + sum([b - c - room for _, b in ends if b - c > room]),
        )
        for row, offsets, wide in rows:
            for vertex, offset in zip(row, offsets, strict=True):
                x[vertex] = min(max(x[vertex] - offset, left), left + room - wide) + offset
        return x


def place_nodes(graph: LayeredGraph, column: int) -> dict[int, float]:
    """Place the vertices of a column whose layers are ordered from left to right.

    Args:
        graph: the graph with its dummy nodes.
        column: the number of the column.

    Returns:
        The x of the middle of each vertex, in pixels.
    """
    vertices = [vertex for layer in graph.layers[column] for vertex in sorted(layer)]
    number = {vertex: i for i, vertex in enumerate(vertices)}
    layers = [[number[vertex] for vertex in layer] for layer in graph.layers[column]]
    weighted = [
        (number[a], number[b], weight, _offset(graph, a, b, hyperedge))
        for a, b, hyperedge, weight in _share_weights(graph.links[column])
    ]
    rows = _placement_rows(graph, vertices, layers, weighted)
    x = align_nodes(rows)
    if any(rows.is_dummy):
        x = straighten_chains(x, rows)
    return dict(zip(vertices, x, strict=True))


def _placement_rows(
    graph: LayeredGraph, vertices: list[int], layers: list[list[int]], links: list[tuple[int, int, float, float]]
) -> OrderedRows:
    """The rows to be aligned, with the numbers that the column's vertices have among themselves."""
    nodes = len(graph.problem.sizes)
    is_dummy = [vertex >= nodes for vertex in vertices]
    half = [graph.width(vertex) / 2 for vertex in vertices]
    rows = [row for row in layers if row]
    gaps = [
        [half[a] + half[b] + (DUMMY_GAP if is_dummy[a] or is_dummy[b] else NODE_GAP) for a, b in pairwise(row)]
        for row in rows
    ]
    side = [at + (DUMMY_GAP if dummy else NODE_GAP) / 2 for at, dummy in zip(half, is_dummy, strict=True)]
    return OrderedRows(rows, gaps, side, links, is_dummy)


def _offset(graph: LayeredGraph, upper: int, lower: int, hyperedge: Hyperedge) -> float:
    """How far to the right of a vertex the next one must be for a straight edge."""
    nodes, ports = len(graph.problem.sizes), graph.problem.ports
    leaves = graph.port(upper, hyperedge, leaves=True) if upper < nodes else 0.0
    enters = graph.port(lower, hyperedge, leaves=False) if lower < nodes else 0.0
    large = upper < nodes and lower < nodes and ports[upper] is not None and ports[lower] is not None
    return straight_offset(leaves, enters, stairs=large)


def _share_weights(links: Mapping[tuple[int, int, Hyperedge], float]) -> list[tuple[int, int, Hyperedge, float]]:
    """Links with their weights; the branches of a net share its weight, or many readers would bend a long lane."""
    upper = Counter((a, hyperedge) for a, _, hyperedge in links)
    lower = Counter((b, hyperedge) for _, b, hyperedge in links)
    return [
        (a, b, hyperedge, weight / max(upper[(a, hyperedge)], lower[(b, hyperedge)]))
        for (a, b, hyperedge), weight in links.items()
    ]


def isotonic_placement(targets: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the places nearest to the wanted ones (weighted least squares) that keep the gaps.

    The result is exact, by pooling neighbors that would overlap (isotonic regression).

    Args:
        targets: the wanted places, in order.
        weights: the weight of each.
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
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for wish, offset, weight in zip(targets, offsets, weights, strict=True):
        mean, mass, size = wish - offset, weight, 1
        while means and means[-1] > mean:
            heavy = masses.pop()
            mean = (means.pop() * heavy + mean * mass) / (heavy + mass)
            mass += heavy
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    flatten: list[float] = []
    for mean, size in zip(means, sizes, strict=True):
        flatten += [mean] * size
    return [x + o for x, o in zip(flatten, offsets, strict=True)]


def align_nodes(rows: OrderedRows) -> list[float]:
    """Return the middle x of each vertex, so that heavy links are straight. No layer is much wider than the widest.

    Args:
        rows: The rows.
    """
    count = len(rows.side)
    down, up = _pulls(rows)
    x = [0.0] * count
    for row, gaps in zip(rows.rows, rows.gaps, strict=True):
        offsets = [0.0, *accumulate(gaps)]
        middle = sum(offsets) / len(row)
        for vertex, offset in zip(row, offsets, strict=True):
            x[vertex] = offset - middle
    levels = list(zip(rows.rows, rows.gaps, strict=True))
    for sweep in range(sweep_count(count, _SWEEPS)):
        before = list(x)
        if sweep % 2 == 0:
            _move_rows(x, levels, down)
        else:
            _move_rows(x, levels[::-1], up)
        if sweep > 1 and max(map(abs, map(sub, x, before)), default=0.0) < _STILL:
            break
    return rows.narrow(x)


def sweep_count(count: int, most: int) -> int:
    """Return how often to sweep over so many vertices; with thousands, the places are only approximate.

    Args:
        count: The number of vertices.
        most: The number of vertices of the largest layer.
    """
    return max(2, min(most, _WORK // max(1, count)))


def straight_offset(leaves: float, enters: float, *, stairs: bool) -> float:
    """Compute how far to the right of a vertex the next one must be for a straight edge.

    Args:
        leaves: The x of the port from the center of the upper vertex.
        enters: The x of the port from the center of the lower vertex.
        stairs: Whether both are large: a large offset would put them on a diagonal between empty corners.

    Returns:
        The offset; 0 for large ones of `stairs`.
    """
    return leaves - enters if not stairs or abs(leaves - enters) <= _MOST_BEND else 0.0


def _pulls(rows: OrderedRows) -> tuple[list[Pull], list[Pull]]:
    """The forces on each vertex, going down and going up: (others and weights), the sum of bends, and of all weights.

    The neighbors in the row before decide; those in the row behind have a small say.
    """
    count = len(rows.side)
    near: list[list[tuple[int, float]]] = [[] for _ in range(2 * count)]
    bends, masses = [0.0] * (2 * count), [_OWN] * (2 * count)
    for a, b, weight, bend in rows.links:
        for vertex, other, strong, weak, shift in (
            (b, a, weight, _BEHIND * weight, bend),
            (a, b, _BEHIND * weight, weight, -bend),
        ):
            near[vertex].append((other, strong))
            bends[vertex] += strong * shift
            masses[vertex] += strong
            near[count + vertex].append((other, weak))
            bends[count + vertex] += weak * shift
            masses[count + vertex] += weak
    pulls = list(zip(near, bends, masses, strict=True))
    return pulls[:count], pulls[count:]


def _move_rows(x: list[float], levels: Sequence[tuple[list[int], list[float]]], pulls: list[Pull]) -> None:
    """Put row after row where its neighbors want it."""
    for row, gaps in levels:
        targets, weights = [], []
        for vertex in row:
            near, total, mass = pulls[vertex]
            total += _OWN * x[vertex]
            for other, weight in near:
                total += weight * x[other]
            targets.append(total / mass)
            weights.append(mass)
        for vertex, place in zip(row, isotonic_placement(targets, weights, gaps), strict=True):
            x[vertex] = place


def adjacent_pairs(rows: OrderedRows) -> list[tuple[int, int, float]]:
    """Return the neighbors in each layer and their least distance.

    Args:
        rows: The rows.
    """
    return [
        (a, b, gap)
        for row, gaps in zip(rows.rows, rows.gaps, strict=True)
        for (a, b), gap in zip(pairwise(row), gaps, strict=True)
    ]


Distances = list[list[tuple[int, float]]]
_PASSES, _DUMMY_STILL = 6, 1.0
_DUMMY_OWN = 0.001


@dataclass(frozen=True)
class _Segment:
    """Nodes side by side between two lanes (-1: none there); `low` and `high` are the least distances to those."""

    nodes: list[int]
    gaps: list[float]
    offsets: list[float]
    left: int
    low: float
    right: int
    high: float


def straighten_chains(x: Sequence[float], rows: OrderedRows) -> list[float]:
    """Return new middles near `x` with straight chains of dummy nodes.

    Args:
        x: The positions of the vertices, in pixels.
        rows: The rows.
    """
    block = _blocks(rows)
    count = max(block, default=-1) + 1
    total, size = [0.0] * count, [0] * count
    for vertex, b in enumerate(block):
        total[b] += x[vertex]
        size[b] += 1
    relaxation = _BlockRelaxation(rows, block, [t / n for t, n in zip(total, size, strict=True)])
    place = relaxation.relax([n > 1 for n in size])
    return rows.narrow([place[b] for b in block])


class _BlockRelaxation:
    """Blocks without overlap near the wished places, then moved to where the lines want them, as far as there is room.

    `near` are per block the others that pull it and how strongly, `bends` the sums of what the lines want them apart,
    `masses` the sums of all weights.
    """

    def __init__(self, rows: OrderedRows, block: list[int], targets: list[float]) -> None:
        self.rows = rows
        self.block = block
        count = len(targets)
        self.left: Distances = [[] for _ in range(count)]
        self.right: Distances = [[] for _ in range(count)]
        for a, b, distance in adjacent_pairs(rows):
            self.right[block[a]].append((block[b], distance))
            self.left[block[b]].append((block[a], distance))
        self.place = self._feasible(targets)
        self.near: list[list[tuple[int, float]]] = [[] for _ in range(count)]
        self.bends, self.masses = [0.0] * count, [_DUMMY_OWN] * count
        for upper, lower, weight, bend in rows.links:
            a, b = block[upper], block[lower]
            if a != b:
                for one, other, shift in ((a, b, -bend), (b, a, bend)):
                    self.near[one].append((other, weight))
                    self.bends[one] += weight * shift
                    self.masses[one] += weight

    def _feasible(self, targets: list[float]) -> list[float]:
        left, right = self.left, self.right
        low, high = list(targets), list(targets)
        order = _topological_order(right, left)
        for b in order:
            at = low[b]
            for other, distance in right[b]:
                low[other] = max(low[other], at + distance)
        for b in reversed(order):
            at = high[b]
            for other, distance in left[b]:
                high[other] = min(high[other], at - distance)
        return [(a + b) / 2 for a, b in zip(low, high, strict=True)]

    def relax(self, is_dummy: list[bool]) -> list[float]:
        """The places of the blocks."""
        levels = [self._segments(row, gaps, is_dummy) for row, gaps in zip(self.rows.rows, self.rows.gaps, strict=True)]
        down = [segment for level in levels for segment in level]
        up = [segment for level in levels[::-1] for segment in level]
        dummies = [b for b, dummy in enumerate(is_dummy) if dummy]
        for number in range(sweep_count(len(self.place), _PASSES)):
            before = list(self.place)
            self._place_segments(down if number % 2 else up)
            self._shift_dummies(dummies)
            if max(map(abs, map(sub, self.place, before)), default=0.0) < _DUMMY_STILL:
                break
        return self.place

    def _segments(self, row: list[int], gaps: list[float], is_dummy: list[bool]) -> list[_Segment]:
        """The nodes between two lanes move together: one by one, each would be held by its neighbors."""
        blocks = [self.block[vertex] for vertex in row]
        walls = [-1, *(i for i, b in enumerate(blocks) if is_dummy[b]), len(blocks)]
        segments = []
        for start, stop in pairwise(walls):
            if stop - start < 2:
                continue
            between = gaps[start + 1 : stop - 1]
            left, low = (blocks[start], gaps[start]) if start >= 0 else (-1, 0.0)
            right, high = (blocks[stop], gaps[stop - 1]) if stop < len(blocks) else (-1, 0.0)
            offsets = [0.0, *accumulate(between)]
            segments.append(_Segment(blocks[start + 1 : stop], between, offsets, left, low, right, high))
        return segments

    def _place_segments(self, segments: Sequence[_Segment]) -> None:
        place, near, bends, masses = self.place, self.near, self.bends, self.masses
        for s in segments:
            wishes = []
            for b in s.nodes:
                total = _DUMMY_OWN * place[b] + bends[b]
                for other, weight in near[b]:
                    total += weight * place[other]
                wishes.append(total / masses[b])
            places = isotonic_placement(wishes, [masses[b] for b in s.nodes], s.gaps) if s.gaps else wishes
            low = place[s.left] + s.low if s.left >= 0 else -inf
            high = place[s.right] - s.high - s.offsets[-1] if s.right >= 0 else inf
            for b, at, offset in zip(s.nodes, places, s.offsets, strict=True):
                place[b] = min(max(at - offset, low), high) + offset

    def _shift_dummies(self, dummies: Sequence[int]) -> None:
        """Move lane after lane as far as its neighbors let it."""
        place, near, left, right = self.place, self.near, self.left, self.right
        for b in dummies:
            wish = _DUMMY_OWN * place[b] + self.bends[b]
            for other, weight in near[b]:
                wish += weight * place[other]
            wish /= self.masses[b]
            low, high = -inf, inf
            for other, distance in left[b]:
                low = max(low, place[other] + distance)
            for other, distance in right[b]:
                high = min(high, place[other] - distance)
            place[b] = min(max(wish, low), high)


def _blocks(rows: OrderedRows) -> list[int]:
    """The block of each vertex. Of two lanes that cross, one is broken there, or blocks could not be ordered."""
    count = len(rows.side)
    at = [0] * count
    for row in rows.rows:
        for i, vertex in enumerate(row):
            at[vertex] = i
    onward = {a: b for a, b, _, _ in rows.links if rows.is_dummy[a] and rows.is_dummy[b]}
    block, fresh = [-1] * count, 0
    for row in rows.rows:
        for vertex in row:
            if block[vertex] < 0:
                block[vertex], fresh = fresh, fresh + 1
        furthest = -1
        for vertex in row:
            below = onward.get(vertex)
            if below is not None and at[below] > furthest:
                block[below], furthest = block[vertex], at[below]
    return block


def _topological_order(right: Distances, left: Distances) -> list[int]:
    waiting = [len(before) for before in left]
    order = [b for b, missing in enumerate(waiting) if not missing]
    for b in order:
        for other, _ in right[b]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order
