"""Op types called on tensors, as NodeDefs: what TensorFlow would make of the same calls, made
without it.

`trace_op_type` gives None for all that only TensorFlow knows: the caller then asks TensorFlow, if
it is installed (tests/runtime/test_op_calls.py compares the two).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tfgraphwidget.edits import TracedFunction
from tfgraphwidget.errors import GraphEditError, TensorFlowMissing, UnknownName
from tfgraphwidget.graph import HANDLE_DTYPES, GraphIndex, Shape, build
from tfgraphwidget.graph.patterns import Constant, Replacement
from tfgraphwidget.naming import as_input, count_text, known_instead, take_free_name
from tfgraphwidget.sources import (
    ADAPTED,
    GraphDefLibrary,
    NodeBody,
    ShapeMismatch,
    argument_names,
    call_arguments,
    check_parameters,
    definition_of,
    dtype_name,
    output_shapes,
    parameters,
    shape_proto,
    tf_protos,
)
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef, TensorProto

T = TypeVar("T")

# The names of ops that TensorFlow's functions of one tensor make.
_ADAPTED_NAMES = {"Transpose": "transpose"}


class _OnlyTensorFlow(Exception):
    """TensorFlow alone knows what a call makes."""


@dataclass(frozen=True)
class _Tensor:
    """An output of an op that was made."""

    op: str
    port: int
    dtype: str
    shape: Shape

    @property
    def name(self) -> str:
        return f"{self.op}:{self.port}"


def trace_op_type(
    function: object, specs: Sequence[tuple[str, Shape]], options: Mapping[str, object]
) -> TracedFunction | None:
    """The ops that an op type, or the text of a replacement, makes when it is called on tensors.

    Returns:
        The trace; None for a Python function, and for what only TensorFlow knows, where it is
        installed.

    Raises:
        GraphEditError: There is no such op type, or it cannot be called on these tensors.
        TensorFlowMissing: Only TensorFlow knows, and it is not installed.
    """
    if not isinstance(function, str | Replacement):
        return None
    ops = _Ops()
    inputs = [ops.placeholder(f"input_{k}", dtype, shape) for k, (dtype, shape) in enumerate(specs)]
    results: list[_Tensor | list[_Tensor]]
    try:
        if isinstance(function, Replacement):
            results = [*function.make(inputs, ops.call_of_text, ops.constant_of_text)]
        else:
            results = _call_type(ops, function, inputs, options)
    except _OnlyTensorFlow as reason:
        if tf_protos.is_tensorflow_installed():
            return None
        raise GraphEditError(
            f"{function} cannot be called here: {reason}; give an op type that takes these tensors."
        ) from None
    outputs = [
        tensor for each in results for tensor in (each if isinstance(each, list) else [each])
    ]
    if any(tensor.dtype in HANDLE_DTYPES or not tensor.dtype for tensor in ops.tensors()):
        return None if tf_protos.is_tensorflow_installed() else _refuse_state(function)
    return TracedFunction(
        ops.index(), tuple(each.op for each in inputs), tuple(each.name for each in outputs)
    )


def _refuse_state(function: object) -> TracedFunction:
    raise TensorFlowMissing(
        f"A call of {function} makes state and needs TensorFlow, which is not installed: run pip "
        "install 'tfgraphwidget[tensorflow]'."
    )


def _call_type(
    ops: _Ops, op_type: str, inputs: Sequence[_Tensor], options: Mapping[str, object]
) -> list[_Tensor | list[_Tensor]]:
    definition = definition_of(op_type)
    if op_type not in ADAPTED or len(inputs) != 1:
        names = {name: each for each, name in argument_names(op_type).items()}
        arguments = call_arguments(op_type, inputs, options)
        return [ops.call(definition, {names[name]: value for name, value in arguments.items()})]
    check_parameters(op_type, parameters(op_type), options)
    return [_call_adapted(ops, definition, inputs[0], options)]


def _call_adapted(
    ops: _Ops, definition: OpDef, x: _Tensor, options: Mapping[str, Any]
) -> _Tensor | list[_Tensor]:
    """A call as TensorFlow's own function of that op type makes it."""
    kind = definition.name
    if kind == "Cast":
        dtype = tf_protos.to_dtype_name(options["dtype"])
        return x if dtype == x.dtype else ops.call(definition, {"x": x, "DstT": dtype})
    if kind == "Identity":
        return ops.call(definition, {"input": x})
    if kind == "CheckNumerics":
        return ops.call(definition, {"tensor": x, "message": options.get("message", "")})
    if kind == "Reshape" and None not in options["shape"]:
        return ops.call(definition, {"tensor": x, "shape": list(options["shape"])})
    if kind == "Transpose" and options.get("perm") is not None:
        return ops.call(definition, {"x": x, "perm": list(options["perm"])}, _ADAPTED_NAMES[kind])
    raise _OnlyTensorFlow("only TensorFlow knows the ops that it makes")


