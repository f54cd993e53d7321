"""Correspondence: which tensors of two graphs hold the same values, if both compute the same."""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.graph.diff import GraphComparison
from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.explanations import Explainer
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.inlining import InlinedGraph

Tensor = tuple[int, int]  # an op's number and the port of its output


def corresponding_tensors(
    before: GraphIndex | InlinedGraph,
    after: GraphIndex | InlinedGraph,
    renamed: Mapping[str, str] | None = None,
) -> dict[Tensor, Tensor]:
    """{tensor of `after`: the tensor of `before` that it is}, in the order of `after`.

    A call that only one graph has corresponds to nothing: `match_graphs` inlines it before.

    A variable of one graph corresponds to the constant that it is in the other, and what a batch
    norm gives to what the layer gives that it was folded into; the layer's own output, and its
    weights, correspond to none then.

    Args:
        before: The first graph.
        after: The second graph.
        renamed: Names of ops in `before` -> names in `after`, as far as they are known.
    """
    with no_collections():
        comparison = GraphComparison(before, after, renamed or {}, inline=False)
        explainer = Explainer(comparison.matched, tuple(comparison.changed_ops()))
        explainer.explanations()
    partners = {
        j: i for i, j in enumerate(comparison.pair) if j >= 0 and j not in explainer.other_values
    }
    tensors = {
        (j, port): (i, port)
        for j, i in partners.items()
        for port in range(min(len(comparison.after.dtypes(j)), len(comparison.before.dtypes(i))))
        if port == 0 or j not in explainer.other_branches
    }
    return dict(sorted({**explainer.same_tensors, **tensors}.items()))
