"""Commands of calls, for tests that apply or compare them as values."""

from __future__ import annotations

from typing import Any

from tfgraphwidget import edits
from tfgraphwidget.editor import GraphEditor


def clone_command(editor: GraphEditor, *arguments: Any, **options: Any) -> edits.Clone:
    """The command of a call of `clone`."""
    command: edits.Clone = edits.command_of(
        edits.Clone, editor._core.arguments, *arguments, **options
    )
    return command


def trainable_after(editor: GraphEditor, *which: Any) -> tuple[str, ...]:
    """The variables that are trainable after `set_trainable`."""
    editor.set_trainable(*which)
    return editor.find("is:trainable").ops
