"""Keras models of one layer, resized by replace_input, against the same model that Keras builds for
the new size.
"""

# ruff: noqa: PLW0108 - each model needs a layer of its own, so the layer is made when the model is

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError

L = keras.layers
Build = Callable[[Any], Any]
Shape = tuple[int, ...]

# The size that a model was traced for, and those that it is to take: one larger, one with smaller
# dimensions.
SEQUENCES: tuple[Shape, ...] = (6, 8), (9, 8), (4, 8)
IMAGES: tuple[Shape, ...] = (8, 8, 4), (12, 16, 4), (10, 6, 4)
PICTURES: tuple[Shape, ...] = (16, 16, 3), (24, 32, 3), (8, 12, 3)
VOLUMES: tuple[Shape, ...] = (4, 6, 4, 2), (6, 8, 6, 2), (8, 4, 2, 2)


def u_net(x: Any) -> Any:
    first = L.Conv2D(4, 3, padding="same")(x)
    second = L.Conv2D(4, 3, padding="same")(L.MaxPooling2D()(first))
    up = L.Conv2DTranspose(4, 2, strides=2)(L.MaxPooling2D()(second))
    up = L.Conv2DTranspose(4, 2, strides=2)(L.Concatenate()([second, up]))
    return L.Conv2D(1, 1)(L.Concatenate()([first, up]))


def vision_transformer(x: Any) -> Any:
    patches = L.Reshape((-1, 8))(L.Conv2D(8, 4, strides=4)(x))
    return L.Dense(3)(
        L.GlobalAveragePooling1D()(patches + L.MultiHeadAttention(2, 4)(patches, patches))
    )


def segmenter(x: Any) -> Any:
    patches = L.Conv2D(8, 4, strides=4)(x)
    height, width = patches.shape[1:3]
    tokens = L.Reshape((height * width, 8))(patches)
    tokens = tokens + L.MultiHeadAttention(2, 4)(tokens, tokens)
    return L.Conv2DTranspose(3, 4, strides=4)(L.Reshape((height, width, 8))(tokens))


