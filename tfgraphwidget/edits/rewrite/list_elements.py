"""Sizes of the elements of lists that were open, and follow from the new shape of an input.

A recurrent layer that is traced with an open batch makes its lists for elements [-1, n]. TensorFlow
runs them for any batch; a converter to TFLite takes lists of known elements only, and the shape of
what is stacked from a list is known no further than they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfgraphwidget.edits.context import FunctionContext, PlanContext
from tfgraphwidget.edits.patch import NodeChange, Patch, StaleConstant, apply_patch
from tfgraphwidget.edits.rewire.edge_moves import Tensor
from tfgraphwidget.edits.rewrite.constant_sizes import (
    ShapeChanges,
    SizeConsumer,
    set_integers,
)
from tfgraphwidget.edits.rewrite.insert import set_placeholder_spec
from tfgraphwidget.edits.rewrite.stale_shapes import ELEMENT_SHAPES
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, REQUIRED_PLACEHOLDERS, WHILE_LOOPS, GraphIndex, Shape
from tfgraphwidget.tf_types import NodeDef

_LIST_WRITES = {"TensorListPushBack": 1, "TensorListSetItem": 2}
"""What writes an element into the list of its first input: the input that has the element."""


class ListElements:
    """The sizes of elements of lists that are known now.

    Args:
        context: The graph, or the body of a function.
        index: The graph after the edit, with the static shapes of before.
    """

    def __init__(self, context: PlanContext, index: GraphIndex) -> None:
        self.context, self.index = context, index
        self._of_loops: dict[tuple[object, ...], dict[int, Shape]] = {}

    def known_sizes(self, changes: ShapeChanges) -> Iterator[StaleConstant]:
        """The sizes that constants say otherwise or leave open, of lists that are made of a tensor
        or written in a loop.
        """
        index = self.index
        for op, kind in enumerate(index.types):
            if kind != "TensorListFromTensor" and kind not in WHILE_LOOPS:
                continue
            read = index.input_tensors(op)
            if changes.shapes.keys().isdisjoint(read):
                continue
            consumer = SizeConsumer(index, changes, op)
            if kind == "TensorListFromTensor":
                yield from _sizes(consumer, 1, (_shape_now(consumer, read[0]) or ())[1:])
                continue
            shapes = tuple(_shape_now(consumer, tensor) for tensor in read)
            elements = {
                k: (_shape_now(consumer, index.input_tensors(source)[0]) or ())[1:]
                for k, (source, _) in enumerate(read)
                if index.types[source] == "TensorListFromTensor"
            }
            for k, shape in self._written_in_loop(op, shapes, elements).items():
                users = [read[k][0], *index.consumer_lists[op]]
                for user in dict.fromkeys(users):
                    slot = ELEMENT_SHAPES.get(index.types[user])
                    if slot is not None and (user == read[k][0] or _reads(index, user, (op, k))):
                        yield from _sizes(SizeConsumer(index, changes, user), slot, shape)

    def _written_in_loop(
        self, loop: int, shapes: tuple[Shape, ...], elements: Mapping[int, Shape]
    ) -> dict[int, Shape]:
        """The shape of what each round of a loop writes into a list, by the number of the loop's
        variable.
        """
        key = loop, shapes, tuple(elements.items())
        if key not in self._of_loops:
            try:
                body = self.context.enter(self.index.names[loop], "body")
                self._of_loops[key] = _shapes_written_to_lists(body, self.index, shapes, elements)
            except GraphEditError:  # the body is damaged, or refuses the shapes: nothing is known
                self._of_loops[key] = {}
        return self._of_loops[key]


def _shapes_written_to_lists(
    body: FunctionContext,
    caller: GraphIndex,
    shapes: tuple[Shape, ...],
    elements: Mapping[int, Shape],
) -> dict[int, Shape]:
    """The shape of what a body writes into each of its arguments that are lists, by the number of
    the argument; nothing where the next round has other shapes than the first.

    `shapes` are those of the arguments in the first round, `elements` those of the elements of the
    lists that the body reads. Raises GraphEditError where the body does not take them.
    """
    signature = caller.extras.function(body.function).signature
    returns = caller.extras.function(body.function).ret
    results = [returns[each.name].partition(":")[0] for each in signature.output_arg]
    index = body.index
    numbers = {argument.name: k for k, argument in enumerate(signature.input_arg)}

    def argument_read(op: int) -> int:
        """The number of the argument that an op reads first; -1 for another tensor."""
        read = index.input_lists[op][:1]  # a damaged op reads nothing
        return numbers.get(index.names[read[0]], -1) if read else -1

    changed: dict[int, NodeDef] = {}

    def changed_node(op: int) -> NodeDef:
        node = changed[op] = type(index.nodes[op]).FromString(index.nodes[op].SerializeToString())
        return node

    for name, shape in zip(numbers, shapes, strict=False):
        op = index.ids.get(name, -1)
        if op >= 0 and index.types[op] in REQUIRED_PLACEHOLDERS and shape is not None:
            set_placeholder_spec(index, changed_node(op), (shape, index.dtypes(op)[0]))
    for op, kind in enumerate(index.types):
        element = elements.get(argument_read(op)) if kind in ELEMENT_SHAPES else None
        constant = index.input_lists[op][ELEMENT_SHAPES[kind]] if element else -1
        is_known = (
            element is not None and None not in element and index.types[constant] in CONSTANTS
        )
        if element and is_known and index.shape(constant, 0) == (len(element),):
            set_integers(index, changed_node(constant), [size or 0 for size in element])
    patch = Patch(changed=tuple(NodeChange(index.nodes[op], new) for op, new in changed.items()))
    after = apply_patch(index, body.infer_shapes(index, patch))
    for name, shape in zip(results, shapes, strict=False):
        if shape and (name not in after.ids or after.shape(after.ids[name], 0) != shape):
            return {}
    return {
        argument_read(op): after.shape(*after.input_tensors(op)[_LIST_WRITES[kind]])
        for op, kind in enumerate(after.types)
        if kind in _LIST_WRITES and argument_read(op) >= 0
    }


def _shape_now(consumer: SizeConsumer, tensor: Tensor) -> Shape:
    """The static shape of a tensor after the edit."""
    _, now = consumer.changes.shapes.get(tensor, (None, consumer.index.shape(*tensor)))
    return now


def _reads(index: GraphIndex, op: int, tensor: Tensor) -> bool:
    """Whether an op reads a tensor as its first input."""
    return index.input_tensors(op)[0] == tensor


def _sizes(consumer: SizeConsumer, slot: int, shape: Shape) -> Iterator[StaleConstant]:
    """The sizes in the constant vector that an op takes, where they are known to be others."""
    sizes = consumer.sizes(slot)
    for k, (entry, size) in enumerate(zip(sizes, shape or (), strict=False)):
        is_vector = len(sizes) == len(shape or ()) and consumer.index.shape(entry.constant, 0) != ()
        if entry.value not in (None, size) and size is not None and is_vector:
            yield consumer.stale(slot, sizes, k, size)