class _Ops:
    """The ops that are made."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeDef] = {}
        self._outputs: dict[str, list[_Tensor]] = {}
        self._used: set[str] = set()

    def tensors(self) -> list[_Tensor]:
        return [tensor for tensors in self._outputs.values() for tensor in tensors]

    def index(self) -> GraphIndex:
        """The graph of the ops."""
        body = NodeBody(list(self._nodes.values()), _no_functions())
        shapes = {(tensor.op, tensor.port): tensor.shape for tensor in self.tensors()}
        return build(body.nodes(), {}, (), typing=body.typing.with_shapes(shapes), extras=body)

    def placeholder(self, name: str, dtype: str, shape: Shape) -> _Tensor:
        """A tensor that the function is called on."""
        if not dtype:
            raise GraphEditError(
                "The dtype of a tensor that is passed to the function is unknown; choose another "
                "tensor."
            )
        node = tf_protos.NodeDef(name=name, op="Placeholder")
        node.attr["dtype"].type = _number(dtype.removesuffix("_ref"))
        node.attr["shape"].shape.CopyFrom(shape_proto(shape))
        return self._add(node, [(dtype.removesuffix("_ref"), shape)])[0]

    def constant(self, value: object, dtype: str, name: str) -> _Tensor:
        """A Const."""
        try:
            tensor = tf_protos.tensor_of(value, dtype)
        except (TypeError, ValueError, OverflowError):
            tensor = None
        if tensor is None:
            raise _OnlyTensorFlow(f"{value!r} is not a value of {dtype}")
        node = tf_protos.NodeDef(name=self._free(name), op="Const")
        node.attr["dtype"].type = tensor.dtype
        node.attr["value"].tensor.CopyFrom(tensor)
        return self._add(node, [(dtype, _shape_of(tensor))])[0]

    def constant_of_text(self, constant: Constant, dtype: str = "") -> _Tensor:
        """A constant of a replacement; `dtype` is "" where it can be any."""
        return self.constant(constant.value, dtype or _natural(np.asarray(constant.value)), "Const")

    def call_of_text(
        self, op_type: str, operands: Sequence[_Tensor | Constant], attributes: Mapping[str, object]
    ) -> _Tensor | list[_Tensor]:
        """An op of a replacement: its inputs in order, and attributes by the names of its OpDef."""
        definition = definition_of(op_type)
        tensors = typed_operands(
            definition, operands, lambda tensor: tensor.dtype, self.constant_of_text
        )
        return self.call(definition, input_arguments(definition, tensors, attributes))

    def call(
        self, definition: OpDef, arguments: Mapping[str, object], name: str = ""
    ) -> _Tensor | list[_Tensor]:
        """Make an op of this type, by the names of its inputs and attributes: its output, or a list
        of its outputs.
        """
        node = tf_protos.NodeDef(name=self._free(name or definition.name), op=definition.name)
        read: list[_Tensor] = []
        for arg in definition.input_arg:
            self._read(node, definition, arg, arguments[arg.name], read)
        for attr in definition.attr:
            if attr.name not in node.attr:
                node.attr[attr.name].CopyFrom(_attribute(attr, arguments.get(attr.name)))
            _check_allowed(attr, node.attr[attr.name])
        node.input.extend(as_input(tensor.op, tensor.port) for tensor in read)
        body = NodeBody([node], _no_functions())
        dtypes = body.typing.dtypes(node)
        try:
            shapes = output_shapes(
                node,
                definition,
                [tensor.shape for tensor in read],
                [self._nodes[tensor.op] for tensor in read],
            )
        except ShapeMismatch as mismatch:
            raise _OnlyTensorFlow(str(mismatch)) from None
        if shapes is None:
            if tf_protos.is_tensorflow_installed():
                raise _OnlyTensorFlow("its shapes follow by TensorFlow")
            shapes = (None,) * len(dtypes)
        outputs = self._add(node, list(zip(dtypes, shapes, strict=True)))
        return outputs[0] if len(outputs) == 1 else outputs

    def _read(
        self, node: NodeDef, definition: OpDef, arg: OpDef.ArgDef, value: Any, read: list[_Tensor]
    ) -> None:
        """Let a node read the tensors, or constants, of one input argument."""
        is_list = _is_list(arg)
        values = list(value) if is_list else [value]
        tensors: list[_Tensor] = []
        for k, each in enumerate(values):
            if isinstance(each, _Tensor):
                tensor = each
            else:
                dtype = self._dtype_of(node, definition, arg, values, each)
                tensor = self.constant(
                    each, dtype, f"{node.name}/{arg.name}{f'_{k}' if is_list else ''}"
                )
            tensors.append(tensor)
            if arg.type_attr:
                present = node.attr[arg.type_attr].type if arg.type_attr in node.attr else 0
                if present and present != _number(tensor.dtype):
                    raise _OnlyTensorFlow(
                        f"input {arg.name!r} cannot be {tensor.dtype} beside {dtype_name(present)}"
                    )
                node.attr[arg.type_attr].type = _number(tensor.dtype)
            elif arg.type and arg.type != _number(tensor.dtype):
                raise _OnlyTensorFlow(
                    f"input {arg.name!r} is of {dtype_name(arg.type)}, and cannot be {tensor.dtype}"
                )
        if arg.number_attr:
            node.attr[arg.number_attr].i = len(tensors)
        if arg.type_list_attr:
            node.attr[arg.type_list_attr].list.type.extend(_number(each.dtype) for each in tensors)
        read += tensors

    def _dtype_of(
        self,
        node: NodeDef,
        definition: OpDef,
        arg: OpDef.ArgDef,
        values: Sequence[object],
        value: object,
    ) -> str:
        """The dtype of a constant that is given for an input."""
        if arg.type:
            return dtype_name(arg.type)
        if arg.type_attr and arg.type_attr in node.attr:
            return dtype_name(node.attr[arg.type_attr].type)
        tensor = next((each for each in values if isinstance(each, _Tensor)), None)
        if tensor is not None and not arg.type_list_attr:
            return tensor.dtype
        attr = next((each for each in definition.attr if each.name == arg.type_attr), None)
        if attr is not None and attr.HasField("default_value"):
            default = dtype_name(attr.default_value.type)
        else:
            default = ""
        natural = _natural(np.asarray(value))
        if default and natural[:3] != default[:3]:
            raise _OnlyTensorFlow(f"input {arg.name!r} is of {default}")
        return default or natural

    def _add(self, node: NodeDef, outputs: Sequence[tuple[str, Shape]]) -> list[_Tensor]:
        self._nodes[node.name] = node
        self._used.add(node.name.lower())
        self._outputs[node.name] = [_Tensor(node.name, k, *each) for k, each in enumerate(outputs)]
        return self._outputs[node.name]

    def _free(self, name: str) -> str:
        return take_free_name(name, self._used)


def input_arguments(
    definition: OpDef, tensors: Sequence[object], attributes: Mapping[str, object]
) -> dict[str, object]:
    """The arguments of an op type: its inputs in order, and attributes by the names of its OpDef,
    of which those that follow from inputs are left out. An input that is a list takes all tensors
    that are left. Raises GraphEditError for another number of inputs, or an attribute that it does
    not have.
    """
    inputs = definition.input_arg
    arguments: dict[str, Any] = {each.name: [] for each in inputs if _is_list(each)}
    for arg, tensor in zip(_args_of_inputs(definition, len(tensors)), tensors, strict=True):
        if _is_list(arg):
            arguments[arg.name].append(tensor)
        else:
            arguments[arg.name] = tensor
    names = [attr.name for attr in definition.attr]
    for name in attributes:
        if name not in names:
            raise UnknownName(
                f"{definition.name} has no attribute {name!r}{known_instead(name, names)}"
            )
    inferred = {
        name for each in inputs for name in (each.type_attr, each.number_attr, each.type_list_attr)
    }
    options = {name: value for name, value in attributes.items() if name not in inferred}
    return arguments | {
        name: list(value) if isinstance(value, tuple) else value for name, value in options.items()
    }


def typed_operands(
    definition: OpDef,
    operands: Sequence[T | Constant],
    dtype_of: Callable[[T], str],
    make: Callable[[Constant, str], T],
) -> list[T]:
    """The inputs of an op, with its constants made of the dtype that the op wants there, "" where
    it leaves that open. Raises GraphEditError for another number of inputs.
    """
    args = _args_of_inputs(definition, len(operands))
    dtypes: dict[str, str] = {}
    for arg, operand in zip(args, operands, strict=True):
        if arg.type_attr and not isinstance(operand, Constant):
            dtypes.setdefault(arg.type_attr, dtype_of(operand))
    inputs: list[T] = []
    for arg, operand in zip(args, operands, strict=True):
        if not isinstance(operand, Constant):
            inputs.append(operand)
        elif arg.type:
            inputs.append(make(operand, dtype_name(arg.type)))
        else:
            inputs.append(make(operand, _holding(dtypes.get(arg.type_attr, ""), operand)))
    return inputs


def _holding(dtype: str, constant: Constant) -> str:
    """The dtype of the other inputs if it can hold a constant; "" if not."""
    kind = tf_protos.numpy_dtype(dtype).kind if dtype and dtype not in HANDLE_DTYPES else ""
    value = np.asarray(constant.value).dtype.kind
    return dtype if (kind in "fcV" and value in "if") or (kind in "iu" and value == "i") else ""


def _is_list(arg: OpDef.ArgDef) -> bool:
    return bool(arg.number_attr or arg.type_list_attr)


def _no_functions() -> GraphDefLibrary:
    """A library without functions, of a graph that the present release writes."""
    graph_def = tf_protos.GraphDef()
    graph_def.versions.producer = tf_protos.graph_def_version()
    return GraphDefLibrary.of(graph_def)


def _args_of_inputs(definition: OpDef, count: int) -> list[OpDef.ArgDef]:
    """For each of `count` inputs the argument of the OpDef that it belongs to."""
    args = definition.input_arg
    lists = sum(map(_is_list, args))
    rest = count - len(args) + 1
    if rest < 0 if lists == 1 else count != len(args) or lists:
        raise GraphEditError(
            f"{definition.name} takes {count_text(len(args), 'input')}, and the replacement gives "
            f"it {count}; name the inputs in the pattern and in its replacement, as in 'Relu(x)' "
            "and 'Elu(x)'."
        )
    return [arg for arg in args for _ in range(rest if _is_list(arg) else 1)]


def _natural(array: np.ndarray) -> str:
    """The dtype that TensorFlow gives to Python's numbers."""
    return {
        "i": "int32",
        "f": "float32",
        "b": "bool",
        "c": "complex128",
        "U": "string",
        "S": "string",
    }.get(array.dtype.kind, "")


