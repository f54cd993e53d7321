"""An op of any type, made of its OpDef: inputs of the right dtypes, and attributes that say as
little as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import ops

from tests.untrusted.canary import Canary
from tests.untrusted.hostile import Built, function_of
from tfgraphwidget.graph import effects_by_type

v1 = tf.compat.v1
_SHAPES: tuple[list[int] | None, ...] = ([], [2], [1], [1, 1], None)
# The fields of an AttrValue by the type of the attribute.
_FIELDS = {
    "type": "type",
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "shape": "shape",
    "tensor": "tensor",
}
_FIELDS["func"] = "func"
_MESSAGES = frozenset({"shape", "tensor", "func"})
# Words in the names of arguments that name a server.
_NAMES_SERVER = (
    "address",
    "master",
    "target",
    "protocol",
)


@cache
def definitions() -> dict[str, op_def_pb2.OpDef]:
    """The OpDefs of the running TensorFlow."""
    serialized = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return {
        definition.name: definition for definition in op_def_pb2.OpList.FromString(serialized).op
    }


def dangerous_types() -> list[str]:
    """The op types of the running TensorFlow that do more than compute."""
    known = definitions()
    return [
        op_type
        for op_type, effect in effects_by_type().items()
        if effect.is_dangerous and op_type in known
    ]


def builder(op_type: str) -> Callable[[Canary], Built]:
    """A builder as those of `hostile`."""

    def build(canary: Canary) -> Built:
        definition = definitions()[op_type]
        attributes = {attr.name: _attribute(attr, canary) for attr in definition.attr}
        for shape in _SHAPES:
            inputs = [
                tensor
                for argument in definition.input_arg
                for tensor in _inputs(argument, attributes, canary, shape)
            ]
            with suppress(ValueError):  # TensorFlow's shape function wants another shape
                return [_added(op_type, attributes, inputs)]
        raise ValueError(f"{op_type} takes inputs of none of the shapes {_SHAPES}.")

    return build


def _added(
    op_type: str, attributes: Mapping[str, attr_value_pb2.AttrValue], inputs: Sequence[tf.Tensor]
) -> tf.Operation:
    """A new op in the default graph."""
    graph = ops.get_default_graph()
    node = v1.NodeDef(name=graph.unique_name("hostile"), op=op_type)
    node.input[:] = [tensor.name.removesuffix(":0") for tensor in inputs]
    for name, value in attributes.items():
        node.attr[name].CopyFrom(value)
    dtypes = [tensor.dtype for tensor in inputs]
    return ops.Operation.from_node_def(
        node, graph, inputs, input_types=dtypes, op_def=definitions()[op_type]
    )


def _attribute(attr: op_def_pb2.OpDef.AttrDef, canary: Canary) -> attr_value_pb2.AttrValue:
    """The default of an attribute, or the least that it can be."""
    value = attr_value_pb2.AttrValue()
    if attr.HasField("default_value") and not (
        attr.type == "string" and attr.default_value.s == b""
    ):
        value.CopyFrom(attr.default_value)
        return value
    least = max(attr.minimum, 1) if attr.has_minimum else 1
    kind, is_list = attr.type.removeprefix("list(").removesuffix(")"), attr.type.startswith("list(")
    one = _value(kind, attr, canary)
    if is_list:
        getattr(value.list, _FIELDS[kind]).extend([one] * least)
    elif kind in _MESSAGES:
        getattr(value, _FIELDS[kind]).CopyFrom(one)
    else:
        setattr(value, _FIELDS[kind], least if kind == "int" else one)
    return value


def _value(kind: str, attr: op_def_pb2.OpDef.AttrDef, canary: Canary) -> Any:
    """A value of an attribute, or an element of its list."""
    allowed = attr.allowed_values.list
    if kind == "type":
        return _preferred(list(allowed.type))
    if kind == "string":
        return allowed.s[0] if allowed.s else _text(attr.name, canary)
    if kind == "func":
        return attr_value_pb2.NameAttrList(name=_function_name())
    values = {"int": 1, "float": 1.0, "bool": False, "tensor": tf.make_tensor_proto([1.0, 2.0])}
    return values[kind] if kind in values else tf.TensorShape([2]).as_proto()


def _function_name() -> str:
    """The name of a function that is in the graph."""
    function = function_of(lambda x: x * 2.0)
    function.add_to_graph(ops.get_default_graph())
    return str(function.name.decode() if isinstance(function.name, bytes) else function.name)


def _preferred(allowed: list[int]) -> int:
    """A dtype that is allowed: float32 if it is."""
    wanted = tf.float32.as_datatype_enum
    return wanted if not allowed or wanted in allowed else allowed[0]


def _text(name: str, canary: Canary) -> bytes:
    """A text for an argument of a name: where it names a file, one of the canary's."""
    if "url" in name:
        return f"file://{canary.written}/url".encode()
    if any(word in name for word in _NAMES_SERVER):
        return f"127.0.0.1:{canary.port}".encode()
    return str(canary.written / "generic").encode()


def _inputs(
    argument: op_def_pb2.OpDef.ArgDef,
    attributes: Mapping[str, attr_value_pb2.AttrValue],
    canary: Canary,
    shape: Sequence[int] | None,
) -> Iterator[tf.Tensor]:
    """The tensors of an argument; of a shape, or of one that is not known."""
    if argument.type_list_attr:
        types = list(attributes[argument.type_list_attr].list.type)
    else:
        one = argument.type or attributes[argument.type_attr].type
        types = [one] * (attributes[argument.number_attr].i if argument.number_attr else 1)
    for each in types:
        dtype = tf.as_dtype(each)
        if dtype in {tf.resource, tf.variant}:
            yield v1.placeholder(dtype, [])
        elif argument.is_ref:
            yield tf.raw_ops.VariableV2(shape=shape or [], dtype=dtype)
        else:
            value = _text(argument.name, canary) if dtype == tf.string else 1
            one = (
                tf.constant(value, dtype)
                if dtype == tf.string
                else tf.cast(tf.constant(value), dtype)
            )
            filled = tf.fill(shape or [], one)
            yield filled if shape is not None else v1.placeholder_with_default(filled, None)
