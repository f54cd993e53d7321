"""Bypass and Detach: disconnect a part of the graph. Its ops stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.freeze.commands import without_training
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire import validation
from tfgraphwidget.edits.rewire.adapters import AdapterType, placeholder
from tfgraphwidget.edits.rewire.carried_gradients import givers, trained_by
from tfgraphwidget.edits.rewire.edge_moves import Boundary, EdgeMoves, Slot, Tensor
from tfgraphwidget.edits.rewire.gradients import (
    GradientOps,
    gradient_mask,
    gradient_owners,
    gradients_of,
    possible_gradient_notes,
)
from tfgraphwidget.edits.rewire.operands import as_part, connected_parts, part_text, tensors
from tfgraphwidget.edits.rewire.reroute import Rewire
from tfgraphwidget.edits.rewire.stale_gradients import is_differentiable
from tfgraphwidget.edits.rewire.waiting import runs_before, waits_of
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONTROL,
    ENTER,
    EXIT,
    MERGE,
    NEXT,
    PRINTS,
    SHAPE_QUERIES,
    SWITCH,
    Conditional,
    GraphIndex,
    Mask,
    Selection,
    are_compatible,
    computed_from_outside,
    enclosing_blocks,
    traversal,
)
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import Sentence, drawn_shape, either

_GRADIENTS_TOO = "Its gradients are bypassed, too."


def _inputs(resolver: kinds.Resolver, by: Any) -> str | tuple[tuple[str, str], ...]:
    """The tensors that consumers get: pairs, one tensor, or () for the only fitting input."""
    if isinstance(by, Mapping):
        return tuple(
            (resolver.name(output), resolver.name(tensor)) for output, tensor in by.items()
        )
    is_empty = by is None or (isinstance(by, tuple | list) and not by)
    return () if is_empty else resolver.name(by)


@register
@dataclass(frozen=True)
class Bypass(Rewire):
    """Connect the consumers of an op, scope or selection to its input, for example to skip dropout.

    The ops stay in the graph, without consumers.

    Without `by`, outputs and inputs are paired in order where they are equally many and fit.
    Otherwise each output is replaced by the only input of its dtype and static shape, or by the
    only such input that is not a constant or variable and of which more is used than its shape.
    Outputs that are read only after other outputs, as by gradients, keep their consumers. Ops that
    wait for an op of the part wait for what the part reads and waits for, and ops that read past it
    for what it waits for. Of several parts that no
    edge joins each is bypassed, or none is.

    Args:
        what: The op, name scope or selection.
        by: The input to connect to, if several have the dtype and static shape of the output; or a
            dict {output: tensor to read instead}, for these outputs alone.
        adapter: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
        names: The names of the ops that are inserted.
        gradients: Bypass the gradient ops of the part, too, so that the graph goes on training:
            what read the gradient of its input reads that of its output. Nothing else happens where
            it has no gradients.

    Returns:
        What was changed.

    Raises:
        GraphEditError: No input fits, or several do; or it is unknown which gradient is which.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.path("net/hidden/Add", "net/logits").ops
        ('net/hidden/Add', 'net/logits')
    """

    what: kinds.Part
    by: Annotated[
        str | tuple[tuple[str, str], ...], kinds.Operand("object", _inputs, is_dict=True)
    ] = ()
    _: KW_ONLY
    adapter: AdapterType = ""
    names: kinds.Texts = ()
    gradients: bool = False

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, **arguments: Any) -> Command:
        """The command of a call; a part without gradient ops is bypassed alone."""
        fields = kinds.resolve_fields(cls, resolver, arguments)
        fields["gradients"] = fields["gradients"] and resolver.has_gradient_ops(fields["what"])
        return cls(**fields)

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Bypassed {subject_text(self.what)}"

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        index = context.index
        part = as_part(index, self.what)
        moves, whole = EdgeMoves(index, self.names), Boundary(index, part.mask)
        moves.notes += possible_gradient_notes(
            index, part.mask, subject_text(self.what), context.new_names
        )
        _add_external(context, whole)
        if not whole.leaving and not whole.waiting:
            what = " has no consumers" if part.ids else " holds no ops"
            moves.nothing = part_text(self.what) + what + ", so there is nothing to bypass."
            return moves
        gradient_ops = None
        if self.gradients:
            moves.carries_gradients = True
            gradient_ops = gradients_of(index, part.mask, context.new_names)
            _leave_out(whole, gradient_ops.mask)
        parts = [part] if isinstance(self.by, tuple) and self.by else connected_parts(index, part)
        backward = gradient_mask(index, context.new_names)
        primary = frozenset(_primary_outputs(index, whole))
        unmatched: list[Tensor] = []
        unread: list[str] = []
        ways: set[Tensor] = set()
        for each in parts:
            boundary = whole if len(parts) == 1 else whole.of(each.mask)
            if not boundary.leaving and not boundary.waiting:
                unread += each.ops
            elif len(parts) > 1 and _is_bookkeeping(moves, boundary, primary, backward):
                unmatched += boundary.leaving
            else:
                unmatched += self._bypass_part(
                    context, moves, boundary, each, ways, alone=len(parts) == 1
                )
        if gradient_ops is not None:
            self._bypass_gradients(moves, part, gradient_ops, ways, context.new_names)
        outside = Boundary(index, part.mask).leaving.values()
        slots = [slot for each in outside for slot in each if slot not in moves.inputs]
        consumers = list(dict.fromkeys(index.names[op] for op, _ in slots))
        self._add_notes(moves, unmatched, unread, primary, consumers)
        return moves

    def _bypass_part(
        self,
        context: PlanContext,
        moves: EdgeMoves,
        boundary: Boundary,
        part: Selection,
        all_ways: set[Tensor],
        *,
        alone: bool,
    ) -> list[Tensor]:
        """Move the consumers of ops that hang together, and add to `all_ways` the tensors that are
        read in place of outputs; the outputs whose consumers stay.
        """
        try:
            ways = self._ways(moves, boundary)
        except GraphEditError as error:
            if not alone:  # the fixes name a tensor for all parts
                error.fixes = ()
            raise
        all_ways.update(ways.values())
        for tensor, way in ways.items():
            moves.inputs.update(dict.fromkeys(boundary.leaving[tensor], way))
            if moves.tensor_name(tensor) in context.external_tensors:
                _rename_output(moves, tensor, way)
        unmatched = [tensor for tensor in boundary.leaving if tensor not in ways]
        if not unmatched:
            self._go_round(moves, boundary, part, {op for op, _ in ways.values()})
        self._carry_waits(moves, boundary, part, ways)
        return unmatched

    def _add_notes(
        self,
        moves: EdgeMoves,
        unmatched: list[Tensor],
        unread: list[str],
        primary: Collection[Tensor],
        consumers: list[str],
    ) -> None:
        """Say what is read as before, and what stays without consumers, or with `consumers`."""
        if unread and not isinstance(self.what, str):
            verb = "has" if len(unread) == 1 else "have"
            moves.notes.append(
                f"{names_text(unread)} {verb} no consumers, so there is nothing to bypass."
            )
        if not unmatched:
            read = f"read by {names_text(consumers)}" if consumers else "without consumers outside"
            moves.notes.append(part_text(self.what) + f" stays in the graph, {read}.")
            return
        tensors = names_text([moves.tensor_name(tensor) for tensor in unmatched])
        verb = "is" if len(unmatched) == 1 else "are"
        moves.notes.append(f"{tensors} of " + part_text(self.what) + f" {verb} read as before.")
        if not self.by and not set(unmatched) & set(primary):
            moves.notes.append(
                "What reads it comes after; if these are gradients, compute them again before you "
                "train with them."
            )

    def fix_label(self) -> str:
        """A few words for a button."""
        return super().fix_label() or (f"Read {self.by}" if isinstance(self.by, str) else "")

    def _ways(self, moves: EdgeMoves, boundary: Boundary) -> dict[Tensor, Tensor]:
        """For each output the tensor to read in its place."""
        entering, leaving = list(boundary.entering), _primary_outputs(moves.index, boundary)
        if isinstance(self.by, str):
            return dict.fromkeys(leaving, self._one(moves, self.by))
        if self.by:
            leaving = list(boundary.leaving)
            replacements = {self._one(moves, out): self._one(moves, way) for out, way in self.by}
            wrong = next((out for out in replacements if out not in boundary.leaving), None)
            if wrong is not None:
                read = names_text([moves.tensor_name(tensor) for tensor in leaving]) or "nothing"
                raise GraphEditError(
                    "No op outside of "
                    + part_text(self.what)
                    + f" reads {moves.tensor_name(wrong)!r} of it; what is read is {read}.",
                    [moves.name(wrong[0])],
                )
            return replacements
        pairs = list(zip(leaving, entering, strict=False)) if len(leaving) == len(entering) else []
        if len(pairs) == 1 or (pairs and all(_fits(moves, *pair) for pair in pairs)):
            return dict(pairs)
        return {tensor: self._only_way(moves, tensor, boundary) for tensor in leaving}

    def _bypass_gradients(
        self,
        moves: EdgeMoves,
        part: Selection,
        backward: GradientOps,
        ways: Collection[Tensor],
        renamed: Mapping[str, str],
    ) -> None:
        """Connect the consumers of the gradient of each of the inputs `ways`, which are read in
        place of outputs, to the gradient of the output.
        """
        parts = [
            (each, gradients_of(moves.index, each.mask, renamed))
            for each in connected_parts(moves.index, part)
        ]
        own_ops = np.logical_or.reduce([gradients.mask for _, gradients in parts])
        if (backward.mask & ~own_ops).any():
            # Of a tape, which names them after the scope of all parts.
            parts = [(part, backward)]
        for each, gradients in parts:
            self._bypass_gradients_of(moves, each, gradients, ways, renamed)

    def _bypass_gradients_of(
        self,
        moves: EdgeMoves,
        part: Selection,
        backward: GradientOps,
        ways: Collection[Tensor],
        renamed: Mapping[str, str],
    ) -> None:
        """Connect the gradients of one connected part, scope by scope, as `_bypass_gradients`."""
        for scope in backward.scopes:
            boundary = Boundary(moves.index, part.mask | backward.mask)
            passed_on = [
                tensor
                for tensor in boundary.leaving
                if backward.mask[tensor[0]] and moves.name(tensor[0]).startswith(scope)
            ]
            leaving = _input_gradients(boundary, passed_on, scope, ways, renamed)
            others = [tensor for tensor in passed_on if tensor not in leaving]
            readers = sorted({op for tensor in others for op, _ in boundary.leaving[tensor]})
            if readers:
                verb = "reads" if len(readers) == 1 else "read"
                moves.notes.append(
                    f"{names_text([moves.name(op) for op in readers])} {verb} gradients of "
                    + part_text(self.what)
                    + " as before; compute gradients again before you train."
                )
            entering = [
                tensor for tensor in boundary.entering if moves.name(tensor[0]).startswith(scope)
            ]
            fitting = [way for way in entering if leaving and _fits(moves, leaving[0], way)]
            if not leaving:
                continue
            if len(leaving) > 1 or len(fitting) != 1:
                raise GraphEditError(
                    f"{len(entering):,} gradients enter "
                    + part_text(self.what)
                    + f" and {len(leaving):,} leave it, so its gradients cannot be bypassed with "
                    "it; strip training first, and compute gradients again after the bypass.",
                    [moves.name(op) for op, _ in (*leaving, *entering)],
                    without_training(moves.index),
                    code="gradients-not-bypassed",
                )
            moves.inputs.update(dict.fromkeys(boundary.leaving[leaving[0]], fitting[0]))
            if _GRADIENTS_TOO not in moves.notes:
                moves.notes.append(_GRADIENTS_TOO)

    @staticmethod
    def _one(moves: EdgeMoves, name: str) -> Tensor:
        """The one tensor of a name. Raises GraphEditError for the name of several."""
        candidates = tensors(moves.index, name)
        if len(candidates) != 1 or candidates[0][1] == CONTROL:
            raise GraphEditError(
                either(f"by= names {name!r}, which", repr(name))
                + f" is {len(candidates)} tensors; name one: 'op:0'."
            )
        return candidates[0]

    def _only_way(self, moves: EdgeMoves, tensor: Tensor, boundary: Boundary) -> Tensor:
        """The only tensor that comes in and fits the consumers of one that goes out."""
        entering = list(boundary.entering)
        fitting = [way for way in entering if _fits(moves, tensor, way)]
        fed = _computed_from_inputs(moves.index, fitting) if len(fitting) > 1 else fitting
        if len(fed) > 1:
            # A print has what it prints beside what it passes on, a dropout asks for a shape.
            slots = boundary.entering
            fed = [
                way for way in fed if any(_uses_value(moves.index, op, k) for op, k in slots[way])
            ]
        if len(fed) == 1:
            return fed[0]
        output_text = _description(moves, tensor)
        ops = dict.fromkeys(moves.name(op) for op, _ in (tensor, *(fitting or entering)))
        if fitting:
            raise GraphEditError(
                part_text(self.what)
                + f" reads {names_text([moves.tensor_name(t) for t in fitting])}, and each would "
                "fit those "
                "that read " + output_text + "; choose one of them.",
                ops,
                [replace(self, by=moves.tensor_name(way)) for way in fitting],
                code="several-inputs-fit",
            )
        inputs_text = Sentence(", ").join(_description(moves, t) for t in entering) or "nothing"
        raise GraphEditError(
            part_text(self.what)
            + " reads "
            + inputs_text
            + ", and none of it fits those that read "
            + output_text
            + "; connect each of them to another tensor instead.",
            ops,
            code="no-input-fits",
        )

    def _go_round(
        self, moves: EdgeMoves, boundary: Boundary, part: Selection, ways: set[int]
    ) -> None:
        """Let who waits for an op of the part wait for what comes before the part."""
        around = sorted({*(ways or {op for op, _ in boundary.entering}), *boundary.control_inputs})
        for op in boundary.waiting:
            waits = [c for c in moves.current_control_inputs(op) if c not in part.ids]
            new = [other for other in around if other != op]
            moves.control_inputs[op] = tuple(dict.fromkeys([*waits, *new]))

    def _carry_waits(
        self, moves: EdgeMoves, boundary: Boundary, part: Selection, ways: Mapping[Tensor, Tensor]
    ) -> None:
        """Let who reads past the part wait for what its outputs waited for: updates, checks."""
        index = moves.index
        needed = traversal.backward(index, {op for op, _ in ways}, within=part.mask) & part.mask
        now_read = {op for op, _ in ways.values()}
        unread = {op for op, _ in boundary.entering} - now_read
        done_before = runs_before(index, now_read)
        waits = [
            op
            for op in waits_of(index, np.flatnonzero(needed).tolist(), unread)
            if not done_before[op] and not part.mask[op]
        ]
        reading = {op for tensor in ways for op, _ in boundary.leaving[tensor]}
        reading -= part.ids
        waiting = [op for op in sorted(reading) if waits and _may_wait(index, op, waits)]
        for op in waiting:
            now = moves.control_inputs.get(op, moves.current_control_inputs(op))
            moves.control_inputs[op] = tuple(dict.fromkeys((*now, *waits)))
        if waits:
            before = names_text([moves.name(op) for op in waits])
            not_waiting = [moves.name(op) for op in sorted(reading.difference(waiting))]
            if waiting and not not_waiting:
                who = names_text([moves.name(op) for op in waiting])
                wait = "waits" if len(waiting) == 1 else "wait"
                moves.notes.append(
                    f"{who} {wait} for {before} now, as " + part_text(self.what) + " did."
                )
            else:
                who = names_text(not_waiting) or "what is read in its place"
                do = "do" if len(not_waiting) > 1 else "does"
                moves.notes.append(part_text(self.what) + f" waits for {before}; {who} {do} not.")


@register
@dataclass(frozen=True)
class Detach(Rewire):
    """Disconnect an op, a name scope or a selection: it reads new placeholders, and so do its
    consumers.

    Args:
        what: The op, name scope or selection.
        inputs: Disconnect its inputs.
        outputs: Disconnect its consumers.
        control: Remove control edges across the boundary too.
        names: The names of the placeholders.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The part cannot be disconnected.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.detach("net/hidden/Relu").added
        ('net/hidden/Add_placeholder', 'net/hidden/Relu_placeholder')
    """

    what: kinds.Part
    _: KW_ONLY
    inputs: bool = True
    outputs: bool = True
    control: bool = False
    names: kinds.Texts = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Detached {subject_text(self.what)}"

    @property
    def adds(self) -> bool:
        """Whether it may add ops."""
        return True

    def edge_moves(self, context: PlanContext) -> EdgeMoves:
        """The edges to move, not checked yet."""
        index = context.index
        part = as_part(index, self.what)
        moves, boundary = EdgeMoves(index, self.names), Boundary(index, part.mask)
        for tensor, slots in (boundary.entering if self.inputs else {}).items():
            self._stand_in(moves, tensor, slots)
        for tensor, slots in (boundary.leaving if self.outputs else {}).items():
            self._stand_in(moves, tensor, slots)
        if self.control:
            for op in np.flatnonzero(part.mask).tolist() if boundary.control_inputs else ():
                waits = moves.current_control_inputs(op)
                moves.control_inputs[op] = tuple(c for c in waits if c in part.ids)
            for op in boundary.waiting:
                waits = moves.current_control_inputs(op)
                moves.control_inputs[op] = tuple(c for c in waits if c not in part.ids)
        if not moves.inputs and not moves.control_inputs:
            what = " has no such edges" if part.ids else " holds no ops"
            moves.nothing = part_text(self.what) + what + ", so there is nothing to cut."
        return moves

    def _stand_in(self, moves: EdgeMoves, tensor: Tensor, slots: list[Slot]) -> None:
        """Let a new placeholder represent a tensor."""
        wrong = next(
            (op for op, k in slots if validation.takes_reference(moves.index, op, k)), None
        )
        if wrong is not None:
            raise GraphEditError(
                f"{moves.name(wrong)!r} changes the variable {moves.tensor_name(tensor)!r}, and no "
                f"placeholder can replace one; detach {moves.name(wrong)!r} and "
                f"{moves.name(tensor[0])!r} together, or neither.",
                [moves.name(wrong), moves.name(tensor[0])],
            )
        moves.inputs.update(dict.fromkeys(slots, (placeholder(moves, tensor), 0)))


def _may_wait(index: GraphIndex, op: int, waits: Iterable[int]) -> bool:
    """Whether a control edge from each of the others would be in one loop or branch with the op."""
    kind, blocks = index.types[op], enclosing_blocks(index, op)
    if blocks and kind in MERGE | EXIT | NEXT:
        return False
    # A Switch or an Enter of a block runs outside of it.
    is_switch = kind in SWITCH and blocks and isinstance(blocks[0], Conditional)
    around = blocks[1:] if is_switch or kind in ENTER else blocks
    return all(enclosing_blocks(index, other) == around for other in waits)


def _leave_out(boundary: Boundary, ops: Mask) -> None:
    """Let the inputs of some ops be as they are."""
    for tensor, slots in list(boundary.leaving.items()):
        remaining = [slot for slot in slots if not ops[slot[0]]]
        boundary.leaving[tensor] = remaining
        if not remaining:
            del boundary.leaving[tensor]


def _is_bookkeeping(
    moves: EdgeMoves, boundary: Boundary, primary: Collection[Tensor], backward: Mask
) -> bool:
    """Whether ops give only what is read after the rest of a part: by gradients, or the shape of an
    input, say.
    """

    def is_aside(tensor: Tensor) -> bool:
        if tensor in primary:
            return False
        if all(backward[op] for op, _ in boundary.leaving[tensor]):
            return True
        is_value = is_differentiable(moves.index, tensor)
        return not is_value and not any(_fits(moves, tensor, way) for way in boundary.entering)

    return bool(boundary.leaving) and all(is_aside(tensor) for tensor in boundary.leaving)


def _input_gradients(
    boundary: Boundary,
    passed_on: Sequence[Tensor],
    scope: str,
    ways: Collection[Tensor],
    renamed: Mapping[str, str],
) -> list[Tensor]:
    """Of the gradients that a part passes on those of what is read in its place: of a variable,
    those that its optimizer reads; else those that other gradients read, or what is no optimizer.
    """
    index = boundary.index
    consumers = {tensor: [op for op, _ in boundary.leaving[tensor]] for tensor in passed_on}
    further = {
        tensor: [op for op in ops if index.names[op].startswith(scope)]
        for tensor, ops in consumers.items()
    }
    trained = {
        tensor: trained_by(index, set(ops).difference(further[tensor]))
        for tensor, ops in consumers.items()
    }
    read_instead = set[int]().union(*(givers(index, way) for way in ways))
    before = traversal.backward(index, [op for op, _ in ways])

    def goes_on(tensor: Tensor) -> bool:
        """Whether other gradients read a gradient, of ops that come before the part."""
        owners = gradient_owners(index, further[tensor], renamed)
        return bool(further[tensor]) and (not owners or bool(before[list(owners)].any()))

    of_variables = [t for t in passed_on if not trained[t].isdisjoint(read_instead)]
    if of_variables:
        return of_variables
    read_by_gradients = [t for t in passed_on if goes_on(t)]
    return read_by_gradients or [t for t in passed_on if not further[t] and not trained[t]]


def _add_external(context: PlanContext, boundary: Boundary) -> None:
    """Add the tensors that callers receive to those that leave the part, read or not."""
    for end in (tensors(context.index, name)[0] for name in context.external_tensors):
        if boundary.mask[end[0]]:
            boundary.leaving.setdefault(end, [])


def _rename_output(moves: EdgeMoves, tensor: Tensor, way: Tensor) -> None:
    """Let callers who are given a tensor be given another one."""
    old_name = moves.tensor_name(tensor)
    if not _fits(moves, tensor, way):
        raise GraphEditError(
            _description(moves, tensor)
            + " is a result that callers are given, and "
            + _description(moves, way)
            + " is of another kind; bypass less.",
            [moves.name(tensor[0]), moves.name(way[0])],
        )
    moves.output_renames[old_name] = moves.tensor_name(way)


def _primary_outputs(index: GraphIndex, boundary: Boundary) -> list[Tensor]:
    """The tensors that leave a part, without those that are read only after others have been."""
    leaving = list(boundary.leaving)
    if len(leaving) < 2:
        return leaving
    consumers = {
        tensor: sorted({op for op, _ in slots}) for tensor, slots in boundary.leaving.items()
    }
    downstream = {tensor: traversal.forward(index, ops) for tensor, ops in consumers.items()}

    def is_after(tensor: Tensor, other: Tensor) -> bool:
        return bool(
            downstream[other][consumers[tensor]].all()
            and not downstream[tensor][consumers[other]].any()
        )

    return [tensor for tensor in leaving if not any(is_after(tensor, other) for other in leaving)]


def _computed_from_inputs(index: GraphIndex, candidates: list[Tensor]) -> list[Tensor]:
    """The tensors that depend on outside inputs, and are no variables or constants."""
    fed = computed_from_outside(index)
    return [tensor for tensor in candidates if fed[tensor[0]]]


def _uses_value(index: GraphIndex, op: int, k: int) -> bool:
    """Whether an op computes with its input k, and does not only print or check it."""
    kind = index.types[op]
    return kind not in SHAPE_QUERIES and kind != "Assert" and not (kind in PRINTS and k > 0)


def _fits(moves: EdgeMoves, tensor: Tensor, way: Tensor) -> bool:
    """Whether what reads a tensor may read another one, as far as dtypes and static shapes are
    known.
    """
    dtype, new_dtype = (moves.dtype(t).removesuffix("_ref") for t in (tensor, way))
    if dtype and new_dtype and dtype != new_dtype:
        return False
    return are_compatible(moves.index.shape(*tensor), moves.index.shape(*way))


def _description(moves: EdgeMoves, tensor: Tensor) -> str:
    """A tensor with its dtype and shape, as a part of a sentence."""
    shape = drawn_shape(moves.index.shape(*tensor))
    return f"{moves.tensor_name(tensor)!r} ({moves.dtype(tensor) or 'unknown'} " + shape + ")"
