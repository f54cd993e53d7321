"""Runs in a session that may be on a server: a result or a SessionRefused, but no hang.

How a session behaves when a server is gone (2.21, tests/runtime/test_cluster.py): a dead worker is
reported at once. A dead master, or a worker that does not respond, is reported only by a run with a
timeout. A graph that has grown since the last run is sent to the master without a timeout, while
the graph is locked. So every run on servers has a timeout, and before a grown graph is sent, a
separate session asks whether the servers respond.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from tfgraphwidget.cancellation import in_another_thread, set_right
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime.session.feed_ranks import check_feed_ranks
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import extend_session, find_operation, session_config, watch_lock
from tfgraphwidget.tf_types import Operation, RunOptions, Session, Tensor

PATIENCE = 60.0
# seconds for what a queue has to be filled with: in a script there is no Ctrl-C
QUEUE_PATIENCE = 20.0
_PING_SECONDS = 8.0  # seconds for a server to say that it is there
_NO_WORKERS = ["/job:nobody"]  # device filters that leave a session on its master alone
_TASK = re.compile(r"/job:\w+/replica:\d+/task:\d+")
# What each session on servers was sent last: the graph's version.
_sent_versions: WeakKeyDictionary[object, int] = WeakKeyDictionary()


class TimedSession:
    """A session whose `run` raises SessionRefused if its servers do not respond.

    Runs in a session of this process have no timeout.

    Args:
        session: The session.
        patience: How many seconds servers may take.
        ends_at_interrupts: Whether an interrupt does not wait for the end of a run; only for runs
            that change nothing that the caller takes back, since TensorFlow cannot end a run
            without its session.
    """

    def __init__(
        self, session: Session, patience: float = PATIENCE, *, ends_at_interrupts: bool = False
    ) -> None:
        self.session = session
        self._ends_at_interrupts = ends_at_interrupts
        self.graph: tf.Graph = session.graph
        watch_lock(self.graph)
        self._patience = patience
        self._target: str = tf.compat.as_text(getattr(session, "sess_str", None) or "")

    @property
    def sess_str(self) -> str:
        """The address of the server on which the session runs; "" in this process."""
        return self._target

    def run(
        self,
        fetches: object,
        feed_dict: object = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any:
        """Run and return values in the structure of `fetches`.

        Args:
            fetches: Names, ops or tensors, in any nesting.
            feed_dict: Values by tensor or name.
            options: RunOptions; None for those with this session's time limit.
            run_metadata: A RunMetadata that receives the costs of the run; or None.

        Raises:
            SessionRefused: A server does not respond.
            tf.errors.OpError: TensorFlow's error of the run.
            ValueError: A fed value has too few dimensions for a kernel that would end the process.
        """
        fetches = tf.nest.map_structure(self._element, fetches)
        if isinstance(feed_dict, Mapping) and feed_dict:
            check_feed_ranks(
                self.graph, feed_dict, tf.nest.flatten(fetches, expand_composites=True)
            )
        if run_metadata is not None:
            options = options or tf.compat.v1.RunOptions(
                trace_level=tf.compat.v1.RunOptions.FULL_TRACE
            )
        set_right()
        if not self._target:
            return self._run(fetches, feed_dict, options, run_metadata)
        options = options or tf.compat.v1.RunOptions()
        options.timeout_in_ms = max(1, int(self._patience * 1000))
        try:
            if _sent_versions.get(self.session) != self.graph.version:
                self.ping()
            values = self._run(fetches, feed_dict, options, run_metadata)
        except (
            tf.errors.UnavailableError,
            tf.errors.DeadlineExceededError,
            tf.errors.AbortedError,
        ) as error:
            tasks = _TASK.findall(str(error.message))
            if tasks:
                who = f"Server {tasks[0]!r}"
            else:
                who = f"The server at {self._target!r}, or another one of its cluster,"
            raise no_answer(who, error) from error
        _sent_versions[self.session] = self.graph.version
        return values

    def _run(
        self, fetches: object, feed_dict: object, options: RunOptions | None, run_metadata: object
    ) -> Any:
        def run() -> Any:
            return self.session.run(fetches, feed_dict, options=options, run_metadata=run_metadata)

        if not self._ends_at_interrupts:
            return run()
        names = [
            getattr(fetch, "name", "") for fetch in tf.nest.flatten(fetches, expand_composites=True)
        ]
        return in_another_thread(
            run,
            f"TensorFlow cannot end one run of a session, so that of {names_text(names)} goes on "
            "by itself until it is done; "
            + in_cell("tgw.renew(session) ends it, and keeps the values of variables."),
        )

    def _element(self, fetch: str | Operation | Tensor) -> Operation | Tensor:
        """Return the op or tensor of a name. (An interrupt while TensorFlow parses a name becomes a
        ValueError.)
        """
        if not isinstance(fetch, str):
            return fetch
        name, port = split_tensor(fetch)
        op = find_operation(self.graph, name)
        return op if port is None else op.outputs[port]

    def ping(self) -> None:
        """Raise SessionRefused unless the servers can open a session and run an empty graph in it.

        If the session has run before, only the master is asked; the run itself shows which workers
        it needs.
        """
        try:
            who = "The server at"
            self._open(device_filters=_NO_WORKERS)
            if self.session not in _sent_versions:
                who = "One of the servers of"
                self._open()
        except (
            tf.errors.UnavailableError,
            tf.errors.DeadlineExceededError,
            tf.errors.AbortedError,
        ) as error:
            raise no_answer(f"{who} {self._target!r}", error) from error

    def _open(self, **options: object) -> None:
        config = copy_of(session_config(self.session))
        timeout = int(min(_PING_SECONDS, self._patience) * 1000)
        config.MergeFrom(tf.compat.v1.ConfigProto(operation_timeout_in_ms=timeout, **options))
        with tf.Graph().as_default() as empty:
            op = tf.no_op()
        with contextlib.closing(
            tf.compat.v1.Session(self._target, graph=empty, config=config)
        ) as probe_session:
            probe_session.run(op)


def no_answer(who: str, error: tf.errors.OpError) -> SessionRefused:
    """The refusal of a run on servers of which one does not answer."""
    return SessionRefused(
        f"{who} does not answer ({type(error).__name__}), so nothing has changed; start it again "
        "and open a new session."
    )


def can_grow(session: Session) -> bool:
    """Return whether a session can add and place the ops that its graph has got since its last run.

    One op that it cannot place ends all its runs, see `runtime.live.placement`. Other errors (out
    of memory, a server that is gone) are temporary, and the next run reports them.
    """
    try:
        extend_session(session)
    except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
        return False
    except tf.errors.OpError:
        return True
    return True
