"""Frozen graphs with loops and conditionals of TensorFlow 1 as layers of Keras: trained right, or
refused.
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
from tests.conftest import v1
from tfgraphwidget.errors import NotClonable

GIVEN = np.array([[1.0, 0.5, -0.3], [0.2, 0.1, 0.4]], np.float32)
REFUSED = "has while loops or conditionals of TensorFlow 1, which cannot be differentiated"

# Of Keras.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

Network = Callable[[Any, Any], Any]


def _repeat(step: Callable[[Any], Any], count: int, x: Any) -> Any:
    shapes = tf.TensorShape([]), tf.TensorShape([None, 3])
    return v1.while_loop(
        lambda i, _: i < count, lambda i, y: (i + 1, step(y)), (0, x), shape_invariants=shapes
    )[1]


def _either(x: Any, yes: Callable[[], Any], no: Callable[[], Any], least: float = 0.0) -> Any:
    return v1.cond(tf.reduce_sum(x) > least, yes, no)


def _second(y: Any, w: Any) -> Any:
    return _either(y, lambda: y @ w, lambda: tf.cos(y), 0.9)


LOOPS: dict[str, Network] = {
    "loop": lambda x, w: _repeat(lambda y: tf.tanh(y @ w), 3, x),
    "nested loops": lambda x, w: _repeat(
        lambda y: _repeat(lambda z: tf.sin(z @ w), 2, y) + y, 2, x
    ),
    "conditional in a loop": lambda x, w: _repeat(
        lambda y: _either(y, lambda: tf.sin(y @ w), lambda: y * 2), 2, x
    ),
    "map": lambda x, w: tf.ensure_shape(
        tf.map_fn(lambda row: tf.tanh(row) * tf.reduce_sum(w), x), [None, 3]
    ),
    "conditional in a conditional": lambda x, w: _either(
        x, lambda: _either(x, lambda: x @ w, lambda: tf.sin(x) * w[0], 1.0), lambda: x * x
    ),
}
CONDITIONALS: dict[str, Network] = {
    "conditional": lambda x, w: _either(x, lambda: x @ w, lambda: tf.sin(x)),
    "branch without a gradient": lambda x, w: _either(x, lambda: x @ w, lambda: tf.zeros_like(x)),
    "two in turn": lambda x, w: _second(_either(x, lambda: x @ w, lambda: x), w),
    "two results": lambda x, w: tf.multiply(
        *_either(x, lambda: (x @ w, x * 2), lambda: (tf.sin(x), x @ w))
    ),
}


def frozen(network: Network, path: Path) -> tuple[Path, list[tuple[Any, Any, Any]]]:
    """Write a network with its variable frozen; and the input, result and gradient that TensorFlow
    1 has.
    """
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], "x")
            w = v1.get_variable("w", initializer=np.eye(3, dtype=np.float32) * 0.8 + 0.1)
            y = tf.identity(network(x, w), "y")
            graph_def = v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"])
            (gradient,) = tf.gradients(y, x)
            session.run(v1.global_variables_initializer())
            values = [
                (k * GIVEN, *session.run([y, gradient], {x: k * GIVEN})) for k in (1.0, -1.0, 0.3)
            ]
            graph_def = v1.graph_util.convert_variables_to_constants(session, graph_def, ["y"])
    finally:
        v1.enable_control_flow_v2()
    path.write_bytes(graph_def.SerializeToString())
    return path, values


def known_rank(path: Path) -> tgw.GraphEditor:
    """An editor of the file, whose result has the shape that Keras asks for."""
    editor = tgw.edit(path)
    editor.insert("y:0", lambda y: tf.ensure_shape(y, [None, 3]))
    return editor


def trained(layer: Any, *, first: bool = False) -> keras.Model:
    inputs = keras.Input((3,))
    x = inputs if first else keras.layers.Dense(3, name="before")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, name="after")(layer(x)))
    model.compile("sgd", "mse")
    model.fit(GIVEN, np.ones([2, 1], np.float32), verbose=0, epochs=2)
    return model


@pytest.mark.parametrize("name", CONDITIONALS)
def test_a_frozen_conditional_is_differentiated_as_tensorflow_does(
    name: str, tmp_path: Path
) -> None:
    path, values = frozen(CONDITIONALS[name], tmp_path / "frozen.pb")
    module = tgw.edit(path).to_module()
    for call in (module, module.layer()):
        for given, result, gradient in values:
            x = tf.constant(given)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = call(x)
            np.testing.assert_allclose(y, result, rtol=1e-5)
            np.testing.assert_allclose(tape.gradient(y, x), gradient, rtol=1e-4, atol=1e-6)
    model = trained(known_rank(path).to_module().layer())
    assert [len(model.get_layer(each).trainable_weights) for each in ("before", "after")] == [2, 2]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sample(3)
def test_a_frozen_loop_computes_in_a_layer_and_its_gradient_is_refused(
    name: str, tmp_path: Path
) -> None:
    path, values = frozen(LOOPS[name], tmp_path / "frozen.pb")
    layer = tgw.edit(path).to_module().layer()
    for given, result, _ in values:
        np.testing.assert_allclose(layer(tf.constant(given)), result, rtol=1e-5)
        x = tf.constant(given)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        with pytest.raises(NotClonable, match=REFUSED):
            tape.gradient(y, x)
    with pytest.raises(NotClonable, match=REFUSED):
        trained(known_rank(path).to_module().layer())


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sample(2)
def test_what_comes_after_a_frozen_loop_is_trained_and_the_model_is_saved(
    name: str, tmp_path: Path
) -> None:
    path, values = frozen(LOOPS[name], tmp_path / "frozen.pb")
    model = trained(known_rank(path).to_module().layer(name="frozen"), first=True)
    features = keras.Model(model.inputs, model.get_layer("frozen").output)
    np.testing.assert_allclose(features(tf.constant(values[0][0])), values[0][1], rtol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(
        tmp_path / "model.keras", custom_objects={"ModuleLayer": tgw.ModuleLayer}
    )
    np.testing.assert_allclose(loaded(GIVEN), model(GIVEN), rtol=1e-5)
    x = tf.constant(GIVEN)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded(x)
    with pytest.raises(NotClonable, match=REFUSED):
        tape.gradient(y, x)


def test_a_result_of_unknown_rank_is_refused_with_the_edit_that_says_it(tmp_path: Path) -> None:
    path, _ = frozen(LOOPS["loop"], tmp_path / "frozen.pb")
    with pytest.raises(ValueError, match=r"number of dimensions.*editor.insert\('y:0'"):
        tgw.edit(path).to_module().layer()(keras.Input((3,)))


def test_variables_that_a_loop_reads_are_not_left_untrained_without_a_word() -> None:
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], "x")
            w = v1.get_variable("w", initializer=np.eye(3, dtype=np.float32), use_resource=True)
            tf.ensure_shape(LOOPS["loop"](x, w), [None, 3], "y")
            session.run(v1.global_variables_initializer())
            editor = tgw.edit(graph, session=session)
            module = editor.to_module()
            editor.freeze("y:0")
            frozen_module = editor.to_module()
    finally:
        v1.enable_control_flow_v2()
    with pytest.raises(NotClonable, match=REFUSED):
        trained(module.layer(), first=True)
    np.testing.assert_array_equal(module.named_variables["w"], np.eye(3, dtype=np.float32))
    assert len(trained(frozen_module.layer(), first=True).trainable_weights) == 2
