"""The editor in the browser, and two of them. A message in, one editor call, one reply out."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anywidget
import traitlets

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.pane import Pane, id_of, is_of_left_pane
from tfgraphwidget.widget.request_loop import RequestLoop

if TYPE_CHECKING:
    from tfgraphwidget.editor import Beside, GraphEditor

_SECONDS_BETWEEN_LOOKS = 0.5
_MOST_SECONDS_BETWEEN_LOOKS = 60.0  # while the graph or its file cannot be read
_BUNDLE = Path(__file__).parents[1] / "static" / "widget.js"


def bundle() -> str:
    """The script of the page. Raises GraphEditError when it has not been built."""
    if not _BUNDLE.is_file():
        raise GraphEditError(
            "The widget's bundle has not been built; "
            + in_cell("run `node build.mjs` in labextension/, or install the package.")
        )
    return _BUNDLE.read_text(encoding="utf-8")


class GraphWidget(anywidget.AnyWidget):
    """An ordinary ipywidgets widget. The graph itself never travels in a trait: a view asks for
    what it draws.

    `inputs` and `outputs` are the names of the boundary, `selection` those of the ops between, in
    graph order; all three can be observed. `height` is in pixels. While another graph stands in a
    pane on the left, `document` is what the page knows of both together, and empty otherwise;
    messages of that pane say so.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    left_revision = traitlets.Int(0).tag(sync=True)
    document = traitlets.Bytes(b"").tag(sync=True)
    height = traitlets.Int(600).tag(sync=True)
    software_canvas = traitlets.Bool(True).tag(sync=True)
    inputs = traitlets.Tuple(())
    outputs = traitlets.Tuple(())
    selection = traitlets.Tuple(())

    def __init__(
        self,
        editor: GraphEditor,
        exporter: Exporter | None = None,
        *,
        beside: Beside | None = None,
        **traits: object,
    ) -> None:
        super().__init__(_esm=bundle(), **traits)
        self._editor = editor
        self._pane = Pane(editor, exporter, self._follow, self._compare_beside, self._pair_by_hand)
        self._requests = RequestLoop(self, self._pane)
        self._left: LeftPane | None = None
        editor._core.listeners.append(self._follow)
        self.on_msg(self._receive)
        if beside is not None:
            self._show_beside(beside)
        self._follow()
        self._watching: asyncio.Task[None] | None = None
        with contextlib.suppress(RuntimeError):  # no kernel around: a script, a test
            # Kept on the widget: asyncio itself holds tasks weakly.
            self._watching = asyncio.get_running_loop().create_task(_watch(weakref.ref(self)))

    def close(self) -> None:
        """Show nothing any more, and follow no editor, which makes another widget when shown."""
        super().close()
        editor = getattr(self, "_editor", None)  # Python ends one that could not be made, too
        if editor is not None:
            self._show_beside(None)
            if self._follow in editor._core.listeners:
                editor._core.listeners.remove(self._follow)

    def catch_up(self) -> None:
        """Take in what others have added to the graph or its file; views then ask for it."""
        self._pane.catch_up()

    def _compare_beside(self, other: object) -> None:
        """Show another graph in a pane on the left; None for none any more."""
        from tfgraphwidget.editor import GraphEditor, open_beside
        from tfgraphwidget.sources import open_source

        editor = self._editor
        if other is None:
            self._show_beside(None)
            return
        show = editor._core.show

        def open_editor(thing: object) -> GraphEditor:
            return GraphEditor(open_source(thing), show)

        beside = open_beside(
            other, editor, open_editor, show, pairs=None, feeds=None, tolerance=None
        )
        self._show_beside(beside)

    def _pair_by_hand(self, before: str, after: str) -> None:
        """Pair an op of the left graph with one of this one; of two empty names undo the last."""
        if self._left is None:
            raise GraphEditError("There is no graph in a pane on the left; open Side by side.")
        if before or after:
            self._left.beside.pair(before, after)
        else:
            self._left.beside.unpair()

    def _show_beside(self, beside: Beside | None) -> None:
        if self._left is not None:
            self._left.close()
        self._left = None if beside is None else LeftPane(self, beside, self._follow_left)
        self.document = b"" if beside is None else beside.document()

    def _follow(self) -> None:
        """Take over what the editor says; views ask again at a revision that is not theirs."""
        editor = self._editor
        self.inputs, self.outputs = editor._core.view.boundary
        self.selection = editor.selection.ops if editor.selection is not None else ()
        self._compare_again()
        self.revision = self._pane.revision = self.revision + 1

    def _follow_left(self) -> None:
        """The graph in the left pane has changed, or what is shown of it."""
        if self._left is not None:
            self._compare_again()
            self.left_revision = self._left.pane.revision = self.left_revision + 1

    def _compare_again(self) -> None:
        """After an edit both graphs are compared again."""
        left = self._left
        if left is not None and left.is_outdated():
            self.document = left.beside.document()
            self._follow_left()

    def _receive(self, _: object, message: object, __: object) -> None:
        """Answer one message of the browser."""
        requests = self._requests
        if self._left is not None and is_of_left_pane(message):
            requests = self._left.requests
        requests.receive(id_of(message), message)


class LeftPane:
    """The pane of the graph that stands to the left of a widget's own, and both together.

    Args:
        sender: The widget.
        beside: Both graphs; the first is that of the pane.
        follow: Called when that graph changes, or what is shown of it.
    """

    def __init__(self, sender: GraphWidget, beside: Beside, follow: Callable[[], None]) -> None:
        self.beside, self._follow, self._results = beside, follow, _results_of(beside)
        self.pane = Pane(beside.before, None, follow)
        self.requests = RequestLoop(sender, self.pane)
        beside.before._core.listeners.append(follow)

    def is_outdated(self) -> bool:
        """Whether something else was found to differ than when this was asked last."""
        before, self._results = self._results, _results_of(self.beside)
        return any(old is not new for old, new in zip(before, self._results, strict=True))

    def close(self) -> None:
        """Follow the graph no more."""
        listeners = self.beside.before._core.listeners
        if self._follow in listeners:
            listeners.remove(self._follow)
        self.beside.leave()


def _results_of(beside: Beside) -> tuple[object, ...]:
    """What was found to differ: other objects whenever that is something else."""
    return beside.difference, beside.comparison, beside.refusal


async def _watch(widget_ref: weakref.ref[GraphWidget]) -> None:
    """Look twice a second, while the kernel is idle, whether the graph has grown; as long as the
    widget lives.

    In the kernel and not in the page: messages from a page make the kernel look busy, and keep it
    from being culled. What cannot be read is looked at less and less often, and the same error is
    logged once.
    """
    seconds, logged = _SECONDS_BETWEEN_LOOKS, ""
    while True:
        await asyncio.sleep(seconds)
        widget = widget_ref()
        if widget is None or widget.comm is None:
            return
        try:
            widget.catch_up()
        except Exception as error:
            seconds = min(2 * seconds, _MOST_SECONDS_BETWEEN_LOOKS)
            if logged != repr(error):
                logged = repr(error)
                widget.log.exception("tfgraphwidget: the graph could not be read again")
        else:
            seconds, logged = _SECONDS_BETWEEN_LOOKS, ""
        del widget
