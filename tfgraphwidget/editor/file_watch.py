"""Follows the file that an editor has open: when it changes on disk, it is opened again and the
edits are made again.

`look` is called now and then, by a widget twice a second. A file is opened when two looks have seen
the same stamp, so that one which is being written is left alone. Whatever cannot be followed leaves
the editor as it is, and a notice says why: a file that is gone or damaged, and edits of which one
no longer fits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget.editor.graph_view import GraphView
from tfgraphwidget.editor.replay import enter, replay
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.edits.serialization import records_of
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.readable import read_file
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import Source, locate_file

if TYPE_CHECKING:
    from tfgraphwidget.edits import Command

_MOST_COMPARED = 64 << 20  # bytes; a larger file that is touched is opened again
_SAME_MODEL = 0.2  # of the names of its ops: what has fewer is another model


class FileWatch:
    """Watches the file of an editor.

    Attributes:
        path: The file, or the folder of a SavedModel.
        edits: Those that the file itself holds, the first ones of the editor's.
    """

    def __init__(
        self,
        core: EditorCore,
        path: Path,
        reopen: Callable[[], Source],
        edits: tuple[Command, ...] | None = None,
    ) -> None:
        self.path = path
        self._core, self._reopen = core, reopen
        self._stamp = self._pending = stamp_of(path)
        self._content = b""  # of what is open, once a look has found it unchanged
        self._notice = ""
        self.edits = _commands(core) if edits is None else edits

    def accept(self, path: Path) -> None:
        """Take what the editor itself has written there for what it shows."""
        if path.absolute() in (self.path.absolute(), self.path.absolute().parent):
            self._stamp, self._content = stamp_of(self.path), b""
            self._pending = self._stamp
            self.edits = _commands(self._core)

    def look(self, *, at_once: bool = False) -> str:
        """Follow the file if it has changed, once a second look sees the same file, or `at_once`; a
        sentence on what was done, or could not be, "" if the file is as it was.
        """
        executor = self._core.executor
        if executor.batch is not None or executor.is_previewing:
            if at_once:
                raise GraphEditError(
                    "reload: a batch or preview is under way; reload the file when it has ended."
                )
            return ""
        stamp = stamp_of(self.path)
        if stamp == self._stamp:
            self._pending, self._content = stamp, self._content or _content_of(self.path)
            return ""
        if stamp != self._pending and not at_once:
            self._pending = stamp
            return ""
        self._stamp = self._pending = stamp
        if self._content and self._content == _content_of(self.path):
            # Touched, or written as it was.
            return ""
        self._content = b""
        sentence = (
            self._follow() if stamp else f"{self.path.name} is gone; the drawing shows what it was."
        )
        source = self._core.source
        source.notices = (
            *(notice for notice in source.notices if notice != self._notice),
            sentence,
        )
        self._notice = sentence
        self._core.listeners.notify()
        return sentence

    def _follow(self) -> str:
        core, name = self._core, self.path.name
        try:
            source = self._reopen()
        except GraphEditError as error:
            return (
                f"{name} has changed and cannot be read, so the drawing shows what it was: "
                + error.why
            )
        if any(a is not b for a, b in zip_longest(self.edits, _commands(core)[: len(self.edits)])):
            return (
                f"{name} has changed, and edits that it held are undone here; open it again to "
                "see it as it is now."
            )
        records = core.executor.history.done[len(self.edits) :]
        before = set(core.target.first.names)
        try:
            in_file = reopen(core, source, records_of(records))
        except GraphEditError as error:
            return (
                f"{name} has changed, and the edits do not fit it, so the drawing shows what it "
                "was: " + error.why
            )
        self.edits = _commands(core)[:in_file]
        count = len(core.executor.history.done) - in_file
        edits = ""
        if count:
            were = "was" if count == 1 else "were"
            edits = f", and {count:,} edit{'s' * (count > 1)} {were} made again"
        if idle := len(records) - count:
            edits += f", and {idle:,} found nothing to do"
        common = len(before.intersection(core.target.first.names))
        what = "holds another model now" if common < _SAME_MODEL * len(before) else "has changed"
        return f"{name} {what}; it was opened again{edits}."


def _commands(core: EditorCore) -> tuple[Command, ...]:
    return tuple(step.command for step in core.executor.history.done)


def stamp_of(path: Path) -> tuple[int, ...]:
    """What changes when a file, or the main file of a folder, is written; () if absent."""
    try:
        stats = [file.stat() for file in _files(path)]
    except (GraphEditError, OSError):
        return ()
    return tuple(
        number for each in stats for number in (each.st_mtime_ns, each.st_size, each.st_ino)
    )


def _files(path: Path) -> list[Path]:
    main = locate_file(path)
    values = main.parent / "variables" / "variables.index"
    return [main, *([values] if values.is_file() else [])]


def _content_of(path: Path) -> bytes:
    """A digest of what a file, or a folder's main file and list of values, hold, or b""."""
    try:
        files = _files(path)
        if sum(file.stat().st_size for file in files) > _MOST_COMPARED:
            return b""
        return blake2b(b"".join(blake2b(read_file(file)).digest() for file in files)).digest()
    except (GraphEditError, OSError):
        return b""


