"""How TensorFlow differentiates an op whose function was exchanged for an edited one.

An op that calls functions says in its attributes which, and `Session.run` goes by that.
`tf.gradients` does not: it asks the op's Python object, which still has the graphs of the functions
that the op was made with. It would compute the gradient of the old function, and even let the op
call the old one again
(test_tensorflow_facts.py::test_the_gradient_of_a_call_goes_by_what_python_knows_of_it). So Python's
side is exchanged with the function, and comes back with it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence

from tfgraphwidget.edits import NodeChange
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    FIRST_INPUT_FORWARDING,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    PORTWISE_FORWARDING,
    WHILE_LOOPS,
    called_functions,
)
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import function_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    body_graph,
    call_gradient_function,
    concrete_function,
    copy_tensor_handle_data,
    function_graph,
    gradient_function,
    graph_functions,
    registered_gradient,
    set_body_graph,
    set_gradient_function,
)
from tfgraphwidget.tf_types import FuncGraph, FunctionDef, LibraryFunction, NodeDef

_DIFFERENTIATED = FUNCTION_CALLS | FUNCTIONAL_CONTROL_FLOW


def check_calls(graph: tf.Graph, changed: Iterable[NodeChange]) -> None:
    """Raise GraphEditError for an op that TensorFlow lets call another function by now."""
    functions = graph_functions(graph)
    for edited in changed:
        names_before = _function_names(edited.before, functions)
        if names_before == _function_names(edited.after, functions):
            continue
        now = _function_names(graph.get_operation_by_name(edited.name).node_def, functions)
        if now != names_before:
            raise GraphEditError(
                either("tf.gradients", "TensorFlow")
                + f" has differentiated op {edited.name!r} since, and let it call {', '.join(now)} "
                "in place of "
                f"{', '.join(names_before)}; "
                + either("call editor.source.reload()", "refresh the graph")
                + " to edit what it calls now.",
                [edited.name],
            )


def follow_calls(graph: tf.Graph, edited: NodeChange) -> None:
    """Exchange what Python knows of the functions of an op, after its attributes were changed."""
    functions = graph_functions(graph)
    was, now = _function_names(edited.before, functions), _function_names(edited.after, functions)
    if was == now or edited.after.op not in _DIFFERENTIATED:
        return
    calls, op = record_of(graph).call_gradients, graph.get_operation_by_name(edited.name)
    labels = [called.label for called in called_functions(edited.before, functions)]
    calls[op.name, was] = gradient_function(op), {label: body_graph(op, label) for label in labels}
    gradient, graphs = calls.get((op.name, now), (CallGradient(), dict.fromkeys(labels)))
    set_gradient_function(op, gradient)
    for label, graph_of_body in graphs.items():
        set_body_graph(op, label, graph_of_body)


def follow_new_calls(
    graph: tf.Graph, nodes: Iterable[NodeDef], functions: Mapping[str, FunctionDef]
) -> None:
    """Set how new ops that call new functions are differentiated; others stay as they are."""
    for node in nodes if functions else ():
        if node.op in _DIFFERENTIATED and called_functions(node, functions):
            set_gradient_function(graph.get_operation_by_name(node.name), CallGradient())


def _function_names(node: NodeDef, functions: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(called.function for called in called_functions(node, functions))


class CallGradient:
    """Computes the gradient of an op from the functions it calls, in its graph's library."""

    def __init__(self) -> None:
        self._gradient: Callable[..., object] | None = None

    def __call__(self, op: tf.Operation, *gradients: object) -> object:
        """The gradients of an op's inputs, given those of its outputs."""
        if self._gradient is None:
            self._gradient = (
                _gradient_of_call(op) if op.type in FUNCTION_CALLS else _gradient_of_branches(op)
            )
        return self._gradient(op, *gradients)


def _library(graph: FuncGraph | None) -> Mapping[str, LibraryFunction]:
    """The functions that a graph's ops can call, by name, also those of graphs around it."""
    graphs = []
    while graph is not None:
        graphs.append(graph)
        graph = getattr(graph, "outer_graph", None)
    return ChainMap(*(dict(graph_functions(graph)) for graph in graphs))


def _gradient_of_call(op: tf.Operation) -> Callable[..., object]:
    """Return a function that computes the gradient of the function that an op calls."""
    name = op.get_attr("f").name
    graph = _graph_of(op, name, list(op.inputs), [tensor.shape for tensor in op.inputs])
    attributes = dict(function_definition(_library(op.graph)[name]).attr)
    gradient: Callable[..., object] = call_gradient_function(concrete_function(graph, attributes))
    return gradient


def _gradient_of_branches(op: tf.Operation) -> Callable[..., object]:
    """Make the graphs of a block's functions; return TensorFlow's gradient of the op."""
    is_loop = op.type in WHILE_LOOPS
    inputs = list(op.inputs) if is_loop else list(op.inputs)[1:]
    if is_loop:
        shapes = list(map(tf.TensorShape, op.get_attr("output_shapes")))
    else:
        shapes = [t.shape for t in inputs]
    for called in called_functions(op.node_def, _library(op.graph)):
        if body_graph(op, called.label) is None:
            set_body_graph(op, called.label, _graph_of(op, called.function, inputs, shapes))
    gradient = registered_gradient(op.type)
    assert gradient is not None  # TensorFlow has one for each op type of `_DIFFERENTIATED`
    return gradient


def _graph_of(
    op: tf.Operation, function: str, inputs: Sequence[tf.Tensor], shapes: Sequence[tf.TensorShape]
) -> FuncGraph:
    """A FuncGraph of a function that `op` calls with these inputs, whose own calls are
    differentiated in this way too.

    What resources hold is known of the inputs alone, and handed on to where the ops pass the
    resources.
    """
    graph = function_graph(op, shapes, function)
    for outside, inside in zip(inputs, graph.inputs, strict=True):
        _copy_handle_data(outside, inside)
    for inner in graph.get_operations():
        for k, output in enumerate(inner.outputs):
            if inner.type in FIRST_INPUT_FORWARDING or inner.type in PORTWISE_FORWARDING:
                _copy_handle_data(
                    inner.inputs[k if inner.type in PORTWISE_FORWARDING else 0], output
                )
        if inner.type in _DIFFERENTIATED:
            set_gradient_function(inner, CallGradient())
    return graph


def _copy_handle_data(source: tf.Tensor, target: tf.Tensor) -> None:
    if source.dtype == target.dtype and source.dtype in (tf.resource, tf.variant):
        copy_tensor_handle_data(source, target)
