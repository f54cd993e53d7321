"""Interrupts: Ctrl-C, and the kernel's interrupt, where they can be dealt with.

Python raises KeyboardInterrupt between any two lines, those of TensorFlow too. TensorFlow takes its
lock of a graph by hand, so an interrupt in there leaves it taken for ever, and whatever waits for
it next hangs (test_tensorflow_facts.py::test_an_interrupt_leaves_the_lock_of_a_graph_taken). Three
things keep that from happening:

1. While the package works, `between_calls`, an interrupt that falls inside of TensorFlow comes
   again a moment later, until it falls between two calls.
2. The changes of an edit, and taking them back, happen with interrupts `held_back`. Planning can be
   broken off anywhere.
3. What an interrupt can leave wrong in spite of that (in a user's own cell, or in a call of
   TensorFlow that does not end) is set right by the functions that are marked `sets_right`: before
   the package works, and after an interrupt.

Two other ways were left out. To hold interrupts back around each call into TensorFlow takes some
two hundred places, and the next one is forgotten; to give the graph a lock of our own changes an
object of the user's.

Signals come to the main thread only; in another one all of this does nothing.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import currentframe
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import TypeVar

_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[[], object])

# seconds that an interrupt waits for the end of a call of TensorFlow, then it comes in there
TENSORFLOW_LIMIT = 1.0
# seconds that it waits where it would leave a lock taken; no thread needs the lock for so long
LOCK_LIMIT = 3.0
_AGAIN = 0.002  # seconds until an interrupt that fell inside of TensorFlow comes again
_GRACE = 0.5  # seconds in which a run of a session that was interrupted may still end

_THIS = (lambda: None).__code__.co_filename
_CONTEXTS = contextlib.__file__
_EDGES = (_THIS, _CONTEXTS)
_CALLBACKS = (weakref.__file__, weakref.WeakSet.__init__.__code__.co_filename)
_LOCK_FILE = str(Path("python", "util", "lock_util.py"))
_waiting: list[int] | None = None  # interrupts that are held back now; None when none are
_repairs: list[Callable[[], object]] = []


def sets_right(repair: _Function) -> _Function:
    """Mark a function that sets right what an interrupt may have left: quick when nothing is wrong,
    and without an error.

    >>> @sets_right
    ... def empty_trash(): trash.clear()
    >>> trash = ["half a file"]
    >>> set_right()
    >>> trash
    []
    >>> _ = _repairs.pop()
    """
    _repairs.append(repair)
    return repair


def set_right(error: BaseException | None = None) -> None:
    """Set right what interrupts may have left, `error` too, if it is given."""
    if error is not None:
        _end_contexts(error)
    for repair in _repairs:
        repair()


def _end_contexts(error: BaseException) -> None:
    """End the context managers that an interrupt has kept from being entered.

    They have begun (a graph is the default one, a name scope is set), and no block ends them: their
    generators would end with the last reference to the traceback, and a notebook keeps one.
    """
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _CONTEXTS:
            with contextlib.suppress(RuntimeError):  # it is running: what the error has come to
                trace.tb_frame.clear()
        trace = trace.tb_next


class _BetweenCalls:
    """A handler of interrupts, and the context in which it is the handler; see `between_calls`."""

    def __init__(self, before: Callable[..., object]) -> None:
        self.before = before
        self.put_off_since: float | None = None  # when the interrupt came that has not come in yet
        self._is_retry = False
        self._has_ended = False
        self._lock = threading.Lock()
        self._base: FrameType | None = None

    def __enter__(self) -> None:
        set_right()
        frame = currentframe()
        while frame is not None and frame.f_code.co_filename in _EDGES:
            frame = frame.f_back  # a generator's, which is not on the stack while the block runs
        self._base = frame
        signal.signal(signal.SIGINT, self)

    def is_under_way(self) -> bool:
        """Whether the block has not ended: an interrupt at its edge could skip `__exit__`."""
        frame = currentframe()
        while frame is not None and frame is not self._base:
            frame = frame.f_back
        return frame is not None and not self._has_ended

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with self._lock:
            self._has_ended = True  # from here on no retry is sent
        is_due = self.take()
        signal.signal(signal.SIGINT, self.before)
        is_due = self.take() or is_due  # one that came between
        self._base = None
        if isinstance(error, KeyboardInterrupt):
            set_right(error)
        elif is_due:
            self.before(signal.SIGINT, currentframe())

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Let an interrupt in, or put it off."""
        is_retry, self._is_retry = self._is_retry, False
        if not self._has_ended and not self.is_under_way():
            signal.signal(signal.SIGINT, self.before)
            self.before(number, frame)
            return
        if is_retry and self.put_off_since is None:
            return  # it has come in already
        now = time.monotonic()
        if self.put_off_since is None:
            self.put_off_since = now
        if self._has_ended:
            return
        if _may_break_off(frame, self._base, now - self.put_off_since):
            self.let_in(number)
        else:
            # threading's own locks may be what was interrupted.
            _thread.start_new_thread(self._retry, ())

    def let_in(self, number: int) -> None:
        """Give an interrupt to the handler before this one, which raises KeyboardInterrupt."""
        self.put_off_since = None
        self.before(number, currentframe())

    def take(self) -> bool:
        """Whether an interrupt was put off; the caller sees to it now."""
        was_put_off, self.put_off_since = self.put_off_since is not None, None
        self._is_retry = False
        return was_put_off

    def _retry(self) -> None:
        time.sleep(_AGAIN)
        with self._lock:
            if self._has_ended or self.put_off_since is None:
                return
            self._is_retry = True
            _interrupt_main_thread()


