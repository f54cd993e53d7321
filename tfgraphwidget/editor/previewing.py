"""Previews of calls: what a method of an editor would do that makes edits; they are planned, and none is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits
from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore


class _Previewer(EditExecutor):
    """An executor that plans each edit and makes none; `reports` are what they would do."""

    reports: list[edits.Edits | edits.Preview]

    def run(self, command: edits.Command) -> tuple[tuple[object, ...], Any]:
        """Plan a command."""
        self.reports.append(self.preview(command))
        return (None,), self.reports[-1]

    def clone(self, command: edits.Clone) -> Any:
        """Plan copies, also those into the function of another editor."""
        return self.run(command)[0]


def preview_call(
    core: EditorCore, call: Callable[..., object], editor: object, *positional: Any, **keywords: Any
) -> Any:
    """What a call would do that makes one edit: a method of the editor or of one of its nouns, or a user's function.

    Args:
        call: The method; or a function, whose first argument is then an editor that only plans.

    Raises:
        GraphEditError: The edit would be refused, for the same reason; or the call makes no edit, or more than one.
    """
    previewer = _Previewer.__new__(_Previewer)
    vars(previewer).update(vars(core.executor), reports=[])
    planning_core = replace(core, executor=previewer)
    owner = getattr(call, "__self__", None)
    is_own_method = getattr(owner, "_core", None) is core
    present: Any = owner if is_own_method else editor
    planning_owner = object.__new__(type(present))
    vars(planning_owner).update(vars(present), _core=planning_core)
    function = getattr(call, "__func__", call)
    history = core.executor.history
    function(planning_owner, *positional, **keywords)
    if core.executor.history is not history:
        core.executor.undo_since(history)
        raise GraphEditError(
            "preview: the function has made an edit of this editor, which was undone; "
            + in_cell("let it use its argument: editor.preview(lambda editor: editor.bypass('scope')).")
        )
    if len(previewer.reports) != 1:
        raise GraphEditError(
            "preview: this makes no edit, or several, of which there is no preview; "
            + in_cell("make them, and undo them: editor.undo().")
        )
    return previewer.reports[0]
