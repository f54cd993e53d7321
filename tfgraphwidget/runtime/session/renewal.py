"""Renews a session in place, so that changes made in place to ops that it has run take effect.

TensorFlow ignores such changes: a session copies an op when it first runs after the op was made. So a fresh session is
opened on the same target with the same config, it is given what the old one holds, and the two exchange their C
sessions: the caller's own object goes on, and `with session:`, default sessions and callables of `make_callable` too.

What is read is read before the graph changes, and loaded after it; until all of it is loaded the old session is as it
was. Only elements of queues can be had no other way than by taking them out: they are moved last, when nothing can
fail any more. What cannot be had at all is told in `lost`, a sentence each.

A session on a server leaves there, for the next one, the variables and whatever has a `shared_name`; with
`isolate_session_state` it does not. What is left there needs no carrying, and other clients may be writing it.

A session that cannot place an op of its graph runs nothing any more, and TensorFlow cannot remove the op. What such a
session was given before it runs still, if it is not told of what came since: so it is read, and the renewed one places
only what it runs (`place_pruned_graph`).

For a moment there are two of each value. A run of another thread that is under way when the C sessions are exchanged
ends with a CancelledError, and what it writes after the reading is lost. Partial runs that are
not finished are cut, and told of if they were set up after the session came to an editor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Set
from typing import Any

import tensorflow as tf

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import HANDLES
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session import queue_transfer, untransferable
from tfgraphwidget.runtime.session.run import Answered, can_grow
from tfgraphwidget.runtime.session.state_transfer import Iterators, StateTransfer, Tables, Variables
from tfgraphwidget.runtime.session.stateful_ops import StatefulOps, find
from tfgraphwidget.runtime.session.transfer_ops import TransferOps
from tfgraphwidget.runtime.session.variable_values import check_session, told
from tfgraphwidget.sources import unwrap_session, wrap_tf_errors
from tfgraphwidget.tf_internals import (
    BaseSession,
    close_c_session,
    exchange_c_sessions,
    extend_session,
    mark_closed,
    open_session_like,
    session_config,
    set_session_config,
    without_extension,
)
from tfgraphwidget.tf_types import NodeDef, Session

_BEFORE = "_tfgraphwidget_before"


class Renewal:
    """What a session holds, read and to be carried over into its renewed self."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: Set[Any] = frozenset()
        self._kinds: list[StateTransfer] = []
        self._lost: list[str] = []
        self._config = session_config(session)
        self._is_stuck = False

    @classmethod
    def read(cls, session: Session, graph: tf.Graph) -> Renewal:
        """Read all that the session holds, before the graph changes; only hidden ops are added.

        Raises SessionRefused for a session that cannot be renewed: closed, of another graph, wrapped, or on servers
        that do not answer.
        """
        _check(session, graph)
        tell("Reading what the session holds")
        renewal = cls(session)
        renewal._is_stuck = not can_grow(session)
        if renewal._is_stuck:
            renewal._config = tf.compat.v1.ConfigProto()
            renewal._config.CopyFrom(session_config(session))
            renewal._config.graph_options.place_pruned_graph = True
        found = renewal._read_more()
        renewal._lost += untransferable.told_of(found)
        return renewal

    def _read_more(self) -> StatefulOps:
        """Read what has not been read yet."""
        session = self._session
        found = find(session.graph, self._known)
        kinds = _kinds(session, found, TransferOps(session.graph))
        try:
            with self._as_it_is(session):
                for kind in kinds:
                    kind.read(session)
        except tf.errors.OpError as error:
            raise SessionRefused(f"The session cannot be renewed, since it cannot be read: {told(error)}.") from error
        self._kinds += kinds
        self._known = found.keys
        return found

    @property
    def lost(self) -> tuple[str, ...]:
        """What could not be kept, in a sentence each; complete when it has been carried."""
        return (*(sentence for kind in self._kinds for sentence in kind.lost), *self._lost)

    def carry(self) -> None:
        """Renew the session, after the graph has changed.

        Raises SessionRefused when the graph as it is now cannot take what was read; the session is as it was then.
        """
        session = self._session
        tell("Renewing the session")
        self._read_more()  # such as a clone's variables: made by the edit, and filled in the old session
        fresh = open_session_like(session, self._config)
        try:
            if not session.sess_str:
                extend_session(fresh)  # no run of another thread may find it without its ops
            for kind in self._kinds:
                kind.load(fresh)
        except tf.errors.OpError as error:
            fresh.close()
            raise SessionRefused(
                f"The session cannot be renewed for the graph as it is now: {told(error)}; it goes on as it was."
            ) from error
        except BaseException:
            fresh.close()
            raise
        self._exchange(fresh)

    @held_back()
    def _exchange(self, fresh: Session) -> None:
        """Nothing that happens from here on keeps the session from being renewed."""
        session = self._session
        self._lost += untransferable.cut(session)
        tied, threads = untransferable.tied(session), queue_transfer.runner_threads(session)
        # While threads of queue runners end they close their queues: those of the old session, let it be. Threads of
        # other code should find the renewed session when their runs in the old one are over.
        old, new = (session, fresh) if threads else (fresh, session)
        if not threads:
            exchange_c_sessions(session, fresh)
        try:
            with self._as_it_is(old):
                for kind in self._kinds:
                    self._move(kind, old, new)
            with contextlib.suppress(Exception):
                close_c_session(old)
            self._lost += queue_transfer.await_end(threads)
        finally:
            if threads:
                exchange_c_sessions(session, fresh)
            mark_closed(fresh)
            set_session_config(session, self._config)
            self._lost += untransferable.untie(tied)
            # Deleted by the next renewal, or with the session: another thread may just be about to call it.
            setattr(session, _BEFORE, fresh)

    def _move(self, kind: StateTransfer, old: Session, fresh: Session) -> None:
        """Move what there is of one kind; the session is renewed whatever comes of it."""
        try:
            kind.move(old, fresh)
        except Exception as error:
            self._lost.append(f"Not all that queues hold is carried over: {str(error) or type(error).__name__}.")

    @contextlib.contextmanager
    def _as_it_is(self, session: Session) -> Iterator[None]:
        """While this lasts, a session that cannot place its graph is not told of what has come to it."""
        with without_extension(session) if self._is_stuck else contextlib.nullcontext():
            yield


