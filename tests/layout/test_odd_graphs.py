"""Graphs that no viewer likes are drawn, open and closed, with everything where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.layout.checks import outside, overlaps
from tests.odd import GRAPHS, IMAGE
from tfgraphwidget.graph.index import build
from tfgraphwidget.layout.compound import place
from tfgraphwidget.scene.rendering.svg_text import svg
from tfgraphwidget.scene.scene import build as build_scene
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_drawn_closed_and_open(name, direction):
    index = build(GRAPHS[name]().node)
    every = frozenset(index.scopes.names)
    for opened in (frozenset(), every):
        shown = build_visible_graph(index, ViewSpec(opened, direction=direction))
        positions = place(shown, direction=direction)
        assert np.isfinite(positions.box).all()
        assert np.isfinite(positions.route).all()
        if len(shown) < 2_000:
            assert overlaps(shown, positions) == []
        assert outside(shown, positions) == []


@pytest.mark.parametrize("fold", [True, False])
def test_ten_thousand_siblings_are_boxes_of_their_own_unless_they_are_folded(fold):
    index = build(GRAPHS["ten thousand siblings"]().node)
    shown = build_visible_graph(index, ViewSpec(frozenset({"all"}), fold=fold))
    assert (len(shown) > 10_000) is not fold or len(shown) > 10_000


def test_markup_is_text_in_a_picture():
    index = build(GRAPHS["markup"]().node)
    picture = svg(build_scene(index, ViewSpec(frozenset(index.scopes.names))))
    assert "<img" not in picture
    assert "<script" not in picture
    assert "onerror" in picture.replace("…", "onerror") or IMAGE not in picture
