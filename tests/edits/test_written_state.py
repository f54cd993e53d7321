"""State that functions write: frozen it is right in the first call only, so it is refused or stays
a variable.
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
from tfgraphwidget import GraphEditError

X = np.array([[1, 2], [3, 4]], np.float32)
SPEC = [tf.TensorSpec([2, 2], name="x")]


def direct() -> Any:
    """A counter that the function itself writes."""
    counter = tf.Variable(1.0)

    @tf.function(input_signature=SPEC)
    def function(x: tf.Tensor) -> tf.Tensor:
        y = x * counter
        counter.assign_add(1.0)
        return y

    return function


def nested() -> Any:
    """A counter that a function of a function writes."""
    counter = tf.Variable(1.0)

    @tf.function
    def innermost() -> None:
        counter.assign_add(1.0)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        y = x * counter
        innermost()
        return y

    return tf.function(lambda x: inner(x) + 1.0, input_signature=SPEC)


def scattered() -> Any:
    """A variable of which a function writes one element."""
    weights = tf.Variable([1.0, 2.0])

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        y = x * weights
        weights.scatter_nd_add([[0]], [1.0])
        return y

    return tf.function(lambda x: inner(x) + 0.0, input_signature=SPEC)


def in_loop() -> Any:
    """A counter that a function writes which a loop's body calls."""
    counter = tf.Variable(1.0)

    @tf.function
    def inner() -> None:
        counter.assign_add(1.0)

    def body(i: tf.Tensor) -> tuple[tf.Tensor]:
        inner()
        return (i + 1,)

    @tf.function(input_signature=SPEC)
    def function(x: tf.Tensor) -> tf.Tensor:
        y = x * counter
        tf.while_loop(lambda i: i < 3, body, [0])
        return y

    return function


def in_conditional() -> Any:
    """A counter that one branch of an If writes."""
    counter = tf.Variable(1.0)

    def count() -> float:
        counter.assign_add(1.0)
        return 0.0

    @tf.function(input_signature=SPEC)
    def function(x: tf.Tensor) -> tf.Tensor:
        return x * counter + tf.cond(tf.reduce_sum(x) > 0, count, lambda: 0.0)

    return function


def in_case() -> Any:
    """A counter that one branch of a Case writes."""
    counter = tf.Variable(1.0)

    def count() -> float:
        counter.assign_add(1.0)
        return 0.0

    @tf.function(input_signature=SPEC)
    def function(x: tf.Tensor) -> tf.Tensor:
        which = tf.cast(tf.reduce_sum(x) > 0, tf.int32)
        return x * counter + tf.switch_case(which, [lambda: 0.0, count, lambda: 1.0])

    return function


def generator() -> Any:
    """A random generator, whose state an op takes that is given the variable itself."""
    random = tf.random.Generator.from_seed(1)
    return tf.function(lambda x: x + random.normal([2]), input_signature=SPEC)


def batch_norm() -> Any:
    """A batch normalization in training mode."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.BatchNormalization()])
    return tf.function(lambda x: model(x, training=True), input_signature=SPEC)


def dropout() -> Any:
    """A dropout in training mode, with a seed generator."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.5, seed=3)])
    return tf.function(lambda x: model(x, training=True), input_signature=SPEC)


def recurrent() -> Any:
    """A recurrent layer that goes on where the last call ended."""
    how = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
    model = keras.Sequential(
        [keras.Input((3, 2), batch_size=2), keras.layers.SimpleRNN(2, stateful=True, **how)]
    )
    return tf.function(lambda x: model(tf.tile(x[:, None] * 0.1, [1, 3, 1])), input_signature=SPEC)


WRITERS = [
    direct,
    nested,
    scattered,
    in_loop,
    in_conditional,
    in_case,
    generator,
    batch_norm,
    dropout,
    recurrent,
]


def exported(function: Any, path: Path) -> Path:
    """A SavedModel of a function."""
    module, concrete = tf.Module(), function.get_concrete_function()
    module.function, module.kept = function, list(concrete.variables)
    tf.saved_model.save(module, str(path), signatures=concrete)
    return path


