"""Files whose writer left the default attributes out: looking at one adds no attribute to it."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.compat import v1

import tfgraphwidget as tgw

LOOKS = {
    "lint": lambda editor: editor.lint(),
    "untrusted": lambda editor: editor.lint("untrusted"),
    "session": lambda editor: editor.session,
    "cost": lambda editor: editor.table(batch=1),
    "scene": lambda editor: editor.view.scene(),
    "inspect": lambda editor: repr(editor.inspect()),
    "preview": lambda editor: editor.preview(editor.clone, editor.ops(scope="net"), init="initial"),
    "clone": lambda editor: editor.clone(editor.ops(scope="net"), variables="shared"),
}


@pytest.fixture
def stripped() -> v1.GraphDef:
    """Text attributes of every kind that has a default, in the graph and in a function."""

    @tf.function
    def name_of(text):
        return tf.strings.regex_replace(tf.strings.join([text, "end"]), "a", "b")

    graph = tf.Graph()
    with graph.as_default():
        text = v1.placeholder(tf.string, [], name="text")
        with v1.name_scope("net"):
            tf.strings.reduce_join(tf.strings.split(tf.strings.join([name_of(text), "_temp"]), "_"))
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2])
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            keys = v1.placeholder(tf.string, [None], name="keys")
            table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
            tf.raw_ops.LookupTableFindV2(
                table_handle=table, keys=keys, default_value=tf.constant(0, tf.int64)
            )
            tf.raw_ops.QueueSizeV2(handle=tf.raw_ops.FIFOQueueV2(component_types=[tf.float32]))
            tf.raw_ops.StageSize(dtypes=[tf.float32])
            array = tf.TensorArray(tf.float32, 2, element_shape=[]).unstack([1.0, 2.0])
            v1.while_loop(lambda i: i < 2, lambda i: i + 1, [tf.constant(0)])
            array.stack()
        tf.raw_ops.SaveV2(
            prefix=tf.strings.join([text, "_x"]),
            tensor_names=["a"],
            shape_and_slices=[""],
            tensors=[1.0],
        )
        return v1.train.export_meta_graph(strip_default_attrs=True).graph_def


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_adds_no_attribute(stripped, tmp_path, look):
    (tmp_path / "graph.pb").write_bytes(stripped.SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb")
    LOOKS[look](editor)
    extras = editor._core.index.extras
    bodies = [extras.function(name).node_def for name in sorted(editor._core.index.functions or ())]
    nodes = [*editor._core.index.nodes, *(node for body in bodies for node in body)]
    assert bodies
    assert [node.name for node in nodes if node.op == "StringJoin" and "separator" not in node.attr]
    empty = [
        (node.name, key)
        for node in nodes
        for key, value in node.attr.items()
        if value.WhichOneof("value") is None
    ]
    assert empty == []
