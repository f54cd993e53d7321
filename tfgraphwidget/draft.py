"""Draft: a graph that is edited as NodeDefs alone, where TensorFlow holds none that could be changed.

A file that was not imported yet is one, and so is every function's body. What an edit gives is a new index; the one
before it is kept, so that undo gives back the very graph that was there.
"""

from __future__ import annotations

from collections.abc import Callable

from tfgraphwidget.edits.patch import Patch, patched
from tfgraphwidget.graph.index import GraphIndex


def nothing() -> None:
    """Do nothing more."""


class Draft:
    """An index that edits exchange for another; `patches` are the edits that made it what it is.

    `first` is the one before all of them.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = self.first = index
        self._done: list[tuple[GraphIndex, Patch]] = []

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The edits that are in force, oldest first."""
        return tuple(patch for _, patch in self._done)

    def fitted(self, patch: Patch) -> Patch:
        """The patch itself: NodeDefs can be changed in every way."""
        return patch

    def carry_out(self, patch: Patch, then: Callable[[], None] = nothing, *, renew: bool = True) -> tuple[str, ...]:  # noqa: ARG002
        """Apply, and `then()`; if that fails, the graph is as before. No state is lost by it: none is kept here."""
        before = self.index
        self.index = patched(before, patch)
        try:
            then()
        except BaseException:
            self.index = before
            raise
        self._done.append((before, patch))
        return ()

    def take_back(self, patch: Patch, *, renew: bool = True) -> tuple[Patch, tuple[str, ...]]:  # noqa: ARG002
        """Undo the last edit; the patch that does it, and what was lost by it."""
        self.index, last = self._done.pop()
        assert last is patch  # a history is the only one that edits its draft
        return patch.inverse(), ()
