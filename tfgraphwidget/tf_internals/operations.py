"""Ops and tensors: what they have beside the public attributes, and changes in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from tfgraphwidget.tensorflow_modules import as_any, tf
from tfgraphwidget.tf_types import AttrValue, Operation, Tensor

_cached_inputs: Callable[[tf.Operation], Any] = attrgetter("_inputs_val")

operation_number: Callable[[tf.Operation], int] = attrgetter("_id")
"""The number of an op in its graph, in the order in which ops were made.

Private: `Operation._id`. `Graph.get_operations` has the same order, but takes as long as the graph
is large.
"""

forward_operation: Callable[[tf.Operation], Operation | None] = attrgetter("_original_op")
"""The op whose gradient an op computes, or None.

Private: `Operation._original_op`. `tf.errors.OpError` shows it; there is no public attribute."""

static_dimensions: Callable[[tf.Tensor], tuple[list[int | None], bool]] = attrgetter("_shape")
"""The static shape that the C graph knows: (sizes or None for each dimension, whether the rank is
unknown).

Private: `Tensor._shape`. `Tensor.shape` is what Python code has set, and makes an object.
"""


def set_forward_operation(operation: tf.Operation, forward: tf.Operation | None) -> None:
    """Set the op whose gradient an op computes.

    Args:
        forward: The op of the forward pass; None for none.

    Private: `Operation._original_op`, which only `Graph._original_op` sets while ops are made.
    """
    as_any(operation)._original_op = forward


def is_reference(dtype: tf.DType) -> bool:
    """Whether a dtype is a reference to a TensorFlow 1 variable (`float32_ref`).

    Private: `DType._is_ref_dtype`. The public `base_dtype` and `name` say it by a comparison.
    """
    return bool(dtype._is_ref_dtype)


def takes_reference(operation: tf.Operation, k: int) -> bool:
    """Whether input `k` of an op must be a variable itself, as for an op that assigns.

    Private: `Operation._input_types`, `DType._is_ref_dtype`. The tensor that the op reads may be a
    reference where none is asked for.
    """
    return bool(operation._input_types[k]._is_ref_dtype)


def control_outputs(operation: tf.Operation) -> list[tf.Operation]:
    """Return the ops that wait for an op, in the order in which they were made.

    Private: `Operation._control_outputs`, which lists them by address. The public API has only
    `control_inputs`.
    """
    return sorted(operation._control_outputs, key=operation_number)


def control_edges(operations: Iterable[tf.Operation]) -> frozenset[tuple[int, int]]:
    """Return the control edges that start at these ops, as pairs of `operation_number`: (first, the
    op that waits).

    Private: `Operation._control_outputs`, `Operation._id`. See `control_outputs`.
    """
    return frozenset((op._id, waiting._id) for op in operations for waiting in op._control_outputs)


def input_tuples(operations: Sequence[tf.Operation]) -> list[Sequence[Tensor]]:
    """Return the `inputs` of each op; the same object for an op as long as its inputs are not
    changed.

    Private: `Operation._inputs_val`, the cache of `Operation.inputs`; reading it takes half the
    time.
    """
    cached_inputs = list(map(_cached_inputs, operations))
    return [
        op.inputs if cached is None else cached
        for op, cached in zip(operations, cached_inputs, strict=True)
    ]


def update_input(operation: tf.Operation, k: int, tensor: tf.Tensor) -> None:
    """Connect an input of an op to another tensor. Sessions that have run the op ignore the change.

    Raises:
        ValueError, tf.errors.InvalidArgumentError: TensorFlow refuses the tensor.

    Private: `Operation._update_input`. The public API cannot change an edge.
    """
    operation._update_input(k, tensor)


def set_control_inputs(operation: tf.Operation, control_inputs: Sequence[tf.Operation]) -> None:
    """Set the control inputs of an op, in place of those that it has.

    Private: `Operation._remove_all_control_inputs`, `Operation._add_control_inputs`. The public API
    cannot change an edge.
    """
    operation._remove_all_control_inputs()
    operation._add_control_inputs(control_inputs)


def add_control_inputs(operation: tf.Operation, control_inputs: Sequence[tf.Operation]) -> None:
    """Add control inputs to an op.

    Private: `Operation._add_control_inputs`. The public API cannot change an edge.
    """
    operation._add_control_inputs(control_inputs)


def set_device(operation: tf.Operation, device: str) -> None:
    """Pin an op to a device, or to none with "".

    Private: `Operation._set_device`. `Operation.device` cannot be set.
    """
    operation._set_device(device)


def set_attribute(operation: tf.Operation, name: str, value: AttrValue) -> None:
    """Set an attribute of an op.

    Private: `Operation._set_attr`. Attributes are public to read only.
    """
    operation._set_attr(name, value)


def clear_attribute(operation: tf.Operation, name: str) -> None:
    """Remove an attribute of an op.

    Private: `Operation._clear_attr`. Attributes are public to read only.
    """
    operation._clear_attr(name)


def replace_python_shape(tensor: tf.Tensor, shape: Sequence[int | None] | None) -> None:
    """Set the static shape of a tensor's Python object; the C graph keeps its own.

    Private: `Tensor._shape_val`. `Tensor.set_shape` merges with the shape that is known, and
    refuses another.
    """
    as_any(tensor)._shape_val = as_any(tf.TensorShape)(shape)
