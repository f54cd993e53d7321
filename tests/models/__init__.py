"""The five models that the drawing is judged by: as files, or made on the spot."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

HERE = Path(__file__).parent
NOTEBOOK_MODELS = HERE.parents[1] / "notebooks" / "models"
NAMES = ("resnet", "inception", "transformer", "seq2seq", "dqn")


def written(name: str, folder: Path) -> Path:
    """A file of one of the models NAMES, in `folder` when it had to be made."""
    if name == "transformer":
        path = folder / "transformer_train.pb"
        path.write_bytes(transformer())
        return path
    if name == "resnet":
        path = folder / "slim_resnet_v2_50_train.meta"
        path.write_bytes(gzip.decompress((HERE / f"{path.name}.gz").read_bytes()))
        return path
    files = {
        "inception": "slim_inception_v3_infer",
        "seq2seq": "seq2seq_v1",
        "dqn": "dqn_online_train",
    }
    return NOTEBOOK_MODELS / f"{files[name]}.meta"


@cache
def transformer() -> bytes:
    """The GraphDef of `transformer_step`, which takes 3 s to trace."""
    return bytes(transformer_step().graph.as_graph_def().SerializeToString())


def transformer_step(blocks: int = 4, width: int = 64, heads: int = 4, words: int = 1000) -> Any:
    """The training step of a small transformer encoder, as a ConcreteFunction."""
    keras = tf.keras
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    x = keras.layers.Embedding(words, width, name="embedding")(tokens)
    for block in range(blocks):
        read = keras.layers.LayerNormalization(name=f"block_{block}_norm_1")(x)
        read = keras.layers.MultiHeadAttention(
            heads, width // heads, name=f"block_{block}_attention"
        )(read, read)
        x = keras.layers.Add(name=f"block_{block}_add_1")([x, read])
        read = keras.layers.LayerNormalization(name=f"block_{block}_norm_2")(x)
        read = keras.layers.Dense(4 * width, activation="gelu", name=f"block_{block}_widen")(read)
        read = keras.layers.Dense(width, name=f"block_{block}_narrow")(read)
        x = keras.layers.Add(name=f"block_{block}_add_2")([x, read])
    logits = keras.layers.Dense(words, name="logits")(
        keras.layers.LayerNormalization(name="norm")(x)
    )
    model = keras.Model(tokens, logits, name="transformer")
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, "tokens")] * 2)
    def step(tokens: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(tokens, training=True))
        optimizer.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        return loss

    return step.get_concrete_function()
