"""`ge.subgraph`: views."""

from __future__ import annotations

import copy

import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names


def test_a_view_prints_what_it_holds(net):
    view = ge.sgv(net.c.op, net.f)
    assert str(view) == (
        f"SubGraphView (graphid={id(net.graph)}):\n** ops[1]:\n  foo/c\n** inputs[3]:\n  a:0\n  "
        "foo/b:0\n"
        "  foo/bar/e:1 *\n** outputs[2]:\n  foo/c:0\n  foo/bar/e:1 *\n"
    )
    assert "** inputs: empty\n" in str(view.remap_inputs([]))
    assert str(ge.sgv()) == "SubGraphView: empty"


def test_an_empty_view_is_false_and_of_no_graph(net):
    view = ge.sgv()
    assert not view
    assert (view.graph, view.ops, list(view.inputs), list(view.outputs), view.consumers()) == (
        None,
        [],
        [],
        [],
        [],
    )
    assert view.remove_unused_ops().remap_default().remap([], []).ops == []
    assert not ge.sgv("nothing like it", graph=net.graph)
    assert ge.SubGraphView(passthrough_ts=net.a)


def test_a_view_is_made_of_patterns_ops_tensors_scopes_and_views(net):
    view = ge.make_view("^foo/[bc]$", [net.d.op, net.f], graph=net.graph)
    assert (names(view.ops), names(view.passthroughs)) == (
        ["foo/b", "foo/c", "foo/bar/d"],
        ["foo/bar/e:1"],
    )
    assert ge.sgv(view) is ge.sgv(view, graph=net.graph) is view
    assert names(ge.sgv_scope("foo/bar", net.graph).ops) == [
        "foo/bar/d",
        "foo/bar/e/split_dim",
        "foo/bar/e",
    ]
    assert len(ge.sgv(net.graph).ops) == 7
    assert names(ge.sgv("(?#ts)^a", graph=net.graph).passthroughs) == ["a:0"]


def test_a_view_of_another_graph_is_refused(net):
    with tf.Graph().as_default() as other:
        there = tf.constant(1.0, name="there")
    with pytest.raises(ValueError, match="The view is of another graph than the one given"):
        ge.sgv(net.c.op, graph=other)
    with pytest.raises(ValueError, match="The view is of another graph"):
        ge.sgv(ge.sgv(net.c.op), graph=other)
    with pytest.raises(ValueError, match="'there:0' is of another graph than 'foo/c'"):
        ge.sgv(net.c.op, there)
    with pytest.raises(TypeError, match=r"Expected a tf.Graph"):
        ge.sgv(ge.sgv(net.c.op), graph=3)
    with pytest.raises(TypeError, match=r"Expected a tf.Operation, got the tf.Tensor"):
        ge.SubGraphView([net.a])
    assert not ge.sgv(graph=other)


def test_one_may_ask_where_a_tensor_stands(net):
    view = ge.sgv(net.c.op, net.f)
    assert [view.input_index(t) for t in view.inputs] == [0, 1, 2]
    assert view.remap_outputs([1, 0, 0]).output_index(net.c) == 1
    assert (view.is_passthrough(net.f), view.is_passthrough(net.a)) == (True, False)
    assert view.op(0) is view.find_op_by_name("foo/c") is net.c.op
    with pytest.raises(
        ValueError,
        match="'foo/bar/d:0' is not an input of this view; its inputs are 'a:0', 'foo/b:0', ",
    ):
        view.input_index(net.d)
    with pytest.raises(
        ValueError, match="'a:0' is not an output of this view; its outputs are 'foo/c:0'"
    ):
        view.output_index(net.a)
    with pytest.raises(ValueError, match="'x' is not in this view of 1 op;"):
        view.find_op_by_name("x")
    with pytest.raises(AssertionError, match="'a' is 2 times in this view"):
        ge.SubGraphView([net.a.op, net.a.op]).find_op_by_name("a")


def test_remaps_refuse_what_is_not_there(net):
    view = ge.sgv(net.c.op)
    for wrong in ([2], [-1], [net.d], ["a:0"], [None]):
        with pytest.raises(ValueError, match="input"):
            view.remap_inputs(wrong)
        with pytest.raises(ValueError, match="output"):
            view.remap_outputs(wrong)
    with pytest.raises(ValueError, match="Found repetition in the inputs"):
        view.remap_inputs([0, net.a])
    assert names(view.inputs) == ["a:0", "foo/b:0"]


def test_a_view_is_a_context_and_copies_are_views_of_the_same(net):
    with ge.sgv(net.c.op) as view:
        assert names(view.ops) == ["foo/c"]
    for other in (view.copy(), copy.copy(view)):
        assert other is not view
        assert str(other) == str(view)
    view.ops.append(net.a.op)
    assert names(view.ops) == ["foo/c"]


def test_a_view_keeps_its_tensors_until_it_is_mapped_again(net):
    view = ge.sgv(net.d.op)
    net.d.op._update_input(0, net.a)
    assert names(view.inputs) == ["foo/c:0"]
    assert names(view.remap_default().inputs) == ["a:0"]


def test_a_view_on_the_body_of_a_function():
    @tf.function
    def double(x: tf.Tensor) -> tf.Tensor:
        a, b = tf.split(x, 2)
        return a + tf.nn.relu(b)

    body = double.get_concrete_function(tf.TensorSpec([4])).graph
    count = len(body.get_operations())
    view = ge.sgv("Relu", body.inputs[0], graph=body)
    assert names(view.inputs) == ["split:1", "x:0"]
    assert view.inputs[1] in view.outputs
    assert view.outputs[0] not in view.inputs
    assert names(view.remap_outputs([0, 0]).remap_outputs_make_unique().outputs) == ["Relu:0"]
    assert names(ge.get_forward_walk_ops(body.inputs, stop_at_ts=view.outputs)) == [
        "split",
        "Relu",
        "add",
        "Identity",
    ]
    assert len(body.get_operations()) == count  # comparing tensors with == would have added ops
