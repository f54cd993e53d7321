"""Resizing: what follows from another static shape of an input, also in the functions that it is
passed to.

Which static shapes follow is asked of TensorFlow. Where constants still hold an old size they are
listed, or rewritten: by the new number, by -1 where a Reshape or a Slice takes one, else by the
size that the input has when the graph runs. A function never changes: where a constant is in a
body, the call calls a new function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import FunctionContext, PlanContext
from tfgraphwidget.edits.function_calls import redirect_call
from tfgraphwidget.edits.patch import NodeChange, Patch, Report, StaleConstant, apply_patch
from tfgraphwidget.edits.rewire.edge_moves import Tensor
from tfgraphwidget.edits.rewire.gradients import is_gradient_name
from tfgraphwidget.edits.rewrite.constant_sizes import ShapeChanges, SizeConsumer
from tfgraphwidget.edits.rewrite.insert import set_placeholder_spec
from tfgraphwidget.edits.rewrite.list_elements import ListElements
from tfgraphwidget.edits.rewrite.shape_constants import SizeRewriter
from tfgraphwidget.edits.rewrite.stale_shapes import SHAPE_MAKERS, stale_constants
from tfgraphwidget.edits.rewrite.state_rows import OldRows, old_rows
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BRANCHES,
    CONSTANTS,
    FUNCTION_CALLS,
    REQUIRED_PLACEHOLDERS,
    SIZE_FORWARDING,
    TENSOR_ARRAY_WRITES,
    V1_CONTROL_FLOW,
    WHILE_LOOPS,
    FunctionRef,
    GraphIndex,
    Shape,
    called_functions,
    of_type,
    traversal,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import names_text, split_input, split_tensor, take_free_name
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import FunctionDef, NodeDef

Sizes = tuple[tuple[int, int, int | None], ...]
"""(position, old size, new size) of each dimension that was known and is another."""
_ROUNDS = 50  # after which sizes contradict each other, and will not settle
_PLACE = "In function "  # how a note on the body of a function begins
_MOST_PASSED = 20  # ops
_Place = tuple[str, int | None, str, int]
"""A size in a constant, and who takes it: the constant, the place in it, the consumer, and the
consumer's input.
"""


@dataclass
class _NewFunctions:
    """The functions that one edit makes, by what they were and what they do."""

    names: set[str]
    definitions: dict[tuple[str, bytes], FunctionDef] = field(default_factory=dict)

    def name(self, old: str, definition: FunctionDef) -> FunctionDef:
        """A new function under a free name; the same one for what does the same."""
        key = old, definition.SerializeToString(deterministic=True)
        if key not in self.definitions:
            definition.signature.name = take_free_name(f"{old}_resized", self.names)
            self.definitions[key] = definition
        return self.definitions[key]


class Resizing:
    """Finds the constants that follow new shapes, round by round: what one is rewritten to shows
    more shapes.

    Args:
        context: The graph, or the body of a function.
        op: The placeholder; of several one whose size represents those of all.
        sizes: The dimensions of it that were known and are others.
        fix: Whether constants that hold an old size are rewritten.
        fixes: What to suggest where an op refuses the new shapes.
        new: The functions that the edit makes; None for the outermost graph.
        ancestors: The functions that the body is in, itself included.
    """

    def __init__(
        self,
        context: PlanContext,
        op: int,
        sizes: Sizes,
        fix: bool,
        fixes: tuple[Command, ...] = (),
        new: _NewFunctions | None = None,
        ancestors: frozenset[str] = frozenset(),
    ) -> None:
        self.context, self.index, self.op, self.sizes = context, context.index, op, sizes
        self.fix, self.fixes = fix, fixes
        names = {name.lower() for name in self.index.functions} | set(self.index.reserved)
        self.new = new or _NewFunctions(names)
        self.ancestors = ancestors | ({context.function} - {""})
        self._calls: dict[str, _Call] = {}

    def run(self, patch: Patch) -> Patch:
        """The patch with the constants, rewritten if that was asked for.

        Each round proposes sizes for the constants as they were before the edit, from what the
        proposals of the round before make of the shapes, until a round proposes the same. So no
        size is scaled twice, and what was proposed from the shape after a constant that was still
        wrong is proposed again.
        """
        self.index = self._with_shapes_of_calls(patch)
        base, arguments = patch, {split_tensor(name)[0] for name in self.context.arguments}
        original = self._after(base)
        elements = ListElements(self.context, original)
        stale: dict[_Place, StaleConstant] = {}
        arrays: dict[str, NodeChange] = {}
        for _ in range(_ROUNDS):
            shapes, refusal = self._shapes(self._with_calls(patch))
            changes = ShapeChanges(shapes, self.index.names[self.op], self.sizes)
            sizes = _stale_sizes(original, changes, stale)
            if self.fix:
                sizes |= {_place(one): one for one in elements.known_sizes(changes)}
            resized = self._resized_arrays(base, changes)
            is_same = (not self.fix or sizes == stale) and resized == arrays
            stale, arrays = sizes, resized
            if not self._follow_calls(changes) and is_same:
                break
            others = (change for change in base.changed if change.name not in arrays)
            patch = replace(base, changed=(*others, *arrays.values()))
            proposals = [one for one in stale.values() if one.proposed is not None]
            if self.fix and proposals:
                patch = SizeRewriter(self.index, self.op, patch, arguments).rewrite(proposals)
        else:
            name = self.index.names[self.op]
            raise GraphEditError(
                f"The sizes that follow from the new shape of {name!r} contradict each other; set "
                "them by " + editor_call("set_constant") + ".",
                [name],
            )
        fixed = [one for one in stale.values() if self.fix and one.proposed is not None]
        unresolved = tuple(one for one in stale.values() if one not in fixed)
        calls = self._calls.values()
        rows_of_variables = tuple(old_rows(original, changes))
        refusal = next((call.refusal for call in calls if call.refusal is not None), refusal)
        if refusal is not None:
            for call in calls:
                unresolved += () if call.functions else tuple(call.constants)
            raise self._explain_refusal(refusal, unresolved, rows_of_variables)
        self._refuse_gradients_of_size_1(changes)
        patch = self._with_calls(patch)
        notes = [*_notes(unresolved, fixed), *(each.note() for each in rows_of_variables)]
        constants = dict.fromkeys(chain.from_iterable(call.constants for call in calls))
        notes += chain.from_iterable(call.notes for call in calls)
        report = Report(
            (*patch.report.notes, *dict.fromkeys(notes)), constants=(*stale.values(), *constants)
        )
        return replace(patch, report=report)

    def _resized_arrays(self, patch: Patch, changes: ShapeChanges) -> dict[str, NodeChange]:
        """The TensorArrays whose elements have other sizes now, and what gathers them, with these
        as `element_shape`.

        TensorFlow does not load a graph that writes another shape into one, nor run one that
        gathers another.
        """
        after = self._after(patch)
        sizes_of_array: dict[int, list[tuple[int, int, int | None]]] = {}
        for op, kind in enumerate(after.types):
            if kind not in TENSOR_ARRAY_WRITES:
                continue
            sizes = self._element_sizes(after, op, changes)
            array = _array_of(after, after.input_tensors(op)[0]) if sizes else None
            if array is not None:
                sizes_of_array.setdefault(array, []).extend(sizes)
        if not sizes_of_array:
            return {}
        sizes_of_op = dict(sizes_of_array)
        for op, kind in enumerate(after.types):
            if kind == "TensorArrayGatherV3":
                array = _array_of(after, after.input_tensors(op)[0])
                sizes_of_op[op] = [] if array is None else sizes_of_array.get(array, [])
        changed = {}
        for op, sizes in sizes_of_op.items():
            node = copy_of(after.nodes[op])
            element_shape = node.attr["element_shape"].shape.dim
            for k, was, now in sizes:
                if k < len(element_shape) and element_shape[k].size == was:
                    element_shape[k].size = -1 if now is None else now
                    before = self.index.nodes[self.index.ids[node.name]]
                    changed[node.name] = NodeChange(before, node)
        return changed

    def _element_sizes(
        self, after: GraphIndex, op: int, changes: ShapeChanges
    ) -> list[tuple[int, int, int | None]]:
        """The sizes of the elements that an op writes into a TensorArray which are others."""
        value, first = TENSOR_ARRAY_WRITES[after.types[op]]
        tensor = after.input_tensors(op)[value]
        shape = after.shape(*tensor)
        if (shape is None or shape[first:][:1] == (None,)) and (
            traversal.forward(after, [self.op])[tensor[0]]
        ):
            # A file may have no shapes, and none is inferred of what a loop hands on: its rows,
            # unless the array has an element for each row.
            array = _array_of(after, after.input_tensors(op)[0])
            length = [] if array is None else SizeConsumer(after, changes, array).sizes(0)
            rows = {entry.value for entry in length}
            return [size for size in changes.sizes if size[0] == 0 and size[1] not in rows]
        dimensions = changes.dimensions(tensor)
        return [(k - first, was, now) for k, was, now in dimensions if k >= first]

    # Static shapes

    def _with_shapes_of_calls(self, patch: Patch) -> GraphIndex:
        """The graph before the patch, with what follows from the bodies of the functions that it
        calls.

        TensorFlow has no static shape for an op whose type is a function.
        """
        index = self.index
        downstream = traversal.forward(index, [index.ids[edited.name] for edited in patch.changed])
        is_call = of_type(index, index.functions.__contains__)
        calls = [
            index.nodes[op]
            for op in np.flatnonzero(downstream & is_call).tolist()
            if None in (index.shape(op, port) for port in range(len(index.dtypes(op))))
        ]
        if not calls:
            return index
        # The same op from nothing, so that all that can be known of it is found.
        changed = tuple(NodeChange(type(node)(name=node.name), node) for node in calls)
        try:
            shapes = self.context.infer_shapes(index, Patch(changed=changed)).shapes
        except GraphEditError:  # an op refuses what it is given already: nothing more is known
            return index
        return apply_patch(index, Patch(shapes=shapes))

    def _after(self, patch: Patch) -> GraphIndex:
        """The graph after the patch, with the static shapes of before."""
        return apply_patch(self.index, replace(patch, shapes=()))

    def _shapes(
        self, patch: Patch
    ) -> tuple[dict[Tensor, tuple[Shape, Shape]], GraphEditError | None]:
        """Static shapes before and after, by op number in the graph after; as far as no op refuses
        what it is given.
        """
        index, refusal = self.index, None
        try:
            patch_shapes = self.context.infer_shapes(index, patch)
        except GraphEditError as error:
            refusal, patch_shapes = error, self._up_to(error, patch)
        ids = self._after(patch).ids
        shapes: dict[Tensor, tuple[Shape, Shape]] = {
            (ids[s.op], s.port): (s.before, s.after)
            for s in patch_shapes.shapes
            if s.op in ids and s.before is not None
        }
        return shapes, refusal

    def _up_to(self, refusal: GraphEditError, patch: Patch) -> Patch:
        """The shapes that are inferred without the ops that refuse them."""
        index = self.index
        while refusal.ops and refusal.ops[0] in index.ids:
            downstream = np.flatnonzero(traversal.forward(index, [index.ids[refusal.ops[0]]]))
            index = index.without(frozenset(index.names[i] for i in downstream.tolist()))
            remaining = index.ids.keys() | {node.name for node in patch.add.nodes}
            changed = tuple(edited for edited in patch.changed if edited.name in index.ids)
            nodes = tuple(
                node
                for node in patch.add.nodes
                if remaining.issuperset(split_input(text)[0] for text in node.input)
            )
            patch = replace(patch, add=replace(patch.add, nodes=nodes), changed=changed)
            try:
                return self.context.infer_shapes(index, patch)
            except GraphEditError as error:
                refusal = error
        return Patch()

    # Functions

    def _follow_calls(self, changes: ShapeChanges) -> bool:
        """Plan the bodies of functions that are given other shapes. Returns whether one is not as
        it was planned.
        """
        index, is_new = self.index, False
        consumers: set[int] = set()
        for source, _ in changes.shapes:
            if source < len(index):
                consumers.update(index.consumer_lists[source])
        for op in sorted(consumers):
            node = index.nodes[op]
            called = called_functions(node, index.functions)
            references = [each for each in called if _passes_inputs(node, each)]
            if not references:
                continue
            first = 1 if node.op in BRANCHES else 0
            sources = index.input_tensors(op)[first:]
            argument_sizes = tuple(tuple(changes.dimensions(source)) for source in sources)
            previous = self._calls.get(node.name)
            if not any(argument_sizes):
                is_new |= previous is not None
                self._calls.pop(node.name, None)
            elif previous is None or previous.argument_sizes != argument_sizes:
                is_new = True
                shapes = [index.shape(*source) for source in sources]
                self._calls[node.name] = self._plan_call(node, references, argument_sizes, shapes)
        return is_new

    def _plan_call(
        self,
        node: NodeDef,
        references: Iterable[FunctionRef],
        argument_sizes: tuple[Sizes, ...],
        shapes: Sequence[Shape],
    ) -> _Call:
        """What becomes of a call whose arguments have other sizes."""
        call = _Call(argument_sizes, type(node).FromString(node.SerializeToString()))
        for reference in references:
            if reference.function in self.ancestors:
                continue
            try:
                inner = self.context.enter(node.name, reference.label, shapes)
            except GraphEditError:
                # The body is damaged: TensorFlow says what it thinks of the call.
                continue
            try:
                patch = self._plan_body(inner, argument_sizes)
            except GraphEditError as error:
                call.refusal = GraphEditError(
                    f"Function {reference.function!r}, which {node.name!r} calls: " + error.why,
                    [node.name],
                    self.fixes,
                )
                continue
            if patch is None:
                continue
            call.constants += [
                one._replace(function=one.function or inner.function)
                for one in patch.report.constants
            ]
            place = f"{_PLACE}{inner.function!r}: "
            call.notes += [
                note if note.startswith(_PLACE) else place + note for note in patch.report.notes
            ]
            if self.fix:
                definition, _ = inner.rewrite(patch, "_")
                definition = self.new.name(reference.function, definition)
                redirect_call(call.node, reference.label, definition)
                call.functions |= {
                    new.signature.name: new for new in (*patch.add.functions, definition)
                }
                call.gradients += patch.add.gradients
                if gradient := self.index.extras.gradient(reference.function):
                    call.gradients.append((definition.signature.name, gradient))
                    call.notes.append(
                        f"{place}its gradient function {gradient!r}, made for the old size, stays "
                        "as it is; check it before you train."
                    )
        return call

    def _plan_body(self, inner: FunctionContext, argument_sizes: tuple[Sizes, ...]) -> Patch | None:
        """The patch of a body whose arguments have other sizes; None where it says nothing of
        them.
        """
        index = inner.index
        signature = self.index.extras.function(inner.function).signature
        changed: list[NodeChange] = []
        sizes: dict[int, Sizes] = {}
        for argument, dimensions in zip(signature.input_arg, argument_sizes, strict=False):
            op = index.ids.get(argument.name, -1)
            if op < 0 or index.types[op] not in REQUIRED_PLACEHOLDERS:
                continue
            shape = list(index.shape(op, 0) or ())
            sizes_of_op = tuple(
                (k, was, now) for k, was, now in dimensions if k < len(shape) and shape[k] == was
            )
            if not sizes_of_op:
                continue
            sizes[op] = sizes_of_op
            for k, _, now in sizes_of_op:
                shape[k] = now
            after = copy_of(index.nodes[op])
            set_placeholder_spec(index, after, (tuple(shape), index.dtypes(op)[0]))
            changed.append(NodeChange(index.nodes[op], after))
        if not changed:
            return None
        # Of several arguments the one with the smallest size: those of the others may be multiples
        # of it.
        op = min(sizes, key=lambda op: min(was for _, was, _ in sizes[op]))
        resizing = Resizing(inner, op, sizes[op], self.fix, self.fixes, self.new, self.ancestors)
        patch = resizing.run(Patch(changed=tuple(changed)))
        return inner.infer_shapes(index, patch)

    def _with_calls(self, patch: Patch) -> Patch:
        """The patch, with the calls that call other functions."""
        calls = {name: call for name, call in self._calls.items() if call.functions}
        if not calls:
            return patch
        index = self.index
        functions = {name: new for call in calls.values() for name, new in call.functions.items()}
        gradients = dict.fromkeys(pair for call in calls.values() for pair in call.gradients)
        changed = {edited.name: edited for edited in patch.changed}
        changed |= {
            name: NodeChange(index.nodes[index.ids[name]], call.node)
            for name, call in calls.items()
        }
        added = replace(patch.add, functions=tuple(functions.values()), gradients=tuple(gradients))
        in_order = sorted(changed.values(), key=lambda edited: index.ids[edited.name])
        return replace(patch, add=added, changed=tuple(in_order))

    # What is said

    def _refuse_gradients_of_size_1(self, changes: ShapeChanges) -> None:
        """Refuse sizes that were 1 where gradients depend on them.

        The gradients of fixed sizes hold these as constants. A 1 among them may be the old size as
        well as that of what is broadcast, and a gradient that is summed or divided by the wrong one
        has the right shape.
        """
        index = self.index
        grown = [
            index.names[op]
            for op, port in changes.shapes
            if op < len(index) and any(was == 1 for _, was, _ in changes.dimensions((op, port)))
        ]
        if not grown:
            return
        downstream = np.flatnonzero(traversal.forward(index, [self.op])).tolist()
        gradient = next(filter(is_gradient_name, (index.names[op] for op in downstream)), None)
        if gradient is not None:
            raise GraphEditError(
                f"{grown[0]!r} had a dimension of size 1, which is another one now, and gradients "
                f"such as {gradient!r} depend on it: which of their constants are that size cannot "
                "be known; strip training first, or compute the gradients again.",
                [grown[0], gradient],
            )

    def _explain_refusal(
        self,
        refusal: GraphEditError,
        unresolved: tuple[StaleConstant, ...],
        rows_of_variables: tuple[OldRows, ...],
    ) -> GraphEditError:
        """The refusal, which names constants and variables that hold an old size."""
        variable = next((each for each in rows_of_variables if each.consumer in refusal.ops), None)
        if variable is not None:
            why = refusal.why.clause.partition("; choose")[0].removesuffix(".")
            return GraphEditError(why + ". " + variable.note(), [variable.variable, *refusal.ops])
        if not unresolved or "still hold" in refusal.why:
            return refusal
        names = names_text(list(dict.fromkeys(one.op for one in unresolved)))
        # An array has more values than its size: it is fed with those of the new size.
        array = next((one.op for one in unresolved if _is_array(one) and not one.function), "")
        if self.fixes:
            way = in_cell("fix=True rewrites what can be")
        elif array:
            way = "make it an input first: " + editor_call("detach", repr(array))
        else:
            way = "set it by " + editor_call("set_constant")
        ops = (one.op for one in unresolved if not one.function)
        return GraphEditError(
            refusal.why.clause.partition("; choose")[0]
            + f"; {names} still {'hold' if ' and ' in names else 'holds'} the old size; "
            + way
            + ".",
            (*dict.fromkeys(ops), *refusal.ops),
            self.fixes,
        )


@dataclass
class _Call:
    """An op that calls functions with arguments of other sizes.

    Attributes:
        argument_sizes: The sizes of each argument that are others.
        node: The op, which calls the new functions.
        functions: The new functions, and those that they call.
        gradients: (function, gradient function) of these.
        constants: Those in the bodies that hold an old size.
        notes: What is said of the bodies.
        refusal: Why a body cannot take the sizes.
    """

    argument_sizes: tuple[Sizes, ...]
    node: NodeDef
    functions: dict[str, FunctionDef] = field(default_factory=dict)
    gradients: list[tuple[str, str]] = field(default_factory=list)
    constants: list[StaleConstant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refusal: GraphEditError | None = None


def _array_of(index: GraphIndex, handle: Tensor) -> int | None:
    """The TensorArray whose handle a tensor is, also where loops and conditionals have passed it
    on.
    """
    for _ in range(_MOST_PASSED):
        kind, read = index.types[handle[0]], index.input_tensors(handle[0])
        if kind == "TensorArrayV3":
            return handle[0]
        if kind not in SIZE_FORWARDING | V1_CONTROL_FLOW or not read:
            return None
        handle = read[0]
    return None


def _stale_sizes(
    index: GraphIndex, changes: ShapeChanges, previous: Mapping[_Place, StaleConstant]
) -> dict[_Place, StaleConstant]:
    """The sizes in constants that shapes make out of date, after a round that has found `previous`.

    What an op makes of nothing but its shape is right once it is rewritten, and not found any more.
    """
    of_makers = {place: one for place, one in previous.items() if _is_of_a_maker(index, one)}
    corrected = {(one.op, one.consumer) for one in of_makers.values() if one.proposed}
    current = {_place(one): one for one in stale_constants(index, changes)}
    return {
        place: one
        for place, one in (of_makers | current).items()
        if one.proposed is not None or (one.op, one.consumer) not in corrected
    }


def _place(one: StaleConstant) -> _Place:
    """The size that is out of date, whatever should be there."""
    return one.op, one.at, one.consumer, one.slot


def _is_array(one: StaleConstant) -> bool:
    """Whether what is out of date is the shape of a constant, rather than a number in it."""
    return one.at is None and isinstance(one.value, tuple)


def _is_of_a_maker(index: GraphIndex, one: StaleConstant) -> bool:
    """Whether the consumer of a constant makes a tensor from nothing but its shape."""
    return index.types[index.ids[one.consumer]] in CONSTANTS.union(SHAPE_MAKERS)


def _passes_inputs(node: NodeDef, reference: FunctionRef) -> bool:
    """Whether an op calls a function with its own inputs."""
    if node.op in BRANCHES | WHILE_LOOPS:
        return reference.label != "_gradient_op_type"
    return reference.label == "" or (node.op in FUNCTION_CALLS and reference.label == "f")


def _notes(unresolved: Iterable[StaleConstant], fixed: Iterable[StaleConstant]) -> Iterator[str]:
    for one in unresolved:
        if one.proposed is not None:
            way = f"make it {_value_text(one.proposed)}"
        else:
            way = "it is not known what it should hold"
        place = f"{_PLACE}{one.function!r}: " if one.function else ""
        yield (
            f"{place}{one.op!r} still holds the old size, {_value_text(one.value)}, for "
            f"{one.consumer!r}; " + way + "."
        )
    for one in fixed:
        yield (
            f"{one.op!r} held the old size, {_value_text(one.value)}, for {one.consumer!r}, and is "
            f"{_value_text(one.proposed)} now."
        )


def _value_text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
