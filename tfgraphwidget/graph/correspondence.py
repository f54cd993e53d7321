"""Correspondence: which tensors of two graphs hold the same values, if both compute the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tfgraphwidget.graph.control_flow import Loop, control_flow
from tfgraphwidget.graph.converted_op_types import CONVERTED_LOOPS
from tfgraphwidget.graph.diff import GraphComparison
from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.explanations import Explainer
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.inlining import MatchedGraphs
from tfgraphwidget.graph.op_matching import VALUES, is_rounded
from tfgraphwidget.graph.op_types import ACTIVATIONS

Tensor = tuple[int, int]  # an op's number and the port of its output


def corresponding_tensors(matched: MatchedGraphs) -> dict[Tensor, Tensor]:
    """{tensor of the second graph: the tensor of the first that it is}, in the order of the second.

    A variable of one graph corresponds to the constant that it is in the other, and what a batch
    norm gives to what the layer gives that it was folded into; the layer's own output, and its
    weights, correspond to none then, nor do weights whose channels were scaled. What an activation
    gives that was moved past an op corresponds to what that op gave before. What is in a loop, and
    has a value for each round, corresponds to nothing outside of one.

    Args:
        matched: The graphs, and which op of the one is which of the other.
    """
    with no_collections():
        comparison = GraphComparison(matched)
        explainer = Explainer(matched, tuple(comparison.changed_ops()))
        explainer.explanations()
    other_values = explainer.other_values | _scaled_constants(comparison)
    depths = _loop_depths(comparison.before), _loop_depths(comparison.after)
    partners = {
        j: i
        for i, j in enumerate(comparison.pair)
        if j >= 0 and j not in other_values and depths[0][i] == depths[1][j]
    }
    tensors: dict[Tensor, Tensor] = {}
    for j, i in partners.items():
        count = _common_outputs(comparison, i, j)
        if j in explainer.other_branches:
            count = min(count, 1)  # the second output of a Merge is the number of its branch
        tensors |= {(j, port): (i, port) for port in range(count)}
    for j, activations in _moved_activations(comparison, partners):
        moved = tensors.pop((j, 0))
        tensors |= {(activation, 0): moved for activation in activations}
    return dict(sorted({**explainer.same_tensors, **tensors}.items()))


def _common_outputs(comparison: GraphComparison, i: int, j: int) -> int:
    """How many outputs of two ops are the same. None are of a loop from which a converter took
    some: it has the others in another order.
    """
    before, after = comparison.before, comparison.after
    counts = len(before.dtypes(i)), len(after.dtypes(j))
    is_made_loop = bool({before.types[i], after.types[j]} & CONVERTED_LOOPS)
    return 0 if is_made_loop and counts[0] != counts[1] else min(counts)


def _loop_depths(index: GraphIndex) -> Counter[int]:
    """In how many loops of TensorFlow 1 each op is."""
    loops = (block for block in control_flow(index) if isinstance(block, Loop))
    return Counter(op for loop in loops for op in loop.ops)


def _scaled_constants(comparison: GraphComparison) -> set[int]:
    """The constants of the second graph that are those of the first with channels scaled."""
    scaled = set()
    for i, (j, evidence) in enumerate(
        zip(comparison.pair, comparison.matched.evidence, strict=True)
    ):
        if evidence != VALUES:
            continue
        value = comparison.before.nodes[i].attr["value"].tensor
        new_value = comparison.after.nodes[j].attr["value"].tensor
        if not is_rounded(value, new_value):
            scaled.add(j)
    return scaled


def _moved_activations(
    comparison: GraphComparison, partners: Mapping[int, int]
) -> Iterator[tuple[int, list[int]]]:
    """The ops of the second graph that an optimizer moved activations past, and these: in the first
    graph such an op reads them, in the second one they read it.
    """
    before, after = comparison.before, comparison.after
    for j, i in partners.items():
        readers = after.consumer_lists[j]
        types = {after.types[reader] for reader in readers}
        if len(types) == 1 and types <= ACTIVATIONS:
            reads_before = any(before.types[source] in types for source in before.input_lists[i])
            reads_now = any(after.types[source] in types for source in after.input_lists[j])
            if reads_before and not reads_now:
                yield j, readers
