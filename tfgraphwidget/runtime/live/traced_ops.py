"""What a Python function makes of tensors: ops, as NodeDefs that any graph can take in.

The function is called on placeholders, in a graph of its own, so that an error in it leaves no trace. What it does
beside giving tensors (tf.print, an assertion) happens before they are given, as in a tf.function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.edits import TracedFunction
from tfgraphwidget.edits.rewrite import Spec
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import GraphIndex, Shape, VariableDef, build, shape_text, side_effects, traversal
from tfgraphwidget.naming import did_you_mean, split_tensor
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sources import GraphBody, first_line, tf_protos, wrap_tf_errors
from tfgraphwidget.tf_internals import (
    PartitionedVariable,
    control_flow_context,
    forget_variables,
    session_config,
    share_python_functions,
    used_names,
)
from tfgraphwidget.tf_types import Session

# Runs a person's Python function on tensors of a live graph, so that it adds its ops there.

TABLES = "table_initializer"


def forget(graph: tf.Graph, scope: str, ops_made: Collection[str]) -> None:
    """Let `get_variable` know nothing of the variables with ops of these names, nor of variable scopes in `scope`."""
    handles = set(ops_made)
    forget_variables(graph, scope, lambda variable: _handles(variable) <= handles)


def _handles(variable: Any) -> set[str]:
    """The handle ops of a variable, or of the parts of a partitioned one."""
    parts = variable if isinstance(variable, PartitionedVariable) else [variable]
    return {part.name.partition(":")[0] for part in parts}


def called(graph: tf.Graph, scope: str, function: Callable[..., Any], names: Iterable[str]) -> Any:
    """What `function` gives for the graph's tensors of these names; its ops and variables lie in the scope."""
    tensors = [graph.get_tensor_by_name(name) for name in names]
    scoped = tf.compat.v1.VariableScope(reuse=False, name=scope, name_scope=f"{scope}/")
    with graph.as_default(), tf.compat.v1.name_scope(None):  # wherever the caller stands
        if scope.lower() not in used_names(graph):
            graph.unique_name(scope)  # a later tf.name_scope of that name becomes name_1, as it should
        with (
            tf.control_dependencies(None),
            tf.compat.v1.name_scope(
                f"{scope}/"
            ),  # this very scope, though a function that failed may have left ops in it
            tf.compat.v1.variable_scope(scoped, auxiliary_name_scope=False),
        ):
            return function(*tensors)


@wrap_tf_errors("initialise what the function makes")
def rehearse(session: Session, made: TracedFunction) -> None:
    """Initialise what a function has made in the graph that it was called in, as it will be in the session's graph.

    Raises what `initialise` raises, before TensorFlow's graph has ops of an edit that fails, which it cannot remove.
    """
    tables = [member.name for member in made.index.collections.get(TABLES, ())]
    with tf.compat.v1.Session(session.sess_str, made.alive, session_config(session)) as rehearsal:
        initialise(rehearsal, made.index.variable_defs, tables)


def initialise(session: Session, made: Sequence[VariableDef], tables: Sequence[str]) -> None:
    """Give new variables their initial values, and fill new tables; nothing else."""
    orphans = [v.handle for v in made if not v.initializer]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no initialiser; make it with tf.compat.v1.get_variable or tf.Variable.",
            orphans,
        )
    try:
        if made:
            variable_values.run_initializers(session, made)
        if tables:
            session.run(list(tables))
    except tf.errors.OpError as error:
        raise SessionRefused(f"What the function made cannot be initialised: {variable_values.told(error)}.") from error


_LARGEST = 2**63 - 1  # size of a dimension
_MOST_NUMBERS = 1000  # of an array that is held as numbers

Options = Mapping[str, Any]
_KNOWN: dict[str, Callable[..., Any]] = {
    "Cast": tf.cast,
    "CheckNumerics": lambda x, message="": tf.debugging.check_numerics(x, message),
    "Identity": tf.identity,
    "Print": lambda x, *, message="", summarize=3: tf.print(message, x, summarize=summarize),
    "Reshape": tf.reshape,
    "Transpose": tf.transpose,
}


