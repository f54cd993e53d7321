"""The ops and library functions of an excerpt, brought into the function that is being traced.

Gradients are what makes this more than an import. TensorFlow finds the gradient of a call under a
name that it gave when it traced the call, and which represents that one call: here every function
that is called is loaded again, under a name of its own, and each call gets the gradient of what
it calls, as `tf.saved_model.load` does it
(test_tensorflow_facts.py::test_an_imported_call_has_the_gradient_of_the_function_that_it_is_passed).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tfgraphwidget.edits import translate_old_ops
from tfgraphwidget.edits.clone import KEY, Excerpt, has_closure_gradient, reseed
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import FUNCTION_CALLS
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import colocate, colocated_with, split_input
from tfgraphwidget.runtime.functions.custom_gradients import Gradient, register_refusal, tensors_of
from tfgraphwidget.sources import CaptureInfo, error_text, tf_protos, why_not_imported
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    attach_body_graphs,
    call_gradient_function,
    load_functions,
    new_gradient_name,
    rename_called_functions,
    set_gradient_function,
    unique_number,
)
from tfgraphwidget.tf_types import (
    ConcreteFunction,
    FuncGraph,
    FunctionDef,
    NodeDef,
    Tensor,
    Variable,
)

# What TensorFlow writes beside a function's attributes for its own optimizer, of the function as it
# was.
_REWRITES = ("forward_function_name", "backward_function_name")


@dataclass(frozen=True)
class InlinedModule:
    """A module's ops, added to the function that is being traced under the names that they have in
    the original.

    Attributes:
        call: Adds the ops, for tensors in the order of the module's inputs.
        infos: Names of the captured variables by id of the handle.
        input_names: Names for the placeholders of the inputs, which no op of the module has.
    """

    call: Callable[..., list[Tensor]]
    infos: Mapping[int, CaptureInfo]
    input_names: tuple[str, ...]

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        """Add the ops."""
        return self.call(*tensors)


@dataclass(frozen=True)
class OwnNodes:
    """The attributes that copied NodeDefs do not share: seeds from `seeds`, devices by op."""

    seeds: str | None = None
    devices: Mapping[str, str] = field(default_factory=dict)

    def change(self, nodes: Sequence[NodeDef], function: str = "") -> None:
        """Change copies, in place; they are those of a function's body."""
        if self.seeds is not None:
            reseed(nodes, f"{self.seeds}/{function}")
        for node in nodes if not function else ():
            node.device = self.devices.get(node.name, node.device)


_UNCHANGED = OwnNodes()


def load_with_gradients(
    functions: Mapping[str, FunctionDef],
    gradients: Mapping[str, Mapping[str, Gradient]],
    variables: Mapping[str, Variable],
    own: OwnNodes = _UNCHANGED,
) -> dict[str, ConcreteFunction]:
    """A ConcreteFunction for each FunctionDef, by its name.

    Args:
        gradients: Function -> op -> gradient, of single ops in functions.
        variables: The variables that the copy reads, by the names of the ops that represent them.

    Raises:
        NotClonable: A function calls itself, or TensorFlow cannot load it.
    """
    why = why_not_imported((), functions)
    if why:
        raise NotClonable(
            f"TensorFlow cannot load the functions that the part calls: {why}; choose boundaries "
            "that leave the call out."
        )
    library = tf_protos.FunctionDefLibrary(function=functions.values())
    gradient_names = {
        (name, op): new_gradient_name() for name, item in gradients.items() for op in item
    }
    for function in library.function:
        own.change(function.node_def, function.signature.name)
        for name in _REWRITES:
            function.attr.pop(name, None)
        for node in function.node_def:
            if (function.signature.name, node.name) in gradient_names:
                node.attr[KEY].s = gradient_names[function.signature.name, node.name].encode()
            else:
                _refuse_gradient(node, function.signature.name)
    try:
        functions_by_name = load_functions(library)
    except (ValueError, tf.errors.OpError) as error:
        raise NotClonable(
            "TensorFlow cannot load the functions that the part calls: "
            f"{error_text(error)[:200]}; choose boundaries that leave the call out."
        ) from error

    def find(op: tf.Operation, name: str) -> Tensor:
        return variables[name[1:]].handle if name[0] == "$" else _tensor(op, name)

    for (name, op), gradient in gradient_names.items():
        gradients[name][op].register(
            gradient, find, functions_by_name[name].graph.get_operation_by_name(op)
        )
    return functions_by_name