@wrap_tf_errors("renew the session")
def renew(session: Session) -> tuple[str, ...]:
    """Renew a `tf.compat.v1.Session` with its graph as it is now; a sentence for each thing that could not be kept.

    Of a MonitoredSession, or what else wraps one, it is the session inside that is renewed. Raises SessionRefused, and
    leaves the session as it was, when that cannot be.
    """
    session = unwrap_session(session)
    _check(session, getattr(session, "graph", None))
    renewal = Renewal.read(session, session.graph)
    renewal.carry()
    return renewal.lost


def _check(session: Session, graph: Any) -> None:
    """Raise when the session cannot be renewed."""
    if not isinstance(session, BaseSession):
        raise SessionRefused(
            f"A {type(session).__name__} is not a tf.compat.v1.Session, and only that can be renewed; give the one "
            "that it holds."
        )
    check_session(session, graph)
    if session.sess_str:
        Answered(session).ask()


def _kinds(session: Session, found: StatefulOps, transfer_ops: TransferOps) -> list[StateTransfer]:
    held = {kind: [node for node in nodes if not _stays(session, node)] for kind, nodes in found.holders.items()}
    variables = held.pop("variable", []) + [transfer_ops.handle(node) for node in found.inner]
    return [
        Variables(variables, transfer_ops),
        Tables(held.pop("hash table", []), transfer_ops),
        Iterators(held.pop("iterator", []), transfer_ops),
        queue_transfer.Queues(held.pop("queue", []), transfer_ops),
        untransferable.Untransferable([node for nodes in held.values() for node in nodes], transfer_ops),
    ]


def _stays(session: Session, node: NodeDef) -> bool:
    """Whether the state outlives the session, on a server."""
    if not session.sess_str or session_config(session).isolate_session_state:
        return False
    return node.op in HANDLES or bool(node.attr["shared_name"].s)
