"""Renews a session in place, so that changes made in place to ops that it has run take effect.

TensorFlow ignores such changes: a session copies an op when it first runs after the op was made. So
a new session is opened on the same target with the same config, the state of the old one is loaded
into it, and the two exchange their C sessions. The caller's session object stays valid, also in
`with session:`, as default session and in callables of `make_callable`.

State is read before the graph changes and loaded after it; until all of it is loaded the old
session is unchanged. Only elements of queues cannot be read without removing them: they are moved
last, when nothing can fail any more. State that cannot be transferred is listed in `losses`, a
sentence each.

A session on a server leaves variables, and state with a `shared_name`, on the server for the next
session, unless `isolate_session_state` is set. That state is not transferred; other clients may be
writing it.

A session that cannot place an op of its graph cannot run anything, and TensorFlow cannot remove the
op. If it is not extended, it can still run the ops that it had before. So it is read without
extension, and the renewed session places only the ops that it runs (`place_pruned_graph`).

For a moment there are two copies of each value. A run of another thread that is active when the C
sessions are exchanged ends with a CancelledError, and what it writes after the reading is lost.
Unfinished partial runs end; they are reported if they were set up after the session was passed to
an editor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Set

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import HANDLES
from tfgraphwidget.naming import shared_name
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session import queue_transfer, untransferable
from tfgraphwidget.runtime.session.run import TimedSession, can_grow
from tfgraphwidget.runtime.session.state_transfer import (
    IteratorTransfer,
    StateTransfer,
    TableTransfer,
    VariableTransfer,
)
from tfgraphwidget.runtime.session.stateful_ops import StatefulOps, StateKey, find_stateful_ops
from tfgraphwidget.runtime.session.transfer_ops import TransferOps
from tfgraphwidget.runtime.session.variable_values import check_session
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import error_text, unwrap_session, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import check_editable, tf
from tfgraphwidget.tf_internals import (
    BaseSession,
    close_c_session,
    exchange_c_sessions,
    extend_session,
    mark_closed,
    open_session_like,
    session_config,
    session_references,
    set_session_config,
    without_extension,
)
from tfgraphwidget.tf_types import NodeDef, Session

_BEFORE = "_tfgraphwidget_before"


class Renewal:
    """The state of a session, read to be loaded into its renewed self."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._state_keys: Set[StateKey] = frozenset()
        self._transfers: list[StateTransfer] = []
        self._lost: list[str] = []
        self._config = session_config(session)
        self._is_stuck = False
        self.is_done = False
        """Whether the session is another one now, so that it has what was read and the graph as it
        was then.
        """

    @classmethod
    def read(cls, session: Session, graph: tf.Graph) -> Renewal:
        """Read the state of a session before the graph changes. Only hidden ops are added.

        Raises:
            SessionRefused: The session is closed, of another graph, a wrapper, or on servers that
                do not respond.
        """
        check_renewable(session, graph)
        tell("Reading what the session holds")
        renewal = cls(session)
        renewal._is_stuck = not can_grow(session)
        if renewal._is_stuck:
            renewal._config = tf.compat.v1.ConfigProto()
            renewal._config.CopyFrom(session_config(session))
            renewal._config.graph_options.place_pruned_graph = True
        stateful = renewal._read_more()
        renewal._lost += untransferable.untransferable_notices(stateful)
        return renewal

    def _read_more(self) -> StatefulOps:
        """Read the state that has not been read yet."""
        session = self._session
        stateful = find_stateful_ops(session.graph, self._state_keys)
        transfers = _transfers(session, stateful, TransferOps(session.graph))
        try:
            with self._without_new_ops(session):
                for transfer in transfers:
                    transfer.read(session)
        except tf.errors.OpError as error:
            raise SessionRefused(
                f"The session cannot be renewed, since it cannot be read: {error_text(error)}; "
                + in_cell("open a new one: tf.compat.v1.Session(graph=graph).")
            ) from error
        self._transfers += transfers
        self._state_keys = stateful.keys
        return stateful

    @property
    def losses(self) -> tuple[str, ...]:
        """The state that could not be transferred, in a sentence each; complete after `apply`."""
        return (
            *(sentence for transfer in self._transfers for sentence in transfer.lost),
            *self._lost,
        )

    def apply(self, *, is_edited: bool = True) -> None:
        """Renew the session.

        Args:
            is_edited: Whether the graph may have changed since the reading.

        Raises:
            SessionRefused: The changed graph cannot take the state; the session is unchanged then.
        """
        check_editable()
        session = self._session
        tell("Renewing the session")
        if is_edited:
            for transfer in self._transfers:
                transfer.follow_edit()
            # such as a clone's variables: made by the edit, and filled in the old session
            self._read_more()
        fresh = open_session_like(session, self._config)
        try:
            if not session.sess_str:
                extend_session(fresh)  # no run of another thread may find it without its ops
            for transfer in self._transfers:
                transfer.load(fresh)
        except tf.errors.OpError as error:
            fresh.close()
            raise SessionRefused(
                f"The session cannot be renewed for the graph as it is now: {error_text(error)}; "
                "it goes on as it was."
            ) from error
        except BaseException:
            fresh.close()
            raise
        self._exchange(fresh)
        self.is_done = True

    @held_back()
    def _exchange(self, fresh: Session) -> None:
        """Exchange the sessions. No failure after this point undoes the renewal."""
        session = self._session
        self._lost += untransferable.end_partial_runs(session)
        objects = session_references(session)
        threads = queue_transfer.runner_threads(session)
        # While threads of queue runners end they close their queues: those of the old session, let
        # it be. Threads of other code should find the renewed session when their runs in the old
        # one are over.
        old, new = (session, fresh) if threads else (fresh, session)
        if not threads:
            exchange_c_sessions(session, fresh)
        try:
            with self._without_new_ops(old):
                for transfer in self._transfers:
                    self._move(transfer, old, new)
            with contextlib.suppress(Exception):
                close_c_session(old)
            self._lost += queue_transfer.await_threads(threads)
        finally:
            if threads:
                exchange_c_sessions(session, fresh)
            mark_closed(fresh)
            set_session_config(session, self._config)
            self._lost += untransferable.invalidate_objects(objects)
            # Deleted by the next renewal, or with the session: another thread may just be about to
            # call it.
            setattr(session, _BEFORE, fresh)

    def _move(self, transfer: StateTransfer, old: Session, fresh: Session) -> None:
        """Move the state of one kind. The session is renewed even if it fails."""
        try:
            transfer.move(old, fresh)
        except Exception as error:
            self._lost.append(
                f"Not all that queues hold is carried over: {str(error) or type(error).__name__}."
            )

    @contextlib.contextmanager
    def _without_new_ops(self, session: Session) -> Iterator[None]:
        """Meanwhile a session that cannot place its graph is not extended by new ops."""
        with without_extension(session) if self._is_stuck else contextlib.nullcontext():
            yield


