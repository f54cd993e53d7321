"""The layout of one container: components in layers, packed side by side, isolated nodes apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tfgraphwidget.layout.geometry import MutableLayout
from tfgraphwidget.layout.incremental.previous_layout import LayoutRecord, Packing, PreviousLayout
from tfgraphwidget.layout.incremental.relayout import rejoin_components, update_layered_graph
from tfgraphwidget.layout.incremental.stretch import stretch_columns, stretch_packing
from tfgraphwidget.layout.layered.columns import ColumnAssembly
from tfgraphwidget.layout.layered.components import BORDER, Component, Structure
from tfgraphwidget.layout.layered.layered_graph import LayeredGraph, LayoutProblem, NodePorts
from tfgraphwidget.layout.layered.phases import run_layout
from tfgraphwidget.layout.layered.routing import Column
from tfgraphwidget.layout.packing import AUXILIARY_GAP, GAP, extent, pack_beside
from tfgraphwidget.layout.spacing import NODE_GAP, ROW_GAP
from tfgraphwidget.layout.title import clear_title

# A component is large if it takes so much of the area of all boxes in its container.
LARGE = 0.25

Size = tuple[float, float]
Port = NodePorts
Main = Callable[[LayoutProblem], MutableLayout]


class PreviousGraph(NamedTuple):
    """How a component was drawn before.

    Attributes:
        graph: Its layered graph.
        columns: The columns of that, with their places and routes.
        number: The earlier number of each node, -1 for a new one; None if the component is the
            same.
    """

    graph: LayeredGraph
    columns: list[Column]
    number: Sequence[int] | None


class PreviousPacking(NamedTuple):
    """How boxes were packed before, and which of these each box is, -1 for a new one."""

    packing: Packing
    positions: Sequence[int]


def layout_container(
    structure: Structure,
    sizes: Sequence[Size],
    ports: Sequence[Port],
    aspect: float,
    previous: PreviousLayout | None = None,
    main: Main | None = None,
    title: float = 0.0,
) -> LayoutRecord:
    """Lay out the nodes and edges of one container.

    Args:
        sizes: width and height of each node in pixels.
        ports: per node, the x of the ports where edges enter it and leave it, from its left, or
            None for anywhere.
        previous: an earlier layout; its order, layers and columns are kept where possible.
        main: draws one component in another way than in layers.
        title: how far the title above reaches from the left, in pixels; lines come in to the right
            of it.

    Returns:
        The layout, with what is needed to keep the next one similar.
    """
    requested = structure
    bases = [-1] * len(structure.components)  # the number that each component had before
    if previous:
        structure, bases = rejoin_components(structure, previous)
    record = LayoutRecord(requested, structure, sizes)
    pieces = []
    shapes = _component_aspects(structure, sizes, aspect)
    drawn: dict[object, ColumnAssembly] = {}
    for component, base, shape in zip(structure.components, bases, shapes, strict=True):
        before = _previous_graph(previous, component, base)
        own_sizes = [sizes[node] for node in component.nodes]
        own_ports = [ports[node] for node in component.nodes]
        problem = LayoutProblem(component, own_sizes, own_ports, shape, title)
        pieces.append((component, _layout_component(record, problem, before, main, drawn)))
    if len(pieces) == 1 and not structure.isolated:
        _, result = pieces[0]
    else:
        result = _combine(record, pieces, bases, aspect, previous)
    _extend_to_border(result, structure)
    clear_title(result, structure, title)
    record.layout = result.to_arrays()
    return record


def _component_aspects(structure: Structure, sizes: Sequence[Size], aspect: float) -> list[float]:
    """Return the wanted width : height of each component, if that of the container is `aspect`.

    A large one is as high as the container, and leaves room for the others beside it; the places
    of small ones are chosen by their shapes, so these may have any.
    """

    def area_of(nodes: Sequence[int]) -> float:
        return sum((sizes[node][0] + NODE_GAP) * (sizes[node][1] + ROW_GAP) for node in nodes)

    areas = [area_of(component.nodes) for component in structure.components]
    total = sum(areas) + area_of(structure.isolated)
    return [aspect * area / total if area > LARGE * total else aspect for area in areas]


def _previous_graph(
    previous: PreviousLayout | None, component: Component, base: int
) -> PreviousGraph | None:
    """Return how a component, then number `base`, was drawn before; None if it was not."""
    drawing = previous.drawing.layered_graphs[base] if previous and base >= 0 else None
    if previous is None or drawing is None:
        return None
    graph, columns = drawing
    earlier = previous.drawing.structure.components[base]
    if earlier is component:
        return PreviousGraph(graph, columns, None)
    number = {node: i for i, node in enumerate(earlier.nodes)}
    numbers = [number.get(previous.number[node], -1) for node in component.nodes]
    return PreviousGraph(graph, columns, numbers)


def _layout_component(
    record: LayoutRecord,
    problem: LayoutProblem,
    before: PreviousGraph | None,
    main: Main | None,
    drawn: dict[object, ColumnAssembly],
) -> MutableLayout:
    """Return the layout of a component; `drawn` are those so far, as equal ones are drawn once."""
    if not problem.edges and len(problem.sizes) == 1:
        record.layered_graphs.append(None)
        return MutableLayout([0.0], [0.0], *problem.sizes[0], [])
    if main is not None:
        record.layered_graphs.append(None)
        return main(problem)
    assembly = None if before is None else _relayout_component(problem, before)
    if assembly is None:
        key = (*problem.edges, None, *problem.sizes, *problem.ports, problem.aspect)
        if key not in drawn:
            drawn[key] = run_layout(problem)
        assembly = drawn[key]
    record.layered_graphs.append((assembly.graph, assembly.columns))
    return assembly.to_layout()


def _relayout_component(problem: LayoutProblem, before: PreviousGraph) -> ColumnAssembly | None:
    """Return the earlier drawing with other sizes and edges; None where it cannot be kept."""
    if before.number is None:  # only sizes may be others
        graph = replace(before.graph, problem=problem)
        return ColumnAssembly(graph, stretch_columns(before.graph, before.columns, graph))
    update = update_layered_graph(before.graph, problem, before.number)
    if update is None:
        return None
    graph, origins = update
    return ColumnAssembly(graph, stretch_columns(before.graph, before.columns, graph, origins))


def _combine(
    record: LayoutRecord,
    pieces: list[tuple[Component, MutableLayout]],
    bases: Sequence[int],
    aspect: float,
    previous: PreviousLayout | None,
) -> MutableLayout:
    """Put all components into one layout, and the isolated nodes apart."""
    structure = record.structure
    result = MutableLayout(
        [0.0] * structure.count, [0.0] * structure.count, 0.0, 0.0, [[] for _ in structure.edges]
    )
    # What has lines to the border stands alone in its rows: a line to the border below must not
    # meet the others.
    rest = []  # the numbers of the others
    for i, (component, piece) in enumerate(pieces):
        if not piece.enter and not piece.leave:
            rest.append(i)
            continue
        _insert(result, component, piece, 0.0, 0.0)
        result.width, result.height = piece.width, piece.height
    if rest:
        boxes = [(pieces[i][1].width, pieces[i][1].height) for i in rest]
        before = _previous_packing(previous, "parts", [bases[i] for i in rest])
        places = _pack_boxes(record, "parts", result, rest, boxes, GAP, aspect, before)
        for i, (x, y) in zip(rest, places, strict=True):
            component, piece = pieces[i]
            _insert(result, component, piece, x, y)
    if structure.isolated:
        boxes = [record.sizes[node] for node in structure.isolated]
        earlier = [previous.number[node] for node in structure.isolated] if previous else []
        before = _previous_packing(previous, "quiet", earlier)
        places = _pack_boxes(
            record, "quiet", result, structure.isolated, boxes, AUXILIARY_GAP, aspect, before
        )
        for node, (x, y) in zip(structure.isolated, places, strict=True):
            result.left[node], result.top[node] = x, y
    return result


def _previous_packing(
    previous: PreviousLayout | None, kind: str, members: Sequence[int]
) -> PreviousPacking | None:
    """Return how the members were packed before; None if most of them are new, or have gone."""
    if previous is None or kind not in previous.drawing.packs:
        return None
    packing = previous.drawing.packs[kind]
    position = {member: i for i, member in enumerate(packing.members)}
    positions = [position.get(member, -1) for member in members]
    common = sum(i >= 0 for i in positions)
    if 2 * common < max(len(members), len(position)):
        return None
    return PreviousPacking(packing, positions)


def _pack_boxes(
    record: LayoutRecord,
    kind: str,
    result: MutableLayout,
    members: Sequence[int],
    boxes: list[Size],
    gap: float,
    aspect: float,
    before: PreviousPacking | None,
) -> list[Size]:
    """Return corners for boxes beside or below what is in `result`, which grows."""
    # An edit may have made the first line to the border below, which is in the way of what was put
    # there before.
    if before and not (before.packing.below and result.leave):
        below = before.packing.below
        places = stretch_packing(before.packing, before.positions, boxes, aspect)
    else:
        below, places = pack_beside(
            (result.width, result.height), boxes, aspect, gap, below=not result.leave
        )
    record.packs[kind] = Packing(below, members, boxes, places)
    width, height = extent(boxes, places)
    gap = gap if result.width else 0.0
    x, y = (0.0, result.height + gap) if below else (result.width + gap, 0.0)
    result.width = max(result.width, x + width)
    result.height = max(result.height, y + height)
    return [(x + px, y + py) for px, py in places]


def _insert(
    result: MutableLayout, component: Component, piece: MutableLayout, x: float, y: float
) -> None:
    """Put the layout of a component into that of its container, at a corner."""
    for i, node in enumerate(component.nodes):
        result.left[node] = piece.left[i] + x
        result.top[node] = piece.top[i] + y
    for i, edge in enumerate(component.edges):
        result.routes[edge] = [(px + x, py + y) for px, py in piece.routes[i]]
    if piece.enter:
        result.enter = tuple(at + x for at in piece.enter)
    if piece.leave:
        result.leave = tuple(at + x for at in piece.leave)


def _extend_to_border(result: MutableLayout, structure: Structure) -> None:
    """Extend the routes to the borders: the container may be taller than the component."""
    for edge, route in zip(structure.edges, result.routes, strict=True):
        if edge.target == BORDER and route and route[-1][1] < result.height:
            route[-1] = (route[-1][0], result.height)
        if edge.source == BORDER and route and route[0][1] > 0:
            route[0] = (route[0][0], 0.0)
