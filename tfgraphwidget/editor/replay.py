"""Replay: edits that were written as data, made again on another graph, all of them or none."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.edits import Edits, Entrance, Patch
from tfgraphwidget.edits.serialization import EditRecord, parse, records_from
from tfgraphwidget.errors import GraphEditError, kind_and_reason
from tfgraphwidget.progress import tell
from tfgraphwidget.readable import read_file

# Of a file of edits, whose arrays are numbers in text; their objects take ten times that.
_MOST_BYTES = 1 << 28


def replay(
    executor: EditExecutor, edits: object, then: Callable[[Patch], None] = lambda _: None
) -> list[Edits]:
    """Make edits one after the other, and report each, also to `then` with its patch; one that
    finds nothing to do is not a step.

    `edits` are a list as `editor.history.records()` gives it, a document, or the path of its file.
    All are read before the first is made. Raises GraphEditError, which names the edit's number and
    command, and everything is unchanged.
    """
    records = records_from(_content(edits))
    reports: list[Edits] = []
    with executor.transaction() as steps:
        steps.on_failure(executor.undo_since, executor.history)
        renew, batch = executor.renew, executor.batch
        for number, edit in enumerate(records, 1):
            tell("Doing the edits", number - 1, len(records))
            try:
                enter(executor, edit.functions)
                _prepare(executor, edit)
                executor.renew, executor.batch = edit.renew and renew, batch or edit.batch
                reports.append(executor.edit(edit.command(executor.index)))
                if reports[-1]:
                    then(executor.history.done[-1].patch)
            except GraphEditError as error:
                why = f"Edit {number} ({edit.command_name}) cannot be done: " + error.why
                raise GraphEditError(why, error.ops) from error
            except Exception as error:
                # What TensorFlow or Python say of a value that no command takes.
                message = kind_and_reason(error)
                raise GraphEditError(
                    f"Edit {number} ({edit.command_name}) cannot be done: {message}; fix it, or "
                    "leave it out."
                ) from error
        executor.renew, executor.batch = renew, batch
    return reports


def _content(edits: object) -> object:
    """The argument itself, or the content of the file that it names."""
    if not isinstance(edits, str | PathLike):
        return edits
    try:
        text = read_file(Path(edits), _MOST_BYTES)
    except (OSError, ValueError) as error:  # not there, a folder, a name with a NUL in it
        why = getattr(error, "strerror", None) or error
        raise GraphEditError(
            f"{str(edits)[:200]!r} cannot be read: {why}; give a file of edits."
        ) from error
    return parse(text)


def enter(executor: EditExecutor, path: tuple[str, ...]) -> None:
    """Make the graph of that path current in `executor`, from the graph itself inward."""
    navigator = executor.navigator
    here = navigator.path[1:]
    shared = sum(1 for k in range(1, min(len(here), len(path)) + 1) if here[:k] == path[:k])
    if shared < len(here):
        navigator.leave(shared)
    for op, label, everywhere in map(Entrance.of, path[shared:]):
        name = op if op in executor.index.functions else executor.view.names(op)[0]
        navigator.enter(name, label, everywhere=everywhere)


def _prepare(executor: EditExecutor, edit: EditRecord) -> None:
    """Let the graph be as it was for an edit, as far as its names depend on that."""
    if edit.imported and not edit.functions:
        executor.target.graph()
    if edit.reserved:
        executor.target.place.reserve(name.lower() for name in edit.reserved)
