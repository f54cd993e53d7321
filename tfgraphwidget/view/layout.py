"""Positions: a compound layered layout, bottom-up by scope.

The inside of each open scope is laid out knowing nothing of the rest but the shape that suits its surroundings; then
the scope is a box in its parent. Equal insides (a network has one block many times) are laid out once, and with a memo
of the caller's a toggled scope costs its own container and those around it, and leaves the rest where it was.

Lines enter an open scope at one point of its upper border and leave it at one point of its lower border, chosen by the
inside, so that the line outside and the line inside meet. Drawn from left to right, all is the same with x and y
exchanged, but for the headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.view.absolute import Frame, absolute
from tfgraphwidget.view.arrange import arranged
from tfgraphwidget.view.inside import ROOT_ASPECT, Layout, Memo, drawn
from tfgraphwidget.view.shown import Direction
from tfgraphwidget.view.sizing import LEAST_WIDTH, OP_HEIGHT, second_line, sizes
from tfgraphwidget.view.structure import Line, connected
from tfgraphwidget.view.visible import Visible

__all__ = ["HEADER", "Layout", "Memo", "Positions", "layered", "place", "second_line"]

HEADER = Frame.header


@dataclass(frozen=True, eq=False)
class Positions:
    """`box` float32 (n, 4): left, top, width, height per item, absolute pixels, y down.

    `route_start` (m + 1 offsets) and `route` float32 (p, 2): each edge's points, from source to target.
    """

    box: npt.NDArray[np.float32]
    route_start: npt.NDArray[np.uint32]
    route: npt.NDArray[np.float32]


def place(
    visible: Visible,
    *,
    direction: Direction = "down",
    pinned: Mapping[str, tuple[float, float]] | None = None,
    layout: Layout | None = None,
    memo: Memo | None = None,
) -> Positions:
    """Where items and lines are drawn; `direction` and `pinned` as in Shown.

    `memo` is any dict; give the same one again and only containers whose inside has changed are laid out anew, and
    those near to what they were. `layout` is any networkx layout callable, used for every container instead of the
    layered one.
    """
    with no_collections():
        frame = Frame(visible, right=direction == "right" and layout is None)
        inside, placed = drawn(visible, frame, sizes(visible), {} if memo is None else memo, layout, pinned or {})
        return Positions(*absolute(visible, frame, inside.size, inside.offset, placed))


def layered(graph: Any) -> dict[Any, tuple[float, float]]:
    """Positions of the nodes of a networkx DiGraph in layers, node -> (x, y) of the centre; y grows downwards.

    Nodes may carry `width` and `height` in pixels (64 and 30 else). Cycles and self-loops are welcome.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> places = tgw.layered(editor.networkx())
    >>> places["x"][1] < places["net/logits"][1]
    True
    """
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    sized = [(float(d.get("width", LEAST_WIDTH)), float(d.get("height", OP_HEIGHT))) for _, d in graph.nodes(data=True)]
    lines = [Line(number[a], number[b]) for a, b in graph.edges() if a != b]
    drawing = arranged(connected(lines, len(nodes)), sized, [None] * len(nodes), ROOT_ASPECT)
    corner = drawing.placed.corner.tolist()
    return {node: (x + w / 2, y + h / 2) for node, (x, y), (w, h) in zip(nodes, corner, sized, strict=True)}