def _shape_of(tensor: TensorProto) -> Shape:
    return tuple(dimension.size for dimension in tensor.tensor_shape.dim)


def _number(dtype: str) -> Any:
    return next((number for number, name in tf_protos.dtype_names().items() if name == dtype), 0)


def _attribute(attr: OpDef.AttrDef, value: Any) -> AttrValue:
    """The value of an attribute as its message."""
    if value is None:
        if not attr.HasField("default_value"):
            raise _OnlyTensorFlow(f"attribute {attr.name!r} has no value")
        return attr.default_value
    message = tf_protos.AttrValue()
    kind = attr.type.removeprefix("list(").removesuffix(")")
    if kind not in _FIELDS:
        raise _OnlyTensorFlow(f"attribute {attr.name!r} is a {attr.type}")
    try:
        if not attr.type.startswith("list("):
            _set(message, kind, value)
            return message
        message.list.SetInParent()
        for item in value:
            each = tf_protos.AttrValue()
            _set(each, kind, item)
            getattr(message.list, _FIELDS[kind]).append(getattr(each, _FIELDS[kind]))
    except (TypeError, ValueError):
        raise _OnlyTensorFlow(f"attribute {attr.name!r} cannot be {value!r}") from None
    return message


_FIELDS = {"bool": "b", "float": "f", "int": "i", "shape": "shape", "string": "s", "type": "type"}
"""The field of an AttrValue that a value of each kind is in."""


