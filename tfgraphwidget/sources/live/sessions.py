"""The `tf.compat.v1.Session` in TensorFlow's objects that wrap one."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.tf_internals import BaseSession, wrapped_session


def unwrap_session(thing: object) -> Any:
    """The `tf.compat.v1.Session` inside a MonitoredSession, a hook's session or a debugger; other
    objects unchanged.

    What runs in that session runs without the hooks. Raises SessionRefused for a MonitoredSession
    that is closed.
    """
    inner = thing
    while inner is not None and not isinstance(inner, BaseSession):
        wrapped = wrapped_session(inner)
        if wrapped is inner:
            return thing
        inner = wrapped
    if inner is None and thing is not None:
        raise SessionRefused(f"The {type(thing).__name__} is closed; open a new one and give that.")
    return inner
