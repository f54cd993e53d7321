"""Predicates of queries besides names: traits of ops and values of attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfgraphwidget.graph import control_flow, selectors
from tfgraphwidget.graph.attributes import attribute_text
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import attr_value
from tfgraphwidget.graph.op_types import CONSTANTS, HANDLES, V1_LOOPS, WHILE_LOOPS
from tfgraphwidget.graph.stateful_resources import of_type, stateful
from tfgraphwidget.graph.traversal import mask_of
from tfgraphwidget.graph.variables import is_placeholder
from tfgraphwidget.tf_types import AttrValue


def _loop(index: GraphIndex) -> Mask:
    mask = of_type(index, WHILE_LOOPS.__contains__)
    if V1_LOOPS.isdisjoint(index.kinds[0]):
        return mask
    return mask | mask_of(index, {op for loop in control_flow.loops(index) for op in loop.ops})


def _call(index: GraphIndex) -> Mask:
    if not index.functions:
        return np.zeros(len(index), bool)
    return np.fromiter(
        (bool(called_functions(node, index.functions)) for node in index.nodes), bool, len(index)
    )


TRAITS: dict[str, Callable[[GraphIndex], Mask]] = {
    "variable": lambda index: of_type(index, HANDLES.__contains__),
    "trainable": lambda index: selectors.trainable(index).mask,
    "constant": lambda index: of_type(index, CONSTANTS.__contains__),
    "input": lambda index: of_type(index, is_placeholder),
    "loop": _loop,
    "call": _call,
    "stateful": stateful,
}
"""Word after `is:` -> the ops that are that, one bool each: handles of variables, placeholders,
what runs in a while loop and ops that are one, ops that call a function, and those whose OpDef says
that they are stateful.
"""


class AttributeValues:
    """One attribute of an index's ops; where a NodeDef leaves it out, what the OpDef gives."""

    def __init__(self, index: GraphIndex, name: str) -> None:
        self._index = index
        self._name = name
        self._defaults: dict[str, tuple[str, AttrValue | None]] = {}
        self._defined: set[str] = set()
        self.may_have = of_type(index, self._is_possible)

    def _is_possible(self, op_type: str) -> bool:
        """Whether ops of a type may have the attribute: what begins with _ any NodeDef may add."""
        name, _ = self._look_up(op_type)
        return (
            self._name[:1] == "_"
            or name in self._defined
            or self._index.typing.definition(op_type) is None
        )

    def holds(self, op: int, holds: Callable[[AttrValue], object]) -> bool:
        """Whether an op has the attribute, and its AttrValue is one that `holds`."""
        value = self.value(op)
        return value is not None and bool(holds(value))

    def value(self, op: int) -> AttrValue | None:
        """The AttrValue of an op; None if it does not have the attribute."""
        node = self._index.nodes[op]
        name, default = self._defaults[node.op]
        return node.attr.get(name, default)

    def _look_up(self, op_type: str) -> tuple[str, AttrValue | None]:
        """The attribute's name as the OpDef writes it, and its default or None."""
        definition = self._index.typing.definition(op_type)
        defined = [] if definition is None else list(definition.attr)
        low = self._name.casefold()
        matches = [attr for attr in defined if attr.name == self._name]
        matches = matches or [attr for attr in defined if attr.name.casefold() == low]
        name, default = self._name, None
        if matches:
            name = matches[0].name
            default = matches[0].default_value if matches[0].HasField("default_value") else None
        self._defaults[op_type] = name, default
        self._defined |= {attr.name for attr in matches}
        return name, default


def any_value(_: AttrValue) -> bool:
    """The predicate of AttrValues that each fulfils."""
    return True


def value_holds(holds: Callable[[str], object]) -> Callable[[AttrValue], bool]:
    """A predicate of AttrValues: whether `holds` of the normalized value or one of its items."""

    def holds_value(value: AttrValue) -> bool:
        content = attr_value(value)
        if not isinstance(content, list):
            return bool(holds(normalized_text(_text(content, value))))
        items = [normalized_text(_text(item)) for item in content]
        return bool(holds(f"[{','.join(items)}]")) or any(holds(item) for item in items)

    return holds_value


def _text(content: Any, value: AttrValue | None = None) -> str:
    """One attribute's value as a person types it."""
    if isinstance(content, bytes):
        return content.decode("utf-8", "backslashreplace")
    if hasattr(content, "unknown_rank"):
        sizes = ",".join("?" if dim.size < 0 else str(dim.size) for dim in content.dim)
        return "unknown" if content.unknown_rank else f"[{sizes}]"
    if hasattr(content, "name") and hasattr(content, "attr"):
        return str(content.name)
    if hasattr(content, "tensor_shape") and value is not None:
        return attribute_text(value)
    return str(content)


_SIZES = re.compile(r"(\?|\d+)([x×](\?|\d+))+")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


def normalized_text(text: str) -> str:
    """A value as it is compared: in small letters, without spaces and quotes, numbers in the
    shortest way.

    >>> (
    ...     normalized_text("SAME"),
    ...     normalized_text("(1, 2.0, None)"),
    ...     normalized_text("?x3"),
    ...     normalized_text("1e-3"),
    ... )
    ('same', '[1,2,?]', '[?,3]', '0.001')
    """
    low = text.strip().casefold()
    if _SIZES.fullmatch(low):
        return f"[{','.join(re.split('[x×]', low))}]"
    if low[:1] + low[-1:] in ("[]", "()"):
        parts = [part.strip().strip("\"'") for part in low[1:-1].split(",")]
        sizes = ["?" if part in ("none", "-1") else _short(part) for part in parts]
        return f"[{','.join(sizes)}]"
    return _short(low)


def _short(word: str) -> str:
    is_small = len(word) < 40 and _NUMBER.fullmatch(word)
    return f"{float(word):.6g}" if is_small and not word.isdecimal() else word
