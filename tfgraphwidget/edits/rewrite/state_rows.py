"""Variables that have an old size: the state of a recurrent network, with a row for each of the old
batch.

A variable keeps its shape whatever an input has, and TensorFlow combines a batch of 1 with the rows
of an old state without an error: the network then gives as many rows as the state has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfgraphwidget.edits.rewire.edge_moves import Tensor
from tfgraphwidget.edits.rewrite.constant_sizes import ShapeChanges
from tfgraphwidget.graph import EQUAL_SIZES, HANDLES, GraphIndex

_STEPS = 50  # ops between a variable and what its rows meet


class OldRows(NamedTuple):
    """A variable of an old size: its name, its shape, the op where that meets what has a new size,
    and that size; None for any.
    """

    variable: str
    shape: tuple[int, ...]
    consumer: str
    now: int | None

    def note(self) -> str:
        """The sentence that says so."""
        shape = ", ".join(map(str, self.shape))
        note = f"Variable {self.variable!r} has the old size, [{shape}], for {self.consumer!r}, "
        if self.now == 1:
            note += f"which computes {self.shape[0]:,} rows of the one that it is given, "
        return note + "and keeps it; build the model with the new size."


def old_rows(index: GraphIndex, changes: ShapeChanges) -> Iterator[OldRows]:
    """The variables whose rows meet a dimension that has another size now.

    `index` is the graph after the edit, with the static shapes of before.
    """
    consumers = {each for op, _ in changes.shapes for each in index.consumer_lists[op]}
    for op in sorted(each for each in consumers if index.types[each] in EQUAL_SIZES):
        read = index.input_tensors(op)
        for changed in read:
            before, after = changes.shapes.get(changed, (None, None))
            if before is None or after is None or len(before) != len(after):
                continue
            moved = {k - len(after): now for k, now in enumerate(after) if now != before[k]}
            for other in read:
                variable = _variable_that_meets(index, changes, other, moved)
                if variable is not None:
                    name, shape, now = variable
                    yield OldRows(name, shape, index.names[op], now)


def _variable_that_meets(
    index: GraphIndex, changes: ShapeChanges, tensor: Tensor, moved: dict[int, int | None]
) -> tuple[str, tuple[int, ...], int | None] | None:
    """(name, shape, new size) of the variable whose rows are a dimension of a tensor that meets
    another size; `moved` has the new sizes by the dimension, from the last one.
    """
    shape = index.shape(*tensor)
    if shape is None or tensor in changes.shapes:
        return None
    for k, now in moved.items():
        rows = shape[k] if -k <= len(shape) else None
        if rows in (None, 1, now):
            continue
        variable = _variable_of_rows(index, tensor, rows)
        if variable is not None:
            return *variable, now
    return None


def _variable_of_rows(
    index: GraphIndex, tensor: Tensor, rows: int
) -> tuple[str, tuple[int, ...]] | None:
    """(name, shape) of the variable that has as many rows, of those that a tensor is computed
    from.
    """
    stack, visited = [tensor[0]], set[int]()
    while stack and len(visited) < _STEPS:
        op = stack.pop()
        if op in visited:
            continue
        visited.add(op)
        if index.types[op] in HANDLES:
            shape = _shape_of_variable(index, op)
            if shape and shape[0] == rows:
                return index.names[op], shape
        # First inputs first: the rows of a product are those of its first factor.
        stack += reversed(index.input_lists[op])
    return None


def _shape_of_variable(index: GraphIndex, handle: int) -> tuple[int, ...] | None:
    """The shape that the op of a variable says; None where it leaves a size open."""
    attributes = index.nodes[handle].attr
    if "shape" not in attributes or attributes["shape"].shape.unknown_rank:
        return None
    sizes = tuple(dim.size for dim in attributes["shape"].shape.dim)
    return None if -1 in sizes else sizes
