"""Documents of JupyterLab: each is a file in its own editor.

The page stores the edits of a document and a stamp of the file, and sends both back after a restart
of the kernel. The edits are then applied again, unless the file has changed. The file itself is
written only if the user saves under its own name and confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from tfgraphwidget.editor import GraphEditor, watch_file
from tfgraphwidget.edits import Command
from tfgraphwidget.edits.serialization import records_of
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources import (
    Source,
    find_checkpoint,
    locate_file,
    open_source,
    reopen_expression,
)
from tfgraphwidget.widget import (
    Exporter,
    GraphWidget,
    SaveFormat,
    is_saved_model,
    on_page,
    output_stem,
    path_from,
    resolve_path,
)

Tell = Callable[[dict[str, object]], None]
# characters of JSON that the page's store takes; arrays in an edit can be larger
_MOST_STORED = 2_000_000
_DOCUMENTS: dict[Path, Document] = {}


def open_document(request: Mapping[str, object]) -> Document:
    """Open the document of a file; one that is open is returned, unless the request has `again`.

    `request` has `path` as JupyterLab has it, `root` (see `resolve_path`), and what the page has
    stored: `edits`, `stamp` and `saved`. Raises GraphEditError if the file cannot be opened. If the
    edits cannot be applied again, the document's `notice` says so, once: to the page that sent
    them.
    """
    path = resolve_path(_text(request, "path"), _text(request, "root"))
    existing = _DOCUMENTS.get(path)
    if existing is not None and not request.get("again"):
        existing.notice = ""
        return existing
    document = Document(path)
    document.restore(request)
    _name(document.editor)
    if existing is not None:
        existing.close()
    _DOCUMENTS[path] = document
    return document


def _name(editor: GraphEditor) -> None:
    """Make it the kernel's variable `editor`, for a console, unless there is another one."""
    from IPython import get_ipython

    names = getattr(get_ipython(), "user_ns", {})
    own = [document.editor for document in _DOCUMENTS.values()]
    if "editor" not in names or any(names["editor"] is each for each in own):
        names["editor"] = editor


