"""What TensorFlow's optimizer makes of a graph, beside the graph."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1


def test_the_optimized_graph_is_next_to_the_first_with_what_was_folded_fused_and_removed() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], "x")
        kernel = tf.reshape(tf.range(27.0) * 0.01, [3, 3, 3, 1], "kernel")
        y = tf.nn.relu(
            tf.nn.bias_add(
                tf.nn.conv2d(x, kernel, 1, "SAME", name="conv"), tf.ones([1]), name="bias"
            ),
            "relu",
        )
        tf.nn.softmax(tf.reshape(tf.identity(y), [-1, 64]), name="y")
    editor = tgw.edit(graph)
    before = list(editor._core.index.nodes)
    result = editor.passes.grappler("y")
    passes = {each.name: each for each in result.passes}
    assert "kernel" in passes["constfold"].folded
    assert any(passes["remap"].fused)
    assert "Identity" in {name for each in result.passes for name in each.removed}
    assert result.pairs["x"] == "x"
    assert result.pairs["y"] == "y"
    assert "kernel" in result.editor._core.index.ids or "kernel" not in result.pairs
    assert len(result.editor._core.index) < len(editor._core.index)
    assert "Identity" in result.difference.removed
    assert repr(result).splitlines()[0].split()[:3] == ["pass", "ops", "folded"]
    assert list(editor._core.index.nodes) == before
    assert not editor.history.done
    result.editor.rename("x", "fed")
    assert "x" in editor._core.index.ids


def test_a_function_is_optimized_by_its_results() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x) * (tf.constant(1.0) + tf.constant(2.0))

    editor = tgw.edit(f)
    result = editor.passes.grappler()
    assert any(each.folded for each in result.passes)
    assert "Identity" in result.editor._core.index.ids


def test_a_file_that_ends_the_optimizer_s_process_does_not_end_this_one() -> None:
    """TensorFlow looks for the value of each constant, and ends the process without one."""
    graph_def = v1.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    graph_def.node.add(name="c", op="Const").attr["dtype"].type = tf.float32.as_datatype_enum
    y = graph_def.node.add(name="y", op="Neg", input=["c"])
    y.attr["T"].type = tf.float32.as_datatype_enum
    editor = tgw.edit(graph_def)
    with pytest.raises(tgw.GraphEditError, match=r"does not take the graph: .*crashed"):
        editor.passes.grappler("y")
