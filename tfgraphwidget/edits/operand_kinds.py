"""Operand kinds: what a field of a command takes from a user, and how it becomes the value that the
command holds.

The annotation of a field says its kind, `old: kinds.Tensors`. From the kinds follow the parameters
of the editor's method and their documentation, the names that represent ops and tensors, the line
of code, what JSON may hold, and the fields of the page's form. A field whose annotation names no
kind takes a plain value: a number, a text, a choice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.graph import GraphIndex, Selection, Signature
from tfgraphwidget.sentences import argument_value, in_cell
from tfgraphwidget.tf_types import (
    GraphLike,
    OpLike,
    OpsLike,
    Session,
    TensorKey,
    TensorsLike,
    TensorSpec,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PartNames: TypeAlias = str | tuple[str, ...] | Selection
"""An op or a name scope, several of them, or a selection."""


class Resolver(Protocol):
    """Turns what a user gives for ops, tensors and scopes into names of the current graph.

    Each method raises UnknownName for what is not in that graph.
    """

    @property
    def index(self) -> GraphIndex:
        """The current graph."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the current graph."""

    def name(self, argument: OpLike) -> str:
        """The name of one op or tensor that an `argument` says."""

    def op(self, argument: OpLike) -> str:
        """The name of one op that an `argument` says."""

    def ops(self, argument: OpsLike) -> tuple[str, ...]:
        """The names of ops that an `argument` says."""

    def names(self, argument: OpsLike) -> tuple[str, ...]:
        """The names of ops and tensors that an `argument` says."""

    def tensor(self, argument: OpLike) -> str:
        """The name of one tensor that an `argument` says; an op represents its only one."""

    def output(self, argument: OpsLike) -> str:
        """The name of a tensor that an `argument` says, or of an op's or scope's only output."""

    def endpoints(self, argument: TensorsLike) -> str | tuple[str, ...]:
        """Names of tensors, ops, scopes and control edges in an `argument`: one or several."""

    def part(self, argument: OpsLike, *, ops: bool = False) -> Any:
        """A tensor, op, scope or selection of an `argument`; with `ops` a tensor means its op."""

    def consumers(self, argument: OpsLike) -> tuple[str, ...] | Selection:
        """Ops and name scopes that an `argument` says by name, or a selection."""

    def outputs(self, argument: OpsLike | None, *, use_selection: bool = True) -> tuple[str, ...]:
        """The outputs that an `argument` says; for None the marked or selected, or likely ones."""

    def has_outputs(self) -> bool:
        """Whether outputs are marked, or the graph seems to have some."""

    def has_training(self) -> bool:
        """Whether something in the graph serves training alone."""

    def marked_ops(self) -> tuple[str, ...]:
        """The ops of the marked boundary."""

    def is_function(self, argument: object, *, new: bool = False) -> bool:
        """Whether what an `argument` says is a Python function or an op type, rather than ops of
        the graph.

        Args:
            new: Whether new ops are asked for, whatever the graph has by that name.
        """

    def replacement(self, argument: Any) -> Selection | tuple[str, ...]:
        """The ops that an `argument` says to replace others."""

    def ops_of(self, argument: OpsLike) -> tuple[str, ...]:
        """The ops of a part that an `argument` says, by name."""

    def variable_handles(self, argument: Iterable[OpsLike]) -> tuple[str, ...]:
        """The handle ops of variables that an `argument` says."""

    def free_name_for(
        self, function: object, beside: Iterable[str], *, instead: bool = False
    ) -> str:
        """A free name for what a `function` or op type makes `beside` ops, or `instead`."""

    def name_for_growth(self, function: object, tensors: tuple[str, ...]) -> str:
        """A free name scope for what a `function` makes of `tensors`."""

    def free_scope(self, wanted: str) -> str:
        """A name scope that is not taken: the `wanted` one, or with a number."""

    def has_gradient_ops(self, part: str | Selection) -> bool:
        """Whether gradient ops of a `part` can be distinguished from other ops."""

    def signature_boundary(
        self, name: str, inputs: object, outputs: object
    ) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
        """The inputs and outputs of a new signature by their keys.

        Args:
            inputs: Its inputs; None for those that the outputs need.
            outputs: Its outputs; None for those that are marked or apparent.
        """

    def field_value(self, argument: object) -> Any:
        """What an `argument` says as commands hold it: tuples and names of ops, tensors, dtypes."""

    def plain_value(self, argument: object) -> Any:
        """What an `argument` says without TensorFlow's classes: a dtype's name, a tuple."""

    def tensor_spec(self, argument: TensorSpec) -> Any:
        """A tf.TensorSpec that an `argument` says, as its shape and dtype."""

    def shape_and_dtype(self, spec: object, shape: object, dtype: object) -> tuple[Any, str]:
        """The static shape and dtype that a placeholder takes: a tf.TensorSpec's, else these."""

    def part_to_clone(
        self, inputs: OpsLike | None, outputs: OpsLike | None
    ) -> tuple[Selection | None, tuple[str, ...], tuple[str, ...]]:
        """The part that a clone copies: a selection, or the names of its `inputs` and `outputs`."""

    def other_graph(self, graph: GraphLike | None, session: Session | None) -> GraphLike | None:
        """The other `graph` that copies go into, or None; it may have a `session`."""

    def scope_for_copies(self, times: int | None, devices: tuple[str, ...]) -> str:
        """A free name scope for a copy, or for several: `times`, or one per `devices`."""

    def modes(self, argument: object) -> Any:
        """Whether state is copied or shared, as an `argument` says, by variable or scope."""

    def initial_values(self, argument: object) -> Any:
        """What new variables hold, as an `argument` says, by the name of the variable."""

    def connections(self, argument: Mapping[TensorKey, TensorsLike]) -> tuple[tuple[str, str], ...]:
        """Tensors of an added source, with those of the graph that take their place."""


