"""Constants that still hold the old size of an input with a new shape.

What the new shape makes of all others is known by inference; here it is compared with what constants say. A Reshape to
[32, 10] of what is now (None, 10) is accepted by TensorFlow, and fails when it runs on 12 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import NamedTuple

import numpy as np

from tfgraphwidget.edits.patch import StaleConstant
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves, Tensor
from tfgraphwidget.graph import (
    AXIS_CHANGES,
    CONSTANTS,
    EQUAL_SIZES,
    GATHERS,
    SIZE_FORWARDING,
    SIZE_VECTORS,
    GraphIndex,
    Shape,
    control_flow,
    traversal,
)
from tfgraphwidget.tf_types import DataType, NodeDef

# Sizes in constants. A vector of sizes is often stacked from several constants (`tf.stack([32, tf.shape(x)[1]])`), so
# it is read entry by entry.

_MOST = 64
_DEEPEST = 20
_PARTS = {"Concat": slice(1, None), "ConcatV2": slice(-1)}  # the other input is the axis


class SizeEntry(NamedTuple):
    """One size: its value, the op of the constant that holds it, and its place there; None where it is computed."""

    value: int | None
    constant: int = -1
    at: int = 0


def size_entries(index: GraphIndex, tensor: Tensor, depth: int = 0) -> list[SizeEntry] | None:
    """Read the sizes in a vector or scalar.

    Args:
        index: The graph.
        tensor: The tensor.
        depth: How many ops were followed already.

    Returns:
        The sizes; None if their number is not known.
    """
    op, _ = tensor
    kind, node = index.types[op], index.nodes[op]
    if kind in CONSTANTS:
        integers = constant_integers(index, node)
        return None if integers is None else [SizeEntry(value, op, at) for at, value in enumerate(integers)]
    read = EdgeMoves(index).current_inputs(op)
    if depth < _DEEPEST and kind in SIZE_FORWARDING and read:
        return size_entries(index, read[0], depth + 1)
    if depth < _DEEPEST and kind in SIZE_VECTORS:
        parts = [size_entries(index, one, depth + 1) for one in read[_PARTS.get(kind, slice(None))]]
        if all(part is not None for part in parts):
            return [entry for part in parts for entry in part or ()]
    shape = index.shape(*tensor)
    if shape is None or None in shape or len(shape) > 1 or prod(size or 0 for size in shape) > _MOST:
        return None
    return [SizeEntry(None)] * prod(size or 0 for size in shape)


def constant_integers(index: GraphIndex, node: NodeDef) -> list[int] | None:
    """The whole numbers in a Const of rank 0 or 1; None for other ones, or many.

    Args:
        index: The graph.
        node: The NodeDef of an op.
    """
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
    integers = list(values) or [0]
    return (integers + [integers[-1]] * count)[:count]


def set_integers(index: GraphIndex, node: NodeDef, numbers: Sequence[int]) -> None:
    """Set the integers of a Const.

    Args:
        index: The graph.
        node: Its NodeDef, which is changed.
        numbers: As many integers as before.
    """
    tensor = node.attr["value"].tensor
    tensor.ClearField("tensor_content")
    values = tensor.int_val if tensor.dtype == index.typing.number("int32") else tensor.int64_val
    values[:] = numbers


def integer_constant(
    like: NodeDef, name: str, numbers: Sequence[int], dtype: DataType.ValueType, *, scalar: bool = False
) -> NodeDef:
    """Make a Const of integers.

    Args:
        like: Any NodeDef; the new one is of its class.
        name: The name.
        numbers: The integers.
        dtype: The number of int32.
        scalar: Whether it is a scalar rather than a vector.

    Returns:
        The NodeDef.
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
    """The static shapes that change with an input's shape: (op, port) -> (before, after), both as far as known.

    `name` is the input's, `sizes` are (position, old size, new size) of its dimensions.
    """

    shapes: Mapping[Tensor, tuple[Shape, Shape]]
    name: str
    sizes: tuple[tuple[int, int, int | None], ...]

    def dimensions(self, tensor: Tensor) -> list[tuple[int, int, int | None]]:
        """(position, size before, size now) of each dimension of a tensor that was known and is another."""
        before, after = self.shapes.get(tensor, (None, None))
        if before is None or after is None or len(before) != len(after):
            return []
        pairs = enumerate(zip(before, after, strict=True))
        return [(k, was, now) for k, (was, now) in pairs if was is not None and was != now]


