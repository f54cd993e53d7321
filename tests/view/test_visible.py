"""What is drawn when some scopes are open."""

from __future__ import annotations

import numpy as np

from tfgraphwidget.view.family import FAMILIES
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.visible import KINDS, Visible, default_open, visible


def lines(shown: Visible) -> dict[tuple[str, str], int]:
    """Edges by name, with their tensor counts; a border is the container's name with a slash."""
    result = {}
    for s, t, n in zip(shown.source.tolist(), shown.target.tolist(), shown.tensors.tolist(), strict=True):
        out = shown.names[s] + ("/" if shown.parent[t] == s else "")
        into = shown.names[t] + ("/" if shown.parent[s] == t else "")
        result[out, into] = n
    return result


def test_a_closed_graph_shows_its_top_level_in_graph_order(network):
    shown = visible(network, Shown(frozenset()))
    assert shown.names == ["", "x", "net", "loss", "save", "init"]
    assert [KINDS[k] for k in shown.kind] == ["open scope", "op", "closed scope", "op", "closed scope", "op"]
    assert shown.count.tolist() == [17, 1, 12, 1, 2, 1]
    assert shown.variables.tolist() == [2, 0, 2, 0, 0, 0]
    assert shown.types[1:4] == ["Placeholder", "", "L2Loss"]


def test_every_op_has_the_item_that_stands_for_it(network):
    shown = visible(network, Shown(frozenset({"net", "net/two"})))
    assert shown.names[shown.item_of_op[network.op("net/one/MatMul")]] == "net/one"
    assert shown.names[shown.item_of_op[network.op("net/two/MatMul")]] == "net/two/MatMul"
    assert shown.names[shown.item_of_op[network.op("net/two/w")]] == "net/two/w"


def test_parents_come_before_children_and_siblings_are_consecutive(network):
    shown = visible(network, Shown(frozenset(network.scopes.names)))
    assert (shown.parent[1:] < np.arange(1, len(shown))).all()
    assert (np.diff(shown.parent) >= 0).all()
    for item in range(len(shown)):
        children = range(*shown.child_start[item : item + 2].tolist())
        assert all(shown.parent[child] == item for child in children)


def test_a_line_is_cut_at_every_border_it_passes(network):
    shown = visible(network, Shown(frozenset({"net", "net/one", "net/two"})))
    named = lines(shown)
    assert {pair for pair in named if {"net/one", "net/one/"} & set(pair)} == {
        ("net/", "net/one"),
        ("net/one/", "net/one/MatMul"),
        ("net/one/Relu", "net/one/"),
        ("net/one", "net/two"),
    }
    assert named["x", "net"] == named["net/two", "net/"] == named["net", "loss"] == 1
    assert named["net/two/", "net/two/MatMul"] == named["net/two/Relu", "net/two/"] == 1


def test_an_edge_inside_a_closed_scope_vanishes(network):
    assert ("net", "net") not in lines(visible(network, Shown(frozenset())))


def test_equal_segments_are_one_line_that_counts_tensors(graph):
    index = graph(
        {
            "a/split": "Placeholder",
            "a/other": "Placeholder",
            "b/one": "Add a/split a/split:1",
            "b/two": "Add a/split a/other",
        }
    )
    assert lines(visible(index, Shown(frozenset()))) == {("a", "b"): 3}


def test_control_inputs_make_a_line_only_where_no_tensor_does(graph):
    index = graph({"x": "Placeholder", "a": "Relu x", "b": "Relu a ^a", "c": "Relu x ^b"})
    assert lines(visible(index, Shown(frozenset()))) == {("x", "a"): 1, ("a", "b"): 1, ("x", "c"): 1, ("b", "c"): 0}


def test_bookkeeping_is_aside_and_loses_its_lines(network):
    shown = visible(network, Shown(frozenset()))
    aside = {shown.names[i] for i in np.flatnonzero(shown.aside)}
    assert aside == {"save", "init"}
    assert lines(shown) == {("x", "net"): 1, ("net", "loss"): 1}


def test_a_store_of_several_variables_is_aside(graph):
    index = graph(
        {
            "x": "Placeholder",
            "store/a": "VariableV2",
            "store/b": "VariableV2",
            "net/one": "MatMul x store/a",
            "net/two": "MatMul net/one store/b",
        }
    )
    shown = visible(index, Shown(frozenset({"store"})))
    assert [shown.names[i] for i in np.flatnonzero(shown.aside)] == ["store"]
    assert lines(shown) == {("x", "net"): 1}


def test_a_constant_is_aside_when_it_feeds_three_places_and_in_the_flow_when_it_feeds_one(graph):
    index = graph(
        {
            "x": "Placeholder",
            "many": "Const",
            "one": "Const",
            "a": "Add x many",
            "b": "Add a many",
            "c": "Add b many",
            "d": "Add c one",
        }
    )
    shown = visible(index, Shown(frozenset()))
    assert [shown.names[i] for i in np.flatnonzero(shown.aside)] == ["many"]


def test_a_scope_that_is_one_variable_has_its_family(network):
    shown = visible(network, Shown(frozenset({"net", "net/one"})))
    families = {name: FAMILIES[f] for name, f in zip(shown.names, shown.family, strict=True)}
    assert families["net/one/w"] == "variable"
    assert families["net/two"] == "linear"
    assert families["net"] == "other"
    assert families["x"] == "input"


def test_scopes_that_are_gone_or_hidden_are_ignored(network):
    closed = visible(network, Shown(frozenset()))
    assert visible(network, Shown(frozenset({"gone", "net/one"}))).names == closed.names


def test_at_first_the_architecture_is_open(network):
    assert default_open(network) == {"net", "net/one", "net/two"}


def test_at_first_inception_shows_its_blocks(inception):
    opened = default_open(inception)
    assert opened == {"net", "net/InceptionV3", "net/InceptionV3/InceptionV3"}
    assert 12 <= len(visible(inception, Shown(opened))) <= 45


def test_gradients_stay_closed_at_first(graph):
    ops = {"x": "Placeholder", "net/a": "Relu x", "net/b": "Relu net/a"}
    ops |= {f"gradients/g{i}": "ReluGrad x net/b" for i in range(20)}
    assert default_open(graph(ops)) == {"net"}


def test_a_graph_without_ops_has_a_root():
    from tfgraphwidget.graph.index import build

    shown = visible(build([]), Shown(frozenset()))
    assert shown.names == [""]
    assert len(shown.source) == 0
    assert default_open(build([])) == frozenset()
