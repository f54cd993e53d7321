"""Show progress on stderr: a bar on a terminal, else a line for each step."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from tfgraphwidget.cli.console import write_text
from tfgraphwidget.progress import listen

_WIDE = 24
_OFTEN = 0.1  # seconds between two pictures of the bar
_CLEAR = "\r\x1b[K"


class ProgressBar:
    """Draws on `out`, unless it is None; `close` erases the bar from a terminal."""

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._is_terminal = out is not None and out.isatty()
        self._what = ""
        self._lines = set[str]()  # lines: a step that comes again, as for another graph, is one
        self._last_time = 0.0

    def tell(self, what: str, done: int = 0, total: int = 0) -> None:
        """Show a step of long work, and how many parts are done of a total, 0 if unknown."""
        if not self._is_terminal:
            if what not in self._lines:
                self._lines.add(what)
                self._draw(f"{what} …\n")
        elif what != self._what or time.monotonic() - self._last_time >= _OFTEN:
            full = _WIDE * min(done, total) // total if total else 0
            amount = (
                f" [{'#' * full}{' ' * (_WIDE - full)}] {done:,} of {total:,}" if total else " …"
            )
            self._draw(f"{_CLEAR}{what}{amount}")
            self._last_time = time.monotonic()
        self._what = what

    def close(self) -> None:
        """Erase the bar."""
        if self._is_terminal and self._what:
            self._draw(_CLEAR)
        self._what = ""

    def _draw(self, text: str) -> None:
        with suppress(OSError):  # the terminal was closed; the work goes on
            write_text(self._out, text)


@contextmanager
def progress_bar() -> Iterator[ProgressBar]:
    """A bar that shows the progress of the work inside the context."""
    bar = ProgressBar(sys.stderr)
    with listen(bar.tell):
        try:
            yield bar
        finally:
            bar.close()
