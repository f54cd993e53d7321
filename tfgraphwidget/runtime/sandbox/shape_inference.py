"""Static shapes after an edit, inferred again by TensorFlow's shape functions.

An op is inferred only if an input has another static shape, or other values that shapes depend on,
and so on for its consumers: an edit that changes no shape costs the same in every graph. Static
shapes that cannot be inferred (`set_shape`) stay as long as no input of the op changes. In a v1
loop shapes can only become less sharp, so that the inference ends.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TypeVar

from tfgraphwidget.edits import (
    NewShape,
    NodeChange,
    Patch,
    PatchedGraph,
    Rank,
    Tensor,
    const_shape,
    is_small,
    merge_shapes,
    rewire,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BRANCHES,
    CONSTANTS,
    ENTER,
    FIRST_INPUT_FORWARDING,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    HANDLE_DTYPES,
    HOLDERS_OF_SHAPED_TENSORS,
    IDENTITY,
    LIST_FORWARDING,
    SHAPE_EQUIVALENTS,
    SIZE_VECTORS,
    TENSOR_ARRAY_WRITES,
    WHILE_LOOPS,
    GraphIndex,
    Shape,
    called_definitions,
    kind_of_handle,
    no_collections,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import names_text
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.sandbox.preflight import ValidatedNodes, run_import
from tfgraphwidget.sentences import Sentence, drawn_shape
from tfgraphwidget.sources import (
    Bounds,
    ShapeMismatch,
    call_shapes,
    check_arguments,
    new_graph,
    output_shapes,
    shape_from_proto,
    shape_proto,
    tf_protos,
    why_fatal,
    without_endless_calls,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import clear_attribute, create_operation, static_dimensions
from tfgraphwidget.tf_types import AttrValue, FunctionDef, NameAttrList, NodeDef, OpDef

# ShapeInferenceSandbox: a graph in which TensorFlow's shape functions infer the shapes of single
# ops. Nothing runs. An op is built on stand-ins for its inputs: placeholders of the static shapes
# that are known. Inputs that shape functions evaluate (constants, `tf.shape(x)[0] * 2`) are built
# too, so that they infer as much as in the whole graph.

T = TypeVar("T")

# The handle that they give is that of their first input, or one of the same kind.
_SAME_HANDLE = FIRST_INPUT_FORWARDING | LIST_FORWARDING
_DEEPEST = 50
_MOST_ROUNDS = 20


class ShapeRefused(Exception):
    """A shape function refuses an op, for the reason in the message."""


class ShapeUnknown(Exception):
    """TensorFlow cannot infer the shapes of an op."""


class ShapeInferenceSandbox:
    """Infers the static shapes of a PatchedGraph's ops, built one by one in a new graph."""

    def __init__(self, view: PatchedGraph) -> None:
        self._view = view
        self._graph = new_graph(view.index.extras.versions())
        self._cached_outputs: dict[str, Sequence[tf.Tensor]] = {}
        self._stand_ins: dict[str, dict[int, tf.Tensor]] = {}
        self._shared: dict[tuple[str, Shape, str], tf.Tensor] = {}
        self._function_names: set[str] = set()
        self._bounds = Bounds(view.typing.definition)

    def shapes(self, op: str) -> list[Shape]:
        """Return the static shapes of an op's outputs for its current inputs; None for each if
        TensorFlow does not know the op. Raises ShapeRefused where the shape function refuses.
        """
        node = self._view.node(op)
        self.forget(op)
        try:
            if node.op in WHILE_LOOPS:
                return self._loop_shapes(node, self._inputs(op))
            if node.op in BRANCHES:
                return self._branch_shapes(node, self._inputs(op)[1:])
            if node.op in self._view.functions():
                # TensorFlow infers nothing of an op whose type is a function.
                return self._function_shapes(node, self._inputs(op))
            self._cached_outputs[op] = self._build(op)
            return [_shape(tensor) for tensor in self._cached_outputs[op]]
        except ShapeUnknown:
            return [None] * len(self._view.dtypes(op))

    def forget(self, op: str) -> None:
        """Remove what was built for an op, so that its consumers see its current outputs."""
        self._cached_outputs.pop(op, None)
        self._stand_ins.pop(op, None)

    def _inputs(self, op: str, depth: int = 0) -> list[tf.Tensor]:
        return [self._tensor(tensor, depth) for tensor in self._view.inputs(op)]

    def _build(self, op: str, depth: int = 0) -> Sequence[tf.Tensor]:
        node = self._view.node(op)
        if node.op in CONSTANTS and not is_small(const_shape(node)):
            return [self._placeholder(self._view.dtype((op, 0)), const_shape(node))]
        outputs = self._new_op(node, self._inputs(op, depth))
        is_computed = node.op in CONSTANTS or self._view.computes(op)
        if is_computed and outputs and all(is_small(_shape(tensor)) for tensor in outputs):
            # Few numbers, computed in no time: shape functions ask for them.
            clear_attribute(outputs[0].op, "_kernel")
        return outputs

    def _tensor(self, tensor: Tensor, depth: int) -> tf.Tensor:
        """Return the tensor that represents a tensor of the graph."""
        op, port = tensor
        if op not in self._cached_outputs and self._view.may_know_value(op) and depth < _DEEPEST:
            with suppress(ShapeRefused, ShapeUnknown):
                self._cached_outputs[op] = self._build(op, depth + 1)
                self.sharpen(
                    op, [self._view.shape(op, k) for k in range(len(self._cached_outputs[op]))]
                )
        if op in self._cached_outputs:
            return self._cached_outputs[op][port]
        stand_ins = self._stand_ins.setdefault(op, {})
        if port not in stand_ins:
            stand_ins[port] = self._stand_in(tensor)
        return stand_ins[port]

    def sharpen(self, op: str, shapes: Sequence[Shape]) -> None:
        """Set shapes of an op's outputs that do not follow from inputs, as by `set_shape`."""
        for output, shape in zip(self._cached_outputs.get(op, ()), shapes, strict=False):
            if shape is not None and _shape(output) != shape:
                with suppress(ValueError):
                    output.set_shape(shape)

    def _stand_in(self, tensor: Tensor) -> tf.Tensor:
        dtype, shape = self._view.dtype(tensor), self._view.shape(*tensor)
        if dtype in ("resource", "variant"):
            return self._handle(tensor)
        if dtype.endswith("_ref"):  # there is no placeholder of a reference: a variable gives one
            return self._placeholder(dtype.removesuffix("_ref"), shape, "VariableV2")
        return self._placeholder(dtype, shape)

    def _placeholder(self, dtype: str, shape: Shape, op_type: str = "Placeholder") -> tf.Tensor:
        number, key = self._view.typing.number(dtype), (dtype, shape, op_type)
        if not number:
            raise ShapeUnknown(f"a tensor of no known dtype {dtype!r}")
        if key in self._shared:
            return self._shared[key]
        node = tf.compat.v1.NodeDef(op=op_type)
        node.attr["dtype"].type = number
        node.attr["shape"].shape.CopyFrom(shape_proto(shape))
        tensor = self._new_op(node, [])[0]
        if shape is not None and None not in shape:
            # Unknown dimensions are the same ones in one tensor only.
            self._shared[key] = tensor
        return tensor

    def _handle(self, tensor: Tensor) -> tf.Tensor:
        """Return a handle of the same kind of variable, TensorArray or list, as far as known."""
        view = self._view
        op, port = _origin_of_handle(view, tensor)
        node = view.node(op)
        if node.op == "VarHandleOp" or node.op in HOLDERS_OF_SHAPED_TENSORS:
            return self._new_op(node, self._inputs(op))[port]
        if view.dtype(tensor) == "variant":
            return self._placeholder("variant", view.shape(*tensor))
        reads = (consumer for name in (op, tensor[0]) for consumer in view.consumers(name))
        read = next(
            (consumer for consumer in reads if view.node(consumer).op == "ReadVariableOp"), None
        )
        if read is None:
            return self._placeholder("resource", view.shape(*tensor))
        return self._placeholder(view.dtype((read, 0)), view.shape(read, 0), "VarHandleOp")

    def _new_op(self, node: NodeDef, tensors: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
        """Return the outputs of a new op. Raises ShapeRefused, ShapeUnknown for unknown types."""
        op_type = SHAPE_EQUIVALENTS.get(node.op, node.op)
        definition = self._view.typing.definition(op_type)
        if definition is None:
            raise ShapeUnknown(f"the op type {op_type!r}")
        why = self._bounds.why(node) or why_fatal(op_type, list(map(_shape, tensors)))
        if why:
            raise ShapeRefused(f"it {why}")
        self._add_functions(node)
        new = tf.compat.v1.NodeDef(name=f"op{self._graph.version}", op=op_type)
        for attr in definition.attr:
            if attr.name in node.attr:
                new.attr[attr.name].CopyFrom(node.attr[attr.name])
        # Shape functions run what computes their inputs: sources/inference/shapes.py.
        new.attr["_kernel"].s = b"none"
        return _ask_tensorflow(lambda: self._outputs(new, tensors, definition))

    def _outputs(
        self, node: NodeDef, tensors: Sequence[tf.Tensor], definition: OpDef
    ) -> Sequence[tf.Tensor]:
        operation: tf.Operation = create_operation(self._graph, node, tensors, (), definition)
        return operation.outputs

    # Functions

    def _add_functions(self, node: NodeDef) -> None:
        """Add the functions that a NodeDef calls to the graph. Endless recursion is cut off."""
        functions = self._view.functions() - self._function_names
        missing = called_definitions([node], functions, self._view.function)
        if missing:
            self._function_names |= missing.keys()
            _ask_tensorflow(lambda: self._import(missing))

    def _import(self, functions: dict[str, FunctionDef]) -> None:
        excess = self._bounds.excess((), functions)
        if excess:
            raise ShapeUnknown(excess.why)
        graph_def = tf.compat.v1.GraphDef(versions=self._graph.graph_def_versions)
        graph_def.library.function.extend(without_endless_calls(functions))
        for function in graph_def.library.function:
            for node in function.node_def:
                node.op = SHAPE_EQUIVALENTS.get(node.op, node.op)
                node.attr["_kernel"].s = b"none"
        try:
            run_import(self._graph, ValidatedNodes((), graph_def.SerializeToString(), ()), {})
        except GraphEditError as error:
            raise ShapeUnknown(str(error)) from error

    def _result_shapes(
        self, function: NameAttrList, tensors: Sequence[tf.Tensor], dtypes: AttrValue
    ) -> list[Shape]:
        """Return the shapes of a function's results."""
        node = tf.compat.v1.NodeDef(op="StatefulPartitionedCall")
        node.attr["f"].func.CopyFrom(function)
        # A function takes the value of a reference variable, as ops of TensorFlow 1 do.
        node.attr["Tin"].list.type.extend(
            tensor.dtype.base_dtype.as_datatype_enum for tensor in tensors
        )
        node.attr["Tout"].CopyFrom(dtypes)
        return [_shape(tensor) for tensor in self._new_op(node, tensors)]

    def _function_shapes(self, node: NodeDef, tensors: Sequence[tf.Tensor]) -> list[Shape]:
        """Return the shapes of an op whose type is a function."""
        dtypes = tf.compat.v1.AttrValue()
        dtypes.list.type.extend(map(self._view.typing.number, self._view.dtypes(node.name)))
        function = tf.compat.v1.AttrValue().func
        function.name = node.op
        for key, value in node.attr.items():
            if not key.startswith("_"):
                function.attr[key].CopyFrom(value)
        return self._result_shapes(function, tensors, dtypes)

    def _loop_shapes(self, node: NodeDef, tensors: Sequence[tf.Tensor]) -> list[Shape]:
        """Return shapes of a loop's variables that hold before and after each iteration."""
        shapes = [_shape(tensor) for tensor in tensors]
        for _ in range(_MOST_ROUNDS):
            after = self._result_shapes(node.attr["body"].func, tensors, node.attr["T"])
            wider = [merge_shapes(a, b) for a, b in zip(shapes, after, strict=True)]
            if wider == shapes:
                return shapes
            tensors = [self._generalize(t, shape) for t, shape in zip(tensors, wider, strict=True)]
            shapes = wider
        raise ShapeUnknown("a loop that does not settle")

    def _generalize(self, tensor: tf.Tensor, shape: Shape) -> tf.Tensor:
        dtype = tensor.dtype.name
        if dtype in HANDLE_DTYPES or _shape(tensor) == shape:
            return tensor
        return self._placeholder(dtype, shape)

    def _branch_shapes(self, node: NodeDef, tensors: Sequence[tf.Tensor]) -> list[Shape]:
        """Return shapes of the results that hold for all branches."""
        branches = [
            node.attr[key].func for key in ("then_branch", "else_branch") if key in node.attr
        ]
        branches += node.attr["branches"].list.func if "branches" in node.attr else []
        results = [self._result_shapes(branch, tensors, node.attr["Tout"]) for branch in branches]
        if not results:
            raise ShapeUnknown("a conditional without branches")
        shapes = results[0]
        for other in results[1:]:
            shapes = [merge_shapes(a, b) for a, b in zip(shapes, other, strict=True)]
        return shapes


def _ask_tensorflow(infer: Callable[[], T]) -> T:
    """Return the result of `infer`. Raises ShapeRefused with the reason, or ShapeUnknown."""
    try:
        return infer()
    except ValueError as error:
        raise ShapeRefused(str(error)) from error
    except ShapeUnknown:
        raise
    except Exception as error:  # TensorFlow may find other faults of a NodeDef than its shapes
        raise ShapeUnknown(str(error)) from error


def _shape(tensor: tf.Tensor) -> Shape:
    dims, unknown = static_dimensions(tensor)
    if unknown:
        return None
    return tuple(n if n is not None and n >= 0 else None for n in dims)


# What shape functions ask for values of: dimensions, and the slices of a checkpoint's variables,
# which are texts.
_DTYPES_OF_VALUES = frozenset(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "string"}
)
_OUTPUT_SHAPES = "output_shapes"
_UNKNOWN = (
    "The static shapes of {} are not known, as TensorFlow, which would infer them, is not "
    "installed."
)
_NODES = re.compile(r"(Node: )?\{\{\w+ [^}]*\}\}\s*")


