"""`add` joins Keras models, Keras exports and functions to a graph, with their values, by the names
of arguments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, NotClonable, UnknownName

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


@pytest.fixture
def model() -> keras.Model:
    keras.utils.set_random_seed(0)
    inputs = keras.Input([4], name="features")
    hidden = keras.layers.Dense(8, activation="relu", name="hidden")(inputs)
    outputs = keras.layers.Dense(3, name="out")(
        keras.layers.BatchNormalization(name="norm")(hidden)
    )
    return keras.Model(inputs, outputs, name="net")


class Scaled(tf.Module):
    """Functions of one module: one calls another, and all read one variable."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0, 3.0, 4.0], name="scale")

    @tf.function
    def inner(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x * self.scale)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 4], name="x"), tf.TensorSpec([], name="shift")]
    )
    def call(self, x: tf.Tensor, shift: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"sum": self.inner(self.inner(x)) + shift, "double": x * 2}


def test_a_keras_model_is_joined_by_its_argument_s_name(model: keras.Model) -> None:
    editor, expected = tgw.example(), model(X)
    added = editor.add(model, into="net2", connect={"features": "x:0"})
    np.testing.assert_allclose(
        editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6
    )
    assert {v.op.name for v in added.variables} == {f"net2/{v.path}" for v in model.variables}
    assert editor.undo().startswith("net2 = editor.add(")
    assert not [name for name in editor._core.index.names if name.startswith("net2/")]
    editor.redo()
    np.testing.assert_allclose(
        editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6
    )


def test_the_joined_model_is_trained_with_the_graph(model: keras.Model) -> None:
    editor = tgw.example()
    added = editor.add(model, connect={"features": "x:0"})
    with editor.graph.as_default():
        loss = tf.reduce_mean(added["output_0"] ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(
            loss, var_list=list(added.variables)
        )
    before = editor.session.run(loss, {"x:0": X})
    for _ in range(5):
        editor.session.run(train, {"x:0": X})
    assert editor.session.run(loss, {"x:0": X}) < before
    assert max(added.drift().values()) > 0
    added.sync()
    assert editor.session.run(loss, {"x:0": X}) == pytest.approx(before)


def test_a_keras_export_is_joined_with_its_values(model: keras.Model, tmp_path: Path) -> None:
    model.export(str(tmp_path / "saved"), verbose=False)
    editor, expected = tgw.example(), model(X)
    added = editor.add(tmp_path / "saved", into="saved", connect={"features": "x:0"})
    np.testing.assert_allclose(
        editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6
    )
    assert len(added.variables) >= len(model.variables)


def test_a_saved_module_with_several_signatures_is_joined(tmp_path: Path) -> None:
    module = Scaled()
    single = tf.function(lambda x: {"y": x * module.scale}, autograph=False)
    spec = tf.TensorSpec([None, 4], name="x")
    signatures = {
        "call": module.call.get_concrete_function(),
        "single": single.get_concrete_function(spec),
    }
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=signatures)
    editor = tgw.example()
    expected = module.call(X, 1.0)["sum"]
    added = editor.add(
        tgw.edit(str(tmp_path / "saved"), signature="call"), into="saved", connect={"x": "x:0"}
    )
    fed = {"x:0": X, added["shift"]: 1.0}
    np.testing.assert_allclose(editor.session.run(added["sum"], fed), expected, rtol=1e-5)


def test_a_function_is_joined_with_the_calls_in_it_and_has_gradients() -> None:
    module, editor = Scaled(), tgw.example()
    with tf.GradientTape() as tape:
        values = module.call(X, 1.0)["sum"]
        loss = tf.reduce_sum(values)
    expected = tape.gradient(loss, module.scale)
    added = editor.add(module.call, into="scaled", connect={"x": "x:0"})
    fed = {"x:0": X, added["shift:0"]: 1.0}
    np.testing.assert_allclose(editor.session.run(added["sum"], fed), values, rtol=1e-5)
    np.testing.assert_allclose(editor.session.run(added["double"], fed), X * 2)
    with editor.graph.as_default():
        (made,) = tf.gradients(tf.reduce_sum(added["sum"]), list(added.variables))
    np.testing.assert_allclose(editor.session.run(made, fed), expected, rtol=1e-4)


def test_an_edited_function_is_joined_as_it_is_now() -> None:
    module, editor = Scaled(), tgw.example()
    function = tgw.edit(module.call)
    function.set_constant("mul/y:0", 3.0)
    added = editor.add(function, into="scaled", connect={"x": "x:0"})
    np.testing.assert_allclose(editor.session.run(added["double"], {"x:0": X}), X * 3)


