"""Left to right, pinned items, badges, ways back: what else a layout can be asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.checks import crossed, graph_of, outside, overlaps
from tests.layout.test_layout import graphs
from tests.rounds import ROUNDS
from tfgraphwidget.layout.compound import HEADER, place
from tfgraphwidget.layout.frame import Frame
from tfgraphwidget.visible.measure import BADGE_HEIGHT
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, OPEN, build_visible_graph

pytestmark = pytest.mark.no_tensorflow


def boxes(shown, positions):
    return dict(zip(shown.names, positions.box.astype(float), strict=True))


@given(graphs())
@settings(max_examples=16 * ROUNDS, deadline=None, derandomize=True)
def test_from_left_to_right_all_is_sound_too(drawn):
    index, opened = drawn
    shown = build_visible_graph(index, ViewSpec(opened, direction="right"))
    positions = place(shown, direction="right")
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert crossed(shown, positions)[0] == 0


def test_a_chain_runs_right(graph):
    shown = build_visible_graph(
        graph({"x": "Placeholder", "a": "Relu x", "b": "Relu a"}),
        ViewSpec(direction="right", fold=False),
    )
    box = place(shown, direction="right").box[1:]
    assert box[:, 0].tolist() == sorted(box[:, 0].tolist())
    assert np.ptp(box[:, 1] + box[:, 3] / 2) < 0.5


def test_lines_go_from_right_sides_to_left_sides_and_headers_stay_on_top(network):
    opened = frozenset({"net", "net/one"})
    shown = build_visible_graph(
        network, ViewSpec(opened, direction="right", fold=False, badges=False)
    )
    positions = place(shown, direction="right")
    for edge, (source, target) in enumerate(
        zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    ):
        way = positions.route[positions.route_start[edge] : positions.route_start[edge + 1]]
        left, top, width, height = positions.box[source].tolist()
        assert way[0, 0] == pytest.approx(
            left if shown.parent[target] == source else left + width, abs=0.01
        )
        assert top <= way[0, 1] <= top + height
        left, top, width, height = positions.box[target].tolist()
        assert way[-1, 0] == pytest.approx(
            left + width if shown.parent[source] == target else left, abs=0.01
        )
        assert top <= way[-1, 1] <= top + height
    for item in np.flatnonzero(shown.kind == OPEN)[1:].tolist():
        inner = positions.box[shown.parent == item]
        assert (inner[:, 1] >= positions.box[item, 1] + HEADER - 0.01).all()


def test_a_pinned_op_stands_where_it_was_put_and_others_give_way(graph):
    index = graph(
        {"x": "Placeholder"}
        | {f"op{i}": f"Relu {'x' if not i else f'op{i - 1}'}" for i in range(6)}
    )
    shown = build_visible_graph(index, ViewSpec(fold=False))
    free = boxes(shown, place(shown))
    margin = min(box[0] for name, box in free.items() if name)
    spot = free["op2"][:2] + free["op2"][2:] / 2
    positions = place(shown, pinned={"op5": tuple(spot)})
    box = boxes(shown, positions)
    assert np.allclose(box["op5"][:2] + box["op5"][2:] / 2, spot, atol=0.01)
    assert margin >= Frame.margin
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert crossed(shown, positions)[0] == 0
    # Who is not in the way stays.
    assert np.array_equal(box["x"], free["x"])
    way = positions.route[positions.route_start[-2] :]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(way))


@given(
    graphs(),
    st.lists(st.tuples(st.floats(0, 600), st.floats(0, 600)), min_size=1, max_size=4),
    st.booleans(),
)
@settings(max_examples=16 * ROUNDS, deadline=None, derandomize=True)
def test_pinned_items_never_overlap(drawn, spots, right):
    index, opened = drawn
    shown = build_visible_graph(index, ViewSpec(opened))
    pinned = dict(
        zip(
            [n for n, k in zip(shown.names, shown.kind, strict=True) if n and k != BADGE],
            spots,
            strict=False,
        )
    )
    positions = place(shown, pinned=pinned, direction="right" if right else "down")
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []


def test_a_pin_moves_nothing_in_other_containers(network):
    shown = build_visible_graph(
        network, ViewSpec(frozenset({"net", "net/one", "net/two"}), fold=False)
    )
    free = boxes(shown, place(shown))
    name = next(
        n
        for n, k in zip(shown.names, shown.kind.tolist(), strict=True)
        if n.startswith("net/one/") and k == 0
    )
    box = boxes(shown, place(shown, pinned={name: (300.0, 200.0)}))
    apart = {n for n in free if n.startswith("net/two/")}
    assert apart
    for inner in apart:
        assert np.allclose(
            box[inner][:2] - box["net/two"][:2], free[inner][:2] - free["net/two"][:2], atol=0.01
        )


def test_badges_are_rows_at_the_bottom_of_their_reader(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one"}), fold=False))
    positions = place(shown)
    badges = np.flatnonzero(shown.kind == BADGE)
    assert len(badges)
    for badge in badges.tolist():
        box, around = (
            positions.box[badge].astype(float),
            positions.box[shown.parent[badge]].astype(float),
        )
        assert box[3] == BADGE_HEIGHT
        assert box[0] == pytest.approx(around[0] + 6, abs=0.01)
        assert box[0] + box[2] <= around[0] + around[2] - 5.9
        assert around[1] + 15 < box[1] < box[1] + box[3] < around[1] + around[3]
    for reader in np.unique(shown.parent[badges]).tolist():
        tops = positions.box[shown.parent == reader, 1].tolist()
        assert np.allclose(np.diff(tops), BADGE_HEIGHT, atol=0.01)


def test_badges_are_no_nodes_for_a_given_layout(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one"}), fold=False))
    asked = []
    place(shown, layout=lambda g: asked.extend(g) or {node: (i, i) for i, node in enumerate(g)})
    chips = {n for n, k in zip(shown.names, shown.kind.tolist(), strict=True) if k == BADGE}
    assert chips
    assert {"net/one/MatMul", "net/one/Relu", "net/two"} <= set(asked)
    assert not chips & set(asked)


def test_a_loop_s_way_back_goes_up_at_the_side():
    ops = {"x": "Placeholder", "merge": "Merge x next"}
    ops |= {"a": "Relu merge", "b": "Tanh a", "next": "NextIteration b", "exit": "Exit b"}
    shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False))
    positions = place(shown)
    edge = np.flatnonzero(shown.back).item()
    way = positions.route[positions.route_start[edge] : positions.route_start[edge + 1]]
    assert way[-1, 1] < way[0, 1]
    box = boxes(shown, positions)
    between = [box[name] for name in ("a", "b")]
    upright = [a[0] for a, b in pairwise(way) if a[0] == b[0] and a[1] - b[1] > 60]
    assert upright
    assert all(x < b[0] or x > b[0] + b[2] for x in upright for b in between)
