"""Matching the ops of two graphs by name, and where names differ by their neighbors.

Ops are told apart by labels, as Weisfeiler and Lehman do it: first by type and attributes, then, round after round, by
the labels of those they read, wait for and feed. An op that has its name in both graphs is a landmark: its label says
which it is. Where one op of each graph has a label, the two are one; and what stands at the same place beside such a
pair, and is of the same kind, is one too. Where several are alike none is paired: nothing is guessed. Linear in edges.
Before all that go names that differ in their outer scopes alone: a graph that was imported under a scope.
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
_ROUNDS = (12, 3, 1)  # first what is alike far around, then what is alike nearby
_DROPPED = ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2))  # outer scopes of names, before and after
_UP, _DOWN, _OWN = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))


def match_ops(
    before: GraphIndex,
    after: GraphIndex,
    attributes: tuple[AttributeDigests, AttributeDigests],
    renamed: Mapping[str, str],
) -> Ids:
    """For each op of `before` the number of the op of `after` that it is; -1 for none.

    `renamed` are names before -> after that are known.

    Args:
        before: The first graph.
        after: The second graph.
        attributes: The digests of both.
        renamed: Names in `before` -> names in `after` that are known.
    """
    forth = np.fromiter(map(after.ids.get, before.names, repeat(-1)), np.int32, len(before))
    renamed_pairs = {before.ids[a]: after.ids[b] for a, b in renamed.items() if a in before.ids and b in after.ids}
    forth[np.isin(forth, list(renamed_pairs.values()))] = -1
    forth[list(renamed_pairs)] = list(renamed_pairs.values())
    back = np.full(len(after), -1, np.int32)
    back[forth[forth >= 0]] = np.flatnonzero(forth >= 0)
    both = _Both(_Side(before, attributes[0], forth), _Side(after, attributes[1], back))
    if both.is_done():
        return forth
    both.unite(both.by_state())
    for parts in _DROPPED:
        if not both.is_done():
            both.unite(both.by_tail(*parts))
    for own_names in (True, False):
        for rounds in _ROUNDS:
            if not both.is_done():
                both.unite(both.alone(rounds, own_names=own_names))
                both.spread(own_names=own_names)
    return forth


class _Side:
    """One of the two graphs; `pair` has for each of its ops the other's, -1 for none yet."""

    def __init__(self, index: GraphIndex, attributes: AttributeDigests, pair: Ids) -> None:
        self.index, self.pair, self._attributes = index, pair, attributes
        inputs, controls = index.inputs, index.controls
        slots = np.arange(len(inputs.values), dtype=np.uint64) - np.repeat(inputs.start[:-1], np.diff(inputs.start))
        self._reader = np.concatenate([inputs.owner, controls.owner])
        self._source = np.concatenate([inputs.values, controls.values])
        # Where an edge ends and begins: the slot and the port, 0 for a control edge.
        place = slots * np.uint64(1 << 20) + index.ports.astype(np.uint64) + np.uint64(1)
        self._place = np.concatenate([place.astype(np.uint64), np.zeros(len(controls.values), np.uint64)])

    @property
    def unpaired(self) -> Mask:
        """The ops without a pair."""
        return np.asarray(self.pair < 0)

    @cached_property
    def kinds(self) -> dict[int, int]:
        """For each op that has no name in the other graph, what its type and attributes are."""
        return {i: hash(self._attributes.kind(i)) for i in np.flatnonzero(self.unpaired).tolist()}

    def tails(self, outer_scopes: int) -> dict[Hashable, int]:
        """The ops that have no pair by kind and name without so many outer scopes; -1 where several have the same."""
        tails: dict[Hashable, int] = {}
        for i in np.flatnonzero(self.unpaired).tolist():
            parts = self.index.names[i].split("/", outer_scopes)
            if len(parts) > outer_scopes:
                key = self.kinds[i], parts[outer_scopes]
                tails[key] = -1 if key in tails else i
        return tails

    def labels(self, landmarks: Ids, rounds: int, *, own_names: bool) -> Labels:
        """A label for each op; of those that are paired the numbers `landmarks` say which they are."""
        first = _mix(landmarks.astype(np.uint64) + np.uint64(1))
        names = self.index.names
        for i, kind in self.kinds.items():
            if self.pair[i] < 0:
                label = hash((kind, last_part(names[i]))) if own_names else kind
                first[i] = label % (1 << 64)
        labels, fixed = first, ~self.unpaired
        for _ in range(rounds):
            near = self._sums(self._by_reader, labels[self._source], _UP)
            near += self._sums(self._by_source, labels[self._reader], _DOWN)
            labels = np.where(fixed, first, _mix(first * _OWN + near))
        return labels

    def _sums(self, order: tuple[Ids, Ids], labels: Labels, way: np.uint64) -> Labels:
        """For each op the sum, which has no order, of what its edges carry."""
        start, places = order
        carried = _mix(labels * way + self._place)[places]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(carried, dtype=np.uint64)])
        return np.asarray(total[start[1:]] - total[start[:-1]])

    @cached_property
    def _by_reader(self) -> tuple[Ids, Ids]:
        return self._group_edges(self._reader)

    @cached_property
    def _by_source(self) -> tuple[Ids, Ids]:
        return self._group_edges(self._source)

    def _group_edges(self, owner: Ids) -> tuple[Ids, Ids]:
        count = np.bincount(owner, minlength=len(self.index))
        start = np.concatenate([[0], np.cumsum(count)])
        return start.astype(np.int32), np.argsort(owner, kind="stable").astype(np.int32)

    @cached_property
    def _rows(self) -> tuple[tuple[Rows, Rows], ...]:
        """For each op those it reads, and those that read it, with the places."""
        rows = []
        for (start, order), ends in ((self._by_reader, self._source), (self._by_source, self._reader)):
            starts = start.tolist()
            rows.append((Rows(ends[order].tolist(), starts), Rows(self._place[order].tolist(), starts)))
        return tuple(rows)

    def border(self) -> Ids:
        """The paired ops that have one without a pair beside them."""
        near, unpaired = np.zeros(len(self.index), bool), self.unpaired
        near[self._source[unpaired[self._reader]]] = True
        near[self._reader[unpaired[self._source]]] = True
        return np.flatnonzero(near & ~unpaired).astype(np.int32)

    def beside(self, op: int, *, own_names: bool) -> dict[Hashable, int]:
        """The ops beside one that have no pair, by place and kind; -1 where several have the same."""
        names = self.index.names
        neighbors: dict[Hashable, int] = {}
        for way, (ends, places) in enumerate(self._rows):
            for other, place in zip(ends[op], places[op], strict=True):
                if self.pair[other] < 0:
                    key = way, place, self.kinds[other], last_part(names[other]) if own_names else ""
                    neighbors[key] = other if neighbors.get(key, other) == other else -1
        return neighbors


