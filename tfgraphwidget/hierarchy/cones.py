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

import numpy as np

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy.layer_groups import HOPELESS, MANY, add_feeders
from tfgraphwidget.hierarchy.op_facts import FAMILIES, NONE, Mask, OpFacts
from tfgraphwidget.hierarchy.quotient import Things, data_flow, keep_acyclic
from tfgraphwidget.hierarchy.structural_hash import SiblingEdges, sibling_edges
from tfgraphwidget.hierarchy.tree import UP_TO, Outline, SiblingGroup
from tfgraphwidget.naming import last_part

_ROUNDS = 8  # each finds what leads to one cone on several ways
_JOINING = [FAMILIES.index(name) for name in ("shape", "arithmetic")]


def find_crowded(facts: OpFacts, outline: Outline) -> Mask:
    """Find the containers that show more boxes than an eye takes in, bool per node."""
    is_box = _find_boxes(facts, outline)
    around = np.concatenate([outline.parent, outline.home])
    count = np.bincount(around[is_box], minlength=len(outline))
    crowded: Mask = (count > MANY) & (count <= HOPELESS)
    return crowded


def _find_boxes(facts: OpFacts, outline: Outline) -> Mask:
    """Which nodes and ops are boxes of the network, and no constants, variables or weights."""
    is_box = np.concatenate(
        [
            (outline.count(facts.depends_on_input) > 0) & ~outline.is_collapsed,
            facts.depends_on_input & (facts.constant_kind == NONE),
        ]
    )
    is_box[0] = False
    return is_box


def find_cones(
    index: GraphIndex, facts: OpFacts, outline: Outline, crowded: Mask
) -> list[SiblingGroup]:
    """Find the cones of the ops in some containers.

    Returns:
        A group for each op that others lead to and to nothing else.
    """
    nodes = len(outline)
    around = np.concatenate([outline.parent, outline.home])
    fed = facts.depends_on_input & (facts.constant_kind == NONE)
    joining = fed & np.isin(facts.family, _JOINING)
    may = np.concatenate([outline.count(joining) == outline.count(fed), joining])
    may[:nodes] &= outline.members == 0
    edges = sibling_edges(index, outline)
    may &= _find_boxes(facts, outline) & crowded[around] & ~edges.leaves
    is_fed = np.concatenate([outline.count(facts.depends_on_input) > 0, facts.depends_on_input])
    network = edges.without_training(outline)
    cones = _cones(index, outline, _find_tips(network, may))
    parts = keep_acyclic(cones, data_flow(index, is_fed, edges), nodes + len(index))
    # Where gradients lead back into a cone, they count as readers.
    may[[thing for part in parts for thing in part]] = False
    parts += _cones(index, outline, _find_tips(edges, may))
    is_value = np.concatenate([np.zeros(nodes, dtype=bool), facts.constant_kind > NONE])
    wholes = add_feeders(parts, network, is_value)
    groups = [
        _group(index, outline, part, {*whole} - {*part})
        for part, whole in zip(parts, wholes, strict=True)
    ]
    return [group for group in groups if group.name not in outline.ids]


def _cones(index: GraphIndex, outline: Outline, tips: Things) -> list[list[int]]:
    """The things that lead to each tip, after the tip: an op, or the scope of an op's name."""
    cones: dict[int, list[int]] = {}
    for thing in np.flatnonzero(tips != np.arange(len(tips))).tolist():
        tip = int(tips[thing])
        cones.setdefault(tip, [tip]).append(thing)
    return [part for tip, part in cones.items() if _name(index, outline, tip) in index.ids]


def _find_tips(edges: SiblingEdges, may: Mask) -> Things:
    """For each thing the one that it leads to over things that may join others, or the thing
    itself if it leads to several.
    """
    count = len(may)
    is_joined = may[edges.source]
    source, target = edges.source[is_joined], edges.target[is_joined]
    tips = np.arange(count)
    for _ in range(_ROUNDS):
        lowest, highest = np.full(count, count), np.full(count, -1)
        np.minimum.at(lowest, source, tips[target])
        np.maximum.at(highest, source, tips[target])
        joins = (lowest == highest) & (tips != lowest)
        if not joins.any():
            break
        tips[joins] = lowest[joins]
        tips = _follow(tips)
    return tips


def _follow(tips: Things) -> Things:
    """The last of each chain; what leads into a loop stays by itself."""
    for _ in range(len(tips).bit_length()):
        further = tips[tips]
        if (further == tips).all():
            return tips
        tips = further
    return np.where(tips[tips] == tips, tips, np.arange(len(tips)))


def _name(index: GraphIndex, outline: Outline, thing: int) -> str:
    nodes = len(outline)
    return outline.names[thing] if thing < nodes else index.names[thing - nodes]


def _group(
    index: GraphIndex, outline: Outline, part: list[int], operands: set[int]
) -> SiblingGroup:
    """The group of a cone; its first thing is the tip, an op or the scope of its name."""
    nodes, tip = len(outline), part[0]
    container = int(outline.parent[tip] if tip < nodes else outline.home[tip - nodes])
    before = outline.prefix(container)
    name = _name(index, outline, tip)
    scope = name.removesuffix(last_part(name))
    return SiblingGroup(
        f"{scope}{UP_TO}{last_part(name)}",
        container,
        sorted(thing for thing in part if thing < nodes),
        sorted(thing - nodes for thing in part if thing >= nodes),
        name.removeprefix(before),
        operands=sorted(thing - nodes for thing in operands),
    )
