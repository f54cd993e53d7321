"""The loop of requests: one comes in from a page, one reply goes out, whatever happens between.

The widget's comm and that of JupyterLab's panels and documents are answered here: in the thread
that runs the cells, in turn, once however often a page sends the same request, with progress in
between, and with the reason where something fails or is interrupted.

ipykernel 7 hands the messages of widgets to threads of their own ("subshells"), even while a cell
runs. TensorFlow's default graph, sessions and signals belong to a thread, and a graph that a cell
is just building must not change under it. So such a message waits for its turn in the main thread,
and its own thread waits with it, so that the kernel says that it is done with the message only when
it is. Where there is no ipykernel, the handler's caller answers it.
"""

from __future__ import annotations

import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any, Protocol

from tfgraphwidget.cancellation import Cancelling
from tfgraphwidget.progress import listen
from tfgraphwidget.widget.delivery import Delivery, Message, Sender

_SECONDS_OF_SILENCE = 0.1  # between two words of progress, and before the first
_SOON = 0.7  # seconds until the waiting page is refused
_LOOK_EVERY = 0.5  # seconds between two looks whether the kernel is still there


class Responder(Protocol):
    """Makes the reply to each request; all that it returns can be sent, with the request's id."""

    def answer(self, number: int, request: object) -> Message:
        """Handle a request; the reply to it. It may raise anything, KeyboardInterrupt too."""

    def refuse(self, number: int, request: object, error: BaseException) -> Message:
        """The reply to a request that could not be handled; nothing of it is left half done."""

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
        """Answer a request, with its id or -1 if it has none, when its turn comes."""
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
        except KeyboardInterrupt as interrupt:
            # In the moment before Cancelling is there, or after it.
            if not is_answered:
                self._send(number, request, self._responder.refuse(number, request, interrupt))

    def _reply(self, cancelling: Cancelling, number: int, request: object) -> Message:
        reply: Message | None = None
        try:
            with cancelling.once(), listen(self._progress(number, request)):
                reply = self._responder.answer(number, request)
        except (Exception, KeyboardInterrupt) as error:
            # What was done already is not taken back.
            return reply or self._responder.refuse(number, request, error)
        return reply

    def _send(self, number: int, request: object, reply: Message) -> None:
        """Send a reply, or why it cannot be sent; the comm would let the page wait for ever."""
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


def run_on_main_thread(
    work: Callable[[], None], waiting: Callable[[], None] = lambda: None
) -> None:
    """Do `work`, at once or when its turn comes, and return when it is done; `waiting` is called if
    it has to wait.

    When the kernel ends before that, it is not done.
    """
    loop = _loop_of_the_cells()
    if loop is None:
        work()
        return
    begun, finished = threading.Event(), threading.Event()

    def take() -> None:
        begun.set()
        try:
            work()
        finally:
            finished.set()

    try:
        loop.call_soon_threadsafe(take)
    except RuntimeError:  # the kernel is about to end
        return
    if not begun.wait(_SOON):
        waiting()
    while not finished.wait(_LOOK_EVERY) and loop.is_running():
        pass


def _loop_of_the_cells() -> AbstractEventLoop | None:
    """The event loop that runs the cells of a notebook, when it is another thread's."""
    if threading.current_thread() is threading.main_thread():
        return None
    base: Any = sys.modules.get("ipykernel.kernelbase")
    kernel = base.Kernel._instance if base is not None else None  # `instance()` would make one
    loop: AbstractEventLoop | None = getattr(getattr(kernel, "io_loop", None), "asyncio_loop", None)
    return loop if loop is not None and loop.is_running() else None
