"""The rule about inputs that read a tensor of another dtype than their op takes.

As the others on what TensorFlow refuses it looks at graphs of files, with the functions of their
library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfgraphwidget.edits import Command, Connect
from tfgraphwidget.edits.rewire import CASTABLE, argument_count
from tfgraphwidget.edits.rewrite import Remove, SetAttr, input_specs
from tfgraphwidget.graph import GraphIndex, selectors
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import Body, LintContext, rule
from tfgraphwidget.lint.structure import MOST_FINDINGS, rest_of
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef


@rule("input-dtypes", "error")
def input_dtypes(context: LintContext) -> Iterator[Finding]:
    """Inputs that read a tensor of another dtype than the op takes by its type and attributes."""
    for body in context.bodies if context.is_file else ():
        wrong = _wrong_dtypes(body.index)
        settings = {op: _fitting_attribute(body.index, op, edges) for op, edges in wrong.items()}
        new_dtypes = {op: setting[1] for op, setting in settings.items() if setting is not None}
        rest: dict[int, list[_WrongDtype]] = {}
        for op, edges in wrong.items():
            # Once an op gives what its consumers take, nothing is wrong with these.
            remaining = [edge for edge in edges if new_dtypes.get(edge.source[0]) != edge.expected]
            if remaining:
                # One attribute sets the dtype of all inputs that are wrong.
                rest[op] = remaining[:1] if op in new_dtypes else remaining
        ops = list(rest)
        for op in ops[:MOST_FINDINGS]:
            for edge in rest[op]:
                yield _finding(context, body, op, edge, settings[op])
        yield from rest_of(body, "input-dtypes", ops, "read tensors of other dtypes than they take")


def _finding(
    context: LintContext, body: Body, op: int, edge: _WrongDtype, setting: tuple[str, str] | None
) -> Finding:
    """The finding on an input; `setting` is the attribute of its op that fixes it, if there is
    one.
    """
    index, node = body.index, body.index.nodes[op]
    source = f"{index.names[edge.source[0]]}:{edge.source[1]}"
    fix: Command | None = None
    call = either(f": editor.connect(tensor, {node.name!r}, {edge.k})", "")
    way = f"connect a tensor of {edge.expected}" + call
    if edge.dtype == edge.expected.removesuffix("_ref"):
        # What changes a variable reads a value, as of a frozen one.
        fix = Remove(selectors.ops(index, node.name))
        way = "connect a variable" + call + "; or remove it" + either(f": {fix.code()}", "")
    elif setting is not None:
        fix = SetAttr(node.name, *setting)
        way = f"let it take {setting[1]}" + either(f": {fix.code()}", "")
    elif edge.can_be_cast:
        fix = Connect((source,), node.name, edge.k, adapter="Cast")
        way = "cast it" + either(f": {fix.code()}", "") + "; or " + way
    return body.finding(
        "input-dtypes",
        "error",
        f"{node.op} {node.name!r}{body.where} reads {source!r}, which is {edge.dtype}, at input "
        f"{edge.k}, and takes {edge.expected} there; " + way + ".",
        [op, edge.source[0]],
        context.fix(fix, body),
    )


class _WrongDtype(NamedTuple):
    """An input that reads a tensor of another dtype than the op takes.

    Attributes:
        k: The position of the input.
        source: The tensor that it reads, as op and port.
        dtype: The dtype of that tensor.
        expected: The dtype that the op takes there.
    """

    k: int
    source: tuple[int, int]
    dtype: str
    expected: str

    @property
    def can_be_cast(self) -> bool:
        """Whether a Cast could stand between the two."""
        return {self.dtype.removesuffix("_ref"), self.expected} <= CASTABLE


def _wrong_dtypes(index: GraphIndex) -> dict[int, list[_WrongDtype]]:
    """The inputs that read a tensor of another dtype than their op takes, by op.

    Ops of one type that have the same attributes and read the same dtypes are all right, or none of
    them is.
    """
    kinds, codes = index.kinds
    settings = [_settings_of_inputs(index.typing.definition(kind)) for kind in kinds]
    start = index.inputs.start.tolist()
    sources = index.inputs.values.tolist()
    ports = index.ports.tolist()
    dtypes_of: list[tuple[str, ...] | None] = [None] * len(index)
    looked_up: dict[object, list[tuple[int, str]]] = {}
    wrong: dict[int, list[_WrongDtype]] = {}
    for op, code in enumerate(codes.tolist()):
        first, end, names = start[op], start[op + 1], settings[code]
        if first == end or names is None:
            continue
        node, read = index.nodes[op], []
        for source, port in zip(sources[first:end], ports[first:end], strict=True):
            dtypes = dtypes_of[source]
            if dtypes is None:
                dtypes = dtypes_of[source] = index.typing.dtypes(index.nodes[source])
            read.append(dtypes[port] if port < len(dtypes) else "")
        attributes = node.attr
        values = [_setting(attributes[name]) if name in attributes else None for name in names]
        key = code, *values, *read
        mismatches = looked_up.get(key)
        if mismatches is None:
            mismatches = looked_up[key] = list(_mismatches(index, node, read))
        if mismatches:
            wrong[op] = [
                _WrongDtype(k, (sources[first + k], ports[first + k]), read[k], expected)
                for k, expected in mismatches
            ]
    return wrong


def _settings_of_inputs(definition: OpDef | None) -> tuple[str, ...] | None:
    """The attributes that set the number and the dtypes of the inputs of a type; None if it is not
    known.
    """
    if definition is None:
        return None
    names = []
    for arg in definition.input_arg:
        names += [arg.type_attr, arg.number_attr, arg.type_list_attr]
    return tuple(dict.fromkeys(filter(None, names)))


def _setting(value: AttrValue) -> object:
    """The number or the dtypes that an attribute of inputs holds."""
    return value.type or value.i or tuple(value.list.type)


def _mismatches(index: GraphIndex, node: NodeDef, read: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The inputs of an op at which it takes another dtype than it reads, and that dtype."""
    for k, (slot, dtype) in enumerate(zip(input_specs(index, node) or (), read, strict=False)):
        name = _dtype_of_number(index, slot.dtype) if slot.dtype else ""
        expected = name + ("_ref" if slot.is_ref else "")
        if name and dtype and dtype not in (expected, f"{expected}_ref"):
            yield k, expected


