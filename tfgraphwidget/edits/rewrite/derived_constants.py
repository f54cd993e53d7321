"""Constants that were computed from the old size of an input, such as the 1/6 of a mean over 6
steps.

Mostly nothing says how they were computed, so that they are listed and not rewritten; the number by
which the gradient of a mean divides is known, by the gradient's name. One that has its value by
accident is listed as well, where an op takes it together with what has the size.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import combinations
from math import isclose, prod, sqrt

import numpy as np

from tfgraphwidget.edits.patch import StaleConstant
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves, Tensor
from tfgraphwidget.edits.rewire.gradients import is_gradient_name
from tfgraphwidget.edits.rewrite.constant_sizes import ShapeChanges, SizeConsumer, SizeEntry
from tfgraphwidget.graph import (
    CONSTANTS,
    COPIES,
    DIVISIONS,
    EQUAL_SIZES,
    GATHERS,
    RANK_PRESERVING,
    SIZE_FORWARDING,
    SIZE_VECTORS,
    GraphIndex,
    tensor_values,
    traversal,
)
from tfgraphwidget.tf_types import NodeDef

_STEPS = 50  # ops between a sum and the division by the number of its terms
_DIMENSIONS = 6  # that are summed, of which each part is looked at
_OPERANDS = 2  # of a division
_TOLERANCE = 1e-5  # of a float32 that was computed in Python, in float32 or in float16
_SCALINGS = frozenset({"Div", "DivNoNan", "Mul", "RealDiv", "FloorDiv", "TruncateDiv"})
# Ops that a sum passes on its way to a division.
_ELEMENTWISE = (EQUAL_SIZES | RANK_PRESERVING | SIZE_FORWARDING) | {
    "ExpandDims",
    "Reshape",
    "Squeeze",
    "Transpose",
}
_PRODUCTS = {
    "BatchMatMul": "adj_",
    "BatchMatMulV2": "adj_",
    "BatchMatMulV3": "adj_",
    "MatMul": "transpose_",
}
# What sizes pass on their way to an op.
_SIZE_OPS = SIZE_FORWARDING | SIZE_VECTORS | {"ExpandDims", "Reshape"}
# Ops that read or change elements at places, with a row first: the input that has the places.
_PLACES_IN_ROWS = {
    "GatherNd": 1,
    "TensorScatterAdd": 1,
    "TensorScatterMax": 1,
    "TensorScatterMin": 1,
    "TensorScatterSub": 1,
    "TensorScatterUpdate": 1,
}
_NUMBERS = ("bfloat16", "float16", "float32", "float64", "int32", "int64")


def derived_constants(index: GraphIndex, changes: ShapeChanges) -> Iterator[StaleConstant]:
    """The constants downstream of an input that seem to be computed from its old size, mostly
    without what they should hold. `index` is the graph after the edit, with the static shapes of
    before.
    """
    downstream = traversal.forward(index, {op for op, _ in changes.shapes})
    for op in np.flatnonzero(downstream).tolist():
        rule = _RULES.get(index.types[op])
        if rule is not None:
            yield from rule(SizeConsumer(index, changes, op))


def _old_size_in(consumer: SizeConsumer, constant: int, value: int, slot: int = 0) -> StaleConstant:
    """A constant of which only the old size is known."""
    return StaleConstant(
        consumer.index.names[constant], value, None, consumer.index.names[consumer.op], slot=slot
    )


# Averages


def _scaling(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A sum over a dimension that has another size now, divided by the number of its terms."""
    for slot, tensor in enumerate(consumer.read[:2]):
        constant, factor = _number(consumer.index, tensor)
        if constant < 0 or factor <= 0:
            continue
        candidates = list(_summed_terms(consumer, consumer.read[1 - slot]))
        counts: list[tuple[int, float]] = [(terms, terms) for terms in candidates]
        # of a variance without bias
        counts += [(terms, terms - 1) for terms in candidates if terms > 2]
        counts += [(terms, sqrt(count)) for terms, count in counts]
        for terms, count in counts:
            if any(isclose(factor, each, rel_tol=_TOLERANCE) for each in (count, 1 / count)):
                yield _old_size_in(consumer, constant, terms, slot)
                break
    if consumer.index.types[consumer.op] in DIVISIONS and len(consumer.read) == _OPERANDS:
        yield from _mean_of_copies(consumer)


