"""SignatureFunction: the subgraph of a signature as the function by which TensorFlow 2 calls the
signature.

A SavedModel of TensorFlow 2 keeps each signature twice: as tensors of the graph, for sessions, and
as a function, for `tf.saved_model.load`. An edit of the graph is an edit of the function too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.state.exported_subgraph import fully_fed_ops
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    REQUIRED_PLACEHOLDERS,
    V1_CONTROL_FLOW,
    GraphIndex,
    Signature,
    needed_ops,
    pairs,
)
from tfgraphwidget.naming import colocated_with, free_name, split_tensor
from tfgraphwidget.sources import OpTypes, tf_protos
from tfgraphwidget.tf_types import FunctionDef, NodeDef

_INFERRED = "_output_shapes"
_INPUT_SHAPES = "_input_shapes"


@dataclass(frozen=True)
class SignatureFunction:
    """A FunctionDef that computes a signature, and the saved objects it is bound to, in order."""

    definition: FunctionDef
    bound_inputs: tuple[int, ...]


def signature_function(
    index: GraphIndex,
    signature: Signature,
    objects: Mapping[str, int],
    template: FunctionDef,
    name: str,
    inputs: Sequence[tuple[int, str]],
) -> SignatureFunction:
    """The function of a signature's subgraph.

    Args:
        objects: Tensors of the graph that represent saved objects, each with the number of the
            object.
        template: The FunctionDef that computed the signature before.
        inputs: The tensors of the inputs, in the order of their keys, each with the number of its
            argument in `template`.

    Raises:
        GraphEditError: The subgraph holds state that is not a saved object's, or a placeholder that
            is not an input.
    """
    input_tensors = [tensor for _, tensor in inputs]
    captures = [
        tensor
        for tensor in objects
        if split_tensor(tensor)[0] in index.ids and tensor not in input_tensors
    ]
    outputs = [tensor for _, tensor in sorted(signature.outputs)]
    fed = [*input_tensors, *captures, *fully_fed_ops(index, [*input_tensors, *captures])]
    inner = [tensor for tensor in outputs if tensor not in input_tensors]
    ops = [
        i
        for i in np.flatnonzero(needed_ops(index, fed, inner)).tolist()
        if not _is_given(index, i, input_tensors, captures)
    ]
    _check(index, signature, ops)
    definition = tf_protos.FunctionDef()
    definition.signature.name = name
    definition.signature.is_stateful = True
    names = _copied_arguments(definition, template, [number for number, _ in inputs])
    arguments = dict(zip(pairs(index, input_tensors), names, strict=True))
    used_names = {argument.name for argument in definition.signature.input_arg}
    used_names |= {index.names[i].lower() for i in ops}
    captured = _Captures(
        index, definition, dict(zip(pairs(index, captures), captures, strict=True)), used_names
    )
    tensors_of = _Tensors(index, arguments, captured)
    inside = {index.names[i] for i in ops}
    for i in ops:
        node = definition.node_def.add()
        node.CopyFrom(index.nodes[i])
        node.input[:] = [
            *tensors_of.inputs(i),
            *(f"^{index.names[j]}" for j in index.control_lists[i] if j in set(ops)),
        ]
        node.attr.pop(_INFERRED, None)
        if not inside.issuperset(colocated_with(node)):
            del node.attr["_class"]
    for tensor in pairs(index, outputs):
        argument = definition.signature.output_arg.add()
        argument.name = free_name("identity", {out.name for out in definition.signature.output_arg})
        argument.type = index.typing.number(index.dtypes(tensor[0])[tensor[1]])
        definition.ret[argument.name] = tensors_of.tensor(*tensor)
    for key, value in template.attr.items():
        if key != _INPUT_SHAPES:
            definition.attr[key].CopyFrom(value)
    return SignatureFunction(definition, tuple(objects[tensor] for tensor in captured.tensors))


def _is_given(index: GraphIndex, op: int, inputs: list[str], captures: list[str]) -> bool:
    """Whether an op only represents what a caller gives."""
    input_ops = {
        split_tensor(tensor)[0]
        for tensor in inputs
        if index.types[index.op(tensor)] in REQUIRED_PLACEHOLDERS
    }
    return index.names[op] in input_ops | {split_tensor(tensor)[0] for tensor in captures}


def _check(index: GraphIndex, signature: Signature, ops: list[int]) -> None:
    for i in ops:
        name, kind = index.names[i], index.types[i]
        if kind in REQUIRED_PLACEHOLDERS:
            raise GraphEditError(
                f"signature {signature.name!r} needs placeholder {name!r}, which is not an input",
                [name],
            )
        if kind in V1_CONTROL_FLOW:
            raise GraphEditError(
                f"{name!r} is control flow of TensorFlow 1, which a function cannot hold", [name]
            )
        if not index.inputs.row(i).size and any(_is_handle(dtype) for dtype in index.dtypes(i)):
            raise GraphEditError(
                f"{name!r} is new state, which no object of the model holds", [name]
            )


def _is_handle(dtype: str) -> bool:
    return dtype in HANDLE_DTYPES or dtype.endswith("_ref")


def _copied_arguments(
    definition: FunctionDef, template: FunctionDef, numbers: list[int]
) -> list[str]:
    """Give a function some arguments of another; their names."""
    for place, number in enumerate(numbers):
        definition.signature.input_arg.add().CopyFrom(template.signature.input_arg[number])
        if number in template.arg_attr:
            definition.arg_attr[place].CopyFrom(template.arg_attr[number])
    return [argument.name for argument in definition.signature.input_arg]


class _Captures:
    """The arguments of a function that represent saved objects, added when first read."""

    def __init__(
        self,
        index: GraphIndex,
        definition: FunctionDef,
        captures: Mapping[tuple[int, int], str],
        used_names: set[str],
    ) -> None:
        self._index = index
        self._definition = definition
        self._captures = captures
        self._used_names = used_names
        self._arguments: dict[tuple[int, int], str] = {}

    @property
    def tensors(self) -> list[str]:
        """The tensors that are read, in the order of their arguments."""
        return [self._captures[end] for end in self._arguments]

    def argument(self, end: tuple[int, int]) -> str:
        """The name of the argument for a tensor; "" for one that represents no object."""
        if end in self._captures and end not in self._arguments:
            argument = self._definition.signature.input_arg.add()
            argument.name = free_name("unknown", self._used_names)
            argument.type = self._index.typing.number(self._index.dtypes(end[0])[end[1]])
            self._used_names.add(argument.name)
            self._arguments[end] = argument.name
        return self._arguments.get(end, "")


class _Tensors:
    """How a FunctionDef names tensors: "argument", or "op:output_argument:number"."""

    def __init__(
        self, index: GraphIndex, arguments: Mapping[tuple[int, int], str], captured: _Captures
    ) -> None:
        self._index, self._arguments, self._captured = index, arguments, captured
        self._types = OpTypes(index.extras.function)

    def inputs(self, op: int) -> list[str]:
        """The inputs of an op."""
        return [self.tensor(*end) for end in self._index.input_tensors(op)]

    def tensor(self, op: int, port: int) -> str:
        """The name of a tensor."""
        argument = self._arguments.get((op, port)) or self._captured.argument((op, port))
        if argument:
            return argument
        offset, node = port, self._index.nodes[op]
        for output in self._types.outputs(node) or ():
            if offset < len(output.dtypes):
                return f"{node.name}:{output.name}:{offset}"
            offset -= len(output.dtypes)
        raise GraphEditError(
            f"TensorFlow does not know the outputs of {node.name!r}, of type {node.op!r}",
            [node.name],
        )


def called_function(node: NodeDef) -> str:
    """The function that a call op calls as "f"; "" for other ops."""
    if "f" in node.attr and node.attr["f"].WhichOneof("value") == "func":
        return str(node.attr["f"].func.name)
    return ""
