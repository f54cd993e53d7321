"""Functions: those of a graph's library, bodies of calls, gradients, tf.functions and their
traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from inspect import Parameter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tfgraphwidget.tensorflow_modules import as_any, lazy_class, lazy_module, tf
from tfgraphwidget.tf_types import (
    ConcreteFunction,
    FunctionDefLibrary,
    LibraryFunction,
    NodeDef,
    Tensor,
)

trace_type = lazy_module("tensorflow.core.function.trace_type")
function_type = lazy_module("tensorflow.core.function.polymorphism.function_type")
c_api = lazy_module("tensorflow.python.client.pywrap_tf_session")
polymorphic_concrete_function = lazy_module(
    "tensorflow.python.eager.polymorphic_function.concrete_function"
)
function_type_utils = lazy_module(
    "tensorflow.python.eager.polymorphic_function.function_type_utils"
)
polymorphic_function = lazy_module(
    "tensorflow.python.eager.polymorphic_function.polymorphic_function"
)
tracing_compilation = lazy_module(
    "tensorflow.python.eager.polymorphic_function.tracing_compilation"
)
c_api_util = lazy_module("tensorflow.python.framework.c_api_util")
function = lazy_module("tensorflow.python.framework.function")
ops = lazy_module("tensorflow.python.framework.ops")
convert_to_constants = lazy_module("tensorflow.python.framework.convert_to_constants")
cond_v2 = lazy_module("tensorflow.python.ops.cond_v2")
control_flow_util_v2 = lazy_module("tensorflow.python.ops.control_flow_util_v2")
custom_gradient = lazy_module("tensorflow.python.ops.custom_gradient")
handle_data_util = lazy_module("tensorflow.python.ops.handle_data_util")
while_v2 = lazy_module("tensorflow.python.ops.while_v2")
function_deserialization = lazy_module("tensorflow.python.saved_model.function_deserialization")
Function = lazy_class(
    "tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function"
)
if TYPE_CHECKING:
    from tfgraphwidget.tf_types import FuncGraph as FuncGraph  # noqa: PLC0414  # others import it from here
else:
    FuncGraph = lazy_class("tensorflow.python.framework.func_graph", "FuncGraph")


def graph_functions(graph: tf.Graph) -> Mapping[str, LibraryFunction]:
    """Return the functions of the graph's library by name, as TensorFlow's Python objects.

    Private: `Graph._functions`. The public way is `as_graph_def()`, which writes the whole graph.
    """
    library: Mapping[str, Any] = graph._functions
    return library


def add_function(graph: tf.Graph, library_function: LibraryFunction) -> None:
    """Add a function of `functions_from_library` to the graph's library, and to nothing else.

    Private: `Graph._add_function`. The function's own `add_to_graph` enters it into the eager
    runtime, and only there.
    """
    graph._add_function(library_function)


def remove_function(graph: tf.Graph, name: str) -> None:
    """Remove a function from the graph's library.

    Private: `Graph._remove_function`. There is no public method.
    """
    graph._remove_function(name)


def functions_from_library(library: FunctionDefLibrary) -> list[LibraryFunction]:
    """Return the functions of a FunctionDefLibrary as TensorFlow's Python objects, in no graph yet.

    Private: `tensorflow.python.framework.function.from_library`. The public API loads functions by
    importing a graph.
    """
    return list(function.from_library(library))


def function_definition_bytes(library_function: LibraryFunction) -> bytes | None:
    """Return the FunctionDef of a TensorFlow 1 function as bytes; None for other kinds of
    functions.

    Private: `function._DefinedFunction`, `_DefinedFunction._c_func`, the C API. Its public
    `definition` enters the function into the eager runtime too, where there may be another one of
    its name.
    """
    if isinstance(library_function, function._DefinedFunction):
        function_handle = library_function._c_func
    else:
        function_handle = None
    if function_handle is None:
        return None
    with c_api_util.tf_buffer() as buffer, function_handle.get() as c_function:
        c_api.TF_FunctionToFunctionDef(c_function, buffer)
        return bytes(c_api.TF_GetBuffer(buffer))


gradient_function: Callable[[tf.Operation], Callable[..., object] | None] = attrgetter(
    "_gradient_function"
)
"""The function that computes the gradient of a call of a tf.function, or None.

