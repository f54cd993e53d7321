"""Runs in a session that may stand on a server: an answer or a sentence, but no hang.

What a session does when a server is gone (2.21, tests/edits/test_cluster.py): a dead worker is told at once; a dead
master, or a worker that stands still, only by a run with a timeout; and a graph that has grown since the last run is
sent to the master without one, while the whole graph is locked. So every run on servers has a timeout, and before a
grown graph is sent, a session of our own asks whether the servers answer.
"""

from __future__ import annotations

import re
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from tfgraphwidget.errors import SessionRefused

PATIENCE = 60.0
_ASKED = 10.0  # seconds for a server to say that it is there
_GONE = (tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.AbortedError)
_TASK = re.compile(r"/job:\w+/replica:\d+/task:\d+")
# What each session on servers was sent last: the graph's version.
_sent: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


class Answered:
    """A session whose `run` raises SessionRefused when servers are gone or do not answer in `patience` seconds.

    In a session of this process alone, runs take the time they take.
    """

    def __init__(self, session: Any, patience: float = PATIENCE) -> None:
        self.session = session
        self.graph: tf.Graph = session.graph
        self._patience = patience
        self._target = tf.compat.as_text(getattr(session, "sess_str", None) or "")

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """What `session.run` gives."""
        if not self._target:
            return self.session.run(fetches, feed_dict)
        options = tf.compat.v1.RunOptions(timeout_in_ms=max(1, int(self._patience * 1000)))
        try:
            if _sent.get(self.session) != self.graph.version:
                self._ask()
            found = self.session.run(fetches, feed_dict, options=options)
        except _GONE as error:
            raise SessionRefused(self._gone(error)) from error
        _sent[self.session] = self.graph.version
        return found

    def _ask(self) -> None:
        """Raise one of `_GONE` unless the servers can open a session and run nothing in it."""
        config = tf.compat.v1.ConfigProto()
        config.CopyFrom(self.session._config)
        config.operation_timeout_in_ms = int(min(_ASKED, self._patience) * 1000)
        with tf.Graph().as_default() as nothing, tf.device(None):
            op = tf.no_op()
        asking = tf.compat.v1.Session(self._target, graph=nothing, config=config)
        try:
            asking.run(op)
        finally:
            asking.close()

    def _gone(self, error: tf.errors.OpError) -> str:
        tasks = _TASK.findall(str(error.message))
        who = f"Server {tasks[0]!r} of the session at" if tasks else "A server of the session at"
        return (
            f"{who} {self._target!r} does not answer ({type(error).__name__}), so nothing was brought up to date; "
            "start the server again and open a new session."
        )
