"""Copies properties of ops that no NodeDef has, such as static shapes that Python code has set."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from tfgraphwidget.graph import FUNCTION_CALLS, FUNCTIONAL_CONTROL_FLOW
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    attach_body_graphs,
    c_end,
    copy_handle_data,
    forward_operation,
    gradient_function,
    operation_finder,
    set_forward_operation,
    set_gradient_function,
    static_dimensions,
)


def copy_static_attributes(
    graph: tf.Graph, pairs: Iterable[tuple[str, str]], origin: tf.Graph
) -> None:
    """Copy properties that NodeDefs do not have from originals to copies.

    These are static shapes (`set_shape`; some ops, such as `py_func`, cannot infer any), dtypes and
    shapes of resource handles, the gradient function of a call of a `tf.function`, and the op whose
    gradient an op computes.

    Args:
        pairs: Op names (original, copy). A pair of tensor names is a tensor and its replacement,
            which hold the same.
    """
    # The ops of the copies so far, by name.
    copies: dict[str, tf.Operation] = {}
    find, find_original = operation_finder(graph), operation_finder(origin)
    for original_name, copy_name in pairs:
        if ":" in copy_name:
            _copy_handle_data(
                origin.get_tensor_by_name(original_name), graph.get_tensor_by_name(copy_name)
            )
            continue
        copy, original = find(copy_name), find_original(original_name)
        copies[original_name] = copy
        forward = forward_operation(original)
        if forward is not None:  # which was made before
            set_forward_operation(
                copy, copies.get(forward.name, forward if graph is origin else None)
            )
        for k, tensor in enumerate(copy.outputs):
            dims, is_unknown = shape = static_dimensions(tensor)
            if is_unknown or None in dims:
                _copy_shape(original.outputs[k], tensor, shape)
            dtype = tensor.dtype
            if dtype is tf.resource or dtype is tf.variant:  # there is one object of each dtype
                _copy_handle_data(original.outputs[k], tensor)
        gradient = gradient_function(original)
        if (
            gradient is not None
            and copy.type in FUNCTION_CALLS
            and original.get_attr("f").name == copy.get_attr("f").name
        ):
            set_gradient_function(copy, gradient)  # of another function it would be another's
    attach_body_graphs([copy for copy in copies.values() if copy.type in FUNCTIONAL_CONTROL_FLOW])


def _copy_shape(original: tf.Tensor, copy: tf.Tensor, shape: tuple[list[int | None], bool]) -> None:
    if static_dimensions(original) != shape:
        # Where they do not agree the copy reads something of another shape, and TensorFlow has
        # inferred which it is.
        with suppress(ValueError):
            copy.set_shape(original.shape)


def _copy_handle_data(original: tf.Tensor, copy: tf.Tensor) -> None:
    source, target = (c_end(tensor.op, tensor.value_index) for tensor in (original, copy))
    copy_handle_data(original.graph, source, copy.graph, target)
