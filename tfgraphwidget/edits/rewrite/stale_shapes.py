"""Constants that still hold the old size of an input with a new shape.

What the new shape makes of all others is known by inference; here it is compared with what
constants say. A Reshape to [32, 10] of what is now (None, 10) is accepted by TensorFlow, and fails
when it runs on 12 rows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod

from tfgraphwidget.edits.patch import StaleConstant
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves
from tfgraphwidget.edits.rewire.gradients import gradient_owners, is_gradient_name
from tfgraphwidget.edits.rewrite.constant_sizes import (
    ShapeChanges,
    SizeAtRunTime,
    SizeConsumer,
    SizeEntry,
    constant_integers,
    is_uniform,
)
from tfgraphwidget.edits.rewrite.derived_constants import derived_constants
from tfgraphwidget.graph import (
    AXIS_CHANGES,
    CONSTANTS,
    COPIES,
    ENTER,
    EQUAL_SIZES,
    GATHERS,
    IMAGE_SCALINGS,
    LOOP_CONDITION,
    ROW_READERS,
    SEGMENT_REDUCTIONS,
    SHAPED_GRADIENTS,
    SUMS_OF_DIMENSIONS,
    WHILE_LOOPS,
    WITHOUT_BROADCAST,
    GraphIndex,
    traversal,
)

_END = (1 << 31) - 1  # the end of a slice that goes on to the end of any dimension
_NONE = SizeEntry(None)  # a size that is not known
# What makes a tensor from nothing but its shape: the input that says it.
SHAPE_MAKERS: dict[str, int] = {
    "BroadcastTo": 1,
    "Empty": 0,
    "Fill": 0,
    "RandomStandardNormal": 0,
    "RandomUniform": 0,
    "RandomUniformInt": 0,
    "Range": 1,
    "ScatterNd": 2,
    "StatelessRandomNormalV2": 0,
    "StatelessRandomUniformV2": 0,
    "Tile": 1,
    "TruncatedNormal": 0,
}
# Ops of lists: the input that says the shape of the elements. It may leave sizes open.
ELEMENT_SHAPES = {
    "EmptyTensorList": 0,
    "TensorListGather": 2,
    "TensorListGetItem": 2,
    "TensorListPopBack": 1,
    "TensorListReserve": 0,
    "TensorListStack": 1,
}
# The names of constants that TensorFlow makes of `tf.shape(x)` and in `tf.ones_like(x)`.
_SHAPE_OF = re.compile(r"(^|/)Shape(_\d+)?(/shape_as_tensor)?$")
_STEPS = 1000  # ops that are looked at in search of a certain one


def stale_constants(index: GraphIndex, changes: ShapeChanges) -> list[StaleConstant]:
    """The constants of `index` that hold an old size, in graph order of those who take them.

    `index` is the graph as it is after the edit, with the static shapes of before.
    """
    sources = {op for op, _ in changes.shapes}
    consumers = {consumer for op in sources for consumer in index.consumer_lists[op]}
    constants: list[StaleConstant] = []
    others = {op for op, kind in enumerate(index.types) if kind in _ANYWHERE}
    for op in sorted(consumers | others):
        rule = _RULES.get(index.types[op]) if op in consumers else None
        for one in filter(None, (rule, _ANYWHERE.get(index.types[op]))):
            constants += one(SizeConsumer(index, changes, op))
    constants += _reshapes_of_unknown(index, changes, sources)
    reported = {(one.op, one.consumer) for one in constants}
    constants += [
        one for one in derived_constants(index, changes) if (one.op, one.consumer) not in reported
    ]
    # Another rule may know what the whole constant should be.
    resized = {one.op for one in constants if one.at is None and one.proposed is not None}
    constants = [
        one
        for one in constants
        if one.proposed is not None or one.at is not None or one.op not in resized
    ]
    return list(dict.fromkeys(constants))


def _reshapes_of_unknown(
    index: GraphIndex, changes: ShapeChanges, sources: Iterable[int]
) -> Iterator[StaleConstant]:
    """The targets of Reshapes of what follows from the input, of no known shape, that have the old
    size somewhere.
    """
    reshapes = [
        op
        for op, kind in enumerate(index.types)
        if kind == "Reshape"
        and index.input_lists[op]
        and index.shape(*index.input_tensors(op)[0]) is None
    ]
    if not reshapes:
        return
    depends_on_input = traversal.forward(index, sources)
    old_sizes = {was for _, was, _ in changes.sizes}
    for op in reshapes:
        if depends_on_input[op]:
            consumer = SizeConsumer(index, changes, op)
            target = consumer.sizes(1)
            places = [k for k, entry in enumerate(target) if entry.value in old_sizes]
            if places:
                yield consumer.stale(1, target, places[0], None)


def _reshape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The sizes of the target that represent dimensions which are others now."""
    target, tensor = consumer.sizes(1), consumer.read[0]
    changed = {k: (was, now) for k, was, now in consumer.changes.dimensions(tensor)}
    if not target or not changed:
        return
    shape, _ = consumer.changes.shapes[tensor]
    before = shape or ()
    numbers = [
        stand_in if n is None else n for n, stand_in in zip(before, _STAND_INS, strict=False)
    ]
    sizes = _target_numbers(consumer, target, before, numbers)
    if sizes is None:
        yield from _reshape_in_part(consumer, target, before)
        return
    may_infer = not any(entry.value == -1 for entry in target)  # a target has one -1
    single = {k for k, (was, _) in changed.items() if was == 1}
    for here, there in _with_single_rows(_groups(numbers, sizes), single):
        for k, new in _sizes_of_group(consumer, changed, (here, there), numbers, sizes):
            moved = tuple(d for d in here if d in changed)
            was = prod(changed[d][0] for d in moved)
            if new != -1:
                yield consumer.stale(1, target, k, new)
            elif may_infer:
                may_infer = False
                yield consumer.stale(1, target, k, -1)
            elif was and sizes[k] % was == 0:
                yield consumer.computed_size(1, target, k, tensor, moved, sizes[k] // was, 0)
            else:
                yield consumer.stale(1, target, k, None)


def _sizes_of_group(
    consumer: SizeConsumer,
    changed: Mapping[int, tuple[int, int | None]],
    group: tuple[range, range],
    numbers: list[int],
    sizes: list[int],
) -> Iterator[tuple[int, int | None]]:
    """(place, new size) in the target, of dimensions that it merges or splits: -1 if known at run
    time, None if never.

    What `-1` or a computed size represents follows by itself.
    """
    here, there = group
    target, moved = consumer.sizes(1), [k for k in here if k in changed]
    is_open = any(target[k].value in (None, -1) for k in there)
    all_places = [k for k in there if target[k].value not in (None, -1)]
    places = [k for k in all_places if sizes[k] != 1] or all_places
    if not moved or not places:
        return
    if is_open:  # of (32, 10) as (-1, 2), the 2 is a part of the 10 that stays
        unchanged = prod(numbers[k] for k in here if k not in changed)
        if unchanged % prod(sizes[k] for k in places):
            yield places[0], None
        return
    # The rows that were merged may have been one.
    rows_after = [
        *itertools.takewhile(lambda k: target[k].value == 1, range(there.stop, len(sizes)))
    ]
    is_taken_apart = len(here) == 1 < len(all_places) + len(rows_after)
    factors = _factors(consumer, changed[moved[0]]) if is_taken_apart else ()
    for some in (all_places, places, [*all_places, *rows_after]):
        if factors and [was for was, _ in factors] == [sizes[k] for k in some]:
            pairs = zip(some, factors, strict=True)
            yield from ((k, -1 if now is None else now) for k, (was, now) in pairs if now != was)
            return
    old_sizes, new_sizes = zip(*(changed[d] for d in moved), strict=True)
    k = _place_of_size(consumer, places, sizes, old_sizes)
    if k is None:
        yield places[0], None
    elif None in new_sizes:
        yield k, -1
    else:
        was, scaled = prod(old_sizes), sizes[k] * prod(new_sizes)
        yield k, (scaled // was if was and scaled % was == 0 else None)


# Primes that represent dimensions which are not known: no product of sizes is a multiple of one by
# accident.
_STAND_INS = (
    1_000_003,
    1_000_033,
    1_000_037,
    1_000_039,
    1_000_081,
    1_000_099,
    1_000_117,
    1_000_121,
)


def _target_numbers(
    consumer: SizeConsumer,
    target: list[SizeEntry],
    before: tuple[int | None, ...],
    numbers: list[int],
) -> list[int] | None:
    """The sizes of a target as they were before, with stand-ins for unknown ones; None where they
    do not add up.
    """
    output = consumer.index.shape(consumer.op, 0)
    if len(numbers) != len(before):
        return None
    if output is None or len(output) != len(target):
        output = (None,) * len(target)
    sizes = [
        size if entry.value in (None, -1) else entry.value
        for entry, size in zip(target, output, strict=True)
    ]
    stand_ins = iter([number for number, size in zip(numbers, before, strict=True) if size is None])
    for k, entry in enumerate(target):
        if sizes[k] is None and entry.value is None:
            # `tf.shape(x)[0]`: the unknown dimensions, in their order.
            sizes[k] = next(stand_ins, None)
    rest, whole = prod(size for size in sizes if size is not None), prod(numbers)
    if sizes.count(None) == 1 and rest and whole % rest == 0:
        sizes[sizes.index(None)] = whole // rest
    known_sizes = [size for size in sizes if size is not None]
    return known_sizes if len(known_sizes) == len(sizes) and prod(known_sizes) == whole else None


def _factors(
    consumer: SizeConsumer, size: tuple[int, int | None]
) -> Sequence[tuple[int, int | None]]:
    """(size before, size now) of the dimensions that a Reshape further up has merged into one, of
    `size`; () if none.

    Rows and columns become the tokens of a transformer so, and are taken apart again after it.
    """
    index, moves = consumer.index, EdgeMoves(consumer.index)
    queue, visited = [op for op, _ in consumer.read[:1]], {consumer.op}
    while queue and len(visited) < _STEPS:
        op = queue.pop(0)
        if op in visited:
            continue
        visited.add(op)
        read = moves.current_inputs(op)
        sizes_of_output = [change[1:] for change in consumer.changes.dimensions((op, 0))]
        if index.types[op] == "Reshape" and read and size in sizes_of_output:
            before, after = consumer.changes.shapes.get(read[0], (None, None))
            factors = _neighbors_with_product(before or (), after or (), size)
            if factors:
                return factors
        queue += [source for source, _ in read]
    return ()


def _neighbors_with_product(
    before: tuple[int | None, ...], after: tuple[int | None, ...], size: tuple[int, int | None]
) -> list[tuple[int, int | None]]:
    """(size before, size now) of dimensions side by side that multiply to `size`, none of which
    stays 1; [] if there are none.
    """
    pairs = [(was, now) for was, now in zip(before, after, strict=True) if was is not None]
    for first in range(len(pairs)):
        for end in range(first + 2, len(pairs) + 1):
            some = pairs[first:end]
            new_sizes = [now for _, now in some if now is not None]
            now = prod(new_sizes) if len(new_sizes) == len(some) else None
            if (prod(was for was, _ in some), now) == size and (1, 1) not in some:
                return some
    return []


def _place_of_size(
    consumer: SizeConsumer, places: list[int], sizes: list[int], olds: Sequence[int]
) -> int | None:
    """The one place of several that holds a size, or a multiple or a part of it; None where it may
    be another.
    """
    if len(places) == 1:
        return places[0]
    if len(olds) > 1:
        return None
    (was,) = olds
    of_input = {old for _, old, _ in consumer.changes.sizes}
    equal = [k for k in places if sizes[k] == was]
    multiples = [k for k in places if was and sizes[k] % was == 0]
    parts = [k for k in places if sizes[k] in of_input and sizes[k] and was % sizes[k] == 0]
    candidates = next((some for some in (equal, multiples, parts) if some), [])
    return candidates[0] if len(candidates) == 1 else None


def _reshape_in_part(
    consumer: SizeConsumer, target: list[SizeEntry], before: tuple[int | None, ...]
) -> Iterator[StaleConstant]:
    """The same where not all dimensions were known: those that come first and stay; others are
    reported.
    """
    sizes = [entry.value for entry in target]
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        if k < len(sizes) and sizes[k] == was and tuple(sizes[:k]) == before[:k]:
            if -1 in sizes:
                yield consumer.stale_or_computed(1, target, k, was, now)
            else:
                yield consumer.stale(1, target, k, -1)
            continue
        multiples = [
            place
            for place, size in enumerate(sizes)
            if size is not None and size > 1 and was > 1 and size % was == 0
        ]
        if multiples:
            yield consumer.stale(1, target, multiples[0], None)


def _groups(before: list[int], after: list[int]) -> Iterator[tuple[range, range]]:
    """The dimensions of a shape and of what it is reshaped to that represent each other, as few
    together as can be.

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


def _with_single_rows(
    groups: Iterable[tuple[range, range]], single: Collection[int]
) -> list[tuple[range, range]]:
    """The groups, in which a dimension of one row that grows belongs to those before it.

    Of (3, 1, 2) as (3, 2), where the 1 is the batch, the rows are merged with the steps, and each
    has as many columns as before.

    >>> _with_single_rows(_groups([3, 1, 2], [3, 2]), {1})
    [(range(0, 2), range(0, 1)), (range(2, 3), range(1, 2))]
    """
    pairs: list[tuple[range, range]] = []
    for here, there in groups:
        rest = here
        while pairs and pairs[-1][1] and len(rest) > 1 and rest[0] in single:
            pairs[-1] = range(pairs[-1][0].start, rest[1]), pairs[-1][1]
            rest = rest[1:]
        pairs.append((rest, there))
    return pairs


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
        if k < min(len(begin), len(size)):
            first, length = begin[k].value or 0, size[k].value or 0
            if length and first + length == was:
                yield consumer.stale(2, size, k, -1)


def _image_size(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The size that images are resized to, where it is a multiple of the old one, though it may be
    fixed on purpose.
    """
    sizes = consumer.sizes(1)
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        if 1 <= k <= len(sizes) and sizes[k - 1].value and (sizes[k - 1].value or 0) % was == 0:
            yield consumer.stale(1, sizes, k - 1, None)


def _unrolled_slices(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A slice of the last place of a dimension, where there is one of each place: a loop that
    Python has unrolled.
    """
    index = consumer.index
    tensor = consumer.read[0]
    for k, was, _ in consumer.changes.dimensions(tensor):
        if was > 1 and _place_of_slice(consumer, k) == was - 1:
            readers = [
                SizeConsumer(index, consumer.changes, op) for op in index.consumer_lists[tensor[0]]
            ]
            places = {_place_of_slice(one, k) for one in readers if one.read[:1] == [tensor]}
            if places >= set(range(was)):
                name = index.names[consumer.op]
                yield StaleConstant(name, was, None, name)


def _place_of_slice(consumer: SizeConsumer, k: int) -> int | None:
    """The one place of a dimension that a StridedSlice takes."""
    if consumer.index.types[consumer.op] != "StridedSlice":
        return None
    masks, begin = _masks(consumer), consumer.sizes(1)
    is_place = (
        masks["shrink_axis_mask"] >> k & 1
        and not masks["ellipsis_mask"]
        and not masks["new_axis_mask"]
    )
    return begin[k].value if is_place and k < len(begin) else None


def _strided_slice(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    yield from _unrolled_slices(consumer)
    masks = _masks(consumer)
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return
    end = consumer.sizes(2)
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        if k >= len(end):
            continue
        takes_one_place = masks["shrink_axis_mask"] >> k & 1
        has_no_end = masks["end_mask"] >> k & 1
        if end[k].value == was and not has_no_end and not takes_one_place:
            yield consumer.stale(2, end, k, _END if now is None else now)
        elif not takes_one_place and _is_center_or_half(consumer, k, was):
            yield consumer.stale(2, end, k, None)


def _is_center_or_half(consumer: SizeConsumer, k: int, was: int) -> bool:
    """Whether a slice is the center of a dimension, or one half: it may follow the size, or be
    fixed on purpose.
    """
    masks, begin, end = _masks(consumer), consumer.sizes(1), consumer.sizes(2)
    first = 0 if masks["begin_mask"] >> k & 1 or k >= len(begin) else begin[k].value
    last = was if masks["end_mask"] >> k & 1 else end[k].value
    if first is None or last is None or first < 0 or last < 0:
        return False
    is_half = last - first > 1 and 2 * (last - first) == was and (first == 0 or last == was)
    return is_half or 0 < first == was - last


def _gather(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Constant places of a dimension, up to its old end."""
    if consumer.index.types[consumer.op] == "GatherV2" and consumer.sizes(2):
        axis = consumer.sizes(2)[0].value
    else:
        axis = 0
    places = consumer.sizes(1)
    if axis is None or len(places) < 2:
        return
    rank = len(consumer.index.shape(*consumer.read[0]) or ())
    for k, was, _ in consumer.changes.dimensions(consumer.read[0]):
        last = next((at for at, entry in enumerate(places) if entry.value == was - 1), None)
        if axis % rank == k and last is not None and places[last].constant >= 0:
            yield consumer.stale(1, places, last, None)


def _gather_nd(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Places in as many rows as there were, which do not follow; of one row it may be meant so."""
    index, (tensor, places, *_) = consumer.index, consumer.read
    shape = index.shape(*places)
    if not shape or index.types[places[0]] in CONSTANTS or places in consumer.changes.shapes:
        return  # `derived_constants` finds constants
    for position, was, _ in consumer.changes.dimensions(tensor):
        if position == 0 and was > 1 and shape[0] == was:
            yield StaleConstant(index.names[places[0]], was, None, index.names[consumer.op])


def _masks(consumer: SizeConsumer) -> dict[str, int]:
    """The masks of a slice. One that is 0 may be missing, and reading it as a key would add it."""
    attr = consumer.index.nodes[consumer.op].attr
    names = ("ellipsis_mask", "new_axis_mask", "begin_mask", "end_mask", "shrink_axis_mask")
    return {name: attr[name].i if name in attr else 0 for name in names}


def _part_of_shape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A constant that is the old shape of a tensor, and is sliced, as in `tf.shape(x)[0]`, counted,
    as in `tf.size(x)`, or says the shape of a gradient.
    """
    index = consumer.index
    if not consumer.read or index.types[consumer.read[0][0]] not in CONSTANTS:
        return
    sizes = consumer.sizes(0)
    for k, was, now in _dimensions_of_shape(consumer, sizes):
        if k in _slice_places(consumer, len(sizes)):
            yield consumer.stale_or_computed(0, sizes, k, was, now)


def _dimensions_of_shape(
    consumer: SizeConsumer, sizes: Sequence[SizeEntry]
) -> list[tuple[int, int, int | None]]:
    """(position, size before, size now) of the dimensions of a tensor whose old shape sizes are."""
    shape = tuple(entry.value for entry in sizes)
    shapes = consumer.changes.shapes.items()
    tensors = [tensor for tensor, (before, _) in shapes if before == shape != ()]
    return consumer.changes.dimensions(tensors[0]) if tensors else []


def _slice_places(consumer: SizeConsumer, length: int) -> range:
    """The places of a vector that a slice takes; all if they are not known."""
    if consumer.index.types[consumer.op] != "StridedSlice":
        return range(length)
    masks = _masks(consumer)
    begin, end = (consumer.sizes(1) or [SizeEntry(0)])[0], (consumer.sizes(2) or [_NONE])[0]
    first = 0 if masks["begin_mask"] & 1 else begin.value
    last = None if masks["end_mask"] & 1 else end.value
    if masks["shrink_axis_mask"] & 1 and first is not None:
        return range(length)[first:][:1]
    return range(length)[first:last]


def _list_of_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The shape of the elements of a list that a tensor is made, and the lengths of lists that go
    with it in a loop.
    """
    index, target = consumer.index, consumer.sizes(1)
    for position, was, now in consumer.changes.dimensions(consumer.read[0]):
        if 0 < position <= len(target) and target[position - 1].value == was:
            new = -1 if now is None else now
            yield consumer.stale(1, target, position - 1, new)
        if position:
            continue
        for op, kind in enumerate(index.types):
            if kind != "TensorListReserve":
                continue
            length = SizeConsumer(index, consumer.changes, op).sizes(1)
            if [entry.value for entry in length] == [was]:
                yield StaleConstant(index.names[length[0].constant], was, None, index.names[op])
        yield from _rounds_of_loops(consumer, was)


def _rounds_of_loops(consumer: SizeConsumer, was: int) -> Iterator[StaleConstant]:
    """The numbers of rounds of the loops that read a list, in their inputs and in their
    conditions.
    """
    index = consumer.index
    for loop in index.consumer_lists[consumer.op]:
        if index.types[loop] in WHILE_LOOPS:
            yield from _rounds(index, loop, was)


def _rounds(index: GraphIndex, loop: int, was: int) -> Iterator[StaleConstant]:
    """The constants that can be the number of rounds of a loop, in its inputs and in its
    condition.
    """
    for source, _ in index.input_tensors(loop):
        bounds = [source]
        if index.types[source] == "Max":
            bounds += index.input_lists[source]
        for op in bounds:
            if index.types[op] in CONSTANTS and constant_integers(index, index.nodes[op]) == [was]:
                yield StaleConstant(index.names[op], was, None, index.names[loop])
    name = index.nodes[loop].attr["cond"].func.name
    nodes = index.extras.function(name).node_def if name in index.functions else ()
    for node in nodes:
        if node.op in CONSTANTS and constant_integers(index, node) == [was]:
            yield StaleConstant(node.name, was, None, index.names[loop], function=name)


def _loop_over_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The number of rounds of a loop whose body reads a tensor row by row."""
    index = consumer.index
    name = index.nodes[consumer.op].attr["body"].func.name
    if name not in index.functions:
        return
    body = index.extras.function(name)
    read_by_row = {
        node.input[0].partition(":")[0] for node in body.node_def if node.op in ROW_READERS
    }
    for argument, of in zip(body.signature.input_arg, consumer.read, strict=False):
        for position, was, _ in consumer.changes.dimensions(of):
            if position == 0 and argument.name in read_by_row:
                yield from _rounds(index, consumer.op, was)


def _loop_of_tensorflow_1_over_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The number of rounds of a loop of TensorFlow 1 which reads a tensor that enters it row by
    row.
    """
    index, enter = consumer.index, consumer.op
    is_read_by_row = any(
        index.types[reader] in ROW_READERS and index.input_lists[reader][0] == enter
        for reader in index.consumer_lists[enter]
    )
    sizes = [was for k, was, _ in consumer.changes.dimensions(consumer.read[0]) if k == 0]
    if not is_read_by_row or not sizes:
        return
    for condition, slot in _bounds_of_rounds(index, enter):
        bound = SizeConsumer(index, consumer.changes, condition).sizes(slot)
        if [entry.value for entry in bound] == sizes[:1]:
            source = index.names[bound[0].constant]
            yield StaleConstant(source, sizes[0], None, index.names[condition])


def _array_of_rows(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The lengths of the TensorArrays, and the rounds of the loop, that go over the rows of a
    tensor one by one, as `tf.map_fn` does in TensorFlow 1.
    """
    index, changes, array = consumer.index, consumer.changes, consumer.read[0][0]
    rows = [(was, now) for k, was, now in changes.dimensions(consumer.read[2]) if k == 0]
    if not rows or index.types[array] != "TensorArrayV3":
        return
    lengths: list[tuple[int, int]] = []  # (op, input) of what may take the number of rows
    arrays = {array}
    for enter in _entering(index, array):
        lengths += _bounds_of_rounds(index, enter)
        entered = {index.input_lists[op][0] for op in _enters_of_frame(index, enter)}
        arrays |= {op for op in entered if index.types[op] == "TensorArrayV3"}
    lengths += [(each, 0) for each in sorted(arrays)]
    consumers = {op for each in arrays for op in index.consumer_lists[each]}
    gathers = [op for op in consumers if index.types[op] == "TensorArrayGatherV3"]
    places = {place for op in gathers for place in index.input_lists[op][1:2]}
    lengths += [(place, 1) for place in sorted(places) if index.types[place] == "Range"]
    was, now = rows[0]
    for op, slot in lengths:
        length = SizeConsumer(index, changes, op)
        sizes = length.sizes(slot)
        if [entry.value for entry in sizes] == [was]:
            yield length.stale_or_computed(slot, sizes, 0, was, now)


def _entering(index: GraphIndex, op: int) -> list[int]:
    """The ops by which an op's tensors enter loops of TensorFlow 1."""
    return [each for each in index.consumer_lists[op] if index.types[each] in ENTER]


def _enters_of_frame(index: GraphIndex, enter: int) -> set[int]:
    """All ops by which tensors enter the loop that one enters."""
    frame = index.nodes[enter].attr["frame_name"].s
    return {
        op
        for op, kind in enumerate(index.types)
        if kind in ENTER and index.nodes[op].attr["frame_name"].s == frame
    }


def _bounds_of_rounds(index: GraphIndex, enter: int) -> list[tuple[int, int]]:
    """(comparison, input) of what the condition of a loop compares the state of a round with."""
    variables = {
        merge for op in _enters_of_frame(index, enter) for merge in index.consumer_lists[op]
    }
    conditions = [
        condition
        for variable in variables
        for condition in index.consumer_lists[variable]
        if any(
            index.types[each] in LOOP_CONDITION | {"LogicalAnd"}
            for each in index.consumer_lists[condition]
        )
    ]
    return [
        (condition, slot)
        for condition in conditions
        for slot in range(len(index.input_lists[condition]))
    ]


def _segments(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Constant numbers of segments, one for each row, and a count of segments that the rows had."""
    index, (rows, (numbers, port), *_) = consumer.index, consumer.read
    shape = index.shape(numbers, port) if index.types[numbers] in CONSTANTS else None
    count = consumer.sizes(2) if len(consumer.read) > 2 else []
    for position, was, _ in consumer.changes.dimensions(rows):
        if position == 0 and shape and shape[0] == was:
            sizes = tuple(size or 0 for size in shape)
            yield StaleConstant(index.names[numbers], sizes, None, index.names[consumer.op])
        if position == 0 and [entry.value for entry in count] == [was]:
            yield consumer.stale(2, count, 0, None)


def _element_shape(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """Sizes of the elements of a list, which no static shape gives: they are left open."""
    slot = ELEMENT_SHAPES[consumer.index.types[consumer.op]]
    sizes = consumer.sizes(slot)
    old_sizes = {was for _, was, _ in consumer.changes.sizes}
    for k, entry in enumerate(sizes):
        if entry.value in old_sizes:
            yield consumer.stale(slot, sizes, k, -1)


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
    """The shape that a transposed convolution is to give.

    One row more makes as many rows more as the stride: what the padding and the kernel add stays.
    """
    target, tensor = consumer.sizes(0), consumer.read[2]
    attr = consumer.index.nodes[consumer.op].attr
    layout = attr["data_format"].s.decode() if "data_format" in attr else ""
    channels = 1 if layout.startswith("NC") else len(target) - 1
    for k, was, now in consumer.changes.dimensions(tensor):
        if k >= len(target) or target[k].value is None or k == channels:
            continue
        stride = attr["strides"].list.i[k] if k else 1
        plus = (target[k].value or 0) - was * stride
        if now is not None:
            yield consumer.stale(0, target, k, now * stride + plus)
        else:
            yield consumer.computed_size(0, target, k, tensor, (k,), stride, plus)


def _space_to_batch(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The padding of a dilated convolution, which fills the last block, and the crop after it that
    takes it off.
    """
    block, paddings, undone_by = consumer.sizes(1), _pairs(consumer), _batch_to_space(consumer)
    crops = _pairs(undone_by) if undone_by is not None else []
    for k, was, now in consumer.changes.dimensions(consumer.read[0]):
        size = block[k - 1].value if 1 <= k <= len(block) else None
        left, right = 2 * k - 2, 2 * k - 1
        if not size or right >= len(paddings):
            continue
        added = sum(_values(paddings[left : right + 1]))
        if (was + added) % size:
            continue
        if undone_by is None or right >= len(crops):
            if now is None or (now + added) % size:
                yield consumer.stale(2, paddings, right, None)
            continue
        fill, padding = _values(crops)[right], _values(paddings)[right]
        if now is None:
            yield consumer.stale(2, paddings, right, None)
            yield undone_by.stale(2, crops, right, None)
        elif (new := -(now + added - fill) % size) != fill:
            yield consumer.stale(2, paddings, right, padding - fill + new)
            yield undone_by.stale(2, crops, right, new)


def _pairs(consumer: SizeConsumer) -> list[SizeEntry]:
    """The paddings or crops that an op takes, row by row; [] where they are computed."""
    op = consumer.read[2][0] if len(consumer.read) > 2 else -1
    if op < 0 or consumer.index.types[op] not in CONSTANTS:
        return []
    integers = constant_integers(consumer.index, consumer.index.nodes[op], max_rank=2)
    return [SizeEntry(value, op, at) for at, value in enumerate(integers or [])]


def _values(entries: Iterable[SizeEntry]) -> list[int]:
    """The sizes as numbers."""
    return [entry.value or 0 for entry in entries]


def _batch_to_space(consumer: SizeConsumer) -> SizeConsumer | None:
    """The op that undoes a SpaceToBatchND: the nearest after it with the same blocks."""
    index, stack, visited = consumer.index, [consumer.op], {consumer.op}
    while stack and len(visited) < _STEPS:
        for next_op in index.consumer_lists[stack.pop(0)]:
            if index.types[next_op] == "BatchToSpaceND":
                undone_by = SizeConsumer(index, consumer.changes, next_op)
                is_pair = _values(undone_by.sizes(1)) == _values(consumer.sizes(1))
                return undone_by if is_pair else None
            if next_op not in visited:
                visited.add(next_op)
                stack.append(next_op)
    return None


def _uniform_constant(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A constant of one number everywhere, folded from `tf.ones([n, n])`, where it meets dimensions
    of other sizes.

    Where the new size is open, it is made of that number when the graph runs.
    """
    index, op = consumer.index, consumer.op
    shape = index.shape(op, 0)
    if not shape or None in shape:
        return
    sizes, name = [size or 0 for size in shape], index.names[op]
    for k, size in enumerate(sizes):
        dimension = next(_meeting_dimensions(consumer, k, size), None)
        if dimension is None or not is_uniform(index.nodes[op]):
            continue
        was, now = dimension
        at_run_time = consumer.size_of_input(size, was) if now is None else None
        new_size = consumer.size_text(at_run_time) if at_run_time else now
        new = None if new_size is None else (*sizes[:k], new_size, *sizes[k + 1 :])
        size_at_run_time = at_run_time or SizeAtRunTime("", (0,))
        # `slot` distinguishes the dimensions: each is a size of its own.
        yield StaleConstant(
            name,
            tuple(sizes),
            new,
            name,
            None,
            slot=k,
            positions=size_at_run_time.positions,
            times=size_at_run_time.times,
        )


def _shape_maker(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """The constant sizes of an op that builds a shape, where they meet a dimension that has another
    size now.
    """
    slot = SHAPE_MAKERS[consumer.index.types[consumer.op]]
    sizes, shape = consumer.sizes(slot), consumer.index.shape(consumer.op, 0)
    if (
        shape is None
        or None in shape
        or len(sizes) != max(len(shape), 1)
        or (consumer.op, 0) in consumer.changes.shapes
    ):
        return
    sizes_of_layers = _summed_dimensions(consumer)
    constants = {entry.constant for entry in sizes}
    if all(op >= 0 and _SHAPE_OF.search(consumer.index.names[op]) for op in constants):
        sizes_of_layers |= {k: (was, now) for k, was, now in _dimensions_of_shape(consumer, sizes)}
    for k, entry in enumerate(sizes):
        if entry.value is None:
            continue
        dimension = sizes_of_layers.get(k)
        if dimension is None or dimension[0] != entry.value:
            dimension = next(_meeting_dimensions(consumer, k, entry.value), None)
        if dimension is not None:
            yield consumer.stale_or_computed(slot, sizes, k, *dimension)


def _summed_dimensions(consumer: SizeConsumer) -> dict[int, tuple[int, int | None]]:
    """(size before, size now), by position, of the dimensions of what a sum or mean takes, if an op
    makes the copies of its gradient.
    """
    index, op = consumer.index, consumer.op
    if index.types[op] not in COPIES or not is_gradient_name(index.names[op]):
        return {}
    for owner in gradient_owners(index, [op], {}):
        if index.types[owner] in SUMS_OF_DIMENSIONS:
            dimensions = consumer.changes.dimensions(index.input_tensors(owner)[0])
            return {k: (was, now) for k, was, now in dimensions}
    return {}


def _equal_sizes(consumer: SizeConsumer) -> Iterator[StaleConstant]:
    """A constant, as large as another input was before; it is not known what it should hold."""
    index, axis = consumer.index, _axis_of_concat(consumer)
    for other in consumer.read:
        for position, was, _ in consumer.changes.dimensions(other):
            for op, port in consumer.read:
                shape = index.shape(op, port) if index.types[op] in CONSTANTS else None
                k = position + len(shape or ()) - len(index.shape(*other) or ())
                if shape and 0 <= k < len(shape) and shape[k] == was != 1 and position != axis:
                    sizes = tuple(n or 0 for n in shape)
                    yield StaleConstant(index.names[op], sizes, None, index.names[consumer.op])


def _axis_of_concat(consumer: SizeConsumer) -> int | None:
    """The dimension in which an op puts its inputs one after another; None for another op, or where
    it is not known.
    """
    slots = {"Concat": 0, "ConcatV2": len(consumer.read) - 1}
    slot = slots.get(consumer.index.types[consumer.op])
    axis = None if slot is None else next((e.value for e in consumer.sizes(slot)), None)
    if axis is None or axis >= 0:
        return axis
    ranks = [len(shape) for read in consumer.read if (shape := consumer.index.shape(*read))]
    return axis + max(ranks, default=0)


def _meeting_dimensions(
    consumer: SizeConsumer, k: int, size: int | None
) -> Iterator[tuple[int, int | None]]:
    """(size before, size now) of dimensions that meet dimension `k` of what an op makes, handed on
    as it is.
    """
    index = consumer.index
    visited, stack = {consumer.op}, [(consumer.op, k)]
    while stack and len(visited) < _STEPS:
        op, at = stack.pop()
        shape = index.shape(op, 0) or ()
        for next_op in index.consumer_lists[op]:
            if next_op in visited:
                continue
            visited.add(next_op)
            for was, now in _dimensions_met_in(consumer, next_op, op, at):
                if was == size:
                    yield was, now
            out = index.shape(next_op, 0)
            if out is None and index.types[next_op] in ENTER and at == 0:
                yield from _rows_of_loop(consumer, next_op, size)
            if out is None or (next_op, 0) in consumer.changes.shapes:
                continue
            is_copied = index.types[next_op] in COPIES and len(out) == len(shape)
            if out == shape or (is_copied and out[at] == shape[at]):
                stack.append((next_op, at))
            elif (
                index.types[next_op] in AXIS_CHANGES
                and index.input_tensors(next_op)[0][0] == op
                and out.count(size) == 1
            ):
                stack.append((next_op, out.index(size)))


def _rows_of_loop(
    consumer: SizeConsumer, enter: int, size: int | None
) -> Iterator[tuple[int, int | None]]:
    """(size before, size now) of the rows of the input, where as many rows enter a loop of
    TensorFlow 1 that depends on it.

    TensorFlow's shape functions infer nothing of what enters a loop, and a file may have no shapes.
    """
    index, changes = consumer.index, consumer.changes
    rows = [(was, now) for position, was, now in changes.sizes if position == 0 and was == size]
    if not rows:
        return
    frame = index.nodes[enter].attr["frame_name"].s
    depends_on_input = traversal.forward(index, [index.ids[changes.name]])
    if any(
        kind in ENTER and depends_on_input[op] and index.nodes[op].attr["frame_name"].s == frame
        for op, kind in enumerate(index.types)
    ):
        yield from rows


def _dimensions_met_in(
    consumer: SizeConsumer, op: int, source: int, k: int
) -> Iterator[tuple[int, int | None]]:
    """(size before, size now) of the dimensions that must be as large as dimension `k` of what an
    op reads from `source`.
    """
    index, kind = consumer.index, consumer.index.types[op]
    if kind in EQUAL_SIZES and k != _axis_of_concat(SizeConsumer(index, consumer.changes, op)):
        rank = len(index.shape(source, 0) or ())
        for other in index.input_tensors(op):
            shift = rank - len(index.shape(*other) or ())  # shapes are aligned at their ends
            for position, was, now in consumer.changes.dimensions(other):
                # Where one input may have a single row for all, it goes on having that.
                if position + shift == k and (was != 1 or kind in WITHOUT_BROADCAST):
                    yield was, now
    if kind in GATHERS and k == 0:
        read = index.input_tensors(op)
        if len(read) > 1 and read[1][0] == source:
            for position, was, now in consumer.changes.dimensions(read[0]):
                if position == 0:
                    yield was, now


_RULES: dict[str, Callable[[SizeConsumer], Iterator[StaleConstant]]] = {
    **dict.fromkeys(EQUAL_SIZES, _equal_sizes),
    "BroadcastTo": _broadcast,
    "Conv2DBackpropInput": _transposed_convolution,
    "Conv3DBackpropInputV2": _transposed_convolution,
    "DepthwiseConv2dNativeBackpropInput": _transposed_convolution,
    **dict.fromkeys(GATHERS, _gather),
    "GatherNd": _gather_nd,
    "Reshape": _reshape,
    **dict.fromkeys(IMAGE_SCALINGS, _image_size),
    "ScaleAndTranslate": _image_size,
    "Slice": _slice,
    "SpaceToBatchND": _space_to_batch,
    "Split": _parts,
    "StridedSlice": _strided_slice,
    "TensorArrayScatterV3": _array_of_rows,
    "TensorListFromTensor": _list_of_rows,
    "Unpack": _parts,
    "Enter": _loop_of_tensorflow_1_over_rows,
    **dict.fromkeys(SEGMENT_REDUCTIONS, _segments),
    **dict.fromkeys(WHILE_LOOPS, _loop_over_rows),
}
# Ops that need not read a tensor that has another shape.
_ANYWHERE: dict[str, Callable[[SizeConsumer], Iterator[StaleConstant]]] = {
    **dict.fromkeys(SHAPE_MAKERS, _shape_maker),
    **dict.fromkeys(ELEMENT_SHAPES, _element_shape),
    **dict.fromkeys(CONSTANTS, _uniform_constant),
    **dict.fromkeys(SHAPED_GRADIENTS, _part_of_shape),
    "Prod": _part_of_shape,
    "Slice": _part_of_shape,
    "StridedSlice": _part_of_shape,
}
