"""Synthetic feeds with the right dtypes and static shapes, for inputs without feeds from the
user.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfgraphwidget.graph import GraphIndex, Shape, pairs
from tfgraphwidget.tensorflow_modules import tf

# (size of unknown dimensions, rank if that is unknown, how to fill), the most likely first.
_WAYS = (
    (2, 1, "random"), (1, 1, "random"), (2, 1, "ones"), (1, 1, "ones"), (1, 1, "zeros"),
    (2, 2, "random"), (1, 0, "random"), (1, 4, "random"), (3, 3, "random"), (16, 1, "random"),
    (64, 4, "random"), (0, 1, "zeros"),
)  # fmt: skip


# Of one made-up value, a gigabyte: a file of some bytes can say that it takes any number.
MAX_ELEMENTS = 1 << 27


class InputSpec(NamedTuple):
    """An input that needs a value."""

    key: str
    dtype: tf.DType
    shape: Shape


def input_specs(index: GraphIndex, names: Iterable[str]) -> list[InputSpec]:
    """The dtype and shape of tensors, whose names are the keys."""
    names = list(names)
    return [
        InputSpec(name, tf.as_dtype(index.dtypes(op)[port]).base_dtype, index.shape(op, port))
        for name, (op, port) in zip(names, pairs(index, names), strict=True)
    ]


def no_value_for(specs: Iterable[InputSpec]) -> str:
    """Why no values can be made up, for a sentence; "" if they can."""
    for key, dtype, shape in specs:
        if dtype in {tf.resource, tf.variant}:
            return f"{key!r} is a handle, of dtype {dtype.name}, and has no value in Python"
        elements = math.prod(_sizes(shape, 1, 1))
        if elements > MAX_ELEMENTS:
            return f"{key!r} has {elements:,} elements, too many for a value that is made up"
    return ""


def generate_feeds(specs: Sequence[InputSpec]) -> Iterator[dict[str, np.ndarray]]:
    """Values by key, in several sizes and fillings, for inputs of which `no_value_for` says
    nothing; the same ones in each call.
    """
    are_static = all(shape is not None and None not in shape for _, _, shape in specs)
    for size, rank, way in _WAYS:
        # For fully known shapes only the filling differs.
        if not are_static or (size == 1 and rank == 1):
            random = np.random.default_rng(0)
            yield {
                key: _value(dtype, _sizes(shape, size, rank), way, random)
                for key, dtype, shape in specs
            }


def _sizes(shape: Shape, size: int, rank: int) -> tuple[int, ...]:
    if shape is None:
        return (size,) * rank
    return tuple(size if length is None else length for length in shape)


def _value(
    dtype: tf.DType, shape: tuple[int, ...], way: str, random: np.random.Generator
) -> np.ndarray:
    """An array; integers are small and not negative, because they are often indices."""
    if dtype == tf.string:
        return np.array(random.choice([b"a", b"b"], shape), dtype=object)
    if way != "random":
        return np.full(shape, way == "ones").astype(dtype.as_numpy_dtype)
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.is_floating or dtype.is_complex:
        return random.normal(size=shape).astype(dtype.as_numpy_dtype)
    return random.integers(0, 3, shape).astype(dtype.as_numpy_dtype)
