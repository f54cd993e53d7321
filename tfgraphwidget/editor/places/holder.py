"""What places know of each other: the graph that was opened, which they hold for, and the file
before an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.runtime import session as sessions

if TYPE_CHECKING:
    from tfgraphwidget.editor.places.saved_state import SavedState
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import Patch
    from tfgraphwidget.sources import Source


class ImportedFile(Protocol):
    """A file as it was when TensorFlow imported it; an undo fills `closed`."""

    index: GraphIndex
    closed: sessions.SessionContents | None
    losses: tuple[str, ...]

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The edits that were made in it, oldest first."""

    def revert(self, patch: Patch, steps: Transaction) -> tuple[Patch, tuple[str, ...]]:
        """Undo the last edit."""

    def forget_import(self) -> None:
        """Let the source be what it was before TensorFlow imported it; its session stays open."""


class Holder(Protocol):
    """The graph that was opened, which lives in one place after another."""

    source: Source
    saved: SavedState
    first: GraphIndex
    place: Any
