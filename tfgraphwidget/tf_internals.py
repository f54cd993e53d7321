"""Everything that this package uses of TensorFlow beyond its public API: private attributes and internal modules.

No other module reads a private attribute of a TensorFlow object or imports from `tensorflow.python` (tests/
test_layering.py). So a TensorFlow release that changes an internal name is a change of this module. Each function names
what it uses after "Private:", and why the public API does not do. All of them were run on the release
`tf_releases.NEWEST`, and `tf_releases` lists what they use: where a release lacks one of these names, the functions
that use it refuse their calls.

What is read for every op of a large graph is an `attrgetter` or `methodcaller`, or takes many ops at a time: a Python
function for each op would take longer than TensorFlow does.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from inspect import Parameter
from operator import attrgetter, methodcaller
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tfgraphwidget.cancellation import held_back, sets_right
from tfgraphwidget.tensorflow_modules import bind, lazy_class, lazy_module, tf
from tfgraphwidget.tf_types import (
    AttrValue,
    ClosableSession,
    ConcreteFunction,
    ConfigProto,
    ControlFlowContext,
    FunctionDefLibrary,
    Graph,
    GraphDef,
    KerasModel,
    LibraryFunction,
    MetaGraphDef,
    NodeDef,
    Operation,
    Session,
    Tensor,
    VariableDef,
)

# All are imported when they are first used.
trace_type = lazy_module("tensorflow.core.function.trace_type")
function_type = lazy_module("tensorflow.core.function.polymorphism.function_type")
graph_view = lazy_module("tensorflow.python.checkpoint.graph_view")
c_api = lazy_module("tensorflow.python.client.pywrap_tf_session")
client_session = lazy_module("tensorflow.python.client.session")
context = lazy_module("tensorflow.python.eager.context")
polymorphic_concrete_function = lazy_module("tensorflow.python.eager.polymorphic_function.concrete_function")
function_type_utils = lazy_module("tensorflow.python.eager.polymorphic_function.function_type_utils")
polymorphic_function = lazy_module("tensorflow.python.eager.polymorphic_function.polymorphic_function")
record = lazy_module("tensorflow.python.eager.record")
tracing_compilation = lazy_module("tensorflow.python.eager.polymorphic_function.tracing_compilation")
c_api_util = lazy_module("tensorflow.python.framework.c_api_util")
func_graph = lazy_module("tensorflow.python.framework.func_graph")
function = lazy_module("tensorflow.python.framework.function")
kernels = lazy_module("tensorflow.python.framework.kernels")
meta_graph = lazy_module("tensorflow.python.framework.meta_graph")
tf_optimizer = lazy_module("tensorflow.python.grappler.tf_optimizer")
ops = lazy_module("tensorflow.python.framework.ops")
convert_to_constants = lazy_module("tensorflow.python.framework.convert_to_constants")
cond_v2 = lazy_module("tensorflow.python.ops.cond_v2")
control_flow_ops = lazy_module("tensorflow.python.ops.control_flow_ops")
control_flow_state = lazy_module("tensorflow.python.ops.control_flow_state")
control_flow_util_v2 = lazy_module("tensorflow.python.ops.control_flow_util_v2")
custom_gradient = lazy_module("tensorflow.python.ops.custom_gradient")
handle_data_util = lazy_module("tensorflow.python.ops.handle_data_util")
ref_variable = lazy_module("tensorflow.python.ops.ref_variable")
resource_variable_ops = lazy_module("tensorflow.python.ops.resource_variable_ops")
session_ops = lazy_module("tensorflow.python.ops.session_ops")
variable_scope = lazy_module("tensorflow.python.ops.variable_scope")
variables = lazy_module("tensorflow.python.ops.variables")
while_v2 = lazy_module("tensorflow.python.ops.while_v2")
function_deserialization = lazy_module("tensorflow.python.saved_model.function_deserialization")
loader_impl = lazy_module("tensorflow.python.saved_model.loader_impl")
trackable_base = lazy_module("tensorflow.python.trackable.base")
nest = lazy_module("tensorflow.python.util.nest")

# Classes that TensorFlow returns, and has no public name for.
BaseSession = lazy_class("tensorflow.python.client.session", "BaseSession")
CondContext = lazy_class("tensorflow.python.ops.control_flow_ops", "CondContext")
Function = lazy_class("tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function")
PartitionedVariable = lazy_class("tensorflow.python.ops.variables", "PartitionedVariable")
SavedModelLoader = lazy_class("tensorflow.python.saved_model.loader_impl", "SavedModelLoader")
Trackable = lazy_class("tensorflow.python.trackable.base", "Trackable")
WhileContext = lazy_class("tensorflow.python.ops.control_flow_ops", "WhileContext")
if TYPE_CHECKING:
    from tfgraphwidget.tf_types import FuncGraph as FuncGraph  # noqa: PLC0414  # others import it from here
else:
    FuncGraph = lazy_class("tensorflow.python.framework.func_graph", "FuncGraph")

# Classes of what wraps a session; the last is the base of TensorFlow's debuggers.
_MonitoredSession = lazy_class("tensorflow.python.training.monitored_session", "_MonitoredSession")
_WrappedSession = lazy_class("tensorflow.python.training.monitored_session", "_WrappedSession")
_SessionInterface = lazy_class("tensorflow.python.client.session", "SessionInterface")

_watched: WeakSet[Graph] = WeakSet()
_LOCK_FILE = "lock_util.py"  # where TensorFlow has the class of the lock of a graph
_COUNTING_LIMIT = 0.5  # seconds after which the lock of a graph's counts is taken to be left by an interrupt
_HOLDERS = (
    frozenset({"_mutation_lock", "mutation_lock"}),
    frozenset({"_session_run_lock", "session_run_lock", "exclusive_access"}),
)
"""What a function names that holds the lock of a graph, in the order of TensorFlow's counts."""

_NO_INPUTS: Mapping[tuple[str, int], object] = MappingProxyType({})


def _as_any(thing: object) -> Any:
    """The thing itself, without its type.

    Private: what callers read of it. types-tensorflow declares public names only.
    """
    return thing


# Graphs: ops by name


def operation_finder(graph: tf.Graph) -> Callable[[str], tf.Operation]:
    """Return a function that gives the op of a name, and raises KeyError for a name that no op has.

    Args:
        graph: The live graph.

    Private: `Graph._get_operation_by_name`. The public method takes locks and parses the name, and is several times
    slower; an interrupt in it becomes a ValueError.
    """
    finder: Callable[[str], tf.Operation] = graph._get_operation_by_name
    return finder


def find_operation(graph: tf.Graph, name: str) -> tf.Operation:
    """Return the op of this name; KeyError if there is none.

    Args:
        graph: The graph.
        name: The name of the op.

    Private: `Graph._get_operation_by_name`, see `operation_finder`.
    """
    operation: tf.Operation = graph._get_operation_by_name(name)
    return operation


def operations_by_name(graph: tf.Graph) -> Mapping[str, tf.Operation]:
    """Return all ops of a graph by name. TensorFlow makes the dict at each call: ask once, not in a loop.

    Private: `Graph._nodes_by_name`. The public API has a list of ops, or one op by its name.
    """
    operations: Mapping[str, tf.Operation] = graph._nodes_by_name
    return operations


def used_names(graph: tf.Graph) -> dict[str, int]:
    """Return the graph's own dict of lower-case names in use, by ops and scopes; changes to it take effect.

    Private: `Graph._names_in_use`. `Graph.unique_name` can neither reserve one exact name nor release one.
    """
    names: dict[str, int] = graph._names_in_use
    return names


# Graphs: new ops


def wrap_operations(graph: tf.Graph, c_operations: Iterable[object]) -> None:
    """Make the Python objects of ops that only the C API knows of.

    Args:
        graph: The live graph.
        c_operations: The ops of the C graph.

    Private: `Operation._from_c_op`, `Operation._colocation_code_locations`. Only `tf.import_graph_def` does this
    publicly; what it does for scopes and devices takes most of its time.
    """
    wrap = _as_any(tf.Operation)._from_c_op
    for c_operation in c_operations:
        wrap(c_operation, graph)._colocation_code_locations = {}


