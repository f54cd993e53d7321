"""Writes files completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.file_kinds import (
    CONVERSIONS,
    GRAPH_DEFS,
    SAVED_MODEL,
    check_options,
    checked_kind,
)
from tfgraphwidget.tensorflow_modules import OpError
from tfgraphwidget.writable import place_of, recover, unwritable, write_files

if TYPE_CHECKING:
    from tfgraphwidget.export.html.page_input import PageInput
    from tfgraphwidget.export.request import Document, ExportRequest, SaveSettings

Write: TypeAlias = "Callable[[Path, ExportRequest], None]"
_FROZEN = ("formats.frozen_graph", "write_frozen")
_META = ("formats.meta_graph", "write_meta_graph")
_WRITERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(GRAPH_DEFS, ("formats.graph_def", "write_graph_def")),
    ".meta": _META,
    **dict.fromkeys(CONVERSIONS, ("formats.converted_model", "write_converted")),
    SAVED_MODEL: ("formats.saved_model", "write_saved_model"),
}
"""The module and the function that write each kind of graph: a command imports the one that it
needs.
"""


def check_destination(path: Path, settings: SaveSettings, *, folder: bool) -> str:
    """Return the kind of file that a path, or a path meant as a folder, means, before anything is
    done for it. Raises GraphEditError where no file can be written there, or none of that kind with
    those settings.
    """
    kind = checked_kind(path, folder=folder, frozen=settings.frozen)
    of_request = [name for name in ("signature", "tags") if getattr(settings, name)]
    check_options(kind, [*settings.options, *of_request])
    return kind


@contextmanager
def unwritable_refused(path: Path) -> Iterator[None]:
    """Raise GraphEditError for what a file system or TensorFlow raises at a failed write."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (OSError, OpError)):  # `except OpError` would import TensorFlow
            raise unwritable(path, error) from error
        raise


def save_document(path: Path, document: Document, notices: list[str]) -> None:
    """Write a document; an old file is replaced after the new one is complete. Raises
    GraphEditError where it cannot be written; all files are unchanged then.
    """
    _save_file(path, lambda new: document.write(new, notices), notices)


def save_graph(path: Path, kind: str, request: ExportRequest) -> None:
    """Write a graph in the format of a kind. An old file is replaced after the new one is complete
    and verified.

    Raises:
        GraphEditError: If it cannot be written or gives other results than the graph; all files are
            unchanged then.
    """
    if kind in (*GRAPH_DEFS, ".meta") and not request.index.names:
        raise GraphEditError(
            "The graph has no ops, and a file of it could not be opened again; add some, or save "
            "the edits that removed them, in a '.tgw' file."
        )
    module, name = writer = _FROZEN if request.settings.frozen else _WRITERS[kind]
    write: Write = getattr(import_module(f"tfgraphwidget.export.{module}"), name)
    if writer == _META:
        from tfgraphwidget.export.formats.meta_graph import check_beside

        check_beside(path, request)
        # A checkpoint has the name of its MetaGraphDef, so a symbolic link to one in another
        # directory is refused.
        request.notices.extend(recover(path.parent))
        _write_file(path, path.suffix, lambda new: write(new, request))
    else:
        _save_file(path, lambda new: write(new, request), request.notices)


def save_page(path: Path, page_input: PageInput) -> Path:
    """Write a page, a file that ends in ".html", of a graph that no editor was opened for; an old
    file is replaced after it is complete. Raises GraphEditError where it cannot be written; all
    files are unchanged then.
    """
    from tfgraphwidget.export.html.page import Page

    return _save_page(path, Page(page_input))


def save_pages(path: Path, before: PageInput, after: PageInput, document: bytes) -> Path:
    """Write a page of two graphs in two panes, with what joins them, gzipped; see `save_page`."""
    from tfgraphwidget.export.html.page import PageOfTwo

    return _save_page(path, PageOfTwo(before, after, document))


def _save_page(path: Path, page: Document) -> Path:
    """Write a page, and return its path; a command says only where it is."""
    with unwritable_refused(path):
        checked_kind(path, folder=False, frozen=False)
        save_document(path, page, [])
    return path


def _save_file(path: Path, write: Callable[[Path], object], notices: list[str]) -> None:
    """Write a file, or a SavedModel, to what a path leads to."""
    notices += recover(path.parent)
    place = place_of(path)
    if place.is_dir():
        notices += recover(place)
        write_files(place, write, lambda _: _files_of(place))
    else:
        _write_file(place, path.suffix, write)


def _write_file(place: Path, suffix: str, write: Callable[[Path], object]) -> None:
    """Write a file in the format of a suffix, and replace an old one with what belongs to it."""
    into = partial(_write_in, write, place, suffix)
    write_files(place.parent, into, lambda file_names: _files_to_replace(place, file_names))


def _write_in(write: Callable[[Path], object], place: Path, suffix: str, new: Path) -> None:
    """Write a file in a new folder, in the format of the suffix of what may be a link to a file of
    another suffix.
    """
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

    A SavedModel was not there when this one was begun: another save has written it since, and the
    last one stays.
    """
    if (place / "saved_model.pb").is_file():
        return [f"{place.name}/{name}" for name in _files_of(place)]
    if not place.is_file():
        return []
    if place.suffix.lower() == ".meta":
        from tfgraphwidget.export.formats.meta_graph import siblings

        return [file.name for file in siblings(place)]
    arrays = [
        name for name in file_names if name != place.name and name.encode() in place.read_bytes()
    ]
    return [place.name, *arrays]
