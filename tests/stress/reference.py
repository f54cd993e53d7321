"""An edit of a function's graph as protos and strings alone, run by TensorFlow: what the editor's
is compared with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tests.conftest import v1

_NUMBERS = itertools.count()
# TensorFlow's names for the only output of these in a FunctionDef.
_PORTS = {
    "Relu": "activations",
    "Relu6": "activations",
    "Elu": "activations",
    "Softmax": "softmax",
    "Mul": "z",
}


def edited(
    graph: Any, path: Sequence[str], op: str, factor: float | None = None, before: Any = None
) -> Any:
    """The graph of a traced function with one edit, as a function of its tensors.

    Args:
        graph: The FuncGraph. Its variables are shared.
        path: The calls that lead to the body that holds the op, each as `editor.view.breadcrumb`
            names it: "while:body".
        op: An op with one input and one output.
        factor: What the output is multiplied by; None to put the op's input in the place of its
            output.
        before: The GraphDef of the graph, and the names of its results, before a gradient was
            taken, which exchanges loops and adds outputs; or None.

    Returns:
        A function from the tensors that the graph takes to the tuple of those that it returns.
    """
    was, results = before or (graph.as_graph_def(), [tensor.name for tensor in graph.outputs])
    graph_def = type(was)()
    graph_def.CopyFrom(was)
    _renamed(graph_def)
    results = list(results)
    body, returns = graph_def.node, None
    functions = {function.signature.name: function for function in graph_def.library.function}
    for step in path:
        call, _, label = step.partition(":")
        node = next(node for node in body if node.name == call)
        name, _, number = (label or "f").partition("[")
        attribute = node.attr[name]
        called = attribute.list.func[int(number[:-1])] if number else attribute.func
        body, returns = functions[called.name].node_def, functions[called.name].ret
    if returns is None:
        was, now = op, _edit(body, op, "", factor)
        results = [now if name == f"{was}:0" else name for name in results]
    else:
        port = f":{_port(body, op)}:0"
        was, now = f"{op}{port}", _edit(body, op, port, factor)
        for key, value in returns.items():
            returns[key] = now if value == was else value
    captures = {inner.name: outer for outer, inner in graph.captures}
    taken = [tensor.name for tensor in graph.inputs if tensor.name not in captures]

    def run(*tensors: Any) -> Any:
        graph = v1.get_default_graph()
        handles = {name: graph.capture(outer) for name, outer in captures.items()}
        given = {**handles, **dict(zip(taken, tensors, strict=True))}
        wanted = [name if ":" in name else f"{name}:0" for name in results]
        return tuple(tf.graph_util.import_graph_def(graph_def, given, wanted, name=""))

    specs = [tf.TensorSpec(t.shape, t.dtype) for t in graph.inputs if t.name not in captures]
    return v1.wrap_function(run, specs)


def _renamed(graph_def: Any) -> Any:
    """The same graph with other names of its functions: a process has one function of a name."""
    names, number = {f.signature.name for f in graph_def.library.function}, next(_NUMBERS)
    for function in graph_def.library.function:
        function.signature.name = f"reference_{number}_{function.signature.name}"
    del graph_def.library.gradient[:]
    for node in (
        *graph_def.node,
        *(node for f in graph_def.library.function for node in f.node_def),
    ):
        if node.op in names:
            node.op = f"reference_{number}_{node.op}"
        for value in node.attr.values():
            for called in value.list.func if not value.HasField("func") else [value.func]:
                if called.name in names:
                    called.name = f"reference_{number}_{called.name}"
    return graph_def


def _port(body: Iterable[Any], op: str) -> str:
    kind = next(node.op for node in body if node.name == op)
    return _PORTS.get(kind, "y")


def _edit(body: Any, op: str, port: str, factor: float | None) -> str:
    """Give the consumers of an op another tensor; returns that tensor as their inputs name it."""
    node = next(node for node in body if node.name == op)
    names = {op, f"{op}:0", f"{op}{port}"}
    consumers = [
        (other, k) for other in body for k, text in enumerate(other.input) if text in names
    ]
    if factor is None:
        now = node.input[0]
    else:
        dtype = node.attr["T"].type
        value = body.add(name="reference/factor", op="Const")
        value.attr["dtype"].type = dtype
        value.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(factor, tf.as_dtype(dtype), []))
        product = body.add(name="reference/product", op="Mul")
        product.attr["T"].type = dtype
        outputs = (":output:0", ":z:0") if port else ("", "")
        product.input.extend([f"{op}{port}", f"reference/factor{outputs[0]}"])
        now = f"reference/product{outputs[1]}"
    for other, k in consumers:
        other.input[k] = now
    return now


def flat(structure: Any) -> list[Any]:
    """The tensors of a structure, with the components of ragged and sparse ones."""
    return list(tf.nest.flatten(structure, expand_composites=True))


def by_name(graph: Any, arguments: Mapping[str, Any]) -> list[Any]:
    """The tensors that a signature's graph takes, from its arguments by name."""
    captured = {inner.name for _, inner in graph.captures}
    return [arguments[tensor.op.name] for tensor in graph.inputs if tensor.name not in captured]
