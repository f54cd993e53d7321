"""Graphs of the C API, which have no Python objects for their ops."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tfgraphwidget.tensorflow_modules import lazy_module, tf
from tfgraphwidget.tf_types import LibraryFunction

c_api = lazy_module("tensorflow.python.client.pywrap_tf_session")
c_api_util = lazy_module("tensorflow.python.framework.c_api_util")
handle_data_util = lazy_module("tensorflow.python.ops.handle_data_util")

_NO_INPUTS: Mapping[tuple[str, int], object] = MappingProxyType({})


def new_c_graph() -> object:
    """Return an empty graph of the C API; its `new_operations()` lists its ops.

    Private: `pywrap_tf_session.PyGraph`. A tf.Graph has a Python object for each op, most of what
    an import costs.
    """
    return c_api.PyGraph()


def graph_def_bytes(graph: tf.Graph) -> bytes:
    """Return the GraphDef of a tf.Graph as bytes.

    Private: `Graph._lock`, `Graph._c_graph`, the C API. The public `as_graph_def` makes a message
    of them, which takes as much memory again and more.

    Raises:
        tf.errors.OpError: TensorFlow cannot write the graph.
    """
    if not hasattr(c_api, "TF_GraphToGraphDef"):
        serialized: bytes = graph.as_graph_def().SerializeToString()
        return serialized
    with graph._lock, c_api_util.tf_buffer() as buffer, graph._c_graph.get() as c_graph:
        c_api.TF_GraphToGraphDef(c_graph, buffer)
        return bytes(c_api.TF_GetBuffer(buffer))


def import_serialized(
    graph: Any, serialized: bytes, input_map: Mapping[tuple[str, int], object] = _NO_INPUTS
) -> None:
    """Add the ops of a serialized GraphDef to a tf.Graph or a graph of the C API; Python objects
    are not made.

    Args:
        serialized: The bytes of a GraphDef, whose nodes have all attributes.
        input_map: (op, output) that the nodes read → the C output of the graph to read instead;
            (op, -1) for a control input → a C op.

    Raises:
        tf.errors.OpError: TensorFlow refuses; the graph has no new ops.

    Private: the C API. `tf.import_graph_def` fills in attributes, cannot map control inputs to ops
    without outputs, and overwrites devices of colocated ops.
    """
    options = c_api_util.ScopedTFImportGraphDefOptions()
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
    for (name, port), end in input_map.items():
        if port < 0:
            c_api.TF_ImportGraphDefOptionsRemapControlDependency(options.options, name, end)
        else:
            c_api.TF_ImportGraphDefOptionsAddInputMapping(options.options, name, port, end)
    buffer = c_api.TF_NewBufferFromString(serialized)
    try:
        results = c_api.TF_GraphImportGraphDefWithResults(graph, buffer, options.options)
        c_api_util.ScopedTFImportGraphDefResults(results)
    finally:
        c_api.TF_DeleteBuffer(buffer)


def copy_function(graph: Any, library_function: LibraryFunction) -> None:
    """Add a function of a graph's library to a graph of the C API.

    Private: `_c_func` of functions, the C API. The public API knows no graphs of the C API.
    """
    with library_function._c_func.get() as c_function:
        c_api.TF_GraphCopyFunction(graph, c_function, None)


def new_c_operations(graph: Any) -> dict[str, object]:
    """Return the ops of a graph that have no Python objects, by name; of a graph of the C API all.

    Private: `PyGraph.new_operations`, `TF_OperationName`. See `new_c_graph`.
    """
    return {
        c_api.TF_OperationName(c_operation): c_operation for c_operation in graph.new_operations()
    }


def output_of_c_operation(c_operation: object, port: int) -> Any:
    """Return the C output of a C op.

    Private: `TF_Output`. See `new_c_graph`.
    """
    output = c_api.TF_Output()
    output.oper, output.index = c_operation, port
    return output


def c_end(operation: tf.Operation, port: int) -> Any:
    """Return what the C API calls an output of an op, or for port -1 the op.

    Private: `Operation._tf_output`, `Operation._c_op`. The C API takes nothing else.
    """
    return operation._c_op if port < 0 else operation._tf_output(port)


def copy_handle_data(graph: Any, output: object, other: object, copy: object) -> None:
    """Copy the dtypes and shapes of the resources that a C output holds, if TensorFlow knows them.

    Args:
        graph: The C graph, or tf.Graph, of `output`.
        other: The C graph, or tf.Graph, of `copy`.

    Private: `GetHandleShapeAndType`, `SetHandleShapeAndType` of the C API. Public shapes are those
    of the handle only.
    """
    handle_data = c_api.GetHandleShapeAndType(graph, output)
    if handle_data:
        c_api.SetHandleShapeAndType(other, copy, handle_data)


def copy_tensor_handle_data(source: tf.Tensor, target: tf.Tensor) -> None:
    """Copy the dtypes and shapes of the resources that a tensor holds to a placeholder for it.

    Private: `handle_data_util.copy_handle_data`, which takes the data of eager handles too. See
    `copy_handle_data`.
    """
    handle_data_util.copy_handle_data(source, target)
