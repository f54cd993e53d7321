"""New layers and heads in functions and Keras models: their variables are trained, saved, frozen
with the old ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget import GraphEditor
from tfgraphwidget.errors import GraphEditError

keras = tf.keras
X = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")


def sequential() -> Any:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, activation="relu", name="first"),
            layers.BatchNormalization(name="norm"),
            layers.Dense(3, name="last"),
        ]
    )


def functional() -> Any:
    keras.utils.set_random_seed(0)
    x = keras.Input((4,), name="x")
    y = keras.layers.Dense(8, activation="relu", name="first")(x)
    return keras.Model(x, keras.layers.Dense(3, name="last")(y))


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.last(self.first(x))


def subclassed() -> Any:
    keras.utils.set_random_seed(0)
    model = Subclassed()
    model(X)
    return model


MODELS = pytest.mark.parametrize("model", [sequential, functional, subclassed])


def relu(editor: GraphEditor) -> str:
    return next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Relu"
    )


def scaled() -> tf.Module:
    module = tf.Module()
    module.scale = tf.Variable(3.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def call(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.nn.relu(x * module.scale, name="relu")}

    module.call = call
    return module


@MODELS
def test_a_layer_that_is_inserted_is_trained_with_the_model(model: Any) -> None:
    keras_model = model()
    editor = tgw.edit(keras_model)
    layer = keras.layers.Dense(8, kernel_initializer="identity", name="extra")
    editor.insert(relu(editor), layer)
    module = editor.to_module()
    np.testing.assert_allclose(module(X), keras_model(X), atol=1e-6)
    old = {variable.value.name for variable in keras_model.trainable_variables}
    assert {v.name for v in module.trainable_variables} == old | {"extra/kernel:0", "extra/bias:0"}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(X) ** 2)
    gradients = tape.gradient(loss, module.trainable_variables)
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)
    layer.kernel.assign(2 * layer.kernel)  # the layer's own variable
    assert np.abs(module(X) - keras_model(X)).max() > 0.1


def test_undo_takes_a_layer_away_and_redo_brings_it_back_with_its_variables() -> None:
    model = sequential()
    editor = tgw.edit(model)
    editor.insert(relu(editor), keras.layers.Dense(8, name="extra"))
    wide = editor.to_module()(X)
    editor.undo()
    np.testing.assert_allclose(editor.to_module()(X), model(X), atol=1e-6)
    editor.redo()
    np.testing.assert_allclose(editor.to_module()(X), wide, atol=1e-6)


@MODELS
def test_a_head_is_a_further_result_and_learns_next_to_the_old_one(
    model: Any, tmp_path: Path
) -> None:
    keras_model = model()
    editor = tgw.edit(keras_model)
    head = editor.call(relu(editor), keras.layers.Dense(5, name="head"))
    assert [variable.name for variable in head.variables] == ["head/kernel:0", "head/bias:0"]
    module = editor.to_module()
    optimizer, losses = keras.optimizers.SGD(0.1), []
    before = keras_model(X).numpy()
    for _ in range(4):
        with tf.GradientTape() as tape:
            losses.append(tf.reduce_mean((module(X)[1] - 1) ** 2))
        optimizer.apply_gradients(
            zip(tape.gradient(losses[-1], head.variables), head.variables, strict=True)
        )
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(module(X)[0], before, atol=1e-6)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_allclose(
        loaded.signatures["serving_default"](tf.constant(X))["head"], module(X)[1], atol=1e-6
    )
    editor.save(f"{tmp_path}/edited/")
    again = tf.saved_model.load(str(tmp_path / "edited"))
    np.testing.assert_allclose(again(tf.constant(X))[1], module(X)[1], atol=1e-6)


def test_keras_exports_a_model_with_a_new_head(tmp_path: Path) -> None:
    editor = tgw.edit(sequential())
    editor.call(relu(editor), keras.layers.Dense(5, name="head"))
    module = editor.to_module()
    archive = keras.export.ExportArchive()
    archive.track(module)
    archive.add_endpoint("serve", module.run)
    archive.write_out(str(tmp_path / "archive"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "archive"))
    np.testing.assert_allclose(loaded.serve(X)[1], module(X)[1], atol=1e-6)


def test_a_checkpoint_of_the_module_has_the_old_variables_and_the_new_ones(tmp_path: Path) -> None:
    editor = tgw.edit(functional())
    head = editor.call(relu(editor), keras.layers.Dense(5, name="head"))
    module = editor.to_module()
    path = tf.train.Checkpoint(module=module).save(str(tmp_path / "checkpoint"))
    value = head.variables[0].numpy()
    head.variables[0].assign(tf.zeros_like(value))
    tf.train.Checkpoint(module=module).restore(path)
    np.testing.assert_array_equal(head.variables[0].numpy(), value)


def test_another_head_takes_the_place_of_the_old_one() -> None:
    model = sequential()
    editor = tgw.edit(model)
    op = next(name for name in editor._core.index.names if name.endswith("last_1/MatMul"))
    editor.replace(op.rpartition("/")[0], keras.layers.Dense(7, name="head"), remove=True)
    module = editor.to_module()
    assert module(X).shape == (5, 7)
    names = [variable.name for variable in module.variables]
    assert names[-2:] == ["head/kernel:0", "head/bias:0"]
    assert not any("last" in name for name in names)


def test_a_function_makes_variables_of_what_it_computes() -> None:
    module = scaled()
    editor = tgw.edit(module.call)
    editor.insert("relu:0", lambda y: y * tf.Variable(tf.ones([2]) * 2, name="twice"))
    edited = editor.to_module()
    assert edited(tf.ones([1, 2]))["y"].numpy().tolist() == [[6, 6]]
    assert [variable.name for variable in edited.trainable_variables] == ["scale:0", "twice:0"]
    assert edited.trainable_variables[0] is module.scale


def test_a_function_with_several_outputs_adds_as_many_results() -> None:
    editor = tgw.edit(scaled().call)
    two = editor.call(
        ["relu:0", "x:0"], lambda a, b: (a + b, tf.compat.v1.get_variable("q", [2]) * a), into="two"
    )
    assert two.outputs == ("two/add:0", "two/mul:0")
    assert editor.to_module().signature(tf.ones([1, 2])).keys() == {"y", "two", "two_1"}


def test_a_clone_has_a_copy_of_a_new_layer_s_variables() -> None:
    editor = tgw.edit(sequential())
    layer = keras.layers.Dense(8, name="extra")
    editor.insert(relu(editor), layer)
    copy = editor.clone(outputs="Identity", into="copy")
    same = editor.to_module()(X).numpy()
    layer.kernel.assign(3 * layer.kernel)
    np.testing.assert_allclose(copy(X), same, atol=1e-6)


def test_a_new_layer_is_run_compared_and_frozen() -> None:
    editor = tgw.edit(sequential())
    editor.insert(relu(editor), keras.layers.Dense(8, name="extra"))
    trained = editor.to_module()(X)
    feeds = {editor._core.view.body.arguments[0]: X}
    assert editor.probe("Identity:0", feeds)
    assert editor.compare(feeds).largest > 0
    editor.freeze()
    frozen = editor.to_module()
    assert not frozen.variables
    np.testing.assert_allclose(frozen(X), trained, atol=1e-6)


def test_a_layer_that_does_not_fit_is_refused_and_leaves_nothing() -> None:
    editor = tgw.edit(sequential())
    before = editor._core.index.names
    with pytest.raises(GraphEditError, match="dimensions must be equal, but are 9 and 8"):
        editor.insert(relu(editor), keras.layers.Dense(9))
    with pytest.raises(GraphEditError, match="ZeroDivisionError"):
        editor.call(relu(editor), lambda x: x / (1 // 0))
    assert editor._core.index.names == before


def test_a_table_that_a_function_makes_is_refused_with_a_way_out() -> None:
    def looked_up(x: tf.Tensor) -> tf.Tensor:
        keys = tf.lookup.KeyValueTensorInitializer(["a"], [7.0])
        return x * tf.lookup.StaticHashTable(keys, 0.0).lookup(tf.constant("a"))

    with pytest.raises(GraphEditError, match="make the table before"):
        tgw.edit(scaled().call).insert("relu:0", looked_up)


def test_a_tensor_that_a_function_reads_from_outside_goes_along() -> None:
    weights = tf.constant([2.0, 5.0])
    editor = tgw.edit(scaled().call)
    editor.insert("relu:0", lambda y: y * weights)
    assert editor.to_module()(tf.ones([1, 2]))["y"].numpy().tolist() == [[6, 15]]


def test_a_layer_goes_into_a_graph_of_tensorflow_1_too() -> None:
    editor = tgw.example()
    head = editor.call("net/hidden/Relu:0", keras.layers.Dense(5, name="head"))
    width = editor.graph.get_tensor_by_name("x:0").shape[-1]
    assert editor.session.run(head.outputs, {"x:0": np.ones((1, width))}).shape == (1, 5)


# Keras models again


def branched() -> Any:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = keras.Input((4,), name="x")
    y = layers.Dense(8, activation="relu", name="first")(x)
    z = keras.ops.tanh(layers.Add()([layers.Dropout(0.5)(y), y])) + 1.0
    return keras.Model(x, {"last": layers.Dense(3, name="last")(z), "hidden": y})


def names(model: Any) -> list[str]:
    return [layer.name for layer in model.layers if not isinstance(layer, keras.layers.InputLayer)]


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # of Keras's saver
def test_layers_that_were_inserted_are_layers_of_a_keras_model_that_is_saved(
    tmp_path: Path,
) -> None:
    model = sequential()
    editor = tgw.edit(model)
    editor.insert(relu(editor), keras.layers.Dense(8, name="near"))
    editor.insert(relu(editor), keras.layers.Dense(8, name="nearer"))
    editor.call(relu(editor), keras.layers.Dense(2, name="head"))
    again = editor.to_keras()
    assert names(again) == ["first", "nearer", "near", "norm", "last", "head"]
    assert again.get_layer("first") is model.get_layer("first")
    for one, other in zip(again(X), editor.to_module()(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    again.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(X)[1], again(X)[1], atol=1e-6)


def with_relu_layer() -> Any:
    keras.utils.set_random_seed(0)
    dense, relu_layer = keras.layers.Dense, keras.layers.ReLU
    return keras.Sequential(
        [keras.Input((4,)), dense(8, name="first"), relu_layer(name="relu"), dense(3, name="last")]
    )


def noise(name: str) -> Any:
    return keras.layers.GaussianNoise(0.5, name=name, seed=1)


def test_a_layer_that_does_something_only_in_training_is_a_layer_of_the_model() -> None:
    """Outside of training it gives back what it is given, so no op of the graph is its own."""
    model = sequential()
    editor = tgw.edit(model)
    editor.insert(relu(editor), noise("late"))
    editor.insert(relu(editor), noise("early"))
    editor.insert(editor.inputs[0], noise("first_of_all"))
    again = editor.to_keras()
    assert names(again) == ["first_of_all", "first", "early", "late", "norm", "last"]
    np.testing.assert_allclose(again(X), model(X), atol=1e-6)
    assert not np.allclose(again(X, training=True), again(X, training=True))
    editor.undo()
    assert names(editor.to_keras()) == ["first", "early", "late", "norm", "last"]


def test_a_model_with_layers_of_augmentation_is_rebuilt() -> None:
    """These do something in a call that does not say whether it is training, too."""
    layers = [keras.layers.RandomFlip(), keras.layers.Conv2D(2, 3), keras.layers.ReLU(name="relu")]
    model = keras.Sequential([keras.Input((6, 6, 3)), *layers])
    editor = tgw.edit(model)
    editor.insert(editor.find("type:Relu").outputs, noise("noise"))
    again = editor.to_keras()
    assert names(again)[-2:] == ["relu", "noise"]
    images = np.random.default_rng(0).normal(size=(4, 6, 6, 3)).astype(np.float32)
    np.testing.assert_allclose(
        again(images, training=False), model(images, training=False), atol=1e-6
    )


@pytest.mark.parametrize("remove", [False, True])
def test_a_layer_that_does_something_only_in_training_takes_the_place_of_another(
    remove: bool,
) -> None:
    editor = tgw.edit(with_relu_layer())
    editor.replace(relu(editor), noise("noise"), remove=remove)
    again = editor.to_keras()
    assert names(again) == ["first", "noise", "last"]
    np.testing.assert_allclose(again(X), editor.to_module()(X), atol=1e-6)


def test_a_layer_by_which_a_pattern_is_replaced_is_refused_in_layers() -> None:
    editor = tgw.edit(with_relu_layer())
    editor.replace_all("Relu(x)", noise("noise"))
    with pytest.raises(GraphEditError, match="it adds ops that are of no layer"):
        editor.to_keras()


def test_a_model_with_branches_stays_one() -> None:
    editor = tgw.edit(branched())
    editor.insert(relu(editor), keras.layers.Dense(8, name="extra"))
    editor.call(relu(editor), keras.layers.Dense(2, name="head"))
    again = editor.to_keras()
    results, expected = again(X), editor.to_module().signature(X)
    assert set(results) == {"last", "hidden", "head"}
    for key in results:
        np.testing.assert_allclose(results[key], expected[key], atol=1e-6)


def test_a_layer_that_is_bypassed_or_replaced_is_none_of_the_model() -> None:
    editor = tgw.edit(sequential())
    editor.bypass(
        next(name for name in editor._core.index.names if "norm_1/" in name).partition("norm_1/")[0]
        + "norm_1"
    )
    last = next(
        name for name in editor._core.index.names if name.endswith("last_1/MatMul")
    ).rpartition("/")[0]
    editor.replace(last, keras.layers.Dense(7, name="head"), remove=True)
    again = editor.to_keras()
    assert names(again) == ["first", "head"]
    again.compile("sgd", "mse")
    again.fit(X, np.ones((5, 7)), verbose=0)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda editor: editor.freeze(), "it changes the op"),
        (
            lambda editor: editor.insert(relu(editor), tf.nn.tanh),
            "the function is not a keras.layers.Layer",
        ),
        (lambda editor: editor.bypass(relu(editor)), "is inside of a layer"),
    ],
)
def test_an_edit_that_layers_cannot_say_is_refused_with_the_reason(edit: Any, why: str) -> None:
    editor = tgw.edit(sequential())
    edit(editor)
    with pytest.raises(
        GraphEditError, match=rf"cannot be said in layers: .*{why}.*editor\.to_module\(\)"
    ):
        editor.to_keras()


def test_what_is_no_functional_model_has_no_layers_to_say_edits_in() -> None:
    with pytest.raises(GraphEditError, match="not opened on a Keras model"):
        tgw.edit(scaled().call).to_keras()
    with pytest.raises(GraphEditError, match="a subclass whose call is Python"):
        tgw.edit(subclassed()).to_keras()


def test_the_custom_gradient_of_a_new_layer_is_that_of_keras() -> None:
    model = functional()
    editor = tgw.edit(model)
    layer = keras.layers.Dense(8, activation="silu", name="extra")
    editor.insert(relu(editor), layer)
    head = editor.call(relu(editor), keras.layers.Dense(2, activation="silu", name="head"))
    module, x = editor.to_module(), tf.constant(X)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(x)[0] ** 2) + tf.reduce_sum(module(x)[1] ** 2)
    gradients = tape.gradient(
        loss, [*(v.value for v in layer.trainable_variables), *head.variables]
    )
    again = editor.to_keras()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(again(x)[0] ** 2) + tf.reduce_sum(again(x)[1] ** 2)
    expected = tape.gradient(loss, [*(v.value for v in layer.trainable_variables), *head.variables])
    assert len(gradients) == 4
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def branches() -> Any:
    one, other = keras.Input((6,)), keras.Input((3,))
    joined = keras.layers.Concatenate()([keras.layers.Dense(4)(one), other])
    return keras.Model([one, other], [keras.layers.Dense(3)(joined), keras.layers.Dense(1)(joined)])


def named_ends() -> Any:
    one, other = keras.Input((6,), name="a"), keras.Input((3,), name="b")
    shared = keras.layers.Dense(5)
    deep = keras.layers.Dense(3)(keras.layers.ReLU()(shared(one)))
    joined = keras.layers.Add()([deep, other])
    return keras.Model(
        {"a": one, "b": other}, {"joined": joined, "shared": shared(one), "deep": deep * 2.0}
    )


@pytest.mark.parametrize("model", [branches, named_ends])
def test_a_model_of_several_outputs_is_rebuilt(model: Callable[[], Any]) -> None:
    original = model()
    x = [np.ones((2, 6), np.float32), np.ones((2, 3), np.float32)]
    feeds = dict(zip(("a", "b"), x, strict=True)) if isinstance(original.input, dict) else x
    expected = keras.tree.flatten(original(feeds))
    editor = tgw.edit(original)
    for each, result in zip(expected, keras.tree.flatten(editor.to_keras()(feeds)), strict=True):
        np.testing.assert_array_equal(each, result)


def test_a_model_with_a_state_is_said_in_layers_and_keeps_it() -> None:
    keras.utils.set_random_seed(0)
    x = keras.Input(batch_shape=(2, 5, 3))
    y = keras.layers.LSTM(4, stateful=True, name="recurrent")(x)
    model = keras.Model(x, keras.layers.Dense(2, name="last")(y))
    batch = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    model(batch)
    states = [state.numpy() for state in model.get_layer("recurrent").states]
    editor = tgw.edit(model)
    editor.insert(editor.find("last").outputs[0], keras.layers.ReLU(name="new"))
    again = editor.to_keras()
    for state, before in zip(model.get_layer("recurrent").states, states, strict=True):
        assert np.array_equal(state.numpy(), before)
    expected = editor.to_module()(batch)
    for state, before in zip(model.get_layer("recurrent").states, states, strict=True):
        assert not np.array_equal(state.numpy(), before)
        state.assign(before)
    assert np.allclose(again(batch), expected, atol=1e-6)
