"""Lines that enter a scope cross its border beside the title; nothing lies on a title."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from tests.layout.checks import crossed, graph_of, loose, outside, overlaps
from tests.layout.test_layout_stable import made_by_lot
from tests.rounds import ROUNDS
from tests.visible.test_ports import graphs
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import HEADER, Positions, place
from tfgraphwidget.layout.frame import scope_titles
from tfgraphwidget.layout.geometry import MutableLayout
from tfgraphwidget.layout.layered.components import BORDER, Edge, build_structure
from tfgraphwidget.layout.title import clear_title
from tfgraphwidget.scene.coloring.palette import default_theme
from tfgraphwidget.scene.rendering.display_list import Label, Polyline, build_display_list
from tfgraphwidget.scene.scene import build
from tfgraphwidget.visible.measure import TEXT, WIDEST_TITLE, text_width
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, OPEN, VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow
_BOLD = 1.08


def titles(shown: VisibleGraph, positions: Positions) -> np.ndarray:
    """Left, top, right and bottom of the text of each title, (n, 4); NaN for what has none."""
    result = np.full((len(shown), 4), np.nan)
    scopes = np.flatnonzero(shown.kind == OPEN)[1:]
    for item, title in zip(scopes.tolist(), scope_titles(shown, scopes), strict=True):
        x, y, width, _ = positions.box[item].tolist()
        wide = min(TEXT * _BOLD * text_width(title), WIDEST_TITLE, width - 12)
        result[item] = x + 6, y + HEADER / 2 - TEXT / 2, x + 6 + wide, y + HEADER / 2 + TEXT / 2
    return result


def struck(shown: VisibleGraph, positions: Positions) -> list[tuple[str, int]]:
    """The titles that a line of their scope or of one inside crosses, and the line."""
    text = titles(shown, positions)
    found = []
    for line, container in enumerate(shown.container.tolist()):
        route = positions.route[
            positions.route_start[line] : positions.route_start[line + 1]
        ].astype(float)
        if shown.source[line] == container and container:  # drawn from the border on
            route[0, 1] = positions.box[container, 1]
        low, high = np.minimum(route[:-1], route[1:]), np.maximum(route[:-1], route[1:])
        left, top, right, bottom = text[container]
        hit = (low[:, 0] < right) & (high[:, 0] > left) & (low[:, 1] < bottom) & (high[:, 1] > top)
        found += [(shown.names[container], line)] * bool(hit.any())
    return found


def covered(shown: VisibleGraph, positions: Positions) -> list[str]:
    """The boxes that a title of their scope lies on."""
    text = titles(shown, positions)[np.maximum(shown.parent, 0)]
    box = positions.box.astype(float)
    hit = (box[:, 0] < text[:, 2]) & (box[:, 0] + box[:, 2] > text[:, 0]) & (shown.kind != BADGE)
    hit &= (box[:, 1] < text[:, 3]) & (box[:, 1] + box[:, 3] > text[:, 1])
    return [shown.names[item] for item in np.flatnonzero(hit).tolist()]


def assert_titles_are_free(
    index: GraphIndex, opened: frozenset[str], cache: LayoutCache | None = None
) -> None:
    shown = build_visible_graph(index, ViewSpec(opened))
    positions = place(shown, cache=cache)
    assert struck(shown, positions) == []
    assert covered(shown, positions) == []
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert loose(shown, positions) == []


@settings(max_examples=16 * ROUNDS)
@given(graphs())
def test_no_line_of_a_random_graph_crosses_a_title(made):
    assert_titles_are_free(*made)


def test_titles_stay_free_when_scopes_are_opened_and_closed():
    for seed in range(12 * ROUNDS):
        index, cache = made_by_lot(seed), LayoutCache()
        names = outline_of(index)[0].names
        for step in range(4):
            assert_titles_are_free(index, frozenset(names[step % 3 :: 1 + step]), cache)


def test_a_line_into_a_small_box_below_a_long_title_turns_below_the_title():
    ops = {
        "x": "Placeholder",
        "a_scope_with_a_very_long_name/a": "Relu x",
        "a_scope_with_a_very_long_name/b": "Tanh x",
    }
    shown = build_visible_graph(
        graph_of(ops), ViewSpec(frozenset({"a_scope_with_a_very_long_name"}), fold=False)
    )
    positions = place(shown)
    assert struck(shown, positions) == []
    assert crossed(shown, positions)[0] == 0
    scope = list(shown.names).index("a_scope_with_a_very_long_name")
    inner = [line for line, source in enumerate(shown.source.tolist()) if source == scope]
    right = titles(shown, positions)[scope, 2]
    assert all(positions.route[positions.route_start[line], 0] >= right for line in inner)


def test_layouts_by_a_function_have_free_titles_too():
    for seed in range(12):
        index = made_by_lot(seed)
        shown = build_visible_graph(index, ViewSpec(frozenset(outline_of(index)[0].names)))
        assert struck(shown, place(shown, layout=nx.circular_layout)) == []


def test_ports_below_a_title_keep_their_order_beside_it_and_their_lines_do_not_meet():
    edges = [
        Edge(BORDER, 0, source_port=0),
        Edge(BORDER, 0, source_port=1),
        Edge(BORDER, 1, source_port=2),
    ]
    routes = [
        [(10.0, 0.0), (10.0, 30.0)],
        [(20.0, 0.0), (20.0, 30.0)],
        [(200.0, 0.0), (200.0, 30.0)],
    ]
    layout = MutableLayout(
        [0.0, 180.0], [30.0, 30.0], 240.0, 60.0, routes, (10.0, 20.0, 200.0), (15.0,)
    )
    clear_title(layout, build_structure([0, 0], edges), 100.0)
    assert layout.enter == (100.0, 112.0, 200.0)
    assert [route[0] for route in layout.routes] == [(100.0, 0.0), (112.0, 0.0), (200.0, 0.0)]
    assert [route[-1][0] for route in layout.routes] == [10.0, 20.0, 200.0]
    bends = [{y for _, y in route[1:-1]} for route in layout.routes[:2]]
    assert bends[0].isdisjoint(bends[1])
    assert layout.top == [30.0 + layout.height - 60.0] * 2


def test_in_a_saved_picture_no_line_crosses_a_title():
    ops = {
        "x": "Placeholder",
        "network/dense/w": "Relu x",
        "network/dense/b": "Tanh network/dense/w",
    }
    index = graph_of(ops)
    display = build_display_list(
        build(index, ViewSpec(frozenset(outline_of(index)[0].names))), default_theme(dark=False)
    )
    texts = [shape for shape in display.shapes if isinstance(shape, Label) and shape.bold]
    lines = [
        shape.points
        for shape in display.shapes
        if isinstance(shape, Polyline) and shape.head is not None
    ]
    assert texts
    assert lines
    for text in texts:
        right = text.x + TEXT * _BOLD * text_width(text.text)
        for points in lines:
            beside = (points[:, 0] < text.x) | (points[:, 0] > right)
            above_or_below = (points[:, 1].max() < text.y - 6) | (points[:, 1].min() > text.y + 6)
            assert beside.all() or above_or_below
