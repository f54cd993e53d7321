"""Modules and functions of an edited body, and clones of a whole function, are called as the
original is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import UnknownName


class Pair(NamedTuple):
    """A named tuple, as a function takes and returns it."""

    first: Any
    second: Any


X, Y = tf.constant([1.0, -2.0]), tf.constant([3.0, 4.0])
VECTOR = tf.TensorSpec([2])


def values(structure: Any) -> list[Any]:
    """The leaves of a nested structure, which has to be the same in two results."""
    leaves = tf.nest.flatten(structure, expand_composites=True)
    return [np.asarray(leaf).tolist() for leaf in leaves if leaf is not None]


def check_same(found: Any, expected: Any) -> None:
    tf.nest.assert_same_structure(found, expected, expand_composites=True)
    assert values(found) == values(expected)


def all_of(trace: Any) -> list[Any]:
    """The callables that are made of a function: the edited one, its module, and a clone."""
    editor = tgw.edit(trace)
    return [editor.to_function(), editor.to_module(), editor.clone(into="copy")]


def test_dicts_tuples_and_named_tuples_are_taken_and_returned_as_the_function_does() -> None:
    @tf.function
    def nested(inputs: Any, pair: Pair) -> Any:
        z = inputs["x"] * pair.first
        return {"sum": z + pair.second, "rest": (inputs["y"], [z]), "pair": Pair(z, None)}

    trace = nested.get_concrete_function(
        {"x": VECTOR, "y": VECTOR}, Pair(VECTOR, tf.TensorSpec([]))
    )
    arguments = {"x": X, "y": Y}, Pair(Y, tf.constant(5.0))
    for made in all_of(trace):
        check_same(made(*arguments), nested(*arguments))
        check_same(made(inputs=arguments[0], pair=arguments[1]), nested(*arguments))
        assert isinstance(made(*arguments)["pair"], Pair)


def test_keyword_arguments_and_defaults_are_those_of_the_function() -> None:
    @tf.function
    def scaled(x: Any, by: Any = 2.0, *, offset: Any = 0.5, sign: Any) -> Any:
        return x * by * sign + offset

    scaled(X, tf.constant(1.0), offset=tf.constant(1.0), sign=tf.constant(-1.0))
    editor = tgw.edit(scaled)
    for made in (editor.to_function(), editor.to_module(), editor.clone(into="copy")):
        check_same(made(X, sign=-1.0), scaled(X, sign=-1.0))
        check_same(made(x=X, by=3.0, sign=1.0, offset=4.0), scaled(X, 3.0, offset=4.0, sign=1.0))
        with pytest.raises(TypeError, match="sign"):
            made(X)


def test_a_python_value_of_the_trace_is_the_default_and_another_is_refused() -> None:
    @tf.function
    def act(x: Any, kind: str = "relu", *, train: bool) -> Any:
        return tf.nn.relu(x) if kind == "relu" and not train else tf.exp(x)

    trace = act.get_concrete_function(VECTOR, train=False)
    for made in all_of(trace):
        check_same(made(X), act(X, train=False))
        check_same(made(X, "relu", train=False), act(X, train=False))
        with pytest.raises(TypeError, match="exp"):
            made(X, kind="exp")


def test_ragged_and_sparse_tensors_are_taken_and_returned() -> None:
    @tf.function
    def composite(rows: tf.RaggedTensor, cells: tf.SparseTensor) -> Any:
        return rows * 2.0, {"cells": cells * 3.0, "dense": tf.sparse.to_dense(cells)}

    trace = composite.get_concrete_function(
        tf.RaggedTensorSpec([None, None]), tf.SparseTensorSpec([None, 3])
    )
    rows, cells = tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.sparse.from_dense([[0.0, 5.0, 0.0]])
    for made in all_of(trace):
        found = made(rows, cells)
        check_same(found, composite(rows, cells))
        assert isinstance(found[0], tf.RaggedTensor)
        assert isinstance(found[1]["cells"], tf.SparseTensor)


def test_variadic_arguments_are_taken_in_their_order() -> None:
    @tf.function
    def total(first: Any, *rest: Any, **named: Any) -> Any:
        return first - rest[0] * rest[1] + named["k"]

    trace = total.get_concrete_function(VECTOR, VECTOR, VECTOR, k=tf.TensorSpec([]))
    for made in all_of(trace):
        check_same(made(X, Y, Y, k=tf.constant(2.0)), total(X, Y, Y, k=tf.constant(2.0)))


def test_an_edit_is_in_what_a_structured_function_returns() -> None:
    @tf.function(input_signature=[{"x": VECTOR, "y": VECTOR}])
    def nested(inputs: Any) -> Any:
        return {"relu": tf.nn.relu(inputs["x"], name="relu"), "y": [inputs["y"]]}

    editor = tgw.edit(nested)
    editor.bypass("relu")
    check_same(editor.to_function()({"x": X, "y": Y}), {"relu": X, "y": [Y]})
    check_same(nested({"x": X, "y": Y}), {"relu": tf.nn.relu(X), "y": [Y]})


def test_another_shape_of_an_argument_is_taken_in_its_place() -> None:
    @tf.function
    def nested(inputs: Any) -> Any:
        return {"double": inputs["x"] * 2.0}

    editor = tgw.edit(nested.get_concrete_function({"x": VECTOR}))
    editor.passes.set_input(editor._core.view.body.arguments[0], [None])
    check_same(
        editor.to_function()({"x": [1.0, 2.0, 3.0]}), {"double": tf.constant([2.0, 4.0, 6.0])}
    )


def test_a_result_returned_twice_and_an_argument_that_is_not_read_stay() -> None:
    @tf.function
    def odd(x: Any, unread: Any) -> Any:
        y = tf.nn.relu(x, name="relu")
        return {"a": y, "b": (y, x)}

    trace = odd.get_concrete_function(VECTOR, {"z": VECTOR})
    editor = tgw.edit(trace)
    for name in [
        name
        for name in editor._core.index.names
        if editor._core.index.types[editor._core.index.ids[name]] == "Identity"
    ]:
        editor.bypass(name)
    check_same(editor.to_function()(X, {"z": Y}), odd(X, {"z": Y}))


def test_a_captured_value_that_is_returned_stays_a_result() -> None:
    fixed = tf.constant([7.0, 8.0])

    @tf.function
    def with_constant(x: Any) -> Any:
        return {"x": x + 1.0, "fixed": fixed}

    for made in all_of(with_constant.get_concrete_function(VECTOR)):
        check_same(made(X), with_constant(X))


def test_gradients_flow_through_nested_arguments() -> None:
    weight = tf.Variable([2.0, 3.0])

    @tf.function
    def nested(inputs: Any) -> Any:
        return {"loss": tf.reduce_sum(inputs["x"] ** 2 * weight)}

    editor = tgw.edit(nested.get_concrete_function({"x": VECTOR}))
    copy = editor.clone(into="copy")
    for made, variable in (
        (nested, weight),
        (editor.to_module(), weight),
        (copy, copy.own[0]),
    ):
        with tf.GradientTape() as tape:
            tape.watch(X)
            loss = made({"x": X})["loss"]
        of_x, of_weight = tape.gradient(loss, [X, variable])
        assert (of_x.numpy().tolist(), of_weight.numpy().tolist()) == ([4.0, -12.0], [1.0, 4.0])


def test_a_method_and_a_default_structure_are_called_as_they_were() -> None:
    class Net(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function
        def call(self, x: Any, pair: Any = Pair(tf.constant(1.0), tf.constant(2.0))) -> Any:  # noqa: B008
            return x * self.w + pair.first * pair.second

    net = Net()
    net.call(X)
    editor = tgw.edit(net.call)
    check_same(editor.to_function()(X), net.call(X))
    check_same(
        editor.to_module()(X, Pair(2.0, 3.0)), net.call(X, Pair(tf.constant(2.0), tf.constant(3.0)))
    )


def test_a_keras_model_with_named_inputs_and_outputs_is_called_with_dicts() -> None:
    a, b = keras.Input([2], name="a"), keras.Input([2], name="b")
    both = keras.layers.Concatenate()([a, b])
    model = keras.Model(
        {"a": a, "b": b}, {"sum": keras.layers.Dense(1)(both), "relu": keras.layers.ReLU()(both)}
    )
    given = {"a": np.ones([3, 2], np.float32), "b": -np.ones([3, 2], np.float32)}
    editor = tgw.edit(model)
    for made in (editor.to_function(), editor.to_module(), editor.clone(into="copy")):
        found, expected = made(given), model(given)
        assert found.keys() == expected.keys()
        for key in found:
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-6)


def test_a_keras_model_with_two_arguments_is_called_with_their_names() -> None:
    class Two(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def build(self, left_shape: Any, right_shape: Any) -> None:
            self.dense.build(left_shape)

        def call(self, left: Any, right: Any) -> Any:
            return self.dense(left) + right

    model = Two()
    expected = model(tf.ones([3, 4]), tf.ones([3, 2]))
    module = tgw.edit(model).to_module()
    np.testing.assert_allclose(module(tf.ones([3, 4]), right=tf.ones([3, 2])), expected, rtol=1e-6)


def test_a_saved_module_is_loaded_with_its_structure(tmp_path: Path) -> None:
    @tf.function
    def nested(inputs: Any, *, scale: Any = tf.constant(2.0)) -> Any:  # noqa: B008
        return {"x": inputs["x"] * scale, "rows": inputs["rows"]}

    nested.get_concrete_function({"x": VECTOR, "rows": tf.RaggedTensorSpec([None, None])})
    module = tgw.edit(nested).to_module()
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    given = {"x": X, "rows": tf.ragged.constant([[1.0], [2.0, 3.0]])}
    check_same(loaded(given), nested(given))
    check_same(loaded(given, scale=tf.constant(3.0)), nested(given, scale=tf.constant(3.0)))
    flat = loaded.signatures["serving_default"]
    assert (
        flat.structured_outputs.keys()
        == module.signature.get_concrete_function().structured_outputs.keys()
    )


def test_a_tensor_that_is_in_a_dict_is_no_argument_by_its_own_name() -> None:
    @tf.function
    def nested(inputs: Any) -> Any:
        return inputs["x"]

    module = tgw.edit(nested.get_concrete_function({"x": VECTOR})).to_module()
    with pytest.raises(UnknownName, match="no input 'x'"):
        module(x=X)


def test_a_function_whose_results_are_others_now_returns_a_tuple_or_a_dict_as_it_did_before() -> (
    None
):
    @tf.function
    def pair(inputs: Any) -> Any:
        return (inputs["x"] * 2.0, inputs["x"] + 1.0)

    @tf.function
    def named(inputs: Any) -> Any:
        return {"b": inputs["x"] * 2.0, "a": inputs["x"] + 1.0}

    of_pair, of_named = (
        tgw.edit(function.get_concrete_function({"x": VECTOR}))._core.source.structure
        for function in (pair, named)
    )
    assert of_pair is not None
    assert of_named is not None
    assert of_pair.with_results(("output_0", "output_1")) is of_pair
    assert of_pair.with_results(("b", "a", "c")).pack([1, 2, 3]) == (1, 2, 3)
    assert of_pair.with_results(("b",)).pack([1]) == 1
    assert of_named.with_results(("b", "a", "c")).pack([1, 2, 3]) == {"b": 1, "a": 2, "c": 3}


def test_functions_of_a_loaded_model_are_called_as_they_were_saved(tmp_path: Path) -> None:
    module = tf.Module()
    module.w = tf.Variable(2.0)

    @tf.function
    def nested(inputs: Any, *, scale: Any) -> Any:
        return {"x": inputs["x"] * module.w * scale, "pair": (inputs["y"], [inputs["x"]])}

    nested.get_concrete_function({"x": VECTOR, "y": VECTOR}, scale=tf.TensorSpec([]))
    module.nested = nested
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    expected = nested({"x": X, "y": Y}, scale=tf.constant(3.0))
    module = tgw.edit(loaded.nested).to_module()
    check_same(module({"x": X, "y": Y}, scale=3.0), expected)
    assert module.signature.get_concrete_function().structured_outputs.keys() == {
        "pair/0",
        "pair/1/0",
        "x",
    }


def test_a_saved_model_s_signature_is_called_by_its_names(tmp_path: Path) -> None:
    module = tf.Module()
    function = tf.function(lambda a, b: {"sum": a + b}, autograph=False)
    module.f = function.get_concrete_function(
        tf.TensorSpec([2], name="a"), tf.TensorSpec([2], name="b")
    )
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.f)
    signature = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    check_same(tgw.edit(signature).to_function()(a=X, b=Y), signature(a=X, b=Y))
    check_same(tgw.edit(str(tmp_path / "saved")).to_module()(a=X, b=Y), X + Y)


def test_a_signature_that_orders_what_it_calls_in_another_way_has_its_names_and_results(
    tmp_path: Path,
) -> None:
    module = tf.Module()
    module.w = tf.Variable(3.0)
    scalar = tf.TensorSpec([])

    @tf.function(input_signature=[scalar, {"right": scalar}])
    def inner(left: Any, rest: Any) -> Any:
        return tf.nn.relu(left * module.w), tf.tanh(rest["right"]) + 10.0

    @tf.function(input_signature=[tf.TensorSpec([], name="a"), tf.TensorSpec([], name="b")])
    def swapped(a: Any, b: Any) -> Any:
        first, second = inner(b, {"right": a})
        return {"a": second, "b": first, "c": first}

    module.inner = inner
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=swapped)
    signature = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    expected = signature(a=tf.constant(1.0), b=tf.constant(2.0))
    editor = tgw.edit(str(tmp_path / "saved"))
    for made in (editor.to_module(), editor.clone(into="copy")):
        found = made.signature(a=tf.constant(1.0), b=tf.constant(2.0))
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[key], expected[key]) for key in expected)
        assert {float(value) for value in made(a=1.0, b=2.0)} == {
            float(value) for value in expected.values()
        }
    editor.bypass(editor.ops(type="Relu").ops[0])
    assert float(editor.to_function()(a=1.0, b=-2.0)[0]) == -6.0
    editor.view.leave()
    assert editor.to_module().signature(a=tf.constant(1.0), b=tf.constant(-2.0))["b"] == -6.0
