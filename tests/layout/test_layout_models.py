"""The five models, fully open: nothing overlaps, no line runs through a box, the sheet is used."""

from __future__ import annotations

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.layout.checks import crossed, fill, outside, overlaps
from tests.layout.test_layout_stable import assert_stays
from tests.models import NAMES, written
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import place
from tfgraphwidget.visible.view_spec import Shown
from tfgraphwidget.visible.visible_graph import CLOSED, OPEN, default_open, visible

# Shares of the whole picture that ops and closed scopes cover; see test_area.
LEAST_FILLED = {"resnet": 0.065, "inception": 0.098, "transformer": 0.05, "seq2seq": 0.034, "dqn": 0.11}


@pytest.fixture(scope="module", params=NAMES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, GraphIndex]:
    return request.param, tgw.edit(written(request.param, tmp_path_factory.mktemp("models"))).index


def test_a_fully_open_model_is_sound_and_fills_its_sheet(model):
    name, index = model
    shown = visible(index, Shown(frozenset(outline_of(index)[0].names)))
    positions = place(shown)
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    bad, pieces = crossed(shown, positions)
    assert bad <= 0.001 * pieces
    assert fill(shown, positions) >= LEAST_FILLED[name]
    width, height = positions.box[0, 2:].tolist()
    assert 0.8 <= width / height <= 3.0


def test_large_scopes_are_no_needles(model):
    _, index = model
    shown = visible(index, Shown(frozenset(outline_of(index)[0].names)))
    box = place(shown).box
    children = np.diff(shown.child_start)
    many = np.flatnonzero((shown.kind == OPEN) & (children >= 6))
    ratio = box[many, 2] / box[many, 3]
    assert ((ratio < 0.2) | (ratio > 5)).mean() <= 0.1


def test_opening_a_scope_of_the_first_view_leaves_the_rest_where_it_was(model):
    _, index = model
    opened = default_open(index)
    shown = visible(index, Shown(opened))
    cache = LayoutCache()
    closed = [shown.names[i] for i in np.flatnonzero((shown.kind == CLOSED) & (shown.members == 0))]
    for name in closed[:: max(1, len(closed) // 6)]:
        assert_stays(index, opened, name, cache)