def _mean_of_copies(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Copies of a tensor, divided by their number: so TensorFlow computes the gradient of a mean,
    and stores the number of its terms where the sizes are known.
    """
    index, changes = consumer.index, consumer.changes
    copies, number = consumer.read
    constant, divisor = _number(index, number)
    if constant < 0 or index.types[copies[0]] not in COPIES:
        return
    copied = index.input_tensors(copies[0])[0]
    before, now = changes.element_counts(index, copies)
    copied_before, copied_now = changes.element_counts(index, copied)
    terms_before, terms_now = _quotient(before, copied_before), _quotient(now, copied_now)
    if terms_before is None or terms_before == terms_now:
        return
    dtype = tensor_values.numpy_dtype(index.dtypes(constant)[0])
    if divisor != float(np.array(terms_before, dtype)):
        return
    name = index.names[consumer.op]
    # Elsewhere the divisor may be that number by accident.
    proposed = terms_now if is_gradient_name(name) else None
    yield StaleConstant(index.names[constant], terms_before, proposed, name, at=0, slot=1)


def _quotient(number: int | None, divisor: int | None) -> int | None:
    """A whole quotient; None where a number is not known."""
    return None if number is None or not divisor else number // divisor


def _number(index: GraphIndex, tensor: Tensor) -> tuple[int, float]:
    """(op, value) of the constant of one number that a tensor is, or casts; (-1, 0) else."""
    op, moves = tensor[0], EdgeMoves(index)
    while index.types[op] in SIZE_FORWARDING:
        op = moves.current_inputs(op)[0][0]
    numbers = _numbers(index, index.nodes[op]) if index.types[op] in CONSTANTS else []
    return (op, float(numbers[0])) if len(numbers) == 1 else (-1, 0.0)


def _numbers(index: GraphIndex, node: NodeDef) -> list[float]:
    """The numbers in a Const, as they are stored; [] for another dtype."""
    dtype = index.typing.dtypes(node)[0]
    if dtype not in _NUMBERS:
        return []
    try:
        array = tensor_values.tensor_array(node.attr["value"].tensor, dtype)
    except ValueError:  # it has not the number of values that its shape says
        return []
    numbers: list[float] = array.astype(np.float64).ravel().tolist()
    return numbers


def _summed_terms(consumer: SizeConsumer, tensor: Tensor) -> Iterator[int]:
    """The former numbers of terms of the sums in a tensor that have another number now: of all of
    them together, and along some of their dimensions, as a batch is divided by.
    """
    index, moves = consumer.index, EdgeMoves(consumer.index)
    # With the sizes of the dimensions that were summed on the way: some are others now.
    stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(tensor[0], (), ())]
    visited = {consumer.op}
    while stack and len(visited) < _STEPS:
        op, moved, others = stack.pop()
        if op in visited:
            continue
        visited.add(op)
        dimensions = _summed_dimensions(SizeConsumer(index, consumer.changes, op))
        if dimensions is not None:
            source, positions = dimensions
            sizes = _sizes_before(consumer, source, positions)
            if sizes is None:
                continue
            moved, others = (*moved, *sizes[0]), (*others, *sizes[1])
            if moved:
                yield from _products(moved, others)
            stack.append((source[0], moved, others))
        elif index.types[op] in _ELEMENTWISE or index.types[op] == "Sum":  # of a scalar
            stack += [(source, moved, others) for source, _ in moves.current_inputs(op)]


def _sizes_before(
    consumer: SizeConsumer, tensor: Tensor, positions: Container[int]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The former sizes of some dimensions of a tensor: those that are others now, and those that
    are not; None where one is not known.
    """
    shape = consumer.index.shape(*tensor)
    before = consumer.changes.shapes.get(tensor, (shape, shape))[0]
    changed = {k for k, _, _ in consumer.changes.dimensions(tensor)}
    moved: list[int] = []
    others: list[int] = []
    for k, size in enumerate(before or ()):
        if k not in positions:
            continue
        if size is None:
            return None
        (moved if k in changed else others).append(size)
    return tuple(moved), tuple(others)


def _products(moved: tuple[int, ...], others: tuple[int, ...]) -> list[int]:
    """The product of some sizes, and of any of them with one at least of `moved`; the latter only
    above 2, as many a sum is halved.
    """
    sizes = [*moved, *others][:_DIMENSIONS]
    of_some = {
        prod(sizes[k] for k in chosen)
        for count in range(1, len(sizes))
        for chosen in combinations(range(len(sizes)), count)
        if chosen[0] < len(moved)
    }
    of_all = prod([*moved, *others])
    return [of_all, *sorted(product for product in of_some - {of_all} if product > 2)]


def _summed_dimensions(consumer: SizeConsumer) -> tuple[Tensor, set[int]] | None:
    """The tensor that an op sums, and over which dimensions; None for an op that does not sum."""
    index, op = consumer.index, consumer.op
    kind, attr = index.types[op], index.nodes[op].attr
    rank = len(index.shape(*consumer.read[0]) or ()) if consumer.read else 0
    if not rank:
        return None
    if kind == "Sum":
        return consumer.read[0], {(entry.value or 0) % rank for entry in consumer.sizes(1)}
    if kind in _PRODUCTS:
        is_first = any(
            attr[name].b for name in (f"{_PRODUCTS[kind]}x", f"{_PRODUCTS[kind]}a") if name in attr
        )
        return consumer.read[0], {rank - 2 if is_first else rank - 1}
    if kind == "Einsum":
        inputs, _, output = attr["equation"].s.decode().partition("->")
        labels = inputs.split(",")[0].replace(
            "...", "." * max(rank - len(inputs.split(",")[0]) + 3, 0)
        )
        return consumer.read[0], {
            k for k, label in enumerate(labels) if label != "." and label not in output
        }
    return None


# Places and numbers of places


def _places(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Places of a dimension that are computed from an old size, or reach into its second half:
    those of windows.
    """
    index, (op, _) = consumer.index, consumer.read[1]
    olds = {size for _, size, _ in consumer.changes.sizes if size > 1}
    axes = consumer.sizes(2) if index.types[consumer.op] == "GatherV2" else [SizeEntry(0)]
    rank = len(index.shape(*consumer.read[0]) or ())
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if not axes or (axes[0].value or 0) % rank != k:
            continue
        numbers = _numbers(index, index.nodes[op]) if index.types[op] in CONSTANTS else []
        if len(numbers) > 1 and max(numbers) >= was // 2:
            yield _old_size_in(consumer, op, was, 1)
        elif not numbers:
            for constant in _constants_downstream(index, op, index.types):
                sizes = olds.union([was]).intersection(_numbers(index, index.nodes[constant]))
                yield from (
                    _old_size_in(consumer, constant, int(size), 1) for size in sorted(sizes)
                )


def _constants_downstream(index: GraphIndex, op: int, through: Container[str]) -> list[int]:
    """The constants that an op is computed from, by ops of these types."""
    moves, constants, visited, stack = EdgeMoves(index), list[int](), {op}, [op]
    while stack and len(visited) < _STEPS:
        op = stack.pop(0)
        if index.types[op] in CONSTANTS:
            constants.append(op)
        elif index.types[op] in through:
            sources = [source for source, _ in moves.current_inputs(op) if source not in visited]
            visited.update(sources)
            stack += sources
    return constants


def _last_place(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The place that was the last one of a dimension."""
    attr, begin = consumer.index.nodes[consumer.op].attr, consumer.sizes(1)
    # Reading an attribute that is missing would add it.
    masks = {
        name: attr[name].i
        for name in ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
        if name in attr
    }
    if masks.get("ellipsis_mask") or masks.get("new_axis_mask"):
        return
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if (
            k < len(begin)
            and masks.get("shrink_axis_mask", 0) >> k & 1
            and was > 1
            and begin[k].value == was - 1
        ):
            yield consumer.stale(1, begin, k, None)


def _crop(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A slice of the middle of a dimension."""
    begin, size = consumer.sizes(1), consumer.sizes(2)
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if k >= min(len(begin), len(size)):
            continue
        first, length = begin[k].value or 0, size[k].value or 0
        is_center = first > 0 and abs(2 * first + length - was) <= 1
        if size[k].constant >= 0 and is_center:
            yield consumer.stale(2, size, k, None)


def _padding_after(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A padding that fills a dimension up: more after it than before it."""
    op = consumer.read[1][0]
    if consumer.index.types[op] in CONSTANTS:
        numbers = _numbers(consumer.index, consumer.index.nodes[op])
    else:
        numbers = []
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        before, after = numbers[2 * k : 2 * k + 2] or (0, 0)
        # One more after is what a convolution with stride 2 needs of even sizes.
        is_parity = after - before == 1
        if after > before and (not is_parity or now is None or (now - was) % 2):
            yield _old_size_in(consumer, op, was, 1)


def _shift(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A roll by half of a dimension, or by all but one place."""
    shifts, axes = consumer.sizes(1), consumer.sizes(2)
    rank = len(consumer.index.shape(*consumer.read[0]) or ())
    olds = {k: was for k, was, _ in consumer.changes.dimensions(consumer.read[0])}
    for at, (shift, axis) in enumerate(zip(shifts, axes, strict=False)):
        was = olds.get((axis.value or 0) % max(rank, 1), 0)
        if was > 2 and shift.constant >= 0 and abs(shift.value or 0) in (was // 2, was - 1):
            yield consumer.stale(1, shifts, at, None)


def _number_of_best(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """All, or half of the elements of a dimension, as the number of the largest ones."""
    number = consumer.sizes(1)
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        is_last = k == len(consumer.index.shape(*consumer.read[0]) or ()) - 1
        if is_last and number and was > 1 and number[0].value in (was, was - 1, was // 2):
            yield consumer.stale(1, number, 0, None)


def _old_size(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A size that is the input's as it was: a one-hot vector's length, a repeat count."""
    index, olds = consumer.index, {was for _, was, _ in consumer.changes.sizes if was > 1}
    for constant in _constants_downstream(index, consumer.read[1][0], _SIZE_OPS):
        numbers = _numbers(index, index.nodes[constant])
        yield from (
            _old_size_in(consumer, constant, int(number), 1)
            for number in numbers[:_STEPS]
            if number in olds
        )


def _matrix_of_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A constant matrix by which the rows of the old size are multiplied."""
    index, attr = consumer.index, consumer.index.nodes[consumer.op].attr
    prefix = _PRODUCTS[index.types[consumer.op]]
    letters = "ab" if prefix == "transpose_" else "xy"
    transposed = [prefix + letter in attr and attr[prefix + letter].b for letter in letters]
    summed = [-2 if transposed[0] else -1, -1 if transposed[1] else -2]
    for slot, rows in ((0, 1), (1, 0)):
        op, port = consumer.read[slot]
        shape = index.shape(op, port) if index.types[op] in CONSTANTS else None
        rank = len(index.shape(*consumer.read[rows]) or ())
        for k, was, _ in consumer.changes.dimensions(consumer.read[rows]):
            if shape and k == rank + summed[rows] and shape[summed[slot]] == was > 1:
                yield _old_size_in(consumer, op, was, slot)


def _number_of_copies(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A number of copies that is the old size.

    What has the new size already is copied as often only along a dimension of one element, as for
    all pairs of rows.
    """
    shape, copies = consumer.index.shape(*consumer.read[0]), consumer.sizes(1)
    if not consumer.changes.dimensions(consumer.read[0]) or len(copies) != len(shape or ()):
        yield from _old_size(consumer)
        return
    olds = {was for _, was, _ in consumer.changes.sizes if was > 1}
    for entry, size in zip(copies, shape or (), strict=True):
        if size == 1 and entry.constant >= 0 and entry.value in olds:
            yield _old_size_in(consumer, entry.constant, entry.value or 0, 1)


def _places_in_each_row(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Constant places of which each row of the old size has some; a new row would have none."""
    slot = _PLACES_IN_ROWS[consumer.index.types[consumer.op]]
    rows = consumer.changes.dimensions(consumer.read[0])
    for constant in _constants_downstream(consumer.index, consumer.read[slot][0], _SIZE_OPS):
        node = consumer.index.nodes[constant]
        sizes = [dim.size for dim in node.attr["value"].tensor.tensor_shape.dim]
        places = _numbers(consumer.index, node)
        if len(sizes) < 2 or not places:
            continue
        rows_with_places = set(places[:: sizes[-1]])
        for k, was, _ in rows:
            if k == 0 and was > 1 and rows_with_places == set(range(was)):
                yield _old_size_in(consumer, constant, was, slot)


def _sequence_lengths(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The old length as that of each sequence."""
    index, source = consumer.index, consumer.read[1][0]
    attr = index.nodes[consumer.op].attr
    if index.types[source] == "Fill":
        source = index.input_tensors(source)[1][0]
    numbers = _numbers(index, index.nodes[source]) if index.types[source] in CONSTANTS else []
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if attr["seq_dim"].i == k and was in numbers:
            yield _old_size_in(consumer, source, was, 1)


def _scale_of_image(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The scale by which an image of the old size is resized."""
    scale = consumer.read[2][0]
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if k in (1, 2) and consumer.index.types[scale] in CONSTANTS:
            yield _old_size_in(consumer, scale, was, 2)


_RULES: dict[str, Callable[[SizeConsumer], Iterable[StaleConstant]]] = {
    **dict.fromkeys(_SCALINGS, _scaling),
    **dict.fromkeys(GATHERS, _places),
    **dict.fromkeys(_PLACES_IN_ROWS, _places_in_each_row),
    **dict.fromkeys(_PRODUCTS, _matrix_of_rows),
    "BroadcastTo": _old_size,
    "MirrorPad": _padding_after,
    "OneHot": _old_size,
    "Pad": _padding_after,
    "PadV2": _padding_after,
    "ReverseSequence": _sequence_lengths,
    "Roll": _shift,
    "ScaleAndTranslate": _scale_of_image,
    "Slice": _crop,
    "StridedSlice": _last_place,
    "Tile": _number_of_copies,
    "TopKV2": _number_of_best,
}
