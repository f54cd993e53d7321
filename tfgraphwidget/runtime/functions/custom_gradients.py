"""tf.custom_gradient in copies.

TensorFlow keeps the gradient of a tf.custom_gradient as a Python closure over the tensors of the graph that it was
traced in, under a name that the op tells. A copy that kept the name would ask for the gradient of the original. Here
the closure is traced into a function of its own, whose captured tensors are exchanged for the copy's; where that cannot
be done the copy gets a name that is not registered, so that asking for its gradient fails, and the name says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from tfgraphwidget.edits.clone import KEY, Excerpt, has_closure_gradient
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import BodyState, GraphIndex, called_functions
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.functions.edited_function import unedited_name
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import find_operation, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import call_with_captures, graph_functions, load_functions, registered_gradient
from tfgraphwidget.tf_types import ConcreteFunction, FuncGraph, FunctionDef, NodeDef, Operation, Tensor


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of one op: `function` takes the gradients of its outputs.

    `captured` is what the function reads beside: names of tensors of the original's body, and eager tensors. `results`
    says of a saved function for which inputs of the op it returns gradients.
    """

    function: ConcreteFunction
    captured: tuple[Tensor | str, ...]
    results: tuple[bool, ...] = ()

    def register(self, name: str, find: Callable[[Operation, str], Tensor], home: Operation) -> None:
        """Register it under a name.

        Args:
            name: The name.
            find: Gives for the copied op a tensor of the copy by the name of the original's. It is called at each
                gradient, for which TensorFlow makes the graphs of loops and conditionals again.
            home: The copied op as it was made first: `tf.saved_model.save` asks for the gradient of no op.
        """

        def gradient(op: Operation | None, *upstream: Tensor | None) -> object:
            copy = home if op is None else op.outputs[0].op  # a tape gives something that is like the op
            captured = [find(copy, item) if isinstance(item, str) else item for item in self.captured]
            specs = self.function.graph.inputs
            output_gradients = [_zeros(spec) if g is None else g for g, spec in zip(upstream, specs, strict=False)]
            if not self.results:
                return call_with_captures(self.function, output_gradients, captured)
            dtypes = [tensor.dtype for tensor in self.function.graph.outputs]
            call = tf.raw_ops.StatefulPartitionedCall
            input_gradients = iter(call(args=[*output_gradients, *captured], Tout=dtypes, f=self.function))
            return [next(input_gradients) if is_returned else None for is_returned in self.results]

        _register(name, gradient)


def called_definitions(index: GraphIndex, nodes: Iterable[NodeDef]) -> dict[str, FunctionDef]:
    """The FunctionDefs that NodeDefs call, and those that these call, by name.

    Args:
        index: The graph.
        nodes: The NodeDefs, in the order of the graph.
    """
    definitions: dict[str, FunctionDef] = {}
    stack = list(nodes)
    while stack:
        for door in called_functions(stack.pop(), index.functions):
            if door.function not in definitions:
                definitions[door.function] = index.extras.function(door.function)
                stack += definitions[door.function].node_def
    return definitions


