"""Cones: ops that lead to one op only, drawn as one box with it.

A flat graph without names of layers is a soup of Shape, StridedSlice, Pack, Reshape and Cast. Most
of them serve one op: the sizes of a Reshape, the offsets of a Slice, a chain of casts before a sum.
Where a container would show too many boxes, an op that rearranges or adds up values joins the only
op that reads it, and so does all that only this one is read by: "Reshape_3", with the ops of its
cone inside (the maximum fanout-free cones of Cong and Ding, "On area/depth trade-off in LUT-based
FPGA technology mapping", 1993). Such a box has one exit, so that it is in no cycle. Gradients,
which read everything again, do not count as readers.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy.layer_groups import (
    HOPELESS,
    MANY,
    add_feeders,
    find_boxes,
    topological_order,
)
from tfgraphwidget.hierarchy.op_facts import FAMILIES, NONE, Ints, Mask, OpFacts
from tfgraphwidget.hierarchy.quotient import Lines, data_flow, keep_acyclic
from tfgraphwidget.hierarchy.structural_hash import SiblingEdges, sibling_edges
from tfgraphwidget.hierarchy.tree import UP_TO, Outline, SiblingGroup, is_free
from tfgraphwidget.naming import last_part

# How many ops in a row lead to a tip at most; the first that leaves few boxes is taken. Shape,
# StridedSlice, Mul and Pack before a Reshape are four. Of branches that are alike all or none are
# cut there.
_DEPTHS = (5, 8, 13, 21)
_FEW = 45  # boxes of a container
_JOINING = [FAMILIES.index(name) for name in ("shape", "arithmetic")]


def find_crowded(facts: OpFacts, outline: Outline) -> Mask:
    """Find the containers that show more boxes than an eye takes in, bool per node."""
    is_box = find_boxes(facts, outline)
    around = np.concatenate([outline.parent, outline.home])
    count = np.bincount(around[is_box], minlength=len(outline))
    crowded: Mask = (count > MANY) & (count <= HOPELESS)
    return crowded


def find_cones(
    index: GraphIndex, facts: OpFacts, outline: Outline, crowded: Mask
) -> list[SiblingGroup]:
    """Find the cones of the ops in some containers.

    Returns:
        A group for each op that others lead to and to nothing else.
    """
    nodes = len(outline)
    fed = facts.depends_on_input & (facts.constant_kind == NONE)
    joining = fed & np.isin(facts.family, _JOINING)
    may = np.concatenate([outline.count(joining) == outline.count(fed), joining])
    may[:nodes] &= outline.members == 0
    edges = sibling_edges(index, outline)
    may &= ~edges.leaves
    is_fed = np.concatenate([outline.count(facts.depends_on_input) > 0, facts.depends_on_input])
    lines = data_flow(index, is_fed, edges)
    boxes = np.flatnonzero(find_boxes(facts, outline) & crowded[edges.around])
    crowds = _Crowds(boxes.tolist(), edges.around, lines)
    crowds.tips = {thing for thing in crowds.boxes if _name(index, outline, thing) in index.ids}

    network = edges.without_training(outline)
    cones = crowds.cones(may, network)
    parts = keep_acyclic(cones, lines, len(may))
    # Where gradients lead back into a cone, they count as readers.
    crowds.tips = {*chain.from_iterable(cones)}.difference(chain.from_iterable(parts))
    is_left = np.zeros_like(may)
    is_left[list(crowds.tips)] = True
    parts += crowds.cones(may & is_left, edges)
    is_value = np.concatenate([np.zeros(nodes, dtype=bool), facts.constant_kind > NONE])
    wholes = add_feeders(parts, network, is_value)
    groups = []
    for part, whole in zip(parts, wholes, strict=True):
        group = _group(index, outline, part, operands={*whole} - {*part})
        if is_free(group.name, index, outline):
            groups.append(group)
    return groups


class _Crowds:
    """The boxes of crowded containers, in an order in which each comes after its consumers."""

    def __init__(self, boxes: list[int], around: Ints, lines: Lines) -> None:
        self.boxes = boxes
        self.tips: set[int] = set()
        self._around = dict(zip(boxes, around[boxes].tolist(), strict=True))
        inner = np.isin(lines[0], boxes) & np.isin(lines[1], boxes)
        self._order = topological_order(boxes, (lines[0][inner], lines[1][inner]))[::-1]

    def cones(self, may: Mask, edges: SiblingEdges) -> list[list[int]]:
        """The cones of things that may join others, each with its tip first, as small as leaves few
        boxes in the container.
        """
        readers: dict[int, set[int]] = {}
        is_joined = may[edges.source]
        source, target = edges.source[is_joined], edges.target[is_joined]
        for thing, reader in zip(source.tolist(), target.tolist(), strict=True):
            readers.setdefault(thing, set()).add(reader)
        order = [thing for thing in self._order if thing in readers]
        count = Counter(self._around.values())
        cones: dict[int, list[int]] = {}
        for deepest in _DEPTHS:
            tip_of = self._tips(order, readers, deepest)
            joined = Counter(self._around[thing] for thing in tip_of)
            done = {at for at in count if count[at] - joined[at] <= _FEW}
            if deepest == _DEPTHS[-1]:
                done = set(count)
            for thing, tip in tip_of.items():
                if self._around[thing] in done:
                    cones.setdefault(tip, [tip]).append(thing)
            order = [thing for thing in order if self._around[thing] not in done]
        return [*cones.values()]

    def _tips(self, order: list[int], readers: dict[int, set[int]], deepest: int) -> dict[int, int]:
        """For each thing the only tip that it leads to, if it is no further from it than that."""
        tip_of: dict[int, int] = {}
        depth: dict[int, int] = {}
        for thing in order:
            led_to = {tip_of.get(reader, reader) for reader in readers[thing]}
            below = 1 + max(depth.get(reader, 0) for reader in readers[thing])
            if len(led_to) == 1 and led_to <= self.tips and below <= deepest:
                tip_of[thing], depth[thing] = led_to.pop(), below
        return tip_of


def _name(index: GraphIndex, outline: Outline, thing: int) -> str:
    nodes = len(outline)
    return outline.names[thing] if thing < nodes else index.names[thing - nodes]


def _group(
    index: GraphIndex, outline: Outline, part: list[int], operands: set[int]
) -> SiblingGroup:
    """The group of a cone; its first thing is the tip, an op or the scope of its name."""
    nodes, tip = len(outline), part[0]
    container = int(outline.parent[tip] if tip < nodes else outline.home[tip - nodes])
    name = _name(index, outline, tip)
    scope = name.removesuffix(last_part(name))
    things = sorted(part)
    return SiblingGroup(
        f"{scope}{UP_TO}{last_part(name)}",
        container,
        nodes=[thing for thing in things if thing < nodes],
        ops=[thing - nodes for thing in things if thing >= nodes],
        label=name.removeprefix(outline.prefix(container)),
        operands=sorted(thing - nodes for thing in operands),
    )
