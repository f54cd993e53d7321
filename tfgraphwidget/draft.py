"""Draft: a graph that is edited as NodeDefs alone, where TensorFlow holds none that could be changed.

A file that was not imported yet is one, and so is every function's body. What an edit gives is a new index. The first
one is kept, so that undo gives back the very graph that was there, and the last ones, and one now and then: those
between are made again from their edits, which takes less memory than a graph for each edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tfgraphwidget.edits.patch import Patch, patched
from tfgraphwidget.graph.index import GraphIndex

_KEPT = 64
"""So many of the last states of a graph are kept, and of those before, one in so many."""


def nothing() -> None:
    """Do nothing more."""


class Draft:
    """An index that edits exchange for another; `patches` are the edits that made it what it is.

    `first` is the one before all of them.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = self.first = index
        self._done: list[Patch] = []
        self._states: dict[int, GraphIndex] = {}  # by how many edits were done then

    def copy(self) -> Draft:
        """The same, to be edited on its own."""
        same = Draft(self.first)
        same.index, same._done, same._states = self.index, list(self._done), dict(self._states)
        return same

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The edits that are in force, oldest first."""
        return tuple(self._done)

    def fitted(self, patch: Patch) -> Patch:
        """The patch itself: NodeDefs can be changed in every way."""
        return patch

    def reserve(self, names: Iterable[str]) -> None:
        """Let no op that is added from now on take these names, which are in lower case."""
        self.index = replace(self.index, reserved=self.index.reserved | set(names))

    def carry_out(self, patch: Patch, then: Callable[[], None] = nothing, *, renew: bool = True) -> tuple[str, ...]:  # noqa: ARG002
        """Apply, and `then()`; if that fails, the graph is as before. No state is lost by it: none is kept here."""
        before = self.index
        self.index = patched(before, patch)
        try:
            then()
        except BaseException:
            self.index = before
            raise
        self._states[len(self._done)] = before
        self._done.append(patch)
        old = len(self._done) - _KEPT
        if old % _KEPT:
            self._states.pop(old, None)
        return ()

    def take_back(self, patch: Patch, *, renew: bool = True) -> tuple[Patch, tuple[str, ...]]:  # noqa: ARG002
        """Undo the last edit; the patch that does it, and what was lost by it."""
        last = self._done.pop()
        assert last is patch  # a history is the only one that edits its draft
        self.index = self._state(len(self._done))
        return patch.inverse(), ()

    def _state(self, number: int) -> GraphIndex:
        """The graph after so many edits."""
        if number in self._states:
            return self._states.pop(number)
        start = max(known for known in self._states if known < number)
        index = self._states[start]
        for at in range(start, number):
            self._states[at] = index
            index = patched(index, self._done[at])
        return index
