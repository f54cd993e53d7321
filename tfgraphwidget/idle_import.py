"""In a notebook the modules of a first drawing are imported between the cells, not while the user
waits for it.

Only a kernel imports this module: elsewhere asyncio, which a kernel has, would slow `import
tfgraphwidget`.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from contextlib import suppress

_MODULES = (
    "tfgraphwidget.edits.history",
    "tfgraphwidget.editor.graph_editor",
    "tfgraphwidget.widget.widget",
    "tfgraphwidget.scene.rendering.svg_text",
    "tfgraphwidget.scene.rendering.notebook_png",
)
_DELAY = 0.05  # seconds, so that the result of the cell is shown before


def import_when_idle() -> None:
    """Import what a first drawing needs once the kernel has run the present cell, if any."""
    ipython = sys.modules.get("IPython")
    if getattr(ipython and ipython.get_ipython(), "kernel", None) is None:
        return
    with suppress(RuntimeError):  # imported in a thread, or before the kernel has begun
        asyncio.get_running_loop().call_later(_DELAY, _import_modules)


def _import_modules() -> None:
    # The call that needs a module raises what is wrong with it, and is what an interrupt is meant
    # for.
    with suppress(Exception, KeyboardInterrupt):
        for name in _MODULES:
            importlib.import_module(name)
