"""GraphDef, MetaGraphDef and SavedModel as messages without TensorFlow, whose import takes seconds.

Declared is the part of TensorFlow's messages that `summary` counts; protobuf skips the rest.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tfgraphwidget.graph import DTYPE_NAMES
from tfgraphwidget.sources.tf_protos import REFERENCE, MessageClasses

# Message -> its fields as "number name: type"; "*" repeated, "{}" a map from strings.
_MESSAGES = {
    "Dim": "1 size: int64",
    "Shape": "2 dim: *Dim, 3 unknown_rank: bool",
    "Called": "1 name: string",
    "Attr": (
        "2 s: bytes, 5 b: bool, 6 type: DataType, 7 shape: Shape, 10 func: Called, 8 tensor: "
        "Nothing, 1 list: Nothing"
    ),
    "Nothing": "",
    "Node": "1 name: string, 2 op: string, 3 input: *string, 4 device: string, 5 attr: {}Attr",
    "Called_": "1 name: string",
    "Function": "1 signature: Called_, 3 node_def: *Node",
    "Library": "1 function: *Function",
    "Versions": "1 producer: int32",
    "GraphDef": "1 node: *Node, 2 library: Library, 4 versions: Versions",
    "TensorInfo": "1 name: string, 2 dtype: DataType, 3 tensor_shape: Shape",
    "Signature": "1 inputs: {}TensorInfo, 2 outputs: {}TensorInfo, 3 method_name: string",
    "About": "4 tags: *string, 5 tensorflow_version: string",
    "MetaGraphDef": "1 meta_info_def: About, 2 graph_def: GraphDef, 5 signature_def: {}Signature",
    "SavedModel": "1 saved_model_schema_version: int64, 2 meta_graphs: *MetaGraphDef",
}
_FIELD = re.compile(r"(\d+) (\w+): (\*|\{\}|)(\w+)")
_PROTO = descriptor_pb2.FieldDescriptorProto
# The others' names in capitals.
_CALLED = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}


def dtype_of(number: int) -> str:
    """A DataType's name, "float32"; "" for none."""
    number %= REFERENCE
    return DTYPE_NAMES[number] if 0 < number < len(DTYPE_NAMES) else ""


@cache
def summary_messages() -> MessageClasses:
    """The message classes, in a pool of their own, as TensorFlow's have the same names."""
    file = descriptor_pb2.FileDescriptorProto(
        name="counted.proto", package="counted", syntax="proto3"
    )
    enum = file.enum_type.add(name="DataType")
    for number, dtype in enumerate(DTYPE_NAMES):
        value = _CALLED.get(dtype, dtype.upper())
        enum.value.add(name=f"DT_{value}", number=number)
        if number:
            enum.value.add(name=f"DT_{value}_REF", number=number + REFERENCE)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field_name, many, kind in _FIELD.findall(fields):
            _add(message, int(number), field_name, many, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kinds = (pool.FindMessageTypeByName(f"counted.{name}") for name in MessageClasses._fields)
    return MessageClasses(*map(message_factory.GetMessageClass, kinds))


def _add(message: Any, number: int, name: str, many: str, kind: str) -> None:
    if many == "{}":
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add(entry, 1, "key", "", "string")
        _add(entry, 2, "value", "", kind)
        kind = f"{message.name}.{entry.name}"
    field = message.field.add(name=name, number=number)
    field.label = _PROTO.LABEL_REPEATED if many else _PROTO.LABEL_OPTIONAL
    plain = {"int32": _PROTO.TYPE_INT32, "int64": _PROTO.TYPE_INT64, "bool": _PROTO.TYPE_BOOL}
    if kind in ("string", "bytes"):
        field.type = _PROTO.TYPE_STRING if kind == "string" else _PROTO.TYPE_BYTES
    elif kind in plain:
        field.type = plain[kind]
    else:
        field.type = _PROTO.TYPE_ENUM if kind == "DataType" else _PROTO.TYPE_MESSAGE
        field.type_name = f".counted.{kind}"
