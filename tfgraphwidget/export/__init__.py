"""Writes what an editor holds to files, and proves that what was written is what the editor holds."""

from __future__ import annotations

from tfgraphwidget.export.ends import DEFAULT, asked, is_chosen
from tfgraphwidget.export.tensorboard import write_events
from tfgraphwidget.export.viewed import Viewed
from tfgraphwidget.export.what import Export
from tfgraphwidget.export.writing import save

__all__ = ["DEFAULT", "Export", "Viewed", "asked", "is_chosen", "save", "write_events"]
