"""Correspondence: which tensors of two graphs hold the same values."""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_matching import match_ops

Tensor = tuple[int, int]  # an op's number and the port of its output


def corresponding_tensors(
    before: GraphIndex, after: GraphIndex, renamed: Mapping[str, str] | None = None
) -> dict[Tensor, Tensor]:
    """{tensor of `after`: the tensor of `before` that it is}, in the order of `after`.

    Args:
        before: The first graph.
        after: The second graph.
        renamed: Names of ops in `before` -> names in `after`, as far as they are known.
    """
    with no_collections():
        attributes = AttributeDigests(before), AttributeDigests(after)
        partners = match_ops(before, after, attributes, renamed or {}).tolist()
    ops = {j: i for i, j in enumerate(partners) if j >= 0}
    return {
        (j, port): (ops[j], port)
        for j in sorted(ops)
        for port in range(min(len(after.dtypes(j)), len(before.dtypes(ops[j]))))
    }
