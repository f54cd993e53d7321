"""One op of an index; `editor.ops(where=…)` passes it to its function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.naming import scope_around
from tfgraphwidget.tf_types import AttrValue, Message

DTYPES = {"float": "float32", "double": "float64", "half": "float16"}


@dataclass(frozen=True)
class Op:
    """One op; everything is read when it is asked for."""

    index: GraphIndex
    number: int

    @property
    def name(self) -> str:
        """Its name, "scope/op"."""
        return self.index.names[self.number]

    @property
    def type(self) -> str:
        """Its type, "Conv2D"."""
        return self.index.types[self.number]

    @property
    def device(self) -> str:
        """The device it is pinned to, or ""."""
        return str(self.index.nodes[self.number].device)

    @property
    def scope(self) -> str:
        """The name scope around it, or ""."""
        return scope_around(self.name)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors it reads, in slot order."""
        tensors = self.index.input_tensors(self.number)
        return tuple(f"{self.index.names[op]}:{port}" for op, port in tensors)

    @property
    def control_inputs(self) -> tuple[str, ...]:
        """The ops it waits for."""
        return tuple(self.index.names[i] for i in self.index.controls.row(self.number))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Its tensors, in port order."""
        return tuple(f"{self.name}:{port}" for port in range(len(self.dtypes)))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each output, "float32"."""
        return self.index.dtypes(self.number)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The static shape of each output: a tuple, with None for an unknown dimension; None for an
        unknown rank.
        """
        return tuple(self.index.shape(self.number, port) for port in range(len(self.dtypes)))

    @property
    def consumers(self) -> tuple[str, ...]:
        """The ops that read one of its tensors, in graph order."""
        distinct = dict.fromkeys(self.index.consumers.row(self.number).tolist())
        return tuple(self.index.names[i] for i in distinct)

    def attr(self, name: str, default: object = None) -> Any:
        """An attribute as a Python value (bytes, int, float, bool, a dtype's name, a list of
        these), else the proto.

        `default` when the op has no such attribute.
        """
        attributes = self.index.nodes[self.number].attr
        return attr_value(attributes[name]) if name in attributes else default


def attr_value(value: AttrValue) -> Any:
    """An AttrValue as a Python value; see `Op.attr`."""
    kind = value.WhichOneof("value")
    if kind in {"s", "i", "f", "b"}:
        return getattr(value, kind)
    if kind == "type":
        return dtype_name(value, "type", value.type)
    if kind == "list":
        items: list[Any] = []
        for field, values in value.list.ListFields():
            if field.name == "type":
                items += [dtype_name(value, "type", number) for number in values]
            else:
                items += values
        return items
    return getattr(value, kind) if kind else None


def dtype_name(message: Message, field: str, number: int) -> str:
    """Return the name of a dtype, such as "float32".

    Args:
        message: A message with a field of the enum DataType.
        field: The name of that field.
        number: The number of the dtype.

    Returns:
        The name; the number as text if it is not known.
    """
    enum = message.DESCRIPTOR.fields_by_name[field].enum_type
    descriptor = enum.values_by_number.get(number) if enum is not None else None
    name = descriptor.name.removeprefix("DT_").lower() if descriptor else str(number)
    if name.endswith("_ref"):
        plain = name.removesuffix("_ref")
        return f"{DTYPES.get(plain, plain)}_ref"
    return DTYPES.get(name, name)
