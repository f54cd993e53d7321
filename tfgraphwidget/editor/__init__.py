"""The editor: a graph, what is selected and shown of it, and the edits that were made. Complete without a browser."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_editor import GraphEditor
    from tfgraphwidget.editor.synchronization import sync

__all__ = ["GraphEditor", "sync"]
_MODULES = {"GraphEditor": "graph_editor", "sync": "synchronization"}


def __getattr__(name: str) -> Any:
    """A public name, whose module is loaded when it is first asked for."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
