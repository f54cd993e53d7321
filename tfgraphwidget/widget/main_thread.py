"""The main thread: what a browser asks is answered in the thread that runs the cells, between two
of them.

ipykernel 7 hands the messages of widgets to threads of their own ("subshells"), even while a cell
runs. TensorFlow's default graph, sessions and signals belong to a thread, and a graph that a cell
is just building must not change under it. So such a message waits for its turn in the main thread,
and its own thread waits with it, so that the kernel says that it is done with the message only when
it is. Where there is no ipykernel, the handler's caller answers it.
"""

from __future__ import annotations

import sys
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any

_SOON = 0.7  # seconds until the waiting page is refused
_LOOK_EVERY = 0.5  # seconds between two looks whether the kernel is still there


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