def create_operation(
    graph: tf.Graph,
    node: NodeDef,
    inputs: Sequence[tf.Tensor],
    control_inputs: Sequence[tf.Operation] = (),
    op_def: object = None,
) -> tf.Operation:
    """Add one op as its NodeDef describes it, in no scope, on no device of the surroundings.

    Args:
        graph: The graph, which takes the op under the name of the NodeDef.
        node: A NodeDef with all attributes.
        inputs: The tensors for its data inputs.
        control_inputs: The ops that it waits for.
        op_def: The OpDef of its type; TensorFlow looks it up without.

    Raises:
        ValueError, TypeError, RuntimeError, tf.errors.OpError: TensorFlow refuses the op; the graph has no new op.

    Private: `ops._create_c_op`, `Operation._from_c_op`. `Operation.from_node_def` adds surroundings and a traceback.
    """
    c_operation = ops._create_c_op(graph, node, inputs, control_inputs, op_def, extract_traceback=False)
    operation: tf.Operation = _as_any(tf.Operation)._from_c_op(c_operation, graph)
    return operation


def forget_colocation(operation: tf.Operation) -> None:
    """Clear the `colocate_with` locations of an op that `create_operation` made.

    Args:
        operation: The live op.

    Private: `Operation._colocation_code_locations`, which TensorFlow's error messages read; nothing public sets it.
    """
    _as_any(operation)._colocation_code_locations = {}


def mutation_lock(graph: tf.Graph) -> AbstractContextManager[None]:
    """Return the lock that is held while one op is added.

    Args:
        graph: The live graph.

    Private: `Graph._mutation_lock`. Public functions hold it themselves; `create_operation` does not.
    """
    lock: AbstractContextManager[None] = graph._mutation_lock()
    return lock


def session_run_lock(graph: tf.Graph) -> AbstractContextManager[None]:
    """Return the lock under which a session takes new ops over; no other thread adds ops while it is held.

    Private: `Graph._session_run_lock`. There is no public lock of a graph.
    """
    lock: AbstractContextManager[None] = graph._session_run_lock()
    return lock


def watch_lock(graph: tf.Graph) -> None:
    """Let the lock of a graph be set right when an interrupt has left it taken, see `release_locks`.

    Args:
        graph: The live graph.

    Private: `Graph._group_lock`, which TensorFlow takes and no function of its releases.
    """
    _watched.add(graph)


@sets_right
def release_locks() -> None:
    """Release the locks of graphs that an interrupt has left taken.

    TensorFlow takes the lock of a graph by hand, for ops that are added (`_mutation_lock`) or for a session that takes
    them over (`_session_run_lock`), and counts its holders; the counts have a lock of their own. A holder is in a
    function that names one of these, so the stacks of all threads tell how many there can be.

    Private: `Graph._group_lock`, `GroupLock._ready`, `GroupLock._group_member_counts`, and of Python `Condition._lock`.
    There is no public lock of a graph. TensorFlow takes all its other locks in `with` statements, which no interrupt
    leaves half entered (test_tensorflow_facts.py::test_only_the_lock_of_a_graph_is_taken_by_hand).
    """
    for graph in list(_watched):
        with suppress(AttributeError):  # of a release with another lock, where no edit begins
            lock = graph._group_lock
            if any(lock._group_member_counts) or lock._ready._lock.locked():
                with held_back():
                    _release(lock)


def _release(lock: Any) -> None:
    """Let the lock of a graph be held by those only who can hold it.

    Private: `GroupLock._ready`, `GroupLock._group_member_counts`, `Condition._lock`, see `release_locks`.
    """
    _take_counts(lock._ready._lock)
    holders = _possible_holders()
    counts = [min(now, holder) for now, holder in zip(lock._group_member_counts, holders, strict=True)]
    lock._group_member_counts[:] = counts
    lock._ready.notify_all()
    lock._ready._lock.release()


def _take_counts(lock: threading.Lock) -> None:
    """Take the lock of the counts, over from an interrupted thread if need be: others hold it for microseconds.

    Private: the file `lock_util.py`, see `release_locks`; Python's `_current_frames`, the only list of stacks.
    """
    deadline = time.monotonic() + _COUNTING_LIMIT
    while not lock.acquire(blocking=False):
        if time.monotonic() > deadline or not any(
            frame.f_code.co_filename.endswith(_LOCK_FILE) for frame in sys._current_frames().values()
        ):
            return
        time.sleep(_COUNTING_LIMIT / 100)


def _possible_holders() -> tuple[int, int]:
    """Return how many frames of all threads may add ops to a graph, and how many may take them over in a session.

    Private: `Graph._mutation_lock`, `Graph._session_run_lock`, see `release_locks`; Python's `_current_frames`.
    """
    counts = [0, 0]
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        is_waiting = False
        while frame is not None:
            code = frame.f_code
            for group, names in enumerate(_HOLDERS):
                counts[group] += not is_waiting and not names.isdisjoint(code.co_names)
            is_waiting = code.co_filename.endswith(_LOCK_FILE) and code.co_name in ("acquire", "__enter__")
            frame = frame.f_back
    return counts[0], counts[1]


def observe_new_operations(graph: tf.Graph, observer: Callable[[tf.Operation], None]) -> None:
    """Call `observer` with each op that comes to the graph from now on, in the thread that adds it.

    One observer at a time: a second call replaces the first. Observation cannot end, since of two threads neither
    knows whether the other needs it still.

    Private: `Graph._add_op`. TensorFlow has no public hook for new ops.
    """

    def add(operation: tf.Operation) -> Operation:
        number = _as_any(type(graph))._add_op(graph, operation)
        observer(operation)
        result: Operation = number
        return result

    _as_any(graph)._add_op = add


@contextmanager
def check_new_operations(
    graph: tf.Graph, check: Callable[[str, Sequence[tf.Tensor], Mapping[str, AttrValue], str], None]
) -> Iterator[None]:
    """While this lasts, call `check` before Python code adds an op; the op is not added when it raises.

    Args:
        graph: The graph.
        check: Takes the op type, the input tensors, the attributes (AttrValue by name), and the name, which may
            end with "/", or "".

    Private: `Graph._create_op_internal`. TensorFlow has no public hook before an op is made.
    """
    create = graph._create_op_internal

    def check_and_create(op_type: str, inputs: Sequence[tf.Tensor], *arguments: object, **options: Any) -> Any:
        attributes = options.get("attrs", arguments[3] if len(arguments) > 3 else None) or {}
        check(op_type, inputs, attributes, str(options.get("name") or ""))
        return create(op_type, inputs, *arguments, **options)

    _as_any(graph)._create_op_internal = check_and_create
    try:
        yield
    finally:
        del graph._create_op_internal


# Graphs: functions, collections, fetching


def graph_functions(graph: tf.Graph) -> Mapping[str, LibraryFunction]:
    """Return the functions of the graph's library by name, as TensorFlow's Python objects.

    Private: `Graph._functions`. The public way is `as_graph_def()`, which writes the whole graph.
    """
    library: Mapping[str, Any] = graph._functions
    return library


def add_function(graph: tf.Graph, library_function: LibraryFunction) -> None:
    """Add a function of `functions_from_library` to the graph's library, and to nothing else.

    Args:
        graph: The live graph.
        library_function: The function, as TensorFlow's Python object.

    Private: `Graph._add_function`. The function's own `add_to_graph` enters it into the eager runtime, and only there.
    """
    graph._add_function(library_function)


def remove_function(graph: tf.Graph, name: str) -> None:
    """Remove a function from the graph's library.

    Args:
        graph: The live graph.
        name: The name of the function.

    Private: `Graph._remove_function`. There is no public method.
    """
    graph._remove_function(name)


def functions_from_library(library: FunctionDefLibrary) -> list[LibraryFunction]:
    """Return the functions of a FunctionDefLibrary as TensorFlow's Python objects, in no graph yet.

    Args:
        library: The FunctionDefLibrary.

    Private: `tensorflow.python.framework.function.from_library`. The public API loads functions by importing a graph.
    """
    return list(function.from_library(library))


