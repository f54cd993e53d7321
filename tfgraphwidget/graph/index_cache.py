"""A cache for functions of an index."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from tfgraphwidget.graph.index import GraphIndex

T = TypeVar("T")


def cached_per_index(read: Callable[[GraphIndex], T]) -> Callable[[GraphIndex], T]:
    """Cache the results of `read` per index; callers must not change them.

    Computed each time while TensorFlow does not know some op type of the index: its library may be
    loaded later.
    """
    cache: WeakKeyDictionary[GraphIndex, T] = WeakKeyDictionary()

    @wraps(read)
    def lookup(index: GraphIndex) -> T:
        if index in cache:
            return cache[index]
        result = read(index)
        if all(index.typing.definition(kind) is not None for kind in index.kinds[0]):
            cache[index] = result
        return result

    return lookup
