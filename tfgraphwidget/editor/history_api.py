"""The history of an editor: a sequence of steps, with methods that go among them and write them down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread

if TYPE_CHECKING:
    from tfgraphwidget.editor.edited_graph import Copies


class EditHistory(Sequence[edits.Step], ArgumentChecks, inside=one_thread):
    """The edits that were done and undone when it was asked for; it stays as it is when others are made.

    Its items are the steps that are done, oldest first. It prints with the number of each step, which `goto` takes, and
    a mark where one is.
    """

    def __init__(self, core: EditorCore, value: edits.History) -> None:
        self._core, self._value = core, value

    __setattr__ = set_property

    @property
    def done(self) -> tuple[edits.Step, ...]:
        """The steps that are done, oldest first.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> [step.sentence for step in editor.history.done]
        ['Renamed loss to mean_loss']
        """
        return self._value.done

    @property
    def undone(self) -> tuple[edits.Step, ...]:
        """The steps that are undone; the one to redo next is the last.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().history.undone
        ()
        """
        return self._value.undone

    @overload
    def __getitem__(self, place: int) -> edits.Step: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[edits.Step, ...]: ...
    def __getitem__(self, place: int | slice) -> edits.Step | tuple[edits.Step, ...]:
        return self._value.done[place]

    def __len__(self) -> int:
        return len(self._value.done)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EditHistory) and self._value.commands == other._value.commands

    def __hash__(self) -> int:
        return hash(self._value.commands)

    def __repr__(self) -> str:
        return repr(self._value)

    @property
    def lines(self) -> tuple[str, ...]:
        """The Python lines of the edits that are done, one for each; `editor` is this editor.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.history.lines
        ('editor.bypass(what="net/hidden/Relu")',)
        """
        return tuple(step.line for step in self._value.done)

    @property
    def copies(self) -> Copies:
        """The clones and added graphs of the edits that are done now, by name scope; `editor["copy"]` is one of them.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.history.copies
        {'copy': <Copy 'copy': 22 ops, 3 variables of its own>}
        """
        return self._core.executor.copies

    @property
    def lost(self) -> tuple[str, ...]:
        """The state that the session lost in the last edit, undo or redo: one sentence each.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.history.lost
        ()
        """
        return self._core.executor.lost

    def goto(self, to: object) -> str:
        """Undo or redo several edits; if one of them fails or is interrupted, none are.

        Args:
            to: The number of edits of the history that are done afterwards.

        Returns:
            The line of code of the last edit that was undone or redone, or "".

        Raises:
            NothingTo: There are not so many edits.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss"), editor.bypass("net/hidden/Relu")
            >>> editor.history.goto(1)
            'editor.bypass(what="net/hidden/Relu")'
        """
        return self._core.executor.jump(to)

    def records(self) -> list[dict[str, Any]]:
        """Write the edits that are done as data for JSON; `editor.replay` makes them again.

        `editor.save("edits.json")` writes them to a file.

        Returns:
            One dict for each edit.

        Raises:
            GraphEditError: An edit contains what only this process has: a Python function, another graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("net/logits", "net/scores")
            >>> editor.history.records()
            [{'verb': 'rename', 'given': {'old': 'net/logits', 'new': 'net/scores'}}]
        """
        return edits.serialization.records_of(self._value.done)

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names, in any case, so that ops of later edits do not take them.

        The names of ops that were undone in a live graph are reserved like that, because TensorFlow cannot remove the
        ops. Where names in a script depend on it, it has this line, so that it makes a graph with the same names.

        Args:
            names: Names of ops.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.history.reserve(["net/hidden/relu_placeholder"])
            >>> editor.detach("net/hidden/Relu", inputs=False).added
            ('net/hidden/Relu_placeholder_1',)
        """
        self._core.target.reserve(str(name).lower() for name in ([names] if isinstance(names, str) else names))
