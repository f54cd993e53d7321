"""The pattern of some ops: what "find more like this" looks for."""

from __future__ import annotations

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import CONSTANTS, HANDLES, REQUIRED_PLACEHOLDERS
from tfgraphwidget.graph.patterns.candidates import plain_value
from tfgraphwidget.graph.patterns.constants import constant_value
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.match import Tensor
from tfgraphwidget.graph.patterns.seen_through import SEEN_THROUGH, seen_through
from tfgraphwidget.graph.patterns.structure import (
    GROUPS,
    MOST_NODES,
    Attribute,
    Constant,
    Node,
    Value,
    Variable,
    invalid,
)
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.traversal import topological_rank

_SOURCES = CONSTANTS | HANDLES | REQUIRED_PLACEHOLDERS
_LETTERS = ("x", "y", "z")
_DEEPEST = 40  # parentheses inside each other


def pattern_of(selection: Selection) -> Pattern:
    """The pattern that some ops are a match of.

    Their types, edges and those attributes that are not at their defaults are in it. Scalar
    constants are in it by value, others as any constant; tensors from outside are any, and
    variables any variable or constant. Dtypes, shapes, names and devices are left out, Identity ops
    and reads of variables too.

    Raises:
        InvalidArgument: There are no ops that compute something, too many, or they are not
            connected.
    """
    return _Likeness(selection).pattern()


class _Likeness:
    def __init__(self, selection: Selection) -> None:
        self.index = index = selection.index
        self.through = seen_through(index)
        ids = selection.ids
        self.ops = [op for op in sorted(ids) if index.types[op] not in SEEN_THROUGH | _SOURCES]
        if not self.ops:
            raise invalid(
                "The selection holds no op that computes something of others; select some."
            )
        if len(self.ops) > MOST_NODES:
            raise invalid(
                f"A pattern has at most {MOST_NODES} ops, and the selection holds "
                f"{len(self.ops):,}; select fewer."
            )
        self.inside = set(self.ops)
        self.consumers: dict[int, int] = {}
        for op in self.ops:
            for source, _ in self.inputs(op):
                self.consumers[source] = self.consumers.get(source, 0) + 1
        self.names: dict[Tensor, str] = {}
        self.written: set[int] = set()
        self.definitions = self.deep_ops()

    def inputs(self, op: int) -> list[Tensor]:
        """What an op reads through Identity ops and reads."""
        tensors = []
        for source, port in self.index.input_tensors(op):
            if self.through.mask[source] and port == 0:
                tensors.append((int(self.through.op[source]), int(self.through.port[source])))
            else:
                tensors.append((source, port))
        return tensors

    def deep_ops(self) -> dict[int, None]:
        """The ops that get a statement of their own, so that parentheses nest little."""
        deep: dict[int, None] = {}
        depths: dict[int, int] = {}
        rank = topological_rank(self.index)
        for op in sorted(self.ops, key=rank.__getitem__):
            below = [depths.get(source, 0) for source, _ in self.inputs(op)]
            depths[op] = 1 + max(below, default=0)
            if depths[op] == _DEEPEST and self.consumers.get(op):
                deep[op] = None
                depths[op] = 0
        return deep

    def pattern(self) -> Pattern:
        outputs = [op for op in self.ops if not self.consumers.get(op)]
        statements = [*self.definitions, *outputs]
        return Pattern(tuple(self.node(op, 0, is_statement=True) for op in statements))

    def node(self, op: int, port: int, *, is_statement: bool = False) -> Value:
        """The value of an op inside; at its second place the name that it got at the first."""
        is_definition = op in self.definitions
        name = ""
        if is_definition or self.consumers.get(op, 0) > 1:
            name = self.name((op, 0), "h")
        if op in self.written or (is_definition and not is_statement):
            return Variable(name, port=port)
        self.written.add(op)
        values = tuple(self.value(tensor) for tensor in self.inputs(op))
        attributes = attributes_of(self.index, op)
        return Node((self.index.types[op],), values, attributes, name=name, port=port)

    def value(self, tensor: Tensor) -> Value:
        op, port = tensor
        kind = self.index.types[op]
        if op in self.inside:
            return self.node(op, port)
        if kind in CONSTANTS:
            array = constant_value(self.index, op)
            if array is not None and array.shape == () and array.dtype.kind in "biuf":
                return Constant(array.item())
            return Node(("Const",))
        if kind in HANDLES:
            return Node(tuple(GROUPS))
        return Variable(self.name(tensor, ""))

    def name(self, tensor: Tensor, letter: str) -> str:
        """A name for a tensor: x, y, z, x3, … of those from outside; h, h1, … of those inside."""
        if tensor not in self.names:
            number = sum((name[0] == "h") == bool(letter) for name in self.names.values())
            first = letter or (_LETTERS[number] if number < len(_LETTERS) else "x")
            is_numbered = number >= (1 if letter else len(_LETTERS))
            self.names[tensor] = f"{first}{number if is_numbered else ''}"
        return self.names[tensor]


def attributes_of(index: GraphIndex, op: int) -> tuple[tuple[str, Attribute], ...]:
    """The attributes of an op of `index` that say what it computes, but for defaults."""
    node = index.nodes[op]
    definition = index.typing.definition(node.op)
    if definition is None:
        return ()
    attributes: list[tuple[str, Attribute]] = []
    left_out = _NAMES.union(arg.number_attr for arg in definition.input_arg)
    for attr in definition.attr:
        if attr.name not in node.attr or attr.name in left_out:
            continue
        if attr.type.removeprefix("list(").removesuffix(")") not in _PLAIN_TYPES:
            continue
        value = plain_value(node.attr[attr.name])
        if attr.HasField("default_value") and plain_value(attr.default_value) == value:
            continue
        literal = _literal(value)
        if literal is not None:
            attributes.append((attr.name, literal))
    return tuple(attributes)


_PLAIN_TYPES = ("string", "int", "float", "bool")
_NAMES = frozenset(
    {"shared_name", "container", "frame_name", "seed", "seed2", "stack_name", "tensor_array_name"}
)


def _literal(value: object) -> Attribute | None:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, tuple):
        items = tuple(_literal(each) for each in value)
        return None if None in items else items  # type: ignore[return-value]
    return value if isinstance(value, bool | int | str) else None
