"""Fused ops: which ops of a graph TensorFlow's optimiser ran as one.

A matrix product or a convolution, what is added to it and the activation run as one op of a type like _FusedMatMul,
under the name of the last of them. The work is that of the first, and there a person looks for it. Which kinds are
joined depends on the processor.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.graph.index import GraphIndex

_WORKING = {"MatMul", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative"}
_WORKING |= {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}


def fused(index: GraphIndex, ran: Mapping[str, str]) -> dict[str, str]:
    """For each op that ran as one with others the op that does the work; `ran` are the ops of a run and their types."""
    found = dict[str, str]()
    for name, kind in ran.items():
        if kind.startswith("_") and name in index.ids and kind != index.types[index.ids[name]]:
            found |= dict.fromkeys(way := _way(index, index.ids[name], ran), way[-1])
    return found


def _way(index: GraphIndex, last: int, ran: Mapping[str, str]) -> list[str]:
    """From an op back to the nearest that works, over ops that did not run by themselves; only itself without one."""
    reader = {last: last}
    order = [last]
    for op in order:
        if index.types[op] in _WORKING:
            way = [op]
            while way[-1] != last:
                way.append(reader[way[-1]])
            return [index.names[each] for each in way[::-1]]
        for source in index.inputs.row(op).tolist():
            if source not in reader and index.names[source] not in ran:
                reader[source] = op
                order.append(source)
    return [index.names[last]]
