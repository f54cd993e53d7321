"""Traces Python functions: the ops that a function makes of tensors, as NodeDefs that any graph can
import.

The function is called on placeholders, in a separate graph, so that an error in it changes nothing.
Its side effects (tf.print, an assertion) happen before its outputs are computed, as in a
tf.function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import TracedFunction
from tfgraphwidget.edits.clone import with_lasting_names
from tfgraphwidget.edits.rewrite import Spec
from tfgraphwidget.errors import (
    GraphEditError,
    SessionRefused,
    TensorFlowMissing,
    WrongType,
    reason_of,
)
from tfgraphwidget.graph import (
    TABLE_FILLS,
    GraphIndex,
    Shape,
    VariableDef,
    are_compatible,
    build,
    collection_ops,
    needed_ops,
    side_effects,
    traversal,
)
from tfgraphwidget.graph.patterns import Constant, Replacement
from tfgraphwidget.naming import function_name, split_tensor
from tfgraphwidget.runtime.op_calls import input_arguments, typed_operands
from tfgraphwidget.runtime.session import edit_values, variable_values
from tfgraphwidget.sentences import drawn_shape, in_cell
from tfgraphwidget.sources import (
    ADAPTED,
    CaptureInfo,
    GraphBody,
    argument_names,
    body_index,
    call_arguments,
    captured_body,
    check_parameters,
    definition_of,
    dimensions,
    error_text,
    keras_infos,
    parameters,
    rename_tensor,
    static_shape,
    tf_protos,
    wrap_tf_errors,
)
from tfgraphwidget.tensorflow_modules import DType, TensorShape, TensorSpec, is_loaded, tf
from tfgraphwidget.tf_internals import (
    PartitionedVariable,
    control_flow_context,
    eager_mode,
    forget_variables,
    session_config,
    share_python_functions,
    used_names,
)
from tfgraphwidget.tf_types import (
    DTypeLike,
    Named,
    Session,
    ShapeLike,
    Tensor,
    TensorProto,
    Variable,
)

TABLES = "table_initializer"


def forget(graph: tf.Graph, scope: str, new_ops: Collection[str]) -> None:
    """Remove variables from the stores of `get_variable`, and the scope's variable scopes."""
    handles = set(new_ops)
    forget_variables(graph, scope, lambda variable: _handles(variable) <= handles)


def _handles(variable: Variable) -> set[str]:
    """Return the handle ops of a variable, or of the parts of a partitioned one."""
    parts = variable if isinstance(variable, PartitionedVariable) else [variable]
    return {part.name.partition(":")[0] for part in parts}


def call_in_graph(
    graph: tf.Graph, scope: str, function: Callable[..., object], names: Iterable[str]
) -> object:
    """Call a Python function on the named tensors of a live graph, so that it adds its ops and
    variables to the graph in a name scope, and return its result.
    """
    tensors = [graph.get_tensor_by_name(name) for name in names]
    scoped = tf.compat.v1.VariableScope(reuse=False, name=scope, name_scope=f"{scope}/")
    with graph.as_default(), tf.compat.v1.name_scope(None):  # whatever scope the caller is in
        if scope.lower() not in used_names(graph):
            # A later tf.name_scope of that name becomes name_1, as it should.
            graph.unique_name(scope)
        with (
            tf.control_dependencies(None),
            # This very scope, though a function that failed may have left ops in it.
            tf.compat.v1.name_scope(f"{scope}/"),
            tf.compat.v1.variable_scope(scoped, auxiliary_name_scope=False),
        ):
            return function(*tensors)


def without_context(graph: tf.Graph, names: Iterable[str]) -> list[str]:
    """Those of some ops of a live graph that are in no control flow context."""
    return [
        name for name in names if control_flow_context(graph.get_operation_by_name(name)) is None
    ]


@wrap_tf_errors("initialize what the function makes")
def check_initializers(session: Session, function: TracedFunction) -> None:
    """Initialize the variables and tables of a traced function in its own graph, as a check.

    Raises:
        GraphEditError, SessionRefused: As `initialize`, before the user's graph has ops that
            TensorFlow cannot remove.
    """
    tables = [member.name for member in function.index.collections.get(TABLES, ())]
    with tf.compat.v1.Session(
        session.sess_str, function.alive, session_config(session)
    ) as rehearsal:
        initialize(rehearsal, function.index.variable_defs, tables)