def function_definition_bytes(library_function: LibraryFunction) -> bytes | None:
    """Return the FunctionDef of a TensorFlow 1 function as bytes; None for other kinds of functions.

    Args:
        library_function: The function, as TensorFlow's Python object.

    Private: `function._DefinedFunction`, `_DefinedFunction._c_func`, the C API. Its public `definition` enters the
    function into the eager runtime too, where there may be another one of its name.
    """
    function_handle = library_function._c_func if isinstance(library_function, function._DefinedFunction) else None
    if function_handle is None:
        return None
    with c_api_util.tf_buffer() as buffer, function_handle.get() as c_function:
        c_api.TF_FunctionToFunctionDef(c_function, buffer)
        return bytes(c_api.TF_GetBuffer(buffer))


def collections_lock(graph: tf.Graph) -> AbstractContextManager[object]:
    """Return the lock under which entries are added to the graph's collections.

    Private: `Graph._lock`. There is no public lock of a graph.
    """
    lock: AbstractContextManager[object] = graph._lock
    return lock


def delete_collection(graph: tf.Graph, key: str) -> None:
    """Remove a collection, also of a finalized graph.

    Args:
        graph: The live graph.
        key: The key of the collection.

    Private: `Graph._collections`. `Graph.clear_collection` refuses on a finalized graph.
    """
    del graph._collections[key]


def unfetchable_operations(graph: tf.Graph) -> set[tf.Operation]:
    """Return the graph's own set of ops that may not be fetched; changes to it take effect.

    Private: `Graph._unfetchable_ops`. `Graph.prevent_fetching` cannot be taken back.
    """
    forbidden: set[tf.Operation] = graph._unfetchable_ops
    return forbidden


def has_control_dependencies(graph: tf.Graph) -> bool:
    """Whether an op made now would wait for others (`tf.control_dependencies`).

    Args:
        graph: The live graph.

    Private: `Graph._current_control_dependencies`. There is no public method.
    """
    return bool(graph._current_control_dependencies())


_PYTHON_FUNCTIONS = "_py_funcs_used_in_graph"


def share_python_functions(source: tf.Graph, target: tf.Graph) -> None:
    """Keep alive in `target` the Python functions that ops of `source` call (tf.py_function).

    Private: `Graph._py_funcs_used_in_graph`. TensorFlow keeps them with the graph in which the op was made only.
    """
    source_functions, target_functions = (list(getattr(graph, _PYTHON_FUNCTIONS, ())) for graph in (source, target))
    if source_functions:
        setattr(target, _PYTHON_FUNCTIONS, [*target_functions, *source_functions])


# Graphs of the C API, which have no Python objects for their ops


def new_c_graph() -> object:
    """Return an empty graph of the C API; its `new_operations()` lists its ops.

    Private: `pywrap_tf_session.PyGraph`. A tf.Graph has a Python object for each op, most of what an import costs.
    """
    return c_api.PyGraph()


def import_serialized(graph: Any, serialized: bytes, input_map: Mapping[tuple[str, int], object] = _NO_INPUTS) -> None:
    """Add the ops of a serialized GraphDef to a tf.Graph or a graph of the C API; Python objects are not made.

    Args:
        graph: The graph.
        serialized: The bytes of a GraphDef, whose nodes have all attributes.
        input_map: (op, output) that the nodes read → the C output of the graph to read instead; (op, -1) for a control
            input → a C op.

    Raises:
        tf.errors.OpError: TensorFlow refuses; the graph has no new ops.

    Private: the C API. `tf.import_graph_def` fills in attributes, cannot map control inputs to ops without outputs, and
    overwrites devices of colocated ops.
    """
    options = c_api_util.ScopedTFImportGraphDefOptions()
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
    for (name, port), end in input_map.items():
        if port < 0:
            c_api.TF_ImportGraphDefOptionsRemapControlDependency(options.options, name, end)
        else:
            c_api.TF_ImportGraphDefOptionsAddInputMapping(options.options, name, port, end)
    buffer = c_api.TF_NewBufferFromString(serialized)
    try:
        results = c_api.TF_GraphImportGraphDefWithResults(graph, buffer, options.options)
        c_api_util.ScopedTFImportGraphDefResults(results)
    finally:
        c_api.TF_DeleteBuffer(buffer)


def copy_function(graph: Any, library_function: LibraryFunction) -> None:
    """Add a function of a graph's library to a graph of the C API.

    Args:
        graph: The graph.
        library_function: The function, as TensorFlow's Python object.

    Private: `_c_func` of functions, the C API. The public API knows no graphs of the C API.
    """
    with library_function._c_func.get() as c_function:
        c_api.TF_GraphCopyFunction(graph, c_function, None)


def new_c_operations(graph: Any) -> dict[str, object]:
    """Return the ops of a graph that have no Python objects, by name; of a graph of the C API all.

    Private: `PyGraph.new_operations`, `TF_OperationName`. See `new_c_graph`.
    """
    return {c_api.TF_OperationName(c_operation): c_operation for c_operation in graph.new_operations()}


def output_of_c_operation(c_operation: object, port: int) -> Any:
    """Return the C output of a C op.

    Args:
        c_operation: The op of the C graph.
        port: The number of the output.

    Private: `TF_Output`. See `new_c_graph`.
    """
    output = c_api.TF_Output()
    output.oper, output.index = c_operation, port
    return output


def c_end(operation: tf.Operation, port: int) -> Any:
    """Return what the C API calls an output of an op, or for port -1 the op.

    Args:
        operation: The live op.
        port: The number of the output.

    Private: `Operation._tf_output`, `Operation._c_op`. The C API takes nothing else.
    """
    return operation._c_op if port < 0 else operation._tf_output(port)


def copy_handle_data(graph: Any, output: object, other: object, copy: object) -> None:
    """Copy the dtypes and shapes of the resources that a C output holds, if TensorFlow knows them.

    Args:
        graph: The C graph, or tf.Graph, of `output`.
        output: The C output to read from.
        other: The C graph, or tf.Graph, of `copy`.
        copy: The C output to write to.

    Private: `GetHandleShapeAndType`, `SetHandleShapeAndType` of the C API. Public shapes are those of the handle only.
    """
    handle_data = c_api.GetHandleShapeAndType(graph, output)
    if handle_data:
        c_api.SetHandleShapeAndType(other, copy, handle_data)


def copy_tensor_handle_data(source: tf.Tensor, target: tf.Tensor) -> None:
    """Copy the dtypes and shapes of the resources that a tensor holds to a placeholder for it.

    Args:
        source: The tensor, which holds resources.
        target: The placeholder.

    Private: `handle_data_util.copy_handle_data`, which takes the data of eager handles too. See `copy_handle_data`.
    """
    handle_data_util.copy_handle_data(source, target)


# Ops and tensors

_cached_inputs: Callable[[tf.Operation], Any] = attrgetter("_inputs_val")

operation_number: Callable[[tf.Operation], int] = attrgetter("_id")
"""The number of an op in its graph, in the order in which ops were made.

Private: `Operation._id`. `Graph.get_operations` has the same order, but takes as long as the graph is large."""

forward_operation: Callable[[tf.Operation], Operation | None] = attrgetter("_original_op")
"""The op whose gradient an op computes, or None.

Private: `Operation._original_op`. `tf.errors.OpError` shows it; there is no public attribute."""

gradient_function: Callable[[tf.Operation], Callable[..., object] | None] = attrgetter("_gradient_function")
"""The function that computes the gradient of a call of a tf.function, or None.

Private: `Operation._gradient_function`. There is no public attribute."""

static_dimensions: Callable[[tf.Tensor], tuple[list[int | None], bool]] = attrgetter("_shape")
"""The static shape that the C graph knows: (sizes or None for each dimension, whether the rank is unknown).

Private: `Tensor._shape`. `Tensor.shape` is what Python code has set, and makes an object."""


def set_forward_operation(operation: tf.Operation, forward: tf.Operation | None) -> None:
    """Set the op whose gradient an op computes.

    Args:
        operation: The live op.
        forward: The op of the forward pass; None for none.

    Private: `Operation._original_op`, which only `Graph._original_op` sets while ops are made.
    """
    _as_any(operation)._original_op = forward


