"""Copying or mixing one variable: the ops, the same in numpy, and the distance of two values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.tensorflow_modules import tf


def handle_of(graph: tf.Graph, variable: VariableDef) -> tf.Tensor:
    """Return the tensor that a variable's ops read: its handle or its reference."""
    return graph.get_tensor_by_name(variable.name)


def shape_of(handle: tf.Tensor) -> tf.TensorShape:
    """Return the static shape of a variable's value."""
    if handle.dtype == tf.resource:
        return tf.TensorShape(handle.op.get_attr("shape"))
    return handle.shape


def dtype_of(handle: tf.Tensor) -> tf.DType:
    """Return the dtype of a variable's value."""
    dtype: tf.DType = handle.op.get_attr("dtype")
    return dtype


def check_alike(
    names: tuple[str, str],
    shapes: tuple[tf.TensorShape, tf.TensorShape],
    dtypes: tuple[tf.DType, tf.DType],
    handles: Sequence[str],
) -> None:
    """Raise GraphEditError, naming both, where the shapes or dtypes of an original and a copy
    differ.
    """
    for what, ours, theirs, agree in (
        ("shape", *shapes, shapes[0].is_compatible_with(shapes[1])),
        ("dtype", dtypes[0].name, dtypes[1].name, dtypes[0] == dtypes[1]),
    ):
        if not agree:
            raise GraphEditError(
                f"Variable {names[0]!r} has {what} {ours} and cannot be copied to {names[1]!r} of "
                f"{what} {theirs}; leave it out: name the variables that belong together.",
                handles,
            )


def is_mixed(dtype: tf.DType) -> bool:
    """Return whether values of a dtype can be mixed; others are copied."""
    return bool(dtype.is_floating or dtype.is_complex)


def _mixing_dtype(dtype: tf.DType) -> tf.DType:
    """Return the dtype to mix in: 0.005 is inexact in a dtype of two bytes."""
    return tf.float32 if dtype.size < 4 else dtype


def _read_now(handle: tf.Tensor) -> tf.Tensor:
    """Return the value at the time of the run, not a caching device's earlier one."""
    with tf.device(handle.device):
        if handle.dtype == tf.resource:
            value: tf.Tensor = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype_of(handle))
        else:
            value = tf.identity(handle)
    return value


def new_value(original: tf.Tensor, copy: tf.Tensor, tau: tf.Tensor | None) -> tf.Tensor:
    """Return the new value of a copy.

    Args:
        tau: The share of the original's value, a scalar tensor of float64 or another number dtype;
            None to copy.
    """
    value, shape, dtype = _read_now(original), shape_of(copy), dtype_of(copy)
    rank: int | None = shape.rank  # always an int according to types-tensorflow
    with tf.device(copy.device):
        if rank is not None:
            # An assign with validate_shape=False may have changed it.
            value = tf.ensure_shape(value, shape)
        if tau is None or not is_mixed(dtype):
            return value
        old, new = (tf.cast(x, _mixing_dtype(dtype)) for x in (_read_now(copy), value))
        mean: tf.Tensor = tf.cast(old + tf.cast(tau, _mixing_dtype(dtype)) * (new - old), dtype)
        return mean


def assign_op(copy: tf.Tensor, value: tf.Tensor) -> tf.Operation:
    """Return the op that assigns a value to a copy, on the copy's device."""
    with tf.device(copy.device):
        if copy.dtype == tf.resource:
            operation: tf.Operation = tf.raw_ops.AssignVariableOp(resource=copy, value=value)
        else:
            operation = tf.compat.v1.assign(
                copy, value, validate_shape=copy.shape.is_fully_defined()
            ).op
    return operation


def mix_arrays(old: object, new: object, tau: float, dtype: tf.DType) -> np.ndarray:
    """Return what the op of `new_value` computes, in numpy."""
    within = _mixing_dtype(dtype).as_numpy_dtype
    start, end = (np.asarray(value).astype(within) for value in (old, new))
    mixture: np.ndarray = (start + np.asarray(tau, within) * (end - start)).astype(
        dtype.as_numpy_dtype
    )
    return mixture


def distance(a: npt.ArrayLike, b: npt.ArrayLike, dtype: tf.DType) -> float:
    """Return the largest absolute difference of two elements; inf for other shapes, and 0.0 or 1.0
    for booleans and strings.
    """
    one, other = np.asarray(a), np.asarray(b)
    if one.shape != other.shape:
        return math.inf
    differ = one != other
    if not (is_mixed(dtype) or dtype.is_integer):
        return float(differ.any())
    wide = np.complex128 if dtype.is_complex else np.float64
    one, other = one[differ].astype(wide), other[differ].astype(wide)
    both_nan = np.isnan(one) & np.isnan(other)
    if both_nan.all():  # or nothing differs
        return 0.0
    far = float(np.abs(one[~both_nan] - other[~both_nan]).max())
    return math.inf if math.isnan(far) else far