def initialize(session: Session, variables: Sequence[VariableDef], tables: Sequence[str]) -> None:
    """Initialize new variables, and fill new tables by the ops that do. Raises GraphEditError for a
    variable without an initializer, SessionRefused for one that fails.
    """
    orphans = [v.handle for v in variables if not v.initializer]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no initializer; "
            + in_cell("make it with tf.compat.v1.get_variable or tf.Variable."),
            orphans,
        )
    try:
        if variables:
            variable_values.run_initializers(session, variables)
        if tables:
            session.run(list(tables))
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"What the function made cannot be initialized: {error_text(error)}; "
            "give it initial values that need nothing that is fed."
        ) from error


_LARGEST = 2**63 - 1  # size of a dimension
_T = TypeVar("_T")
_MOST_NUMBERS = 1000  # of an array that commands hold as Python numbers

Options = Mapping[str, object]


@cache
def _adapted_functions() -> dict[str, Callable[..., object]]:
    """Functions that call op types whose parameters are not those of `tf.raw_ops`."""
    return {
        "Cast": tf.cast,
        "CheckNumerics": lambda x, message="": tf.debugging.check_numerics(x, message),
        "Identity": tf.identity,
        "Print": lambda x, *, message="", summarize=3: tf.print(message, x, summarize=summarize),
        "Reshape": tf.reshape,
        "Transpose": tf.transpose,
    }


@wrap_tf_errors("call the function")
def trace_function(
    function: object, specs: Sequence[tuple[str, Shape]], options: Options | None = None
) -> TracedFunction:
    """Trace a Python function, or an op type, for arguments of these dtypes and static shapes.
    Raises GraphEditError where it raised, or its arguments are wrong.
    """
    body, name = _function(function)
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.name_scope(None):
        inputs = _placeholders(specs)
        outputs = _call(body, name, inputs, options or {})
    return _traced_graph(graph, inputs, outputs)


def _traced_graph(
    graph: tf.Graph, inputs: Iterable[Tensor], outputs: Iterable[Tensor]
) -> TracedFunction:
    # Python functions that ops call (tf.py_function) are kept by the graph that they were made in.
    return TracedFunction(
        with_lasting_names(body_index(GraphBody(graph))),
        tuple(t.op.name for t in inputs),
        tuple(t.name for t in outputs),
        graph,
    )


def _placeholders(specs: Sequence[tuple[str, Shape]]) -> list[Tensor]:
    try:
        return [
            tf.compat.v1.placeholder(_dtype(dtype), shape, f"input_{k}")
            for k, (dtype, shape) in enumerate(specs)
        ]
    except ValueError as error:  # more elements than there are numbers
        raise GraphEditError(
            f"TensorFlow makes no tensor like those that the function is to take: "
            f"{reason_of(error)}; choose others."
        ) from error


def trace_gradient(
    function: object,
    specs: Sequence[tuple[str, Shape]],
    by: Sequence[int] = (0,),
    options: Options | None = None,
) -> TracedFunction | None:
    """Take the gradient of a Python function that returns one tensor.

    Args:
        function: The function, or an op type.
        specs: The dtype and static shape of each tensor, and last of the gradient that arrives.
        by: The numbers of the tensors that the gradient is taken by.

    Returns:
        The gradients by these tensors, from all tensors and what arrives; None where TensorFlow
        knows none.

    Raises:
        GraphEditError: The function raised, or its arguments are wrong.
    """
    body, name = _function(function)
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.name_scope(None):
        inputs = _placeholders(specs)
        *tensors, arriving = inputs
        with tf.compat.v1.name_scope("gradient/forward/"):
            (output,) = _call(body, name, tensors, options or {})
        try:
            gradients = tf.gradients(output, [tensors[k] for k in by], arriving, name="gradient")
        except (LookupError, TypeError, ValueError):  # an op that has no gradient
            return None
    if not all(isinstance(gradient, tf.Tensor) for gradient in gradients):
        return None
    return _traced_graph(graph, inputs, gradients)


def _call(
    function: Callable[..., object], name: str, inputs: Sequence[tf.Tensor], options: Options
) -> list[tf.Tensor]:
    """Call a function on placeholders of the default graph: the tensors that it returns."""
    try:
        outputs, effects = _outputs(function(*inputs, **options), inputs)
    except GraphEditError:
        raise
    except Exception as error:
        if inputs:
            way_out = "let it make tensors of what it is given, and of nothing else"
        else:
            way_out = "name the tensors that it takes, as the pattern 'Relu(x)' names x"
        raise GraphEditError(
            f"{name} raised {type(error).__name__} when it was called on {_inputs_text(inputs)}: "
            f"{error_text(error)}; {way_out}."
        ) from error
    return _outputs_after_effects(tf.compat.v1.get_default_graph(), outputs, effects)


