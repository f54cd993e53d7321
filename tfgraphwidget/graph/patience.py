r"""Patience: how long a person waits for a regular expression.

A pattern such as `(\w+)+!` takes longer than anybody lives on a name of 40 letters, and Python's `re` has no limit. It
does look for signals while it matches, so an alarm ends it; where there is none to be had (Windows, another thread,
another owner of the alarm), time is looked at between two names only.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
_TICK = 0.1  # seconds between two looks at the clock


class _TooLong(Exception):
    """The time is up."""


class Patience:
    """So many seconds of this thread's work for everything that is asked of it; `ran_out` says whether they did not do.

    Seconds in which other programs run do not count: what is found must not hang on them.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self.ran_out = False

    def kept(self, items: Iterable[T], holds: Callable[[T], object]) -> list[T]:
        """The items for which a function says true, in their order; of those that were looked at in time."""
        found: list[T] = []
        begun = time.thread_time()

        def is_late() -> bool:
            return time.thread_time() - begun > self._left

        try:
            with _alarm(is_late):
                for count, item in enumerate(items):
                    if not count % 64 and is_late():
                        raise _TooLong
                    if holds(item):
                        found.append(item)
        except _TooLong:
            self.ran_out = True
        self._left -= time.thread_time() - begun
        return found


@contextmanager
def _alarm(is_late: Callable[[], bool]) -> Iterator[None]:
    """Raise _TooLong as soon as it is late, if nobody else uses the process's alarm."""
    if not _is_free():
        yield
        return
    waiting = True

    def ring(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if waiting and is_late():  # it may ring while it is being put away
            raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        yield
    finally:
        waiting = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_free() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) is signal.SIG_DFL and not any(signal.getitimer(signal.ITIMER_REAL))
