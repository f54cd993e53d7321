"""What can be refused before TensorFlow is loaded, which takes seconds: files that are not there, bad targets."""

from __future__ import annotations

from pathlib import Path

from tfgraphwidget.command.info import file_of
from tfgraphwidget.errors import GraphEditError

WRITTEN = (".pb", ".pbtxt", ".meta", ".dot", ".graphml", ".svg", ".png", ".pdf", ".html", ".py", ".json")
_FROZEN = (".pb", ".pbtxt")


def check_there(*files: str) -> None:
    """Raise for a file or a SavedModel's folder that is not there. One that begins with "~" is not looked for."""
    for file in files:
        if not file.startswith("~"):
            file_of(Path(file))


def check_target(out: str, *, frozen: bool = False) -> None:
    """Raise for a place that nothing can be written to, or not in the kind that its name says."""
    path = Path(out)
    try:
        is_folder = out.endswith("/") or path.is_dir()
        there = path.parent.is_dir()
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL in it
        raise GraphEditError(f"{out[:200]!r} cannot be written: {error}; give another place.") from error
    suffix = "" if is_folder else path.suffix.lower()
    if suffix and suffix not in WRITTEN:
        raise GraphEditError(
            f"{path.suffix!r} is no kind of file that can be written; use {', '.join(WRITTEN)}, or a folder for a "
            "SavedModel."
        )
    if frozen and suffix not in _FROZEN:
        raise GraphEditError("A frozen graph is a GraphDef without variables; write it to a '.pb' or '.pbtxt' file.")
    if not there:
        raise GraphEditError(f"The folder {str(path.parent)!r} does not exist; make it first.")