@wrap_tf_errors("call the function")
def trace_in_function(
    function: object,
    specs: Sequence[tuple[str, Shape]],
    options: Options | None = None,
    *,
    infos: Mapping[int, CaptureInfo] | None = None,
    input_names: Sequence[str] = (),
) -> TracedFunction:
    """Trace a Python function for a function's body.

    Unlike `trace_function`, it makes variables and tables as live ones, which the ops capture. So
    `function` can be a Keras layer or model; its variables stay its own.

    Args:
        infos: The names of variables that it captures, by id of the handle; those of Keras are
            known.
        input_names: The names of the placeholders of its arguments; () for "input_0" and so on.

    Raises:
        GraphEditError: The function raised, its arguments are wrong, or it makes a table.
    """
    callable_, name = _function(function)
    variables: list[tf.Variable] = []
    names: list[list[str]] = []

    def body(*inputs: tf.Tensor) -> list[tf.Tensor]:
        graph = tf.compat.v1.get_default_graph()
        with tf.variable_creator_scope(_live_creator(graph, variables)):
            outputs = _call(callable_, name, inputs, options or {})
        names.extend([[tensor.op.name for tensor in inputs], [tensor.name for tensor in outputs]])
        return outputs

    placeholders = input_names or [f"input_{k}" for k in range(len(specs))]
    with eager_mode(), tf.compat.v1.name_scope(None):
        shapes = [static_shape(shape) for _, shape in specs]
        wrapped = tf.compat.v1.wrap_function(
            body,
            [
                tf.TensorSpec(shapes[k], _dtype(dtype), placeholders[k])
                for k, (dtype, _) in enumerate(specs)
            ],
        )
        traced_body, live = captured_body(
            wrapped.graph, keras_infos(function) if infos is None else infos
        )
    inputs, outputs = names[0], [rename_tensor(output, traced_body.alias) for output in names[1]]
    whole = body_index(traced_body)
    index = _only(whole, [*inputs, *outputs])
    fills = [
        op
        for op, kind in zip(whole.names, whole.types, strict=True)
        if kind in TABLE_FILLS and op not in index.ids
    ]
    if fills:
        raise GraphEditError(
            f"{name} makes a table ({fills[0]!r} fills it), which a function's body cannot "
            "initialize; make the table before, and let the function read it.",
            fills,
        )
    captured = {name: value for name, value in live.items() if name in index.ids}
    alive = wrapped, variables, function
    return TracedFunction(
        index, tuple(inputs), tuple(outputs), alive, captured, wrapped.graph, traced_body.alias
    )


def _only(index: GraphIndex, needed_names: Sequence[str]) -> GraphIndex:
    """The index without ops that nothing needs: what computed the first values of variables that
    are live.
    """
    needed = needed_ops(index, (), needed_names)
    nodes = [node for node, is_kept in zip(index.nodes, needed.tolist(), strict=True) if is_kept]
    names = {node.name for node in nodes}
    collections = {
        key: tuple(member for member in members if split_tensor(member.name)[0] in names)
        for key, members in index.collections.items()
    }
    variables = tuple(variable for variable in index.variable_defs if variable.handle in names)
    return build(
        nodes,
        collections,
        variables,
        typing=index.typing,
        functions=index.functions,
        extras=index.extras,
    )


def _live_creator(graph: tf.Graph, variables: list[tf.Variable]) -> Callable[..., tf.Variable]:
    """Make variables outside of the graph that is being traced; `variables` keeps them alive."""

    def create(next_creator: Callable[..., tf.Variable], **options: object) -> tf.Variable:
        value = options.get("initial_value")
        if isinstance(value, tf.Tensor) and getattr(value, "graph", None) is graph:
            (options["initial_value"],) = edit_values.compute_constants(
                body_index(GraphBody(graph)), [value.name]
            )
        with tf.init_scope():
            variables.append(next_creator(**options))
        return variables[-1]

    return create


def _function(function: object) -> tuple[Callable[..., object], str]:
    """Return the function to call, and its name for messages."""
    if isinstance(function, Replacement):
        return functools.partial(_call_replacement, function), str(function)
    if callable(function):
        return function, function_name(function, "The function")
    if not isinstance(function, str):
        raise WrongType(
            "function",
            f"{value_text(function)!r} is not a function; give a Python function, or an op type: "
            "'Identity'.",
        )
    definition_of(function)
    return functools.partial(_call_op_type, function), function