def set_gradient_function(operation: tf.Operation, gradient: Callable[..., object] | None) -> None:
    """Set the function that computes the gradient of a call of a function.

    Args:
        operation: The live op.
        gradient: What computes the gradient; None for TensorFlow's own.

    Private: `Operation._gradient_function`. TensorFlow sets it while it makes the call.
    """
    _as_any(operation)._gradient_function = gradient


_BODY_GRAPHS = {
    "cond": "_cond_graph",
    "body": "_body_graph",
    "then_branch": "_true_graph",
    "else_branch": "_false_graph",
}


def _body_graph_field(label: str) -> str:
    """Return the field of an op for the graph of a function; `label` is the attribute, or "branches[1]".

    Private: `Operation._branch_graph_0` and the like. See `body_graph`.
    """
    return _BODY_GRAPHS.get(label) or f"_branch_graph_{label.rstrip(']').partition('[')[2]}"


def body_graph(operation: tf.Operation, label: str) -> FuncGraph | None:
    """The FuncGraph of a loop's or a conditional's function that gradients are computed of; None if there is none.

    Args:
        operation: The live op.
        label: Which of the functions that the op calls.

    Private: `Operation._body_graph` and the like. There is no public attribute.
    """
    return getattr(operation, _body_graph_field(label), None)


def set_body_graph(operation: tf.Operation, label: str, graph: FuncGraph) -> None:
    """Set what `body_graph` returns.

    Args:
        operation: A loop or a conditional.
        label: Which of its functions, as `called_functions` labels them.
        graph: The FuncGraph; None lets TensorFlow make one of the library's function when it needs one.

    Private: `Operation._body_graph` and the like, which `tf.while_loop` and `tf.cond` set.
    """
    setattr(operation, _body_graph_field(label), graph)


def function_graph(operation: tf.Operation, shapes: Sequence[tf.TensorShape], name: str) -> FuncGraph:
    """Return a FuncGraph of a function that an op calls.

    Args:
        operation: The op. The library of its graph has the function.
        shapes: The shapes of the inputs of the FuncGraph.
        name: The name of the function.

    Private: `control_flow_util_v2.get_func_graph`. Public functions trace Python, and read no library.
    """
    graph: FuncGraph = control_flow_util_v2.get_func_graph(operation, shapes, name)
    return graph


def is_reference(dtype: tf.DType) -> bool:
    """Whether a dtype is a reference to a TensorFlow 1 variable (`float32_ref`).

    Private: `DType._is_ref_dtype`. The public `base_dtype` and `name` tell it by a comparison.
    """
    return bool(dtype._is_ref_dtype)


def takes_reference(operation: tf.Operation, k: int) -> bool:
    """Whether input `k` of an op must be a variable itself, as for an op that assigns.

    Args:
        operation: The live op.
        k: The number of the input.

    Private: `Operation._input_types`, `DType._is_ref_dtype`. The tensor that the op reads may be a reference where none
    is asked for.
    """
    return bool(operation._input_types[k]._is_ref_dtype)


def control_outputs(operation: tf.Operation) -> list[tf.Operation]:
    """Return the ops that wait for an op, in the order in which they were made.

    Args:
        operation: The live op.

    Private: `Operation._control_outputs`, which lists them by address. The public API has only `control_inputs`.
    """
    return sorted(operation._control_outputs, key=operation_number)


def control_edges(operations: Iterable[tf.Operation]) -> frozenset[tuple[int, int]]:
    """Return the control edges that start at these ops, as pairs of `operation_number`: (first, the op that waits).

    Args:
        operations: The live ops.

    Private: `Operation._control_outputs`, `Operation._id`. See `control_outputs`.
    """
    return frozenset((op._id, waiting._id) for op in operations for waiting in op._control_outputs)


def input_tuples(operations: Sequence[tf.Operation]) -> list[Sequence[Tensor]]:
    """Return the `inputs` of each op; the same object for an op as long as its inputs are not changed.

    Args:
        operations: The live ops.

    Private: `Operation._inputs_val`, the cache behind `Operation.inputs`; reading it takes half the time.
    """
    cached_inputs = list(map(_cached_inputs, operations))
    return [op.inputs if cached is None else cached for op, cached in zip(operations, cached_inputs, strict=True)]


def update_input(operation: tf.Operation, k: int, tensor: tf.Tensor) -> None:
    """Connect an input of an op to another tensor. Sessions that have run the op ignore the change.

    Args:
        operation: The op.
        k: The number of the input.
        tensor: The tensor to read.

    Raises:
        ValueError, tf.errors.InvalidArgumentError: TensorFlow refuses the tensor.

    Private: `Operation._update_input`. The public API cannot change an edge.
    """
    operation._update_input(k, tensor)


def set_control_inputs(operation: tf.Operation, control_inputs: Sequence[tf.Operation]) -> None:
    """Set the control inputs of an op, in place of those that it has.

    Args:
        operation: The live op.
        control_inputs: The ops to wait for.

    Private: `Operation._remove_all_control_inputs`, `Operation._add_control_inputs`. The public API cannot change an
    edge.
    """
    operation._remove_all_control_inputs()
    operation._add_control_inputs(control_inputs)


def add_control_inputs(operation: tf.Operation, control_inputs: Sequence[tf.Operation]) -> None:
    """Add control inputs to an op.

    Args:
        operation: The live op.
        control_inputs: The ops to wait for.

    Private: `Operation._add_control_inputs`. The public API cannot change an edge.
    """
    operation._add_control_inputs(control_inputs)


def set_device(operation: tf.Operation, device: str) -> None:
    """Pin an op to a device, or to none with "".

    Args:
        operation: The live op.
        device: The device.

    Private: `Operation._set_device`. `Operation.device` cannot be set.
    """
    operation._set_device(device)


def set_attribute(operation: tf.Operation, name: str, value: AttrValue) -> None:
    """Set an attribute of an op.

    Args:
        operation: The op.
        name: The attribute's name.
        value: An AttrValue.

    Private: `Operation._set_attr`. Attributes are public to read only.
    """
    operation._set_attr(name, value)


def clear_attribute(operation: tf.Operation, name: str) -> None:
    """Remove an attribute of an op.

    Args:
        operation: The live op.
        name: The name of the attribute.

    Private: `Operation._clear_attr`. Attributes are public to read only.
    """
    operation._clear_attr(name)


def replace_python_shape(tensor: tf.Tensor, shape: Sequence[int | None] | None) -> None:
    """Set the static shape of a tensor's Python object; the C graph keeps its own.

    Private: `Tensor._shape_val`. `Tensor.set_shape` merges with the shape that is known, and refuses another.
    """
    _as_any(tensor)._shape_val = _as_any(tf.TensorShape)(shape)


def registered_kernels(op_type: str) -> Any:
    """Return the KernelDefs of the kernels that this process has for an op type.

    Args:
        op_type: The op type, such as "MatMul".

    Private: `tensorflow.python.framework.kernels`. There is no public list of kernels.
    """
    return kernels.get_registered_kernels_for_op(op_type).kernel


# Control flow contexts of TensorFlow 1 loops and conditionals

control_flow_context: Callable[[Any], Any] = methodcaller("_get_control_flow_context")
"""The innermost context of an op, or the one that new ops of a graph get; None outside.

Private: `Operation._get_control_flow_context`, `Graph._get_control_flow_context`. There is no public attribute."""


def optimize_graph(config: ConfigProto, graph: MetaGraphDef) -> GraphDef:
    """Return the GraphDef that TensorFlow's graph optimizer makes of another one.

    Private: `tf_optimizer.OptimizeGraph`; the public API optimizes only what a session runs, all passes at once.

    Args:
        config: Which passes, as `graph_options.rewrite_options`.
        graph: The graph, with the ops to keep in the collection "train_op".
    """
    optimized: GraphDef = tf_optimizer.OptimizeGraph(config, graph, verbose=False)
    return optimized


def set_control_flow_context(owner: Graph | Operation, innermost: ControlFlowContext | None) -> None:
    """Set the context of an op, or the one that new ops of a graph get; None for outside.

    Args:
        owner: The graph or the op.
        innermost: The innermost context; None for none.

    Private: `Operation._set_control_flow_context`, `Graph._set_control_flow_context`. There is no public method.
    """
    owner._set_control_flow_context(innermost)


