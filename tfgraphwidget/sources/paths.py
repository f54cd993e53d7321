"""Paths from arguments, and values quoted in error messages."""

from __future__ import annotations

import os
from pathlib import Path

from tfgraphwidget.errors import GraphEditError

_LONGEST = 200  # characters of a path in a message


def parse_path(argument: str | os.PathLike[str], what: str) -> Path:
    """Convert an argument to a path; a leading "~" is the home directory.

    Args:
        argument: A string, bytes or `os.PathLike`.
        what: The argument's name, for the error message.

    Raises:
        GraphEditError: When it is not a path.
    """
    try:
        text = os.fspath(argument)
    except Exception as error:
        raise GraphEditError(
            f"{what}={shorten(argument)} is not a path; give a string or a pathlib.Path."
        ) from error
    return _home(Path(os.fsdecode(text)))


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # "~someone" whom the machine does not know: a file may be named so
        return path


def parent_prefix(path: Path) -> str:
    """What stands before the last part of a path: "models/" of "models/m.pb", "" of "m.pb"."""
    return str(path.parent / "_")[:-1]


def shorten(thing: object) -> str:
    """The repr of a value, cut to about 200 characters; "<Type>" when its repr raises."""
    try:
        text = thing if type(thing) is str and len(thing) > _LONGEST else repr(thing)
        text = repr(text[:_LONGEST] + "…") if text is thing else text
    except Exception:
        return f"<{type(thing).__name__}>"
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…"


def path_error(error: Exception) -> str:
    """The reason in an error of the file system, without the file name."""
    message = getattr(error, "strerror", None)
    return str(message or error)[:_LONGEST].rstrip(". ")
