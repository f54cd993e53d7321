"""The index of a live graph is made once, and again when the graph has changed."""

from __future__ import annotations

import gc
import weakref

import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tfgraphwidget.graph_editor.live_index import index_of


def test_an_unchanged_graph_keeps_its_index(net):
    index = index_of(net.graph)
    ge.get_forward_walk_ops(net.a)
    assert index_of(net.graph) is index
    assert list(index.names) == [op.name for op in net.graph.get_operations()]


def test_new_ops_are_read_alone(net):
    index = index_of(net.graph)
    with net.graph.as_default(), tf.control_dependencies([net.d]):
        tf.identity(net.c, name="more")
    longer = index_of(net.graph)
    assert longer.names[-1] == "more"
    assert longer.nodes[0] is index.nodes[0]
    assert longer.control_lists[longer.ids["more"]] == [index.ids["foo/bar/d"]]


def test_a_changed_edge_is_read(net):
    first = index_of(net.graph)
    net.d.op._update_input(0, net.b)
    second = index_of(net.graph)
    net.d.op._update_input(0, net.c)
    third = index_of(net.graph)
    net.a.op._add_control_inputs([net.b.op])
    fourth = index_of(net.graph)
    net.a.op._remove_all_control_inputs()
    d, a = first.ids["foo/bar/d"], first.ids["a"]
    rows = [
        (index.input_lists[d], index.control_lists[a])
        for index in (first, second, third, fourth, index_of(net.graph))
    ]
    b, c = first.ids["foo/b"], first.ids["foo/c"]
    assert rows == [([c], []), ([b], []), ([c], []), ([c], [b]), ([c], [])]


def test_a_loop_that_is_built_on_changes_old_ops():
    with tf.Graph().as_default() as graph:
        tf.compat.v1.disable_control_flow_v2()
        x = tf.constant(1.0, name="x")
        seen = []

        def body(i: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            seen.append(len(ge.get_forward_walk_ops(x)))
            return i + 1, v * 2.0

        tf.compat.v1.while_loop(lambda i, _: i < 5, body, [0, x])
    walked = ge.get_backward_walk_ops(graph.get_operation_by_name("while/Merge_1"))
    assert seen
    assert {"while/NextIteration_1", "while/mul"} <= {op.name for op in walked}


def test_what_is_kept_goes_with_the_graph():
    def walk() -> weakref.ref[tf.Graph]:
        with tf.Graph().as_default() as graph:
            ge.get_forward_walk_ops(tf.identity(tf.constant(1.0)).op)
        return weakref.ref(graph)

    held = walk()
    gc.collect()
    assert held() is None
