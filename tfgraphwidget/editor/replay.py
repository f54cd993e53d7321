"""Replaying: edits that were written down, done again on another graph, all of them or none."""

from __future__ import annotations

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from tfgraphwidget.editor.state import Changing
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.freeze.commands import Freeze
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.edits.history import History
from tfgraphwidget.edits.rewrite.attributes import Trainable
from tfgraphwidget.edits.serialization.json_format import Written, parsed, read
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.live.edit_record import record_of


def replay(editor: Any, edits: Any) -> int:
    """Do edits one after the other; how many there were.

    `edits` are a list as `editor.edits()` gives it, a document, or the path of its file. All are read before the first
    is done. Raises GraphEditError, which names the edit's number and verb, and everything is as it was.
    """
    wanted = read(_held(edits))
    with editor._live.attempt(), editor._all_or_nothing(partial(_take_back, editor, editor.history)):
        for number, edit in enumerate(wanted, 1):
            tell("Doing the edits", number - 1, len(wanted))
            try:
                _go(editor, edit.rooms)
                _prepare(editor, edit)
                _do(editor, edit)
            except GraphEditError as error:
                why = f"Edit {number} ({edit.verb}) cannot be done: {error.why}"
                raise GraphEditError(why, error.ops) from error
            except Exception as error:  # what TensorFlow or Python say of a value that no command takes
                told = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}".rstrip(".: ")
                raise GraphEditError(f"Edit {number} ({edit.verb}) cannot be done: {told}.") from error
    return len(wanted)


def _held(edits: Any) -> Any:
    """What was given, or what the file holds."""
    if not isinstance(edits, str | PathLike):
        return edits
    try:
        text = Path(edits).read_bytes()
    except (OSError, ValueError) as error:  # not there, a folder, a name with a NUL in it
        why = getattr(error, "strerror", None) or error
        raise GraphEditError(f"{str(edits)[:200]!r} cannot be read: {why}; give a file of edits.") from error
    return parsed(text)


def _take_back(editor: Any, history: History) -> None:
    """Undo what came since a history; nothing is left of it, and its names are free for the same edits."""
    nodes: list[Any] = []
    functions: set[str] = set()
    while len(editor.history.done) > len(history.done):
        step = editor.history.last()
        if step.place is editor._live:
            nodes += step.patch.add.nodes
            functions |= {function.signature.name for function in step.patch.add.functions}
        editor.undo()
    editor._history = history
    _forget(editor, nodes, functions)


def _forget(editor: Changing, nodes: list[Any], functions: set[str]) -> None:
    """Let the names be free for the same edits: TensorFlow's graph keeps the ops, hidden, and they are shown again."""
    graph = editor._source.graph
    if graph is None or not nodes:
        return
    record = record_of(graph)
    record.failed.update((node.name, node) for node in nodes if node.name in record.hidden)
    record.failed_functions |= record.functions & functions
    editor._live.reread()


def _go(editor: Any, rooms: tuple[str, ...]) -> None:
    """Stand in the room of that way, from the graph itself inward."""
    here = editor.breadcrumb[1:]
    shared = sum(1 for k in range(1, min(len(here), len(rooms)) + 1) if here[:k] == rooms[:k])
    if shared < len(here):
        editor.leave(shared)
    for title in rooms[shared:]:
        op, _, label = title.partition(":")
        editor.enter(op, label)


def _prepare(editor: Any, edit: Written) -> None:
    """Let the graph be as it was for an edit, as far as its names hang on that."""
    if edit.imported and not edit.rooms:
        editor._live.graph()
    if edit.reserved:
        editor.reserve(edit.reserved)


def _do(editor: Any, edit: Written) -> None:
    """Do one edit, as the editor's method of its name does."""
    command = edit.command(editor.index)
    if isinstance(command, Clone):
        editor.do(command)
    elif isinstance(command, Add):
        options = {"checkpoint": command.checkpoint, "tags": command.tags, "clear_devices": command.clear_devices}
        editor.add(command.source, command.into, dict(command.connect), **options)
    elif isinstance(command, Trainable):
        editor.trainable(*command.variables)
    elif isinstance(command, Freeze):
        editor.freeze(command.outputs, command.inputs, renew=edit.renew)
    elif isinstance(command, FoldBatchNorm):
        editor.fold_batch_norm(command.what, renew=edit.renew)
    else:
        editor.edit(command, renew=edit.renew)
