"""`sync` of checkpoints of objects: all variables of the target get values, as TensorFlow restores
them, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError, UnknownName


class Block(keras.layers.Layer):
    """A layer of two layers, whose names Keras numbers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense, self.norm = keras.layers.Dense(width), keras.layers.LayerNormalization()

    def call(self, x: Any) -> Any:
        return self.norm(self.dense(x))


class Subclassed(keras.Model):
    """A model that has its layers and a weight as attributes."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.first, self.second, self.last = Block(width), Block(width), keras.layers.Dense(2)
        self.norm = keras.layers.BatchNormalization()
        self.shift = self.add_weight(shape=(width,), name="shift")

    def call(self, x: Any, training: bool = False) -> Any:
        return self.last(self.norm(self.second(self.first(x)) + self.shift, training=training))


class Module(tf.Module):
    """Variables without names of their own, in a list and a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.zeros([2]))
        self.parts = [tf.Variable(tf.zeros([2])), tf.Variable(tf.zeros([2]))]
        self.named = {"k": tf.Variable(tf.zeros([2]))}

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def f(self, x: tf.Tensor) -> tf.Tensor:
        """Reads all but one."""
        return x * self.parts[0] + self.parts[1] * self.named["k"]


def subclassed() -> Any:
    model = Subclassed()
    model(tf.ones([1, 4]))
    return model


def sequential() -> Any:
    layers = [keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    return keras.Sequential([keras.Input((4,)), *layers])


def functional() -> Any:
    x = keras.Input((4,))
    total = keras.layers.Add()([keras.layers.Dense(3)(x), keras.layers.Dense(3)(x)])
    return keras.Model(x, keras.layers.Dense(2)(total))


MODELS: dict[str, Callable[[], Any]] = {
    "subclassed": subclassed,
    "sequential": sequential,
    "functional": functional,
    "module": Module,
}


def filled(make: Callable[[], Any], seed: int) -> Any:
    """A model with values of its own."""
    model, numbers = make(), np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(numbers.normal(size=variable.shape))
    return model


def values(model: Any) -> list[np.ndarray]:
    return [np.asarray(variable) for variable in model.variables]


def exported(model: Any, path: Path) -> str:
    model.export(str(path), verbose=False)
    return str(path)


def saved_model(model: Any, path: Path) -> str:
    tf.saved_model.save(model, str(path))
    return str(path)


def managed(model: Any, path: Path) -> str:
    step, optimizer = tf.Variable(3), getattr(model, "optimizer", None) or tf.Variable(1.0)
    tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step, optimizer=optimizer, net=model), str(path), 3
    ).save()
    return str(path)


WAYS: dict[str, Callable[[Any, Path], str]] = {
    "Checkpoint(model=model).write": lambda model, path: tf.train.Checkpoint(model=model).write(
        str(path)
    ),
    "Checkpoint(model=model).save": lambda model, path: tf.train.Checkpoint(model=model).save(
        str(path)
    ),
    "Checkpoint(model).write": lambda model, path: tf.train.Checkpoint(model).write(str(path)),
    "Checkpoint(model, step=…)": lambda model, path: tf.train.Checkpoint(
        model, step=tf.Variable(1)
    ).write(str(path)),
    "CheckpointManager, the folder": managed,
    "CheckpointManager, the prefix": lambda model, path: str(
        tf.train.latest_checkpoint(managed(model, path))
    ),
    "tf.saved_model.save": saved_model,
    "the values of a SavedModel": lambda model, path: (
        f"{saved_model(model, path)}/variables/variables"
    ),
    "model.export": exported,
}


