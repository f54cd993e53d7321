"""The editor in the browser: an ipywidgets widget that answers the requests of a page."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfgraphwidget.widget.widget import GraphWidget

__all__ = ["GraphWidget"]


def __getattr__(name: str) -> Any:
    """A public name, whose module is loaded when it is first asked for."""
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.widget"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
