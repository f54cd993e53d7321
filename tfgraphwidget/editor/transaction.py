"""Transactions: several steps as one, with one notification at the end; when a step fails, all are
undone.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from tfgraphwidget.cancellation import held_back, set_right
from tfgraphwidget.errors import GraphEditError

_log = logging.getLogger(__name__)
_lock = threading.RLock()
# seconds that an edit waits for another thread's: one of both may wait for the other
_PATIENCE = 60


class Listeners(list[Callable[[], None]]):
    """Functions to call after each change of the graph, or of its view or selection."""

    def __init__(self, functions: Iterable[Callable[[], None]] = ()) -> None:
        super().__init__(functions)
        self._lock = threading.Lock()
        self._collecting = 0  # how many `collect`s are under way, of all threads
        self._is_due = False

    def add(self, function: Callable[[], object]) -> Callable[[], None]:
        """Call a function after each change from now on; what is returned ends it."""

        def listener() -> None:
            function()

        self.append(listener)

        def end() -> None:
            if listener in self:
                self.remove(listener)

        return end

    def notify(self) -> None:
        """Call every listener, inside `collect` at its end; log their errors."""
        with self._lock:
            if self._collecting:
                self._is_due = True
                return
        for listener in tuple(self):
            _call(listener)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Send one notification for all inside, at the end of the outermost in any thread."""
        with self._lock:
            self._collecting += 1
        try:
            yield
        finally:
            with held_back():
                with self._lock:
                    self._collecting -= 1
                    is_due = self._is_due and not self._collecting
                    self._is_due = self._is_due and not is_due
                if is_due:
                    self.notify()


def _call(listener: Callable[[], None]) -> None:
    try:
        listener()
    except Exception:  # whatever it is, it is the listener's
        _log.exception("The graph has changed, and a listener of its editor failed: %r", listener)


class Transaction(ExitStack):
    """The steps of an edit, each of which pushes its undo; a failure runs these in reverse.

    Context managers that are entered on it (`enter_context`) see the error of the step that failed,
    or none.
    """

    def on_failure(self, undo: Callable[..., object], *arguments: object) -> None:
        """Call `undo(*arguments)` if a later step fails."""

        def leave(kind: type[BaseException] | None, *_: object) -> None:
            if kind is not None:
                undo(*arguments)

        self.push(leave)

    def on_success(self, finish: Callable[..., object], *arguments: object) -> None:
        """Call `finish(*arguments)` once all steps are done; not if one fails."""

        def leave(kind: type[BaseException] | None, *_: object) -> None:
            if kind is None:
                finish(*arguments)

        self.push(leave)

    def roll_back(self) -> None:
        """Undo all steps because of the current error; raise another if it becomes one."""
        with held_back(wholly=True):
            # Undoing waits for locks that an interrupt in TensorFlow leaves taken.
            set_right(sys.exc_info()[1])
            self.__exit__(*sys.exc_info())

    @contextmanager
    def without_interrupts(self) -> Iterator[None]:
        """Make the steps inside and commit; an interrupt waits until all are done or undone.

        Steps may let an interrupt in between them (`cancellation.let_in`); it is a failure like any
        other.
        """
        with held_back():
            try:
                yield
            except BaseException:
                self.roll_back()
                raise
            self.close()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let edits of other threads wait: TensorFlow lets one thread change a graph at a time. Raises
    GraphEditError where another thread's edit takes too long.

    Inside, no other thread takes a name that is free, nor changes what an edit was planned on.
    """
    if not _lock.acquire(timeout=_PATIENCE):
        raise GraphEditError(
            f"An edit of another thread has not ended in {_PATIENCE} seconds; wait for that "
            "thread, and try again."
        )
    try:
        yield
    finally:
        _lock.release()


@contextmanager
def transaction() -> Iterator[Transaction]:
    """Make several steps as one: when one fails, all are undone before an interrupt comes in."""
    steps = Transaction()
    try:
        yield steps
    except BaseException:
        steps.roll_back()
        raise
    steps.close()


@contextmanager
def undone() -> Iterator[Transaction]:
    """Undo the steps of a look at the end, whether or not one fails."""
    steps = Transaction()
    try:
        yield steps
    except BaseException:
        steps.roll_back()
        raise
    with held_back():
        steps.__exit__(GraphEditError, GraphEditError("The steps of a look are undone."), None)


class Snapshot:
    """The attributes of some objects, to be put back; their values are replaced, not changed."""

    def __init__(self, *holders: object, without: Iterable[str] = ()) -> None:
        left_out = frozenset(without)
        self._saved = [
            (holder, {name: value for name, value in vars(holder).items() if name not in left_out})
            for holder in holders
        ]

    def restore(self) -> None:
        """Give the attributes the values that they had."""
        for holder, attributes in self._saved:
            vars(holder).update(attributes)