def register_refusal(name: str, function: str = "") -> None:
    """Let the gradient that an op has under `name` be refused in one sentence.

    Args:
        name: The name, which is registered but once.
        function: The function that the op is in; "" for what is copied itself.
    """
    place = f" of the function {function!r}" if function else ""

    def why(copied: str) -> str:
        return (
            f"The gradient of {copied!r}{place} is that of a custom gradient, which reads a tensor that the copy does "
            "not have; "
            + in_cell(
                "let the function of the tf.custom_gradient take all that its gradient reads as arguments, or put "
                "tf.stop_gradient behind it."
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


def _zeros(like: tf.Tensor) -> tf.Tensor:
    return tf.zeros([1 if size is None else size for size in like.shape] if like.shape.rank else [], like.dtype)


def gradients(part: Excerpt, body_state: BodyState) -> dict[str, Gradient]:
    """Name of an op of `part` -> its gradient, for each tf.custom_gradient that can be traced again.

    Args:
        part: The part of the graph.
        body_state: What the state that the body reads stands for.
    """
    index = part.index
    result = {}
    for i in part.ops:
        if has_closure_gradient(index.nodes[i]):
            op = body_state.operation(index.names[i])
            gradient = _saved_gradient(part, body_state, i) if op is None else _traced_gradient(part, body_state, op, i)
            if gradient is not None:
                result[index.names[i]] = gradient
    return result


def reads_outside(part: Excerpt, body_state: BodyState) -> set[int]:
    """The ops of the part's graph that are not in the part, and that gradients of its ops read.

    Args:
        part: The part of the graph.
        body_state: What the state that the body reads stands for.
    """
    index = part.index
    names: set[str] = set()
    for name in (index.names[i] for i in part.ops if has_closure_gradient(index.nodes[i])):
        op, saved = body_state.operation(name), body_state.saved_gradient(name)
        function = None if op is None else _function(op)
        names |= set(saved.captured if saved is not None else ())
        captured_inputs = [] if function is None else [t for t in function.captured_inputs if not hasattr(t, "numpy")]
        names |= {tensor_name for t in captured_inputs if (tensor_name := body_state.tensor_name(t)) is not None}
    return {index.op(name) for name in names if split_tensor(name)[0] in index.ids and not _is_there(part, name)}


def called_gradients(body_state: BodyState, functions: Mapping[str, FunctionDef]) -> dict[str, dict[str, Gradient]]:
    """Function -> name of an op in it -> its gradient, for FunctionDefs that were traced from `held.graph`.

    What these gradients read is named by number for arguments, "^0" for what the op itself reads, which an edit may
    have changed, "$name" for a variable that the body reads, else by the tensor's name.

    Args:
        body_state: What the state that the body reads stands for.
        functions: The FunctionDefs by name.
    """
    result: dict[str, dict[str, Gradient]] = {}
    handles = {id(handle): f"${n}" for n in body_state.names if (handle := _handle(body_state, n)) is not None}
    for name, definition in functions.items():
        traced = None if body_state.graph is None else graph_functions(body_state.graph).get(unedited_name(name))
        graph: FuncGraph | None = getattr(traced, "graph", None)
        if graph is None:
            continue
        there = {node.name for node in definition.node_def}
        closures = {node.name: node.attr[KEY].s for node in definition.node_def if has_closure_gradient(node)}
        for closure, key in closures.items():
            op = find_operation(graph, closure) or _op_of_key(graph, key)  # None for one that an edit has added
            function = None if op is None else _function(op)
            if op is None or function is None:
                continue
            captured = _all_present(
                handles.get(id(tensor)) or _in_function(op, tensor, there) for tensor in function.captured_inputs
            )
            if captured is not None:
                result.setdefault(name, {})[closure] = Gradient(function, captured)
    return result


def _handle(body_state: BodyState, name: str) -> Tensor | None:
    return getattr(body_state.live(name), "handle", None)


def _op_of_key(graph: FuncGraph, key: bytes) -> tf.Operation | None:
    """The op of a graph whose gradient has a name, which TensorFlow gives but once; an edit may have renamed the op."""
    return next((op for op in graph.get_operations() if op.node_def.attr[KEY].s == key), None)


def _all_present(captured: Iterable[Tensor | str | None]) -> tuple[Tensor | str, ...] | None:
    """The tensors that a gradient reads; None if any is missing. (A tensor is not compared: that would make an op.)"""
    items = [*captured]
    present = tuple(item for item in items if item is not None)
    return present if len(present) == len(items) else None


def _in_function(op: tf.Operation, tensor: Tensor, there: Collection[str]) -> Tensor | str | None:
    """How `called_gradients` names a tensor that the gradient of an op reads; `there` are the function's ops now."""
    graph = op.graph
    read = {id(inside): f"^{k}" for k, inside in enumerate(op.inputs)}
    arguments = {id(inside): str(k) for k, inside in enumerate(graph.inputs)}
    inside = next((inside for outside, inside in graph.captures if outside is tensor), tensor)
    if id(inside) in read or id(inside) in arguments:
        return read.get(id(inside)) or arguments[id(inside)]
    if hasattr(tensor, "numpy") and tensor.dtype != tf.resource:
        return tensor  # a value that the gradient alone reads
    is_here = getattr(tensor, "graph", None) is graph and tensor.op.name in there
    return str(tensor.name) if is_here else None


def _function(op: tf.Operation) -> ConcreteFunction | None:
    """The gradient of an op as a ConcreteFunction; None when its closure cannot be traced again."""
    try:
        closure = registered_gradient(op.get_attr(KEY).decode())
        function: ConcreteFunction | None = tf.function(closure, autograph=False).get_concrete_function(
            None, *op.outputs
        )
        return function
    except Exception:  # whatever the person's own gradient function raises: the copy then has none
        return None


def _traced_gradient(part: Excerpt, body_state: BodyState, op: tf.Operation, number: int) -> Gradient | None:
    """The gradient of an op; `number` is that of the op in the excerpt's index."""
    function = _function(op)
    if function is None:
        return None
    index = part.index
    sources = zip(index.inputs.row(number).tolist(), index.ports[_row(index, number)].tolist(), strict=True)
    # What the op reads may be another tensor since an edit, and its gradient then is of that one.
    now = {id(tensor): part.names([end])[0] for tensor, end in zip(op.inputs, sources, strict=False)}
    captured = _all_present(
        now.get(id(tensor)) or _in_copy(part, body_state, tensor) for tensor in function.captured_inputs
    )
    return None if captured is None else Gradient(function, captured)


def _saved_gradient(part: Excerpt, body_state: BodyState, number: int) -> Gradient | None:
    """The gradient that a SavedModel has for an op; `number` is that of the op in the excerpt's index."""
    index = part.index
    saved = body_state.saved_gradient(index.names[number])
    if saved is None or saved.function not in index.functions:
        return None
    sources = zip(index.inputs.row(number).tolist(), index.ports[_row(index, number)].tolist(), strict=True)
    now = dict(zip(saved.inputs, part.names(list(sources)), strict=False))  # another tensor since an edit
    captured = _all_present(now.get(name) or (name if _is_there(part, name) else None) for name in saved.captured)
    if captured is None:
        return None
    definition = index.extras.function(saved.function)
    callees = called_definitions(index, definition.node_def)
    library = tf_protos.FunctionDefLibrary(function=[definition, *callees.values()])
    return Gradient(load_functions(library)[saved.function], captured, saved.results)


def _is_there(part: Excerpt, name: str) -> bool:
    """Whether a copy has a tensor of the excerpt's graph, or is given it."""
    if split_tensor(name)[0] not in part.index.ids:  # an edit has removed the op
        return False
    op = part.index.op(name)
    return op in part.ops or op in part.reused or name in part.names(part.inputs)


def _row(index: GraphIndex, op: int) -> slice:
    return slice(int(index.inputs.start[op]), int(index.inputs.start[op + 1]))


def _in_copy(part: Excerpt, body_state: BodyState, tensor: Tensor) -> Tensor | str | None:
    """The name that a captured tensor has in the excerpt, a captured value as it is; None for what is out of reach."""
    index = part.index
    if hasattr(tensor, "numpy"):
        state_names = [index.names[i] for i in part.reused]
        same = (n for n in state_names if _handle(body_state, n) is tensor)
        return next((f"{name}:0" for name in same), None if tensor.dtype == tf.resource else tensor)
    name = body_state.tensor_name(tensor)
    return None if name is None or not _is_there(part, name) else name


def tensors_of(tensors_in: Mapping[str, tf.Tensor], needed: Iterable[Gradient], scope: str) -> dict[str, Tensor]:
    """The copy's tensor for each that gradients read.

    Args:
        tensors_in: Tensors from outside the copy, by the original's name.
        needed: The gradients.
        scope: The name scope of the copy in the default graph; "" for none.

    Returns:
        The tensors by the original's name.
    """
    graph = tf.compat.v1.get_default_graph()
    prefix = f"{scope}/" if scope else ""
    names = {name for gradient in needed for name in gradient.captured if isinstance(name, str)}
    return {
        name: tensors_in[name] if name in tensors_in else graph.get_tensor_by_name(f"{prefix}{name}") for name in names
    }
