r"""Patience: how long a person waits for a regular expression.

A pattern such as `(a|aa)+!` takes longer than anybody lives on a name of 60 letters, and Python's `re` has no limit; it
lets no other thread run meanwhile either. So names are searched by the package `regex`, which reads the same patterns,
has a limit of time in any thread, and lets others run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from math import prod
from typing import Any, TypeVar

import regex

from tfgraphwidget.errors import GraphEditError

T = TypeVar("T")
_LEAST = 0.001  # seconds
_COUNT = re.compile(r"\{(\d*),?(\d*)\}")
_MOST_COUNTED = 200_000  # copies that repeats inside each other, (?:a{50}){50}, are made of while a pattern is read


class Patience:
    """So many seconds of this thread's work for everything that is asked of it; `ran_out` says whether they did not do.

    Seconds in which other programs run do not count: what is found must not hang on them.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._begun: float | None = None
        self.ran_out = False

    def kept(self, items: Iterable[T], holds: Callable[[T], object]) -> list[T]:
        """The items for which a function says true, in their order; of those that were looked at in time."""
        found: list[T] = []
        self._begun = time.thread_time()
        try:
            for count, item in enumerate(items):
                if not count % 64 and self.left <= 0:
                    raise TimeoutError
                if holds(item):
                    found.append(item)
        except TimeoutError:
            self.ran_out = True
        self._left, self._begun = self.left, None
        return found

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self._left - (0.0 if self._begun is None else time.thread_time() - self._begun)

    def search(self, pattern: str) -> Callable[[str], object]:
        """A function that says whether a text has what the pattern means; `kept` catches its TimeoutError.

        Raises GraphEditError for what is no pattern, or would be too large a one.
        """
        search: Any = _compiled(pattern).search
        return lambda text: search(text, timeout=max(self.left, _LEAST), concurrent=True)


def _compiled(pattern: str) -> Any:
    counted = prod(max(2, *(int(digits[:9] or 0) for digits in counts)) for counts in _COUNT.findall(pattern))
    if counted > _MOST_COUNTED:
        raise GraphEditError(f"/{pattern[:60]}/ repeats too much inside what is repeated; write * or + in its place.")
    try:
        re.compile(pattern)  # what only the other package takes is no expression of Python's
        return regex.compile(pattern)
    except (re.error, regex.error, TypeError, OverflowError, RecursionError) as error:
        raise GraphEditError(
            f"/{pattern[:60]}/ is no regular expression: {error}; put quotes around it to find it as text."
        ) from error