@wrap_tf_errors("call the function")
def traced(function: Any, specs: Sequence[tuple[str, Shape]], options: Options | None = None) -> TracedFunction:
    """What `function` makes of tensors of these (dtype, static shape); an op type does for a function.

    `options` are its keyword arguments. Raises GraphEditError, with what the function raised.
    """
    called, name = _function(function)
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.name_scope(None):
        inputs = [
            tf.compat.v1.placeholder(_dtype(dtype), shape, f"input_{k}") for k, (dtype, shape) in enumerate(specs)
        ]
        try:
            result = called(*inputs, **(options or {}))
            outputs, effects = _outputs(result, inputs)
        except GraphEditError:
            raise
        except Exception as error:
            raise GraphEditError(
                f"{name} raised {type(error).__name__} when it was called on {_described(specs)}: "
                f"{first_line(error)}; let it make tensors of what it is given, and of nothing else."
            ) from error
        outputs = _after(graph, outputs, effects)
    # Python functions that ops call (tf.py_function) are kept by the graph that they were made in.
    return TracedFunction(_index(graph), tuple(t.op.name for t in inputs), tuple(t.name for t in outputs), graph)


def _function(function: Any) -> tuple[Callable[..., Any], str]:
    """What to call, and what people call it."""
    if callable(function):
        return function, str(getattr(function, "__name__", "The function"))
    if not isinstance(function, str):
        raise GraphEditError(f"{shown(function)!r} is no function; give a Python function, or an op type: 'Identity'.")
    if function in _KNOWN:
        return _KNOWN[function], function
    definition = tf_protos.registered_op(function) if function.isidentifier() else None
    raw = getattr(tf.raw_ops, function, None)
    if definition is None or raw is None or not definition.input_arg:
        known = [name for name in dir(tf.raw_ops) if not name.startswith("_")]
        raise GraphEditError(f"{function!r} is no op type that takes a tensor.{did_you_mean(function, known)}")
    taken = [arg.name for arg in definition.input_arg]

    def made(*given: Any, **options: Any) -> Any:
        return raw(**dict(zip(taken, given, strict=False)), **options)

    return made, function


def _dtype(name: str) -> tf.DType:
    if not name:
        raise GraphEditError("Nobody tells the dtype of a tensor that the function is to be called on; choose another.")
    return tf.as_dtype(name).base_dtype


def _described(specs: Sequence[tuple[str, Shape]]) -> str:
    told = [f"{dtype} {'of unknown shape' if shape is None else list(shape)}" for dtype, shape in specs]
    return " and ".join(told) if told else "nothing"


