"""Sessions: their state, their C sessions, and what wraps them."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tfgraphwidget.tensorflow_modules import as_any, lazy_class, lazy_module, tf
from tfgraphwidget.tf_internals.locks import release_locks
from tfgraphwidget.tf_types import ClosableSession, ConfigProto, Session

c_api = lazy_module("tensorflow.python.client.pywrap_tf_session")
session_ops = lazy_module("tensorflow.python.ops.session_ops")
BaseSession = lazy_class("tensorflow.python.client.session", "BaseSession")
_MonitoredSession = lazy_class("tensorflow.python.training.monitored_session", "_MonitoredSession")
_WrappedSession = lazy_class("tensorflow.python.training.monitored_session", "_WrappedSession")
_SessionInterface = lazy_class("tensorflow.python.client.session", "SessionInterface")


def is_session(thing: object) -> bool:
    """Whether a thing is a session, or one of TensorFlow's objects that wrap one.

    Private: `monitored_session._MonitoredSession`, `_WrappedSession`, `SessionInterface`. Public
    classes are some of their subclasses.
    """
    return isinstance(thing, (BaseSession, _MonitoredSession, _WrappedSession, _SessionInterface))


def wrapped_session(thing: object) -> Any:
    """Return the session that a MonitoredSession, a hook's session or a debugger wraps; the thing
    if it wraps none.

    What wraps several times is unwrapped once. None for a MonitoredSession that is closed.

    Private: `_MonitoredSession._tf_sess`, `_WrappedSession._sess`. There is no public attribute.
    """
    if isinstance(thing, _MonitoredSession):
        return thing._tf_sess()
    if isinstance(thing, (_WrappedSession, _SessionInterface)) and hasattr(thing, "_sess"):
        return thing._sess
    return thing


def is_closed(session: Session) -> bool:
    """Whether a session is closed; False for what is none.

    Private: `BaseSession._closed`. Publicly a closed session is known by the error of a run.
    """
    return bool(getattr(session, "_closed", False))


def session_config(session: Session | None) -> Any:
    """Return the ConfigProto of a session, which may be one of TensorFlow's own; None of what has
    none.

    Private: `BaseSession._config`. Public is an argument of the constructor only.
    """
    return getattr(session, "_config", None)


def extend_session(session: Session) -> None:
    """Add to a session the ops that its graph has got since the session's last run.

    Raises:
        tf.errors.OpError: The session cannot take or place an op.

    Private: `BaseSession._extend_graph`. A public run does the same before it runs something.
    """
    release_locks()
    as_any(session)._extend_graph()


@contextmanager
def without_extension(session: Session) -> Iterator[None]:
    """While this lasts, runs of a session do not add the ops that its graph has got since the last
    run.

    Private: `BaseSession._extend_graph`. Public runs always add them.
    """
    unchecked = as_any(session)
    unchecked._extend_graph = lambda: None
    try:
        yield
    finally:
        del unchecked._extend_graph


def open_session_like(session: Session, config: ConfigProto | None) -> ClosableSession:
    """Open a session on the target and graph of another one, with this ConfigProto, and not as a
    default session.

    Args:
        config: The configuration, or None for TensorFlow's default.

    Private: `BaseSession`, `BaseSession._target`. `tf.compat.v1.Session` has `__del__` and contexts
    beside.
    """
    result: ClosableSession = BaseSession(as_any(session)._target, session.graph, config)
    return result


def check_placement(session: Session, graph: Any) -> None:
    """Place a graph of the C API in a new session with the target and the options of `session`, and
    close that.

    Raises:
        tf.errors.OpError: An op cannot be placed.

    Private: the C API, `BaseSession._target`, `BaseSession._config`. A public session needs a
    tf.Graph, see `new_c_graph`.
    """
    unchecked = as_any(session)
    options = c_api.TF_NewSessionOptions(target=unchecked._target, config=unchecked._config)
    session_ref = c_api.TF_NewSessionRef(graph, options)
    try:
        c_api.ExtendSession(session_ref)
    finally:
        c_api.TF_CloseSession(session_ref)
        c_api.TF_DeleteSession(session_ref)
        c_api.TF_DeleteSessionOptions(options)


def exchange_c_sessions(session: Session, other: Any) -> None:
    """Exchange the C sessions of two sessions.

    Private: `BaseSession._session`. The public API cannot renew a session.
    """
    unchecked = as_any(session)
    unchecked._session, other._session = other._session, unchecked._session


def close_c_session(session: Session) -> None:
    """Close the C session of a session; runs that are under way end with CancelledError.

    Private: `TF_CloseSession`, `BaseSession._session`. `close` waits for a lock of the graph.
    """
    c_api.TF_CloseSession(as_any(session)._session)


def mark_closed(session: Session) -> None:
    """Mark a session as closed, so that it refuses runs.

    Private: `BaseSession._closed`. See `close_c_session`.
    """
    as_any(session)._closed = True


def set_session_config(session: Session, config: ConfigProto | None) -> None:
    """Set the ConfigProto that `session_config` returns.

    Args:
        config: The configuration, or None for TensorFlow's default.

    Private: `BaseSession._config`. Public is an argument of the constructor only.
    """
    as_any(session)._config = config


def is_partial_run_active(session: Session, handle: str) -> bool:
    """Whether a partial run of this handle has fetches left; asking changes nothing.

    Private: `BaseSession._call_tf_sessionprun`. The public `partial_run` refuses to fetch nothing.
    """
    try:
        as_any(session)._call_tf_sessionprun(handle, {}, [])
    except tf.errors.OpError:
        return False
    return True


@cache
def _session_references() -> dict[int, weakref.ref[Any]]:
    """The callables made by options and the tensor handles of all sessions, by their ids; those
    that are made later are added.

    To look for them in all of Python's objects takes as long as the rest of a small renewal.

    Private: `BaseSession._Callable`, `session_ops.TensorHandle`. Public functions return them; the
    classes are private.
    """
    references: dict[int, weakref.ref[Any]] = {}

    def record(thing: Any) -> None:
        number = id(thing)
        references[number] = weakref.ref(thing, lambda _: references.pop(number, None))

    def recording(begin: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(begin)
        def begin_recorded(thing: Any, *arguments: Any, **options: Any) -> None:
            begin(thing, *arguments, **options)
            record(thing)

        return begin_recorded

    classes: tuple[Any, ...] = (BaseSession._Callable, session_ops.TensorHandle)
    for each in classes:
        each.__init__ = recording(each.__init__)
    for thing in gc.get_referrers(*classes):
        if type(thing) in classes:
            record(thing)
    return references


def session_references(session: Session) -> list[dict[str, object]]:
    """Return the fields of the Python objects that refer to the C session of a session: callables
    and tensor handles.

    Private: see `_session_references`. TensorFlow lists neither of them.
    """
    things = [reference() for reference in list(_session_references().values())]
    fields = [vars(thing) for thing in things if thing is not None]
    return [each for each in fields if each.get(SESSION_FIELD) is session and HANDLE_FIELD in each]


HANDLE_FIELD = "_handle"
"""The field of both that holds their number in the C session.

Private: `_Callable._handle`, `TensorHandle._handle`."""

SESSION_FIELD = "_session"
"""The field of both that holds the session.

Private: `_Callable._session`, `TensorHandle._session`."""

DELETES_FIELD = "_auto_gc_enabled"
"""The field of tensor handles that says whether the session's tensor goes when they go.

Private: `TensorHandle._auto_gc_enabled`."""
