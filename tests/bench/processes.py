"""What the processes that this one has started cost: servers, kernels and the browser."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType

import psutil

SAMPLE_EVERY = 0.25  # seconds


class Watch:
    """CPU seconds, and the most memory beyond what was there before, from entering to leaving.

    Attributes:
        cpu: In seconds, of all of them together.
        memory: In MB: the pages in memory that are of one process alone.
    """

    def __enter__(self) -> Watch:
        self.cpu, self.memory = -cpu(), 0.0
        self._before = memory()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._look()
        self.cpu += cpu()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_EVERY):
            self._look()

    def _look(self) -> None:
        self.memory = max(self.memory, (memory() - self._before) / 1e6)


def cpu() -> float:
    """The CPU seconds so far, of those too that have ended and whose end somebody waited for."""
    spent = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            times = process.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def memory() -> float:
    """The bytes that they hold now, less those that several share. Linux counts these at no cost,
    unlike the PSS.
    """
    held = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            of_process = process.memory_info()
            held += of_process.rss - getattr(of_process, "shared", 0)
    return held