def _outputs(result: Any, inputs: Sequence[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """The tensors that a function gave, and ops; one that gave no tensor hands on what it was given."""
    given = tf.nest.flatten(result, expand_composites=True)
    effects = [item for item in given if isinstance(item, tf.Operation)]
    rest = (item for item in given if item is not None and not isinstance(item, tf.Operation))
    tensors = [tf.convert_to_tensor(item) for item in rest]
    return tensors or list(inputs), effects


def _after(graph: tf.Graph, outputs: Sequence[tf.Tensor], effects: Sequence[tf.Operation]) -> list[tf.Tensor]:
    """The outputs, given only when everything is done that the function does beside making them."""
    index = _index(graph)
    held = {split_tensor(member.name)[0] for members in index.collections.values() for member in members}
    variables = (split_tensor(name)[0] for v in index.variable_defs for name in (v.initializer, v.snapshot) if name)
    done = {*held, *variables, *(output.op.name for output in outputs)}
    needed = traversal.backward(index, [index.ids[name] for name in done if name in index.ids])
    loose = [index.names[i] for i in side_effects(index, np.flatnonzero(~needed).tolist())]
    waiting = [graph.get_operation_by_name(name) for name in loose]
    waiting = [op for op in (*waiting, *effects) if control_flow_context(op) is None]
    if not waiting:
        return list(outputs)
    with tf.control_dependencies(list(dict.fromkeys(waiting))):
        return [tf.identity(output) for output in outputs]


def _index(graph: tf.Graph) -> GraphIndex:
    body = GraphBody(graph)
    return build(body.nodes(), *body.collections(), typing=body.typing, functions=body.functions(), extras=body)


def keep_alive(graph: tf.Graph, made: TracedFunction) -> None:
    """Let a graph keep the Python functions that ops of `made` call, as it does for its own."""
    share_python_functions(made.alive, graph)


def tables_of(members: Iterable[tuple[str, Any]]) -> list[str]:
    """The ops that fill the new tables among some (collection key, member) pairs."""
    return [member.name for key, member in members if key == TABLES]


def constant(value: Any, dtype: str, shape: Shape) -> Any:
    """The TensorProto of a value, for a tensor of this dtype and static shape. Raises GraphEditError."""
    wanted = tf.as_dtype(dtype).base_dtype
    try:
        if (np.asarray(value).dtype == bool) != (wanted == tf.bool):
            raise TypeError
        proto = tf.make_tensor_proto(value, wanted)
    except Exception as error:  # TensorFlow's refusals are of many types
        raise GraphEditError(f"{shown(value)} is no value of {wanted.name}; give one that is.") from error
    found = tuple(dim.size for dim in proto.tensor_shape.dim)
    if shape is not None and not tf.TensorShape(shape).is_compatible_with(found):
        raise GraphEditError(
            f"The value has shape {found}, and the tensor {shape_text(shape)}; give a value of that shape."
        )
    return proto


_LONG: dict[type, type] = {np.longdouble: np.float64, np.clongdouble: np.complex128}


def plain(value: Any) -> Any:
    """A value as commands hold it: dtypes by name, shapes and lists as tuples, small arrays as Python numbers."""
    if isinstance(value, tf.DType):
        return value.name
    if isinstance(value, tf.TensorShape):
        return None if value.rank is None else tuple(value.as_list())
    if isinstance(value, np.ndarray | np.generic) and value.dtype.type in _LONG:
        value = value.astype(_LONG[value.dtype.type])  # more digits than any tensor or Python number has
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
        return plain(value.item())
    if tf.is_tensor(value) and hasattr(value, "numpy"):
        try:
            return plain(value.numpy())
        except Exception:  # a variable of a graph says in many ways that it has no value here
            raise GraphEditError(f"{shown(value)} has no value outside of a session; give a value.") from None
    if isinstance(value, np.ndarray) and 0 < value.size <= _MOST_NUMBERS and value.dtype.kind in "biuf":
        return plain(value.tolist())
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def spec(given: Any) -> Spec:
    """(shape, dtype) of a tf.TensorSpec, or of a pair of these."""
    if isinstance(given, tf.TensorSpec):
        return plain(given.shape), plain(given.dtype)
    try:
        shape, dtype = given
        return _sizes(shape), tf.as_dtype(dtype).name
    except Exception as error:  # what can be gone through may raise anything
        raise GraphEditError(f"{shown(given)} is no tf.TensorSpec; give one.") from error


def shape_and_dtype(given: Any, shape: Any, dtype: Any) -> tuple[Any, str]:
    """A shape ("same" for none) and a dtype ("" for none): of a tf.TensorSpec, a shape or a dtype, or given apart."""
    if isinstance(given, tf.TensorSpec):
        shape, dtype = given.shape, given.dtype
    elif isinstance(given, str | tf.DType | type):
        dtype = given
    elif given is not None:
        shape = given
    try:
        found = shape if isinstance(shape, str) and shape == "same" else _sizes(shape)
        return found, "" if isinstance(dtype, str) and not dtype else tf.as_dtype(dtype).name
    except Exception as error:  # what can be gone through may raise anything
        what = shown(dtype if given is None and isinstance(shape, str) else shape if given is None else given)
        raise GraphEditError(f"{what} is neither a shape, a dtype nor a tf.TensorSpec; give one.") from error


def _sizes(shape: Any) -> Shape:
    """A shape as a tuple; raises for sizes that no tensor has."""
    sizes: Shape = plain(tf.TensorShape(shape))
    for size in sizes or ():
        if isinstance(size, bool) or (size is not None and size > _LARGEST):
            raise ValueError(size)
    return sizes
