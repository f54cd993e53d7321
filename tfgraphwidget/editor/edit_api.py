"""Edits: the methods of GraphEditor that apply a command, and undo, redo and list what was done."""

from __future__ import annotations

from typing import Any

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.history_api import EditHistory
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread
from tfgraphwidget.graph import Selection, selectors
from tfgraphwidget.tf_types import (
    OpsLike,
)


class EditAPI(ArgumentChecks, inside=one_thread):
    """Applies commands, and undoes and redoes them.

    All edits raise a GraphEditError if they cannot be right, and then nothing has changed; `error.mends` are suggested
    fixes: `editor.edit(error.mends[0])`.
    """

    _core: EditorCore

    def trainable(self, *which: OpsLike) -> Selection:
        """Select the trainable variables, see `trainable_variables`; with arguments set them, see `set_trainable`.

        Args:
            which: Variables, their names, name scopes or selections; none to select only.

        Returns:
            The trainable variables.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.trainable("net/w").ops, editor.trainable().ops
            (('net/w',), ('net/w',))
        """
        if which:
            self.edit(edits.Trainable.from_call(self._core.arguments, *which))
        return selectors.trainable(self._core.index)

    # Signatures

    # Commands

    def edit(self, command: edits.Command, *, renew: edits.Renew = "always") -> edits.Edits:
        """Apply a command, and record it in the history.

        A session caches the graph that it has run, so it is renewed in place if ops change that it may have run: the
        session object sees the edit, and keeps the values of its variables.

        Args:
            command: The command: one of `error.mends`, or of `command(...)`.
            renew: "never" leaves the session alone.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The edit cannot be right; nothing has changed.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> wide = editor.grow("net/hidden/Relu:0", lambda x: tf.cast(x, tf.float64), into="wide")
            >>> try:
            ...     editor.connect("wide/Cast:0", "net/logits", 0)
            ... except tgw.GraphEditError as error:
            ...     report = editor.edit(error.mends[0])
            >>> editor.history.lines[-1]
            'editor.connect(source="wide/Cast:0", target="net/logits", k=0, mend="Cast")'
        """
        return self._core.executor.edit(command, renew=renew)

    # The history

    def undo(self) -> str:
        """Undo the last edit. On a live graph its ops are hidden, because TensorFlow cannot remove them.

        The graph or function that the edit was made in is the current one then; `view.leave` returns to the graph
        around it.
        An edit that was made before TensorFlow imported a file, and that TensorFlow cannot take back, makes a file of
        the graph again: its session is closed, the next one begins with its values, and `history.lost` says so.

        Returns:
            The line of code of the edit.

        Raises:
            NothingTo: There is no edit to undo, or other code has changed the imported graph since.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss")
            >>> editor.undo()
            'editor.rename(old="loss", new="mean_loss")'
            >>> editor.diff()
            No difference.
        """
        return self._core.executor.undo()

    def redo(self) -> str:
        """Redo the edit that was undone last; the same ops and variables come back, with their values.

        Returns:
            The line of code of the edit.

        Raises:
            NothingTo: There is no edit to redo.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss")
            >>> editor.undo() == editor.redo()
            True
            >>> editor.ops("mean_loss").ops
            ('mean_loss',)
        """
        return self._core.executor.redo()

    @property
    def history(self) -> EditHistory:
        """The edits that are done and undone, as they are now.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> editor.history
          0  as it was opened
        ▸ 1  editor.rename(old="loss", new="mean_loss")
        """
        return EditHistory(self._core, self._core.executor.history)

    def __getitem__(self, scope: str) -> Any:
        """The clone or added graph of a name scope: after a click on Clone, `editor["copy"]`.

        Args:
            scope: The name scope.

        Raises:
            UnknownName: No edit that is done has made a copy of that name scope.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
            >>> editor["copy"]
            <Copy 'copy': 22 ops, 3 variables of its own>
        """
        return self._core.executor.copies[scope]
