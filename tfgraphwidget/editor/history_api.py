"""The history of an editor: a sequence of steps, with methods that go among them and write them
down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread

AnyStep: TypeAlias = "edits.Step | edits.BatchStep"
"""One edit, or the edits of a batch."""

if TYPE_CHECKING:
    from tfgraphwidget.editor.edited_graph import Copies


class EditHistory(Sequence[AnyStep], ArgumentChecks, inside=one_thread):
    """The edits done and undone when it was asked for; later edits do not change it.

    Its items are the steps that are done, oldest first; the edits of a batch are one step. It
    prints with the number of each step, which `goto` takes, and a mark where one is.
    """

    def __init__(self, core: EditorCore, value: edits.History) -> None:
        self._core, self._value = core, value

    __setattr__ = set_property

    @property
    def done(self) -> tuple[AnyStep, ...]:
        """The steps that are done, oldest first.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> [step.sentence for step in editor.history.done]
        ['Renamed loss to mean_loss']
        """
        return edits.group_batches(self._value.done)

    @property
    def undone(self) -> tuple[AnyStep, ...]:
        """The steps that are undone; the one to redo next is the last.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().history.undone
        ()
        """
        return edits.group_batches(reversed(self._value.undone))[::-1]

    @overload
    def __getitem__(self, place: int) -> AnyStep: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[AnyStep, ...]: ...
    def __getitem__(self, place: int | slice) -> AnyStep | tuple[AnyStep, ...]:
        return self.done[place]

    def __len__(self) -> int:
        return len(self.done)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EditHistory) and self._value.commands == other._value.commands

    def __hash__(self) -> int:
        return hash(self._value.commands)

    def __repr__(self) -> str:
        steps = (*self.done, *reversed(self.undone))
        lines = ["as it was opened", *(step.line for step in steps)]
        wide, here = len(str(len(steps))), len(self.done)
        rows = []
        for number, text in enumerate(lines):
            mark = "▸" if number == here else " "
            rows.append(f"{mark} {number:>{wide}}  " + text.replace("\n", "\n" + " " * (wide + 4)))
        return "\n".join(rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """The Python lines of the edits that are done, one for each; `editor` is this editor.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.history.lines
        ('editor.bypass(what="net/hidden/Relu")',)
        """
        return tuple(step.line for step in self.done)

    @property
    def copies(self) -> Copies:
        """The clones and added graphs now there, by name scope; `editor["copy"]` is one.

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
            InvalidArgument: There are not so many edits.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss"), editor.bypass("net/hidden/Relu")
            >>> editor.history.goto(1)
            'editor.bypass(what="net/hidden/Relu")'
        """
        return self._core.executor.jump(to)

    def records(self) -> list[dict[str, Any]]:
        """Write the edits that are done as data for JSON; `replay` makes them again.

        `editor.save("edits.json")` writes them to a file.

        Returns:
            One dict for each edit; those of a batch are in one.

        Raises:
            GraphEditError: An edit contains what only this process has: a Python function, another
                graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("net/logits", "net/scores")
            >>> editor.history.records()
            [{'command': 'rename', 'arguments': {'old': 'net/logits', 'new': 'net/scores'}}]
        """
        return edits.serialization.records_of(self._value.done)

    def to_script(self, file: str = "values.npz") -> edits.serialization.Script:
        """Write a Python script that opens the same source, edits it and gets an equal graph.

        The script contains what only this process has: the source of functions, and arrays up to 1
        MB. A live graph must be the default one where it runs. `editor.save("edits.py")` writes it
        to a file.

        Args:
            file: The NumPy archive from which the script reads arrays over 1 MB.

        Returns:
            Its `text`, and the `arrays` for the file.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.bypass("net/hidden/Relu")
            >>> print(editor.history.to_script().text)
            import tensorflow as tf
            import tfgraphwidget as tgw
            <BLANKLINE>
            editor = tgw.edit(
                tf.compat.v1.get_default_graph(),  # the graph that was opened
                session=tf.compat.v1.get_default_session(),  # the session that runs it
            )
            <BLANKLINE>
            editor.bypass(what="net/hidden/Relu")
            <BLANKLINE>
            >>> import numpy as np
            >>> report = editor.set_constant("x:0", np.zeros([100_000, 4]))
            >>> {
            ...     name: array.shape
            ...     for name, array in editor.history.to_script("zeros.npz").arrays.items()
            ... }
            {'x:0': (100000, 4)}
        """
        from tfgraphwidget.editor import saving

        return saving.script_of(self._core, file)

    def replay(self, edits: object) -> int:
        """Make edits that `history.records()` or `save` wrote: all of them, or none.

        No code is run. Paths in the edits (a checkpoint, a graph that is added) are read.

        Args:
            edits: What `history.records()` returned, or the path of a JSON file.

        Returns:
            The number of edits that were made; one that finds nothing to do is none. The graph of
            the last one is the current one then.

        Raises:
            GraphEditError: An edit cannot be read or made; the sentence names its number and
                command.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("net/logits", "net/scores")
            >>> other = tgw.example()
            >>> other.history.replay(editor.history.records()), other.history.lines
            (1, ('editor.rename(old="net/logits", new="net/scores")',))
        """
        from tfgraphwidget.editor import replay

        return sum(map(bool, replay.replay(self._core.executor, edits)))

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names, in any case, so that ops of later edits do not take them.

        The names of ops that were undone in a live graph are reserved like that, because TensorFlow
        cannot remove the ops. Where names in a script depend on it, it has this line, so that it
        makes a graph with the same names.

        Args:
            names: Names of ops.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.history.reserve(["net/hidden/relu_placeholder"])
            >>> editor.detach("net/hidden/Relu", inputs=False).added
            ('net/hidden/Relu_placeholder_1',)
        """
        self._core.target.place.reserve(
            str(name).lower() for name in ([names] if isinstance(names, str) else names)
        )
