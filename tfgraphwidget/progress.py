"""Progress: how far long work is, reported to listeners. Without a listener it costs next to
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is; 0 and 0 where it
is not known.
"""

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)
_EVERY = 256  # items between two words


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Report what is being done now to the listener, if there is one: `tell("Importing the ops",
    3_000, 12_000)`.

    Args:
        total: How much there is; 0 where it is not known.
    """
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def report_each(items: Collection[T], what: str, every: int = _EVERY) -> Iterable[T]:
    """The same items, one after another; the listener gets their number now and then.

    Args:
        every: The number of items from one report to the next.
    """
    listener = _listener.get()
    return items if listener is None else _report_each(items, what, every, listener)


def report_parts(items: Sequence[T], what: str, size: int) -> Iterator[Sequence[T]]:
    """The same items in parts of that size, the last one perhaps smaller, one after another; the
    listener gets the number of items before each part.
    """
    listener = _listener.get()
    for start in range(0, len(items), size):
        if listener is not None:
            listener(what, start, len(items))
        yield items[start : start + size]


def _report_each(items: Collection[T], what: str, every: int, listener: Listener) -> Iterator[T]:
    total = len(items)
    for count, item in enumerate(items):
        if not count % every:
            listener(what, count, total)
        yield item


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Let `listener` hear of the work that is done inside, in this thread."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)