def _refuse_gradient(node: NodeDef, function: str = "") -> None:
    """Let the gradient of a copied NodeDef be refused, in place, where it is a closure over the
    original's tensors.
    """
    if has_closure_gradient(node):
        name = new_gradient_name()
        node.attr[KEY].s = name.encode()
        register_refusal(name, function)


def _tensor(op: tf.Operation, name: str) -> Tensor:
    """A tensor of a loaded function for an op's gradient, by the name in `called_gradients`."""
    if name[0] == "^":
        tensor: Tensor = op.inputs[int(name[1:])]
    else:
        tensor = (
            op.graph.inputs[int(name)] if name.isdecimal() else op.graph.get_tensor_by_name(name)
        )
    return tensor


def import_part(
    part: Excerpt,
    functions: Mapping[str, ConcreteFunction],
    gradients: Mapping[str, Gradient],
    tensors_in: Mapping[str, Tensor],
    scope: str,
    own: OwnNodes = _UNCHANGED,
) -> list[Tensor]:
    """Add the ops of a part to the default graph; the tensors of `part.outputs`, in order.

    Args:
        functions: The ConcreteFunctions to call, by the names of the original functions.
        tensors_in: Tensors of the default graph by the names of the tensors that they represent:
            inputs and captured state.
        scope: The name scope of the new ops; "" for none.
    """
    graph = tf.compat.v1.get_default_graph()
    for function in functions.values():
        function.add_to_graph(graph)
    gradient_names = {op: new_gradient_name() for op in gradients}
    nodes = _copies(part, functions, gradient_names)
    own.change(nodes)
    index = part.index
    nodes = list(
        translate_old_ops(nodes, index.typing, index.extras.versions(), graph.graph_def_versions)
    )
    read = {text if ":" in text else f"{text}:0" for node in nodes for text in node.input}
    names = part.names(part.outputs)
    inside = [name for name in names if name not in tensors_in]
    imported = tf.import_graph_def(
        tf.compat.v1.GraphDef(node=nodes, versions=graph.graph_def_versions),
        {name: tensor for name, tensor in tensors_in.items() if name in read},
        inside,
        name=scope,
    )
    _finish(part, functions, graph, scope)
    prefix = f"{scope}/" if scope else ""
    attach_body_graphs(
        [graph.get_operation_by_name(f"{prefix}{part.index.names[i]}") for i in part.ops]
    )
    tensors = tensors_of(tensors_in, gradients.values(), scope)
    for op, gradient in gradients.items():
        home = graph.get_operation_by_name(f"{prefix}{op}")
        gradient.register(gradient_names[op], lambda _, name: tensors[name], home)
    added = {**tensors_in, **dict(zip(inside, imported, strict=True))}
    return [added[name] for name in names]


def _copies(
    part: Excerpt, functions: Mapping[str, ConcreteFunction], gradients: Mapping[str, str]
) -> list[NodeDef]:
    """The NodeDefs of `part.ops` under their own names, calling `functions`; what is outside is
    waited for no more.

    `gradients` are the names of the gradients of single ops.
    """
    index = part.index
    names = {index.names[i] for i in part.ops}
    suffix = f"_copy_{unique_number()}"  # keys of state that the function makes for itself
    copies = []
    for i in part.ops:
        copy = copy_of(index.nodes[i])
        copy.input[:] = [
            text for text in copy.input if text[:1] != "^" or split_input(text)[0] in names
        ]
        beside = colocated_with(copy)
        if any(name not in names for name in beside):
            colocate(copy, [name for name in beside if name in names])
        copy.attr.pop("_output_shapes", None)  # of before edits; `_finish` sets those of now
        rename_called_functions(copy, functions, suffix)
        if copy.op in FUNCTION_CALLS:
            copy.attr.pop(KEY, None)
        elif copy.name in gradients:
            copy.attr[KEY].s = gradients[copy.name].encode()
        else:
            _refuse_gradient(copy)
        copies.append(copy)
    return copies


def _finish(
    part: Excerpt, functions: Mapping[str, ConcreteFunction], graph: FuncGraph, scope: str
) -> None:
    """Shapes that no NodeDef has, and the gradients of calls."""
    index = part.index
    by_name = {function.name: function for function in functions.values()}
    prefix = f"{scope}/" if scope else ""
    for i in part.ops:
        op = graph.get_operation_by_name(f"{prefix}{index.names[i]}")
        if op.type in FUNCTION_CALLS:
            gradient_function = by_name[op.get_attr("f").name.encode()]
            set_gradient_function(op, call_gradient_function(gradient_function))
        for port, tensor in enumerate(op.outputs):
            if not tensor.shape.is_fully_defined():
                tensor.set_shape(index.shape(i, port))
