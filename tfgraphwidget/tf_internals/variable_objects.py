"""Variables: objects of given ops, and what they have beside the public attributes."""

from __future__ import annotations

import re
from collections.abc import Callable

from tfgraphwidget.tensorflow_modules import as_any, lazy_class, lazy_module, tf
from tfgraphwidget.tf_internals.functions import FuncGraph
from tfgraphwidget.tf_types import Tensor, VariableDef

ref_variable = lazy_module("tensorflow.python.ops.ref_variable")
resource_variable_ops = lazy_module("tensorflow.python.ops.resource_variable_ops")
variable_scope = lazy_module("tensorflow.python.ops.variable_scope")
PartitionedVariable = lazy_class("tensorflow.python.ops.variables", "PartitionedVariable")


def variable_from_proto(graph: tf.Graph, proto: VariableDef) -> tf.Variable:
    """Return a variable over the ops that a VariableDef names, in no collection.

    Private: the classes `ResourceVariable` and `RefVariable`. `tf.Variable.from_proto` chooses
    between them by a global switch, not by the proto.
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
    """Return what `ResourceVariable.from_proto` makes of an ordinary variable, in a quarter of the
    time.

    See test_tensorflow_facts.py::test_a_variable_is_made_as_tensorflow_makes_it.

    Args:
        read: The output of the ReadVariableOp that reads its value.
        initializer: The op that assigns the initial value.

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
        initializer: The op that assigns the initial value.

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

    Private: `Variable._constraint`. Public is an argument of the constructor only, and no
    VariableDef holds it.
    """
    as_any(variable)._constraint = constraint


def is_slice(variable: tf.Variable) -> bool:
    """Whether a variable is a slice of a partitioned one, which has the key of the whole in
    checkpoints.

    Private: `Variable._save_slice_info`. Public is only the proto, which takes most of the time to
    make.
    """
    return variable._save_slice_info is not None


def deleted_variable(handle: Tensor) -> tf.Variable | None:
    """A variable whose Python object is gone, from the handle that a function captures; None for
    other resources.

    Private: `Tensor._handle_data`, and `resource_variable_ops.BaseResourceVariable`. Public ways
    all make a new handle. Whether the variable was trainable is gone with the object: one of
    floating point numbers is taken to be.
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
    """The variables of a traced function whose Python objects are there; and whether that of
    another one is gone.

    Private: `FuncGraph._weak_variables`. Public is `variables`, which raises where one is gone.
    """
    referents = [reference() for reference in graph._weak_variables]
    living = tuple(variable for variable in referents if variable is not None)
    return living, len(living) < len(referents)


def watch_variable(variable: tf.Variable) -> None:
    """Tell gradient tapes, and the function that is being traced, that a variable is read whose
    handle is captured.

    Private: `resource_variable_ops.variable_accessed`. Public reads add a ReadVariableOp.
    """
    resource_variable_ops.variable_accessed(variable)


def variable_view(variable: tf.Variable, *, trainable: bool) -> tf.Variable:
    """Return another `tf.Variable` of the same value, which is trainable or not.

    Both have one handle, so that assigning to one assigns to the other.

    Args:
        trainable: Whether optimizers train the new one by default, and gradient tapes watch it.

    Private: `BaseResourceVariable._trainable`. Public is an argument of the constructor only, which
    makes a new value.
    """
    view: tf.Variable = type(variable).__new__(type(variable))
    vars(view).update(vars(variable), _trainable=trainable)
    return view


def forget_variables(graph: tf.Graph, scope: str, is_gone: Callable[[tf.Variable], bool]) -> None:
    """Remove variables and variable scopes from the stores that `get_variable` reads.

    Args:
        scope: The name scope; the variable scopes in it are removed.

    Private: `variable_scope._VARSTORE_KEY`, `_VARSCOPESTORE_KEY`, `_VariableStore._vars`,
    `_partitioned_vars`. A variable store can only grow publicly.
    """
    for store in graph.get_collection(variable_scope._VARSTORE_KEY):
        for store_variables in (store._vars, store._partitioned_vars):
            for name in [name for name, variable in store_variables.items() if is_gone(variable)]:
                del store_variables[name]
    for scopes in graph.get_collection(variable_scope._VARSCOPESTORE_KEY):
        count = scopes.variable_scopes_count
        for name in [name for name in count if name == scope or name.startswith(f"{scope}/")]:
            del count[name]
