"""Reducing: the edits that make a graph smaller, and what is made of a part of it. GraphEditor is one of these."""

from __future__ import annotations

from tfgraphwidget.freezing import Freezing


class Reducing(Freezing):
    """Freezes, strips, folds, extracts, and makes functions of edited bodies."""
