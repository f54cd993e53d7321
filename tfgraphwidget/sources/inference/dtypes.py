"""The dtypes of an op's outputs, from its NodeDef and the registered OpDef, a function's signature,
or a guess.

Nothing here raises on nonsense: a damaged attribute makes a dtype "", the one that is not known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple, cast

from tfgraphwidget.graph import DerivedTyping, ReshapedTyping, Shape, Shapes, Typing
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import AttrValue, DataType, FunctionDef, NodeDef, OpDef

# No op has more outputs; a damaged attribute may say so.
MOST_OUTPUTS = 1 << 15


def dtype_number(name: str) -> DataType.ValueType:
    """The number of the DataType of that name; 0 if there is none."""
    return cast("DataType.ValueType", _numbers().get(name, 0))


@cache
def _numbers() -> dict[str, int]:
    return {name: number for number, name in tf_protos.dtype_names().items()}


class Output(NamedTuple):
    """One output argument of an op: how many tensors it is, and of which dtypes."""

    name: str
    dtypes: tuple[str, ...]


def dtype_name(number: int) -> str:
    """The name of a DataType, over 100 for a reference; "" for a number unknown to TensorFlow."""
    return tf_protos.dtype_names().get(number, "")


class OpTypes:
    """The dtypes of outputs of ops of any type; `function` finds the FunctionDef of an op type
    that is one's name.

    Op types whose outputs do not depend on attributes are looked up once.
    """

    def __init__(self, function: Callable[[str], FunctionDef]) -> None:
        self._function = function
        self._definitions: dict[str, OpDef | None] = {}
        # Op types whose outputs do not depend on attributes, with their dtypes.
        self._fixed: dict[str, tuple[str, ...]] = {}
        # Op types with one output of the dtype in an attribute: its name, and "_ref" or "".
        self._by_type: dict[str, tuple[str, str]] = {}

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        op_type = node.op
        dtypes = self._fixed.get(op_type)
        if dtypes is not None:
            return dtypes
        # Nearly all other op types have one output, whose dtype is an attribute.
        by_type = self._by_type.get(op_type)
        if by_type is not None:
            name, suffix = by_type
            attributes = node.attr
            if name in attributes:
                dtype = tf_protos.dtype_names().get(attributes[name].type, "")
                return (dtype and dtype + suffix,)
        return self._defined_dtypes(node)

    def outputs(self, node: NodeDef) -> tuple[Output, ...] | None:
        """The output arguments of a NodeDef, in order; None for an unknown op type."""
        definition = self.definition(node.op)
        if definition is None:
            return None
        return tuple(
            Output(arg.name, _dtypes(arg, node, definition)) for arg in definition.output_arg
        )

    def input_at(self, node: NodeDef, k: int) -> tuple[DataType.ValueType, bool] | None:
        """The number of the dtype that a NodeDef takes at an input, 0 if unknown, and whether it
        takes a reference; None for an unknown op type, and where the op has no such input.
        """
        definition = self.definition(node.op)
        if definition is None:
            return None
        for arg in definition.input_arg:
            if arg.type_list_attr:
                dtypes = list(_attribute(node, definition, arg.type_list_attr).list.type)
            else:
                dtype = arg.type or _attribute(node, definition, arg.type_attr).type
                dtypes = [dtype] * _count(arg, node, definition)
            if k < len(dtypes):
                return dtypes[k], arg.is_ref
            k -= len(dtypes)
        return None

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type or of the function of that name; None when there is neither."""
        definition = self._definitions.get(op_type)
        if definition is None:
            # Not remembered: its library may be loaded, or the function added, later.
            definition = self._look_up(op_type)
            if definition is not None:
                self._definitions[op_type] = definition
        return definition

    def _look_up(self, op_type: str) -> OpDef | None:
        """See `definition`."""
        registered: OpDef | None = tf_protos.registered_op(op_type)
        if registered is not None:
            return registered
        try:
            return self._function(op_type).signature
        except KeyError:
            return None

    def _defined_dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtypes of a NodeDef's outputs, by its OpDef; notes how those of its type follow."""
        definition = self.definition(node.op)
        outputs = self.outputs(node)
        if definition is None or outputs is None:
            return _guess_dtypes(node)
        dtypes = tuple(dtype for output in outputs for dtype in output.dtypes)
        arguments = definition.output_arg
        if all(arg.type and not arg.number_attr for arg in arguments):
            self._fixed[node.op] = dtypes
        elif len(arguments) == 1 and not arguments[0].number_attr and arguments[0].type_attr:
            self._by_type[node.op] = (arguments[0].type_attr, "_ref" if arguments[0].is_ref else "")
        return dtypes


