"""Writes what an editor holds to files: whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import tensorflow as tf

from tfgraphwidget import writable
from tfgraphwidget.export.formats.drawings import write_code, write_dot, write_edits, write_graphml, write_picture
from tfgraphwidget.export.formats.frozen import write_frozen
from tfgraphwidget.export.formats.graph_def import write_graph_def
from tfgraphwidget.export.formats.meta_graph import check_beside, siblings, write_meta_graph
from tfgraphwidget.export.formats.saved_model import files_of, write_saved_model
from tfgraphwidget.export.html.page import write_page
from tfgraphwidget.export.request import Export
from tfgraphwidget.writable import check_place, kind_of, place_of, unwritable, write_files

Write = Callable[[Path, Export], None]
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


def save(path: Path, what: Export, *, folder: bool) -> Path:
    """Write `what` to `path` in the kind that its suffix names; a folder is a SavedModel. The path written.

    What was there is kept until the new is whole and, with `what.verify`, was loaded back and tried. Raises
    GraphEditError; all files are then as they were.
    """
    try:
        kind = kind_of(path, folder=folder, frozen=what.frozen)
        check_place(path, kind)
        write = write_frozen if what.frozen else _KINDS[kind]
        if write is write_meta_graph:
            check_beside(path, what)
        # A checkpoint has the name of its MetaGraphDef: a link to one in another folder is refused, not followed.
        place = path if write is write_meta_graph else place_of(path, what.notice)
        if place.is_dir():
            write_files(place, lambda new: write(new, what), lambda _: files_of(place), what.notice)
        else:
            into = lambda new: write(new / place.name, what)  # noqa: E731
            write_files(place.parent, into, lambda written: _replaced(place, written), what.notice)
    except (OSError, tf.errors.OpError) as error:
        raise unwritable(path, error) from error
    return path


def _replaced(place: Path, written: Collection[str]) -> list[str]:
    """The files that belong to what is at a place: a file is replaced with its checkpoint, or with its arrays."""
    if not place.is_file():
        return []
    if place.suffix.lower() == ".meta":
        return [file.name for file in siblings(place)]
    arrays = [name for name in written if name != place.name and name.encode() in place.read_bytes()]
    return [place.name, *arrays]