class _Both:
    """The two graphs."""

    def __init__(self, before: _Side, after: _Side) -> None:
        self.before, self.after = before, after

    def is_done(self) -> bool:
        """Whether there is nothing left to pair."""
        return not (self.before.unpaired.any() and self.after.unpaired.any())

    def unite(self, pairs: Iterable[Pair]) -> None:
        """Let some ops be pairs."""
        for a, b in pairs:
            self.before.pair[a], self.after.pair[b] = b, a

    def by_state(self) -> list[Pair]:
        """The ops that hold the same state: of one type, and of one key, which one op has in each graph."""
        ops_by_key = []
        for side in (self.before, self.after):
            ops = np.flatnonzero(persistent_state(side.index) & side.unpaired).tolist()
            keys = [(side.index.types[i], *key_of(side.index, i)) for i in ops]
            count = Counter(keys)
            ops_by_key.append({key: i for key, i in zip(keys, ops, strict=True) if count[key] == 1})
        return [(i, ops_by_key[1][key]) for key, i in ops_by_key[0].items() if key in ops_by_key[1]]

    def alone(self, rounds: int, *, own_names: bool) -> list[Pair]:
        """The ops of which each graph has one with that label."""
        matched = np.flatnonzero(~self.before.unpaired)
        theirs = np.zeros(len(self.after.index), np.int32)
        theirs[self.before.pair[matched]] = matched
        numbers = np.arange(len(self.before.index), dtype=np.int32), theirs
        unique = []
        for side, number in zip((self.before, self.after), numbers, strict=True):
            ops = np.flatnonzero(side.unpaired)
            label, at, count = np.unique(
                side.labels(number, rounds, own_names=own_names)[ops], return_index=True, return_counts=True
            )
            unique.append((label[count == 1], ops[at[count == 1]]))
        _, a, b = np.intersect1d(unique[0][0], unique[1][0], assume_unique=True, return_indices=True)
        return list(zip(unique[0][1][a].tolist(), unique[1][1][b].tolist(), strict=True))

    def by_tail(self, before: int, after: int) -> list[Pair]:
        """The ops of one kind, and of one name but for so many outer scopes, which one op has in each graph."""
        here, there = self.before.tails(before), self.after.tails(after)
        return [(i, there[key]) for key, i in here.items() if i >= 0 and there.get(key, -1) >= 0]

    def spread(self, *, own_names: bool) -> None:
        """Pair what stands at the same place beside a pair, from there on too."""
        stack = [(a, int(self.before.pair[a])) for a in self.before.border().tolist()]
        while stack:
            a, b = stack.pop()
            here = self.before.beside(a, own_names=own_names)
            there = self.after.beside(b, own_names=own_names) if here else {}
            new = [(op, there[key]) for key, op in here.items() if op >= 0 and there.get(key, -1) >= 0]
            for pair in new:
                if self.before.pair[pair[0]] < 0 and self.after.pair[pair[1]] < 0:
                    self.unite([pair])
                    stack.append(pair)


def _mix(labels: Labels) -> Labels:
    """Labels well shuffled: equal ones stay equal, others hardly ever become so."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        labels = (labels ^ (labels >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(labels ^ (labels >> np.uint64(31)))
