"""What is drawn: items (open scopes, closed scopes, ops) and the bundled edges between them.

A tensor that goes from one box to another passes container borders on its way. Its line is cut there into
segments, one per container: child to child in the lowest container of both ends, child to border on the way
out, border to child on the way in. Equal segments are one line with a count. So the inside of a container can be
laid out knowing nothing of the rest, and a line never runs far.

Bookkeeping is pulled *aside*: checkpoint scopes, NoOps, stores of several variables, and constants or variables
that feed three or more places or none. Edges that cross the border of something aside are not drawn: they would
run to everywhere and say nothing. The inspector lists them. Inside something aside, nothing is aside again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.doors import doors
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.scopes import ScopeTree
from tfgraphwidget.names import last_part
from tfgraphwidget.view.bundle import Pairs, bundled, control_pairs, data_pairs, segments
from tfgraphwidget.view.facts import Facts, Ints, Mask, facts
from tfgraphwidget.view.family import FAMILIES
from tfgraphwidget.view.shown import Shown

KINDS = ("op", "closed scope", "open scope", "badge")
OP, CLOSED, OPEN, BADGE = range(4)
_MANY_PLACES = 3
_ENOUGH, _TOO_MANY = 12, 45
_GRADIENTS = re.compile(r"gradients(_\d+)?")
_CONTROL = FAMILIES.index("control")


@dataclass(frozen=True, eq=False)
class Visible:
    """Items breadth first: item 0 is the graph, children of one item are consecutive and in graph order.

    Per item: `names`, `types` ("" for scopes), `parent` (int32, -1 for the root), `kind` (uint8, KINDS),
    `family` (uint8), `aside` (bool), `door` (uint8: 1 an op that calls a function, 2 a closed scope that holds such
    ops), `count` (ops inside), `variables` (variables inside), `depth` (root 0), `members` (siblings that a group
    stands for; 0 for what is no group), `part` (uint8: 1 in the training group), `labels` (what is written instead of
    the name's last part, or ""), `loop` (bool: a while loop).
    Per op of the graph: `item_of_op`, the (first) item that stands for it (int32).
    Per badge: `badge_op` and `badge_item` (int32): an op may have several.
    Per edge: `source`, `target` (items; one may be the parent of the other: its border), `tensors` (distinct
    tensors; 0 for control inputs only), `back` (bool: a loop's way back), `bytes` (float32: of the largest tensor, 0 when unknown),
    `edge_labels` (the shape of a line's only tensor, or ""). Edges are sorted by `container`.
    """

    names: Sequence[str]
    types: Sequence[str]
    parent: Ints
    kind: npt.NDArray[np.uint8]
    family: npt.NDArray[np.uint8]
    aside: Mask
    door: npt.NDArray[np.uint8]
    count: Ints
    variables: Ints
    depth: Ints
    members: Ints
    part: npt.NDArray[np.uint8]
    labels: Sequence[str]
    loop: Mask
    item_of_op: Ints
    badge_op: Ints
    badge_item: Ints
    source: Ints
    target: Ints
    tensors: Ints
    back: Mask
    bytes: npt.NDArray[np.float32]
    edge_labels: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def container(self) -> Ints:
        """The item inside which each edge runs, int32 (m,), ascending."""
        outward = self.target == self.parent[self.source]
        return np.where(outward, self.target, self.parent[self.target]).astype(np.int32)

    @cached_property
    def child_start(self) -> Ints:
        """N + 1 offsets: the children of item i are child_start[i] … child_start[i + 1] - 1."""
        return np.searchsorted(self.parent, np.arange(len(self) + 1)).astype(np.int32)


def visible(index: GraphIndex, shown: Shown) -> Visible:
    """The items and bundled edges of what is to be shown (`opened`: names without a slash behind).

    A scope that is open inside a closed one is not seen. Unknown names are ignored: a scope may be gone after
    an undo, and come back.
    """
    known = facts(index)
    rows = _items(index, known, shown.opened)
    data = data_pairs(index, rows.item_of_op)
    aside = _aside(known, rows, data)
    outer = _outermost_aside(aside, rows)
    aside &= outer == np.arange(len(outer))
    source, target, tensors = bundled(
        rows.parent, rows.depth, data.where(outer), control_pairs(index, rows.item_of_op).where(outer)
    )
    return Visible(
        names=[index.names[o] if o >= 0 else index.scopes.names[s] for s, o in zip(rows.scope, rows.op, strict=True)],
        types=[index.types[o] if o >= 0 else "" for o in rows.op],
        parent=rows.parent,
        kind=np.where(rows.op >= 0, OP, np.where(rows.open, OPEN, CLOSED)).astype(np.uint8),
        family=rows.each(known.family, known.scope_family).astype(np.uint8) * ~rows.open,
        aside=aside,
        door=np.array([o >= 0 and bool(doors(index.nodes[o], index.functions)) for o in rows.op], dtype=np.uint8),
        count=rows.each(np.ones_like(known.fed), known.ops),
        variables=rows.each(known.handle, known.variables),
        depth=rows.depth,
        members=np.zeros(len(rows.op), dtype=np.int32),
        part=np.zeros(len(rows.op), dtype=np.uint8),
        labels=[""] * len(rows.op),
        loop=np.zeros(len(rows.op), dtype=bool),
        item_of_op=rows.item_of_op,
        badge_op=np.zeros(0, dtype=np.int32),
        badge_item=np.zeros(0, dtype=np.int32),
        source=source,
        target=target,
        tensors=tensors,
        back=np.zeros(len(source), dtype=bool),
        bytes=np.zeros(len(source), dtype=np.float32),
        edge_labels=[""] * len(source),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Per item: scope number (-1 for ops), op number (-1 for scopes), parent, depth, openness; and per op its item."""

    scope: Ints
    op: Ints
    parent: Ints
    depth: Ints
    open: Mask
    item_of_op: Ints

    def each(self, of_op: npt.NDArray[Any], of_scope: npt.NDArray[Any]) -> Ints:
        """A number per item, from a number per op and a number per scope."""
        result = of_scope[np.maximum(self.scope, 0)].astype(np.int32)
        is_op = self.op >= 0
        result[is_op] = of_op[self.op[is_op]]
        return result


def _items(index: GraphIndex, known: Facts, open_scopes: frozenset[str]) -> _Rows:
    tree = index.scopes
    is_open = np.zeros(len(tree.names), dtype=bool)
    is_open[[0, *(tree.ids[name] for name in open_scopes if name in tree.ids)]] = True
    item_of_scope = np.full(len(tree.names), -1, dtype=np.int32)
    item_of_op = np.zeros(len(index), dtype=np.int32)
    none = np.full(1, -1, dtype=np.int32)
    levels = [(np.zeros(1, dtype=np.int32), none, none)]
    item_of_scope[0], count = 0, 1
    while len(levels[-1][0]):
        scope, op, outer = _level_below(tree, known, is_open, levels[-1][0], item_of_scope)
        numbers = np.arange(count, count + len(op), dtype=np.int32)
        item_of_scope[scope[op < 0]] = numbers[op < 0]
        item_of_op[op[op >= 0]] = numbers[op >= 0]
        levels.append((scope, op, outer))
        count += len(op)
    scope, op, outer = (np.concatenate(parts) for parts in zip(*levels, strict=True))
    depth = np.repeat(np.arange(len(levels), dtype=np.int32), [len(level[0]) for level in levels])
    opened = (scope >= 0) & is_open[np.maximum(scope, 0)]
    closed = np.flatnonzero((scope >= 0) & ~opened)
    for item, s in zip(closed.tolist(), scope[closed].tolist(), strict=True):
        item_of_op[tree.order[tree.start[s] : tree.stop[s]]] = item
    return _Rows(scope, op, outer, depth, opened, item_of_op)


def _level_below(
    tree: ScopeTree, known: Facts, is_open: Mask, above: Ints, item_of_scope: Ints
) -> tuple[Ints, Ints, Ints]:
    """The children of the open ones among the scopes `above` (-1: an op), as columns scope, op, parent of _Rows."""
    shown = np.zeros(len(tree.names), dtype=bool)
    level = above[above >= 0]
    shown[level[is_open[level]]] = True
    inner = np.flatnonzero(shown[tree.parent] & (np.arange(len(tree.names)) > 0)).astype(np.int32)
    own = np.flatnonzero(shown[tree.scope_of]).astype(np.int32)
    outer = item_of_scope[np.concatenate([tree.parent[inner], tree.scope_of[own]])]
    order = np.lexsort((np.concatenate([known.first[inner], own]), outer))
    scope = np.concatenate([inner, np.full(len(own), -1, dtype=np.int32)])
    op = np.concatenate([np.full(len(inner), -1, dtype=np.int32), own])
    return scope[order], op[order], outer[order]


def _aside(known: Facts, rows: _Rows, data: Pairs) -> Mask:
    """Which items are pulled aside; see the module's first lines.

    A store of several variables is aside even when it feeds one box only, or it would jump into the flow
    and out of it as boxes are opened.
    """
    source, target = segments(rows.parent, rows.depth, data.source, data.target)
    inside = source != rows.parent[target]
    places = np.bincount(source[inside], minlength=len(rows.op))
    is_op = rows.op >= 0
    fed = rows.each(known.fed, known.fed_ops) > 0
    variables = rows.each(np.zeros_like(known.fed), known.variables)
    feeds_none = (places == 0) & ~np.isin(np.arange(len(is_op)), target)
    aside: Mask = ~fed & ((places == 0) | (places >= _MANY_PLACES) | (variables > 1))
    # An input that nothing reads is still an input; only what stores and what orders is bookkeeping.
    aside |= is_op & (rows.each(known.family, known.scope_family) == _CONTROL) & feeds_none
    aside |= rows.each(np.zeros_like(known.fed), known.saver) > 0
    aside[0] = False
    return aside


def _outermost_aside(aside: Mask, rows: _Rows) -> Ints:
    """For each item the outermost item aside around it (or itself), else 0."""
    outer = np.where(aside, np.arange(len(aside)), 0).astype(np.int32)
    for level in range(1, int(rows.depth[-1]) + 1):
        items = np.flatnonzero(rows.depth == level)
        around = outer[rows.parent[items]]
        outer[items] = np.where(around > 0, around, outer[items])
    return outer


def default_open(index: GraphIndex) -> frozenset[str]:
    """The scopes to open at first, so that the drawing shows the architecture in about 12 to 45 items.

    A scope that holds more than half of its parent's work (see Facts) hides the picture: it
    is opened. When no scope does and fewer than 12 items are there, the largest scopes are opened together with
    their peers of similar size. TensorFlow's own `gradients` scopes mirror the network, so they stay closed.
    """
    tree, known = index.scopes, facts(index)
    inner = np.bincount(tree.scope_of, minlength=len(tree.names)) + [len(inside) for inside in tree.children]
    work = known.work.tolist()
    for scope in range(1, len(work)):
        if _GRADIENTS.fullmatch(last_part(tree.names[scope])):
            work[scope] = 0
    opened, closed, shown = {0}, set(tree.children[0]), int(inner[0])
    whole = sum(work[s] for s in closed)
    while closed:
        largest = max(closed, key=lambda s: (work[s], -s))
        rest = sum(work[s] for s in tree.children[tree.parent[largest]] if s != largest)
        alike = {largest} if work[largest] > rest else {s for s in closed if 2 * work[s] >= work[largest]}
        added = sum(int(inner[s]) for s in alike)
        is_chief = len(alike) == 1 and (shown < _ENOUGH or added <= 2 * _ENOUGH)
        if work[largest] < 2 or not (is_chief or shown + added <= _TOO_MANY):
            break
        if shown >= _ENOUGH and (len(alike) > 1 or 4 * work[largest] < whole):
            break
        opened |= alike
        closed = (closed - alike).union(*(tree.children[s] for s in alike))
        shown += added
    return frozenset(tree.names[s] for s in opened if s)
