"""Write graphs to files, and verify that the files compute the same."""

from __future__ import annotations

from tfgraphwidget.export.formats.event_file import write_events
from tfgraphwidget.export.html.page_input import PageInput
from tfgraphwidget.export.request import EditedSavedModel, ExportRequest
from tfgraphwidget.export.signatures import DEFAULT, is_chosen, parse_signatures
from tfgraphwidget.export.writer import save

__all__ = [
    "DEFAULT",
    "EditedSavedModel",
    "ExportRequest",
    "PageInput",
    "is_chosen",
    "parse_signatures",
    "save",
    "write_events",
]