def nested_contexts(outer: ControlFlowContext) -> list[ControlFlowContext]:
    """Return a context's own list of the contexts inside; changes to it take effect.

    Args:
        outer: The outer context.

    Private: `ControlFlowContext._nested_contexts`. Public is only the proto, which leaves gradient loops out.
    """
    nested: list[ControlFlowContext] = outer._nested_contexts
    return nested


def context_values(inner: ControlFlowContext) -> set[str]:
    """Return a context's own set of the names of the tensors that it has seen; changes to it take effect.

    Args:
        inner: The inner context.

    Private: `ControlFlowContext._values`. Public is only the proto.
    """
    values: set[str] = inner._values
    return values


def context_external_values(inner: ControlFlowContext) -> dict[str, tf.Tensor]:
    """Return a context's own dict of tensors from outside, by the name of the tensor inside that replaces it; changes
    take effect.

    Args:
        inner: The inner context.

    Private: `ControlFlowContext._external_values`. Public is only the proto.
    """
    values: dict[str, tf.Tensor] = inner._external_values
    return values


def is_complete(context: ControlFlowContext) -> bool:
    """Whether TensorFlow has finished building a context, apart from those inside; an exception may have ended it.

    Private: `WhileContext._pivot_for_pred`, `WhileContext._pivot_for_body`. Public is `pivot` only.
    """
    if not isinstance(context, WhileContext):
        return context.pivot is not None
    pivots = (context.pivot, context._pivot_for_pred, context._pivot_for_body)
    return all(pivot is not None for pivot in pivots)


def gradient_loop_state(context: ControlFlowContext) -> object:
    """Return what a gradient's loop knows of its forward loop; None of another loop.

    Args:
        context: The context of a loop.

    Private: `WhileContext._grad_state`. `grad_state` can be read, and not set.
    """
    return context._grad_state


def set_gradient_loop_state(context: Any, state: object) -> None:
    """Set the state that connects the loop of a gradient to its forward loop.

    Args:
        context: The context of the gradient's loop.
        state: The state; None for none.

    Private: `WhileContext._grad_state`. See `gradient_loop_state`.
    """
    context._grad_state = state


def is_gradient_loop_state(thing: object) -> bool:
    """Whether a thing is what `gradient_loop_state` returns.

    Private: `control_flow_state._GradLoopState`. The class is in no public module.
    """
    return isinstance(thing, control_flow_state._GradLoopState)


# Variables


def variable_from_proto(graph: tf.Graph, proto: VariableDef) -> tf.Variable:
    """Return a variable over the ops that a VariableDef names, in no collection.

    Args:
        graph: The live graph.
        proto: The VariableDef.

    Private: the classes `ResourceVariable` and `RefVariable`. `tf.Variable.from_proto` chooses between them by a global
    switch, not by the proto.
    """
    kind = resource_variable_ops.ResourceVariable if proto.is_resource else ref_variable.RefVariable
    with graph.as_default():
        variable: tf.Variable = kind.from_proto(proto)
        return variable


def resource_variable(
    *,
    name: str,
    handle: tf.Tensor,
    read: tf.Tensor,
    initializer: tf.Operation,
    initial_value: tf.Tensor | None,
    shape: tf.TensorShape,
    dtype: tf.DType,
    trainable: bool,
    synchronization: tf.VariableSynchronization,
    aggregation: tf.VariableAggregation,
) -> tf.Variable:
    """Return what `ResourceVariable.from_proto` makes of an ordinary variable, in a quarter of the time.

    See test_tensorflow_facts.py::test_a_variable_is_made_as_tensorflow_makes_it.

    Args:
        name: The name of `handle`.
        handle: The output of its VarHandleOp.
        read: The output of the ReadVariableOp that reads its value.
        initializer: The op that assigns the initial value.
        initial_value: The tensor that the initializer assigns.
        shape: The static shape of its value.
        dtype: The dtype of its value.
        trainable: Whether optimizers train it.
        synchronization: As for `tf.Variable`.
        aggregation: As for `tf.Variable`.

    Private: the fields of `ResourceVariable`. `from_proto` looks each op up by name under a lock.
    """
    kind = resource_variable_ops.ResourceVariable
    variable: tf.Variable = kind.__new__(kind)
    vars(variable).update(
        _in_graph_mode=True,
        _handle=handle,
        _shape=shape,
        _handle_name=name,
        _unique_id=name,
        _initializer_op=initializer,
        _initial_value=initial_value,
        _synchronization=synchronization,
        _aggregation=aggregation,
        _trainable=trainable,
        _cached_value=None,
        _graph_element=read,
        _save_slice_info=None,
        _caching_device=None,
        _dtype=dtype,
        _constraint=None,
        _validate_shape=True,
    )
    return variable


def reference_variable(
    *,
    handle: tf.Tensor,
    read: tf.Tensor,
    initializer: tf.Operation,
    initial_value: tf.Tensor | None,
    trainable: bool,
    synchronization: tf.VariableSynchronization,
    aggregation: tf.VariableAggregation,
) -> tf.Variable:
    """Return what `RefVariable.from_proto` makes of an ordinary variable, in a quarter of the time.

    Args:
        handle: The output of its VariableV2.
        read: The tensor that reads its value.
        initializer: The op that assigns the initial value.
        initial_value: The tensor that the initializer assigns.
        trainable: Whether optimizers train it.
        synchronization: As for `tf.Variable`.
        aggregation: As for `tf.Variable`.

    Private: the fields of `RefVariable`. See `resource_variable`.
    """
    kind = ref_variable.RefVariable
    variable: tf.Variable = kind.__new__(kind)
    vars(variable).update(
        _in_graph_mode=True,
        _variable=handle,
        _name=handle.name,
        _initializer_op=initializer,
        _initial_value=initial_value,
        _synchronization=synchronization,
        _aggregation=aggregation,
        _trainable=trainable,
        _snapshot=read,
        _save_slice_info=None,
        _caching_device=None,
        _constraint=None,
    )
    return variable


def set_constraint(variable: tf.Variable, constraint: Callable[..., object] | None) -> None:
    """Set the constraint of a variable, a Python function.

    Private: `Variable._constraint`. Public is an argument of the constructor only, and no VariableDef holds it.
    """
    _as_any(variable)._constraint = constraint


def is_slice(variable: tf.Variable) -> bool:
    """Whether a variable is a slice of a partitioned one, which has the key of the whole in checkpoints.

    Private: `Variable._save_slice_info`. Public is only the proto, which takes most of the time to make.
    """
    return variable._save_slice_info is not None


def deleted_variable(handle: Tensor) -> tf.Variable | None:
    """A variable whose Python object is gone, from the handle that a function captures; None for other resources.

    Private: `Tensor._handle_data`, and `resource_variable_ops.BaseResourceVariable`. Public ways all make a new handle.
    Whether the variable was trainable is gone with the object: one of floating point numbers is taken to be.
    """
    handle_data = getattr(handle, "_handle_data", None)
    if (
        handle_data is None
        or not handle_data.is_set
        or len(handle_data.shape_and_type) != 1
        or "tensorflow::Var" not in str(handle)
    ):
        return None
    shape_and_type = handle_data.shape_and_type[0]
    dtype = tf.as_dtype(shape_and_type.dtype)
    match = re.search(r'name="(.*?)(/\d+)?"', str(handle))
    name = match[1] if match is not None and match[1] else "variable"
    variable: tf.Variable = resource_variable_ops.BaseResourceVariable(
        trainable=dtype.is_floating,
        shape=tf.TensorShape(shape_and_type.shape),
        dtype=dtype,
        handle=handle,
        name=name,
        handle_name=name,
        unique_id=f"{name}_deleted",
        in_graph_mode=False,
    )
    return variable


