"""Paths as people give them, and short quotations for sentences."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tfgraphwidget.errors import GraphEditError

_LONGEST = 200


def parse_path(given: Any, what: str) -> Path:
    """The path that was given, "~" at its beginning the home folder; GraphEditError for what is none."""
    try:
        text = os.fspath(given)
    except Exception as error:
        raise GraphEditError(f"{what}={shorten(given)} is no path; give a string or a pathlib.Path.") from error
    return _home(Path(os.fsdecode(text)))


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # "~someone" whom the machine does not know: a file may be named so
        return path


def shorten(thing: Any) -> str:
    """Its repr, at most 200 characters of it; its type where it has none."""
    try:
        text = thing if type(thing) is str and len(thing) > _LONGEST else repr(thing)
        text = repr(text[:_LONGEST] + "…") if text is thing else text
    except Exception:
        return f"<{type(thing).__name__}>"
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…"


def path_error(error: Exception) -> str:
    """Why a path cannot be read."""
    told = getattr(error, "strerror", None)
    return str(told or error)[:_LONGEST].rstrip(". ")
