"""Patterns as frozen values: a DAG of ops, tensors and constants. `text` parses and prints them.

A pattern is a tuple of statements. What no other statement uses is an output; so is an op that a
statement only names. A statement that only names a tensor which may be any says where it comes
among the arguments of a replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.graph.op_types import CONSTANTS, HANDLES, REQUIRED_PLACEHOLDERS
from tfgraphwidget.graph.tensors import ShapePattern
from tfgraphwidget.naming import words

MOST_NODES = 500
DEEPEST = 100
"""Values that are inside each other in one statement."""
ANY_TYPE = "*"
GROUPS = {"Const": CONSTANTS, "Variable": HANDLES}
"""Op types of a pattern that represent several: every constant, every op that holds a variable's
state.
"""

RESERVED = frozenset(
    words(
        "attributes function index inputs names numbers ops outputs passed pattern",
        "results tensors why",
    )
)
"""Properties of a match, which no tensor of a pattern can be named after."""

Literal: TypeAlias = "bool | int | float | str | tuple[Literal, ...]"


@dataclass(frozen=True)
class Wildcard:
    """`$name`: a value of an attribute or a dtype, the same wherever the name stands."""

    name: str


@dataclass(frozen=True)
class AnyOf:
    """One of several values of an attribute."""

    values: tuple[Literal, ...]


@dataclass(frozen=True)
class AttributeComparison:
    """A number that is compared: sign is <, <=, >, >= or !=."""

    sign: str
    value: Literal


@dataclass(frozen=True)
class Regex:
    """A text in which a regular expression is found."""

    text: str


Attribute: TypeAlias = (
    "Literal | Wildcard | AnyOf | AttributeComparison | Regex | Callable[[object], object]"
)
"""What an attribute must be; a function of its value has no text."""


@dataclass(frozen=True)
class TensorType:
    """What a tensor must be: its dtype ("" for any), and its static shape ("*" for any)."""

    dtype: str | Wildcard = ""
    shape: ShapePattern = "*"


ANY = TensorType()


@dataclass(frozen=True)
class Variable:
    """Any tensor, the same wherever the name stands unless it is "", or a node at `port`."""

    name: str = ""
    tensor_type: TensorType = ANY
    port: int = 0


@dataclass(frozen=True)
class Constant:
    """A constant of a value; a scalar also represents an array of which every element is this.

    `tolerance` is relative, and absolute for 0; None for what the dtype rounds to.
    """

    value: Literal
    tolerance: float | None = None
    name: str = ""
    tensor_type: TensorType = ANY


@dataclass(frozen=True)
class Node:
    """An op of one of some types, and the output of it that is read.

    `inputs` are values, with at most one `...` for any number; None for any inputs at all.
    """

    types: tuple[str, ...]
    inputs: tuple[Value | EllipsisType, ...] | None = None
    attributes: tuple[tuple[str, Attribute], ...] = ()
    controls: tuple[Value, ...] = ()
    name: str = ""
    tensor_type: TensorType = ANY
    port: int = 0

    @property
    def op_types(self) -> frozenset[str]:
        """The op types that are meant, groups expanded; empty for any."""
        if ANY_TYPE in self.types:
            return frozenset()
        return frozenset().union(*(GROUPS.get(kind, {kind}) for kind in self.types))

    @property
    def is_source(self) -> bool:
        """Whether it can only be a constant, variable or placeholder, which outlive consumers."""
        return ANY_TYPE not in self.types and self.op_types <= _SOURCES


_SOURCES = CONSTANTS | HANDLES | REQUIRED_PLACEHOLDERS


@dataclass(frozen=True)
class Alternatives:
    """One of several values; the first that fits."""

    choices: tuple[Value, ...]
    name: str = ""


Value: TypeAlias = "Variable | Constant | Node | Alternatives"


def children(value: Value) -> Iterator[Value]:
    """The values that a value is made of directly."""
    if isinstance(value, Alternatives):
        yield from value.choices
    elif isinstance(value, Node):
        yield from (each for each in value.inputs or () if not isinstance(each, EllipsisType))
        yield from value.controls


def walk(*values: Value) -> Iterator[Value]:
    """Values and all that they are made of, in the order in which they are written."""
    stack = list(reversed(values))
    while stack:
        value = stack.pop()
        yield value
        stack += reversed(list(children(value)))


def invalid(why: str) -> InvalidArgument:
    """The refusal of a pattern; `why` is its sentence."""
    return InvalidArgument("pattern", why)