def infer_patch_shapes(index: GraphIndex, patch: Patch) -> Patch:
    """Return the patch with the static shapes that change by it. Raises GraphEditError, which names
    the op, where one cannot take one of its inputs.

    The shapes of added ops are all included, as far as they are known.
    """
    if not patch.add.nodes and not patch.changed:
        return patch
    _check_bounds(index, patch)
    with no_collections():
        after, unknown = _infer(index, patch)
    notes = (_UNKNOWN.format(names_text(unknown)),) if unknown else ()
    return replace(
        patch,
        shapes=tuple(_new_shapes(after)),
        changed=_edits_with_output_shapes(after),
        report=replace(patch.report, notes=(*patch.report.notes, *notes)),
    )


def _check_bounds(index: GraphIndex, patch: Patch) -> None:
    """Refuse an edit that gives an op too many tensors, if it did not have them already."""
    bounds = Bounds(index.typing.definition)
    changed = ((edited.before, edited.after) for edited in patch.changed)
    for before, node in (*((None, node) for node in patch.add.nodes), *changed):
        why = bounds.why(node)
        if why and (before is None or not bounds.why(before)):
            raise GraphEditError(f"Op {node.name!r} {why}; give it a smaller number.", [node.name])


def _infer(index: GraphIndex, patch: Patch) -> tuple[PatchedGraph, list[str]]:
    """Return the graph after the patch, and the ops whose shapes TensorFlow would infer."""
    after = PatchedGraph(index, patch)
    try:
        # Mostly no shape changes but those of the ops that the patch names, and no other needs a
        # place in an order.
        own = after.in_topological_order(after.own)
        inference = _Inference(after, {name: (k, 0) for k, name in enumerate(own)}, is_whole=False)
        inference.run()
    except _NeedsAllRanks:
        after = PatchedGraph(index, patch)
        inference = _Inference(after, after.ranks(), is_whole=True)
        inference.run()
    return after, list(dict.fromkeys(inference.unknown))