NOT_SET: object = object()
"""The default of a parameter which is that of the field."""


@dataclasses.dataclass(frozen=True)
class Operand:
    """What a field of a command takes, and how it is written.

    Attributes:
        accepts: The annotation of the method's parameter; "" for that of the field.
        resolve: Makes the field's value of what was given; None where that is the value itself.
        default: The default of the parameter, where it is not that of the field.
        meaning: What the parameter takes in words, for a refusal.
        is_dict: Whether the field's tuple of pairs is written as a dict.
        is_positional: Whether the field's items are the positional arguments of the call.
        is_function: Whether a Python function is written by its name.
        external: The name by which code refers to what no code can hold, such as a graph; "" for a
            field that it can.
        is_required: Whether code has the field though it is at its default.
        required_without: The field without which code has this one though it is at its default; ""
            for none.
        is_derived: Whether the command finds the value itself, so that the method has no such
            parameter.
        none_text: How code writes a None of the field, since a None that is an argument means that
            nothing is given.
        form: What a form of the page asks for: names of tensors, op types and functions, names of
            signatures, the keys of one, or a device, whose field may be empty.
    """

    accepts: str = ""
    resolve: Callable[[Resolver, Any], object] | None = None
    default: object = NOT_SET
    meaning: str = ""
    is_dict: bool = False
    is_positional: bool = False
    is_function: bool = False
    external: str = ""
    is_required: bool = False
    required_without: str = ""
    is_derived: bool = False
    none_text: str = ""
    form: Literal["", "tensor", "op_type", "signature", "keys", "device"] = ""

    @property
    def is_reference(self) -> bool:
        """Whether the value may be one that text lacks: a Python function, a graph, a session."""
        return self.is_function or bool(self.external)


_PLAIN = Operand()


def texts(_: Resolver, argument: str | Iterable[str] | None) -> tuple[str, ...]:
    """One text, several, or none, as a tuple."""
    return (argument,) if isinstance(argument, str) else tuple(argument or ())


def _of_part(resolver: Resolver, argument: OpsLike) -> object:
    return resolver.part(argument, ops=True)


def _of_part_or_all(resolver: Resolver, argument: OpsLike | None) -> object:
    return () if argument is None else resolver.part(argument, ops=True)


