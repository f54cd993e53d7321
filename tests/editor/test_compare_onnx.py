"""A model beside what tf2onnx made of it: tensors are paired, turned, and compared."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import numpy_helper

import tfgraphwidget as tgw
from tests.editor.test_compare_lite import (
    attention_model,
    feeds_of,
    image_model,
    lowered_model,
    numbers_by_tensor,
    operators,
    residual_model,
    two_inputs,
    with_values,
)

v1 = tf.compat.v1
layers = keras.layers
ROUNDING = 1e-4  # of the scale: less than any wrong pair is apart


def one_channel() -> keras.Model:
    """A transposition of one channel is a new shape."""
    image = keras.Input((8, 8, 1), name="image")
    x = layers.Conv2D(4, 3, name="conv")(image)
    x = layers.Conv2DTranspose(1, 3, activation="relu", name="larger")(x)
    x = layers.Reshape((64,))(layers.Permute((3, 1, 2), name="turned")(x))
    return keras.Model(image, layers.Dense(3, name="out")(x))


def square() -> keras.Model:
    """A transposition of the model's own, between convolutions, of axes of one length."""
    image = keras.Input((8, 8, 8), name="image")
    x = layers.Conv2D(8, 3, padding="same", name="conv")(image)
    x = layers.ReLU(name="relu")(keras.ops.transpose(x, (0, 2, 1, 3)))
    x = keras.ops.sum(layers.Conv2D(8, 1, name="second")(x), axis=1)
    return keras.Model(image, keras.ops.softmax(x, axis=1))


def recurrent() -> keras.Model:
    """Steps of which each reads one of several outputs, and loops that become one operator."""
    steps = keras.Input((5, 4), name="steps")
    x = layers.LSTM(6, return_sequences=True, unroll=True, name="unrolled")(steps)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True), name="both")(x)
    return keras.Model(steps, layers.Dense(2, name="out")(layers.GRU(5, name="loop")(x)))


def volumes() -> keras.Model:
    """Five axes; and images whose pooling, cropping and reductions are moved about."""
    volume = keras.Input((6, 8, 8, 2), name="volume")
    x = layers.Conv3D(4, 3, padding="same", activation="elu", name="conv")(volume)
    x = layers.BatchNormalization(name="norm")(layers.MaxPooling3D(2, name="pool")(x))
    x = layers.Conv2D(6, 3, padding="same", name="flat")(layers.Reshape((12, 4, 4))(x))
    x = layers.Cropping2D(((1, 1), (1, 0)), name="cropped")(layers.LeakyReLU()(x))
    x = keras.ops.mean(x, axis=2)
    x = layers.Conv1D(4, 3, name="line")(x)
    return keras.Model(volume, layers.Dense(2, name="out")(keras.ops.max(x, axis=1)))


MODELS: dict[str, Callable[[], keras.Model]] = {
    "image": image_model,
    "two inputs": two_inputs,
    "attention": attention_model,
    "lowered": lowered_model,
    "residual": residual_model,
    "one channel": one_channel,
    "square": square,
    "recurrent": recurrent,
    "volumes": volumes,
}
# Operators that give no tensor of the model: Einsum, TopK's parts, a loop's.
MISSED = {"attention": 65, "lowered": 9, "recurrent": 45, "square": 8, "volumes": 10}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MODELS)
def test_no_tensor_is_paired_with_another_one(name: str, tmp_path: Path) -> None:
    """A wrong pair would differ, as all values are random."""
    keras.utils.set_random_seed(0)
    model = with_values(MODELS[name]())
    folder, file = tmp_path / "saved", tmp_path / "model.onnx"
    model.export(folder, verbose=False)
    tgw.edit(folder).save(file)

    feeds = feeds_of(model, batch=2)
    here = tgw.edit(folder).compare(feeds, file, "all")
    there = tgw.edit(file).compare(feeds, folder, "all")
    for compared in (here, there):
        assert compared.first_divergence is None
        assert max(numbers_by_tensor(compared).values()) < ROUNDING
        assert all(each.shapes[0] == each.shapes[1] for each in compared)
    found = {each.other.rpartition(":")[0] for each in here}
    missed = [op for op in operators(file) if op not in found]
    assert len(missed) <= MISSED.get(name, 6), missed


