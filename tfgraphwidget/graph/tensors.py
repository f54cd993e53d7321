"""What is known of tensors without running anything: dtypes, static shapes."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol

from tfgraphwidget.errors import GraphEditError

Shape = tuple[int | None, ...] | None
"""A static shape; None for an unknown rank, None inside for an unknown dimension."""

ShapePattern = Sequence[int | str | EllipsisType | None] | str | None
"""Which shapes are meant; see `suits`."""


class Typing(Protocol):
    """Says what each op's outputs are; whoever reads a graph from TensorFlow brings one along."""

    def dtypes(self, node: Any) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef, for example ("float32", "int32_ref").

        "" is a dtype that the file does not tell. Of an op that TensorFlow does not know, only what its attributes
        tell; there may be more outputs.
        """

    def definition(self, op_type: str) -> Any:
        """The OpDef of an op type; None for one that TensorFlow does not know."""

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output, as far as it is known."""


class Untold:
    """The typing of a graph of which nothing is known but its edges."""

    def dtypes(self, node: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()

    def definition(self, op_type: str) -> Any:  # noqa: ARG002
        """Nothing."""
        return None

    def shape(self, op: str, port: int) -> Shape:  # noqa: ARG002
        """Nothing."""
        return None


def shape_text(shape: Shape) -> str:
    """As TensorFlow prints it.

    >>> shape_text((None, 3)), shape_text((2,)), shape_text(()), shape_text(None)
    ('(None, 3)', '(2,)', '()', 'unknown')
    """
    return "unknown" if shape is None else str(shape)


def suits(shape: Shape, pattern: ShapePattern) -> bool:
    """Whether a static shape is one that a pattern means.

    "*" means any, None an unknown rank; otherwise there is one entry for each dimension: its size, None for an
    unknown one, "*" for any, ... for any number of dimensions.

    >>> suits((None, 7, 7, 64), [None, ..., 64]), suits((2, 3), ["*", 4]), suits(None, [...])
    (True, False, False)
    """
    if pattern is None or isinstance(pattern, str):
        return pattern == "*" or (shape is None and pattern is None)
    if shape is None:
        return False
    if ... in pattern:
        at = list(pattern).index(...)
        head, tail = pattern[:at], pattern[at + 1 :]
        return suits(shape[:at], head) and any(suits(shape[k:], tail) for k in range(at, len(shape) + 1))
    pairs = zip(shape, pattern, strict=False)
    return len(shape) == len(pattern) and all(wanted in ("*", size) for size, wanted in pairs)


def check_pattern(pattern: object) -> None:
    """Raise GraphEditError unless this is a shape pattern."""
    if pattern is None or pattern == "*":
        return
    entries = pattern if isinstance(pattern, list | tuple) else [pattern]
    wrong = [e for e in entries if not (e is None or e is ... or e == "*" or (isinstance(e, int) and e >= 0))]
    if wrong or entries is not pattern:
        raise GraphEditError(
            f"{pattern!r} is no shape pattern; write one entry for each dimension: its size, None for unknown, "
            '"*" for any, ... for any number of them.'
        )
