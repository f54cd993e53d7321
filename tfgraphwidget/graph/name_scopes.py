"""The tree of name scopes, as intervals over the ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import DEEPEST, FIND_OPS, did_you_mean, scope_around

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ScopeTree:
    """Name scopes numbered parents first; scope 0 is the root, named "".

    An op belongs to the deepest scope around it, of the 200 that may lie in each other
    (`names.enclosing_scopes`). An op that has a scope of its own name (as "w" beside "w/read")
    belongs inside that scope: TensorFlow's way of naming the parts of one thing; `named` has that
    op for each scope, -1 for none. `order` lists the ops scope by scope, so that scope s with all
    below it is `order[start[s]:stop[s]]`.
    """

    names: Sequence[str]
    parent: Ids
    scope_of: Ids
    named: Ids
    start: Ids
    stop: Ids
    order: Ids

    @classmethod
    def build(cls, op_ids: Mapping[str, int]) -> ScopeTree:
        """The scope tree over ops in graph order, from 0; siblings are in order of first ops."""
        none = np.zeros(0, dtype=np.int32)
        root = cls([""], np.zeros(1, dtype=np.int32), none, none, none, none, none)
        return root.with_ops(list(op_ids), op_ids)

    def with_ops(self, new: Sequence[str], op_ids: Mapping[str, int]) -> ScopeTree:
        """The tree with more ops after those that it has; `op_ids` numbers all of them."""
        ids, parents = dict(self.ids), self.parent.tolist()
        # A short name cannot lie too deep. Each scope's text once: of a million ops all of them
        # take 80 MB.
        around = (
            name.rpartition("/")[0] if len(name) <= DEEPEST else scope_around(name) for name in new
        )
        number_of = ids.get
        scope_of_new = np.fromiter(
            (
                number
                if (number := number_of(scope)) is not None
                else _add_scope(scope, ids, parents)
                for scope in around
            ),
            np.int32,
            len(new),
        )
        scope_of = np.concatenate([self.scope_of, scope_of_new])
        named = np.full(len(ids), -1, dtype=np.int32)
        named[: len(self.named)] = self.named
        fresh = list(ids)[len(self.named) :]
        named[len(self.named) :] = np.fromiter(
            map(op_ids.get, fresh, repeat(-1)), np.int32, len(fresh)
        )
        if len(self.names) > 1:  # a new op may have the name of a scope that was there
            for op, name in enumerate(new, len(self.scope_of)):
                if name in ids:
                    named[ids[name]] = op
        own = np.flatnonzero(named >= 0)
        scope_of[named[own]] = own
        parent = np.array(parents, dtype=np.int32)
        tree = ScopeTree(
            list(ids), parent, scope_of, named, *intervals(levels(parent), parent, scope_of)
        )
        tree.__dict__["ids"] = ids
        return tree

    @cached_property
    def ids(self) -> dict[str, int]:
        """Scope name -> number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def last_parts(self) -> tuple[dict[str, int], Ids]:
        """The last parts of scopes' names in small letters, and the number of each scope's."""
        numbers: dict[str, int] = {}
        texts = (name.rpartition("/")[2].casefold() for name in self.names)
        part_of = np.fromiter(
            (numbers.setdefault(text, len(numbers)) for text in texts), np.int32, len(self.names)
        )
        return numbers, part_of

    @cached_property
    def depth(self) -> Ids:
        """How many scopes each scope lies in, itself included; the root 0."""
        return depths(self.parent)

    @cached_property
    def children(self) -> list[list[int]]:
        """For each scope the scopes directly inside it."""
        inside: list[list[int]] = [[] for _ in self.names]
        for scope, outer in enumerate(self.parent.tolist()):
            if scope:
                inside[outer].append(scope)
        return inside

    def ops(self, scope: int) -> Ids:
        """All ops inside a scope, nested ones included, in graph order."""
        return np.sort(self.order[self.start[scope] : self.stop[scope]])

    def own_ops(self, scope: int) -> Ids:
        """The ops directly inside a scope, in graph order."""
        inside = self.order[self.start[scope] : self.stop[scope]]
        return np.sort(inside[self.scope_of[inside] == scope])

    def scope(self, name: str) -> int:
        """The number of a scope; a trailing slash is allowed."""
        number = self.ids.get(name.rstrip("/"))
        if number is None:
            raise UnknownName(
                f"This graph has no name scope {name[:200]!r}"
                + did_you_mean(name, self.names, otherwise=FIND_OPS)
            )
        return number


def depths(parent: Ids) -> Ids:
    """How far below the root each node of a tree is; the root, number 0, has depth 0."""
    depth = np.zeros(len(parent), dtype=np.int32)
    above, below = parent.copy(), np.arange(len(parent)) > 0
    while below.any():
        depth[below] += 1
        below &= above > 0
        above = parent[above]
    return depth


def levels(parent: Ids) -> list[Ids]:
    """The nodes of each depth of a tree, siblings together."""
    depth = depths(parent)
    order = np.lexsort((parent, depth)).astype(np.int32)
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def intervals(by_level: list[Ids], parent: Ids, home: Ids) -> tuple[Ids, Ids, Ids]:
    """(start, stop, order): all ops in a node, inner ones too: order[start[node]:stop[node]]."""
    own = np.bincount(home, minlength=len(parent)).astype(np.int32)
    total = own.copy()
    for nodes in reversed(by_level[1:]):
        np.add.at(total, parent[nodes], total[nodes])
    start = np.zeros(len(parent), dtype=np.int32)
    for nodes in by_level[1:]:
        around = parent[nodes]
        before = np.cumsum(total[nodes]) - total[nodes]
        fresh = np.flatnonzero(np.r_[True, around[1:] != around[:-1]])
        before -= np.repeat(before[fresh], np.diff(np.r_[fresh, len(nodes)]))
        start[nodes] = start[around] + own[around] + before
    order = np.argsort(start[home], kind="stable").astype(np.int32)
    return start, (start + total).astype(np.int32), order


def _add_scope(scope: str, ids: dict[str, int], parent: list[int]) -> int:
    """Number a scope, after those around it that have no number yet."""
    outer = scope.rpartition("/")[0]
    around = ids.get(outer)
    parent.append(_add_scope(outer, ids, parent) if around is None else around)
    number = ids[scope] = len(parent) - 1
    return number
