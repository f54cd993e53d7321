"""The inside of one container: its connected parts in layers, the parts packed in rows, bookkeeping apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

from tfgraphwidget.layout.geometry import Piece
from tfgraphwidget.layout.incremental.previous_layout import Drawing, Like, Pack
from tfgraphwidget.layout.incremental.relayout import rejoined, replanned
from tfgraphwidget.layout.incremental.stretch import repacked, stretched
from tfgraphwidget.layout.layered.column_wrapping import cost
from tfgraphwidget.layout.layered.columns import LONG, Sheet
from tfgraphwidget.layout.layered.components import BORDER, Part, Structure
from tfgraphwidget.layout.layered.layered_graph import Cut, Flow, Plan, cut, planned
from tfgraphwidget.layout.layered.routing import Column, column
from tfgraphwidget.layout.packing import ASIDE_GAP, GAP, beside, extent
from tfgraphwidget.progress import counted

# Shapes to try for parts of so many nodes, as factors of the one wished for; near enough is good enough, but not for
# a few nodes: these are soon drawn, and the same few stand in a network a hundred times.
_SHAPES, _FEW, _SMALL, _MANY, _NEAR, _PER_COLUMN = (1.0, 0.4, 0.6, 1.7), 3, 12, 100, 0.35, 0.03
Size = tuple[float, float]
Port = tuple[float, float] | None
Main = Callable[[Flow], Piece]
Before = tuple[Plan, list[Column], Sequence[int] | None]
PackedBefore = tuple[Pack, Sequence[int]]


def arranged(
    structure: Structure,
    sizes: Sequence[Size],
    ports: Sequence[Port],
    aspect: float,
    like: Like | None = None,
    main: Main | None = None,
) -> Drawing:
    """Everything inside a container, of about so wide an aspect; nodes that are quiet stand in rows of their own.

    With `like`, a drawing of about the same, order and columns are as they were there. `main` draws one connected part
    in another way than in layers.
    """
    asked, bases = structure, [-1] * len(structure.parts)
    if like:
        structure, bases = rejoined(structure, like)
    made = Drawing(asked, structure, sizes)
    pieces = []
    for part, base in zip(structure.parts, bases, strict=True):
        pieces.append((part, _piece(made, part, ports, aspect, _before(like, part, base), main)))
    alone = len(pieces) == 1 and not structure.quiet
    result = pieces[0][1] if alone else _together(made, pieces, bases, aspect, like)
    _reach_border(result, structure)
    made.placed = result.placed()
    return made


def _before(like: Like | None, part: Part, base: int) -> Before | None:
    """How a part was drawn, and what its nodes were there; no numbers where it is the same."""
    found = like.drawing.plans[base] if like and base >= 0 else None
    if not like or not found:
        return None
    old = like.drawing.structure.parts[base]
    if old is part:
        return (*found, None)
    number = {node: i for i, node in enumerate(old.nodes)}
    return (*found, [number.get(like.number[node], -1) for node in part.nodes])


def _piece(
    made: Drawing, part: Part, ports: Sequence[Port], aspect: float, before: Before | None, main: Main | None
) -> Piece:
    if not part.lines and len(part.nodes) == 1:
        made.plans.append(None)
        return Piece([0.0], [0.0], *made.sizes[part.nodes[0]], [])
    flow = Flow(part, [made.sizes[node] for node in part.nodes], [ports[node] for node in part.nodes], aspect)
    if main is not None:
        made.plans.append(None)
        return main(flow)
    plan, columns = (before and _again(flow, *before)) or fresh(flow)
    made.plans.append((plan, columns))
    return Sheet(plan, columns).piece()


def _again(
    flow: Flow, before: Plan, columns: list[Column], number: Sequence[int] | None
) -> tuple[Plan, list[Column]] | None:
    """The plan before with other sizes and, where `number` tells what the nodes were in it, with other lines."""
    if number is None:
        plan = replace(before, flow=flow)
        return plan, stretched(before, columns, plan)
    found = replanned(before, flow, number)
    return found and (found[0], stretched(before, columns, *found))


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
        numbers = range(len(plan.layers))
        slowly = counted(numbers, "Laying out the lines", every=1) if len(flow.lines) > LONG else numbers
        columns = [column(plan, number) for number in slowly]
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
    made: Drawing, pieces: list[tuple[Part, Piece]], bases: Sequence[int], aspect: float, like: Like | None
) -> Piece:
    """All parts in one drawing, and the quiet ones apart."""
    structure = made.structure
    result = Piece([0.0] * structure.count, [0.0] * structure.count, 0.0, 0.0, [[] for _ in structure.lines])
    # What has lines to the border stands alone in its rows: a line to the border below must not meet the others.
    rest = []
    for i, (part, piece) in enumerate(pieces):
        if piece.enter is None and piece.leave is None:
            rest.append(i)
            continue
        _put(result, part, piece, 0.0, 0.0)
        result.width, result.height = piece.width, piece.height
    if rest:
        boxes = [(pieces[i][1].width, pieces[i][1].height) for i in rest]
        before = _packed_before(like, "parts", [bases[i] for i in rest])
        for i, (x, y) in zip(rest, _pack(made, "parts", result, rest, boxes, GAP, aspect, before), strict=True):
            _put(result, *pieces[i], x, y)
    if structure.quiet:
        boxes = [made.sizes[node] for node in structure.quiet]
        before = _packed_before(like, "quiet", [like.number[node] for node in structure.quiet] if like else ())
        places = _pack(made, "quiet", result, structure.quiet, boxes, ASIDE_GAP, aspect, before)
        for node, (x, y) in zip(structure.quiet, places, strict=True):
            result.left[node], result.top[node] = x, y
    return result


def _packed_before(like: Like | None, kind: str, members: Sequence[int]) -> PackedBefore | None:
    """A pack of the drawing before, and where in it each member is (-1: nowhere); None where most are new."""
    pack = like.drawing.packs.get(kind) if like else None
    if not like or not pack:
        return None
    at = {member: i for i, member in enumerate(pack.members)}
    found = [at.get(member, -1) for member in members]
    return (pack, found) if 2 * sum(i >= 0 for i in found) >= max(len(members), len(at)) else None


def _pack(
    made: Drawing,
    kind: str,
    result: Piece,
    members: Sequence[int],
    boxes: list[Size],
    gap: float,
    aspect: float,
    before: PackedBefore | None,
) -> list[Size]:
    """Corners for boxes beside or below what is in `result`, which grows."""
    if before:
        below, places = before[0].below, repacked(*before, boxes, aspect)
    else:
        below, places = beside((result.width, result.height), boxes, aspect, gap, below=result.leave is None)
    made.packs[kind] = Pack(below, members, boxes, places)
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
