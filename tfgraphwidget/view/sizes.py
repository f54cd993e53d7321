"""What a line carries: the bytes of its largest tensor, the shape of its only one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view.bundle import Lines
from tfgraphwidget.view.values import times

_MOST_TENSORS = 5_000
# Where NodeDefs do not say shapes, the first question of a file has TensorFlow infer them all.
_MOST_INFERRED, _ASKED = 8_000, 20
_SIZES = {
    "float32": 4, "float64": 8, "int32": 4, "uint8": 1, "int16": 2, "int8": 1, "complex64": 8, "int64": 8, "bool": 1,
    "bfloat16": 2, "float16": 2, "uint16": 2, "complex128": 16, "uint32": 4, "uint64": 8, "qint8": 1, "quint8": 1,
    "qint32": 4, "qint16": 2, "quint16": 2, "float8_e5m2": 1, "float8_e4m3fn": 1,
}  # fmt: skip
_cache: WeakKeyDictionary[GraphIndex, dict[tuple[int, int], tuple[float, str]]] = WeakKeyDictionary()
_cheap: WeakKeyDictionary[GraphIndex, bool] = WeakKeyDictionary()


def sizes(index: GraphIndex, lines: Lines) -> tuple[npt.NDArray[np.float32], Sequence[str]]:
    """(bytes, labels) of lines; 0 and "" where it is not known, or when there are too many to ask for."""
    count = len(lines.source)
    largest, labels = np.zeros(count, dtype=np.float32), [""] * count
    single = lines.tensors[lines.line] == 1
    wanted = np.flatnonzero(single) if len(single) > _MOST_TENSORS else np.arange(len(single))
    if len(wanted) > _MOST_TENSORS or not len(wanted) or not _is_cheap(index):
        return largest, labels
    known = _cache.setdefault(index, {})
    rows = zip(*(a[wanted].tolist() for a in (lines.line, lines.op, lines.port, single)), strict=True)
    for line, op, port, only in rows:
        size, label = known.get((op, port)) or known.setdefault((op, port), _size(index, op, port))
        largest[line] = max(largest[line], size)
        if only:
            labels[line] = label
    return largest, labels


def _size(index: GraphIndex, op: int, port: int) -> tuple[float, str]:
    shape, dtypes = index.shape(op, port), index.dtypes(op)
    dtype = dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""
    if shape is None or dtype in ("resource", "variant"):
        return 0.0, ""
    label = times(shape) + (f" {dtype}" if dtype not in ("", "float32") else "")
    return float(math.prod(size or 1 for size in shape) * _SIZES.get(dtype, 0)), label


def _is_cheap(index: GraphIndex) -> bool:
    """Whether shapes can be had without TensorFlow reading the whole of a large file again."""
    found = _cheap.get(index)
    if found is None:
        some = [index.nodes[op] for op in range(0, len(index), max(len(index) // _ASKED, 1))]
        said = sum("_output_shapes" in node.attr for node in some)
        found = _cheap[index] = len(index) <= _MOST_INFERRED or 2 * said > len(some)
    return found
