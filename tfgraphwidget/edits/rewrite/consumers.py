"""Consumers of tensors, and their NodeDefs with other inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tfgraphwidget.edits.patch import NodeChange
from tfgraphwidget.edits.rewire.execution_frames import ExecutionFrames
from tfgraphwidget.edits.rewire.operands import Ops, members
from tfgraphwidget.edits.rewire.validation import takes_reference
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONTROL,
    ENTER,
    EXIT,
    LOOP_CONDITION,
    MERGE,
    NEXT,
    SWITCH,
    GraphIndex,
)
from tfgraphwidget.naming import as_input, split_input, split_tensor
from tfgraphwidget.sentences import either, in_cell
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef

Tensor = tuple[int, int]
"""Op and port."""
OpsArgument = str | Ops
"""Ops that a command is about: an op or name scope by name, several, or a selection."""


class ConsumerRewriter:
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

    def redirect(self, consumer: int, old: Tensor, new: str) -> None:
        """Make an op read the tensor `new` ("op:0") in place of another, or wait for the op `new`,
        where the port of `old` is CONTROL.
        """
        op, port = split_tensor(new)
        node = self.node(consumer)
        name = self.index.names[old[0]]
        for k, text in enumerate(node.input):
            if split_input(text) == (name, old[1]):
                node.input[k] = as_input(op, CONTROL if old[1] == CONTROL else port or 0)

    def stand_in(self, old: int, new: str) -> None:
        """Let what waits for an op wait for another, and colocate with that one the consumers that
        were colocated with the first.
        """
        index = self.index
        for waiting in index.control_consumer_lists[old]:
            self.redirect(waiting, (old, CONTROL), new)
        old_class, new_class = (f"loc:@{name}".encode() for name in (index.names[old], new))
        for consumer in index.consumer_lists[old]:
            if old_class in _colocation(index.nodes[consumer]):
                classes = self.node(consumer).attr["_class"].list.s
                classes[:] = [new_class if each == old_class else each for each in classes]

    def changes(self) -> tuple[NodeChange, ...]:
        """The changed ops, in graph order."""
        pairs = ((self.index.nodes[op], self._changed[op]) for op in sorted(self._changed))
        return tuple(
            NodeChange(before, _with_sorted_control_inputs(before, after))
            for before, after in pairs
            if before != after
        )


def _colocation(node: NodeDef) -> Sequence[bytes]:
    """The ops on whose devices an op stands, as its attribute lists them."""
    return node.attr["_class"].list.s if "_class" in node.attr else ()


def _with_sorted_control_inputs(before: NodeDef, after: NodeDef) -> NodeDef:
    """The NodeDef with its control inputs, if they are others, sorted by name as TensorFlow writes
    them.
    """
    old = {text for text in before.input if text[:1] == "^"}
    new = {text for text in after.input if text[:1] == "^"}
    if old != new:
        data_inputs = [text for text in after.input if text[:1] != "^"]
        after.input[:] = [*data_inputs, *sorted(new)]
    return after


def tensor(index: GraphIndex, name: str) -> Tensor:
    """Op and port of a tensor's name; an op's name is its first output."""
    return index.tensor(name)


def tensor_name(index: GraphIndex, of: Tensor) -> str:
    """The name of a tensor."""
    return f"{index.names[of[0]]}:{of[1]}"


def resolve_ops(index: GraphIndex, what: OpsArgument) -> list[int]:
    """The ops that a scope, selection or names mean, in graph order. Raises UnknownName."""
    return sorted(members(index, (what,) if isinstance(what, str) else what))


def is_left_out(what: OpsArgument) -> bool:
    """Whether a call names no ops at all, and so means every op: an empty selection means none."""
    return isinstance(what, tuple) and not what


def tensor_consumers(index: GraphIndex, of: Tensor, only: Ops = (), never: Ops = ()) -> list[int]:
    """The ops that read a tensor, in graph order. Raises GraphEditError if no op of `only` does."""
    edges = index.consumer_edges
    row = slice(int(edges.start[of[0]]), int(edges.start[of[0] + 1]))
    consumer_ops = sorted(
        {int(to) for to, port in zip(edges.to[row], edges.port[row], strict=True) if port == of[1]}
    )
    candidates, barred = members(index, only), members(index, never)
    if candidates and candidates.isdisjoint(consumer_ops):
        name, consumer = tensor_name(index, of), index.names[min(candidates)]
        raise GraphEditError(
            f"Op {consumer!r} does not read {name!r}; "
            + in_cell("name ops in only= that do, or leave it out."),
            [consumer],
        )
    return [
        op for op in consumer_ops if (is_left_out(only) or op in candidates) and op not in barred
    ]


def check_dtype(
    index: GraphIndex, reading: Iterable[int], old: Tensor, new: str, dtype: str
) -> None:
    """Raise GraphEditError where ops cannot read a tensor of that dtype, "" if it is not known, in
    place of another: the dtypes differ, or an op writes to the variable that it reads.
    """
    was = index.dtypes(old[0])[old[1]]
    name = tensor_name(index, old)
    if was and dtype and was.removesuffix("_ref") != dtype.removesuffix("_ref"):
        first = [index.names[op] for op in reading][:1]
        who = f"op {first[0]!r} reads" if first else "its consumers read"
        raise GraphEditError(
            f"{new!r} is {dtype}, and {who} {name!r}, which is {was}; "
            + either("tf.cast", "cast")
            + f" it to {was.removesuffix('_ref')} first.",
            [*first, index.names[old[0]]],
        )
    if not was.endswith("_ref") or dtype.endswith("_ref"):
        return
    for op in reading:
        if _writes(index, op, old):
            consumer = index.names[op]
            raise GraphEditError(
                f"Op {consumer!r} writes to the variable {name!r}, and {new!r} is only a value; "
                + in_cell(f'leave it out: never=["{consumer}"].'),
                [consumer, index.names[old[0]]],
            )


def _writes(index: GraphIndex, consumer: int, of: Tensor) -> bool:
    """Whether an op reads a tensor at an input that must be a reference to a variable."""
    return any(
        end == of and takes_reference(index, consumer, k)
        for k, end in enumerate(index.input_tensors(consumer))
    )


def check_skeleton(index: GraphIndex, reading: Iterable[int], old: Tensor) -> None:
    """Raise GraphEditError where an edge between a tensor and its consumers holds a v1 while loop
    together.
    """
    kind, name = index.types[old[0]], index.names[old[0]]
    for op in reading:
        to = index.types[op]
        inputs = index.input_lists[op]
        is_loop_switch = (
            to in SWITCH and len(inputs) > 1 and index.types[inputs[1]] in LOOP_CONDITION
        )
        if (
            (kind in ENTER | NEXT and to in MERGE)
            or (kind in SWITCH and to in EXIT)
            or (kind in LOOP_CONDITION | MERGE and is_loop_switch)
        ):
            raise GraphEditError(
                f"{name!r} and {index.names[op]!r} hold a while loop together, and nothing can go "
                "between them; edit what computes the value before it.",
                [name, index.names[op]],
            )


def check_one_frame(index: GraphIndex, ops: Collection[int], results: Iterable[Tensor]) -> None:
    """Check that what comes out of ops is in the loop that what goes in comes from: other ops can
    take their place.

    Raises:
        GraphEditError: An Enter, or an Exit, of a v1 while loop is among them, and the other end of
            the loop is not.
    """
    crossings = [op for op in ops if index.types[op] in ENTER | EXIT]
    if not crossings:
        return
    frames, inside = ExecutionFrames(index), set(ops)
    inputs = {
        tensor for op in inside for tensor in index.input_tensors(op) if tensor[0] not in inside
    }
    loops = {frames.loop(frames.source_context(tensor)) for tensor in (*inputs, *results)}
    if len(loops) > 1:
        name = index.names[crossings[0]]
        way = "into" if index.types[crossings[0]] in ENTER else "out of"
        raise GraphEditError(
            f"{name!r} is the way {way} a while loop, for which no other op can stand; leave it "
            "out, or take the whole loop.",
            [name],
        )


# The inputs that an op takes, from its NodeDef and its OpDef

_MOST = 1 << 15  # inputs of an op; a damaged attribute may say that there are more


class SlotType(NamedTuple):
    """An input: its dtype's number (0 if unknown), and whether it must be a reference."""

    dtype: int
    is_ref: bool


