"""Sizes in constants: where an op takes a size from, what a constant holds, and what is said of one
that is old.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.edits.patch import StaleConstant
from tfgraphwidget.edits.rewire.edge_moves import Tensor
from tfgraphwidget.graph import (
    CONSTANTS,
    SIZE_FORWARDING,
    SIZE_VECTORS,
    GraphIndex,
    Shape,
    control_flow,
)
from tfgraphwidget.tf_types import DataType, NodeDef

# Sizes in constants. A vector of sizes is often stacked from several constants (`tf.stack([32,
# tf.shape(x)[1]])`), so it is read entry by entry.

_MOST = 64  # sizes in a constant; one with more holds something else
_DEEPEST = 20  # ops that are followed from a consumer of sizes to the constants
_PARTS = {"Concat": slice(1, None), "ConcatV2": slice(-1)}  # the other input is the axis


class SizeEntry(NamedTuple):
    """A size: its value, its constant's op and its place there; None if computed."""

    value: int | None
    constant: int = -1
    at: int = 0


def size_entries(index: GraphIndex, tensor: Tensor, depth: int = 0) -> list[SizeEntry] | None:
    """The sizes in a vector or scalar; None if their number is not known."""
    op, _ = tensor
    kind, node = index.types[op], index.nodes[op]
    if kind in CONSTANTS:
        integers = constant_integers(index, node)
        if integers is None:
            return None
        return [SizeEntry(value, op, at) for at, value in enumerate(integers)]
    read = index.input_tensors(op)
    is_vector_of_one = kind == "ExpandDims" and index.shape(*tensor) == (1,)
    if depth < _DEEPEST and read and (kind in SIZE_FORWARDING or is_vector_of_one):
        return size_entries(index, read[0], depth + 1)
    if depth < _DEEPEST and kind in SIZE_VECTORS:
        parts = [size_entries(index, one, depth + 1) for one in read[_PARTS.get(kind, slice(None))]]
        if all(part is not None for part in parts):
            return [entry for part in parts for entry in part or ()]
    shape = index.shape(*tensor)
    if shape is None or None in shape or len(shape) > 1:
        return None
    count = prod(size or 0 for size in shape)
    return [SizeEntry(None)] * count if count <= _MOST else None


def constant_integers(index: GraphIndex, node: NodeDef, max_rank: int = 1) -> list[int] | None:
    """The whole numbers in a Const; None for one of a higher rank, of another dtype, or of many.

    Args:
        max_rank: The highest rank; 2 for paddings, whose numbers are given row by row.
    """
    tensor = node.attr["value"].tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    count = prod(sizes)
    fields = {
        index.typing.number("int32"): (tensor.int_val, "<i4"),
        index.typing.number("int64"): (tensor.int64_val, "<i8"),
    }
    if tensor.dtype not in fields or len(sizes) > max_rank or count > _MOST:
        return None
    values, dtype = fields[tensor.dtype]
    if tensor.tensor_content:
        return [int(value) for value in np.frombuffer(tensor.tensor_content, dtype)]
    integers = list(values) or [0]
    # A TensorProto leaves out the values at its end that repeat the last one.
    return (integers + [integers[-1]] * count)[:count]


def set_integers(index: GraphIndex, node: NodeDef, numbers: Sequence[int]) -> None:
    """Set the integers of a Const."""
    tensor = node.attr["value"].tensor
    tensor.ClearField("tensor_content")
    values = tensor.int_val if tensor.dtype == index.typing.number("int32") else tensor.int64_val
    values[:] = numbers


def integer_constant(
    like: NodeDef,
    name: str,
    numbers: Sequence[int],
    dtype: DataType.ValueType,
    *,
    scalar: bool = False,
) -> NodeDef:
    """A Const of integers, of the class of the NodeDef `like`: a vector, or a scalar; `dtype` is
    the number of int32 or int64.
    """
    node = type(like)(name=name, op="Const")
    node.attr["dtype"].type = dtype
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype
    tensor.tensor_shape.SetInParent()
    if not scalar:
        tensor.tensor_shape.dim.add(size=len(numbers))
    tensor.int_val[:] = numbers
    return node


