"""Replace: a part of the graph by a Python function or by another part.

The consumers of the old outputs read the new ones. The old ops stay, to be compared, or are
removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext, TracedFunction
from tfgraphwidget.edits.patch import NodeChange, Patch, Report, apply_patch, combine, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire.carried_gradients import (
    CARRIED,
    PartGradients,
    can_be_carried,
    part_gradients,
)
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves
from tfgraphwidget.edits.rewire.gradients import possible_gradient_notes
from tfgraphwidget.edits.rewire.operands import connected_parts
from tfgraphwidget.edits.rewire.stale_gradients import BackwardOps, stale_gradient_notes
from tfgraphwidget.edits.rewire.validation import check
from tfgraphwidget.edits.rewire.waiting import waits_of
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    OpsArgument,
    Tensor,
    check_dtype,
    check_one_frame,
    resolve_ops,
    tensor,
    tensor_consumers,
    tensor_name,
)
from tfgraphwidget.edits.rewrite.gradient_grafts import GradientGrafts, unused_gradient_ops
from tfgraphwidget.edits.rewrite.graft import graft_function, make_wait
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import HANDLES, NEXT, GraphIndex, Part, Selection, traversal
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import free_name, names_text, split_input, split_tensor
from tfgraphwidget.sentences import Sentence, either, in_cell
from tfgraphwidget.tf_types import NodeDef, OpsLike, TensorKey, TensorLike

_NO_GRADIENTS: tuple[PartGradients, ...] = ()


@register
@dataclass(frozen=True)
class Replace(Command):
    """Connect the consumers of an op, a name scope or a selection to other ops.

    The ops that a function makes wait for what the old ones waited for. In a graph that trains, the
    gradients go through a function that takes the place of ops with one output, where that can be;
    else the result says which gradients stay as they were.

    Args:
        what: The op, name scope or selection to replace.
        by: A Python function of the input tensors of `what` (`Selection.inputs`, in their order)
            that returns a tensor for each output; an op type ("Elu") of those inputs; or another
            selection, op or name scope, whose outputs take the place of the old ones in their
            order. A name of the graph goes before a type, unless a name, scope or attributes are
            given for a new op.
        into: The name scope of the function's ops, in place of `name`.
        name: The name of the new op ("net/act"), or of the name scope of several; None for that of
            the function, beside the old ops.
        outputs: {old tensor: new tensor} in place of the order.
        remove: Remove the old ops, and what only they needed.
        attributes: Attributes of the op type, or keyword arguments of the function, by name.
        more: The same as `attributes`: `editor.replace("relu", "LeakyRelu", alpha=0.1)`.

    Returns:
        What was changed.

    Raises:
        InvalidArgument: The op type has no attribute of a name, or a value does not fit.
        GraphEditError: The function fails, or the new outputs do not fit the consumers.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> report = editor.replace("net/hidden/Relu", tf.nn.elu, into="body", remove=True)
        >>> report.removed, report.notes
        (('net/hidden/Relu', 'gradients/net/hidden/Relu_grad/ReluGrad'),
         ('The gradients go through it, too.',))
        >>> "body/Elu" in editor
        True
    """

    what: OpsArgument
    by: kinds.Function
    into: str = ""
    _: KW_ONLY
    outputs: kinds.TensorPairs = ()
    remove: bool = False
    attributes: kinds.Attributes = ()
    name: str = ""

    @classmethod
    def from_call(
        cls,
        resolver: kinds.Resolver,
        /,
        what: OpsLike,
        by: object,
        into: str | None = None,
        *,
        name: str | None = None,
        outputs: Mapping[TensorKey, TensorLike] | None = None,
        remove: bool = False,
        attributes: Mapping[str, object] | None = None,
        **more: object,
    ) -> Command:
        """The command of a call, whose further keywords are attributes of the op type."""
        new = any(each is not None for each in (name, into, attributes)) or bool(more)
        is_function = resolver.is_function(by, new=new)
        if not is_function:
            by = resolver.replacement(by)
        pairs = tuple(
            (resolver.tensor(old), resolver.tensor(new)) for old, new in (outputs or {}).items()
        )
        part = resolver.part(what, ops=True)
        if not is_function:
            name = None  # other ops of the graph have names
        elif name is None and into is None:
            name = resolver.free_name_for(by, resolver.ops_of(part), instead=remove)
        options = kinds.attribute_pairs(resolver, attributes, more)
        return cls(
            part,
            by,
            into or "",
            outputs=pairs,
            remove=remove,
            attributes=options,
            name=kinds.one_name(name, into),
        )

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Replaced {subject_text(self.what)} with {subject_text(self.by)}"

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it {self.name!r}" if self.name else ""

    def plan(self, context: PlanContext) -> Patch:
        """The patch. Raises GraphEditError where outputs do not match in number, dtype or place."""
        is_part = isinstance(self.by, Selection | tuple)
        if is_part and self.attributes:
            raise GraphEditError(
                "Other ops of the graph have their attributes already; leave out attributes."
            )
        if not resolve_ops(context.index, self.what):
            return nothing_to_do("The selection holds no ops, so there is nothing to replace.")
        if is_part:
            patch, gradients = self._by_part(context), _NO_GRADIENTS
        else:
            patch, gradients = self._by_function(context)
        index = context.index
        notes = possible_gradient_notes(
            index,
            traversal.mask_of(index, self.part(index).ids),
            subject_text(self.what),
            context.new_names,
        )
        patch = patch.with_notes(*notes)
        if not self.remove:
            return patch
        external = tuple(
            name for name in context.external_tensors if name not in dict(patch.output_renames)
        )
        part = self.part(index)
        if not is_part:
            patch = _awaiting_the_new(index, part, patch)
        unused = [index.names[op] for op in sorted(unused_gradient_ops(index, gradients))]
        rest = Remove((*part.ops, *_captured_for(index, part), *unused)).patch(
            apply_patch(index, patch), external
        )
        return combine(index, patch, rest)

    def part(self, index: GraphIndex) -> Selection:
        """The ops to be replaced, with their inputs and outputs."""
        ops = resolve_ops(index, self.what)
        if not ops:
            raise GraphEditError("The selection holds no ops; select some.")
        return Selection.of(index, ops, "")

    def tensors(self, index: GraphIndex) -> tuple[str, ...]:
        """The tensors that an op type is called on: all inputs of an op, also twice."""
        return self._slots(index, self.part(index))

    def _outputs(self, context: PlanContext, part: Part, count: int) -> tuple[str, ...]:
        """The outputs that `count` new tensors take the place of: all, those that have consumers,
        or those that have some beside the gradient ops of the part.
        """
        index, results = context.index, set(context.external_tensors)

        def outputs_read_beside(ops: Collection[int]) -> tuple[str, ...]:
            return tuple(
                name
                for name in part.outputs
                if name in results
                or not set(tensor_consumers(index, tensor(index, name))).issubset(ops)
            )

        read = outputs_read_beside(part.ids)
        gradient_ops = BackwardOps(index, context.new_names).ops
        for names in (read, outputs_read_beside({*part.ids, *gradient_ops}), part.outputs):
            if len(names) == count:
                return names
        raise GraphEditError(
            f"{count} tensor{'s' * (count != 1)} cannot take the place of the "
            f"{len(read) or len(part.outputs)} that come out ({names_text(read or part.outputs)}); "
            "let the function give one for each.",
            part.ops[:1],
        )

    def _by_function(self, context: PlanContext) -> tuple[Patch, tuple[PartGradients, ...]]:
        """The patch, and the gradients of what is replaced that others take the place of."""
        index, part = context.index, self.part(context.index)
        parts = [each for each in connected_parts(index, part) if self._fed_by(index, each)]
        if len(parts) < 2:
            parts = [part]
        elif isinstance(self.by, str):
            return self._each_by_type(context, parts)
        graft = self._graft(context, part, self.name or self.into)
        replaced = {split_tensor(name)[0] for name in graft.outputs}
        missing = next((each.ops[-1] for each in parts if replaced.isdisjoint(each.ops)), None)
        if missing is not None:
            raise GraphEditError(
                f"{missing!r} has no consumers, so the function would not take its place; leave it "
                "out, or let the function give a tensor for it, too.",
                [missing],
            )
        return self._with_gradients(context, graft.patch, [graft])

    def _each_by_type(
        self, context: PlanContext, parts: Sequence[Selection]
    ) -> tuple[Patch, tuple[PartGradients, ...]]:
        """The patch that puts an op of the type in place of each of several separate parts."""
        index = context.index
        names_in_use = {name.lower() for name in (*index.used_names(), *index.reserved)}
        grafts: list[_ReplacedPart] = []
        for part in parts:
            if grafts:
                name = free_name(self.name or self.into, names_in_use)
            else:
                name = self.name or self.into
            names_in_use.add(name.lower())
            grafts.append(self._graft(context, part, name))
        joined = grafts[0].patch
        for graft in grafts[1:]:
            joined = _beside(index, joined, graft.patch)
        return self._with_gradients(context, joined, grafts)

    def _with_gradients(
        self, context: PlanContext, patch: Patch, parts: Sequence[_ReplacedPart]
    ) -> tuple[Patch, tuple[PartGradients, ...]]:
        """The patch with the gradients of the path going through the new ops where that can be, and
        the gradients that these take the place of.
        """
        index = context.index
        if not stale_gradient_notes(index, patch, context.new_names):
            return patch, _NO_GRADIENTS
        backward = BackwardOps(index, context.new_names)
        grafts = GradientGrafts(context, index, {node.name.lower() for node in patch.add.nodes})
        carried: list[Tensor] = []
        replaced: list[PartGradients] = []
        new: dict[Tensor, str] = {}
        for each in parts:
            gradients = each.gradients(backward)
            if gradients is None:
                continue
            added = grafts.replace(
                self.by, each.sources(index), gradients, each.patch.scopes[0], self.attributes
            )
            if added is not None:
                new |= added
                carried.append(tensor(index, each.outputs[0]))
                replaced += gradients
        if not carried:
            return patch, _NO_GRADIENTS
        for old, name in patch.output_renames:
            new[tensor(index, old)] = name
        inside = {op for each in parts for op in each.part.ids}
        changed = _consumers_reading(index, new, inside, replaced)
        grafts.follow(new)
        notes = stale_gradient_notes(index, patch, context.new_names, carried=carried)
        patch = patch.with_notes(CARRIED, *notes)
        traces = patch.traces or ((patch.scopes[0], patch.traced),)
        return (
            replace(
                patch,
                add=replace(patch.add, nodes=(*patch.add.nodes, *grafts.nodes)),
                scopes=(*patch.scopes, *grafts.scopes),
                changed=changed,
                traced=None,
                traces=(*traces, *grafts.traces),
                carries_gradients=True,
            ),
            tuple(replaced),
        )

    def _fed_by(self, index: GraphIndex, part: Part) -> tuple[str, ...]:
        """The tensors that a part reads, without variables: functions make their own or none."""
        return tuple(
            name for name in part.inputs if index.types[tensor(index, name)[0]] not in HANDLES
        )

    def _slots(self, index: GraphIndex, part: Part) -> tuple[str, ...]:
        """The same for each input of a single op, which may read one tensor twice."""
        if len(part.ops) > 1:
            return self._fed_by(index, part)
        reads = index.input_tensors(index.ids[part.ops[0]])
        return tuple(tensor_name(index, of) for of in reads if index.types[of[0]] not in HANDLES)

    def _call(self, context: PlanContext, part: Part) -> tuple[TracedFunction, tuple[str, ...]]:
        """The function called on what a part reads, and the names of that."""
        index, names = context.index, self._fed_by(context.index, part)
        for sources in (self._slots(index, part) if isinstance(self.by, str) else names, names):
            tensors = [tensor(index, name) for name in sources]
            specs = [(index.dtypes(op)[port], index.shape(op, port)) for op, port in tensors]
            try:
                return context.trace(self.by, specs, self.attributes), sources
            except GraphEditError:
                if sources == names:
                    raise
        raise AssertionError(self.by)

    def _graft(self, context: PlanContext, part: Selection, name: str) -> _ReplacedPart:
        """Put what the function makes in the place of a part."""
        traced, sources = self._call(context, part)
        index = context.index  # tracing may have imported the graph
        outputs = self._outputs(context, part, len(traced.outputs))
        check_one_frame(index, part.ids, [tensor(index, name) for name in outputs])
        into, name = ("", name) if self.name else (name, "")
        graft = graft_function(traced, index, sources, into, name=name)
        waits = waits_of(index, part.ids, _unread(index, part, graft.change.nodes))
        make_wait(graft.change.nodes, [index.names[op] for op in waits])
        rewriter = ConsumerRewriter(index)
        for k, (old, new) in enumerate(zip(outputs, graft.outputs, strict=True)):
            of = tensor(index, old)
            reading = [op for op in tensor_consumers(index, of) if op not in part.ids]
            check_dtype(index, reading, of, new, traced.dtype(k))
            _check_no_path_back(index, part, reading, waits)
            for consumer in reading:
                rewriter.redirect(consumer, of, new)
        patch = Patch(
            add=graft.change,
            scopes=(name or into,),
            changed=rewriter.changes(),
            report=Report((*graft.notes, *_lost_waits(index, part, waits, graft.change.nodes))),
            output_renames=tuple(zip(outputs, graft.outputs, strict=True)),
            traced=graft.traced,
        )
        return _ReplacedPart(part, traced, sources, outputs, patch)

    def _by_part(self, context: PlanContext) -> Patch:
        index = context.index
        part = self.part(index)
        other = Selection.of(index, resolve_ops(index, self.by), "")
        if not part.ids.isdisjoint(other.ids):
            raise GraphEditError(
                "The ops share some with those that are to replace them; choose others.",
                part.ops[:1],
            )
        pairs = self.outputs or (
            *_pair_boundaries("input", part.inputs, other.inputs),
            *_pair_boundaries("output", part.outputs, other.outputs),
        )
        moves = EdgeMoves(index)
        renames = []
        # The gradients of the other part read what that reads.
        backward = BackwardOps(index, context.new_names)
        gradients = (backward.by_owner.get(op, ()) for op in other.ids if backward.ops)
        reading = other.ids.union(*gradients)
        for old, new in pairs:
            a, b = tensor(index, old), tensor(index, new)
            if a[0] in part.ids:
                renames.append((old, new))
                slots = [slot for slot in moves.consumers(a) if slot[0] not in part.ids | reading]
                moves.inputs |= dict.fromkeys(slots, b)
            else:
                moves.inputs |= {slot: a for slot in moves.consumers(b) if slot[0] in reading}
        check(moves)
        patch = moves.patch() if moves.changed_inputs() else Patch()
        notes = _lost_waits(index, part, waits_of(index, part.ids, ())) if renames else ()
        return replace(patch, output_renames=tuple(renames)).with_notes(
            *notes, *self._ambiguous(index)
        )

    def _ambiguous(self, index: GraphIndex) -> tuple[Sentence, ...]:
        """What is said where the graph has an op by the name of an op type."""
        name = self.by[0] if isinstance(self.by, tuple) and len(self.by) == 1 else ""
        if not name or index.typing.definition(name) is None:
            return ()
        way = either("give it a name: name=…", "give it a name")
        return (
            f"{name!r} is an op of the graph, which is read now; for a new op of that type, "
            + way
            + ".",
        )


@dataclass(frozen=True)
class _ReplacedPart:
    """A part and what takes its place.

    Attributes:
        part: The part.
        traced: The function that takes its place.
        reads: The names of the tensors that the function is called on.
        outputs: The names of the tensors that it takes the place of.
        patch: The patch that does it.
    """

    part: Selection
    traced: TracedFunction
    reads: tuple[str, ...]
    outputs: tuple[str, ...]
    patch: Patch

    def sources(self, index: GraphIndex) -> list[Tensor]:
        """The tensors that the function is called on."""
        return [tensor(index, name) for name in self.reads]

    def gradients(self, backward: BackwardOps) -> tuple[PartGradients, ...] | None:
        """The gradients of the part; None where those of the function cannot take their place."""
        if len(self.outputs) != 1 or not can_be_carried(self.traced):
            return None
        index = backward.index
        output = tensor(index, self.outputs[0])
        return part_gradients(backward, self.part.ids, output, self.sources(index))


def _consumers_reading(
    index: GraphIndex,
    new: Mapping[Tensor, str],
    inside: Collection[int],
    replaced: Iterable[PartGradients],
) -> tuple[NodeChange, ...]:
    """The consumers outside of replaced parts, reading the new tensors; what waits for gradients
    that were replaced waits for the new ones.
    """
    rewriter = ConsumerRewriter(index)
    for old, name in new.items():
        for consumer in tensor_consumers(index, old):
            if consumer not in inside:
                rewriter.redirect(consumer, old, name)
    for gradients in replaced:
        for of, _ in gradients.leaving:
            rewriter.stand_in(of[0], split_tensor(new[of])[0])
    return rewriter.changes()


def _awaiting_the_new(index: GraphIndex, part: Part, patch: Patch) -> Patch:
    """The patch, in which what waits for an op whose outputs were replaced waits for the new op."""
    rewriter = ConsumerRewriter(index)
    for change in patch.changed:
        rewriter.node(index.ids[change.name]).CopyFrom(change.after)
    for old, new in patch.output_renames:
        op, new_op = tensor(index, old)[0], split_tensor(new)[0]
        if op in part.ids and new_op not in index.ids:
            rewriter.stand_in(op, new_op)
    return replace(patch, changed=rewriter.changes())


def _beside(index: GraphIndex, first: Patch, other: Patch) -> Patch:
    """Two patches of ops of one type that read nothing of each other, as one."""
    changed = {change.name: change for change in first.changed}
    for change in other.changed:
        before = change.before
        now = changed[change.name].after if change.name in changed else change.before
        after = copy_of(now)
        for k, (old, new) in enumerate(zip(before.input, change.after.input, strict=True)):
            if old != new:
                after.input[k] = new
        changed[change.name] = NodeChange(before, after)
    traces = first.traces or (((first.scopes[0], first.traced),) if first.traced else ())
    return replace(
        first,
        add=replace(first.add, nodes=(*first.add.nodes, *other.add.nodes)),
        scopes=(*first.scopes, *other.scopes),
        changed=tuple(sorted(changed.values(), key=lambda change: index.ids[change.name])),
        report=Report(tuple(dict.fromkeys((*first.report.notes, *other.report.notes)))),
        output_renames=(*first.output_renames, *other.output_renames),
        traced=None,
        traces=(*traces, *(((other.scopes[0], other.traced),) if other.traced else ())),
    )


def _captured_for(index: GraphIndex, part: Part) -> tuple[str, ...]:
    """The variables that a function captures for a part alone, used nowhere else."""
    names = (
        variable.handle
        for variable in index.variable_defs
        if variable.resource and not variable.initializer
    )
    return tuple(
        name
        for name in names
        if name in index.ids
        and part.ids.issuperset(index.consumer_lists[index.ids[name]])
        and name not in part.ops
    )


def _pair_boundaries(
    what: str, old: tuple[str, ...], new: tuple[str, ...]
) -> Iterable[tuple[str, str]]:
    if len(old) != len(new):
        raise GraphEditError(
            f"{len(old)} {what}s ({names_text(old)}) and {len(new)} to take their place "
            f"({names_text(new)}) "
            "make no pairs; " + in_cell("say which is for which: outputs={old: new}.")
        )
    return zip(old, new, strict=True)


def _unread(index: GraphIndex, part: Part, new: Sequence[NodeDef]) -> set[int]:
    """The ops whose outputs a part reads, and none of the new ops."""
    read = {split_input(text)[0] for node in new for text in node.input}
    sources = {source for op in part.ids for source in index.input_lists[op]} - part.ids
    return {source for source in sources if index.names[source] not in read}


def _lost_waits(
    index: GraphIndex, part: Part, waits: Sequence[int], new: Sequence[NodeDef] = ()
) -> tuple[str, ...]:
    """What is said where no new op waits for what a part waits for."""
    if not waits or new:
        return ()
    names = names_text([index.names[op] for op in waits])
    return (f"{part.ops[0]!r} waits for {names}; what takes its place does not.",)


def _check_no_path_back(
    index: GraphIndex, part: Part, reading: Iterable[int], waits: Iterable[int]
) -> None:
    """Raise when what comes out of the part goes into it again, or is waited for in it: no function
    can replace both halves.
    """
    round_ = traversal.mask_of(index, (op for op, kind in enumerate(index.types) if kind in NEXT))
    downstream = traversal.forward(
        index, [op for op in reading if not round_[op]], within=~(part.mask | round_)
    )
    entering = {op: index.names[op] for op in waits}
    entering |= {tensor(index, name)[0]: name for name in part.inputs}
    for op, name in entering.items():
        if downstream[op]:
            raise GraphEditError(
                f"{name!r} goes into the selection and depends on what comes out of it; select "
                "what lies between too.",
                [index.names[op], *part.ops[:1]],
            )
