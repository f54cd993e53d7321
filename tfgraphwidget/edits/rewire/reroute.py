"""Reroute, Swap, Connect, and control inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, get_args

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import NodeChange, Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire import adapters, validation
from tfgraphwidget.edits.rewire.adapters import AdapterType
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves, Slot, Tensor
from tfgraphwidget.edits.rewire.operands import (
    Names,
    Ops,
    as_part,
    as_tuple,
    is_scope,
    members,
    outputs_of,
    pair_tensors,
    part_text,
    slots_of,
    tensors,
)
from tfgraphwidget.edits.rewire.waiting import runs_before, waits_of
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, GraphIndex, Selection, traversal
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, count_text, names_text, split_tensor
from tfgraphwidget.sentences import argument_value, editor_call, either

# Base class of the commands that move edges: collect, adapt, validate, plan


class Rewire(Command):
    """A command that moves edges.

    `adapter` is put between a consumer and a tensor that does not fit it. `names` are those of the
    ops that are added, in their order; the rest get free ones.
    """

    adapter: AdapterType = ""
    names: tuple[str, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it may add ops."""
        return bool(self.adapter)

    @abstractmethod
    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError, which names both ends of the edge, when it cannot be right."""
        return self._plan_moves(context).patch()

    def with_final_names(self, context: PlanContext) -> Command:
        """The same with new ops' names written down, if hidden ops changed those."""
        if self.names or not context.index.reserved or not self.adds:
            return self
        moves = self._plan_moves(context)
        if moves.new_names != moves.default_names:
            return _replace_fields(self, names=tuple(moves.new_names))
        return self

    def suggested_fixes(self, context: PlanContext) -> tuple[Command, ...]:
        """Commands that may do the same where this is refused for its edges' tensors and ops."""
        try:
            moves = self.edge_moves(context)
        except GraphEditError:
            return ()
        if self.adapter:
            return ()
        return tuple(
            _replace_fields(self, adapter=kind) for kind in adapters.possible_adapters(moves)
        )

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Insert a {self.adapter}" if self.adapter else ""

    def _plan_moves(self, context: PlanContext) -> EdgeMoves:
        moves = self.edge_moves(context)
        if moves.nothing:
            return moves
        if self.adapter:
            adapters.insert_adapters(moves, self.adapter)
        moves.check_names()
        validation.check(moves)
        return moves


def _replace_fields(command: Command, **fields: object) -> Command:
    """The command with other values of some fields."""
    return replace(command, **fields)


Side = Literal["inputs", "outputs", "both"]
Pairs = list[tuple[Tensor, Tensor]]


class _ConsumerCommand(Rewire):
    """Moves what the consumers of some tensors read; `only` or `never` these ops."""

    only: Ops
    never: Ops

    def _may(self, index: GraphIndex) -> Callable[[int], bool]:
        """Whether an op may be changed."""
        only = members(index, self.only) if isinstance(self.only, Selection) or self.only else None
        never = members(index, self.never)
        return lambda op: op not in never and (only is None or op in only)

    def _what_they_read(self) -> bool:
        """Whether named ops themselves are changed, so that leaving one out is another edit."""
        return False

    def _no_consumer(self, wanted: Iterable[str]) -> str:
        """Why there is no edge to move."""
        if self.only == self.never == ():
            among = ""
        else:
            among = either(
                " among the ops that only= and never= leave", " among the ops that may be changed"
            )
        tensors = names_text(list(wanted)) or "these ops"
        return "No op" + among + f" reads {tensors}, so there is no edge to move."

    def suggested_fixes(self, context: PlanContext) -> tuple[Command, ...]:
        """Also the same, less the consumers that the new tensors depend on."""
        index = context.index
        try:
            moves = self.edge_moves(context)
        except GraphEditError:
            return ()
        if (
            isinstance(self.never, Selection)
            or self._what_they_read()
            or not validation.cycle_of(moves)
        ):
            return super().suggested_fixes(context)
        waits = moves.changed_control_inputs()
        waiting_ops = {slot[0] for slot, _, _ in moves.changed_inputs()} | set(waits)
        sources = {new[0] for _, _, new in moves.changed_inputs()}.union(*waits.values())
        before = traversal.backward(index, sorted(sources))
        looped = tuple(index.names[op] for op in sorted(waiting_ops) if before[op])
        return (
            *super().suggested_fixes(context),
            _replace_fields(self, never=(*self.never, *looped)),
        )

    def fix_label(self) -> str:
        """A few words for a button."""
        if isinstance(self.never, tuple) and self.never:
            left_out = f"Leave out {names_text(self.never)}"
        else:
            left_out = ""
        return super().fix_label() or left_out


