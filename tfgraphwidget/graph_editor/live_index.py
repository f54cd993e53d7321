"""The GraphIndex of a live graph, kept with the graph and made again when the graph has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import is_

import numpy as np

from tfgraphwidget.graph import GraphIndex, Mask, build
from tfgraphwidget.tf_internals import control_edges, input_tuples, operation_number
from tfgraphwidget.tf_types import Graph, Operation, Tensor

_KEPT_AS = "_tfgraphwidget_indexed"


@dataclass(frozen=True, eq=False)
class _CachedIndex:
    """An index, and what had the edges of the graph when it was made.

    `Graph.version` counts ops only, and the serialized graph is not a key: its attributes come in
    another order each time. So this holds the very tuples that `op.inputs` gives, which TensorFlow
    throws away when it changes an edge, and the control edges as pairs of op ids (from, to).
    """

    index: GraphIndex
    inputs: list[Sequence[Tensor]]
    waits: frozenset[tuple[int, int]]


def index_of(graph: Graph) -> GraphIndex:
    """The index of a live graph's ops and edges, right also after edges were changed in place.

    Asking again costs a look at each op's cached inputs (about 0.5 µs an op), new ops cost their
    own reading. What is kept goes with the graph. Names are TensorFlow's; collections and dtypes
    are not read, since walks need none.
    """
    ops = graph.get_operations()
    cached_index = getattr(graph, _KEPT_AS, None)
    inputs, waits = input_tuples(ops), control_edges(ops)
    if cached_index is None or not _same_edges(cached_index, inputs, waits, ops):
        cached_index = _CachedIndex(build(graph.as_graph_def().node), inputs, waits)
    elif len(ops) > len(cached_index.index):
        new = [op.node_def for op in ops[len(cached_index.index) :]]
        cached_index = _CachedIndex(cached_index.index.with_new_nodes(new, {}, ()), inputs, waits)
    setattr(graph, _KEPT_AS, cached_index)
    return cached_index.index


def numbers(index: GraphIndex, ops: Iterable[Operation]) -> list[int]:
    """The numbers of live ops in the index of their graph."""
    return [index.ids[op.name] for op in ops]


def live_ops(graph: Graph, mask: Mask) -> list[Operation]:
    """The live ops of a mask, in graph order."""
    ops = graph.get_operations()
    return [ops[i] for i in np.flatnonzero(mask).tolist()]


def _same_edges(
    cached_index: _CachedIndex,
    inputs: list[Sequence[Tensor]],
    waits: frozenset[tuple[int, int]],
    ops: list[Operation],
) -> bool:
    """Whether the ops that are in the index already have the edges that they had."""
    n = len(cached_index.inputs)
    if len(ops) < n or not all(map(is_, cached_index.inputs, inputs)):
        return False
    if len(ops) == n:
        return waits == cached_index.waits
    first_new = operation_number(ops[n])
    return {pair for pair in waits if pair[1] < first_new} == cached_index.waits