def _call_replacement(replacement: Replacement, *tensors: Tensor) -> list[Tensor]:
    """Make the ops that a text describes."""

    def call(
        op_type: str, operands: Sequence[Tensor | Constant], attributes: Mapping[str, object]
    ) -> Tensor | list[Tensor]:
        definition = definition_of(op_type)
        arguments = typed_operands(
            definition, operands, lambda tensor: tensor.dtype.base_dtype.name, constant_of
        )
        options = input_arguments(definition, arguments, attributes)
        names = argument_names(op_type)
        outputs = getattr(tf.raw_ops, op_type)(
            **{names.get(name, name): value for name, value in options.items()}
        )
        return list(outputs) if isinstance(outputs, tuple | list) else outputs

    def constant_of(constant: Constant, dtype: str = "") -> Tensor:
        return tf.constant(constant.value, dtype or None)

    return replacement.make(tensors, call, constant_of)


def _call_op_type(op_type: str, *tensors: object, **options: object) -> object:
    """Call an op type on tensors, with its parameters by name."""
    if op_type in ADAPTED and len(tensors) == 1:
        check_parameters(op_type, parameters(op_type), options)
        return _adapted_functions()[op_type](*tensors, **options)
    return getattr(tf.raw_ops, op_type)(**call_arguments(op_type, tensors, options))


def _dtype(name: str) -> tf.DType:
    if not name:
        raise GraphEditError(
            "The dtype of a tensor that is passed to the function is unknown; choose another "
            "tensor."
        )
    dtype: tf.DType = tf.as_dtype(name).base_dtype
    return dtype


def _inputs_text(inputs: Sequence[tf.Tensor]) -> str:
    shapes = (dimensions(tensor.shape) for tensor in inputs)
    described = ("of unknown shape" if shape is None else list(shape) for shape in shapes)
    texts = [
        f"{tensor.dtype.name} {shape}" for tensor, shape in zip(inputs, described, strict=True)
    ]
    return " and ".join(texts) or "nothing"


def _outputs(
    result: object, inputs: Sequence[tf.Tensor]
) -> tuple[list[tf.Tensor], list[tf.Operation]]:
    """Return the tensors and the ops of a function's result; without tensors, its inputs."""
    items = tf.nest.flatten(result, expand_composites=True)
    effects = [item for item in items if isinstance(item, tf.Operation)]
    rest = (item for item in items if item is not None and not isinstance(item, tf.Operation))
    tensors = [tf.convert_to_tensor(item) for item in rest]
    return tensors or list(inputs), effects


def _outputs_after_effects(
    graph: tf.Graph, outputs: Sequence[tf.Tensor], effects: Sequence[tf.Operation]
) -> list[tf.Tensor]:
    """Return the outputs, computed after all side effects of the function."""
    index = body_index(GraphBody(graph))
    variables = (
        split_tensor(name)[0]
        for v in index.variable_defs
        for name in (v.initializer, v.snapshot)
        if name
    )
    kept_ops = {*collection_ops(index), *variables, *(output.op.name for output in outputs)}
    needed = traversal.backward(index, [index.ids[name] for name in kept_ops if name in index.ids])
    loose = [index.names[i] for i in side_effects(index, np.flatnonzero(~needed).tolist())]
    waiting = [graph.get_operation_by_name(name) for name in loose]
    waiting = [op for op in (*waiting, *effects) if control_flow_context(op) is None]
    if not waiting:
        return list(outputs)
    with tf.control_dependencies(list(dict.fromkeys(waiting))):
        return [tf.identity(output) for output in outputs]


def keep_alive(graph: tf.Graph, function: TracedFunction) -> None:
    """Keep alive in a graph the Python functions that ops of a traced function call."""
    if function.alive is not None:  # a function, not an op type
        share_python_functions(function.alive if function.graph is None else function.graph, graph)


def tables_of(members: Iterable[tuple[str, Named]]) -> list[str]:
    """Return the ops that fill new tables, among (collection key, member) pairs."""
    return [member.name for key, member in members if key == TABLES]


def _value_words(dtype: str) -> str:
    """What a tensor of a dtype holds, in words."""
    if dtype in ("bool", "string"):
        return {"bool": "True or False", "string": "a text, as 'a' or b'a'"}[dtype]
    kinds = {
        "complex": "a complex number",
        "uint": "a whole number from 0 on",
        "int": "a whole number",
    }
    word = next((word for kind, word in kinds.items() if dtype.startswith(kind)), "a number")
    return f"{word}, or an array of these"


