"""Slots: what an op takes at each of its inputs, told by its NodeDef and its OpDef."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tfgraphwidget.graph.index import GraphIndex

# No op has more inputs; a damaged attribute may say so.
_MOST = 1 << 15


class Slot(NamedTuple):
    """One input: the number of its dtype (0 when nobody tells), and whether it must be a reference to a variable."""

    dtype: int
    is_ref: bool


def slots(index: GraphIndex, node: Any) -> tuple[Slot, ...] | None:
    """The inputs of a NodeDef, in order; None for an op that TensorFlow does not know."""
    definition = index.typing.definition(node.op)
    if definition is None:
        return None
    return tuple(slot for arg in definition.input_arg for slot in _of(arg, node, definition))


def _of(arg: Any, node: Any, definition: Any) -> Iterator[Slot]:
    if arg.type_list_attr:
        value = attribute(node, definition, arg.type_list_attr)
        yield from (Slot(number, arg.is_ref) for number in ([] if value is None else value.list.type[:_MOST]))
        return
    value = attribute(node, definition, arg.type_attr) if arg.type_attr else None
    dtype = arg.type or (0 if value is None else value.type)
    number = attribute(node, definition, arg.number_attr) if arg.number_attr else None
    count = (0 if number is None else number.i) if arg.number_attr else 1
    for _ in range(count if 0 <= count <= _MOST else 0):
        yield Slot(dtype, arg.is_ref)


def attribute(node: Any, definition: Any, name: str) -> Any:
    """The AttrValue of a NodeDef, or the OpDef's default of it; None when there is neither."""
    if name in node.attr:
        return node.attr[name]
    return next((a.default_value for a in definition.attr if a.name == name and a.HasField("default_value")), None)
