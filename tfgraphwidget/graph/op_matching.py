"""Matching the ops of two graphs by name, and where names differ by their neighbors.

Ops get labels as in B. Weisfeiler, A. Leman, "The reduction of a graph to canonical form" (1968):
first by type and attributes; then, round after round, by the labels of those that they consume,
wait for and feed. An op that has its name in both graphs is a landmark: its label says which it is.
Where one op of each graph has a label, the two are one; and what is at the same place beside such a
pair, and of the same kind, is one too. Where several are alike none is paired: nothing is guessed.
The work is linear in edges.

Before all that, names are matched that differ in their outer scopes alone: those of a graph that
was imported under a scope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.edges import Ids, Mask, Rows
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.stateful_resources import key_of, persistent_state
from tfgraphwidget.naming import last_part

Labels = npt.NDArray[np.uint64]
Pair = tuple[int, int]

# Rounds of labels, that is, how many edges away neighbors must be alike: first far, then near.
ROUNDS = (12, 3, 1)
# How many outer scopes of names are left out, before and after.
LEFT_OUT_SCOPES = ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2))

# Odd numbers with random bits: products by them are one to one modulo 2^64.
SOURCE_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of labels of ops that an op consumes or waits for
CONSUMER_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)  # of labels of ops that consume it or wait for it
OWN_FACTOR = np.uint64(0x165667B19E3779F9)  # of the label of the op itself

MAX_PORTS = np.uint64(1 << 20)  # a port is less, so slot and port fit into one number

AMBIGUOUS = -1  # in place of an op: there are several


def match_ops(
    before: GraphIndex,
    after: GraphIndex,
    attributes: tuple[AttributeDigests, AttributeDigests],
    renamed: Mapping[str, str],
) -> Ids:
    """For each op of `before` the number of the op of `after` that it is; -1 for none.

    `attributes` are the digests of both, and `renamed` names before -> after that are known.

    Args:
        after: The second graph.
        renamed: Names in `before` -> names in `after` that are known.
    """
    # 1. By name.
    forward = np.fromiter(map(after.ids.get, before.names, repeat(-1)), np.int32, len(before))
    renamed_pairs = {
        before.ids[old]: after.ids[new]
        for old, new in renamed.items()
        if old in before.ids and new in after.ids
    }
    forward[np.isin(forward, list(renamed_pairs.values()))] = -1
    forward[list(renamed_pairs)] = list(renamed_pairs.values())
    backward = np.full(len(after), -1, np.int32)
    backward[forward[forward >= 0]] = np.flatnonzero(forward >= 0)
    graphs = _TwoGraphs(
        _Side(before, attributes[0], forward), _Side(after, attributes[1], backward)
    )
    if graphs.is_done():
        return forward
    # 2. By state.
    graphs.pair(graphs.with_same_state())
    # 3. By name without outer scopes.
    for scopes_before, scopes_after in LEFT_OUT_SCOPES:
        if not graphs.is_done():
            graphs.pair(graphs.with_same_tail(scopes_before, scopes_after))
    # 4. By neighbors; first of those that still have the last parts of their names.
    for own_names in (True, False):
        for rounds in ROUNDS:
            if not graphs.is_done():
                graphs.pair(graphs.with_unique_label(rounds, own_names=own_names))
                graphs.pair_neighbors(own_names=own_names)
    return forward


class _Side:
    """One of the two graphs; `pair` has for each of its ops the other's, -1 for none yet."""

    def __init__(self, index: GraphIndex, attributes: AttributeDigests, pair: Ids) -> None:
        self.index = index
        self.pair = pair
        self._attributes = attributes
        inputs, controls = index.inputs, index.controls
        self._consumer = np.concatenate([inputs.owner, controls.owner])
        self._source = np.concatenate([inputs.values, controls.values])
        # The place of an edge: the slot where it ends and the port where it begins; 0 for a
        # control edge.
        first_edge = np.repeat(inputs.start[:-1], np.diff(inputs.start))
        slots = np.arange(len(inputs.values), dtype=np.uint64) - first_edge
        places = slots * MAX_PORTS + index.ports.astype(np.uint64) + np.uint64(1)
        control_places = np.zeros(len(controls.values), np.uint64)
        self._place = np.concatenate([places.astype(np.uint64), control_places])

    @property
    def unpaired(self) -> Mask:
        """The ops without a pair."""
        return np.asarray(self.pair < 0)

    @cached_property
    def kinds(self) -> dict[int, int]:
        """What type and attributes are, as a number for each op without its name in both graphs."""
        ops = np.flatnonzero(self.unpaired).tolist()
        return {op: hash(self._attributes.kind(op)) for op in ops}

    def tails(self, outer_scopes: int) -> dict[Hashable, int]:
        """The unpaired ops by kind and name without so many outer scopes; or AMBIGUOUS."""
        tails: dict[Hashable, int] = {}
        for op in np.flatnonzero(self.unpaired).tolist():
            parts = self.index.names[op].split("/", outer_scopes)
            if len(parts) > outer_scopes:
                key = self.kinds[op], parts[outer_scopes]
                tails[key] = AMBIGUOUS if key in tails else op
        return tails

    def unique_states(self) -> dict[Hashable, int]:
        """The unpaired ops that hold a state, by type and key; without those that share theirs."""
        ops = np.flatnonzero(persistent_state(self.index) & self.unpaired).tolist()
        keys = [(self.index.types[op], *key_of(self.index, op)) for op in ops]
        count = Counter(keys)
        return {key: op for key, op in zip(keys, ops, strict=True) if count[key] == 1}

    def unique_labels(
        self, landmarks: Ids, rounds: int, *, own_names: bool
    ) -> tuple[Labels, npt.NDArray[np.intp]]:
        """The labels that one unpaired op has, and these ops."""
        ops = np.flatnonzero(self.unpaired)
        labels = self._labels(landmarks, rounds, own_names=own_names)[ops]
        label, first, count = np.unique(labels, return_index=True, return_counts=True)
        is_unique = count == 1
        return label[is_unique], ops[first[is_unique]]

    def _labels(self, landmarks: Ids, rounds: int, *, own_names: bool) -> Labels:
        """A label for each op; for those that are paired, `landmarks` are numbers of the pairs."""
        first = _mix(landmarks.astype(np.uint64) + np.uint64(1))
        names = self.index.names
        for op, kind in self.kinds.items():
            if self.pair[op] < 0:
                label = hash((kind, last_part(names[op]))) if own_names else kind
                first[op] = label % (1 << 64)
        is_fixed = ~self.unpaired
        labels = first
        for _ in range(rounds):
            near = self._sums(self._by_consumer, labels[self._source], SOURCE_FACTOR)
            near += self._sums(self._by_source, labels[self._consumer], CONSUMER_FACTOR)
            labels = np.where(is_fixed, first, _mix(first * OWN_FACTOR + near))
        return labels

    def _sums(self, edges: tuple[Ids, Ids], labels: Labels, factor: np.uint64) -> Labels:
        """For each op the sum over its edges of the labels at their other ends, mixed with places.

        A sum, as the edges of an output have no order.
        """
        start, order = edges
        summands = _mix(labels * factor + self._place)[order]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(summands, dtype=np.uint64)])
        return np.asarray(total[start[1:]] - total[start[:-1]])

    @cached_property
    def _by_consumer(self) -> tuple[Ids, Ids]:
        """The edges into each op, see `_group_edges`."""
        return self._group_edges(self._consumer)

    @cached_property
    def _by_source(self) -> tuple[Ids, Ids]:
        """The edges out of each op, see `_group_edges`."""
        return self._group_edges(self._source)

    def _group_edges(self, owner: Ids) -> tuple[Ids, Ids]:
        """Where the edges of each owner begin in an order of the edges, and that order."""
        count = np.bincount(owner, minlength=len(self.index))
        start = np.concatenate([[0], np.cumsum(count)])
        return start.astype(np.int32), np.argsort(owner, kind="stable").astype(np.int32)

    @cached_property
    def _neighbors(self) -> tuple[tuple[Rows, Rows], ...]:
        """For each op its sources with the places of the edges, and the same of its consumers."""
        neighbors = []
        directions = ((self._by_consumer, self._source), (self._by_source, self._consumer))
        for (start, order), other_end in directions:
            starts = start.tolist()
            others = Rows(other_end[order].tolist(), starts)
            places = Rows(self._place[order].tolist(), starts)
            neighbors.append((others, places))
        return tuple(neighbors)

    def border(self) -> Ids:
        """The paired ops that have one without a pair beside them."""
        unpaired = self.unpaired
        near = np.zeros(len(self.index), bool)
        near[self._source[unpaired[self._consumer]]] = True
        near[self._consumer[unpaired[self._source]]] = True
        return np.flatnonzero(near & ~unpaired).astype(np.int32)

    def beside(self, op: int, *, own_names: bool) -> dict[Hashable, int]:
        """The unpaired ops beside one, by place and kind; or AMBIGUOUS."""
        names = self.index.names
        neighbors: dict[Hashable, int] = {}
        for direction, (others, places) in enumerate(self._neighbors):
            for other, place in zip(others[op], places[op], strict=True):
                if self.pair[other] < 0:
                    name = last_part(names[other]) if own_names else ""
                    key = direction, place, self.kinds[other], name
                    neighbors[key] = other if neighbors.get(key, other) == other else AMBIGUOUS
        return neighbors


