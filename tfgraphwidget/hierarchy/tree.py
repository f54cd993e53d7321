"""The outline: the tree that is drawn, of name scopes and groups.

A *group* is between a container and some of its children: the parts of training, what only holds
weights, *repeats* of equal siblings, or the layers of a block in a crowded scope. It is not a scope
of TensorFlow, but it is expanded and collapsed like one. The groups depend on the graph only, not
on what is open, so that opening and closing never moves an op from one box to another.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import (
    LAYER_KERNELS,
    Csr,
    GraphIndex,
    Rows,
    ScopeTree,
    depths,
    intervals,
    levels,
    row_starts,
)
from tfgraphwidget.hierarchy.op_facts import (
    FAMILIES,
    Ints,
    Mask,
    OpFacts,
    count_inside,
    find_savers,
    of_types,
)
from tfgraphwidget.naming import last_part

TRAINING = "training"
# The parts of a graph beside the forward network: training, and gradients that the network goes on
# with.
TRAINS, DIFFERENTIATES = 1, 2
WEIGHTS = "weights"
METRICS = "metrics"
# How blocks are called, "conv2_block1_*" or "… mixed3": as nothing in TensorFlow is, nor a fold.
BEGUN, UP_TO = "_*", "… "


@dataclass(frozen=True, eq=False)
class SiblingGroup:
    """Some children of one container as one box; nodes and ops in the order in which the name lists
    them, and `operands`, the ops that go with them: constants and variables that nothing else
    reads.
    """

    name: str
    container: int
    nodes: Sequence[int]
    ops: Sequence[int]
    label: str = ""
    operands: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Outline:
    """The tree of the drawing. Its nodes are the scopes, numbered as in ScopeTree, then the groups.

    Attributes:
        names: the name of each node, "" for the root.
        scope_ids: the number of each scope by its name, as in ScopeTree.
        parent: int32 per node, the node around it.
        members: int32 per node, how many children a group represents; 0 for scopes.
        labels: per node, the text that is written instead of the last part of the name, or "".
        part: uint8 per node, `TRAINS` in training, `DIFFERENTIATES` in gradients that the network
            goes on with, else 0.
        is_collapsed: bool per node, whether the scope is not drawn; it is empty then
            (`collapse_single_child`).
        merged_into: int32 per node, the node that a scope is drawn together with, or the node
            itself.
        base: int32 per node, the scope that the names inside are relative to, mostly the node
            itself.
        home: int32 per op, the node directly around it.
        op_part: uint8 per op, as `part`.
    """

    names: Sequence[str]
    scope_ids: dict[str, int]
    parent: Ints
    members: Ints
    labels: Sequence[str]
    part: npt.NDArray[np.uint8]
    is_collapsed: Mask
    merged_into: Ints
    base: Ints
    home: Ints
    op_part: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Name -> node."""
        groups = {self.names[node]: node for node in range(len(self.scope_ids), len(self))}
        return ChainMap(groups, self.scope_ids)  # half a million scopes are numbered once

    @cached_property
    def blocks(self) -> Mask:
        """Which nodes are layer groups or cones: groups that are drawn as scopes are."""
        blocks = self.members > 0
        names = [self.names[node] for node in np.flatnonzero(blocks).tolist()]
        blocks[blocks] = [
            name.endswith(BEGUN) or last_part(name).startswith(UP_TO) for name in names
        ]
        return blocks

    @cached_property
    def cones(self) -> Mask:
        """Which nodes are cones, see `cones`: blocks that have the name of their tip."""
        has_label: Mask = np.array([label != "" for label in self.labels], dtype=bool)
        return self.blocks & has_label

    @cached_property
    def holds_weights(self) -> Mask:
        """Which nodes are groups of what only holds weights, see `weights`."""
        return np.array([label == WEIGHTS for label in self.labels], dtype=bool)

    @cached_property
    def holds_metrics(self) -> Mask:
        """Which nodes are groups of metrics, see `metrics`."""
        return np.array([label == METRICS for label in self.labels], dtype=bool)

    @cached_property
    def trains(self) -> Mask:
        """Which nodes, then which ops, serve training; of a node, most of its ops."""
        ops = self.op_part > 0
        return np.concatenate([2 * self.count(ops) > self.count(np.ones_like(ops)), ops])

    @cached_property
    def depth(self) -> Ints:
        """How far below the root each node is; the root 0."""
        return depths(self.parent)

    @cached_property
    def intervals(self) -> tuple[Ints, Ints, Ints]:
        """(start, stop, order): all ops in a node, nested too: order[start[node]:stop[node]]."""
        return intervals(self.levels, self.parent, self.home)

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of each depth, siblings together."""
        return levels(self.parent)

    @cached_property
    def first(self) -> Ints:
        """The first op in each node, in graph order."""
        first = np.full(len(self), len(self.home), dtype=np.int32)
        np.minimum.at(first, self.home, np.arange(len(self.home), dtype=np.int32))
        for nodes in reversed(self.levels[1:]):
            np.minimum.at(first, self.parent[nodes], first[nodes])
        return first

    @cached_property
    def children(self) -> Rows:
        """For each node the nodes directly inside it, without those collapsed into others."""
        nodes = np.flatnonzero(~self.is_collapsed)
        nodes = nodes[nodes > 0]
        around = self.parent[nodes]
        start = row_starts(around, len(self))
        return Csr(start, nodes[np.argsort(around, kind="stable")].astype(np.int32)).lists()

    def count(self, mask: Mask) -> Ints:
        """How many wanted ops each node holds, nested ones included."""
        start, stop, order = self.intervals
        return count_inside(start, stop, order, mask)

    def ops(self, node: int) -> Ints:
        """All ops in a node, nested ones included, in graph order."""
        start, stop, order = self.intervals
        return np.sort(order[start[node] : stop[node]])

    def prefix(self, node: int) -> str:
        """The prefix of ops' names drawn in a node: its scope's name and slash; "" at the root."""
        while self.members[node] > 0:
            node = int(self.parent[node])
        name = self.names[self.base[node]]
        return f"{name}/" if name else ""

    def relative(self, ops: Ints, names: Sequence[str]) -> list[str]:
        """Names of ops without that of the scope they are drawn in, "mean/sub"; "" when the last
        part says as much.

        Args:
            names: The names of all ops, in the order of the graph.
        """
        homes = self.home[ops].tolist()
        prefixes = {home: self.prefix(home) for home in set(homes)}
        result = []
        for op, home in zip(ops.tolist(), homes, strict=True):
            outer, name = prefixes[home], names[op]
            rest = name[len(outer) :] if name.startswith(outer) else ""
            result.append(rest if "/" in rest else "")
        return result

    def ancestors(self, node: int) -> list[int]:
        """The nodes around a node, innermost first, without the root."""
        result = []
        while (node := int(self.parent[node])) > 0:
            result.append(node)
        return result

    def with_groups(self, groups: Iterable[SiblingGroup]) -> Outline:
        """Return this outline with groups added."""
        new_groups = list(groups)
        if not new_groups:
            return self
        containers = np.array([group.container for group in new_groups], dtype=np.int32)
        member_counts = [len(group.nodes) + len(group.ops) for group in new_groups]
        parent = np.append(self.parent, containers)
        part = np.append(self.part, self.part[containers])
        home, op_part = self.home.copy(), self.op_part.copy()
        for node, group in enumerate(new_groups, len(self)):
            parent[list(group.nodes)] = node
            home[[*group.ops, *group.operands]] = node
            member_parts = {*self.part[[*group.nodes]].tolist(), *op_part[[*group.ops]].tolist()}
            if len(member_parts) == 1:
                part[node] = member_parts.pop()
        new_nodes = np.arange(len(self), len(parent), dtype=np.int32)
        return replace(
            self,
            is_collapsed=np.append(self.is_collapsed, np.zeros(len(new_groups), dtype=bool)),
            merged_into=np.append(self.merged_into, new_nodes),
            base=np.append(self.base, new_nodes),
            names=[*self.names, *(group.name for group in new_groups)],
            parent=parent,
            members=np.append(self.members, np.array(member_counts, dtype=np.int32)),
            labels=[*self.labels, *(group.label for group in new_groups)],
            part=part,
            home=home,
            op_part=op_part,
        )


@dataclass(frozen=True, eq=False)
class Sums:
    """Totals per node of an outline, nested ops included.

    Attributes:
        ops: int32, how many ops the node has.
        variables: int32, how many variables they hold; several handles of one count once.
        handles: int32, how many of them hold a variable.
        input_dependent_ops: int32, how many depend on what is fed.
        compute_ops: int32, how many compute (`OpFacts.is_compute`).
        is_saver: bool, whether the node reads or writes checkpoints and computes nothing else.
        is_summary: bool, whether all its ops that depend on inputs are summaries.
        calls_function: bool, whether it has ops that call functions.
        family: uint8, that of its only op or of the op that has the scope's own name; "linear" for
            what has convolutions or matrix products, as blocks of a network do; that of the
            members for a group of repeats; else "other".
        layers: int32, how many convolutions and matrix products they have.
        structure: uint64 per node and then per op, equal for those of equal structure
            (`structural_hashes`).
    """

    ops: Ints
    variables: Ints
    handles: Ints
    input_dependent_ops: Ints
    compute_ops: Ints
    is_saver: Mask
    is_summary: Mask
    calls_function: Mask
    family: npt.NDArray[np.uint8]
    layers: Ints
    structure: npt.NDArray[np.uint64]


def is_free(name: str, index: GraphIndex, outline: Outline) -> bool:
    """Whether a name is that of no node and of no op, so that a group can have it."""
    return name not in outline.ids and name not in index.ids


def outline_of_scopes(tree: ScopeTree) -> Outline:
    """Return the outline without groups."""
    count = len(tree.names)
    return Outline(
        names=tree.names,
        scope_ids=tree.ids,
        parent=tree.parent,
        members=np.zeros(count, dtype=np.int32),
        labels=[""] * count,
        part=np.zeros(count, dtype=np.uint8),
        is_collapsed=np.zeros(count, dtype=bool),
        merged_into=np.arange(count, dtype=np.int32),
        base=np.arange(count, dtype=np.int32),
        home=tree.scope_of,
        op_part=np.zeros(len(tree.scope_of), dtype=np.uint8),
    )


def sum_ops(
    index: GraphIndex, facts: OpFacts, outline: Outline, structure: npt.NDArray[np.uint64]
) -> Sums:
    """Compute the totals of the nodes of an outline.

    Args:
        structure: The structural hashes of its nodes and ops.
    """
    start, stop, order = outline.intervals
    layers = outline.count(of_types(index, LAYER_KERNELS) & facts.depends_on_input)
    input_dependent_ops = outline.count(facts.depends_on_input)
    summaries = outline.count(facts.is_summary)
    return Sums(
        ops=stop - start,
        variables=outline.count(facts.variable),
        handles=outline.count(facts.handle),
        input_dependent_ops=input_dependent_ops,
        compute_ops=outline.count(facts.is_compute),
        is_saver=find_savers(start, stop, order, (facts.checkpoint, facts.handle, facts.computing)),
        is_summary=(summaries > 0) & (summaries == input_dependent_ops),
        calls_function=outline.count(facts.calls_function) > 0,
        family=_family(index, facts, outline, layers),
        layers=layers,
        structure=structure,
    )


def _family(
    index: GraphIndex, facts: OpFacts, outline: Outline, layers: Ints
) -> npt.NDArray[np.uint8]:
    start, stop, order = outline.intervals
    chief = np.full(len(outline), -1, dtype=np.int32)
    scopes = len(index.scopes.names)
    chief[:scopes] = index.scopes.named
    only = np.flatnonzero(stop - start == 1)
    chief[only] = order[start[only]]
    for node in np.flatnonzero(outline.cones).tolist():
        label = outline.labels[node]
        chief[node] = index.ids.get(outline.prefix(node) + label, index.ids.get(label, -1))
    family = np.where(layers > 0, FAMILIES.index("linear"), 0).astype(np.uint8)
    scopes_with_chief = np.flatnonzero(chief >= 0)
    family[scopes_with_chief] = facts.family[chief[scopes_with_chief]]
    return _group_families(outline, family, facts.family, scopes)


def _group_families(
    outline: Outline, family: npt.NDArray[np.uint8], of_op: npt.NDArray[np.uint8], scopes: int
) -> npt.NDArray[np.uint8]:
    """A fold has the family of any member: they are alike. A labeled one holds all sorts."""
    some = np.zeros(len(outline), dtype=np.uint8)
    some[outline.home] = of_op
    some[outline.parent[1:]] = family[1:]
    some[[label in (TRAINING, METRICS) for label in outline.labels]] = 0
    some[outline.holds_weights] = FAMILIES.index("variable")
    some[:scopes], some[outline.blocks] = family[:scopes], family[outline.blocks]
    return some
