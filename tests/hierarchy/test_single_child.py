"""Scopes that hold one thing only are drawn as that thing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.layout.checks import graph_of
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow

OPS = {
    "x": "Placeholder",
    "net/mul/y": "Const",
    "net/mul": "Mul x net/mul/y",
    "net/dense/weights": "VariableV2",
    "net/dense/weights/read": "Identity net/dense/weights",
    "net/dense/MatMul": "MatMul net/mul net/dense/weights/read",
    "net/out/deep/down/a": "Relu net/dense/MatMul",
    "net/out/deep/down/b": "Tanh net/out/deep/down/a",
}


def labels(shown: VisibleGraph) -> dict[str, str]:
    """What is written on each box instead of the last part of its name."""
    return {
        n: text
        for n, text, k in zip(shown.names, shown.labels, shown.kind, strict=True)
        if k != BADGE
    }


def test_an_op_alone_with_its_constants_and_variables_has_no_frame_around_it():
    shown = build_visible_graph(graph_of(OPS), ViewSpec(frozenset({"net"})))
    assert labels(shown) == {
        "": "",
        "x": "",
        "net": "",
        "net/mul": "",
        "net/dense/MatMul": "dense/MatMul",
        "net/out": "out/deep/down",
    }


def test_a_chain_of_scopes_is_one_that_opens_by_the_name_of_the_first():
    shown = build_visible_graph(graph_of(OPS), ViewSpec(frozenset({"net", "net/out"})))
    around = {shown.names[i]: shown.names[p] for i, p in enumerate(shown.parent.tolist()) if i}
    assert around["net/out/deep/down/a"] == around["net/out/deep/down/b"] == "net/out"
    assert labels(shown)["net/out"] == "out/deep/down"
    assert labels(shown)["net/out/deep/down/a"] == ""


def test_a_variable_that_others_elsewhere_read_keeps_its_scope():
    ops = {"x": "Placeholder", "store/a": "VariableV2", "store/b": "VariableV2"}
    ops |= {"net/one": "MatMul x store/a", "net/two": "MatMul net/one store/b"}
    assert {"store", "net"} <= set(build_visible_graph(graph_of(ops), ViewSpec()).names)


def test_what_saves_keeps_its_scope():
    ops = {
        "x": "Placeholder",
        "a": "Relu x",
        "save/Const": "Const",
        "save/SaveV2": "SaveV2 save/Const",
    }
    assert "save" in build_visible_graph(graph_of(ops), ViewSpec()).names


def test_every_op_is_counted_and_nothing_is_in_a_scope_that_is_gone():
    outline, sums = outline_of(graph_of(OPS))
    assert sums.ops[0] == len(OPS)
    assert not outline.is_collapsed[outline.home].any()
    assert not outline.is_collapsed[outline.parent[1:]].any()
    assert (sums.ops[outline.is_collapsed] == 0).all()
    assert not set(np.flatnonzero(outline.is_collapsed).tolist()) & {
        n for below in outline.children for n in below
    }