def _move_consumers(moves: EdgeMoves, pairs: Pairs, may: Callable[[int], bool]) -> None:
    """Let the consumers of the first of each pair read the second, and who waits for the one wait
    for the other.
    """
    instead = {old[0]: new[0] for old, new in pairs if old[1] == CONTROL}
    for old, new in pairs:
        if old[1] != CONTROL:
            moves.inputs.update((slot, new) for slot in moves.consumers(old) if may(slot[0]))
            continue
        for op in filter(may, moves.waiters(old[0])):
            moves.control_inputs[op] = tuple(
                dict.fromkeys(
                    instead.get(control_input, control_input)
                    for control_input in moves.current_control_inputs(op)
                )
            )


@register
@dataclass(frozen=True)
class Reroute(_ConsumerCommand):
    """Connect the consumers of one tensor to another: `editor.reroute("dropout/mul:0",
    to="dense/BiasAdd:0")`.

    Args:
        old: A tensor, or a list, which is taken pairwise and all at once. An op represents its
            outputs, "^op" for its control edges.
        to: The tensor, or list of as many, that the consumers read instead.
        only: The ops, name scopes or selection that may be changed; None for all.
        never: The ops, name scopes or selection that may not be changed.
        adapter: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
        names: The names of the ops that are inserted.

    Returns:
        What was changed.

    Raises:
        GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.reroute("net/hidden/Relu:0", to="net/hidden/Add:0", only="net/logits").changed
        ('net/logits',)
    """

    old: kinds.Tensors
    to: kinds.Tensors
    _: KW_ONLY
    only: kinds.ConsumersOrAll = ()
    never: kinds.Consumers = ()
    adapter: AdapterType = ""
    names: kinds.Texts = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Rerouted the consumers of {subject_text(self.old)} to {subject_text(self.to)}"

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        index = context.index
        moves, pairs = EdgeMoves(index, self.names), pair_tensors(index, self.old, self.to)
        _move_consumers(moves, pairs, self._may(index))
        if not moves.inputs and not moves.control_inputs:
            moves.nothing = self._no_consumer(moves.tensor_name(old) for old, _ in pairs)
        elif moves.inputs:
            notes = (note for old, to in pairs for note in _past_waits(moves, old, to))
            moves.notes += dict.fromkeys(notes)
        return moves


def _past_waits(moves: EdgeMoves, old: Tensor, to: Tensor) -> Iterator[str]:
    """What is said where a tensor was computed from the one that takes its place, and waited for
    what that does not wait for.
    """
    index = moves.index
    if CONTROL in (old[1], to[1]) or old[0] == to[0]:
        return
    before_old = runs_before(index, [old[0]])
    if not before_old[to[0]]:
        return
    between = traversal.forward(index, [to[0]], within=before_old)
    between[to[0]] = False
    ops = np.flatnonzero(between).tolist()
    unread = {source for op in ops for source in index.input_lists[op]} - {*ops, to[0]}
    done_before = runs_before(index, [to[0]])
    waits = [op for op in waits_of(index, ops, unread) if not done_before[op]]
    if waits:
        names = [moves.name(op) for op in waits]
        yield (
            f"{moves.tensor_name(old)!r} waits for {names_text(names)}; what reads "
            f"{moves.tensor_name(to)!r} in its place does not; let it wait: "
            + editor_call("add_control_inputs", f'"…", {names!r}')
            + "."
        )


