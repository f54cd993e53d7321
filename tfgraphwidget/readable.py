"""Reads files, and nothing else that has a path: of pipes and devices no end may come. Needs no
TensorFlow.

Opening a named pipe waits until something is written to it, and /dev/zero has no end. The shell
gives a pipe for `<(command)`, too: /dev/fd/63. A graph and its edits are read more than once, which
a pipe cannot be.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from tfgraphwidget.errors import GraphEditError

_SHOWN = 200  # characters of a path in a sentence
_KINDS = (
    (
        stat.S_ISFIFO,
        (
            "a pipe, which can be read only once; write what comes out of it to a file first, and "
            "give that."
        ),
    ),
    (stat.S_ISSOCK, "a socket; write what comes out of it to a file first, and give that."),
    (stat.S_ISCHR, "a device; give a file, or write what comes out of it to one first."),
    (stat.S_ISBLK, "a device; give a file."),
    (stat.S_ISDIR, "a directory; give a file."),
)
_NON_BLOCKING = (
    getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


def why_unreadable(path: str | os.PathLike[str], *, folders: bool = False) -> str:
    """Why there is no file at a path but something else: a sentence; "" for a file, and where
    nothing is.

    >>> why_unreadable("/dev/null")
    "'/dev/null' is a device; give a file, or write what comes out of it to one first."
    >>> why_unreadable(__file__)
    ''
    """
    try:
        mode = Path(os.fsdecode(path)).stat().st_mode
    except (OSError, ValueError):  # not there, or no name of a file; who opens it says so
        return ""
    return _reason(path, mode, folders=folders)


def open_file(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to read its bytes. Raises GraphEditError where it is not a file, and OSError."""
    why = why_unreadable(path)  # before it is opened, which is an event for some devices
    if why:
        raise GraphEditError(why)
    descriptor = os.open(path, os.O_RDONLY | _NON_BLOCKING)
    try:
        why = _reason(path, os.fstat(descriptor).st_mode)  # it may have become another since
        if why:
            raise GraphEditError(why)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The bytes of a file, as many as it had when it was opened.

    What the system makes up as it is read, as in /proc, says that it has none, and is read as that.

    Args:
        most: How many bytes it may have; None for any number.

    Raises:
        GraphEditError: It is not a file, or has more bytes.
        OSError: It cannot be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "edits.json")
    >>> file.write_bytes(b"[1, 2]")
    6
    >>> read_file(file)
    b'[1, 2]'
    >>> read_file(file, most=5)
    Traceback (most recent call last):
        ...
    tfgraphwidget.errors.GraphEditError: 'edits.json' has 6 bytes, and at most 5 are read; give
    another file.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            name = Path(os.fsdecode(path)).name[:_SHOWN]
            raise GraphEditError(
                f"{name!r} has {size:,} bytes, and at most {most:,} are read; give another file."
            )
        return file.read(size)


def _reason(path: str | os.PathLike[str], mode: int, *, folders: bool = False) -> str:
    if stat.S_ISREG(mode) or (folders and stat.S_ISDIR(mode)):
        return ""
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "no file; give one.")
    return f"{os.fsdecode(path)[:_SHOWN]!r} is {kind}"
