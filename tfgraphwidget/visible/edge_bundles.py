"""Edge bundles: the edges between ops, bundled into edges between items, with the sizes of their
tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import (
    BYTES,
    HANDLE_DTYPES,
    MERGE,
    NEXT,
    GraphIndex,
    distinct,
    is_among,
    reach,
)
from tfgraphwidget.hierarchy import Mask, of_types
from tfgraphwidget.visible.badges import format_shape

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgePairs:
    """EdgeBundles between ops and closed scopes, container borders not yet heeded.

    One row per tensor and reader: `op` and `port` say which tensor, `back` (bool) that it goes a v1
    loop's way back, `edges` how many edges of the graph the row represents: a closed scope may hold
    several consumers.
    """

    source: Ints
    target: Ints
    op: Ints
    port: Ints
    back: Mask
    edges: Ints

    def are_within(self, group: Ints) -> Mask:
        """Whether both ends of each row are of the same group; `group` is a number per item."""
        within: Mask = group[self.source] == group[self.target]
        return within

    def select(self, indices: Mask | npt.NDArray[np.intp]) -> EdgePairs:
        """Some of the rows."""
        source, target, op, port, edges = (
            column[indices] for column in (self.source, self.target, self.op, self.port, self.edges)
        )
        return EdgePairs(source, target, op, port, self.back[indices], edges)


@dataclass(frozen=True, eq=False)
class EdgeBundles:
    """Per line, sorted by container: `source`, `target`, `source_port`, `target_port` (the port of
    the border that an end is at, -1 for the end at a box), `tensors` (0 for control inputs only),
    `back` (bool: all its tensors go a loop's way back). Per line and tensor: the number of the
    `line`, and the tensor's `op` and `port`.
    """

    source: Ints
    target: Ints
    source_port: Ints
    target_port: Ints
    tensors: Ints
    back: Mask
    line: Ints
    op: Ints
    port: Ints


def data_pairs(index: GraphIndex, item_of_op: Ints, is_drawn: Mask) -> EdgePairs:
    """Find the data edges between different items.

    Args:
        is_drawn: Which ops have edges in the drawing.
    """
    return _pairs(index, index.inputs.start, index.inputs.values, index.ports, item_of_op, is_drawn)


def control_pairs(index: GraphIndex, item_of_op: Ints, is_drawn: Mask) -> EdgePairs:
    """Find the control edges between different items.

    Args:
        is_drawn: Which ops have edges in the drawing.
    """
    none = np.zeros_like(index.controls.values)
    return _pairs(index, index.controls.start, index.controls.values, none, item_of_op, is_drawn)


def _pairs(
    index: GraphIndex, start: Ints, producer: Ints, port: Ints, item_of_op: Ints, is_drawn: Mask
) -> EdgePairs:
    reader = np.repeat(np.arange(len(item_of_op), dtype=np.int32), np.diff(start))
    source, target = item_of_op[producer], item_of_op[reader]
    apart = np.flatnonzero((source != target) & is_drawn[producer] & is_drawn[reader])
    back = of_types(index, NEXT)[producer[apart]] & of_types(index, MERGE)[reader[apart]]
    tensor = producer[apart].astype(np.int64) * (int(port.max(initial=0)) + 1) + port[apart]
    _, once, edges = np.unique(
        tensor * len(item_of_op) * 2 + target[apart], return_index=True, return_counts=True
    )
    first = apart[once]
    return EdgePairs(
        source[first],
        target[first],
        producer[first],
        port[first],
        back[once],
        edges.astype(np.int32),
    )


def split_segments(parent: Ints, depth: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Split edges at the borders of containers.

    Returns:
        Sources and targets of the segments, each pair once.
    """
    a, b, _ = split_edges(parent, depth, source, target)
    once = _first_of_each(a.astype(np.int64) * len(parent) + b)
    return a[once], b[once]


def bundle_edges(
    parent: Ints, depth: Ints, is_open: Mask, data: EdgePairs, control: EdgePairs
) -> EdgeBundles:
    """Bundle edges between the same boxes and ports; control edges only where there is no data
    edge.

    Where a tensor crosses the border of an open scope it has a port. The last of `MOST_PORTS` is
    that of all further tensors; control edges have one port after those.
    """
    n = len(parent)
    a, b, row = split_edges(parent, depth, data.source, data.target)
    leaves, enters, ports = _assign_ports(_borders(parent, is_open, a, b), row, data, 2 * n)
    key = _line_keys(n, a, b, leaves, enters)
    order = np.lexsort((data.port[row], data.op[row], key))
    key, row = key[order], row[order]
    op, port = data.op[row], data.port[row]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (key[1:] != key[:-1]) | (op[1:] != op[:-1]) | (port[1:] != port[:-1])
    lines, line = np.unique(key[fresh], return_inverse=True)
    forward = np.bincount(line, weights=~data.back[row[fresh]], minlength=len(lines)) > 0
    pair = control.source.astype(np.int64) * n + control.target
    alone = ~is_among(pair, data.source.astype(np.int64) * n + data.target)
    a, b, _ = split_edges(parent, depth, control.source[alone], control.target[alone])
    out, into = _borders(parent, is_open, a, b)
    leaves, enters = (np.where(end >= 0, ports[np.maximum(end, 0)], -1) for end in (out, into))
    others = distinct(_line_keys(n, a, b, leaves, enters))
    keys = np.concatenate([lines, others[~is_among(others, lines)]])
    endpoints, at = keys // _PORTS**2, keys % _PORTS**2
    source, target = (endpoints // n).astype(np.int32), (endpoints % n).astype(np.int32)
    order = np.lexsort(
        (at, target, source, np.where(target == parent[source], target, parent[target]))
    )
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    tensors = np.bincount(line, minlength=len(keys)).astype(np.int32)
    back = np.zeros(len(keys), dtype=bool)
    back[: len(lines)] = ~forward
    return EdgeBundles(
        source[order],
        target[order],
        (at // _PORTS - 1)[order].astype(np.int32),
        (at % _PORTS - 1)[order].astype(np.int32),
        tensors[order],
        back[order],
        number[line],
        op[fresh],
        port[fresh],
    )


# So many tensors have ports of their own at one border; on a border of usual width, more could not
# be distinguished.
MOST_PORTS = 8
_PORTS = MOST_PORTS + 2  # and the port of control edges, and none


def _line_keys(n: int, a: Ints, b: Ints, leaves: Ints, enters: Ints) -> Longs:
    """A number per line: of its ends, and of its ports there."""
    endpoints = a.astype(np.int64) * n + b
    return (endpoints * _PORTS + leaves + 1) * _PORTS + enters + 1


def _borders(parent: Ints, is_open: Mask, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """The border that each segment begins at, and that it ends at: twice an open scope, 1 more
    where tensors leave it.

    -1 for an end at a box.
    """
    comes_in, goes_out = a == parent[b], b == parent[a]
    out = np.where(comes_in, 2 * a, np.where(is_open[a], 2 * a + 1, -1))
    into = np.where(goes_out, 2 * b + 1, np.where(is_open[b], 2 * b, -1))
    return out, into


def _assign_ports(
    borders: tuple[Ints, Ints], row: Ints, data: EdgePairs, border_count: int
) -> tuple[Ints, Ints, Ints]:
    """The ports at both ends of each segment, -1 at a box; and how many ports borders have."""
    count = max(len(data.op), 1)
    # Each row comes to a border once, and goes on from there.
    crossings = np.sort((borders[1].astype(np.int64) * count + row)[borders[1] >= 0])
    border, of = crossings // count, crossings % count
    group, first = _group_crossings(border, data, of)
    start = np.searchsorted(border[first], np.arange(border_count + 1))
    number = np.minimum(np.arange(len(first)) - start[border[first]], MOST_PORTS - 1)
    ports = []
    for end in borders:
        at = np.full(len(end), -1, dtype=np.int32)
        here = end >= 0
        at[here] = number[
            group[np.searchsorted(crossings, end[here].astype(np.int64) * count + row[here])]
        ]
        ports.append(at)
    return ports[0], ports[1], np.minimum(np.diff(start), MOST_PORTS).astype(np.int32)


def _group_crossings(border: Longs, data: EdgePairs, row: Longs) -> tuple[Longs, Longs]:
    """The group of each crossing of a border by a row, and the first crossing of each group, in
    order.

    The rows of one tensor are in one group; so are those of tensors that come from one box and
    beyond the border go to the same boxes: what is drawn of them is the same. Crossings are sorted,
    and rows by tensor (see `data_pairs`).
    """
    op, port = data.op[row], data.port[row]
    fresh = np.ones(len(row), dtype=bool)
    fresh[1:] = (border[1:] != border[:-1]) | (op[1:] != op[:-1]) | (port[1:] != port[:-1])
    begin = np.flatnonzero(fresh)
    targets = (
        np.add.reduceat(_scatter(data.target)[row], begin)
        if len(row)
        else np.zeros(0, dtype=np.uint64)
    )
    origins = border[begin] * (int(data.source.max(initial=0)) + 1) + data.source[row[begin]]
    _, first, group = np.unique(_scatter(origins) ^ targets, return_index=True, return_inverse=True)
    order = np.argsort(first)  # of sorted crossings: by border
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[group][np.cumsum(fresh) - 1], begin[first[order]]


def _scatter(numbers: Ints | Longs) -> npt.NDArray[np.uint64]:
    """Random numbers of 64 bits (splitmix64): a sum of them represents a set."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def split_edges(parent: Ints, depth: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints, Ints]:
    """Split edges at the borders of containers, each by itself.

    Returns:
        Sources and targets of the segments, and the edge that each is of.
    """
    a, b, row = source, target, np.arange(len(source), dtype=np.int32)
    parts: list[tuple[Ints, Ints, Ints]] = []
    while len(row):
        meet = parent[a] == parent[b]
        parts.append((a[meet], b[meet], row[meet]))
        a, b, row = a[~meet], b[~meet], row[~meet]
        rise_a, rise_b = depth[a] >= depth[b], depth[b] >= depth[a]
        parts.append((a[rise_a], parent[a[rise_a]], row[rise_a]))
        parts.append((parent[b[rise_b]], b[rise_b], row[rise_b]))
        a, b = np.where(rise_a, parent[a], a), np.where(rise_b, parent[b], b)
    if not parts:
        return a, b, row
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
    )


def _first_of_each(keys: Longs) -> npt.NDArray[np.intp]:
    """Positions of the first row with each key, ascending by key."""
    return np.unique(keys, return_index=True)[1]


# Edges between the forward pass and training: gradients read nearly every tensor of the network,
# and drawn, these edges would hide it. What matters is where training begins: at the ends of the
# forward pass, one loss or several. An op that leads to such an end needs no line of its own, for
# the lines that are drawn lead from it to training too.

_MOST_ENTRIES = 16  # boxes of training by which the last ops are sought one by one


def find_training_lines(
    index: GraphIndex,
    pairs: EdgePairs,
    parent: Ints,
    depth: Ints,
    part: npt.NDArray[np.uint8],
    depends_on_input: Mask,
) -> Mask:
    """Find the edges to draw; between the forward pass and training those of the last ops before
    it.

    Where an edge enters training is the box beside the forward pass. Each has its own last ops:
    those that lead to no other op with an edge into it. The last ops of the boxes beyond the
    sixteenth are found for all of them together.

    Args:
        pairs: The edges between ops and closed scopes.
        parent: int32 per item.
        depth: int32 per item.
        part: uint8 per item, 0 in the forward network; see `Outline`.
        depends_on_input: bool per op, whether it depends on inputs.

    Returns:
        bool per edge.
    """
    is_drawn: Mask = part[pairs.source] == part[pairs.target]
    is_drawn |= (part[pairs.target] == 0) & depends_on_input[pairs.op]
    into = np.flatnonzero(~is_drawn & depends_on_input[pairs.op])
    if not len(into):
        return is_drawn
    op, entry = pairs.op[into], _siblings(parent, depth, pairs.source[into], pairs.target[into])[1]
    entries, number = np.unique(entry, return_inverse=True)
    search, last = np.minimum(number, _MOST_ENTRIES - 1), np.zeros(len(into), dtype=bool)
    for each in distinct(search).tolist():
        rows = np.flatnonzero(search == each)
        last[rows] = ~_precedes_some(index, distinct(op[rows]))[op[rows]]
    # Ops of a loop precede each other; and what leads to another box may be all that a box has.
    latest = np.full(len(entries), -1, dtype=np.int64)
    np.maximum.at(latest, number, op)
    none = np.bincount(number, weights=last, minlength=len(entries)) == 0
    is_drawn[into[last | (none[number] & (latest[number] == op))]] = True
    return is_drawn


def _siblings(parent: Ints, depth: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Per edge the two children of the lowest container around both ends that the ends are in."""
    a, b = source.copy(), target.copy()
    rest = np.flatnonzero(parent[a] != parent[b])
    while len(rest):
        up, down = a[rest], b[rest]
        rise_a, rise_b = depth[up] >= depth[down], depth[down] >= depth[up]
        a[rest], b[rest] = np.where(rise_a, parent[up], up), np.where(rise_b, parent[down], down)
        rest = rest[parent[a[rest]] != parent[b[rest]]]
    return a, b


def _precedes_some(index: GraphIndex, ops: Ints) -> Mask:
    """Which ops lead to one of these."""
    start, values = index.inputs.start, index.inputs.values
    of_these = np.zeros(len(index), dtype=bool)
    of_these[ops] = True
    producers = distinct(values[np.repeat(of_these, np.diff(start))])
    return reach(start, values, producers)


# What a line carries: the bytes of its largest tensor, the shape of its only one.


_MOST_TENSORS = 5_000  # lines whose tensors are looked at; of more none is
# Where NodeDefs do not say shapes, the first question of a file has TensorFlow infer them all.
_MOST_INFERRED = 8_000  # ops of a graph of which it does
_ASKED = 20  # NodeDefs that are looked at for shapes
_cache: WeakKeyDictionary[GraphIndex, dict[tuple[int, int], tuple[float, str]]] = (
    WeakKeyDictionary()
)
_cheap: WeakKeyDictionary[GraphIndex, bool] = WeakKeyDictionary()


def tensor_sizes(
    index: GraphIndex, lines: EdgeBundles
) -> tuple[npt.NDArray[np.float32], Sequence[str]]:
    """Return (bytes, labels) of bundles; 0 and "" where unknown or where there are too many."""
    count = len(lines.source)
    largest, labels = np.zeros(count, dtype=np.float32), [""] * count
    single = lines.tensors[lines.line] == 1
    bundles = np.flatnonzero(single) if len(single) > _MOST_TENSORS else np.arange(len(single))
    if len(bundles) > _MOST_TENSORS or not len(bundles) or not _is_cheap(index):
        return largest, labels
    sizes = _cache.setdefault(index, {})
    rows = zip(
        *(a[bundles].tolist() for a in (lines.line, lines.op, lines.port, single)), strict=True
    )
    for line, op, port, only in rows:
        size, label = sizes.get((op, port)) or sizes.setdefault((op, port), _size(index, op, port))
        largest[line] = max(largest[line], size)
        if only:
            labels[line] = label
    return largest, labels


def _size(index: GraphIndex, op: int, port: int) -> tuple[float, str]:
    shape, dtypes = index.shape(op, port), index.dtypes(op)
    dtype = dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""
    if shape is None or dtype in HANDLE_DTYPES:
        return 0.0, ""
    label = format_shape(shape) + (f" {dtype}" if dtype not in ("", "float32") else "")
    return float(math.prod(size or 1 for size in shape) * BYTES.get(dtype, 0)), label


def _is_cheap(index: GraphIndex) -> bool:
    """Whether shapes can be had without TensorFlow reading the whole of a large file again."""
    is_cheap = _cheap.get(index)
    if is_cheap is None:
        some = [index.nodes[op] for op in range(0, len(index), max(len(index) // _ASKED, 1))]
        with_shapes = sum("_output_shapes" in node.attr for node in some)
        is_cheap = _cheap[index] = len(index) <= _MOST_INFERRED or 2 * with_shapes > len(some)
    return is_cheap
