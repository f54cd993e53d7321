"""The source of an editor: what was opened, whether it is trusted, what there is to say of it, and
reading it again.
"""

from __future__ import annotations

from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell


class OpenedSource(ArgumentChecks):
    """What an editor has opened: a graph, a file, a function or a model."""

    def __init__(self, core: EditorCore) -> None:
        self._core = core

    __setattr__ = set_property

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about missing files, read-only parts and the last `save`: one sentence each.

        Also what edits have removed from the selection, until something else is selected.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("x:0", "net/logits:0")
        >>> editor.source.notices
        ()
        >>> report = editor.detach("net/hidden/Relu")
        >>> editor.selection is None, len(editor.source.notices)
        (True, 1)
        """
        selection_notice = self._core.view.selection_notice
        return (
            *self._core.source.notices,
            *self._core.save_notices,
            *([selection_notice] if selection_notice else []),
        )

    @property
    def trusted(self) -> bool:
        """Whether ops may run that do more than compute: write files, call Python, wait.

        A graph that lives in the notebook is the user's own, and a file without such ops is trusted
        too. Of another file nothing else runs, whatever is asked of the editor, until this is set
        to True. The ops of a Saver of TensorFlow 1 run when their file is fed, as its `save` and
        `restore` do.

        Raises GraphEditError when it is set to False where it was True: open the file again for
        that.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     contents = tf.io.read_file("/etc/hostname", name="read")
        >>> editor = tgw.edit(graph.as_graph_def())
        >>> editor.source.trusted
        False
        >>> [finding.ops for finding in editor.lint("untrusted")]
        [('read',)]
        >>> editor.source.trusted = True
        """
        return self._core.source.trust.is_given

    @trusted.setter
    def trusted(self, value: bool) -> None:
        if value is not True and self.trusted:
            raise GraphEditError(
                "trusted = False: what is trusted may have run already; "
                + in_cell("open the file again with tgw.edit(path).")
            )
        if value is True and not self.trusted:
            self._core.source.give_trust()
            self._core.listeners.notify()

    def reload(self) -> str:
        """Read the graph again if other code changed it without TensorFlow's notice.

        An editor follows ops that other code adds by itself. Of a file that `tgw.edit(path,
        watch=True)` opened this looks whether it has changed on disk: then it is opened again, and
        the edits are made again.

        Returns:
            A sentence on what was done with a changed file, or why nothing could be; "" if there is
            nothing to say.

        Example:
            >>> import tempfile, tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> logits, added = (
            ...     editor.graph.get_operation_by_name(name)
            ...     for name in ("net/logits", "net/hidden/Add")
            ... )
            >>> logits._update_input(0, added.outputs[0])
            >>> editor.source.reload()
            ''
            >>> editor.path("net/hidden/Add", "net/logits").ops
            ('net/hidden/Add', 'net/logits')
            >>> path = tempfile.mkdtemp() + "/net.pb"
            >>> saved = tgw.example().save(path)
            >>> editor = tgw.edit(path, watch=True)
            >>> report = editor.rename("net/logits", "net/scores")
            >>> other = tgw.example()
            >>> removed = other.passes.strip_training(["net/logits"])
            >>> saved = other.save(path)
            >>> editor.source.reload()
            'net.pb has changed; it was opened again, and 1 edit was made again.'
        """
        if self._core.file_watch is not None:
            return self._core.file_watch.look(at_once=True)
        with one_thread():
            self._core.target.place.reread()
        self._core.listeners.notify()
        return ""

    def __repr__(self) -> str:
        return f"<OpenedSource: {self._core.source.title}>"
