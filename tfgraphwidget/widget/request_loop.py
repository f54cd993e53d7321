"""The loop of requests: one comes in from a page, one reply goes out, whatever happens between.

The widget's comm and that of JupyterLab's panels and documents are answered here: in the thread
that runs the cells, in turn, once however often a page sends the same request, with progress in
between, and with the reason where something fails or is interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from tfgraphwidget.cancellation import Cancelling
from tfgraphwidget.progress import listen
from tfgraphwidget.widget.delivery import Delivery, Message, Sender
from tfgraphwidget.widget.main_thread import run_on_main_thread

_SECONDS_OF_SILENCE = 0.1  # between two words of progress, and before the first


class Responder(Protocol):
    """Makes the reply to each request; all that it returns is ready to be sent, with the id of the
    request.
    """

    def answer(self, number: int, request: object) -> Message:
        """Handle a request; the reply to it. It may raise anything, KeyboardInterrupt too."""

    def refuse(self, number: int, request: object, error: BaseException) -> Message:
        """The reply to a request that could not be handled, with the reason; nothing of it is left
        half done.
        """

    def working(
        self, number: int, request: object, what: str, done: int, total: int
    ) -> dict[str, object] | None:
        """What reports to the page the progress of a request; None for a page that does not listen.

        Args:
            total: How much there is; 0 where it is not known.
        """


class RequestLoop:
    """Gives each request of one page exactly one reply."""

    def __init__(self, sender: Sender, responder: Responder) -> None:
        self._sender, self._responder = sender, responder
        self._delivery = Delivery(sender)

    def receive(self, number: int, request: object) -> None:
        """Answer a request, with its id, or -1 if it has none, when its turn comes, and return
        then.
        """
        run_on_main_thread(
            lambda: self._answer(number, request), lambda: self._tell(number, request, "", 0, 0)
        )

    def _answer(self, number: int, request: object) -> None:
        is_answered = False
        try:
            with Cancelling() as cancelling:
                if not self._delivery.repeat(number, request):
                    self._send(number, request, self._reply(cancelling, number, request))
                is_answered = True
        except (
            KeyboardInterrupt
        ) as interrupt:  # in the moment before Cancelling is there, or after it
            if not is_answered:
                self._send(number, request, self._responder.refuse(number, request, interrupt))

    def _reply(self, cancelling: Cancelling, number: int, request: object) -> Message:
        try:
            with cancelling.once(), listen(self._progress(number, request)):
                return self._responder.answer(number, request)
        except (Exception, KeyboardInterrupt) as error:
            return self._responder.refuse(number, request, error)

    def _send(self, number: int, request: object, reply: Message) -> None:
        """Send a reply, or why it cannot be sent: the comm would drop the exception, and the page
        wait for ever.
        """
        try:
            self._delivery.reply(number, request, *reply)
        except Exception as error:
            self._delivery.reply(number, request, *self._responder.refuse(number, request, error))

    def _tell(self, number: int, request: object, what: str, done: int, total: int) -> None:
        """Tell a page that listens how far its request is."""
        message = self._responder.working(number, request, what, done, total)
        if message is not None:
            self._sender.send(message, [])

    def _progress(self, number: int, request: object) -> Callable[[str, int, int], None]:
        """A listener of progress that reports it to the page, now and then."""
        last = time.monotonic()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _SECONDS_OF_SILENCE:
                last = now
                self._tell(number, request, what, done, total)

        return tell
