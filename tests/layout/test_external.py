"""Layouts that the user gives: sound whatever they say, and as they say."""

from __future__ import annotations

from functools import partial
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.checks import graph_of, overlaps
from tests.layout.exact import assert_sound
from tests.rounds import ROUNDS
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout.compound import layered, place
from tfgraphwidget.layout.free_form.external import apply_layout
from tfgraphwidget.layout.free_form.polyline_routing import PolylineRouter
from tfgraphwidget.layout.layered.components import Edge, build_structure
from tfgraphwidget.layout.layered.layered_graph import LayoutProblem
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import OPEN, build_visible_graph

pytestmark = pytest.mark.no_tensorflow

CHAIN = {"x": "Placeholder", "a": "Relu x"}


def at_one_point(graph):
    return dict.fromkeys(graph, (0, 0))


LAYOUTS = [
    nx.kamada_kawai_layout,
    partial(nx.spring_layout, seed=1),
    partial(nx.random_layout, seed=1),
    partial(nx.spring_layout, seed=1, dim=3),
    nx.circular_layout,
    nx.shell_layout,
    nx.spiral_layout,
    nx.spectral_layout,
    nx.planar_layout,
    nx.multipartite_layout,
    partial(nx.bipartite_layout, nodes=["x", "net/one/Relu"]),
    layered,
    at_one_point,
    lambda g: {name: (i, 0) for i, name in enumerate(g)},
    lambda g: {name: (1e300 * i, 1e-300) for i, name in enumerate(g)},
]


# The layout last, so that it changes last: a sample of every third has all of them.
@pytest.mark.parametrize("opened", [frozenset(), frozenset({"net", "net/one"})])
@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.sample(14)
def test_any_networkx_layout_will_do(network, layout, opened, direction):
    shown = build_visible_graph(network, ViewSpec(opened, direction=direction))
    assert_sound(shown, place(shown, layout=layout, direction=direction))


def test_y_points_up_in_networkx_and_down_here():
    shown = build_visible_graph(graph_of(CHAIN), ViewSpec(frozenset()))
    box = place(shown, layout=lambda _: {"x": (0, 1), "a": (0, 0)}).box
    assert box[1, 1] < box[2, 1]


def test_boxes_stand_to_each_other_as_the_layout_says():
    ops = {f"op{i}": "Placeholder" if i < 3 else f"AddN op{i - 1} op{i - 3}" for i in range(25)}
    shown, places = build_visible_graph(graph_of(ops), ViewSpec(fold=False)), {}

    def grid(graph):
        places.update({name: (int(name[2:]) % 5, -(int(name[2:]) // 5)) for name in graph})
        return places

    box = place(shown, layout=grid).box.astype(float)
    centre = dict(zip(shown.names, (box[:, :2] + box[:, 2:] / 2).tolist(), strict=True))
    for i in range(24):
        if i % 5 < 4:
            assert centre[f"op{i}"][0] < centre[f"op{i + 1}"][0]
        if i < 20:
            assert centre[f"op{i}"][1] < centre[f"op{i + 5}"][1]
    assert overlaps(shown, place(shown, layout=grid)) == []


def test_a_line_goes_on_inside_an_open_scope_where_it_came_to_its_border(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one", "net/two"})))
    positions = place(shown, layout=nx.kamada_kawai_layout)
    first, last = positions.route_start[:-1].astype(int), positions.route_start[1:].astype(int) - 1
    met = 0
    for item in np.flatnonzero(shown.kind == OPEN)[1:].tolist():
        own, around = shown.container == item, shown.container == shown.parent[item]
        for within, beyond in (
            (first[own & (shown.source == item)], last[around & (shown.target == item)]),
            (last[own & (shown.target == item)], first[around & (shown.source == item)]),
        ):
            if len(within) and len(beyond):
                met += 1
                assert np.ptp(positions.route[[*within, *beyond], 0]) < 0.01
    assert met >= 3


def test_two_ways_between_two_ops_run_beside_each_other():
    shown = build_visible_graph(
        graph_of({"a": "Merge b", "b": "NextIteration a"}), ViewSpec(fold=False)
    )
    positions = place(shown, layout=nx.circular_layout)
    assert_sound(shown, positions)
    there, back = positions.route.reshape(2, 2, 2)
    assert np.abs(there - back[::-1]).max(axis=1).min() > 5


def test_a_line_to_its_own_box_is_a_loop_beside_it():
    corner, sizes = np.array([[0.0, 0.0]]), np.array([[100.0, 30.0]])
    way = np.array(PolylineRouter(corner, sizes, [None], (0.0, 0.0), (0.0, 0.0)).route(0, 0))
    assert way[0, 0] == way[-1, 0] == 100.0
    assert way[:, 0].max() > 105.0


def test_an_op_and_a_scope_of_one_name_are_two_boxes():
    problem = LayoutProblem(
        build_structure([0, 0], [Edge(0, 1)]).components[0], [(64.0, 30.0)] * 2, [None, None]
    )
    asked = []

    def noted(graph):
        asked.append(list(graph))
        return nx.kamada_kawai_layout(graph)

    piece = apply_layout(noted, ["a", "a"], problem)
    assert asked == [["a", "a/"]]
    assert (piece.left[0], piece.top[0]) != (piece.left[1], piece.top[1])


def test_what_only_the_border_joins_is_asked_for_apart_and_in_the_order_of_the_graph():
    ops = {"x": "Placeholder"}
    ops |= {
        f"net/{i}{j}": f"Relu {f'net/{i}{j - 1}' if j else 'x'}" for i in "ab" for j in range(4)
    }
    shown = build_visible_graph(
        graph_of(ops | {"y": "AddN net/a3 net/b3"}), ViewSpec(frozenset({"net"}), fold=False)
    )
    asked = []

    def noted(graph):
        asked.append(list(graph))
        return nx.kamada_kawai_layout(graph)

    assert_sound(shown, place(shown, layout=noted))
    assert asked == [[f"net/{i}{j}" for j in range(4)] for i in "ab"] + [["x", "net", "y"]]


def broken(graph):
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        (broken, r"'broken' failed for 'x', 'a' \(ValueError: no idea\).*kamada_kawai_layout"),
        (partial(broken), "The layout 'broken' failed"),
        (
            nx.bfs_layout,
            (
                "'bfs_layout' failed .*missing 1 required positional argument.*takes any graph, "
                "and that alone"
            ),
        ),
        (lambda _: {"x": (0.0, 0.0)}, "gave no position for 'a'"),
        (lambda _: None, "gave no position for 'x'"),
        (lambda _: [(0, 0)], "gave no position for 'x'"),
        (lambda g: dict.fromkeys(g, (float("nan"), 0.0)), r"put 'x' at \(nan, 0.0\), .*finite"),
        (lambda g: dict.fromkeys(g, (0.0, float("inf"))), "put 'x' at .*finite"),
        (lambda g: dict.fromkeys(g, "x"), "put 'x' at 'x', .*finite"),
        (lambda g: dict.fromkeys(g, 1.0), "put 'x' at 1.0, .*finite"),
        (lambda g: dict.fromkeys(g, (1.0,)), "put 'x' at .*finite"),
        ({"x": (0.0, 0.0)}, r"a dict, which cannot be called.*editor.view.pin"),
    ],
)
def test_a_layout_that_fails_is_refused_by_name(layout, why):
    shown = build_visible_graph(graph_of(CHAIN), ViewSpec(frozenset()))
    with pytest.raises(GraphEditError, match=why):
        place(shown, layout=layout)


def test_what_no_plane_holds_is_refused_with_the_way_out():
    ops = {f"p{i}": "Placeholder" for i in range(3)} | {f"f{i}": "AddN p0 p1 p2" for i in range(3)}
    shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False))
    with pytest.raises(
        GraphEditError,
        match=r"'planar_layout' failed for 'p0', 'p1' and 4 more .*not planar.*kamada",
    ):
        place(shown, layout=nx.planar_layout)


# Any graph, any positions

SPOTS = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 1e-9, 1e12]) | st.floats(-10, 10)


