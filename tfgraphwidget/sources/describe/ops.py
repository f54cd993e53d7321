"""What is known of one op: device, tensors, attributes; of a live graph as of a file's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tfgraphwidget.graph.attributes import bytes_text
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import dtype_name
from tfgraphwidget.sources.inference.shapes import shape_from_proto

_LONGEST = 200
_MOST_SHOWN = 16
_UNREADABLE = "unreadable"


@dataclass(frozen=True)
class TensorFacts:
    """What is known of a tensor; `peers` are the names of the ops at its other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]


@dataclass(frozen=True)
class OpFacts:
    """What is known of an op; attributes are (name, text) pairs in name order."""

    device: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    control_inputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


def describe_op(index: GraphIndex, i: int) -> OpFacts:
    """Device, tensors and attributes of op i; what a file does not tell, or tells wrongly, is "unknown"."""
    node = index.nodes[i]
    start = index.inputs.start[i]
    sources = [(source, int(index.ports[start + k])) for k, source in enumerate(index.input_lists[i])]
    readers = _readers(index, i)
    return OpFacts(
        device=node.device,
        inputs=tuple(_tensor(index, op, port, index.dtypes(op)[port], [index.names[op]]) for op, port in sources),
        outputs=tuple(
            _tensor(index, i, port, dtype, readers.get(port, [])) for port, dtype in enumerate(index.dtypes(i))
        ),
        control_inputs=tuple(index.names[c] for c in index.control_lists[i]),
        attributes=tuple((name, attribute_text(value)) for name, value in sorted(node.attr.items())),
    )


def _tensor(index: GraphIndex, op: int, port: int, dtype: str, peers: list[str]) -> TensorFacts:
    shape = shape_text(index.shape(op, port))
    return TensorFacts(f"{index.names[op]}:{port}", dtype or "unknown", shape, tuple(peers))


def _readers(index: GraphIndex, i: int) -> dict[int, list[str]]:
    """Output -> names of the ops that read it, once for each time they do."""
    found: dict[int, list[str]] = {}
    for reader in dict.fromkeys(index.consumer_lists[i]):
        start = index.inputs.start[reader]
        for slot, source in enumerate(index.input_lists[reader]):
            if source == i:
                found.setdefault(int(index.ports[start + slot]), []).append(index.names[reader])
    return found


def attribute_text(value: Any) -> str:
    """An AttrValue as a person writes it, at most 200 characters; "unreadable" where a file is damaged.

    What is cut ends in "…". What is not can be given to `set_attr` as it is: strings are as Python writes them.
    """
    try:
        text = _text(value)
    except Exception:  # a damaged value fails anywhere in TensorFlow or numpy, and is only shown
        return _UNREADABLE
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _text(value: Any) -> str:
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _constant(value.tensor)
    if kind == "s":
        return bytes_text(value.s, _LONGEST)
    if kind == "list":
        return _list(value.list)
    if kind == "func":
        return f"function {value.func.name}"
    return _WRITTEN.get(kind, str)(getattr(value, kind)) if kind else ""


def _dtype(number: int) -> str:
    return dtype_name(number) or f"unknown dtype {number}"


def _shape(proto: Any) -> str:
    return shape_text(shape_from_proto(proto))


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "type": _dtype,
    "shape": _shape,
    "s": lambda v: bytes_text(v, _LONGEST),
    "func": lambda v: str(v.name),
}


def _constant(proto: Any) -> str:
    """A constant's dtype and shape, and its elements when there are few."""
    shape = shape_from_proto(proto.tensor_shape)
    head = f"{_dtype(proto.dtype)} {shape_text(shape)}"
    if shape is None or None in shape or np.prod([float(size or 0) for size in shape]) > _MOST_SHOWN:
        return head
    try:
        return f"{head} {_decoded(tf_protos.array_of(proto).tolist())!r}"
    except Exception:
        return f"{head} {_UNREADABLE}"


def _decoded(held: Any) -> Any:
    """The elements with strings for the bytes that are UTF-8."""
    if isinstance(held, list):
        return [_decoded(element) for element in held]
    try:
        return held.decode() if isinstance(held, bytes) else held
    except UnicodeDecodeError:
        return held


def _list(proto: Any) -> str:
    texts = [
        _WRITTEN.get(kind.name, str)(value)
        for kind, held in proto.ListFields()
        for value in islice(held, _LONGEST // 2)
    ]
    return f"[{', '.join(texts)}]"
