"""Find a file of JupyterLab on disk: the page has its path below the server's root, the kernel another directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tfgraphwidget.errors import UnknownName

_SESSION = "JPY_SESSION_NAME"  # set by jupyter_server: the file, by its absolute path, that the kernel was started for


def resolve_path(path: str, root: str = "", folder: Path | None = None) -> Path:
    """The absolute path of JupyterLab's `path`, which is "/"-separated and below the server's root.

    `root` is that root as the page was told it, "~" in front for the home folder, or "" where it was not; `folder` is
    the kernel's own, by default the current one. Raises UnknownName for a file that this machine does not have.
    """
    here = Path.cwd() if folder is None else folder
    for candidate in _candidates(path, root, here):
        if _is_there(candidate):
            return candidate
    raise UnknownName(
        f"{_short(path)} is not on a disk that this kernel can read; start JupyterLab on the machine that has the "
        "file, or copy it there."
    )


def _candidates(path: str, root: str, here: Path) -> Iterator[Path]:
    inside = path.lstrip("/")
    if root:
        yield _home(root) / inside
    started_for = os.environ.get(_SESSION, "")
    if started_for.endswith("/" + inside) or Path(started_for).name == inside:
        yield Path(started_for)
    for above in (here, *here.parents):
        yield above / inside
    if Path(path).is_absolute():
        yield Path(path)


def _home(root: str) -> Path:
    try:
        return Path(root).expanduser()
    except RuntimeError:  # of someone whom this machine does not know
        return Path(root)


def _is_there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):  # a NUL, a name too long
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}…")
