"""Static shapes after an edit, inferred anew by TensorFlow's own shape functions.

An op is asked only when something that it reads has another static shape, or other numbers that shapes hang on, and so
on from there to those who read it: an edit that changes no shape costs the same in every graph. Static shapes that
nobody can infer (`set_shape`) stay as long as nothing changes that the op reads. Round a v1 loop shapes can only become
less sharp, so that it ends.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import tensorflow as tf

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
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BRANCHES,
    CONSTANTS,
    ENTER,
    FIRST_INPUT_FORWARDING,
    FUNCTIONAL_CONTROL_FLOW,
    HANDLE_DTYPES,
    SHAPE_EQUIVALENTS,
    WHILE_LOOPS,
    GraphIndex,
    Shape,
    called_functions,
    no_collections,
    shape_text,
)
from tfgraphwidget.naming import listed
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.sandbox.preflight import ValidatedNodes, run_import
from tfgraphwidget.sources import Bounds, without_endless_calls
from tfgraphwidget.tf_internals import clear_attribute, create_operation, static_dimensions
from tfgraphwidget.tf_types import FunctionDef, NodeDef

# ShapeInferenceSandbox: a graph in which TensorFlow's shape functions infer the shapes of single ops. Nothing runs.
# An op is built on stand-ins for its inputs: placeholders of the static shapes that are known. Inputs that shape
# functions evaluate (constants, `tf.shape(x)[0] * 2`) are built too, so that they infer as much as in the whole graph.

_DEEPEST = 50
_MOST_ROUNDS = 20


class Refused(Exception):
    """A shape function's reason."""


class Unknown(Exception):
    """TensorFlow cannot be asked."""


