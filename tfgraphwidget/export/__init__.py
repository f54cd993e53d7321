"""Writes what an editor holds to files, and proves that what was written is what the editor holds."""

from __future__ import annotations

from tfgraphwidget.export.formats.event_file import write_events
from tfgraphwidget.export.html.page_input import Viewed
from tfgraphwidget.export.request import EditedSavedModel, Export
from tfgraphwidget.export.signatures import DEFAULT, asked, is_chosen
from tfgraphwidget.export.writer import save

__all__ = ["DEFAULT", "EditedSavedModel", "Export", "Viewed", "asked", "is_chosen", "save", "write_events"]
