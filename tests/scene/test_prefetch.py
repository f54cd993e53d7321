"""What is laid out ahead makes opening quick, and changes no drawing."""

from __future__ import annotations

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.bench.nets import written
from tfgraphwidget.layout import compound
from tfgraphwidget.scene import scene


@pytest.fixture(scope="module")
def tangles(tmp_path_factory):
    return written("tangles", tmp_path_factory.mktemp("nets"))


def drawn(editor):
    return scene.to_bytes(editor.view.scene().arrays())[1]


def likely(editor):
    return editor._core.view.prefetch_candidates(editor.view.scene())


def test_the_largest_closed_scopes_come_first(tangles):
    editor = tgw.edit(tangles)
    names = likely(editor)
    sizes = [len(editor.ops(scope=name)) for name in names]
    assert sizes == sorted(sizes, reverse=True)
    drawings = [len(editor._core.view.prefetch(name)) for name in names]
    assert len(names) > 6
    assert sum(drawings) <= 12_500
    editor.view.expand(names[0])
    assert names[0] not in likely(editor)


def test_small_scopes_and_large_drawings_are_not_worth_it(tangles, line):
    assert likely(tgw.edit(line)) == ()
    all_open = tgw.edit(tangles)
    all_open.view.expand()
    all_open.view.collapse("scope_3")
    assert len(all_open.view.scene()) > 2500
    assert likely(all_open) == ()


def test_a_scope_that_was_foreseen_opens_without_a_new_layout_of_it(tangles, monkeypatch):
    editor = tgw.edit(tangles)
    (name, *_) = likely(editor)
    editor._core.view.prefetch(name)
    laid_out = []
    really = compound.layout_container
    monkeypatch.setattr(
        compound, "layout_container", lambda *a, **k: laid_out.append(a) or really(*a, **k)
    )
    editor.view.expand(name)
    editor.view.scene()
    assert laid_out == []


def test_foreseeing_changes_neither_this_drawing_nor_the_next(tangles):
    one, other = tgw.edit(tangles), tgw.edit(tangles)
    before = drawn(one)
    names = likely(one)
    for name in names:
        assert one._core.view.prefetch(name) is not None
    assert drawn(one) == before == drawn(other)
    for editor in (one, other):
        editor.view.expand(names[0])
    assert drawn(one) == drawn(other)
    for editor in (one, other):
        editor.view.collapse(names[0])
    assert drawn(one) == drawn(other) == before


def test_with_a_layout_of_ones_own_nothing_is_done_ahead(tangles):
    editor = tgw.edit(
        tangles, layout=lambda graph: {node: (0.0, float(i)) for i, node in enumerate(graph)}
    )
    assert likely(editor) == ()
    assert editor._core.view.prefetch("scope_3") is None
    assert np.isfinite(editor.view.scene().box).all()
