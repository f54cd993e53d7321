"""The op types that can be called on tensors, and the parameters of each: what forms ask for and
calls are checked by.

An op type is called as in `tf.raw_ops`, by its OpDef's inputs and attributes, under their names in
Python ("axis", not "reduction_indices"). The types in `_ADAPTED` are called by TensorFlow's
functions of one tensor.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal, cast

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import attr_value
from tfgraphwidget.naming import attribute_at, did_you_mean, names_text, tensorflow_name
from tfgraphwidget.sentences import OP_TYPE_NAMES, in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.describe.docs import documentation, documented_arguments
from tfgraphwidget.sources.inference.dtypes import dtype_name
from tfgraphwidget.sources.inference.shape_functions import shape_from_proto
from tfgraphwidget.tensorflow_modules import is_installed, is_loaded, tf
from tfgraphwidget.tf_types import AttrValue, OpDef

Kind = Literal["bool", "int", "float", "string", "type", "shape", "tensor", "any"]
_KINDS = ("bool", "int", "float", "string", "type", "shape")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an op type or of a Python function, besides the tensors that it is called on.

    Attributes:
        name: Its name in Python.
        kind: What it takes; "tensor" is a value that becomes a constant, "any" is checked by the
            function.
        many: Whether it takes a list of these.
        required: Whether it has no default.
        default: The default as Python; "" without one.
        allowed: The only values, if only some are allowed.
        minimum: The smallest number, or the least length of a list; None for any.
        about: TensorFlow's documentation of it.
    """

    name: str
    kind: Kind
    many: bool = False
    required: bool = False
    default: str = ""
    allowed: tuple[str, ...] = ()
    minimum: int | None = None
    about: str = ""


_ADAPTED: Mapping[str, tuple[Parameter, ...]] = {
    "Cast": (Parameter("dtype", "type", required=True, about="The dtype to cast to."),),
    "CheckNumerics": (
        Parameter("message", "string", default="''", about="Prefix of the error message."),
    ),
    "Identity": (),
    "Print": (
        Parameter("message", "string", default="''", about="A text that is printed first."),
        Parameter(
            "summarize",
            "int",
            default="3",
            about="How many elements of each dimension are printed.",
        ),
    ),
    "Reshape": (
        Parameter("shape", "shape", required=True, about="The new shape; one size can be -1."),
    ),
    "Transpose": (
        Parameter(
            "perm", "int", many=True, default="None", about="A permutation of the dimensions."
        ),
    ),
}
ADAPTED = frozenset(_ADAPTED)
"""Op types that are called by one of TensorFlow's functions."""


@dataclass(frozen=True)
class _Input:
    """An input of an OpDef: its name in Python, how many tensors it takes, and its dtypes."""

    name: str
    is_list: bool
    dtypes: frozenset[str]


@functools.cache
def op_types() -> tuple[str, ...]:
    """The op types that take and give tensors, in alphabetical order."""
    return tuple(name for name in sorted(tf_protos.raw_op_names()) if _is_computation(name))


def _is_computation(name: str) -> bool:
    definition = tf_protos.registered_op(name)
    return definition is not None and bool(definition.input_arg) and bool(definition.output_arg)


@functools.cache
def argument_names(op_type: str) -> dict[str, str]:
    """Names of inputs and attributes in an OpDef -> in Python, but for inferred attributes."""
    definition = _op_def(op_type)
    argument_names = _raw_arguments(op_type)
    inputs, attributes = (
        [arg.name for arg in args] for args in (definition.input_arg, definition.attr)
    )
    same_names = {name: name for name in (*inputs, *attributes) if name in argument_names}
    renamed = iter([name for name in argument_names if name not in same_names])
    others = [
        *inputs,
        *(name for name in attributes if name not in _inferable_attributes(definition)),
    ]
    return {
        **same_names,
        **{name: new for name in others if name not in same_names and (new := next(renamed, ""))},
    }


def _inferable_attributes(definition: OpDef) -> set[str]:
    """The attributes that follow from inputs."""
    return {
        name
        for arg in definition.input_arg
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }


@functools.cache
def _raw_arguments(op_type: str) -> tuple[str, ...]:
    """The parameters of an op type's function in `tf.raw_ops`, as its docstring names them.

    The few without a docstring have the names of their OpDefs, without the attributes that follow
    from inputs.
    """
    definition = _op_def(op_type)
    documented_names = documented_arguments(op_type)
    if documented_names:
        return documented_names
    inferable = _inferable_attributes(definition)
    attributes = (attr.name for attr in definition.attr if attr.name not in inferable)
    return (*(arg.name for arg in definition.input_arg), *attributes)


@functools.cache
def _inputs(op_type: str) -> tuple[_Input, ...]:
    definition, names = _op_def(op_type), argument_names(op_type)
    allowed = {
        attr.name: frozenset(map(dtype_name, attr.allowed_values.list.type))
        for attr in definition.attr
    }
    return tuple(
        _Input(
            names[arg.name],
            bool(arg.number_attr or arg.type_list_attr),
            frozenset([dtype_name(arg.type)])
            if arg.type
            else allowed.get(arg.type_attr, frozenset()),
        )
        for arg in definition.input_arg
    )


