"""Values of attributes by number, each with its text and with what a query compares it by."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph.traits import value_holds
from tfgraphwidget.sources.describe import attribute_text

_MOST = 4_000  # letters that a value is compared by: a query has no more
_SMALL = 200  # bytes


class Values:
    """(text, what it is compared by, ...) of attributes' values by number, each once."""

    def __init__(self) -> None:
        self._number: dict[tuple[str, ...], int] = {}
        self._known: dict[bytes, int] = {}

    def code(self, value: Any) -> int:
        """The number of an AttrValue."""
        # The same few values stand at nearly all ops; large ones are weights, which are shown by their shape.
        if value.ByteSize() > _SMALL:
            return self._read(value)
        key = value.SerializeToString()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._read(value)
        return found

    def _read(self, value: Any) -> int:
        return self._number.setdefault((attribute_text(value), *told_by(value)), len(self._number))

    @property
    def all(self) -> list[tuple[str, ...]]:
        """All of them, in the order of their numbers."""
        return list(self._number)


def told_by(value: Any) -> list[str]:
    """The texts of which a query must say one to mean an AttrValue: the whole, and each thing in a list.

    Nothing of what is longer than any query, or damaged.
    """
    told = list[str]()
    try:
        value_holds(told.append)(value)
    except Exception:  # a damaged value fails anywhere in TensorFlow or numpy, and is only looked for
        return []
    return told if sum(map(len, told)) <= _MOST else []
