"""What takes the place of a match, as text: "x", or "LeakyRelu(BiasAdd(x, b), alpha=0.2)"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Any, TypeVar

from tfgraphwidget.graph.patterns.printing import print_value
from tfgraphwidget.graph.patterns.structure import (
    ANY,
    ANY_TYPE,
    GROUPS,
    Constant,
    Node,
    Value,
    Variable,
    Wildcard,
    invalid,
    walk,
)
from tfgraphwidget.graph.patterns.text import parse_statements
from tfgraphwidget.naming import did_you_mean, names_text

_Tensor = TypeVar("_Tensor")


@dataclass(frozen=True)
class Replacement:
    """Ops to be made of the tensors that a pattern names.

    Attributes:
        statements: What is made; each that no other one uses is an output.
        names: The tensors that it is called on, in order.
        attributes: The attributes that a pattern names, as (name, value).
    """

    statements: tuple[Value, ...]
    names: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        for value in walk(*self.statements):
            _check_value(value)

    @property
    def __name__(self) -> str:
        """What messages call it."""
        return str(self)

    def __str__(self) -> str:
        return "; ".join(map(print_value, self.statements))

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The statements that are outputs."""
        operands = set[str]()
        for statement in self.statements:
            _, *parts = walk(statement)
            operands.update(part.name for part in parts if isinstance(part, Variable))
        return tuple(
            each
            for each in self.statements
            if isinstance(each, Variable) or not each.name or each.name not in operands
        )

    @property
    def is_passing(self) -> bool:
        """Whether all outputs are tensors that it is called on: nothing is made."""
        return all(
            isinstance(each, Variable) and each.name in self.names for each in self.statements
        )

    def with_attributes(self, attributes: Mapping[str, object]) -> Replacement:
        """The same for a match at which the pattern's `$name` have the values `attributes`.

        Others than it uses are left out.
        """
        used = set[str]()
        for value in walk(*self.statements):
            if isinstance(value, Node):
                wildcards = (each for _, each in value.attributes if isinstance(each, Wildcard))
                used.update(wildcard.name for wildcard in wildcards)
        return replace(self, attributes=tuple((name, attributes[name]) for name in sorted(used)))

    def check(self, names: Iterable[str], attributes: Iterable[str]) -> None:
        """Raise InvalidArgument for a tensor not in `names`, an attribute not in `attributes`."""
        tensors, attribute_names = set(names), set(attributes)
        values = list(walk(*self.statements))
        own = {value.name for value in values if not isinstance(value, Variable)}
        for value in values:
            if isinstance(value, Variable) and value.name not in tensors | own:
                has = f"it names {names_text(sorted(tensors))}" if tensors else "it names no tensor"
                raise invalid(
                    f"The pattern has no tensor {value.name or '_'!r}; "
                    f"{has}{did_you_mean(value.name, tensors)}"
                )
            for _, attribute in value.attributes if isinstance(value, Node) else ():
                if isinstance(attribute, Wildcard) and attribute.name not in attribute_names:
                    raise invalid(
                        f"The pattern names no attribute ${attribute.name}; write "
                        f"padding=${attribute.name} in it."
                    )

    def make(
        self,
        tensors: Sequence[_Tensor],
        call: Callable[[str, list[_Tensor | Constant], dict[str, object]], _Tensor | list[_Tensor]],
        constant: Callable[[Constant], _Tensor],
    ) -> list[_Tensor]:
        """Make the ops, and return the outputs.

        Args:
            tensors: What it is called on, in the order of `names`.
            call: Makes an op: its type, its inputs, its attributes by name. Returns its outputs.
            constant: Makes a constant that is an output.
        """
        tensors_by_name: dict[str, _Tensor | list[_Tensor]] = dict(
            zip(self.names, tensors, strict=True)
        )
        values = dict(self.attributes)

        def outputs_of(value: Value) -> _Tensor | list[_Tensor]:
            if isinstance(value, Variable):
                return tensors_by_name[value.name]
            assert isinstance(value, Node)
            if value.inputs is None:
                inputs: Iterable[Value | EllipsisType] = map(Variable, self.names)
            else:
                inputs = value.inputs
            arguments: list[_Tensor | Constant] = []
            for each in inputs:
                if isinstance(each, Constant):
                    arguments.append(each)
                elif not isinstance(each, EllipsisType):
                    arguments.append(tensor_of(each))
            attributes = {
                name: values[each.name] if isinstance(each, Wildcard) else each
                for name, each in value.attributes
            }
            result = call(value.types[0], arguments, attributes)
            if value.name:
                tensors_by_name[value.name] = result
            return result

        def tensor_of(value: Value) -> _Tensor:
            if isinstance(value, Constant):
                return constant(value)
            result = outputs_of(value)
            port = value.port if isinstance(value, Variable | Node) else 0
            return result[port] if isinstance(result, list) else result

        results = {id(statement): tensor_of(statement) for statement in self.statements}
        return [results[id(output)] for output in self.outputs]


def parse_replacement(text: str, names: Sequence[str], attributes: Iterable[str]) -> Replacement:
    """Parse a replacement; an op type alone is called on all tensors that the pattern names. Raises
    InvalidArgument for a text that cannot be read, or names what the pattern does not.
    """
    new = Replacement(parse_statements(text), tuple(names))
    new.check(names, attributes)
    return new


def _check_value(value: Value) -> None:
    if isinstance(value, Variable | Constant):
        if value.tensor_type != ANY:
            raise invalid(
                "A replacement has no conditions; leave out the dtype or shape of "
                f"{print_value(value)!r}."
            )
        return
    what = print_value(value)
    types = value.types if isinstance(value, Node) else ()
    if not isinstance(value, Node) or len(types) != 1 or types[0] in (ANY_TYPE, *GROUPS):
        raise invalid(
            f"A replacement is made, so {what!r} must be one op type; write it: 'Relu(x)'."
        )
    has_any_inputs = value.inputs is not None and ... in value.inputs
    if has_any_inputs or value.controls or value.tensor_type != ANY:
        raise invalid(
            f"A replacement is made, so {what!r} cannot have '...', '^' or a dtype; write its "
            "inputs."
        )
    for name, attribute in value.attributes:
        if not isinstance(attribute, bool | int | float | str | tuple | Wildcard):
            raise invalid(
                f"A replacement is made, so {name!r} of {what!r} must be one value, or ${name} of "
                "the pattern."
            )