@functools.cache
def parameters(
    op_type: str, tensors: int = 1, options: tuple[str, ...] = ()
) -> tuple[Parameter, ...]:
    """The parameters of an op type that is called on so many tensors, the required ones first:
    further inputs, then attributes.

    Args:
        options: Names of inputs that are given as parameters, so that the tensors are the others.

    Raises:
        GraphEditError: There is no such op type, or it takes fewer tensors.
    """
    if op_type in _ADAPTED and tensors == 1:
        return _ADAPTED[op_type]
    definition, names = definition_of(op_type), argument_names(op_type)
    texts = {name: text for _, name, text in documentation(op_type, definition).arguments}
    input_names = set(_called_inputs(op_type, tensors, options))
    further = [
        Parameter(
            each.name, "tensor", many=each.is_list, required=True, about=texts.get(each.name, "")
        )
        for each in _inputs(op_type)
        if each.name not in input_names
    ]
    attributes = [
        _attribute(attr, names[attr.name], texts.get(names[attr.name], ""))
        for attr in definition.attr
        if attr.name in names
    ]
    return (
        *further,
        *sorted((each for each in attributes if each), key=lambda each: not each.required),
    )


def definition_of(op_type: str) -> OpDef:
    """The OpDef of an op type that takes and gives tensors. Raises GraphEditError."""
    if op_type not in tf_protos.raw_op_names() or not _is_computation(op_type):
        function = op_type.lower().removeprefix("tf.nn.")
        if is_loaded() and function and hasattr(tf.nn, function):
            raise GraphEditError(
                f"{op_type!r} is not an op type but a function that makes several ops; "
                + in_cell(f"give the function, tf.nn.{function}.")
            )
        raise GraphEditError(
            f"{op_type!r} is not an op type that takes a tensor"
            + did_you_mean(op_type, op_types(), otherwise=OP_TYPE_NAMES)
        )
    return _op_def(op_type)


def _op_def(op_type: str) -> OpDef:
    """The OpDef of an op type that TensorFlow has."""
    definition = tf_protos.registered_op(op_type)
    if definition is None:
        raise KeyError(op_type)
    return definition


def _called_inputs(op_type: str, tensors: int, options: Collection[str] = ()) -> list[str]:
    """The inputs that tensors are passed to, a name for each: a list takes the rest."""
    free = [each for each in _inputs(op_type) if each.name not in options]
    names: list[str] = []
    for each in free:
        names += [each.name] * (tensors - len(names) if each.is_list else 1)
    if tensors > len(names):
        counts = f"{len(free)} tensor{'s' * (len(free) > 1)}, and here are {tensors}"
        raise GraphEditError(f"{op_type!r} takes {counts}; choose an op type that takes as many.")
    return names[:tensors]


def call_arguments(
    op_type: str, tensors: Sequence[object], options: Mapping[str, object]
) -> dict[str, object]:
    """The keyword arguments of `tf.raw_ops` for a call of an op type on tensors.

    Raises:
        GraphEditError: It takes fewer tensors.
        InvalidArgument: It has no parameter of a name, or a value does not fit.
    """
    check_parameters(op_type, parameters(op_type, len(tensors), tuple(options)), options)
    single: dict[str, object] = {}
    several: dict[str, list[object]] = {}
    lists = {each.name for each in _inputs(op_type) if each.is_list}
    for name, tensor in zip(_called_inputs(op_type, len(tensors), options), tensors, strict=True):
        if name in lists:
            several.setdefault(name, []).append(tensor)
        else:
            single[name] = tensor
    return {**single, **several, **options}


def fits(op_type: str, dtypes: Sequence[str]) -> bool:
    """Whether an op type can be called on tensors of these dtypes, with no further ones."""
    if op_type in _ADAPTED:
        return len(dtypes) == 1
    try:
        names = _called_inputs(op_type, len(dtypes))
    except GraphEditError:
        return False
    inputs = {each.name: each for each in _inputs(op_type)}
    return set(names) == set(inputs) and all(
        not inputs[name].dtypes or dtype in inputs[name].dtypes
        for name, dtype in zip(names, dtypes, strict=True)
    )


def _attribute(attr: OpDef.AttrDef, name: str, about: str) -> Parameter | None:
    """The parameter for an attribute; None if no form can ask for it: a function, a tensor."""
    kind = attr.type.removeprefix("list(").removesuffix(")")
    many = attr.type.startswith("list(")
    if kind not in _KINDS:
        return None
    has_default = attr.HasField("default_value")
    allowed = attr.allowed_values.list
    words = [*map(dtype_name, allowed.type), *(text.decode() for text in allowed.s)]
    return Parameter(
        name,
        cast("Kind", kind),
        many,
        not has_default,
        _default_text(attr.default_value, kind, many=many) if has_default else "",
        tuple(words),
        attr.minimum if attr.has_minimum else None,
        about,
    )


def _default_text(value: AttrValue, kind: str, *, many: bool) -> str:
    default = attr_value(value)
    if many:
        return repr(
            [_plain(item, kind) for item in default] if isinstance(default, list | tuple) else []
        )
    return repr(_plain(default, kind))


