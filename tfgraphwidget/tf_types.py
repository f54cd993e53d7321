"""TensorFlow's types, for annotations: messages, graphs, ops, tensors and sessions.

Importing this module does not import TensorFlow, so that modules which plan and describe without
TensorFlow can say what they take: a type checker sees the classes (package `types-tensorflow`), a
running program sees `object`.

A NodeDef that a file's summary reads has fewer fields than TensorFlow's; it is annotated as NodeDef
all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar

if TYPE_CHECKING:
    from google.protobuf.message import Message as Message
    from tensorflow import DType as DType
    from tensorflow import Graph as Graph
    from tensorflow import Module as Module
    from tensorflow import Operation as Operation
    from tensorflow import Tensor as Tensor
    from tensorflow import TensorSpec as TensorSpec
    from tensorflow import Variable as Variable
    from tensorflow._aliases import DTypeLike as DTypeLike
    from tensorflow._aliases import ShapeLike as ShapeLike
    from tensorflow._aliases import TensorCompatible as TensorCompatible
    from tensorflow.core.framework.attr_value_pb2 import AttrValue as AttrValue
    from tensorflow.core.framework.attr_value_pb2 import NameAttrList as NameAttrList
    from tensorflow.core.framework.function_pb2 import FunctionDef as FunctionDef
    from tensorflow.core.framework.function_pb2 import FunctionDefLibrary as FunctionDefLibrary
    from tensorflow.core.framework.function_pb2 import GradientDef as GradientDef
    from tensorflow.core.framework.graph_debug_info_pb2 import GraphDebugInfo as GraphDebugInfo
    from tensorflow.core.framework.graph_pb2 import GraphDef as GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef as NodeDef
    from tensorflow.core.framework.op_def_pb2 import OpDef as OpDef
    from tensorflow.core.framework.op_def_pb2 import OpList as OpList
    from tensorflow.core.framework.step_stats_pb2 import NodeExecStats as NodeExecStats
    from tensorflow.core.framework.step_stats_pb2 import StepStats as StepStats
    from tensorflow.core.framework.tensor_pb2 import TensorProto as TensorProto
    from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto as TensorShapeProto
    from tensorflow.core.framework.tensor_slice_pb2 import TensorSliceProto as TensorSliceProto
    from tensorflow.core.framework.types_pb2 import DataType as DataType
    from tensorflow.core.framework.variable_pb2 import SaveSliceInfoDef as SaveSliceInfoDef
    from tensorflow.core.framework.variable_pb2 import VariableDef as VariableDef
    from tensorflow.core.framework.versions_pb2 import VersionDef as VersionDef
    from tensorflow.core.protobuf.config_pb2 import ConfigProto as ConfigProto
    from tensorflow.core.protobuf.config_pb2 import RunMetadata as RunMetadata
    from tensorflow.core.protobuf.config_pb2 import RunOptions as RunOptions
    from tensorflow.core.protobuf.control_flow_pb2 import CondContextDef as CondContextDef
    from tensorflow.core.protobuf.control_flow_pb2 import (
        ControlFlowContextDef as ControlFlowContextDef,
    )
    from tensorflow.core.protobuf.control_flow_pb2 import WhileContextDef as WhileContextDef
    from tensorflow.core.protobuf.meta_graph_pb2 import AssetFileDef as AssetFileDef
    from tensorflow.core.protobuf.meta_graph_pb2 import CollectionDef as CollectionDef
    from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
    from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef as SignatureDef
    from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo as TensorInfo
    from tensorflow.core.protobuf.queue_runner_pb2 import QueueRunnerDef as QueueRunnerDef
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as SavedModel
    from tensorflow.core.protobuf.saved_object_graph_pb2 import (
        SavedBareConcreteFunction as SavedBareConcreteFunction,
    )
    from tensorflow.core.protobuf.saved_object_graph_pb2 import (
        SavedConcreteFunction as SavedConcreteFunction,
    )
    from tensorflow.core.protobuf.saved_object_graph_pb2 import SavedObject as SavedObject
    from tensorflow.core.protobuf.saved_object_graph_pb2 import SavedObjectGraph as SavedObjectGraph
    from tensorflow.core.protobuf.saver_pb2 import SaverDef as SaverDef
    from tensorflow.core.protobuf.struct_pb2 import StructuredValue as StructuredValue
    from tensorflow.core.protobuf.struct_pb2 import TensorSpecProto as TensorSpecProto
    from tensorflow.core.protobuf.tensor_bundle_pb2 import BundleEntryProto as BundleEntryProto
    from tensorflow.core.protobuf.tensor_bundle_pb2 import BundleHeaderProto as BundleHeaderProto
    from tensorflow.core.protobuf.trackable_object_graph_pb2 import (
        TrackableObjectGraph as TrackableObjectGraph,
    )

    TrackableObject = TrackableObjectGraph.TrackableObject

    ContextDef = CondContextDef | WhileContextDef
    """A control flow context of TensorFlow 1, as it is saved."""

    class Named(Protocol):
        """An object with the name of an op or a tensor: an Operation, a Tensor, a Variable."""

        @property
        def name(self) -> Any:
            """The name; of what TensorFlow has no name for, whatever it says in place of one."""

    OpLike = str | Named
    """An op, or its name; a tensor represents the op that computes it."""
    TensorLike = str | Named
    """A tensor, or its name; an op represents its outputs, a variable its value."""
    OpsLike: TypeAlias = str | Named | Iterable["OpsLike"]
    """Ops and name scopes: one, several, or a selection."""
    TensorsLike: TypeAlias = str | Named | Iterable["TensorsLike"]
    """Tensors: one, several, or the outputs of a selection."""

    TensorKey = TypeVar("TensorKey", bound=str | Named)
    """The key of a mapping from tensors, such as feeds: a TypeVar, because a Mapping is invariant
    in its keys.
    """

    class EditorLike(Protocol):
        """An editor of a graph."""

        @property
        def graph(self) -> Graph:
            """The graph that is edited."""

    SessionLike: TypeAlias = "Session"
    """A session of TensorFlow 1, or what wraps one."""
    GraphLike = Graph | EditorLike
    """A `tf.Graph`, or an editor of one."""

    class FuncGraph(Graph):
        """The graph of a traced function; internal to TensorFlow, which ships no types of it."""

        name: str
        inputs: list[Tensor]
        outputs: list[Tensor]
        captures: Sequence[tuple[Tensor, Tensor]]
        outer_graph: Graph
        structured_input_signature: tuple[tuple[Any, ...], Mapping[str, Any]]
        structured_outputs: Any

    class ConcreteFunction:
        """A trace of a `tf.function`; TensorFlow's own stub has nothing but the call."""

        name: Any  # bytes or str, by the release
        graph: FuncGraph
        inputs: list[Tensor]
        outputs: list[Tensor]
        captured_inputs: list[Tensor]
        function_def: FunctionDef
        structured_outputs: Any

        def __call__(self, *arguments: object, **keywords: object) -> Any:
            """Call the function."""

        def __getattr__(self, name: str) -> Any:
            """Any other attribute."""

    class ControlFlowContext(Protocol):
        """A conditional or loop of TensorFlow 1 in a live graph; TensorFlow has no types of it."""

        name: str
        pivot: Tensor
        outer_context: ControlFlowContext | None
        grad_state: Any

        def to_proto(self) -> ContextDef:
            """The context as it is saved."""

        def __getattr__(self, name: str) -> Any:
            """Any other attribute."""

    class LibraryFunction(Protocol):
        """An entry of a graph's function library; its class differs by function and release."""

        @property
        def name(self) -> Any:
            """The name, as bytes or str."""

        def __getattr__(self, name: str) -> Any:
            """Any other attribute."""

    class CheckpointReader(Protocol):
        """TensorFlow's reader of a checkpoint, which is written in C++."""

        def get_tensor(self, tensor_str: str) -> Any:
            """The value of the name `tensor_str`, as a numpy array or bytes."""

        def has_tensor(self, tensor_str: str) -> bool:
            """Whether there is a value of the name `tensor_str`."""

        def get_variable_to_dtype_map(self) -> dict[str, DType]:
            """The dtype of each value by its name."""

        def get_variable_to_shape_map(self) -> dict[str, list[int]]:
            """The shape of each value by its name."""

    class GenericFunction(Protocol):
        """The used part of a `tf.function`."""

        input_signature: Sequence[TensorSpec] | None
        python_function: Callable[..., object]

        def __call__(self, *arguments: object, **keywords: object) -> Any:
            """Call the function."""

        def get_concrete_function(self, *arguments: object, **keywords: object) -> ConcreteFunction:
            """The trace for arguments like these."""

    class LookupTable(Protocol):
        """The used part of a `tf.lookup` table."""

        resource_handle: Tensor

    class MutableLookupTable(LookupTable, Protocol):
        """The used part of a `tf.lookup.experimental.MutableHashTable`."""

        def insert(self, keys: Tensor, values: Tensor) -> object:
            """Add keys with their values."""

    class QueueRunner(Protocol):
        """The used part of a `tf.compat.v1.train.QueueRunner`."""

        def to_proto(self) -> QueueRunnerDef:
            """The runner as it is saved."""

    class Saver(Protocol):
        """The used part of a `tf.compat.v1.train.Saver`."""

        def save(self, *arguments: object, **options: object) -> str:
            """Write a checkpoint, and return its path."""

        def restore(self, *arguments: object, **options: object) -> None:
            """Load a checkpoint into a session."""

    class KerasModel(Protocol):
        """The used part of a `keras.Model`, or of a layer; Keras ships no types."""

        name: str
        variables: Sequence[Variable]

        def __call__(self, *arguments: object, **keywords: object) -> Any:
            """Call the model."""

        def __getattr__(self, name: str) -> Any:
            """Any other attribute."""
else:

    def __getattr__(name: str) -> type:
        """Any name that is asked for is `object` here: annotations do not become real classes."""
        if not name[:1].isupper():  # what is looked for in any module: `__path__`, `pytest_plugins`
            raise AttributeError(name)
        return object


def is_keras_model(thing: object) -> TypeGuard[KerasModel]:
    """Whether an object is a Keras model or layer."""
    keras = sys.modules.get("keras")
    layer = getattr(keras, "Layer", None)
    return isinstance(layer, type) and isinstance(thing, layer)


class Session(Protocol):
    """The used part of a `tf.compat.v1.Session`; for wrappers see `sources.unwrap_session`."""

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""

    @property
    def sess_str(self) -> str:
        """The address of the server on which the session runs; "" in this process."""

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run the graph, as TensorFlow does.

        Args:
            feed_dict: {tensor: value}, or None.
            options: A RunOptions, or None.
            run_metadata: The RunMetadata to be filled, or None.

        Returns:
            The values, in the structure of `fetches`.
        """


class ClosableSession(Session, Protocol):
    """A session of TensorFlow's own, which can be closed and lists its devices."""

    def close(self) -> None:
        """Close the session."""

    def list_devices(self) -> Sequence[Any]:
        """The devices that the session runs on."""