def _set(message: AttrValue, kind: str, value: Any) -> None:
    if kind == "shape":
        message.shape.CopyFrom(shape_proto(None if value is None else tuple(value)))
    elif kind == "type":
        message.type = _number(tf_protos.to_dtype_name(value))
    else:
        setattr(message, _FIELDS[kind], value.encode() if isinstance(value, str) else value)


def _check_allowed(attr: OpDef.AttrDef, value: AttrValue) -> None:
    """Raise _OnlyTensorFlow for a value that the attribute cannot have."""
    allowed = attr.allowed_values.list
    types = [value.type] if attr.type == "type" else value.list.type
    wrong = next((each for each in types if allowed.type and each not in allowed.type), 0)
    if wrong:
        names = ", ".join(map(dtype_name, allowed.type))
        raise _OnlyTensorFlow(f"it cannot be called on {dtype_name(wrong)}, only on {names}")
    texts = [value.s] if attr.type == "string" else value.list.s
    if allowed.s and any(text not in allowed.s for text in texts):
        raise _OnlyTensorFlow(
            f"attribute {attr.name!r} is one of {', '.join(text.decode() for text in allowed.s)}"
        )
    if attr.type.startswith("list("):
        count = len(value.list.i or value.list.s or value.list.type)
    else:
        count = value.i
    if attr.has_minimum and count < attr.minimum:
        raise _OnlyTensorFlow(f"attribute {attr.name!r} is at least {attr.minimum}")
