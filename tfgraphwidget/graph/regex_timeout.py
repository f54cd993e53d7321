r"""Searches names by a user's regular expression, within a time limit.

A pattern such as `(a|aa)+!` needs longer than a lifetime for a name of 60 letters. Python's `re`
has no time limit and blocks all other threads meanwhile. The package `regex` reads the same
patterns, has a time limit in any thread, and releases the interpreter lock.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from tfgraphwidget.errors import GraphEditError

if TYPE_CHECKING:
    import regex

T = TypeVar("T")
SECONDS = 60.0  # for an expression in Python, unless set otherwise
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}
_LEAST = 0.001  # seconds
_LOOKS = 64  # items between looks at the clock
# A pattern without these tries at each letter of a text once. One in which no group is repeated
# tries at most as many ways as the text has letters, for each of its repeats, and twice as many for
# each alternative: few for a short text. Neither needs a time limit, and `re` takes a tenth of the
# time.
_BACKTRACKING = set("*+?{|")
# With "(?x" and "(?#" spaces and comments may stand between a group and its repeat.
_REPEATED_GROUP = re.compile(r"\)[*+?]|\{|\(\?#|\(\?[a-zA-Z]*x")
_MOST_STEPS = 1e6  # some milliseconds
_COUNT = re.compile(r"\{(\d*),?(\d*)\}")
# copies that nested repeats, (?:a{50}){50}, are expanded to when a pattern is compiled
_MOST_COUNTED = 200_000
_MOST_DIGITS = 9  # of a count; one of so many is too much already


class RegexTimeout:
    """A time limit for several searches together.

    It counts this thread's processor time, not the time in which other programs run: the result
    must not depend on them. `has_expired` is whether a search was cut.

    >>> timeout = RegexTimeout(seconds=1.0)
    >>> (
    ...     timeout.filter(["dense/kernel", "dense/bias"], timeout.search("kernel$")),
    ...     timeout.has_expired,
    ... )
    (['dense/kernel'], False)
    """

    def __init__(self, seconds: float) -> None:
        self._seconds_left = seconds
        self._start: float | None = None
        self.has_expired = False

    def filter(self, items: Iterable[T], predicate: Callable[[T], object]) -> list[T]:
        """The items for which a predicate, which may call what `search` returned, is true, in their
        order; fewer than there are when `has_expired` is true afterwards.
        """
        matches: list[T] = []
        self._start = time.thread_time()
        try:
            for count, item in enumerate(items):
                if not count % _LOOKS and self.seconds_left <= 0:
                    raise TimeoutError
                if predicate(item):
                    matches.append(item)
        except TimeoutError:
            self.has_expired = True
        self._seconds_left, self._start = self.seconds_left, None
        return matches

    def holds(self, predicate: Callable[[T], object], item: T) -> bool:
        """Whether a predicate, which may call what `search` returned, is true for an item; False,
        and `has_expired`, when the time is up.
        """
        self._start = time.thread_time()
        try:
            if self._seconds_left <= 0:
                raise TimeoutError
            return bool(predicate(item))
        except TimeoutError:
            self.has_expired = True
            return False
        finally:
            self._seconds_left, self._start = self.seconds_left, None

    @property
    def seconds_left(self) -> float:
        """The seconds that are left."""
        if self._start is None:
            return self._seconds_left
        return self._seconds_left - (time.thread_time() - self._start)

    def search(self, pattern: str) -> Callable[[str], object]:
        """Compile a pattern to a function that returns whether a text matches it anywhere, and
        raises TimeoutError, which `filter` catches, when the time is up. Raises GraphEditError
        where this is not a regular expression, or its repeats would take too much memory.
        """
        _check(pattern)
        quick = re.compile(pattern).search
        if not _BACKTRACKING & set(pattern):
            return quick
        search, longest = _compile(pattern).search, _longest_of_few_steps(pattern)

        def search_in_time(text: str) -> object:
            if len(text) <= longest:
                return quick(text)
            return search(text, timeout=max(self.seconds_left, _LEAST), concurrent=True)

        return search_in_time


def search_in_time(pattern: str | re.Pattern[str], way_out: str = "") -> Callable[[str], bool]:
    """Compile an expression to a function that returns whether a text matches it anywhere, and
    raises GraphEditError after a minute for all texts.

    Args:
        pattern: A regular expression of Python's; one that is compiled may have flags.
        way_out: What a refusal proposes beside a simpler expression.

    Raises:
        GraphEditError: This is not a regular expression, or its repeats would take too much memory.
    """
    text = pattern if isinstance(pattern, str) else expression_with_flags(pattern)
    timeout = RegexTimeout(SECONDS)
    search = timeout.search(text)

    def is_found(name: str) -> bool:
        matches = timeout.holds(search, name)
        if timeout.has_expired:
            raise GraphEditError(
                f"{text[:60]!r} takes longer than a minute; write a simpler expression"
                + way_out
                + "."
            )
        return matches

    return is_found


def expression_with_flags(pattern: re.Pattern[str]) -> str:
    """The text of a compiled expression, with its flags.

    >>> expression_with_flags(re.compile("conv", re.IGNORECASE))
    '(?i)conv'
    """
    flags = "".join(sign for sign, flag in _FLAGS.items() if pattern.flags & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def _longest_of_few_steps(pattern: str) -> int:
    """How long a text may be that takes few steps whatever is in it; 0 for a pattern with repeated
    groups.

    >>> _longest_of_few_steps("conv.*/kernel"), _longest_of_few_steps("(a|aa)+!")
    (1000, 0)
    >>> _longest_of_few_steps("(?x)(a|aa) +!"), _longest_of_few_steps("(a|aa)(?#)+!")
    (0, 0)
    """
    if _REPEATED_GROUP.search(pattern):
        return 0
    repeats = sum(map(pattern.count, "*+?"))
    alternatives = min(pattern.count("|"), 60)  # 2 ** 60 is more than all steps
    # A text of n letters takes about n ** (repeats + 1) * 2 ** alternatives steps.
    return int((_MOST_STEPS / 2**alternatives) ** (1 / (repeats + 1)))


def _check(pattern: str) -> None:
    copies = 1
    for counts in _COUNT.findall(pattern):
        least, most = (int(digits[:_MOST_DIGITS] or 0) for digits in counts)
        copies *= max(2, least, most)
    if copies > _MOST_COUNTED:
        raise GraphEditError(
            f"/{pattern[:60]}/ repeats too much inside what is repeated; write * or + in its place."
        )
    try:
        re.compile(pattern)  # a pattern that only `regex` accepts is refused
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise _refusal(pattern, error) from error


def _compile(pattern: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(pattern)
    except (regex.error, TypeError, OverflowError, RecursionError) as error:
        raise _refusal(pattern, error) from error


def _refusal(pattern: str, error: Exception) -> GraphEditError:
    return GraphEditError(
        f"/{pattern[:60]}/ is not a regular expression: {error}; put quotes around it to find it "
        "as text."
    )