class Document:
    """One file in its editor. Followers are sent what to show and to store after each edit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.editor = _create_editor(path, self._show)
        self.exporter = Exporter(self.editor, path, self._keep)
        self.notice = ""
        self._stamp = _stamp(path)
        self._source = self.editor._core.source
        self._base = self._commands()  # the edits that the file itself holds
        self._watch()
        self._saved = self._base  # those that some file holds
        self._on_page = self._base
        self._followers: list[Tell] = []
        self.editor._core.listeners.append(self._follow)

    def _show(self, editor: GraphEditor) -> GraphWidget:
        return GraphWidget(editor, self.exporter)

    @property
    def is_new(self) -> bool:
        """Whether it has not been displayed yet."""
        return self.editor._core.widget is None

    @property
    def title(self) -> str:
        """The label of its tab."""
        return _title(self.path)

    def move(self, request: Mapping[str, object]) -> None:
        """Follow the file to its new path; `path` and `root` as for `open_document`.

        Raises UnknownName if it does not exist there; the document is unchanged then.
        """
        path = resolve_path(_text(request, "path"), _text(request, "root"))
        if _DOCUMENTS.get(self.path) is self:
            del _DOCUMENTS[self.path]
        _DOCUMENTS[path] = self
        source = self.editor._core.source
        source.reopen_code = reopen_expression(
            path, _title(path), {"checkpoint": find_checkpoint(self.path)}
        )
        source.title = _title(path)
        self.path = self.exporter.path = path
        self._watch()

    def _watch(self) -> None:
        """Follow changes of the file."""
        watch_file(self.editor._core, self.path, lambda: _open(self.path), self._base)

    def restore(self, stored: Mapping[str, object]) -> None:
        """Apply the edits that a page has stored; all of them, or none and a `notice`."""
        edits = stored.get("edits")
        if not edits or not isinstance(edits, list):
            return
        if len(edits) == 1:
            count = "1 edit of last time was"
        else:
            count = f"{len(edits)} edits of last time were"
        if stored.get("stamp") not in (None, self._stamp):
            self.notice = f"{self.path.name} has changed on disk since, so {count} not done again."
            return
        try:
            self.editor.history.replay(edits)
        except GraphEditError as error:
            self.notice = f"{count.capitalize()} not done again: {on_page(error.sentence)}"
            return
        self._on_page = self._commands()
        if stored.get("saved"):
            self._saved = self._on_page

    def follow(self, tell: Tell) -> None:
        """Call `tell` with `status()` after each edit from now on, until `unfollow(tell)`."""
        if tell not in self._followers:
            self._followers.append(tell)

    def unfollow(self, tell: Tell) -> None:
        """Stop calling `tell`."""
        if tell in self._followers:
            self._followers.remove(tell)

    def close(self) -> None:
        """Drop the followers and close the widget, which would keep the graph in memory."""
        self._followers.clear()
        self.editor._core.listeners.remove(self._follow)
        if self.editor._core.widget is not None:
            self.editor._core.widget.close()

    def status(self) -> dict[str, object]:
        """The state that a page shows (`title`, `dirty`, the last `line`, the `count` of edits that
        the file lacks) and stores (`edits`, `stamp`, `saved`).

        `edits` is None when they cannot be kept, and `lost` says why.
        """
        commands = self._commands()
        edits, why_lost = self._stored_edits(commands)
        dirty = not _same(commands, self._saved)
        count = len(commands)
        if _same(commands[: len(self._base)], self._base):
            count -= len(self._base)
        line = self.editor.history.done[-1].line if commands else ""
        return {
            "title": self.title,
            "dirty": dirty,
            "line": line,
            "count": count,
            "edits": edits,
            "stamp": self._stamp,
            "saved": bool(commands) and not dirty,
            "lost": why_lost,
        }

    def kinds(self) -> dict[str, object]:
        """The formats to save it in (see `SaveFormat`), and the directory of relative names."""
        return {
            "kinds": [asdict(kind) for kind in self.exporter.formats()],
            "folder": str(self.exporter.folder),
        }

    def locate(self, request: Mapping[str, object]) -> str:
        """The path of a folder that was chosen in JupyterLab, from the folder on that names are
        relative to.

        Raises UnknownName for one that the kernel cannot read.
        """
        folder = self.exporter.folder
        return path_from(
            resolve_path(_text(request, "path"), _text(request, "root"), folder), folder
        )

    def save(self, request: Mapping[str, object]) -> dict[str, object]:
        """Save the document.

        Args:
            request: `kind` of format, `name` as a path in the exporter's folder, whether to
                `replace` an existing file, and `options` of the format as pairs of a name and a
                value.

        Returns:
            The `path`, `name` and `relative` path of the file, and `about`: a sentence with the
            notices.

        Raises:
            FileExists: For an existing file or directory, without `replace`.
            GraphEditError: If it cannot be written; all files are unchanged then.
        """
        name, replace = _text(request, "name"), request.get("replace") is True
        saved = self.exporter.save(
            request.get("kind"), name, replace=replace, options=_options(request)
        )
        return {
            "path": str(saved.path),
            "name": saved.path.name,
            "relative": saved.relative,
            "about": saved.about,
        }

    def _keep(self, path: Path, kind: SaveFormat) -> None:
        """Note that a file holds the edits; if it is the opened one, they are not made again."""
        if not kind.keeps:
            return
        self._saved = self._commands()
        own = self.path.parent if self.path.stem == "saved_model" else self.path
        if path in (self.path, own):
            self._base, self._stamp = self._saved, _stamp(self.path)
        self._push()

    def _stored_edits(
        self, commands: tuple[Command, ...]
    ) -> tuple[list[dict[str, object]] | None, str]:
        """The edits that the file lacks, as JSON; or None, and why they cannot be stored."""
        base = len(self._base)
        if not _same(commands[:base], self._base):
            why = "was saved with edits that are undone now; save again to keep this."
            return None, f"{self.path.name} {why}"
        lacking = self.editor._core.executor.history.done[base:]
        try:
            edits = [dict[str, object](record) for record in records_of(lacking)]
        except GraphEditError as error:
            return None, on_page(error.sentence)
        if _length(edits) > _MOST_STORED:
            return None, "The edits hold more values than a page keeps; save them in a file."
        return edits, ""

    def _commands(self) -> tuple[Command, ...]:
        return tuple(step.command for step in self.editor._core.executor.history.done)

    def _follow(self) -> None:
        if self.editor._core.source is not self._source:
            # The file has changed, and was opened again.
            self._source, self._stamp = self.editor._core.source, _stamp(self.path)
            file_watch = self.editor._core.file_watch
            self._base = self._saved = file_watch.edits if file_watch is not None else ()
            self._push()
        elif not _same(self._commands(), self._on_page):
            self._push()

    def _push(self) -> None:
        self._on_page = self._commands()
        if self._followers:
            message = self.status()
            for tell in tuple(self._followers):
                tell(message)


def _create_editor(path: Path, show: Callable[[GraphEditor], object]) -> GraphEditor:
    """An editor on a file, with the checkpoint that its format finds beside it."""
    return GraphEditor(_open(path), show=show)


def _open(path: Path) -> Source:
    source = open_source(path, checkpoint=find_checkpoint(path))
    source.title = _title(path)
    return source


def _title(path: Path) -> str:
    """The label of its tab: for a SavedModel, the directory's name."""
    return output_stem(path) if is_saved_model(path) else path.name


def _stamp(path: Path) -> str:
    """A text that changes when the file, or the main file of a directory, is written."""
    try:
        about = locate_file(path).stat()
    except (GraphEditError, OSError):
        return ""
    return f"{about.st_mtime_ns}-{about.st_size}"


def _same(edits: tuple[Command, ...], others: tuple[Command, ...]) -> bool:
    """Whether these are the same edits by identity: equal edits made later differ."""
    return len(edits) == len(others) and all(a is b for a, b in zip(edits, others, strict=True))


def _length(edits: object) -> int:
    """The approximate number of characters of JSON."""
    if isinstance(edits, str):
        return len(edits)
    if isinstance(edits, Mapping):
        return sum(_length(part) for pair in edits.items() for part in pair)
    return sum(map(_length, edits)) if isinstance(edits, list | tuple) else 8


def _text(request: Mapping[str, object], key: str) -> str:
    value = request.get(key, "")
    if not isinstance(value, str):
        raise GraphEditError(f"{key} is not a text; reload the page.")
    return value


def _options(request: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    pairs = request.get("options", [])
    if not isinstance(pairs, list) or not all(map(_is_pair_of_texts, pairs)):
        raise GraphEditError("The options of the format are not pairs of texts; reload the page.")
    return tuple((name, value) for name, value in pairs)


def _is_pair_of_texts(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(isinstance(part, str) for part in value)