def consumers_or_all(resolver: Resolver, argument: OpsLike | None) -> tuple[str, ...] | Selection:
    """The consumers that an edit may change: () for all, an empty selection for none."""
    return () if argument is None else resolver.consumers(argument) or resolver.part([])


def _names_or_all(resolver: Resolver, argument: TensorsLike | None) -> object:
    return () if argument is None else resolver.names(argument) or resolver.part([])


def _ops_to_keep(resolver: Resolver, argument: OpsLike | None) -> tuple[str, ...]:
    return resolver.marked_ops() if argument is None else resolver.ops(argument)


def _sources(resolver: Resolver, argument: TensorsLike) -> object:
    return (
        resolver.part(argument) if isinstance(argument, Selection) else resolver.endpoints(argument)
    )


def _tensor_pairs(
    resolver: Resolver, argument: Mapping[TensorKey, OpLike] | None
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (resolver.tensor(old), resolver.tensor(new)) for old, new in (argument or {}).items()
    )


def keys_in_order(
    _: Resolver, argument: str | Iterable[str] | Mapping[str, str] | None
) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
    """Keys as a tuple; of a dict, which gives them new ones, its pairs."""
    return tuple(argument.items()) if isinstance(argument, Mapping) else texts(_, argument)


def pairs_of_mapping(_: Resolver, argument: object) -> object:
    """The pairs of a dict; what is not a dict stays as it is."""
    return tuple(argument.items()) if isinstance(argument, Mapping) else argument


def as_given(_: Resolver, argument: object) -> object:
    """What was given, as it is."""
    return argument


def attribute_pairs(
    resolver: Resolver, *mappings: Mapping[str, object] | None
) -> tuple[tuple[str, object], ...]:
    """Attributes of an op type, or keyword arguments of a function, as commands hold them; a later
    mapping replaces those of an earlier one.
    """
    attributes = {key: value for mapping in mappings for key, value in (mapping or {}).items()}
    return tuple((key, resolver.plain_value(value)) for key, value in attributes.items())


def one_name(name: str | None, into: str | None) -> str:
    """The name of what a function makes; "" with a name scope. InvalidArgument for both."""
    if name is not None and into is not None:
        raise InvalidArgument(
            "name",
            argument_value("name", repr(name))
            + " is the whole name of the new op; "
            + in_cell(f"leave out into={into!r}."),
        )
    return name or ""


def _device(_: Resolver, argument: str | None) -> str:
    return argument or ""


