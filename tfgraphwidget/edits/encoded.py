"""Sizes: constants that still hold what a dimension was before an input was given another shape.

What the new shape makes of all others is known by inference; here it is compared with what constants say. A Reshape to
[32, 10] of what is now (None, 10) is accepted by TensorFlow, and fails when it runs on 12 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from tfgraphwidget.edits.numbers import Entry
from tfgraphwidget.edits.sizes import Encoded, Moved, Taken
from tfgraphwidget.edits.wires import Wires
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape

_END = (1 << 31) - 1
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
    "TruncatedNormal": 0,
}
# Their inputs have the same sizes.
_BESIDE = frozenset(
    {
        *("Add", "AddN", "AddV2", "Concat", "ConcatV2", "Div", "DivNoNan", "Equal", "FloorDiv", "FloorMod", "Greater"),
        *("GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mul", "NotEqual"),
        *("Pack", "Pow", "RealDiv", "Select", "SelectV2", "SquaredDifference", "Sub"),
    }
)
# What they read has the same sizes at other places, or some more that are 1.
_TURNS = frozenset({"ExpandDims", "Reshape", "Squeeze", "StridedSlice", "Transpose"})
_STEPS = 1000


def encoded(index: GraphIndex, moved: Moved) -> list[Encoded]:
    """The constants of `index` that hold an old size, in graph order of those who take them.

    `index` is the graph as it is after the edit, with the static shapes of before.
    """
    readers = {reader for op, _ in moved.shapes for reader in index.consumer_lists[op]}
    found: list[Encoded] = []
    for op in sorted(readers | {i for i, kind in enumerate(index.types) if kind in _MAKERS}):
        rule = _RULES.get(index.types[op])
        found += rule(Taken(index, moved, op)) if rule is not None and op in readers else ()
        found += _made(Taken(index, moved, op)) if index.types[op] in _MAKERS else ()
    return list(dict.fromkeys(found))


def _reshape(taken: Taken) -> Iterator[Encoded]:
    """The dimensions of the target that stand for one which is another now, unless one of them is -1 or computed."""
    target = taken.sizes(1)
    before, after = taken.moved.shapes.get(taken.read[0], (None, None))
    if not target or before is None or after is None:
        return
    had = [-1 if e.value is None else e.value for e in target]
    if None not in after and -1 not in had and prod(n or 0 for n in after) == prod(had):
        return
    resolved = _resolved(before, had, taken.index.shape(taken.op, 0))
    if resolved is None:
        yield from _reshape_in_part(taken, target, before)
        return
    groups = list(_groups([n or 0 for n in before], resolved))
    for position, was, now in taken.moved.dimensions(taken.read[0]):
        group = next((there for here, there in groups if position in here), range(0))
        if any(had[k] == -1 for k in group):
            continue
        k = next((k for k in group if had[k] == was), next((k for k in group if had[k] % was == 0 and had[k]), None))
        if k is None:
            continue
        new = taken.scaled(had[k], was, now)
        if new is None and not any(e.value == -1 for e in target):
            new = -1
        yield taken.known(1, target, k, was, now) if new is None else taken.encoded(1, target, k, new)


def _resolved(before: Shape, had: list[int], out: Shape) -> list[int] | None:
    """The sizes of a target without -1 in it, as they were before; None where they are not known."""
    if before is None or None in before:
        return None
    if had.count(-1) > 1:
        return None if out is None or None in out or len(out) != len(had) else [n or 0 for n in out]
    whole, known = prod(n or 0 for n in before), prod(n for n in had if n != -1)
    return [(whole // known if known else 0) if n == -1 else n for n in had]


def _reshape_in_part(taken: Taken, target: list[Entry], before: tuple[int | None, ...]) -> Iterator[Encoded]:
    """The same where not all dimensions were known: those that come first and stay."""
    had = [e.value for e in target]
    for k, was, now in taken.moved.dimensions(taken.read[0]):
        if k < len(had) and had[k] == was and tuple(had[:k]) == before[:k]:
            yield taken.encoded(1, target, k, -1) if -1 not in had else taken.known(1, target, k, was, now)


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


def _broadcast(taken: Taken) -> Iterator[Encoded]:
    target = taken.sizes(1)
    rank = len(taken.index.shape(*taken.read[0]) or ())
    for position, was, now in taken.moved.dimensions(taken.read[0]):
        k = position + len(target) - rank
        if 0 <= k < len(target) and target[k].value == was != 1:
            yield taken.known(1, target, k, was, now)


def _slice(taken: Taken) -> Iterator[Encoded]:
    """A slice up to the old end; -1 is the end, whatever it is."""
    begin, size = taken.sizes(1), taken.sizes(2)
    for k, was, _ in taken.moved.dimensions(taken.read[0]):
        if k < min(len(begin), len(size)) and (begin[k].value or 0) + (size[k].value or 0) == was and size[k].value:
            yield taken.encoded(2, size, k, -1)


def _strided(taken: Taken) -> Iterator[Encoded]:
    attr = taken.index.nodes[taken.op].attr
    if any(attr[name].i for name in ("ellipsis_mask", "new_axis_mask")):
        return
    end = taken.sizes(2)
    for k, was, now in taken.moved.dimensions(taken.read[0]):
        free = (attr["end_mask"].i | attr["shrink_axis_mask"].i) >> k & 1
        if k < len(end) and end[k].value == was and not free:
            yield taken.encoded(2, end, k, _END if now is None else now)


def _transposed(taken: Taken) -> Iterator[Encoded]:
    """The shape that a transposed convolution is to give."""
    target = taken.sizes(0)
    for k, was, now in taken.moved.dimensions(taken.read[2]):
        if k < len(target) and (target[k].value or 0) % was == 0 and target[k].value:
            yield taken.known(0, target, k, was, now)


def _made(taken: Taken) -> Iterator[Encoded]:
    """What an op makes of sizes alone, where it meets something whose size is another now."""
    slot = _MAKERS[taken.index.types[taken.op]]
    sizes, shape = taken.sizes(slot), taken.index.shape(taken.op, 0)
    if shape is None or None in shape or len(sizes) != max(len(shape), 1) or (taken.op, 0) in taken.moved.shapes:
        return
    for k, entry in enumerate(sizes):
        met = next(_met(taken, k, entry.value), None) if entry.value not in (None, 1) else None
        if met is not None:
            yield taken.known(slot, sizes, k, *met)


def _beside(taken: Taken) -> Iterator[Encoded]:
    """A constant, as large as another input was before; nobody knows what it should hold."""
    index, axis = taken.index, -1
    if taken.index.types[taken.op] == "ConcatV2":
        axis = next((e.value for e in taken.sizes(len(taken.read) - 1) if e.value is not None), -1)
    for other in taken.read:
        for position, was, _ in taken.moved.dimensions(other):
            for op, port in taken.read:
                shape = index.shape(op, port) if index.types[op] == "Const" else None
                k = position + len(shape or ()) - len(index.shape(*other) or ())
                if shape and 0 <= k < len(shape) and shape[k] == was != 1 and position != axis:
                    yield Encoded(index.names[op], tuple(n or 0 for n in shape), None, index.names[taken.op])


def _met(taken: Taken, k: int, size: int | None) -> Iterator[tuple[int, int | None]]:
    """(size before, size now) of dimensions that meet dimension `k` of what an op makes, handed on as it is."""
    index, wires = taken.index, Wires(taken.index)
    seen, stack = {taken.op}, [(taken.op, k)]
    while stack and len(seen) < _STEPS:
        op, at = stack.pop()
        shape = index.shape(op, 0) or ()
        for reader in index.consumer_lists[op]:
            if reader in seen:
                continue
            seen.add(reader)
            for other in wires.inputs(reader) if index.types[reader] in _BESIDE else ():
                shift = len(shape) - len(index.shape(*other) or ())
                met = (m for m in taken.moved.dimensions(other) if m[0] + shift == at and m[1] == size)
                yield from ((was, now) for _, was, now in met)
            out = index.shape(reader, 0)
            if out is None or (reader, 0) in taken.moved.shapes:
                continue
            if out == shape:
                stack.append((reader, at))
            elif index.types[reader] in _TURNS and out.count(size) == 1:
                stack.append((reader, out.index(size)))


_RULES: dict[str, Callable[[Taken], Iterator[Encoded]]] = {
    **dict.fromkeys(_BESIDE, _beside),
    "BroadcastTo": _broadcast,
    "Conv2DBackpropInput": _transposed,
    "Reshape": _reshape,
    "Slice": _slice,
    "StridedSlice": _strided,
}
