"""Attributes of ops, checked against the OpDef and the op's consumers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, brief_value, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Change, Patch, Report, nothing_to_do, removal_of
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    input_specs,
    resolve_ops,
    tensor,
    tensor_consumers,
)
from tfgraphwidget.edits.rewrite.output_uses import OutputUses
from tfgraphwidget.edits.rewrite.remove import drop_colocation
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    CONTROL,
    OUTPUT_SHAPES,
    TRAINABLE,
    GraphIndex,
    Member,
    handles_of_one,
    is_placeholder,
    listed_variables,
    walk_from,
    write_shape,
)
from tfgraphwidget.naming import (
    colocated_with,
    colocation,
    count_text,
    free_name,
    known_instead,
    names_text,
    split_tensor,
)
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef, OpsLike


@register
@dataclass(frozen=True)
class SetAttr(Command):
    """Set an attribute of an op: `editor.set_attr("conv1", "padding", "SAME")`.

    Args:
        op: The op.
        name: The attribute.
        value: The new value. A dtype may be a tf.DType or its name, a shape a tf.TensorShape or a
            list.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The op has no such attribute, or it cannot have that value.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.nn.conv2d(
        ...         tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv"
        ...     )
        >>> tgw.edit(graph).set_attr("conv", "padding", "VALID").shapes[0].after
        (1, 6, 6, 4)
    """

    op: kinds.OpName
    name: str
    value: kinds.Value

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Set {self.name} of {self.op} to {brief_value(self.value)}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError for a missing attribute or a value that does not suit it."""
        index = context.index
        op = index.op(self.op)
        described, rewriter = self._attribute_def(index, op), ConsumerRewriter(index)
        node = rewriter.node(op)
        value = node.attr[self.name]
        kind = _kind(value, self.value) if described is None else described.type
        value.Clear()
        if not _write(value, kind, self.value, index):
            raise GraphEditError(
                f"{value_text(self.value)} does not suit attribute {self.name!r} of op "
                f"{self.op!r}, which is a {_kind_text(kind)}; give one.",
                [self.op],
            )
        if described is not None:
            _check_allowed(self, described, value)
        if self.name == "dtype":
            _check_value(index, op, node)
        if self.name == _COLOCATION:
            _check_places(index, node)
        check_new_node(context, op, node)
        changed = rewriter.changes()
        if not changed:
            return nothing_to_do(f"{self.op!r} has {self.name}={brief_value(self.value)} already.")
        notes = () if index.typing.definition(node.op) else (_UNKNOWN.format(node.op),)
        return Patch(changed=changed, report=Report(notes))

    def _attribute_def(self, index: GraphIndex, op: int) -> OpDef.AttrDef | None:
        """The AttrDef of the attribute; None for one that the OpDef does not have."""
        kind, own_names = index.types[op], frozenset(index.nodes[op].attr)
        definition = index.typing.definition(kind)
        attributes = {attr.name: attr for attr in definition.attr} if definition is not None else {}
        if self.name in attributes:
            return attributes[self.name]
        if self.name in own_names and self.name != OUTPUT_SHAPES:
            return None
        attribute_names = [*attributes] or sorted(name for name in own_names if name not in _OWN)
        end = known_instead(self.name, attribute_names)
        if definition is None and not end.endswith("?"):
            end = ", and TensorFlow does not know the type; " + in_cell(
                "load its library first (tf.load_op_library)."
            )
        raise GraphEditError(f"{kind} {self.op!r} has no attribute {self.name!r}" + end, [self.op])


_COLOCATION = "_class"
_OWN = (_COLOCATION, OUTPUT_SHAPES)
"""Attributes that TensorFlow itself writes, from colocation and static shapes."""
_UNKNOWN = "TensorFlow does not know {!r}, so it is not checked that the op takes this value."
_HELD = {"s": "string", "i": "int", "f": "float", "b": "bool"}


