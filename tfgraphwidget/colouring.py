"""Colouring: what the colours of the drawing mean. GraphEditor is one of these."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.comparing import Comparing


class Colouring(Comparing):
    """Colours the drawing by what a person wants to know of the ops."""

    def color_by(self, by: Any = "") -> None:
        """Colour the drawing."""
        self.changed()

    @property
    def colours(self) -> tuple[str, ...]:
        """The ways to colour the drawing by name."""
        return ()
