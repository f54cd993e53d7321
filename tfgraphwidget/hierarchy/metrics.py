"""Metrics: what computes sums and counts of what the network gives, and stores them in variables.

Keras and Estimator put the ops of metrics, and the checks of their arguments, beside the network
without a name scope: a step of Keras with three metrics has eighty of them, an Estimator's
evaluation hundreds. They lead to nothing but updates of variables that only they read. Where a
container has a crowd of them beside a part of the network, they are one box, "metrics".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tfgraphwidget.graph import CHECKS, GraphIndex, distinct, reach, rows_of, updates_variable
from tfgraphwidget.hierarchy.op_facts import (
    CAPTURED,
    STORED,
    Mask,
    OpFacts,
    of_types,
)
from tfgraphwidget.hierarchy.tree import METRICS, Outline, SiblingGroup
from tfgraphwidget.hierarchy.weights import groups_of

_FEWEST = 12  # children; the two averages of a batch norm and the sums of one metric are fewer


def find_metric_groups(index: GraphIndex, facts: OpFacts, outline: Outline) -> list[SiblingGroup]:
    """Find the metrics in each container that has a part of the network.

    Returns:
        A group for each container with many such children.
    """
    metric = _find_metrics(index, facts, outline.op_part > 0)
    while metric.any():
        operand = _find_operands(index, facts, metric)
        is_metric = _hold_only(index, facts, outline, metric, operand)
        deeper = _lead_deeper(index, outline, metric, is_metric)
        if not deeper.any():
            break
        metric &= ~deeper
    if not metric.any():
        return []
    network = outline.count(facts.depends_on_input & facts.computing & ~metric) > 0
    nodes = np.flatnonzero(is_metric & ~outline.is_collapsed & network[outline.parent])
    ops = np.flatnonzero(metric & network[outline.home])
    groups = []
    for group in groups_of(index, outline, METRICS, _FEWEST, nodes.tolist(), ops.tolist()):
        operands = np.flatnonzero(operand & (outline.home == group.container))
        groups.append(replace(group, operands=operands.tolist()))
    return groups


def _hold_only(
    index: GraphIndex, facts: OpFacts, outline: Outline, metric: Mask, operand: Mask
) -> Mask:
    """Which scopes hold nothing that is fed but metrics, or only what metrics take."""
    fed = outline.count(facts.depends_on_input)
    ops = outline.count(np.ones(len(index), dtype=bool))
    only: Mask = np.where(fed > 0, outline.count(metric) == fed, outline.count(operand) == ops)
    only &= ops > 0
    only[0] = False
    return only


def _lead_deeper(index: GraphIndex, outline: Outline, metric: Mask, is_metric: Mask) -> Mask:
    """Which metrics lead to one in a scope beside their box, which the box would be in a circle
    with: a summary in the scope of the layer whose output it is of.
    """
    outermost = np.where(is_metric, np.arange(len(outline)), 0)
    for level in outline.levels[1:]:
        around = outermost[outline.parent[level]]
        outermost[level] = np.where(around > 0, around, outermost[level])
    scope = outermost[outline.home]
    container = np.where(scope > 0, outline.parent[scope], outline.home)
    start, stop, _ = outline.intervals
    producer, reader = index.inputs.values, index.inputs.owner
    here, there = container[producer], container[reader]
    is_deeper = (start[here] <= start[there]) & (stop[there] <= stop[here])
    is_deeper &= (outline.depth[there] > outline.depth[here]) & metric[producer]
    return reach(index.inputs.start, producer, producer[is_deeper]) & metric


def _find_metrics(index: GraphIndex, facts: OpFacts, trains: Mask) -> Mask:
    """Which ops lead to nothing but updates of variables that the network does not read, checks and
    summaries, and to no op that reads other variables, as layers do.
    """
    start, producer, reader = index.inputs.start, index.inputs.values, index.inputs.owner
    is_fed = facts.depends_on_input & ~trains
    metric = np.zeros(len(index), dtype=bool)
    updates = np.flatnonzero(updates_variable(index) & is_fed & (np.diff(start) > 0))
    stores = of_types(index, CHECKS) | facts.is_summary
    while len(updates):
        stores[updates] = True
        metric = is_fed & ~_lead_to_others(index, facts, trains, is_fed, stores)
        network = facts.depends_on_input & ~metric & ~stores
        shared = reach(start, producer, np.flatnonzero(network))[producer[start[updates]]]
        stores[updates[shared]] = False
        updates = updates[~shared & metric[updates]]
        if not shared.any():
            break
    if not len(updates):
        return np.zeros(len(index), dtype=bool)
    weights = facts.handle | (facts.constant_kind == CAPTURED)
    weights[producer[start[updates]]] = False
    is_idle = ~facts.depends_on_input[reader]
    computed = rows_of(producer[is_idle], reader[is_idle], len(index))
    weights = reach(*computed, np.flatnonzero(weights))
    layers = reader[metric[reader] & weights[producer]]
    return metric & ~reach(start, producer, layers)


def _lead_to_others(
    index: GraphIndex, facts: OpFacts, trains: Mask, is_fed: Mask, stores: Mask
) -> Mask:
    """Which ops lead to training, or to an output: an end that stores nothing.

    An end that another op waits for leads to that, and a bool that is waited for is a check. What
    was computed of shapes and is read by nothing was left over from such a check.
    """
    of_shapes = ~facts.is_compute & ~np.isin(facts.family, STORED)
    is_last = is_fed & ~stores & ~of_shapes & (np.diff(index.consumers.start) == 0)
    end, waiting = index.control_consumers.owner, index.control_consumers.values
    for op in distinct(end[is_last[end]]).tolist():
        is_last[op] = index.dtypes(op)[:1] != ("bool",)
    is_edge = is_last[end] & is_fed[waiting]
    is_last[end[is_edge]] = False
    before = np.concatenate([index.inputs.values, end[is_edge]])
    after = np.concatenate([index.inputs.owner, waiting[is_edge]])
    return reach(*rows_of(after, before, len(index)), np.flatnonzero(trains | is_last))


def _find_operands(index: GraphIndex, facts: OpFacts, metric: Mask) -> Mask:
    """Which constants, reads and what is computed of them serve metrics only; and the variables
    that metrics update, whose results are read from them.
    """
    start, producer = index.inputs.start, index.inputs.values
    idle = ~facts.depends_on_input
    others = (facts.depends_on_input & ~metric) | (idle & (np.diff(index.consumers.start) == 0))
    operand = idle & ~reach(start, producer, np.flatnonzero(others))
    updates = np.flatnonzero(metric & updates_variable(index))
    operand[producer[start[updates]]] = True
    return operand
