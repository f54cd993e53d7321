"""`add` joins Keras models, Keras exports and functions to a graph, with their values, by the names of arguments."""

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
    outputs = keras.layers.Dense(3, name="out")(keras.layers.BatchNormalization(name="norm")(hidden))
    return keras.Model(inputs, outputs, name="net")


class Scaled(tf.Module):
    """Functions of one module: one calls another, and all read one variable."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0, 3.0, 4.0], name="scale")

    @tf.function
    def inner(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x * self.scale)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x"), tf.TensorSpec([], name="shift")])
    def call(self, x: tf.Tensor, shift: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"sum": self.inner(self.inner(x)) + shift, "double": x * 2}


def test_a_keras_model_is_joined_by_its_argument_s_name(model: keras.Model) -> None:
    editor, expected = tgw.example(), model(X)
    added = editor.add(model, into="net2", connect={"features": "x:0"})
    np.testing.assert_allclose(editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6)
    assert {v.op.name for v in added.variables} == {f"net2/{v.path}" for v in model.variables}
    assert editor.undo().startswith("net2 = editor.add(")
    assert not [name for name in editor.index.names if name.startswith("net2/")]
    editor.redo()
    np.testing.assert_allclose(editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6)


def test_the_joined_model_is_trained_with_the_graph(model: keras.Model) -> None:
    editor = tgw.example()
    added = editor.add(model, connect={"features": "x:0"})
    with editor.graph.as_default():
        loss = tf.reduce_mean(added["output_0"] ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=list(added.variables))
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
    np.testing.assert_allclose(editor.session.run(added["output_0"], {"x:0": X}), expected, rtol=1e-5, atol=1e-6)
    assert len(added.variables) >= len(model.variables)


def test_a_saved_module_with_several_signatures_is_joined(tmp_path: Path) -> None:
    module = Scaled()
    single = tf.function(lambda x: {"y": x * module.scale}, autograph=False)
    spec = tf.TensorSpec([None, 4], name="x")
    signatures = {"call": module.call.get_concrete_function(), "single": single.get_concrete_function(spec)}
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=signatures)
    editor = tgw.example()
    expected = module.call(X, 1.0)["sum"]
    added = editor.add(tgw.edit(str(tmp_path / "saved"), signature="call"), into="saved", connect={"x": "x:0"})
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
    np.testing.assert_allclose(one.session.run(added["net/logits:0"], {"x:0": X}), expected, rtol=1e-5)


def test_dicts_and_ragged_tensors_are_joined_as_their_tensors() -> None:
    @tf.function
    def nested(inputs: Any) -> Any:
        return {"rows": inputs["rows"] * 2.0, "plus": inputs["x"] + 1.0}

    trace = nested.get_concrete_function({"rows": tf.RaggedTensorSpec([None, None]), "x": tf.TensorSpec([2], name="x")})
    editor = tgw.example()
    added = editor.add(trace, into="nested")
    inputs = [editor.graph.get_tensor_by_name(f"nested/{name}") for name in tgw.edit(trace).core.view.body.arguments]
    fed = dict(zip(inputs, ([1.0, 2.0], [0, 2], [5.0, 6.0]), strict=True))
    assert editor.session.run(added["plus"], fed).tolist() == [6.0, 7.0]


def test_refusals_are_one_sentence_and_change_nothing(model: keras.Model) -> None:
    editor = tgw.example()
    names = editor.index.names
    for connect, error in (
        ({"feature": "x:0"}, UnknownName),
        ({"features": "nowhere:0"}, UnknownName),
        ({"features": "labels:0"}, NotClonable),
    ):
        with pytest.raises(error):
            editor.add(model, into="net2", connect=connect)
    with pytest.raises(GraphEditError, match="has not been built"):
        editor.add(keras.Sequential([keras.layers.Dense(2)]))
    assert (editor.index.names, editor.lines) == (names, ())
