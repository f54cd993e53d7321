"""An editor calls the layout that it was given as seldom as it can."""

from __future__ import annotations

import networkx as nx
import numpy as np

import tfgraphwidget as tgw


def test_a_layout_that_draws_by_lot_or_takes_long_is_asked_once_of_the_same_inside() -> None:
    asked = []

    def by_lot(graph):
        asked.append(list(graph))
        return nx.random_layout(graph)

    editor = tgw.edit(tgw.example().graph, layout=by_lot)
    editor.view.collapse()
    before, calls = editor.view.scene(), len(asked)
    assert calls
    editor.view.expand("net")
    editor.view.scene()
    more = len(asked)
    assert more > calls
    editor.view.collapse("net")
    after = editor.view.scene()
    assert len(asked) == more
    assert np.array_equal(before.box, after.box)
