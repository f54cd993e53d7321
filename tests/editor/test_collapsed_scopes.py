"""An editor opens, reveals and hides scopes that have no frame of their own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.hierarchy.test_single_child import OPS
from tfgraphwidget.layout.compound import place
from tfgraphwidget.visible.visible_graph import OPEN, VisibleGraph, build_visible_graph


@pytest.fixture
def editor():
    """The same ops as a file that is only looked at."""
    from tensorflow.core.framework import graph_pb2

    graph_def = graph_pb2.GraphDef()
    for name, text in OPS.items():
        op, *inputs = text.split()
        graph_def.node.add(name=name, op=op, input=inputs)
    return tgw.edit(graph_def)


@pytest.mark.parametrize("name", ["net/out", "net/out/deep", "net/out/deep/down"])
def test_each_name_of_a_chain_opens_closes_and_reveals_all_of_it(editor, name):
    room = editor._core.view
    room.close_all()
    editor.view.expand(name)
    assert "net/out/deep/down/a" in seen(room).names
    editor.view.collapse(name)
    assert "net/out/deep/down/a" not in seen(room).names
    assert room.reveal(f"{name}/") == "net/out"
    assert room.holding(name).ops == ("net/out/deep/down/a", "net/out/deep/down/b")


def test_an_op_without_a_frame_is_revealed_by_opening_what_is_around_it(editor):
    room = editor._core.view
    room.close_all()
    assert room.reveal("net/dense/MatMul") == "net/dense/MatMul"
    assert "net/dense/MatMul" in seen(room).names
    assert room.opened == {"net"}


@pytest.mark.parametrize("name", ["net/dense", "net/out/deep"])
def test_hiding_a_scope_that_has_no_frame_hides_what_is_in_it(editor, name):
    room = editor._core.view
    room.open_all()
    room.hide((f"{name}/",))
    assert not [n for n in seen(room).names if n.startswith(f"{name}/")]


def seen(room: SimpleNamespace) -> VisibleGraph:
    """What a room shows; every open scope holds something."""
    shown = build_visible_graph(room.index, room.view_spec)
    assert set(np.flatnonzero(shown.kind == OPEN)[1:].tolist()) <= set(shown.parent.tolist())
    place(shown)
    return shown
