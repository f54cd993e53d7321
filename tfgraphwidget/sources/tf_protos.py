"""TensorFlow's protobuf messages, op definitions, dtypes and checkpoints, as data.

What reads and describes files takes them from here, so that another provider of them is a change of
this module. Importing this module does not import TensorFlow. The first use of a name does:
`tf_protos.NodeDef`.
"""

from __future__ import annotations

import ast
import inspect
import json
import lzma
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tfgraphwidget.graph import DTYPE_NAMES
from tfgraphwidget.naming import words
from tfgraphwidget.tensorflow_modules import (
    installed_folder,
    installed_version,
    is_installed,
    is_loaded,
    tf,
)
from tfgraphwidget.tf_types import CheckpointReader, DataType, Message, TensorProto

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    from google.protobuf.descriptor_pool import DescriptorPool

    from tfgraphwidget.tf_types import AssetFileDef as AssetFileDef
    from tfgraphwidget.tf_types import AttrValue as AttrValue
    from tfgraphwidget.tf_types import BundleEntryProto as BundleEntryProto
    from tfgraphwidget.tf_types import BundleHeaderProto as BundleHeaderProto
    from tfgraphwidget.tf_types import ControlFlowContextDef as ControlFlowContextDef
    from tfgraphwidget.tf_types import FunctionDef as FunctionDef
    from tfgraphwidget.tf_types import FunctionDefLibrary as FunctionDefLibrary
    from tfgraphwidget.tf_types import GradientDef as GradientDef
    from tfgraphwidget.tf_types import GraphDebugInfo as GraphDebugInfo
    from tfgraphwidget.tf_types import GraphDef as GraphDef
    from tfgraphwidget.tf_types import MetaGraphDef as MetaGraphDef
    from tfgraphwidget.tf_types import NodeDef as NodeDef
    from tfgraphwidget.tf_types import OpDef as OpDef
    from tfgraphwidget.tf_types import OpList as OpList
    from tfgraphwidget.tf_types import QueueRunnerDef as QueueRunnerDef
    from tfgraphwidget.tf_types import SavedModel as SavedModel
    from tfgraphwidget.tf_types import SaverDef as SaverDef
    from tfgraphwidget.tf_types import SignatureDef as SignatureDef
    from tfgraphwidget.tf_types import TensorInfo as TensorInfo
    from tfgraphwidget.tf_types import TrackableObjectGraph as TrackableObjectGraph
    from tfgraphwidget.tf_types import VariableDef as VariableDef

# Keys of collections, as in tf.compat.v1.GraphKeys (tests/sources/test_tf_protos.py compares them).
GLOBAL_VARIABLES = "variables"
TRAINABLE_VARIABLES = "trainable_variables"
LOCAL_VARIABLES = "local_variables"
SAVEABLE_OBJECTS = "saveable_objects"
# the name in a checkpoint of TensorFlow 2 of the list of its objects
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
ASSET_FILEPATHS = "asset_filepaths"
TABLE_INITIALIZERS = "table_initializer"
STRING = cast("DataType.ValueType", 7)  # DT_STRING

# Of these files TensorFlow's messages are read; those that they import come with them.
_FILES = (
    "framework/function.proto",
    "framework/graph.proto",
    "framework/graph_debug_info.proto",
    "framework/op_def.proto",
    "framework/variable.proto",
    "protobuf/control_flow.proto",
    "protobuf/meta_graph.proto",
    "protobuf/queue_runner.proto",
    "protobuf/saved_model.proto",
    "protobuf/tensor_bundle.proto",
    "protobuf/trackable_object_graph.proto",
)
_NAMES = words(
    "AssetFileDef AttrValue BundleEntryProto BundleHeaderProto ControlFlowContextDef FunctionDef",
    "FunctionDefLibrary GradientDef GraphDebugInfo GraphDef MetaGraphDef NodeDef OpDef OpList",
    "QueueRunnerDef SaverDef SavedModel SignatureDef TensorInfo TrackableObjectGraph VariableDef",
)
_RELEASE, _GRAPH_DEF_VERSION = "2.21.0", 2474  # of which this package has the definitions of ops
_COLLECTIONS = {
    **dict.fromkeys(
        ("variables", "trainable_variables", "local_variables", "model_variables"), "VariableDef"
    ),
    **dict.fromkeys(("metric_variables", "moving_average_variables", "global_step"), "VariableDef"),
    "while_context": "WhileContextDef",
    "cond_context": "CondContextDef",
    "savers": "SaverDef",
    "queue_runners": "QueueRunnerDef",
}
REFERENCE = 100  # so much more is the DataType of a reference to a tensor
_SERIALIZED = re.compile(r"AddSerializedFile\((b(['\"]).*\2)\)$", re.MULTILINE)


