"""A model beside what TensorFlow Lite's converter made of it: tensors are paired, and compared."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.graph import ORIGINS
from tfgraphwidget.runtime.measure import Comparison

v1 = tf.compat.v1
layers = keras.layers
SIZE = 16
CONVERSIONS = ("float32", "float16", "dynamic", "integers")


def image_model() -> keras.Model:
    """A residual block, with all that a converter joins: bias, batch norm, activations."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.Conv2D(8, 3, padding="same", name="conv")(image)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.ReLU(6.0, name="relu6")(x)
    y = layers.DepthwiseConv2D(3, padding="same", activation="relu", name="depthwise")(x)
    x = layers.Activation("swish", name="swish")(layers.Add(name="sum")([x, y]))
    x = layers.Concatenate(name="joined")([layers.MaxPooling2D()(x), layers.AveragePooling2D(2)(x)])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    outputs = [
        layers.Dense(5, activation="softmax", name="scores")(x),
        layers.Dense(1, activation="tanh", name="angle")(x),
    ]
    return keras.Model(image, outputs)


class Lowered(layers.Layer):
    """Ops that a converter makes several of, and others that it has by other names."""

    def call(self, x: tf.Tensor) -> list[tf.Tensor]:
        values, places = tf.math.top_k(x, 3)
        chosen = tf.where(x > 0.5, x, -tf.cumsum(x, axis=1))
        first, second = tf.split(tf.gather(chosen, [0, 2, 1, 3], axis=1), 2, axis=1)
        return [
            tf.nn.softplus(x),
            tf.nn.selu(tf.nn.softplus(x)),
            values + tf.cast(places, tf.float32),
            tf.reduce_max(tf.stack([first, second], 1), 1),
            tf.pow(tf.abs(x[:, 1:5:2]) + 1.0, 1.5),
            tf.nn.log_softmax(x),
            tf.math.squared_difference(x, 0.5),
        ]


def lowered_model() -> keras.Model:
    """One layer of such ops."""
    rows = keras.Input((8,), name="rows")
    return keras.Model(rows, Lowered(name="lowered")(rows))


def residual_model() -> keras.Model:
    """Batch norms that are folded into convolutions, with and without a bias, before a sum."""
    x = image = keras.Input((8, 8, 8), name="image")
    for k, has_bias in enumerate((True, False)):
        y = layers.Conv2D(8, 3, padding="same", use_bias=has_bias, name=f"conv_{k}")(x)
        y = layers.BatchNormalization(name=f"norm_{k}")(y)
        x = layers.ReLU(name=f"relu_{k}")(layers.Add(name=f"sum_{k}")([x, y]))
    x = layers.BatchNormalization(name="last")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, activation="relu", name="larger")(x)
    return keras.Model(image, layers.Dense(4, name="out")(layers.Flatten()(x)))


def two_inputs() -> keras.Model:
    """Two inputs of the same shape."""
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    x = layers.Dense(6, activation="relu", name="left")(a)
    y = layers.Dense(6, activation="sigmoid", name="right")(b)
    product = layers.Multiply(name="product")([x, y])
    return keras.Model([a, b], layers.Dense(2, name="out")(layers.Subtract()([product, x])))


def attention_model() -> keras.Model:
    """What a converter lowers to several operators each: Einsum, LayerNorm, GELU."""
    tokens = keras.Input((6, 8), name="tokens")
    x = layers.LayerNormalization(name="norm")(tokens)
    x = layers.Add(name="sum")([tokens, layers.MultiHeadAttention(2, 4, name="attention")(x, x)])
    y = layers.Dense(8, name="out")(layers.Dense(16, activation="gelu", name="hidden")(x))
    return keras.Model(tokens, layers.LayerNormalization(name="last")(layers.Add()([x, y])))


MODELS: dict[str, Callable[[], keras.Model]] = {
    "image": image_model,
    "two inputs": two_inputs,
    "attention": attention_model,
    "lowered": lowered_model,
    "residual": residual_model,
}


def with_values(model: keras.Model) -> keras.Model:
    """The model, with values that are not those of an initializer: zeros hide a wrong pair."""
    random = np.random.default_rng(0)
    for variable in model.variables:
        if variable.dtype == "float32":
            spread = random.uniform(0.5, 1.5, variable.shape)
            is_scale = variable.path.endswith(("gamma", "variance"))
            value = spread if is_scale else (spread - 1) * 0.8
            variable.assign(value.astype(np.float32))
    return model


def feeds_of(model: keras.Model, batch: int = 1, seed: int = 1) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        each.name: random.uniform(-1, 1, (batch, *each.shape[1:])).astype(np.float32)
        for each in model.inputs
    }


def convert(converter: Any, model: keras.Model, conversion: str) -> bytes:
    if conversion != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if conversion == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if conversion == "integers":
        converter.representative_dataset = lambda: (
            feeds_of(model, seed=seed)
            for seed in range(64)  # the ranges of integers are theirs
        )
    with warnings.catch_warnings():  # the converter uses an interpreter that is to move
        warnings.filterwarnings("ignore", "(?s).*tf.lite.Interpreter is deprecated")
        data: bytes = converter.convert()
    return data


