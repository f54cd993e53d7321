"""Numbers in constants: the shapes and sizes that are written into a graph, and constants that hold others.

A vector of sizes is often put together from several constants (`tf.stack([32, tf.shape(x)[1]])`), so it is read entry
by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.edits.wires import Tensor, Wires
from tfgraphwidget.graph.index import GraphIndex

_MOST = 64
_DEEPEST = 20
_SAME = frozenset({"Identity", "Cast", "Enter", "Snapshot", "StopGradient"})


class Entry(NamedTuple):
    """One size: its value, the op of the constant that holds it, and its place there; None where it is computed."""

    value: int | None
    constant: int = -1
    at: int = 0


def entries(index: GraphIndex, tensor: Tensor, depth: int = 0) -> list[Entry] | None:
    """The sizes in a vector, or the one that a scalar is; None when nobody knows how many there are."""
    op, _ = tensor
    kind, node = index.types[op], index.nodes[op]
    if kind == "Const":
        held = held_by(index, node)
        return None if held is None else [Entry(value, op, at) for at, value in enumerate(held)]
    read = Wires(index).inputs(op)
    if depth < _DEEPEST and kind in _SAME and read:
        return entries(index, read[0], depth + 1)
    if depth < _DEEPEST and kind in ("Pack", "ConcatV2"):
        parts = [entries(index, one, depth + 1) for one in (read if kind == "Pack" else read[:-1])]
        if all(part is not None for part in parts):
            return [entry for part in parts for entry in part or ()]
    shape = index.shape(*tensor)
    if shape is None or None in shape or len(shape) > 1 or prod(size or 0 for size in shape) > _MOST:
        return None
    return [Entry(None)] * prod(size or 0 for size in shape)


def held_by(index: GraphIndex, node: Any) -> list[int] | None:
    """The whole numbers in a Const of rank 0 or 1; None for other ones, or many."""
    tensor = node.attr["value"].tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    count = prod(sizes)
    dtypes = {
        index.typing.number("int32"): (tensor.int_val, "<i4"),
        index.typing.number("int64"): (tensor.int64_val, "<i8"),
    }
    if tensor.dtype not in dtypes or len(sizes) > 1 or count > _MOST:
        return None
    values, kind = dtypes[tensor.dtype]
    if tensor.tensor_content:
        return [int(value) for value in np.frombuffer(tensor.tensor_content, kind)]
    held = list(values) or [0]
    return (held + [held[-1]] * count)[:count]


def write(index: GraphIndex, node: Any, numbers: Sequence[int]) -> None:
    """Let a Const hold other whole numbers, as many as before and of the same dtype."""
    tensor = node.attr["value"].tensor
    tensor.ClearField("tensor_content")
    values = tensor.int_val if tensor.dtype == index.typing.number("int32") else tensor.int64_val
    values[:] = numbers


def constant(like: Any, name: str, numbers: Sequence[int], dtype: int, *, scalar: bool = False) -> Any:
    """A Const of whole numbers of a dtype (its number: that of int32)."""
    node = type(like)(name=name, op="Const")
    node.attr["dtype"].type = dtype
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype
    tensor.tensor_shape.SetInParent()
    if not scalar:
        tensor.tensor_shape.dim.add(size=len(numbers))
    tensor.int_val[:] = numbers
    return node
