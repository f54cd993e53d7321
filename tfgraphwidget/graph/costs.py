"""Parameters and output bytes of ops, from the graph alone."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.distinct_variables import distinct_handles
from tfgraphwidget.graph.dtype_sizes import BYTES
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import ARGUMENTS, CONSTANTS, HANDLES, WEIGHT_READS
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.tf_types import TensorShapeProto

Floats = npt.NDArray[np.float64]
_APPLIES = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
_FLOATING = frozenset({"float16", "float32", "float64", "bfloat16"})


def parameters(index: GraphIndex) -> Floats:
    """How many numbers each op holds for a model to learn, (n,): 0 for ops that hold none, NaN
    where it is unknown.

    Those are the elements of variables, each counted at one handle, an optimizer's own ones left
    out. In a function's body the variables are arguments; a frozen graph has constants of floats in
    their place.
    """
    counts = np.zeros(len(index))
    variables = distinct_handles(index)
    optimizer_slots = slots(index)
    for i in variables:
        counts[i] = 0 if i in optimizer_slots else _of_attr(index.nodes[i].attr["shape"].shape)
    for i, shape in _captured_variables(index).items():
        counts[i] = 0 if i in optimizer_slots else elements(shape, None)
    if not counts.any():
        for i in np.flatnonzero(of_type(index, CONSTANTS.__contains__)).tolist():
            is_floating = bool(_FLOATING.intersection(index.dtypes(i)[:1]))
            if is_floating and index.shape(i, 0):  # a scalar is no weight
                counts[i] = elements(index.shape(i, 0), None)
    return counts


def output_bytes(index: GraphIndex) -> Floats:
    """How many bytes each op gives, (n,); unknown dimensions count as 1. NaN where unknown."""
    sizes = np.zeros(len(index))
    for i in range(len(index)):
        for port, dtype in enumerate(index.dtypes(i)):
            if dtype.endswith("_ref") and index.types[i] not in HANDLES:
                continue  # the variable's own, handed on
            each = BYTES.get(dtype.removesuffix("_ref"))
            sizes[i] += np.nan if each is None else each * elements(index.shape(i, port), 1)
    return sizes


def elements(shape: Shape, unknown: int | None) -> float:
    """The elements of a tensor, with `unknown` for unknown dimensions; NaN where not known."""
    if shape is None or (unknown is None and None in shape):
        return float("nan")
    return float(prod(unknown if size is None else size for size in shape))  # type: ignore[misc]


def users(index: GraphIndex, fed: Mask) -> npt.NDArray[np.int32]:
    """For each op the op where it is of use, (n,): for variables the first that computes with them,
    else itself.

    `fed` (bool per op) says what depends on what the graph is fed. Frozen graphs have constants for
    variables.
    """
    user_of = np.arange(len(index), dtype=np.int32)
    for i in np.flatnonzero(~fed & (parameters(index) > 0)).tolist():
        way = [i]
        while way:
            consumers = sorted(set(index.consumer_lists[way.pop()]))
            fed_consumers = (op for op in consumers if fed[op])
            computing = (op for op in fed_consumers if not _APPLIES.fullmatch(index.types[op]))
            user = next(computing, None)
            if user is not None:
                user_of[i] = user
                break
            way += [op for op in consumers if index.types[op] in WEIGHT_READS]
    return user_of


def slots(index: GraphIndex) -> set[int]:
    """The variables that an optimizer holds beside the one it changes: Adam's moments, for one."""
    inputs = set[int]()
    for i, kind in enumerate(index.types):
        if _APPLIES.fullmatch(kind):
            inputs |= set(index.input_lists[i][1:])
    return {i for i in inputs if index.types[i] in HANDLES or index.types[i] in ARGUMENTS}


def _captured_variables(index: GraphIndex) -> dict[int, Shape]:
    """The arguments of a function that are variables, with the shapes that are read of them."""
    shapes: dict[int, Shape] = {}
    for i, kind in enumerate(index.types):
        if kind == "ReadVariableOp" and index.input_lists[i]:
            source = index.input_lists[i][0]
            if index.types[source] in ARGUMENTS:
                shapes.setdefault(source, index.shape(i, 0))
    return shapes


def _of_attr(shape: TensorShapeProto) -> float:
    if shape.unknown_rank or any(dim.size < 0 for dim in shape.dim):
        return float("nan")
    return float(prod(dim.size for dim in shape.dim))