class ShapeInferenceSandbox:
    """Infers the static shapes of ops of `view`, which are built one by one in a graph of their own."""

    def __init__(self, view: PatchedGraph) -> None:
        self._view = view
        self._graph = tf.Graph()
        self._built: dict[str, Sequence[Any]] = {}
        self._stand_ins: dict[str, dict[int, Any]] = {}
        self._shared: dict[tuple[str, Shape, str], Any] = {}
        self._known: set[str] = set()
        self._bounds = Bounds(view.index.typing.definition)

    def shapes(self, op: str) -> list[Shape]:
        """The static shapes of an op's outputs as they follow from what it reads now; None all over when TensorFlow
        does not know the op. Raises Refused.
        """
        node = self._view.node(op)
        self.forget(op)
        try:
            if node.op in WHILE_LOOPS:
                return self._around(node, self._inputs(op))
            if node.op in BRANCHES:
                return self._either(node, self._inputs(op)[1:])
            self._built[op] = self._build(op)
            return [_shape(tensor) for tensor in self._built[op]]
        except Unknown:
            return [None] * len(self._view.dtypes(op))

    def forget(self, op: str) -> None:
        """Let those who read an op from now on read what `view` tells of it."""
        self._built.pop(op, None)
        self._stand_ins.pop(op, None)

    def _inputs(self, op: str, depth: int = 0) -> list[Any]:
        return [self._tensor(tensor, depth) for tensor in self._view.inputs(op)]

    def _build(self, op: str, depth: int = 0) -> Sequence[Any]:
        node = self._view.node(op)
        if node.op in CONSTANTS and not is_small(const_shape(node)):
            return [self._placeholder(self._view.dtype((op, 0)), const_shape(node))]
        outputs = self._made(node, self._inputs(op, depth))
        is_computed = node.op in CONSTANTS or self._view.computes(op)
        if is_computed and outputs and all(is_small(_shape(tensor)) for tensor in outputs):
            clear_attribute(outputs[0].op, "_kernel")  # few numbers, computed in no time: shape functions ask for them
        return outputs

    def _tensor(self, tensor: Tensor, depth: int) -> Any:
        """What stands for a tensor."""
        op, port = tensor
        if op not in self._built and self._view.may_know_value(op) and depth < _DEEPEST:
            with suppress(Refused, Unknown):
                self._built[op] = self._build(op, depth + 1)
                self.sharpen(op, [self._view.shape(op, k) for k in range(len(self._built[op]))])
        if op in self._built:
            return self._built[op][port]
        made = self._stand_ins.setdefault(op, {})
        if port not in made:
            made[port] = self._stand_in(tensor)
        return made[port]

    def sharpen(self, op: str, shapes: Sequence[Shape]) -> None:
        """Tell what is known of an op's outputs beside what its inputs say; somebody may have called `set_shape`."""
        for output, shape in zip(self._built.get(op, ()), shapes, strict=False):
            if shape is not None and _shape(output) != shape:
                with suppress(ValueError):
                    output.set_shape(shape)

    def _stand_in(self, tensor: Tensor) -> Any:
        dtype, shape = self._view.dtype(tensor), self._view.shape(*tensor)
        if dtype == "resource":
            return self._handle(tensor)
        if dtype.endswith("_ref"):  # there is no placeholder of a reference: a variable gives one
            return self._placeholder(dtype.removesuffix("_ref"), shape, "VariableV2")
        return self._placeholder(dtype, shape)

    def _placeholder(self, dtype: str, shape: Shape, op_type: str = "Placeholder") -> Any:
        number, key = self._view.index.typing.number(dtype), (dtype, shape, op_type)
        if not number:
            raise Unknown(f"a tensor of no known dtype {dtype!r}")
        if key in self._shared:
            return self._shared[key]
        node = tf.compat.v1.NodeDef(op=op_type)
        node.attr["dtype"].type = number
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        made = self._made(node, [])[0]
        if shape is not None and None not in shape:  # unknown dimensions are the same ones in one tensor only
            self._shared[key] = made
        return made

    def _handle(self, tensor: Tensor) -> Any:
        """A handle of a variable of the same dtype and shape, as far as these are told."""
        view, op = self._view, tensor[0]
        for _ in range(_DEEPEST):
            if view.node(op).op not in FIRST_INPUT_FORWARDING:
                break
            op = view.inputs(op)[0][0]
        node = view.node(op)
        if node.op == "VarHandleOp":
            return self._made(node, [])[0]
        reads = (reader for name in (op, tensor[0]) for reader in view.readers(name))
        read = next((reader for reader in reads if view.node(reader).op == "ReadVariableOp"), None)
        if read is None:
            return self._placeholder("resource", view.shape(*tensor))
        return self._placeholder(view.dtype((read, 0)), view.shape(read, 0), "VarHandleOp")

    def _made(self, node: NodeDef, tensors: list[Any]) -> Sequence[Any]:
        """The outputs of a new op. Raises Refused, and Unknown when TensorFlow does not know it."""
        op_type = SHAPE_EQUIVALENTS.get(node.op, node.op)
        definition = self._view.index.typing.definition(op_type)
        if definition is None:
            raise Unknown(f"the op type {op_type!r}")
        why = self._bounds.why(node)
        if why:
            raise Refused(f"it {why}")
        self._add_functions(node)
        made = tf.compat.v1.NodeDef(name=f"op{self._graph.version}", op=op_type)
        for attr in definition.attr:
            if attr.name in node.attr:
                made.attr[attr.name].CopyFrom(node.attr[attr.name])
        made.attr["_kernel"].s = b"none"  # shape functions run what computes their inputs: sources/inference/shapes.py
        outputs: Sequence[Any] = _asked(lambda: self._outputs(made, tensors, definition))
        return outputs

    def _outputs(self, node: NodeDef, tensors: list[Any], definition: Any) -> Any:
        return create_operation(self._graph, node, tensors, (), definition).outputs

    # Functions

    def _add_functions(self, node: NodeDef) -> None:
        """Let the graph have what a NodeDef calls; what has no end is cut off."""
        lacking: dict[str, Any] = {}
        functions, stack = self._view.functions(), [node]
        while stack:
            for door in called_functions(stack.pop(), functions):
                if door.function not in lacking and door.function not in self._known:
                    lacking[door.function] = self._view.function(door.function)
                    stack += lacking[door.function].node_def
        if lacking:
            self._known |= lacking.keys()
            _asked(lambda: self._import(lacking))

    def _import(self, functions: dict[str, FunctionDef]) -> None:
        excess = self._bounds.excess((), functions)
        if excess:
            raise Unknown(excess.why)
        graph_def = tf.compat.v1.GraphDef()
        graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
        graph_def.library.function.extend(without_endless_calls(functions))
        for function in graph_def.library.function:
            for node in function.node_def:
                node.op = SHAPE_EQUIVALENTS.get(node.op, node.op)
                node.attr["_kernel"].s = b"none"
        try:
            run_import(self._graph, ValidatedNodes((), graph_def.SerializeToString(), ()), {})
        except GraphEditError as error:
            raise Unknown(str(error)) from error

    def _called(self, function: Any, tensors: list[Any], dtypes: Any) -> list[Shape]:
        """The shapes of a function's results."""
        node = tf.compat.v1.NodeDef(op="StatefulPartitionedCall")
        node.attr["f"].func.CopyFrom(function)
        node.attr["Tin"].list.type.extend(tensor.dtype.as_datatype_enum for tensor in tensors)
        node.attr["Tout"].CopyFrom(dtypes)
        return [_shape(tensor) for tensor in self._made(node, tensors)]

    def _around(self, node: NodeDef, tensors: list[Any]) -> list[Shape]:
        """What holds of a loop's variables before its body and after it."""
        shapes = [_shape(tensor) for tensor in tensors]
        for _ in range(_MOST_ROUNDS):
            after = self._called(node.attr["body"].func, tensors, node.attr["T"])
            wider = [merge_shapes(a, b) for a, b in zip(shapes, after, strict=True)]
            if wider == shapes:
                return shapes
            tensors = [self._wider(t, shape) for t, shape in zip(tensors, wider, strict=True)]
            shapes = wider
        raise Unknown("a loop that does not settle")

    def _wider(self, tensor: Tensor, shape: Shape) -> Any:
        dtype = tensor.dtype.name
        return tensor if dtype in HANDLE_DTYPES or _shape(tensor) == shape else self._placeholder(dtype, shape)

    def _either(self, node: NodeDef, tensors: list[Any]) -> list[Shape]:
        """What holds of the results of all branches."""
        branches = [node.attr[key].func for key in ("then_branch", "else_branch") if key in node.attr]
        branches += node.attr["branches"].list.func if "branches" in node.attr else []
        told = [self._called(branch, tensors, node.attr["Tout"]) for branch in branches]
        if not told:
            raise Unknown("a conditional without branches")
        shapes = told[0]
        for other in told[1:]:
            shapes = [merge_shapes(a, b) for a, b in zip(shapes, other, strict=True)]
        return shapes


