"""What Python code knew of the originals and no NodeDef tells: copies are given it too."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import tensorflow as tf
from tensorflow.python.framework import dtypes

from tfgraphwidget.runtime.sandbox.preflight import copy_handle_data

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_HOLDING = frozenset({dtypes.resource, dtypes.variant})
_HANDLES = frozenset(dtype.as_datatype_enum for dtype in _HOLDING)


def keep_static(graph: tf.Graph, pairs: Iterable[tuple[str, str]], origin: tf.Graph) -> None:
    """Give copies in `graph` what is known of their originals in `origin`; pairs are op names (original, copy).

    That is static shapes (`set_shape`; some ops, as `py_func`, cannot infer any), what resource handles hold, the
    gradient function of a call of a `tf.function`, and whose gradient an op computes. A pair of tensor names is of a
    tensor and what stands for it, which hold the same.
    """
    facts: dict[str, tuple[bool, bool]] = {}  # by op type: may hold resources, calls a function
    copies: dict[str, tf.Operation] = {}  # of the copy that is gone through, of which there may be several
    find, find_original = graph._get_operation_by_name, origin._get_operation_by_name
    for original_name, copy_name in pairs:
        if ":" in copy_name:
            _keep_handle_data(origin.get_tensor_by_name(original_name), graph.get_tensor_by_name(copy_name))
            continue
        copy = find(copy_name)
        copies[original_name] = copy
        forward = find_original(original_name)._original_op
        if forward is not None:  # which was made before
            copy._original_op = copies.get(forward.name, forward if graph is origin else None)
        op_type = copy.type
        if op_type not in facts:
            facts[op_type] = _may_hold_resources(graph, op_type), op_type in _CALLS
        holds, calls = facts[op_type]
        for tensor in copy.outputs:
            dims, is_unknown = tensor._shape
            if is_unknown or None in dims:
                _keep_shape(find_original(original_name).outputs[tensor.value_index], tensor)
            if holds and tensor.dtype in _HOLDING:
                _keep_handle_data(find_original(original_name).outputs[tensor.value_index], tensor)
        if calls:
            original = find_original(original_name)
            if original._gradient_function is not None and original.get_attr("f").name == copy.get_attr("f").name:
                copy._gradient_function = original._gradient_function  # of another function it would be another's


def _may_hold_resources(graph: tf.Graph, op_type: str) -> bool:
    """Whether ops of that type can have outputs that are resources or variants."""
    if op_type in graph._functions:
        return True
    definition = graph.op_def_for_type(op_type)
    open_types = {
        attribute.name
        for attribute in definition.attr
        if not attribute.allowed_values.list.type or not _HANDLES.isdisjoint(attribute.allowed_values.list.type)
    }
    return any(
        output.type in _HANDLES or output.type_attr in open_types or output.type_list_attr in open_types
        for output in definition.output_arg
    )


def _keep_shape(original: tf.Tensor, copy: tf.Tensor) -> None:
    if original._shape != copy._shape:
        # Where they do not agree the copy reads something of another shape, and TensorFlow has inferred which it is.
        with suppress(ValueError):
            copy.set_shape(original.shape)


def _keep_handle_data(original: tf.Tensor, copy: tf.Tensor) -> None:
    copy_handle_data(original.graph, original._as_tf_output(), copy.graph, copy._as_tf_output())