def living_variables(graph: FuncGraph) -> tuple[tuple[tf.Variable, ...], bool]:
    """The variables of a traced function whose Python objects are there; and whether that of another one is gone.

    Args:
        graph: The FuncGraph.

    Private: `FuncGraph._weak_variables`. Public is `variables`, which raises where one is gone.
    """
    referents = [reference() for reference in graph._weak_variables]
    living = tuple(variable for variable in referents if variable is not None)
    return living, len(living) < len(referents)


def watch_variable(variable: tf.Variable) -> None:
    """Tell gradient tapes, and the function that is being traced, that a variable is read whose handle is captured.

    Private: `resource_variable_ops.variable_accessed`. Public reads add a ReadVariableOp.
    """
    resource_variable_ops.variable_accessed(variable)


def variable_view(variable: tf.Variable, *, trainable: bool) -> tf.Variable:
    """Return another `tf.Variable` of the same value, which is trainable or not.

    Both have one handle, so that assigning to one assigns to the other.

    Args:
        variable: The variable.
        trainable: Whether optimizers train the new one by default, and gradient tapes watch it.

    Private: `BaseResourceVariable._trainable`. Public is an argument of the constructor only, which makes a new value.
    """
    view: tf.Variable = type(variable).__new__(type(variable))
    vars(view).update(vars(variable), _trainable=trainable)
    return view


def forget_variables(graph: tf.Graph, scope: str, is_gone: Callable[[tf.Variable], bool]) -> None:
    """Remove variables and variable scopes from the stores that `get_variable` reads.

    Args:
        graph: The graph.
        scope: The name scope; the variable scopes in it are removed.
        is_gone: Whether to remove a variable.

    Private: `variable_scope._VARSTORE_KEY`, `_VARSCOPESTORE_KEY`, `_VariableStore._vars`, `_partitioned_vars`. A
    variable store can only grow publicly.
    """
    for store in graph.get_collection(variable_scope._VARSTORE_KEY):
        for store_variables in (store._vars, store._partitioned_vars):
            for name in [name for name, variable in store_variables.items() if is_gone(variable)]:
                del store_variables[name]
    for scopes in graph.get_collection(variable_scope._VARSCOPESTORE_KEY):
        count = scopes.variable_scopes_count
        for name in [name for name in count if name == scope or name.startswith(f"{scope}/")]:
            del count[name]


# Sessions


def is_session(thing: object) -> bool:
    """Whether a thing is a session, or one of TensorFlow's objects that wrap one.

    Private: `monitored_session._MonitoredSession`, `_WrappedSession`, `SessionInterface`. Public classes are some of
    their subclasses.
    """
    return isinstance(thing, (BaseSession, _MonitoredSession, _WrappedSession, _SessionInterface))


def wrapped_session(thing: object) -> Any:
    """Return the session that a MonitoredSession, a hook's session or a debugger wraps; the thing if it wraps none.

    What wraps several times is unwrapped once. None for a MonitoredSession that is closed.

    Private: `_MonitoredSession._tf_sess`, `_WrappedSession._sess`. There is no public attribute.
    """
    if isinstance(thing, _MonitoredSession):
        return thing._tf_sess()
    return thing._sess if isinstance(thing, (_WrappedSession, _SessionInterface)) and hasattr(thing, "_sess") else thing


def is_closed(session: Session) -> bool:
    """Whether a session is closed; False for what is none.

    Private: `BaseSession._closed`. Publicly a closed session is known by the error of a run.
    """
    return bool(getattr(session, "_closed", False))


def session_config(session: Session | None) -> Any:
    """Return the ConfigProto of a session, which may be one of TensorFlow's own; None of what has none.

    Private: `BaseSession._config`. Public is an argument of the constructor only.
    """
    return getattr(session, "_config", None)


def extend_session(session: Session) -> None:
    """Add to a session the ops that its graph has got since the session's last run.

    Raises:
        tf.errors.OpError: The session cannot take or place an op.

    Private: `BaseSession._extend_graph`. A public run does the same before it runs something.
    """
    release_locks()
    _as_any(session)._extend_graph()


@contextmanager
def without_extension(session: Session) -> Iterator[None]:
    """While this lasts, runs of a session do not add the ops that its graph has got since the last run.

    Private: `BaseSession._extend_graph`. Public runs always add them.
    """
    unchecked = _as_any(session)
    unchecked._extend_graph = lambda: None
    try:
        yield
    finally:
        del unchecked._extend_graph


def open_session_like(session: Session, config: ConfigProto | None) -> ClosableSession:
    """Open a session on the target and graph of another one, with this ConfigProto, and not as a default session.

    Args:
        session: The session.
        config: The configuration, or None for TensorFlow's default.

    Private: `BaseSession`, `BaseSession._target`. `tf.compat.v1.Session` has `__del__` and contexts beside.
    """
    result: ClosableSession = BaseSession(_as_any(session)._target, session.graph, config)
    return result


def check_placement(session: Session, graph: Any) -> None:
    """Place a graph of the C API in a new session with the target and the options of `session`, and close that.

    Raises:
        tf.errors.OpError: An op cannot be placed.

    Private: the C API, `BaseSession._target`, `BaseSession._config`. A public session needs a tf.Graph, see
    `new_c_graph`.
    """
    unchecked = _as_any(session)
    options = c_api.TF_NewSessionOptions(target=unchecked._target, config=unchecked._config)
    session_ref = c_api.TF_NewSessionRef(graph, options)
    try:
        c_api.ExtendSession(session_ref)
    finally:
        c_api.TF_CloseSession(session_ref)
        c_api.TF_DeleteSession(session_ref)
        c_api.TF_DeleteSessionOptions(options)


def exchange_c_sessions(session: Session, other: Any) -> None:
    """Exchange the C sessions of two sessions.

    Args:
        session: The session.
        other: The other session.

    Private: `BaseSession._session`. The public API cannot renew a session.
    """
    unchecked = _as_any(session)
    unchecked._session, other._session = other._session, unchecked._session


def close_c_session(session: Session) -> None:
    """Close the C session of a session; runs that are under way end with CancelledError.

    Private: `TF_CloseSession`, `BaseSession._session`. `close` waits for a lock of the graph.
    """
    c_api.TF_CloseSession(_as_any(session)._session)


def mark_closed(session: Session) -> None:
    """Mark a session as closed, so that it refuses runs.

    Private: `BaseSession._closed`. See `close_c_session`.
    """
    _as_any(session)._closed = True


def set_session_config(session: Session, config: ConfigProto | None) -> None:
    """Set the ConfigProto that `session_config` returns.

    Args:
        session: The session.
        config: The configuration, or None for TensorFlow's default.

    Private: `BaseSession._config`. Public is an argument of the constructor only.
    """
    _as_any(session)._config = config


def is_partial_run_active(session: Session, handle: str) -> bool:
    """Whether a partial run of this handle has fetches left; asking changes nothing.

    Args:
        session: The session.
        handle: What `partial_run_setup` returned.

    Private: `BaseSession._call_tf_sessionprun`. The public `partial_run` refuses to fetch nothing.
    """
    try:
        _as_any(session)._call_tf_sessionprun(handle, {}, [])
    except tf.errors.OpError:
        return False
    return True


@cache
def session_reference_classes() -> tuple[type, ...]:
    """Return the classes of objects that refer to one C session: callables made by options, and tensor handles.

    Private: `BaseSession._Callable`, `session_ops.TensorHandle`. Public functions return them; the classes are private.
    """
    return BaseSession._Callable, session_ops.TensorHandle


HANDLE_FIELD = "_handle"
"""The field of both that holds their number in the C session.

Private: `_Callable._handle`, `TensorHandle._handle`."""

SESSION_FIELD = "_session"
"""The field of both that holds the session.

Private: `_Callable._session`, `TensorHandle._session`."""

DELETES_FIELD = "_auto_gc_enabled"
"""The field of tensor handles that says whether the session's tensor goes when they go.

Private: `TensorHandle._auto_gc_enabled`."""

# Functions and gradients


def load_functions(library: FunctionDefLibrary) -> dict[str, ConcreteFunction]:
    """Return a ConcreteFunction for each FunctionDef of a FunctionDefLibrary, by the FunctionDef's name.

    Args:
        library: The FunctionDefLibrary.

    Raises:
        ValueError: A function calls itself, or TensorFlow cannot load one.

    Private: `function_deserialization.load_function_def_library`. Public is `tf.saved_model.load`, of a folder.
    """
    loaded: dict[str, ConcreteFunction] = function_deserialization.load_function_def_library(library)
    return loaded


