"""TensorFlow's protobuf messages, op definitions, dtypes and checkpoints, as data.

What reads and describes files takes them from here, so that another provider of them is a change of this module.
Importing this module does not import TensorFlow. The first use of a name does: `tf_protos.NodeDef`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tfgraphwidget.tf_types import CheckpointReader, DataType, Message, TensorProto

if TYPE_CHECKING:
    from tfgraphwidget.tf_types import AssetFileDef as AssetFileDef
    from tfgraphwidget.tf_types import AttrValue as AttrValue
    from tfgraphwidget.tf_types import ControlFlowContextDef as ControlFlowContextDef
    from tfgraphwidget.tf_types import FunctionDef as FunctionDef
    from tfgraphwidget.tf_types import FunctionDefLibrary as FunctionDefLibrary
    from tfgraphwidget.tf_types import GradientDef as GradientDef
    from tfgraphwidget.tf_types import GraphDebugInfo as GraphDebugInfo
    from tfgraphwidget.tf_types import GraphDef as GraphDef
    from tfgraphwidget.tf_types import MetaGraphDef as MetaGraphDef
    from tfgraphwidget.tf_types import NodeDef as NodeDef
    from tfgraphwidget.tf_types import OpDef as OpDef
    from tfgraphwidget.tf_types import SavedModel as SavedModel
    from tfgraphwidget.tf_types import SignatureDef as SignatureDef
    from tfgraphwidget.tf_types import TrackableObjectGraph as TrackableObjectGraph
    from tfgraphwidget.tf_types import VariableDef as VariableDef

# Keys of collections, as in tf.compat.v1.GraphKeys (tests/sources/test_tf_protos.py compares them).
GLOBAL_VARIABLES = "variables"
TRAINABLE_VARIABLES = "trainable_variables"
ASSET_FILEPATHS = "asset_filepaths"
TABLE_INITIALIZERS = "table_initializer"
STRING = cast("DataType.ValueType", 7)  # DT_STRING

_CORE = "tensorflow.core"
_MODULES = {
    "AssetFileDef": "protobuf.meta_graph_pb2",
    "AttrValue": "framework.attr_value_pb2",
    "ControlFlowContextDef": "protobuf.control_flow_pb2",
    "FunctionDef": "framework.function_pb2",
    "FunctionDefLibrary": "framework.function_pb2",
    "GradientDef": "framework.function_pb2",
    "GraphDebugInfo": "framework.graph_debug_info_pb2",
    "GraphDef": "framework.graph_pb2",
    "MetaGraphDef": "protobuf.meta_graph_pb2",
    "NodeDef": "framework.node_def_pb2",
    "OpDef": "framework.op_def_pb2",
    "SavedModel": "protobuf.saved_model_pb2",
    "SignatureDef": "protobuf.meta_graph_pb2",
    "TrackableObjectGraph": "protobuf.trackable_object_graph_pb2",
    "VariableDef": "framework.variable_pb2",
}


class MessageClasses(NamedTuple):
    """The classes of the three messages that hold graphs; TensorFlow's own, or `summary_schema`'s parts of them."""

    GraphDef: Any
    MetaGraphDef: Any
    SavedModel: type[Any]


@cache
def message_classes() -> MessageClasses:
    """TensorFlow's own classes."""
    return MessageClasses(*(_message(name) for name in MessageClasses._fields))


def registered_op(op_type: str) -> Any:
    """The OpDef that is registered for an op type, or None."""
    definition: OpDef | None = import_module("tensorflow.python.framework.op_def_registry").get(op_type)
    return definition


@cache
def dtype_names() -> dict[int, str]:
    """The number of each DataType → TensorFlow's name of it, "float32", references included."""
    types_pb2 = import_module(f"{_CORE}.framework.types_pb2")
    as_dtype = import_module("tensorflow").as_dtype
    return {number: as_dtype(number).name for number in types_pb2.DataType.values() if number}


def numpy_dtype(name: str) -> Any:
    """The numpy dtype of a dtype by TensorFlow's name, "bfloat16"."""
    return import_module("tensorflow").as_dtype(name).as_numpy_dtype


def array_of(tensor_proto: object) -> np.ndarray[Any, Any]:
    """The numpy array of a TensorProto. Raises what TensorFlow raises for a damaged one."""
    array: np.ndarray[Any, Any] = import_module("tensorflow").make_ndarray(tensor_proto)
    return array


def string_tensor(text: str) -> TensorProto:
    """The TensorProto of a scalar string."""
    proto: TensorProto = import_module("tensorflow").make_tensor_proto(text)
    return proto


def graph_def_version() -> int:
    """The newest version of GraphDefs that this TensorFlow reads."""
    return int(import_module("tensorflow").version.GRAPH_DEF_VERSION)


def tensorflow_version() -> str:
    """The release of this TensorFlow, "2.21.0"."""
    return str(import_module("tensorflow").__version__)


def collection_message(key: str) -> type[Message] | None:
    """The message class that the entries of a collection in a MetaGraphDef are, by the collection's key, or None."""
    result: type[Message] | None = import_module("tensorflow.python.framework.ops").get_collection_proto_type(key)
    return result


def latest_checkpoint(folder: str) -> str | None:
    """The prefix of the newest checkpoint that the list in a directory names. Raises what TensorFlow raises."""
    prefix = import_module("tensorflow").train.latest_checkpoint(folder)
    return None if prefix is None else str(prefix)


def checkpoint_reader(prefix: str) -> CheckpointReader:
    """TensorFlow's reader of a checkpoint. Raises what TensorFlow raises.

    `tf.train.load_checkpoint` would take a prefix for the directory of that name, if there is one.
    """
    result: CheckpointReader = import_module("tensorflow").compat.v1.train.NewCheckpointReader(prefix)
    return result


@cache
def _message(name: str) -> Any:
    return getattr(import_module(f"{_CORE}.{_MODULES[name]}"), name)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _message(name)
