"""Groups of siblings must not create cycles: what lies between two members keeps them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from tfgraphwidget.graph import NEXT, GraphIndex
from tfgraphwidget.hierarchy.op_facts import Mask, of_types
from tfgraphwidget.hierarchy.structural_hash import SiblingEdges

Things = npt.NDArray[np.int64]
Lines = tuple[Things, Things]  # source, target


def data_flow(index: GraphIndex, depends_on_input: Mask, edges: SiblingEdges) -> Lines:
    """Find the data edges between siblings, without the back edges of loops, so that loops have an order too.

    Args:
        index: The graph.
        depends_on_input: Which siblings depend on an input of the graph.
        edges: The edges between siblings.

    Returns:
        Sources and targets, each pair once.
    """
    count = len(edges.around)
    flows = depends_on_input[edges.source] & ~of_types(index, NEXT)[edges.op]
    pairs = np.unique(edges.source[flows].astype(np.int64) * count + edges.target[flows])
    return pairs // count, pairs % count


def contract(groups: Sequence[Sequence[int]], count: int) -> Things:
    """Return for each sibling the one that represents it when groups are contracted: a group's first member."""
    stands_for = np.arange(count)
    for part in groups:
        stands_for[part] = part[0]
    return stands_for


def keep_acyclic(
    groups: list[list[int]], lines: Lines, count: int, fixed: Sequence[Sequence[int]] = ()
) -> list[list[int]]:
    """Drop the groups that would be in a cycle if each group were one box.

    Args:
        groups: Groups of siblings.
        lines: Sources and targets of the edges between siblings.
        count: The number of siblings.
        fixed: Further groups that are boxes already.

    Returns:
        The groups that are in no cycle.
    """
    while groups:
        stands_for = contract([*groups, *fixed], count)
        a, b = stands_for[lines[0]], stands_for[lines[1]]
        matrix = coo_matrix((np.ones(len(a), dtype=np.int8), (a, b)), shape=(count, count))
        strong = connected_components(matrix, directed=True, connection="strong")[1]
        size = np.bincount(strong[np.unique(stands_for)])
        acyclic = [part for part in groups if size[strong[part[0]]] == 1]
        if len(acyclic) == len(groups):
            break
        groups = acyclic
    return groups