def test_a_bias_of_zeros_that_the_converter_took_away_hides_no_product(tmp_path: Path) -> None:
    """A shift that is in no operator was by 0 where a product has no bias to hold it."""
    image = keras.Input((8, 8, 4), name="image")
    x = layers.Rescaling(0.5, offset=0.0, name="scaled")(image)
    x = layers.Conv2D(4, 3, activation="swish", name="first")(x)
    x = layers.Conv2D(4, 1, activation="sigmoid", name="second")(x)
    x = layers.Conv2D(4, 1, use_bias=False, name="scaled_further")(x)
    # Its scale is in the kernel, so that the convolution has no tensor of its own.
    x = layers.BatchNormalization(name="norm", center=False)(x)
    model = with_values(keras.Model(image, layers.Activation("tanh", name="end")(x)))
    norm = model.get_layer("norm")
    norm.moving_mean.assign(np.zeros(4))
    for name in ("first", "second"):
        model.get_layer(name).bias.assign(np.zeros(4))
    folder, file = tmp_path / "saved", tmp_path / "model.onnx"
    model.export(folder, verbose=False)
    tgw.edit(folder).save(file)
    compared = tgw.edit(folder).compare(feeds_of(model, batch=2), file, "all")
    assert not compared
    assert max(numbers_by_tensor(compared).values()) < ROUNDING
    names = {each.name.partition("/")[2] for each in compared}
    assert {"first_1/convolution:0", "second_1/convolution:0", "scaled_1/mul:0"} <= names
    assert "scaled_further_1/convolution:0" not in names


def test_what_its_command_line_wrote_and_a_wrong_weight_in_it(
    tmp_path: Path, warm_python: list[str]
) -> None:
    keras.utils.set_random_seed(0)
    model = with_values(image_model())
    folder, file = tmp_path / "saved", tmp_path / "model.onnx"
    model.export(folder, verbose=False)
    convert = [*warm_python, "-c", "from tf2onnx.convert import main; main()"]
    command = [*convert, "--saved-model", str(folder), "--output", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    feeds = feeds_of(model, batch=2)
    editor = tgw.edit(folder)
    assert not editor.compare(feeds, file, "all")

    converted = onnx.load(file)
    depthwise = [n for n in converted.graph.node if n.op_type == "Conv"][-1]
    assert "depthwise" in depthwise.input[2]  # the bias
    (kernel,) = [each for each in converted.graph.initializer if each.name == depthwise.input[1]]
    kernel.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(kernel), kernel.name))
    onnx.save(converted, file)
    first = editor.compare(feeds, file, "all").first_divergence
    assert first is not None
    assert "depthwise" in first.tensor
    assert "converted: " in repr(tgw.beside(folder, file).difference)


def test_a_graph_of_tensorflow_1_with_its_session(tmp_path: Path) -> None:
    """Names without calls, and a fused batch norm with the channels first."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        with v1.variable_scope("net"):
            kernel = v1.get_variable("kernel", [3, 3, 3, 4])
            y = tf.nn.conv2d(x, kernel, 2, "SAME", name="conv")
            scales = [tf.constant(np.linspace(0.5, 1.5, 4, dtype=np.float32)) for _ in range(4)]
            y = v1.nn.fused_batch_norm(y, *scales, is_training=False, name="norm")[0]
            y = tf.nn.relu(tf.pad(y, [[0, 0], [1, 2], [0, 1], [0, 0]]), name="relu")
            out = tf.reduce_max(y, [1, 2], name="out")
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(graph, session=session)
        editor.save(tmp_path / "model.onnx", outputs=[out])
        rows = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
        compared = editor.compare({"x:0": rows}, tmp_path / "model.onnx", "all")
    assert not compared
    assert {"net/relu:0", "net/out:0"} <= {each.name for each in compared}
    assert all(each.shapes[0] == each.shapes[1] for each in compared)
