"""Positions: a compound layered layout, bottom-up by scope.

The inside of each open scope is laid out knowing nothing of the rest; then the scope is a box in its parent. Equal
insides (a network has one block many times) are laid out once, and with a memo of the caller's a toggled scope
costs its own container and those around it.

Lines enter an open scope at one point of its upper border and leave it at one point of its lower border, chosen
by the inside, so that the line outside and the line inside meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.names import last_part
from tfgraphwidget.view.arrange import arranged, drawn
from tfgraphwidget.view.flow import BORDER, Flow, Line
from tfgraphwidget.view.sheet import Placed
from tfgraphwidget.view.shown import Direction
from tfgraphwidget.view.visible import CLOSED, OP, OPEN, Visible

Layout = Callable[[Any], Mapping[Any, Any]]
Memo = MutableMapping[bytes, Placed]
HEADER, PADDING, MARGIN = 26.0, 14.0, 24.0
OP_HEIGHT, CLOSED_HEIGHT, LEAST_WIDTH, MOST_WIDTH = 30.0, 46.0, 64.0, 220.0
_ROOT_ASPECT, _INNER_ASPECT = 1.75, 2.0
_ROOT_TOLERANCE, _INNER_TOLERANCE = 0.6, 0.6
_LETTER, _SMALL_LETTER, _SIDES = 6.8, 5.7, 22.0
_MEMO_LIMIT = 20_000


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

    `memo` is any dict; give the same one again and only containers whose inside has changed are laid out anew.
    `layout` is any networkx layout callable, used for every container instead of the layered one.
    """
    memo = {} if memo is None or layout is not None else memo
    if len(memo) > _MEMO_LIMIT:
        memo.clear()
    n = len(visible)
    size = _sizes(visible)
    ports: list[tuple[float, float] | None] = [None] * n
    inside: dict[int, Placed] = {}
    for item in np.flatnonzero(visible.kind == OPEN)[::-1].tolist():
        placed = inside[item] = _inside(visible, item, size, ports, layout, memo)
        margin = PADDING if item else MARGIN
        label = _LETTER * min(len(last_part(visible.names[item])), 60) + 2 * _SIDES
        size[item] = (max(placed.width + 2 * margin, label), placed.height + (HEADER + PADDING if item else 2 * MARGIN))
        middle = placed.width / 2
        shift = (size[item][0] - placed.width) / 2
        ports[item] = (
            shift + (middle if placed.enter is None else placed.enter),
            shift + (middle if placed.leave is None else placed.leave),
        )
    return _absolute(visible, size, inside)


def layered(graph: Any) -> dict[Any, tuple[float, float]]:
    """Positions of the nodes of a networkx DiGraph in layers, node -> (x, y) of the centre; y grows downwards.

    Nodes may carry `width` and `height` in pixels (64 and 30 else). Cycles and self-loops are welcome.
    """
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    sizes = [(float(d.get("width", LEAST_WIDTH)), float(d.get("height", OP_HEIGHT))) for _, d in graph.nodes(data=True)]
    lines = [Line(number[a], number[b]) for a, b in graph.edges() if a != b]
    flow = Flow(sizes, [None] * len(nodes), lines, aspect=_ROOT_ASPECT, tolerance=_ROOT_TOLERANCE)
    placed = arranged(flow, [False] * len(nodes))
    return {node: (placed.left[i] + sizes[i][0] / 2, placed.top[i] + sizes[i][1] / 2) for i, node in enumerate(nodes)}


def _sizes(visible: Visible) -> list[tuple[float, float]]:
    """Width and height of ops and closed scopes, wide enough for both lines of text."""
    result = []
    for name, kind, count, variables in zip(
        visible.names, visible.kind.tolist(), visible.count.tolist(), visible.variables.tolist(), strict=True
    ):
        wide = _LETTER * len(last_part(name))
        if kind == CLOSED:
            wide = max(wide, _SMALL_LETTER * len(second_line(count, variables)))
        width = min(max(wide + _SIDES, LEAST_WIDTH), MOST_WIDTH)
        result.append((width, OP_HEIGHT if kind == OP else CLOSED_HEIGHT))
    return result


