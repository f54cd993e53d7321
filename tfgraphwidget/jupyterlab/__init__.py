"""What a page of JupyterLab asks of a kernel: what is there to open, open it, and a file's documents.

The page runs one line, `listen()`, and opens a comm; all that it says after that is data in messages (`talk`).
Importing this imports no TensorFlow, so a kernel that has none loaded stays quick.
"""

from __future__ import annotations

from typing import Any

__all__ = ["listen"]

TARGET = "tfgraphwidget.lab"
_MOST = 32  # talks; a page that is reloaded leaves its old ones behind, and Jupyter does not tell
_handlers: list[Any] = []


def listen() -> None:
    """Let pages open talks with this kernel; called as often as one likes."""
    import comm

    comm.get_comm_manager().register_target(TARGET, _opened)


def _opened(opened: Any, _: Any) -> None:
    """A page has opened a comm."""
    from tfgraphwidget.jupyterlab.comm_handler import CommHandler

    _handlers[:] = [talk for talk in _handlers if talk.is_open]
    while len(_handlers) >= _MOST:
        _handlers.pop(0).close()
    _handlers.append(CommHandler(opened))
