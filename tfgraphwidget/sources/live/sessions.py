"""The `tf.compat.v1.Session` in TensorFlow's objects that wrap one."""

from __future__ import annotations

from typing import Any

from tensorflow.python.client.session import BaseSession, SessionInterface
from tensorflow.python.training import monitored_session

from tfgraphwidget.errors import SessionRefused

_MONITORED = monitored_session._MonitoredSession
_WRAPPERS = (monitored_session._WrappedSession, SessionInterface)  # the latter are TensorFlow's debuggers


def is_session(thing: object) -> bool:
    """Whether an object is a session, or one of TensorFlow's objects that wrap one."""
    return isinstance(thing, (BaseSession, _MONITORED, *_WRAPPERS))


def unwrap_session(thing: Any) -> Any:
    """The `tf.compat.v1.Session` inside a MonitoredSession, a hook's session or a debugger; other objects unchanged.

    What runs in that session runs without the hooks. Raises SessionRefused for a MonitoredSession that is closed.

    Args:
        thing: A session, an object that wraps one, or any other object.
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