EQUAL: dict[str, tuple[Build, tuple[Shape, ...]]] = {
    "Dense of a sequence": (lambda x: L.Dense(3)(x), SEQUENCES),
    "Conv1D, dilated": (lambda x: L.Conv1D(3, 3, dilation_rate=2, padding="same")(x), SEQUENCES),
    "Conv1D, causal": (lambda x: L.Conv1D(3, 3, padding="causal")(x), SEQUENCES),
    "Conv2D, dilated": (lambda x: L.Conv2D(3, 3, dilation_rate=2)(x), IMAGES),
    "Conv2D in groups": (lambda x: L.Conv2D(4, 3, groups=2)(x), IMAGES),
    "Conv1DTranspose": (lambda x: L.Conv1DTranspose(3, 3, strides=2, padding="same")(x), SEQUENCES),
    "Conv1DTranspose, valid": (lambda x: L.Conv1DTranspose(3, 5, strides=2)(x), SEQUENCES),
    "Conv2DTranspose": (lambda x: L.Conv2DTranspose(3, 3, strides=2, padding="same")(x), IMAGES),
    "Conv2DTranspose, valid": (lambda x: L.Conv2DTranspose(3, 4, strides=(2, 3))(x), IMAGES),
    "Conv2DTranspose, dilated": (lambda x: L.Conv2DTranspose(3, 3, dilation_rate=2)(x), IMAGES),
    "Conv2DTranspose, padded": (
        lambda x: L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=0)(x),
        IMAGES,
    ),
    "Conv3DTranspose": (lambda x: L.Conv3DTranspose(3, 3, strides=2, padding="same")(x), VOLUMES),
    "Conv3DTranspose, valid": (lambda x: L.Conv3DTranspose(3, 3, strides=2)(x), VOLUMES),
    "DepthwiseConv2D, dilated": (lambda x: L.DepthwiseConv2D(3, dilation_rate=2)(x), IMAGES),
    "SeparableConv1D": (lambda x: L.SeparableConv1D(3, 3)(x), SEQUENCES),
    "U-Net": (u_net, PICTURES),
    "MultiHeadAttention": (lambda x: L.MultiHeadAttention(2, 4)(x, x), SEQUENCES),
    "MultiHeadAttention, causal": (
        lambda x: L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True),
        SEQUENCES,
    ),
    "MultiHeadAttention of an image": (
        lambda x: L.MultiHeadAttention(2, 4, attention_axes=(1, 2))(x, x),
        IMAGES,
    ),
    "GroupQueryAttention": (lambda x: L.GroupQueryAttention(4, 4, 2)(x, x), SEQUENCES),
    "Attention, causal": (lambda x: L.Attention()([x, x], use_causal_mask=True), SEQUENCES),
    "AdditiveAttention": (lambda x: L.AdditiveAttention()([x, x]), SEQUENCES),
    "Dot": (lambda x: L.Dot(axes=2)([x, x]), SEQUENCES),
    "EinsumDense": (
        lambda x: L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3))(x),
        SEQUENCES,
    ),
    "GroupNormalization": (lambda x: L.GroupNormalization(2)(x), IMAGES),
    "LayerNormalization": (lambda x: L.LayerNormalization()(x), SEQUENCES),
    "BatchNormalization": (lambda x: L.BatchNormalization()(x), IMAGES),
    "Flatten": (lambda x: L.Flatten()(x), IMAGES),
    "Reshape of rows and columns": (lambda x: L.Reshape((x.shape[1] * x.shape[2], 4))(x), IMAGES),
    "Permute": (lambda x: L.Permute((2, 1))(x), SEQUENCES),
    "UpSampling3D": (lambda x: L.UpSampling3D(2)(x), VOLUMES),
    "Cropping2D": (lambda x: L.Cropping2D(1)(x), IMAGES),
    "ZeroPadding2D": (lambda x: L.ZeroPadding2D(1)(x), IMAGES),
    "Resizing": (lambda x: L.Resizing(5, 7)(x), IMAGES),
    "MaxPooling2D": (lambda x: L.MaxPooling2D(3, 2)(x), IMAGES),
    "AveragePooling3D": (lambda x: L.AveragePooling3D(2, padding="same")(x), VOLUMES),
    "Conv3DTranspose, padded": (
        lambda x: L.Conv3DTranspose(3, 3, strides=2, output_padding=1)(x),
        VOLUMES,
    ),
    "Conv1DTranspose, padded": (
        lambda x: L.Conv1DTranspose(3, 3, strides=2, padding="same", output_padding=1)(x),
        SEQUENCES,
    ),
    "SeparableConv2D": (lambda x: L.SeparableConv2D(3, 3, padding="same")(x), IMAGES),
    "DepthwiseConv1D": (lambda x: L.DepthwiseConv1D(3)(x), SEQUENCES),
    "UpSampling1D": (lambda x: L.UpSampling1D(2)(x), SEQUENCES),
    "UpSampling2D, nearest": (lambda x: L.UpSampling2D(2)(x), IMAGES),
    "Resizing, bicubic": (lambda x: L.Resizing(5, 7, interpolation="bicubic")(x), IMAGES),
    "Resizing, cropped": (lambda x: L.Resizing(5, 5, crop_to_aspect_ratio=True)(x), IMAGES),
    "Cropping1D": (lambda x: L.Cropping1D(1)(x), SEQUENCES),
    "ZeroPadding3D": (lambda x: L.ZeroPadding3D(2)(x), VOLUMES),
    "Permute of an image": (lambda x: L.Permute((3, 1, 2))(x), IMAGES),
    "GroupNormalization of each channel": (lambda x: L.GroupNormalization(-1)(x), IMAGES),
    "LayerNormalization over time": (
        lambda x: L.LayerNormalization(axis=1, center=False, scale=False)(x),
        SEQUENCES,
    ),
    "RMSNormalization": (lambda x: L.RMSNormalization()(x), SEQUENCES),
    "UnitNormalization over time": (lambda x: L.UnitNormalization(axis=1)(x), SEQUENCES),
    "GroupQueryAttention, causal": (
        lambda x: L.GroupQueryAttention(4, 4, 2)(x, x, use_causal_mask=True),
        SEQUENCES,
    ),
    "AdditiveAttention, causal": (
        lambda x: L.AdditiveAttention()([x, x], use_causal_mask=True),
        SEQUENCES,
    ),
    "Masking": (lambda x: L.Masking()(x), SEQUENCES),
    "PReLU of each channel": (lambda x: L.PReLU(shared_axes=[1])(x), SEQUENCES),
    "mean of the length at run time": (
        lambda x: L.Lambda(lambda t: tf.reduce_sum(t, 1) / tf.cast(tf.shape(t)[1], tf.float32))(x),
        SEQUENCES,
    ),
    "differences": (lambda x: x[:, 1:] - x[:, :-1], SEQUENCES),
    "Softmax over time": (lambda x: L.Softmax(axis=1)(x), SEQUENCES),
    "vision transformer": (vision_transformer, PICTURES),
    "segmenter": (segmenter, PICTURES),
}
# Layers whose sizes replace_input cannot prove: it refuses them, or lists the constants that hold
# an old size.
TOLD: dict[str, tuple[Build, tuple[Shape, ...]]] = {
    "LSTM": (lambda x: L.LSTM(4, return_sequences=True)(x), SEQUENCES),
    "GRU": (lambda x: L.GRU(4)(x), SEQUENCES),
    "LSTM, unrolled": (lambda x: L.LSTM(4, unroll=True)(x), SEQUENCES),
    "Dense of all places": (lambda x: L.Dense(2)(L.Flatten()(x)), IMAGES),
    "PReLU of each place": (lambda x: L.PReLU()(x), SEQUENCES),
    "TimeDistributed": (lambda x: L.TimeDistributed(L.Conv2D(3, 2))(x), VOLUMES),
    "RepeatVector": (
        lambda x: L.RepeatVector(x.shape[1])(L.GlobalMaxPooling1D()(x)) + x,
        SEQUENCES,
    ),
    "UpSampling2D, bilinear": (lambda x: L.UpSampling2D(2, interpolation="bilinear")(x), IMAGES),
    "Embedding of places": (
        lambda x: x + L.Embedding(64, 8)(keras.ops.arange(x.shape[1])),
        SEQUENCES,
    ),
    "AdaptiveAveragePooling1D": (lambda x: L.AdaptiveAveragePooling1D(2)(x), SEQUENCES),
    "AdaptiveMaxPooling2D": (lambda x: L.AdaptiveMaxPooling2D((2, 2))(x), IMAGES),
    "AdaptiveAveragePooling3D": (lambda x: L.AdaptiveAveragePooling3D((2, 2, 2))(x), VOLUMES),
    "RepeatVector alone": (
        lambda x: L.RepeatVector(x.shape[1])(L.GlobalMaxPooling1D()(x)),
        SEQUENCES,
    ),
    "UpSampling2D, lanczos": (lambda x: L.UpSampling2D(2, interpolation="lanczos3")(x), IMAGES),
    "mean by division": (
        lambda x: L.Lambda(lambda t: tf.reduce_sum(t, 1) / t.shape[1])(x),
        SEQUENCES,
    ),
    "mean by multiplication": (
        lambda x: L.Lambda(lambda t: tf.reduce_sum(t, 1) * (1 / t.shape[1]))(x),
        SEQUENCES,
    ),
    "mean of an image": (
        lambda x: L.Lambda(lambda t: tf.reduce_sum(t, [1, 2]) / float(t.shape[1] * t.shape[2]))(x),
        IMAGES,
    ),
    "variance without bias": (
        lambda x: L.Lambda(lambda t: tf.reduce_sum(t**2, [1, 2]) / (t.shape[1] * t.shape[2] - 1.0))(
            x
        ),
        IMAGES,
    ),
    "Gram matrix": (
        lambda x: L.Lambda(
            lambda t: (
                tf.einsum("bijc,bijd->bcd", t, t) / tf.cast(t.shape[1] * t.shape[2], tf.float32)
            )
        )(x),
        IMAGES,
    ),
    "product over time, scaled": (
        lambda x: L.Lambda(lambda t: tf.matmul(t, t, transpose_a=True) / t.shape[1] ** 0.5)(x),
        SEQUENCES,
    ),
    "last step": (lambda x: L.Lambda(lambda t: t[:, t.shape[1] - 1])(x), SEQUENCES),
    "roll by half": (lambda x: L.Lambda(lambda t: tf.roll(t, t.shape[1] // 2, 1))(x), SEQUENCES),
    "half of the largest": (
        lambda x: L.Lambda(lambda t: tf.math.top_k(tf.transpose(t, [0, 2, 1]), t.shape[1] // 2)[0])(
            x
        ),
        SEQUENCES,
    ),
    "copies": (
        lambda x: L.Lambda(
            lambda t: tf.tile(tf.reduce_mean(t, 1, keepdims=True), [1, t.shape[1], 1])
        )(x),
        SEQUENCES,
    ),
    "filled up": (
        lambda x: L.Lambda(lambda t: tf.pad(t, [[0, 0], [0, 12 - t.shape[1]], [0, 0]]))(x),
        SEQUENCES,
    ),
    "one-hot places": (
        lambda x: L.Lambda(lambda t: tf.one_hot(tf.argmax(t, 1), t.shape[1]))(x),
        SEQUENCES,
    ),
    "reversed sequences": (
        lambda x: L.Lambda(
            lambda t: tf.reverse_sequence(t, tf.fill([tf.shape(t)[0]], t.shape[1]), 1)
        )(x),
        SEQUENCES,
    ),
    "central crop": (lambda x: L.Lambda(lambda t: tf.image.central_crop(t, 0.5))(x), IMAGES),
    "steps, one by one": (
        lambda x: keras.ops.stack([x[:, k] * k for k in range(x.shape[1])], 1),
        SEQUENCES,
    ),
    "mask of a fixed length": (
        lambda x: L.MultiHeadAttention(2, 4)(
            x, x, attention_mask=np.tri(x.shape[1], dtype=bool)[None]
        ),
        SEQUENCES,
    ),
    "sines of places": (
        lambda x: L.Lambda(lambda t: t + np.sin(np.arange(t.shape[1], dtype=np.float32))[:, None])(
            x
        ),
        SEQUENCES,
    ),
    "Bidirectional, unrolled": (lambda x: L.Bidirectional(L.GRU(3, unroll=True))(x), SEQUENCES),
    "SimpleRNN": (lambda x: L.SimpleRNN(3)(x), SEQUENCES),
    "ConvLSTM1D": (lambda x: L.ConvLSTM1D(2, 3)(x), IMAGES),
    "LayerNormalization of each place": (lambda x: L.LayerNormalization(axis=[1, 2])(x), IMAGES),
    "EinsumDense of each place": (
        lambda x: L.EinsumDense("abc,cd->abd", output_shape=(x.shape[1], 3), bias_axes="bd")(x),
        SEQUENCES,
    ),
    "CenterCrop": (lambda x: L.CenterCrop(4, 4)(x), IMAGES),
    "half of a sequence": (lambda x: x[:, : x.shape[1] // 2], SEQUENCES),
    "Reshape to windows": (
        lambda x: L.Reshape((x.shape[1] // 2, 2, x.shape[2] // 2, 2, 4))(x),
        IMAGES,
    ),
    "Reshape to a fixed number": (lambda x: L.Reshape((16, -1))(x), IMAGES),
}


def model(build: Build, shape: tuple[int | None, ...]) -> keras.Model:
    """x -> a layer; the names of its ops are the same for each size."""
    keras.backend.clear_session()
    x = keras.Input(shape, name="x")
    return keras.Model(x, build(x), name="net")


def pairs(cases: dict[str, tuple[Build, tuple[Shape, ...]]]) -> list[Any]:
    return [
        pytest.param(build, sizes[0], new, id=f"{name} {'x'.join(map(str, new))}")
        for name, (build, sizes) in cases.items()
        for new in sizes[1:]
    ]


def static_shapes(editor: tgw.GraphEditor) -> dict[str, list[Any]]:
    index = editor._core.index
    return {
        name: [index.shape(op, port) for port in range(len(index.dtypes(op)))]
        for op, name in enumerate(index.names)
        if index.types[op] != "Const"
    }


@pytest.mark.sample(4)
@pytest.mark.parametrize(("build", "old", "new"), pairs(EQUAL))
def test_a_resized_model_has_the_shapes_and_numbers_of_one_that_keras_builds(
    build: Build, old: Shape, new: Shape
) -> None:
    traced, built = model(build, old), model(build, new)
    built.set_weights(traced.get_weights())
    editor = tgw.edit(traced)
    report = editor.passes.set_input("x:0", [None, *new], fix=True).constants
    assert all(one.proposed is not None for one in report)
    x = np.random.default_rng(0).normal(size=(2, *new)).astype("float32")
    np.testing.assert_allclose(editor.to_module()(x), built(x), rtol=1e-4, atol=1e-5)
    shapes, right = static_shapes(editor), static_shapes(tgw.edit(built))
    common = shapes.keys() & right.keys()
    assert len(common) > 0.9 * len(right)
    assert {name: shapes[name] for name in common} == {name: right[name] for name in common}


@pytest.mark.sample(4)
@pytest.mark.parametrize(("build", "old", "new"), pairs(TOLD))
def test_a_size_that_cannot_be_shown_right_is_reported_or_refused(
    build: Build, old: Shape, new: Shape
) -> None:
    editor = tgw.edit(model(build, old))
    try:
        report = editor.passes.set_input("x:0", [None, *new], fix=True).constants
    except GraphEditError:
        return
    assert any(one.proposed is None for one in report)