@register
@dataclass(frozen=True)
class Swap(_ConsumerCommand):
    """Exchange the consumers of two tensors, or the connections of two ops, name scopes or
    selections.

    Args:
        a: A tensor, op, name scope or selection.
        b: Another one.
        what: Of ops, scopes and selections: "outputs" (their consumers), "inputs" (what they read),
            or "both". They are exchanged pairwise, in their order.
        only: The ops, name scopes or selection that may be changed; None for all.
        never: The ops, name scopes or selection that may not be changed.
        adapter: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
        names: The names of the ops that are inserted.

    Returns:
        What was changed.

    Raises:
        GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> report = editor.swap("net/logits:0", copy["net/logits:0"])
        >>> "copy/net/logits" in editor.path("x", "loss")
        True
    """

    a: kinds.PartOrTensor
    b: kinds.PartOrTensor
    what: Side = "outputs"
    _: KW_ONLY
    only: kinds.ConsumersOrAll = ()
    never: kinds.Consumers = ()
    adapter: AdapterType = ""
    names: kinds.Texts = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Swapped the {self.what} of {subject_text(self.a)} and {subject_text(self.b)}"

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        index = context.index
        moves, may = EdgeMoves(index, self.names), self._may(index)
        if self._of_tensors(index):
            _move_consumers(moves, _both_ways(pair_tensors(index, str(self.a), str(self.b))), may)
        else:
            self._exchange(moves, may)
        if not moves.inputs and not moves.control_inputs:
            moves.nothing = moves.nothing or self._no_consumer((str(self.a), str(self.b)))
        return moves

    def _what_they_read(self) -> bool:
        return self.what != "outputs"

    def _of_tensors(self, index: GraphIndex) -> bool:
        """Whether the two are tensors; GraphEditError if one is, and if tensors are needed."""
        if self.what not in get_args(Side):
            raise GraphEditError(
                argument_value("what", repr(self.what))
                + " is not known; it is one of 'inputs', 'outputs', 'both'."
            )
        sides = [
            side for side in (self.a, self.b) if isinstance(side, str) and side not in index.ids
        ]
        are = [side for side in sides if side[:1] == "^" or split_tensor(side)[1] is not None]
        if are and (len(are) < 2 or self.what != "outputs"):
            raise GraphEditError(
                part_text(self.a)
                + " and "
                + part_text(self.b)
                + f" cannot exchange {self.what}: a tensor has consumers only; name two tensors or "
                "two ops."
            )
        return bool(are)

    def _exchange(self, moves: EdgeMoves, may: Callable[[int], bool]) -> None:
        """An exchange of two parts."""
        index = moves.index
        parts = as_part(index, self.a).ids, as_part(index, self.b).ids
        if not all(parts):
            empty = self.b if parts[0] else self.a
            moves.nothing = part_text(empty) + " holds no ops, so there is nothing to swap."
            return
        if parts[0] & parts[1]:
            name = index.names[min(parts[0] & parts[1])]
            raise GraphEditError(
                f"Op {name!r} is in "
                + part_text(self.a)
                + " and in "
                + part_text(self.b)
                + "; give parts that share none.",
                [name],
            )
        if self.what != "inputs":
            labels = (
                ("what " + part_text(self.a) + " gives"),
                ("what " + part_text(self.b) + " gives"),
            )
            pairs = pair_tensors(
                index, outputs_of(index, self.a), outputs_of(index, self.b), labels
            )
            _move_consumers(
                moves,
                _both_ways(pairs),
                lambda op: may(op) and op not in parts[0] and op not in parts[1],
            )
        if self.what != "outputs":
            a, b = slots_of(index, self.a), slots_of(index, self.b)
            if len(a) != len(b):
                raise GraphEditError(
                    part_text(self.a)
                    + f" has {count_text(len(a), 'input')} and "
                    + part_text(self.b)
                    + f" has {count_text(len(b), 'input')}, so they cannot exchange them; give "
                    "parts with "
                    "equally many.",
                    [index.names[min(ops)] for ops in parts],
                )
            for ones, others in zip(a, b, strict=True):
                of = moves.current_input(ones[0]), moves.current_input(others[0])
                moves.inputs.update((slot, of[1]) for slot in ones if may(slot[0]))
                moves.inputs.update((slot, of[0]) for slot in others if may(slot[0]))


def _both_ways(pairs: Pairs) -> Pairs:
    return [*pairs, *((b, a) for a, b in pairs)]