def input_specs(index: GraphIndex, node: NodeDef) -> tuple[SlotType, ...] | None:
    """The inputs of a NodeDef, in order; None for an op that TensorFlow does not know."""
    definition = index.typing.definition(node.op)
    if definition is None:
        return None
    return tuple(
        slot for arg in definition.input_arg for slot in _argument_specs(arg, node, definition)
    )


def _argument_specs(arg: OpDef.ArgDef, node: NodeDef, definition: OpDef) -> Iterator[SlotType]:
    """The inputs that an argument of an OpDef means for a NodeDef: one, several of one dtype
    (`number_attr`), or a list with a dtype for each (`type_list_attr`).
    """
    if arg.type_list_attr:
        types = attribute(node, definition, arg.type_list_attr)
        for number in [] if types is None else types.list.type[:_MOST]:
            yield SlotType(number, arg.is_ref)
        return
    value = attribute(node, definition, arg.type_attr) if arg.type_attr else None
    dtype = arg.type or (0 if value is None else value.type)
    count = 1
    if arg.number_attr:
        length = attribute(node, definition, arg.number_attr)
        count = 0 if length is None else length.i
    for _ in range(count if 0 <= count <= _MOST else 0):
        yield SlotType(dtype, arg.is_ref)


def attribute(node: NodeDef, definition: OpDef | None, name: str) -> AttrValue | None:
    """An attribute of a NodeDef, or else its OpDef's default; None if there is neither."""
    if name in node.attr:
        return node.attr[name]
    attr_defs = definition.attr if definition is not None else ()
    return next(
        (a.default_value for a in attr_defs if a.name == name and a.HasField("default_value")), None
    )
