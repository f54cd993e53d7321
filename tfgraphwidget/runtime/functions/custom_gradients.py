"""tf.custom_gradient in copies.

TensorFlow keeps the gradient of a tf.custom_gradient as a Python closure over the tensors of the
graph that it was traced in, under a name that the op has. A copy that kept the name would ask for
the gradient of the original. Here the closure is traced into a function of its own, whose captured
tensors are exchanged for the copy's; where that cannot be done the copy gets a name that is not
registered, so that asking for its gradient fails, and the name says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from tfgraphwidget.edits.clone import KEY, Excerpt, has_closure_gradient
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import BodyState, GraphIndex, called_definitions
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.functions.edited_function import unedited_name
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import find_operation, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    call_with_captures,
    graph_functions,
    load_functions,
    registered_gradient,
)
from tfgraphwidget.tf_types import ConcreteFunction, FuncGraph, FunctionDef, Operation, Tensor


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of one op: `function` takes the gradients of its outputs.

    `captured` is what the function reads beside: names of tensors of the original's body, and eager
    tensors. `results` says of a saved function for which inputs of the op it returns gradients.
    """

    function: ConcreteFunction
    captured: tuple[Tensor | str, ...]
    results: tuple[bool, ...] = ()

    def register(
        self, name: str, find: Callable[[Operation, str], Tensor], home: Operation
    ) -> None:
        """Register it under a name.

        Args:
            find: Gives for the copied op a tensor of the copy by the name of the original's. It is
                called at each gradient, for which TensorFlow makes the graphs of loops and
                conditionals again.
            home: The copied op as it was made first: `tf.saved_model.save` asks for the gradient of
                no op.
        """

        def gradient(op: Operation | None, *upstream: Tensor | None) -> object:
            # A tape passes something that is like the op, so the op is that of its output.
            copy = home if op is None else op.outputs[0].op
            captured = [
                find(copy, item) if isinstance(item, str) else item for item in self.captured
            ]
            if op is None:
                captured = [_captured_variable(tensor) for tensor in captured]
            # TensorFlow passes None for an output on which nothing depends.
            output_gradients = [
                _zeros(argument) if tensor is None else tensor
                for tensor, argument in zip(upstream, self.function.graph.inputs, strict=False)
            ]
            if not self.results:
                return call_with_captures(self.function, output_gradients, captured)
            input_gradients = iter(
                tf.raw_ops.StatefulPartitionedCall(
                    args=[*output_gradients, *captured],
                    Tout=[tensor.dtype for tensor in self.function.graph.outputs],
                    f=self.function,
                )
            )
            return [next(input_gradients) if is_returned else None for is_returned in self.results]

        _register(name, gradient)


def register_refusal(name: str, function: str = "") -> None:
    """Let the gradient that an op has under `name` be refused in one sentence.

    A name can be registered once. `function` is that in which the op is; "" for what is copied
    itself.
    """
    place = f" of the function {function!r}" if function else ""

    def why(copied: str) -> str:
        return (
            f"The gradient of {copied!r}{place} is that of a custom gradient, which reads a tensor "
            "that the copy does not have; "
            + in_cell(
                "let the function of the tf.custom_gradient take all that its gradient reads as "
                "arguments, or put tf.stop_gradient after it."
            )
        )

    def gradient(op: Operation | None, *upstream: Tensor) -> object:
        if op is None:  # `tf.saved_model.save` asks for what a loaded model computes
            with tf.control_dependencies([tf.debugging.Assert(False, [why(name)])]):
                return [tf.identity(tensor) for tensor in upstream]
        copied = op.outputs[0].op.name
        raise NotClonable(why(copied), [copied])

    _register(name, gradient)


def _register(name: str, gradient: Callable[..., object]) -> None:
    """Register a gradient, which `tf.saved_model.save` would convert by autograph."""
    tf.RegisterGradient(name)(tf.autograph.experimental.do_not_convert(gradient))


def _captured_variable(tensor: Tensor) -> Tensor:
    """The variable's own handle, where a tensor is what a function has for one that it captures.

    `tf.saved_model.save` finds no other variable that a gradient captures.
    """
    captures = getattr(getattr(tensor, "graph", None), "captures", ())
    if tensor.dtype == tf.resource:
        for outside, inside in captures:
            if inside is tensor:
                return _captured_variable(outside)
    return tensor


def _zeros(like: tf.Tensor) -> tf.Tensor:
    """Zeros of the shape of a tensor; 1 for each size that is not known, so that they broadcast."""
    if not like.shape.rank:  # a scalar, or of unknown rank
        return tf.zeros([], like.dtype)
    return tf.zeros([1 if size is None else size for size in like.shape], like.dtype)


