"""Dtypes and static shapes of tensors."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any, Protocol, cast

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.messages import copy_of
from tfgraphwidget.tf_types import DataType, FunctionDef, NodeDef, OpDef, TensorShapeProto

Shape = tuple[int | None, ...] | None
"""A static shape; None for an unknown rank, None inside for an unknown dimension."""

ShapePattern = Sequence[int | str | EllipsisType | None] | str | None
"""Which shapes are meant; see `matches_shape`."""


Shapes = Mapping[tuple[str, int], Shape]
"""Static shapes by op name and port."""


class OpTyping(Protocol):
    """Says what ops are by their types; what reads a graph from TensorFlow provides it."""

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef, for example ("float32", "int32_ref").

        "" is a dtype that the file does not have. Of an op that TensorFlow does not know, only what
        its attributes say; there may be more outputs.
        """

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type; None for one that TensorFlow does not know."""


class Typing(OpTyping, Protocol):
    """Says what each op's outputs are in a graph, too."""

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output, as far as it is known."""

    def number(self, dtype: str) -> DataType.ValueType:
        """TensorFlow's number of a dtype, as NodeDefs write it."""

    def with_shapes(self, shapes: Shapes) -> Typing:
        """The same with other static shapes where an edit has made them others."""

    def with_functions(self, functions: Mapping[str, FunctionDef]) -> Typing:
        """The same with op types that are functions which an edit has added."""


class UnknownTyping:
    """The typing of a graph of which nothing is known but its edges."""

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()

    def definition(self, op_type: str) -> OpDef | None:  # noqa: ARG002
        """Nothing."""
        return None

    def shape(self, op: str, port: int) -> Shape:  # noqa: ARG002
        """Nothing."""
        return None

    def number(self, dtype: str) -> DataType.ValueType:  # noqa: ARG002
        """Nothing."""
        return cast("DataType.ValueType", 0)

    def with_shapes(self, shapes: Shapes) -> Typing:
        """A typing of these shapes alone."""
        return ReshapedTyping(self, shapes)

    def with_functions(self, functions: Mapping[str, FunctionDef]) -> Typing:  # noqa: ARG002
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class DerivedTyping:
    """The typing of `base`, of which a class that extends this one says what is different."""

    base: Typing

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        return self.base.dtypes(node)

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type; None for one that TensorFlow does not know."""
        return self.base.definition(op_type)

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is unknown."""
        return self.base.shape(op, port)

    def number(self, dtype: str) -> DataType.ValueType:
        """TensorFlow's number of a dtype."""
        return self.base.number(dtype)

    def with_shapes(self, shapes: Shapes) -> Typing:
        """The same with other static shapes where edits have made them others."""
        return ReshapedTyping(self, shapes)

    def with_functions(self, functions: Mapping[str, FunctionDef]) -> Typing:
        """The same with op types that are functions which an edit has added."""
        return replace(self, base=self.base.with_functions(functions))


@dataclass(frozen=True, eq=False)
class ReshapedTyping(DerivedTyping):
    """The typing of `base`, with the static shapes that edits have set since."""

    shapes: Shapes

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output: what the edits made it, else what it was."""
        return self.shapes[op, port] if (op, port) in self.shapes else self.base.shape(op, port)

    def with_shapes(self, shapes: Shapes) -> Typing:
        """The same with further shapes."""
        return ReshapedTyping(self.base, {**self.shapes, **shapes})


@dataclass(frozen=True, eq=False)
class RenamedTyping(DerivedTyping):
    """The typing of `base` for ops with other names; `names` maps these to the old ones."""

    names: Mapping[str, str]

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output, by the op's present name."""
        return self.base.shape(self.names.get(op, op), port)


def shape_text(shape: Shape) -> str:
    """The text of a shape, as TensorFlow prints it.

    >>> shape_text((None, 3)), shape_text((2,)), shape_text(()), shape_text(None)
    ('(None, 3)', '(2,)', '()', 'unknown')
    """
    return "unknown" if shape is None else str(shape)


def write_shape(proto: TensorShapeProto, shape: Iterable[int | None] | None) -> None:
    """Have a TensorShapeProto say a static shape; None is an unknown rank."""
    proto.Clear()
    proto.SetInParent()  # of a scalar there is nothing else to say
    if shape is None:
        proto.unknown_rank = True
    for size in shape or ():
        proto.dim.add(size=-1 if size is None else size)


def are_compatible(one: Shape, other: Shape) -> bool:
    """Whether two static shapes can be those of one tensor; None is an unknown rank or dimension.

    >>> are_compatible((None, 4), (2, 4)), are_compatible((2,), (3,)), are_compatible(None, ())
    (True, False, True)
    """
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        a is None or b is None or a == b for a, b in zip(one, other, strict=True)
    )