def _dtype_of_number(index: GraphIndex, number: int) -> str:
    """The name of a dtype by TensorFlow's number; "" for one that it does not have."""
    node = type(index.nodes[0])(op="Placeholder")
    node.attr["dtype"].type = number  # type: ignore[assignment]
    return next(iter(index.typing.dtypes(node)), "")


def _fitting_attribute(
    index: GraphIndex, op: int, wrong: Sequence[_WrongDtype]
) -> tuple[str, str] | None:
    """The attribute of an op, and the dtype, with which it takes what it reads and gives what its
    consumers take.
    """
    node = index.nodes[op]
    definition = index.typing.definition(node.op)
    if definition is None or any(edge.expected.endswith("_ref") for edge in wrong):
        return None
    attribute_of = _dtype_attributes(node, definition)
    attributes = {attribute_of[edge.k] if edge.k < len(attribute_of) else "" for edge in wrong}
    if len(attributes) != 1 or "" in attributes:
        return None
    (attribute,) = attributes
    dtypes = set()
    for (source, port), name in zip(index.input_tensors(op), attribute_of, strict=False):
        if name == attribute:
            dtypes.add(index.dtypes(source)[port].removesuffix("_ref"))
    if len(dtypes) != 1 or "" in dtypes:
        return None
    (dtype,) = dtypes
    number = index.typing.number(dtype)
    attr_def = next(attr for attr in definition.attr if attr.name == attribute)
    allowed = attr_def.allowed_values.list.type
    if allowed and number not in allowed:
        return None
    if any(arg.type_attr == attribute for arg in definition.output_arg):
        consumers = index.consumer_lists[op]
        if not all(_takes(index, consumer, op, number) for consumer in consumers):
            return None
    return attribute, dtype


def _takes(index: GraphIndex, consumer: int, op: int, dtype: int) -> bool:
    """Whether a consumer takes a dtype, by its number, at all inputs that read an op."""
    slots = input_specs(index, index.nodes[consumer]) or ()
    inputs = zip(slots, index.input_lists[consumer], strict=False)
    return all(slot.dtype == dtype for slot, source in inputs if source == op)


def _dtype_attributes(node: NodeDef, definition: OpDef) -> list[str]:
    """The attribute that sets the dtype of each input of an op; "" where it is fixed, or set by a
    list.
    """
    attributes: list[str] = []
    for arg in definition.input_arg:
        attributes += [arg.type_attr if not arg.type_list_attr else ""] * argument_count(arg, node)
    return attributes
