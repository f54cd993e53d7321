"""Replace: a part of the graph by a Python function or by another part.

The consumers of the old outputs read the new ones. The old ops stay, to be compared, or are removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, apply_patch, combine
from tfgraphwidget.edits.registry import EditButton, FormField, register
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves
from tfgraphwidget.edits.rewire.gradients import gradient_notes
from tfgraphwidget.edits.rewire.validation import check
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    OpsArgument,
    check_dtype,
    check_one_frame,
    readers,
    resolve_ops,
    tensor,
)
from tfgraphwidget.edits.rewrite.graft import graft_function
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import HANDLES, NEXT, GraphIndex, Part, Selection, traversal
from tfgraphwidget.naming import names_text

_OP_TYPES = ("Relu", "Elu", "Selu", "Relu6", "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Softmax", "Identity")
"""Those that a form proposes."""


@register(
    button=EditButton(
        "Replace",
        "Replace this op with an op of another type that has the same inputs",
        on="op",
        order=55,
        needs=("inputs", "outputs"),
        fields=(FormField("by", "Op type", words=_OP_TYPES, op_type=True),),
        options=(("remove", "True"),),
    )
)
@dataclass(frozen=True)
class Replace(Command):
    """Replace ops by what a function makes, or by other ops of the graph.

    Attributes:
        what: The ops to replace.
        by: A function that is called on the inputs of `what`, variables left out; an op type, which
            is called in the same manner; or other ops, whose inputs and outputs take the place of those of `what` in
            order, or as `ends` says.
        into: The name scope of the ops that the function makes.
        ends: Pairs of (old tensor, new tensor).
        remove: Whether the ops `what` are removed.
        attributes: Attributes of the op type, or keyword arguments of the function, as (name, value) pairs.
        name: In place of `into`: the name of the op that the function makes; of several, that of their name scope.
    """

    what: OpsArgument
    by: Any = field(metadata={"callable": True})
    into: str = ""
    ends: tuple[tuple[str, str], ...] = field(default=(), metadata={"pairs": True})
    remove: bool = False
    attributes: tuple[tuple[str, object], ...] = field(default=(), metadata={"pairs": True})
    name: str = ""

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Replaced {subject_text(self.what)} with {subject_text(self.by)}"

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it {self.name!r}" if self.name else ""

    def plan(self, context: PlanContext) -> Patch:
        """The patch. Raises GraphEditError where ends do not match in number, dtype or place.

        Args:
            context: The graph that the edit is planned on.
        """
        is_part = isinstance(self.by, Selection | tuple)
        if is_part and self.attributes:
            raise GraphEditError("Other ops of the graph have their attributes already; leave out attributes.")
        patch = self._by_part(context.index) if is_part else self._by_function(context)
        index = context.index
        notes = gradient_notes(
            index, traversal.mask_of(index, self.part(index).ids), subject_text(self.what), context.new_names
        )
        patch = replace(patch, notes=(*patch.notes, *notes))
        if not self.remove:
            return patch
        external = tuple(name for name in context.external_tensors if name not in dict(patch.output_renames))
        part = self.part(index)
        rest = Remove((*part.ops, *_captured_for(index, part))).patch(apply_patch(index, patch), external)
        return combine(index, patch, rest)

    def part(self, index: GraphIndex) -> Part:
        """The ops to be replaced, with their inputs and outputs.

        Args:
            index: The graph.
        """
        ops = resolve_ops(index, self.what)
        if not ops:
            raise GraphEditError("The selection holds no ops, so there is nothing to replace; select some.")
        return Selection.of(index, ops, "")

    def tensors(self, index: GraphIndex) -> tuple[str, ...]:
        """The inputs without the variables that are read: the function makes its own, or none.

        Args:
            index: The graph.
        """
        part = self.part(index)
        return tuple(name for name in part.inputs if index.types[tensor(index, name)[0]] not in HANDLES)

    def _outputs(self, context: PlanContext, part: Part, count: int) -> tuple[str, ...]:
        """The outputs that `count` new tensors take the place of: all, or those that have consumers."""
        index, results = context.index, set(context.external_tensors)
        read = tuple(
            n for n in part.outputs if n in results or not part.ids.issuperset(readers(index, tensor(index, n)))
        )
        for names in (read, part.outputs):
            if len(names) == count:
                return names
        raise GraphEditError(
            f"{count} tensor{'s' * (count != 1)} cannot take the place of the {len(read) or len(part.outputs)} that "
            f"come out ({names_text(read or part.outputs)}); let the function give one for each.",
            part.ops[:1],
        )

    def _by_function(self, context: PlanContext) -> Patch:
        index = context.index
        inputs = (tensor(index, name) for name in self.tensors(index))
        specs = [(index.dtypes(op)[port], index.shape(op, port)) for op, port in inputs]
        traced = context.trace(self.by, specs, self.attributes)
        index = context.index
        part = self.part(index)
        outputs = self._outputs(context, part, len(traced.outputs))
        check_one_frame(index, part.ids, [tensor(index, name) for name in outputs])
        graft = graft_function(traced, index, self.tensors(index), self.into, name=self.name)
        rewriter = ConsumerRewriter(index)
        for k, (old, new) in enumerate(zip(outputs, graft.outputs, strict=True)):
            of = tensor(index, old)
            reading = [op for op in readers(index, of) if op not in part.ids]
            check_dtype(index, reading, of, new, traced.dtype(k))
            _check_no_path_back(index, part, reading)
            for reader in reading:
                rewriter.redirect(reader, of, new)
        return Patch(
            add=graft.change,
            scopes=(self.name or self.into,),
            changed=rewriter.changes(),
            notes=graft.notes,
            output_renames=tuple(zip(outputs, graft.outputs, strict=True)),
            traced=graft.traced,
        )

    def _by_part(self, index: GraphIndex) -> Patch:
        part = self.part(index)
        other = Selection.of(index, resolve_ops(index, self.by), "")
        if not part.ids.isdisjoint(other.ids):
            raise GraphEditError("The ops share some with those that are to replace them; choose others.", part.ops[:1])
        pairs = self.ends or (
            *_pair_boundaries("input", part.inputs, other.inputs),
            *_pair_boundaries("output", part.outputs, other.outputs),
        )
        moves = EdgeMoves(index)
        renames = []
        for old, new in pairs:
            a, b = tensor(index, old), tensor(index, new)
            if a[0] in part.ids:
                renames.append((old, new))
                slots = [slot for slot in moves.readers(a) if slot[0] not in part.ids | other.ids]
                moves.inputs |= dict.fromkeys(slots, b)
            else:
                moves.inputs |= {slot: a for slot in moves.readers(b) if slot[0] in other.ids}
        check(moves)
        patch = moves.patch() if moves.changed_inputs() else Patch()
        return replace(patch, output_renames=tuple(renames))


def _captured_for(index: GraphIndex, part: Part) -> tuple[str, ...]:
    """The variables that a function captures for a part alone: nothing else initializes or reads them there."""
    names = (variable.handle for variable in index.variable_defs if variable.resource and not variable.initializer)
    return tuple(
        name
        for name in names
        if name in index.ids and part.ids.issuperset(index.consumer_lists[index.ids[name]]) and name not in part.ops
    )


def _pair_boundaries(what: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    if len(old) != len(new):
        raise GraphEditError(
            f"{len(old)} {what}s ({names_text(old)}) and {len(new)} to take their place ({names_text(new)}) make no "
            "pairs; say which is for which: ends={old: new}."
        )
    return zip(old, new, strict=True)


def _check_no_path_back(index: GraphIndex, part: Part, reading: Iterable[int]) -> None:
    """Raise when what comes out of the part goes into it again: no function can stand for both halves."""
    round_ = traversal.mask_of(index, (op for op, kind in enumerate(index.types) if kind in NEXT))
    behind = traversal.forward(index, [op for op in reading if not round_[op]], within=~(part.mask | round_))
    for name in part.inputs:
        op, _ = tensor(index, name)
        if behind[op]:
            raise GraphEditError(
                f"{name!r} goes into the selection and depends on what comes out of it; select what lies between too.",
                [index.names[op], *part.ops[:1]],
            )
