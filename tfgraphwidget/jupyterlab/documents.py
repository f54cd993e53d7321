"""Files: documents of JupyterLab, each a file opened in an editor of its own.

The page keeps what a document tells it, the edits and a stamp of the file they belong to, and gives both back after a
restart of the kernel: the edits are done again, unless the file is another by then. The file itself is never written
unless a person gives its very name and confirms.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tfgraphwidget.cli import format_size
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.serialization import python_source
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.jupyterlab import path_resolution, save_formats
from tfgraphwidget.sources import find_checkpoint, locate_file, open_source, parse_path, reopen_expression
from tfgraphwidget.widget import GraphWidget

Tell = Callable[[dict[str, Any]], None]
_MOST_KEPT = 2_000_000  # characters of JSON that the page's store takes; arrays in an edit can be larger
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # a NUL, half of a character
_DOCUMENTS: dict[Path, Document] = {}


class Exists(GraphEditError):
    """Something is there already under the name to save to."""


def open_document(asked: Mapping[str, Any]) -> Document:
    """The document of a file; the one that is open already, unless `again` is asked for.

    `asked` has `path` as JupyterLab has it, `root` (see `resolve_path`), and of what the page has kept: `edits`,
    `stamp` and `saved`. Raises GraphEditError for what cannot be opened. Edits that cannot be applied again are in
    the document's `notice`, once: for the page that sent them.
    """
    path = path_resolution.resolve_path(_text(asked, "path"), _text(asked, "root"))
    known = _DOCUMENTS.get(path)
    if known is not None and not asked.get("again"):
        known.notice = ""
        return known
    document = Document(path)
    document.restore(asked)
    _name(document.editor)
    if known is not None:
        known.close()
    _DOCUMENTS[path] = document
    return document


def _name(editor: GraphEditor) -> None:
    """Make it the variable `editor` of the kernel, for a console on it, unless a person has called something so."""
    from IPython import get_ipython

    names = getattr(get_ipython(), "user_ns", {})
    if "editor" not in names or any(names["editor"] is document.editor for document in _DOCUMENTS.values()):
        names["editor"] = editor


class Document:
    """One file in its editor. Those who follow are told after each edit what there is to show and to keep."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.editor = _edited(path)
        self.notice = ""
        self._stamp = _stamp(path)
        self._base: tuple[Any, ...] = ()  # the edits that the file itself holds
        self._saved: tuple[Any, ...] = ()  # those that some file holds
        self._told: tuple[Any, ...] = ()
        self._followers: list[Tell] = []
        self.editor.listeners.append(self._follow)

    @property
    def is_new(self) -> bool:
        """Whether nobody has looked at it yet."""
        return self.editor._widget is None

    @property
    def title(self) -> str:
        """What a tab calls it."""
        return _title(self.path)

    def moved(self, asked: Mapping[str, Any]) -> None:
        """Go on with the file where it lies now: `path` and `root` as for `opened`.

        Raises UnknownName when it is not there; the document is as it was.
        """
        path = path_resolution.resolve_path(_text(asked, "path"), _text(asked, "root"))
        if _DOCUMENTS.get(self.path) is self:
            del _DOCUMENTS[self.path]
        _DOCUMENTS[path] = self
        source = self.editor._source
        source.said = reopen_expression(path, _title(path), {"checkpoint": find_checkpoint(self.path)})
        source.title, self.path = _title(path), path

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Do again the edits that a page has kept; all of them, or none and a `notice`."""
        edits = kept.get("edits")
        if not edits or not isinstance(edits, list):
            return
        count = "1 edit of last time was" if len(edits) == 1 else f"{len(edits)} edits of last time were"
        if kept.get("stamp") not in (None, self._stamp):
            self.notice = f"{self.path.name} has changed on disk since, so {count} not done again."
            return
        try:
            self.editor.replay(edits)
        except GraphEditError as error:
            self.notice = f"{count.capitalize()} not done again: {error.why}"
            return
        self._told = self._done()
        if kept.get("saved"):
            self._saved = self._told

    def follow(self, tell: Tell) -> None:
        """Call `tell` with `changed()` after each edit from now on, until `unfollow(tell)`."""
        if tell not in self._followers:
            self._followers.append(tell)

    def unfollow(self, tell: Tell) -> None:
        """Tell that one nothing more."""
        if tell in self._followers:
            self._followers.remove(tell)

    def close(self) -> None:
        """Tell nobody any more, and let go of the graph: a widget is kept until it is closed."""
        self._followers.clear()
        self.editor.listeners.remove(self._follow)
        if self.editor._widget is not None:
            self.editor._widget.close()

    def changed(self) -> dict[str, Any]:
        """What a page shows and keeps: `title`, `dirty`, the newest edit's `line`; `edits`, `stamp` and `saved`.

        `edits` is None when they cannot be kept, and `lost` says why.
        """
        done = self._done()
        edits, lost = self._kept(done)
        dirty = not _same(done, self._saved)
        line = python_source.line(done[-1]) if done else ""
        return {
            "title": self.title,
            "dirty": dirty,
            "line": line,
            "count": len(done),
            "edits": edits,
            "stamp": self._stamp,
            "saved": bool(done) and not dirty,
            "lost": lost,
        }

    def kinds(self) -> dict[str, Any]:
        """The ways to save it (see save_formats.SaveFormat), and the folder that names are taken in."""
        return {"kinds": save_formats.list_save_formats(self.editor, self.path), "folder": str(self.folder)}

    @property
    def folder(self) -> Path:
        """Where it is saved: beside the file, or beside the folder of a SavedModel."""
        inside = not self.path.is_dir() and save_formats.is_saved_model(self.path)
        return self.path.parent.parent if inside else self.path.parent

    def save(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write it as `kind` under `name`, a path in `folder`; what was written, as `path`, `name` and `about`.

        Raises Exists for a name that is taken, unless `replace` is asked for; GraphEditError for what cannot be
        written, and all files are as they were.
        """
        kind = save_formats.find_save_format(asked.get("kind"))
        if kind is None:
            raise GraphEditError("There is no such kind of file; choose one of the list.")
        target = self._target(save_formats.check_name(_text(asked, "name"), kind), kind.suffix)
        if kind.kind == "frozen" and target == self.path:
            raise GraphEditError(
                f"{self.path.name} is the graph that is edited here, and a frozen one is less of it; give another name."
            )
        if os.path.lexists(target) and asked.get("replace") is not True:
            what = "The folder" if target.is_dir() else "A file"
            raise Exists(f"{what} {target.name!r} is there already in {str(target.parent)!r}.")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ending = "/" if kind.suffix == "/" else ""
            written = self.editor.save(f"{target}{ending}", frozen=kind.kind == "frozen")
        if kind.keeps:
            self._keep(written)
        notices = [str(one.message) for one in told if one.category is UserWarning]
        about = " ".join([f"Saved as {_named(written, self.folder)}{ending}, {_size(written)}.", *notices])
        return {"path": str(written), "name": written.name, "about": about}

    def _target(self, name: str, suffix: str) -> Path:
        bare = name.rstrip("/") if suffix == "/" else name
        if not bare.strip() or bare.endswith("/") or Path(bare).name in ("", "..") or _NO_TEXT.search(bare):
            raise GraphEditError("A name is needed to save under; type one.")
        path = self.folder / parse_path(bare, "name")
        if suffix == "/":
            return path
        return path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)

    def _keep(self, written: Path) -> None:
        """Some file holds the edits now; when it is the one that was opened, they are edits no more after a restart."""
        self._saved = self._done()
        own = self.path.parent if self.path.stem == "saved_model" else self.path
        if written in (self.path, own):
            self._base, self._stamp = self._saved, _stamp(self.path)
        self._push()

    def _kept(self, done: tuple[Any, ...]) -> tuple[list[Any] | None, str]:
        """The edits that the file does not hold, as JSON; or None, and why they cannot be kept."""
        base = len(self._base)
        if not _same(done[:base], self._base):
            return None, f"{self.path.name} was saved with edits that are undone now; save again to keep this."
        try:
            edits = self.editor.edits()[base:]
        except GraphEditError as error:
            return None, error.why
        if _length(edits) > _MOST_KEPT:
            return None, "The edits hold more values than a page keeps; save them in a file."
        return edits, ""

    def _done(self) -> tuple[Any, ...]:
        return tuple(step.command for step in self.editor.history.done)

    def _follow(self) -> None:
        if not _same(self._done(), self._told):
            self._push()

    def _push(self) -> None:
        self._told = self._done()
        if self._followers:
            told = self.changed()
            for tell in tuple(self._followers):
                tell(told)


