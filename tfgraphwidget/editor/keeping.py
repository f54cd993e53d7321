"""Keeping: what one sees and has chosen, to be put back when drawing it is broken off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.edits.history import History


class Kept:
    """All that an editor, its rooms and what belongs to it (`others`) hold now. Values are replaced, never changed."""

    def __init__(self, editor: GraphEditor, *others: object) -> None:
        self._editor = editor
        self._way = list(editor._rooms._way)
        self._held: list[tuple[Any, dict[str, Any]]] = [(o, dict(vars(o))) for o in (editor, *self._way, *others)]
        self._history: History = editor.history

    def put_back(self) -> bool:
        """Let everything be as it was, but for what edits have done; whether there were none."""
        history = self._editor.history
        if history.commands != self._history.commands:
            return False
        for holder, held in self._held:
            vars(holder).clear()
            vars(holder).update(held)
        self._editor._history = history  # a jump that was taken back has carried the same edits out anew
        self._editor._rooms._way[:] = self._way
        return True