def _kind(value: AttrValue, argument: object) -> str:
    """The kind of an attribute by what it holds, or is given for an empty list."""
    field_name = str(value.WhichOneof("value"))
    if field_name != "list":
        return _HELD.get(field_name, field_name)
    inner = next((_HELD.get(field.name, field.name) for field, _ in value.list.ListFields()), "")
    one = argument[0] if isinstance(argument, tuple | list) and argument else ""
    kinds = {bool: "bool", int: "int", float: "float", str: "string", bytes: "string"}
    return f"list({inner or kinds.get(type(one), 'shape')})"


_WORDS = {
    "type": "dtype (its name)",
    "func": "function of the graph's library (its name)",
    "string": "text",
}


def _kind_text(kind: str) -> str:
    inner = kind.removeprefix("list(").removesuffix(")")
    word = _WORDS.get(inner, inner)
    return f"list, each entry a {word}" if kind != inner else word


def _write(value: AttrValue, kind: str, argument: object, index: GraphIndex) -> bool:
    """Write what was given into an AttrValue of that kind; whether it suits."""
    inner = kind[5:-1] if kind.startswith("list(") else kind
    if inner not in _KINDS or (inner != kind and not isinstance(argument, tuple | list)):
        return False
    suits, write = _KINDS[inner]
    if inner == kind:
        if suits(argument, index):
            write(value, argument, index)
        return suits(argument, index)
    value.list.SetInParent()
    for item in argument if isinstance(argument, tuple | list) else ():
        if not suits(item, index):
            return False
        one = type(value)()
        write(one, item, index)
        field_name = str(one.WhichOneof("value"))
        getattr(value.list, field_name).extend([getattr(one, field_name)])
    return True


def _is_number(argument: object, kinds: tuple[type, ...]) -> bool:
    # What a NodeDef can hold.
    fits = isinstance(argument, float) or (
        isinstance(argument, int) and -(2**63) <= argument < 2**63
    )
    return fits and isinstance(argument, kinds) and not isinstance(argument, bool)


def _is_shape(argument: object, index: GraphIndex) -> bool:  # noqa: ARG001
    sizes = argument if isinstance(argument, tuple | list) else ()
    return (argument is None or isinstance(argument, tuple | list)) and all(
        size is None or (_is_number(size, (int,)) and size >= 0) for size in sizes
    )


def _write_shape(value: AttrValue, sizes: Iterable[int | None] | None, index: GraphIndex) -> None:  # noqa: ARG001
    write_shape(value.shape, sizes)


_Kind = tuple[Callable[[Any, GraphIndex], bool], Callable[["AttrValue", Any, GraphIndex], None]]
_KINDS: dict[str, _Kind] = {
    "bool": (
        lambda given, _: isinstance(given, bool),
        lambda value, given, _: setattr(value, "b", given),
    ),
    "int": (
        lambda given, _: _is_number(given, (int,)),
        lambda value, given, _: setattr(value, "i", given),
    ),
    "float": (
        lambda given, _: _is_number(given, (int, float)),
        lambda value, given, _: setattr(value, "f", given),
    ),
    "string": (
        lambda given, _: isinstance(given, str | bytes),
        lambda value, given, _: setattr(
            value, "s", given.encode() if isinstance(given, str) else given
        ),
    ),
    "type": (
        lambda given, index: isinstance(given, str) and index.typing.number(given) > 0,
        lambda value, given, index: setattr(value, "type", index.typing.number(given)),
    ),
    "shape": (_is_shape, _write_shape),
    "func": (
        lambda given, index: given in index.functions,
        lambda value, given, _: setattr(value.func, "name", given),
    ),
}


