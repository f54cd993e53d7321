"""Functions that TensorFlow has frozen have v1 loops and conditionals: they run, are edited, and
are saved.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tfgraphwidget.errors import NotClonable

X = np.array([0.5, -0.25], np.float32)
WEIGHT = 1.5
ROUNDS = 4


def frozen(of: str) -> Any:
    """A frozen ConcreteFunction of x with a loop around a conditional; `of` says whether it or its
    graph.
    """
    weight = tf.Variable(WEIGHT)

    def body(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(v) * weight, lambda: v + weight)

    loop = tf.function(
        lambda x: {"y": tf.while_loop(lambda i, _: i < ROUNDS, body, [0, x])[1]}, autograph=False
    )
    function = convert_variables_to_constants_v2(
        loop.get_concrete_function(tf.TensorSpec([2], tf.float32, "x"))
    )
    return function if of == "function" else function.graph


def expected(x: np.ndarray, tanh: Any = np.tanh) -> np.ndarray:
    for i in range(ROUNDS):
        x = x + np.float32(WEIGHT) if i % 2 else tanh(x) * np.float32(WEIGHT)
    return x


@pytest.fixture(params=["function", "graph"])
def editor(request: pytest.FixtureRequest) -> Iterator[tgw.GraphEditor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield tgw.edit(frozen(request.param))


def close(found: Any, value: np.ndarray) -> None:
    (found,) = tf.nest.flatten(found)
    np.testing.assert_allclose(found, value, rtol=1e-6)


def tanh_of(editor: tgw.GraphEditor) -> str:
    (name,) = (
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Tanh"
    )
    return name


def test_it_runs_and_runs_edited(editor: tgw.GraphEditor) -> None:
    close(editor.to_module()(tf.constant(X)), expected(X))
    (output,) = editor._core.executor.inputs_and_outputs[1].values()
    close(editor.probe(output, {"x": X})[output].value, expected(X))
    assert editor.measure(output, {"x": X})
    editor.bypass(tanh_of(editor))
    close(editor.to_module()(tf.constant(X)), expected(X, lambda x: x))
    difference = editor.compare({"x": X})
    assert "equal" not in repr(difference)
    close(editor.clone(["x:0"], [output])(tf.constant(X)), expected(X, lambda x: x))
    editor.undo()
    editor.undo()
    close(editor.to_module()(tf.constant(X)), expected(X))


@pytest.mark.parametrize("name", ["m/", "m.pb", "f.pb", "m.meta"])
@pytest.mark.sample(2)
def test_it_is_saved_edited(editor: tgw.GraphEditor, name: str, tmp_path: Path) -> None:
    editor.bypass(tanh_of(editor))
    path = editor.save(f"{tmp_path}/{name}", frozen=name == "f.pb")
    value = expected(X, lambda x: x)
    if name == "m/":
        close(tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(X)), value)
        return
    again = tgw.edit(path)
    if again._core.executor.boundary is not None:
        again.view.leave(0)
    (fed,) = [op for op in again.ops(type="Placeholder").ops if op in ("x", "serving_default_x")]
    output = (
        next(iter(again.signatures.values())).outputs[0][1]
        if tuple(again.signatures.values())
        else {"m.pb": "Identity:0"}.get(name, "PartitionedCall:0")
    )
    close(again.probe(output, {fed: X})[output].value, value)


def test_a_gradient_is_refused_in_a_sentence_and_only_where_one_is_asked_for(
    editor: tgw.GraphEditor,
) -> None:
    module, x = editor.to_module(), tf.Variable(X)
    with tf.GradientTape() as tape:
        y = module(x)
    close(y, expected(X))
    with pytest.raises(
        NotClonable, match=r"has while loops or conditionals of TensorFlow 1, which cannot .*\.$"
    ):
        tape.gradient(tf.nest.flatten(y), x)


def test_a_part_that_begins_in_a_loop_is_refused_in_a_sentence(editor: tgw.GraphEditor) -> None:
    (output,) = editor._core.executor.inputs_and_outputs[1].values()
    with pytest.raises(
        NotClonable, match=r"is inside v1 (loop|conditional) .*; choose boundaries wholly before"
    ):
        editor.clone([f"{tanh_of(editor)}:0"], [output])
