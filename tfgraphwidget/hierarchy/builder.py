"""The outline of a graph: its name scopes without those of a single child, and groups; computed
once per index.

TensorFlow opens a name scope for everything that takes a constant ("mul_2" has "mul_2" and
"mul_2/y"), and layers pass their names down one scope at a time. A frame around each adds nothing
to the name, must be clicked before its content is seen, and takes most of the space once everything
is open. So a scope in which one op is left, once its constants and variables are badges, is drawn
as this op. A scope whose only content is another scope is merged with it, under the outer one's
name ("a/b/c", as editors show folders). A scope of which nothing is left is not drawn. All this
depends on the graph only, not on what is open.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from tfgraphwidget.graph import GraphIndex, no_collections
from tfgraphwidget.hierarchy.cones import find_cones, find_crowded
from tfgraphwidget.hierarchy.layer_groups import find_layer_groups
from tfgraphwidget.hierarchy.metrics import find_metric_groups
from tfgraphwidget.hierarchy.op_facts import (
    CONSTANT,
    READ,
    READS_IN_A_ROW,
    Ints,
    Mask,
    OpFacts,
    find_op_facts,
    find_savers,
)
from tfgraphwidget.hierarchy.repeats import find_repeats
from tfgraphwidget.hierarchy.structural_hash import sibling_edges, structural_hashes
from tfgraphwidget.hierarchy.training import split_training
from tfgraphwidget.hierarchy.tree import Outline, Sums, outline_of_scopes, sum_ops
from tfgraphwidget.hierarchy.weights import find_weight_groups
from tfgraphwidget.naming import last_part

_PASSES = 3


def collapse_single_child(index: GraphIndex, facts: OpFacts, outline: Outline) -> Outline:
    """Collapse the scopes that have a single child; see `Outline.is_collapsed`.

    Returns:
        The outline with the collapsed scopes marked.
    """
    start, stop, order = outline.intervals
    keep = find_savers(start, stop, order, (facts.checkpoint, facts.handle, facts.computing))
    keep |= outline.members > 0
    keep[0] = True
    for _ in range(_PASSES):
        solo, chained = _find_single_child(outline, keep, _find_badges(index, facts, outline))
        if not solo.any() and not chained.any():
            break
        outline = _collapse(outline, solo, chained)
    return outline


def _find_badges(index: GraphIndex, facts: OpFacts, outline: Outline) -> Mask:
    """Which ops are badges once what is around them is open: consumers are there or further out."""
    start, stop, _ = outline.intervals
    producer = index.inputs.values
    reader = index.inputs.owner
    some = facts.constant_kind[producer] > 0
    producer, reader = producer[some], reader[some]
    inner, outer = outline.home[producer], outline.home[reader]
    around = (
        (start[outer] <= start[inner])
        & (stop[inner] <= stop[outer])
        & (outline.depth[outer] <= outline.depth[inner])
    )
    badged = np.zeros(len(index), dtype=bool)
    direct = (facts.constant_kind[reader] == 0) & (
        (facts.constant_kind[producer] == CONSTANT) | facts.depends_on_input[reader]
    )
    badged[producer[direct & around]] = True
    # A variable goes with its reads, and a read with the reads of it, unless something beside it
    # uses it.
    for _ in range(READS_IN_A_ROW):
        goes = (facts.constant_kind[reader] == READ) & badged[reader]
        handles, stays = np.zeros(len(index), dtype=bool), badged.copy()
        handles[producer[goes & around]] = True
        stays[producer[~goes & (inner == outer)]] = True
        handles &= ~stays
        if not handles.any():
            break
        badged |= handles
    return badged


def _find_single_child(outline: Outline, keep: Mask, badged: Mask) -> tuple[Mask, Mask]:
    """(scopes that are nothing, or one op; scopes that are one with the scope around them)."""
    count = len(outline)
    things = np.bincount(outline.home[~badged], minlength=count)
    nodes = np.zeros(count, dtype=things.dtype)
    solo, chained = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    lone = np.zeros(count, dtype=bool)  # holds one scope and nothing else
    for level in reversed(outline.levels[1:]):
        here = level[~outline.is_collapsed[level]]
        solo[here] = (things[here] <= 1) & (nodes[here] == 0) & ~keep[here]
        lone[here] = (things[here] == 1) & (nodes[here] == 1) & ~keep[here]
        around = outline.parent[here]
        np.add.at(things, around, np.where(solo[here], things[here], 1))
        np.add.at(nodes, around, ~solo[here])
    chained = lone[outline.parent] & ~solo & ~keep & ~outline.is_collapsed
    return solo, chained


def _collapse(outline: Outline, solo: Mask, chained: Mask) -> Outline:
    """The outline less these scopes; what is in them is in what is around them."""
    stands: Ints = np.arange(len(outline), dtype=np.int32)
    merged_into, base, labels = stands.copy(), outline.base.copy(), list(outline.labels)
    for level in outline.levels[1:]:
        here = level[solo[level] | chained[level]]
        stands[here] = stands[outline.parent[here]]
        for node in level[chained[level]].tolist():
            outer = int(stands[node])
            before = labels[outer] or last_part(outline.names[outer])
            labels[outer] = f"{before}/{labels[node] or last_part(outline.names[node])}"
            merged_into[node], base[outer] = outer, base[node]
    parent = outline.parent.copy()
    parent[1:] = stands[parent[1:]]
    return replace(
        outline,
        labels=labels,
        parent=parent,
        home=stands[outline.home],
        is_collapsed=outline.is_collapsed | solo | chained,
        merged_into=merged_into[outline.merged_into],
        base=base,
    )


_cache: WeakKeyDictionary[GraphIndex, dict[bool, tuple[Outline, Sums]]] = WeakKeyDictionary()


def outline_of(index: GraphIndex, *, fold: bool = True) -> tuple[Outline, Sums]:
    """Return the outline of a graph and its totals, cached as long as the index lives.

    Args:
        fold: whether repeated siblings and layers are grouped.

    Returns:
        The outline, and the totals of its nodes.
    """
    cached = _cache.setdefault(index, {})
    if fold not in cached:
        with no_collections():
            cached[fold] = _build_outline(index, find_op_facts(index), fold=fold)
    return cached[fold]


def _build_outline(index: GraphIndex, facts: OpFacts, *, fold: bool) -> tuple[Outline, Sums]:
    outline, parts = split_training(index, facts, outline_of_scopes(index.scopes))
    outline = collapse_single_child(index, facts, outline.with_groups(parts))
    badges = _find_badges(index, facts, outline)
    outline = outline.with_groups(find_weight_groups(index, facts, outline, badges))
    outline = outline.with_groups(find_metric_groups(index, facts, outline))
    if fold:
        outline = outline.with_groups(find_layer_groups(index, facts, outline))
        folded = outline.with_groups(find_repeats(index, facts, outline))
        crowded = find_crowded(facts, folded)[: len(outline)]
        if crowded.any():
            outline = outline.with_groups(find_cones(index, facts, outline, crowded))
            folded = outline.with_groups(find_repeats(index, facts, outline))
        outline = folded
    structure = structural_hashes(index, outline, sibling_edges(index, outline))
    return outline, sum_ops(index, facts, outline, structure)