class _TwoGraphs:
    """The two graphs."""

    def __init__(self, before: _Side, after: _Side) -> None:
        self.before = before
        self.after = after

    def is_done(self) -> bool:
        """Whether there is nothing left to pair."""
        return not (self.before.unpaired.any() and self.after.unpaired.any())

    def pair(self, pairs: Iterable[Pair]) -> None:
        """Let some ops be pairs."""
        for a, b in pairs:
            self.before.pair[a] = b
            self.after.pair[b] = a

    def with_same_state(self) -> list[Pair]:
        """The ops that hold the same state, which one op does in each graph."""
        return _common(self.before.unique_states(), self.after.unique_states())

    def with_same_tail(self, scopes_before: int, scopes_after: int) -> list[Pair]:
        """The ops of one kind and, without so many outer scopes, of one name."""
        return _common(self.before.tails(scopes_before), self.after.tails(scopes_after))

    def with_unique_label(self, rounds: int, *, own_names: bool) -> list[Pair]:
        """The ops with a label that one op has in each graph."""
        landmarks_before = np.arange(len(self.before.index), dtype=np.int32)
        landmarks_after = np.zeros(len(self.after.index), np.int32)
        paired = np.flatnonzero(~self.before.unpaired)
        landmarks_after[self.before.pair[paired]] = paired
        labels_a, ops_a = self.before.unique_labels(landmarks_before, rounds, own_names=own_names)
        labels_b, ops_b = self.after.unique_labels(landmarks_after, rounds, own_names=own_names)
        _, a, b = np.intersect1d(labels_a, labels_b, assume_unique=True, return_indices=True)
        return list(zip(ops_a[a].tolist(), ops_b[b].tolist(), strict=True))

    def pair_neighbors(self, *, own_names: bool) -> None:
        """Pair what is at the same place beside a pair, and go on from there."""
        stack = [(a, int(self.before.pair[a])) for a in self.before.border().tolist()]
        while stack:
            a, b = stack.pop()
            beside_a = self.before.beside(a, own_names=own_names)
            beside_b = self.after.beside(b, own_names=own_names) if beside_a else {}
            for one, other in _common(beside_a, beside_b):
                if self.before.pair[one] < 0 and self.after.pair[other] < 0:
                    self.pair([(one, other)])
                    stack.append((one, other))


def _common(before: Mapping[Hashable, int], after: Mapping[Hashable, int]) -> list[Pair]:
    """The ops that have the same key, without those that are AMBIGUOUS."""
    pairs = []
    for key, a in before.items():
        b = after.get(key, AMBIGUOUS)
        if AMBIGUOUS not in (a, b):
            pairs.append((a, b))
    return pairs


def _mix(labels: Labels) -> Labels:
    """Labels well shuffled: equal ones stay equal, others hardly ever become so.

    This is the last step of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
    pseudorandom number generators", 2014), which maps 64 bits one to one.
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        labels = (labels ^ (labels >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(labels ^ (labels >> np.uint64(31)))
