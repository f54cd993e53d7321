"""Outline: the tree that the drawing shows, name scopes and the groups that are made for the drawing.

A *group* stands between a container and some of its children: the parts of training, a *fold* of siblings that are
alike, or a *block* of layers that stand flat in a crowded scope. It is no scope of TensorFlow, but it is opened and
closed like one. Which groups there are depends on the graph only, not on what is open, so that opening and closing
never moves an op from one box to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.name_scopes import ScopeTree
from tfgraphwidget.graph.op_types import LAYER_KERNELS
from tfgraphwidget.hierarchy.op_facts import FAMILIES, Facts, Ints, Mask, inside, of_types, savers
from tfgraphwidget.naming import last_part

TRAINING = "training"
# How blocks are called, "conv2_block1_*" or "… mixed3": as nothing in TensorFlow is, nor a fold.
BEGUN, UP_TO = "_*", "… "


@dataclass(frozen=True, eq=False)
class Group:
    """Some children of one container, put together: nodes and ops in the order they are named in."""

    name: str
    container: int
    nodes: Sequence[int]
    ops: Sequence[int]
    label: str = ""
    training: bool = False


@dataclass(frozen=True, eq=False)
class Outline:
    """Nodes: the scopes, numbered as in ScopeTree, then the groups. Ops are numbered as in the graph.

    Per node: `names`, `parent`, `members` (children that a group stands for; 0 for scopes), `labels` (what is written
    instead of the name's last part, or ""), `part` (uint8: 1 in training), `gone` (scopes that are not drawn, see
    `single`: nothing is in them), `one_with` (the node that a scope is drawn as one with; itself else), `base` (the
    scope that names inside are relative to; itself but for scopes drawn as one). Per op: `home`, the node directly
    around it, and `op_part`.
    """

    names: Sequence[str]
    parent: Ints
    members: Ints
    labels: Sequence[str]
    part: npt.NDArray[np.uint8]
    gone: Mask
    one_with: Ints
    base: Ints
    home: Ints
    op_part: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Name -> node."""
        return {name: node for node, name in enumerate(self.names)}

    @cached_property
    def blocks(self) -> Mask:
        """Which nodes are blocks, see `blocks`: groups that are drawn as scopes are."""
        blocks = self.members > 0
        names = [self.names[node] for node in np.flatnonzero(blocks).tolist()]
        blocks[blocks] = [name.endswith(BEGUN) or last_part(name).startswith(UP_TO) for name in names]
        return blocks

    @cached_property
    def depth(self) -> Ints:
        """How far below the root each node is; the root 0."""
        depth = np.zeros(len(self.parent), dtype=np.int32)
        above = self.parent.copy()
        below = np.arange(len(depth)) > 0
        while below.any():
            depth[below] += 1
            below &= above > 0
            above = self.parent[above]
        return depth

    @cached_property
    def intervals(self) -> tuple[Ints, Ints, Ints]:
        """(start, stop, order): all ops in a node, nested ones included, are order[start[node]:stop[node]]."""
        own = np.bincount(self.home, minlength=len(self)).astype(np.int32)
        total, levels = own.copy(), self.levels
        for nodes in reversed(levels[1:]):
            np.add.at(total, self.parent[nodes], total[nodes])
        start = np.zeros(len(self), dtype=np.int32)
        for nodes in levels[1:]:
            around = self.parent[nodes]
            before = np.cumsum(total[nodes]) - total[nodes]
            fresh = np.flatnonzero(np.r_[True, around[1:] != around[:-1]])
            before -= np.repeat(before[fresh], np.diff(np.r_[fresh, len(nodes)]))
            start[nodes] = start[around] + own[around] + before
        order = np.argsort(start[self.home], kind="stable").astype(np.int32)
        return start, (start + total).astype(np.int32), order

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of each depth, siblings together."""
        order = np.lexsort((self.parent, self.depth)).astype(np.int32)
        return np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1)

    @cached_property
    def first(self) -> Ints:
        """The first op in each node, in graph order."""
        first = np.full(len(self), len(self.home), dtype=np.int32)
        np.minimum.at(first, self.home, np.arange(len(self.home), dtype=np.int32))
        for nodes in reversed(self.levels[1:]):
            np.minimum.at(first, self.parent[nodes], first[nodes])
        return first

    @cached_property
    def children(self) -> list[list[int]]:
        """For each node the nodes directly inside it, without those that are gone."""
        below: list[list[int]] = [[] for _ in self.names]
        gone = self.gone.tolist()
        for node, around in enumerate(self.parent.tolist()):
            if node and not gone[node]:
                below[around].append(node)
        return below

    def count(self, wanted: Mask) -> Ints:
        """How many wanted ops each node holds, nested ones included."""
        start, stop, order = self.intervals
        return inside(start, stop, order, wanted)

    def ops(self, node: int) -> Ints:
        """All ops in a node, nested ones included, in graph order."""
        start, stop, order = self.intervals
        return np.sort(order[start[node] : stop[node]])

    @cached_property
    def prefixes(self) -> list[str]:
        """What the names of ops drawn in each node begin with: its scope's name, with a slash; "" at the root."""
        around = np.arange(len(self), dtype=np.int32)
        while (groups := self.members[around] > 0).any():
            around[groups] = self.parent[around[groups]]
        outer = [self.names[scope] for scope in self.base[around].tolist()]
        return [f"{name}/" if name else "" for name in outer]

    def relative(self, ops: Ints, names: Sequence[str]) -> list[str]:
        """Names of ops without that of the scope they are drawn in, "mean/sub"; "" when the last part says as much."""
        found, prefixes = [], self.prefixes
        for op, home in zip(ops.tolist(), self.home[ops].tolist(), strict=True):
            outer, name = prefixes[home], names[op]
            rest = name[len(outer) :] if name.startswith(outer) else ""
            found.append(rest if "/" in rest else "")
        return found

    def around(self, node: int) -> list[int]:
        """The nodes around a node, innermost first, without the root."""
        found = []
        while (node := int(self.parent[node])) > 0:
            found.append(node)
        return found

    def grouped(self, groups: Iterable[Group]) -> Outline:
        """This outline with groups put in."""
        made = list(groups)
        if not made:
            return self
        parent = np.concatenate([self.parent, np.array([g.container for g in made], dtype=np.int32)])
        home, part = self.home.copy(), np.concatenate([self.part, self.part[[g.container for g in made]]])
        op_part = self.op_part.copy()
        for node, group in enumerate(made, len(self)):
            parent[list(group.nodes)] = node
            home[list(group.ops)] = node
            part[node] |= group.training
        fresh = np.arange(len(self), len(parent), dtype=np.int32)
        return replace(
            self,
            gone=np.concatenate([self.gone, np.zeros(len(made), dtype=bool)]),
            one_with=np.concatenate([self.one_with, fresh]),
            base=np.concatenate([self.base, fresh]),
            names=[*self.names, *(g.name for g in made)],
            parent=parent,
            members=np.concatenate([self.members, [len(g.nodes) + len(g.ops) for g in made]]).astype(np.int32),
            labels=[*self.labels, *(g.label for g in made)],
            part=part,
            home=home,
            op_part=op_part,
        )