@dataclass(frozen=True, eq=False)
class TypingWithFunctions(DerivedTyping):
    """The typing of `base`, and of ops whose type is one of further functions."""

    functions: Mapping[str, FunctionDef]

    @cached_property
    def _types(self) -> OpTypes:
        return OpTypes(self.functions.__getitem__)

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        return (self._types if node.op in self.functions else self.base).dtypes(node)

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type or of the function of that name; None for an unknown type."""
        return (self._types if op_type in self.functions else self.base).definition(op_type)

    def with_functions(self, functions: Mapping[str, FunctionDef]) -> Typing:
        """The same with further functions."""
        return TypingWithFunctions(self.base, {**self.functions, **functions})


class TypingByOpTypes(ABC):
    """What a typing says by the types of ops alone."""

    types: OpTypes

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        return self.types.dtypes(node)

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type, or of the function of that name; None for an unknown type."""
        return self.types.definition(op_type)

    @abstractmethod
    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is unknown."""

    def number(self, dtype: str) -> DataType.ValueType:
        """TensorFlow's number of a dtype."""
        return dtype_number(dtype)

    def with_shapes(self, shapes: Shapes) -> Typing:
        """The same with the static shapes that edits changed."""
        return ReshapedTyping(self, shapes)

    def with_functions(self, functions: Mapping[str, FunctionDef]) -> Typing:
        """The same with op types that are functions which an edit has added."""
        return TypingWithFunctions(self, functions)


def _dtypes(arg: OpDef.ArgDef, node: NodeDef, definition: OpDef) -> tuple[str, ...]:
    """The dtypes of the tensors of one output argument."""
    if arg.type_list_attr:
        numbers = _attribute(node, definition, arg.type_list_attr).list.type
        return tuple(map(dtype_name, numbers[:MOST_OUTPUTS]))
    dtype = dtype_name(arg.type or _attribute(node, definition, arg.type_attr).type)
    if dtype and arg.is_ref:
        dtype += "_ref"
    return (dtype,) * _count(arg, node, definition)


def _count(arg: OpDef.ArgDef, node: NodeDef, definition: OpDef) -> int:
    """How many tensors of one dtype an argument is; 0 if an attribute says what cannot be."""
    if not arg.number_attr:
        return 1
    count: int = _attribute(node, definition, arg.number_attr).i
    return count if 0 <= count <= MOST_OUTPUTS else 0


def _attribute(node: NodeDef, definition: OpDef, name: str) -> AttrValue:
    """A NodeDef's attribute, or the OpDef's default of it."""
    if name in node.attr:
        return node.attr[name]
    return next(
        (each.default_value for each in definition.attr if each.name == name), tf_protos.AttrValue()
    )


def _guess_dtypes(node: NodeDef) -> tuple[str, ...]:
    """Guess the dtypes of an unknown op from its attributes.

    "_output_shapes" has how many outputs there are, and attributes named as TensorFlow names
    those of outputs ("Tout", "output_types", "dtype", "T") their dtypes.
    """
    attributes = node.attr
    for name in ("Tout", "Toutputs", "output_types"):
        if name in attributes and attributes[name].list.type:
            return tuple(map(dtype_name, attributes[name].list.type[:MOST_OUTPUTS]))
    names = [name for name in ("Tout", "dtype", "T") if name in attributes]
    dtype = dtype_name(attributes[names[0]].type) if names else ""
    if "_output_shapes" not in attributes:
        return (dtype,) if dtype else ()
    outputs = len(attributes["_output_shapes"].list.shape)
    return (dtype,) if outputs == 1 else ("",) * min(outputs, MOST_OUTPUTS)
