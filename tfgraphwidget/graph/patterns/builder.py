"""Patterns built in Python: `@tgw.pattern` calls a function once, with names of op types and of
tensors.

Nothing is traced and nothing runs: `op.Relu(x)` is a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np

from tfgraphwidget.argument_checks import names_its_call, value_text
from tfgraphwidget.errors import GraphEditError, kind_and_reason
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.likeness import pattern_of
from tfgraphwidget.graph.patterns.structure import (
    ANY,
    DEEPEST,
    Alternatives,
    AnyOf,
    Attribute,
    Constant,
    Literal,
    Node,
    TensorType,
    Value,
    Variable,
    invalid,
)
from tfgraphwidget.graph.patterns.text import parse, parse_statements
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.tensors import parse_shape, shape_pattern


@names_its_call
def pattern(of: str | Callable[..., object] | Pattern | Selection) -> Pattern:
    """Make a pattern, a structure of ops that `editor.match` finds and `editor.replace_all`
    replaces.

    As text, an op is its type and its inputs: "BiasAdd(Conv2D(x, w=Const, padding='SAME'),
    b=Const)". Words in small letters are tensors; `name=` names an input, and gives an attribute if
    a value follows. Numbers are constants. `Mul|RealDiv(x, y)` is one of two types, `(Relu(x) |
    Tanh(x))` one of two structures, `_` any tensor, `*(x)` any op without state, `...` any further
    inputs, `^NoOp` a control input. `x: float32[?x4]` gives dtype and shape, `padding=$p` names an
    attribute, and `alpha>0.1`, `padding={'SAME', 'VALID'}` and `name=/regex/` are conditions.
    `Split(a, x):1` is the second output of an op. `;` separates several outputs.

    As a function, the first parameter makes ops (`op.Mul(x, 0.5)`; `op.any("Mul|RealDiv", x, y)`,
    `op.const(0.5)`, `op.variable()`, `op.either(a, b)`), and the others are tensors. The function
    is called once, with symbols.

    Args:
        of: The text, the function, or a Selection: the pattern is then what its ops are like.

    Returns:
        The pattern; `print` shows its text.

    Raises:
        InvalidArgument: The text cannot be read, the pattern is not connected, or it matches
            everything.

    Example:
        >>> import tfgraphwidget as tgw
        >>> @tgw.pattern
        ... def gelu(op, x):
        ...     erf = op.Erf(op.any("Mul|RealDiv", x, op.const()))
        ...     return op.Mul(op.Mul(x, 0.5), op.AddV2(erf, 1.0))
        >>> print(gelu)
        Mul(Mul(x, 0.5), AddV2(Erf(Mul|RealDiv(x, Const)), 1.0))
    """
    if isinstance(of, Pattern):
        return of
    if isinstance(of, str):
        return parse(of)
    if isinstance(of, Selection):
        return pattern_of(of)
    if not callable(of):
        raise invalid(
            f"{value_text(of)} is not a pattern; write text, 'Relu(Conv2D(x, w))', or a function "
            "of op and x."
        )
    return _build(of)


@dataclass(frozen=True, eq=False)
class Expression:
    """A value while a pattern is built; `expression[1]` is the second output of an op."""

    make: Callable[[_Names], Value]
    parts: tuple[Expression, ...] = ()
    port: int = 0
    condition: TensorType = ANY
    name: str = ""
    base: Expression | None = field(default=None, repr=False)
    depth: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts), default=-1)
        if depth > DEEPEST:
            raise invalid(
                f"A pattern has at most {DEEPEST} ops that read each other in a row; build a "
                "shorter one."
            )
        object.__setattr__(self, "depth", depth)

    def __getitem__(self, port: int) -> Expression:
        """Another output of the same op."""
        return replace(self, port=port, base=self.base or self)

    def __iter__(self) -> NoReturn:
        raise invalid(
            "A value of a pattern has no known number of outputs; write value[0] and value[1]."
        )

    def constrain(self, dtype: object = "", shape: object = "*") -> Expression:
        """The same value, which must have a dtype and a shape, as the query of `editor.find` writes
        it.
        """
        pattern_of_shape = parse_shape(shape) if isinstance(shape, str) else shape_pattern(shape)
        return replace(
            self,
            condition=TensorType(str(getattr(dtype, "name", dtype)), pattern_of_shape),
            base=self.base or self,
        )

    @property
    def op(self) -> Expression:
        """What is the same for all outputs of one op."""
        return self.base or self


@dataclass(frozen=True)
class _Names:
    """The names of a pattern while it is written.

    Attributes:
        shared: Names for the ops that are used more than once.
        written: The names of the ops that were written before, to which a reference is enough.
    """

    shared: Mapping[Expression, str]
    written: dict[Expression, str] = field(default_factory=dict)


class OpMaker:
    """Makes the ops of a pattern: `op.Relu(x)`."""

    def __getattr__(self, kind: str) -> Callable[..., Expression]:
        if kind[:2] == "__":
            raise AttributeError(kind)
        return lambda *inputs, **options: _node((kind,), inputs, options)

    def any(self, types: str, *inputs: object, **options: object) -> Expression:
        """An op of one of several types.

        Args:
            types: The op types: "Mul|RealDiv", or "*" for any.
            inputs: What it reads, in order.
            options: Its attributes, and `name`, `controls`, as for `op.X`.
        """
        return _node(tuple(kind.strip() for kind in types.split("|")), inputs, options)

    def const(
        self, value: object = None, tolerance: float | None = None, name: str = ""
    ) -> Expression:
        """A constant, of a value or of any.

        Args:
            value: The value; None for any.
            tolerance: How far it may differ, as a part of the value; absolutely, if that is 0. None
                for what rounding makes.
            name: What the match calls it.
        """
        if value is None:
            return Expression(lambda _: Node(("Const",), name=name), name=name)
        constant = Constant(_literal(value), tolerance, name)
        return Expression(lambda _: constant, name=name)

    def variable(self, name: str = "") -> Expression:
        """The op that holds a variable, whose tensor is called `name`."""
        return Expression(lambda _: Node(("Variable",), name=name), name=name)

    def either(self, *choices: object) -> Expression:
        """One of several values, the first of `choices` that fits."""
        parts = tuple(_expression(choice) for choice in choices)
        return Expression(
            lambda names: Alternatives(tuple(_value(part, names) for part in parts)), parts
        )


def _node(
    types: tuple[str, ...], inputs: tuple[object, ...], options: dict[str, Any]
) -> Expression:
    controls = options.pop("control_inputs", ())
    name = options.pop("name", "")
    named = {key: each for key, each in options.items() if isinstance(each, Expression)}
    attributes = tuple((key, _attribute(each)) for key, each in options.items() if key not in named)
    reads = [each if isinstance(each, EllipsisType) else _expression(each) for each in inputs]
    reads += [replace(each, name=key, base=each.base or each) for key, each in named.items()]
    if isinstance(controls, Expression):
        controls = [controls]
    waits = tuple(map(_expression, controls))
    parts = (*(each for each in reads if isinstance(each, Expression)), *waits)

    def make(names: _Names) -> Value:
        values = tuple(
            each if isinstance(each, EllipsisType) else _value(each, names) for each in reads
        )
        has_any_inputs = values == (...,) or (types == ("Const",) and not values)
        return Node(
            types,
            inputs=None if has_any_inputs else values,
            attributes=attributes,
            controls=tuple(_value(each, names) for each in waits),
        )

    return Expression(make, parts, name=name)


def _value(expression: Expression, names: _Names) -> Value:
    """The value of an expression; a reference if it was written before."""
    name = expression.name or names.shared.get(expression.op, "")
    if expression.op in names.written:
        return Variable(names.written[expression.op], expression.condition, expression.port)
    value = expression.make(names)
    if isinstance(value, Variable):
        return replace(value, tensor_type=expression.condition)
    if name:
        names.written[expression.op] = name
        value = replace(value, name=name)
    if isinstance(value, Node):
        return replace(value, port=expression.port, tensor_type=expression.condition)
    if isinstance(value, Constant):
        return replace(value, tensor_type=expression.condition)
    return value


def _expression(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    if callable(value):
        raise invalid(f"{value_text(value)} is not a value of a pattern; call it: op.Relu(x).")
    constant = Constant(_literal(value))
    return Expression(lambda _: constant)


def _literal(value: object) -> Literal:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(_literal, value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool | int | float | str):
        return value
    raise invalid(
        f"{value_text(value)} is not a value of a pattern; write a number, a text, or op.Relu(x)."
    )


def _attribute(value: Any) -> Attribute:
    if isinstance(value, set | frozenset):
        return AnyOf(tuple(sorted(map(_literal, value), key=repr)))
    if hasattr(value, "as_numpy_dtype"):
        return str(value.name)
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value).name
    if isinstance(value, str) and value[:1] == "$":
        node = parse_statements(f"Op(a={value})")[0]
        return node.attributes[0][1] if isinstance(node, Node) else value
    return value if callable(value) else _literal(value)


def _build(function: Callable[..., object]) -> Pattern:
    """The pattern of a builder."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    if not parameters:
        raise invalid(
            "A builder of a pattern takes op, then the tensors: def block(op, x): return "
            "op.Relu(x)."
        )
    arguments = {name: _parameter(name) for name in parameters[1:]}
    try:
        result = function(OpMaker(), *arguments.values())
    except (TypeError, AttributeError) as error:
        raise invalid(
            f"{getattr(function, '__name__', 'The builder')} raised {kind_and_reason(error)}; the "
            "tensors of a pattern are symbols, so write op.Mul(x, y) in place of x * y."
        ) from error
    except GraphEditError:
        raise
    except Exception as error:  # whatever the person's function raises
        name = getattr(function, "__name__", "The builder")
        raise invalid(f"{name} raised {kind_and_reason(error)}; let it return ops.") from error
    returned = result if isinstance(result, tuple | list) else [result]
    results = [_expression(each) for each in returned]
    names = _Names(_shared_names(results, set(arguments)))
    statements = [_value(each, names) for each in results]
    built = Pattern(tuple(statements))
    order = [name for name in arguments if name in built.names]
    if order == [name for name in built.names if name in arguments]:
        return built
    return Pattern((*(Variable(name) for name in order), *statements))


def _parameter(name: str) -> Expression:
    return Expression(lambda _: Variable(name))


def _shared_names(results: Iterable[Expression], used_names: set[str]) -> dict[Expression, str]:
    """Names for the ops that are used more than once."""
    uses: dict[Expression, int] = {}
    first_uses: list[Expression] = []
    stack = list(results)[::-1]
    while stack:
        each = stack.pop()
        uses[each.op] = uses.get(each.op, 0) + 1
        if uses[each.op] == 1:
            first_uses.append(each)
            stack += each.parts[::-1]
        used_names.add(each.name)
    names: dict[Expression, str] = {}
    for each in first_uses:
        if uses[each.op] > 1 and not each.name and each.parts:
            number = len(names)
            while (name := f"h{number or ''}") in used_names:
                number += 1
            used_names.add(name)
            names[each.op] = name
    return names