def test_another_editor_s_graph_is_joined() -> None:
    one, other = tgw.example(), tgw.example()
    added = one.add(other, into="other", connect={"x:0": "x:0"})
    expected = other.session.run("net/logits:0", {"x:0": X})
    np.testing.assert_allclose(
        one.session.run(added["net/logits:0"], {"x:0": X}), expected, rtol=1e-5
    )


def test_dicts_and_ragged_tensors_are_joined_as_their_tensors() -> None:
    @tf.function
    def nested(inputs: Any) -> Any:
        return {"rows": inputs["rows"] * 2.0, "plus": inputs["x"] + 1.0}

    trace = nested.get_concrete_function(
        {"rows": tf.RaggedTensorSpec([None, None]), "x": tf.TensorSpec([2], name="x")}
    )
    editor = tgw.example()
    added = editor.add(trace, into="nested")
    inputs = [
        editor.graph.get_tensor_by_name(f"nested/{name}")
        for name in tgw.edit(trace)._core.view.body.arguments
    ]
    fed = dict(zip(inputs, ([1.0, 2.0], [0, 2], [5.0, 6.0]), strict=True))
    assert editor.session.run(added["plus"], fed).tolist() == [6.0, 7.0]


def test_refusals_are_one_sentence_and_change_nothing(model: keras.Model) -> None:
    editor = tgw.example()
    names = editor._core.index.names
    for connect, error in (
        ({"feature": "x:0"}, UnknownName),
        ({"features": "nowhere:0"}, UnknownName),
        ({"features": "labels:0"}, NotClonable),
    ):
        with pytest.raises(error):
            editor.add(model, into="net2", connect=connect)
    with pytest.raises(GraphEditError, match="has not been built"):
        editor.add(keras.Sequential([keras.layers.Dense(2)]))
    assert (editor._core.index.names, editor.history.lines) == (names, ())


# Into functions


