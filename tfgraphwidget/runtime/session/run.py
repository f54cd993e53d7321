"""Runs in a session that may stand on a server: an answer or a sentence, but no hang.

What a session does when a server is gone (2.21, tests/runtime/test_cluster.py): a dead worker is told at once; a dead
master, or a worker that stands still, only by a run with a timeout; and a graph that has grown since the last run is
sent to the master without one, while the whole graph is locked. So every run on servers has a timeout, and before a
grown graph is sent, a session of our own asks whether the servers answer.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.tf_internals import extend_session, find_operation, session_config
from tfgraphwidget.tf_types import Session

PATIENCE = 60.0
_ASKED = 8.0  # seconds for a server to say that it is there
_NO_WORKERS = ["/job:nobody"]  # device filters that leave a session on its master alone
_GONE = (tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.AbortedError)
_NOT_PLACED = (tf.errors.InvalidArgumentError, tf.errors.NotFoundError)
_TASK = re.compile(r"/job:\w+/replica:\d+/task:\d+")
# What each session on servers was sent last: the graph's version.
_sent: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


class Answered:
    """A session whose `run` raises SessionRefused when servers are gone or do not answer in `patience` seconds.

    In a session of this process alone, runs take the time they take.
    """

    def __init__(self, session: Session, patience: float = PATIENCE) -> None:
        self.session = session
        self.graph: tf.Graph = session.graph
        self._patience = patience
        self._target = tf.compat.as_text(getattr(session, "sess_str", None) or "")

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """What `session.run` returns; with `run_metadata`, a RunMetadata, the run is traced into it."""
        fetches = tf.nest.map_structure(self._element, fetches)
        if run_metadata is not None:
            options = options or tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
        if not self._target:
            return self.session.run(fetches, feed_dict, options=options, run_metadata=run_metadata)
        options = options or tf.compat.v1.RunOptions()
        options.timeout_in_ms = max(1, int(self._patience * 1000))
        try:
            if _sent.get(self.session) != self.graph.version:
                self.ask()
            found = self.session.run(fetches, feed_dict, options=options, run_metadata=run_metadata)
        except _GONE as error:
            tasks = _TASK.findall(str(error.message))
            who = f"Server {tasks[0]!r}" if tasks else f"The server at {self._target!r}, or one behind it,"
            raise SessionRefused(self._gone(who, error)) from error
        _sent[self.session] = self.graph.version
        return found

    def _element(self, fetch: Any) -> Any:
        """The op or tensor of a name: an interrupt while TensorFlow reads names becomes a ValueError about one."""
        if not isinstance(fetch, str):
            return fetch
        name, port = split_tensor(fetch)
        op = find_operation(self.graph, name)
        return op if port is None else op.outputs[port]

    def ask(self) -> None:
        """Raise SessionRefused unless the servers can open a session and run nothing in it.

        A session that has run here before needs the master only; which of the workers a run needs, the run tells.
        """
        try:
            who = "The server at"
            self._open(device_filters=_NO_WORKERS)
            if self.session not in _sent:
                who = "One of the servers behind"
                self._open()
        except _GONE as error:
            raise SessionRefused(self._gone(f"{who} {self._target!r}", error)) from error

    def _open(self, **options: Any) -> None:
        config = tf.compat.v1.ConfigProto()
        config.CopyFrom(session_config(self.session))
        timeout = int(min(_ASKED, self._patience) * 1000)
        config.MergeFrom(tf.compat.v1.ConfigProto(operation_timeout_in_ms=timeout, **options))
        with tf.Graph().as_default() as nothing:
            op = tf.no_op()
        with contextlib.closing(tf.compat.v1.Session(self._target, graph=nothing, config=config)) as asking:
            asking.run(op)

    def _gone(self, who: str, error: tf.errors.OpError) -> str:
        return (
            f"{who} does not answer ({type(error).__name__}), so nothing has changed; start it again and "
            "open a new session."
        )


def can_grow(session: Session) -> bool:
    """Whether the session takes in, and places, what its graph has more than when it last ran.

    One op that it cannot place ends all its runs, see `runtime.live.placement`. Other errors (no memory, a server that
    is gone) come and go, and the next run tells of them.
    """
    try:
        extend_session(session)
    except _NOT_PLACED:
        return False
    except tf.errors.OpError:
        return True
    return True
