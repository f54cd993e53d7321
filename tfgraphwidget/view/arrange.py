"""The inside of one container: its connected parts in layers, the parts packed in rows, bookkeeping apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tfgraphwidget.view.flow import BORDER, Flow, Line, planned
from tfgraphwidget.view.route import Point, column
from tfgraphwidget.view.sheet import Placed, Sheet

_GAP, _ASIDE_GAP = 26.0, 40.0
Arrange = Callable[[Flow], Placed]


def drawn(flow: Flow) -> Placed:
    """The layered drawing of a flow whose nodes are connected, if only by way of the border."""
    plan = planned(flow)
    return Sheet(plan, [column(plan, number) for number in range(len(plan.layers))]).placed()


def arranged(flow: Flow, aside: Sequence[bool], main: Arrange = drawn) -> Placed:
    """Everything inside a container; nodes that are `aside` stand in a column or row of their own, without lines.

    `main` draws one connected part.
    """
    parts = _parts(flow, aside)
    quiet = [node for node, apart in enumerate(aside) if apart]
    if any(lines for _, lines in parts):
        # What stands alone beside a network is best out of its way, too.
        quiet = sorted(quiet + [nodes[0] for nodes, lines in parts if not lines])
        parts = [part for part in parts if part[1]]
    pieces = [(nodes, lines, main(_part(flow, nodes, lines))) for nodes, lines in parts]
    result = Placed([0.0] * len(aside), [0.0] * len(aside), 0.0, 0.0, [[] for _ in flow.lines])
    # What has lines to the border stands alone in its rows: a line to the border below must not meet the others.
    bound = [piece for piece in pieces if piece[2].enter is not None or piece[2].leave is not None]
    for nodes, lines, piece in bound:
        _put(result, nodes, lines, piece, 0.0, 0.0)
        result.width, result.height = piece.width, piece.height
    rest = [piece for piece in pieces if piece not in bound]
    places, width, height = packed([(piece.width, piece.height) for _, _, piece in rest], flow.aspect)
    start = result.width + _GAP if bound and rest else 0.0
    for (nodes, lines, piece), (x, y) in zip(rest, places, strict=True):
        _put(result, nodes, lines, piece, start + x, y)
    result.width, result.height = max(result.width, start + width), max(result.height, height)
    if quiet:
        _put_aside(result, flow, quiet)
    _reach_border(result, flow)
    return result


def packed(boxes: Sequence[tuple[float, float]], aspect: float) -> tuple[list[Point], float, float]:
    """Upper left corners of boxes set in rows, and the width and height of it all, which are about as `aspect` to 1.

    The tallest come first, equal ones keep their order, so that single ops end as a tidy grid.
    """
    if not boxes:
        return [], 0.0, 0.0
    order = sorted(range(len(boxes)), key=lambda i: -boxes[i][1])
    widest, total = max(w for w, _ in boxes), sum(w + _GAP for w, _ in boxes)
    best: tuple[float, list[Point], float, float] | None = None
    for rows in range(1, min(len(boxes), 40) + 1):
        limit = max(widest, total / rows)
        places, width, height = _shelves(boxes, order, limit)
        cost = max(height, width / aspect)
        if best is None or cost < best[0] - 1e-6:
            best = (cost, places, width, height)
    assert best is not None
    return best[1:]


def _shelves(
    boxes: Sequence[tuple[float, float]], order: Sequence[int], limit: float
) -> tuple[list[Point], float, float]:
    places: list[Point] = [(0.0, 0.0)] * len(boxes)
    x = y = tall = width = 0.0
    for i in order:
        w, h = boxes[i]
        if x and x + w > limit + 1e-6:
            x, y, tall = 0.0, y + tall + _GAP, 0.0
        places[i] = (x, y)
        width, tall = max(width, x + w), max(tall, h)
        x += w + _GAP
    return places, width, y + tall


def _parts(flow: Flow, aside: Sequence[bool]) -> list[tuple[list[int], list[int]]]:
    """Connected parts as (nodes, lines), ascending; the border joins what touches it. The first node's comes first."""
    root = list(range(len(aside) + 1))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for line in flow.lines:
        a, b = find(line.source), find(line.target)
        root[max(a, b)] = min(a, b)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for node, apart in enumerate(aside):
        if not apart:
            groups.setdefault(find(node), ([], []))[0].append(node)
    for number, line in enumerate(flow.lines):
        groups[find(max(line.source, line.target))][1].append(number)
    return list(groups.values())


def _part(flow: Flow, nodes: list[int], lines: list[int]) -> Flow:
    number = {node: i for i, node in enumerate(nodes)}
    number[BORDER] = BORDER
    return replace(
        flow,
        sizes=[flow.sizes[node] for node in nodes],
        names=[flow.names[node] for node in nodes] if flow.names else (),
        ports=[flow.ports[node] for node in nodes],
        lines=[
            Line(number[line.source], number[line.target], line.loose, line.loop)
            for line in (flow.lines[i] for i in lines)
        ],
    )


def _put(result: Placed, nodes: list[int], lines: list[int], piece: Placed, x: float, y: float) -> None:
    for i, node in enumerate(nodes):
        result.left[node], result.top[node] = piece.left[i] + x, piece.top[i] + y
    for i, line in enumerate(lines):
        result.routes[line] = [(px + x, py + y) for px, py in piece.routes[i]]
    if piece.enter is not None:
        result.enter = piece.enter + x
    if piece.leave is not None:
        result.leave = piece.leave + x


def _put_aside(result: Placed, flow: Flow, quiet: list[int]) -> None:
    """Bookkeeping goes to the right in a column or below in a row, whichever fills the frame better."""
    boxes = [flow.sizes[node] for node in quiet]
    widths = [width for width, _ in boxes]
    gap = _ASIDE_GAP if result.width else 0.0
    choices = []
    for aspect in (0.0, 0.5, 1.0, 2.0, 1e9):
        places, w, h = _shelves(boxes, range(len(boxes)), max(aspect * result.height, *widths))
        choices.append((result.width + gap + w, max(result.height, h), result.width + gap, 0.0, places))
        if result.leave is None:
            limit = max(aspect * result.width, *widths)
            places, w, h = _shelves(boxes, range(len(boxes)), limit)
            choices.append((max(result.width, w), result.height + gap + h, 0.0, result.height + gap, places))
    width, height, x, y, places = min(choices, key=lambda c: max(c[1], c[0] / flow.aspect) + 0.05 * (c[1] + c[0]))
    for node, (px, py) in zip(quiet, places, strict=True):
        result.left[node], result.top[node] = px + x, py + y
    result.width, result.height = width, height


def _reach_border(result: Placed, flow: Flow) -> None:
    """Draw on the lines to the border below, when something stands between: the container may be taller now."""
    for line, route in zip(flow.lines, result.routes, strict=True):
        if line.target == BORDER and route and route[-1][1] < result.height:
            route[-1] = (route[-1][0], result.height)
        if line.source == BORDER and route and route[0][1] > 0:
            route[0] = (route[0][0], 0.0)
