"""What is drawn when some scopes are open."""

from __future__ import annotations

import numpy as np
import pytest

from tfgraphwidget.hierarchy.op_facts import FAMILIES
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    KINDS,
    VisibleGraph,
    build_visible_graph,
    default_open,
)

pytestmark = pytest.mark.no_tensorflow


def lines(shown: VisibleGraph) -> dict[tuple[str, str], int]:
    """Edges by name, with their tensor counts; a border is the container's name with a slash."""
    result = {}
    for s, t, n in zip(
        shown.source.tolist(), shown.target.tolist(), shown.tensors.tolist(), strict=True
    ):
        out = shown.names[s] + ("/" if shown.parent[t] == s else "")
        into = shown.names[t] + ("/" if shown.parent[s] == t else "")
        result[out, into] = n
    return result


def test_a_closed_graph_shows_its_top_level_in_graph_order(network):
    shown = build_visible_graph(network, ViewSpec(frozenset()))
    assert shown.names == ["", "x", "net", "loss", "save", "init"]
    assert [KINDS[k] for k in shown.kind] == [
        "open scope",
        "op",
        "closed scope",
        "op",
        "closed scope",
        "op",
    ]
    assert shown.count.tolist() == [17, 1, 12, 1, 2, 1]
    assert shown.variables.tolist() == [2, 0, 2, 0, 0, 0]
    assert shown.types[1:4] == ["Placeholder", "", "L2Loss"]


