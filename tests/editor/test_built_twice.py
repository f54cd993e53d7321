"""A model that is built or saved twice: what differs is names, and what else does is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

layers = keras.layers


def bidirectional() -> list[Any]:
    """Two recurrent layers that read the same, with tensors that no op reads."""
    return [
        layers.Embedding(30, 6, mask_zero=True),
        layers.Bidirectional(layers.GRU(5, return_sequences=True)),
        layers.LSTM(4, go_backwards=True),
    ]


def convolutional() -> list[Any]:
    """A loop whose results are named after the model."""
    return [layers.ConvLSTM2D(4, 3, padding="same"), layers.Flatten()]


@pytest.mark.parametrize(
    ("parts", "shape", "dtype"),
    [(bidirectional, (7,), "int32"), (convolutional, (3, 6, 6, 2), "float32")],
)
def test_a_keras_model_that_is_built_twice_differs_by_names_alone(
    parts: Callable[[], list[Any]], shape: tuple[int, ...], dtype: str
) -> None:
    models = [keras.Sequential([keras.Input(shape, dtype=dtype), *parts()]) for _ in range(2)]
    found = tgw.edit(models[1]).diff(models[0])
    assert (found.added, found.removed, found.rest.changed) == ((), (), ())
    assert [str(each.difference.rest.changed) for each in found.inside] == ["()"] * len(
        found.inside
    )
    assert "in " not in repr(found).replace("ops)", "")  # the scopes are said once, at the top


def normalized(policy: str) -> keras.Model:
    """A convolution and a batch norm, which reads its four weights one by one."""
    keras.utils.set_random_seed(1)
    options = {"dtype": policy}
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(8, 3, padding="same", **options),
            layers.BatchNormalization(name="norm", **options),
            layers.ReLU(**options),
            layers.Conv2D(8, 3, **options),
            layers.GlobalAveragePooling2D(**options),
            layers.Dense(4, name="scores"),
        ]
    )
    random = np.random.default_rng(0)
    for variable in model.get_layer("norm").weights:
        variable.assign(random.uniform(0.5, 1.5, variable.shape))
    return model


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("weight", ["gamma", "beta", "moving_mean", "moving_variance"])
def test_each_weight_of_a_batch_norm_is_itself_in_another_precision(
    policy: str, weight: str
) -> None:
    """A cast more shifts the numbers of the reads."""
    image = np.random.default_rng(3).normal(size=(2, 8, 8, 3)).astype(np.float32)
    before, after = normalized("float32"), normalized(policy)
    editor = tgw.edit(after)
    assert not editor.diff(before).rest.changed
    feeds = {editor.ops(type="Placeholder"): image}
    assert not editor.compare(feeds, before, "all")
    variable = getattr(after.get_layer("norm"), weight)
    variable.assign(variable + 2)
    first = editor.compare(feeds, before, "all").first_divergence
    assert first is not None
    assert first.op.endswith(f"/{weight}")
    assert first.difference.largest == pytest.approx(2)


def test_what_keras_exports_is_compared_as_a_whole(tmp_path: Path) -> None:
    """It has variables twice: those that TensorFlow made when it traced have no value there."""
    image = np.ones([2, 4], np.float32)
    model = keras.Sequential([keras.Input((4,), name="image"), layers.Dense(3, name="dense")])
    editors = []
    for name in ("a", "b"):
        model.export(str(tmp_path / name), verbose=False)
        editors.append(tgw.edit(tmp_path / name))
        editors[-1].view.leave(0)
        model.get_layer("dense").bias.assign_add(tf.ones(3))
    feeds = {"serving_default_image:0": image}
    assert not editors[0].compare(feeds, tmp_path / "a", "all")
    first = editors[1].compare(feeds, editors[0], "all").first_divergence
    assert first is not None
    assert "dense/bias" in first.op


class Coder(tf.Module):
    """Three signatures, of which one calls the others."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.w = tf.Variable(random.normal(size=(4, 3)).astype(np.float32), name="w")
        self.t = tf.Variable(random.normal(size=(3, 4)).astype(np.float32), name="t")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def encode(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": tf.nn.relu(x @ self.w)}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="z")])
    def decode(self, z: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"x": tf.nn.sigmoid(z @ self.t)}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def both(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": self.decode(self.encode(x)["z"])["x"]}

    def save(self, path: Path, *names: str) -> Path:
        """Write a SavedModel with some of the signatures."""
        tf.saved_model.save(self, str(path), {name: getattr(self, name) for name in names})
        return path


def test_a_signature_that_was_left_out_is_the_one_difference(tmp_path: Path) -> None:
    """The calls of the others are counted, so each has the name of another one before."""
    module = Coder()
    before = tgw.edit(module.save(tmp_path / "a", "both", "decode", "encode"))
    after = tgw.edit(module.save(tmp_path / "b", "decode", "encode"))
    for editor in (before, after):
        editor.view.leave(0)
    found = after.diff(before)
    assert found.signatures.removed == ("both",)
    assert (found.added, found.removed) == ((), ("both_x", "StatefulPartitionedCall"))
    assert not found.explained
    assert not found.inside
    assert {"StatefulPartitionedCall", "StatefulPartitionedCall_1"} <= dict(
        found.renamed
    ).keys() | {now for _, now in found.renamed}


def save_words(folder: Path, words: list[str]) -> Path:
    """A SavedModel that looks words up in a file, which is an asset of it."""
    file = folder / "words.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(words))
    module = tf.Module()
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    initializer = tf.lookup.TextFileInitializer(str(file), tf.string, whole, tf.int64, number)
    module.table = tf.lookup.StaticHashTable(initializer, -1)
    module.weights = tf.Variable(np.arange(15, dtype=np.float32).reshape(5, 3), name="weights")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def embed(words: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.gather(module.weights, module.table.lookup(words) + 1)}

    module.embed = embed
    tf.saved_model.save(module, str(folder / "saved"), embed)
    return folder / "saved"


def test_an_asset_file_is_what_it_holds_wherever_it_is(tmp_path: Path) -> None:
    saved = save_words(tmp_path, ["a", "b", "c"])
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)

    def compared() -> Any:
        editors = [tgw.edit(path) for path in (saved, copy)]
        for editor in editors:
            editor.view.leave(0)
        feeds = {"serving_default_words:0": np.array(["b", "z"])}
        return editors[1].compare(feeds, editors[0], "all")

    assert not compared()
    assert "asset_path_initializer:0" in compared().matched
    (copy / "assets" / "words.txt").write_text("\n".join("acb"))
    found = compared()
    assert found["asset_path_initializer:0"].differs
    assert found.first_divergence.op_type == "LookupTableFindV2"
