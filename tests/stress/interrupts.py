"""Ctrl-C at random moments of a call: real signals, as a kernel gets them."""

from __future__ import annotations

import faulthandler
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops, stack

from tests.front_end import FrontEnd
from tests.rounds import count
from tests.stress.random_edits import Call
from tests.stress.sentences import Broken
from tests.stress.test_faults import Case, Faults
from tfgraphwidget.editor import GraphEditor

# seconds after which a call is said to hang, and the process ends with the stacks of its threads
_HANGING = 60
_PASSED_OVER = 0.05  # seconds after the signal after which no interrupt comes any more
_AGAIN_EVERY = 10  # interrupts after which the call is made once without one
# seconds after which an interrupted call has given control back, on a machine with ten times its
# work
LATEST = 15.0


@contextmanager
def no_hang() -> Iterator[None]:
    """End the process, with the stacks of all threads, if this does not end: no test can go on
    after a hang.
    """
    faulthandler.dump_traceback_later(_HANGING, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def surroundings(graph: tf.Graph) -> dict[str, Any]:
    """What a call of TensorFlow that was broken off could leave in this thread and in the
    graph.
    """
    lock: Any = graph._group_lock
    return {
        "holders of the graph's lock": list(lock._group_member_counts),
        "the lock of their counts": lock._ready._lock.locked(),
        "the lock of the graph": _is_free(graph._lock),
        "default graphs": list(ops._default_graph_stack.stack),
        "default sessions": list(stack._default_session_stack.stack),
        "name scope": graph.get_name_scope(),
        "control dependencies": list(graph._control_dependencies_stack),
        "devices": list(graph._device_function_stack.peek_objs()),
        "colocation": list(graph._colocation_stack.peek_objs()),
        "control flow": graph._get_control_flow_context(),
        "variable creators": list(graph._variable_creator_stack),
        "eager": tf.executing_eagerly(),
        "handler": signal.getsignal(signal.SIGINT),
    }


def _is_free(lock: Any) -> bool:
    """Whether another thread can take a lock."""
    took: list[bool] = []

    def take() -> None:
        took.append(lock.acquire(timeout=5))
        if took[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return took[0]


def interrupted(call: Callable[[], object], delay: float) -> tuple[bool, float]:
    """Make a call, and interrupt it after so many seconds, at whatever instruction that is; or
    after it.

    Returns:
        Whether the interrupt came out of the call, and how many seconds after the signal.
    """
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    is_in_call = False
    try:
        due = time.perf_counter() + delay
        signal.setitimer(signal.ITIMER_REAL, delay)
        is_in_call = True
        call()
        is_in_call = False
        while time.perf_counter() < due + _PASSED_OVER:
            time.sleep(0.001)
        came = due  # the widget has passed it over: its reply went out
    except KeyboardInterrupt:
        came = time.perf_counter()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return is_in_call, came - due


_pages: dict[GraphEditor, FrontEnd] = {}  # of the present editor: its requests have a number each


class Request(Call):
    """The message of a page, to the editor's widget; what the page hears of a cancelled one becomes
    the interrupt.
    """

    def __str__(self) -> str:
        return f"page: {super().__str__()}"

    def on(self, editor: GraphEditor, folder: Path) -> None:
        """Send it, and wait for the reply."""
        if editor not in _pages:
            _pages.clear()
            _pages[editor] = FrontEnd(editor)
        reply = _pages[editor].ask(self.method, **self.options)
        if reply["type"] == "refusal":
            assert reply["why"].startswith("Cancelled"), reply
            raise KeyboardInterrupt


class Interrupts(Faults):
    """A call that is interrupted at one random moment after the other, on the same editor."""

    def __init__(self, case: Case, folder: Path, seed: int) -> None:
        super().__init__(case, folder)
        self.chance = random.Random(seed)
        self.after = self._after()
        # The longest time from an interrupt to control, in seconds.
        self.number_in_the_call, self.longest = (
            0,
            0.0,
        )

    def open(self) -> None:
        super().open()
        self.graph = self.run.editor.graph
        self.around = surroundings(self.graph)

    def _after(self) -> Any:
        """What the call comes to; how long it takes is taken of the second one, when all is
        imported.
        """
        self.make()
        after = self.look()
        self.open()
        start = time.perf_counter()
        self.make()
        self.seconds = time.perf_counter() - start
        self.open()
        return after

    def failure(self) -> str:
        """What goes wrong at the next moment, or ""."""
        try:
            self.interrupt()
        except Broken as broken:
            self.open()
            return f"{self.case}: {broken}"
        return ""

    def interrupt(self) -> None:
        """Raise Broken unless the call was made wholly or not at all, and all that it has used can
        be used again.
        """
        graph = self.graph
        with no_hang(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(self._interrupted, "interrupt")
            if graph is self.graph and self.chance.random() * _AGAIN_EVERY < 1:
                self.make()
                self.open()

    def _interrupted(self) -> bool:
        is_in_call, seconds = interrupted(self.make, self.chance.random() * self.seconds)
        self.number_in_the_call += is_in_call
        # The first call was slower, or a loaded machine is.
        self.seconds *= 1.02 if is_in_call else 0.95
        count("interrupts")
        count("interrupts in a call", is_in_call)
        self.longest = max(self.longest, seconds)
        now = surroundings(self.graph)
        left = {
            key: (before, now[key]) for key, before in self.around.items() if now[key] != before
        }
        if left:
            raise Broken(f"leaves {left}")
        if seconds > LATEST:
            raise Broken(f"comes {seconds:.1f} seconds after the signal")
        return True
