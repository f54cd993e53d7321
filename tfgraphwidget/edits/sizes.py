"""Sizes that constants hold, and what they should be once an input has another shape; see `encoded`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tfgraphwidget.edits.numbers import Entry, entries
from tfgraphwidget.edits.wires import Tensor, Wires
from tfgraphwidget.graph import frames
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape


class Encoded(NamedTuple):
    """A constant that holds a size which is another one now, `value`, and takes it to the op `reader`.

    `proposed` is what it should hold, with a text where that is known only when the graph runs; None when nobody knows.
    `at` is the place of the size in it, None for one that holds it as its own shape; `slot` the reader's input. At run
    time the size is `times` that of dimension `position` of the input.
    """

    op: str
    value: int | tuple[int, ...]
    proposed: int | str | tuple[int | str, ...] | None
    reader: str
    at: int | None = None
    slot: int = 0
    position: int = 0
    times: int = 1


@dataclass(frozen=True)
class Moved:
    """What a new shape of an input makes of static shapes: (op, port) -> (before, after), both as far as known.

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


class Taken:
    """An op that takes sizes."""

    def __init__(self, index: GraphIndex, moved: Moved, op: int) -> None:
        self.index, self.moved, self.op = index, moved, op
        self.read = Wires(index).inputs(op)

    def sizes(self, slot: int) -> list[Entry]:
        """The sizes at an input; [] when nobody knows."""
        return (entries(self.index, self.read[slot]) or []) if slot < len(self.read) else []

    def encoded(
        self, slot: int, all_: list[Entry], k: int, proposed: int | str | None, position: int = 0, times: int = 1
    ) -> Encoded:
        """The k-th of the sizes at an input is an old one."""
        index, entry = self.index, all_[k]
        mine = sorted({e.at: e.value or 0 for e in all_ if e.constant == entry.constant}.items())
        value = tuple(held for _, held in mine)
        scalar = index.shape(entry.constant, 0) == ()
        new = None if proposed is None else tuple(proposed if at == entry.at else held for at, held in mine)
        name, reader = index.names[entry.constant], index.names[self.op]
        if scalar:
            return Encoded(name, value[0], new and new[0], reader, entry.at, slot, position, times)
        return Encoded(name, value, new, reader, entry.at, slot, position, times)

    def scaled(self, value: int, was: int, now: int | None) -> int | None:
        """What a multiple of an old size is now; None when it is not known."""
        return value // was * now if now is not None and value % was == 0 else None

    def known(self, slot: int, all_: list[Entry], k: int, was: int, now: int | None) -> Encoded:
        """An old size that has to be given as a number, or be computed when the graph runs."""
        value = all_[k].value or 0
        number = self.scaled(value, was, now)
        of = [(p, old) for p, old, _ in self.moved.sizes if old and value % old == 0]
        of = [(p, old) for p, old in of if old == was] or of
        # In a loop the size of what lies outside cannot be read; several parts are not put together again.
        one_part = all(entry.constant == all_[k].constant for entry in all_)
        if number is not None or len(of) != 1 or not one_part or frames.around(self.index, self.op):
            return self.encoded(slot, all_, k, number)
        position, old = of[0]
        text = f'tf.shape("{self.moved.name}:0")[{position}]' + (f" * {value // old}" if value != old else "")
        return self.encoded(slot, all_, k, text, position, value // old)