# Connect


@register
@dataclass(frozen=True)
class Connect(Rewire):
    """Connect a tensor to an input of an op, or the outputs of one selection to the inputs of
    another.

    Args:
        source: A tensor, several, or an op, name scope or selection for all of its outputs.
        target: The op, name scope or selection that reads them.
        k: The number of the input. Without it, the tensors go to the inputs one by one if they are
            equally many, or one tensor to the only input that fits. Where an op of a file reads
            fewer tensors than its type takes, this may be the next one; where it reads more,
            `connect([], op, k)` takes one away.
        adapter: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
        names: The names of the ops that are inserted.

    Returns:
        What was changed.

    Raises:
        GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.connect("net/hidden/Add:0", "net/logits", 0).changed
        ('net/logits',)
    """

    source: kinds.Sources
    target: kinds.PartOrTensor
    k: int | None = None
    _: KW_ONLY
    adapter: AdapterType = ""
    names: kinds.Texts = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        slot = "" if self.k is None else f", input {self.k}"
        if self.source == ():
            return f"Took away input {self.k} of {subject_text(self.target)}"
        return f"Connected {subject_text(self.source)} to {subject_text(self.target)}{slot}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError, which names both ends of the edge, when it cannot be right."""
        patch = self._with_other_count(context.index)
        return super().plan(context) if patch is None else patch

    def _with_other_count(self, index: GraphIndex) -> Patch | None:
        """The patch of an op that reads one tensor more or less than it takes; else None."""
        if self.k is None or not isinstance(self.target, str) or self.target not in index.ids:
            return None
        op = index.ids[self.target]
        read, arity = len(index.input_lists[op]), validation.taken_inputs(index, op)
        sources = [t for name in self._source_names(index) for t in tensors(index, name)]
        before = index.nodes[op]
        after = copy_of(before)
        if (
            len(sources) == 1
            and sources[0][1] != CONTROL
            and arity is not None
            and self.k == read < arity
        ):
            after.input.insert(read, as_input(index.names[sources[0][0]], sources[0][1]))
        elif not sources and arity is not None and arity < read and 0 <= self.k < read:
            del after.input[self.k]
        else:
            return None
        patch = Patch(changed=(NodeChange(before, after),))
        validation.check_acyclic(index, patch)
        return patch

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        index = context.index
        moves = EdgeMoves(index, self.names)
        source_tensors = [t for name in self._source_names(index) for t in tensors(index, name)]
        if any(port == CONTROL for _, port in source_tensors):
            raise GraphEditError(
                self._text(self.source)
                + " is a control edge, which no input reads; let "
                + self._text(self.target)
                + " wait for the op: "
                + editor_call("add_control_inputs", "op, ops")
                + "."
            )
        slots = self._slots(index, moves, source_tensors)
        if len(source_tensors) != len(slots):
            consumers = [slots_of_tensor[0][0] for slots_of_tensor in slots]
            ops = dict.fromkeys([*(op for op, _ in source_tensors), *consumers])
            raise GraphEditError(
                self._text(self.source)
                + f" gives {count_text(len(source_tensors), 'tensor')} and "
                + self._text(self.target)
                + f" takes {count_text(len(slots), 'input')}; connect equally many, or one tensor "
                "to one input "
                "by " + either("k=.", "its number."),
                [index.names[op] for op in ops],
            )
        for tensor, inputs in zip(source_tensors, slots, strict=True):
            moves.inputs.update(dict.fromkeys(inputs, tensor))
        return moves

    def _source_names(self, index: GraphIndex) -> tuple[str, ...]:
        if isinstance(self.source, Selection):
            return outputs_of(index, self.source)
        names_of_each = (
            (outputs_of(index, name) if is_scope(index, name) else (name,))
            for name in as_tuple(self.source)
        )
        return tuple(name for names in names_of_each for name in names)

    def _slots(
        self, index: GraphIndex, moves: EdgeMoves, source_tensors: list[Tensor]
    ) -> list[list[Slot]]:
        target = self.target
        if (
            isinstance(target, str)
            and target not in index.ids
            and split_tensor(target)[1] is not None
        ):
            raise GraphEditError(
                f"{target!r} is what op {split_tensor(target)[0]!r} gives, and connect asks who is "
                f"to read: name the op, or let the consumers of {target!r} read another tensor: "
                + editor_call("reroute", f"{target!r}, to=…")
                + ".",
                [split_tensor(target)[0]],
            )
        slots = slots_of(index, target)
        if self.k is not None:
            if (
                isinstance(target, Selection)
                or target not in index.ids
                or not 0 <= self.k < len(slots)
            ):
                raise GraphEditError(
                    f"There is no input {self.k} of "
                    + self._text(target)
                    + f", which has {count_text(len(slots), 'input')}; name an op and count its "
                    "inputs from 0."
                )
            return [slots[self.k]]
        if (
            len(source_tensors) == 1
            and len(slots) > 1
            and isinstance(target, str)
            and target in index.ids
        ):
            fitting = [
                s
                for s in slots
                if not validation.misfit(moves, s[0], moves.current_input(s[0]), source_tensors[0])
            ]
            return fitting if len(fitting) == 1 else slots
        return slots

    def _text(self, end: Names | Selection) -> str:
        return part_text(end) if isinstance(end, Selection) else names_text(as_tuple(end))