def _plain(value: Any, kind: str) -> object:
    """A value of an AttrValue as Python has it."""
    if kind == "shape":
        return shape_from_proto(value)
    if kind == "float":
        return float(f"{value:.7g}")  # float32 in the OpDef
    return value.decode(errors="replace") if isinstance(value, bytes) else value


# Checks


def check_parameters(
    op_type: str, all_parameters: Sequence[Parameter], options: Mapping[str, object]
) -> None:
    """Raise InvalidArgument for unknown parameters, wrong values and missing required ones."""
    by_name = {each.name: each for each in all_parameters}
    for name, value in options.items():
        if name not in by_name:
            names = f"its attributes are {names_text(list(by_name))}" if by_name else "it has none"
            raise InvalidArgument(
                name, f"{op_type} has no attribute {name!r}; {names}{did_you_mean(name, by_name)}"
            )
        check_value(op_type, by_name[name], value)
    missing = [each.name for each in all_parameters if each.required and each.name not in options]
    if missing:
        raise InvalidArgument(
            missing[0],
            f"{op_type} needs {names_text(missing)}; "
            + in_cell(f"give a value: attributes={{{missing[0]!r}: …}}."),
        )


def check_value(op_type: str, parameter: Parameter, value: Any) -> None:
    """Raise InvalidArgument for a value that the parameter cannot have."""
    items = value if parameter.many and isinstance(value, list | tuple) else [value]
    if parameter.kind in ("tensor", "any") or (value is None and parameter.default == "None"):
        return
    if parameter.many and not isinstance(value, list | tuple):
        _refuse(op_type, parameter, value, f"a list, such as [{_EXAMPLES[parameter.kind]}]")
    if parameter.many and parameter.minimum is not None and len(items) < parameter.minimum:
        _refuse(op_type, parameter, value, f"a list of at least {parameter.minimum}")
    for item in items:
        if not _is_kind(parameter.kind, item):
            _refuse(op_type, parameter, item, _WORDS[parameter.kind])
        if parameter.allowed and str(getattr(item, "name", item)) not in parameter.allowed:
            _refuse(op_type, parameter, item, f"one of {', '.join(parameter.allowed)}")
        if not parameter.many and parameter.minimum is not None and item < parameter.minimum:
            _refuse(op_type, parameter, item, f"at least {parameter.minimum}")


def _refuse(op_type: str, parameter: Parameter, value: object, allowed_values: str) -> None:
    raise InvalidArgument(
        parameter.name,
        f"{op_type}: {parameter.name} cannot be {value_text(value)}; give {allowed_values}.",
    )


_WORDS = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "type": "a dtype, such as float32",
    "shape": "a shape, such as [None, 4]",
}
_EXAMPLES = {
    "bool": "True",
    "int": "1, 2",
    "float": "0.5",
    "string": "'a'",
    "type": "'float32'",
    "shape": "[None, 4]",
}


def _is_kind(kind: Kind, value: object) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return is_int
    if kind == "float":
        return is_int or isinstance(value, float)
    if kind == "string":
        return isinstance(value, str | bytes)
    if kind == "type":
        return _is_dtype(value)
    if value is None:  # a shape of unknown rank
        return True
    return isinstance(value, list | tuple) and all(
        size is None or (isinstance(size, int) and not isinstance(size, bool)) for size in value
    )


def _is_dtype(value: object) -> bool:
    try:
        tf_protos.to_dtype_name(value)
    except TypeError:
        return False
    return True


# Python functions


@functools.cache
def functions_of_tensors() -> Mapping[str, FunctionType]:
    """TensorFlow's functions of tensors by their public names, without those that call one op."""
    if not is_installed():
        return {}
    types = {name.lower() for name in vars(tf.raw_ops)}
    return {
        f"tf.{part}.{name}": function
        for part in ("nn", "math")
        for name, function in vars(attribute_at(tf, part)).items()
        if isinstance(function, FunctionType) and name.replace("_", "") not in types
    }


def function_parameters(function: Any, tensors: int = 1) -> tuple[Parameter, ...]:
    """The keyword parameters of a Python function that a form can ask for, after the tensors that
    it is called on: those with a default of a plain type, and those without one; () where Python
    does not know them. The name of the op, which TensorFlow's functions take, is asked for apart.
    """
    try:
        python_parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in
        return ()
    empty = inspect.Parameter.empty
    positional = [
        p for p in python_parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    keywords = [
        p
        for p in python_parameters
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and p not in positional[:tensors]
        and not (p.name == "name" and tensorflow_name(function))
    ]
    parameter_list = []
    for each in keywords:
        kinds = {bool: "bool", int: "int", float: "float", str: "string"}
        kind = kinds.get(type(each.default), "any")
        if each.default is empty or kind != "any" or each.default is None:
            text = "" if each.default is empty else repr(each.default)
            parameter_list.append(
                Parameter(
                    each.name, cast("Kind", kind), required=each.default is empty, default=text
                )
            )
    return tuple(parameter_list)