def _check_allowed(command: SetAttr, attr_def: OpDef.AttrDef, value: AttrValue) -> None:
    """Raise when the OpDef does not allow a value."""
    allowed = attr_def.allowed_values.list
    allowed_values: list[object] = [*allowed.s] or [*allowed.type]
    kind = value.WhichOneof("value")
    single: object = value.s if kind == "s" else value.type
    values: list[object] = ([*value.list.s] or [*value.list.type]) if kind == "list" else [single]
    if allowed_values and not set(values) <= set(allowed_values):
        words = [item.decode(errors="replace") for item in allowed.s]
        some = (
            f"; it is one of {', '.join(map(repr, words))}." if words else "; choose another dtype."
        )
        raise GraphEditError(
            f"{command.value!r} is not allowed for attribute {command.name!r} of op "
            f"{command.op!r}{some}",
            [command.op],
        )
    number = len(command.value) if kind == "list" else value.i
    if attr_def.has_minimum and number < attr_def.minimum:
        what = "entries" if kind == "list" else "least"
        raise GraphEditError(
            f"Attribute {command.name!r} of op {command.op!r} needs {attr_def.minimum} at {what}, "
            f"and {number} was given; give more.",
            [command.op],
        )


def _check_value(index: GraphIndex, op: int, node: NodeDef) -> None:
    """Raise when a constant would say another dtype than its value has."""
    if node.op in CONSTANTS and node.attr["dtype"].type != node.attr["value"].tensor.dtype:
        name = index.names[op]
        raise GraphEditError(
            f"The value of constant {name!r} is {index.dtypes(op)[0]} and stays it; cast it: "
            + editor_call("insert", f'"{name}:0", "Cast", dtype=…')
            + ".",
            [name],
        )


def _check_places(index: GraphIndex, node: NodeDef) -> None:
    """Raise when an op would have to stand beside one that the graph does not have."""
    for entry in node.attr[_COLOCATION].list.s:
        name = colocation(entry)
        if name not in index.ids:
            raise GraphEditError(
                f"Op {node.name!r} cannot be placed beside "
                f"{name or entry.decode(errors='replace')!r}, which the graph does not have; give "
                "entries as 'loc:@op'.",
                [node.name],
            )


def check_new_node(context: PlanContext, op: int, node: NodeDef) -> None:
    """Raise GraphEditError when an op with other attributes does not fit its neighbors."""
    _check_inputs(context.index, op, node)
    OutputUses(context).check(op, node)


def _check_inputs(index: GraphIndex, op: int, node: NodeDef) -> None:
    """Raise when the op could no longer read what it reads."""
    name, moves = index.names[op], EdgeMoves(index)
    slots, inputs = input_specs(index, node), moves.current_inputs(op)
    if slots is None:  # of a type that TensorFlow does not know
        return
    if len(slots) != len(inputs):
        raise GraphEditError(
            f"Op {name!r} would take {count_text(len(slots), 'tensor')}, and reads {len(inputs)}; "
            "make a new op of its type and " + editor_call("replace") + " this one.",
            [name],
        )
    for slot, source in zip(slots, inputs, strict=True):
        dtype, read = moves.dtype(source).removesuffix("_ref"), moves.tensor_name(source)
        if slot.dtype and dtype and slot.dtype != index.typing.number(dtype):
            raise GraphEditError(
                f"Op {name!r} reads {read!r}, which is {dtype}, and would take another dtype; cast "
                "that first: " + editor_call("insert", f'{read!r}, "Cast", dtype=…') + ".",
                [name, index.names[source[0]]],
            )


# Devices and constants

# As TensorFlow writes devices: any of the parts may be left out, in this order.
_DEVICE = re.compile(
    r"(/job:[A-Za-z]\w*)?(/replica:\d+)?(/task:\d+)?(/(device:)?[A-Za-z]\w*:(\d+|\*))?", re.ASCII
)  # fmt: skip


