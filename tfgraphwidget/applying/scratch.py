"""Scratch: a graph of its own in which TensorFlow's shape functions are asked of single ops, and nothing runs.

An op is built there on stand-ins for what it reads: placeholders of the static shapes that are known. What shape
functions look through (constants, `tf.shape(x)[0] * 2`) is built too, so that they see as much as in the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfgraphwidget.applying.proof import Proven, run_import
from tfgraphwidget.edits.after import After, Tensor, const_shape, is_small, joined
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.doors import doors
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.sources.bounds import Bounds
from tfgraphwidget.sources.nested import finite

_DEEPEST = 50
_MOST_ROUNDS = 20
_HOLDING = frozenset({"resource", "variant"})
_SAME = frozenset({"Identity", "Enter", "RefEnter", "Switch", "RefSwitch", "RefIdentity"})
LOOPS = frozenset({"While", "StatelessWhile"})
BRANCHING = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})


class Refused(Exception):
    """A shape function's reason."""


class Unknown(Exception):
    """TensorFlow cannot be asked."""


class Scratch:
    """Ops of `view`, built one by one."""

    def __init__(self, view: After) -> None:
        self._view = view
        self._graph = tf.Graph()
        self._built: dict[str, Sequence[Any]] = {}
        self._stand_ins: dict[str, dict[int, Any]] = {}
        self._shared: dict[tuple[str, Shape, str], Any] = {}
        self._known: set[str] = set()
        self._bounds = Bounds(view.index.typing.definition)

    def shapes(self, op: str) -> list[Shape]:
        """The static shapes of an op's outputs as they follow from what it reads now; None all over when TensorFlow
        does not know the op. Raises Refused.
        """
        node = self._view.node(op)
        self.forget(op)
        try:
            if node.op in LOOPS:
                return self._around(node, self._inputs(op))
            if node.op in BRANCHING:
                return self._either(node, self._inputs(op)[1:])
            self._built[op] = self._build(op)
            return [_shape(tensor) for tensor in self._built[op]]
        except Unknown:
            return [None] * len(self._view.dtypes(op))

    def forget(self, op: str) -> None:
        """Let those who read an op from now on read what `view` tells of it."""
        self._built.pop(op, None)
        self._stand_ins.pop(op, None)

    def _inputs(self, op: str, depth: int = 0) -> list[Any]:
        return [self._tensor(tensor, depth) for tensor in self._view.inputs(op)]

    def _build(self, op: str, depth: int = 0) -> Sequence[Any]:
        node = self._view.node(op)
        if node.op == "Const" and not is_small(const_shape(node)):
            return [self._placeholder(self._view.dtype((op, 0)), const_shape(node))]
        outputs = self._made(node, self._inputs(op, depth))
        is_computed = node.op == "Const" or self._view.computes(op)
        if is_computed and outputs and all(is_small(_shape(tensor)) for tensor in outputs):
            outputs[0].op._clear_attr("_kernel")  # few numbers, computed in no time: shape functions ask for them
        return outputs

    def _tensor(self, tensor: Tensor, depth: int) -> Any:
        """What stands for a tensor."""
        op, port = tensor
        if op not in self._built and self._view.tells(op) and depth < _DEEPEST:
            with suppress(Refused, Unknown):
                self._built[op] = self._build(op, depth + 1)
                self.sharpen(op, [self._view.shape(op, k) for k in range(len(self._built[op]))])
        if op in self._built:
            return self._built[op][port]
        made = self._stand_ins.setdefault(op, {})
        if port not in made:
            made[port] = self._stand_in(tensor)
        return made[port]

    def sharpen(self, op: str, shapes: Sequence[Shape]) -> None:
        """Tell what is known of an op's outputs beside what its inputs say; somebody may have called `set_shape`."""
        for output, shape in zip(self._built.get(op, ()), shapes, strict=False):
            if shape is not None and _shape(output) != shape:
                with suppress(ValueError):
                    output.set_shape(shape)

    def _stand_in(self, tensor: Tensor) -> Any:
        dtype, shape = self._view.dtype(tensor), self._view.shape(*tensor)
        if dtype == "resource":
            return self._handle(tensor)
        if dtype.endswith("_ref"):  # there is no placeholder of a reference: a variable gives one
            return self._placeholder(dtype.removesuffix("_ref"), shape, "VariableV2")
        return self._placeholder(dtype, shape)

    def _placeholder(self, dtype: str, shape: Shape, op_type: str = "Placeholder") -> Any:
        number, key = self._view.index.typing.number(dtype), (dtype, shape, op_type)
        if not number:
            raise Unknown(f"a tensor of no known dtype {dtype!r}")
        if key in self._shared:
            return self._shared[key]
        node = tf.compat.v1.NodeDef(op=op_type)
        node.attr["dtype"].type = number
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        made = self._made(node, [])[0]
        if shape is not None and None not in shape:  # unknown dimensions are the same ones in one tensor only
            self._shared[key] = made
        return made

    def _handle(self, tensor: Tensor) -> Any:
        """A handle of a variable of the same dtype and shape, as far as these are told."""
        view, op = self._view, tensor[0]
        for _ in range(_DEEPEST):
            if view.node(op).op not in _SAME:
                break
            op = view.inputs(op)[0][0]
        node = view.node(op)
        if node.op == "VarHandleOp":
            return self._made(node, [])[0]
        reads = (reader for name in (op, tensor[0]) for reader in view.readers(name))
        read = next((reader for reader in reads if view.node(reader).op == "ReadVariableOp"), None)
        if read is None:
            return self._placeholder("resource", view.shape(*tensor))
        return self._placeholder(view.dtype((read, 0)), view.shape(read, 0), "VarHandleOp")

    def _made(self, node: Any, tensors: list[Any]) -> Sequence[Any]:
        """The outputs of a new op. Raises Refused, and Unknown when TensorFlow does not know it."""
        definition = self._view.index.typing.definition(node.op)
        if definition is None:
            raise Unknown(f"the op type {node.op!r}")
        why = self._bounds.why(node)
        if why:
            raise Refused(f"it {why}")
        self._add_functions(node)
        made = tf.compat.v1.NodeDef(name=f"op{self._graph.version}", op=node.op)
        for attr in definition.attr:
            if attr.name in node.attr:
                made.attr[attr.name].CopyFrom(node.attr[attr.name])
        made.attr["_kernel"].s = b"none"  # shape functions run what computes their inputs: sources/shapes.py
        outputs: Sequence[Any] = _asked(lambda: self._outputs(made, tensors, definition))
        return outputs

    def _outputs(self, node: Any, tensors: list[Any], definition: Any) -> Any:
        c_op = ops._create_c_op(self._graph, node, tensors, (), definition, extract_traceback=False)
        return ops.Operation._from_c_op(c_op, self._graph).outputs

    # Functions

    def _add_functions(self, node: Any) -> None:
        """Let the graph have what a NodeDef calls; what has no end is cut off."""
        lacking: dict[str, Any] = {}
        functions, stack = self._view.functions(), [node]
        while stack:
            for door in doors(stack.pop(), functions):
                if door.function not in lacking and door.function not in self._known:
                    lacking[door.function] = self._view.function(door.function)
                    stack += lacking[door.function].node_def
        if lacking:
            self._known |= lacking.keys()
            _asked(lambda: self._import(lacking))

    def _import(self, functions: dict[str, Any]) -> None:
        excess = self._bounds.excess((), functions)
        if excess:
            raise Unknown(excess.why)
        graph_def = tf.compat.v1.GraphDef()
        graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
        graph_def.library.function.extend(finite(functions))
        for function in graph_def.library.function:
            for node in function.node_def:
                node.attr["_kernel"].s = b"none"
        try:
            with self._graph._c_graph.get() as c_graph:
                run_import(c_graph, Proven((), graph_def.SerializeToString(), ()), {})
        except GraphEditError as error:
            raise Unknown(str(error)) from error

    def _called(self, function: Any, tensors: list[Any], dtypes: Any) -> list[Shape]:
        """The shapes of a function's results."""
        node = tf.compat.v1.NodeDef(op="StatefulPartitionedCall")
        node.attr["f"].func.CopyFrom(function)
        node.attr["Tin"].list.type.extend(tensor.dtype.as_datatype_enum for tensor in tensors)
        node.attr["Tout"].CopyFrom(dtypes)
        return [_shape(tensor) for tensor in self._made(node, tensors)]

    def _around(self, node: Any, tensors: list[Any]) -> list[Shape]:
        """What holds of a loop's variables before its body and after it."""
        shapes = [_shape(tensor) for tensor in tensors]
        for _ in range(_MOST_ROUNDS):
            after = self._called(node.attr["body"].func, tensors, node.attr["T"])
            wider = [joined(a, b) for a, b in zip(shapes, after, strict=True)]
            if wider == shapes:
                return shapes
            tensors = [self._wider(t, shape) for t, shape in zip(tensors, wider, strict=True)]
            shapes = wider
        raise Unknown("a loop that does not settle")

    def _wider(self, tensor: Any, shape: Shape) -> Any:
        dtype = tensor.dtype.name
        return tensor if dtype in _HOLDING or _shape(tensor) == shape else self._placeholder(dtype, shape)

    def _either(self, node: Any, tensors: list[Any]) -> list[Shape]:
        """What holds of the results of all branches."""
        branches = [node.attr[key].func for key in ("then_branch", "else_branch") if key in node.attr]
        branches += node.attr["branches"].list.func if "branches" in node.attr else []
        told = [self._called(branch, tensors, node.attr["Tout"]) for branch in branches]
        if not told:
            raise Unknown("a conditional without branches")
        shapes = told[0]
        for other in told[1:]:
            shapes = [joined(a, b) for a, b in zip(shapes, other, strict=True)]
        return shapes


def _asked(ask: Callable[[], Any]) -> Any:
    """What TensorFlow answers. Raises Refused with its reason, and Unknown when it cannot tell."""
    try:
        return ask()
    except ValueError as error:
        raise Refused(str(error)) from error
    except Unknown:
        raise
    except Exception as error:  # whatever else TensorFlow finds wrong with a NodeDef is not for shape functions to say
        raise Unknown(str(error)) from error


def _shape(tensor: Any) -> Shape:
    dims, unknown = tensor._shape
    return None if unknown else tuple(n if n is not None and n >= 0 else None for n in dims)
