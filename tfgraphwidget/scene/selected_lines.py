"""Selected lines: those that carry something from a selected op to a selected op.

A line represents the tensors of many ops, runs in pieces through the borders of scopes, and may
end at a closed scope of which only a part is selected. What the boxes at its ends look like does
not say whether it is selected; the edges of the graph do. Each edge between selected ops is cut at
the borders that it crosses, as `visible.edge_bundles` has cut it for the drawing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import is_among
from tfgraphwidget.visible import OPEN, OUTPUTS, split_edges

if TYPE_CHECKING:
    from tfgraphwidget.graph import Csr, GraphIndex
    from tfgraphwidget.hierarchy import Ints, Mask
    from tfgraphwidget.visible import VisibleGraph


def find_selected_lines(visible: VisibleGraph, index: GraphIndex, selected: Mask) -> Mask:
    """Find the lines between selected ops.

    Args:
        visible: What is drawn.
        index: The graph of which it is drawn.
        selected: bool per op.

    Returns:
        bool per line: whether it carries a tensor, or if it has none a control edge, from a
        selected op to a selected one.
    """
    lines = np.zeros(len(visible.source), dtype=bool)
    if not selected.any() or not len(lines):
        return lines
    pair_of_line = _pair(visible, visible.source, visible.target)
    pairs, line_pair = np.unique(pair_of_line, return_inverse=True)
    producer, port, reader = _edges_between(index.inputs, index.ports, selected)
    pieces, edge = _pieces(visible, producer, reader, pairs)
    tensor = producer.astype(np.int64) * OUTPUTS + port
    span = int(max(visible.edge_tensor.max(initial=0), tensor.max(initial=0))) + 1
    of_row = np.repeat(np.arange(len(lines)), np.diff(visible.edge_tensor_start))
    carried = is_among(line_pair[of_row] * span + visible.edge_tensor, pieces * span + tensor[edge])
    lines[of_row[carried]] = True
    controls = index.controls
    producer, _, reader = _edges_between(controls, np.zeros_like(controls.values), selected)
    pieces, _ = _pieces(visible, producer, reader, pairs)
    lines |= (visible.tensors == 0) & is_among(line_pair, pieces)
    return lines


def _edges_between(edges: Csr, port: Ints, selected: Mask) -> tuple[Ints, Ints, Ints]:
    """Producer, port and reader of the edges whose both ends are selected."""
    reader = edges.owner
    between = np.flatnonzero(selected[edges.values] & selected[reader])
    return edges.values[between], port[between], reader[between]


def _pieces(
    visible: VisibleGraph, producer: Ints, reader: Ints, pairs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The pieces of edges between boxes that lines are drawn of: the place of each piece's source
    and target in `pairs`, which ascend, and the edge that it is of.
    """
    has_box = visible.kind[visible.home_of_op] != OPEN
    has_box[visible.badge_op] = False
    source, target = visible.home_of_op[producer], visible.home_of_op[reader]
    apart = np.flatnonzero((source != target) & has_box[producer] & has_box[reader])
    a, b, row = split_edges(visible.parent, visible.depth, source[apart], target[apart])
    pair = _pair(visible, a, b)
    place = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
    drawn = np.flatnonzero(pairs[place] == pair)
    return place[drawn], apart[row[drawn]]


def _pair(visible: VisibleGraph, source: Ints, target: Ints) -> npt.NDArray[np.int64]:
    """A number for each pair of items."""
    return source.astype(np.int64) * len(visible) + target
