"""Plan cache: a click on Clone applies the plan that its preview showed.

A clone's plan depends on the command and on two graphs, that of the originals and that of the
copies. An index is never changed, and a graph that has changed has another index: so a plan is
valid as long as both indexes are the same objects. The session, its values and its devices are not
in a plan: they are checked and read when it is applied.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfgraphwidget import edits
from tfgraphwidget.graph import GraphIndex

_SIZE = 2  # the form of the panel, and the same form with all state of its own


@dataclass(frozen=True, eq=False)
class _Plan:
    command: edits.Clone
    index: GraphIndex
    target: GraphIndex
    patch: edits.Patch

    def is_for(self, command: edits.Clone, index: GraphIndex, target: GraphIndex) -> bool:
        """Whether planning the command would give the same patch."""
        return self.index is index and self.target is target and _is_same(self.command, command)


class PlanCache:
    """Plans of clones that were previewed and not applied yet."""

    def __init__(self) -> None:
        self._plans: tuple[_Plan, ...] = ()

    def clear(self) -> None:
        """Forget all plans: the graph has changed."""
        self._plans = ()

    def sample(self, command: edits.Clone, index: GraphIndex, target: GraphIndex) -> edits.Patch:
        """The plan of a preview, which is kept: a patch of `target`, which is the same object if it
        is the same graph; with `times`, the plan of the first copy. Raises GraphEditError; a
        refusal is not kept.
        """
        patch = self._lookup(command, index, target)
        if patch is None:
            patch = command.plan_sample(edits.IndexContext(index, target))
            self._plans = (_Plan(command, index, target, patch), *self._plans)[:_SIZE]
        return patch

    def plan(self, command: edits.Clone, index: GraphIndex, target: GraphIndex) -> edits.Patch:
        """The patch of `target` to apply: that of the preview, unless it planned one of several
        copies. Raises GraphEditError.
        """
        cached = self._lookup(command, index, target)
        if cached is not None and len(command.scopes) == command.sample_size:
            return cached
        return command.plan(edits.IndexContext(index, target))

    def _lookup(
        self, command: edits.Clone, index: GraphIndex, target: GraphIndex
    ) -> edits.Patch | None:
        return next(
            (plan.patch for plan in self._plans if plan.is_for(command, index, target)), None
        )


def _is_same(one: edits.Clone, other: edits.Clone) -> bool:
    """Whether two clones are equal; those that hold arrays are only if they hold the same ones."""
    try:
        return bool(one == other)
    except Exception:
        # Of numpy and TensorFlow, which do not say whether arrays are equal; of whatever was given.
        return False
