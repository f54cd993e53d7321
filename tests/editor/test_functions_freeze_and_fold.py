"""Freezing, folding, stripping and extracting where a function was opened: what is left computes
the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.nothing import says_nothing
from tests.slow import slow

keras = tf.keras
X = tf.constant([[1.0, 2.0], [-3.0, 4.0]])


class Nested(tf.Module):
    """A function that calls another one, loops and chooses; all read its variables."""

    def __init__(self) -> None:
        super().__init__()
        self.v, self.w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3.0, name="w")

    @tf.function
    def inner(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"a": tf.nn.relu(x * self.v), "b": x + self.w}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def outer(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        inner = self.inner(x)
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * self.w), (0, inner["a"]))[1]
        return {
            "b": inner["b"],
            "y": tf.cond(tf.reduce_sum(x) > 0, lambda: y + self.w, lambda: y - self.w),
        }


def check_same(one: Any, other: Any, atol: float = 1e-6) -> None:
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=atol)


def sequential() -> Any:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(
                gamma_initializer="random_normal", beta_initializer="random_normal"
            ),
            layers.Dense(3),
        ]
    )
    model.layers[1].moving_mean.assign(np.linspace(-1, 1, 8))
    model.layers[1].moving_variance.assign(np.linspace(0.5, 2, 8))
    return model


BATCH = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")

# Freezing


def test_a_frozen_function_reads_no_variable_and_computes_the_same() -> None:
    nested = Nested()
    editor = tgw.edit(nested.outer)
    editor.freeze()
    module = editor.to_module()
    assert not module.variables
    check_same(module.signature(X), nested.outer(X))
    values = nested.outer(X)
    nested.w.assign(100.0)
    check_same(module.signature(X), values)
    editor.undo()
    check_same(editor.to_module().signature(X), nested.outer(X))
    assert len(editor.to_module().variables) == 2


def test_a_frozen_keras_model_is_saved_run_and_opened_again(tmp_path: Path) -> None:
    model = sequential()
    editor = tgw.edit(model)
    editor.freeze()
    check_same(editor.to_function()(BATCH), model(BATCH))
    editor.save(f"{tmp_path}/frozen/")
    loaded = tf.saved_model.load(str(tmp_path / "frozen"))
    check_same(loaded(tf.constant(BATCH)), model(BATCH))
    editor.save(tmp_path / "frozen.pb")
    again = tgw.edit(tmp_path / "frozen.pb")
    assert not again._core.index.variable_defs


def test_an_export_is_frozen_at_the_root_for_all_its_signatures_and_in_its_function(
    tmp_path: Path,
) -> None:
    model = sequential()
    model.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.freeze()
    assert not editor.to_module().variables
    check_same(editor.to_module()(BATCH), model(BATCH))
    root = tgw.edit(tmp_path / "export")
    root.view.leave(0)
    root.freeze()
    with pytest.warns(UserWarning, match="'serve' of the saved object is unchanged"):
        root.save(f"{tmp_path}/frozen/")
    signatures = tf.saved_model.load(str(tmp_path / "frozen")).signatures
    assert set(signatures) == {"serve", "serving_default"}
    for signature in signatures.values():
        check_same(signature(tf.constant(BATCH)), model(BATCH))


def test_a_function_is_frozen_to_other_outputs_and_from_other_inputs() -> None:
    model = sequential()
    editor = tgw.edit(model)
    relu = next(name for name in editor._core.index.names if name.endswith("/Relu"))
    editor.freeze(relu)
    head = editor.to_module()
    editor.undo()
    editor.freeze(inputs=relu)
    tail = editor.to_module()
    assert len(tail.inputs) == 1
    check_same(tail(head(BATCH)), model(BATCH))
    editor.undo()
    check_same(editor.to_module()(BATCH), model(BATCH))


def test_a_called_function_is_frozen_alone() -> None:
    nested = Nested()
    editor = tgw.edit(nested.outer)
    editor.view.enter(
        next(
            n
            for n, k in zip(editor._core.index.names, editor._core.index.types, strict=True)
            if "Call" in k
        )
    )
    editor.freeze()
    editor.view.leave(0)
    module = editor.to_module()
    values = nested.outer(X)
    nested.v.assign([9.0, 9.0])
    check_same(module.signature(X), values)


def test_a_module_is_frozen_signature_by_signature(tmp_path: Path) -> None:
    nested = Nested()
    functions = {
        "outer": nested.outer.get_concrete_function(),
        "inner": nested.inner.get_concrete_function(X),
    }
    tf.saved_model.save(nested, str(tmp_path / "module"), signatures=functions)
    for name, function in functions.items():
        editor = tgw.edit(tmp_path / "module", signature=name)
        editor.freeze()
        module = editor.to_module()
        assert not module.variables
        check_same(module.signature(X), function(X))


# Extracting


def test_a_part_of_a_function_is_a_function_with_its_own_variables() -> None:
    model = sequential()
    editor = tgw.edit(model)
    relu = next(name for name in editor._core.index.names if name.endswith("/Relu"))
    head, tail = editor.extract(outputs=relu), editor.extract(inputs=relu)
    check_same(tail.to_module()(head.to_module()(BATCH)), model(BATCH))
    kernel = next(v for v in head.to_module().variables if v.shape == (4, 8))
    kernel.assign(tf.zeros_like(kernel))
    assert np.abs(model.layers[0].kernel.numpy()).max() > 0
    head.bypass(next(name for name in head._core.index.names if name.endswith("/Relu")))
    head.freeze()
    assert not head.to_module().variables


# Folding


def shaken(model: Any) -> Any:
    """The model with values in which a wrong fold would show."""
    rng = np.random.default_rng(0)
    for variable in model.variables:
        is_variance = "variance" in variable.path
        variable.assign(
            rng.uniform(0.3, 1.5, variable.shape)
            if is_variance
            else rng.normal(0, 0.5, variable.shape)
        )
    return model


def convolutions() -> Any:
    """Convolutions, depthwise and separable ones, and matrix products, normalized before and after
    activations.
    """
    layers = keras.layers
    return shaken(
        keras.Sequential(
            [
                keras.Input((8, 8, 3)),
                layers.Conv2D(4, 3),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.DepthwiseConv2D(3, padding="same"),
                layers.BatchNormalization(),
                layers.ReLU(6.0),
                layers.SeparableConv2D(5, 3, use_bias=False),
                layers.BatchNormalization(),
                layers.GlobalAveragePooling2D(),
                layers.Dense(6),
                layers.BatchNormalization(scale=False),
                layers.Dense(6, activation="relu"),
                layers.BatchNormalization(),
                layers.Dense(4),
                layers.BatchNormalization(),
                layers.Dense(2, use_bias=False),
            ]
        )
    )


IMAGES = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype("float32")


def largest(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one) - np.asarray(other)).max())


@pytest.mark.parametrize("is_frozen", [False, True], ids=["variables", "frozen"])
def test_all_normalizations_of_a_keras_model_are_folded(is_frozen: bool) -> None:
    model = convolutions()
    expected = model(IMAGES).numpy()
    editor = tgw.edit(model)
    if is_frozen:
        editor.freeze()
    editor.passes.fold_batch_norm()
    assert not {"Mul", "Rsqrt", "Sub", "AddV2"} & set(editor._core.index.types)
    module = editor.to_module()
    assert np.abs(expected).max() > 0.1
    assert largest(module(IMAGES), expected) < 1e-5
    assert not any("normalization" in variable.name for variable in module.variables)
    editor.undo()
    assert largest(editor.to_module()(IMAGES), expected) == 0


def test_a_normalization_after_an_activation_goes_into_the_next_layer() -> None:
    model = shaken(sequential())
    editor = tgw.edit(model)
    editor.passes.fold_batch_norm()
    assert "Mul" not in editor._core.index.types
    assert largest(editor.to_module()(BATCH), model(BATCH)) < 1e-5


def test_the_normalizations_of_an_export_are_folded_in_its_function_and_saved(
    tmp_path: Path,
) -> None:
    model = convolutions()
    model.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.passes.fold_batch_norm()
    assert "Rsqrt" not in editor._core.index.types
    assert largest(editor.to_module()(IMAGES), model(IMAGES)) < 1e-5


def test_variables_that_a_function_updates_are_not_folded() -> None:
    model = shaken(sequential())

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x, training=False))
        variables = [variable.value for variable in model.trainable_variables]
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    says_nothing(tgw.edit(step).passes.fold_batch_norm(), "its numbers are not constants")


def test_variables_of_one_name_keep_their_values_apart() -> None:
    rng = np.random.default_rng(0)
    weights, bias = (
        tf.Variable(rng.normal(size=(4, 6)).astype("f4")),
        tf.Variable(rng.normal(size=6).astype("f4")),
    )
    mean, variance = tf.range(6.0), tf.range(1.0, 7.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def normalized(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.batch_normalization(
            x @ weights + bias, mean, variance, tf.ones(6), tf.range(6.0), 1e-3
        )

    editor = tgw.edit(normalized)
    editor.passes.fold_batch_norm()
    assert "Mul" not in editor._core.index.types
    assert largest(editor.to_module()(BATCH), normalized(BATCH)) < 1e-5


# Stripping


def test_a_training_step_is_stripped_to_the_model_that_it_trains() -> None:
    model = shaken(sequential())

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            logits = tf.identity(model(x, training=False), name="logits")
            loss = tf.reduce_sum(logits)
        variables = [variable.value for variable in model.trainable_variables]
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    editor = tgw.edit(step)
    before = model(BATCH).numpy()
    editor.passes.strip_training("logits:0")
    assert not any(kind.startswith("Assign") for kind in editor._core.index.types)
    assert largest(editor.to_module()(BATCH), before) == 0
    assert largest(model(BATCH), before) == 0  # no step was taken
    editor.freeze()
    assert not editor.to_module().variables


@pytest.fixture(scope="module")
def nested_model() -> tuple[Any, Any]:
    """A model, and a function that calls it from a conditional and twice in all."""
    model = convolutions()
    inner = tf.function(lambda x: model(x, training=False))

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3], name="x")])
    def outer(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: 2.0 * inner(x), lambda: inner(x)) + inner(x)

    return model, outer


@pytest.mark.parametrize("is_frozen", [False, True], ids=["variables", "frozen"])
def test_normalizations_are_folded_in_the_functions_that_a_function_calls(
    nested_model: tuple[Any, Any], is_frozen: bool
) -> None:
    _, outer = nested_model
    editor = tgw.edit(outer)
    if is_frozen:
        editor.freeze()
    editor.passes.fold_batch_norm()
    module = editor.to_module()
    for images in (IMAGES, -IMAGES):
        assert largest(module(images), outer(images)) < 1e-5
    called = {
        node.op
        for name in _called(editor)
        for node in editor._core.index.extras.function(name).node_def
    }
    assert "Conv2D" in called
    assert "Rsqrt" not in called
    editor.undo()
    assert largest(editor.to_module()(IMAGES), outer(IMAGES)) < 1e-6


def _called(editor: Any) -> set[str]:
    index = editor._core.index
    return set(index.reachable_functions())


def test_a_frozen_file_with_functions_is_folded_with_its_session(
    nested_model: tuple[Any, Any], tmp_path: Path
) -> None:
    frozen = tgw.edit(nested_model[1])
    frozen.freeze()
    frozen.save(tmp_path / "model.pb")
    editor = tgw.edit(tmp_path / "model.pb")
    feed = {f"{editor.ops(type='Placeholder').ops[0]}:0"}
    before = editor.session.run("Identity:0", dict.fromkeys(feed, IMAGES))
    editor.passes.fold_batch_norm()
    assert largest(editor.session.run("Identity:0", dict.fromkeys(feed, IMAGES)), before) < 1e-5
    editor.undo()
    assert largest(editor.session.run("Identity:0", dict.fromkeys(feed, IMAGES)), before) == 0


@pytest.mark.parametrize("is_frozen", [slow(False), True], ids=["variables", "frozen"])
def test_an_export_is_folded_at_the_root_for_all_its_signatures(
    is_frozen: bool, tmp_path: Path
) -> None:
    model = convolutions()
    model.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.view.leave(0)
    if is_frozen:
        editor.freeze()
    editor.passes.fold_batch_norm()
    editor.save(f"{tmp_path}/folded/")
    loaded = tf.saved_model.load(str(tmp_path / "folded"))
    assert set(loaded.signatures) == {"serve", "serving_default"}
    for signature in loaded.signatures.values():
        assert largest(next(iter(signature(tf.constant(IMAGES)).values())), model(IMAGES)) < 1e-5


def test_the_custom_gradient_after_a_folded_normalization_is_that_of_what_it_reads_now() -> None:
    layers = keras.layers
    model = shaken(
        keras.Sequential(
            [
                keras.Input((4,)),
                layers.Dense(8),
                layers.BatchNormalization(),
                layers.Activation("silu"),
                layers.Dense(3),
            ]
        )
    )
    editor = tgw.edit(model)
    editor.passes.fold_batch_norm()
    module, batch = editor.to_module(), tf.constant(BATCH)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(batch)
        one, other = tf.reduce_sum(module(batch) ** 2), tf.reduce_sum(model(batch) ** 2)
    assert largest(tape.gradient(one, batch), tape.gradient(other, batch)) < 1e-4


def test_a_normalization_that_is_a_result_is_folded_and_what_else_is_a_result_is_not_changed() -> (
    None
):
    rng = np.random.default_rng(0)
    weights, scale = (
        tf.constant(rng.normal(size=(4, 6)), tf.float32),
        tf.constant(rng.normal(size=6), tf.float32),
    )

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def normalized(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.Mul(x=x @ weights, y=scale)

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def both(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = x @ weights
        return y, y * scale

    editor = tgw.edit(normalized.get_concrete_function().graph)
    editor.passes.fold_batch_norm()
    assert "Mul" not in editor._core.index.types
    assert largest(editor.to_module()(BATCH), normalized(BATCH)) < 1e-5
    says_nothing(
        tgw.edit(both.get_concrete_function().graph).passes.fold_batch_norm(), "no batch normali"
    )