class MessageClasses(NamedTuple):
    """The classes of the three messages with graphs: TensorFlow's, or `summary_schema`'s."""

    GraphDef: type[Any]  # of one of two pools: TensorFlow's classes, or those of `summary_schema`
    MetaGraphDef: type[Any]
    SavedModel: type[Any]


@cache
def message_classes() -> MessageClasses:
    """TensorFlow's own classes."""
    return MessageClasses(*(_message(name) for name in MessageClasses._fields))


def registered_op(op_type: str) -> OpDef | None:
    """The OpDef of an op type, or None: TensorFlow's once it is imported, else this package's."""
    if is_loaded():
        registered: OpDef | None = import_module("tensorflow.python.framework.op_def_registry").get(
            op_type
        )
        return registered
    return _op_definitions().get(op_type)


@cache
def _op_definitions() -> dict[str, OpDef]:
    """The OpDefs of the ops of TensorFlow."""
    return {
        definition.name: definition
        for definition in _message("OpList").FromString(_data("op_definitions.xz")).op
    }


def op_docstring(op_type: str) -> str:
    """The docstring of an op type's function in `tf.raw_ops`; "" for another's op."""
    if is_loaded():
        text = getattr(getattr(import_module("tensorflow").raw_ops, op_type, None), "__doc__", None)
        return inspect.cleandoc(text or "")
    return _op_docstrings().get(op_type, "")


def raw_op_names() -> Collection[str]:
    """The op types that `tf.raw_ops` has a function for."""
    if is_loaded():
        return frozenset(
            name for name in dir(import_module("tensorflow").raw_ops) if not name.startswith("_")
        )
    return _op_docstrings().keys()


@cache
def _op_docstrings() -> dict[str, str]:
    docstrings: dict[str, str] = json.loads(_data("op_documentation.xz"))
    return docstrings


@cache
def dtype_names() -> dict[int, str]:
    """The number of each DataType → TensorFlow's name of it, "float32", references included.

    One that this package does not know has the name that the installed release gives it:
    DT_FLOAT4_E2M1FN is float4_e2m1fn. Others have none.
    """
    names = dict(enumerate(DTYPE_NAMES[1:], 1))
    for value in _message("AttrValue").DESCRIPTOR.fields_by_name["type"].enum_type.values:
        if 0 < value.number < REFERENCE:
            names.setdefault(value.number, value.name.removeprefix("DT_").lower())
    return names | {number + REFERENCE: f"{name}_ref" for number, name in names.items()}


_PYTHON_DTYPES: Mapping[object, str] = {
    float: "float32",
    bool: "bool",
    object: "string",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}


def to_dtype_name(dtype: object) -> str:
    """TensorFlow's name of a dtype: of a name, a numpy or Python type, or a `tf.DType`.

    Raises:
        TypeError: It is none of these.

    Example:
        >>> to_dtype_name(float), to_dtype_name("half"), to_dtype_name("int64")
        ('float32', 'float16', 'int64')
    """
    import numpy as np  # the command line's help needs none

    if isinstance(dtype, str | type) and dtype in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[dtype]
    names = dtype_names().values()
    if isinstance(dtype, str) and dtype in names:
        return dtype
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        name = np.dtype(dtype).name
        if name in names:
            return name
    if is_loaded() or (
        isinstance(dtype, str | type | np.dtype) and installed_version() is not None
    ):
        return str(tf.as_dtype(cast("str", dtype)).name)
    raise TypeError(f"{dtype!r} is not a dtype.")


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of a dtype by TensorFlow's name, "bfloat16"."""
    from tfgraphwidget.graph import tensor_values

    return tensor_values.numpy_dtype(name)


def array_of(tensor_proto: TensorProto) -> np.ndarray:
    """The numpy array of a TensorProto, of any size. TypeError or ValueError if damaged."""
    from tfgraphwidget.graph import tensor_values

    return tensor_values.tensor_array(
        tensor_proto, dtype_names().get(tensor_proto.dtype, ""), largest=None
    )


def tensor_of(value: object, dtype: str) -> TensorProto | None:
    """The TensorProto of a value, as `tf.make_tensor_proto` makes it; None for what only TensorFlow
    can convert.

    Raises:
        TypeError: It is not a value of the dtype.
        ValueError: It is too large, or no array.

    Example:
        >>> array_of(tensor_of([[1, 2]], "float32"))
        array([[1., 2.]], dtype=float32)
    """
    tensor: TensorProto = _message("AttrValue")().tensor
    return tensor if set_tensor(tensor, value, dtype) else None


