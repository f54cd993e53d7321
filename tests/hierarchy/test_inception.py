"""What is drawn of Inception v3."""

from __future__ import annotations

import numpy as np

from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import OPEN, build_visible_graph, default_open


def test_inception_folds_its_repeated_blocks(inception):
    outline, _ = outline_of(inception)
    folded = {
        n.rpartition("/")[2]: int(m)
        for n, m in zip(outline.names, outline.members, strict=True)
        if m
    }
    assert folded["Mixed_5b … Mixed_5d"] == 3
    assert folded["Mixed_6b … Mixed_6e"] == 4


def test_every_op_is_in_one_node_whatever_is_folded(inception):
    outline, sums = outline_of(inception)
    assert sums.ops[0] == len(inception)
    for node in np.flatnonzero(outline.members).tolist():
        inner = outline.children[node]
        assert sums.ops[node] == sums.ops[inner].sum() + (outline.home == node).sum()
        assert outline.members[node] == len(inner) + (outline.home == node).sum()
    shown = build_visible_graph(inception, ViewSpec(frozenset(outline.names)))
    assert (shown.kind[shown.members > 0] == OPEN).all()
    assert (np.diff(shown.parent) >= 0).all()


def test_at_first_inception_shows_its_blocks(inception):
    opened = default_open(inception)
    assert opened == {"net", "net/InceptionV3", "net/InceptionV3/InceptionV3"}
    assert 12 <= len(build_visible_graph(inception, ViewSpec(opened))) <= 45