class SizeConsumer:
    """An op that takes sizes."""

    def __init__(self, index: GraphIndex, changes: ShapeChanges, op: int) -> None:
        self.index, self.changes, self.op = index, changes, op
        self.read = EdgeMoves(index).current_inputs(op)

    def sizes(self, slot: int) -> list[SizeEntry]:
        """The sizes at an input; [] if it is not known.

        Args:
            slot: The position among the inputs of an op.
        """
        return (size_entries(self.index, self.read[slot]) or []) if slot < len(self.read) else []

    def stale(
        self, slot: int, all_: list[SizeEntry], k: int, proposed: int | str | None, position: int = 0, times: int = 1
    ) -> StaleConstant:
        """Report a size that is out of date.

        Args:
            slot: The input.
            all_: The sizes at that input.
            k: Which of them it is.
            proposed: The new size, the expression that computes it, or None if neither is known.
            position: The dimension of the placeholder that it follows.
            times: The multiple of that dimension.

        Returns:
            The report.
        """
        index, entry = self.index, all_[k]
        mine = sorted({e.at: e.value or 0 for e in all_ if e.constant == entry.constant}.items())
        value = tuple(size for _, size in mine)
        scalar = index.shape(entry.constant, 0) == ()
        new = None if proposed is None else tuple(proposed if at == entry.at else size for at, size in mine)
        name, reader = index.names[entry.constant], index.names[self.op]
        if scalar:
            return StaleConstant(name, value[0], new and new[0], reader, entry.at, slot, position, times)
        return StaleConstant(name, value, new, reader, entry.at, slot, position, times)

    def scale(self, value: int, was: int, now: int | None) -> int | None:
        """Scale a multiple of an old size.

        Args:
            value: The multiple.
            was: The old size.
            now: The new size; None if it is not known.

        Returns:
            The new multiple; None if it is not known.
        """
        return value // was * now if now is not None and value % was == 0 else None

    def stale_or_computed(self, slot: int, all_: list[SizeEntry], k: int, was: int, now: int | None) -> StaleConstant:
        """Report a size that must be a number, or be computed when the graph runs.

        Args:
            slot: The input.
            all_: The sizes at that input.
            k: Which of them it is.
            was: The old size.
            now: The new size; None if it is not known.

        Returns:
            The report.
        """
        value = all_[k].value or 0
        number = self.scale(value, was, now)
        of = [(p, old) for p, old, _ in self.changes.sizes if old and value % old == 0]
        of = [(p, old) for p, old in of if old == was] or of
        # In a loop the size of what lies outside cannot be read; several parts are not put together again.
        one_part = all(entry.constant == all_[k].constant for entry in all_)
        if number is not None or len(of) != 1 or not one_part or control_flow.enclosing_blocks(self.index, self.op):
            return self.stale(slot, all_, k, number)
        position, old = of[0]
        text = f'tf.shape("{self.changes.name}:0")[{position}]' + (f" * {value // old}" if value != old else "")
        return self.stale(slot, all_, k, text, position, value // old)


_END = (1 << 31) - 1
_NONE = SizeEntry(None)
# What makes a tensor from nothing but its shape: the input that says it.
_MAKERS = {
    "BroadcastTo": 1,
    "Empty": 0,
    "Fill": 0,
    "RandomStandardNormal": 0,
    "RandomUniform": 0,
    "RandomUniformInt": 0,
    "Range": 1,
    "StatelessRandomNormalV2": 0,
    "StatelessRandomUniformV2": 0,
    "Tile": 1,
    "TruncatedNormal": 0,
}
# Ops of lists: the input that says the shape of the elements. It may leave sizes open.
_ELEMENT_SHAPES = {
    "EmptyTensorList": 0,
    "TensorListGather": 2,
    "TensorListGetItem": 2,
    "TensorListPopBack": 1,
    "TensorListReserve": 0,
    "TensorListStack": 1,
}
_STEPS = 1000


def stale_constants(index: GraphIndex, changes: ShapeChanges) -> list[StaleConstant]:
    """The constants of `index` that hold an old size, in graph order of those who take them.

    `index` is the graph as it is after the edit, with the static shapes of before.

    Args:
        index: The graph.
        changes: The changes of static shapes.
    """
    sources = {op for op, _ in changes.shapes}
    readers = {reader for op in sources for reader in index.consumer_lists[op]}
    constants: list[StaleConstant] = []
    others = {op for op, kind in enumerate(index.types) if kind in _ANYWHERE}
    for op in sorted(readers | others):
        rule = _RULES.get(index.types[op]) if op in readers else None
        for one in filter(None, (rule, _ANYWHERE.get(index.types[op]))):
            constants += one(SizeConsumer(index, changes, op))
    constants += _reshapes_of_unknown(index, changes, sources)
    return list(dict.fromkeys(constants))


def _reshapes_of_unknown(index: GraphIndex, changes: ShapeChanges, sources: Iterable[int]) -> Iterator[StaleConstant]:
    """The targets of Reshapes of what follows from the input, of no known shape, that have the old size somewhere."""
    blind = [
        op
        for op, kind in enumerate(index.types)
        if kind == "Reshape" and index.input_lists[op] and index.shape(*EdgeMoves(index).current_inputs(op)[0]) is None
    ]
    behind = traversal.forward(index, sources) if blind else ()
    for op in (op for op in blind if behind[op]):
        consumer = SizeConsumer(index, changes, op)
        target = consumer.sizes(1)
        places = ((k, p) for p, was, _ in changes.sizes for k, entry in enumerate(target) if entry.value == was)
        yield from (consumer.stale(1, target, k, None, position) for k, position in islice(places, 1))


def _reshape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The dimensions of the target that stand for one which is another now, unless one of them is -1 or computed."""
    target = consumer.sizes(1)
    before, after = consumer.changes.shapes.get(consumer.read[0], (None, None))
    if not target or before is None or after is None:
        return
    had = [-1 if e.value is None else e.value for e in target]
    if None not in after and -1 not in had and prod(n or 0 for n in after) == prod(had):
        return
    resolved = _target_sizes(before, had, consumer.index.shape(consumer.op, 0))
    if resolved is None:
        yield from _reshape_in_part(consumer, target, before)
        return
    groups, old = list(_groups([n or 0 for n in before], resolved)), {was for _, was, _ in consumer.changes.sizes}
    for position, was, now in consumer.changes.dimensions(consumer.read[0]):
        group = next((there for here, there in groups if position in here), range(0))
        if any(had[k] == -1 for k in group):
            continue
        multiples = [k for k in group if had[k] % was == 0 and had[k]]
        parts = [k for k in group if had[k] in old and was % had[k] == 0]
        k = next((k for k in group if had[k] == was), next(iter((*multiples, *parts)), None))
        if k is None:
            continue
        new = consumer.scale(had[k], was, now)
        if new is None and not any(e.value == -1 for e in target):
            new = -1
        yield consumer.stale_or_computed(1, target, k, was, now) if new is None else consumer.stale(1, target, k, new)


def _target_sizes(before: Shape, had: list[int], out: Shape) -> list[int] | None:
    """The sizes of a target without -1 in it, as they were before; None where they are not known."""
    if before is None or None in before:
        return None
    if had.count(-1) > 1:
        return None if out is None or None in out or len(out) != len(had) else [n or 0 for n in out]
    whole, product = prod(n or 0 for n in before), prod(n for n in had if n != -1)
    return [(whole // product if product else 0) if n == -1 else n for n in had]


def _reshape_in_part(
    consumer: SizeConsumer, target: list[SizeEntry], before: tuple[int | None, ...]
) -> Iterator[StaleConstant]:
    """The same where not all dimensions were known: those that come first and stay."""
    had = [e.value for e in target]
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        if k < len(had) and had[k] == was and tuple(had[:k]) == before[:k]:
            yield (
                consumer.stale(1, target, k, -1)
                if -1 not in had
                else consumer.stale_or_computed(1, target, k, was, now)
            )


def _groups(before: list[int], after: list[int]) -> Iterator[tuple[range, range]]:
    """The dimensions of a shape and of what it is reshaped to that stand for each other, as few together as can be.

    >>> list(_groups([32, 4, 10], [128, 10]))
    [(range(0, 2), range(0, 1)), (range(2, 3), range(1, 2))]
    """
    i = j = 0
    while i < len(before) or j < len(after):
        first = i, j
        a = b = 1
        if i < len(before):
            a, i = before[i], i + 1
        if j < len(after):
            b, j = after[j], j + 1
        while a != b and (i < len(before) or j < len(after)):
            if (a < b and i < len(before)) or j >= len(after):
                a, i = a * before[i], i + 1
            else:
                b, j = b * after[j], j + 1
        yield range(first[0], i), range(first[1], j)


def _broadcast(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    target = consumer.sizes(1)
    rank = len(consumer.index.shape(*consumer.read[0]) or ())
    for position, was, now in consumer.changes.dimensions(consumer.read[0]):
        k = position + len(target) - rank
        if 0 <= k < len(target) and target[k].value == was != 1:
            yield consumer.stale_or_computed(1, target, k, was, now)


def _slice(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A slice up to the old end; -1 is the end, whatever it is."""
    begin, size = consumer.sizes(1), consumer.sizes(2)
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if k < min(len(begin), len(size)) and (begin[k].value or 0) + (size[k].value or 0) == was and size[k].value:
            yield consumer.stale(2, size, k, -1)


def _strided_slice(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    masks = _masks(consumer)
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return
    end = consumer.sizes(2)
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        free = (masks["end_mask"] | masks["shrink_axis_mask"]) >> k & 1
        if k < len(end) and end[k].value == was and not free:
            yield consumer.stale(2, end, k, _END if now is None else now)


def _masks(consumer: SizeConsumer) -> dict[str, int]:
    """The masks of a slice. One that is 0 may be missing, and reading it as a key would add it."""
    attr = consumer.index.nodes[consumer.op].attr
    names = ("ellipsis_mask", "new_axis_mask", "begin_mask", "end_mask", "shrink_axis_mask")
    return {name: attr[name].i if name in attr else 0 for name in names}


def _part_of_shape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A slice of a constant that is the old shape of a tensor: of `tf.shape(x)[0]`, where that was known."""
    index = consumer.index
    if index.types[consumer.read[0][0]] not in CONSTANTS:
        return
    sizes = consumer.sizes(0)
    shape = tuple(entry.value for entry in sizes)
    of = next((tensor for tensor, (before, _) in consumer.changes.shapes.items() if before == shape != ()), None)
    for k, was, now in consumer.changes.dimensions(of) if of is not None else ():
        if k in _slice_places(consumer, len(sizes)):
            yield consumer.stale_or_computed(0, sizes, k, was, now)


def _slice_places(consumer: SizeConsumer, length: int) -> range:
    """The places of a vector that a slice takes; all if they are not known."""
    masks, (begin, *_), (end, *_) = _masks(consumer), consumer.sizes(1) or [SizeEntry(0)], consumer.sizes(2) or [_NONE]
    first = 0 if masks["begin_mask"] & 1 else begin.value
    if masks["shrink_axis_mask"] & 1 and first is not None:
        return range(length)[first:][:1]
    return range(length)[slice(first, None if masks["end_mask"] & 1 else end.value)]


def _list_of_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The shape of the elements of a list that a tensor is made, and the lengths of lists that go with it in a loop."""
    index, target = consumer.index, consumer.sizes(1)
    for position, was, now in consumer.changes.dimensions(consumer.read[0]):
        if 0 < position <= len(target) and target[position - 1].value == was:
            new = -1 if now is None else now
            yield consumer.stale(1, target, position - 1, new)
        if position:
            continue
        for op, kind in enumerate(index.types):
            length = SizeConsumer(index, consumer.changes, op).sizes(1) if kind == "TensorListReserve" else []
            if [entry.value for entry in length] == [was]:
                yield StaleConstant(index.names[length[0].constant], was, None, index.names[op])


def _element_shape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Sizes of the elements of a list, which no static shape tells: they are left open."""
    sizes = consumer.sizes(_ELEMENT_SHAPES[consumer.index.types[consumer.op]])
    old = {was for _, was, _ in consumer.changes.sizes}
    for k, entry in enumerate(sizes):
        if entry.value in old:
            yield consumer.stale(_ELEMENT_SHAPES[consumer.index.types[consumer.op]], sizes, k, -1)


def _parts(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """An op that makes as many tensors as a dimension had elements."""
    index = consumer.index
    attr = index.nodes[consumer.op].attr
    for of in consumer.read:
        for position, was, now in consumer.changes.dimensions(of):
            axis = attr["axis"].i if "axis" in attr else 0
            if index.types[consumer.op] == "Split":
                axis = next((entry.value or 0 for entry in consumer.sizes(0)), 0)
            is_along = axis % len(index.shape(*of) or ()) == position
            if is_along and now is None and was == len(index.dtypes(consumer.op)):
                name = index.names[consumer.op]
                yield StaleConstant(name, was, None, name)


def _transposed_convolution(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The shape that a transposed convolution is to give."""
    target = consumer.sizes(0)
    for k, was, now in consumer.changes.dimensions(consumer.read[2]):
        if k < len(target) and (target[k].value or 0) % was == 0 and target[k].value:
            yield consumer.stale_or_computed(0, target, k, was, now)


def _shape_maker(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The constant sizes of an op that builds a shape, where they meet a dimension that has another size now."""
    slot = _MAKERS[consumer.index.types[consumer.op]]
    sizes, shape = consumer.sizes(slot), consumer.index.shape(consumer.op, 0)
    if (
        shape is None
        or None in shape
        or len(sizes) != max(len(shape), 1)
        or (consumer.op, 0) in consumer.changes.shapes
    ):
        return
    for k, entry in enumerate(sizes):
        dimension = next(_meeting_dimensions(consumer, k, entry.value), None) if entry.value not in (None, 1) else None
        if dimension is not None:
            yield consumer.stale_or_computed(slot, sizes, k, *dimension)


def _equal_sizes(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A constant, as large as another input was before; it is not known what it should hold."""
    index, axis = consumer.index, -1
    if consumer.index.types[consumer.op] == "ConcatV2":
        axis = next((e.value for e in consumer.sizes(len(consumer.read) - 1) if e.value is not None), -1)
    for other in consumer.read:
        for position, was, _ in consumer.changes.dimensions(other):
            for op, port in consumer.read:
                shape = index.shape(op, port) if index.types[op] in CONSTANTS else None
                k = position + len(shape or ()) - len(index.shape(*other) or ())
                if shape and 0 <= k < len(shape) and shape[k] == was != 1 and position != axis:
                    yield StaleConstant(index.names[op], tuple(n or 0 for n in shape), None, index.names[consumer.op])


def _meeting_dimensions(consumer: SizeConsumer, k: int, size: int | None) -> Iterator[tuple[int, int | None]]:
    """(size before, size now) of dimensions that meet dimension `k` of what an op makes, handed on as it is."""
    index, moves = consumer.index, EdgeMoves(consumer.index)
    visited, stack = {consumer.op}, [(consumer.op, k)]
    while stack and len(visited) < _STEPS:
        op, at = stack.pop()
        shape = index.shape(op, 0) or ()
        for reader in index.consumer_lists[op]:
            if reader in visited:
                continue
            visited.add(reader)
            for other in moves.current_inputs(reader) if index.types[reader] in EQUAL_SIZES else ():
                shift = len(shape) - len(index.shape(*other) or ())
                dimensions = (m for m in consumer.changes.dimensions(other) if m[0] + shift == at and m[1] == size)
                yield from ((was, now) for _, was, now in dimensions)
            read = moves.current_inputs(reader) if index.types[reader] in GATHERS else []
            if len(read) > 1 and read[1][0] == op and at == 0:
                rows = (m for m in consumer.changes.dimensions(read[0]) if m[0] == 0 and m[1] == size)
                yield from ((was, now) for _, was, now in rows)
            out = index.shape(reader, 0)
            if out is None or (reader, 0) in consumer.changes.shapes:
                continue
            if out == shape:
                stack.append((reader, at))
            elif index.types[reader] in AXIS_CHANGES and out.count(size) == 1:
                stack.append((reader, out.index(size)))


_RULES: dict[str, Callable[[SizeConsumer], Iterator[StaleConstant]]] = {
    **dict.fromkeys(EQUAL_SIZES, _equal_sizes),
    "BroadcastTo": _broadcast,
    "Conv2DBackpropInput": _transposed_convolution,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _parts,
    "StridedSlice": _strided_slice,
    "TensorListFromTensor": _list_of_rows,
    "Unpack": _parts,
}
# Ops that need not read a tensor that has another shape.
_ANYWHERE: dict[str, Callable[[SizeConsumer], Iterator[StaleConstant]]] = {
    **dict.fromkeys(_MAKERS, _shape_maker),
    **dict.fromkeys(_ELEMENT_SHAPES, _element_shape),
    "StridedSlice": _part_of_shape,
}
