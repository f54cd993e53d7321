"""Leading: who reads a tensor, and the NodeDefs of those that an edit lets read another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfgraphwidget.edits.patch import Edited
from tfgraphwidget.edits.rewire.edge_moves import Wires
from tfgraphwidget.edits.rewire.operands import Ops, members
from tfgraphwidget.edits.rewire.validation import takes_reference
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import LOOP_CONDITION, MERGE, NEXT, SWITCH, GraphIndex
from tfgraphwidget.naming import as_input, split_input, split_tensor
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef

Tensor = tuple[int, int]
"""Op and port."""
Chosen = str | Ops
"""Ops that a command is about: an op or name scope by name, several, or a selection."""


class Leading:
    """The NodeDefs of an index that an edit changes in place."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self._changed: dict[int, NodeDef] = {}

    def node(self, op: int) -> NodeDef:
        """An op's NodeDef, to be changed."""
        if op not in self._changed:
            node = self._changed[op] = type(self.index.nodes[op])()
            node.CopyFrom(self.index.nodes[op])
        return self._changed[op]

    def lead(self, reader: int, old: Tensor, new: str) -> None:
        """Let an op read the tensor `new` ("op:0") wherever it reads `old`."""
        op, port = split_tensor(new)
        node = self.node(reader)
        name = self.index.names[old[0]]
        for k, text in enumerate(node.input):
            if split_input(text) == (name, old[1]):
                node.input[k] = as_input(op, port or 0)

    def changed(self, what: str, op: str) -> tuple[Edited, ...]:
        """`edited`, of which there is some: GraphEditError when an op has been `what` before."""
        found = self.edited()
        if not found:
            raise GraphEditError(f"This changes nothing: {op!r} {what} already; leave it out.", [op])
        return found

    def edited(self) -> tuple[Edited, ...]:
        """What has changed, in graph order."""
        pairs = ((self.index.nodes[op], self._changed[op]) for op in sorted(self._changed))
        return tuple(Edited(before, _sorted(before, after)) for before, after in pairs if before != after)


def _sorted(before: NodeDef, after: NodeDef) -> NodeDef:
    """The NodeDef with its control inputs, if they are others, in the order that TensorFlow writes: of their names."""
    old, new = ([text for text in node.input if text[:1] == "^"] for node in (before, after))
    if set(old) != set(new):
        after.input[:] = [*(text for text in after.input if text[:1] != "^"), *sorted(set(new))]
    return after


def tensor(index: GraphIndex, name: str) -> Tensor:
    """Op and port of a tensor's name; an op's name is its first output."""
    op, port = (name, None) if name in index.ids else split_tensor(name)
    return index.op(op), port or 0


def tensor_name(index: GraphIndex, of: Tensor) -> str:
    """The name of a tensor."""
    return f"{index.names[of[0]]}:{of[1]}"


def chosen(index: GraphIndex, what: Chosen) -> list[int]:
    """The ops that are meant, in graph order. Raises UnknownName."""
    return sorted(members(index, (what,) if isinstance(what, str) else what))


def readers(index: GraphIndex, of: Tensor, only: Ops = (), never: Ops = ()) -> list[int]:
    """The ops that read a tensor: those of `only`, where it names any, less those of `never`; in graph order.

    Raises GraphEditError when nothing in `only` reads it.
    """
    edges = index.readers
    row = slice(int(edges.start[of[0]]), int(edges.start[of[0] + 1]))
    found = sorted({int(to) for to, port in zip(edges.to[row], edges.port[row], strict=True) if port == of[1]})
    wanted, barred = members(index, only), members(index, never)
    if wanted and wanted.isdisjoint(found):
        name, reader = tensor_name(index, of), index.names[min(wanted)]
        raise GraphEditError(
            f"Op {reader!r} does not read {name!r}; name ops in only= that do, or leave it out.", [reader]
        )
    return [op for op in found if (not only or op in wanted) and op not in barred]


def check_dtype(index: GraphIndex, reading: Iterable[int], old: Tensor, new: str, dtype: str) -> None:
    """Raise GraphEditError unless ops that read `old` can read `new`, a tensor of this dtype, in its place."""
    was = index.dtypes(old[0])[old[1]]
    name = tensor_name(index, old)
    if was and dtype and was.removesuffix("_ref") != dtype.removesuffix("_ref"):
        first = [index.names[op] for op in reading][:1]
        who = f"op {first[0]!r} reads" if first else "its readers read"
        raise GraphEditError(
            f"{new!r} is {dtype}, and {who} {name!r}, which is {was}; tf.cast it to {was.removesuffix('_ref')} first.",
            [*first, index.names[old[0]]],
        )
    if not was.endswith("_ref") or dtype.endswith("_ref"):
        return
    for op in reading:
        if _writes(index, op, old):
            reader = index.names[op]
            raise GraphEditError(
                f"Op {reader!r} writes to the variable {name!r}, and {new!r} is only a value; leave it out: "
                f'never=["{reader}"].',
                [reader, index.names[old[0]]],
            )


def _writes(index: GraphIndex, reader: int, of: Tensor) -> bool:
    """Whether an op reads a tensor at an input that must be a reference to a variable."""
    return any(end == of and takes_reference(index, reader, k) for k, end in enumerate(Wires(index).inputs(reader)))


def check_skeleton(index: GraphIndex, reading: Iterable[int], old: Tensor) -> None:
    """Raise GraphEditError when `old` is what holds a v1 while loop together, and one of the ops reads it for that."""
    kind, name = index.types[old[0]], index.names[old[0]]
    for op in reading:
        to = index.types[op]
        if (kind in NEXT and to in MERGE) or (kind in LOOP_CONDITION and to in SWITCH):
            raise GraphEditError(
                f"{name!r} and {index.names[op]!r} hold a while loop together, and nothing can go between them; edit "
                "what computes the value before it.",
                [name, index.names[op]],
            )


# Slots: what an op takes at each of its inputs, told by its NodeDef and its OpDef.

# No op has more inputs; a damaged attribute may say so.
_MOST = 1 << 15


class Slot(NamedTuple):
    """One input: the number of its dtype (0 when nobody tells), and whether it must be a reference to a variable."""

    dtype: int
    is_ref: bool


def slots(index: GraphIndex, node: NodeDef) -> tuple[Slot, ...] | None:
    """The inputs of a NodeDef, in order; None for an op that TensorFlow does not know."""
    definition = index.typing.definition(node.op)
    if definition is None:
        return None
    return tuple(slot for arg in definition.input_arg for slot in _of(arg, node, definition))


def _of(arg: OpDef.ArgDef, node: NodeDef, definition: OpDef) -> Iterator[Slot]:
    if arg.type_list_attr:
        value = attribute(node, definition, arg.type_list_attr)
        yield from (Slot(number, arg.is_ref) for number in ([] if value is None else value.list.type[:_MOST]))
        return
    value = attribute(node, definition, arg.type_attr) if arg.type_attr else None
    dtype = arg.type or (0 if value is None else value.type)
    number = attribute(node, definition, arg.number_attr) if arg.number_attr else None
    count = (0 if number is None else number.i) if arg.number_attr else 1
    for _ in range(count if 0 <= count <= _MOST else 0):
        yield Slot(dtype, arg.is_ref)


def attribute(node: NodeDef, definition: OpDef | None, name: str) -> AttrValue | None:
    """The AttrValue of a NodeDef, or the OpDef's default of it; None when there is neither."""
    if name in node.attr:
        return node.attr[name]
    known = definition.attr if definition is not None else ()
    return next((a.default_value for a in known if a.name == name and a.HasField("default_value")), None)
