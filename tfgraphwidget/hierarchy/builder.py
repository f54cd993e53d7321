"""Which outline a graph has: its name scopes, less those of one thing only, and groups; reckoned once per index."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.layer_groups import blocks
from tfgraphwidget.hierarchy.op_facts import CONSTANT, READ, Facts, Ints, Mask, facts, savers
from tfgraphwidget.hierarchy.repeats import folds
from tfgraphwidget.hierarchy.training import training
from tfgraphwidget.hierarchy.tree import Outline, Sums, scopes_of, summed
from tfgraphwidget.naming import last_part

# Scopes that hold one thing only: drawn as that thing, "moments/mean", without a frame of their own.  TensorFlow
# opens a name scope for everything that takes a constant ("mul_2" holds "mul_2" and "mul_2/y"), and layers hand
# their names down one scope at a time. A frame around each says nothing that the name does not, hides the picture
# behind clicks, and takes most of the sheet once everything is open.  A scope in which one op is left, once its
# constants and variables are badges, is drawn as this op; a scope whose only content is another scope is one with
# it, under the outer one's name ("a/b/c", as editors show folders). What is left of a scope when nothing is left
# (its constants are badges of ops around it) is not drawn. All this depends on the graph only, not on what is open.

_PASSES = 3


def without_single(index: GraphIndex, known: Facts, outline: Outline) -> Outline:
    """The outline without the scopes that hold one thing only; they are `gone`, see Outline."""
    start, stop, order = outline.intervals
    kept = savers(start, stop, order, (known.checkpoint, known.handle, known.computing)) | (outline.members > 0)
    kept[0] = True
    for _ in range(_PASSES):
        solo, chained = _single(outline, kept, _badged(index, known, outline))
        if not solo.any() and not chained.any():
            break
        outline = _merged(outline, solo, chained)
    return outline


def _badged(index: GraphIndex, known: Facts, outline: Outline) -> Mask:
    """Which ops are badges whenever what is directly around them is open: their reader is there, or further out."""
    start, stop, _ = outline.intervals
    producer = index.inputs.values
    reader = np.repeat(np.arange(len(index), dtype=np.int32), np.diff(index.inputs.start))
    some = known.aux[producer] > 0
    producer, reader = producer[some], reader[some]
    inner, outer = outline.home[producer], outline.home[reader]
    around = (
        (start[outer] <= start[inner]) & (stop[inner] <= stop[outer]) & (outline.depth[outer] <= outline.depth[inner])
    )
    badged = np.zeros(len(index), dtype=bool)
    direct = (known.aux[reader] == 0) & ((known.aux[producer] == CONSTANT) | known.fed[reader])
    badged[producer[direct & around]] = True
    # A variable goes with its reads, unless something beside it uses it.
    goes = (known.aux[reader] == READ) & badged[reader]
    behind, stays = np.zeros(len(index), dtype=bool), badged.copy()
    behind[producer[goes & around]] = True
    stays[producer[~goes & (inner == outer)]] = True
    result: Mask = badged | (behind & ~stays)
    return result


def _single(outline: Outline, kept: Mask, badged: Mask) -> tuple[Mask, Mask]:
    """(scopes that are nothing, or one op; scopes that are one with the scope around them)."""
    count = len(outline)
    things = np.bincount(outline.home[~badged], minlength=count)
    nodes = np.zeros(count, dtype=things.dtype)
    solo, chained = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    lone = np.zeros(count, dtype=bool)  # holds one scope and nothing else
    for level in reversed(outline.levels[1:]):
        here = level[~outline.gone[level]]
        solo[here] = (things[here] <= 1) & (nodes[here] == 0) & ~kept[here]
        lone[here] = (things[here] == 1) & (nodes[here] == 1) & ~kept[here]
        around = outline.parent[here]
        np.add.at(things, around, np.where(solo[here], things[here], 1))
        np.add.at(nodes, around, ~solo[here])
    chained = lone[outline.parent] & ~solo & ~kept & ~outline.gone
    return solo, chained


def _merged(outline: Outline, solo: Mask, chained: Mask) -> Outline:
    """The outline less these scopes; what is in them is in what is around them."""
    stands: Ints = np.arange(len(outline), dtype=np.int32)
    one_with, base, labels = stands.copy(), outline.base.copy(), list(outline.labels)
    for level in outline.levels[1:]:
        here = level[solo[level] | chained[level]]
        stands[here] = stands[outline.parent[here]]
        for node in level[chained[level]].tolist():
            outer = int(stands[node])
            before = labels[outer] or last_part(outline.names[outer])
            labels[outer] = f"{before}/{labels[node] or last_part(outline.names[node])}"
            one_with[node], base[outer] = outer, base[node]
    parent = outline.parent.copy()
    parent[1:] = stands[parent[1:]]
    return replace(
        outline,
        labels=labels,
        parent=parent,
        home=stands[outline.home],
        gone=outline.gone | solo | chained,
        one_with=one_with[outline.one_with],
        base=base,
    )


_cache: WeakKeyDictionary[GraphIndex, dict[bool, tuple[Outline, Sums]]] = WeakKeyDictionary()


def outline_of(index: GraphIndex, *, fold: bool = True) -> tuple[Outline, Sums]:
    """The outline of a graph and what its nodes hold; without `fold`, equal siblings stay apart."""
    kept = _cache.setdefault(index, {})
    if fold not in kept:
        kept[fold] = _made(index, facts(index), fold=fold)
    return kept[fold]


def _made(index: GraphIndex, known: Facts, *, fold: bool) -> tuple[Outline, Sums]:
    outline, parts = training(index, known, scopes_of(index.scopes))
    outline = without_single(index, known, outline.grouped(parts))
    if fold:
        outline = outline.grouped(blocks(index, known, outline))
        outline = outline.grouped(folds(index, known, outline))
    return outline, summed(index, known, outline)
