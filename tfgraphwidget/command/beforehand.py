"""What can be refused before TensorFlow is loaded, which takes seconds: files that are not there, bad targets."""

from __future__ import annotations

from pathlib import Path

from tfgraphwidget.command.info import file_of
from tfgraphwidget.writable import check_place, kind_of, unwritable


def check_there(*files: str) -> None:
    """Raise for a file or a SavedModel's folder that is not there. One that begins with "~" is not looked for."""
    for file in files:
        if not file.startswith("~"):
            file_of(Path(file))


def check_target(out: str, *, frozen: bool = False) -> None:
    """Raise for a place that nothing can be written to, or not in the kind that its name says."""
    path = Path(out)
    try:
        check_place(path, kind_of(path, folder=out.endswith("/"), frozen=frozen))
    except OSError as error:
        raise unwritable(path, error) from error
