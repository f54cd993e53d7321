"""What can be fed to a placeholder: which variables of the notebook are arrays that fit, and why
another does not fit.

While variables are described no code of the user runs: classes are recognized by module and name,
as graphs are, and only arrays, eager tensors and Keras variables are asked for their dtype and
shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfgraphwidget.errors import InvalidArgument, reason_of
from tfgraphwidget.graph import HANDLE_DTYPES, Shape, are_compatible
from tfgraphwidget.sentences import drawn_shape
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.widget.kernel_namespace import has_method, is_eager_tensor, is_variable

_SCALARS: dict[type, str] = {bool: "b", int: "i", float: "f", complex: "c", str: "O", bytes: "O"}
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
"""Numpy's kinds of numbers: one can be fed where the same or a wider one is expected."""
_TEXT = frozenset("OSU")
_QUANTIZED = frozenset({"qint8", "quint8", "qint16", "quint16", "qint32"})
_DEEPEST = 32  # dimensions that numpy has


@dataclass(frozen=True)
class ArraySpec:
    """The kind of the elements, "" where any fits or it is not known; and the shape, None where it
    is not known.

    A kind is numpy's letter, "f" and "i" for TensorFlow's further floats and integers, too; the
    dtype's name for quantized integers; "V2" for elements of two bytes whose dtype is not known, as
    numpy's files have them of bfloat16.
    """

    kind: str = ""
    shape: tuple[int, ...] | None = None

    def fits(self, dtype: str, static: Shape) -> bool:
        """Whether it can be fed to a placeholder."""
        if not _kind_fits(self.kind, tf_protos.numpy_dtype(dtype)):
            return False
        return are_compatible(self.shape, static)


def array_spec(value: object) -> ArraySpec | None:
    """What is known of a value that can be fed; None for one that cannot."""
    cls: Any = type(value)
    thing: Any = value
    if issubclass(cls, np.ndarray | np.generic):
        kind = _kind(thing.dtype)
        is_known = kind in _RANKS or kind in _TEXT or kind in _QUANTIZED
        is_feedable = is_known or kind == _void_kind(thing.dtype)
        return ArraySpec(kind, thing.shape) if is_feedable else None
    if cls in _SCALARS:
        return ArraySpec(_SCALARS[cls], ())
    if cls in (list, tuple):
        return _list_spec(thing)
    if is_variable(value):
        # That of a graph has a handle, too, but no value in Python.
        return _tensor_spec(thing) if is_eager_tensor(getattr(thing, "handle", None)) else None
    if is_eager_tensor(value):
        return _tensor_spec(thing)
    # Tensors of graphs have `__array__`, which raises.
    is_symbolic = cls.__module__.startswith("tensorflow.") or cls.__name__ == "KerasTensor"
    if is_symbolic or not has_method(cls, "__array__"):
        return None
    if cls.__module__.startswith("keras."):
        return ArraySpec(_kind(tf_protos.numpy_dtype(thing.dtype)), tuple(thing.shape))
    return ArraySpec()


def _tensor_spec(tensor: Any) -> ArraySpec | None:
    dtype = tensor.dtype.name
    if dtype in HANDLE_DTYPES:
        return None
    # A variable may have another value than its static shape says: one of shape=[None] has any
    # number of rows.
    shape = tuple(tensor.shape) if tensor.shape.is_fully_defined() else None
    return ArraySpec(_kind(tf_protos.numpy_dtype(dtype)), shape)


def _list_spec(values: Any) -> ArraySpec | None:
    """That of nested lists, by the first element of each: they may be long."""
    sizes: list[int] = []
    while type(values) in (list, tuple) and len(sizes) < _DEEPEST:
        sizes.append(len(values))
        if not values:
            return ArraySpec("", tuple(sizes))
        values = values[0]
    first = array_spec(values) if type(values) not in (list, tuple) else None
    if first is None:
        return None
    return ArraySpec(first.kind, None if first.shape is None else (*sizes, *first.shape))


