"""What Python code knew of the originals and no NodeDef tells: copies are given it too."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import tensorflow as tf
from tensorflow.python.framework import dtypes

from tfgraphwidget.edits.proof import copy_handle_data

_HANDLES = frozenset({dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum})


def keep_static(graph: tf.Graph, pairs: Iterable[tuple[str, str]], origin: tf.Graph) -> None:
    """Give copies in `graph` what is known of their originals in `origin`; pairs are op names (original, copy).

    That is static shapes (`set_shape`; some ops, as `py_func`, cannot infer any), what resource handles hold, and the
    gradient function of a call of a `tf.function`.
    """
    holding: dict[str, bool] = {}
    find, find_original = graph._get_operation_by_name, origin._get_operation_by_name
    for original_name, copy_name in pairs:
        if ":" in copy_name:  # the tensor of a placeholder that stands for the original's, or another that does
            one, other = origin.get_tensor_by_name(original_name), graph.get_tensor_by_name(copy_name)
            if one.dtype.base_dtype in {dtypes.resource, dtypes.variant}:
                copy_handle_data(origin, one._as_tf_output(), graph, other._as_tf_output())
            continue
        copy, original = find(copy_name), find_original(original_name)
        op_type = copy.type
        holds = holding.get(op_type)
        if holds is None:
            holds = holding[op_type] = _may_hold_resources(graph, op_type)
        for k, tensor in enumerate(copy.outputs):
            shape = tensor._shape
            if (shape[1] or None in shape[0]) and original.outputs[k]._shape != shape:
                _keep_shape(original.outputs[k], tensor)
            if holds and tensor.dtype.base_dtype in {dtypes.resource, dtypes.variant}:
                copy_handle_data(origin, original._tf_output(k), graph, copy._tf_output(k))
        if original._gradient_function is not None and _call_the_same(original, copy):
            copy._gradient_function = original._gradient_function


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
    # Where they do not agree the copy reads something of another shape, and TensorFlow has inferred what that gives.
    with suppress(ValueError):
        copy.set_shape(original.shape)


def _call_the_same(original: tf.Operation, copy: tf.Operation) -> bool:
    """Whether both call one function: the gradient of a call goes with the function."""
    return "f" in original.node_def.attr and original.get_attr("f").name == copy.get_attr("f").name
