"""Interrupts: Ctrl-C, and the kernel's interrupt, where they can be dealt with.

Python raises KeyboardInterrupt between any two lines, and an edit that is half done must be taken back or finished:
the changes themselves, and taking them back, happen with interrupts held back. Planning can be broken off anywhere.
Signals come to the main thread only; in another one all of this does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_waiting: list[tuple[int, FrameType | None]] | None = None  # interrupts that are held back now; None when none are


@contextmanager
def held_back(*, wholly: bool = False) -> Iterator[None]:
    """Delay an interrupt until the block has ended, or until `let_in`.

    `wholly`: behind it in any case, for what must not be taken back itself.
    """
    global _waiting  # noqa: PLW0603
    handler = _handler()
    if handler is None or _waiting is not None:  # a caller holds them back
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    _waiting = [] if wholly else came  # where nothing waits, `let_in` lets nothing in
    try:
        yield
    finally:
        _waiting = None
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(*came[0])


def let_in() -> None:
    """Raise an interrupt that is held back: the caller can then undo its steps so far."""
    if _waiting and threading.current_thread() is threading.main_thread():
        _waiting.clear()
        raise KeyboardInterrupt


def _handler() -> Callable[..., object] | None:
    """The present handler of an interrupt in the main thread; None in other threads, where no interrupt arrives."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None


class Cancelling:
    """Lets interrupts into some of the work only: `once` into what is inside of it, and just one.

    Around that they are passed over, so that a reply goes out in any case; `with Cancelling() as cancelling:`.
    """

    def __init__(self) -> None:
        self._open = False
        self._before: Callable[..., object] | int | None = None
        self._mine = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Cancelling:
        if self._mine:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, *_: object) -> None:
        if self._open:
            self._open = False
            raise KeyboardInterrupt

    @contextmanager
    def once(self) -> Iterator[None]:
        """An interrupt that comes while this is done raises KeyboardInterrupt."""
        self._open = True
        try:
            yield
        finally:
            self._open = False
