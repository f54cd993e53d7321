"""tf.functions and Keras models."""

from __future__ import annotations

import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.sources.conftest import Affine, facts, index_of
from tfgraphwidget.errors import GraphEditError, NotAGraph, NotRunnable, UnknownName
from tfgraphwidget.sources import open_source


def doubling() -> tf.types.experimental.PolymorphicFunction:
    @tf.function
    def double(x: tf.Tensor, times: int = 2) -> list[tf.Tensor]:
        return [x * times, x]

    return double


def test_a_function_with_one_trace_opens() -> None:
    double = doubling()
    double(tf.constant(1.0))
    source = open_source(double)
    assert source.body.arguments == ("x:0",)
    assert list(source.body.returns) == ["output_0", "output_1"]
    assert source.graph is None
    with pytest.raises(
        NotRunnable, match=r"'double' is a function's graph.* tgw\.edit\(function\.graph"
    ):
        source.live()


def test_of_several_traces_one_must_be_chosen() -> None:
    double = doubling()
    double(tf.constant(1.0))
    double(tf.constant([1, 2]))
    with pytest.raises(
        GraphEditError, match=r"signature=0 for \(x: TensorSpec\(shape=\(\).* or signature=1 for"
    ):
        open_source(double)
    dtypes = [index_of(open_source(double, signature=k).body).dtypes(0) for k in (0, 1)]
    assert dtypes == [("float32",), ("int32",)]
    by_spec = open_source(double, signature=[tf.TensorSpec([2], tf.int32)])
    assert index_of(by_spec.body).shape(0, 0) == (2,)
    with pytest.raises(UnknownName, match="has no trace 7; give signature=0"):
        open_source(double, signature=7)
    with pytest.raises(UnknownName, match="has no signature 'x'; give the number of a trace"):
        open_source(double, signature="x")


def test_a_function_never_called_says_so_and_is_traced_on_a_signature() -> None:
    with pytest.raises(GraphEditError, match=r"has never been called.* signature=\[tf\.TensorSpec"):
        open_source(doubling())
    source = open_source(doubling(), signature=[tf.TensorSpec([None, 3])])
    assert index_of(source.body).shape(0, 0) == (None, 3)
    with pytest.raises(GraphEditError, match="cannot be traced with signature="):
        open_source(doubling(), signature=[tf.TensorSpec([2], tf.string)])


def test_a_function_with_an_input_signature_is_traced_uncalled(affine: Affine) -> None:
    index = index_of(open_source(affine.__call__).body)
    assert {"net/w", "net/b"} <= set(index.names)


def test_a_concrete_function_and_a_func_graph_open() -> None:
    concrete = doubling().get_concrete_function(tf.TensorSpec([]))
    for thing in (concrete, concrete.graph):
        source = open_source(thing)
        assert source.body.arguments == ("x:0",)
        assert source.refusal
    with pytest.raises(GraphEditError, match="One trace of a function has no use for signature="):
        open_source(concrete, signature=0)


def test_nested_results_are_named_by_their_keys() -> None:
    @tf.function
    def f(x: tf.Tensor) -> dict[str, object]:
        return {"a": {"b": x + 1, "c": (x, x * 2)}, "none": None}

    body = open_source(f.get_concrete_function(tf.TensorSpec([]))).body
    assert list(body.returns) == ["a/b", "a/c/0", "a/c/1"]


def layers() -> list[keras.Layer]:
    return [
        keras.layers.Dense(4, activation="relu"),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(2),
    ]


class Subclassed(keras.Model):
    """A model with a dropout, that only a call builds."""

    def __init__(self) -> None:
        super().__init__(name="mine")
        self.parts = layers()

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """One layer after the other."""
        for part in self.parts:
            x = part(x, training=training) if isinstance(part, keras.layers.Dropout) else part(x)
        return x


def functional() -> keras.Model:
    ends = {"a": keras.Input([3], name="a"), "b": keras.Input([3], name="b")}
    x = ends["a"] + ends["b"]
    for layer in layers():
        x = layer(x)
    return keras.Model(ends, {"logits": x})


def subclassed() -> keras.Model:
    model = Subclassed()
    model(np.zeros([1, 3], np.float32))
    return model


@pytest.mark.parametrize(
    "build", [lambda: keras.Sequential([keras.Input([3]), *layers()]), functional, subclassed]
)
def test_a_keras_model_opens_as_it_runs_for_inference(build: object) -> None:
    model = build()  # type: ignore[operator]
    source = open_source(model)
    index = index_of(source.body)
    handles = {index.names[i] for i, kind in enumerate(index.types) if kind == "VarHandleOp"}
    assert len(handles) == len(index.variable_defs) == 4
    assert all(v.trainable for v in index.variable_defs)
    assert {name.rpartition("/")[2] for name in handles} == {"kernel", "bias"}
    assert not any("dropout" in name.lower() and "random" in name.lower() for name in index.names)
    assert index.shape(*_output(index, source.body.returns)) == (None, 2)
    assert facts(index)
    with pytest.raises(NotRunnable, match=r"model\.export\(folder\)"):
        source.live()


def _output(index: object, returns: object) -> tuple[int, int]:
    (tensor,) = returns.values()  # type: ignore[attr-defined]
    op, _, port = tensor.rpartition(":")
    return index.op(op), int(port)  # type: ignore[attr-defined]


def test_a_keras_model_that_was_never_built_says_to_call_it() -> None:
    for model in (Subclassed(), keras.Sequential(layers())):
        with pytest.raises(
            GraphEditError, match=r"has not been built.*call it on data first, model\(x\)"
        ):
            open_source(model)


def test_a_keras_layer_says_to_open_a_model() -> None:
    with pytest.raises(GraphEditError, match="is a Keras layer"):
        open_source(keras.layers.Dense(2))


def test_a_frozen_keras_layer_has_no_trainable_variables() -> None:
    model = keras.Sequential([keras.Input([3]), *layers()])
    model.layers[0].trainable = False
    report = {
        v.handle.rpartition("/")[0][-7:]: v.trainable
        for v in index_of(open_source(model).body).variable_defs
    }
    assert sorted(report.values()) == [False, True]


def test_opening_does_not_import_keras(monkeypatch: pytest.MonkeyPatch, affine: Affine) -> None:
    monkeypatch.delitem(sys.modules, "keras")
    open_source(affine.__call__)
    with pytest.raises(NotAGraph):
        open_source(3)
    assert "keras" not in sys.modules
