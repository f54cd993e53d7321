"""Positions: what must hold for every graph, and how small ones look."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.checks import crossed, graph_of, loose, outside, overlaps
from tests.rounds import ROUNDS
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.layout.compound import HEADER, layered, place
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow

TYPES = ("Placeholder", "Const", "VariableV2", "MatMul", "Relu", "NoOp", "Merge", "NextIteration")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[GraphIndex, frozenset[str]]:
    """A graph of up to 40 ops in nested scopes, with cycles, self-loops and control inputs; and
    open scopes.
    """
    parts = draw(
        st.lists(st.sampled_from(["a", "b", "a/c", "a/c/d", "b/e", ""]), min_size=1, max_size=40)
    )
    names = [f"{scope}/op{i}".lstrip("/") for i, scope in enumerate(parts)]
    ops = {}
    for name in names:
        inputs = draw(st.lists(st.sampled_from(names), max_size=3))
        controls = draw(st.lists(st.sampled_from(names), max_size=1))
        ops[name] = " ".join([draw(st.sampled_from(TYPES)), *inputs, *(f"^{c}" for c in controls)])
    return graph_of(ops), draw(st.frozensets(st.sampled_from(["a", "b", "a/c", "a/c/d", "b/e"])))


def assert_sound(shown: VisibleGraph) -> None:
    positions = place(shown)
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert loose(shown, positions) == []
    assert (np.diff(positions.route_start.astype(int)) >= 2).all()


@given(graphs())
@settings(max_examples=40 * ROUNDS, deadline=None, derandomize=True)
def test_siblings_never_overlap_and_children_stay_inside(drawn):
    index, opened = drawn
    shown = build_visible_graph(index, ViewSpec(opened))
    assert_sound(shown)
    assert crossed(shown, place(shown))[0] == 0


@given(graphs())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_same_graph_gives_the_same_picture(drawn):
    index, opened = drawn
    first, again = (place(build_visible_graph(index, ViewSpec(opened))) for _ in range(2))
    assert np.array_equal(first.box, again.box)
    assert np.array_equal(first.route, again.route)


def test_routes_begin_and_end_at_their_boxes(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one"})))
    positions = place(shown)
    for edge, (source, target) in enumerate(
        zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    ):
        way = positions.route[positions.route_start[edge] : positions.route_start[edge + 1]]
        left, top, width, height = positions.box[source].tolist()
        if shown.parent[target] == source:
            assert way[0, 1] == pytest.approx(top + HEADER)
        else:
            assert way[0, 1] == pytest.approx(top + height)
        assert left <= way[0, 0] <= left + width
        left, top, width, height = positions.box[target].tolist()
        assert way[-1, 1] == pytest.approx(top + height if shown.parent[source] == target else top)
        assert left <= way[-1, 0] <= left + width


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("count", [3, 10, 40])
def test_all_lines_meet_their_boxes_however_many_enter_one(graph, count, direction):
    ops = {"x": "Placeholder"}
    for i in range(count):
        ops[f"m{i}"] = " ".join(["AddN x", *(f"m{j}" for j in range(i))])
    shown = build_visible_graph(graph(ops), ViewSpec(frozenset(), fold=False))
    assert loose(shown, place(shown, direction=direction)) == []


def test_a_chain_runs_down(graph):
    shown = build_visible_graph(
        graph({"x": "Placeholder", "a": "Relu x", "b": "Relu a"}), ViewSpec(frozenset())
    )
    top = place(shown).box[1:, 1].tolist()
    assert top == sorted(top)


def test_a_long_chain_wraps_into_columns(graph):
    ops = {"op0": "Placeholder"} | {f"op{i}": f"Relu op{i - 1}" for i in range(1, 60)}
    width, height = (
        place(build_visible_graph(graph(ops), ViewSpec(frozenset(), fold=False)))
        .box[0, 2:]
        .tolist()
    )
    assert 1.0 < width / height < 2.6


def test_many_parallel_ops_make_several_rows(graph):
    ops = {"x": "Placeholder"} | {f"op{i}": "Relu x" for i in range(80)}
    ops["sum"] = "AddN " + " ".join(f"op{i}" for i in range(80))
    width, height = (
        place(build_visible_graph(graph(ops), ViewSpec(frozenset(), fold=False)))
        .box[0, 2:]
        .tolist()
    )
    assert width / height < 5


def test_a_while_loop_turns_its_way_back_round(graph):
    shown = build_visible_graph(
        graph(
            {
                "x": "Placeholder",
                "merge": "Merge x next",
                "body": "Relu merge",
                "next": "NextIteration body",
                "exit": "Exit body",
            }
        ),
        ViewSpec(frozenset()),
    )
    top = dict(zip(shown.names, place(shown).box[:, 1].tolist(), strict=True))
    assert top["x"] < top["merge"] < top["body"] < top["next"]


def test_two_copies_of_a_tower_stand_side_by_side(graph):
    tower = {"convolution": "Conv2D {}", "relu": "Relu {0}", "pool": "MaxPool {0}"}
    ops = {"x": "Placeholder"}
    for scope in ("net", "copy/net"):
        before = "x"
        for name, text in tower.items():
            ops[f"{scope}/{name}"] = text.format(before)
            before = f"{scope}/{name}"
    shown = build_visible_graph(graph(ops), ViewSpec(frozenset({"net", "copy", "copy/net"})))
    box = dict(zip(shown.names, place(shown).box, strict=True))
    assert box["net"][1] == box["copy"][1]
    assert box["net"][2:].tolist() == box["copy"][2:].tolist()


def test_towers_of_the_same_variables_stand_at_one_height(graph):
    """As TensorFlow names them: the variables are in the scope that was entered first."""
    ops = {"left": "Placeholder", "middle": "Placeholder", "right": "Placeholder"}
    for fed, scope in (("left", "tower"), ("middle", "tower_1"), ("right", "tower_2")):
        if scope == "tower":
            ops["tower/w"] = "VarHandleOp"
        ops |= {
            f"{scope}/read": "ReadVariableOp tower/w",
            f"{scope}/mul": f"MatMul {fed} {scope}/read",
            f"{scope}/act": f"Relu {scope}/mul",
            f"{scope}/end": f"Softmax {scope}/act",
        }
    ops["far"] = "Sub tower/end tower_1/end"
    ops["near"] = "Sub tower/end tower_2/end"
    shown = build_visible_graph(graph(ops), ViewSpec())
    box = dict(zip(shown.names, place(shown).box.tolist(), strict=True))
    tops = {box[name][1] + box[name][3] / 2 for name in ("tower", "tower_1", "tower_2")}
    assert len(tops) == 1
    drawn = {
        (shown.names[a], shown.names[b])
        for a, b in zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    }
    assert {("tower", "tower_1"), ("tower", "tower_2")} <= drawn


def test_what_reads_weights_of_another_part_of_the_network_stays_below_it(graph):
    ops = {
        "x": "Placeholder",
        "net/w": "VarHandleOp",
        "net/read": "ReadVariableOp net/w",
        "net/mul": "MatMul x net/read",
        "net/act": "Relu net/mul",
        "penalty/read": "ReadVariableOp net/w",
        "penalty/mul": "L2Loss penalty/read",
        "penalty/fed": "Mul penalty/mul x",
        "penalty/sum": "Sum penalty/fed",
    }
    shown = build_visible_graph(graph(ops), ViewSpec())
    box = dict(zip(shown.names, place(shown).box.tolist(), strict=True))
    assert box["penalty"][1] > box["net"][1] + box["net"][3]


def test_a_networkx_graph_can_be_laid_out_in_layers():
    g = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "d")])
    g.nodes["a"]["width"] = 300
    xy = layered(g)
    assert set(xy) == {"a", "b", "c", "d"}
    assert xy["a"][1] < xy["b"][1] == xy["c"][1] < xy["d"][1]
    assert abs(xy["b"][0] - xy["c"][0]) >= 64


def test_a_graph_of_nothing_and_of_one():
    assert layered(nx.DiGraph()) == {}
    assert len(layered(nx.path_graph(1, create_using=nx.DiGraph))) == 1
    assert place(build_visible_graph(graph_of({}), ViewSpec(frozenset()))).box.shape == (1, 4)


def test_a_flat_graph_of_thousands_is_placed(graph):
    rng = np.random.default_rng(1)
    ops = {"op0": "Placeholder"}
    for i in range(1, 1500):
        ops[f"op{i}"] = "Relu " + " ".join(f"op{j}" for j in rng.integers(max(0, i - 9), i, 2))
    assert_sound(build_visible_graph(graph(ops), ViewSpec(frozenset())))


def test_rows_of_a_chain_do_not_drift(graph):
    shown = build_visible_graph(
        graph(
            {"x": "Placeholder"}
            | {f"n{i}": f"Relu {'x' if not i else f'n{i - 1}'}" for i in range(4)}
        ),
        ViewSpec(frozenset()),
    )
    box = place(shown).box[1:].astype(float)
    middle = (box[:, 0] + box[:, 2] / 2).tolist()
    assert all(abs(a - b) < 0.5 for a, b in pairwise(middle))
