"""A clone or a module as a layer of Keras: another model trains it, counts it and keeps it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

X = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=(16, 1)).astype(np.float32)

# Of Keras.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def backbone() -> Any:
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Dense(3, activation="tanh", name="hidden"),
        keras.layers.Dense(2, name="last"),
    ]
    return keras.Sequential([keras.Input((4,)), *layers])


def of_module() -> Any:
    return tgw.edit(backbone()).to_module()


def of_clone() -> Any:
    return tgw.edit(backbone()).clone(into="copy")


def of_module_of(model: Any) -> Any:
    return tgw.edit(model).to_module()


def of_clone_of(model: Any) -> Any:
    return tgw.edit(model).clone(into="copy")


def of_part() -> Any:
    editor = tgw.edit(backbone())
    return editor.clone(None, editor.find("type:Tanh").ops[0], into="part")


def of_function() -> Any:
    holder = tf.Module()
    holder.w, holder.b = tf.Variable(tf.ones([4, 2]), name="w"), tf.Variable([1.0, 2.0], name="b")
    function = tf.function(
        lambda x: x @ holder.w + holder.b, input_signature=[tf.TensorSpec([None, 4])]
    )
    return tgw.edit(function).to_module()


def of_graph() -> Any:
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        w = tf.compat.v1.get_variable(
            "w", [4, 2], initializer=tf.compat.v1.ones_initializer(), use_resource=True
        )
        tf.matmul(x, w, name="y")
        session.run(tf.compat.v1.global_variables_initializer())
        return tgw.edit(graph, session=session).to_module()


MODULES = {
    "module": (of_module, 4),
    "clone": (of_clone, 4),
    "part": (of_part, 2),
    "function": (of_function, 2),
    "graph": (of_graph, 1),
}


def functional(layer: Any) -> Any:
    x = keras.Input((4,))
    return keras.Model(x, keras.layers.Dense(1)(layer(x)))


class Subclassed(keras.Model):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.backbone, self.head = layer, keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.head(self.backbone(x))


@pytest.mark.parametrize("build", [functional, Subclassed], ids=["functional", "subclassed"])
@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.sample(2)
def test_keras_trains_counts_and_saves_the_variables(
    kind: str, build: Callable[[Any], Any], tmp_path: Path
) -> None:
    make, count = MODULES[kind]
    module = make()
    wanted = np.asarray(module(tf.constant(X)))
    layer = module.layer(name="backbone")
    assert isinstance(layer, keras.layers.Layer)
    net = build(layer)
    assert np.allclose(layer(X), wanted, atol=1e-6)
    net(X)
    assert len(net.trainable_variables) == count + 2
    own = sum(int(np.prod(variable.shape)) for variable in module.variables)
    assert layer.count_params() == own
    lines: list[str] = []
    net.summary(print_fn=lines.append)
    assert "backbone (ModuleLayer)" in "\n".join(lines)
    before = [variable.numpy() for variable in module.trainable_variables]
    net.compile(keras.optimizers.SGD(0.1), "mse")
    net.fit(X, Y, epochs=2, verbose=0)
    after = [variable.numpy() for variable in module.trainable_variables]
    assert not any(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    predicted = net.predict(X, verbose=0)
    net.save_weights(tmp_path / "w.weights.h5")
    for variable in module.variables:
        variable.assign(tf.zeros_like(variable))
    net.load_weights(tmp_path / "w.weights.h5")
    assert np.allclose(net.predict(X, verbose=0), predicted, atol=1e-6)
    net.export(str(tmp_path / "export"), verbose=False)
    exported = tf.saved_model.load(str(tmp_path / "export"))
    assert np.allclose(exported.serve(X), predicted, atol=1e-6)
    if build is functional:
        net.save(tmp_path / "net.keras")
        loaded = keras.models.load_model(tmp_path / "net.keras")
        assert np.allclose(loaded.predict(X, verbose=0), predicted, atol=1e-6)
        assert len(loaded.trainable_variables) == count + 2
        loaded.compile("sgd", "mse")
        loaded.fit(X, Y, verbose=0)


def test_training_gives_the_numbers_of_the_same_model_of_keras() -> None:
    ours, theirs = backbone(), backbone()
    nets = [functional(tgw.edit(ours).to_module().layer()), functional(theirs)]
    nets[1].layers[-1].set_weights(nets[0].layers[-1].get_weights())
    for net in nets:
        net.compile(keras.optimizers.Adam(0.01), "mse")
        net.fit(X, Y, epochs=3, shuffle=False, verbose=0)
    assert all(
        np.allclose(a, b, atol=1e-6)
        for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True)
    )


def test_a_module_that_is_called_on_a_tensor_of_keras_is_a_layer() -> None:
    module = of_clone()
    net = functional(module)
    assert len(net.trainable_variables) == 6
    again = functional(module)
    assert net.layers[1] is again.layers[1]


def test_a_frozen_layer_does_not_train() -> None:
    module = of_clone()
    net = functional(module.layer(trainable=False))
    assert len(net.trainable_variables) == 2
    before = [variable.numpy() for variable in module.variables]
    net.compile("sgd", "mse")
    net.fit(X, Y, verbose=0)
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(before, module.variables, strict=True))


def test_a_module_that_keras_cannot_see_is_said() -> None:
    net = Subclassed(of_clone())
    with pytest.warns(
        UserWarning, match=r"does not see the 4 variables of 'copy'.*use module\.layer\(\)"
    ):
        net(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net(X)
        of_clone().layer()(X)
        of_clone()(tf.constant(X))


def test_several_inputs_are_a_list_or_a_dict(tmp_path: Path) -> None:
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    two = keras.Model([a, b], keras.layers.Dense(2)(keras.layers.Subtract()([a, b])))
    function = tf.function(
        lambda a, b: two([a, b]), input_signature=[tf.TensorSpec([None, 4], name=n) for n in "ab"]
    )
    layer = tgw.edit(function).to_module().layer()
    wanted = np.asarray(two([X, 2 * X]))
    assert np.allclose(layer([X, 2 * X]), wanted, atol=1e-6)
    assert np.allclose(layer({"b": 2 * X, "a": X}), wanted, atol=1e-6)
    x, y = keras.Input((4,)), keras.Input((4,))
    net = keras.Model([x, y], layer([x, y]))
    net.save(tmp_path / "net.keras")
    assert np.allclose(
        keras.models.load_model(tmp_path / "net.keras")([X, 2 * X]), wanted, atol=1e-6
    )


NESTED_INPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda a, b: {"b": b, "a": a},
    "list": lambda a, b: [a, b],
    "tuple": lambda a, b: (a, b),
    "list in a dict": lambda a, b: {"both": [a, b]},
    "list of one": lambda a, _: [a],
}


@pytest.mark.parametrize("make", [of_module_of, of_clone_of], ids=["module", "clone"])
@pytest.mark.parametrize("nest", NESTED_INPUTS.values(), ids=NESTED_INPUTS)
@pytest.mark.sample(5)
def test_the_layer_of_a_keras_model_takes_its_inputs_nested_as_the_model_does(
    nest: Callable[[Any, Any], Any], make: Callable[[Any], Any], tmp_path: Path
) -> None:
    keras.utils.set_random_seed(0)
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    ends = keras.tree.flatten(nest(a, b))
    both = ends[0] if len(ends) == 1 else keras.layers.Subtract()(ends)
    model = keras.Model(nest(a, b), {"out": keras.layers.Dense(2)(both)})
    module, wanted = make(model), np.asarray(model(nest(X, 2 * X))["out"])
    assert np.allclose(module.layer()(nest(X, 2 * X))["out"], wanted, atol=1e-6)
    net = keras.Model(nest(a, b), module(nest(a, b)))
    assert np.allclose(net(nest(X, 2 * X))["out"], wanted, atol=1e-6)
    net.save(tmp_path / "net.keras")
    loaded = keras.models.load_model(tmp_path / "net.keras")
    assert np.allclose(loaded(nest(X, 2 * X))["out"], wanted, atol=1e-6)
    assert len(net.trainable_variables) == len(loaded.trainable_variables) == 2


def test_a_file_whose_layer_does_more_than_compute_is_loaded_when_the_user_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "text").write_text("3")

    def read(x: Any) -> Any:
        return x * tf.strings.to_number(tf.io.read_file(str(tmp_path / "text")))

    layer = (
        tgw.edit(tf.function(read, input_signature=[tf.TensorSpec([None, 4])])).to_module().layer()
    )
    x = keras.Input((4,))
    keras.Model(x, layer(x)).save(tmp_path / "net.keras")
    with pytest.raises(ValueError, match="safe_mode=False"):
        keras.models.load_model(tmp_path / "net.keras")
    loaded = keras.models.load_model(tmp_path / "net.keras", safe_mode=False)
    assert np.allclose(loaded(X), 3 * X)


@pytest.mark.parametrize("make", [of_module_of, of_clone_of], ids=["module", "clone"])
def test_the_layer_has_the_regularizers_of_the_weights(
    make: Callable[[Any], Any], tmp_path: Path
) -> None:
    dense = keras.layers.Dense
    model = keras.Sequential(
        [
            keras.Input((4,)),
            dense(3, kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2), name="hidden"),
            dense(2, bias_regularizer="l2", name="last"),
        ]
    )
    model.layers[1].bias.assign([1.0, 2.0])
    inputs = keras.Input((4,))
    layer = make(model).layer(name="part")
    net = keras.Model(inputs, layer(inputs))
    np.testing.assert_allclose(sum(net.losses), sum(model.losses), rtol=1e-6)
    net.save(tmp_path / "net.keras")
    loaded = keras.models.load_model(tmp_path / "net.keras")
    np.testing.assert_allclose(sum(loaded.losses), sum(model.losses), rtol=1e-6)
    before = float(sum(net.losses))
    net.compile("sgd", "mse")
    net.fit(np.zeros((8, 4)), np.tile([1.0, 2.0], (8, 1)), epochs=3, verbose=0)
    assert float(sum(net.losses)) < before, "nothing but the regularizers pulls"
    layer.trainable = False
    assert net.losses == []
