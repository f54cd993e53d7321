"""Writes what an editor holds to files. Each is written beside its place and moved into it when it is whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tfgraphwidget import writable
from tfgraphwidget.export.drawn import write_code, write_dot, write_edits, write_graphml, write_picture
from tfgraphwidget.export.frozen import write_frozen
from tfgraphwidget.export.graph_defs import write_graph_def
from tfgraphwidget.export.meta_graphs import check_beside, siblings, write_meta_graph
from tfgraphwidget.export.pages import write_page
from tfgraphwidget.export.saved_models import write_saved_model
from tfgraphwidget.export.what import Export
from tfgraphwidget.writable import check_place, kind_of, unwritable

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
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:60]}-") as beside:
            new, old = Path(beside) / "new", Path(beside) / "old"
            new.mkdir()
            old.mkdir()
            write(new / (path.name or "saved_model"), what)
            gone = siblings(path) if write is write_meta_graph else [path]
            _move({path.parent / made.name if path.name else path: made for made in sorted(new.iterdir())}, gone, old)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _move(new: dict[Path, Path], gone: Iterable[Path], old: Path) -> None:
    """Move files or folders to their places, and what was there, and what is `gone`, into the folder `old`.

    When any of it fails, everything is put back. A file alone takes the place of another in one step.
    """
    there = [place for place in dict.fromkeys((*gone, *new)) if place.is_symlink() or place.exists()]
    if len(new) == 1 and not any(place.is_dir() or place not in new for place in there):
        there = []
    kept: list[tuple[Path, Path]] = []
    placed: list[Path] = []
    try:
        for place in there:
            away = old / f"{place.name} before"
            place.replace(away)
            kept.append((place, away))
        for place, made in new.items():
            made.replace(place)
            placed.append(place)
    except BaseException:
        for place in placed:
            place.replace(old / f"{place.name} after")
        for place, away in kept:
            away.replace(place)
        raise
