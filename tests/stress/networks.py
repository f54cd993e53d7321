"""Networks of many kinds, small: as Keras models with arguments, and as graphs of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.graphs import v1
from tests.stress.real_models import preprocessing, sequences, text, transformer

layers = keras.layers
Built = tuple[Any, Sequence[Any]]


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


def _words(*shape: int, count: int = 20) -> np.ndarray:
    return np.random.default_rng(1).integers(1, count, shape).astype(np.int32)


def unet() -> Built:
    """An encoder and a decoder with connections from each level to the same level."""
    image = keras.Input((32, 32, 3))
    x, skipped = image, []
    for width in (8, 16):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width in (16, 8):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x)
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(
            layers.Concatenate()([x, skipped.pop()])
        )
    return keras.Model(image, layers.Conv2D(2, 1)(x)), [_numbers(2, 32, 32, 3)]


def vision_transformer() -> Built:
    """Patches, positions, two blocks of attention."""
    image = keras.Input((16, 16, 3))
    x = layers.Reshape((16, 24))(layers.Conv2D(24, 4, strides=4)(image))
    x = x + layers.Embedding(16, 24)(np.arange(16))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(3, 8)(y, y)
        y = layers.Dense(48, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(24)(y)
    return keras.Model(image, layers.Dense(5)(layers.GlobalAveragePooling1D()(x))), [
        _numbers(2, 16, 16, 3)
    ]


def mixer() -> Built:
    """Dense layers across patches, then across channels."""
    image = keras.Input((16, 16, 3))
    x = layers.Reshape((16, 24))(layers.Conv2D(24, 4, strides=4)(image))
    for _ in range(3):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(16)(layers.Dense(32, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(24)(layers.Dense(48, activation="gelu")(y))
    return keras.Model(image, layers.Dense(5)(layers.GlobalAveragePooling1D()(x))), [
        _numbers(2, 16, 16, 3)
    ]


def autoencoder() -> Built:
    """Convolutions down to a code, and up again."""
    image = keras.Input((16, 16, 1))
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    code = layers.Dense(6, name="code")(layers.Flatten()(x))
    x = layers.Reshape((8, 8, 4))(layers.Dense(256, activation="relu")(code))
    return keras.Model(image, layers.Conv2DTranspose(1, 3, strides=2, padding="same")(x)), [
        _numbers(2, 16, 16, 1)
    ]


def wavenet() -> Built:
    """Dilated causal convolutions with gates, residual and skip connections."""
    sound = keras.Input((32, 1))
    x, skips = layers.Conv1D(8, 2, padding="causal")(sound), []
    for rate in (1, 2, 4, 8):
        gate = layers.Conv1D(8, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        kept = layers.Multiply()(
            [layers.Conv1D(8, 2, padding="causal", dilation_rate=rate, activation="tanh")(x), gate]
        )
        skips.append(layers.Conv1D(8, 1)(kept))
        x = layers.Add()([x, skips[-1]])
    return keras.Model(sound, layers.Conv1D(4, 1)(layers.ReLU()(layers.Add()(skips)))), [
        _numbers(2, 32, 1)
    ]


def translator() -> Built:
    """A GRU encoder, a GRU decoder that starts from its state, and attention."""
    source, target = keras.Input((6,), dtype="int32"), keras.Input((5,), dtype="int32")
    encoded, state = layers.GRU(12, return_sequences=True, return_state=True)(
        layers.Embedding(20, 8)(source)
    )
    decoded = layers.GRU(12, return_sequences=True)(
        layers.Embedding(20, 8)(target), initial_state=state
    )
    x = layers.Concatenate()([decoded, layers.Attention()([decoded, encoded])])
    return keras.Model([source, target], layers.Dense(20)(x)), [[_words(2, 6), _words(2, 5)]]


def convolutional_lstm() -> Built:
    """Pictures in a sequence."""
    film = keras.Input((4, 8, 8, 2))
    x = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)(film)
    x = layers.ConvLSTM2D(4, 3, padding="same")(x)
    return keras.Model(film, layers.Dense(3)(layers.GlobalAveragePooling2D()(x))), [
        _numbers(2, 4, 8, 8, 2)
    ]


def language_model() -> Built:
    """Three LSTMs on top of each other."""
    words = keras.Input((7,), dtype="int32")
    x = layers.Embedding(20, 8)(words)
    for _ in range(3):
        x = layers.LSTM(10, return_sequences=True)(x)
    return keras.Model(words, layers.Dense(20)(x)), [_words(2, 7)]


def recommender() -> Built:
    """Embeddings of categories, numbers through a network, and all pairwise products."""
    numbers = keras.Input((4,))
    categories = [keras.Input((1,), dtype="int32") for _ in range(3)]
    dense = layers.Dense(8, activation="relu")(layers.Dense(16, activation="relu")(numbers))
    vectors = [dense, *(layers.Flatten()(layers.Embedding(20, 8)(each)) for each in categories)]
    products = [layers.Dot(1)([a, b]) for k, a in enumerate(vectors) for b in vectors[:k]]
    x = layers.Dense(16, activation="relu")(layers.Concatenate()([dense, *products]))
    return keras.Model([numbers, *categories], layers.Dense(1)(x)), [
        [_numbers(3, 4), *[_words(3, 1)] * 3]
    ]


def siamese() -> Built:
    """One network on two pictures, and their distance."""
    tower = keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            layers.Conv2D(6, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(5),
        ]
    )
    first, second = keras.Input((12, 12, 1)), keras.Input((12, 12, 1))
    distance = layers.Subtract()([tower(first), tower(second)])
    picture = _numbers(2, 12, 12, 1)
    return keras.Model([first, second], layers.Dense(1, activation="sigmoid")(distance)), [
        [picture, picture[::-1]]
    ]


def squeeze_and_excite() -> Built:
    """Blocks that weigh their channels by what the whole picture has."""
    image = keras.Input((16, 16, 3))
    x = layers.Conv2D(12, 3, padding="same", use_bias=False)(image)
    for _ in range(3):
        y = layers.ReLU()(
            layers.BatchNormalization()(layers.SeparableConv2D(12, 3, padding="same")(x))
        )
        weight = layers.Dense(12, activation="sigmoid")(
            layers.Dense(4, activation="relu")(layers.GlobalAveragePooling2D()(y))
        )
        x = layers.Add()([x, layers.Multiply()([y, layers.Reshape((1, 1, 12))(weight)])])
    return keras.Model(image, layers.Dense(4)(layers.GlobalAveragePooling2D()(x))), [
        _numbers(4, 16, 16, 3)
    ]


def generator() -> Built:
    """Noise to a picture, with batch normalization between transposed convolutions."""
    noise = keras.Input((8,))
    x = layers.Reshape((4, 4, 16))(layers.Dense(256)(noise))
    for width in (16, 8):
        x = layers.LeakyReLU()(
            layers.BatchNormalization()(
                layers.Conv2DTranspose(width, 4, strides=2, padding="same")(x)
            )
        )
    return keras.Model(noise, layers.Conv2D(3, 3, padding="same", activation="tanh")(x)), [
        _numbers(3, 8)
    ]


def graph_convolution() -> Built:
    """Features of nodes and the adjacency of a graph."""
    nodes, edges = keras.Input((6, 5)), keras.Input((6, 6))
    x = nodes
    for _ in range(3):
        x = layers.ReLU()(layers.Dense(8)(layers.Dot((2, 1))([edges, x])))
    return keras.Model([nodes, edges], layers.Dense(2)(layers.GlobalMaxPooling1D()(x))), [
        [_numbers(2, 6, 5), _numbers(2, 6, 6)]
    ]


KERAS: dict[str, Callable[[], Built]] = {
    "transformer encoder with masks": transformer, "BiLSTM of texts": text,
    "preprocessing layers": preprocessing, "nested model, GRU, attention": sequences,
    "U-Net": unet, "vision transformer": vision_transformer, "MLP-Mixer": mixer,
    "autoencoder": autoencoder, "WaveNet": wavenet, "translator (GRU, attention)": translator,
    "convolutional LSTM": convolutional_lstm, "language model (three LSTMs)": language_model,
    "recommender": recommender, "siamese network": siamese,
    "squeeze and excite": squeeze_and_excite,
    "GAN generator": generator, "graph convolution": graph_convolution,
}  # fmt: skip


# TensorFlow 1


def _dense(x: Any, units: int, name: str) -> Any:
    with v1.variable_scope(name):
        w = v1.get_variable(
            "w", [x.shape[-1], units], initializer=v1.glorot_uniform_initializer(seed=1)
        )
        return tf.nn.bias_add(
            tf.matmul(x, w), v1.get_variable("b", [units], initializer=v1.zeros_initializer())
        )


def recurrent() -> Sequence[Any]:
    """Layers, a recurrent network in a while loop, and layers again."""
    x = v1.placeholder(tf.float32, [3, 5, 4], name="x")
    steps = tf.unstack(x, axis=1)
    inputs = tf.stack([tf.tanh(_dense(step, 6, f"in_{k}")) for k, step in enumerate(steps)])
    w = v1.get_variable("recurrent", [6, 6], initializer=v1.orthogonal_initializer(seed=1))

    def body(k: Any, state: Any) -> Any:
        return k + 1, tf.tanh(tf.matmul(state, w) + inputs[k])

    state = tf.while_loop(lambda k, _: k < 5, body, [0, tf.zeros([3, 6])])[1]
    return [_dense(tf.nn.relu(_dense(state, 8, "hidden")), 3, "out")]


def detector() -> Sequence[Any]:
    """Convolutions, boxes and scores for each place, and non-maximum suppression."""
    image = v1.placeholder(tf.float32, [1, 32, 32, 3], name="image")
    x: Any = image
    for k, width in enumerate((8, 16, 16)):
        kernel = v1.get_variable(
            f"kernel_{k}",
            [3, 3, x.shape[-1], width],
            initializer=v1.glorot_uniform_initializer(seed=k),
        )
        x = v1.nn.fused_batch_norm(
            tf.nn.conv2d(x, kernel, 2, "SAME"),
            v1.get_variable(f"gamma_{k}", [width], initializer=v1.ones_initializer()),
            v1.get_variable(f"beta_{k}", [width], initializer=v1.zeros_initializer()),
            tf.zeros([width]), tf.ones([width]), is_training=False,
        )[0]  # fmt: skip
        x = tf.nn.relu6(x)
    cells = tf.reshape(x, [16, 16])
    corner = tf.sigmoid(_dense(cells, 2, "corner"))
    boxes = tf.concat(
        [corner, corner + tf.nn.softplus(_dense(cells, 2, "size"))], axis=1, name="boxes"
    )
    scores = tf.nn.softmax(_dense(cells, 3, "scores"))[:, 1]
    chosen = tf.image.non_max_suppression(boxes, scores, 5)
    return [tf.gather(boxes, chosen, name="detected"), tf.gather(scores, chosen, name="score")]


def lookup() -> Sequence[Any]:
    """Words through a table, an embedding, a conditional."""
    words = v1.placeholder(tf.string, [4], name="words")
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), 0
    )
    embedding = v1.get_variable(
        "embedding", [3, 8], initializer=v1.glorot_uniform_initializer(seed=1)
    )
    x = tf.nn.embedding_lookup(embedding, table.lookup(words))
    hidden = tf.nn.relu(_dense(x, 8, "hidden"))
    chosen = v1.cond(tf.reduce_sum(hidden) > 100.0, lambda: hidden * 0.1, lambda: hidden + 1.0)
    return [tf.nn.softmax(_dense(tf.nn.relu(_dense(chosen, 8, "second")), 3, "out"))]


SESSIONS: dict[str, Callable[[], Sequence[Any]]] = {
    "recurrent network in a while loop": recurrent,
    "detector with non-maximum suppression": detector,
    "table, embedding, conditional": lookup,
}
