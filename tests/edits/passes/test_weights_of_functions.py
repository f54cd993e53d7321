"""Weights that functions pass on to functions: each is stored once, and what was frozen before runs
and is saved.
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

v1 = tf.compat.v1
SPEC = [tf.TensorSpec([None, 64], tf.float32, name="x")]
X = np.linspace(-1, 1, 64, dtype=np.float32)[None]
KERNEL = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
STEP = np.ptp(KERNEL, axis=0).max() / 255.0  # of the channel with the largest range
# Four products with the kernel at most, each value by half a step.
TOLERANCE = 4 * STEP * float(np.abs(X).sum())


def alone() -> Any:
    """A function without calls."""
    kernel = tf.Variable(KERNEL)
    return tf.function(lambda x: x @ kernel, input_signature=SPEC)


def nested() -> Any:
    """A kernel that is passed on through functions of functions, three times."""
    kernel = tf.Variable(KERNEL)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x @ kernel

    @tf.function
    def middle(x: tf.Tensor) -> tf.Tensor:
        return inner(x) + inner(x * 2.0)

    return tf.function(lambda x: middle(x) + inner(x), input_signature=SPEC)


def in_loop() -> Any:
    """A kernel that the function reads which a loop's body calls."""
    kernel = tf.Variable(KERNEL)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x @ kernel * 0.05

    def looped(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, inner(y)), (0, x))[1]

    return tf.function(looped, input_signature=SPEC)


def constant() -> Any:
    """A constant in a function that is called from two others."""

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x @ tf.constant(KERNEL)

    @tf.function
    def middle(x: tf.Tensor) -> tf.Tensor:
        return inner(x) + inner(x * 2.0)

    return tf.function(lambda x: middle(x) + inner(x), input_signature=SPEC)


def large_constants(path: Path) -> list[int]:
    """The dtypes of the constants of the kernel's size in a file, those in functions included."""
    written = v1.GraphDef.FromString(path.read_bytes())
    nodes = [
        *written.node,
        *(node for function in written.library.function for node in function.node_def),
    ]
    tensors = [node.attr["value"].tensor for node in nodes if node.op == "Const"]
    return [
        tensor.dtype
        for tensor in tensors
        if np.prod([dim.size for dim in tensor.tensor_shape.dim]) == KERNEL.size
    ]


@pytest.mark.parametrize("make", [alone, nested, in_loop, constant])
def test_a_frozen_function_is_quantized_runs_and_is_saved(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    function = make()
    wanted = function(tf.constant(X))
    editor = tgw.edit(function)
    if make is not constant:
        editor.freeze()
    editor.passes.quantize_weights()
    np.testing.assert_allclose(editor.to_function()(tf.constant(X)), wanted, atol=TOLERANCE)
    largest = editor.compare({"x:0": X}).largest
    assert largest is not None
    assert 0 < largest < TOLERANCE
    assert editor.measure(feeds={"x:0": X})
    editor.save(tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    np.testing.assert_allclose(
        next(iter(loaded(x=tf.constant(X)).values())), wanted, atol=TOLERANCE
    )
    editor.save(tmp_path / "f.pb", frozen=True, inline=False)
    assert large_constants(tmp_path / "f.pb") == [tf.int8.as_datatype_enum]
    editor.undo()
    np.testing.assert_allclose(editor.to_function()(tf.constant(X)), wanted, rtol=1e-6)


@pytest.mark.parametrize("make", [nested, in_loop, constant])
@pytest.mark.parametrize("method", ["quantize_weights", "round_weights"])
def test_a_file_with_nested_functions_stores_each_kernel_once(
    make: Callable[[], Any], method: str, tmp_path: Path
) -> None:
    function, module = make(), tf.Module()
    module.function, module.kept = function, list(function.get_concrete_function().variables)
    tf.saved_model.save(module, str(tmp_path / "export"), signatures=function)
    editor = tgw.edit(tmp_path / "export")
    editor.view.leave(0)
    editor.freeze()
    report = getattr(editor.passes, method)()
    assert sum(note.startswith("1 constant") for note in report.notes) == 1
    editor.save(tmp_path / "f.pb", frozen=True, inline=False)
    assert len(large_constants(tmp_path / "f.pb")) == 1


def test_a_keras_model_is_frozen_and_quantized() -> None:
    keras.utils.set_random_seed(0)
    layers = [keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(64)]
    model = keras.Sequential(layers)
    editor = tgw.edit(model)
    editor.freeze()
    editor.passes.quantize_weights()
    np.testing.assert_allclose(editor.to_function()(tf.constant(X)), model(X), atol=0.05)


def test_results_that_are_left_are_compared_and_measured() -> None:
    @tf.function(input_signature=SPEC)
    def function(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"a": x + 1.0, "b": x * 2.0, "c": tf.abs(x)}

    editor = tgw.edit(function)
    editor.remove("Identity_1")
    assert [row.name for row in editor.compare({"x:0": X})] == [
        "Identity:0",
        "Identity_2:0",
    ]
    assert "Abs" in editor.measure(feeds={"x:0": X})
    editor.freeze("Identity_2:0")
    assert [row.name for row in editor.compare({"x:0": X})] == ["Identity_2:0"]
    assert "Abs" in editor.measure(feeds={"x:0": X})
    editor.undo()
    editor.undo()
    assert len(editor.compare({"x:0": X})) == 3
