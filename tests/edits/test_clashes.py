"""What a clone must not mistake: keys of state that are taken, options that are not there, editors
of one graph.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NameTaken

ONES = np.ones((2, 3), np.float32)


def test_a_key_that_the_other_graph_has_taken_is_not_taken_twice() -> None:
    old, other = build_mlp(resource=True), tf.Graph()
    with initialised(old) as session, v1.Session(graph=other) as elsewhere:
        editor = tgw.edit(old, session=session)
        editor.clone("x:0", "net/logits:0", "copy")
        with other.as_default():
            # Its keys are still "copy/net/one/w" ….
            tf.import_graph_def(old.as_graph_def(), name="imported")
        elsewhere.run([op for op in other.get_operations() if op.type == "AssignVariableOp"])
        before = elsewhere.run("imported/copy/net/logits:0", {"imported/x:0": ONES})
        for variable in old.get_collection("variables"):
            fill(variable, 7.0, session)
        copy = editor.clone("x:0", "net/logits:0", "copy", graph=other, session=elsewhere)
        assert np.array_equal(
            elsewhere.run("imported/copy/net/logits:0", {"imported/x:0": ONES}), before
        )
        assert (read(copy.variables[:1], elsewhere)[0] == 7).all()


def test_a_key_that_somebody_gave_to_another_variable_is_not_taken() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        handle = tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=[2], shared_name="copy/w", name="taken"
        )
        fill_it = tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
        seen = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        w = v1.get_variable("w", [2], initializer=v1.ones_initializer(), use_resource=True)
        tf.multiply(x, w, name="y")
    with initialised(graph) as session:
        session.run(fill_it)
        tgw.edit(graph, session=session).clone("x", "y", "copy")
        assert session.run(seen).tolist() == [1, 2]


def with_a_table_in_a_function() -> tf.Graph:
    """x -> how often the function was called, kept in a variable inside of it -> y."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")

        @tf.function(autograph=False)
        def counted(a: tf.Tensor) -> tf.Tensor:
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="count")
            tf.raw_ops.AssignVariableOp(resource=handle, value=a)
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

        @tf.function(autograph=False)
        def reported(a: tf.Tensor) -> tf.Tensor:
            with tf.control_dependencies([a]):
                handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="count")
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

        tf.identity(counted(x), name="y")
        tf.identity(reported(x), name="seen")
    return graph


@pytest.mark.parametrize(("mode", "seen"), [("own", 1.0), ("shared", 2.0)])
def test_state_inside_a_function_is_owned_or_shared_as_asked(mode: str, seen: float) -> None:
    graph = with_a_table_in_a_function()
    with v1.Session(graph=graph) as session:
        copy = tgw.edit(graph, session=session).clone("x", "y", "copy", variables=mode)  # type: ignore[arg-type]
        session.run("y:0", {"x:0": 1.0})
        assert session.run(copy["y:0"], {"x:0": 2.0}) == 2.0
        assert session.run("seen:0", {"x:0": 0.0}) == seen
        held = copy.report.new if mode == "own" else copy.report.shared
        assert [state.kind for state in held] == ["state in a function"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"variable": "shared"}, "did you mean 'variables'"),
        ({"session": object()}, "needs graph="),
        ({"times": "2"}, "give a whole number"),
        ({"times": 1.5}, "give a whole number"),
        ({"times": True}, "give a whole number"),
        ({"variables": None}, "'own', 'shared'"),
        ({"init": ["current"]}, "give a string, a path or a dict"),
    ],
)
def test_unknown_options_are_refused(
    editor: GraphEditor, options: dict[str, object], why: str
) -> None:
    before = editor.graph.version
    with pytest.raises(GraphEditError, match=why):
        editor.clone("x:0", "net/logits:0", "copy", **options)  # type: ignore[arg-type]
    assert editor.graph.version == before


def test_one_device_is_no_list_of_letters(editor: GraphEditor) -> None:
    (copy,) = editor.clone("x:0", "net/logits:0", "copy", devices="/device:CPU:0")
    assert copy["net/logits:0"].device == "/device:CPU:0"


def test_another_editor_of_the_same_graph_is_no_other_graph(
    editor: GraphEditor, session: v1.Session
) -> None:
    second = tgw.edit(editor.graph, session=session)
    copy = editor.clone("x:0", "net/logits:0", "copy", graph=second, variables="shared")
    assert "x:0" in copy.outside
    assert editor.clone("x:0", "net/logits:0", "again", graph=editor.graph).outside == ("x:0",)


def test_none_for_one_variable_leaves_it_without_a_value(
    editor: GraphEditor, session: v1.Session
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", init={"net/one/w": "none"})
    with pytest.raises(tf.errors.FailedPreconditionError):
        read(copy.variables[:1], session)
    read(copy.variables[1:], session)


def test_a_checkpoint_for_one_variable(
    editor: GraphEditor, session: v1.Session, tmp_path: object
) -> None:
    with editor.graph.as_default():
        path = v1.train.Saver().save(session, f"{tmp_path}/model")
    saved = read(editor.graph.get_collection("variables")[:1], session)[0]
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 3.0, session)
    copy = editor.clone("x:0", "net/logits:0", "copy", init={"net/one/w": path})
    first, second = read(copy.variables[:2], session)
    assert np.array_equal(first, saved)
    assert (second == 3).all()


def test_src_scope_is_left_out_of_the_keys_of_partitions_too() -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.variable_scope("scope"):
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("p", [4, 2], partitioner=v1.fixed_size_partitioner(2))
        tf.matmul(x, tf.convert_to_tensor(w), name="y")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        copy = editor.clone("scope/x", "scope/y", "d", src_scope="scope")
        assert {v._save_slice_info.full_name for v in copy.variables} == {"d/p"}


def test_an_undone_copy_is_not_synced(editor: GraphEditor) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    editor.undo()
    before = editor.graph.version
    with pytest.raises(GraphEditError, match="was undone"):
        assert copy.sync_op
    assert editor.graph.version == before
    editor.redo()
    copy.sync(np.float32(0.5))


def test_two_modules_cannot_have_one_name() -> None:
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None])])
    editor = tgw.edit(function)
    editor.clone(into="m")
    with pytest.raises(NameTaken, match="'m' is taken"):
        editor.clone(into="m")
    assert editor._core.executor.free_scope("m") != "m"


def test_what_grows_lies_in_its_scope_wherever_one_is(editor: GraphEditor) -> None:
    with editor.graph.as_default(), tf.name_scope("outer"), v1.variable_scope("around"):
        grown = editor.call("net/one/out:0", lambda t: t * v1.get_variable("k", []), into="head")
    assert all(name.startswith("head/") for name in grown.ops)
    assert grown.variables[0].name == "head/k:0"