def _new_shapes(after: PatchedGraph) -> Iterable[NewShape]:
    added = {node.name for node in after.patch.add.nodes}
    for name in added & after.own.keys():  # those of copies follow from their originals
        for port in range(len(after.dtypes(name))):
            after.shapes.setdefault((name, port), after.shape(name, port))
    for (name, port), shape in after.shapes.items():
        at = after.index.ids.get(name)
        before = None if at is None else after.index.shape(at, port)
        if shape != before:
            yield NewShape(name, port, before, shape)


def _edits_with_output_shapes(after: PatchedGraph) -> tuple[NodeChange, ...]:
    """Return the changed ops of the patch, with loops and conditionals whose `output_shapes`
    attribute is out of date.

    The importer trusts that attribute.
    """
    changed = {edited.name: edited for edited in after.patch.changed}
    for name in dict.fromkeys(op for op, _ in after.shapes):
        node = after.node(name)
        has_shapes = _OUTPUT_SHAPES in node.attr and node.attr[_OUTPUT_SHAPES].list.shape
        if name in after.index.ids and node.op in FUNCTIONAL_CONTROL_FLOW and has_shapes:
            right = copy_of(node)
            shapes = [shape_proto(after.shape(name, k)) for k in range(len(after.dtypes(name)))]
            right.attr[_OUTPUT_SHAPES].list.ClearField("shape")
            right.attr[_OUTPUT_SHAPES].list.shape.extend(shapes)
            changed[name] = NodeChange(changed[name].before if name in changed else node, right)
    return tuple(changed.values())


