"""Ops that patterns see through: Identity ops and reads of variables, in which TF 1, TF 2 and
frozen graphs differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfgraphwidget.graph.edges import Ids, Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import IDENTITY, VARIABLE_READS
from tfgraphwidget.graph.stateful_resources import of_type

SEEN_THROUGH = IDENTITY | VARIABLE_READS


@dataclass(frozen=True)
class SeenThrough:
    """Of each op what its first output is in the end.

    Attributes:
        mask: The ops that are seen through.
        op: Of these the op before all of them; of others the op itself.
        port: The output of that op.
        free: Those of `mask` without control inputs, and after such only: two of them are one
            tensor.
    """

    mask: Mask
    op: Ids
    port: Ids
    free: Mask


@cached_per_index
def seen_through(index: GraphIndex) -> SeenThrough:
    """What an index's ops are seen through to."""
    start = index.inputs.start
    if len(index):
        mask = of_type(index, SEEN_THROUGH.__contains__) & (np.diff(start) > 0)
    else:
        mask = np.zeros(0, bool)
    op = np.arange(len(index), dtype=np.int32)
    port = np.zeros(len(index), np.int32)
    first = start[:-1][mask]
    op[mask], port[mask] = index.inputs.values[first], index.ports[first]
    free = np.diff(index.controls.start) == 0
    for _ in range(len(index).bit_length() + 1):
        # Each round doubles how far an op looks; a cycle ends it.
        further = mask[op] & mask
        if not further.any():
            break
        free = np.where(further, free & free[op], free)
        port = np.where(further, port[op], port).astype(np.int32)
        op = np.where(further, op[op], op).astype(np.int32)
    return SeenThrough(mask, op, port, mask & free)
