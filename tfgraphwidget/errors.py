"""What this package raises: one sentence that names the thing, the place and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 2_000  # characters of a sentence


class GraphEditError(Exception):
    """A refusal; graph, session and files are as they were.

    `ops` holds the names of the ops to highlight, in the order the sentence names them. `mends` are commands of which
    each would do what was asked, with something more: `editor.edit(error.mends[0])`. `why` ends with the first of them
    as Python; `in_words` is the sentence without, for a page that has a button for each.
    """

    def __init__(self, why: str, ops: Iterable[str] = (), mends: Iterable[Any] = ()) -> None:
        if len(why) > _LONGEST:  # a name of 20,000 characters is in it, and the way out at its end
            why = f"{why[: _LONGEST // 2]} … {why[-_LONGEST // 2 :]}"
        super().__init__(why)
        self.why = self.in_words = why
        self.ops = tuple(ops)
        self.mends = tuple(mends)


class InvalidArgument(GraphEditError, ValueError):
    """A value that an argument cannot have; `argument` is its name."""

    def __init__(self, argument: str, why: str) -> None:
        super().__init__(why)
        self.argument = argument


class UnknownName(GraphEditError, LookupError):
    """No op, tensor, scope or file of that name; the sentence proposes the nearest ones."""


class NotAGraph(GraphEditError, TypeError):
    """What was given holds no TensorFlow graph."""


class NoPath(GraphEditError):
    """Two boundaries without a path of tensors from the one to the other."""


class NameTaken(GraphEditError):
    """The name scope already holds ops; the sentence proposes a free one."""


class NotClonable(GraphEditError):
    """The selection cannot be copied and stay right."""


class SessionRefused(GraphEditError):
    """The session cannot do what was asked: closed, of another graph, or a value is missing."""


class NotRunnable(GraphEditError):
    """What was opened can be looked at only; the sentence names the op or the file that stands in the way."""


class GraphFinalized(GraphEditError):
    """The graph was finalized, so TensorFlow takes no new ops."""


class NothingTo(GraphEditError):
    """There is nothing to undo, to redo or to export."""


class TensorFlowMissing(GraphEditError, ImportError):
    """TensorFlow is not installed, and what was asked for needs it; the sentence says what to install."""
