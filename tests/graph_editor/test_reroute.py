"""`ge.reroute`: what the corpus and random graphs do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.conftest import initialised
from tests.graph_editor.corpus import names
from tfgraphwidget.errors import GraphFinalized
from tfgraphwidget.runtime.live.edit_record import record_of

v1 = tf.compat.v1


def placeholder(shape: Any, name: str) -> Any:
    return v1.placeholder(tf.float32, shape, name=name)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ("foo/c:0", "whole:0"),
            "'foo/c:0' is float32 and 'whole:0' is int32, so neither .* cast one of them",
        ),
        (
            ("foo/c:0", "three:0"),
            r"'foo/c:0' is \(2,\) and 'three:0' is \(3,\), so neither .* reshape one of them",
        ),
        (
            ("foo/bar/d:0", "foo/c:0"),
            "A cycle would come about, 'foo/bar/d' -> 'foo/bar/d', and no op in it could",
        ),
        (
            ("foo/bar/d:0", "a:0"),
            "A cycle would come about, 'foo/bar/d' -> 'foo/c' -> 'foo/bar/d', and no op",
        ),
    ],
)
def test_a_refusal_names_both_ends_or_the_path_and_changes_nothing(net, given, words):
    with net.graph.as_default():
        tf.constant(1, name="whole")
        placeholder([3], "three")
        p, q = placeholder([2], "p"), placeholder([2], "q")
        tf.identity(q)
    before = net.graph.as_graph_def()
    tensors = [net.graph.get_tensor_by_name(name) for name in given]
    for call in (ge.reroute_ts, ge.swap_ts):
        with pytest.raises(ValueError, match=words) as caught:
            # The first pair is right, and is not moved either.
            call([p, tensors[0]], [q, tensors[1]])
        assert "\n" not in str(caught.value)
    assert net.graph.as_graph_def() == before


def test_lists_of_unequal_lengths_and_of_several_graphs_are_refused(net, line):
    with pytest.raises(ValueError, match="The lists have different sizes, 2 and 1; pair each"):
        ge.swap_ts([net.a, net.b], net.c)
    other = line.get_tensor_by_name("x:0")
    for call in (ge.swap_ts, ge.reroute_ts, ge.swap_inputs, ge.reroute_outputs, ge.connect):
        with pytest.raises(ValueError, match="another graph"):
            call(net.a, other)
    with pytest.raises(ValueError, match="another graph"):
        ge.add_control_inputs(net.c.op, other.op)


def test_a_cycle_by_way_of_control_inputs_is_refused(net):
    with pytest.raises(ValueError, match="'foo/bar/d' -> 'foo/c' -> 'foo/bar/d'"):
        ge.add_control_inputs(net.c.op, net.d.op)
    with net.graph.as_default():
        late = tf.identity(net.e, name="late")
    ge.add_control_inputs(net.wait, late.op)
    with pytest.raises(
        ValueError, match="'foo/bar/d' -> 'foo/bar/e' -> 'late' -> 'foo/wait' -> 'foo/bar/d'"
    ):
        ge.reroute_ts(net.d, net.c, can_modify=net.e.op)
    assert names(net.wait.control_inputs) == ["late"]


def test_control_inputs_are_ops(net):
    with pytest.raises(TypeError, match=r"Expected a tf\.Operation"):
        ge.add_control_inputs(net.c, net.wait)
    with pytest.raises(
        ValueError, match=r"^a is not a control_input of foo/bar/d; leave it out\.$"
    ):
        ge.remove_control_inputs(net.d.op, [net.wait, net.a.op])
    with pytest.raises(ValueError, match=r"^foo/wait is already a control_input of foo/bar/d"):
        ge.add_control_inputs(net.d.op, [net.a.op, net.wait])
    assert net.d.op.control_inputs == [net.wait]
    ge.add_control_inputs(net.d.op, [])
    ge.remove_control_inputs(net.d.op, net.wait)
    assert net.d.op.control_inputs == []


def test_an_op_is_put_after_a_tensor(net):
    with net.graph.as_default():
        doubled = tf.multiply(net.c, 2.0, name="doubled")
    assert ge.reroute_ts(doubled, net.c, cannot_modify=doubled.op) == 2
    with v1.Session(graph=net.graph) as session:
        assert session.run(net.d).tolist() == [8.0, 12.0]


def test_the_way_round_a_loop_is_no_cycle_and_any_other_way_back_is(while_loop):
    (double,) = [op for op in while_loop.get_operations() if op.type == "Mul"]
    x, y = (while_loop.get_tensor_by_name(name) for name in ("x:0", "y:0"))
    (enter,), leave = x.consumers(), y.op.inputs[0].op
    with pytest.raises(
        ValueError, match=f"'{leave.name}' -> '{enter.name}' -> .* -> '{leave.name}'"
    ):
        ge.reroute_ts(leave.outputs[0], x)
    with v1.Session(graph=while_loop) as session:
        assert session.run(y, {"x:0": 2.0}) == 64.0
    ge.bypass(ge.sgv(double).remap_inputs([0]))
    with v1.Session(graph=while_loop) as session:
        assert session.run(y, {"x:0": 2.0}) == 2.0


def test_another_graph_may_be_the_default_one(net, line):
    before = line.as_graph_def()
    with line.as_default(), tf.name_scope("here"):
        assert ge.reroute_ts(net.a, net.b) == 1
        _, (made,) = ge.detach_inputs(net.d.op)
    assert made.graph is net.graph
    assert made.name == "foo/geph__c_0:0"
    assert line.as_graph_def() == before


def test_the_graph_of_a_function_is_edited_too():
    graph = (
        tf.function(lambda x: tf.nn.relu(tf.tanh(x)))
        .get_concrete_function(tf.TensorSpec([2], tf.float32))
        .graph
    )
    relu, tanh = (
        op for kind in ("Relu", "Tanh") for op in graph.get_operations() if op.type == kind
    )
    assert ge.reroute_ts(tanh.inputs[0], tanh.outputs[0]) == 1
    assert relu.inputs[0] is graph.inputs[0]
    _, (hole,) = ge.detach_inputs(relu)
    assert relu.inputs[0] is hole
    assert hole.graph is graph
    with pytest.raises(ValueError, match="A cycle would come about"):
        ge.reroute_ts(relu.outputs[0], hole)


def test_a_shape_that_was_there_long_ago_is_no_obstacle():
    graph = tf.Graph()
    with graph.as_default():
        x, a, b = placeholder([None, 4], "x"), placeholder([3, 4], "a"), placeholder([5, 4], "b")
        y = tf.nn.relu(x, name="y")
        z = tf.reduce_sum(y, name="z")
    assert ge.reroute_ts(a, x) == ge.reroute_ts(x, a) == ge.reroute_ts(b, x) == 1
    veil = y.op.inputs[0].op
    assert veil.name in record_of(graph).veils
    with v1.Session(graph=graph) as session, graph.as_default():
        assert session.run(z, {b: np.ones([5, 4])}) == 20.0
        assert session.run(tf.gradients(z, b)[0], {b: np.ones([5, 4])}).shape == (5, 4)
    # What reads through a veil reads the tensor after.
    with pytest.raises(ValueError, match="A cycle would come about"):
        ge.reroute_ts(y, b)
    assert ge.reroute_ts(x, b, cannot_modify=y.op) == 0
    _, (hole,) = ge.detach_inputs(y.op)
    assert (hole.name, hole.shape) == ("geph__b_0:0", [5, 4])
    assert ge.reroute_ts(b, hole) == ge.reroute_ts(x, b) == 1
    with v1.Session(graph=graph) as session:
        assert session.run(z, {x: np.ones([7, 4])}) == 28.0


def test_what_is_left_of_an_edit_that_tensorflow_refuses_is_nothing():
    v1.disable_resource_variables()
    graph = tf.Graph()
    with graph.as_default():
        any_, three, five = (
            v1.get_variable(name, initializer=tf.zeros(shape), validate_shape=bool(name != "any"))
            for name, shape in (("any", [3]), ("three", [3]), ("five", [5]))
        )
        any_, three, five = any_._ref(), three._ref(), five._ref()
        kept = tf.raw_ops.RefIdentity(input=any_, name="kept")
        x = placeholder([2], "x")
        y = tf.nn.relu(x, name="y")
        z = placeholder([2], "z")
    assert any_.shape.rank is None
    # RefIdentity now remembers three elements, and no veil can replace a variable.
    assert (
        ge.reroute_ts(three, any_, can_modify=kept.op)
        == ge.reroute_ts(any_, three, can_modify=kept.op)
        == 1
    )
    before = graph.as_graph_def()
    with pytest.raises(ValueError, match="TensorFlow refuses to let op 'kept' read 'five:0'"):
        ge.reroute_ts([z, five], [x, any_], can_modify=[y.op, kept.op])
    assert y.op.inputs[0] is x
    assert graph.as_graph_def() == before


def test_variables_are_not_taken_for_tensors_that_are_none():
    v1.disable_resource_variables()
    graph = tf.Graph()
    with graph.as_default():
        v = v1.get_variable("v", initializer=1.0)
        add = v1.assign_add(v, 2.0, name="add")
        read, x = v.value(), placeholder([], "x")
    ref = v._ref()
    with pytest.raises(ValueError, match="'v:0' is float32_ref and 'v/read:0' is float32"):
        ge.reroute_ts(ref, read)
    with pytest.raises(
        ValueError, match="'add' changes the variable 'v:0' and cannot take 'x:0', which is none"
    ):
        ge.reroute_ts(x, ref, can_modify=add.op)
    with pytest.raises(
        TypeError, match="'add' changes the variable 'v:0', and no placeholder can replace"
    ):
        ge.detach_inputs(add.op)
    assert not [op for op in graph.get_operations() if "geph" in op.name]
    _, (hole,) = ge.detach_inputs(read.op)
    with initialised(graph) as session:
        assert session.run([read, add], {hole: 7.0}) == [7.0, 3.0]


def test_a_finalized_graph_is_not_touched(net):
    net.graph.finalize()
    before = net.graph.as_graph_def()
    for call in (
        lambda: ge.reroute_ts(net.a, net.b),
        lambda: ge.detach_inputs(net.c.op),
        lambda: ge.remove_control_inputs(net.d.op, net.wait),
    ):
        with pytest.raises(GraphFinalized, match="The graph is finalized"):
            call()
    assert ge.reroute_ts(net.a, net.a) == 0
    assert net.graph.as_graph_def() == before


def test_views_are_what_they_read_now_and_keep_what_they_were_after_a_refusal(net):
    upper, lower = ge.sgv(net.c.op), ge.sgv(net.d.op)
    with pytest.raises(ValueError, match="different sizes, 2 and 1"):
        ge.swap_ios(upper, lower)
    assert (names(upper.inputs), names(lower.inputs)) == (["a:0", "foo/b:0"], ["foo/c:0"])
    assert net.d.op.inputs[0] is net.c
    ge.reroute_inputs(upper.remap_inputs([1]), lower)
    assert names(lower.inputs) == names(net.d.op.inputs) == ["foo/b:0"]


def test_a_passthrough_output_follows_its_input(net):
    with net.graph.as_default():
        x = placeholder([2], "x")
    through = ge.sgv(net.c)
    ge.swap_inputs(through, x)
    assert names(through.inputs) == names(through.outputs) == ["x:0"]
    assert net.d.op.inputs[0] is x


def test_an_open_editor_sees_the_edges_that_were_moved(net):
    editor = tgw.edit(net.graph)
    before = editor.downstream("foo/c")
    ge.reroute_ts(net.a, net.c)
    assert (len(before), len(editor.downstream("foo/c"))) == (3, 1)
