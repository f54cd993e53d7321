"""A graph of NodeDefs, which edits exchange for another.

The first one is kept, so that undo gives back exactly the graph that was there, and the last ones,
and one now and then: those between are made again from their edits, which takes less memory than a
graph for each edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tfgraphwidget import edits
from tfgraphwidget.graph import GraphIndex, with_contexts, with_runners
from tfgraphwidget.tf_types import Graph

if TYPE_CHECKING:
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import Patch

_KEPT = 64
"""So many of the last states of a graph are kept, and of those before, one in so many."""


class NodeDefGraph:
    """An index that edits exchange for another; `patches` are the edits that made it what it is.

    `first` is the one before all of them.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = self.first = index
        self._patches: list[Patch] = []
        self._states: dict[int, GraphIndex] = {}  # by how many edits were done then

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The edits that are in force, oldest first."""
        return tuple(self._patches)

    def reserve(self, names: Iterable[str]) -> None:
        """Let no op that is added from now on take these names, which are in lower case."""
        self.index = replace(self.index, reserved=self.index.reserved | set(names))

    def apply(
        self,
        patch: Patch,
        steps: Transaction,
        *,
        load: Callable[[], None] | None = None,  # noqa: ARG002
        origin: Graph | None = None,  # noqa: ARG002
        renew: bool = True,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Apply a patch, which has readers of the values, as a step of an edit; nothing is lost, as
        NodeDefs have no session.
        """
        number, before = len(self._patches), self.index
        self.index = _index_after(before, patch)
        self._states[number] = before
        self._patches.append(patch)
        steps.on_failure(self._drop, before)
        old = len(self._patches) - _KEPT
        if old % _KEPT:
            self._states.pop(old, None)
        return ()

    def _drop(self, before: GraphIndex) -> None:
        """Forget the last edit; the graph is the one before it."""
        self._patches.pop()
        self._states.pop(len(self._patches), None)
        self.index = before

    def revert(
        self,
        patch: Patch,
        steps: Transaction,
        *,
        renew: bool = True,  # noqa: ARG002
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo the last edit; the patch that does, and (), as nothing is lost."""
        assert self._patches[-1] is patch  # a history is the only one that edits its draft
        after, self.index = self.index, self._state(len(self._patches) - 1)
        self._patches.pop()
        steps.on_failure(self._put_back, patch, after)
        return patch.inverse(), ()

    def _put_back(self, patch: Patch, after: GraphIndex) -> None:
        """Let an edit that was undone be done again; the graph is the one after it."""
        self._states[len(self._patches)] = self.index
        self._patches.append(patch)
        self.index = after

    def _state(self, number: int) -> GraphIndex:
        """The graph after so many edits."""
        if number in self._states:
            return self._states.pop(number)
        start = max(earlier for earlier in self._states if earlier < number)
        index = self._states[start]
        for at in range(start, number):
            self._states[at] = index
            index = _index_after(index, self._patches[at])
        return index


def _index_after(index: GraphIndex, patch: Patch) -> GraphIndex:
    """A graph of NodeDefs after an edit, with its control flow contexts and queue runners."""
    after, add, remove = edits.apply_patch(index, patch), patch.add, patch.remove
    extras = after.extras
    if add.contexts or remove.contexts:
        removed_ops = {node.name for node in remove.nodes}
        contexts = edits.contexts_after(
            index.extras.contexts(), add.contexts, remove.contexts, removed_ops
        )
        extras = with_contexts(extras, contexts)
    if add.runners or remove.runners:
        others = list(index.extras.runners())
        for runner in remove.runners:
            # There may be two alike; one that is not there is ignored, as in a live graph.
            if runner in others:
                others.remove(runner)
        extras = with_runners(extras, (*others, *add.runners))
    return after if extras is after.extras else replace(after, extras=extras)