def constant(value: object, dtype: str, shape: Shape) -> TensorProto:
    """Return the TensorProto of a value. Raises GraphEditError where the tensor cannot have it."""
    name = dtype.removesuffix("_ref")
    try:
        if (np.asarray(value).dtype == bool) != (name == "bool"):
            raise TypeError
        proto = tf_protos.tensor_of(value, name)
        if proto is None:
            proto = tf.make_tensor_proto(value, tf.as_dtype(name))
    except TensorFlowMissing:
        raise
    except Exception as error:  # TensorFlow's refusals are of many types
        raise GraphEditError(
            f"{value_text(value)} is not a value of {name}; give {_value_words(name)}."
        ) from error
    value_shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if not are_compatible(shape, value_shape):
        raise GraphEditError(
            "The value has shape "
            + drawn_shape(value_shape)
            + ", and the tensor "
            + drawn_shape(shape)
            + "; give a value of that shape."
        )
    return proto


_LONG: dict[type, type] = {np.longdouble: np.float64, np.clongdouble: np.complex128}


def plain_value(value: object) -> object:
    """Return a value as commands hold it: dtypes' names, tuples, Python numbers of small arrays."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return dimensions(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.type in _LONG:
        # More digits than any tensor or Python number has.
        value = value.astype(_LONG[value.dtype.type])
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
        return plain_value(value.item())
    if is_loaded() and tf.is_tensor(value) and hasattr(value, "numpy"):
        try:
            return plain_value(value.numpy())
        except Exception:  # a variable of a graph says in many ways that it has no value here
            raise GraphEditError(
                f"{value_text(value)} has no value outside of a session; give a value."
            ) from None
    if (
        isinstance(value, np.ndarray)
        and 0 < value.size <= _MOST_NUMBERS
        and value.dtype.kind in "biuf"
    ):
        return plain_value(value.tolist())
    return tuple(map(plain_value, value)) if isinstance(value, list | tuple) else value


def tensor_spec(value: TensorSpec | tuple[ShapeLike, DTypeLike]) -> Spec:
    """Return the (shape, dtype) of a tf.TensorSpec, or of a pair of these."""
    if isinstance(value, TensorSpec):
        return dimensions(value.shape), value.dtype.name
    try:
        shape, dtype = value
        return _sizes(shape), tf_protos.to_dtype_name(dtype)
    except Exception as error:  # what can be gone through may raise anything
        raise GraphEditError(f"{value_text(value)} is not a tf.TensorSpec; give one.") from error


def shape_and_dtype(
    value: object, shape: Any, dtype: object
) -> tuple[Shape | Literal["same"], str]:
    """Return a shape, "same" if none is given, and a dtype, "" if none is given, of a
    tf.TensorSpec, or of the two that `value`, a shape or a dtype, and the other argument give.
    Raises GraphEditError for what is neither.
    """
    if isinstance(value, TensorSpec):
        shape, dtype = value.shape, value.dtype
    elif isinstance(value, DType) or type(value) is str or isinstance(value, type):
        dtype = value
    elif value is not None:
        shape = value
    # What is given as the first argument may be meant as any of them.
    any_kind = "a shape, a dtype or a tf.TensorSpec"
    kinds = ("a shape such as (None, 3)", "a dtype") if value is None else (any_kind, any_kind)
    size: Shape | Literal["same"] = "same"
    if not (isinstance(shape, str) and shape == "same"):
        size = _convert(shape, _sizes, kinds[0])
    if isinstance(dtype, str) and not dtype:
        return size, ""
    return size, _convert(dtype, tf_protos.to_dtype_name, kinds[1])


def _convert(value: object, parse: Callable[[Any], _T], kind: str) -> _T:
    """A value as what it is to be. Raises GraphEditError, which says what that is."""
    try:
        return parse(value)
    except Exception as error:  # what can be gone through may raise anything
        is_negative = isinstance(value, list | tuple) and -1 in value
        way_out = "write None for any size" if is_negative else "give one"
        raise GraphEditError(f"{value_text(value)} is not {kind}; {way_out}.") from error


def _sizes(shape: ShapeLike) -> Shape:
    """Return a shape as a tuple. Raises for sizes that no tensor has."""
    sequence: Any = shape
    if sequence is None or (
        type(sequence) in (list, tuple)
        and all(n is None or (type(n) is int and n >= 0) for n in sequence)
    ):
        sizes: Shape = None if sequence is None else tuple(sequence)
    else:
        sizes = dimensions(tf.TensorShape(shape))
    for size in sizes or ():
        if isinstance(size, bool) or (size is not None and size > _LARGEST):
            raise ValueError(size)
    return sizes