def operators(file: Path) -> list[str]:
    """The operators of a TensorFlow Lite model that compute something from its inputs."""
    nodes = tgw.edit(file)._core.index.nodes
    return [node.name for node in nodes if ORIGINS in node.attr]


def numbers_by_tensor(comparison: Comparison) -> dict[str, float]:
    """How far tensors of numbers are apart, by their scale."""
    return {each.name: each.scaled for each in comparison if each.scaled is not None}


@pytest.mark.sample(4)
@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("name", MODELS)
def test_no_tensor_is_paired_with_another_one(name: str, conversion: str, tmp_path: Path) -> None:
    """A wrong pair would differ, as all values are random."""
    keras.utils.set_random_seed(0)
    model = with_values(MODELS[name]())
    folder, file = tmp_path / "saved", tmp_path / "model.tflite"
    model.export(folder, verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder))
    file.write_bytes(convert(converter, model, conversion))

    feeds = feeds_of(model, batch=2)
    here = tgw.edit(folder).compare(feeds, file, "all")
    there = tgw.edit(file).compare(
        {f"serving_default_{key}": value for key, value in feeds.items()}, folder, "all"
    )
    assert here.first_divergence is None or conversion == "integers"
    assert there.first_divergence is None or conversion == "integers"
    assert max(numbers_by_tensor(here).values()) < (0.6 if conversion == "integers" else 0.05)
    if conversion == "float32":
        computed = {each.other.rpartition(":")[0] for each in here}
        missed = [op for op in operators(file) if op not in computed]
        # Of an op that became several operators the last one gives its value.
        assert len(missed) <= {"lowered": 10, "attention": 8}.get(name, 0), missed


@pytest.mark.sample(1)
@pytest.mark.parametrize("wrong", ["conv", "depthwise", "scores"])
def test_the_operator_whose_weights_are_wrong_is_named(wrong: str, tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    model = with_values(image_model())
    folder, file = tmp_path / "saved", tmp_path / "model.tflite"
    model.export(folder, verbose=False)
    data = tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert()
    file.write_bytes(data)
    nodes = {node.name: node for node in tgw.edit(file)._core.index.nodes}
    op = next(
        op
        for op in operators(file)
        if any(f"/{wrong}_1/".encode() in origin for origin in nodes[op].attr[ORIGINS].list.s)
    )
    content = nodes[f"{op}/weights"].attr["value"].tensor.tensor_content
    assert data.count(content) == 1
    values = np.frombuffer(content, np.float32).copy()
    values[: len(values) // 2] *= -1
    file.write_bytes(data.replace(content, values.tobytes()))

    compared = tgw.edit(folder).compare(feeds_of(model), file, "all")
    first = compared.first_divergence
    assert first is not None
    assert first.difference.other == f"{op}:0"
    assert all(not each.differs for each in first.inputs)


def test_what_was_converted_is_one_sentence(tmp_path: Path) -> None:
    model = with_values(two_inputs())
    folder, file = tmp_path / "saved", tmp_path / "model.tflite"
    model.export(folder, verbose=False)
    file.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert())
    both = tgw.beside(folder, file, feeds=feeds_of(model))
    assert both.refusal == ""
    text = repr(both.difference)
    assert "converted: " in text
    assert not both.difference.rest.changed
    assert not both.difference.rest.added
    page = both.save(tmp_path / "both.html")
    assert b"FULLY_CONNECTED" in page.read_bytes() or page.stat().st_size > 100_000


def test_what_else_a_saved_model_holds_is_no_difference(tmp_path: Path) -> None:
    """Savers, initializers, reads of variables; but what computes a result of its inputs is one."""
    model = with_values(two_inputs())
    folder, file = tmp_path / "saved", tmp_path / "model.tflite"
    model.export(folder, verbose=False)
    file.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert())
    whole = tgw.edit(folder)
    whole.view.leave(0)
    for found, what in (
        (tgw.edit(file).diff(whole), "left out"),
        (whole.diff(file), "added"),
    ):
        assert re.search(rf"; \d+ ops that no other needs were {what}\n", repr(found))
        assert not [row for row in found.rest.rows() if row["what"] == "op"]
        assert not found.signatures.changed
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        result = tf.nn.relu(2.0 * x, name="result")
        tf.tanh(x, name="other")
        file.write_bytes(v1.lite.TFLiteConverter.from_session(session, [x], [result]).convert())
    assert tgw.edit(file).diff(graph).rest.removed == ("other",)


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", ["keras", "session", "function", "frozen"])
def test_each_way_to_convert_keeps_names_that_are_found(source: str, tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    if source == "keras":
        model = with_values(
            keras.Sequential([keras.Input((4,), name="x"), layers.Dense(3, "relu", name="dense")])
        )
        file.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
        editor = tgw.edit(model)
    elif source == "function":
        weights = tf.Variable(np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3))

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def call(x: tf.Tensor) -> tf.Tensor:
            with tf.name_scope("net"):
                return tf.nn.relu(tf.matmul(x, weights) + 0.5, name="out")

        function = call.get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function], call)
        file.write_bytes(converter.convert())
        editor = tgw.edit(call)
    else:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            fed = v1.placeholder(tf.float32, [None, 4], name="x")
            weights = v1.get_variable("w", [4, 3], use_resource=source == "frozen")
            out = tf.nn.relu(tf.matmul(fed, weights) + 0.5, name="net/out")
            session.run(v1.global_variables_initializer())
            converter = v1.lite.TFLiteConverter.from_session(session, [fed], [out])
            file.write_bytes(converter.convert())
            editor = tgw.edit(graph, session=session)
            if source == "frozen":
                editor.save(tmp_path / "frozen.pb", outputs=["net/out:0"], frozen=True)
                editor = tgw.edit(tmp_path / "frozen.pb")
            compared = editor.compare({"x:0": x}, file, "all")
            assert not compared
            assert len(compared) >= 2
            return
    compared = editor.compare({"x:0": x}, file, "all")
    assert not compared
    assert len(compared) >= 2


