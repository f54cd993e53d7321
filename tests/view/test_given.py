"""Layouts that the user gives."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.view.checks import graph_of, outside, overlaps
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.view.layout import layered, place
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.visible import visible


@pytest.mark.parametrize(
    "layout", [nx.kamada_kawai_layout, nx.circular_layout, nx.shell_layout, layered, lambda g: dict.fromkeys(g, (0, 0))]
)
@pytest.mark.parametrize("opened", [frozenset(), frozenset({"net", "net/one"})])
def test_any_networkx_layout_will_do(network, layout, opened):
    shown = visible(network, Shown(opened))
    positions = place(shown, layout=layout)
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []


def test_y_points_up_in_networkx_and_down_here():
    shown = visible(graph_of({"x": "Placeholder", "a": "Relu x"}), Shown(frozenset()))
    box = place(shown, layout=lambda _: {"x": (0, 1), "a": (0, 0)}).box
    assert box[1, 1] < box[2, 1]


def broken(graph):
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        (broken, "'broken' failed .ValueError: no idea.*kamada_kawai_layout"),
        (lambda _: {"x": (0.0, 0.0)}, "gave no position for 'a'"),
        (lambda g: dict.fromkeys(g, (float("nan"), 0.0)), "not finite"),
        (lambda g: dict.fromkeys(g, "x"), "failed"),
    ],
)
def test_a_layout_that_fails_is_refused_by_name(layout, why):
    shown = visible(graph_of({"x": "Placeholder", "a": "Relu x"}), Shown(frozenset()))
    with pytest.raises(GraphEditError, match=why):
        place(shown, layout=layout)


def test_a_layout_that_draws_by_lot_or_takes_long_is_asked_once_of_the_same_inside() -> None:
    asked = []

    def by_lot(graph):
        asked.append(list(graph))
        return nx.random_layout(graph)

    editor = tgw.edit(tgw.example().graph, layout=by_lot)
    editor.close_all()
    before, calls = editor.scene(), len(asked)
    assert calls
    editor.open("net")
    editor.scene()
    more = len(asked)
    assert more > calls
    editor.close("net")
    after = editor.scene()
    assert len(asked) == more
    assert np.array_equal(before.box, after.box)