# Control inputs


@dataclass(frozen=True)
class _ControlInputCommand(Rewire):
    op: kinds.OpName
    ops: kinds.OpNames

    def _numbers(self, index: GraphIndex, *, there: bool) -> tuple[EdgeMoves, int, list[int]]:
        """The op, and which of the others are to be added, or removed; GraphEditError when it does
        not wait for one of those.
        """
        moves, op = EdgeMoves(index), index.op(self.op)
        ops = list(dict.fromkeys(index.op(name) for name in self.ops))
        current = moves.current_control_inputs(op)
        if not there:
            ops = [other for other in ops if other not in current]
        if not ops:
            names = names_text(self.ops) or "no op"
            moves.nothing = (
                f"{self.op!r} waits for {names} already." if self.ops else "No op is named."
            )
        wrong = [index.names[other] for other in ops if there and other not in current]
        if wrong:
            current_text = names_text([index.names[other] for other in current]) or "nothing"
            raise GraphEditError(
                f"{self.op!r} does not wait for {names_text(wrong)}; it waits for {current_text}, "
                "so name others.",
                [index.names[op], *wrong],
            )
        return moves, op, ops


@register
@dataclass(frozen=True)
class AddControlInputs(_ControlInputCommand):
    """Add control inputs to an op, which then runs after them.

    Args:
        op: The op.
        ops: The ops that must run before it.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The edge would close a cycle, or cross the border of a loop.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.add_control_inputs("loss", ["net/hidden/Relu"])
        >>> editor.ops("loss").control_inputs
        ('^net/hidden/Relu',)
    """

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Added control dependency of {self.op} on {subject_text(self.ops)}"

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        moves, op, ops = self._numbers(context.index, there=False)
        name = context.index.names[op]
        if name in {split_tensor(tensor)[0] for tensor in context.arguments}:
            raise GraphEditError(
                f"Op {name!r} is an argument of the function, which has its value before anything "
                "of the function runs; add the control inputs to the ops that read it.",
                [name],
            )
        moves.control_inputs[op] = (*moves.current_control_inputs(op), *ops)
        return moves


@register
@dataclass(frozen=True)
class RemoveControlInputs(_ControlInputCommand):
    """Remove control inputs of an op.

    Args:
        op: The op.
        ops: The ops that it need no longer run after.

    Returns:
        What was changed.

    Raises:
        GraphEditError: One of them is not a control input.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.remove_control_inputs(
        ...     "train", "train/update_net/w/ResourceApplyGradientDescent"
        ... )
        >>> len(editor.ops("train").control_inputs)
        2
    """

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        which = f"control dependency of {self.op} on {subject_text(self.ops)}"
        return f"Removed {which if self.ops else f'all control dependencies of {self.op}'}"

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        moves, op, ops = self._numbers(context.index, there=True)
        moves.control_inputs[op] = tuple(
            other for other in moves.current_control_inputs(op) if other not in ops
        )
        return moves
