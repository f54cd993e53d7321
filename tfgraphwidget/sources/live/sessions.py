"""The `tf.compat.v1.Session` in TensorFlow's objects that wrap one."""

from __future__ import annotations

from typing import Any

from tensorflow.python.client.session import BaseSession, SessionInterface
from tensorflow.python.training import monitored_session

from tfgraphwidget.errors import SessionRefused

_MONITORED = monitored_session._MonitoredSession
_WRAPPERS = (monitored_session._WrappedSession, SessionInterface)  # the latter are TensorFlow's debuggers


def is_session(thing: object) -> bool:
    """Whether a thing is a session, or one of TensorFlow's objects that wrap one."""
    return isinstance(thing, (BaseSession, _MONITORED, *_WRAPPERS))


def unwrap_session(thing: Any) -> Any:
    """The `tf.compat.v1.Session` in a MonitoredSession, in what its hooks are given, or in a debugger; else the thing.

    What runs in that session runs without the hooks. Raises SessionRefused for a MonitoredSession that is closed.
    """
    inner = thing
    while inner is not None and not isinstance(inner, BaseSession):
        if isinstance(inner, _MONITORED):
            inner = inner._tf_sess()
        elif isinstance(inner, _WRAPPERS) and hasattr(inner, "_sess"):
            inner = inner._sess
        else:
            return thing
    if inner is None and thing is not None:
        raise SessionRefused(f"The {type(thing).__name__} is closed; open a new one and give that.")
    return inner