@register
@dataclass(frozen=True)
class SetDevice(Command):
    """Set the device of ops, and of ops that are colocated with them.

    Args:
        what: Ops, a name scope or a selection.
        device: "/device:GPU:0"; "" or None for TensorFlow's choice.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The device is not a device's name, or the session could not place an op
            there.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.set_device(editor.ops(scope="net/hidden"), "/device:CPU:0")
        >>> len(editor.find("device:CPU"))
        17
    """

    keeps_values: ClassVar[bool] = True

    what: kinds.Ops
    device: kinds.Device

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        device = f"to {self.device}" if self.device else "to none"
        return f"Set the device of {subject_text(self.what)} {device}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError for what is not a device."""
        if not _DEVICE.fullmatch(self.device):
            raise GraphEditError(
                f"{self.device!r} is not written as TensorFlow writes a device: '/device:GPU:0', "
                "'/job:worker/task:1', "
                'or "" for any.'
            )
        index = context.index
        chosen = set(resolve_ops(index, self.what))
        # A FunctionDef has no place for the device of an argument.
        arguments = {index.op(split_tensor(name)[0]) for name in context.arguments}
        of_caller, targets = chosen & arguments, chosen - arguments
        if of_caller and not targets:
            raise GraphEditError(
                f"Op {index.names[min(of_caller)]!r} is an argument of the function, which stands "
                "where the caller has it; place the ops that read it, or what the caller gives."
            )
        along = _colocated_ops(index, targets) - targets - arguments
        rewriter = ConsumerRewriter(index)
        for op in targets | along:
            rewriter.node(op).device = self.device
        colocated = [
            edited.name for edited in rewriter.changes() if index.ids[edited.name] in along
        ]
        note = (
            f"{names_text(colocated)} must stand beside them and "
            f"{'moves' if len(colocated) == 1 else 'move'} along."
        )
        if not targets:
            return nothing_to_do("The selection holds no ops, so there is nothing to place.")
        changed = rewriter.changes()
        if not changed:
            place = f"on {self.device!r}" if self.device else "without a device"
            return nothing_to_do(f"{subject_text(self.what)} is {place} already.")
        notes = [note] if colocated else []
        if of_caller:
            names_there = names_text([index.names[op] for op in sorted(of_caller)])
            one = f"Argument {names_there} stays where the caller has it."
            notes.append(
                one
                if len(of_caller) == 1
                else f"Arguments {names_there} stay where the caller has them."
            )
        return Patch(changed=changed, report=Report(tuple(notes)))


