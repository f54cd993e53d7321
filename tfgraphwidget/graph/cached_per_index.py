"""What is read of an index once, since it never changes: an edit asks several times."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from tfgraphwidget.graph.index import GraphIndex

T = TypeVar("T")


def remembered(read: Callable[[GraphIndex], T]) -> Callable[[GraphIndex], T]:
    """`read`, which runs once for each index; who gets the answer must not change it.

    Each time anew while TensorFlow does not know some op type of the index: its library may be loaded later.
    """
    known: WeakKeyDictionary[GraphIndex, T] = WeakKeyDictionary()

    @wraps(read)
    def told(index: GraphIndex) -> T:
        if index in known:
            return known[index]
        found = read(index)
        if all(index.typing.definition(kind) is not None for kind in index.kinds[0]):
            known[index] = found
        return found

    return told
