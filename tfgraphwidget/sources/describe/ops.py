"""Facts of one op for the inspector: device, tensors, attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tfgraphwidget.graph import CONSTANTS, GraphIndex, bytes_text, shape_text
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import dtype_name
from tfgraphwidget.sources.inference.shape_functions import shape_from_proto
from tfgraphwidget.tf_types import AttrValue, NodeDef, TensorProto, TensorShapeProto

_LONGEST = 200  # characters of a value
_MOST_SHOWN = 16  # elements of a constant
_UNREADABLE = "unreadable"
# Kinds of AttrValue; a tensor is set by `set_constant`.
_NOT_SETTABLE = (None, "func", "placeholder", "tensor")


@dataclass(frozen=True)
class TensorDescription:
    """Facts of a tensor; `peers` are the names of the ops at its other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]


@dataclass(frozen=True)
class AttributeDescription:
    """Facts of an attribute; `settable`: the text is the whole Python that `set_attr` takes."""

    name: str
    text: str
    settable: bool


@dataclass(frozen=True)
class OpDescription:
    """Facts of an op, attributes by name. `value` is the Python of a small constant, or ""."""

    device: str
    inputs: tuple[TensorDescription, ...]
    outputs: tuple[TensorDescription, ...]
    control_inputs: tuple[str, ...]
    attributes: tuple[AttributeDescription, ...]
    value: str


def describe_op(index: GraphIndex, i: int) -> OpDescription:
    """Describe an op: its device, tensors and attributes; what the file lacks is "unknown"."""
    node = index.nodes[i]
    consumers = _consumers(index, i)
    inputs = [_tensor(index, op, port, [index.names[op]]) for op, port in index.input_tensors(i)]
    outputs = [
        _tensor(index, i, port, consumers.get(port, [])) for port in range(len(index.dtypes(i)))
    ]
    return OpDescription(
        device=node.device,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        control_inputs=tuple(index.names[c] for c in index.control_lists[i]),
        attributes=tuple(_attribute(name, value) for name, value in sorted(node.attr.items())),
        value=_value(node) if index.types[i] in CONSTANTS else "",
    )


def _attribute(name: str, value: AttrValue) -> AttributeDescription:
    text = attribute_text(value)
    is_python = value.WhichOneof("value") not in _NOT_SETTABLE and not (
        value.list.func or value.list.tensor
    )
    is_whole = text != _UNREADABLE and len(text) < _LONGEST
    return AttributeDescription(name, text, is_python and is_whole and not name.startswith("_"))


def _value(node: NodeDef) -> str:
    try:
        text = _elements(node.attr["value"].tensor)
    except Exception:  # a damaged constant
        return ""
    return text if len(text) < _LONGEST else ""


def _tensor(index: GraphIndex, op: int, port: int, peers: list[str]) -> TensorDescription:
    """A tensor with the ops at its other end: its producer, or its consumers."""
    name, dtype = f"{index.names[op]}:{port}", index.dtypes(op)[port] or "unknown"
    return TensorDescription(name, dtype, shape_text(index.shape(op, port)), tuple(peers))


def _consumers(index: GraphIndex, i: int) -> dict[int, list[str]]:
    """Output -> names of the ops that read it, once for each time they do."""
    consumers: dict[int, list[str]] = {}
    for consumer in dict.fromkeys(index.consumer_lists[i]):
        for source, port in index.input_tensors(consumer):
            if source == i:
                consumers.setdefault(port, []).append(index.names[consumer])
    return consumers


def attribute_text(value: AttrValue) -> str:
    """An AttrValue as text of at most 200 characters; "unreadable" when it is damaged.

    What is cut ends in "…". What is not can be given to `set_attr` as it is: strings are as Python
    writes them.
    """
    try:
        text = _text(value)
    except Exception:  # a damaged value fails anywhere in TensorFlow or numpy, and is only shown
        return _UNREADABLE
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _text(value: AttrValue) -> str:
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _constant(value.tensor)
    if kind == "s":
        return bytes_text(value.s, _LONGEST)
    if kind == "list":
        return _list(value.list)
    if kind == "func":
        return f"function {value.func.name}"
    return _FORMATTERS.get(kind, str)(getattr(value, kind)) if kind else ""


def _dtype(number: int) -> str:
    return dtype_name(number) or f"unknown dtype {number}"


def _shape(proto: TensorShapeProto) -> str:
    return shape_text(shape_from_proto(proto))


_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "type": _dtype,
    "shape": _shape,
    "s": lambda v: bytes_text(v, _LONGEST),
    "func": lambda v: str(v.name),
}


def _constant(proto: TensorProto) -> str:
    """A constant's dtype and shape, and its elements when there are few."""
    head = f"{_dtype(proto.dtype)} {_shape(proto.tensor_shape)}"
    try:
        return f"{head} {_elements(proto)}".rstrip()
    except Exception:
        return f"{head} {_UNREADABLE}"


def _elements(proto: TensorProto) -> str:
    """The elements of a constant as Python, when there are few; else ""."""
    shape = shape_from_proto(proto.tensor_shape)
    if (
        shape is None
        or None in shape
        or np.prod([max(size or 0, 1) for size in shape], dtype=float) > _MOST_SHOWN
    ):
        return ""  # one without elements can claim any number of rows
    return repr(_decode(tf_protos.array_of(proto).tolist()))


def _decode(elements: object) -> object:
    """The elements with strings for the bytes that are UTF-8."""
    if isinstance(elements, list):
        return [_decode(element) for element in elements]
    try:
        return elements.decode() if isinstance(elements, bytes) else elements
    except UnicodeDecodeError:
        return elements


def _list(proto: AttrValue.ListValue) -> str:
    texts = [
        _FORMATTERS.get(kind.name, str)(value)
        for kind, values in proto.ListFields()
        for value in islice(values, _LONGEST // 2)
    ]
    return f"[{', '.join(texts)}]"