def _asked(ask: Callable[[], Any]) -> Any:
    """What TensorFlow answers. Raises Refused with its reason, and Unknown when it cannot tell."""
    try:
        return ask()
    except ValueError as error:
        raise Refused(str(error)) from error
    except Unknown:
        raise
    except Exception as error:  # whatever else TensorFlow finds wrong with a NodeDef is not for shape functions to say
        raise Unknown(str(error)) from error


def _shape(tensor: Tensor) -> Shape:
    dims, unknown = static_dimensions(tensor)
    return None if unknown else tuple(n if n is not None and n >= 0 else None for n in dims)


_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
_OUTPUT_SHAPES = "output_shapes"
_NODES = re.compile(r"(Node: )?\{\{\w+ [^}]*\}\}\s*")


def shaped(index: GraphIndex, patch: Patch) -> Patch:
    """The patch with the static shapes that follow from it, where they are others than `index` tells.

    Those of added ops are all there, as far as they are known. Raises GraphEditError, naming the op that refuses, when
    an op cannot take what it would read.
    """
    if not patch.add.nodes and not patch.changed:
        return patch
    _check_bounds(index, patch)
    with no_collections():
        after = _inferred(index, patch)
    return replace(patch, shapes=tuple(_new_shapes(after)), changed=_told_by_attributes(after))


def _check_bounds(index: GraphIndex, patch: Patch) -> None:
    """Refuse an edit that gives an op too many tensors; one that a file has already may be read from something else."""
    bounds = Bounds(index.typing.definition)
    changed = ((edited.before, edited.after) for edited in patch.changed)
    for before, node in (*((None, node) for node in patch.add.nodes), *changed):
        why = bounds.why(node)
        if why and (before is None or not bounds.why(before)):
            raise GraphEditError(f"Op {node.name!r} {why}; give it a smaller number.", [node.name])


def _inferred(index: GraphIndex, patch: Patch) -> PatchedGraph:
    after = PatchedGraph(index, patch)
    try:
        # Mostly no shape changes but those of the ops that the patch names, and no other needs a place in an order.
        own = after.sorted(after.own)
        _Inference(after, {name: (k, 0) for k, name in enumerate(own)}, is_whole=False).run()
    except _Further:
        after = PatchedGraph(index, patch)
        _Inference(after, after.ranks(), is_whole=True).run()
    return after


