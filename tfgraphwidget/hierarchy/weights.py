"""Weights: variables, and what reads, initializes, summarizes, saves and restores them.

TensorFlow keeps the variables of a network in scopes beside its ops, with an initializer, an Assign
and a read each, and a TF-Hub module keeps their reads in a copy of all these scopes. None of it is
the network: it depends on no input, and all that an op of the network takes from it is the value of
a constant or a variable, which is a badge at that op. Where a container has several such children
beside a part of the network, they are one box, "weights", so that the network is what one sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfgraphwidget.graph import GraphIndex, reach, row_starts
from tfgraphwidget.hierarchy.op_facts import NONE, Mask, OpFacts
from tfgraphwidget.hierarchy.tree import WEIGHTS, Outline, SiblingGroup, is_free

_FEWEST = 3  # children; fewer are no crowd, and are drawn under their own names


def find_weight_groups(
    index: GraphIndex, facts: OpFacts, outline: Outline, badges: Mask
) -> list[SiblingGroup]:
    """Find what only holds weights, in each container that has a part of the network.

    Args:
        badges: Which ops are badges of ops beside them.

    Returns:
        A group for each container with several such children.
    """
    has_reader = _have_reader_in_network(index, facts)
    # The slots of an optimizer are in the scopes of the variables that they belong to.
    idle = ~facts.depends_on_input & ~_lead_to_network(index, facts, has_reader)
    network = outline.count(facts.depends_on_input & (outline.op_part == 0)) > 0
    only_idle = (outline.count(~idle) == 0) & ~outline.is_collapsed & (outline.part == 0)
    nodes = np.flatnonzero(only_idle & network[outline.parent])
    stays = badges & _are_values_of(index, facts, ~idle)
    ops = np.flatnonzero(idle & ~stays & network[outline.home] & (outline.op_part == 0))
    return groups_of(index, outline, WEIGHTS, _FEWEST, nodes[nodes > 0].tolist(), ops.tolist())


def groups_of(
    index: GraphIndex,
    outline: Outline,
    label: str,
    fewest: int,
    nodes: Sequence[int],
    ops: Sequence[int],
) -> list[SiblingGroup]:
    """A group for each container that has so many of these nodes and ops."""
    children: dict[int, tuple[list[int], list[int]]] = {}
    for node in nodes:
        children.setdefault(int(outline.parent[node]), ([], []))[0].append(node)
    for op in ops:
        children.setdefault(int(outline.home[op]), ([], []))[1].append(op)
    groups = []
    for container, (inner, own) in children.items():
        name = f"{outline.prefix(container)}({label})"
        if len(inner) + len(own) >= fewest and is_free(name, index, outline):
            groups.append(SiblingGroup(name, container, inner, own, label))
    return groups


def _have_reader_in_network(index: GraphIndex, facts: OpFacts) -> Mask:
    """Which ops are read by one that depends on an input and is not a summary."""
    reader = index.inputs.owner
    in_network = facts.depends_on_input & ~facts.is_summary
    result = np.zeros(len(index), dtype=bool)
    result[index.inputs.values[in_network[reader]]] = True
    return result


def _lead_to_network(index: GraphIndex, facts: OpFacts, has_reader: Mask) -> Mask:
    """Which ops compute, of constants and variables, what an op of the network reads."""
    computes = (facts.constant_kind == NONE) & ~facts.depends_on_input
    return _come_before(index, computes & has_reader, computes)


def _are_values_of(index: GraphIndex, facts: OpFacts, readers: Mask) -> Mask:
    """Which ops are constants, variables and reads whose value some readers take."""
    values = facts.constant_kind > NONE
    return _come_before(index, readers, values) & values


def _come_before(index: GraphIndex, targets: Mask, through: Mask) -> Mask:
    """The ops from which a way leads to a target, over ops of `through` only; the targets too."""
    reader = index.inputs.owner
    is_on_way = through[index.inputs.values] & (through | targets)[reader]
    start = row_starts(reader[is_on_way], len(index))
    return reach(start, index.inputs.values[is_on_way], np.flatnonzero(targets))