@dataclass(frozen=True, eq=False)
class Sums:
    """Per node of an outline, nested ops included: `ops`, `variables`, `fed`, `work` (counts), `saver` (bool: writes
    or reads checkpoints and computes nothing else), `report` (bool: all in it that is fed are summaries), `door`
    (bool: holds ops that call functions), `family` (uint8: that of its only op, or of the op of the scope's own name;
    "linear" for a layer, which has one convolution or matrix product; a fold's is its members'; else "other").
    """

    ops: Ints
    variables: Ints
    fed: Ints
    work: Ints
    saver: Mask
    report: Mask
    door: Mask
    family: npt.NDArray[np.uint8]


def scopes_of(tree: ScopeTree) -> Outline:
    """The outline without any groups."""
    count = len(tree.names)
    return Outline(
        names=tree.names,
        parent=tree.parent,
        members=np.zeros(count, dtype=np.int32),
        labels=[""] * count,
        part=np.zeros(count, dtype=np.uint8),
        gone=np.zeros(count, dtype=bool),
        one_with=np.arange(count, dtype=np.int32),
        base=np.arange(count, dtype=np.int32),
        home=tree.scope_of,
        op_part=np.zeros(len(tree.scope_of), dtype=np.uint8),
    )


def summed(index: GraphIndex, known: Facts, outline: Outline) -> Sums:
    """What the nodes of an outline hold."""
    start, stop, order = outline.intervals
    return Sums(
        ops=stop - start,
        variables=outline.count(known.handle),
        fed=outline.count(known.fed),
        work=outline.count(known.work),
        saver=savers(start, stop, order, (known.checkpoint, known.handle, known.computing)),
        report=(outline.count(known.report) == outline.count(known.fed)) & (outline.count(known.report) > 0),
        door=outline.count(known.door) > 0,
        family=_family(index, known, outline),
    )


def _family(index: GraphIndex, known: Facts, outline: Outline) -> npt.NDArray[np.uint8]:
    start, stop, order = outline.intervals
    kernels = outline.count(of_types(index, LAYER_KERNELS) & known.fed)
    chief = np.full(len(outline), -1, dtype=np.int32)
    scopes = len(index.scopes.names)
    chief[:scopes] = [index.ids.get(name, -1) for name in outline.names[:scopes]]
    only = np.flatnonzero(stop - start == 1)
    chief[only] = order[start[only]]
    family = np.where(kernels == 1, FAMILIES.index("linear"), 0).astype(np.uint8)
    named = np.flatnonzero(chief >= 0)
    family[named] = known.family[chief[named]]
    return _group_families(outline, family, known.family, scopes)


def _group_families(
    outline: Outline, family: npt.NDArray[np.uint8], of_op: npt.NDArray[np.uint8], scopes: int
) -> npt.NDArray[np.uint8]:
    """A fold has the family of any of its members: they are alike. What has a label of its own holds all sorts."""
    some = np.zeros(len(outline), dtype=np.uint8)
    some[outline.home] = of_op
    some[outline.parent[1:]] = family[1:]
    some[[label == TRAINING for label in outline.labels]] = 0
    some[:scopes], some[outline.blocks] = family[:scopes], family[outline.blocks]
    return some
