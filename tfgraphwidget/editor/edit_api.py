"""Edits: the methods of GraphEditor that apply a command, and undo, redo and list what was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import ArgumentChecks, check
from tfgraphwidget.editor.history_api import EditHistory
from tfgraphwidget.editor.pass_values import Pass, Repeat, Sequential, apply_edits, preview_edit
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread


class EditAPI(ArgumentChecks, inside=one_thread):
    """Applies commands, and undoes and redoes them.

    All edits raise a GraphEditError if they cannot be right, and then nothing has changed;
    `error.fixes` are suggested fixes: `editor.apply(error.fixes[0])`.
    """

    _core: EditorCore

    @property
    def renew(self) -> bool:
        """Whether a session that has run the ops of an edit is renewed, so that it sees the edit.

        A session caches the graph that it has run. It is renewed in place: the session object
        stays, with the values of its variables. Assign False to leave it as it is;
        `tfgraphwidget.renew(session)` renews it later.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.renew
        True
        """
        return self._core.executor.renew

    @renew.setter
    def renew(self, value: bool) -> None:
        check("renew", "renew", value, bool)
        self._core.executor.renew = value

    def apply(
        self, *edit: edits.Command | Pass | Sequential | Repeat | Mapping[str, Any] | list[Any]
    ) -> edits.Edits:
        """Apply edits that are values: commands, passes or their JSON; several are one step.

        Args:
            edit: A command, such as `error.fixes[0]` or a finding's `fix`; a pass of `tgw.passes`,
                `Sequential` or `Repeat`; JSON as one of `history.records()`; or a list of these.

        Returns:
            What was changed; false in `if` where there was nothing to do.

        Raises:
            GraphEditError: An edit cannot be right; nothing has changed.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> wide = editor.call(
            ...     "net/hidden/Relu:0", lambda x: tf.cast(x, tf.float64), into="wide"
            ... )
            >>> try:
            ...     editor.connect("wide/Cast:0", "net/logits", 0)
            ... except tgw.GraphEditError as error:
            ...     report = editor.apply(error.fixes[0])
            >>> editor.history.lines[-1]
            'editor.connect(source="wide/Cast:0", target="net/logits", k=0, adapter="Cast")'
            >>> report = editor.apply(
            ...     tgw.passes.Sequential(tgw.passes.freeze("loss"), tgw.passes.fold_constants())
            ... )
            >>> editor.history[-1].sentence, len(editor.history[-1].steps)
            ('freeze, fold_constants', 1)
        """
        return apply_edits(self._core, edit)

    def batch(self, name: str) -> AbstractContextManager[None]:
        """Make several edits one step of the history; if one of them fails, none is made.

        Args:
            name: What the step is called.

        Returns:
            A context manager for a `with` statement.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> with editor.batch("Without the activation"):
            ...     report = editor.bypass("net/hidden/Relu")
            ...     report = editor.rename("net/logits", "net/scores")
            >>> editor.history
              0  as it was opened
            ▸ 1  with editor.batch("Without the activation"):
                     editor.bypass(what="net/hidden/Relu")
                     editor.rename(old="net/logits", new="net/scores")
            >>> lines = editor.undo()
            >>> len(editor.history)
            0
        """
        return self._core.executor.run_as_one(name)

    def preview(
        self,
        edit: edits.Command
        | Pass
        | Sequential
        | Repeat
        | Mapping[str, Any]
        | Callable[..., object],
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """Show what an edit would do; nothing changes.

        Args:
            edit: A method of the editor, a command, a pass, or JSON as `history.records()` has it;
                or a function that makes an edit of the editor that it is given.
            arguments: Arguments of the method.
            options: Arguments of the method by name.

        Returns:
            The `Edits`: the ops that it would add, remove and change, and the shapes that would
            change. Of a clone a `Preview`: the ops, new and shared state, inputs from outside.

        Raises:
            GraphEditError: The edit would be refused, for the same reason. What only a run of the
                session shows is left to the edit: whether a variable has a value.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> variables = {"net/hidden": "shared"}
            >>> preview = editor.preview(
            ...     editor.clone, "x:0", "net/logits:0", into="copy", variables=variables
            ... )
            >>> preview, [state.name for state in preview.shared]
            (<Preview: 12 ops into 'copy', 1 new, 2 shared>, ['net/hidden/w', 'net/hidden/b'])
            >>> print(
            ...     editor.preview({"command": "bypass", "arguments": {"what": "net/hidden/Relu"}})
            ... )
            3 ops changed
            The gradients of net/hidden/Relu ('gradients/net/hidden/Relu_grad/ReluGrad')
            stay as they were; compute them
            again before you train.
            'net/hidden/Relu' stays in the graph, without consumers outside.
            >>> editor.history.done
            ()
        """
        return preview_edit(self, edit, arguments, options)

    # The history

    def undo(self) -> str:
        """Undo the last edit; a live graph hides its ops, as TensorFlow cannot remove them.

        The graph or function that the edit was made in is the current one then; `view.leave`
        returns to the graph around it. An edit that was made before TensorFlow imported a file, and
        that TensorFlow cannot take back, makes a file of the graph again: its session is closed,
        the next one begins with its values, and `history.lost` says so.

        Returns:
            The line of code of the edit; the lines of a batch; "" if there is no edit to undo.

        Raises:
            GraphEditError: Other code has changed what the edit made.

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
        """Redo the edit that was undone last, with the same ops and variables and their values.

        Returns:
            The line of code of the edit; the lines of a batch; "" if there is no edit to redo.

        Raises:
            GraphEditError: Other code has changed what the edit needs.

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
