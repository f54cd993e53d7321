"""The static shapes of a graph for one batch size: what costs are counted from.

`None` in a shape is any size, and after a Reshape sizes hide in others: (None, 10, 64) is (None,
64) there, of ten times as many rows. So the inputs get the batch size, and TensorFlow infers what
follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

from tfgraphwidget.edits import NodeChange, Patch, apply_patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import ARGUMENTS, HANDLE_DTYPES, ITERATOR_READS, GraphIndex, Shape
from tfgraphwidget.messages import copy_of
from tfgraphwidget.runtime.sandbox.shape_inference import infer_patch_shapes
from tfgraphwidget.sources import is_own_shapes_only, shape_proto

Sizes = tuple[int, int | None]
"""What an unknown first dimension is, and what each other one is; None for unknown."""
_MOST_ROUNDS = 20  # loops after each other, as the layers of a recurrent network
_MOST_INFERRED = 50_000  # ops; TensorFlow infers the shapes of some thousand in a second
_cached: WeakKeyDictionary[GraphIndex, dict[tuple[int, bool], GraphIndex]] = WeakKeyDictionary()


def at_batch(index: GraphIndex, batch: int) -> GraphIndex:
    """The graph with the static shapes that it has for inputs of a batch size.

    Where the first dimension of an input is unknown it is the batch size, and others are 1 as far
    as ops take that. If an op cannot take the batch size, in a graph of very many ops, and under
    `own_shapes_only`, each unknown first dimension counts as it.
    """
    indices, key = _cached.setdefault(index, {}), (batch, is_own_shapes_only())
    if key not in indices:
        indices[key] = _at_batch(index, batch)
    return indices[key]


def _at_batch(index: GraphIndex, batch: int) -> GraphIndex:
    """Infer them."""
    if len(index) <= _MOST_INFERRED and not is_own_shapes_only():
        for other in (1, None):
            patch = Patch(changed=tuple(_changed_inputs(index, (batch, other))))
            if not patch.changed:
                return _without_unknown(index)
            with suppress(GraphEditError):
                # A size is baked in somewhere, or a window is larger than an image of 1.
                return _without_unknown(apply_patch(index, infer_patch_shapes(index, patch)))
    tensors = [(op, port) for op in range(len(index)) for port in range(len(index.dtypes(op)))]
    shapes = {(index.names[op], port): index.shape(op, port) for op, port in tensors}
    return index.with_shapes(
        {end: (batch, *shape[1:]) for end, shape in shapes.items() if shape and shape[0] is None}
    )


def _without_unknown(index: GraphIndex) -> GraphIndex:
    """The graph, where what no shape function gives is the batch size, too: most often it is,
    after a loop.
    """
    inputs = (op for op, kind in enumerate(index.types) if kind in ARGUMENTS)
    shapes = (index.shape(op, 0) for op in inputs if index.dtypes(op)[0] not in HANDLE_DTYPES)
    firsts = Counter(shape[0] for shape in shapes if shape)
    batch = max(firsts, key=firsts.__getitem__, default=None) or 1
    inferred = index
    for _ in range(_MOST_ROUNDS):
        sources = list(_sources_of_unknown(inferred))
        placeholders = (_placeholder(inferred, op, batch) for op in sources)
        changed = tuple(change for change in placeholders if change is not None)
        if not changed:
            break
        try:
            patch = infer_patch_shapes(inferred, Patch(changed=changed))
        except GraphEditError:
            break
        inferred = inferred.with_shapes(patch.new_shapes)
    return inferred


def _sources_of_unknown(index: GraphIndex) -> Iterator[int]:
    """The ops with one output of unknown sizes, which read none of unknown sizes."""
    for op in range(len(index)):
        shape = index.shape(op, 0)
        if shape is None or None not in shape or len(index.dtypes(op)) != 1:
            continue
        edges = range(index.inputs.start[op], index.inputs.start[op + 1])
        reads = (index.shape(int(index.inputs.values[at]), int(index.ports[at])) for at in edges)
        if all(read is not None and None not in read for read in reads):
            yield op


def _placeholder(index: GraphIndex, op: int, batch: int) -> NodeChange | None:
    """A placeholder in the place of an op, whose first unknown size is taken to be that of the
    batch.
    """
    shape = list(index.shape(op, 0) or ())
    shape[shape.index(None)] = batch
    shape = [1 if size is None else size for size in shape]
    before = index.nodes[op]
    after = type(before)(name=before.name, op="Placeholder")
    number = index.typing.number(index.dtypes(op)[0])
    after.attr["dtype"].type = number
    after.attr["shape"].shape.CopyFrom(shape_proto(tuple(shape)))
    return NodeChange(before, after) if number else None


def with_input_shapes(index: GraphIndex, shapes: Mapping[str, Shape]) -> GraphIndex:
    """The graph, as the body of a function, with the static shapes that it has for inputs of
    others, by the names of placeholders; as it is, where an op cannot take them.
    """
    changed = []
    for name, shape in shapes.items():
        op = index.ids[name]
        is_other = shape is not None and None not in shape and shape != index.shape(op, 0)
        if is_other and index.dtypes(op)[0] not in HANDLE_DTYPES:
            changed.append(_input_change(index, op, [shape]))
    if changed:
        with suppress(GraphEditError):
            return apply_patch(index, infer_patch_shapes(index, Patch(changed=tuple(changed))))
    return index


def _changed_inputs(index: GraphIndex, sizes: Sizes) -> Iterator[NodeChange]:
    """The inputs with unknown dimensions, with sizes in their place."""
    for op, kind in enumerate(index.types):
        if kind in ARGUMENTS | ITERATOR_READS and index.dtypes(op)[0] not in HANDLE_DTYPES:
            shapes = [index.shape(op, port) for port in range(len(index.dtypes(op)))]
            new = [_with_sizes(shape, sizes) for shape in shapes]
            if new != shapes:
                yield _input_change(index, op, new)


def _with_sizes(shape: Shape, sizes: Sizes) -> Shape:
    """A shape with sizes in the place of unknown dimensions."""
    if shape is None:
        return None
    return tuple(sizes[min(axis, 1)] if size is None else size for axis, size in enumerate(shape))


def _input_change(index: GraphIndex, op: int, shapes: Sequence[Shape]) -> NodeChange:
    """An input, and what it is with other static shapes."""
    before = index.nodes[op]
    after = copy_of(before)
    protos = (
        [after.attr["shape"].shape]
        if before.op in ARGUMENTS
        else after.attr["output_shapes"].list.shape
    )
    for proto, shape in zip(protos, shapes, strict=False):
        proto.CopyFrom(shape_proto(shape))
    return NodeChange(before, after)