def _edited(path: Path) -> GraphEditor:
    """An editor on a file; of a MetaGraphDef with the checkpoint of its name, when there is one."""
    source = open_source(path, checkpoint=find_checkpoint(path))
    source.title = _title(path)
    return GraphEditor(source, show=GraphWidget)


def _title(path: Path) -> str:
    """What a tab calls it: of a SavedModel the folder."""
    return save_formats.output_stem(path) if save_formats.is_saved_model(path) else path.name


def _stamp(path: Path) -> str:
    """Differs when a file was written since; of a directory its main file counts."""
    try:
        about = locate_file(path).stat()
    except (GraphEditError, OSError):
        return ""
    return f"{about.st_mtime_ns}-{about.st_size}"


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether these are the very same edits: equal ones done again later are others."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _length(edits: Any) -> int:
    """Characters of JSON, roughly."""
    if isinstance(edits, str):
        return len(edits)
    if isinstance(edits, Mapping):
        return sum(_length(part) for pair in edits.items() for part in pair)
    return sum(map(_length, edits)) if isinstance(edits, list | tuple) else 8


def _named(written: Path, folder: Path) -> str:
    return str(written.relative_to(folder)) if written.is_relative_to(folder) else str(written)


def _size(written: Path) -> str:
    files = [file for file in written.rglob("*") if file.is_file()] if written.is_dir() else [written]
    return format_size(sum(file.stat().st_size for file in files))


def _text(asked: Mapping[str, Any], key: str) -> str:
    value = asked.get(key, "")
    if not isinstance(value, str):
        raise GraphEditError(f"{key} is no text; reload the page.")
    return value