@pytest.mark.parametrize("is_trained", [False, True], ids=["", "trained"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.sample(2)
def test_each_way_to_write_a_checkpoint_gives_all_values(
    kind: str, is_trained: bool, tmp_path: Path
) -> None:
    source = filled(MODELS[kind], 1)
    if is_trained and kind != "module":
        source.compile("adam", "mse")
        source.fit(tf.ones([2, 4]), tf.ones([2, 2]), verbose=0)
    for number, (way, write) in enumerate(WAYS.items()):
        if way == "model.export" and kind == "module":
            continue
        target = filled(MODELS[kind], 2)
        pairs = tgw.sync(write(source, tmp_path / f"f{number}"), target)
        assert len(pairs) == len(target.variables), way
        for wanted, got in zip(values(source), values(target), strict=False):
            assert np.array_equal(wanted, got), way


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning", "ignore:You are saving:UserWarning"
)
@pytest.mark.parametrize("suffix", [".weights.h5", ".keras", ".h5"])
@pytest.mark.parametrize("make", [sequential, functional])
def test_a_file_of_keras_gives_all_values_of_the_model(
    make: Callable[[], Any], suffix: str, tmp_path: Path
) -> None:
    source, target = filled(make, 1), filled(make, 2)
    path = str(tmp_path / f"m{suffix}")
    (source.save_weights if suffix == ".weights.h5" else source.save)(path)
    before = values(target)
    assert len(tgw.drift(path, target)) == len(before)
    assert all(np.array_equal(a, b) for a, b in zip(before, values(target), strict=True))
    tgw.sync(path, target, tau=0.5)
    for a, b, got in zip(values(source), before, values(target), strict=True):
        assert np.allclose((a + b) / 2, got)
    tgw.sync(path, target)
    assert all(np.array_equal(a, b) for a, b in zip(values(source), values(target), strict=True))
    other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(7)])
    before = values(other)
    with pytest.raises(GraphEditError, match="cannot be loaded into Keras model"):
        tgw.sync(path, other)
    assert all(np.array_equal(a, b) for a, b in zip(before, values(other), strict=True))


def test_what_a_checkpoint_lacks_is_named_and_nothing_is_assigned(tmp_path: Path) -> None:
    class Longer(Subclassed):
        def __init__(self) -> None:
            super().__init__()
            self.extra = keras.layers.Dense(2)

        def call(self, x: Any, training: bool = False) -> Any:
            return self.extra(super().call(x, training))

    path = tf.train.Checkpoint(model=filled(subclassed, 1)).write(str(tmp_path / "c"))
    target = Longer()
    target(tf.ones([1, 4]))
    before = values(target)
    with pytest.raises(
        GraphEditError, match=r"has no value for '.*dense.*/kernel' and '.*/bias' of Keras model"
    ) as refusal:
        tgw.sync(path, target)
    assert len(refusal.value.ops) == 2
    assert all(np.array_equal(a, b) for a, b in zip(before, values(target), strict=True))


