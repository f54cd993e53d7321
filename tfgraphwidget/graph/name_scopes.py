"""The tree of name scopes, as intervals over the ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import did_you_mean, enclosing_scopes, scope_around

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ScopeTree:
    """Name scopes numbered parents first; scope 0 is the root, named "".

    An op belongs to the deepest scope around it, of the 200 that may lie in each other (`names.enclosing_scopes`). An
    op that has a scope of its own name (as "w" beside "w/read") belongs inside that scope: TensorFlow's way of naming
    the parts of one thing.
    `order` lists the ops scope by scope, so that scope s with all below it is `order[start[s]:stop[s]]`.
    """

    names: Sequence[str]
    parent: Ids
    scope_of: Ids
    order: Ids
    start: Ids
    stop: Ids

    @classmethod
    def build(cls, op_names: Sequence[str]) -> ScopeTree:
        """The tree over ops in graph order; sibling scopes are in the order of their first op."""
        ids = {"": 0}
        parent = [0]
        for name in op_names:
            if scope_around(name) not in ids:
                _add_scopes(name, ids, parent)
        scope_of = np.array([_home(name, ids) for name in op_names], dtype=np.int32)
        return cls._with_intervals(list(ids), np.array(parent, dtype=np.int32), scope_of)

    @classmethod
    def _with_intervals(cls, names: list[str], parent: Ids, scope_of: Ids) -> ScopeTree:
        count = len(parent)
        own = np.bincount(scope_of, minlength=count).astype(np.int64)
        total = own.copy()
        for scope in range(count - 1, 0, -1):
            total[parent[scope]] += total[scope]
        start = np.zeros(count, dtype=np.int64)
        next_free = own.copy()
        for scope in range(1, count):
            outer = parent[scope]
            start[scope] = next_free[outer]
            next_free[outer] += total[scope]
            next_free[scope] += start[scope]
        order = np.argsort(start[scope_of], kind="stable").astype(np.int32)
        return cls(names, parent, scope_of, order, start.astype(np.int32), (start + total).astype(np.int32))

    @cached_property
    def ids(self) -> dict[str, int]:
        """Scope name -> number."""
        return {name: i for i, name in enumerate(self.names)}

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
            raise UnknownName(f"This graph has no name scope {name[:200]!r}.{did_you_mean(name, self.names)}")
        return number


def _add_scopes(name: str, ids: dict[str, int], parent: list[int]) -> None:
    """Number the scopes around a name that have no number yet, outermost first."""
    outer = 0
    for scope in enclosing_scopes(name):
        at = ids.get(scope)
        if at is None:
            at = ids[scope] = len(parent)
            parent.append(outer)
        outer = at


def _home(name: str, ids: dict[str, int]) -> int:
    own = ids.get(name)
    return own if own is not None else ids[scope_around(name)]