def _new_shapes(after: PatchedGraph) -> Iterable[NewShape]:
    added = {node.name for node in after.patch.add.nodes}
    for name in added & after.own.keys():  # those of copies are told by their originals
        for port in range(len(after.dtypes(name))):
            after.shapes.setdefault((name, port), after.shape(name, port))
    for (name, port), shape in after.shapes.items():
        at = after.index.ids.get(name)
        before = None if at is None else after.index.shape(at, port)
        if shape != before:
            yield NewShape(name, port, before, shape)


def _told_by_attributes(after: PatchedGraph) -> tuple[NodeChange, ...]:
    """What the patch changes, and the loops and conditionals of functions that say another shape in an attribute: they
    are taken at their word by whoever imports them.
    """
    changed = {edited.name: edited for edited in after.patch.changed}
    for name in dict.fromkeys(op for op, _ in after.shapes):
        node = after.node(name)
        if name in after.index.ids and node.op in FUNCTIONAL_CONTROL_FLOW and node.attr[_OUTPUT_SHAPES].list.shape:
            right = type(node)()
            right.CopyFrom(node)
            shapes = [tf.TensorShape(after.shape(name, k)).as_proto() for k in range(len(after.dtypes(name)))]
            right.attr[_OUTPUT_SHAPES].list.ClearField("shape")
            right.attr[_OUTPUT_SHAPES].list.shape.extend(shapes)
            changed[name] = NodeChange(changed[name].before if name in changed else node, right)
    return tuple(changed.values())


class _Further(Exception):
    """More ops are reached than have a rank."""


