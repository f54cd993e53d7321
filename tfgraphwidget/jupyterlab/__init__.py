"""The kernel's side of the JupyterLab extension: list graphs, open them, and open files as
documents.

The page runs one line, `listen()`, and opens a comm; all further requests are messages on it
(`comm_handler`). Importing this package does not import TensorFlow, so that a kernel without it
stays fast.
"""

from __future__ import annotations

from typing import Any

__all__ = ["listen"]

TARGET = "tfgraphwidget.lab"
# handlers; a page that is reloaded leaves its old ones open, and Jupyter does not say so
_MOST = 32
_handlers: list[Any] = []


def listen() -> None:
    """Register the comm target that pages open; can be called repeatedly."""
    import comm

    comm.get_comm_manager().register_target(TARGET, _open_handler)


def _open_handler(comm: object, _: object) -> None:
    """Handle a comm that a page has opened."""
    from tfgraphwidget.jupyterlab.comm_handler import CommHandler

    _handlers[:] = [talk for talk in _handlers if talk.is_open]
    while len(_handlers) >= _MOST:
        _handlers.pop(0).close()
    _handlers.append(CommHandler(comm))
