"""What is drawn of graphs whose shapes and functions TensorFlow knows."""

from __future__ import annotations

from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph


def test_lines_tell_the_shape_and_the_bytes_of_their_tensors():
    import tensorflow as tf

    import tfgraphwidget as tgw

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3, 4], name="x")
        half = tf.cast(x, tf.float16, name="half")
        tf.stack([half, half * 2], name="both")
    shown = build_visible_graph(tgw.edit(graph)._core.index, ViewSpec())
    told = {
        (shown.names[s], shown.names[t]): (label, size)
        for s, t, label, size in zip(
            shown.source, shown.target, shown.edge_labels, shown.bytes.tolist(), strict=True
        )
    }
    assert told["x", "half"] == ("?×3×4", 48)
    assert told["half", "both"] == ("?×3×4 float16", 24)


def test_a_closed_scope_that_holds_a_function_call_is_marked_in_its_own_way():
    import tensorflow as tf

    import tfgraphwidget as tgw

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("part"):
            tf.function(lambda v: v * 2)(x)
            tf.nn.relu(x)
    index = tgw.edit(graph)._core.index
    closed, opened = (
        build_visible_graph(index, ViewSpec()),
        build_visible_graph(index, ViewSpec(frozenset({"part"}))),
    )
    assert closed.calls[closed.names.index("part")] == 2
    assert sorted(opened.calls[1:].tolist()) == [0, 0, 0, 1]
