"""A drawing taken up again with other lines: rows stay, new lines run down, circles keep the way
back that they had.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.layout.checks import crossed, graph_of, loose, overlaps
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import place
from tfgraphwidget.layout.container import layout_container
from tfgraphwidget.layout.incremental.previous_layout import (
    CachedLayout,
    LayoutKey,
    PreviousLayouts,
    find,
    remember,
)
from tfgraphwidget.layout.incremental.stretch import insert_into_rows
from tfgraphwidget.layout.layered.components import Edge, build_structure
from tfgraphwidget.layout.layered.layered_graph import (
    Layering,
    LayoutProblem,
    group_hyperedges,
    insert_dummy_nodes,
)
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

pytestmark = pytest.mark.no_tensorflow

# Few enough to stand in one column, and two beside it.
CHAIN = {f"c{i}": f"Relu c{i - 1}" if i else "Placeholder" for i in range(4)}
CHAIN |= {f"w{i}": "Relu c0" for i in range(2)}
LANE = 26  # a line more between two boxes, on either side


def drawn(*graphs: dict[str, str]) -> list[dict[str, np.ndarray]]:
    """The boxes by name of one graph after the other, as one editor draws them."""
    cache, found = LayoutCache(), []
    for ops in graphs:
        shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False, badges=False))
        positions = place(shown, cache=cache)
        assert overlaps(shown, positions) == []
        assert loose(shown, positions) == []
        assert crossed(shown, positions)[0] == 0
        found.append(dict(zip(shown.names, positions.box, strict=True)))
    return found


def below(boxes: dict[str, np.ndarray], upper: str, lower: str) -> bool:
    return bool(boxes[upper][1] + boxes[upper][3] <= boxes[lower][1])


def test_a_new_line_moves_what_it_leads_to_down_and_nothing_else():
    ops = CHAIN | {"side": "Tanh c0", "end": "Tanh side"}
    before, after = drawn(ops, ops | {"side": "Add c0 c2"})
    assert below(after, "c2", "side")
    assert below(after, "side", "end")
    for name in CHAIN:
        assert before[name] == pytest.approx(after[name], abs=LANE)


def test_a_line_that_is_gone_leaves_its_ends_where_they_were():
    ops = CHAIN | {"side": "Tanh c0", "more": "Relu side", "end": "Add c2 more"}
    before, after = drawn(ops, ops | {"end": "Tanh more"})
    for name in ops:
        assert before[name] == pytest.approx(after[name], abs=LANE)


def test_a_new_line_out_of_a_scope_has_no_box_in_its_way():
    ops = {"scope/a": "Placeholder", "scope/b": "Relu scope/a", "scope/alone": "Placeholder"}
    cache = LayoutCache()
    for more in ({}, {"reader": "Tanh scope/b"}):
        shown = build_visible_graph(
            graph_of(ops | more), ViewSpec(frozenset({"scope"}), fold=False, badges=False)
        )
        positions = place(shown, cache=cache, aspect=0.3)
        boxes = dict(zip(shown.names, positions.box, strict=True))
        assert below(boxes, "scope/b", "scope/alone") == (not more)
        assert crossed(shown, positions)[0] == 0


def test_of_two_parts_that_a_new_line_joins_the_larger_one_stays():
    ops = CHAIN | {"p": "Placeholder", "q": "Tanh p"}
    before, after = drawn(ops, ops | {"c2": "Add c1 q"})
    assert below(after, "q", "c2")
    for name in CHAIN:
        assert before[name][0] == pytest.approx(after[name][0], abs=LANE)
    assert [below(after, f"c{i}", f"c{i + 1}") for i in range(3)] == [True] * 3


def test_a_new_line_that_closes_a_circle_goes_up_and_moves_nothing():
    ops = CHAIN | {"c1": "Merge c0 c2"}
    before, after = drawn(ops, ops | {"c1": "Merge c0 c2 c3"})
    for name in CHAIN:
        assert before[name] == pytest.approx(after[name], abs=LANE)


def test_an_op_put_into_a_line_stands_in_it():
    ops = CHAIN | {"c2": "Relu new", "new": "Tanh c1"}
    before, after = drawn(CHAIN, ops)
    assert below(after, "c1", "new")
    assert below(after, "new", "c2")
    for name in ("c0", "c1"):
        assert before[name] == pytest.approx(after[name], abs=LANE)


def test_an_op_that_is_taken_out_leaves_the_others_in_their_order():
    before, after = drawn(
        CHAIN, {name: text for name, text in CHAIN.items() if name != "c2"} | {"c3": "Relu c1"}
    )
    assert before["c1"] == pytest.approx(after["c1"], abs=LANE)
    assert below(after, "c1", "c3")


def test_what_has_changed_for_the_most_part_is_drawn_anew():
    _, after = drawn(
        CHAIN, {f"c{i}": f"Relu c{i + 1}" if i < 3 else "Placeholder" for i in range(4)}
    )
    assert [below(after, f"c{i + 1}", f"c{i}") for i in range(3)] == [True] * 3


def test_new_lines_of_one_box_stand_in_the_order_of_their_ports():
    edges = [
        Edge(0, 1, source_port=0),
        Edge(0, 3, source_port=0),
        Edge(0, 2, source_port=1),
        Edge(1, 2),
        Edge(1, 3),
    ]
    structure = build_structure([0] * 4, edges)
    problem = LayoutProblem(
        structure.components[0],
        [(360.0, 90.0)] + [(50.0, 30.0)] * 3,
        [((), (10.0, 350.0)), None, None, None],
    )
    layering = Layering([0, 1, 2, 2], [0], [False] * 5, group_hyperedges(problem, [False] * 5))
    graph = insert_dummy_nodes(problem, layering)
    insert_into_rows(graph, 0, {0: 200.0, 1: 25.0}, {})
    lanes = [graph.hyperedge[vertex - 4] for vertex in graph.layers[0][2] if vertex >= 4]
    assert [port for _, _, port, _ in lanes] == [0, 1]


def test_six_drawings_are_kept_and_the_one_used_longest_ago_goes_first():
    kept: PreviousLayouts = []
    drawing = layout_container(build_structure([0], []), [(9.0, 9.0)], [None], 1.0)
    keys = [LayoutKey(b"", number, b"", (), 0.0) for number in range(7)]
    for key in keys[:6]:
        remember(kept, CachedLayout(key, ["a"], drawing))
    assert find(kept, keys[0]) is drawing
    remember(kept, CachedLayout(keys[6], ["a"], drawing))
    assert [one.key.level for one in kept] == [2, 3, 4, 5, 0, 6]
    assert find(kept, keys[1]) is None
