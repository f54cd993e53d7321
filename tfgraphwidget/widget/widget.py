"""The editor in the browser, and two of them. A message in, one editor call, one reply out."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anywidget
import traitlets

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.pane import Pane, id_of
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
    graph order; all three can be observed. `height` is in pixels.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(600).tag(sync=True)
    software_canvas = traitlets.Bool(True).tag(sync=True)
    inputs = traitlets.Tuple(())
    outputs = traitlets.Tuple(())
    selection = traitlets.Tuple(())

    def __init__(
        self, editor: GraphEditor, exporter: Exporter | None = None, **traits: object
    ) -> None:
        super().__init__(_esm=bundle(), **traits)
        self._editor = editor
        self._pane = Pane(editor, exporter, self._follow)
        self._requests = RequestLoop(self, self._pane)
        editor._core.listeners.append(self._follow)
        self.on_msg(self._receive)
        self._follow()
        self._watching: asyncio.Task[None] | None = None
        with contextlib.suppress(RuntimeError):  # no kernel around: a script, a test
            # Kept on the widget: asyncio itself holds tasks weakly.
            self._watching = asyncio.get_running_loop().create_task(_watch(weakref.ref(self)))

    def close(self) -> None:
        """Show nothing any more, and follow no editor; the editor makes another widget when it is
        to be shown.
        """
        super().close()
        editor = getattr(self, "_editor", None)  # Python ends one that could not be made, too
        if editor is not None and self._follow in editor._core.listeners:
            editor._core.listeners.remove(self._follow)

    def catch_up(self) -> None:
        """Take in what others have added to the graph or written to its file; views then ask for
        the new drawing.
        """
        self._pane.catch_up()

    def _follow(self) -> None:
        """Take over what the editor says; views ask again when they see a revision that no reply of
        theirs named.
        """
        editor = self._editor
        self.inputs, self.outputs = editor._core.view.boundary
        self.selection = editor.selection.ops if editor.selection is not None else ()
        self.revision = self._pane.revision = self.revision + 1

    def _receive(self, _: object, message: object, __: object) -> None:
        """Answer one message of the browser."""
        self._requests.receive(id_of(message), message)


class BesideWidget(anywidget.AnyWidget):
    """Two graphs in two panes of one widget, and what the page knows of both together.

    Each message says which pane it comes from: `side` 0 is the left one. `document` is that of
    `Beside`, and `revisions` count the changes of each graph. `height` is in pixels.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    revisions = traitlets.List([0, 0]).tag(sync=True)
    document = traitlets.Bytes().tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)
    software_canvas = traitlets.Bool(True).tag(sync=True)

    def __init__(self, beside: Beside, **traits: object) -> None:
        super().__init__(_esm=bundle(), document=beside.document(), **traits)
        self._beside, self._drawn = beside, beside.difference
        editors = beside.before, beside.after
        self._follows = [partial(self._follow, side) for side in range(2)]
        self._panes = [
            Pane(editor, None, follow)
            for editor, follow in zip(editors, self._follows, strict=True)
        ]
        self._requests = [RequestLoop(self, pane) for pane in self._panes]
        for editor, follow in zip(editors, self._follows, strict=True):
            editor._core.listeners.append(follow)
        self.on_msg(self._receive)

    def close(self) -> None:
        """Show nothing any more, and follow no editor."""
        super().close()
        for pane, follow in zip(getattr(self, "_panes", ()), self._follows, strict=True):
            if follow in pane.editor._core.listeners:
                pane.editor._core.listeners.remove(follow)

    def _follow(self, side: int) -> None:
        """A graph has changed, or what is shown of it: its pane asks again; and after an edit both
        are compared again.
        """
        revisions = list(self.revisions)
        revisions[side] += 1
        if self._beside.difference is not self._drawn:
            self._drawn, self.document = self._beside.difference, self._beside.document()
            revisions[1 - side] += 1
        for pane, revision in zip(self._panes, revisions, strict=True):
            pane.revision = revision
        self.revisions = revisions

    def _receive(self, _: object, message: object, __: object) -> None:
        """Answer one message of a pane."""
        side = message.get("side") if isinstance(message, dict) else None
        request = (
            {key: value for key, value in message.items() if key != "side"}
            if isinstance(message, dict)
            else message
        )
        self._requests[1 if side == 1 else 0].receive(id_of(message), request)


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
