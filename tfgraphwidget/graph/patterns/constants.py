"""Values of constants, read from their NodeDefs."""

from __future__ import annotations

import numpy as np

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import dtype_name
from tfgraphwidget.graph.op_types import CONSTANTS
from tfgraphwidget.graph.patterns.structure import Literal
from tfgraphwidget.graph.tensor_values import tensor_array

_TOLERANCE = 1e-5  # relative; of types with fewer bits see `_HALF`
_HALF = {"float16": 2e-3, "bfloat16": 1e-2}
_MOST = 1 << 16  # elements of a constant that a list is compared with


def constant_value(index: GraphIndex, op: int) -> np.ndarray | None:
    """The array of the constant `op` of `index`; None for other ops, and if unreadable."""
    if index.types[op] not in CONSTANTS:
        return None
    proto = index.nodes[op].attr["value"].tensor
    try:
        return tensor_array(proto, dtype_name(proto, "dtype", proto.dtype))
    except (TypeError, ValueError, KeyError):
        return None


def is_near(array: np.ndarray | None, value: Literal, tolerance: float | None) -> bool:
    """Whether an array is a value: a scalar represents an array of any shape in which every element
    is this.

    Args:
        tolerance: How far an element may differ, relatively, or absolutely from 0; None for what
            rounding makes.

    >>> (
    ...     is_near(np.full([2, 2], 0.5, np.float32), 0.5, None),
    ...     is_near(np.array([1, 2]), (1, 2), None),
    ... )
    (True, True)
    >>> is_near(np.float32(0.51), 0.5, None), is_near(np.float32(0.51), 0.5, 0.05)
    (False, True)
    """
    if array is None or array.size == 0:
        return False
    if array.dtype == object or isinstance(value, str):
        texts = [
            each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each)
            for each in array.flat
        ]
        expected = list(value) if isinstance(value, tuple) else [value] * len(texts)
        return array.dtype == object and texts == expected
    if array.dtype.names:
        return False
    if array.dtype == bool or isinstance(value, bool):
        is_boolean = isinstance(value, bool) or (
            isinstance(value, tuple) and all(isinstance(v, bool) for v in value)
        )
        return (
            array.dtype == bool and is_boolean and bool(np.array_equal(*_same_shape(array, value)))
        )
    if isinstance(value, tuple) and array.size > _MOST:
        return False
    try:
        values, expected_array = _same_shape(
            array.astype(np.complex128 if array.dtype.kind == "c" else np.float64), value
        )
    except (TypeError, ValueError):
        return False
    if values.shape != expected_array.shape:
        return False
    relative = _HALF.get(array.dtype.name, _TOLERANCE) if tolerance is None else tolerance
    absolute = np.where(expected_array == 0, 0.0 if tolerance is None else tolerance, 0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(values - expected_array) <= np.maximum(
            relative * np.abs(expected_array), absolute
        )
    return bool(((values == expected_array) | near & np.isfinite(expected_array)).all())


def _same_shape(array: np.ndarray, value: Literal) -> tuple[np.ndarray, np.ndarray]:
    """The array, and the value in its shape where that is a scalar."""
    expected = np.asarray(value)
    return array, np.broadcast_to(expected, array.shape) if expected.ndim == 0 else expected
