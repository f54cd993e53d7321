"""Writes files completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from tfgraphwidget import writable
from tfgraphwidget.export.formats.drawings import write_code, write_dot, write_edits, write_graphml, write_picture
from tfgraphwidget.export.formats.frozen_graph import write_frozen
from tfgraphwidget.export.formats.graph_def import write_graph_def
from tfgraphwidget.export.formats.meta_graph import check_beside, siblings, write_meta_graph
from tfgraphwidget.export.formats.saved_model import files_of, write_saved_model
from tfgraphwidget.export.html.page import write_page
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.tensorflow_modules import OpError
from tfgraphwidget.writable import check_place, kind_of, place_of, unwritable, write_files

Write = Callable[[Path, ExportRequest], None]
_KINDS: dict[str, Write] = {
    **dict.fromkeys(writable.GRAPH_DEFS, write_graph_def),
    ".meta": write_meta_graph,
    ".dot": write_dot,
    ".graphml": write_graphml,
    **dict.fromkeys(writable.PICTURES, write_picture),
    ".html": write_page,
    ".py": write_code,
    ".json": write_edits,
    writable.SAVED_MODEL: write_saved_model,
}


def save(path: Path, request: ExportRequest, *, folder: bool) -> Path:
    """Write in the format of the path's suffix. An old file is replaced after the new one is complete and verified.

    Args:
        path: The file, or the directory of a SavedModel.
        request: What to write.
        folder: Whether the path is meant as a directory.

    Returns:
        The path.

    Raises:
        GraphEditError: If it cannot be written or gives other results than the graph; all files are unchanged then.
    """
    try:
        kind = kind_of(path, folder=folder, frozen=request.frozen)
        check_place(path, kind)
        write = write_frozen if request.frozen else _KINDS[kind]
        if write is write_meta_graph:
            check_beside(path, request)
        # A checkpoint has the name of its MetaGraphDef, so a symbolic link to one in another directory is refused.
        place = path if write is write_meta_graph else place_of(path, request.add_notice)
        if place.is_dir():
            write_files(place, lambda new: write(new, request), lambda _: files_of(place), request.add_notice)
        else:
            into = lambda new: write(new / place.name, request)  # noqa: E731
            write_files(place.parent, into, lambda file_names: _files_to_replace(place, file_names), request.add_notice)
    except Exception as error:
        if isinstance(error, (OSError, OpError)):  # `except OpError` would import TensorFlow
            raise unwritable(path, error) from error
        raise
    return path


def _files_to_replace(place: Path, file_names: Collection[str]) -> list[str]:
    """The old files to replace: the file with its checkpoint, or with its arrays."""
    if not place.is_file():
        return []
    if place.suffix.lower() == ".meta":
        return [file.name for file in siblings(place)]
    arrays = [name for name in file_names if name != place.name and name.encode() in place.read_bytes()]
    return [place.name, *arrays]
