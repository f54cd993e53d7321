"""What a graph costs for a batch is what TensorFlow's profiler counts in the same graph made for
that batch.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.stress import networks
from tests.stress.architectures import APPLICATIONS
from tests.stress.real_models import application
from tfgraphwidget.naming import words
from tfgraphwidget.runtime.measure.flops import COUNTED

import_module("tensorflow.python.profiler.internal.flops_registry")  # fills the registry
Build = Callable[[], tuple[Any, Any]]
L = keras.layers


def one_layer(layer: Callable[[], Any], *shape: int) -> Build:
    """A model of one layer."""

    def build() -> tuple[Any, Any]:
        x = keras.Input(shape)
        return keras.Model(x, layer()(x)), [np.zeros((1, *shape), np.float32)]

    return build


def attention() -> tuple[Any, Any]:
    x = keras.Input((6, 8))
    return keras.Model(x, L.MultiHeadAttention(2, 4)(x, x)), [np.zeros((1, 6, 8), np.float32)]


LAYERS: dict[str, Build] = {
    "Dense": one_layer(lambda: L.Dense(5), 7),
    "Dense on sequences": one_layer(lambda: L.Dense(5), 6, 7),
    "Dense on pictures": one_layer(lambda: L.Dense(5), 3, 4, 7),
    "EinsumDense": one_layer(lambda: L.EinsumDense("abc,cd->abd", (None, 4)), 6, 7),
    "Conv1D": one_layer(lambda: L.Conv1D(4, 3), 9, 2),
    "Conv1D, dilated": one_layer(lambda: L.Conv1D(4, 3, dilation_rate=2, padding="same"), 9, 2),
    "Conv1D, causal": one_layer(lambda: L.Conv1D(4, 3, dilation_rate=4, padding="causal"), 9, 2),
    "Conv2D, dilated": one_layer(lambda: L.Conv2D(4, 3, dilation_rate=2), 9, 8, 2),
    "SeparableConv1D": one_layer(lambda: L.SeparableConv1D(4, 3), 9, 2),
    "DepthwiseConv2D": one_layer(lambda: L.DepthwiseConv2D(3), 9, 8, 2),
    "Conv2DTranspose": one_layer(lambda: L.Conv2DTranspose(3, 3, strides=2), 5, 4, 2),
    "Conv3D": one_layer(lambda: L.Conv3D(3, 2), 5, 4, 3, 2),
    "TimeDistributed": one_layer(lambda: L.TimeDistributed(L.Conv2D(4, 3)), 3, 8, 8, 2),
    "LayerNormalization": one_layer(L.LayerNormalization, 6, 7),
    "GroupNormalization": one_layer(lambda: L.GroupNormalization(2), 6, 8),
    "MultiHeadAttention": attention,
    "LSTM, unrolled": one_layer(lambda: L.LSTM(4, unroll=True), 3, 5),
    "Flatten": one_layer(lambda: keras.Sequential([L.Flatten(), L.Dense(3)]), 3, 5),
}
NETWORKS: dict[str, Build] = {
    name: getattr(networks, name)
    for name in words(
        "unet vision_transformer mixer autoencoder wavenet translator convolutional_lstm",
        "language_model recommender siamese squeeze_and_excite generator graph_convolution",
    )
} | {name: application(name, size) for name, size in APPLICATIONS.items()}


def graph_of(model: Any, arguments: Any, batch: int | None) -> tf.Graph:
    """The graph of a model's call; its examples are batches of that size."""
    leaves = tf.nest.flatten(arguments)
    specs = [
        tf.TensorSpec((batch, *np.shape(leaf)[1:]), tf.as_dtype(np.asarray(leaf).dtype))
        for leaf in leaves
    ]

    def call(*given: Any) -> Any:
        return model(*tf.nest.pack_sequence_as(arguments, given), training=False)

    return tf.function(call).get_concrete_function(*specs).graph


def counted_by_tensorflow(graph: tf.Graph) -> dict[str, float]:
    """The FLOPs of the ops that TensorFlow's profiler counts and whose shapes it knows."""
    counts = {}
    for op in graph.get_operations():
        if op.type in COUNTED:
            try:
                counts[op.name] = float(
                    ops.get_stats_for_node_def(graph, op.node_def, "flops").value or 0
                )
            except ValueError:  # "Incomplete shape"
                continue
    return counts


def check(build: Build, batches: tuple[int, ...]) -> int:
    """Compare the costs; how many ops were compared."""
    keras.utils.clear_session()
    model, arguments = build()
    editor = tgw.edit(graph_of(model, arguments, None))
    compared = 0
    for batch in batches:
        table = editor.table(batch=batch).set_index("name")
        expected = counted_by_tensorflow(graph_of(model, arguments, batch))
        both = [
            name for name in expected if name in table.index and table.loc[name, "type"] in COUNTED
        ]
        wrong = {
            name: (table.loc[name, "flops"], expected[name])
            for name in both
            if table.loc[name, "flops"] != expected[name] and expected[name]
        }
        assert wrong == {}
        compared += len(both)
    return compared


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.sample(3)
def test_a_layer_costs_what_it_does_for_a_batch_of_that_size(name: str) -> None:
    assert check(LAYERS[name], (1, 6)) > 0 or name == "GroupNormalization"


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.sample(2)
def test_an_architecture_costs_what_it_does_for_a_batch_of_that_size(name: str) -> None:
    assert check(NETWORKS[name], (1, 3)) > 3


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.sample(4)
def test_the_batch_size_may_be_changed_or_given(name: str, tmp_path: Path) -> None:
    model, arguments = LAYERS[name]()
    graph = graph_of(model, arguments, None)
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb")
    columns = ["name", "parameters", "output_bytes", "flops"]
    costs = editor.table(batch=5)[columns]
    editor.passes.change_batch_size(5)
    assert costs.equals(editor.table(batch=1)[columns])


def test_unknown_lengths_count_as_1_and_costs_grow_as_the_batch_does() -> None:
    x = keras.Input((None, 8))
    model = keras.Model(x, L.Dense(5)(x))
    spec = tf.TensorSpec((None, None, 8))
    editor = tgw.edit(tf.function(model).get_concrete_function(spec).graph)
    totals = [editor.table(batch=batch)["flops"].sum() for batch in (1, 2, 4)]
    assert totals == [85 * batch for batch in (1, 2, 4)]


def test_a_graph_that_takes_one_batch_size_costs_what_it_does_for_that() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        tf.matmul(tf.reshape(x, [2, 4]), tf.ones([4, 3]), name="product")
    costs = tgw.edit(graph).table(batch=7).set_index("name")
    assert costs.loc["product", "flops"] == 2 * 2 * 4 * 3
    assert costs.loc["x", "output_bytes"] == 7 * 4 * 4


def test_what_a_function_calls_is_counted_for_the_batch() -> None:
    inner = tf.function(lambda x: tf.matmul(tf.reshape(x, [-1, 4]), tf.ones([4, 3])))
    outer = tf.function(inner).get_concrete_function(tf.TensorSpec((None, 10, 4)))
    assert [tgw.edit(outer).table(batch=batch)["flops"].sum() for batch in (1, 3)] == [240, 720]
