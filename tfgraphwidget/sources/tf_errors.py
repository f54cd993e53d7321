"""TensorFlow's errors as one line, and as GraphEditError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tfgraphwidget.errors import GraphEditError, first_sentence
from tfgraphwidget.tensorflow_modules import OpError

# How the lines begin in which TensorFlow and Python say where an error comes from, before what it
# is.
_WHERE = (
    "File ",
    "in user code",
    "Traceback",
    "Graph execution error",
    "Detected at node",
    "<stack traces unavailable>",
    "Node:",
    "[[{{",
)


def is_dead_tensor(error: BaseException) -> bool:
    """Whether a run failed as a fetched tensor is in a branch that was not taken."""
    return isinstance(error, OpError) and "Retval" in str(error)


def error_text(error: BaseException) -> str:
    """What a TensorFlow or Python error says is wrong, in a line of at most 300 characters."""
    if is_dead_tensor(error):
        return "what is asked for lies in the branch of a conditional that was not taken"
    try:
        text = str(error.message if isinstance(error, OpError) else error)
    except Exception:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith(_WHERE)]
    message = ""
    if messages:
        in_user_code = any(line.startswith("in user code") for line in lines)
        message = messages[-1] if in_user_code else messages[0]
    return first_sentence(message) or type(error).__name__


@contextmanager
def wrap_tf_errors(what: str) -> Iterator[None]:
    """Raise GraphEditError in place of a TensorFlow error; `what` is what TensorFlow failed to do,
    "open a session".

    For what TensorFlow refuses as a rule there are sentences that know more. This is for the rest:
    no memory on a device, a server that is gone, a full disk.

    >>> import tensorflow as tf
    >>> with wrap_tf_errors("open a session"):
    ...     raise tf.errors.ResourceExhaustedError(None, None, "no memory")
    Traceback (most recent call last):
    tfgraphwidget.errors.GraphEditError: TensorFlow cannot open a session: no memory; fix that, and
    try again.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, OpError):  # `except OpError` would import TensorFlow
            raise
        raise GraphEditError(
            f"TensorFlow cannot {what}: {error_text(error)}; fix that, and try again."
        ) from error