def test_other_shapes_are_refused_with_both_names(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(model=filled(subclassed, 1)).write(str(tmp_path / "c"))
    target = Subclassed(width=5)
    target(tf.ones([1, 4]))
    before = values(target)
    with pytest.raises(GraphEditError, match=r"has shape \(.*\) and cannot be copied to"):
        tgw.sync(path, target)
    assert all(np.array_equal(a, b) for a, b in zip(before, values(target), strict=True))


def test_of_two_objects_of_one_structure_the_one_that_is_meant_is_named(tmp_path: Path) -> None:
    online, slow = filled(subclassed, 1), filled(subclassed, 2)
    path = tf.train.Checkpoint(online=online, slow=slow).write(str(tmp_path / "c"))
    target = filled(subclassed, 3)
    with pytest.raises(
        GraphEditError,
        match=r"several objects like the target: 'online' and 'slow'.*names=\{'online': ''\}",
    ):
        tgw.sync(path, target)
    for name, source in (("slow", slow), ("online", online)):
        tgw.sync(path, target, {name: ""})
        assert all(
            np.array_equal(a, b) for a, b in zip(values(source), values(target), strict=True)
        )
    with pytest.raises(UnknownName, match="no object 'other'"):
        tgw.sync(path, target, {"other": ""})


def test_tensorflow_restores_the_same_values(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(model=filled(subclassed, 1)).write(str(tmp_path / "c"))
    ours, theirs = filled(subclassed, 2), filled(subclassed, 3)
    tgw.sync(path, ours)
    tf.train.Checkpoint(model=theirs).restore(path).expect_partial()
    assert all(np.array_equal(a, b) for a, b in zip(values(ours), values(theirs), strict=True))


# Checkpoints of Keras 2, which named the layers of functional and sequential models by their number


def plain(layer: Any) -> Any:
    """An object with the variables, layers and cells of a layer, under the names that Keras 2 gave
    them.
    """
    node = tf.Module()
    former = (
        {"depthwise_kernel": "kernel"} if isinstance(layer, keras.layers.DepthwiseConv2D) else {}
    )
    names = (
        "kernel",
        "bias",
        "gamma",
        "beta",
        "moving_mean",
        "moving_variance",
        "embeddings",
        "recurrent_kernel",
    )
    for name in names:
        if isinstance(getattr(layer, name, None), keras.Variable):
            setattr(
                node,
                dict(zip(former.values(), former, strict=True)).get(name, name),
                getattr(layer, name).value,
            )
    for name in ("cell", "forward_layer", "backward_layer", "layer"):
        if isinstance(getattr(layer, name, None), keras.layers.Layer):
            setattr(node, name, plain(getattr(layer, name)))
    for name in ("_query_dense", "_key_dense", "_value_dense", "_output_dense"):
        if hasattr(layer, name):
            setattr(node, name, plain(getattr(layer, name)))
    return numbered(node, layer) if isinstance(layer, keras.Model) else node


def numbered(node: Any, model: Any) -> Any:
    """The object, with "layer-2" and "layer_with_weights-0" for the layers of a model."""
    count = 0
    for number, layer in enumerate(model.layers):
        child = plain(layer)
        if layer.weights:
            setattr(node, f"layer_with_weights-{count}", child)
            count += 1
        setattr(node, f"layer-{number}", child)
    return node


def nested() -> Any:
    x = keras.Input((6,))
    y = keras.layers.Dropout(0.5)(keras.layers.Embedding(9, 4)(x))
    y = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))(y)
    y = keras.layers.MultiHeadAttention(2, 3)(y, y)
    inner = keras.Sequential(
        [keras.Input((6, 6)), keras.layers.GRU(3), keras.layers.BatchNormalization()]
    )
    return keras.Model(x, keras.layers.Dense(2)(inner(y)))


def pictures() -> Any:
    layers = [
        keras.layers.DepthwiseConv2D(3),
        keras.layers.ReLU(),
        keras.layers.TimeDistributed(keras.layers.Dense(2)),
    ]
    return keras.Sequential([keras.Input((8, 8, 3)), *layers])


@pytest.mark.parametrize("is_model", [False, True], ids=["save_weights", "Checkpoint(model=model)"])
@pytest.mark.parametrize("make", [sequential, functional, nested, pictures])
def test_a_checkpoint_of_keras_2_gives_all_values(
    make: Callable[[], Any], is_model: bool, tmp_path: Path
) -> None:
    source = make()
    numbers = np.random.default_rng(1)
    for variable in source.weights:
        variable.assign(numbers.normal(size=variable.shape).astype(variable.dtype))
    root = numbered(tf.Module(), source)
    path = tf.train.Checkpoint(**({"model": root} if is_model else {"root": root})).write(
        str(tmp_path / "c")
    )
    keys = [name for name, _ in tf.train.list_variables(path)]
    prefix = "model/" if is_model else ""
    assert any(key.startswith(f"{prefix}layer_with_weights-0/") for key in keys)
    target = make()
    pairs = tgw.sync(path, target)
    assert len(pairs) == len(target.weights)
    for wanted, got in zip(source.weights, target.weights, strict=True):
        assert np.array_equal(wanted, got)


def test_a_checkpoint_of_keras_2_that_lacks_a_layer_assigns_nothing(tmp_path: Path) -> None:
    root = numbered(tf.Module(), filled(sequential, 1))
    path = tf.train.Checkpoint(root).write(str(tmp_path / "c"))
    longer = keras.Sequential([keras.Input((4,)), *(keras.layers.Dense(n) for n in (3, 2, 5))])
    before = values(longer)
    with pytest.raises(GraphEditError):
        tgw.sync(path, longer)
    assert all(np.array_equal(a, b) for a, b in zip(before, values(longer), strict=True))
