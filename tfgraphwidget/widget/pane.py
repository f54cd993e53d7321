"""Pane: one graph on a page, whose requests are answered one after another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.delivery import Message
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.request_handler import RequestHandler

if TYPE_CHECKING:
    from tfgraphwidget.editor import EditorSnapshot, GraphEditor

_CANCELLED = "Cancelled; nothing has changed."
_DONE = "Cancelled when the edit was done already; History has it, and undo takes it back."


class Pane:
    """Answers the requests of the views of one graph; see `Responder`.

    Args:
        editor: The editor of the graph.
        exporter: What saves files for the page; None for one in the folder of the kernel.
        follow: Called when others have changed the graph.
        show_beside: Shows another graph in a pane on the left, None for none any more; None where
            there is no such pane.
        pair: Pairs an op of that graph with one of this one by hand; of two empty names undoes it.
    """

    def __init__(
        self,
        editor: GraphEditor,
        exporter: Exporter | None,
        follow: Callable[[], None],
        show_beside: Callable[[object], None] | None = None,
        pair: Callable[[str, str], None] | None = None,
    ) -> None:
        self.editor, self._follow = editor, follow
        self._handler = RequestHandler(editor, exporter, show_beside=show_beside, pair=pair)
        self._before_request: EditorSnapshot | None = None  # what an interrupt puts back
        self._commands = editor._core.executor.history.commands  # before the last request

    @property
    def revision(self) -> int:
        """The number of the state that replies name."""
        return self._handler.revision

    @revision.setter
    def revision(self, revision: int) -> None:
        self._handler.revision = revision

    def catch_up(self) -> None:
        """Take in what others have added to the graph or written to its file."""
        if self.editor._core.file_watch is not None:
            self.editor._core.file_watch.look()
        if self.editor._core.target.place.is_outdated():
            self._follow()

    # What the loop of requests asks for: see `Responder`

    def answer(self, number: int, request: object) -> Message:
        """Handle a request, and return the reply to it; see `Responder.answer`."""
        self._commands = self.editor._core.executor.history.commands
        # A request may read the graph on, and draw nothing.
        if self.editor._core.target.place.is_outdated():
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
                reply = _failure(error)
        except Exception as further:
            reply = _failure(further)
        return codec.encode(number, reply), []

    def working(
        self, number: int, _: object, what: str, done: int, total: int
    ) -> dict[str, object]:
        """Return the message that says how far a request is; see `Responder.working`."""
        return codec.encode(number, protocol.Working(what, done, total))

    def _take_back(self, before: EditorSnapshot | None) -> protocol.Refusal:
        """A request was canceled: restore the view and the selection, unless an edit was made."""
        if before is not None:
            unchanged = before.restore()
        else:  # The request was done, or had not begun.
            unchanged = self.editor._core.executor.history.commands == self._commands
        self.editor._core.listeners.notify()  # they may have seen what was put back
        return protocol.Refusal(_CANCELLED if unchanged else _DONE, ())


def id_of(message: object) -> int:
    """The id of a message of the page; -1 if it has none."""
    identifier = message.get("id") if isinstance(message, dict) else None
    return identifier if codec.is_whole(identifier) else -1


def is_of_left_pane(message: object) -> bool:
    """Whether a message of the page is for the graph in its left pane."""
    return isinstance(message, dict) and message.get("left") is True


def _failure(error: BaseException) -> protocol.Refusal:
    """The person sees what went wrong; the traceback goes to the log, not the panel."""
    logging.getLogger("traitlets").error("tfgraphwidget: a request failed", exc_info=error)
    text = str(error)[:300].encode("utf-8", "backslashreplace").decode()
    return protocol.Refusal(
        f"{type(error).__name__} in the kernel: {text}; History says what was done before it.", ()
    )
