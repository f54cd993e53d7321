"""What gradients make for themselves on their way: ops that depend on no gradient, yet serve training only.

The gradient of tf.nn.silu, or of any tf.custom_gradient, computes factors of what the graph is fed before it multiplies
them with a gradient, and a tape puts them into no scope of gradients. TensorFlow names no such op, but it adds ops to
the graph in the order in which they are made: a factor was made after the gradient that it meets. The ops of a second
forward pass, also those that a gradient penalty is added to, were made before their gradients; and like a metric, they
lead to an end that no gradient reaches.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import depth_first_order

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.names import last_part
from tfgraphwidget.view.facts import Facts, Ints, Mask, downstream, of_types

# Tapes make zeros for outputs that have no gradient, and often nobody reads them.
_ZEROS = re.compile(r"zeros(_like)?(_\d+)?")
_BLANK = frozenset({"Const", "Fill", "ZerosLike"})


def underway(index: GraphIndex, known: Facts, seeds: npt.NDArray[np.intp], after: Mask) -> Mask:
    """Which ops gradients make on their way; `seeds`: the gradients, ascending; `after`: all that depends on them."""
    late = known.fed & ~after
    late[: seeds[0]] = False
    blank = _blank(index, seeds)
    foreign = late & (np.diff(index.consumers.start) == 0) & ~blank
    found = late & ~_with(index, late, seeds, foreign)
    if found.any():
        foreign |= _before(index, seeds, after, found)
        found = late & ~_with(index, late, seeds, foreign)
    return found | (blank & ~known.fed)


def _blank(index: GraphIndex, seeds: npt.NDArray[np.intp]) -> Mask:
    """Zeros that nobody reads, made among the gradients."""
    unread = (np.diff(index.consumers.start) == 0) & (np.diff(index.control_consumers.start) == 0)
    unread[: seeds[0]] = unread[seeds[-1] :] = False
    ops = np.flatnonzero(unread & of_types(index, _BLANK))
    blank = np.zeros(len(index), dtype=bool)
    blank[[op for op in ops.tolist() if _ZEROS.fullmatch(last_part(index.names[op]))]] = True
    return blank


def _before(index: GraphIndex, seeds: npt.NDArray[np.intp], after: Mask, late: Mask) -> Mask:
    """Which late ops meet a gradient that is younger than they are, and that no older one leads to."""
    start, values = index.consumers.start, index.consumers.values
    owner = np.repeat(np.arange(len(index)), np.diff(start))
    oldest = np.append(seeds, len(index))[first_to_reach(start, values, seeds)]
    # A gradient that takes no other, like the shape of a value, tells nothing of when its tape began.
    joined = np.zeros(len(index), dtype=bool)
    joined[values[after[owner]]] = True
    before = np.zeros(len(index), dtype=bool)
    before[owner[late[owner] & joined[values] & (oldest[values] > owner)]] = True
    return before


def _with(index: GraphIndex, late: Mask, seeds: npt.NDArray[np.intp], foreign: Mask) -> Mask:
    """The late ops that are foreign, that lead to such, or that go on from such before another gradient is made."""
    n = len(index)
    start, values = index.consumers.start, index.consumers.values
    owner = np.repeat(np.arange(n), np.diff(start))
    among = late[owner] & late[values]
    source, target = owner[among], values[among]
    passed = np.searchsorted(seeds, np.arange(n))
    on = passed[source] == passed[target]
    rows, columns = np.concatenate([target, source[on]]), np.concatenate([source, target[on]])
    ways = coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n)).tocsr()
    return downstream(ways.indptr, ways.indices, np.flatnonzero(foreign))


def first_to_reach(start: Ints, values: Ints, seeds: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Per op the place of the first seed that leads to it, len(seeds) when none does; edges as in `downstream`."""
    n = len(start) - 1
    rows = np.append(start, start[-1] + len(seeds))
    # Depth first, all that a seed leads to is found before the next seed's turn.
    order = depth_first_order(_two_ways(rows, np.concatenate([values, seeds])), n, return_predecessors=False)
    turn = np.maximum.accumulate(np.maximum(order - (n + 1 + start[-1]), 0))
    first = np.full(n, len(seeds), dtype=np.intp)
    first[order[order < n]] = turn[order < n]
    return first


def _two_ways(rows: Ints, values: Ints) -> csr_matrix:
    """The graph with its edges as nodes, numbered after the ops: an op leads to its first edge, an edge to its op and
    to the next edge. The search looks at all ways out of a node each time it comes back to it; here there are two.
    """
    n, count = len(rows) - 1, len(values)
    some = np.diff(rows) > 0
    edges = n + np.arange(count)
    more = np.ones(count, dtype=bool)
    more[rows[1:][some] - 1] = False
    pairs = np.stack([values, edges + 1], axis=1)
    columns = np.concatenate([edges[rows[:-1][some]], pairs[np.stack([np.ones_like(more), more], axis=1)]])
    starts = np.concatenate([[0], np.cumsum(np.concatenate([some, 1 + more]))])
    return csr_matrix((np.ones(len(columns), dtype=np.int8), columns, starts), shape=(n + count, n + count))
