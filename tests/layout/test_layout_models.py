"""The five models, fully open: nothing overlaps, no line runs through a box, the sheet is used."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.layout.checks import crossed, fill, loose, outside, overlaps
from tests.layout.exact import assert_sound
from tests.layout.quality import lines_of
from tests.layout.test_alike import assert_alike
from tests.layout.test_layout import assert_sound as assert_placed_well
from tests.layout.test_layout_stable import TRACKS, assert_stays, walk
from tests.layout.test_titles import assert_titles_are_free
from tests.models import NAMES, written
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout import compound
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import place
from tfgraphwidget.scene.coloring.palette import default_theme
from tfgraphwidget.scene.rendering.display_list import Box, Label, Polyline, build_display_list
from tfgraphwidget.scene.scene import build
from tfgraphwidget.visible.measure import text_width
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import CLOSED, OPEN, build_visible_graph, default_open

# Shares of the whole picture that ops and closed scopes cover; see test_area.
LEAST_FILLED = {
    "resnet": 0.05,
    "inception": 0.1,
    "transformer": 0.05,
    "seq2seq": 0.024,
    "dqn": 0.1,
}

LEGIBLE = 9  # pixels
# How many pairs of scopes are alike at least.
ALIKE = {"resnet": 280, "inception": 310, "transformer": 210, "seq2seq": 60, "dqn": 15}


@pytest.fixture(scope="module", params=NAMES)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, GraphIndex]:
    return request.param, tgw.edit(
        written(request.param, tmp_path_factory.mktemp("models"))
    )._core.index


@pytest.mark.sample(1)
def test_a_fully_open_model_is_sound_and_fills_its_sheet(model):
    name, index = model
    shown = build_visible_graph(index, ViewSpec(frozenset(outline_of(index)[0].names)))
    positions = place(shown)
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    bad, pieces = crossed(shown, positions)
    assert bad <= 0.001 * pieces
    steps = [np.abs(np.diff(line, axis=0)).min(axis=1) for line in lines_of(positions)]
    assert np.concatenate(steps).max() < 0.001  # each piece is level or upright
    assert fill(shown, positions) >= LEAST_FILLED[name]
    width, height = positions.box[0, 2:].tolist()
    # seq2seq's training is deep, and too many lines pass through it for columns.
    assert 0.3 <= width / height <= 3.0


@pytest.mark.sample(1)
def test_no_line_of_a_model_crosses_a_title_and_no_title_lies_on_a_box(model):
    _, index = model
    cache = LayoutCache()
    for opened in (default_open(index), frozenset(outline_of(index)[0].names), default_open(index)):
        assert_titles_are_free(index, opened, cache)


@pytest.mark.sample(1)
def test_scopes_of_a_model_that_are_alike_are_drawn_alike(model):
    name, index = model
    shown = build_visible_graph(index, ViewSpec(frozenset(outline_of(index)[0].names)))
    assert assert_alike(shown, place(shown)) >= ALIKE[name]


@pytest.mark.sample(2)
def test_large_scopes_are_no_needles(model):
    _, index = model
    shown = build_visible_graph(index, ViewSpec(frozenset(outline_of(index)[0].names)))
    box = place(shown).box
    children = np.diff(shown.child_start)
    many = np.flatnonzero((shown.kind == OPEN) & (children >= 6))
    ratio = box[many, 2] / box[many, 3]
    assert ((ratio < 0.2) | (ratio > 5)).mean() <= 0.1


@pytest.mark.sample(2)
def test_opening_a_scope_of_the_first_view_leaves_the_rest_where_it_was(model):
    _, index = model
    opened = default_open(index)
    shown = build_visible_graph(index, ViewSpec(opened))
    cache = LayoutCache()
    closed = [shown.names[i] for i in np.flatnonzero((shown.kind == CLOSED) & (shown.members == 0))]
    for name in closed[:: max(1, len(closed) // 6)]:
        assert_stays(index, opened, name, cache)


@pytest.mark.parametrize("layout", [nx.circular_layout, partial(nx.random_layout, seed=1)])
@pytest.mark.slow
def test_a_network_all_open_is_sound_and_not_endless(inception, layout):
    shown = build_visible_graph(inception, ViewSpec(frozenset(outline_of(inception)[0].names)))
    positions = place(shown, layout=layout)
    assert_sound(shown, positions)
    in_rows = place(shown).box[0, 2:].astype(float).prod()
    assert positions.box[0, 2:].astype(float).prod() < 30 * in_rows


def test_a_pin_bends_the_lines_of_what_moves_and_leaves_the_others(inception):
    shown = build_visible_graph(inception, ViewSpec(default_open(inception)))
    cache = LayoutCache()
    free = place(shown, layout=nx.circular_layout, cache=cache)
    item = next(i for i, name in enumerate(shown.names) if name.endswith("Mixed_7b"))
    left, top, width, height = (free.box[item] - [*free.box[shown.parent[item], :2], 0, 0]).tolist()
    pins = {shown.names[item]: (left + width / 2 + 150, top + height / 2 + 90)}
    pinned = place(shown, layout=nx.circular_layout, cache=cache, pinned=pins)
    assert_sound(shown, pinned)
    same = 0
    for free_at, pinned_at in zip(
        pairwise(free.route_start), pairwise(pinned.route_start), strict=True
    ):
        before, after = free.route[slice(*free_at)], pinned.route[slice(*pinned_at)]
        same += before.shape == after.shape and bool(np.allclose(before, after, atol=0.5))
    assert same >= len(shown.source) * 0.5


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(2)
def test_all_lines_of_a_model_meet_their_boxes(name, direction, tmp_path):
    index = tgw.edit(written(name, tmp_path))._core.index
    for opened in (default_open(index), frozenset(outline_of(index)[0].names)):
        shown = build_visible_graph(index, ViewSpec(opened))
        assert loose(shown, place(shown, direction=direction)) == []


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_inception_is_sound_whichever_scopes_are_open(inception, share):
    rng = np.random.default_rng(7)
    names = np.array(inception.scopes.names)
    opened = default_open(inception) | set(names[rng.random(len(names)) < share].tolist())
    shown = build_visible_graph(inception, ViewSpec(frozenset(opened)))
    assert_placed_well(shown)
    bad, pieces = crossed(shown, place(shown))
    assert bad <= 0.001 * pieces


def test_inception_is_legible_at_first(inception):
    width, height = (
        place(build_visible_graph(inception, ViewSpec(default_open(inception)))).box[0, 2:].tolist()
    )
    # Text of 12 pixels stays above 9 in a widget of 1100 by 600.
    assert 12 * min(1100 / width, 600 / height) >= 9


def test_opening_any_scope_of_inception_moves_the_rest_no_further_than_it_grows(inception):
    opened = default_open(inception)
    shown = build_visible_graph(inception, ViewSpec(opened))
    cache = LayoutCache()
    for name, kind in zip(shown.names, shown.kind.tolist(), strict=True):
        if kind == CLOSED:
            assert_stays(inception, opened, name, cache)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.sample(1)
def test_scopes_of_a_model_opened_and_closed_by_lot_move_little_else(name, direction, tmp_path):
    index = tgw.edit(written(name, tmp_path))._core.index
    found = np.array([far for far, _ in walk(index, default_open(index), direction, 25, 1)])
    assert len(found) > 200
    # Of walks with other seeds it is none to 2.4 %.
    assert (found > 3 * TRACKS).mean() < 0.025
    # One in a thousand drops below a tall neighbor that it has become too wide to stand beside.
    assert (found >= 10 * TRACKS).mean() < 0.001


def test_drawings_of_long_ago_are_forgotten_and_what_is_drawn_stays(inception, monkeypatch):
    monkeypatch.setattr(compound, "_MOST_KEPT", 120)
    cache = LayoutCache()
    opened = default_open(inception)
    shown = build_visible_graph(inception, ViewSpec(opened))
    first = place(shown, cache=cache)
    closed = [
        name for name, kind in zip(shown.names, shown.kind.tolist(), strict=True) if kind == CLOSED
    ]
    largest = 0
    for name in closed * 2:
        after = build_visible_graph(inception, ViewSpec(opened | {name}))
        place(after, cache=cache)
        largest = max(largest, len(after))
    boxes = sum(len(drawing.sizes) for drawing in cache.layouts.values())
    assert boxes <= max(120, 3 * largest) + largest
    assert boxes < 300
    assert np.array_equal(place(shown, cache=cache).box, first.box)


@pytest.mark.sample(2)
def test_texts_of_the_lines_of_a_model_lie_on_nothing_but_their_own_line(model):
    """As in saved pictures, which have the browser's rules for the place of a text (see
    test_display_list).
    """
    name, index = model
    everything = [frozenset(outline_of(index)[0].names)] if name in ("seq2seq", "dqn") else []
    for opened in (default_open(index), *everything):
        display = build_display_list(build(index, ViewSpec(opened)), default_theme(dark=False))
        texts = [shape for shape in display.shapes if isinstance(shape, Label)]
        assert min(text.size for text in texts) >= LEGIBLE
        plates = np.array([_plate(text) for text in texts if text.rim and text.middle]).reshape(
            -1, 4
        )
        titles = [_title(text) for text in texts if text.rim and text.bold]
        boxes = [shape.place for shape in display.shapes if isinstance(shape, Box) and shape.fill]
        solid = np.array([*boxes, *titles])
        solid[:, 2:] += solid[:, :2]
        pieces = [
            np.concatenate(
                [
                    np.minimum(line.points[:-1], line.points[1:]),
                    np.maximum(line.points[:-1], line.points[1:]),
                ],
                1,
            )
            for line in display.shapes
            if isinstance(line, Polyline) and line.corner
        ]
        owner = np.repeat(np.arange(len(pieces)), [len(some) for some in pieces])
        lines = np.concatenate(pieces)
        for number, plate in enumerate(plates):
            # Boxes around a text are not under it.
            around = (solid[:, :2] <= plate[:2]).all(axis=1) & (solid[:, 2:] >= plate[2:]).all(
                axis=1
            )
            assert not (_hits(solid, plate) & ~around).any()
            assert len(np.unique(owner[_hits(lines, plate)])) <= 1
            assert not _hits(plates[:number], plate).any()


def _hits(corners: np.ndarray, plate: np.ndarray) -> np.ndarray:
    hits: np.ndarray = (corners[:, :2] < plate[2:]).all(axis=1) & (corners[:, 2:] > plate[:2]).all(
        axis=1
    )
    return hits


def _plate(text: Label) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what covers the line below a text."""
    _, _, wide, high = text.plate
    if text.upright:
        wide, high = high, wide
    return text.x - wide / 2, text.y - high / 2, text.x + wide / 2, text.y + high / 2


def _title(text: Label) -> tuple[float, float, float, float]:
    return text.x, text.y - text.size / 2, text.size * text_width(text.text), text.size