@st.composite
def graphs(draw):
    """Ops in scopes in scopes, lines forth and back."""
    chance = Random(draw(st.integers(0, 10_000)))
    count = draw(st.integers(2, 45))
    scopes = ["", "", "a/", "b/", "a/c/", "a/c/d/"]
    names = [f"{chance.choice(scopes)}op{i}" for i in range(count)]
    ops = {}
    for i, name in enumerate(names):
        few = chance.sample(
            names[: i + 1 + (chance.random() < 0.1) * (count - i)], min(i, chance.randint(0, 3))
        )
        ops[name] = " ".join(["AddN", *few])
    return ops


@given(graphs(), st.lists(st.tuples(SPOTS, SPOTS), min_size=45, max_size=45), st.booleans())
@settings(max_examples=12 * ROUNDS, deadline=None, derandomize=True)
def test_any_positions_of_any_graph_make_a_sound_drawing(ops, spots, fold):
    index = graph_of(ops)
    shown = build_visible_graph(
        index, ViewSpec(frozenset(outline_of(index, fold=fold)[0].names), fold=fold)
    )
    assert_sound(shown, place(shown, layout=lambda graph: dict(zip(graph, spots, strict=False))))


@given(graphs(), st.lists(st.tuples(st.integers(0, 44), SPOTS, SPOTS), min_size=1, max_size=4))
@settings(max_examples=12 * ROUNDS, deadline=None, derandomize=True)
def test_boxes_can_be_pinned_in_any_drawing(ops, pins):
    index, names = graph_of(ops), list(ops)
    shown = build_visible_graph(
        index, ViewSpec(frozenset(outline_of(index, fold=False)[0].names), fold=False)
    )
    pinned = {
        names[i % len(names)]: (200 + 40 * min(x, 10), 200 + 40 * min(y, 10)) for i, x, y in pins
    }
    assert_sound(shown, place(shown, layout=nx.circular_layout, pinned=pinned))


def test_an_op_whose_line_goes_straight_down_to_the_border_is_pinned_as_any_op():
    ops = {"x": "Placeholder", "net/a": "Relu x", "net/b": "Tanh net/a", "y": "Relu net/b"}
    shown = build_visible_graph(graph_of(ops), ViewSpec(frozenset({"net"}), fold=False))
    places = {"net/a": (0, 1), "net/b": (1, 0), "x": (0, 2), "net": (0, 1), "y": (0, 0)}
    positions = place(shown, layout=lambda _: places, pinned={"net/b": (400, 60)})
    assert_sound(shown, positions)
    into = next(e for e, at in enumerate(shown.target) if shown.names[at] == "net/b")
    left, top, _, height = positions.box[shown.names.index("net/b")].tolist()
    x, y = positions.route[positions.route_start[into + 1] - 1].tolist()
    assert x == pytest.approx(left, abs=0.01)
    assert top + 5 < y < top + height - 5