def _colocated_ops(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """Some ops, and all that must stand on one device with them (colocation)."""
    near: dict[int, list[int]] = {}
    for op, node in enumerate(index.nodes):
        for name in colocated_with(node):
            if name in index.ids:
                near.setdefault(op, []).append(index.ids[name])
                near.setdefault(index.ids[name], []).append(op)
    return set(walk_from(ops, lambda op: near.get(op, [])))


@register
@dataclass(frozen=True)
class SetConstant(Command):
    """Set the value of a constant, or fix that of a placeholder:
    `editor.set_constant("is_training:0", False)`.

    The consumers of the placeholder read a new constant. The placeholder goes, unless a signature
    or the callers of a function name it.

    Args:
        tensor: The tensor, or the op.
        value: The value, an array or what numpy makes one of.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The value does not have the dtype or static shape of the tensor.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.set_constant("labels:0", [2])
        >>> editor.session.run("loss:0", {"x:0": [[1, 2, 3, 4]]}).shape
        ()
    """

    tensor: kinds.TensorName
    value: kinds.Value

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Set {self.tensor} to {brief_value(self.value)}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError for an op that is neither a constant nor a placeholder."""
        index = context.index
        op, port = tensor(index, self.tensor)
        shape = None if has_negative_shape(index.nodes[op]) else index.shape(op, port)
        value = context.constant(self.value, index.dtypes(op)[port], shape)
        name, kind, rewriter = index.names[op], index.types[op], ConsumerRewriter(index)
        if kind in CONSTANTS:
            rewriter.node(op).attr["value"].tensor.CopyFrom(value)
            changed = rewriter.changes()
            return Patch(changed=changed) if changed else nothing_to_do(f"{name!r} has it already.")
        if not is_placeholder(kind):
            raise GraphEditError(
                f"Op {name!r} is a {kind}, which computes its value; name a constant or a "
                "placeholder, or let "
                "its consumers read another tensor: " + editor_call("replace") + ".",
                [name],
            )
        names_in_use = index.used_names()
        node = type(index.nodes[op])(name=free_name(f"{name}/value", names_in_use), op="Const")
        node.attr["dtype"].type = index.typing.number(index.dtypes(op)[port])
        node.attr["value"].tensor.CopyFrom(value)
        for consumer in tensor_consumers(index, (op, port)):
            rewriter.redirect(consumer, (op, port), f"{node.name}:0")
        for waiting in index.control_consumer_lists[op]:
            rewriter.redirect(waiting, (op, CONTROL), node.name)
        is_named = any(split_tensor(text)[0] == name for text in context.external_tensors)
        removed = set() if is_named else {op}
        alone = drop_colocation(index, removed, rewriter)
        return Patch(
            add=Change(nodes=(node,)),
            remove=removal_of(index, removed),
            changed=rewriter.changes(),
            output_renames=((f"{name}:0", f"{node.name}:0"),),
            report=Report(alone),
        )


def has_negative_shape(node: NodeDef) -> bool:
    """Whether a NodeDef holds a value of a shape that no value has, as a damaged file may."""
    return "value" in node.attr and any(
        dim.size < 0 for dim in node.attr["value"].tensor.tensor_shape.dim
    )


# Trainable variables


@register
@dataclass(frozen=True)
class SetTrainable(Command):
    """Make variables the only trainable ones; optimizers use these by default.

    In a function's body it is so for the variables that the body reads. `editor.to_module()`,
    `to_function()` and `save` have variables that are trainable as asked; those of the original
    stay what they are.

    Of a name scope or a selection it takes the variables that were made to be trained: no moving
    averages, step counters or slots of an optimizer, unless there is nothing else in it. A variable
    that is named is taken.

    Args:
        which: Variables, their names, name scopes or selections.

    Returns:
        What was changed; `editor.find("is:trainable")` are the trainable variables then, in graph
        order.

    Raises:
        GraphEditError: One of them contains no variable.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.set_trainable("net/w")
        >>> editor.find("is:trainable").ops
        ('net/w',)
    """

    variables: Annotated[tuple[str, ...], kinds.Operand(is_positional=True)]

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, *which: OpsLike) -> Command:
        """The command of a call with any number of variables, scopes and selections."""
        return cls(resolver.variable_handles(which))

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        if self.variables:
            return f"Made only {subject_text(self.variables)} trainable"
        return "Made nothing trainable"

    def note(self) -> str:
        """What it changes: the training that the graph has is as it was."""
        only = f"{names_text(self.variables)} only" if self.variables else "nothing"
        return f"An optimizer that is made from now on trains {only}."

    def plan(self, context: PlanContext) -> Patch:
        """The patch of the collection; GraphEditError where none holds such variables."""
        index = context.index
        variables = listed_variables(index)
        unknown = [name for name in self.variables if name not in variables]
        if unknown:
            raise GraphEditError(
                f"{unknown[0]!r} is not a tf.Variable of this graph's collections, so no optimizer "
                "can take it; clone it, or add it to tf.compat.v1.GraphKeys.GLOBAL_VARIABLES.",
                unknown,
            )
        # All go and all come, so that taking it back gives the old order too.
        now = tuple((TRAINABLE, member) for member in index.collections.get(TRAINABLE, ()))
        names = (name for name in handles_of_one(index, self.variables) if name in variables)
        members = tuple((TRAINABLE, Member("variable", f"{name}:0")) for name in names)
        if members == now:
            which = "These variables are the only trainable ones" if now else "Nothing is trainable"
            return nothing_to_do(f"{which} already.")
        return Patch(
            add=Change(members=members), remove=Change(members=now), report=Report((self.note(),))
        )

    def fix_label(self) -> str:
        """The button after a clone."""
        return "Train only this"