Private: `Operation._gradient_function`. There is no public attribute."""


def set_gradient_function(operation: tf.Operation, gradient: Callable[..., object] | None) -> None:
    """Set the function that computes the gradient of a call of a function.

    Args:
        gradient: What computes the gradient; None for TensorFlow's own.

    Private: `Operation._gradient_function`. TensorFlow sets it while it makes the call.
    """
    as_any(operation)._gradient_function = gradient


_BODY_GRAPHS = {
    "cond": "_cond_graph",
    "body": "_body_graph",
    "then_branch": "_true_graph",
    "else_branch": "_false_graph",
}


def _body_graph_field(label: str) -> str:
    """Return the field of an op for the graph of a function; `label` is the attribute, or
    "branches[1]".

    Private: `Operation._branch_graph_0` and the like. See `body_graph`.
    """
    return _BODY_GRAPHS.get(label) or f"_branch_graph_{label.rstrip(']').partition('[')[2]}"


def body_graph(operation: tf.Operation, label: str) -> FuncGraph | None:
    """The FuncGraph of a loop's or a conditional's function that gradients are computed of; None if
    there is none.

    Args:
        label: Which of the functions that the op calls.

    Private: `Operation._body_graph` and the like. There is no public attribute.
    """
    return getattr(operation, _body_graph_field(label), None)


def set_body_graph(operation: tf.Operation, label: str, graph: FuncGraph) -> None:
    """Set what `body_graph` returns.

    Args:
        operation: A loop or a conditional.
        label: Which of its functions, as `called_functions` labels them.
        graph: The FuncGraph; None lets TensorFlow make one of the library's function when it needs
            one.

    Private: `Operation._body_graph` and the like, which `tf.while_loop` and `tf.cond` set.
    """
    setattr(operation, _body_graph_field(label), graph)


def function_graph(
    operation: tf.Operation, shapes: Sequence[tf.TensorShape], name: str
) -> FuncGraph:
    """Return a FuncGraph of a function that an op calls.

    Args:
        operation: The op. The library of its graph has the function.
        shapes: The shapes of the inputs of the FuncGraph.

    Private: `control_flow_util_v2.get_func_graph`. Public functions trace Python, and read no
    library.
    """
    graph: FuncGraph = control_flow_util_v2.get_func_graph(operation, shapes, name)
    return graph


def load_functions(library: FunctionDefLibrary) -> dict[str, ConcreteFunction]:
    """Return a ConcreteFunction for each FunctionDef of a FunctionDefLibrary, by the FunctionDef's
    name.

    Raises:
        ValueError: A function calls itself, or TensorFlow cannot load one.

    Private: `function_deserialization.load_function_def_library`. Public is `tf.saved_model.load`,
    of a folder.
    """
    loaded: dict[str, ConcreteFunction] = function_deserialization.load_function_def_library(
        library
    )
    return loaded


def rename_called_functions(
    node: NodeDef, functions: Mapping[str, ConcreteFunction], suffix: str
) -> None:
    """Change a NodeDef to call functions of `load_functions`, and rename the state that it shares.

    Args:
        functions: The functions of `load_functions`, by the name that the NodeDef calls.
        suffix: What to append to the names of shared state.

    Private: `function_deserialization.fix_node_def`. See `load_functions`.
    """
    function_deserialization.fix_node_def(node, functions, suffix)


def new_gradient_name() -> str:
    """Return a name for a gradient that no other tf.custom_gradient has.

    Private: `custom_gradient.generate_name`. It must differ from TensorFlow's own names.
    """
    return str(custom_gradient.generate_name())


def registered_gradient(name: str) -> Callable[..., object] | None:
    """Return the gradient function that is registered for an op type or under a name; None for "not
    differentiable".

    Raises:
        LookupError: There is none.

    Private: `ops.gradient_registry`. `tf.RegisterGradient` adds to it; nothing public reads it.
    """
    function: Callable[..., object] | None = ops.gradient_registry.lookup(name)
    return function


def concrete_function(graph: FuncGraph, attributes: Mapping[str, object]) -> ConcreteFunction:
    """Return the ConcreteFunction of a FuncGraph, with these attributes of its FunctionDef.

    Private: `ConcreteFunction.from_func_graph`, `function_type_utils.derive_from_graph`. Public
    functions trace Python.
    """
    signature = function_type_utils.derive_from_graph(graph)
    function: ConcreteFunction = polymorphic_concrete_function.ConcreteFunction.from_func_graph(
        graph, signature, attributes
    )
    return function


def call_gradient_function(concrete: ConcreteFunction) -> Any:
    """Return what computes the gradient of a call of a ConcreteFunction, for
    `set_gradient_function`.

    Private: `ConcreteFunction._get_gradient_function`. TensorFlow sets it while it makes the call.
    """
    return concrete._get_gradient_function()


def attach_body_graphs(operations: Iterable[tf.Operation]) -> None:
    """Let ops that run functions know these functions' graphs, as ops do that Python code made.

    TensorFlow makes the graphs of a loop's or a conditional's functions again for a gradient if it
    does not find them at the op. What their resources hold gets lost in those that are nested, and
    so does the gradient: a loop in a loop has the gradient 0. Here each graph knows its resources
    before the graphs in it are made.

    Private: `while_v2._get_graph`, `cond_v2.get_func_graphs` and `_copy_handle_data`,
    `handle_data_util.copy_handle_data`, `_body_graph`, `_cond_graph`, `_true_graph`,
    `_false_graph`, `_branch_graph_0` and so on. Public gradients take what they find there.
    """
    for op in operations:
        if op.type in ("While", "StatelessWhile") and not hasattr(op, "_body_graph"):
            for label in ("cond", "body"):
                graph = while_v2._get_graph(op, label, f"_{label}_graph")
                setattr(op, f"_{label}_graph", graph)
                _attach_inside(graph, op.inputs)
            _copy_handle_data(op.inputs, op.outputs)
        elif op.type in ("If", "StatelessIf", "Case", "StatelessCase") and not _branch_names(op)[1]:
            graphs = cond_v2.get_func_graphs(op)
            for name, graph in zip(_branch_names(op)[0], graphs, strict=False):
                setattr(op, name, graph)
            for graph in graphs:
                _attach_inside(graph, op.inputs[1:])
            # What the branches hold differs where TensorFlow has added what gradients need of each.
            cond_v2._copy_handle_data(op.outputs, *(graph.outputs for graph in graphs))
        elif op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            called = _called_function(op)
            body = getattr(called, "graph", None)
            if body is not None:
                # The gradient of a loop asks the loop's body from which argument a call in it has a
                # resource.
                add_function(op.graph, called)
                _attach_inside(body, op.inputs)
                _copy_handle_data(body.outputs, op.outputs)
        elif op.type in ("Identity", "IdentityN"):
            _copy_handle_data(op.inputs, op.outputs)


def _called_function(op: tf.Operation) -> Any:
    """Return the function that a call runs, which a graph around it may have; None if no graph has
    it.

    Private: `Graph._get_function`. See `attach_body_graphs`.
    """
    graph: Any = op.graph
    while graph is not None:
        called = graph._get_function(op.get_attr("f").name)
        if called is not None:
            return called
        graph = getattr(graph, "outer_graph", None)
    return None


def _branch_names(op: tf.Operation) -> tuple[tuple[str, ...], bool]:
    """Return the attributes for the graphs of a conditional's branches, and whether the op has
    them.

    Private: `_true_graph`, `_false_graph`, `_branch_graph_0` and so on. See `attach_body_graphs`.
    """
    names: tuple[str, ...] = ("_true_graph", "_false_graph")
    if op.type in ("Case", "StatelessCase"):
        names = tuple(f"_branch_graph_{k}" for k in range(len(op.get_attr("branches"))))
    return names, all(hasattr(op, name) for name in names)


def _attach_inside(graph: FuncGraph, inputs: Iterable[Tensor]) -> None:
    """Do the same in the graph of a function that gets these inputs.

    Private: as `attach_body_graphs`, see there.
    """
    _copy_handle_data(inputs, graph.inputs)
    attach_body_graphs(graph.get_operations())


def _copy_handle_data(sources: Iterable[Tensor], targets: Iterable[Tensor]) -> None:
    """Let resources and variants be known to hold what others hold, each in its place.

    Private: `handle_data_util.copy_handle_data`, see `attach_body_graphs`.
    """
    for source, target in zip(sources, targets, strict=False):
        if source.dtype in (tf.resource, tf.variant) and source.dtype == target.dtype:
            handle_data_util.copy_handle_data(source, target)


def call_with_captures(
    concrete: ConcreteFunction, arguments: Sequence[Tensor], captured: Sequence[Tensor]
) -> Any:
    """Call a ConcreteFunction with other tensors than those that it captured.

    Args:
        captured: The tensors to use as captured ones, in the order of `captured_inputs`.

    Private: `ConcreteFunction._call_flat`. Public calls pass its own captured tensors.
    """
    return concrete._call_flat(arguments, captured)


def traces(polymorphic: Any) -> list[ConcreteFunction]:
    """Return the ConcreteFunctions that a tf.function has traced, or was loaded with, in their
    order.

    Private: `Function._function_cache`, `RestoredFunction.concrete_functions`. The public list
    (`_list_all_concrete_functions`) is private too.
    """
    return list(polymorphic._function_cache.values()) or list(
        getattr(polymorphic, "concrete_functions", ())
    )


@cache
def _function_by_type() -> Any:
    """Return a class of tf.functions whose traces are found by types alone: a signature is of
    positional arguments.

    Private: `TracingOptions`, `Function._generate_tracing_options`,
    `FunctionSpec._input_signature`. See `typed_function`.
    """

    class OptionsByType(tracing_compilation.TracingOptions):  # type: ignore[misc,name-defined]
        """Options under which a trace is found by types alone."""

        input_signature = None

    class FunctionByType(polymorphic_function.Function):  # type: ignore[misc,name-defined]
        """A tf.function with such options."""

        input_signature = None

        @property
        def function_spec(self) -> Any:
            """The function spec that `tf.saved_model.save` writes."""
            spec = super().function_spec
            spec._input_signature = None
            return spec

        def _generate_tracing_options(self, fn: object, scope_type: object) -> object:
            options = super()._generate_tracing_options(fn, scope_type)
            # each copy that TensorFlow makes of them reads the signature again
            options.__class__ = OptionsByType
            return options

    return FunctionByType


def typed_function(
    body: Callable[..., object], parameters: Sequence[Parameter], specs: Mapping[str, object]
) -> Any:
    """Return a tf.function of `body` with these parameters, which has one trace only.

    Args:
        specs: What each takes: a nested structure of TensorSpecs, or the one Python value.

    Private: `Function._function_type`, `_default_values`, `FunctionType`. An `input_signature`
    takes neither Python values nor keyword-only parameters without defaults.
    """
    types = trace_type.InternalTracingContext(is_legacy_signature=True)
    by_type = any(p.kind is p.KEYWORD_ONLY for p in parameters)
    new_function = (_function_by_type() if by_type else polymorphic_function.Function)(
        body, body.__name__, autograph=False
    )
    typed_parameters = [(p, trace_type.from_value(specs[p.name], types)) for p in parameters]
    typed = [
        function_type.Parameter(p.name, p.kind, p.default is not p.empty, kind)
        for p, kind in typed_parameters
    ]
    new_function._function_type = function_type.FunctionType(typed)
    new_function._default_values = {
        p.name: p.default for p in parameters if p.default is not p.empty
    }
    return new_function


def freeze_function(concrete: ConcreteFunction) -> ConcreteFunction:
    """Return a ConcreteFunction with constants in place of variables, and its control flow as it
    is.

    Private: `convert_variables_to_constants_v2`. Public is a converter for TensorFlow Lite only.
    """
    freeze = convert_to_constants.convert_variables_to_constants_v2
    function: ConcreteFunction = freeze(concrete, lower_control_flow=False)
    return function