def _narrow(shape: Shape, other: Shape) -> Shape:
    """Return `other` with the dimensions that only `shape` has; `other` alone where the two
    contradict each other.
    """
    if shape is None or other is None:
        return shape if other is None else other
    if len(shape) != len(other):
        return other
    return tuple(m if n is None else n for m, n in zip(shape, other, strict=True))


def _is_narrower(shape: Shape, other: Shape) -> bool:
    """Whether each tensor of a shape is one of the other shape too; the same shape is."""
    if other is None or shape is None:
        return other is None
    return len(other) == len(shape) and all(
        n in (None, m) for m, n in zip(shape, other, strict=True)
    )


class _NeedsAllRanks(Exception):
    """The inference reaches ops that have no rank."""


class _Inference:
    """Propagates new shapes from op to op, in the order of their ranks."""

    def __init__(self, after: PatchedGraph, ranks: Mapping[str, Rank], *, is_whole: bool) -> None:
        self._after, self._ranks, self._is_whole = after, ranks, is_whole
        self._before = PatchedGraph(after.index)
        self._changed: set[Tensor] = set()  # tensors with other facts than before
        self._visited: set[str] = set()
        self._queue: list[tuple[Rank, str]] = []
        self._waiting: set[str] = set()
        self.unknown: list[str] = []  # ops whose shapes would follow if TensorFlow were installed

    @cached_property
    def _sandbox(self) -> ShapeInferenceSandbox:
        return ShapeInferenceSandbox(self._after)

    @cached_property
    def _sandbox_before(self) -> ShapeInferenceSandbox:
        """The graph before the edit."""
        return ShapeInferenceSandbox(self._before)

    def run(self) -> None:
        """Infer every op that can have other shapes. Raises GraphEditError."""
        for name in self._after.own:
            self._enqueue(name)
        count = 0
        while self._queue:
            count += 1
            tell("Inferring shapes", count, count + len(self._queue))
            name = heapq.heappop(self._queue)[1]
            self._waiting.discard(name)
            slots = self._after.slots(name)
            self._check_handles(name, slots or ())
            if slots is None or any(self._differs(name, *slot) for slot in slots):
                self._infer_op(name, slots)

    def _check_handles(self, name: str, slots: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Raise GraphEditError where an op of a queue's handle would read a variable's."""
        after, before = self._after, self._before
        for k, (was, now) in enumerate(slots):
            if after.dtype(now) in HANDLE_DTYPES and not after.same(was, now):
                origins = (
                    (before, _origin_of_handle(before, was)),
                    (after, _origin_of_handle(after, now)),
                )
                had, kind = (kind_of_handle(graph.node(op).op) for graph, (op, _) in origins)
                node = after.node(name)
                names = name, f"{was[0]}:{was[1]}", f"{now[0]}:{now[1]}"
                why = rewire.other_kind_text(
                    node, k, after.typing.definition(node.op), (had, kind), names
                )
                if why:
                    raise GraphEditError(why, [name, now[0]])

    def _enqueue(self, name: str) -> None:
        if name not in self._ranks:
            raise _NeedsAllRanks
        if name not in self._waiting:
            self._waiting.add(name)
            heapq.heappush(self._queue, (self._ranks[name], name))

    def _differs(self, consumer: str, was: Tensor, now: Tensor) -> bool:
        """Return whether an input of an op gives other shapes or values than before."""
        after, before = self._after, self._before
        if after.same(was, now):
            return now in self._changed
        dtype = after.dtype(now)
        if (
            dtype != before.dtype(was)
            or dtype in HANDLE_DTYPES
            or after.shape(*now) != before.shape(*was)
        ):
            return True
        return (dtype in _DTYPES_OF_VALUES or after.computes(consumer)) and (
            after.may_know_value(now[0]) or before.may_know_value(was[0])
        )

    def _infer_op(self, name: str, slots: list[tuple[Tensor, Tensor]] | None) -> None:
        """Infer an op, and go on to its consumers if a shape has changed."""
        after = self._after
        is_old = name in self._before.index.ids
        first = name not in self._visited
        self._visited.add(name)
        try:
            shapes = self._shapes_after(name)
        except ShapeRefused as reason:
            if not self._is_whole and len(after.own) > 1:
                # What it reads may still become something else.
                raise _NeedsAllRanks from reason
            if not is_old or self._shapes_before(name) is not None:
                raise self._refusal(name, slots, str(reason)) from reason
            shapes = [None] * len(after.dtypes(name))  # it was no better before
        if not first:  # round a loop
            shapes = [merge_shapes(after.shape(name, k), shape) for k, shape in enumerate(shapes)]
            self._forget(name)
        elif is_old and slots:
            inferred, shapes = shapes, self._with_python_shapes(name, slots, shapes)
            if shapes != inferred and self._is_sandbox_open:
                self._sandbox.sharpen(name, shapes)
        self._propagate(name, shapes, first=first)
        if is_old and slots and after.node(name).op in TENSOR_ARRAY_WRITES:
            self._propagate_elements(name, slots)

    def _propagate_elements(self, name: str, slots: list[tuple[Tensor, Tensor]]) -> None:
        """Go on to what reads the TensorArray that an op of a TensorFlow 1 graph writes.

        No shape function gives the shapes of its elements; Python sets them.
        """
        after, before = self._after, self._before
        value, first = TENSOR_ARRAY_WRITES[after.node(name).op]
        (_, handle), (was, now) = slots[0], slots[value]
        old, new = before.shape(*was), after.shape(*now)
        if old is None or new is None or len(old) != len(new) or old[first:] == new[first:]:
            return
        sizes = list(zip(old[first:], new[first:], strict=True))
        for reader in self._readers_of_array(_origin_of_handle(after, handle)[0]):
            shape = before.shape(reader, 0)
            if shape is None or len(shape) != len(sizes):
                continue
            moved: Shape = tuple(
                size_now if size == size_before else size
                for size, (size_before, size_now) in zip(shape, sizes, strict=True)
            )
            is_first = reader not in self._visited
            self._visited.add(reader)
            if not is_first:
                moved = merge_shapes(after.shape(reader, 0), moved)
            self._forget(reader)
            self._propagate(reader, [moved], first=is_first)

    def _readers_of_array(self, array: str) -> Iterator[str]:
        """The old ops that read elements of a TensorArray, also where its handle enters loops."""
        handles, visited = [array], {array}
        while handles:
            handle = handles.pop()
            for consumer in self._after.consumers(handle):
                kind, read = self._after.node(consumer).op, self._after.inputs(consumer)
                if consumer in visited or not read or read[0][0] != handle:
                    continue
                visited.add(consumer)
                if kind in FIRST_INPUT_FORWARDING:
                    handles.append(consumer)
                elif kind == "TensorArrayReadV3" and consumer in self._before.index.ids:
                    yield consumer

    def _shapes_after(self, name: str) -> list[Shape]:
        """Return the shapes of an op after the edit: by our own shape functions, else by
        TensorFlow's.

        They are unknown where TensorFlow is not installed. Raises ShapeRefused.
        """
        try:
            shapes = _own_shapes(self._after, name)
        except ShapeMismatch as reason:
            if not tf_protos.is_tensorflow_installed():
                raise ShapeRefused(str(reason)) from reason
            shapes = None
        if shapes is not None:
            self._forget(name)
            return shapes
        if tf_protos.is_tensorflow_installed():
            return self._sandbox.shapes(name)
        self.unknown.append(name)
        return [None] * len(self._after.dtypes(name))

    @property
    def _is_sandbox_open(self) -> bool:
        return "_sandbox" in self.__dict__

    def _forget(self, name: str) -> None:
        """Let the sandbox build an op again for its consumers."""
        if self._is_sandbox_open:
            self._sandbox.forget(name)

    def _with_python_shapes(
        self, name: str, slots: list[tuple[Tensor, Tensor]], shapes: list[Shape]
    ) -> list[Shape]:
        """Return the shapes, and those that Python code has set, as far as they are still valid."""
        after, before = self._after, self._before
        # The shape function of an Enter infers nothing, Python sets its shape: see
        # test_round_a_v1_loop_shapes_become_what_holds_each_time.
        if (
            after.node(name).op in ENTER
            and before.shape(name, 0) == before.shape(*slots[0][0]) is not None
        ):
            return [after.shape(*slots[0][1])]
        is_reshape = (
            after.node(name).op == "Reshape"
            and len(slots) > 1
            and tf_protos.is_tensorflow_installed()
        )
        if is_reshape and self._differs(name, *slots[1]):
            # `tf.tensordot` sets the shape that its target says in a way that TensorFlow's shape
            # function does not see.
            target = _values(after, slots[1][1])
            if target is not None:
                return [_narrow(target, shapes[0])]
        if self._differs_only_in_numbers(name, slots) and shapes == self._shapes_before(name):
            return [after.shape(name, k) for k in range(len(shapes))]
        # What Python said of all inputs of a shape holds for those of a narrower one: of a table's
        # lookup, for example, whose shape function infers nothing.
        if any(shape is None or None in shape for shape in shapes) and self._only_narrows(slots):
            inferred_before = self._shapes_before(name) or shapes
            present = [after.shape(name, k) for k in range(len(shapes))]
            return [
                shape if was == python else _narrow(python, shape)
                for shape, was, python in zip(shapes, inferred_before, present, strict=True)
            ]
        return shapes

    def _only_narrows(self, slots: list[tuple[Tensor, Tensor]]) -> bool:
        """Return whether an op reads the tensors that it read, of the same or narrower shapes and
        no other numbers.
        """
        after, before = self._after, self._before
        for was, now in slots:
            if not after.same(was, now) or not _is_narrower(after.shape(*now), before.shape(*was)):
                return False
            if (
                now in self._changed
                and after.dtype(now) in _DTYPES_OF_VALUES
                and after.may_know_value(now[0])
            ):
                return False
        return True

    def _propagate(self, name: str, shapes: list[Shape], *, first: bool) -> None:
        """Go on to the consumers of outputs that have changed."""
        after = self._after
        changed = [port for port, shape in enumerate(shapes) if shape != after.shape(name, port)]
        for port in changed:
            after.set_shape(name, port, shapes[port])
        if first:
            handles = [
                port for port, dtype in enumerate(after.dtypes(name)) if dtype in HANDLE_DTYPES
            ]
            if after.may_know_value(name) or self._before.may_know_value(name):
                changed = list(range(len(shapes)))
            else:
                changed = changed + handles
        if changed:
            self._changed.update((name, port) for port in changed)
            for consumer in after.consumers(name):
                self._enqueue(consumer)

    def _differs_only_in_numbers(self, name: str, slots: list[tuple[Tensor, Tensor]]) -> bool:
        """Return whether inputs of an op differ in values at most, neither in shape nor in what a
        handle holds.
        """
        after, before = self._after, self._before
        if any(after.shape(*now) != before.shape(*was) for was, now in slots):
            return False
        return not any(
            after.dtype(now) in HANDLE_DTYPES and self._differs(name, was, now)
            for was, now in slots
        )

    def _shapes_before(self, name: str) -> list[Shape] | None:
        """Return what would be inferred of an op before the edit."""
        try:
            shapes = _own_shapes(self._before, name)
            if shapes is not None or not tf_protos.is_tensorflow_installed():
                return shapes
            return self._sandbox_before.shapes(name)
        except (ShapeRefused, ShapeMismatch):
            return None

    def _refusal(
        self, name: str, slots: list[tuple[Tensor, Tensor]] | None, reason: str
    ) -> GraphEditError:
        """Return the error: the op, the input that it cannot take, the one before, TensorFlow's
        reason, and what was edited.
        """
        after, before = self._after, self._before
        read = after.inputs(name)
        pairs = slots or [(tensor, tensor) for tensor in read]
        reshaped = [
            k
            for k, (was, now) in enumerate(pairs)
            if slots and after.shape(*now) != before.shape(*was)
        ]
        other = reshaped or [
            k for k, (was, now) in enumerate(pairs) if slots and not after.same(was, now)
        ]
        other = other or [k for k, (_, now) in enumerate(pairs) if slots and now in self._changed]
        wrong = other or list(range(len(read)))
        wrong_inputs = Sentence(" and ").join(
            self._replacement_text(*pairs[k]) if slots else self._tensor_text(read[k])
            for k in wrong
        )
        others = [self._tensor_text(read[k]) for k in range(len(read)) if k not in wrong]
        beside = Sentence(" and ").join(
            others[:3] + ([f"{len(others) - 3} more"] if others[3:] else [])
        )
        edited = [name for name in after.own if name in before.index.ids] or list(after.own)
        origin = (
            "" if name in after.own else f", which follows from the change of {names_text(edited)}"
        )
        beside = (beside and ", beside " + beside) + origin
        is_handle = bool(wrong) and all(after.dtype(read[k]) in HANDLE_DTYPES for k in wrong)
        what = "a tensor of other values" if other and not reshaped else "a tensor of another shape"
        if is_handle:
            what = "a handle of what holds the same dtype and shape"
        # The gradients of a fixed batch hold its size as constants, also the number that a mean
        # divides by.
        fix = f"choose {what}"
        if name not in after.own and rewire.is_gradient_name(name):
            fix = f"strip training first, or {fix}"
        return GraphEditError(
            f"Op {name!r} cannot take "
            + (wrong_inputs or "its attributes")
            + beside
            + f": {_reason_text(reason)}; {fix}.",
            dict.fromkeys([name, *(read[k][0] for k in wrong), *(edited if origin else ())]),
        )

    def _replacement_text(self, was: Tensor, now: Tensor) -> str:
        if self._after.dtype(now) in HANDLE_DTYPES:
            return self._tensor_text(now) + f" in place of '{was[0]}:{was[1]}'"
        is_same = self._after.same(was, now)
        if is_same and self._after.shape(*now) == self._before.shape(*was):
            return self._tensor_text(now) + " with its new values"
        place = "" if is_same else f"'{was[0]}:{was[1]}' of shape "
        return (
            self._tensor_text(now) + f" in place of {place}" + drawn_shape(self._before.shape(*was))
        )

    def _tensor_text(self, tensor: Tensor) -> str:
        if self._after.dtype(tensor) in HANDLE_DTYPES:
            return f"the handle '{tensor[0]}:{tensor[1]}'"
        return f"'{tensor[0]}:{tensor[1]}' of shape " + drawn_shape(self._after.shape(*tensor))


def _values(graph: PatchedGraph, tensor: Tensor, depth: int = 0) -> Shape:
    """The sizes in a vector or a scalar, with None for those that are not known or -1; None if
    there are any number.
    """
    op, _ = tensor
    node, read = graph.node(op), graph.inputs(op)
    if node.op in CONSTANTS:
        return _constant_values(node)
    if depth > _DEEPEST or not read:
        return None
    if node.op == "Shape":
        return graph.shape(*read[0])
    if node.op == "Cast" or node.op in IDENTITY:
        return _values(graph, read[0], depth + 1)
    if node.op in SIZE_VECTORS:
        # Less the axis.
        first = int(node.op == "Concat")
        last = len(read) - int(node.op == "ConcatV2")
        parts = [_values(graph, part, depth + 1) for part in read[first:last]]
        return None if None in parts else tuple(size for part in parts for size in part or ())
    if node.op == "GatherV2":
        vector, places = (_values(graph, source, depth + 1) for source in read[:2])
        if vector is None or places is None or any(k is None or k >= len(vector) for k in places):
            return None
        return tuple(vector[k] for k in places if k is not None)
    shape = graph.shape(*tensor)
    is_vector = shape is not None and None not in shape and len(shape) <= 1 and is_small(shape)
    return (None,) * prod(size or 0 for size in shape or ()) if is_vector else None


def _constant_values(node: NodeDef) -> Shape:
    """The sizes in a Const; None if it has a higher rank, or holds many."""
    if not is_small(const_shape(node)) or len(const_shape(node) or ()) > 1:
        return None
    values = tf.make_ndarray(node.attr["value"].tensor).reshape(-1).tolist()
    return tuple(value if isinstance(value, int) and value >= 0 else None for value in values)


def _origin_of_handle(graph: PatchedGraph, tensor: Tensor) -> Tensor:
    """The handle that ops give on, or one of the same kind, where it comes from."""
    for _ in range(_DEEPEST):
        read = graph.inputs(tensor[0])
        if graph.node(tensor[0]).op not in _SAME_HANDLE or not read:
            break
        tensor = read[0]
    return tensor


def _own_shapes(graph: PatchedGraph, name: str) -> list[Shape] | None:
    """Return the shapes of an op's outputs by our own shape functions. Raises ShapeMismatch."""
    node, read = graph.node(name), graph.inputs(name)
    sources = [graph.node(op) if graph.has(op) else None for op, _ in read]
    shapes = [_shape_or_constant(graph.shape(*read[k]), source) for k, source in enumerate(sources)]
    if node.op in FUNCTION_CALLS or node.op in graph.functions():
        check_arguments(node, [graph.dtype(tensor) for tensor in read], graph.function)
        inferred = call_shapes(node, shapes, sources, graph.function)
    else:
        versions = graph.index.extras.versions()
        producer = None if versions is None else versions.producer
        inferred = output_shapes(node, graph.typing.definition(node.op), shapes, sources, producer)
    return None if inferred is None else list(inferred)


def _shape_or_constant(shape: Shape, source: NodeDef | None) -> Shape:
    """The shape of a tensor; TensorFlow does not know that of a HostConst, whose value has it."""
    if shape is None and source is not None and source.op in CONSTANTS:
        return shape_from_proto(source.attr["value"].tensor.tensor_shape)
    return shape


def _reason_text(reason: str) -> str:
    """Return TensorFlow's reason without the op, as a part of a sentence."""
    text = (
        _NODES.sub("", reason)
        .strip()
        .partition("\n")[0]
        .partition(" for '")[0]
        .partition(". ")[0]
        .rstrip(".;: ")
    )
    return text[:1].lower() + text[1:300]
