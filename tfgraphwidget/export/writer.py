"""Writes files completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tfgraphwidget import writable
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.tensorflow_modules import OpError
from tfgraphwidget.writable import check_options, check_place, kind_of, place_of, unwritable, write_files

if TYPE_CHECKING:
    from tfgraphwidget.export.html.page_input import PageInput
    from tfgraphwidget.export.request import ExportRequest

Write: TypeAlias = "Callable[[Path, ExportRequest], None]"
_FROZEN, _META = ("formats.frozen_graph", "write_frozen"), ("formats.meta_graph", "write_meta_graph")
_WRITERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(writable.GRAPH_DEFS, ("formats.graph_def", "write_graph_def")),
    ".meta": _META,
    **dict.fromkeys(writable.CONVERSIONS, ("formats.converted_model", "write_converted")),
    writable.EDITOR: ("formats.drawings", "write_editor"),
    ".dot": ("formats.drawings", "write_dot"),
    ".graphml": ("formats.drawings", "write_graphml"),
    **dict.fromkeys(writable.PICTURES, ("formats.drawings", "write_picture")),
    ".html": ("html.page", "write_page"),
    ".py": ("formats.drawings", "write_code"),
    ".json": ("formats.drawings", "write_edits"),
    writable.SAVED_MODEL: ("formats.saved_model", "write_saved_model"),
}
"""The module and the function that write each kind: a command imports the one that it needs."""


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
        check_options(
            kind, [*request.options, *(["signature"] if request.signature else []), *(["tags"] if request.tags else [])]
        )
        if kind in (*writable.GRAPH_DEFS, ".meta") and not request.index.names:
            raise GraphEditError(
                "The graph has no ops, and a file of it could not be opened again; add some, or save the edits that "
                "removed them, in a '.tgw' file."
            )
        module, name = writer = _FROZEN if request.frozen else _WRITERS[kind]
        write: Write = getattr(import_module(f"tfgraphwidget.export.{module}"), name)
        if writer == _META:
            from tfgraphwidget.export.formats.meta_graph import check_beside

            check_beside(path, request)
        # A checkpoint has the name of its MetaGraphDef, so a symbolic link to one in another directory is refused.
        place = path if writer == _META else place_of(path, request.add_notice)
        if place.is_dir():
            write_files(place, lambda new: write(new, request), lambda _: _files_of(place), request.add_notice)
        else:
            _write_file(place, path.suffix, lambda new: write(new, request), request.add_notice)
    except Exception as error:
        if isinstance(error, (OSError, OpError)):  # `except OpError` would import TensorFlow
            raise unwritable(path, error) from error
        raise
    return path


def save_page(path: Path, page_input: PageInput) -> Path:
    """Write a page of a graph that no editor was opened for; an old file is replaced after it is complete.

    Args:
        path: The file, whose name ends in ".html".
        page_input: What the page shows.

    Returns:
        The path.

    Raises:
        GraphEditError: If it cannot be written; all files are unchanged then.
    """
    from tfgraphwidget.export.html.page import page

    try:
        check_place(path, kind_of(path, folder=False, frozen=False))
        place, text = place_of(path, _ignore), page(page_input)
        _write_file(place, path.suffix, lambda new: new.write_text(text, "utf-8"), _ignore)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _ignore(_: str) -> None:
    """Drop a sentence: a command says only where the page is."""


def _write_file(place: Path, suffix: str, write: Callable[[Path], object], add_notice: Callable[[str], None]) -> None:
    """Write a file in the format of a suffix, and replace an old one with what belongs to it."""
    into = partial(_write_in, write, place, suffix)
    write_files(place.parent, into, lambda file_names: _files_to_replace(place, file_names), add_notice)


def _write_in(write: Callable[[Path], object], place: Path, suffix: str, new: Path) -> None:
    """Write a file in a new folder, in the format of the suffix of what may be a link to a file of another suffix."""
    if place.suffix.lower() == suffix.lower():
        write(new / place.name)
        return
    written = new / f"{place.name}{suffix}"
    write(written)
    written.rename(new / place.name)


def _files_of(folder: Path) -> list[str]:
    """The files of a SavedModel, which are replaced."""
    from tfgraphwidget.export.formats.saved_model import files_of

    return files_of(folder)


def _files_to_replace(place: Path, file_names: Collection[str]) -> list[str]:
    """The old files to replace: the file with its checkpoint, or with its arrays.

    A SavedModel was not there when this one was begun: another save has written it since, and the last one stays.
    """
    if (place / "saved_model.pb").is_file():
        return [f"{place.name}/{name}" for name in _files_of(place)]
    if not place.is_file():
        return []
    if place.suffix.lower() == ".meta":
        from tfgraphwidget.export.formats.meta_graph import siblings

        return [file.name for file in siblings(place)]
    arrays = [name for name in file_names if name != place.name and name.encode() in place.read_bytes()]
    return [place.name, *arrays]
