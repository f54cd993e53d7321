"""Previews of calls: what a method of an editor would do that makes edits; they are planned, and none is made."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from tfgraphwidget import edits
from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell

_Editor = TypeVar("_Editor", bound=Any)


class _Previewer(EditExecutor):
    """An executor that plans each edit and makes none; `report` is what the last one would do."""

    report: edits.Edits | edits.Preview | None = None

    def run(self, command: edits.Command, renew: edits.Renew = "always") -> tuple[tuple[object, ...], Any]:
        """Plan a command."""
        self.report = self.preview(command, renew)
        return (), self.report


def preview_call(editor: _Editor, call: Callable[[_Editor], object]) -> Any:
    """Preview a call that makes one edit.

    Args:
        editor: The editor, which stays as it is.
        call: Calls a method of the editor that it is given.

    Returns:
        What the edit would do.

    Raises:
        GraphEditError: It would be refused, for the same reason; or the call makes no edit.
    """
    previewer = _Previewer.__new__(_Previewer)
    vars(previewer).update(vars(editor.core.executor))
    reader = copy(editor)
    reader._core = replace(editor.core, executor=previewer)
    call(reader)
    if previewer.report is None:
        raise GraphEditError("This edit has no preview; " + in_cell("make it, and undo it: editor.undo()."))
    return previewer.report