class _Inference:
    """Takes new shapes from op to op, in the order of their ranks."""

    def __init__(self, after: PatchedGraph, ranks: Mapping[str, Rank], *, is_whole: bool) -> None:
        self._after, self._ranks, self._is_whole = after, ranks, is_whole
        self._before = PatchedGraph(after.index)
        self._moved: set[Tensor] = set()  # tensors that tell something else than before
        self._seen: set[str] = set()
        self._queue: list[tuple[Rank, str]] = []
        self._waiting: set[str] = set()

    @cached_property
    def _scratch(self) -> ShapeInferenceSandbox:
        return ShapeInferenceSandbox(self._after)

    @cached_property
    def _old(self) -> ShapeInferenceSandbox:
        """The graph as it was."""
        return ShapeInferenceSandbox(self._before)

    def run(self) -> None:
        """Ask every op that may have other shapes. Raises GraphEditError."""
        for name in self._after.own:
            self._push(name)
        asked = 0
        while self._queue:
            asked += 1
            tell("Inferring shapes", asked, asked + len(self._queue))
            name = heapq.heappop(self._queue)[1]
            self._waiting.discard(name)
            slots = self._after.slots(name)
            if slots is None or any(self._differs(name, *slot) for slot in slots):
                self._ask(name, slots)

    def _push(self, name: str) -> None:
        if name not in self._ranks:
            raise _Further
        if name not in self._waiting:
            self._waiting.add(name)
            heapq.heappush(self._queue, (self._ranks[name], name))

    def _differs(self, reader: str, was: Tensor, now: Tensor) -> bool:
        """Whether what an op reads now tells it something else than what it read before."""
        after, before = self._after, self._before
        if after.same(was, now):
            return now in self._moved
        dtype = after.dtype(now)
        if dtype != before.dtype(was) or dtype in HANDLE_DTYPES or after.shape(*now) != before.shape(*was):
            return True
        return (dtype in _INTEGERS or after.computes(reader)) and (
            after.may_know_value(now[0]) or before.may_know_value(was[0])
        )

    def _ask(self, name: str, slots: list[tuple[Tensor, Tensor]] | None) -> None:
        """Infer what an op gives, and go on to its readers when that is something else."""
        after, known, first = self._after, name in self._before.index.ids, name not in self._seen
        self._seen.add(name)
        try:
            shapes = self._scratch.shapes(name)
        except Refused as reason:
            if not self._is_whole and len(after.own) > 1:  # what it reads may still become something else
                raise _Further from reason
            if not known or self._were(name) is not None:
                raise self._refusal(name, slots, str(reason)) from reason
            shapes = [None] * len(after.dtypes(name))  # it was no better before
        if not first:  # round a loop
            shapes = [merge_shapes(after.shape(name, k), shape) for k, shape in enumerate(shapes)]
            self._scratch.forget(name)
        elif known and slots:
            inferred, shapes = shapes, self._kept(name, slots, shapes)
            if shapes != inferred:
                self._scratch.sharpen(name, shapes)
        self._move(name, shapes, first=first)

    def _kept(self, name: str, slots: list[tuple[Tensor, Tensor]], shapes: list[Shape]) -> list[Shape]:
        """The shapes, and what Python said of them beside, as far as that holds still."""
        after, before = self._after, self._before
        # The shape function of an Enter tells nothing, Python sets its shape: see
        # test_round_a_v1_loop_shapes_become_what_holds_each_time.
        if after.node(name).op in ENTER and before.shape(name, 0) == before.shape(*slots[0][0]) is not None:
            return [after.shape(*slots[0][1])]
        if self._only_numbers(name, slots) and shapes == self._were(name):
            return [after.shape(name, k) for k in range(len(shapes))]
        return shapes

    def _move(self, name: str, shapes: list[Shape], *, first: bool) -> None:
        """Go on to the readers of what is something else now."""
        after = self._after
        moved = [port for port, shape in enumerate(shapes) if shape != after.shape(name, port)]
        for port in moved:
            after.set_shape(name, port, shapes[port])
        if first:
            held = [port for port, dtype in enumerate(after.dtypes(name)) if dtype in HANDLE_DTYPES]
            moved = (
                list(range(len(shapes)))
                if after.may_know_value(name) or self._before.may_know_value(name)
                else moved + held
            )
        if moved:
            self._moved.update((name, port) for port in moved)
            for reader in after.readers(name):
                self._push(reader)

    def _only_numbers(self, name: str, slots: list[tuple[Tensor, Tensor]]) -> bool:
        """Whether what an op reads differs in numbers at most, neither in shape nor in what a handle holds."""
        after, before = self._after, self._before
        if any(after.shape(*now) != before.shape(*was) for was, now in slots):
            return False
        return not any(after.dtype(now) in HANDLE_DTYPES and self._differs(name, was, now) for was, now in slots)

    def _were(self, name: str) -> list[Shape] | None:
        """What TensorFlow would infer of an op as it was."""
        try:
            return self._old.shapes(name)
        except Refused:
            return None

    def _refusal(self, name: str, slots: list[tuple[Tensor, Tensor]] | None, reason: str) -> GraphEditError:
        """One sentence: the op, what it cannot take, what it could, TensorFlow's reason, and what was edited."""
        after, before = self._after, self._before
        read = after.inputs(name)
        pairs = slots or [(tensor, tensor) for tensor in read]
        other = [k for k, (was, now) in enumerate(pairs) if slots and after.shape(*now) != before.shape(*was)]
        wrong = other or list(range(len(read)))
        told = " and ".join(self._instead(*pairs[k]) if slots else self._text(read[k]) for k in wrong)
        others = [self._text(read[k]) for k in range(len(read)) if k not in wrong]
        beside = " and ".join(others[:3] + ([f"{len(others) - 3} more"] if others[3:] else []))
        edited = [name for name in after.own if name in before.index.ids] or list(after.own)
        whence = "" if name in after.own else f", which follows from the change of {listed(edited)}"
        beside = (beside and f", beside {beside}") + whence
        return GraphEditError(
            f"Op {name!r} cannot take {told or 'its attributes'}{beside}: {_plain(reason)}; choose a tensor of another "
            "shape.",
            dict.fromkeys([name, *(read[k][0] for k in wrong), *(edited if whence else ())]),
        )

    def _instead(self, was: Tensor, now: Tensor) -> str:
        place = "" if self._after.same(was, now) else f"'{was[0]}:{was[1]}' of shape "
        return f"{self._text(now)} in place of {place}{shape_text(self._before.shape(*was))}"

    def _text(self, tensor: Tensor) -> str:
        return f"'{tensor[0]}:{tensor[1]}' of shape {shape_text(self._after.shape(*tensor))}"


def _plain(reason: str) -> str:
    """TensorFlow's reason without the op, as a part of a sentence."""
    text = _NODES.sub("", reason).strip().partition("\n")[0].partition(" for '")[0].partition(". ")[0].rstrip(".;: ")
    return text[:1].lower() + text[1:300]