# Old sizes and the sizes that should replace them


@dataclass(frozen=True)
class ShapeChanges:
    """The static shapes that change with an input's shape: (op, port) -> (before, after), both as
    far as known.

    `name` is the input's, `sizes` are (position, old size, new size) of its dimensions.
    """

    shapes: Mapping[Tensor, tuple[Shape, Shape]]
    name: str
    sizes: tuple[tuple[int, int, int | None], ...]

    def dimensions(self, tensor: Tensor) -> list[tuple[int, int, int | None]]:
        """(position, size before, size now) of each known dimension that has changed."""
        before, after = self.shapes.get(tensor, (None, None))
        if before is None or after is None or len(before) != len(after):
            return []
        pairs = enumerate(zip(before, after, strict=True))
        return [(k, was, now) for k, (was, now) in pairs if was is not None and was != now]

    def element_counts(self, index: GraphIndex, tensor: Tensor) -> tuple[int | None, int | None]:
        """How many elements a tensor has before and after; None where that is not known."""
        shape = index.shape(*tensor)
        before, after = self.shapes.get(tensor, (shape, shape))
        return _element_count(before), _element_count(after)


def _element_count(shape: Shape) -> int | None:
    if shape is None:
        return None
    sizes = [size for size in shape if size is not None]
    return prod(sizes) if len(sizes) == len(shape) else None


class SizeAtRunTime(NamedTuple):
    """The product of a tensor's dimensions times a number, and a number; "" is the input."""

    source: str
    positions: tuple[int, ...]
    times: int = 1
    plus: int = 0


