"""An edit between its plan and its application: a preview is its report, and nothing has changed
yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Boundary, EditTarget  # noqa: TC004  # strings at run time
    from tfgraphwidget.editor.transaction import Transaction  # noqa: TC004
    from tfgraphwidget.edits import Edits, Patch, Preview  # noqa: TC004


@dataclass(frozen=True)
class Outcome:
    """The result of an edit: the applied patch, what the user gets, and what was lost."""

    patch: Patch
    results: tuple[object, ...] = ()
    losses: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedEdit:
    """An edit that was planned and checked, and not applied yet.

    `place` is the graph that it changes, None for a module of its own. `report` is what it would
    do. `apply` makes it, as steps of a transaction, and `check` raises what that would raise before
    anything has changed. `notes` gives sentences on it once it is made,
    `marking` is the boundary that is marked then. `reserved` and `imported` are those of the step
    that will be recorded.
    """

    place: EditTarget | None
    report: Edits | Preview
    apply: Callable[[Transaction], Outcome]
    check: Callable[[], object] = tuple
    notes: Callable[[], tuple[str, ...]] = tuple
    marking: Boundary = ((), ())
    reserved: tuple[str, ...] = ()
    imported: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to do, so that nothing is applied or recorded."""
        return getattr(self.report, "is_nothing", False)