def matches_shape(shape: Shape, pattern: ShapePattern) -> bool:
    """Whether a static shape is one that a pattern means.

    "*" means any, None an unknown rank; otherwise there is one entry for each dimension: its size,
    None for an unknown one, "*" for any, once ... for any number of dimensions.

    >>> (
    ...     matches_shape((None, 7, 7, 64), [None, ..., 64]),
    ...     matches_shape((2, 3), ["*", 4]),
    ...     matches_shape(None, [...]),
    ... )
    (True, False, False)
    """
    if pattern is None or isinstance(pattern, str):
        return pattern == "*" or (shape is None and pattern is None)
    if shape is None:
        return False
    if ... in pattern:
        at = list(pattern).index(...)
        tail = pattern[at + 1 :]
        if len(shape) < at + len(tail) or not matches_shape(shape[:at], pattern[:at]):
            return False
        return matches_shape(shape[len(shape) - len(tail) :], tail)
    if len(shape) != len(pattern):
        return False
    return all(wanted in ("*", size) for size, wanted in zip(shape, pattern, strict=True))


def shape_pattern(pattern: Any) -> ShapePattern:
    """Convert a list, a tuple or a `tf.TensorShape` to the pattern that `matches_shape` takes.

    Raises GraphEditError for anything else.
    """
    if pattern is None or (isinstance(pattern, str) and pattern == "*"):
        return pattern
    if hasattr(pattern, "rank"):
        return None if pattern.rank is None else tuple(pattern.as_list())
    try:
        entries = list(map(_pattern_entry, pattern))
    except Exception:  # what can be gone through may raise anything
        entries = [-1]
    sizes = [entry for entry in entries if isinstance(entry, int)]
    texts = {entry for entry in entries if isinstance(entry, str)}
    is_right = min(sizes, default=0) >= 0 and texts <= {"*"} and entries.count(...) <= 1
    if isinstance(pattern, str) or not is_right:
        raise GraphEditError(
            f"{value_text(pattern)} is not a shape pattern; write one entry for each dimension: "
            "its size, None for unknown, "
            '"*" for any, and once ... for any number of them.'
        )
    return tuple(entries)


def _pattern_entry(entry: Any) -> Any:
    """An entry of a shape pattern, a size as an int; TypeError for what is none."""
    if entry is None or entry is ... or isinstance(entry, str):
        return entry
    return operator.index(entry)


_SIZES: dict[str, object] = {"?": None, "none": None, "-1": None, "*": "*", "...": ..., "…": ...}


def parse_shape(text: str) -> ShapePattern:
    """The pattern of `tensors.matches_shape` that a text means: "?x224x3", "[None, 10]", "*",
    "unknown", "scalar".

    >>> parse_shape("?x224x3"), parse_shape("[None, 10]"), parse_shape("scalar")
    ((None, 224, 3), (None, 10), ())
    """
    low = text.strip().lower()
    if low in ("*", "unknown"):
        return "*" if low == "*" else None
    if low == "scalar":
        texts = [""]
    elif low[:1] + low[-1:] in ("[]", "()"):
        texts = low[1:-1].split(",")
    else:
        texts = re.split(r"[x×,]", low)
    sizes = [size.strip() for size in texts]
    if sizes[-1] == "":
        sizes.pop()  # "(2,)", or no size at all
    if not all(map(_is_size, sizes)):
        raise GraphEditError(
            f"{text[:40]!r} is not a shape; write shape:?x224x224x3 or shape:[None, 10], with * "
            "for any size, and once ... for any number of them."
        )
    return shape_pattern([_SIZES[size] if size in _SIZES else int(size) for size in sizes])


def _is_size(text: str) -> bool:
    """Whether a text is one of _SIZES, or a number that fits into 64 bits."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 16
    return text in _SIZES or is_number


# Static shapes that NodeDefs of files list themselves; TensorFlow does not check them on import.


OUTPUT_SHAPES = "_output_shapes"


def with_output_shape(node: NodeDef, port: int, shape: Shape) -> NodeDef:
    """Copy a NodeDef that lists static shapes, with another shape of one output, if it differs."""
    listed = node.attr[OUTPUT_SHAPES].list.shape[port]
    sizes = [-1 if size is None else size for size in shape or ()]
    if listed.unknown_rank == (shape is None) and [dim.size for dim in listed.dim] == sizes:
        return node
    new = copy_of(node)
    new_shape = new.attr[OUTPUT_SHAPES].list.shape[port]
    new_shape.Clear()
    new_shape.unknown_rank = shape is None
    for size in sizes:
        new_shape.dim.add(size=size)
    return new
