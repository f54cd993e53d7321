"""Where files can be written, and in which kind. Needs no TensorFlow, so that a command refuses at once."""

from __future__ import annotations

from pathlib import Path

from tfgraphwidget.errors import GraphEditError

SAVED_MODEL = ""  # a folder
GRAPH_DEFS = (".pb", ".pbtxt")
PICTURES = (".svg", ".png", ".pdf")
FILES = (*GRAPH_DEFS, ".meta", ".dot", ".graphml", *PICTURES, ".html", ".py", ".json")


def kind_of(path: Path, *, folder: bool, frozen: bool) -> str:
    """The one of FILES that a path's suffix names, or SAVED_MODEL; raises GraphEditError when it names neither."""
    kind = SAVED_MODEL if folder or path.is_dir() else path.suffix.lower()
    if kind != SAVED_MODEL and kind not in FILES:
        raise GraphEditError(
            f"{path.suffix!r} is no kind of file that can be written; use {', '.join(FILES)}, or a folder for a "
            "SavedModel."
        )
    if frozen and kind not in GRAPH_DEFS:
        raise GraphEditError("A frozen graph is a GraphDef without variables; write it to a '.pb' or '.pbtxt' file.")
    return kind


def check_place(path: Path, kind: str) -> None:
    """Raise GraphEditError for a place where no file of that kind, or no SavedModel, can come to lie."""
    if "\0" in str(path):
        raise GraphEditError(f"{str(path)[:200]!r} is no name of a file; leave the NUL out.")
    if not path.parent.is_dir():
        raise GraphEditError(f"The folder {str(path.parent)!r} does not exist; make it first.")
    if kind != SAVED_MODEL:
        return
    if path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
        raise GraphEditError(
            f"The folder {str(path)!r} holds other things than a SavedModel; give an empty or a new one."
        )
    if path.is_file():
        raise GraphEditError(f"{str(path)!r} is a file, and a SavedModel is a folder; give another name.")


def unwritable(path: Path, error: OSError) -> GraphEditError:
    """What the machine says: no permission, no room, a name too long."""
    return GraphEditError(f"{str(path)[:200]!r} cannot be written: {error.strerror or error}; give another place.")
