"""Other values: tensors that differ, and yet nothing does.

An optimizer that multiplies in another order leaves the name of a product to another product; with
the channels of images first, what is between two transpositions has other axes. Such an op reads
other tensors than its partner, and what is computed from it agrees again: it is another tensor, and
no divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.runtime.measure import TensorDifference
from tfgraphwidget.runtime.measure import tolerance as rounding


def ops_of_other_values(
    index: GraphIndex,
    order: list[int],
    differences: Mapping[int, list[TensorDifference]],
    reads_others: Callable[[int], bool],
) -> set[int]:
    """The ops whose tensors differ, although all that is computed from them agrees, since they, or
    what they read, read other tensors than their partners.

    Args:
        order: Its ops in the order of evaluation.
        reads_others: Whether an op reads other tensors than its partner.
    """
    differing = {op for op, each in differences.items() if any(one.differs for one in each)}
    if not differing:
        return set()
    harmless = _harmless_ops(index, order, differences, differing)
    others = set[int]()
    for op in order:
        if op in differing & harmless:
            sources = [source for source in index.input_lists[op] if source in differing]
            is_other = bool(sources) or bool(index.input_lists[op] and reads_others(op))
            if is_other and others.issuperset(sources):
                others.add(op)
    # The axes that a sum is over are others where those of what it sums are.
    return others | {
        op
        for op in differing & harmless
        if not index.input_lists[op]
        and all(
            others.intersection(index.input_lists[reader]) for reader in index.consumer_lists[op]
        )
    }


def _harmless_ops(
    index: GraphIndex,
    order: list[int],
    differences: Mapping[int, list[TensorDifference]],
    differing: set[int],
) -> set[int]:
    """The ops that differ, or were not compared, all of whose consumers agree or are such ops."""
    harmless = set[int]()
    for op in reversed(order):
        if op in differing or op not in differences:
            readers = index.consumer_lists[op]
            if readers and all(
                reader in harmless or _agrees(differences.get(reader, []), reader in differing)
                for reader in readers
            ):
                harmless.add(op)
    return harmless


def _agrees(outputs: list[TensorDifference], differs: bool) -> bool:
    """Whether what an op gives shows that its inputs are right: not all 0, no rounded integers."""
    return not differs and any(each.scale and rounding.epsilon(*each.dtypes) for each in outputs)