def set_tensor(tensor: TensorProto, value: object, dtype: str) -> bool:
    """Set a TensorProto to what `tensor_of` makes of a value; return whether that can be done."""
    from tfgraphwidget.graph import tensor_values

    array = tensor_values.to_array(value, dtype)
    number = next((number for number, name in dtype_names().items() if name == dtype), 0)
    if array is None or not number:
        return False
    tensor_values.set_all(tensor, array, number)
    return True


def string_tensor(text: str) -> TensorProto:
    """The TensorProto of a scalar string."""
    tensor = _message("AttrValue")().tensor
    tensor.dtype = STRING
    tensor.tensor_shape.SetInParent()
    tensor.string_val.append(text.encode())
    proto: TensorProto = tensor
    return proto


def graph_def_version() -> int:
    """The newest version of GraphDefs that TensorFlow reads; before its import, `_RELEASE`'s."""
    if is_loaded():
        return int(import_module("tensorflow").version.GRAPH_DEF_VERSION)
    return _GRAPH_DEF_VERSION


def tensorflow_version() -> str:
    """The installed release of TensorFlow, "2.21.0"; without one, that of this package's ops."""
    if is_loaded():
        return str(import_module("tensorflow").__version__)
    return installed_version() or _RELEASE


def is_tensorflow_installed() -> bool:
    """Whether TensorFlow can be used: it is there, and not too old."""
    return is_installed()


def is_tensorflow_loaded() -> bool:
    """Whether TensorFlow is imported already, so that what it does faster costs no import."""
    return is_loaded()


def collection_message(key: str) -> type[Message] | None:
    """The message class of the entries of a MetaGraphDef's collection, by its key, or None."""
    if is_loaded():
        result: type[Message] | None = import_module(
            "tensorflow.python.framework.ops"
        ).get_collection_proto_type(key)
        return result
    return _message(_COLLECTIONS[key]) if key in _COLLECTIONS else None


def checkpoint_reader(prefix: str) -> CheckpointReader:
    """TensorFlow's reader of a checkpoint. Raises what TensorFlow raises.

    `tf.train.load_checkpoint` would take a prefix for the directory of that name, if there is one.
    """
    result: CheckpointReader = tf.compat.v1.train.NewCheckpointReader(prefix)
    return result


class OldCheckpoint:
    """A TensorFlow 0.x checkpoint of one file, which TensorFlow reads; else as `TensorBundle`."""

    def __init__(self, prefix: str) -> None:
        self._reader = checkpoint_reader(prefix)
        self.shapes = self._reader.get_variable_to_shape_map()
        self.dtypes = {
            name: str(dtype.name)
            for name, dtype in self._reader.get_variable_to_dtype_map().items()
        }
        self.value = self._reader.get_tensor


@cache
def _message(name: str) -> Any:
    from google.protobuf import message_factory  # the command line's help needs none

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"tensorflow.{name}"))


@cache
def _pool() -> DescriptorPool:
    """The pool of TensorFlow's messages: protobuf's own, with the files of the TensorFlow that is
    installed.

    They are read from its modules without importing it. Once TensorFlow is imported, it finds the
    same files in the pool, so that its classes of messages are these
    (tests/test_tensorflow_facts.py). Where TensorFlow is not installed, it is a pool apart, with
    the files that this package has.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool

    folder = installed_folder()
    if folder is None:
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(_data("messages.xz")).file:
            pool.Add(file)
        return pool
    pool = descriptor_pool.Default()
    read: set[str] = set()
    for name in _FILES:
        _add_file(pool, Path(folder).parent, f"tensorflow/core/{name}", read)
    return pool


def _data(file: str) -> bytes:
    """The content of a file that `python -m tests.sources.test_op_definitions` writes."""
    return lzma.decompress((Path(__file__).parent / file).read_bytes())


def _add_file(pool: DescriptorPool, root: Path, name: str, read: set[str]) -> None:
    """Add a file of messages to a pool, after the files that it imports."""
    from google.protobuf import descriptor_pb2

    if name in read:
        return
    read.add(name)
    module = name.removesuffix(".proto") + "_pb2"
    # TensorFlow brings files of XLA and TSL with it, in folders of its own.
    places = [
        root / folder / f"{module}.py" for folder in ("", "tensorflow", "tensorflow/compiler")
    ]
    path = next((place for place in places if place.is_file()), None)
    if path is None or name.startswith("google/"):
        import_module(module.replace("/", "."))
        return
    match = _SERIALIZED.search(path.read_text(encoding="utf-8"))
    assert match is not None, name  # protoc writes it so since 2022
    serialized = ast.literal_eval(match[1])
    for dependency in descriptor_pb2.FileDescriptorProto.FromString(serialized).dependency:
        _add_file(pool, root, dependency, read)
    pool.AddSerializedFile(serialized)


if not TYPE_CHECKING:  # which would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name.startswith("_") or name not in _NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _message(name)