def gradients(part: Excerpt, body_state: BodyState) -> dict[str, Gradient]:
    """The gradients of the ops of a part that have one by tf.custom_gradient, by name of the op.

    Those that cannot be traced again are left out. `body_state` is what the state that the body
    reads represents.
    """
    index = part.index
    result = {}
    for number in part.ops:
        name = index.names[number]
        if has_closure_gradient(index.nodes[number]):
            op = body_state.operation(name)
            if op is None:
                gradient = _saved_gradient(part, body_state, number)
            else:
                gradient = _traced_gradient(part, body_state, op, number)
            if gradient is not None:
                result[name] = gradient
    return result


def reads_outside(part: Excerpt, body_state: BodyState) -> set[int]:
    """The ops of the graph outside of a part whose tensors gradients of its ops consume.

    `body_state` is what the state that the body reads represents.
    """
    index = part.index
    names: set[str] = set()
    for number in part.ops:
        if has_closure_gradient(index.nodes[number]):
            names |= _captured_names(body_state, index.names[number])
    outside = set()
    for name in names:
        op, _ = split_tensor(name)
        if op in index.ids and not _is_in_copy(part, name):
            outside.add(index.op(name))
    return outside


def _captured_names(body_state: BodyState, name: str) -> set[str]:
    """The tensors of the original's body that the gradient of an op captures."""
    names: set[str] = set()
    saved = body_state.saved_gradient(name)
    if saved is not None:
        names.update(saved.captured)
    op = body_state.operation(name)
    function = None if op is None else _function(op)
    for tensor in () if function is None else function.captured_inputs:
        is_eager = hasattr(tensor, "numpy")
        tensor_name = None if is_eager else body_state.tensor_name(tensor)
        if tensor_name is not None:
            names.add(tensor_name)
    return names


def called_gradients(
    body_state: BodyState, functions: Mapping[str, FunctionDef]
) -> dict[str, dict[str, Gradient]]:
    """The gradients in FunctionDefs that were traced from the body's graph.

    They are by name of the function and of the op in it. What they capture is named by number for
    arguments, "^0" for what the op itself consumes, which an edit may have changed, "$name" for a
    variable that the body reads, else by the tensor's name.
    """
    if body_state.graph is None:
        return {}
    handles: dict[int, str] = {}
    for variable in body_state.names:
        handle = _handle(body_state, variable)
        if handle is not None:
            handles[id(handle)] = f"${variable}"
    result: dict[str, dict[str, Gradient]] = {}
    for name, definition in functions.items():
        traced = graph_functions(body_state.graph).get(unedited_name(name))
        graph: FuncGraph | None = getattr(traced, "graph", None)
        if graph is None:
            continue
        op_names = {node.name for node in definition.node_def}
        for node in definition.node_def:
            if not has_closure_gradient(node):
                continue
            op = find_operation(graph, node.name) or _op_of_key(graph, node.attr[KEY].s)
            function = None if op is None else _function(op)  # no op: an edit has added it
            if op is None or function is None:
                continue
            captured = _all_or_none(
                handles.get(id(tensor)) or _name_in_function(op, tensor, op_names)
                for tensor in function.captured_inputs
            )
            if captured is not None:
                result.setdefault(name, {})[node.name] = Gradient(function, captured)
    return result


def _handle(body_state: BodyState, name: str) -> Tensor | None:
    """The resource tensor of a variable that the body reads; None for other state."""
    return getattr(body_state.live(name), "handle", None)


def _op_of_key(graph: FuncGraph, key: bytes) -> tf.Operation | None:
    """The op of a graph by the name of its gradient, which TensorFlow uses once.

    An edit may have renamed the op.
    """
    return next((op for op in graph.get_operations() if op.node_def.attr[KEY].s == key), None)


def _all_or_none(captured: Iterable[Tensor | str | None]) -> tuple[Tensor | str, ...] | None:
    """The tensors that a gradient captures; None if any is missing."""
    items = [*captured]
    # By identity, and not `None in items`: to compare a tensor would make an op.
    present = tuple(item for item in items if item is not None)
    return present if len(present) == len(items) else None