def watch_file(
    core: EditorCore,
    path: object,
    open_again: Callable[[], Source],
    edits: tuple[Command, ...] | None = None,
) -> None:
    """Let an editor follow its file from now on.

    Args:
        edits: The first edits of the editor, which the file itself holds; None for all that it has
            now.

    Raises:
        WrongType: It is not a path of a file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(
            "watch",
            either("edit(watch=True): what", "What")
            + " is open is not a file; give the path of one.",
        )
    core.file_watch = FileWatch(core, Path(path), open_again, edits)


def reopen(core: EditorCore, source: Source, records: list[dict[str, Any]]) -> int:
    """Open another state of what is open, and make edits again, given as data, after those that the
    source itself holds, whose number is returned; widgets and listeners stay. Raises GraphEditError
    for an edit that does not fit; nothing has changed then.
    """
    new = EditorCore.of(source, core.show, core.layout)
    if source.saved_editor is not None:
        from tfgraphwidget.editor import archive

        new = archive.resume(new, lambda current: EditorCore.of(current, core.show, core.layout))
    in_source = len(new.executor.history.done)
    carry_over(core, new, records)
    new.executor.listeners, new.executor.renew = core.listeners, core.executor.renew
    for part in (
        "source",
        "target",
        "navigator",
        "arguments",
        "executor",
        "evaluator",
        "coloring",
        "entrance",
    ):
        setattr(core, part, getattr(new, part))
    core.save_notices = []  # of the file as it was
    return in_source


def carry_over(old: EditorCore, new: EditorCore, records: list[dict[str, Any]]) -> None:
    """Make edits in an editor of a newer file that has none, and show there what the old one shows.
    Raises GraphEditError for an edit that does not fit.
    """
    if records:
        replay(new.executor, records)
    if new.navigator.path[1:] != old.navigator.path[1:]:
        new.navigator.leave(0)
        with suppress(GraphEditError):  # the function is not there any more
            enter(new.executor, old.navigator.path[1:])
    _show_alike(old.navigator.outermost, new.navigator.outermost)
    if new.navigator.path[1:] == old.navigator.path[1:] and old.view is not old.navigator.outermost:
        _show_alike(old.view, new.view)


def _show_alike(old: GraphView, new: GraphView) -> None:
    """Open, hide and mark what is there in both."""
    there = new.outline.ids

    def is_there(name: str) -> bool:
        return name in there or name.rstrip("/") in there or name in new.index.ids

    new.opened = frozenset(filter(is_there, old.opened))
    new.hidden = frozenset(filter(is_there, old.hidden))
    new.pinned = {name: place for name, place in old.pinned.items() if is_there(name)}
    new.direction, new.first_pane, new.aspects = old.direction, old.first_pane, old.aspects
    inputs, outputs = (
        tuple(name for name in side if name.partition(":")[0] in new.index.ids)
        for side in old.boundary
    )
    with suppress(GraphEditError):
        if outputs:
            new.mark(inputs, outputs)