@wrap_tf_errors("renew the session")
def renew(session: Session) -> tuple[str, ...]:
    """Renew a `tf.compat.v1.Session` with its graph as it is now; a sentence for each state that
    could not be transferred. Raises SessionRefused where it cannot be renewed, and is unchanged.

    For a MonitoredSession, or another wrapper, the session inside is renewed.
    """
    session = unwrap_session(session)
    check_renewable(session, getattr(session, "graph", None))
    renewal = Renewal.read(session, session.graph)
    renewal.apply(is_edited=False)
    return renewal.losses


def check_renewable(session: Session, graph: tf.Graph | None) -> None:
    """Raise unless the session can be renewed."""
    if not isinstance(session, BaseSession):
        raise SessionRefused(
            f"{value_text(session)} is not a tf.compat.v1.Session, and only that can be renewed; "
            "give the one that it holds."
        )
    check_session(session, graph)
    if session.sess_str:
        TimedSession(session).ping()


def _transfers(
    session: Session, stateful: StatefulOps, transfer_ops: TransferOps
) -> list[StateTransfer]:
    states = {
        transfer: [node for node in nodes if not _outlives_session(session, node)]
        for transfer, nodes in stateful.by_kind.items()
    }
    variables = states.pop("variable", []) + [
        transfer_ops.handle(node) for node in stateful.function_variables
    ]
    return [
        VariableTransfer(variables, transfer_ops),
        TableTransfer(states.pop("hash table", []), transfer_ops),
        IteratorTransfer(states.pop("iterator", []), transfer_ops),
        queue_transfer.QueueTransfer(states.pop("queue", []), transfer_ops),
        untransferable.Untransferable(
            [node for nodes in states.values() for node in nodes], transfer_ops
        ),
    ]


def _outlives_session(session: Session, node: NodeDef) -> bool:
    """Return whether the state stays on a server after the session is closed."""
    if not session.sess_str or session_config(session).isolate_session_state:
        return False
    return node.op in HANDLES or bool(shared_name(node))