class SizeConsumer:
    """An op that takes sizes."""

    def __init__(self, index: GraphIndex, changes: ShapeChanges, op: int) -> None:
        self.index, self.changes, self.op = index, changes, op
        self.read = index.input_tensors(op)

    def sizes(self, slot: int) -> list[SizeEntry]:
        """The sizes at an input; [] if it is not known."""
        if slot >= len(self.read):
            return []
        return size_entries(self.index, self.read[slot]) or []

    def stale(
        self,
        slot: int,
        all_: list[SizeEntry],
        k: int,
        proposed: int | str | None,
        at_run_time: SizeAtRunTime | None = None,
    ) -> StaleConstant:
        """Report a size that is out of date.

        Args:
            proposed: The new size, the expression that computes it, or None if neither is known.
        """
        index, entry = self.index, all_[k]
        sizes = {e.at: e.value or 0 for e in all_ if e.constant == entry.constant}
        value = tuple(size for _, size in sorted(sizes.items()))
        new: tuple[int | str, ...] | None = None
        if proposed is not None:
            new = tuple(size for _, size in sorted({**sizes, entry.at: proposed}.items()))
        is_scalar = index.shape(entry.constant, 0) == ()
        size = at_run_time or SizeAtRunTime("", (0,))
        return StaleConstant(
            op=index.names[entry.constant],
            value=value[0] if is_scalar else value,
            proposed=new[0] if is_scalar and new else new,
            consumer=index.names[self.op],
            at=entry.at,
            slot=slot,
            positions=size.positions,
            times=size.times,
            plus=size.plus,
            source=size.source,
        )

    def computed_size(
        self,
        slot: int,
        all_: list[SizeEntry],
        k: int,
        tensor: Tensor,
        positions: tuple[int, ...],
        times: int,
        plus: int,
    ) -> StaleConstant:
        """Report a size computed from the shape of a tensor that the op reads at run time."""
        source = f"{self.index.names[tensor[0]]}:{tensor[1]}"
        text = " * ".join(f'tf.shape("{source}")[{position}]' for position in positions)
        if times != 1:
            text += f" * {times}"
        if plus:
            text += f" + {plus}" if plus > 0 else f" - {-plus}"
        return self.stale(slot, all_, k, text, SizeAtRunTime(source, positions, times, plus))

    def scale(self, value: int, was: int, now: int | None) -> int | None:
        """The new multiple for a multiple of an old size; None if the new size is not known."""
        return value // was * now if now is not None and value % was == 0 else None

    def stale_or_computed(
        self, slot: int, all_: list[SizeEntry], k: int, was: int, now: int | None
    ) -> StaleConstant:
        """Report a size that must be a number, or be computed when the graph runs."""
        value = all_[k].value or 0
        number = self.scale(value, was, now)
        size = self.size_of_input(value, was)
        # Several parts are not put together again.
        one_part = all(entry.constant == all_[k].constant for entry in all_)
        if number is not None or size is None or not one_part:
            return self.stale(slot, all_, k, number)
        return self.stale(slot, all_, k, self.size_text(size), size)

    def size_of_input(self, value: int, was: int) -> SizeAtRunTime | None:
        """The size of the input, or a multiple of it, that a number was.

        Args:
            was: The old size that the number met.

        Returns:
            The size; None if it is not known which it was, or cannot be read where the op is: in a
            loop, that of what lies outside.
        """
        divisors = [(p, old) for p, old, _ in self.changes.sizes if old and value % old == 0]
        candidates = [(p, old) for p, old in divisors if old == was] or divisors
        if len(candidates) != 1 or control_flow.enclosing_blocks(self.index, self.op):
            return None
        position, old = candidates[0]
        return SizeAtRunTime("", (position,), value // old)

    def size_text(self, size: SizeAtRunTime) -> str:
        """The expression that computes a size of the input."""
        (position,) = size.positions
        times = f" * {size.times}" if size.times != 1 else ""
        return f'tf.shape("{self.changes.name}:0")[{position}]' + times


def is_uniform(node: NodeDef) -> bool:
    """Whether a Const holds one number everywhere."""
    tensor = node.attr["value"].tensor
    if tensor.tensor_content:
        count = prod(dim.size for dim in tensor.tensor_shape.dim)
        width = len(tensor.tensor_content) // count if count else 0
        return width > 0 and tensor.tensor_content == tensor.tensor_content[:width] * count
    return sum(len(set(values)) for values in _value_fields(node)) == 1


def set_scalar(node: NodeDef) -> None:
    """Make a Const of one number everywhere that number."""
    tensor = node.attr["value"].tensor
    count = prod(dim.size for dim in tensor.tensor_shape.dim)
    tensor.tensor_content = tensor.tensor_content[: len(tensor.tensor_content) // count]
    del tensor.tensor_shape.dim[:]
    for values in _value_fields(node):
        del values[1:]
    if "_output_shapes" in node.attr:
        del node.attr["_output_shapes"]


def set_uniform_size(node: NodeDef, k: int, size: int) -> None:
    """Make a Const of one number everywhere as large as another."""
    tensor = node.attr["value"].tensor
    count = prod(dim.size for dim in tensor.tensor_shape.dim)
    tensor.tensor_shape.dim[k].size = size
    if tensor.tensor_content:
        width = len(tensor.tensor_content) // count
        tensor.tensor_content = tensor.tensor_content[:width] * prod(
            dim.size for dim in tensor.tensor_shape.dim
        )
    for values in _value_fields(node):
        del values[1:]  # the last value represents all that follow


def _value_fields(node: NodeDef) -> tuple[MutableSequence[Any], ...]:
    """The fields of a Const that hold its values one by one."""
    tensor = node.attr["value"].tensor
    return (
        tensor.float_val,
        tensor.double_val,
        tensor.half_val,
        tensor.int_val,
        tensor.int64_val,
        tensor.bool_val,
    )