def calls(function: Callable[..., Any]) -> list[Any]:
    """The results of three calls."""
    results = [function(tf.constant(X)) for _ in range(3)]
    return [
        np.array(next(iter(result.values())) if isinstance(result, dict) else result)
        for result in results
    ]


@pytest.mark.parametrize("make", WRITERS)
@pytest.mark.sample(2)
def test_what_a_function_writes_is_refused_by_name_in_every_way_to_freeze(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    editor = tgw.edit(make())
    with pytest.raises(GraphEditError, match=r"^freeze\(.*Op '.*variable '.*updates='keep'"):
        editor.freeze()
    assert "0 edits" in repr(editor)
    for name in ("f.pb", "f.pbtxt"):
        with pytest.raises(GraphEditError, match=r"of function '.*variable '.*SavedModel"):
            editor.save(tmp_path / name, frozen=True)
    of_file = tgw.edit(exported(make(), tmp_path / "export"))
    of_file.view.leave(0)
    with pytest.raises(GraphEditError, match=r"of function '.*variable '.*updates='keep'"):
        of_file.freeze()
    with pytest.raises(GraphEditError, match=r"of function '.*variable '.*SavedModel"):
        of_file.save(tmp_path / "g.pb", frozen=True)
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


@pytest.mark.filterwarnings("ignore:TensorFlow cannot make an op another one")
@pytest.mark.parametrize("make", WRITERS)
@pytest.mark.sample(2)
def test_what_a_function_writes_stays_a_variable_on_request(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    wanted = calls(make())
    editor = tgw.edit(make())
    report = editor.freeze(updates="keep")
    assert any(" variable still." in note or "variables still." in note for note in report.notes)
    assert np.allclose(calls(editor.to_function()), wanted, atol=1e-6)
    of_file = tgw.edit(exported(make(), tmp_path / "export"))
    of_file.view.leave(0)
    of_file.freeze(updates="keep")
    of_file.save(tmp_path / "frozen")
    loaded = tf.saved_model.load(str(tmp_path / "frozen"))
    signature = loaded.signatures["serving_default"]
    assert np.allclose(calls(lambda x: signature(x=x)), wanted, atol=1e-6)


@pytest.mark.parametrize(
    "make", [direct, nested, in_loop, in_conditional, in_case, batch_norm, recurrent]
)
@pytest.mark.sample(3)
def test_updates_are_left_out_on_request_with_a_notice(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    first = calls(make())[0]
    editor = tgw.edit(make())
    report = editor.freeze(updates="drop")
    assert any("does not update variables: " in note for note in report.notes)
    assert np.allclose(calls(editor.to_function()), [first] * 3, atol=1e-6)
    editor.save(tmp_path / "f.pb", frozen=True)
    written = tf.compat.v1.GraphDef.FromString((tmp_path / "f.pb").read_bytes())
    nodes = [
        *written.node,
        *(node for function in written.library.function for node in function.node_def),
    ]
    assert not any("Variable" in node.op or node.op == "VarHandleOp" for node in nodes)


def test_weights_next_to_a_counter_are_frozen_and_the_counter_stays() -> None:
    weights, counter = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w"), tf.Variable(1.0, name="n")

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        y = x @ weights * counter
        counter.assign_add(1.0)
        return y

    editor = tgw.edit(tf.function(lambda x: inner(x) + 0.0, input_signature=SPEC))
    editor.freeze(updates="keep")
    module = editor.to_module()
    assert [variable.shape.rank for variable in module.variables] == [0]
    assert np.allclose(calls(module), [X @ weights.numpy() * n for n in (1, 2, 3)])


def test_what_is_written_and_never_read_does_not_hinder(tmp_path: Path) -> None:
    steps, weights = tf.Variable(0), tf.Variable([1.0, 2.0])

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        steps.assign_add(1)
        return x * weights

    editor = tgw.edit(tf.function(lambda x: inner(x) + 0.0, input_signature=SPEC))
    editor.save(tmp_path / "f.pb", frozen=True)
    editor.freeze()
    assert np.allclose(calls(editor.to_function()), [X * weights.numpy()] * 3)