def _interrupt_main_thread() -> None:
    if hasattr(signal, "pthread_kill"):
        # It may be waiting for a lock.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _may_break_off(frame: FrameType | None, base: FrameType | None, waited: float) -> bool:
    """Whether an interrupt may come in here, after so many seconds: what runs is not TensorFlow's,
    and no import.

    Neither is it the beginning or end of a `with` block, nor a `__del__` or the callback of a weak
    reference, which would swallow the interrupt.
    """
    folders = _folders()
    while frame is not None and frame is not base:
        if waited < _limit(frame.f_code, folders):
            return False
        frame = frame.f_back
    return True


def _limit(code: CodeType, folders: tuple[str, ...]) -> float:
    """How many seconds an interrupt waits while this code runs; `folders` are TensorFlow's."""
    file, name = code.co_filename, code.co_name
    if file.startswith("<frozen importlib"):
        return float("inf")  # a module that is half imported stays so
    if code is in_another_thread.__code__:
        return 0.0
    if file.endswith(_LOCK_FILE) or file == _THIS:
        return LOCK_LIMIT
    is_edge = file == threading.__file__ or (
        file == _CONTEXTS and name in ("__enter__", "__exit__")
    )
    is_swallowed = name == "__del__" or file in _CALLBACKS
    return TENSORFLOW_LIMIT if is_edge or is_swallowed or file.startswith(folders) else 0.0


def _folders() -> tuple[str, ...]:
    """The folders of TensorFlow and Keras, as far as they are imported."""
    modules = (sys.modules.get(name) for name in ("tensorflow", "keras"))
    files = (getattr(module, "__file__", None) for module in modules)
    return tuple(str(Path(file).parent) + os.sep for file in files if file)


def between_calls() -> contextlib.AbstractContextManager[None]:
    """While this lasts, interrupts come in between calls into TensorFlow, and not inside of them.

    One that comes last is raised at the end. Inside another of these it does nothing.

    >>> with between_calls():
    ...     pass
    """
    handler = _handler()
    while isinstance(handler, _BetweenCalls) and not handler.is_under_way():
        handler = handler.before
    if handler is None or _waiting is not None or isinstance(handler, _BetweenCalls):
        return contextlib.nullcontext()
    return _BetweenCalls(handler)


@contextmanager
def held_back(*, wholly: bool = False) -> Iterator[None]:
    """Delay an interrupt until the block has ended, or until `let_in`.

    `wholly`: after it in any case, for what must not be taken back itself.
    """
    global _waiting  # noqa: PLW0603
    handler = _handler()
    if handler is None or _waiting is not None:  # a caller holds them back
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    if isinstance(handler, _BetweenCalls) and handler.take():
        came.append(signal.SIGINT)
    _waiting = [] if wholly else came  # where nothing waits, `let_in` lets nothing in
    try:
        yield
    finally:
        _waiting = None
        signal.signal(signal.SIGINT, handler)
    if came and isinstance(handler, _BetweenCalls):
        handler.let_in(came[0])
    elif came:
        handler(came[0], currentframe())


def let_in() -> None:
    """Raise an interrupt that is held back: the caller can then undo its steps so far."""
    if _waiting and threading.current_thread() is threading.main_thread():
        _waiting.clear()
        raise KeyboardInterrupt


def _handler() -> Callable[..., object] | None:
    """The present handler of an interrupt in the main thread; None in other threads."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None


def in_another_thread(work: Callable[[], _Result], going_on: str = "") -> _Result:
    """Return what `work` returns, or raise what it raises; an interrupt does not wait until it
    ends.

    A call of C that runs for long sees no interrupt, and one that waits for what never comes would
    hang the kernel. So another thread makes it where interrupts may come in, `between_calls`.
    Python cannot end that thread.

    Args:
        work: A function that changes nothing that its caller takes back.
        going_on: What the KeyboardInterrupt says if the work goes on; "" where its caller ends it.

    >>> in_another_thread(lambda: 1 + 1)
    2
    """
    if _waiting is not None or not isinstance(_handler(), _BetweenCalls):
        return work()
    ended = _thread.allocate_lock()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.release()

    ended.acquire()
    try:
        with held_back():  # or the thread may be there without a beginning
            threading.Thread(target=do, daemon=True).start()
        ended.acquire()
    except KeyboardInterrupt:
        with held_back(wholly=True):
            has_ended = bool(results or errors) or ended.acquire(timeout=_GRACE)
        if has_ended:
            raise
        raise KeyboardInterrupt(*filter(None, [going_on])) from None
    if errors:
        raise errors[0]
    return results[0]


class Cancelling:
    """Lets interrupts into some of the work only: `once` into what is inside of it, and just one.

    Around that they are passed over, so that a reply goes out in any case; `with Cancelling() as
    cancelling:`.
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
        """An interrupt meanwhile raises KeyboardInterrupt, between two calls into TensorFlow."""
        self._open = True
        try:
            with between_calls():
                yield
        finally:
            self._open = False
