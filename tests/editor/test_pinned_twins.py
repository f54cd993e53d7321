"""An op and a scope of one name are pinned each for itself."""

from __future__ import annotations

import numpy as np
import pytest

import tfgraphwidget as tgw
from tfgraphwidget.visible.visible_graph import OP


@pytest.fixture
def twins():
    """An op and a scope that are both called `a`, and an op with a slash after, all in view."""
    from tensorflow.core.framework.graph_pb2 import GraphDef

    graph = GraphDef()
    for name, op_type, *inputs in (
        ("x", "Placeholder"),
        ("a", "Relu", "x"),
        ("a/b", "Relu", "a"),
        ("a/c", "Tanh", "a/b"),
        ("y", "Relu", "a/c"),
        ("f/", "NoOp"),
    ):
        node = graph.node.add(name=name, op=op_type, input=inputs)
        if op_type != "NoOp":
            node.attr["dtype" if op_type == "Placeholder" else "T"].type = 1
    editor = tgw.edit(graph)
    editor.view.expand()
    return editor


def pinned_in(editor):
    scene = editor.view.scene()
    return [
        (scene.names[i], "op" if scene.kind[i] == OP else "scope")
        for i in np.flatnonzero(scene.pinned).tolist()
    ]


def inner(editor):
    """Where everything in the scope `a` is, from its corner."""
    scene = editor.view.scene()
    scope = next(i for i, name in enumerate(scene.names) if name == "a" and scene.kind[i] != OP)
    return scene.box[scene.parent == scope, :2] - scene.box[scope, :2]


def test_a_scope_is_pinned_without_the_op_of_its_name(twins):
    before = inner(twins)
    twins.view.pin("a/", 400, 300)
    assert pinned_in(twins) == [("a", "scope")]
    assert np.allclose(inner(twins), before, atol=0.01)
    twins.view.collapse("a")
    assert pinned_in(twins) == [("a", "scope")]


def test_an_op_is_pinned_without_the_scope_of_its_name(twins):
    twins.view.pin("a", 400, 300)
    assert pinned_in(twins) == [("a", "op")]
    twins.view.collapse("a")
    assert pinned_in(twins) == []
    assert twins._core.view.with_open(["a"]).pinned == twins._core.view.pinned
    twins.view.expand("a")
    assert pinned_in(twins) == [("a", "op")]
    twins.view.hide("a")
    assert pinned_in(twins) == []


def test_each_is_let_go_alone(twins):
    twins.view.pin("a", 400, 300)
    twins.view.pin("a/", 500, 400)
    assert pinned_in(twins) == [("a", "scope"), ("a", "op")]
    twins.view.unpin("a/")
    assert pinned_in(twins) == [("a", "op")]
    twins.view.pin("a/", 500, 400)
    twins.view.unpin("a")
    assert pinned_in(twins) == [("a", "scope")]
    twins.view.unpin("a")
    assert pinned_in(twins) == []


def test_a_closed_scope_is_meant_where_no_op_of_its_name_is_seen(twins):
    twins.view.collapse("a")
    twins.view.pin("a", 400, 300)
    twins.view.expand("a")
    assert pinned_in(twins) == [("a", "scope")]


def test_an_op_may_end_in_a_slash_and_others_be_asked_for_with_one(twins):
    twins.view.pin("f/", 400, 300)
    twins.view.pin("y/", 300, 300)
    assert pinned_in(twins) == [("y", "op"), ("f/", "op")]