def rename_called_functions(node: NodeDef, functions: Mapping[str, ConcreteFunction], suffix: str) -> None:
    """Change a NodeDef to call functions of `load_functions`, and rename the state that it shares.

    Args:
        node: The NodeDef.
        functions: The functions of `load_functions`, by the name that the NodeDef calls.
        suffix: What to append to the names of shared state.

    Private: `function_deserialization.fix_node_def`. See `load_functions`.
    """
    function_deserialization.fix_node_def(node, functions, suffix)


def unique_number() -> int:
    """Return a number that TensorFlow has given to nothing else in this process.

    Private: `ops.uid`. It must differ from TensorFlow's own numbers.
    """
    return int(ops.uid())


def new_gradient_name() -> str:
    """Return a name for a gradient that no other tf.custom_gradient has.

    Private: `custom_gradient.generate_name`. It must differ from TensorFlow's own names.
    """
    return str(custom_gradient.generate_name())


def registered_gradient(name: str) -> Callable[..., object] | None:
    """Return the gradient function that is registered for an op type or under a name; None for "not differentiable".

    Raises:
        LookupError: There is none.

    Private: `ops.gradient_registry`. `tf.RegisterGradient` adds to it; nothing public reads it.
    """
    function: Callable[..., object] | None = ops.gradient_registry.lookup(name)
    return function


def concrete_function(graph: FuncGraph, attributes: Mapping[str, object]) -> ConcreteFunction:
    """Return the ConcreteFunction of a FuncGraph, with these attributes of its FunctionDef.

    Args:
        graph: The FuncGraph.
        attributes: The attributes of the function.

    Private: `ConcreteFunction.from_func_graph`, `function_type_utils.derive_from_graph`. Public functions trace Python.
    """
    signature = function_type_utils.derive_from_graph(graph)
    function: ConcreteFunction = polymorphic_concrete_function.ConcreteFunction.from_func_graph(
        graph, signature, attributes
    )
    return function


def call_gradient_function(concrete: ConcreteFunction) -> Any:
    """Return what computes the gradient of a call of a ConcreteFunction, for `set_gradient_function`.

    Args:
        concrete: The ConcreteFunction.

    Private: `ConcreteFunction._get_gradient_function`. TensorFlow sets it while it makes the call.
    """
    return concrete._get_gradient_function()


def attach_body_graphs(operations: Iterable[tf.Operation]) -> None:
    """Let ops that run functions know these functions' graphs, as ops do that Python code made.

    TensorFlow makes the graphs of a loop's or a conditional's functions again for a gradient if it does not find them
    at the op. What their resources hold gets lost in those that are nested, and so does the gradient: a loop in a loop
    has the gradient 0. Here each graph knows its resources before the graphs in it are made.

    Args:
        operations: The live ops.

    Private: `while_v2._get_graph`, `cond_v2.get_func_graphs` and `_copy_handle_data`,
    `handle_data_util.copy_handle_data`, `_body_graph`, `_cond_graph`, `_true_graph`, `_false_graph`,
    `_branch_graph_0` and so on. Public gradients take what they find there.
    """
    for op in operations:
        if op.type in ("While", "StatelessWhile") and not hasattr(op, "_body_graph"):
            for label in ("cond", "body"):
                graph = while_v2._get_graph(op, label, f"_{label}_graph")
                setattr(op, f"_{label}_graph", graph)
                _attach_inside(graph, op.inputs)
            _copy_handle_data(op.inputs, op.outputs)
        elif op.type in ("If", "StatelessIf", "Case", "StatelessCase") and not _branch_names(op)[1]:
            graphs = cond_v2.get_func_graphs(op)
            for name, graph in zip(_branch_names(op)[0], graphs, strict=False):
                setattr(op, name, graph)
            for graph in graphs:
                _attach_inside(graph, op.inputs[1:])
            # What the branches hold differs where TensorFlow has added what gradients need of each.
            cond_v2._copy_handle_data(op.outputs, *(graph.outputs for graph in graphs))
        elif op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            called = _called_function(op)
            body = getattr(called, "graph", None)
            if body is not None:
                # The gradient of a loop asks the loop's body from which argument a call in it has a resource.
                add_function(op.graph, called)
                _attach_inside(body, op.inputs)
                _copy_handle_data(body.outputs, op.outputs)
        elif op.type in ("Identity", "IdentityN"):
            _copy_handle_data(op.inputs, op.outputs)


def _called_function(op: tf.Operation) -> Any:
    """Return the function that a call runs, which a graph around it may have; None if no graph has it.

    Private: `Graph._get_function`. See `attach_body_graphs`.
    """
    graph: Any = op.graph
    while graph is not None:
        called = graph._get_function(op.get_attr("f").name)
        if called is not None:
            return called
        graph = getattr(graph, "outer_graph", None)
    return None


def _branch_names(op: tf.Operation) -> tuple[tuple[str, ...], bool]:
    """Return the attributes for the graphs of a conditional's branches, and whether the op has them.

    Private: `_true_graph`, `_false_graph`, `_branch_graph_0` and so on. See `attach_body_graphs`.
    """
    names: tuple[str, ...] = ("_true_graph", "_false_graph")
    if op.type in ("Case", "StatelessCase"):
        names = tuple(f"_branch_graph_{k}" for k in range(len(op.get_attr("branches"))))
    return names, all(hasattr(op, name) for name in names)


def _attach_inside(graph: FuncGraph, inputs: Iterable[Tensor]) -> None:
    """Do the same in the graph of a function that gets these inputs.

    Private: as `attach_body_graphs`, see there.
    """
    _copy_handle_data(inputs, graph.inputs)
    attach_body_graphs(graph.get_operations())


def _copy_handle_data(sources: Iterable[Tensor], targets: Iterable[Tensor]) -> None:
    """Let resources and variants be known to hold what others hold, each in its place.

    Private: `handle_data_util.copy_handle_data`, see `attach_body_graphs`.
    """
    for source, target in zip(sources, targets, strict=False):
        if source.dtype in (tf.resource, tf.variant) and source.dtype == target.dtype:
            handle_data_util.copy_handle_data(source, target)


def call_with_captures(concrete: ConcreteFunction, arguments: Sequence[Tensor], captured: Sequence[Tensor]) -> Any:
    """Call a ConcreteFunction with other tensors than those that it captured.

    Args:
        concrete: The ConcreteFunction.
        arguments: The tensors for its own arguments.
        captured: The tensors to use as captured ones, in the order of `captured_inputs`.

    Private: `ConcreteFunction._call_flat`. Public calls pass its own captured tensors.
    """
    return concrete._call_flat(arguments, captured)


def traces(polymorphic: Any) -> list[ConcreteFunction]:
    """Return the ConcreteFunctions that a tf.function has traced, or was loaded with, in their order.

    Args:
        polymorphic: The `tf.function`.

    Private: `Function._function_cache`, `RestoredFunction.concrete_functions`. The public list
    (`_list_all_concrete_functions`) is private too.
    """
    return list(polymorphic._function_cache.values()) or list(getattr(polymorphic, "concrete_functions", ()))


@cache
def _function_by_type() -> Any:
    """Return a class of tf.functions whose traces are found by types alone: a signature is of positional arguments.

    Private: `TracingOptions`, `Function._generate_tracing_options`, `FunctionSpec._input_signature`. See
    `typed_function`.
    """

    class OptionsByType(tracing_compilation.TracingOptions):  # type: ignore[misc,name-defined]
        """Options under which a trace is found by types alone."""

        input_signature = None

    class FunctionByType(polymorphic_function.Function):  # type: ignore[misc,name-defined]
        """A tf.function with such options."""

        input_signature = None

        @property
        def function_spec(self) -> Any:
            """The function spec that `tf.saved_model.save` writes."""
            spec = super().function_spec
            spec._input_signature = None
            return spec

        def _generate_tracing_options(self, fn: object, scope_type: object) -> object:
            options = super()._generate_tracing_options(fn, scope_type)
            options.__class__ = OptionsByType  # each copy that TensorFlow makes of them reads the signature again
            return options

    return FunctionByType


