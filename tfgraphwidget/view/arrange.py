"""The inside of one container: its connected parts in layers, the parts packed in rows, bookkeeping apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log

from tfgraphwidget.view.flow import Cut, Flow, Plan, cut, planned
from tfgraphwidget.view.packing import ASIDE_GAP, GAP, beside, extent
from tfgraphwidget.view.placed import Piece, Placed, Point
from tfgraphwidget.view.route import Column, column
from tfgraphwidget.view.sheet import Sheet
from tfgraphwidget.view.stretch import apart, stretched
from tfgraphwidget.view.structure import BORDER, Part, Structure
from tfgraphwidget.view.wrap import cost

# Shapes to try for parts of so many nodes, as factors of the one wished for; near enough is good enough, but not for
# a few nodes: these are soon drawn, and the same few stand in a network a hundred times.
_SHAPES, _FEW, _SMALL, _MANY, _NEAR, _PER_COLUMN = (1.0, 0.4, 0.6, 1.7), 3, 12, 100, 0.35, 0.03
Size = tuple[float, float]
Port = tuple[float, float] | None
Main = Callable[[Flow], Piece]


@dataclass
class Drawing:
    """A container's inside, and what was decided for it: taken up again when only sizes change, so things stay put.

    `plans` are by part, None for a part without lines. `packs` are what was packed beside or below (True) the rest:
    sizes and corners.
    """

    sizes: Sequence[Size]
    plans: list[tuple[Plan, list[Column]] | None] = field(default_factory=list)
    packs: list[tuple[bool, list[Size], list[Point]]] = field(default_factory=list)
    placed: Placed = field(init=False)


def arranged(
    structure: Structure,
    sizes: Sequence[Size],
    ports: Sequence[Port],
    aspect: float,
    like: Drawing | None = None,
    main: Main | None = None,
) -> Drawing:
    """Everything inside a container, of about so wide an aspect; nodes that are quiet stand in rows of their own.

    With `like`, a drawing of the same structure with other sizes, order and columns are as they were there. `main`
    draws one connected part in another way than in layers.
    """
    made = Drawing(sizes)
    pieces = [(part, _piece(made, part, ports, aspect, like, main)) for part in structure.parts]
    if len(pieces) == 1 and not structure.quiet:
        result = pieces[0][1]
    else:
        result = _together(made, structure, pieces, aspect, like)
    _reach_border(result, structure)
    made.placed = result.placed()
    return made


def _piece(
    made: Drawing, part: Part, ports: Sequence[Port], aspect: float, like: Drawing | None, main: Main | None
) -> Piece:
    if not part.lines and len(part.nodes) == 1:
        made.plans.append(None)
        return Piece([0.0], [0.0], *made.sizes[part.nodes[0]], [])
    flow = Flow(part, [made.sizes[node] for node in part.nodes], [ports[node] for node in part.nodes], aspect)
    if main is not None:
        made.plans.append(None)
        return main(flow)
    before = like.plans[len(made.plans)] if like else None
    plan, columns = stretched(*before, flow) if before else fresh(flow)
    made.plans.append((plan, columns))
    return Sheet(plan, columns).piece()


def fresh(flow: Flow) -> tuple[Plan, list[Column]]:
    """The layered drawing of a part.

    How wide and tall it will be is only guessed while it is cut into columns. So where it comes out far from what was
    wished for, it is drawn for other shapes, too, and the best is taken.
    """
    best: tuple[float, Plan, list[Column]] | None = None
    tried: list[Cut] = []
    for factor in _SHAPES if _FEW <= len(flow.sizes) <= _MANY else _SHAPES[:1]:
        into = cut(replace(flow, aspect=flow.aspect * factor))
        if into in tried:
            continue
        tried.append(into)
        plan = planned(flow, into)
        columns = [column(plan, number) for number in range(len(plan.layers))]
        sheet = Sheet(plan, columns)
        now = cost(sheet.height, sheet.width, flow.aspect) * (1 + _PER_COLUMN * len(columns))
        if best is None or now < best[0]:
            best = now, plan, columns
        far = abs(log(max(sheet.width, 1.0) / max(sheet.height, 1.0) / flow.aspect))
        if factor == 1.0 and len(columns) == 1 and far < _NEAR and len(flow.sizes) > _SMALL:
            break
    assert best is not None
    return best[1:]


def _together(
    made: Drawing, structure: Structure, pieces: list[tuple[Part, Piece]], aspect: float, like: Drawing | None
) -> Piece:
    """All parts in one drawing, and the quiet ones apart."""
    result = Piece([0.0] * structure.count, [0.0] * structure.count, 0.0, 0.0, [[] for _ in structure.lines])
    # What has lines to the border stands alone in its rows: a line to the border below must not meet the others.
    rest = []
    for part, piece in pieces:
        if piece.enter is None and piece.leave is None:
            rest.append((part, piece))
            continue
        _put(result, part, piece, 0.0, 0.0)
        result.width, result.height = piece.width, piece.height
    if rest:
        boxes = [(piece.width, piece.height) for _, piece in rest]
        for (part, piece), (x, y) in zip(rest, _pack(made, result, boxes, GAP, aspect, like), strict=True):
            _put(result, part, piece, x, y)
    if structure.quiet:
        boxes = [made.sizes[node] for node in structure.quiet]
        places = _pack(made, result, boxes, ASIDE_GAP, aspect, like)
        for node, (x, y) in zip(structure.quiet, places, strict=True):
            result.left[node], result.top[node] = x, y
    return result


def _pack(
    made: Drawing, result: Piece, boxes: list[Size], gap: float, aspect: float, like: Drawing | None
) -> list[Size]:
    """Corners for boxes beside or below what is in `result`, which grows."""
    if like:
        below, before, places = like.packs[len(made.packs)]
        places = apart(before, boxes, places)
    else:
        below, places = beside((result.width, result.height), boxes, aspect, gap, below=result.leave is None)
    made.packs.append((below, boxes, places))
    width, height = extent(boxes, places)
    gap = gap if result.width else 0.0
    x, y = (0.0, result.height + gap) if below else (result.width + gap, 0.0)
    result.width, result.height = max(result.width, x + width), max(result.height, y + height)
    return [(x + px, y + py) for px, py in places]


def _put(result: Piece, part: Part, piece: Piece, x: float, y: float) -> None:
    for i, node in enumerate(part.nodes):
        result.left[node], result.top[node] = piece.left[i] + x, piece.top[i] + y
    for i, line in enumerate(part.lines):
        result.routes[line] = [(px + x, py + y) for px, py in piece.routes[i]]
    if piece.enter is not None:
        result.enter = piece.enter + x
    if piece.leave is not None:
        result.leave = piece.leave + x


def _reach_border(result: Piece, structure: Structure) -> None:
    """Draw on the lines to the borders, when something stands between: the container may be taller now."""
    for line, route in zip(structure.lines, result.routes, strict=True):
        if line.target == BORDER and route and route[-1][1] < result.height:
            route[-1] = (route[-1][0], result.height)
        if line.source == BORDER and route and route[0][1] > 0:
            route[0] = (route[0][0], 0.0)
