"""Folds: siblings that are alike drawn as one box, "Mixed_5b … Mixed_5d ×3".

Alike are scopes of equal structure (three or more) and ops of one type (four or more) that either
form a chain, each feeding the next, or stand side by side: with the same neighbors, or at the same
place of strands that are alike from end to end. Many ops of one type that read the same are alike
whatever reads them (eight or more, such as the slices of one tensor of sizes), unless they are
layers of a network. What no input of the graph reaches has no neighbors: the terms of a weight
decay are alike, whichever layers hold their variables. A few inputs are never folded, as each is
fed by itself; sixteen or more of one type are one box. Constants and variables, which are badges,
are not folded, but for variables that stand alone in great number (eight or more): the kernels of a
network whose layers have no biases. A fold never makes a cycle where there was none: what lies
between two members of a chain keeps them apart. A constant or variable that only members of a fold
read, or their gradients too, goes with them. Layer groups (`layer_groups`) are folded as scopes are
where there are many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex, distinct, runs_of
from tfgraphwidget.hierarchy.layer_groups import add_feeders
from tfgraphwidget.hierarchy.op_facts import FAMILIES, HANDLE, NONE, Ints, Mask, OpFacts
from tfgraphwidget.hierarchy.quotient import Lines, contract, data_flow, keep_acyclic
from tfgraphwidget.hierarchy.structural_hash import (
    Hashes,
    SiblingEdges,
    mix,
    sibling_edges,
    structural_hashes,
)
from tfgraphwidget.hierarchy.tree import BEGUN, METRICS, TRAINING, UP_TO, Outline, SiblingGroup
from tfgraphwidget.naming import last_part

# How many alike things make a fold
_SCOPES = 3
_OPS = 4
_VARIABLES = 8
_READERS = 8  # ops of one type that read the same
_INPUTS = 16  # ops that are fed
_MOST_ROUNDS = 16  # each separates siblings whose strands differ one step further away
_LAYERS = [FAMILIES.index(name) for name in ("linear", "normalization", "pooling", "variable")]
# A container that would show one fold only is more use unfolded, up to so many members.
_MOST_BARE = 40
# A network of so few boxes is seen at a glance, with its blocks one by one, unless these are many.
_FEW = 30
_BLOCKS = 17
_INPUT = FAMILIES.index("input")


def find_repeats(index: GraphIndex, facts: OpFacts, outline: Outline) -> list[SiblingGroup]:
    """Find siblings of equal structure, in chains, side by side, or in strands.

    Returns:
        Groups of repeated siblings; members are in the order of the chain or of the graph.
    """
    if not len(index):
        return []
    edges = sibling_edges(index, outline)
    color = mix(
        structural_hashes(index, outline, edges)
        + edges.around.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    )
    things = _RepeatFinder(index, facts, outline, edges, color)
    chains = things.keep_acyclic(things.chains())
    wide = things.keep_acyclic(things.parallel(chains), chains)
    groups = [*chains, *wide]
    groups += things.keep_acyclic(things.strands(groups), groups)
    while readers := things.keep_acyclic(things.readers(groups), groups):
        groups += readers
    if any(things.is_input[part[0]] for part in groups):
        # What reads them, such as the tables of a recommender, has the same neighbors now.
        groups += things.keep_acyclic(things.parallel(groups), groups)
    return things.name_groups(groups)


class _RepeatFinder:
    """The siblings that may be folded; `color` is equal for alike ones in one container."""

    def __init__(
        self,
        index: GraphIndex,
        facts: OpFacts,
        outline: Outline,
        edges: SiblingEdges,
        color: Hashes,
    ) -> None:
        self.index, self.outline, self.edges, self.color = index, outline, edges, color
        nodes = len(outline)
        self.first = np.concatenate([outline.first, np.arange(len(index), dtype=np.int32)])
        depends_on_input = np.concatenate(
            [outline.count(facts.depends_on_input) > 0, facts.depends_on_input]
        )
        inputs = (
            (facts.family == _INPUT)
            & (np.diff(index.inputs.start) == 0)
            & (facts.constant_kind == NONE)
        )
        self.is_input: Mask = np.concatenate([np.zeros(nodes, dtype=bool), inputs])
        handles = facts.constant_kind == HANDLE
        ops = ((facts.constant_kind == NONE) | handles) & ~inputs
        # What groups hold but training and metrics.
        whole = np.array([label not in (TRAINING, METRICS) for label in outline.labels])
        may = np.concatenate([whole & (outline.count(inputs) == 0), ops])
        boxes = np.bincount(edges.around[depends_on_input], minlength=nodes)
        may[:nodes] &= ~outline.is_collapsed
        may[0] = False
        is_seen = outline.blocks & (boxes[outline.parent] <= _FEW)
        self.least = np.concatenate(
            [np.where(is_seen, _BLOCKS, _SCOPES), np.where(handles, _VARIABLES, _OPS)]
        ).astype(np.int8)
        may[_rare(color)] = False
        self.may: Mask = may
        self.depends_on_input: Mask = depends_on_input
        is_layer = handles | np.isin(facts.family, _LAYERS)
        self.is_layer: Mask = np.concatenate([np.zeros(nodes, dtype=bool), is_layer])
        self.is_op: Mask = np.arange(len(self.first)) >= nodes
        self.is_value: Mask = np.concatenate(
            [np.zeros(nodes, dtype=bool), facts.constant_kind > NONE]
        )
        self.source, self.target = data_flow(index, depends_on_input, edges)

    def chains(self) -> list[list[int]]:
        """Runs of alike siblings, each of which feeds the next."""
        alike = (self.color[self.source] == self.color[self.target]) & self.may[self.source]
        source, target = self.source[alike], self.target[alike]
        if not len(source):
            return []
        # Where one feeds several (a DenseNet), the next is the one that the fewest come before.
        before = np.bincount(target, minlength=len(self.color)).astype(np.int32)
        after, ahead = (
            _best_neighbors(source, target, before, self.first),
            _best_neighbors(target, source, -before, -self.first),
        )
        mutual = [a for a, b in after.items() if ahead.get(b) == a]
        follows = {a: after[a] for a in mutual}
        runs = []
        for start in set(mutual).difference(follows.values()):
            run = [start]
            while run[-1] in follows:
                run.append(follows[run[-1]])
            if len(run) >= self.least[start]:
                runs.append(run)
        return runs

    def parallel(self, chains: list[list[int]]) -> list[list[int]]:
        """Alike siblings with the same neighbors; a chain is one neighbor."""
        a, b = self._lines_between(chains)
        sign = self._alone()
        np.add.at(sign, b, mix(a.astype(np.uint64) * np.uint64(2)))
        np.add.at(sign, a, mix(b.astype(np.uint64) * np.uint64(2) + np.uint64(1)))
        groups = self._equal(sign, self.may, chains)
        return [part for part in groups if len(part) >= self.least[part[0]]]

    def strands(self, groups: list[list[int]]) -> list[list[int]]:
        """Alike siblings at the same place of strands that lie side by side.

        Each round mixes the number of a sibling with those of its neighbors, until no more differ
        (the color refinement of Weisfeiler and Leman).
        """
        a, b = self._lines_between(groups)
        sign = self._alone()
        is_free = self.may.copy()
        places: list[list[int]] = []
        for _ in range(_MOST_ROUNDS):
            alike = self._equal(sign, is_free, groups)
            alike = [part for part in alike if len(part) >= self.least[part[0]]]
            members = [thing for part in alike for thing in part]
            if len(members) == is_free.sum() and len(alike) == len(places):
                break
            # What has no place in a strand is nothing but itself.
            places = alike
            is_free[:] = False
            is_free[members] = True
            others = np.flatnonzero(~is_free)
            sign[others] = others
            near = is_free[a] | is_free[b]
            a, b = a[near], b[near]
            before, after = mix(sign[a] * np.uint64(2)), mix(sign[b] * np.uint64(2) + np.uint64(1))
            sign = mix(sign)
            np.add.at(sign, b, before)
            np.add.at(sign, a, after)
        return places

    def readers(self, groups: list[list[int]]) -> list[list[int]]:
        """Many alike ops that read the same alone, and many inputs; a group is one that is read."""
        a, b = self._lines_between(groups)
        sign = mix(self.color)
        np.add.at(sign, b, mix(a.astype(np.uint64)))
        may = self.may & self.is_op & ~self.is_layer & ~self.edges.enters
        may &= np.bincount(b, minlength=len(may)) > 0
        least = np.where(self.is_input, _INPUTS, _READERS)
        alike = self._equal(sign, may | self.is_input, groups)
        return [part for part in alike if len(part) >= least[part[0]]]

    def _alone(self) -> Hashes:
        """A number per thing, of its structure and of whether lines cross its container's rim."""
        crosses = self.edges.enters * np.uint64(1) + self.edges.leaves * np.uint64(2)
        return mix(self.color + crosses)

    def _lines_between(self, groups: list[list[int]]) -> Lines:
        """The source and the target of each line, once each; a group is one thing."""
        stands_for = contract(groups, len(self.color))
        lines = distinct(stands_for[self.source] * len(self.color) + stands_for[self.target])
        return lines // len(self.color), lines % len(self.color)

    def _equal(self, sign: Hashes, may: Mask, groups: list[list[int]]) -> list[list[int]]:
        """The things of equal sign that may be folded and are in no group, in the graph's order."""
        is_free = may.copy()
        is_free[[thing for part in groups for thing in part]] = False
        things = np.flatnonzero(is_free)
        things = things[np.lexsort((self.first[things], sign[things]))]
        return runs_of(things, sign[things])

    def keep_acyclic(
        self, groups: list[list[int]], fixed: Sequence[list[int]] = ()
    ) -> list[list[int]]:
        """The groups that are in no cycle once they are drawn as one box."""
        return keep_acyclic(groups, (self.source, self.target), len(self.color), fixed)

    def name_groups(self, groups: list[list[int]]) -> list[SiblingGroup]:
        """The folds, less those whose name is taken and those that would be all there is to see."""
        nodes, item_counts = len(self.outline), self._count_shown(groups)
        names = [*self.outline.names, *self.index.names]
        for block in np.flatnonzero(
            self.outline.blocks
        ).tolist():  # a fold of blocks is none itself
            names[block] = names[block].removesuffix(BEGUN).replace(UP_TO, "")
        groups_by_name: dict[str, SiblingGroup] = {}
        scope_ids, other_groups = (
            self.index.scopes.ids,
            frozenset(self.outline.names[len(self.index.scopes.names) :]),
        )
        # A constant goes with the ops that read it, though their gradients read it as well.
        wholes = add_feeders(groups, self.edges.without_training(self.outline), self.is_value)
        for part, whole in zip(groups, wholes, strict=True):
            container = int(self.edges.around[part[0]])
            last_name, label = _last_name(names[part[0]], names[part[-1]])
            name = f"{names[part[0]]} … {last_name}"
            bare = item_counts[container] == 1 and len(part) <= _MOST_BARE
            exists = (
                name in groups_by_name
                or name in self.index.ids
                or name in scope_ids
                or name in other_groups
            )
            if not bare and not exists:
                scopes = part[0] < nodes
                ops = () if scopes else [thing - nodes for thing in part]
                operands = [thing - nodes for thing in sorted({*whole} - {*part})]
                groups_by_name[name] = SiblingGroup(
                    name, container, part if scopes else (), ops, label, operands=operands
                )
        return [*groups_by_name.values()]

    def _count_shown(self, groups: list[list[int]]) -> Ints:
        """How many boxes that matter each container shows when it is folded."""
        stands_for = contract(groups, len(self.color))
        is_shown = (stands_for == np.arange(len(stands_for))) & self.depends_on_input
        is_shown |= np.isin(np.arange(len(stands_for)), [part[0] for part in groups])
        is_shown[0] = False
        counts: Ints = np.bincount(self.edges.around[is_shown], minlength=len(self.outline)).astype(
            np.int32
        )
        return counts


def _last_name(first: str, last: str) -> tuple[str, str]:
    """The last member's name without the scopes around it, and what is written on the box if that
    is not the name.

    Of names that end alike, the scope that distinguishes them belongs to both.
    """
    if last_part(first) != last_part(last):
        return last_part(last), ""
    names = ["/".join(name.split("/")[-2:]) for name in (first, last)]
    return names[1], " … ".join(names)


def _rare(color: Hashes) -> npt.NDArray[np.intp]:
    """The things that are like fewer others than make a fold."""
    # np.unique with counts takes twice the memory, 100 MB for a million ops.
    order = np.argsort(color)
    ordered = color[order]
    cuts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1], True])
    counts = np.diff(cuts)
    return order[np.repeat(counts < _SCOPES, counts)]


def _best_neighbors(
    of: npt.NDArray[np.int64], to: npt.NDArray[np.int64], rank: Ints, first: Ints
) -> dict[int, int]:
    """For each thing the one of its neighbors that ranks lowest."""
    order = np.lexsort((first[to], rank[to], of))
    of, to = of[order], to[order]
    fresh = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
    return dict(zip(of[fresh].tolist(), to[fresh].tolist(), strict=True))