def test_a_loop_of_which_the_converter_took_outputs_is_no_divergence(tmp_path: Path) -> None:
    """It has the others in another order, and no memory for those that nothing consumes."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((6, 4), batch_size=1, name="rows"),
            layers.Conv1D(4, 3, padding="causal", name="conv"),
            layers.LSTM(5, name="lstm"),
            layers.Dense(2, name="out"),
        ]
    )
    spec = tf.TensorSpec([1, 6, 4], tf.float32, name="rows")
    concrete = tf.function(lambda rows: [model(rows)]).get_concrete_function(spec)
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    file = tmp_path / "model.tflite"
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    file.write_bytes(convert(converter, model, "float32"))
    feeds = feeds_of(model)
    found = tgw.edit(model).compare(feeds, file, "all")
    assert not found
    assert not found.notes
    assert "Identity:0" in found.matched
    difference = tgw.edit(file).diff(model)
    assert not difference.rest.inside
    assert not any("strided_slice_1" in name for name in difference.rest.removed)  # none needs it
    kernel = model.get_layer("lstm").cell.recurrent_kernel
    kernel.assign(kernel + 0.5)
    assert tgw.edit(model).compare(feeds, file, "all")


def test_what_an_input_of_integers_rounds_is_no_divergence(tmp_path: Path) -> None:
    model = with_values(two_inputs())
    folder, file = tmp_path / "saved", tmp_path / "model.tflite"
    model.export(folder, verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    file.write_bytes(convert(converter, model, "integers"))
    compared = tgw.edit(folder, signature="serving_default").compare(feeds_of(model), file, "all")
    inputs = [each for each in compared if each.name in ("a:0", "b:0")]
    assert len(inputs) == 2
    assert not any(each.same or each.differs for each in inputs)
    assert compared.first_divergence is None


def test_a_model_of_tensorflow_lite_is_not_edited(tmp_path: Path) -> None:
    """No edit of it could be saved or run."""
    model = with_values(two_inputs())
    file = tmp_path / "model.tflite"
    file.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    editor = tgw.edit(file)
    op = operators(file)[0]
    edits: list[Callable[[tgw.GraphEditor], object]] = [
        lambda editor: editor.rename(op, "renamed"),
        lambda editor: editor.clone(op, op, into="copy"),
        lambda editor: editor.passes.change_batch_size(8),
        lambda editor: editor.signatures.remove("serving_default"),
        lambda editor: editor.preview(editor.rename, op, "renamed"),
    ]
    for edit in edits:
        with pytest.raises(NotRunnable, match="edit the model that it was converted from"):
            edit(editor)
    assert not editor.history.done
    feeds = {
        tensor: np.ones((1, 4), np.float32)
        for _, tensor in editor.signatures["serving_default"].inputs
    }
    assert not editor.compare(feeds, file, "all")


def test_nothing_is_marked_in_what_is_looked_at(tmp_path: Path) -> None:
    """The marks of a signature select all that is between, and that hides other colors."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = tf.nn.relu(x * 2.0, name="y")
        v1.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converter = v1.lite.TFLiteConverter.from_session(session, [x], [y])
            (tmp_path / "model.tflite").write_bytes(converter.convert())
    assert tgw.edit(tmp_path / "saved").selection is not None
    assert tgw.edit(tmp_path / "model.tflite").selection is None
    both = tgw.beside(tmp_path / "saved", tmp_path / "model.tflite")
    assert both.before.selection is None
    editor = tgw.edit(tmp_path / "saved")
    assert tgw.beside(editor, tmp_path / "model.tflite").before.selection is not None
