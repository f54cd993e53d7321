"""`ge.select`: what a small graph gives, and what is refused."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf
from tensorflow.python.ops import op_selector

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import regex_timeout


def test_patterns_are_strings_or_compiled(net):
    assert [ge.select.can_be_regex(x) for x in ("a", re.compile("a"), net.a, 3)] == [
        True,
        True,
        False,
        False,
    ]
    compiled = re.compile("^foo")
    assert ge.make_regex(compiled) is compiled
    assert ge.make_regex("^foo") == compiled
    with pytest.raises(ValueError, match="Expected a regular expression, got the int 3"):
        ge.make_regex(3)
    with pytest.raises(
        re.error, match=r"'foo\(' is not a regular expression: .*; escape it with re\.escape"
    ):
        ge.select_ops("foo(", graph=net.graph)


def test_filters_keep_the_order_and_true_keeps_all(net):
    part = net.ops("foo/bar/d", "foo/c")
    assert ge.filter_ops(part, True) == part
    assert names(ge.filter_ops(part, lambda op: op.type == "Relu")) == ["foo/bar/d"]
    assert names(ge.filter_ops_from_regex(net.graph, re.compile("/b"))) == [
        "foo/b", "foo/bar/d", "foo/bar/e/split_dim", "foo/bar/e",
    ]  # fmt: skip
    assert names(ge.filter_ts(part, True)) == ["foo/c:0", "a:0", "foo/b:0", "foo/bar/d:0"]
    assert names(ge.filter_ts(part, lambda t: t.op.type == "Const")) == ["a:0", "foo/b:0"]
    assert names(ge.filter_ts_from_regex(part, r"/\w:0$")) == ["foo/c:0", "foo/b:0", "foo/bar/d:0"]


def test_selecting_takes_patterns_and_parts_in_the_order_given(net):
    selected = ge.select_ops("bar/d", net.b, [net.a.op, net.b], "^foo/[bc]$", graph=net.graph)
    assert names(selected) == ["foo/bar/d", "a", "foo/b", "foo/c"]
    assert names(ge.select_ts("^a", [net.d, net.d.op], net.a, graph=net.graph)) == [
        "a:0",
        "foo/bar/d:0",
    ]
    assert len(ge.select_ops(net.graph)) == 7
    assert names(
        ge.select_ops("foo/", graph=net.graph, positive_filter=lambda op: op.type == "Relu")
    ) == ["foo/bar/d"]
    ops, ts = ge.select_ops_and_ts("^a$", "(?#ts)^foo/b", net.f, graph=net.graph)
    assert names(ops) == ["a"]
    assert names(ts) == [
        "foo/b:0",
        "foo/bar/e/split_dim:0",
        "foo/bar/d:0",
        "foo/bar/e:0",
        "foo/bar/e:1",
    ]


def test_comments_say_which_kind_a_pattern_is_for(net):
    assert ge.select_ops("(?#ts)^a", graph=net.graph) == []
    assert ge.select_ts("(?#ops)^a", graph=net.graph) == []
    assert ge.select_ops("^a", graph=net.graph, restrict_ops_regex=True) == []
    assert ge.select_ts("^a", graph=net.graph, restrict_ts_regex=True) == []
    assert names(ge.select_ops("(?#ops)^a", graph=net.graph, restrict_ops_regex=True)) == ["a"]
    assert names(ge.select_ts("(?#ts)^a", graph=net.graph, restrict_ts_regex=True)) == ["a:0"]


@pytest.mark.parametrize("select", [ge.select_ops, ge.select_ts, ge.select_ops_and_ts, ge.sgv])
def test_selecting_refuses_what_it_cannot_do(net, select):
    with pytest.raises(ValueError, match=r"needs a graph to look in: add graph=... beside 'foo'"):
        select("foo")
    with pytest.raises(ValueError, match="has no argument 'grpah'; it has graph, positive_filter"):
        select("foo", grpah=net.graph)
    with pytest.raises(TypeError, match=r"Expected a tf.Graph, got the str 'x'"):
        select("foo", graph="x")
    with pytest.raises(TypeError, match=r"got the int 3"):
        select(3)


def test_a_dot_in_a_scope_is_a_dot():
    with tf.Graph().as_default() as graph:
        for name in ("a.b/x", "a_b/x", "a.b", "a.bc"):
            tf.constant(1.0, name=name)
    assert names(ge.get_name_scope_ops(graph, "a.b")) == ["a.b/x", "a.b"]
    assert names(ge.get_name_scope_ops(graph, "a.b/")) == ["a.b/x", "a.b"]
    assert ge.get_name_scope_ops(graph, "") == ge.get_name_scope_ops(graph, ".*") == []
    assert names(ge.get_name_scope_ops(graph.get_operations()[::-1], "a.b")) == ["a.b", "a.b/x"]


def test_three_ways_to_ask_for_control_edges(net):
    held = net.controls
    assert ge.check_cios() == (False, None)
    assert ge.check_cios(True) == (True, None)
    assert ge.check_cios(False, held) == (False, held)
    assert ge.check_cios(control_ios=held) == (True, held)
    with pytest.raises(TypeError, match="Expected a ControlOutputs, got the bool True"):
        ge.check_cios(control_outputs=True)
    with pytest.raises(TypeError, match="Expected a ControlOutputs"):
        ge.check_cios(control_ios={})
    with pytest.raises(ValueError, match="give one of them"):
        ge.check_cios(control_outputs=held, control_ios=held)


def test_control_edges_are_followed_when_asked_for(net):
    assert ge.get_forward_walk_ops(net.wait) == [net.wait]
    assert names(ge.get_forward_walk_ops(net.wait, control_outputs=net.controls)) == [
        "foo/wait",
        "foo/bar/d",
    ]
    assert names(ge.get_backward_walk_ops(net.d.op)) == ["a", "foo/b", "foo/c", "foo/bar/d"]
    assert names(ge.get_backward_walk_ops(net.d.op, control_inputs=True)) == [
        "a", "foo/b", "foo/c", "foo/wait", "foo/bar/d",
    ]  # fmt: skip
    assert names(ge.get_ops_ios(net.d.op, control_ios=net.controls)) == ["foo/c", "foo/wait"]
    assert ge.get_ops_ios(net.wait, control_inputs=True) == []
    with tf.Graph().as_default() as other:
        tf.no_op()
    assert ge.get_forward_walk_ops(net.wait, control_outputs=ge.ControlOutputs(other)) == [net.wait]


def test_a_walk_takes_any_iterable_of_seeds_and_none(net):
    for seeds in ({net.c.op}, iter([net.c.op]), net.c.op, [net.a], net.a, (t for t in [net.a])):
        assert names(ge.get_forward_walk_ops(seeds)) == ["foo/c", "foo/bar/d", "foo/bar/e"]
    assert ge.get_forward_walk_ops([]) == ge.get_backward_walk_ops(()) == []
    assert ge.get_forward_walk_ops([net.d]) == []
    with pytest.raises(TypeError, match=r"Expected a tf.Tensor, got the tf.Operation 'a'"):
        ge.get_forward_walk_ops([net.a, net.a.op])
    with pytest.raises(TypeError, match=r"got the tf.Graph"):
        ge.get_backward_walk_ops(net.graph)
    with pytest.raises(TypeError, match=r"A whole tf.Graph is not taken here"):
        ge.get_backward_walk_ops(net.d, within_ops=net.graph)


def test_within_ops_fn_is_not_blamed_for_ops_beyond_those_it_refuses(net):
    asked = []

    def refuse_c(op: tf.Operation) -> bool:
        asked.append(op.name)
        return op.outputs[1] is not None if op.name.endswith(("/d", "/e")) else False

    assert ge.get_forward_walk_ops(net.a.op, within_ops_fn=refuse_c) == [net.a.op]
    assert "a" not in asked
    with pytest.raises(IndexError, match="list index out of range"):
        ge.get_forward_walk_ops(net.c.op, within_ops_fn=refuse_c)


def test_generators_serve_both_walks(net):
    within = (op for op in net.ops("a", "foo/c", "foo/bar/d"))
    assert names(ge.get_walks_intersection_ops(net.a, net.d, within_ops=within)) == [
        "foo/c",
        "foo/bar/d",
    ]
    within = (op for op in net.ops("foo/c", "foo/bar/d"))
    assert names(ge.get_walks_union_ops(net.a, net.d, within_ops=within)) == ["foo/c", "foo/bar/d"]


def test_a_backward_walk_may_stop_at_ops_without_a_gradient():
    with tf.Graph().as_default():
        x = tf.constant([1.0, -2.0], name="x")
        more = tf.greater(x, 0.0, name="more")
        with tf.control_dependencies([tf.no_op(name="wait")]):
            y = tf.multiply(
                tf.square(x, name="square"), tf.cast(more, tf.float32, name="sign"), name="y"
            )
    how = {"only_differentiable": True, "control_inputs": True}
    assert names(ge.get_backward_walk_ops(y, **how)) == ["x", "more", "square", "sign", "y"]
    assert names(ge.get_backward_walk_ops(more, **how)) == ["more"]
    assert "Cast" not in {
        op.type
        for op in ge.get_backward_walk_ops(y, within_ops_fn=lambda op: op.type != "Cast", **how)
    }
    for stop, inclusive in ([more], True), ([x], False), ([], True):
        report = op_selector.get_backward_walk_ops(y, stop_at_ts=stop, inclusive=inclusive, **how)
        assert set(ge.get_backward_walk_ops(y, stop_at_ts=stop, inclusive=inclusive, **how)) == set(
            report
        )


def test_a_seed_on_the_boundary_is_refused(net):
    with pytest.raises(ValueError, match="Seed 'foo/c' is on the boundary; take it off"):
        ge.get_within_boundary_ops(net.graph, [net.a.op, net.c.op], [net.b.op, net.c.op])
    with pytest.raises(TypeError, match=r"A whole tf.Graph is not taken here"):
        ge.get_within_boundary_ops(net.graph, net.graph)
    assert ge.get_within_boundary_ops(net.graph, []) == []


def test_the_result_within_a_boundary_is_in_the_order_asked(net):
    order = net.graph.get_operations()[::-1]
    assert names(ge.get_within_boundary_ops(order, net.a.op, net.c.op)) == ["foo/c", "a"]
    assert names(ge.get_within_boundary_ops(order, net.a.op, net.c.op, inclusive=False)) == ["a"]


def test_a_tensor_read_inside_and_outside_is_inside_and_an_output(net):
    inputs, outputs, inside = ge.compute_boundary_ts(net.ops("foo/bar/d", "foo/c", "foo/c"))
    assert names(inputs) == ["a:0", "foo/b:0"]
    assert names(outputs) == ["foo/bar/d:0", "foo/c:0"]
    assert names(inside) == ["foo/c:0"]
    assert ge.compute_boundary_ts([]) == ([], [], [])


def test_no_expression_takes_longer_than_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_timeout, "SECONDS", 0.1)
    with tf.Graph().as_default() as graph:
        op = tf.no_op("a" * 60 + "_x")
    for find in (
        lambda: ge.select_ops("^(a|aa)+$", graph=graph),
        lambda: ge.filter_ops_from_regex([op], re.compile("^(A|AA)+$", re.IGNORECASE)),
        lambda: ge.OpMatcher("^(a|aa)+$")(op),
    ):
        with pytest.raises(GraphEditError, match="takes longer than a minute"):
            find()
