"""Rewire: what the commands that move edges have in common: collect, mend, check, and only then a patch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, cast

from tfgraphwidget.edits import checks, mending
from tfgraphwidget.edits.mending import Mend
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.wires import Wires
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex


class Rewire(ABC):
    """A command that moves edges.

    `mend` is put between a reader and a tensor that does not fit it. `names` are those of the ops that are added, in
    their order; the rest get free ones.
    """

    mend: Mend = ""
    names: tuple[str, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it may add ops."""
        return bool(self.mend)

    @abstractmethod
    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:  # noqa: ARG002
        """The patch; GraphEditError, which names both ends of the edge, when it cannot be right."""
        return self._checked(index).patch()

    def settled(self, index: GraphIndex) -> Any:
        """The same with the names of new ops written down, if a graph without hidden ops would give them others."""
        if self.names or not index.reserved or not self.adds:
            return self
        wires = self._checked(index)
        return _with(self, names=tuple(wires.called)) if wires.called != wires.plain else self

    def mends(self, index: GraphIndex) -> tuple[Any, ...]:
        """Commands that may do the same where this one is refused for what the ends of edges are."""
        try:
            wires = self.wires(index)
        except GraphEditError:
            return ()
        return () if self.mend else tuple(_with(self, mend=kind) for kind in mending.possible(wires))

    def _checked(self, index: GraphIndex) -> Wires:
        wires = self.wires(index)
        if self.mend:
            mending.mend(wires, self.mend)
        checks.check(wires)
        return wires


def _with(command: Any, **fields: Any) -> Any:
    return replace(cast("Any", command), **fields)
