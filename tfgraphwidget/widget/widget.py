"""GraphWidget: the editor in the browser. A message in, one editor call, one reply out."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anywidget
import traitlets

from tfgraphwidget.cancellation import Cancelling
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.progress import listen
from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.delivery import Delivery
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.main_thread import run_on_main_thread
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.request_handler import Answer, RequestHandler

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_LOOK_EVERY = 0.5  # seconds
_SPEAK_EVERY = 0.1  # seconds between two words of progress, and before the first
_CANCELLED = "Cancelled; nothing has changed."
_DONE = "Cancelled when the edit was done already; History has it, and undo takes it back."
_BUNDLE = Path(__file__).parents[1] / "static" / "widget.js"


class GraphWidget(anywidget.AnyWidget):
    """An ordinary ipywidgets widget. The graph itself never travels in a trait: a view asks for what it draws.

    `inputs` and `outputs` are the names of the boundary, `selection` those of the ops between, in graph order;
    all three can be observed. `height` is in pixels.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(600).tag(sync=True)
    software_canvas = traitlets.Bool(True).tag(sync=True)
    inputs = traitlets.Tuple(())
    outputs = traitlets.Tuple(())
    selection = traitlets.Tuple(())

    def __init__(self, editor: GraphEditor, exporter: Exporter | None = None, **traits: object) -> None:
        if not _BUNDLE.is_file():
            raise GraphEditError(
                "The widget's bundle has not been built; run `node build.mjs` in labextension/, or install the package."
            )
        super().__init__(_esm=_BUNDLE.read_text(encoding="utf-8"), **traits)
        self._editor = editor
        self._handler = RequestHandler(editor, exporter)
        self._delivery = Delivery(self)
        editor.listeners.append(self._follow)
        self.on_msg(self._receive)
        self._follow()
        self._watching: asyncio.Task[None] | None = None
        with contextlib.suppress(RuntimeError):  # no kernel around: a script, a test
            # Kept on the widget: asyncio itself holds tasks weakly.
            self._watching = asyncio.get_running_loop().create_task(_watch(weakref.ref(self)))

    def close(self) -> None:
        """Show nothing any more, and follow no editor; the editor makes another widget when it is to be shown."""
        super().close()
        editor = getattr(self, "_editor", None)  # Python ends one that could not be made, too
        if editor is not None and self._follow in editor.listeners:
            editor.listeners.remove(self._follow)

    def catch_up(self) -> None:
        """Take in what others have added to the graph or written to its file; views then ask for the new drawing."""
        if self._editor.core.file_watch is not None:
            self._editor.core.file_watch.look()
        if self._editor.core.target.is_behind():
            self._follow()

    def _follow(self) -> None:
        """Take over what the editor says; views ask again when they see a revision that no reply of theirs named."""
        editor = self._editor
        self.inputs, self.outputs = editor.inputs, editor.outputs
        self.selection = editor.selection.ops if editor.selection is not None else ()
        self.revision = self._handler.revision = self.revision + 1

    def _receive(self, _: object, message: object, __: object) -> None:
        """Answer one message of the browser with exactly one reply, when its turn comes; one sent again, once."""
        identifier = message.get("id") if isinstance(message, dict) else None
        number = identifier if codec.is_whole(identifier) else -1
        run_on_main_thread(
            lambda: self._answer(number, message),
            lambda: self.send(codec.encode(number, protocol.Working("", 0, 0))),
        )

    def _answer(self, number: int, message: object) -> None:
        replied = False
        try:
            with Cancelling() as cancelling:
                if not self._delivery.repeat(number, message):
                    self._send_reply(number, message, *self._reply(cancelling, number, message))
                replied = True
        except KeyboardInterrupt:  # in the moment before Cancelling is there, or behind it
            if not replied:
                self._send_reply(number, message, protocol.Refusal(_CANCELLED, ()), [])

    def _reply(self, cancelling: Cancelling, number: int, message: object) -> Answer:
        try:
            try:
                return self._answer_or_refuse(cancelling, number, message)
            except GraphEditError as error:
                return self._handler.refusal_reply(error), []
        except Exception as error:
            return self._failure(error), []

    def _failure(self, error: Exception) -> protocol.Refusal:
        """The person sees what went wrong; the traceback goes to the kernel's log, not into the panel."""
        self.log.error("tfgraphwidget: a request failed", exc_info=error)
        text = str(error)[:300].encode("utf-8", "backslashreplace").decode()
        return protocol.Refusal(
            f"{type(error).__name__} in the kernel: {text}; History says what was done before it.", ()
        )

    def _send_reply(self, number: int, message: object, reply: protocol.Reply, buffers: list[bytes]) -> None:
        """Send a reply, or why it cannot be sent: ipywidgets would drop the exception, and the page wait for ever."""
        try:
            self._delivery.reply(number, message, codec.encode(number, reply), buffers)
        except Exception as error:
            self._delivery.reply(number, message, codec.encode(number, self._failure(error)), [])

    def _answer_or_refuse(self, cancelling: Cancelling, number: int, message: object) -> Answer:
        """The reply, or a refusal if the user cancels the request."""
        snapshot = self._handler.snapshot()
        try:
            with cancelling.once(), listen(self._progress_sender(number)):
                return self._handler.handle(codec.decode(message)[1], codec.pane_of(message))
        except KeyboardInterrupt:
            unchanged = snapshot.restore()
            self._editor.core.listeners.notify()  # they may have heard of what was put back
            return protocol.Refusal(_CANCELLED if unchanged else _DONE, ()), []

    def _progress_sender(self, number: int) -> Callable[[str, int, int], None]:
        """Return a function that sends the progress of a request that takes long, at intervals."""
        last = time.monotonic()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _SPEAK_EVERY:
                last = now
                self.send(codec.encode(number, protocol.Working(what, done, total)))

        return tell


async def _watch(widget_ref: weakref.ref[GraphWidget]) -> None:
    """Look twice a second, while the kernel is idle, whether the graph has grown; as long as the widget lives.

    In the kernel and not in the page: messages from a page make the kernel look busy, and keep it from being culled.
    """
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        widget = widget_ref()
        if widget is None or widget.comm is None:
            return
        try:
            widget.catch_up()
        except Exception:
            widget.log.exception("tfgraphwidget: the graph could not be read again")
        del widget
