"""The items that are drawn: which scopes, groups and ops are visible when some are open and some
hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy import Ints, Mask, Outline
from tfgraphwidget.visible.view_spec import ViewSpec


@dataclass(frozen=True, eq=False)
class Items:
    """Items breadth first. Per item: node of the outline (-1 for ops), op (-1 for nodes), parent,
    depth, openness.

    Per op: `item`, what represents it, or what is around it when it is hidden; `is_drawn` is False
    for what is hidden.
    """

    node: Ints
    op: Ints
    parent: Ints
    depth: Ints
    open: Mask
    item: Ints
    is_drawn: Mask

    def __len__(self) -> int:
        return len(self.op)

    def per_item(self, of_op: np.ndarray, of_node: np.ndarray) -> Ints:
        """A number per item, from a number per op and a number per node."""
        result = of_node[np.maximum(self.node, 0)].astype(np.int32)
        is_op = self.op >= 0
        result[is_op] = of_op[self.op[is_op]]
        return result

    def texts(self, of_op: Sequence[str], of_node: Sequence[str]) -> npt.NDArray[np.object_]:
        """A text per item, from a text per op and a text per node."""
        result = np.array(of_node, dtype=object)[np.maximum(self.node, 0)]
        is_op = self.op >= 0
        result[is_op] = np.array(of_op, dtype=object)[self.op[is_op]]
        return result

    def renumber_parents(self, numbers: Ints) -> Ints:
        """The items' parents, when the items have other numbers; the root's is -1."""
        return np.where(self.parent < 0, -1, numbers[self.parent]).astype(np.int32)


def select_items(index: GraphIndex, outline: Outline, view_spec: ViewSpec) -> Items:
    """Find the items to draw, without badges."""
    is_open = np.zeros(len(outline), dtype=bool)
    is_open[[0, *(outline.ids[name] for name in view_spec.opened if name in outline.ids)]] = True
    hidden_node, hidden_op = _hidden_masks(index, outline, view_spec.hidden)
    item_of_node = np.full(len(outline), -1, dtype=np.int32)
    item_of_node[0], count = 0, 1
    none = np.full(1, -1, dtype=np.int32)
    levels = [(np.zeros(1, dtype=np.int32), none, none)]
    while len(levels[-1][0]):
        above = levels[-1][0][levels[-1][0] >= 0]
        level = _level_below(outline, above[is_open[above]], item_of_node, hidden_node, hidden_op)
        node = level[0]
        numbers = np.arange(count, count + len(node), dtype=np.int32)
        item_of_node[node[node >= 0]] = numbers[node >= 0]
        levels.append(level)
        count += len(node)
    node, op, outer = (np.concatenate(parts) for parts in zip(*levels, strict=True))
    depth = np.repeat(np.arange(len(levels), dtype=np.int32), [len(level[0]) for level in levels])
    is_open_item = (node >= 0) & is_open[np.maximum(node, 0)]
    for nodes in outline.levels[1:]:
        around = outline.parent[nodes]
        item_of_node[nodes] = np.where(
            item_of_node[nodes] < 0, item_of_node[around], item_of_node[nodes]
        )
    item = item_of_node[outline.home]
    item[op[op >= 0]] = np.flatnonzero(op >= 0)
    return Items(
        node, op, outer, depth, is_open_item, item, find_shown_ops(index, outline, view_spec.hidden)
    )


def find_shown_ops(index: GraphIndex, outline: Outline, hidden: frozenset[str]) -> Mask:
    """Find the ops that are neither hidden nor inside something hidden.

    Args:
        hidden: The names of hidden scopes and ops.
    """
    nodes, ops = _hidden_masks(index, outline, hidden)
    for level in outline.levels[1:]:
        nodes[level] |= nodes[outline.parent[level]]
    return ~(ops | nodes[outline.home])


def _hidden_masks(index: GraphIndex, outline: Outline, names: frozenset[str]) -> tuple[Mask, Mask]:
    """Which nodes and which ops are hidden themselves; a slash at the end says that a scope is
    meant, and no op.

    A group goes with the last of its members.
    """
    nodes, ops = np.zeros(len(outline), dtype=bool), np.zeros(len(index), dtype=bool)
    if not names:
        return nodes, ops
    for name in names:
        if name in index.ids:
            ops[index.ids[name]] = True
        elif (node := outline.ids.get(name.removesuffix("/"), 0)) > 0:
            nodes[outline.merged_into[node]] = True
            if outline.is_collapsed[node]:
                ops[index.scopes.ops(node)] = True
    for level in outline.levels[:0:-1]:
        groups = level[outline.members[level] > 0]
        if len(groups):
            visible_count = np.bincount(outline.parent[~nodes], minlength=len(outline))
            visible_count += np.bincount(outline.home[~ops], minlength=len(outline))
            nodes[groups] |= visible_count[groups] == 0
    return nodes, ops


def _level_below(
    outline: Outline, above: Ints, item_of_node: Ints, hidden_node: Mask, hidden_op: Mask
) -> tuple[Ints, Ints, Ints]:
    """The children of the nodes `above`, as columns node, op, parent of Items."""
    is_above = np.zeros(len(outline), dtype=bool)
    is_above[above] = True
    below = is_above[outline.parent] & ~hidden_node & ~outline.is_collapsed
    below[0] = False
    inner = np.flatnonzero(below).astype(np.int32)
    own = np.flatnonzero(is_above[outline.home] & ~hidden_op).astype(np.int32)
    outer = item_of_node[np.concatenate([outline.parent[inner], outline.home[own]])]
    order = np.lexsort((np.concatenate([outline.first[inner], own]), outer))
    node = np.concatenate([inner, np.full(len(own), -1, dtype=np.int32)])
    op = np.concatenate([np.full(len(inner), -1, dtype=np.int32), own])
    return node[order], op[order], outer[order]


def sum_inside(
    parent: Ints, values: npt.NDArray[np.float64] | npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """Return the sum of a number per item over each item and all that is in it.

    Args:
        parent: The parent of each item; items are breadth first, the first is the root.

    >>> sum_inside(np.array([-1, 0, 0, 1, 1]), np.array([1, 2, 3, 4, 5]))
    array([15., 11.,  3.,  4.,  5.])
    """
    total = values.astype(np.float64)
    # A level is a slice; from the deepest on, each adds to the one above.
    bounds = [0, 1]
    while bounds[-1] < len(parent):
        bounds.append(int(np.searchsorted(parent, bounds[-1])))
    for first, stop in zip(bounds[-2:0:-1], bounds[:1:-1], strict=True):
        total += np.bincount(parent[first:stop], weights=total[first:stop], minlength=len(parent))
    return total


def number_items(items: Items, is_kept: Mask, reader: Ints) -> tuple[Ints, Ints]:
    """Number items again, breadth first, when some are dropped and others get children.

    Args:
        reader: The item that gets each child, by its old number.

    Returns:
        The new numbers of the items, -1 for dropped ones, and those of the children.
    """
    number = np.full(len(items), -1, dtype=np.int32)
    child = np.zeros(len(reader), dtype=np.int32)
    child_depth, count = items.depth[reader] + 1, 0
    for level in range(int(max(items.depth[-1], child_depth.max(initial=0))) + 1):
        old = np.flatnonzero((items.depth == level) & is_kept)
        new = np.flatnonzero(child_depth == level)
        around = np.concatenate(
            [np.where(level > 0, number[items.parent[old]], 0), number[reader[new]]]
        )
        order = np.argsort(around, kind="stable")
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = np.arange(count, count + len(order), dtype=np.int32)
        number[old], child[new] = numbers[: len(old)], numbers[len(old) :]
        count += len(order)
    return number, child
