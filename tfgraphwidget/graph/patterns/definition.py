"""Pattern: the statements of a pattern, checked to mean something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tfgraphwidget.graph.patterns.printing import print_value
from tfgraphwidget.graph.patterns.structure import (
    ANY_TYPE,
    MOST_NODES,
    RESERVED,
    Alternatives,
    Constant,
    Node,
    Value,
    Variable,
    Wildcard,
    children,
    invalid,
    walk,
)


@dataclass(frozen=True)
class Pattern:
    """A structure to be found in graphs: what `tgw.pattern` returns.

    Two patterns are equal if their texts are. The text is what `print` shows and what files of
    edits hold.

    >>> import tfgraphwidget as tgw
    >>> pattern = tgw.pattern("Relu( BiasAdd(Conv2D(x, w=Const, padding = 'SAME'), b=Const) )")
    >>> print(pattern)
    Relu(BiasAdd(Conv2D(x, w=Const, padding='SAME'), b=Const))
    >>> pattern.names
    ('x', 'w', 'b')
    """

    statements: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def definitions(self) -> dict[str, Value]:
        """What a name represents, but for tensors that may be any."""
        return {
            value.name: value
            for value in walk(*self.statements)
            if value.name and not isinstance(value, Variable)
        }

    def resolve(self, value: Value) -> Value:
        """What is defined under the name of a variable; the value itself for others."""
        return self.definitions.get(value.name, value) if isinstance(value, Variable) else value

    @cached_property
    def bottom_up(self) -> tuple[Value, ...]:
        """Every value, definitions in place of their names, after those that it is made of."""
        order: dict[int, Value] = {}
        stack = [(self.resolve(statement), False) for statement in reversed(self.statements)]
        while stack:
            value, is_next = stack.pop()
            if is_next:
                order.setdefault(id(value), value)
            elif id(value) not in order:
                stack.append((value, True))
                stack += [(self.resolve(child), False) for child in children(value)]
        return tuple(order.values())

    @cached_property
    def outputs(self) -> tuple[Value, ...]:
        """The statements that are outputs, in their order."""
        used = {value.name for value in walk(*self.statements) if isinstance(value, Variable)}
        outputs = []
        for statement in self.statements:
            if isinstance(statement, Variable):
                is_output = statement.name in self.definitions
            else:
                is_output = not statement.name or statement.name not in used
            if is_output:
                outputs.append(statement)
        return tuple(outputs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tensors that a replacement is called on: those that may be any, and constants and
        variables with a name.

        They are in the order in which they are written.
        """
        names: dict[str, None] = {}
        for value in walk(*self.statements):
            target = self.resolve(value)
            if isinstance(target, Node):
                is_source = target.is_source
            else:
                is_source = isinstance(target, Variable | Constant)
            is_output = not isinstance(target, Variable) and target in self.outputs
            if is_source and target.name and not is_output:
                names[target.name] = None
        return tuple(names)

    @property
    def wildcards(self) -> frozenset[str]:
        """The names of attributes and dtypes: `$padding`."""
        conditions: list[object] = []
        for value in walk(*self.statements):
            if isinstance(value, Node):
                conditions += [attribute for _, attribute in value.attributes]
            if not isinstance(value, Alternatives):
                conditions.append(value.tensor_type.dtype)
        return frozenset(each.name for each in conditions if isinstance(each, Wildcard))

    @property
    def text(self) -> str:
        """The pattern as text; one that holds a Python function has none that could be parsed."""
        return "; ".join(map(print_value, self.statements))

    @property
    def has_text(self) -> bool:
        """Whether `parse(pattern.text)` is this pattern again: it holds no Python function."""
        nodes = (value for value in walk(*self.statements) if isinstance(value, Node))
        return not any(callable(attribute) for node in nodes for _, attribute in node.attributes)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Pattern: {self.text}>"


def _check(pattern: Pattern) -> None:
    """Raise for a pattern that means nothing, or everything."""
    values = list(walk(*pattern.statements))
    if len(values) > MOST_NODES:
        raise invalid(
            f"A pattern has at most {MOST_NODES} ops and tensors, and this one {len(values):,}; "
            "shorten it."
        )
    _check_names(pattern, values)
    if not any(_is_definite(value) for value in values):
        raise invalid("This pattern matches everything; name an op type: 'Relu(x)'.")
    if not pattern.outputs:
        raise invalid(
            "This pattern has no output; name an op type that no other one reads: 'Relu(x)'."
        )
    if not _is_connected(pattern):
        raise invalid(
            "The pattern is not connected: its outputs share no op and no tensor; write one "
            "pattern for each, or name what they share: 'Relu(x); Tanh(x)'."
        )


def _is_definite(value: Value) -> bool:
    return isinstance(value, Constant) or (isinstance(value, Node) and ANY_TYPE not in value.types)


def _check_names(pattern: Pattern, values: list[Value]) -> None:
    defined: set[str] = set()
    for value in values:
        if value.name in RESERVED:
            raise invalid(
                f"{value.name!r} is a property of every match; give the tensor another name."
            )
        if value.name and not isinstance(value, Variable):
            if value.name in defined:
                raise invalid(
                    f"{value.name!r} names two ops; define it once, and write {value.name} at the "
                    "other place."
                )
            defined.add(value.name)
    for name in pattern.definitions:
        _check_not_recursive(pattern, name)
    for value in values:
        if not isinstance(value, Variable) or not value.port:
            continue
        if not isinstance(pattern.resolve(value), Node):
            raise invalid(
                f"'{value.name}:{value.port}' is an output of an op, and no op is named "
                f"{value.name!r}."
            )


def _check_not_recursive(pattern: Pattern, name: str) -> None:
    visited, stack = set(), list(children(pattern.definitions[name]))
    while stack:
        value = pattern.resolve(stack.pop())
        if value.name == name and name in pattern.definitions:
            raise invalid(f"{name!r} is defined by itself; a pattern has no cycles.")
        if not value.name or value.name not in visited:
            visited.add(value.name)
            stack += children(value)


def names_of(pattern: Pattern, value: Value) -> set[str]:
    """The names that `value` of `pattern` has in any case: those that all alternatives have."""
    names: dict[int, set[str]] = {}
    for each in pattern.bottom_up:
        parts = [names[id(pattern.resolve(child))] for child in children(each)]
        if isinstance(each, Alternatives):
            common = set.intersection(*parts)
        else:
            common = set[str]().union(*parts)
        names[id(each)] = common | {each.name} - {""}
    return names[id(pattern.resolve(value))]


def _is_connected(pattern: Pattern) -> bool:
    parts = [names_of(pattern, output) for output in pattern.outputs]
    reached, rest = set(parts[0]), parts[1:]
    while rest:
        near = [names for names in rest if names & reached]
        if not near:
            return False
        reached.update(*near)
        rest = [names for names in rest if not names & reached]
    return True