def feed_array(value: object, tensor: str, source: str, dtype: str, static: Shape) -> np.ndarray:
    """The array that is fed to a placeholder, of a value of the variable or file `source`. Raises
    InvalidArgument where it is not an array, or its shape or dtype does not fit.
    """
    name = repr(source[:200])
    if array_spec(value) is None:
        why = (
            f"{name} is a {type(value).__name__}; choose an array, a number, a list or an eager "
            "tensor."
        )
        raise InvalidArgument(tensor, f"{tensor}: {why}")
    try:
        array = np.asarray(value)
    except Exception as error:  # what the `__array__` of an object of the user raises
        lists = isinstance(value, list | tuple)
        why = "its lists have different lengths" if lists else reason_of(error)
        raise InvalidArgument(
            tensor, f"{tensor}: {name} is not an array ({why}); choose another."
        ) from None
    target = tf_protos.numpy_dtype(dtype)
    if array.size and not _kind_fits(_kind(array.dtype), target):
        fix = "cast it in a cell."
        if _void_kind(array.dtype):
            fix = "load it in a cell, and view it as its dtype."
        raise InvalidArgument(
            tensor,
            f"{tensor}: {name} is {_dtype_text(array.dtype)}, which does not fit {dtype}; {fix}",
        )
    check_shape(tensor, array.shape, static)
    if _void_kind(array.dtype):
        return array.copy().view(target)
    converted = convert(array, dtype)
    if converted is None:
        raise InvalidArgument(
            tensor, f"{tensor}: {name} has numbers that {dtype} does not have; cast it in a cell."
        )
    return converted


def convert(array: np.ndarray, dtype: str) -> np.ndarray | None:
    """An array of its own with the same numbers; None if the dtype does not have them all.

    Floats are rounded.
    """
    target = tf_protos.numpy_dtype(dtype)
    if array.dtype == target or _kind(target) in _TEXT:
        return array.astype(target)
    # Quantized integers are structures of one field, which numpy compares with no numbers.
    numbers = target[0] if target.names else target
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(numbers)
    if number_kind(dtype) in "iu":
        is_equal = np.array_equal(converted, array)
    else:
        is_equal = np.array_equal(np.isfinite(converted), np.isfinite(array))
    return converted.view(target) if is_equal else None


def number_kind(dtype: str) -> str:
    """Numpy's letter for the numbers of a dtype of TensorFlow: "i" for quantized integers, too."""
    target = tf_protos.numpy_dtype(dtype)
    return _kind(target[0] if target.names else target)


def check_shape(tensor: str, shape: tuple[int, ...], static: Shape) -> None:
    """Raise InvalidArgument if a placeholder cannot have a shape."""
    if not are_compatible(shape, static):
        actual, expected = (drawn_shape(one) if one else "a scalar" for one in (shape, static))
        what = f"{tensor}: {'shape ' if shape else ''}"
        raise InvalidArgument(
            tensor, what + actual + " does not fit " + expected + "; give one that does."
        )


def _kind(dtype: np.dtype) -> str:
    """The kind of a dtype, see `ArraySpec`."""
    if dtype.kind != "V":
        return dtype.kind
    if dtype.names is not None:
        return dtype.names[0] if len(dtype.names) == 1 else "V"
    kind = _void_kind(dtype)
    if kind:
        return kind
    if dtype.name.startswith("int"):
        return "i"
    return "u" if dtype.name.startswith("uint") else "f"


def _void_kind(dtype: np.dtype) -> str:
    """The kind of elements of which only the size is known; "" for others."""
    if dtype.type is np.void and dtype.names is None and dtype.subdtype is None:
        return f"V{dtype.itemsize}"
    return ""


def _dtype_text(dtype: np.dtype) -> str:
    if dtype.kind in "SU":
        return "string"
    if _void_kind(dtype):
        return f"without a dtype, {dtype.itemsize} bytes each"
    return _kind(dtype) if dtype.names else dtype.name


def _kind_fits(kind: str, target: np.dtype) -> bool:
    expected = _kind(target)
    if not kind or kind == expected:
        return True
    if kind in _TEXT or expected in _TEXT:
        return kind in _TEXT and expected in _TEXT
    if kind.startswith("V"):  # files have no name of the dtypes that numpy does not know
        return target.kind == "V" and target.names is None and kind == f"V{target.itemsize}"
    rank = _RANKS["i"] if expected in _QUANTIZED else _RANKS.get(expected, -1)
    return kind in _RANKS and _RANKS[kind] <= rank
