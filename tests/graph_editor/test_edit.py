"""`ge.edit`: what the corpus and random graphs do not show."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names

v1 = tf.compat.v1


@pytest.mark.parametrize("first", [False, True])
def test_what_cannot_be_connected_or_bypassed_stays_as_it_is(net, first):
    before = net.graph.as_graph_def()
    upper, lower = ge.sgv(net.d.op), ge.sgv(net.c.op)
    with pytest.raises(ValueError, match="different sizes, 1 and 2"):
        ge.connect(upper, lower, disconnect_first=first)
    with pytest.raises(
        ValueError, match="A cycle would come about, 'foo/bar/d' -> 'foo/c' -> 'foo/bar/d'"
    ):
        ge.connect(upper, lower.remap_inputs([1]), disconnect_first=first)
    with pytest.raises(ValueError, match="different sizes, 2 and 1"):
        ge.bypass(lower)
    with pytest.raises(
        ValueError, match="'foo/bar/e/split_dim:0' is int32 and 'foo/bar/e:0' is float32"
    ):
        ge.bypass(net.e.op)
    assert net.graph.as_graph_def() == before
    assert [names(view.inputs) for view in (upper, lower)] == [["foo/c:0"], ["a:0", "foo/b:0"]]


def test_placeholders_of_inputs_keep_static_shapes_and_what_resources_hold():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="in/x")
        w = v1.get_variable("w", [3, 2], use_resource=True)
        unknown = v1.placeholder(tf.float32, name="unknown")
        y = tf.add(tf.matmul(x, w), unknown, name="y")
    (read,) = [
        op
        for op in graph.get_operations()
        if op.type == "ReadVariableOp" and op.name.startswith("MatMul")
    ]
    product = y.op.inputs[0].op
    view, made = ge.detach_inputs(ge.sgv(y.op, product, read))
    assert [(t.name, t.shape.as_list() if t.shape.rank is not None else None) for t in made] == [
        ("geph__unknown_0:0", None), ("in/geph__x_0:0", [None, 3]), ("geph__w_0:0", []),
    ]  # fmt: skip
    assert made[1].op.node_def.attr["shape"].shape == x.shape.as_proto()
    assert names(view.inputs) == names(made)
    with graph.as_default():  # what the handle holds is known
        assert tf.raw_ops.ReadVariableOp(resource=made[2], dtype=tf.float32).shape == [3, 2]


def test_what_represents_several_outputs_stands_each_for_its_own():
    graph = tf.Graph()
    with graph.as_default():
        one, two = tf.split(v1.placeholder(tf.float32, [4], name="x"), 2, name="split")
        # The later output is read first.
        last, first = tf.negative(two, name="last"), tf.negative(one, name="first")
        both = tf.add(two, one, name="both")
    view, made = ge.detach_outputs(ge.sgv(one.op))
    assert names(view.outputs) == ["split:0", "split:1"]
    assert names(made) == ["geph__split_0:0", "geph__split_1:0"]
    assert names([*last.op.inputs, *first.op.inputs]) == ["geph__split_1:0", "geph__split_0:0"]
    assert names(both.op.inputs) == ["geph__split_1:0", "geph__split_0:0"]
    assert ge.detach_outputs(one.op)[1] == []


def test_an_output_that_a_view_has_twice_has_one_placeholder(net):
    view = ge.sgv(net.c.op).remap_outputs_to_consumers()
    assert names(view.outputs) == ["foo/c:0", "foo/c:0"]
    _, made = ge.detach_outputs(view)
    assert names(made) == ["foo/geph__c_0:0"]
    assert net.d.op.inputs[0] is net.e.op.inputs[1] is made[0]


def test_control_inputs_go_with_the_view_if_asked(net):
    ge.detach_control_inputs(ge.sgv(net.d.op, net.wait))
    assert net.d.op.control_inputs == [net.wait]
    with pytest.raises(TypeError, match="Expected a ControlOutputs"):
        ge.detach_outputs(net.wait, control_outputs=True)
    with pytest.raises(TypeError, match="Expected a ControlOutputs"):
        ge.detach_control_outputs(net.wait, None)
    assert ge.detach_outputs(net.wait)[1] == []
    assert net.d.op.control_inputs == [net.wait]
    ge.detach_outputs(net.wait, net.controls)
    assert net.d.op.control_inputs == []
    ge.add_control_inputs(net.d.op, net.wait)
    _, made = ge.detach_inputs(net.d.op, control_inputs=True)
    assert net.d.op.control_inputs == []
    assert names(made) == ["foo/geph__c_0:0"]


def test_a_placeholder_waits_for_nothing_and_lies_in_no_scope_of_the_caller(net):
    with net.graph.as_default(), tf.control_dependencies([net.wait]):
        _, (made,) = ge.detach_inputs(net.d.op)
    assert made.op.control_inputs == []


def test_a_passthrough_is_cut_on_both_sides(net):
    view = ge.sgv(net.c)
    given, before, after = ge.detach(view)
    assert given is view
    assert names(before) == ["foo/geph__c_0:0"]
    assert names(after) == ["foo/geph__c_0_1:0"]
    assert names(view.outputs) == names(before)
    assert net.d.op.inputs[0] is net.e.op.inputs[1] is after[0]


def test_nothing_is_detached_from_an_empty_view():
    empty = ge.sgv()
    ge.detach_control_inputs(empty)
    assert ge.detach_inputs(empty) == (empty, [])
    assert ge.detach(empty) == (empty, [], [])
    assert ge.bypass(empty) == (empty, [])
    assert ge.detach_outputs(empty)[1] == []


def test_views_are_connected_to_another_after_they_were_cut_off():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        old, new = tf.nn.relu(x, name="old"), tf.negative(x, name="new")
        y = tf.multiply(old, 3.0, name="y")
        z = tf.multiply(new, 5.0, name="z")
    upper, lower = ge.connect(ge.sgv(new.op), ge.sgv(y.op).remap_inputs([0]), disconnect_first=True)
    assert y.op.inputs[0] is new
    assert names(z.op.inputs)[0] == "geph__new_0:0"
    assert names(upper.outputs) == names(lower.inputs) == ["new:0"]
    with v1.Session(graph=graph) as session:
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [-3.0, -6.0]


def test_an_op_that_a_handler_keeps_may_be_cut_off_after_it(net):
    def handler(info: Any, op: Any, new_inputs: Any) -> Any:
        if op is net.c.op:
            ge.transform_op_in_place(info, op, detach_outputs=True)
        return ge.copy_op_handler(info, op, new_inputs)

    copier = ge.Transformer()
    copier.transform_op_handler = handler
    copier([net.c.op], net.graph, "cp")
    assert names(net.c.op.inputs) == ["cp/geph__a_0:0", "cp/geph__b_0:0"]
    assert net.d.op.inputs[0].op.type == "Placeholder"
