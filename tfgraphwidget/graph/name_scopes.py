"""The tree of name scopes, as intervals over the ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import FIND_OPS, did_you_mean, scope_around

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
        """The tree over ops in graph order; sibling scopes are in the order of their first op.

        Args:
            op_names: The names of the ops.
        """
        ids = {"": 0}
        parent = [0]
        around = [scope_around(name) for name in op_names]
        for scope in dict.fromkeys(around):
            if scope not in ids:
                _add_scopes(scope, ids, parent)
        own = map(ids.get, op_names, map(ids.__getitem__, around))
        scope_of = np.fromiter(own, np.int32, len(op_names))
        return cls._with_intervals(list(ids), np.array(parent, dtype=np.int32), scope_of)

    @classmethod
    def _with_intervals(cls, names: list[str], parent: Ids, scope_of: Ids) -> ScopeTree:
        # Lists: a loop over numpy's numbers takes four times as long.
        count, around = len(parent), parent.tolist()
        own = np.bincount(scope_of, minlength=count).tolist()
        total = own.copy()
        for scope in range(count - 1, 0, -1):
            total[around[scope]] += total[scope]
        starts = [0] * count
        next_free = own
        for scope in range(1, count):
            outer = around[scope]
            starts[scope] = next_free[outer]
            next_free[outer] += total[scope]
            next_free[scope] += starts[scope]
        start = np.array(starts, dtype=np.int32)
        order = np.argsort(start[scope_of], kind="stable").astype(np.int32)
        return cls(names, parent, scope_of, order, start, start + np.array(total, dtype=np.int32))

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
        """The number of a scope; a trailing slash is allowed.

        Args:
            name: The name of the scope.
        """
        number = self.ids.get(name.rstrip("/"))
        if number is None:
            raise UnknownName(
                f"This graph has no name scope {name[:200]!r}{did_you_mean(name, self.names, otherwise=FIND_OPS)}"
            )
        return number


def _add_scopes(scope: str, ids: dict[str, int], parent: list[int]) -> None:
    """Number a scope, and those around it that have no number yet, outermost first."""
    new = []
    while scope not in ids:
        new.append(scope)
        scope = scope.rpartition("/")[0]
    outer = ids[scope]
    for each in reversed(new):
        parent.append(outer)
        outer = ids[each] = len(parent) - 1
