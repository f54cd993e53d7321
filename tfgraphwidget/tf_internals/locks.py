"""The locks of a graph, which TensorFlow takes by hand: holding them, and releasing what an
interrupt has left.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager, suppress
from types import FrameType
from typing import Any
from weakref import WeakSet

from tfgraphwidget.cancellation import held_back, sets_right
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph

_watched: WeakSet[Graph] = WeakSet()

_LOCK_FILE = "lock_util.py"  # where TensorFlow has the class of the lock of a graph

# seconds after which the lock of a graph's counts is taken to be left by an interrupt
_COUNTING_LIMIT = 0.5

_HOLDERS = (
    frozenset({"_mutation_lock", "mutation_lock"}),
    frozenset({"_session_run_lock", "session_run_lock", "exclusive_access"}),
)
"""What a function names that holds the lock of a graph, in the order of TensorFlow's counts."""


def mutation_lock(graph: tf.Graph) -> AbstractContextManager[None]:
    """Return the lock that is held while one op is added.

    Private: `Graph._mutation_lock`. Public functions hold it themselves; `create_operation` does
    not.
    """
    lock: AbstractContextManager[None] = graph._mutation_lock()
    return lock


def session_run_lock(graph: tf.Graph) -> AbstractContextManager[None]:
    """Return the lock under which a session takes new ops over; no other thread adds ops while it
    is held.

    Private: `Graph._session_run_lock`. There is no public lock of a graph.
    """
    lock: AbstractContextManager[None] = graph._session_run_lock()
    return lock


def watch_lock(graph: tf.Graph) -> None:
    """Let the lock of a graph be set right when an interrupt has left it taken, see
    `release_locks`.

    Private: `Graph._group_lock`, which TensorFlow takes and no function of its releases.
    """
    _watched.add(graph)


@sets_right
def release_locks() -> None:
    """Release the locks of graphs that an interrupt has left taken.

    TensorFlow takes the lock of a graph by hand, for ops that are added (`_mutation_lock`) or for a
    session that takes them over (`_session_run_lock`), and counts its holders; the counts have a
    lock of their own. A holder is in a function that names one of these, so the stacks of all
    threads show how many there can be.

    Private: `Graph._group_lock`, `GroupLock._ready`, `GroupLock._group_member_counts`, and of
    Python `Condition._lock`. There is no public lock of a graph. TensorFlow takes all its other
    locks in `with` statements, which no interrupt leaves half entered
    (test_tensorflow_facts.py::test_only_the_lock_of_a_graph_is_taken_by_hand).
    """
    for graph in list(_watched):
        with suppress(AttributeError):  # of a release with another lock, where no edit begins
            lock = graph._group_lock
            if any(lock._group_member_counts) or lock._ready._lock.locked():
                with held_back():
                    _release(lock)


def _release(lock: Any) -> None:
    """Let the lock of a graph be held by those only who can hold it.

    Private: `GroupLock._ready`, `GroupLock._group_member_counts`, `Condition._lock`, see
    `release_locks`.
    """
    _take_counts(lock._ready._lock)
    holders = _possible_holders()
    counts = [
        min(now, holder) for now, holder in zip(lock._group_member_counts, holders, strict=True)
    ]
    lock._group_member_counts[:] = counts
    lock._ready.notify_all()
    lock._ready._lock.release()


def _take_counts(lock: threading.Lock) -> None:
    """Take the lock of the counts, over from an interrupted thread if need be: others hold it for
    microseconds.

    Private: the file `lock_util.py`, see `release_locks`; Python's `_current_frames`, the only list
    of stacks.
    """
    deadline = time.monotonic() + _COUNTING_LIMIT
    while not lock.acquire(blocking=False):
        if time.monotonic() > deadline or not any(
            frame.f_code.co_filename.endswith(_LOCK_FILE)
            for frame in sys._current_frames().values()
        ):
            return
        time.sleep(_COUNTING_LIMIT / 100)


def _possible_holders() -> tuple[int, int]:
    """Return how many frames of all threads may add ops to a graph, and how many may take them over
    in a session.

    Private: `Graph._mutation_lock`, `Graph._session_run_lock`, see `release_locks`; Python's
    `_current_frames`.
    """
    counts = [0, 0]
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        is_waiting = False
        while frame is not None:
            code = frame.f_code
            for group, names in enumerate(_HOLDERS):
                counts[group] += not is_waiting and not names.isdisjoint(code.co_names)
            is_waiting = code.co_filename.endswith(_LOCK_FILE) and code.co_name in (
                "acquire",
                "__enter__",
            )
            frame = frame.f_back
    return counts[0], counts[1]


def collections_lock(graph: tf.Graph) -> AbstractContextManager[object]:
    """Return the lock under which entries are added to the graph's collections.

    Private: `Graph._lock`. There is no public lock of a graph.
    """
    lock: AbstractContextManager[object] = graph._lock
    return lock
