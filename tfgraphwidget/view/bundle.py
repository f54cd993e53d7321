"""Edges between ops, bundled into edges between what is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Lines between ops and closed scopes, container borders not yet heeded.

    One row per tensor and reader: `tensor` is any number that equal tensors share, int64.
    """

    source: Ints
    target: Ints
    tensor: Longs

    def where(self, group: Ints) -> Pairs:
        """The rows whose ends are of the same group; `group` is a number per item."""
        same = group[self.source] == group[self.target]
        return Pairs(self.source[same], self.target[same], self.tensor[same])


def data_pairs(index: GraphIndex, item_of_op: Ints) -> Pairs:
    """The data edges between different items."""
    return _pairs(index.inputs.start, index.inputs.values, index.ports, item_of_op)


def control_pairs(index: GraphIndex, item_of_op: Ints) -> Pairs:
    """The control edges between different items."""
    return _pairs(index.controls.start, index.controls.values, np.zeros_like(index.controls.values), item_of_op)


def _pairs(start: Ints, producer: Ints, port: Ints, item_of_op: Ints) -> Pairs:
    reader = np.repeat(np.arange(len(item_of_op), dtype=np.int32), np.diff(start))
    source, target = item_of_op[producer], item_of_op[reader]
    apart = source != target
    tensor = producer[apart].astype(np.int64) * (int(port.max(initial=0)) + 1) + port[apart]
    source, target = source[apart], target[apart]
    once = _first_of_each(tensor * len(item_of_op) * 2 + target)
    return Pairs(source[once], target[once], tensor[once])


def segments(parent: Ints, depth: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """The different segments of some pairs, as (source, target), each once."""
    a, b, _ = _cut(parent, depth, source, target)
    once = _first_of_each(a.astype(np.int64) * len(parent) + b)
    return a[once], b[once]


def bundled(parent: Ints, depth: Ints, data: Pairs, control: Pairs) -> tuple[Ints, Ints, Ints]:
    """(source, target, tensors) of all lines, sorted by container; control lines only where no data line is."""
    n = len(parent)
    a, b, row = _cut(parent, depth, data.source, data.target)
    key = a.astype(np.int64) * n + b
    order = np.lexsort((data.tensor[row], key))
    key, tensor = key[order], data.tensor[row][order]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (key[1:] != key[:-1]) | (tensor[1:] != tensor[:-1])
    lines, tensors = np.unique(key[fresh], return_counts=True)
    a, b, _ = _cut(parent, depth, control.source, control.target)
    orders = np.setdiff1d(a.astype(np.int64) * n + b, lines)
    lines = np.concatenate([lines, orders])
    tensors = np.concatenate([tensors, np.zeros(len(orders), dtype=tensors.dtype)])
    source, target = (lines // n).astype(np.int32), (lines % n).astype(np.int32)
    container = np.where(target == parent[source], target, parent[target])
    order = np.lexsort((target, source, container))
    return source[order], target[order], tensors[order].astype(np.int32)


def _cut(parent: Ints, depth: Ints, source: Ints, target: Ints) -> tuple[Ints, Ints, Ints]:
    """Segments (source, target, row of the pair) of all pairs, cut at every container border."""
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
