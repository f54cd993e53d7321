"""Badges: constants, variables and their reads, drawn inside the boxes of those that read them.

What is known before anything is fed runs to everywhere: as lines it hides the network, as a chip at its reader it
says what the reader needs ("shape [-1, 8]", "weights 7×7×3×64"). An op gets up to three badges, and one for the rest;
a closed scope that is a layer gets those of up to two variables. What has a badge is no item of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view.facts import CONSTANT, READ, Facts, Ints, Mask
from tfgraphwidget.view.items import Rows
from tfgraphwidget.view.outline import Outline, Sums
from tfgraphwidget.view.values import texts

_MOST_AT_OP, _MOST_AT_LAYER, _LAYER = 3, 2, 40


@dataclass(frozen=True, eq=False)
class Badges:
    """Per badge: `reader` (the item it stands in), `op` (the first it stands for), `more` (0, or for how many).

    `pair_op` and `pair_badge` are all pairs of an op and a badge that stands for it, ascending by op, the first badge
    first.
    """

    reader: Ints
    op: Ints
    more: Ints
    pair_op: Ints
    pair_badge: Ints

    def texts(self, index: GraphIndex, known: Facts) -> list[str]:
        """What each badge says."""
        said = texts(index, known, self.op.tolist())
        return [f"+{more:,} more" if more else text for text, more in zip(said, self.more.tolist(), strict=True)]


def none() -> Badges:
    """No badges at all."""
    empty = np.zeros(0, dtype=np.int32)
    return Badges(empty, empty, empty, empty, empty)


def badges(index: GraphIndex, known: Facts, outline: Outline, sums: Sums, rows: Rows) -> Badges:
    """The badges of what is drawn."""
    item, op = _pairs(index, known, outline, sums, rows)
    if not len(item):
        return none()
    fresh = np.r_[True, item[1:] != item[:-1]]
    group = np.cumsum(fresh) - 1
    rank = np.arange(len(item)) - np.flatnonzero(fresh)[group]
    size = np.bincount(group)[group]
    own = rank < _MOST_AT_OP
    chief = own | (rank == _MOST_AT_OP)
    badge = (np.cumsum(chief) - 1).astype(np.int32)
    more = np.where(own, 0, size - _MOST_AT_OP)[chief].astype(np.int32)
    pairs = _with_handles(index, known, rows, op, badge)
    order = np.lexsort((pairs[1], pairs[0]))
    return Badges(item[chief], op[chief], more, pairs[0][order], pairs[1][order])


def _pairs(index: GraphIndex, known: Facts, outline: Outline, sums: Sums, rows: Rows) -> tuple[Ints, Ints]:
    """(item that reads, auxiliary op) of all badges, each once, by item and in the order of the item's inputs."""
    start, producer = index.inputs.start, index.inputs.values
    reader = np.repeat(np.arange(len(index), dtype=np.int32), np.diff(start))
    wanted = np.flatnonzero((known.aux[producer] > 0) & (known.aux[reader] == 0))
    op, reader = producer[wanted], reader[wanted]
    item = rows.item[reader]
    saver = _in_saver(outline, sums)[outline.home]
    seen = rows.drawn[op] & rows.drawn[reader] & (item != rows.item[op]) & (~saver[reader] | saver[op])
    is_constant = known.aux[op] == CONSTANT
    at_op = rows.op[item] >= 0
    # A variable's own ops (its Assign, what saves it) stand beside it; a badge says what a network is made of.
    seen &= np.where(at_op, is_constant | known.fed[reader], ~is_constant & _layers(outline, sums, rows)[item])
    item, op = item[seen], op[seen]
    once = np.sort(np.unique(item.astype(np.int64) * len(index) + op, return_index=True)[1])
    item, op = item[once], op[once]
    few = (rows.op[item] >= 0) | (np.bincount(item, minlength=len(rows))[item] <= _MOST_AT_LAYER)
    item, op = item[few], op[few]
    order = np.argsort(item, kind="stable")
    return item[order].astype(np.int32), op[order].astype(np.int32)


def _layers(outline: Outline, sums: Sums, rows: Rows) -> Mask:
    """Which items are closed scopes that are small and compute: the layers of a network."""
    node = np.maximum(rows.node, 0)
    small = (sums.ops[node] <= _LAYER) & (outline.members[node] == 0) & (sums.work[node] > 0)
    layers: Mask = (rows.node >= 0) & ~rows.open & small
    return layers


def _in_saver(outline: Outline, sums: Sums) -> Mask:
    """Which nodes are savers or inside one."""
    saver = sums.saver.copy()
    for nodes in outline.levels[1:]:
        saver[nodes] |= saver[outline.parent[nodes]]
    return saver


def _with_handles(index: GraphIndex, known: Facts, rows: Rows, op: Ints, badge: Ints) -> tuple[Ints, Ints]:
    """The pairs of an op and its badge, and those of the variables that only stand behind such ops.

    A variable whose reads all have badges goes with them, unless something beside it, as its Assign, uses it.
    """
    count = np.bincount(op, minlength=len(index))
    start, producer = index.inputs.start, index.inputs.values
    reader = np.repeat(np.arange(len(index), dtype=np.int32), np.diff(start))
    of_handle = (known.aux[producer] > 0) & (count[producer] == 0)
    producer, reader = producer[of_handle], reader[of_handle]
    goes = (known.aux[reader] == READ) & (count[reader] > 0)
    beside = rows.parent[rows.item[producer]] == rows.parent[rows.item[reader]]
    stays = np.zeros(len(index), dtype=bool)
    stays[producer[~goes & beside & rows.drawn[reader]]] = True
    stays |= rows.op[rows.item] < 0  # it is in something closed, and nobody sees it
    behind = goes & ~stays[producer]
    if not behind.any():
        return op, badge
    first = np.full(len(index), -1, dtype=np.int32)
    first[op[::-1]] = badge[::-1]
    return np.concatenate([op, producer[behind]]), np.concatenate([badge, first[reader[behind]]])


def absorbed(found: Badges, ops: int) -> npt.NDArray[np.bool_]:
    """Which ops have a badge, bool (ops,)."""
    mask = np.zeros(ops, dtype=bool)
    mask[found.pair_op] = True
    return mask
