"""Previews of calls: what a method of an editor would do that makes edits; they are planned, and
none is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits
from tfgraphwidget.editor.command_methods import EditMethod
from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.editor.state import EditorSnapshot
from tfgraphwidget.edits import registry
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
    """What a call that makes one edit would do: a method, or a user's function.

    Args:
        call: The method; or a function, whose first argument is then an editor that only plans.

    Raises:
        GraphEditError: The edit would be refused, for the same reason; or the call makes no edit,
            or more than one.
    """
    owner = getattr(call, "__self__", None)
    is_own_method = getattr(owner, "_core", None) is core
    if is_own_method and not _makes_an_edit(call):
        name = getattr(call, "__name__", "it")
        raise GraphEditError(
            f"preview: {name} makes no edit, so there is nothing to preview; call it."
        )
    if not is_own_method and getattr(owner, "_core", None) is not None:
        raise GraphEditError(
            "preview: this is a method of another editor; ask that one for the preview."
        )
    core.executor.is_previewing = True
    snapshot = EditorSnapshot(core)
    try:
        previewer = _Previewer.__new__(_Previewer)
        vars(previewer).update(vars(core.executor), reports=[])
        present: Any = owner if is_own_method else editor
        planning_owner = object.__new__(type(present))
        vars(planning_owner).update(vars(present), _core=replace(core, executor=previewer))
        function = getattr(call, "__func__") if is_own_method else call  # noqa: B009  # of a bound method
        function(planning_owner, *positional, **keywords)
    finally:
        core.executor.is_previewing = False
        snapshot.restore()
        core.executor.is_previewing = False
    if len(previewer.reports) != 1:
        raise GraphEditError(
            "preview: this makes no edit, or several, of which there is no preview; "
            + in_cell("make them, and undo them: editor.undo().")
        )
    return previewer.reports[0]


def _makes_an_edit(method: Callable[..., object]) -> bool:
    """Whether a method of an editor or of one of its nouns is that of a command."""
    owner, name = type(getattr(method, "__self__", None)), getattr(method, "__name__", "")
    own = inspect.getattr_static(owner, name, None)
    return isinstance(own, EditMethod) or name in registry.commands_of_others()
