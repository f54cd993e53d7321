"""FlatBuffer: tables of a file in Google's FlatBuffers format, read with all bounds checked.

A table is where a field says; its first number leads back to its vtable, which has the offset of
each field, 0 for one that is left out. Nothing is copied but numbers and texts that are asked for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

_FIRST_OFFSET = 4  # in a vtable, after its own size and that of the table
# Bytes that may be read of a file, in sizes of it: many fields may lead to one place, so that a
# small file could be read without end.
MOST_READS = 16


class DamagedBuffer(ValueError):
    """An offset leads out of the file, or the fields lead to far more than it holds."""


@dataclass
class FlatBuffer:
    """The bytes of a file."""

    data: bytes = field(repr=False)
    _read: int = 0

    def root(self) -> Table:
        """The table that the file begins with."""
        return Table(self, self.number("I", 0))

    def number(self, code: str, at: int) -> int:
        """The number at a place, of a type as `struct` names it."""
        try:
            if at < 0:
                raise DamagedBuffer
            number: int = struct.unpack_from(f"<{code}", self.data, at)[0]
        except struct.error:
            raise DamagedBuffer from None
        return number

    def part(self, at: int, size: int) -> bytes:
        """The bytes from a place on."""
        self._count(size)
        if at + size > len(self.data):
            raise DamagedBuffer
        return self.data[at : at + size]

    def _count(self, size: int) -> None:
        """Count bytes that are read; raise DamagedBuffer for far more than the file has."""
        self._read += size
        if self._read > MOST_READS * len(self.data):
            raise DamagedBuffer

    def vector(self, at: int, dtype: str) -> np.ndarray:
        """The numbers of the vector at a place, which are not copied."""
        count, item = self.number("I", at), np.dtype(dtype)
        self._count(count * item.itemsize)
        try:
            return np.frombuffer(self.data, item, count, at + 4)
        except ValueError:
            raise DamagedBuffer from None


class Table:
    """A table: its fields are asked for by their numbers in the schema."""

    def __init__(self, buffer: FlatBuffer, at: int) -> None:
        self._buffer, self._at = buffer, at
        self._fields_at = at - buffer.number("i", at)
        self._size = buffer.number("H", self._fields_at)

    def _place(self, field_number: int) -> int:
        """Where a field is; 0 for one that is left out."""
        at = _FIRST_OFFSET + 2 * field_number
        if at + 2 > self._size:
            return 0
        offset = self._buffer.number("H", self._fields_at + at)
        return self._at + offset if offset else 0

    def _target(self, field_number: int) -> int:
        """Where what a field leads to is; 0 for one that is left out."""
        place = self._place(field_number)
        return place + self._buffer.number("I", place) if place else 0

    def number(self, field_number: int, code: str, default: int = 0) -> int:
        """A number, of a type as `struct` names it."""
        place = self._place(field_number)
        return self._buffer.number(code, place) if place else default

    def table(self, field_number: int) -> Table | None:
        """A table; None for one that is left out."""
        place = self._target(field_number)
        return Table(self._buffer, place) if place else None

    def vector(self, field_number: int, dtype: str) -> np.ndarray:
        """The numbers of a vector, of a dtype of NumPy; without any for one that is left out."""
        place = self._target(field_number)
        return self._buffer.vector(place, dtype) if place else np.empty(0, dtype)

    def tables(self, field_number: int) -> list[Table]:
        """The tables of a vector."""
        place = self._target(field_number)
        offsets = self.vector(field_number, "<u4").tolist()
        return [
            Table(self._buffer, place + 4 * (1 + k) + offset) for k, offset in enumerate(offsets)
        ]

    def text(self, field_number: int) -> str:
        """A text; "" for one that is left out."""
        return self.vector(field_number, "u1").tobytes().decode("utf-8", "replace")
