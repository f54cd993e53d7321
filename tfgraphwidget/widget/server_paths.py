"""Paths of Jupyter's server, which begin at its root, and the files of this machine that they mean.

The kernel runs in another folder: that of its notebook, or, for a document, one without importable
files. The page sends a path with the server's root; the kernel answers with the path from its own
folder, which the form then shows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tfgraphwidget.errors import UnknownName

# set by jupyter_server: the file, by its absolute path, that the kernel was started for
_SESSION = "JPY_SESSION_NAME"


def resolve_path(path: str, root: str = "", folder: Path | None = None) -> Path:
    """Find the file of a path of JupyterLab on this machine.

    Args:
        path: A "/"-separated path below the root of the Jupyter server.
        root: The root as the page knows it, "~" for the home directory; "" if it does not know it.
        folder: The working directory of the kernel; None for the current one.

    Raises:
        UnknownName: If this machine does not have the file, or the path is the root and `root` is
            "".
    """
    if not (root or path.strip("/")):
        raise UnknownName(
            "Jupyter does not say where its first folder is on the disk; type the path."
        )
    here = Path.cwd() if folder is None else folder
    for candidate in _candidates(path, root, here):
        if _is_there(candidate):
            return candidate
    raise UnknownName(
        f"{_short(path)} is not on a disk that this kernel can read; start JupyterLab on the "
        "machine that has the file, or copy it there."
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


def path_from(path: Path, folder: Path) -> str:
    """A path as it can be typed where paths are relative to a folder: "" for the folder itself,
    from there upwards ("../data/x.npy") for one beside it, and the absolute path for one that has
    nothing but the root of the disk in common with it.
    """
    there, here = path.parent.resolve() / path.name, folder.resolve()
    if path.resolve() == here:
        return ""
    try:
        shared = os.path.commonpath([there, here])
    except ValueError:  # on another drive
        return str(there)
    if shared == there.anchor:
        return str(there)
    relative = Path(os.path.relpath(there, here)).as_posix()
    # "..", where the folder is a link, is another folder for a shell than for the disk.
    if relative.startswith("..") and folder != here:
        return str(there)
    return f"./{relative}" if relative.startswith("~") else relative