def test_every_op_has_the_item_that_stands_for_it(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/two"})))
    assert shown.names[shown.item_of_op[network.op("net/one/MatMul")]] == "net/one"
    assert shown.names[shown.item_of_op[network.op("net/two/MatMul")]] == "net/two/MatMul"
    assert shown.names[shown.item_of_op[network.op("net/two/w")]] == "net/two/w"


def test_parents_come_before_children_and_siblings_are_consecutive(network):
    shown = build_visible_graph(network, ViewSpec(frozenset(network.scopes.names)))
    assert (shown.parent[1:] < np.arange(1, len(shown))).all()
    assert (np.diff(shown.parent) >= 0).all()
    for item in range(len(shown)):
        children = range(*shown.child_start[item : item + 2].tolist())
        assert all(shown.parent[child] == item for child in children)


def test_a_line_is_cut_at_every_border_it_passes(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one", "net/two"})))
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
    assert ("net", "net") not in lines(build_visible_graph(network, ViewSpec(frozenset())))


def test_equal_segments_are_one_line_that_counts_tensors(graph):
    index = graph(
        {
            "a/split": "Placeholder",
            "a/other": "Placeholder",
            "b/one": "Add a/split a/split:1",
            "b/two": "Add a/split a/other",
        }
    )
    assert lines(build_visible_graph(index, ViewSpec(frozenset()))) == {("a", "b"): 3}


def test_control_inputs_make_a_line_only_where_no_tensor_does(graph):
    index = graph({"x": "Placeholder", "a": "Relu x", "b": "Relu a ^a", "c": "Relu x ^b"})
    assert lines(build_visible_graph(index, ViewSpec(frozenset()))) == {
        ("x", "a"): 1,
        ("a", "b"): 1,
        ("x", "c"): 1,
        ("b", "c"): 0,
    }


def test_bookkeeping_is_aside_and_loses_its_lines(network):
    shown = build_visible_graph(network, ViewSpec(frozenset()))
    aside = {shown.names[i] for i in np.flatnonzero(shown.aside)}
    assert aside == {"save", "init"}
    assert lines(shown) == {("x", "net"): 1, ("net", "loss"): 1}


def test_summaries_are_aside_and_a_loss_that_is_written_as_one_is_not(graph):
    ops = {
        "x": "Placeholder",
        "net/a": "Relu x",
        "loss/mean": "Mean net/a",
        "loss/scalar": "ScalarSummary loss/tag loss/mean",
    }
    ops |= {
        "loss/tag": "Const",
        "act/tag": "Const",
        "act/a": "HistogramSummary act/tag net/a",
        "act/b": "HistogramSummary act/tag loss/mean",
        "all": "MergeSummary act/a act/b",
    }
    shown = build_visible_graph(graph(ops), ViewSpec())
    assert {shown.names[i] for i in np.flatnonzero(shown.aside)} == {"act", "all"}
    assert lines(shown) == {("x", "net/a"): 1, ("net/a", "loss"): 1}


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
    shown = build_visible_graph(index, ViewSpec(frozenset({"store"})))
    assert [shown.names[i] for i in np.flatnonzero(shown.aside)] == ["store"]
    assert lines(shown) == {("x", "net"): 1}


def test_a_variable_that_feeds_three_closed_scopes_is_aside_and_in_the_flow_when_it_feeds_one(
    graph,
):
    ops = {"x": "Placeholder", "many": "VariableV2", "one": "VariableV2"}
    before = "x"
    for scope in "abcd":
        # So large a scope is no layer, which would have the variable as a badge.
        ops |= {f"{scope}/c{k}": "Const" for k in range(41)}
        ops[f"{scope}/mul"] = f"MatMul {before} {'one' if scope == 'd' else 'many'}"
        ops |= {f"{scope}/add{k}": f"AddV2 {scope}/mul {scope}/c{k}" for k in range(41)}
        before = f"{scope}/mul"
    shown = build_visible_graph(graph(ops), ViewSpec(fold=False))
    aside = {shown.names[i] for i in np.flatnonzero(shown.aside)}
    assert "many" in aside
    assert "one" not in aside


def test_a_scope_that_is_one_variable_has_its_family(network):
    shown = build_visible_graph(network, ViewSpec(frozenset({"net", "net/one"})))
    families = {name: FAMILIES[f] for name, f in zip(shown.names, shown.family, strict=True)}
    assert families["net/one/w"] == "variable"
    assert families["net/two"] == "linear"
    assert families["net"] == "other"
    assert families["x"] == "input"


def test_a_closed_dropout_is_no_normalization(graph):
    ops = {
        "x": "Placeholder",
        "dropout/uniform": "RandomUniform",
        "dropout/mask": "GreaterEqual dropout/uniform x",
        "dropout/select": "SelectV2 dropout/mask x x",
    }
    shown = build_visible_graph(graph(ops), ViewSpec(frozenset()))
    assert FAMILIES[shown.family[shown.names.index("dropout")]] == "other"


def test_scopes_that_are_gone_or_hidden_are_ignored(network):
    closed = build_visible_graph(network, ViewSpec(frozenset()))
    assert (
        build_visible_graph(network, ViewSpec(frozenset({"gone", "net/one"}))).names == closed.names
    )


def test_at_first_the_architecture_is_open(network):
    assert default_open(network) == {"net", "net/one", "net/two"}


def test_gradients_stay_closed_at_first(graph):
    ops = {"x": "Placeholder", "net/a": "Relu x", "net/b": "Relu net/a"}
    ops |= {f"gradients/g{i}": "ReluGrad x net/b" for i in range(20)}
    assert default_open(graph(ops)) == {"net"}


def test_a_graph_without_ops_has_a_root():
    from tfgraphwidget.graph.index import build

    shown = build_visible_graph(build([]), ViewSpec(frozenset()))
    assert shown.names == [""]
    assert len(shown.source) == 0
    assert default_open(build([])) == frozenset()


def test_hidden_ops_and_scopes_are_left_out_with_their_lines_and_still_counted(network):
    shown = build_visible_graph(
        network, ViewSpec(frozenset({"net"}), hidden=frozenset({"net/one", "loss"}))
    )
    assert shown.names == ["", "x", "net", "save", "init", "net/two"]
    assert not lines(shown).keys() & {("net/one", "net/two"), ("net", "loss")}
    assert shown.count[2] == 12
    assert shown.names[shown.home_of_op[network.op("net/one/MatMul")]] == "net"


def test_a_hidden_scope_is_told_from_an_op_of_its_name_by_a_slash(network):
    opened = frozenset({"net", "net/one"})
    assert (
        "net/one/w"
        not in build_visible_graph(
            network, ViewSpec(opened, hidden=frozenset({"net/one/w/"}))
        ).names
    )
    seen = build_visible_graph(
        network, ViewSpec(opened | {"net/one/w"}, hidden=frozenset({"net/one/w"}))
    )
    assert seen.names.count("net/one/w") == 1


def test_a_group_goes_with_the_last_of_its_hidden_members(graph):
    parts = {f"part_{k}": "Square x" for k in range(4)}
    index = graph({"x": "Placeholder"} | parts | {"y": "AddN " + " ".join(parts)})
    some = build_visible_graph(index, ViewSpec(hidden=frozenset({"part_0", "part_1"})))
    assert "part_0 … part_3" in some.names
    assert build_visible_graph(index, ViewSpec(hidden=frozenset(parts))).names == ["", "x", "y"]


def test_a_loop_is_marked_where_its_condition_is_and_its_way_back(graph):
    ops = {
        "x": "Placeholder",
        "net/w/Enter": "Enter x",
        "net/w/Merge": "Merge net/w/Enter net/w/Next",
    }
    ops |= {"net/w/Less": "Less net/w/Merge net/w/Merge", "net/w/LoopCond": "LoopCond net/w/Less"}
    ops |= {
        "net/w/Switch": "Switch net/w/Merge net/w/LoopCond",
        "net/w/body/Add": "Add net/w/Switch:1 net/w/Switch:1",
    }
    ops |= {
        "net/w/Next": "NextIteration net/w/body/Add",
        "net/w/Exit": "Exit net/w/Switch",
        "net/y": "Relu net/w/Exit",
    }
    index = graph(ops)
    for opened, loops in (((), ["net"]), (("net",), ["net/w"]), (("net", "net/w"), ["net/w"])):
        shown = build_visible_graph(index, ViewSpec(frozenset(opened)))
        assert [shown.names[i] for i in np.flatnonzero(shown.loop)] == loops
    back = [
        (shown.names[s], shown.names[t])
        for s, t, b in zip(shown.source, shown.target, shown.back, strict=True)
        if b
    ]
    assert back == [("net/w/Next", "net/w/Merge")]


def test_nothing_is_told_of_lines_when_shapes_are_not_known(network):
    shown = build_visible_graph(network, ViewSpec())
    assert set(shown.edge_labels) == {""}
    assert not shown.bytes.any()