def second_line(count: int, variables: int) -> str:
    """What stands small below a closed scope's name.

    >>> second_line(21, 1)
    '21 ops · 1 var'
    """
    ops = f"{count:,} op{'s' * (count != 1)}"
    return f"{ops} · {variables:,} var{'s' * (variables != 1)}" if variables else ops


def _inside(
    visible: Visible,
    item: int,
    size: list[tuple[float, float]],
    ports: list[tuple[float, float] | None],
    layout: Layout | None,
    memo: Memo,
) -> Placed:
    """The inside of an open scope, whose children's sizes and ports are known."""
    first, stop = visible.child_start[item : item + 2].tolist()
    flow = Flow(
        size[first:stop],
        ports[first:stop],
        _lines(visible, item),
        visible.names[first:stop],
        _INNER_ASPECT if item else _ROOT_ASPECT,
        _INNER_TOLERANCE if item else _ROOT_TOLERANCE,
    )
    aside = visible.aside[first:stop].tolist()
    if layout is not None:
        from tfgraphwidget.view.given import given

        return arranged(flow, aside, given(layout))
    # Names are no part of the key: blocks that differ in nothing else share their drawing.
    key = repr((flow.sizes, flow.ports, flow.lines, aside, item == 0)).encode()
    found = memo.get(key)
    if found is None:
        found = memo[key] = arranged(flow, aside, drawn)
    return found


def _lines(visible: Visible, item: int) -> list[Line]:
    """The lines inside an open scope; its children are numbered from 0."""
    first = int(visible.child_start[item])
    a, b = np.searchsorted(visible.container, [item, item + 1])
    ends = np.stack([visible.source[a:b], visible.target[a:b]], axis=1)
    loops = _loops(visible, ends[:, 0], ends[:, 1]).tolist()
    loose = (visible.tensors[a:b] == 0).tolist()
    numbers = np.where(ends == item, BORDER, ends - first).tolist()
    return [Line(s, t, control, loop) for (s, t), control, loop in zip(numbers, loose, loops, strict=True)]


def _loops(visible: Visible, source: npt.NDArray[np.int32], target: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which lines go from a NextIteration to its Merge: the way back in a while loop."""
    return np.array(
        [
            visible.types[t].endswith("Merge") and visible.types[s].endswith("NextIteration")
            for s, t in zip(source.tolist(), target.tolist(), strict=True)
        ],
        dtype=bool,
    )


def _absolute(visible: Visible, size: list[tuple[float, float]], inside: dict[int, Placed]) -> Positions:
    box = np.zeros((len(visible), 4), dtype=np.float32)
    box[:, 2:] = size
    routes: list[list[tuple[float, float]]] = [[]] * len(visible.source)
    for item in sorted(inside):
        placed = inside[item]
        left, top, width, _ = box[item].tolist()
        x, y = left + (width - placed.width) / 2, top + (HEADER if item else MARGIN)
        first, stop = visible.child_start[item : item + 2].tolist()
        if stop > first:
            box[first:stop, 0] = np.array(placed.left) + x
            box[first:stop, 1] = np.array(placed.top) + y
        a = int(np.searchsorted(visible.container, item))
        for number, route in enumerate(placed.routes, a):
            routes[number] = [(px + x, py + y) for px, py in route]
            if visible.target[number] == item:
                px, _ = routes[number][-1]
                routes[number][-1] = (px, float(box[item, 1] + box[item, 3]))
    start = np.concatenate([[0], np.cumsum([len(route) for route in routes])]).astype(np.uint32)
    flat = [point for route in routes for point in route]
    return Positions(box, start, np.array(flat, dtype=np.float32).reshape(-1, 2))
