"""Groups of siblings must not create cycles: what lies between two members keeps them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import (
    CONSTANT_LIKE,
    NEXT,
    GraphIndex,
    distinct,
    rows_of,
    strong_components,
)
from tfgraphwidget.hierarchy.op_facts import Mask, of_types
from tfgraphwidget.hierarchy.structural_hash import SiblingEdges

Things = npt.NDArray[np.int64]
Lines = tuple[Things, Things]  # source, target
_TRIMS = 20  # rounds; each takes as long as a hundredth of the search for cycles


def data_flow(index: GraphIndex, depends_on_input: Mask, edges: SiblingEdges) -> Lines:
    """Find the data edges between siblings, without the back edges of loops, so that loops have an
    order too, and without constants: where equal ones were merged, any layer holds those of all. A
    line to what no input reaches is none either: a layer holds the variable that is read there.

    Args:
        depends_on_input: Which siblings depend on an input of the graph.

    Returns:
        Sources and targets, each pair once.
    """
    count = len(edges.around)
    is_left_out = of_types(index, NEXT | CONSTANT_LIKE)
    flows = depends_on_input[edges.source] & depends_on_input[edges.target]
    flows &= ~is_left_out[edges.op]
    pairs = distinct(edges.source[flows].astype(np.int64) * count + edges.target[flows])
    return pairs // count, pairs % count


def contract(groups: Sequence[Sequence[int]], count: int) -> Things:
    """Return each sibling's representative when groups are contracted: the first member."""
    stands_for = np.arange(count)
    for part in groups:
        stands_for[part] = part[0]
    return stands_for


def _find_cyclic(source: Things, target: Things, count: int) -> Mask:
    """Which vertices are in a cycle of two or more; most graphs have few vertices that could be."""
    lines = distinct((source * count + target)[source != target])
    source, target = lines // count, lines % count
    # What nothing leads to, or what leads to nothing, is in no cycle: a few rounds find the short
    # ends of the graph.
    for _ in range(_TRIMS):
        leads_on, is_reached = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        leads_on[source], is_reached[target] = True, True
        inner = leads_on[target] & is_reached[source]
        if inner.all():
            break
        source, target = source[inner], target[inner]
    vertices, compact = np.unique(np.concatenate([source, target]), return_inverse=True)
    start, values = rows_of(compact[: len(source)], compact[len(source) :], len(vertices))
    strong = strong_components(start, values)
    cyclic = np.zeros(count, dtype=bool)
    cyclic[vertices] = np.bincount(strong)[strong] > 1 if len(vertices) else False
    return cyclic


def keep_acyclic(
    groups: list[list[int]], lines: Lines, count: int, fixed: Sequence[Sequence[int]] = ()
) -> list[list[int]]:
    """Drop the groups that would be in a cycle if each group were one box.

    Args:
        lines: Sources and targets of the edges between siblings.

    Returns:
        The groups that are in no cycle.
    """
    while groups:
        stands_for = contract([*groups, *fixed], count)
        in_cycle = _find_cyclic(stands_for[lines[0]], stands_for[lines[1]], count)
        acyclic = [part for part in groups if not in_cycle[part[0]]]
        if len(acyclic) == len(groups):
            break
        groups = acyclic
    return groups