OpName: TypeAlias = Annotated[str, Operand("OpLike", lambda r, argument: r.op(argument))]
"""One op."""
OpNames: TypeAlias = Annotated[
    tuple[str, ...], Operand("OpsLike", lambda r, argument: r.ops(argument), form="tensor")
]
"""Ops."""
TensorName: TypeAlias = Annotated[
    str, Operand("TensorLike", lambda r, argument: r.tensor(argument))
]
"""One tensor."""
Names: TypeAlias = Annotated[
    tuple[str, ...], Operand("TensorsLike", lambda r, argument: r.names(argument))
]
"""Ops and tensors."""
Tensors: TypeAlias = Annotated[
    str | tuple[str, ...], Operand("TensorsLike", lambda r, argument: r.endpoints(argument))
]
"""Tensors, ops for all their outputs, and "^op" for control edges: one, or several."""
Sources: TypeAlias = Annotated[str | tuple[str, ...] | Selection, Operand("TensorsLike", _sources)]
"""Tensors, or the outputs of a selection."""
Part: TypeAlias = Annotated[str | Selection, Operand("OpsLike", _of_part)]
"""An op, a name scope or a selection."""
PartOrTensor: TypeAlias = Annotated[
    str | Selection, Operand("OpsLike", lambda r, argument: r.part(argument))
]
"""A tensor, an op, a name scope or a selection."""
Ops: TypeAlias = Annotated[PartNames, Operand("OpsLike", _of_part)]
"""Ops: by name, a name scope, or a selection."""
PartOrAll: TypeAlias = Annotated[
    PartNames, Operand("OpsLike | None", _of_part_or_all, default=None)
]
"""Ops; None for all of the graph."""
Consumers: TypeAlias = Annotated[
    tuple[str, ...] | Selection, Operand("OpsLike", lambda r, argument: r.consumers(argument))
]
"""Ops whose inputs an edit may not change."""
ConsumersOrAll: TypeAlias = Annotated[
    tuple[str, ...] | Selection, Operand("OpsLike | None", consumers_or_all, default=None)
]
"""Ops whose inputs an edit may change; None for all."""
NamesOrAll: TypeAlias = Annotated[
    tuple[str, ...] | Selection, Operand("TensorsLike | None", _names_or_all, default=None)
]
"""Ops and tensors; None for all that the edit can take."""
Kept: TypeAlias = Annotated[PartNames, Operand("OpsLike | None", _ops_to_keep, default=None)]
"""Ops that a pass leaves alone; None for those of the marked boundary."""
Outputs: TypeAlias = Annotated[
    tuple[str, ...],
    Operand("OpsLike | None", lambda r, argument: r.outputs(argument), default=None),
]
"""Ops and tensors that are wanted of the graph; None for those that are marked, or that it seems to
have.
"""
Texts: TypeAlias = Annotated[tuple[str, ...], Operand("str | Iterable[str]", texts)]
"""Texts that name nothing of the graph yet: names of new ops, op types, keys."""
SignatureName: TypeAlias = Annotated[str, Operand(form="signature")]
"""The name of a signature."""
KeysInOrder: TypeAlias = Annotated[
    tuple[str, ...] | tuple[tuple[str, str], ...],
    Operand("str | Iterable[str] | Mapping[str, str]", keys_in_order, is_dict=True, form="keys"),
]
"""Keys of a signature in a new order, or pairs of a new key and the present one."""
Value: TypeAlias = Annotated[
    Any, Operand("object", lambda r, argument: r.plain_value(argument), is_required=True)
]
"""A value of a constant or an attribute."""
Device: TypeAlias = Annotated[str, Operand("str | None", _device, is_required=True, form="device")]
"""A device's name; None for TensorFlow's choice."""
Function: TypeAlias = Annotated[Any, Operand("object", is_function=True, form="op_type")]
"""A Python function, or an op type."""
TensorPairs: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    Operand("Mapping[TensorKey, TensorLike] | None", _tensor_pairs, default=None, is_dict=True),
]
"""Tensors by the tensor whose place they take."""
KeyedTensors: TypeAlias = Annotated[tuple[tuple[str, str], ...], Operand(is_dict=True)]
"""Tensors by the key that a signature has for them."""
Attributes: TypeAlias = Annotated[tuple[tuple[str, object], ...], Operand(is_dict=True)]
"""Attributes of an op type, or keyword arguments of a function."""


@cache
def operands_of(kind: type[DataclassInstance]) -> Mapping[str, Operand]:
    """The operand of each field of a command, by the name of the field."""
    hints = hints_of(kind)
    return {field.name: _operand(hints[field.name]) for field in dataclasses.fields(kind)}


def hints_of(kind: type[DataclassInstance]) -> Mapping[str, Any]:
    """The annotation of each field of a command, with its kind; Any where it has names that cannot
    be looked up, as a class may that a user has defined in a function.
    """
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:
        return {field.name: Any for field in dataclasses.fields(kind)}


def _operand(hint: object) -> Operand:
    """The operand that an annotation says."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, Operand)), _PLAIN)


def resolve_fields(
    kind: type[DataclassInstance], resolver: Resolver, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of a command's fields, of what a user gave for them."""
    operands = operands_of(kind)
    return {name: _resolve(operands[name], resolver, value) for name, value in arguments.items()}


def _resolve(operand: Operand, resolver: Resolver, value: object) -> object:
    """The value of a field; without a kind a list is a tuple, and an op or a dtype its name."""
    return (
        resolver.field_value(value) if operand.resolve is None else operand.resolve(resolver, value)
    )
