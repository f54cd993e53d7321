"""What is laid out ahead makes opening quick, and changes no drawing."""

from __future__ import annotations

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.bench.nets import written
from tfgraphwidget.view import ahead, inside, scene


@pytest.fixture(scope="module")
def tangles(tmp_path_factory):
    return written("tangles", tmp_path_factory.mktemp("nets"))


def drawn(editor):
    return scene.to_bytes(editor.scene().arrays())[1]


def test_the_largest_closed_scopes_come_first(tangles):
    editor = tgw.edit(tangles)
    names = ahead.candidates(editor.index, editor.room.shown)
    sizes = [len(editor.scope(name)) for name in names]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < len(names) <= 6


def test_a_scope_that_was_laid_out_ahead_opens_without_a_new_layout_of_it(tangles, monkeypatch):
    editor = tgw.edit(tangles)
    editor.scene()
    (name, *_) = ahead.candidates(editor.index, editor.room.shown)
    while editor.look_ahead():
        pass
    laid_out = []
    really = inside.arranged
    monkeypatch.setattr(inside, "arranged", lambda *a, **k: laid_out.append(a) or really(*a, **k))
    editor.open(name)
    editor.scene()
    assert laid_out == []


def test_looking_ahead_changes_neither_this_drawing_nor_the_next(tangles):
    one, other = tgw.edit(tangles), tgw.edit(tangles)
    before = drawn(one)
    (name, *_) = ahead.candidates(one.index, one.room.shown)
    while one.look_ahead():
        pass
    assert drawn(one) == before == drawn(other)
    for editor in (one, other):
        editor.open(name)
    assert drawn(one) == drawn(other)
    for editor in (one, other):
        editor.close(name)
    assert drawn(one) == drawn(other) == before


def test_with_a_layout_of_ones_own_nothing_is_done_ahead(tangles):
    editor = tgw.edit(tangles, layout=lambda graph: {node: (0.0, float(i)) for i, node in enumerate(graph)})
    assert not editor.look_ahead()
    assert np.isfinite(editor.scene().box).all()
