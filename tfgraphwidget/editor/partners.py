"""Partners: which op of two graphs is which, and where one belongs that only one of them has."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping
from functools import cached_property

from tfgraphwidget.graph import Difference, GraphIndex, renamed_parts
from tfgraphwidget.naming import enclosing_scopes, scopes_around

MAX_VISITED = 200  # ops that are looked at for one that both graphs have


class Partners:
    """Which op of two graphs is which, as few names as say it: a scope that was renamed is one
    pair.

    Attributes:
        after_of: {op of the first graph: op of the second}.
        before_of: {op of the second graph: op of the first}.
        scopes: (before, after) names of scopes; what is in one is in the other by the same name.
        exceptions: (before, after) of ops that the scopes do not say; None for no op.
    """

    def __init__(self, before: GraphIndex, after: GraphIndex, difference: Difference) -> None:
        self.before, self.after = before, after
        removed, renamed = set(difference.removed), dict(difference.renamed)
        self.after_of = {
            name: renamed.get(name, name)
            for name in before.names
            if name not in removed and renamed.get(name, name) in after.ids
        }
        self.before_of = {there: here for here, there in self.after_of.items()}
        self.scopes = renamed_scopes(difference.renamed)
        ways = (
            (dict(self.scopes), before, self.after_of),
            ({there: here for here, there in self.scopes}, after, self.before_of),
        )
        exceptions: dict[tuple[str | None, str | None], None] = {}
        for way, (scopes, index, partners) in enumerate(ways):
            for name in index.names:
                partner = partners.get(name)
                if likely_partner(name, scopes) != partner:
                    exceptions[(name, partner) if way == 0 else (partner, name)] = None
        self.exceptions = list(exceptions)

    def shown_op(self, name: str, *, is_after: bool) -> str:
        """The op that is drawn for one: of an op in a function that was compared in place of its
        call, the call; of a scope in it too.
        """
        ids = (self.after if is_after else self.before).ids
        if name in ids or name.rstrip("/") in self._scopes[is_after]:
            return name
        return call_around(name, ids) or name

    @cached_property
    def _scopes(self) -> tuple[set[str], set[str]]:
        """The name scopes of both graphs."""
        return scopes_around(self.before.names), scopes_around(self.after.names)

    def beside(self, name: str, *, is_after: bool) -> str:
        """An op near one that only one graph has, by its name in the other graph; "" for none."""
        index, partners = (self.after, self.before_of) if is_after else (self.before, self.after_of)
        if name not in index.ids:
            return ""
        start = index.ids[name]
        visited, queue = {start}, deque([start])
        while queue and len(visited) < MAX_VISITED:
            op = queue.popleft()
            partner = partners.get(index.names[op])
            if partner is not None:
                return partner
            for near in (*index.input_lists[op], *index.consumer_lists[op]):
                if near not in visited:
                    visited.add(near)
                    queue.append(near)
        return ""


def call_around(name: str, ops: Container[str]) -> str:
    """The call whose function an op is in, by the name that it has in place of the call among the
    graph's own ops; "" for none.

    >>> call_around("net/call/block/Relu", {"net/call", "net/x"}), call_around("a/b", {"b"})
    ('net/call', '')
    """
    return next((scope for scope in reversed([*enclosing_scopes(name)]) if scope in ops), "")


def likely_partner(name: str, scopes: Mapping[str, str]) -> str:
    """The name that an op has in the other graph if only scopes are renamed, {scope: its name in
    the other graph}.

    >>> likely_partner("net/a/b", {"net": "web", "net/a": "web/c"}), likely_partner("x", {})
    ('web/c/b', 'x')
    """
    for scope in reversed([*enclosing_scopes(name)] if scopes else []):
        if scope in scopes:
            return scopes[scope] + name[len(scope) :]
    return name


def renamed_scopes(renamed: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The renamed scopes, each with one partner, as (before, after)."""
    count: Counter[tuple[str, str]] = Counter()
    for before, after in renamed:
        pair = renamed_parts(before, after)
        if pair != (before, after):
            count[pair] += 1
    here, there = set[str](), set[str]()
    scopes = []
    for (before, after), _ in count.most_common():
        if before not in here and after not in there:
            scopes.append((before, after))
            here.add(before)
            there.add(after)
    return scopes
