"""Which scopes and groups are open at first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.hierarchy.op_facts import FAMILIES, NONE, Mask, find_op_facts
from tfgraphwidget.hierarchy.tree import Outline, Sums

_ENOUGH = 12  # boxes of a first drawing; of fewer, scopes are opened
_TOO_MANY = 45  # boxes of a first drawing
_MOST_MEMBERS = 40  # of a fold that is opened
# So many boxes in a window of 1600×900 leave names 5 pixels, the least that pages write.
_MOST_AT_ONCE = 500


def default_open(index: GraphIndex) -> frozenset[str]:
    """The scopes and groups to open at first, so that the drawing shows the architecture in about 8
    to 45 items.

    A scope that holds more than half of its parent's work (see Facts) hides the picture: it is
    opened. When no scope does and fewer than 12 items are there, the largest are opened together
    with their peers of similar size. Folds say enough when they are closed, unless there is little
    else to see; folds of inputs always do. Training mirrors the network: it stays closed. So do
    metrics, what has no convolution or matrix product in a graph that has some, and what would show
    nothing but dots.
    """
    return opening_steps(index)[-1]


def opening_steps(index: GraphIndex) -> tuple[frozenset[str], ...]:
    """The scopes and groups that are open after each step on the way to `default_open`; nothing is
    at first.

    A step opens one scope, or together those of similar size beside it.
    """
    tree, sums = outline_of(index)
    steps = _Expansion(tree, sums, find_op_facts(index).constant_kind == NONE).grow()
    return tuple(frozenset(tree.names[node] for node in step if node) for step in steps)


class _Expansion:
    """Which nodes are open; `box_count` is how many boxes to see, the ops that are not badges."""

    def __init__(self, tree: Outline, sums: Sums, boxes: Mask) -> None:
        self.tree = tree
        self.inner = np.bincount(tree.home[boxes], minlength=len(tree)) + tree.children.lengths()
        # Cones do not make a container small enough to open: their ops count one by one.
        cones = np.flatnonzero(tree.cones)
        np.add.at(self.inner, tree.parent[cones], tree.members[cones] - 1)
        stays_closed = (tree.part > 0) | tree.holds_metrics
        self.is_compute = np.where(stays_closed, 0, sums.compute_ops).tolist()
        # The network is where the convolutions and matrix products are, if there are any.
        self.is_network = ((sums.layers > 0) | ~sums.layers.any()).tolist()
        self.members = (tree.members * ~tree.blocks).tolist()
        self.are_inputs = (sums.family == FAMILIES.index("input")).tolist()
        self.opened, self.closed = {0}, set(tree.children[0])
        self.box_count = int(self.inner[0])
        self.whole = sum(self.is_compute[node] for node in self.closed)

    def grow(self) -> Iterator[set[int]]:
        """Open what is worth it, the largest first; what is open at first and after each step."""
        is_compute = self.is_compute
        yield self.opened
        while choice := {node for node in self.closed if self._may(node)}:
            largest = max(choice, key=lambda node: (is_compute[node], -node))
            most = is_compute[largest]
            siblings = self.tree.children[self.tree.parent[largest]]
            rest = [is_compute[node] for node in siblings if node != largest]
            # The two directions of a layer are peers, although one reverses its input first.
            has_peer = 2 * max(rest, default=0) >= most
            alike = {largest}
            if has_peer or most <= sum(rest):
                alike = {node for node in choice if 2 * is_compute[node] >= most}
            added = sum(int(self.inner[node]) for node in alike)
            has_enough = self.box_count >= _ENOUGH
            may_be_many = len(alike) == 1 and (not has_enough or added <= 2 * _ENOUGH)
            if most < 2 or (self.box_count + added > _TOO_MANY and not may_be_many):
                return
            if has_enough and (len(alike) > 1 or 4 * most < self.whole):
                return
            self.opened = self.opened | alike
            self.closed = (self.closed - alike).union(*(self.tree.children[node] for node in alike))
            self.box_count += added
            yield self.opened

    def _may(self, node: int) -> bool:
        members = self.members[node]
        if self.inner[node] > _MOST_AT_ONCE or not self.is_network[node]:
            return False
        if not members:
            return True
        few_boxes = self.box_count < _ENOUGH and members <= _MOST_MEMBERS
        return few_boxes and not self.are_inputs[node]