def _name_in_function(
    op: tf.Operation, tensor: Tensor, op_names: Collection[str]
) -> Tensor | str | None:
    """How `called_gradients` names a tensor that the gradient of an op captures.

    `op_names` are the ops that the function has now.
    """
    graph = op.graph
    inputs = {id(inside): f"^{k}" for k, inside in enumerate(op.inputs)}
    arguments = {id(inside): str(k) for k, inside in enumerate(graph.inputs)}
    inside = next((inside for outside, inside in graph.captures if outside is tensor), tensor)
    if id(inside) in inputs:
        return inputs[id(inside)]
    if id(inside) in arguments:
        return arguments[id(inside)]
    if hasattr(tensor, "numpy") and tensor.dtype != tf.resource:
        return tensor  # a value that the gradient alone uses
    is_in_function = getattr(tensor, "graph", None) is graph and tensor.op.name in op_names
    return str(tensor.name) if is_in_function else None


def _function(op: tf.Operation) -> ConcreteFunction | None:
    """The gradient of an op as a ConcreteFunction; None when its closure cannot be traced again."""
    try:
        closure = registered_gradient(op.get_attr(KEY).decode())
        traced = tf.function(closure, autograph=False)
        function: ConcreteFunction | None = traced.get_concrete_function(None, *op.outputs)
        return function
    except Exception:  # whatever the user's own gradient function raises: the copy then has none
        return None


def _traced_gradient(
    part: Excerpt, body_state: BodyState, op: tf.Operation, number: int
) -> Gradient | None:
    """The gradient of an op; `number` is that of the op in the excerpt's index."""
    function = _function(op)
    if function is None:
        return None
    # The op may consume another tensor since an edit, and its gradient then is of that one.
    input_names = part.names(_sources(part.index, number))
    name_now = {id(tensor): name for tensor, name in zip(op.inputs, input_names, strict=False)}
    captured = _all_or_none(
        name_now.get(id(tensor)) or _name_in_copy(part, body_state, tensor)
        for tensor in function.captured_inputs
    )
    return None if captured is None else Gradient(function, captured)


def _saved_gradient(part: Excerpt, body_state: BodyState, number: int) -> Gradient | None:
    """The gradient of an op in a SavedModel; `number` is that of the op in the excerpt's index."""
    index = part.index
    saved = body_state.saved_gradient(index.names[number])
    if saved is None or saved.function not in index.functions:
        return None
    # As in `_traced_gradient`.
    name_now = dict(zip(saved.inputs, part.names(_sources(index, number)), strict=False))
    names = [
        name_now.get(name) or (name if _is_in_copy(part, name) else None) for name in saved.captured
    ]
    captured = _all_or_none(names)
    if captured is None:
        return None
    definition = index.extras.function(saved.function)
    callees = called_definitions(definition.node_def, index.functions, index.extras.function)
    library = tf_protos.FunctionDefLibrary(function=[definition, *callees.values()])
    return Gradient(load_functions(library)[saved.function], captured, saved.results)


def _is_in_copy(part: Excerpt, name: str) -> bool:
    """Whether a copy has a tensor of the excerpt's graph, or gets it as an input."""
    op_name, _ = split_tensor(name)
    if op_name not in part.index.ids:  # an edit has removed the op
        return False
    op = part.index.op(name)
    return op in part.ops or op in part.reused or name in part.names(part.inputs)


def _sources(index: GraphIndex, op: int) -> list[tuple[int, int]]:
    """The tensors that an op consumes, as (op, port)."""
    first, stop = int(index.inputs.start[op]), int(index.inputs.start[op + 1])
    ops = index.inputs.row(op).tolist()
    return list(zip(ops, index.ports[first:stop].tolist(), strict=True))


def _name_in_copy(part: Excerpt, body_state: BodyState, tensor: Tensor) -> Tensor | str | None:
    """The name that a captured tensor has in the excerpt; None if the copy cannot have it.

    A captured value is returned as it is.
    """
    if not hasattr(tensor, "numpy"):
        name = body_state.tensor_name(tensor)
        return name if name is not None and _is_in_copy(part, name) else None
    for op in part.reused:
        name = part.index.names[op]
        if _handle(body_state, name) is tensor:
            return f"{name}:0"
    return None if tensor.dtype == tf.resource else tensor


def tensors_of(
    tensors_in: Mapping[str, tf.Tensor], needed: Iterable[Gradient], scope: str
) -> dict[str, Tensor]:
    """The copy's tensor for each that gradients capture, by the original's name.

    `tensors_in` are tensors from outside the copy, by the original's name, and `scope` is the name
    scope of the copy in the default graph; "" for none.
    """
    graph = tf.compat.v1.get_default_graph()
    prefix = f"{scope}/" if scope else ""
    result: dict[str, Tensor] = {}
    for gradient in needed:
        for name in gradient.captured:
            if isinstance(name, str) and name not in result:
                is_outside = name in tensors_in
                result[name] = (
                    tensors_in[name] if is_outside else graph.get_tensor_by_name(prefix + name)
                )
    return result