def two_layers() -> tuple[tf.Graph, Any]:
    """A graph of TensorFlow 1 with a session: y = tanh(x w)."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable(
            "net/w", [4, 2], initializer=v1.initializers.random_uniform(seed=1), use_resource=True
        )
        y = tf.tanh(x @ w, name="y")
        tf.identity(y, name="out")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    return graph, session


def results_of(editor: tgw.GraphEditor, *arguments: Any, **keywords: Any) -> list[np.ndarray]:
    return [
        tensor.numpy() for tensor in tf.nest.flatten(editor.to_module()(*arguments, **keywords))
    ]


@pytest.mark.parametrize("kind", ["graph", "GraphDef", "file", "frozen"])
def test_a_graph_is_joined_to_a_function_with_its_values(kind: str, tmp_path: Path) -> None:
    graph, session = two_layers()
    expected = session.run("y:0", {"x:0": X})
    with graph.as_default():
        prefix = v1.train.Saver().save(session, str(tmp_path / "m"))
        frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    sources: dict[str, Any] = {
        "graph": (graph, {"session": session}),
        "GraphDef": (graph.as_graph_def(), {}),
        "file": (f"{prefix}.meta", {"checkpoint": prefix}),
        "frozen": (frozen, {}),
    }
    source, options = sources[kind]
    module = Scaled()
    editor = tgw.edit(module.inner.get_concrete_function(tf.TensorSpec([None, 4], name="x")))
    before = editor._core.index.names
    joined = editor.add(source, into="second", connect={"x:0": "x:0"}, **options)
    assert joined["y:0"] == "second/y:0"
    assert joined["x"] == "x:0"
    values = results_of(editor, X)
    assert any(
        value.shape == expected.shape and (kind == "GraphDef" or np.allclose(value, expected))
        for value in values
    )
    assert [variable.name for variable in joined.variables] == (
        [] if kind == "frozen" else ["second/net/w:0"]
    )
    editor.undo()
    assert editor._core.index.names == before
    editor.redo()
    assert len(results_of(editor, X)) == len(values)


def test_what_is_not_connected_becomes_arguments_and_results_of_a_function(
    model: keras.Model,
) -> None:
    @tf.function(
        input_signature=[{"a": tf.TensorSpec([None, 4]), "b": tf.RaggedTensorSpec([None, None])}]
    )
    def nested(inputs: Any) -> Any:
        return {"sum": inputs["a"] + 1.0, "rows": inputs["b"] * 2.0}

    editor, module = tgw.edit(nested), Scaled()
    joined = editor.add(module.call, into="other/part")
    assert editor.to_module().parameters[-2:] == ("other_part_x", "other_part_shift")
    given = {"a": X, "b": tf.ragged.constant([[1.0], []])}
    result = editor.to_function()(given, other_part_x=X, other_part_shift=1.0)
    assert list(result) == ["sum", "rows", "other_part_double", "other_part_sum"] or set(
        result
    ) >= {"other_part_sum"}
    np.testing.assert_allclose(result["other_part_double"], X * 2)
    np.testing.assert_allclose(result["sum"], X + 1)
    assert joined.outputs.keys() == {"sum", "double"}


def test_a_keras_model_is_joined_to_another_and_trained_with_it(
    model: keras.Model, tmp_path: Path
) -> None:
    keras.utils.set_random_seed(1)
    first = keras.Sequential([keras.Input([2]), keras.layers.Dense(4, activation="tanh")])
    editor = tgw.edit(first)
    (result,) = editor._core.executor.inputs_and_outputs[1].values()
    joined = editor.add(model, connect={"features": result})
    given = np.ones([3, 2], np.float32)
    module = editor.to_module()
    value = tf.nest.flatten(module(given))[-1]
    np.testing.assert_allclose(value, model(first(given)), rtol=1e-5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nest.flatten(module(given))[-1] ** 2)
    gradients = tape.gradient(loss, module.trainable_variables)
    assert len(gradients) == len(first.trainable_variables) + len(model.trainable_variables)
    assert all(gradient is not None for gradient in gradients)
    for variable in joined.variables:
        variable.assign_add(tf.ones_like(variable))
    assert not np.allclose(tf.nest.flatten(editor.to_module()(given))[-1], value)
    joined.sync()
    np.testing.assert_allclose(tf.nest.flatten(editor.to_module()(given))[-1], value, rtol=1e-5)
    editor.save(tmp_path / "saved/")
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"](
        tf.constant(given)
    )
    assert any(
        np.allclose(each, value, rtol=1e-5) for each in loaded.values() if each.shape == value.shape
    )


def test_a_model_with_a_table_is_joined_to_a_function(tmp_path: Path) -> None:
    words = keras.Sequential(
        [keras.Input((1,), dtype="string"), keras.layers.StringLookup(vocabulary=["a", "b"])]
    )
    words.export(str(tmp_path / "words"), verbose=False)
    given = tf.constant([["b"], ["?"]])
    for source in (words, tmp_path / "words"):
        editor = tgw.edit(
            tf.function(tf.strings.lower, autograph=False),
            signature=[tf.TensorSpec([None, 1], tf.string)],
        )
        ((argument, *_), ends) = editor._core.executor.inputs_and_outputs
        other = tgw.edit(source)
        other.view.leave(0)
        key = (
            next(iter(other.signatures.values())).inputs[0][0]
            if tuple(other.signatures.values())
            else other._core.executor.inputs_and_outputs[0][0]
        )
        editor.add(source, into="ids", connect={key: next(iter(ends.values()))})
        assert argument
        assert results_of(editor, given)[-1].tolist() == [[2], [0]]


def test_what_cannot_be_joined_to_a_function_is_refused_and_nothing_has_changed(
    model: keras.Model,
) -> None:
    graph, module = tf.Graph(), Scaled()
    with graph.as_default(), v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        tf.tanh(x * v1.get_variable("w", initializer=2.0, use_resource=False), name="y")
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(model)
        names = editor._core.index.names
        (features,) = (
            name for name in editor._core.executor.inputs_and_outputs[0] if "features" in name
        )
        for source, connect, error, words in (
            (
                model,
                {"feature": features},
                UnknownName,
                "names 'feature', and what is added has no such tensor or argument",
            ),
            (model, {"features": "nowhere:0"}, UnknownName, "no op 'nowhere'"),
            (
                module.call,
                {"shift": features},
                NotClonable,
                "connect a tensor of the same dtype and shape",
            ),
            (
                tgw.edit(graph, session=session),
                {"x": features},
                NotClonable,
                "reference variable, which no function",
            ),
        ):
            with pytest.raises(error) as refused:
                editor.add(source, into="net2", connect=connect)
            assert words in str(refused.value)
            assert str(refused.value).count(". ") <= 1
            assert (editor._core.index.names, editor.history.lines) == (names, ())
