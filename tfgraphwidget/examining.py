"""Examining: what the panel tells of an op beyond its wiring, and pictures of the drawing as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget import protocol as p
from tfgraphwidget.errors import GraphEditError

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor


class Examining:
    """Answers to Examine and Picture."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def answer(self, name: str) -> p.Examined:
        """What can be said of an op beyond its wiring."""
        raise GraphEditError("Not yet.")

    def picture(self, asked: p.Picture) -> tuple[p.Reply, list[bytes]]:
        """The drawing as a file."""
        raise GraphEditError("Not yet.")

    def legend(self) -> p.Legend | None:
        """What the colours of the drawing mean."""
        return None
