"""Checks before TensorFlow is loaded, which takes seconds: missing files and unusable output paths."""

from __future__ import annotations

from pathlib import Path

from tfgraphwidget.sources import locate_file, parse_path
from tfgraphwidget.writable import check_place, kind_of, unwritable


def check_sources(*files: str) -> None:
    """Raise for a file or directory that does not exist, and for a directory that is not a SavedModel."""
    for file in files:
        locate_file(parse_path(file, "path"))


def check_output(out: str, *, frozen: bool = False) -> None:
    """Raise for a path that cannot be written, or not in the format that its suffix names."""
    path = Path(out)
    try:
        check_place(path, kind_of(path, folder=out.endswith("/"), frozen=frozen))
    except OSError as error:
        raise unwritable(path, error) from error
