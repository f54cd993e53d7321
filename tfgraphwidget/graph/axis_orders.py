"""In which order a converted model has the axes of a tensor.

ONNX computes images with their channels first, so that a converter transposes what goes into a
convolution and what comes out, and moves transpositions past what works on elements until two of
them cancel out. An order says which axes of a tensor of the converted model are those of the model,
one by one; that of a tensor is found from those that its operator reads. Where it is not certain,
it is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from tfgraphwidget.graph.converted_op_types import KEEP_AXES, ONNX_PREFIX, TRANSPOSING
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import WITH_DATA_FORMAT
from tfgraphwidget.graph.tensor_values import tensor_array
from tfgraphwidget.tf_types import NodeDef

Axes = tuple[int, ...]
SAME: Axes = ()
"""The order of a tensor whose axes are those of the model."""
IMAGE_AXES = 4  # of a batch of images; volumes have one more
MOST_AXES = 6  # of a tensor whose order is found by its shape: there are 720 of them
# How the types begin of others that a converter moves transpositions past: they take axes away, but
# for keepdims, or add some.
_MOVED = ("ArgMax", "ArgMin", "Reduce", "Squeeze", "Unsqueeze")


def output_axes(
    index: GraphIndex, op: int, sources: Sequence[Axes | None], *, is_of_model: bool
) -> Axes | None:
    """The order of the axes of what an operator of ONNX gives.

    Args:
        sources: The orders of what it reads, but for constants.
        is_of_model: Whether an op of its kind is in the model too.
    """
    kind = index.types[op].removeprefix(ONNX_PREFIX)
    shape = index.shape(op, 0)
    rank = None if shape is None else len(shape)
    is_same = all(axes == SAME for axes in sources)
    if rank is not None and rank <= 1:
        # The shape of a tensor has its axes as elements.
        return None if kind == "Shape" and not is_same else SAME
    if kind in KEEP_AXES:
        if not sources:
            return SAME
        return sources[0] if len(set(sources)) == 1 else None
    if kind in TRANSPOSING and not is_of_model and len(sources) == 1:
        permutation = _permutation(index, op, rank, to_channels_first=is_same)
        if permutation is not None:
            return _transpose(permutation, sources[0])
    if is_same:
        return SAME
    if not kind.startswith(_MOVED):
        return SAME if is_of_model else None  # that of the model reads the same
    if len(sources) == 1 and sources[0] and rank is not None:
        if rank == len(sources[0]):
            return sources[0]
        return _without(_removed_axes(index, op), sources[0], rank)
    return None


def image_axes(op: NodeDef, rank: int) -> Axes | None:
    """The order of the axes of images whose channels come first, compared with those of an op of
    the model; None where that does not say where it has the channels.
    """
    if op.op not in WITH_DATA_FORMAT or rank < IMAGE_AXES:
        return None
    is_channels_first = "data_format" in op.attr and op.attr["data_format"].s.startswith(b"NC")
    return SAME if is_channels_first else (0, *range(2, rank), 1)


def axes_by_shape(model: Sequence[int | None], converted: Sequence[int | None]) -> Axes | None:
    """The only order that makes one shape of the other and keeps its first axis, or None."""
    if len(model) != len(converted) or len(model) > MOST_AXES:
        return None
    if None in (*model[1:], *converted[1:]):
        return None
    same = tuple(range(len(model)))
    orders = [(0, *order) for order in permutations(same[1:])]
    fitting = [axes for axes in orders if [converted[axis] for axis in axes[1:]] == [*model[1:]]]
    if len(fitting) != 1:
        return None
    return SAME if fitting[0] == same else fitting[0]


def model_shape(shape: Sequence[int | None], axes: Axes) -> Sequence[int | None]:
    """A shape of the converted model with the axes of the model."""
    return [shape[axis] for axis in axes] if axes and len(axes) == len(shape) else shape


def _permutation(
    index: GraphIndex, op: int, rank: int | None, *, to_channels_first: bool
) -> Axes | None:
    """The permutation of axes that a Transpose, or a Reshape which does the same, applies to its
    input; None where there is none. With one channel a converter writes a Transpose as a Reshape.
    """
    if rank is None:
        return None
    if index.types[op] == f"{ONNX_PREFIX}Transpose":
        permutation = tuple(index.nodes[op].attr["perm"].list.i) or tuple(range(rank))[::-1]
        return permutation if sorted(permutation) == [*range(rank)] else None
    before, after = index.shape(index.input_lists[op][0], 0), index.shape(op, 0)
    if before is None or after is None or len(before) != rank or rank < IMAGE_AXES:
        return None
    if to_channels_first:
        permutation = (0, rank - 1, *range(1, rank - 1))
    else:
        permutation = (0, *range(2, rank), 1)
    is_transposed = [before[axis] for axis in permutation] == [*after]
    # A Reshape keeps the elements where they are: only axes of size 1 may move past others.
    keeps_order = [n for n in before[1:] if n != 1] == [n for n in after[1:] if n != 1]
    return permutation if is_transposed and keeps_order else None


def _transpose(permutation: Axes, source: Axes | None) -> Axes | None:
    """The order of a transposed tensor's axes, from that of the tensor before."""
    if source is None or (source and len(source) != len(permutation)):
        return None
    same = tuple(range(len(permutation)))
    axes = tuple(permutation.index(axis) for axis in source or same)
    return SAME if axes == same else axes


def _removed_axes(index: GraphIndex, op: int) -> list[int]:
    """The axes that an operator takes away: an attribute, or a constant that it reads."""
    attributes = index.nodes[op].attr
    for name in ("axes", "axis"):
        if name in attributes:
            return [*attributes[name].list.i] or [attributes[name].i]
    for source in index.input_lists[op][1:]:
        value = index.nodes[source].attr["value"].tensor
        if index.types[source] == "Const":
            array = tensor_array(value, index.dtypes(source)[0], None)
            return np.ravel(array).astype(int).tolist()
    return []


def _without(removed: Sequence[int], axes: Axes, rank: int) -> Axes | None:
    """An order without some axes of the converted model."""
    removed_axes = {axis % len(axes) for axis in removed}
    left = [axis for axis in axes if axis not in removed_axes]
    if len(left) != rank:
        return None
    order = tuple(sorted(left).index(axis) for axis in left)
    return SAME if order == tuple(range(rank)) else order
