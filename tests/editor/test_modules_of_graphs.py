"""`module`, `function` and SavedModels of graphs of TensorFlow 1, and results that are removed from
functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.verbs import controlled, functional_control_flow, graph_with
from tfgraphwidget.errors import GraphEditError, NotClonable

X = np.ones([2, 4], np.float32)


@pytest.fixture(scope="module")
def looped() -> tuple[tf.Graph, Any]:
    """x → w → Relu → v2 loops and conditionals → out, with training."""
    with functional_control_flow():
        return graph_with(controlled)


def test_a_graph_and_its_session_become_a_function_with_the_present_values(
    looped: tuple[tf.Graph, Any],
) -> None:
    graph, session = looped
    editor = tgw.edit(graph, session=session)
    expected = session.run("out:0", {"x:0": X})
    editor.mark("x:0", "out:0")
    module = editor.to_module()
    np.testing.assert_allclose(module(x=X), expected, rtol=1e-5)
    np.testing.assert_allclose(editor.to_function()(X), expected, rtol=1e-5)
    assert [variable.name for variable in module.trainable_variables] == ["edited/w:0"]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(module(X))
    (slope,) = tape.gradient(loss, module.trainable_variables)
    with graph.as_default():
        original = session.run(
            tf.gradients(
                tf.reduce_mean(graph.get_tensor_by_name("out:0")),
                list(graph.get_collection("variables")),
            )[0],
            {"x:0": X},
        )
    np.testing.assert_allclose(slope, original, rtol=1e-5)


def test_an_edited_file_becomes_a_function(looped: tuple[tf.Graph, Any], tmp_path: Path) -> None:
    graph, session = looped
    frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["out"])
    editor = tgw.edit(frozen)
    np.testing.assert_allclose(editor.to_function()(X), session.run("out:0", {"x:0": X}), rtol=1e-5)
    editor.insert("out:0", tf.negative)
    np.testing.assert_allclose(
        editor.to_function()(X), -session.run("out:0", {"x:0": X}), rtol=1e-5
    )
    editor.undo()
    editor.set_constant("mul/y:0", 20.0)
    np.testing.assert_allclose(
        editor.to_function()(X), 10 * session.run("out:0", {"x:0": X}), rtol=1e-5
    )
    with graph.as_default():
        prefix = v1.train.Saver().save(session, str(tmp_path / "m"))
        ends = {"x": graph.get_tensor_by_name("x:0")}, {"y": graph.get_tensor_by_name("out:0")}
        v1.saved_model.simple_save(session, str(tmp_path / "v1"), *ends)
    for path, options in ((tmp_path / "m.meta", {"checkpoint": prefix}), (tmp_path / "v1", {})):
        editor = tgw.edit(path, **options)
        editor.rename("w", "weights")
        editor.set_constant("mul/y:0", 20.0)
        if path.suffix:
            editor.mark("x:0", "out:0")
        module = editor.to_module()
        assert [variable.name for variable in module.trainable_variables] == ["edited/weights:0"]
        np.testing.assert_allclose(module(X), 10 * session.run("out:0", {"x:0": X}), rtol=1e-5)


def test_a_saved_model_of_a_graph_has_a_signature_of_its_results(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        v1.placeholder(tf.float32, [], "unused")
        tf.tanh(x * v1.get_variable("w", initializer=2.0), name="y")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    with pytest.warns(
        UserWarning,
        match="Signature 'serving_default' takes 'x:0' and gives 'y:0', which the graph",
    ):
        editor.save(tmp_path / "saved/")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_allclose(
        loaded.signatures["serving_default"](tf.constant(X))["y"], np.tanh(2 * X), rtol=1e-6
    )


def test_what_no_function_can_hold_is_refused() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], "x")
        tf.tanh(x * v1.get_variable("w", initializer=2.0, use_resource=False), name="y")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    with pytest.raises(NotClonable, match="reference variable, which no function can capture"):
        tgw.edit(graph, session=session).to_module()
    with tf.Graph().as_default() as empty:
        v1.placeholder(tf.float32, [], "x")
    with pytest.raises(GraphEditError, match="Nothing here looks like a result"):
        tgw.edit(empty).to_module()


def test_a_function_gives_no_more_what_is_removed() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def both(x: Any) -> Any:
        return {"relu": tf.nn.relu(x), "tanh": tf.tanh(x)}

    editor = tgw.edit(both)
    report = editor.remove(editor.find("type:Relu").ops, consumers=True)
    assert "The function no longer returns 'relu'." in report.notes
    result = editor.to_function()(tf.zeros([1]))
    assert list(result) == ["tanh"]
    with pytest.raises(
        GraphEditError, match="has no other, and TensorFlow computes nothing in a function without"
    ):
        editor.remove(editor.find("type:Tanh").ops, consumers=True)
    editor.undo()
    assert list(editor.to_function()(tf.zeros([1]))) == ["relu", "tanh"]


def test_the_lists_of_a_loop_s_gradient_do_not_make_its_results_training(
    looped: tuple[tf.Graph, Any],
) -> None:
    graph, session = looped
    editor = tgw.edit(graph, session=session)
    editor.passes.strip_training()
    assert "out" in editor._core.index.ids
    assert not [name for name in editor._core.index.names if "ApplyGradientDescent" in name]
    editor.undo()


def test_a_mutable_table_of_a_session_goes_along_with_its_present_content(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        x = v1.placeholder(tf.string, [None], "x")
        insert = table.insert(
            v1.placeholder(tf.string, [None], "k"), v1.placeholder(tf.int64, [None], "v")
        )
        tf.identity(table.lookup(x), "y")
        session = v1.Session()
    words, expected = np.array(["a", "b", "c"], object), [1, 2, -1]
    session.run(insert, {"k:0": ["a", "b"], "v:0": [1, 2]})
    editor = tgw.edit(graph, session=session)
    editor.mark("x:0", "y:0")
    assert editor.to_function()(tf.constant(words)).numpy().tolist() == expected
    function = tgw.edit(
        tf.function(tf.strings.lower, autograph=False), signature=[tf.TensorSpec([None], tf.string)]
    )
    (lower,) = function._core.executor.inputs_and_outputs[1].values()
    function.add(editor, into="numbers", connect={"x": lower})
    assert (
        tf.nest.flatten(function.to_module()(tf.constant(["A", "B", "C"])))[-1].numpy().tolist()
        == expected
    )
    copy = editor.clone(["x:0"], ["y:0"], into="copy")
    assert editor.session.run(copy["y:0"], {"x:0": words}).tolist() == expected
    assert editor.extract(["x:0"], ["y:0"]).session.run("y:0", {"x:0": words}).tolist() == expected
    editor.save(tmp_path / "saved/")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert (
        loaded.signatures["serving_default"](tf.constant(words))["y"].numpy().tolist() == expected
    )


def test_a_training_step_among_the_marks_is_left_out_of_what_is_saved(tmp_path: Path) -> None:
    """A clone of a training step marks it, and it gives no tensor."""
    editor = tgw.example()
    editor.clone("x:0", ["net/logits:0", "train"], into="agent", placeholders=True)
    editor.undo()
    assert editor.outputs == ("net/logits:0", "train")
    logits = editor.session.run("net/logits:0", {"x:0": X})
    editor.save(tmp_path / "graph.meta")
    assert (tmp_path / "graph.index").exists()
    editor.save(f"{tmp_path}/saved/")
    saved = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert list(saved.structured_outputs) == ["logits"]
    assert np.array_equal(saved(tf.constant(X))["logits"], logits)
    assert np.array_equal(editor.to_module()(X), logits)
