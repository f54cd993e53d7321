"""Graphs: ops by name, new ops, collections, and what is made of a whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tfgraphwidget.tensorflow_modules import as_any, lazy_module, tf
from tfgraphwidget.tf_releases import absent_names
from tfgraphwidget.tf_types import (
    AttrValue,
    ConfigProto,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    Operation,
)

kernels = lazy_module("tensorflow.python.framework.kernels")
tf_optimizer = lazy_module("tensorflow.python.grappler.tf_optimizer")
ops = lazy_module("tensorflow.python.framework.ops")


def operation_finder(graph: tf.Graph) -> Callable[[str], tf.Operation]:
    """Return a function that gives the op of a name, and raises KeyError for a name that no op has.

    Private: `Graph._get_operation_by_name`. The public method takes locks and parses the name, and
    is several times slower; an interrupt in it becomes a ValueError.
    """
    finder: Callable[[str], tf.Operation] = graph._get_operation_by_name
    return finder


def find_operation(graph: tf.Graph, name: str) -> tf.Operation:
    """Return the op of this name; KeyError if there is none.

    Private: `Graph._get_operation_by_name`, see `operation_finder`.
    """
    operation: tf.Operation = graph._get_operation_by_name(name)
    return operation


def operations_by_name(graph: tf.Graph) -> Mapping[str, tf.Operation]:
    """Return all ops of a graph by name. TensorFlow makes the dict at each call: ask once, not in a
    loop.

    Private: `Graph._nodes_by_name`. The public API has a list of ops, or one op by its name.
    """
    operations: Mapping[str, tf.Operation] = graph._nodes_by_name
    return operations


def used_names(graph: tf.Graph) -> dict[str, int]:
    """Return the graph's own dict of lower-case names in use, by ops and scopes; changes to it take
    effect.

    Private: `Graph._names_in_use`. `Graph.unique_name` can neither reserve one exact name nor
    release one.
    """
    names: dict[str, int] = graph._names_in_use
    return names


def wrap_operations(graph: tf.Graph, c_operations: Iterable[object]) -> None:
    """Make the Python objects of ops that only the C API knows of.

    Private: `Operation._from_c_op`, `Operation._colocation_code_locations`. Only
    `tf.import_graph_def` does this publicly; what it does for scopes and devices takes most of its
    time.
    """
    wrap = as_any(tf.Operation)._from_c_op
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
        op_def: The OpDef of its type; TensorFlow looks it up without.

    Raises:
        ValueError, TypeError, RuntimeError, tf.errors.OpError: TensorFlow refuses the op; the graph
            has no new op.

    Private: `ops._create_c_op`, `Operation._from_c_op`. `Operation.from_node_def` adds surroundings
    and a traceback.
    """
    c_operation = ops._create_c_op(
        graph, node, inputs, control_inputs, op_def, extract_traceback=False
    )
    operation: tf.Operation = as_any(tf.Operation)._from_c_op(c_operation, graph)
    return operation


def forget_colocation(operation: tf.Operation) -> None:
    """Clear the `colocate_with` locations of an op that `create_operation` made.

    Private: `Operation._colocation_code_locations`, which TensorFlow's error messages read; nothing
    public sets it.
    """
    as_any(operation)._colocation_code_locations = {}


def can_observe_new_operations() -> bool:
    """Whether this release of TensorFlow says which thread adds an op, see
    `observe_new_operations`.

    Private: `Graph._add_op`. There is no public hook, so that a release without it is asked for its
    ops instead.
    """
    return "_add_op" not in absent_names()


def observe_new_operations(graph: tf.Graph, observer: Callable[[tf.Operation], None]) -> None:
    """Call `observer` with each op that comes to the graph from now on, in the thread that adds it.

    One observer at a time: a second call replaces the first. Observation cannot end, since of two
    threads neither knows whether the other needs it still.

    Private: `Graph._add_op`. TensorFlow has no public hook for new ops.
    """

    def add(operation: tf.Operation) -> Operation:
        number = as_any(type(graph))._add_op(graph, operation)
        observer(operation)
        result: Operation = number
        return result

    as_any(graph)._add_op = add


@contextmanager
def check_new_operations(
    graph: tf.Graph, check: Callable[[str, Sequence[tf.Tensor], Mapping[str, AttrValue], str], None]
) -> Iterator[None]:
    """While this lasts, call `check` before Python code adds an op; the op is not added when it
    raises.

    Args:
        check: Takes the op type, the input tensors, the attributes (AttrValue by name), and the
            name, which may end with "/", or "".

    Private: `Graph._create_op_internal`. TensorFlow has no public hook before an op is made.
    """
    create = graph._create_op_internal

    def check_and_create(
        op_type: str, inputs: Sequence[tf.Tensor], *arguments: object, **options: Any
    ) -> Any:
        attributes = options.get("attrs", arguments[3] if len(arguments) > 3 else None) or {}
        check(op_type, inputs, attributes, str(options.get("name") or ""))
        return create(op_type, inputs, *arguments, **options)

    as_any(graph)._create_op_internal = check_and_create
    try:
        yield
    finally:
        del graph._create_op_internal


def delete_collection(graph: tf.Graph, key: str) -> None:
    """Remove a collection, also of a finalized graph.

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

    Private: `Graph._current_control_dependencies`. There is no public method.
    """
    return bool(graph._current_control_dependencies())


_PYTHON_FUNCTIONS = "_py_funcs_used_in_graph"


def share_python_functions(source: tf.Graph, target: tf.Graph) -> None:
    """Keep alive in `target` the Python functions that ops of `source` call (tf.py_function).

    Private: `Graph._py_funcs_used_in_graph`. TensorFlow keeps them with the graph in which the op
    was made only.
    """
    source_functions, target_functions = (
        list(getattr(graph, _PYTHON_FUNCTIONS, ())) for graph in (source, target)
    )
    if source_functions:
        setattr(target, _PYTHON_FUNCTIONS, [*target_functions, *source_functions])


def registered_kernels(op_type: str) -> Any:
    """Return the KernelDefs of the kernels that this process has for an op type.

    Private: `tensorflow.python.framework.kernels`. There is no public list of kernels.
    """
    return kernels.get_registered_kernels_for_op(op_type).kernel


def optimize_graph(config: ConfigProto, graph: MetaGraphDef) -> GraphDef:
    """Return the GraphDef that TensorFlow's graph optimizer makes of another one.

    Private: `tf_optimizer.OptimizeGraph`; the public API optimizes only what a session runs, all
    passes at once.

    Args:
        graph: The graph, with the ops to keep in the collection "train_op".
    """
    optimized: GraphDef = tf_optimizer.OptimizeGraph(config, graph, verbose=False)
    return optimized


def unique_number() -> int:
    """Return a number that TensorFlow has given to nothing else in this process.

    Private: `ops.uid`. It must differ from TensorFlow's own numbers.
    """
    return int(ops.uid())