def typed_function(body: Callable[..., object], parameters: Sequence[Parameter], specs: Mapping[str, object]) -> Any:
    """Return a tf.function of `body` with these parameters, which has one trace only.

    Args:
        body: The Python function.
        parameters: Its parameters, with defaults.
        specs: What each takes: a nested structure of TensorSpecs, or the one Python value.

    Private: `Function._function_type`, `_default_values`, `FunctionType`. An `input_signature` takes neither Python
    values nor keyword-only parameters without defaults.
    """
    types = trace_type.InternalTracingContext(is_legacy_signature=True)
    by_type = any(p.kind is p.KEYWORD_ONLY for p in parameters)
    new_function = (_function_by_type() if by_type else polymorphic_function.Function)(
        body, body.__name__, autograph=False
    )
    typed_parameters = [(p, trace_type.from_value(specs[p.name], types)) for p in parameters]
    typed = [function_type.Parameter(p.name, p.kind, p.default is not p.empty, kind) for p, kind in typed_parameters]
    new_function._function_type = function_type.FunctionType(typed)
    new_function._default_values = {p.name: p.default for p in parameters if p.default is not p.empty}
    return new_function


def freeze_function(concrete: ConcreteFunction) -> ConcreteFunction:
    """Return a ConcreteFunction with constants in place of variables, and its control flow as it is.

    Args:
        concrete: The ConcreteFunction.

    Private: `convert_variables_to_constants_v2`. Public is a converter for TensorFlow Lite only.
    """
    freeze = convert_to_constants.convert_variables_to_constants_v2
    function: ConcreteFunction = freeze(concrete, lower_control_flow=False)
    return function


def functional_model(model: KerasModel) -> KerasModel | None:
    """Return the Functional model that a Keras model is, or that a Sequential one computes; None for others.

    Private: `Sequential._functional`, `Function._nodes_by_depth`, `_inputs_struct` and `_outputs_struct`, of Keras 3. A
    model without them, in another release too, is taken to be none.
    """
    functional = getattr(model, "_functional", None) or model
    fields = ("_nodes_by_depth", "_inputs_struct", "_outputs_struct")
    return functional if all(hasattr(functional, field) for field in fields) else None


def functional_nodes(model: KerasModel) -> list[Any]:
    """Return the calls of layers in a Functional model, each behind those that it depends on.

    Private: `Function._nodes_by_depth`, of Keras 3.
    """
    by_depth = model._nodes_by_depth
    return [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]


def functional_ends(model: KerasModel) -> tuple[Any, Any]:
    """Return the nested structures of KerasTensors that a Functional model takes and returns.

    Private: `Function._inputs_struct` and `_outputs_struct`, of Keras 3; `inputs` and `outputs` are flat lists.
    """
    return model._inputs_struct, model._outputs_struct


def eager_mode() -> AbstractContextManager[None]:
    """Return a context in which ops run at once, whatever graph is the default one.

    Private: `eager.context.eager_mode`. `tf.init_scope` leaves functions only, not TensorFlow 1 graphs.
    """
    mode: AbstractContextManager[None] = context.eager_mode()
    return mode


def stop_recording() -> AbstractContextManager[None]:
    """Return a context in which no gradient tape records.

    Private: `eager.record.stop_recording`. `tf.GradientTape.stop_recording` stops the one tape that has it.
    """
    stopped: AbstractContextManager[None] = record.stop_recording()
    return stopped


def is_eager_by_default() -> bool:
    """Whether this process runs ops at once outside of graphs (no `disable_eager_execution`).

    Private: `eager.context.default_execution_mode`. `tf.executing_eagerly` is about the place where it is called.
    """
    return bool(context.default_execution_mode == context.EAGER_MODE)


def flatten_with_paths(structure: object) -> list[tuple[tuple[object, ...], object]]:
    """Return the leaves of a nested structure, each with the keys and numbers that lead to it.

    Private: `nest.flatten_with_tuple_paths`. `tf.nest.flatten` gives no paths.
    """
    return list(nest.flatten_with_tuple_paths(structure, expand_composites=True))


def trackable_variables(trackable: object) -> dict[str, tf.Variable]:
    """Return the variables that an object tracks, by their paths in it, "layers/0/kernel", shortest paths first.

    Args:
        trackable: A `tf.Module`, a Keras model, or another trackable object.

    Private: `ObjectGraphView`. Checkpoints and SavedModels name variables by these paths; public are only the paths in
    a checkpoint that has been written.
    """
    objects, paths = graph_view.ObjectGraphView(trackable).breadth_first_traversal()
    result = {}
    for node in objects:
        variable = (
            node if isinstance(node, tf.Variable) else getattr(node, "value", None)
        )  # a variable of Keras has one
        if isinstance(variable, tf.Variable):
            result["/".join(step.name for step in paths[node])] = variable
    return result


def is_keras_safe_mode() -> bool:
    """Whether Keras loads a file without code of it: `load_model(path, safe_mode=False)` says that the user trusts it.

    Private: `keras.src.saving.serialization_lib.in_safe_mode`. Layers have no other way to know.
    """
    from keras.src.saving import serialization_lib  # type: ignore[import-untyped]

    return serialization_lib.in_safe_mode() is not False


def is_in_keras_layer() -> bool:
    """Whether a layer or model of Keras is being called.

    Private: `keras.src.backend.common.global_state`, where Keras notes the call.
    """
    if "keras" not in sys.modules:
        return False
    from keras.src.backend.common import global_state  # type: ignore[import-untyped]

    return global_state.get_global_attribute("current_call_ctx") is not None


def trackable_children(trackable: object) -> dict[str, object]:
    """Return the objects that a trackable object tracks, by the names of its attributes, as a checkpoint lists them.

    Args:
        trackable: A `tf.Module`, a Keras model, or another trackable object.

    Private: `ObjectGraphView`; see `trackable_variables`.
    """
    return {child.name: child.ref for child in graph_view.ObjectGraphView(trackable).list_children(trackable)}


# Files


def import_meta_graph(meta: MetaGraphDef) -> None:
    """Import a MetaGraphDef into the default graph, with collections.

    Args:
        meta: The MetaGraphDef.

    Private: `meta_graph.import_scoped_meta_graph`. `tf.compat.v1.train.import_meta_graph` makes a Saver beside.
    """
    meta_graph.import_scoped_meta_graph(meta)


def is_version(text: str) -> bool:
    """Whether TensorFlow takes a text for the version that wrote a MetaGraphDef; it refuses to import others.

    Args:
        text: The text.

    Private: `meta_graph.packaging_version`, which is the package `packaging`.
    """
    try:
        meta_graph.packaging_version.parse(text)
    except ValueError:
        return False
    return True


def add_collection(meta: MetaGraphDef, key: str, graph: tf.Graph, items: Sequence[object]) -> None:
    """Add entries of a collection to a MetaGraphDef. Entries that have no proto are left out.

    Args:
        meta: The MetaGraphDef.
        key: The key of the collection.
        graph: The graph that has the entries.
        items: The entries.

    Private: `meta_graph.add_collection_def`. `tf.compat.v1.train.export_meta_graph` takes whole collections.
    """
    meta_graph.add_collection_def(meta, key, graph, override_contents=items)


def new_meta_graph(graph_def: GraphDef, graph: tf.Graph, saver_def: object) -> MetaGraphDef:
    """Return a MetaGraphDef without collections.

    Args:
        graph_def: The GraphDef to put into it.
        graph: The graph whose TensorFlow version and op list it names.
        saver_def: A SaverDef, or None.

    Private: `meta_graph.create_meta_graph_def`. `tf.compat.v1.train.export_meta_graph` writes the live graph, not a
    GraphDef.
    """
    result: MetaGraphDef = meta_graph.create_meta_graph_def(
        graph_def=graph_def, graph=graph, collection_list=[], saver_def=saver_def
    )
    return result


bind()  # where TensorFlow is imported already: of a release without one of the names above, the functions refuse calls
