"""GraphWidget: the editor in the browser. A message in, one editor call, one reply out."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import anywidget
import traitlets

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.delivery import Message
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.request_handler import RequestHandler
from tfgraphwidget.widget.request_loop import RequestLoop

if TYPE_CHECKING:
    from tfgraphwidget.editor import EditorSnapshot, GraphEditor

_SECONDS_BETWEEN_LOOKS = 0.5
_MOST_SECONDS_BETWEEN_LOOKS = 60.0  # while the graph or its file cannot be read
_CANCELLED = "Cancelled; nothing has changed."
_DONE = "Cancelled when the edit was done already; History has it, and undo takes it back."
_BUNDLE = Path(__file__).parents[1] / "static" / "widget.js"


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
        if not _BUNDLE.is_file():
            raise GraphEditError(
                "The widget's bundle has not been built; "
                + in_cell("run `node build.mjs` in labextension/, or install the package.")
            )
        super().__init__(_esm=_BUNDLE.read_text(encoding="utf-8"), **traits)
        self._editor = editor
        self._handler = RequestHandler(editor, exporter)
        self._requests = RequestLoop(self, self)
        self._before_request: EditorSnapshot | None = None  # what an interrupt puts back
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
        if self._editor._core.file_watch is not None:
            self._editor._core.file_watch.look()
        if self._editor._core.target.is_outdated():
            self._follow()

    def _follow(self) -> None:
        """Take over what the editor says; views ask again when they see a revision that no reply of
        theirs named.
        """
        editor = self._editor
        self.inputs, self.outputs = editor._core.view.boundary
        self.selection = editor.selection.ops if editor.selection is not None else ()
        self.revision = self._handler.revision = self.revision + 1

    def _receive(self, _: object, message: object, __: object) -> None:
        """Answer one message of the browser."""
        identifier = message.get("id") if isinstance(message, dict) else None
        self._requests.receive(identifier if codec.is_whole(identifier) else -1, message)

    # What the loop of requests asks for: see `Responder`

    def answer(self, number: int, request: object) -> Message:
        """Handle a request, and return the reply to it; see `Responder.answer`."""
        if self._editor._core.target.is_outdated():  # a request may read it on, and draw nothing
            self._follow()
        self._before_request = self._handler.snapshot()
        reply, buffers = self._handler.handle(codec.decode(request)[1], codec.pane_of(request))
        message = codec.encode(number, reply), buffers
        self._before_request = None
        return message

    def refuse(self, number: int, _: object, error: BaseException) -> Message:
        """Return the reply that says why a request could not be handled; see `Responder.refuse`."""
        before, self._before_request = self._before_request, None
        try:
            if isinstance(error, KeyboardInterrupt):
                reply = self._take_back(before)
            elif isinstance(error, GraphEditError):
                reply = self._handler.refusal_reply(error)
            else:
                reply = self._failure(error)
        except Exception as further:
            reply = self._failure(further)
        return codec.encode(number, reply), []

    def working(
        self, number: int, _: object, what: str, done: int, total: int
    ) -> dict[str, object]:
        """Return the message that says how far a request is; see `Responder.working`."""
        return codec.encode(number, protocol.Working(what, done, total))

    def _take_back(self, before: EditorSnapshot | None) -> protocol.Refusal:
        """The user has canceled a request: restore the view and the selection, unless an edit was
        made already.
        """
        unchanged = before is None or before.restore()
        self._editor._core.listeners.notify()  # they may have seen what was put back
        return protocol.Refusal(_CANCELLED if unchanged else _DONE, ())

    def _failure(self, error: BaseException) -> protocol.Refusal:
        """The person sees what went wrong; the traceback goes to the kernel's log, not into the
        panel.
        """
        self.log.error("tfgraphwidget: a request failed", exc_info=error)
        text = str(error)[:300].encode("utf-8", "backslashreplace").decode()
        return protocol.Refusal(
            f"{type(error).__name__} in the kernel: {text}; History says what was done before it.",
            (),
        )


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
